// Several studies side by side.
import { html, useCallback } from "../../vendor/ui.js";
import { ChartPanel } from "../charts/chart_panel.js";
import { SeriesLegend } from "../charts/legend.js";
import { linesOption, lineSymbol } from "../charts/lines.js";
import { Empty, Loaded, Panel } from "../components/panel.js";
import { StateBadge } from "../components/study_state.js";
import { Table } from "../components/table.js";
import { get, getAll, studyPath } from "../data/api.js";
import { route, setQuery } from "../data/navigation.js";
import { useResource } from "../data/resource.js";
import { seriesName } from "../data/theme.js";
import { count, number } from "../pure/format.js";
import { studyHref } from "../pure/route.js";
import { AGAINST, AgainstChoice, gainText } from "./convergence.js";

const MOST = 8;
const POINTS = 200;
const PREFIX = "compare:"; // no path of the server

export function Compare() {
  const studies = useResource("overview", { read: (path) => getAll(path, 2000, 100), quietMs: 5000 });
  document.title = "Compare · Counterpoise";
  return html`
    <div class="page-head"><div><h1>Compare studies</h1>
      <p class="sub">Hypervolumes can be compared where the studies have the same objectives and reference points.</p></div></div>
    <${Loaded} resource=${studies}>${(items) => html`<${Comparison} studies=${items} />`}<//>
  `;
}

function Comparison({ studies }) {
  const given = route.value.query.studies?.split(",") ?? studies.filter(({ hypervolume }) => hypervolume.length > 1).slice(-3).map(({ name }) => name);
  const chosen = studies.filter(({ name }) => given.includes(name)).slice(0, MOST);
  const path = chosen.length ? `${PREFIX}${chosen.map(({ name }) => name).join(",")}` : null;
  const lines = useResource(path, { read: readLines, quietMs: 5000 });
  const isChosen = new Set(chosen.map(({ name }) => name));
  const against = Object.hasOwn(AGAINST, route.value.query.against ?? "") ? route.value.query.against : "slow";
  const toggle = (name) => {
    const names = [...isChosen];
    const next = isChosen.has(name) ? names.filter((other) => other !== name) : [...names, name];
    setQuery({ studies: next.join(",") });
  };
  if (!studies.length) return html`<${Panel}><${Empty} title="There is no study yet" /><//>`;
  return html`
    <div class="stack">
      <${Panel} title="Studies" note="Up to ${MOST}."><div class="row many">${studies.map(({ name }) => html`
        <label class="check"><input type="checkbox" checked=${isChosen.has(name)} disabled=${!isChosen.has(name) && isChosen.size >= MOST} onChange=${() => toggle(name)} />${name}</label>`)}</div><//>
      ${path && html`<${Loaded} resource=${lines}>${(data) => html`<${LinesPanel} data=${data} against=${against} />`}<//>`}
      ${chosen.length > 0 && html`<${Panel} title="Side by side"><${Table} caption="Side by side" columns=${columnsOf(lines.data ?? [])} rows=${chosen} rowKey=${({ name }) => name} /><//>`}
    </div>
  `;
}

function readLines(path) {
  const names = path.slice(PREFIX.length).split(",");
  return Promise.all(names.map((name) => get(studyPath(name, "convergence", { points: POINTS }))));
}

function LinesPanel({ data, against }) {
  const hasLine = data.some(({ points }) => points.some(({ hypervolume }) => hypervolume !== null));
  return hasLine
    ? html`<${LinesChart} data=${data} against=${against} />`
    : html`<${Panel}><${Empty} title="None of these studies has a step yet"><p>The line begins with the search.</p><//><//>`;
}

function LinesChart({ data, against }) {
  const x = AGAINST[against];
  const option = useCallback(() => linesOption({
    series: data.map((study, index) => ({
      name: study.study, color: seriesName(index), step: "end",
      points: study.points.filter(({ hypervolume }) => hypervolume !== null).map((point) => [x.value(point), point.hypervolume]),
    })),
    x, y: { title: "hypervolume" },
  }), [data, against]);
  const rows = data.flatMap((study) => study.points.map((point) => ({ ...point, study: study.study })));
  const columns = [
    { key: "study", title: "Study", value: (row) => row.study },
    { key: "step", title: "Step", isNumber: true, value: (row) => row.number },
    { key: "x", title: x.title, isNumber: true, value: x.value, cell: (row) => (x.format ?? count)(x.value(row)) },
    { key: "hypervolume", title: "Hypervolume", isNumber: true, value: (row) => row.hypervolume, cell: (row) => number(row.hypervolume, 6) },
  ];
  return html`
    <${ChartPanel} title="Hypervolume" controls=${html`<${AgainstChoice} against=${against} />`} option=${option} height=${380}
      label=${`Hypervolume against ${x.title} of ${data.map(({ study }) => study).join(", ")}. The same data are in the table.`}
      legend=${html`<${SeriesLegend} items=${data.map(({ study }, index) => ({ name: study, color: seriesName(index), symbol: lineSymbol(index) }))} />`}
      table=${{ columns, rows, rowKey: (row) => `${row.study} ${row.number}`, name: "comparison" }} />
  `;
}

function columnsOf(lines) {
  const known = new Map(lines.map((line) => [line.study, line]));
  return [
    { key: "name", title: "Study", isName: true, value: (study) => study.name, cell: (study) => html`<a href=${studyHref(study.name)}>${study.name}</a>` },
    { key: "state", title: "State", value: (study) => study.phase, cell: (study) => html`<${StateBadge} study=${study} />` },
    { key: "full", title: "Full samples", isNumber: true, value: (study) => study.evaluated_full, cell: (study) => `${count(study.evaluated_full)} / ${count(study.budget)}` },
    { key: "front", title: "Front", isNumber: true, value: (study) => study.front, cell: (study) => count(study.front) },
    { key: "hypervolume", title: "Hypervolume", isNumber: true, value: (study) => study.hypervolume.at(-1), cell: (study) => number(study.hypervolume.at(-1), 5) },
    { key: "gain", title: "Recent gain", isNumber: true, value: (study) => known.get(study.name)?.recent?.share, cell: (study) => gainText(known.get(study.name)?.recent) },
    { key: "assessment", title: "In words", cell: (study) => known.get(study.name)?.detail ?? "" },
  ];
}
