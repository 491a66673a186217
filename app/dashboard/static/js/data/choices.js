// The named designs of a front: the best in each objective, the knee, the nearest to a target.
import { useMemo } from "../../vendor/ui.js";
import { designsOf, labelsOf } from "../pure/designs.js";
import { studyPath } from "./api.js";
import { route } from "./navigation.js";
import { useResource } from "./resource.js";

/** {designs, labels, error}: rows of a table, names by sample for charts, why there are none. */
export function useChoices(study) {
  const { target } = route.value.query;
  const { data, error } = useResource(studyPath(study.name, "choices", { target }), { quietMs: 5000 });
  const designs = useMemo(() => designsOf(data?.items ?? []), [data]);
  const labels = useMemo(() => labelsOf(designs), [designs]);
  return { designs, labels, error };
}
