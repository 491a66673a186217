// The samples of a study that charts draw, with their kind.
import { useMemo } from "../../vendor/ui.js";
import { isInfeasible, kindOf, outputsOf } from "../pure/marks.js";
import { get, getAll, studyPath } from "./api.js";
import { useResource } from "./resource.js";

export const MOST_FULL = 5000;
export const MOST_PARTIAL = 2000;
const QUIET_MS = 5000;

/**
 * {samples, isCut, outputs, error}: full samples, and partial ones on request. The front is
 * always complete, however many samples there are.
 */
export function useSamples(study, { withPartial = false } = {}) {
  const front = useResource(studyPath(study.name, "front"), { quietMs: QUIET_MS });
  const full = useResource(studyPath(study.name, "samples", { full: true }), { read: readFull, quietMs: QUIET_MS });
  const partialPath = withPartial ? studyPath(study.name, "samples", { full: false }) : null;
  const partial = useResource(partialPath, { read: readPartial, quietMs: QUIET_MS });
  const outputs = useMemo(() => outputsOf(study.spec), [study.spec]);
  const samples = useMemo(
    () => (full.data && front.data ? classify(full.data, partial.data ?? [], front.data.items, outputs) : undefined),
    [full.data, partial.data, front.data, outputs],
  );
  const isCut = (full.data?.length ?? 0) >= MOST_FULL || (partial.data?.length ?? 0) >= MOST_PARTIAL;
  return { samples, outputs, isCut, front: front.data, error: full.error ?? front.error };
}

const readFull = (path) => getAll(path, MOST_FULL);
const readPartial = (path) => getAll(path, MOST_PARTIAL);

function classify(full, partial, frontItems, outputs) {
  const front = new Set(frontItems.map(({ sample }) => sample));
  const known = new Set(full.map(({ sample }) => sample));
  const missing = frontItems
    .filter(({ sample }) => !known.has(sample))
    .map((item) => ({ ...item, full: true, failures: {}, open: 0 }));
  const withKind = (sample) => ({ ...sample, kind: kindOf(sample, front, outputs) });
  return [...full, ...missing, ...partial].map(withKind);
}

/** The value of a sample on an axis: a variable or an output. */
export function valueOn(sample, axis) {
  return sample.values[axis] ?? sample.x[axis];
}

/** The predicted front as marks; empty before the first search step. */
export function usePredicted(study, isWanted) {
  const path = isWanted ? studyPath(study.name, "predictions") : null;
  const { data } = useResource(path, { read: get, quietMs: 10_000 });
  return useMemo(() => (data?.items ?? []).map(predictedMark), [data]);
}

function predictedMark({ x, mean, deviation }, index) {
  return { sample: null, key: `p${index}`, kind: "predicted", x, values: mean, deviation, failures: {}, open: 0, full: false };
}

export { isInfeasible };
