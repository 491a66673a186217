// Which worker is slow? Each worker's median time, compared with the others.
import { html } from "../../../vendor/ui.js";
import { Badge, Panel } from "../../components/panel.js";
import { Table } from "../../components/table.js";
import { studyPath } from "../../data/api.js";
import { useResource } from "../../data/resource.js";
import { count, duration, listed } from "../../pure/format.js";
import { OutputName } from "../overview/outputs.js";

export function SpeedsPanel({ study }) {
  const { data } = useResource(studyPath(study.name, "speeds"), { quietMs: 5000 });
  if (!data?.items.length) return null;
  const index = new Map(study.outputs.map(({ name }, position) => [name, position]));
  const rows = data.items.map((item) => ({ ...item, index: index.get(item.objective) ?? 7 }));
  const slow = [...new Set(rows.filter((row) => row.slow).map(({ worker }) => worker))];
  const isCompared = rows.some(({ pace }) => pace !== null);
  return html`
    <${Panel} title="Speed of the workers" note=${noteOf(slow, isCompared)}>
      <${Table} caption="Speed of the workers" columns=${COLUMNS} rows=${rows} rowKey=${(row) => `${row.worker} ${row.objective}`} size=${8} />
    <//>
  `;
}

function noteOf(slow, isCompared) {
  if (slow.length) return `Slower than the others: ${listed(slow, 3)}.`;
  return isCompared
    ? "No worker is clearly slower than the others at the same run."
    : "Workers are compared as soon as several have done the same run.";
}

const COLUMNS = [
  { key: "worker", title: "Worker", isName: true, value: (row) => row.worker },
  { key: "objective", title: "Run", isName: true, value: (row) => row.objective, cell: (row) => html`<${OutputName} name=${row.objective} index=${row.index} />` },
  { key: "median", title: "Median time", isNumber: true, value: (row) => row.median_s, cell: (row) => duration(row.median_s) },
  { key: "pace", title: "Against the others", value: (row) => row.pace, cell: PaceCell },
  { key: "done", title: "Done", isNumber: true, value: (row) => row.done, cell: (row) => count(row.done) },
  { key: "failed", title: "Failed or lost", isNumber: true, value: (row) => row.failed, cell: (row) => (row.failed ? html`<${Badge} tone="bad">${count(row.failed)}<//>` : "0") },
];

function PaceCell({ pace, slow }) {
  if (pace === null) return html`<span class="note">too few runs of others</span>`;
  if (slow) return html`<${Badge} tone="warn">takes ${pace.toFixed(1)} times as long<//>`;
  const change = Math.round((pace - 1) * 100);
  if (Math.abs(change) < 5) return "as fast";
  return change > 0 ? `${change} % longer` : `${-change} % shorter`;
}
