// The selection in words, and what can be done with it.
import { html } from "../../vendor/ui.js";
import { selection, select } from "../data/shared_selection.js";
import { toCsv } from "../pure/csv.js";
import { count, number, plural } from "../pure/format.js";
import { exclude, isNarrowed, keep, restore, setRange } from "../pure/selection.js";
import { download } from "./download.js";
import { RangeForm } from "./range_form.js";

export function SelectionBar({ study, shown, total, isCut, outputs, children }) {
  const chosen = selection.value;
  const numbers = shown.map(({ sample }) => sample);
  const hasRanges = Object.keys(chosen.ranges).length > 0;
  return html`
    <section class="panel selection-bar" aria-label="Selection">
      <div class="row">
        <strong role="status">${count(shown.length)} of ${isCut && "the first "}${plural(total, "sample")}</strong>
        ${isCut && html`<span class="note">the study has more; the front is complete</span>`}
        ${Object.entries(chosen.ranges).map(([axis, range]) => html`
          <button class="chip" key=${axis} onClick=${() => select(setRange(chosen, axis, null))}
            aria-label="Remove the range of ${axis}">${rangeText(axis, range)} ✕</button>`)}
        ${chosen.only && html`<span class="badge">kept ${count(chosen.only.length)}</span>`}
        ${chosen.hidden.length > 0 && html`<span class="badge">${count(chosen.hidden.length)} excluded</span>`}
      </div>
      <div class="row">
        <${RangeForm} axes=${[...outputs, ...study.spec.variables]} />
        ${children}
        <button disabled=${!hasRanges || !numbers.length} onClick=${() => select(keep(chosen, numbers))}>Keep</button>
        <button disabled=${!hasRanges || !numbers.length} onClick=${() => select(exclude(chosen, numbers))}>Exclude</button>
        <button disabled=${!isNarrowed(chosen)} onClick=${() => select(restore(chosen))}>Restore</button>
        <button onClick=${() => saveSelection(study, outputs, shown)}>CSV</button>
      </div>
    </section>
  `;
}

function rangeText(axis, [low, high]) {
  if (low === null) return `${axis} ≤ ${number(high, 3)}`;
  if (high === null) return `${axis} ≥ ${number(low, 3)}`;
  return `${number(low, 3)} ≤ ${axis} ≤ ${number(high, 3)}`;
}

function saveSelection(study, outputs, samples) {
  const variables = study.spec.variables.map(({ name }) => name);
  const names = outputs.map(({ name }) => name);
  const rows = samples.map((sample) => [
    sample.sample, sample.kind, sample.step,
    ...variables.map((name) => sample.x[name]),
    ...names.map((name) => sample.values[name]),
  ]);
  download(`${study.name}-selection.csv`, toCsv(["sample", "kind", "step", ...variables, ...names], rows));
}
