// How busy the slots are, what waits, and why.
import { html } from "../../../vendor/ui.js";
import { Panel } from "../../components/panel.js";
import { Table } from "../../components/table.js";
import { count, duration, percent } from "../../pure/format.js";
import { OutputName } from "../overview/outputs.js";

export function QueuesPanel({ study, timeline }) {
  const index = new Map(study.outputs.map(({ name }, position) => [name, position]));
  const busy = new Map(timeline.utilisation.map((row) => [row.objective, row]));
  const rows = timeline.queues.map((queue) => ({ ...queue, busy: busy.get(queue.objective), index: index.get(queue.objective) ?? 7 }));
  const known = new Set(rows.map(({ objective }) => objective));
  for (const row of timeline.utilisation) {
    if (!known.has(row.objective)) rows.push({ objective: row.objective, busy: row, index: index.get(row.objective) ?? 7, ready: 0, leased: 0 });
  }
  return html`
    <${Panel} title="Queues and utilisation">
      <${Table} caption="Queues and utilisation" columns=${COLUMNS} rows=${rows} rowKey=${(row) => row.objective} />
    <//>
  `;
}

const COLUMNS = [
  { key: "objective", title: "Run", isName: true, value: (row) => row.objective, cell: (row) => html`<${OutputName} name=${row.objective} index=${row.index} />` },
  { key: "ready", title: "Waiting", isNumber: true, value: (row) => row.ready, cell: (row) => count(row.ready) },
  { key: "waiting", title: "Longest wait", isNumber: true, value: (row) => row.waiting_s, cell: (row) => duration(row.waiting_s) },
  { key: "leased", title: "Running", isNumber: true, value: (row) => row.leased, cell: (row) => count(row.leased) },
  { key: "slots", title: "Slots", isNumber: true, value: (row) => row.busy?.slots, cell: (row) => count(row.busy?.slots) },
  { key: "share", title: "Slots busy", value: (row) => row.busy?.share, cell: BusyBar },
  { key: "why", title: "Why jobs wait", isText: true, cell: (row) => row.detail ?? html`<span class="note">none waits</span>` },
];

function BusyBar({ busy }) {
  if (!busy || busy.share === null) return "–";
  const all = busy.busy_s + busy.other_s + busy.idle_s || 1;
  const parts = `this run ${duration(busy.busy_s)}, other runs ${duration(busy.other_s)}, idle ${duration(busy.idle_s)}`;
  return html`
    <div class="busy" title=${parts}>
      <div class="progress" aria-hidden="true"><i style=${{ width: `${(100 * busy.busy_s) / all}%` }}></i>
        <i class="planned" style=${{ width: `${(100 * busy.other_s) / all}%` }}></i></div>
      <span>${percent(busy.share)}</span>
    </div>
  `;
}
