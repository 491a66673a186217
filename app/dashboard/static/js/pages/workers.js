// All workers: alive, busy, failing.
import { html } from "../../vendor/ui.js";
import { confirm } from "../components/dialog.js";
import { Badge, Empty, Loaded, Panel } from "../components/panel.js";
import { Table } from "../components/table.js";
import { getAll, post } from "../data/api.js";
import { now } from "../data/clock.js";
import { LEASES_MS, useResource } from "../data/resource.js";
import { isAdmin } from "../data/session.js";
import { count, percent, plural, relative } from "../pure/format.js";

const LISTED_JOBS = 3;

export function Workers() {
  const workers = useResource("workers", { read: (path) => getAll(path, 5000), quietMs: 3000, refreshMs: LEASES_MS });
  document.title = "Workers · Counterpoise";
  return html`
    <div class="page-head"><h1>Workers</h1></div>
    <${Loaded} resource=${workers}>${(items) => (items.length ? html`<${List} items=${items} />` : html`<${NoWorkers} />`)}<//>
  `;
}

function List({ items }) {
  const alive = items.filter((worker) => worker.alive);
  const slots = alive.reduce((sum, worker) => sum + worker.slots, 0);
  const busy = alive.reduce((sum, worker) => sum + worker.jobs.length, 0);
  const note = `${plural(alive.length, "worker")} alive with ${plural(slots, "slot")}, ${count(busy)} busy; ${count(items.length - alive.length)} gone.`;
  return html`
    <${Panel} title="All workers" note=${note}>
      <${Table} caption="Workers" columns=${COLUMNS} rows=${items} rowKey=${(worker) => worker.worker} sort=${{ key: "state", isDescending: false }} />
    <//>
  `;
}

function NoWorkers() {
  return html`
    <${Panel}><${Empty} title="No worker has asked for a job yet">
      <p>The overview of a study shows the command that starts a worker for it.</p><//><//>
  `;
}

const failuresOf = ({ failures }) => failures.error + failures.infrastructure + failures.lost;

const COLUMNS = [
  { key: "worker", title: "Worker", isName: true, value: (worker) => worker.worker },
  { key: "state", title: "State", value: stateOf, cell: StateCell },
  { key: "seen", title: "Last seen", value: (worker) => worker.last_seen_at, cell: (worker) => relative(worker.last_seen_at, now.value) },
  { key: "objectives", title: "Takes", value: (worker) => worker.objectives.join(", "), cell: (worker) => takes(worker) },
  { key: "slots", title: "Slots", isNumber: true, value: (worker) => worker.slots },
  { key: "jobs", title: "Jobs now", value: (worker) => worker.jobs.length, cell: JobsCell },
  { key: "done", title: "Done", isNumber: true, value: (worker) => worker.done, cell: (worker) => count(worker.done) },
  { key: "failures", title: "Failures", isNumber: true, value: failuresOf, cell: FailuresCell },
  { key: "busy", title: "Busy", isNumber: true, value: (worker) => worker.busy_share, cell: (worker) => percent(worker.busy_share) },
  { key: "action", title: "", cell: DrainCell },
];

function stateOf(worker) {
  const state = worker.alive ? "alive" : "gone";
  if (!worker.drained) return state;
  return worker.alive ? "drained" : "drained, gone";
}

function StateCell(worker) {
  const state = stateOf(worker);
  const tone = worker.drained ? "warn" : worker.alive ? "good" : "";
  return html`<${Badge} tone=${tone}>${state}<//>`;
}

function takes(worker) {
  const studies = worker.studies.includes("*") ? "any study" : worker.studies.join(", ");
  const objectives = worker.objectives.includes("*") ? "everything" : worker.objectives.join(", ");
  return html`${objectives} <span class="note">of ${studies}</span>`;
}

function JobsCell(worker) {
  if (!worker.jobs.length) return html`<span class="note">${worker.alive ? "idle" : "–"}</span>`;
  const listed = worker.jobs.slice(0, LISTED_JOBS);
  const more = worker.jobs.length - listed.length;
  return html`${listed.map((job) => html`<a class="job-link" href="#/jobs/${job}">${job}</a> `)}${more > 0 && `+${more}`}`;
}

function FailuresCell(worker) {
  const { error, infrastructure, lost } = worker.failures;
  const total = failuresOf(worker);
  if (!total) return "0";
  return html`<span title=${`${error} errors, ${infrastructure} of infrastructure, ${lost} lost`}><${Badge} tone="bad">${count(total)}<//></span>`;
}

function DrainCell(worker) {
  if (!isAdmin.value || !(worker.alive || worker.drained)) return "";
  return worker.drained
    ? html`<button onClick=${() => drain(worker, false)}>Undrain</button>`
    : html`<button onClick=${() => drain(worker, true)}>Drain</button>`;
}

function drain(worker, isDrained) {
  confirm({
    title: isDrained ? `Drain ${worker.worker}?` : `Give jobs to ${worker.worker} again?`,
    text: isDrained
      ? "It finishes the jobs that it holds and gets no more; its process ends. Until it is undrained, no worker of this name gets jobs."
      : "It gets jobs again from its next ask. If its process has ended, start it again.",
    verb: isDrained ? "Drain" : "Undrain",
    action: () => post(isDrained ? "workers/drain" : "workers/undrain", { worker: worker.worker }),
    done: isDrained ? "The worker gets no more jobs." : "The worker gets jobs again.",
  });
}
