import { html, useCallback, useMemo } from "../../../vendor/ui.js";
import { ChartPanel } from "../../charts/chart_panel.js";
import { Empty } from "../../components/panel.js";
import { KindLegend } from "../../charts/legend.js";
import { INDEX, isPlaced, scatterOption, showBrush } from "../../charts/scatter.js";
import { route, setQuery } from "../../data/navigation.js";
import { select, selection } from "../../data/shared_selection.js";
import { axisWords, shortNames } from "../../pure/axis.js";
import { ORDER, originOf } from "../../pure/marks.js";
import { setRange } from "../../pure/selection.js";
import { sampleColumns } from "../samples/table.js";

const LEGEND = [...ORDER].reverse();

export function ScatterPanel({ study, marks, outputs, isShown, chosen, names }) {
  const axes = useMemo(() => axesOf(study, outputs), [study.spec, outputs]);
  const { query } = route.value;
  const x = axes.find(({ name }) => name === query.x) ?? outputs[0];
  const y = axes.find(({ name }) => name === query.y) ?? firstDrawn(marks, x, axes.filter((axis) => axis !== x)) ?? x;
  const option = useCallback(
    () => scatterOption({ samples: marks, x, y, isShown, focus: chosen.focus, names }),
    [marks, x, y, isShown, chosen.focus, names],
  );
  const brushed = ({ areas }) => select(withBrush(selection.value, x, y, areas));
  const clicked = ({ value }) => {
    const sample = marks[value?.[INDEX]]?.sample; // a predicted mark has none
    if (sample) select({ ...selection.value, focus: sample });
  };
  const present = LEGEND.filter((kind) => marks.some((mark) => mark.kind === kind));
  const isBare = !marks.some((mark) => isPlaced(mark, x, y));
  const hasInitial = marks.some((mark) => mark.sample !== null && originOf(mark) === "initial" && isPlaced(mark, x, y));
  return html`
    <${ChartPanel}
      title="Two axes" note="Drag to select a range; a click shows one sample."
      controls=${html`
        <${AxisSelect} name="x" label="Across" axes=${axes} value=${x.name} />
        <${AxisSelect} name="y" label="Up" axes=${axes} value=${y.name} />`}
      label=${`Scatter of ${marks.length} samples: ${axisWords(x)} across, ${axisWords(y)} up. The same data are in the table.`}
      empty=${isBare && html`<${Empty} icon="scatter" title="Nothing to draw yet"><p>No sample has both ${x.name} and ${y.name} yet. Choose other axes, or wait for the first values.</p><//>`}
      option=${option} height=${420} on=${{ brushEnd: brushed, click: clicked }}
      ready=${(chart) => showBrush(chart, x, y, chosen.ranges)}
      legend=${html`<${KindLegend} kinds=${present} withInitial=${hasInitial} />`}
      table=${{ columns: sampleColumns(study, [x, y]), rows: marks.filter(({ sample }) => sample !== null), rowKey: ({ sample }) => sample, name: `${study.name}-scatter` }}
    />
  `;
}

/** The first axis that gives the chart a mark; without any, the first. */
function firstDrawn(marks, x, others) {
  return others.find((y) => marks.some((mark) => isPlaced(mark, x, y))) ?? others[0];
}

function withBrush(chosen, x, y, areas) {
  const [rangeX, rangeY] = areas[0]?.coordRange ?? [null, null];
  const isMeant = (axis) => !axis.choices; // a range of choices without an order means nothing
  const withX = isMeant(x) ? setRange(chosen, x.name, rangeX) : chosen;
  return isMeant(y) ? setRange(withX, y.name, rangeY) : withX;
}

export function axesOf(study, outputs) {
  const variables = study.spec.variables.map((variable) => ({ ...variable, isVariable: true }));
  return [...outputs, ...variables];
}

function AxisSelect({ name, label, axes, value }) {
  const short = shortNames(axes.map((axis) => axis.name), 20);
  return html`
    <label class="row select">${label}
      <select value=${value} onChange=${(event) => setQuery({ [name]: event.currentTarget.value })}>
        ${axes.map((axis) => html`<option value=${axis.name} selected=${axis.name === value}>${short.get(axis.name)}</option>`)}
      </select>
    </label>
  `;
}
