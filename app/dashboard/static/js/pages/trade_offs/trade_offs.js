// What have I got? Scatter, parallel coordinates and table over one selection.
import { html, useMemo, useState } from "../../../vendor/ui.js";
import { Empty, Panel, ProblemCard } from "../../components/panel.js";
import { SelectionBar } from "../../components/selection_bar.js";
import { useChoices } from "../../data/choices.js";
import { setQuery, route } from "../../data/navigation.js";
import { usePredicted, useSamples, valueOn } from "../../data/samples.js";
import { selection } from "../../data/shared_selection.js";
import { matcher } from "../../pure/selection.js";
import { FrontChoices } from "../overview/choices.js";
import { FocusedSample } from "../samples/focused_sample.js";
import { SampleTable } from "../samples/table.js";
import { NoFeasible } from "../overview/no_feasible.js";
import { ParallelPanel } from "./parallel.js";
import { ScatterPanel } from "./scatter.js";

export function TradeOffs({ study }) {
  const { query } = route.value;
  const withPartial = query.partial === "1";
  const withPredicted = query.predicted === "1";
  const { samples, outputs, isCut, front, error } = useSamples(study, { withPartial });
  const predicted = usePredicted(study, withPredicted);
  const { designs, labels, error: choicesError, isLoading } = useChoices(study);
  const chosen = selection.value;
  const marks = useMemo(() => [...(samples ?? []), ...predicted], [samples, predicted]);
  const isShown = useMemo(() => matcher(chosen, valueOn), [chosen]);
  const shown = useMemo(() => (samples ?? []).filter(isShown), [samples, isShown]);
  if (error && !samples) return html`<${ProblemCard} error=${error} />`;
  // The designs are above the charts, which would jump
  if (!samples || isLoading) return html`<div class="skeleton" role="status" aria-label="Loading"></div>`;
  if (!samples.some(({ values }) => Object.keys(values).length)) return html`<${NothingYet} study=${study} samples=${samples} />`;
  const shared = { study, marks, outputs, isShown, chosen, names: labels };
  return html`
    <div class="stack">
      <${NoFeasible} study=${study} outputs=${outputs} front=${front} />
      <${FrontChoices} study=${study} designs=${designs} error=${choicesError} />
      <${SelectionBar} study=${study} shown=${shown} total=${samples.length} isCut=${isCut} outputs=${outputs}>
        <${Toggle} name="partial" label="partial samples" isOn=${withPartial} />
        <${Toggle} name="predicted" label="predicted front" isOn=${withPredicted} />
      <//>
      <div class="tradeoff-charts">
        <${ScatterPanel} ...${shared} />
        <${ParallelPanel} ...${shared} />
      </div>
      <${FocusedSample} study=${study} samples=${samples} outputs=${outputs} />
      <${Panel} title="Samples of the selection" note="A click on a row shows the sample in all charts.">
        <${SampleTable} study=${study} outputs=${outputs} rows=${shown} size=${12} />
      <//>
    </div>
  `;
}

function Toggle({ name, label, isOn }) {
  return html`
    <label class="check"><input type="checkbox" checked=${isOn}
      onChange=${(event) => setQuery({ [name]: event.currentTarget.checked ? "1" : undefined })} />${label}</label>
  `;
}

function NothingYet({ study, samples }) {
  const failed = samples.filter(({ failures }) => Object.keys(failures).length).length;
  const text = failed
    ? `${failed} samples failed and none has a value. The jobs say why.`
    : "Trade-offs appear with the first values.";
  return html`
    <${Panel}><${Empty} title="No values yet"><p>${text}</p>
      <p><a href=${`#/studies/${encodeURIComponent(study.name)}/work`}>Workers & jobs</a></p><//><//>
  `;
}
