import { html, useCallback } from "../../vendor/ui.js";
import { ChartPanel } from "../charts/chart_panel.js";
import { KindLegend } from "../charts/legend.js";
import { scatterOption, showBrush } from "../charts/scatter.js";
import { route, setQuery } from "../data/navigation.js";
import { valueOn } from "../data/samples.js";
import { select } from "../data/shared_selection.js";
import { axisWords } from "../pure/axis.js";
import { ORDER } from "../pure/marks.js";
import { setRange } from "../pure/selection.js";
import { sampleColumns } from "./sample_table.js";

const LEGEND = [...ORDER].reverse();

export function ScatterPanel({ study, marks, outputs, isShown, chosen }) {
  const axes = axesOf(study, outputs);
  const { query } = route.value;
  const x = axes.find(({ name }) => name === query.x) ?? outputs[0];
  const y = axes.find(({ name }) => name === query.y) ?? outputs[1] ?? axes[1] ?? outputs[0];
  const option = useCallback(
    () => scatterOption({ samples: marks, x, y, isShown, focus: chosen.focus }),
    [marks, x, y, isShown, chosen.focus],
  );
  const brushed = ({ areas }) => select(withBrush(chosen, x, y, areas));
  const clicked = ({ data }) => data?.mark?.sample && select({ ...chosen, focus: data.mark.sample });
  const present = LEGEND.filter((kind) => marks.some((mark) => mark.kind === kind));
  const isBare = !marks.some((mark) => typeof valueOn(mark, x.name) === "number" && typeof valueOn(mark, y.name) === "number");
  return html`
    <${ChartPanel}
      title="Two objectives" note=${isBare ? `No sample has both ${x.name} and ${y.name} yet.` : "Drag to select a range; squares are of the initial design."}
      controls=${html`
        <${AxisSelect} name="x" label="Across" axes=${axes} value=${x.name} />
        <${AxisSelect} name="y" label="Up" axes=${axes} value=${y.name} />`}
      label=${`Scatter of ${marks.length} samples: ${axisWords(x)} across, ${axisWords(y)} up. The same data are in the table.`}
      option=${option} height=${420} on=${{ brushEnd: brushed, click: clicked }}
      ready=${(chart) => showBrush(chart, x, y, chosen.ranges)}
      legend=${html`<${KindLegend} kinds=${present} />`}
      table=${{ columns: sampleColumns(study, [x, y]), rows: marks.filter(({ sample }) => sample !== null), rowKey: ({ sample }) => sample, name: `${study.name}-scatter` }}
    />
  `;
}

function withBrush(chosen, x, y, areas) {
  const [rangeX, rangeY] = areas[0]?.coordRange ?? [null, null];
  return setRange(setRange(chosen, x.name, rangeX), y.name, rangeY);
}

export function axesOf(study, outputs) {
  const variables = study.spec.variables.map((variable) => ({ ...variable, isVariable: true }));
  return [...outputs, ...variables];
}

function AxisSelect({ name, label, axes, value }) {
  return html`
    <label class="row select">${label}
      <select value=${value} onChange=${(event) => setQuery({ [name]: event.currentTarget.value })}>
        ${axes.map((axis) => html`<option value=${axis.name} selected=${axis.name === value}>${axis.name}</option>`)}
      </select>
    </label>
  `;
}
