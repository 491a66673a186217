// What a sample is, for its mark in charts and its word in tables.

/** From back to front. */
export const ORDER = ["excluded", "partial", "open", "failed", "infeasible", "dominated", "predicted", "front"];
/** Drawn as an outline: what is not known in full, or does not count. */
export const HOLLOW = new Set(["partial", "open", "predicted", "excluded"]);

export const KINDS = {
  front: { word: "front", symbol: "circle", color: "--front", size: 11 },
  dominated: { word: "dominated", symbol: "circle", color: "--dominated", size: 7 },
  infeasible: { word: "infeasible or beyond a limit", symbol: "cross", color: "--bad", size: 9 },
  failed: { word: "failed", symbol: "plus", color: "--failed", size: 9 },
  open: { word: "in evaluation", symbol: "circle", color: "--series-3", size: 8 },
  partial: { word: "partial: values are missing", symbol: "triangle", color: "--partial", size: 7 },
  excluded: { word: "excluded by an engineer", symbol: "square", color: "--partial", size: 8 },
  predicted: { word: "predicted", symbol: "diamond", color: "--predicted", size: 10 },
};

const FROM_OUTSIDE = "own or imported";

/** The kind of a sample; `front` is a set of sample numbers, `outputs` may have limits. */
export function kindOf(sample, front, outputs = []) {
  if (sample.excluded) return "excluded";
  if (front.has(sample.sample)) return "front";
  if (isInfeasible(sample, outputs)) return "infeasible";
  if (!sample.full) return "partial";
  if (sample.open > 0) return "open";
  if (Object.keys(sample.failures).length) return "failed";
  // A full sample may lack values: an engineer's own, or one whose study was stopped
  return outputs.every(({ name }) => name in sample.values) ? "dominated" : "partial";
}

export function isInfeasible(sample, limits) {
  if (sample.infeasible || Object.values(sample.failures).includes("infeasible")) return true;
  return brokenLimits(sample, limits).length > 0;
}

/** Names of the outputs whose known value breaks a limit. */
export function brokenLimits(sample, limits) {
  return limits
    .filter(({ name, lower, upper }) => {
      const value = sample.values[name];
      if (value === undefined) return false;
      return (isNumber(lower) && value < lower) || (isNumber(upper) && value > upper);
    })
    .map(({ name }) => name);
}

function isNumber(value) {
  return typeof value === "number";
}

/** Outputs of a specification, objectives then constraints, with direction, unit and limits. */
export function outputsOf(spec) {
  const objectives = (spec.objectives ?? []).map((objective) => ({ ...objective, isObjective: true }));
  const constraints = (spec.constraints ?? []).map((constraint) => ({ ...constraint, isObjective: false }));
  return [...objectives, ...constraints];
}

/** Where a sample came from: "initial", "search", "stream" or, if no step proposed it, from outside. */
export function originOf(sample) {
  return sample.step ? sample.step.split(":")[0] : FROM_OUTSIDE;
}
