// The selection of the current study, read from and written to the address.
import { computed } from "../../vendor/ui.js";
import { fromQuery, toQuery } from "../pure/selection.js";
import { route, setQuery } from "./navigation.js";

export const selection = computed(() => fromQuery(route.value.query));

export function select(next) {
  setQuery(toQuery(next));
}

/** The entries of the address that follow the reader from tab to tab. */
export function selectionQuery() {
  return toQuery(selection.value);
}
