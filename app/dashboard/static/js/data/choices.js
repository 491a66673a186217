// The named designs of a front: the best in each objective, the knee, the nearest to a target.
import { useMemo, useRef } from "../../vendor/ui.js";
import { designsOf, labelsOf } from "../pure/designs.js";
import { studyPath } from "./api.js";
import { route } from "./navigation.js";
import { useResource } from "./resource.js";

/**
 * {designs, labels, error, isLoading}: rows of a table, names by sample for charts, why there are none.
 * While those for another target are read, or if it is refused, the last ones stay: what is below must not jump.
 */
export function useChoices(study) {
  const { target } = route.value.query;
  const { data, error } = useResource(studyPath(study.name, "choices", { target }), { quietMs: 5000 });
  const last = useRef({ study: null, data: undefined });
  if (data) last.current = { study: study.name, data };
  const known = last.current.study === study.name ? last.current.data : undefined;
  const designs = useMemo(() => designsOf(known?.items ?? []), [known]);
  const labels = useMemo(() => labelsOf(designs), [designs]);
  return { designs, labels, error, isLoading: !known && !error };
}
