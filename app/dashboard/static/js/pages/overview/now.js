// What runs now, with the time left, and the line of the hypervolume.
import { html, useCallback } from "../../../vendor/ui.js";
import { ChartPanel } from "../../charts/chart_panel.js";
import { linesOption } from "../../charts/lines.js";
import { Badge, Panel } from "../../components/panel.js";
import { Table } from "../../components/table.js";
import { studyPath } from "../../data/api.js";
import { now } from "../../data/clock.js";
import { LEASES_MS, useResource } from "../../data/resource.js";
import { readTimeline, timelinePath } from "../../data/timeline.js";
import { mainObjective } from "../../charts/gantt.js";
import { duration, listed, number, relative } from "../../pure/format.js";
import { studyHref } from "../../pure/route.js";
import { AGAINST } from "../convergence.js";

const MOST_SLOW = 2; // workers in a sentence
const WINDOW_MS = 60_000; // what runs now has not ended: a short span has it all

export function RunningPanel({ study }) {
  const from = new Date(Math.floor(now.value / WINDOW_MS) * WINDOW_MS - WINDOW_MS).toISOString();
  const isRunning = study.outputs.some(({ leased }) => leased > 0);
  const path = isRunning ? timelinePath(study.name, { start: from }) : null;
  const timeline = useResource(path, { read: readTimeline, quietMs: 5000, refreshMs: LEASES_MS });
  const items = isRunning ? (timeline.data?.items ?? []).filter(({ end }) => end === null) : [];
  if (study.phase === "finished") return null;
  const all = html`<a href=${studyHref(study.name, "work")}>Timeline</a>`;
  return html`
    <${Panel} title="Running now" controls=${all}>
      ${items.length
        ? html`<${Table} caption="Running now" columns=${COLUMNS} rows=${items} rowKey=${({ job }) => job} size=${6} />`
        : html`<p class="note">No job is running.</p>`}
      <${SlowWorkers} study=${study} />
    <//>
  `;
}

function SlowWorkers({ study }) {
  const { data } = useResource(studyPath(study.name, "speeds"), { quietMs: 10_000 });
  const slow = (data?.items ?? []).filter((item) => item.slow);
  if (!slow.length) return null;
  const parts = slow.map(({ worker, objective, pace }) => `${worker} takes ${pace.toFixed(1)} times as long as the others at ${objective}`);
  return html`
    <p class="spaced"><${Badge} tone="warn">slow<//> ${listed(parts, MOST_SLOW)}. <a href=${studyHref(study.name, "work")}>Compare the workers</a></p>
  `;
}

const COLUMNS = [
  { key: "objective", title: "Run", isName: true, value: mainObjective },
  { key: "worker", title: "Worker", isName: true, value: ({ worker }) => worker },
  { key: "since", title: "For", isNumber: true, value: ({ start }) => Date.parse(start), cell: ({ start }) => duration(Math.max(now.value - Date.parse(start), 0) / 1000) },
  { key: "left", title: "Expected end", isNumber: true, value: ({ expected_end: end }) => end, cell: expectedText },
  { key: "job", title: "Job", isId: true, value: ({ job }) => job, cell: ({ job }) => html`<a href="#/jobs/${job}">${job}</a>` },
];

function expectedText({ expected_end: end }) {
  if (!end) return "–";
  return Date.parse(end) < now.value ? html`<span class="late">longer than usual</span>` : relative(end, now.value);
}

export function HypervolumePanel({ study, convergence }) {
  const points = (convergence?.points ?? []).filter(({ hypervolume }) => hypervolume !== null);
  const option = useCallback(() => linesOption({
    series: [{ name: "hypervolume", color: "--series-1", step: "end", points: points.map((point) => [AGAINST.slow.value(point), point.hypervolume]) }],
    x: AGAINST.slow, y: { title: "hypervolume" },
  }), [convergence]);
  if (points.length < 2) return null;
  const columns = [
    { key: "step", title: "Step", isNumber: true, value: (point) => point.number },
    { key: "hypervolume", title: "Hypervolume", isNumber: true, value: (point) => point.hypervolume, cell: (point) => number(point.hypervolume, 6) },
  ];
  return html`
    <${ChartPanel} title="Hypervolume" note=${convergence.detail} option=${option} height=${300}
      label=${`Hypervolume over ${points.length} steps, now ${number(points.at(-1).hypervolume)}. The same data are in the table.`}
      table=${{ columns, rows: points, rowKey: (point) => point.number, name: `${study.name}-hypervolume` }} />
  `;
}
