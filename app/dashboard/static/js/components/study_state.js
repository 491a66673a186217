// A study's state and expected end in words.
import { html } from "../../vendor/ui.js";
import { durationRange } from "../pure/format.js";
import { Badge } from "./panel.js";

const ENDINGS = {
  budget_used: "budget used",
  stopped: "stopped",
  space_exhausted: "all points evaluated",
};
const PHASES = { initial: "Initial design", search: "Search" };

export function StateBadge({ study }) {
  if (study.phase === "finished") {
    const pause = study.state === "paused" ? ", paused" : "";
    if (study.ending !== "stopped" && !frontSize(study)) return html`<${Badge} tone="bad">Finished without a front${pause}<//>`;
    const why = ENDINGS[study.ending];
    return html`<${Badge} tone=${study.ending === "stopped" ? "" : "good"}>Finished${why ? `: ${why}` : ""}${pause}<//>`;
  }
  if (study.state === "paused") return html`<${Badge} tone="warn">Paused<//>`;
  return html`<${Badge} tone="info">${PHASES[study.phase] ?? study.phase}<//>`;
}

/** Of a study, or of its row in the list of studies. */
function frontSize(study) {
  return study.front ?? study.hypervolume?.front ?? 0;
}

export function etaText(study) {
  if (study.phase === "finished") return "finished";
  const { low_s: low, high_s: high, unknown } = study.eta ?? {};
  if (low === null || low === undefined) return unknown ? "not known yet" : "unknown";
  return durationRange(low, high);
}
