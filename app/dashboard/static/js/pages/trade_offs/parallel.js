import { html, useCallback, useMemo } from "../../../vendor/ui.js";
import { ChartPanel } from "../../charts/chart_panel.js";
import { axisName, leastWidth, paintBrushes, parallelOption, showRanges } from "../../charts/parallel.js";
import { route, setQuery } from "../../data/navigation.js";
import { select, selection } from "../../data/shared_selection.js";
import { setRange } from "../../pure/selection.js";
import { sampleColumns } from "../samples/table.js";
import { axesOf } from "./scatter.js";

const MOST_AXES = 14; // more are shown on request

export function ParallelPanel({ study, marks, outputs, isShown, chosen }) {
  const all = useMemo(() => axesOf(study, outputs), [study.spec, outputs]);
  const wanted = route.value.query.axes ?? (all.length > MOST_AXES ? "outputs" : "all");
  const axes = useMemo(() => {
    if (wanted === "outputs") return outputs;
    const variables = all.filter(({ isVariable }) => isVariable);
    return wanted === "variables" ? variables : [...variables, ...outputs];
  }, [wanted, all, outputs]);
  const option = useCallback(
    () => parallelOption({ samples: marks, axes, isShown, focus: chosen.focus }),
    [marks, axes, isShown, chosen.focus],
  );
  const brushed = ({ parallelAxisId, intervals }) => {
    const axis = axes.find(({ name }) => name === axisName(parallelAxisId));
    if (axis?.choices) return; // a range of choices without an order means nothing
    const range = intervals?.[0] ?? null;
    select(setRange(selection.value, axisName(parallelAxisId), range));
  };
  return html`
    <${ChartPanel}
      title="Variables and outputs" note="Drag along an axis to select. Lines skip missing values."
      controls=${html`<${AxesChoice} wanted=${wanted} />`}
      label=${`Parallel coordinates of ${marks.length} samples over ${axes.map(({ name }) => name).join(", ")}. The same data are in the table.`}
      option=${option} height=${468} minWidth=${leastWidth(axes)}
      on=${{ axisareaselected: brushed, rendered: (_, chart) => paintBrushes(chart) }}
      ready=${(chart) => showRanges(chart, axes, chosen.ranges)}
      table=${{ columns: sampleColumns(study, axes), rows: marks.filter(({ sample }) => sample !== null), rowKey: ({ sample }) => sample, name: `${study.name}-parallel` }}
    />
  `;
}

const CHOICES = [["all", "All"], ["variables", "Variables"], ["outputs", "Outputs"]];

function AxesChoice({ wanted }) {
  return html`
    <div class="segmented" role="group" aria-label="Axes">
      ${CHOICES.map(([value, title]) => html`
        <button aria-pressed=${String(value === wanted)} onClick=${() => setQuery({ axes: value })}>${title}</button>`)}
    </div>
  `;
}
