// Requests to the REST API beside this page, at whatever prefix.

const BASE = new URL("./", location.href.split("#")[0]);

/** A refusal of the server: `detail` is its sentence, `faults` what is wrong and where. */
export class Refusal extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `The server responded with status ${status}.`);
    this.status = status;
    this.faults = problem.errors ?? [];
  }
}

/** The server cannot be reached. */
export class Unreachable extends Error {
  constructor() {
    super("The server does not respond.");
  }
}

export function url(path) {
  return new URL(path, BASE);
}

export async function request(method, path, body, headers = {}) {
  const options = { method, headers: { Accept: "application/json", ...headers } };
  if (body !== undefined) {
    options.body = typeof body === "string" ? body : JSON.stringify(body);
    options.headers["Content-Type"] ??= "application/json";
  }
  let response;
  try {
    response = await fetch(url(path), options);
  } catch {
    throw new Unreachable();
  }
  if ([502, 503, 504].includes(response.status)) throw new Unreachable();
  if (!response.ok) throw new Refusal(response.status, await problemOf(response));
  return response.status === 204 ? null : contentOf(response);
}

/** A server that stops while it responds, or a proxy's page instead of data, is away, too. */
async function contentOf(response) {
  try {
    return await response.json();
  } catch {
    throw new Unreachable();
  }
}

async function problemOf(response) {
  try {
    return await response.json();
  } catch {
    return {};
  }
}

export const get = (path) => request("GET", path);
export const post = (path, body) => request("POST", path, body);

/** The path of a study's resource, with query entries that are set. */
export function studyPath(name, resource = "", query = {}) {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const search = new URLSearchParams(entries).toString();
  const end = resource ? `/${resource}` : "";
  return `studies/${encodeURIComponent(name)}${end}${search ? `?${search}` : ""}`;
}

/** All items of a list, page by page, up to `most`. */
export async function getAll(path, most = 100_000, pageSize = 1000) {
  const items = [];
  let cursor = null;
  do {
    const separator = path.includes("?") ? "&" : "?";
    const next = cursor ? `&cursor=${encodeURIComponent(cursor)}` : "";
    const page = await get(`${path}${separator}limit=${pageSize}${next}`);
    items.push(...page.items);
    cursor = page.next;
  } while (cursor && items.length < most);
  return items;
}
