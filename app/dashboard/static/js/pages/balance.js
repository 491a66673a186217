// Is the search biased?
import { html, useCallback, useMemo } from "../../vendor/ui.js";
import { barsOption } from "../charts/bars.js";
import { ChartPanel } from "../charts/chart_panel.js";
import { SeriesLegend } from "../charts/legend.js";
import { linesOption, lineSymbol } from "../charts/lines.js";
import { Badge, Empty, Loaded, Panel } from "../components/panel.js";
import { Table } from "../components/table.js";
import { studyPath } from "../data/api.js";
import { route, setQuery } from "../data/navigation.js";
import { useResource } from "../data/resource.js";
import { seriesName } from "../data/theme.js";
import { count, number } from "../pure/format.js";
import { OutputName } from "./overview/outputs.js";

const SOURCES = ["selected", "population", "offspring", "latin"];
const CHEAP_SHADES = [0.62, 0.42, 0.26, 0.14];
const SOURCE_WORDS = {
  selected: "selected by RVEA", population: "rest of the population", offspring: "offspring", latin: "space-filling",
};

export function Balance({ study }) {
  const balance = useResource(studyPath(study.name, "balance"), { quietMs: 5000 });
  return html`<${Loaded} resource=${balance}>${(data) => html`<${Charts} study=${study} data=${data} />`}<//>`;
}

function Charts({ study, data }) {
  const index = new Map(study.outputs.map(({ name }, position) => [name, position]));
  const rows = data.objectives.map((row) => ({ ...row, index: index.get(row.objective) ?? 7 }));
  return html`
    <div class="stack">
      <${Panel} title="Evaluations by objective" note="Cheap objectives are evaluated at more points than the slow ones, as the ratios allow (${data.ratio_source}).">
        <${Table} caption="Evaluations by objective" columns=${COLUMNS} rows=${rows} rowKey=${(row) => row.objective} />
      <//>
      ${data.items.length === 0
        ? html`<${Panel}><${Empty} title="The search has not begun"><p>What each step proposed, and from where, is shown here.</p><//><//>`
        : html`<${ByStep} study=${study} data=${data} />
               <${PenaltyPanel} study=${study} data=${data} index=${index} />`}
    </div>
  `;
}

const COLUMNS = [
  { key: "objective", title: "Objective", isName: true, value: (row) => row.objective, cell: (row) => html`<${OutputName} name=${row.objective} index=${row.index} />` },
  { key: "cheap", title: "Cost", value: (row) => (row.cheap ? "cheap" : "slow"), cell: (row) => html`<${Badge}>${row.cheap ? "cheap" : "slow"}<//>` },
  { key: "full", title: "In full samples", isNumber: true, value: (row) => row.full, cell: (row) => count(row.full) },
  { key: "cheap_only", title: "Cheap-only", isNumber: true, value: (row) => row.cheap_only, cell: (row) => count(row.cheap_only) },
  { key: "ratio", title: "Ratio aimed at", isNumber: true, value: (row) => row.ratio, cell: (row) => number(row.ratio, 3) },
  { key: "per_full", title: "Ratio in fact", isNumber: true, value: (row) => row.per_full, cell: (row) => number(row.per_full, 3) },
  { key: "superseded", title: "Superseded", isNumber: true, value: (row) => row.superseded, cell: (row) => count(row.superseded) },
];

function ByStep({ study, data }) {
  const names = [...new Set(data.items.map(({ objective }) => objective))];
  const wanted = route.value.query.objective;
  const name = names.includes(wanted) ? wanted : names[0];
  const items = useMemo(() => data.items.filter(({ objective }) => objective === name), [data, name]);
  const paint = seriesName(study.outputs.findIndex((objective) => objective.name === name));
  const series = useMemo(() => seriesOf(items, paint), [items, paint]);
  const option = useCallback(
    () => barsOption({ categories: items.map(({ number: step }) => String(step)), series, xTitle: "step", yTitle: "points proposed" }),
    [series],
  );
  const columns = [
    { key: "number", title: "Step", isNumber: true, value: (row) => row.number },
    { key: "full", title: "Full", isNumber: true, value: (row) => row.full },
    { key: "cheap_only", title: "Cheap-only", isNumber: true, value: (row) => row.cheap_only },
    { key: "ratio", title: "Ratio", isNumber: true, value: (row) => row.ratio, cell: (row) => number(row.ratio, 3) },
    ...SOURCES.map((source) => ({ key: source, title: SOURCE_WORDS[source], isNumber: true, value: (row) => (row.full_sources[source] ?? 0) + (row.cheap_sources[source] ?? 0) })),
  ];
  const controls = html`
    <label class="row select">Objective
      <select value=${name} onChange=${(event) => setQuery({ objective: event.currentTarget.value })}>
        ${names.map((other) => html`<option value=${other} selected=${other === name}>${other}</option>`)}
      </select></label>`;
  return html`
    <${ChartPanel} title="What each step proposed" note="Where the points of ${name} came from." controls=${controls}
      option=${option} height=${300}
      label=${`Points proposed for ${name} in ${items.length} steps, by source. The same data are in the table.`}
      legend=${html`<${SeriesLegend} items=${series.map(({ name: title, color, opacity }) => ({ name: title, color, opacity }))} />`}
      table=${{ columns, rows: items, rowKey: (row) => row.number, name: `${study.name}-balance` }} />
  `;
}

/** Shades of the objective's own colour. */
function seriesOf(items, color) {
  const full = { name: "full samples", color, opacity: 1, values: items.map((item) => item.full) };
  const cheap = SOURCES.map((source, position) => ({
    name: `cheap-only, ${SOURCE_WORDS[source]}`,
    color,
    opacity: CHEAP_SHADES[position],
    values: items.map((item) => item.cheap_sources[source] ?? 0),
  }));
  return [full, ...cheap.filter(({ values }) => values.some(Boolean))];
}

function PenaltyPanel({ study, data, index }) {
  const names = [...new Set(data.items.filter(({ sbp_low: low }) => low !== null).map(({ objective }) => objective))];
  const option = useCallback(() => linesOption({
    series: names.map((name) => ({
      name, color: seriesName(index.get(name) ?? 7),
      points: data.items.filter((item) => item.objective === name && item.sbp_low !== null).map((item) => [item.number, item.sbp_low]),
    })),
    x: { title: "step", isWhole: true }, y: { title: "least penalty factor" }, yRange: { max: 1 }, band: [0.999, 1],
  }), [data]);
  if (!names.length) return null;
  const columns = [
    { key: "objective", title: "Objective", value: (row) => row.objective },
    { key: "number", title: "Step", isNumber: true, value: (row) => row.number },
    { key: "low", title: "Least", isNumber: true, value: (row) => row.sbp_low, cell: (row) => number(row.sbp_low, 3) },
    { key: "high", title: "Largest", isNumber: true, value: (row) => row.sbp_high, cell: (row) => number(row.sbp_high, 3) },
  ];
  return html`
    <${ChartPanel} title="Search bias penalty" note="The least factor in the final population of each step: 1 means that no candidate was penalised for lying where only cheap values are known."
      option=${option} height=${260} label=${`Least search bias penalty over steps for ${names.join(", ")}. The same data are in the table.`}
      legend=${html`<${SeriesLegend} items=${names.map((name, position) => ({ name, color: seriesName(index.get(name) ?? 7), symbol: lineSymbol(position) }))} />`}
      table=${{ columns, rows: data.items, rowKey: (row) => `${row.objective} ${row.number}`, name: `${study.name}-penalty` }} />
  `;
}
