// Rebuilds app/dashboard/static/vendor from npm packages: `make vendor`, Node 20 or newer.
// Versions are pinned here and nowhere else; the registry is the one npm is configured with.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const PACKAGES = {
  "preact": "11.2.0",
  "@preact/signals": "2.11.4",
  "@preact/signals-core": null, // what @preact/signals depends on
  "htm": "3.1.1",
  "echarts": "6.1.0",
  "zrender": null, // what echarts depends on
  "tslib": null,
  "yaml": "2.9.1",
  "swagger-ui-dist": "5.34.1",
};
const BUILDER = "esbuild@0.28.2";
const BUNDLES = {
  ui: ["preact", "@preact/signals", "@preact/signals-core", "htm"],
  charts: ["echarts", "zrender", "tslib"],
  yaml: ["yaml"],
};
const SWAGGER_FILES = ["swagger-ui-bundle.js", "swagger-ui.css"];

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "..", "app", "dashboard", "static", "vendor");
const work = mkdtempSync(join(tmpdir(), "vendoring-"));
const inWork = { cwd: work, stdio: "inherit" };

function install() {
  writeFileSync(join(work, "package.json"), "{}");
  const pinned = Object.entries(PACKAGES)
    .filter(([, version]) => version)
    .map(([name, version]) => `${name}@${version}`);
  const options = ["--no-audit", "--no-fund", "--ignore-scripts=false"];
  execFileSync("npm", ["install", ...options, ...pinned, BUILDER], inWork);
}

function bundle(name) {
  const entry = join(work, `${name}.js`);
  copyFileSync(join(here, `${name}.js`), entry);
  const options = ["--bundle", "--format=esm", "--minify", "--target=es2022"];
  options.push("--legal-comments=none", "--define:process.env.NODE_ENV=\"production\"");
  const output = join(target, `${name}.js`);
  execFileSync(join(work, "node_modules/.bin/esbuild"), [entry, ...options, `--outfile=${output}`], inWork);
}

function description(name) {
  const folder = join(work, "node_modules", name);
  return JSON.parse(readFileSync(join(folder, "package.json")));
}

function licenceText(name) {
  for (const file of ["LICENSE", "LICENSE.txt", "LICENSE.md"]) {
    try {
      return readFileSync(join(work, "node_modules", name, file), "utf8");
    } catch {
      continue;
    }
  }
  throw new Error(`${name} has no licence file`);
}

function noticeText(name) {
  try {
    return readFileSync(join(work, "node_modules", name, "NOTICE"), "utf8");
  } catch {
    return "";
  }
}

function fileEntry(file, packages) {
  const content = readFileSync(join(target, file));
  const versions = packages.map((name) => `${name} ${description(name).version}`);
  return {
    file,
    packages: versions,
    sha256: createHash("sha256").update(content).digest("hex"),
    bytes: content.length,
    gzip_bytes: gzipSync(content, { level: 9 }).length,
  };
}

function main() {
  install();
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const entries = [];
  for (const [name, packages] of Object.entries(BUNDLES)) {
    bundle(name);
    entries.push(fileEntry(`${name}.js`, packages));
  }
  for (const file of SWAGGER_FILES) {
    const source = join(work, "node_modules", "swagger-ui-dist", file);
    const text = readFileSync(source, "utf8").replace(/\n?\/[/*]# sourceMappingURL=.*$/s, "\n");
    writeFileSync(join(target, file), text);
    entries.push(fileEntry(file, ["swagger-ui-dist"]));
  }
  const licences = Object.keys(PACKAGES).map((name) => {
    const { version, license } = description(name);
    return `${"=".repeat(72)}\n${name} ${version} (${license})\n\n${licenceText(name)}\n${noticeText(name)}`;
  });
  writeFileSync(join(target, "LICENSES.txt"), licences.join("\n"));
  writeFileSync(join(target, "versions.json"), `${JSON.stringify(entries, null, 2)}\n`);
  rmSync(work, { recursive: true });
  console.table(entries.map(({ file, bytes, gzip_bytes }) => ({ file, bytes, gzip_bytes })));
}

main();
