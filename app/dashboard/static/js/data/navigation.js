// The current route as a signal, and changes of its query without a new history entry.
import { signal } from "../../vendor/ui.js";
import { href, parseRoute } from "../pure/route.js";

export const route = signal(parseRoute(location.hash));

addEventListener("hashchange", () => {
  const before = route.value;
  route.value = parseRoute(location.hash);
  const { page, study, tab, job } = route.value;
  const isSamePage = before.page === page && before.study === study && before.tab === tab && before.job === job;
  if (!isSamePage) scrollTo(0, 0);
});

export function go(address) {
  location.hash = address;
}

/** Set entries of the query; undefined removes one. */
export function setQuery(entries) {
  const path = location.hash.replace(/^#/, "").split("?")[0] || "/";
  const address = href(path, { ...route.value.query, ...entries });
  if (address === location.hash) return;
  history.replaceState(null, "", address);
  route.value = parseRoute(address);
}
