// The page's address: `#/studies/wing/tradeoffs?x=mass`. Pure: text in, record out.

export const TABS = [
  ["overview", "Overview"],
  ["work", "Workers & jobs"],
  ["tradeoffs", "Trade-offs"],
  ["convergence", "Convergence"],
  ["models", "Models"],
  ["balance", "Search balance"],
  ["samples", "Samples"],
  ["setup", "Set-up"],
];
const TAB_NAMES = new Set(TABS.map(([name]) => name));
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/; // of a study, as the server takes it

/** {page, study?, tab?, job?, query}; an unknown address is page "missing". */
export function parseRoute(hash) {
  const [path, search = ""] = hash.replace(/^#/, "").split("?", 2);
  const query = Object.fromEntries(new URLSearchParams(search));
  const parts = path.split("/").filter(Boolean).map(decode);
  return { ...pageOf(parts), query };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function pageOf([first, second, third, ...rest]) {
  if (rest.length) return { page: "missing" };
  if (!first) return { page: "studies" };
  if (["workers", "compare", "new"].includes(first) && !second) return { page: first };
  if (first === "jobs" && /^\d+$/.test(second ?? "") && !third) {
    return { page: "job", job: Number(second) };
  }
  if (first === "studies" && NAME.test(second ?? "")) {
    const tab = third ?? "overview";
    if (TAB_NAMES.has(tab)) return { page: "study", study: second, tab };
  }
  return { page: "missing" };
}

/** The address of a page; empty entries of the query are left out. */
export function href(path, query = {}) {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = new URLSearchParams(entries).toString();
  return search ? `#${path}?${search}` : `#${path}`;
}

export function studyHref(study, tab = "overview", query = {}) {
  const end = tab === "overview" ? "" : `/${tab}`;
  return href(`/studies/${encodeURIComponent(study)}${end}`, query);
}
