// Jobs by state and output.
import { html } from "../../../vendor/ui.js";
import { Badge, Loaded, Panel } from "../../components/panel.js";
import { Table } from "../../components/table.js";
import { get, studyPath } from "../../data/api.js";
import { route, setQuery } from "../../data/navigation.js";
import { LEASES_MS, useResource } from "../../data/resource.js";
import { number } from "../../pure/format.js";

const STATES = ["leased", "ready", "waiting", "failed", "infeasible", "done", "superseded"];
const WORDS = { leased: "running", ready: "waiting", waiting: "held back" };
const TONES = { leased: "info", failed: "bad", done: "good" };
const QUEUED = new Set(["leased", "ready", "waiting"]); // the oldest are next
const LIMIT = 200;

export function JobState({ state }) {
  return html`<${Badge} tone=${TONES[state] ?? ""}>${WORDS[state] ?? state}<//>`;
}

const COLUMNS = [
  { key: "job", title: "Job", isId: true, value: (job) => job.job, cell: (job) => html`<a href="#/jobs/${job.job}">${job.job}</a>` },
  { key: "state", title: "State", value: (job) => job.state, cell: (job) => html`<${JobState} state=${job.state} />` },
  { key: "objective", title: "Run", isName: true, value: (job) => job.objective },
  { key: "sample", title: "Sample", isNumber: true, value: (job) => job.sample },
  { key: "kind", title: "Kind", value: (job) => (job.cheap_only ? "cheap-only" : "full") },
  { key: "attempts", title: "Attempts", isNumber: true, value: (job) => job.attempts },
  { key: "value", title: "Value", isNumber: true, value: (job) => job.value, cell: (job) => number(job.value) },
  { key: "worker", title: "Worker", isName: true, value: (job) => job.worker ?? "" },
];
const FAILED_COLUMNS = [
  ...COLUMNS.filter(({ key }) => key !== "value" && key !== "state"),
  { key: "why", title: "Why it failed", isText: true, value: (job) => job.message ?? job.failure ?? "", cell: WhyCell },
];

function WhyCell({ failure, message }) {
  return html`<${Badge} tone="bad">${failure ?? "lost"}<//>${message && html` <span class="message" title=${message}>${message}</span>`}`;
}

/** What a reader most likely looks for: what runs, waits or failed. */
function likelyState(study) {
  const has = (state) => study.outputs.some((objective) => objective[state] > 0);
  return ["leased", "failed", "ready"].find(has) ?? "done";
}

export function JobsPanel({ study }) {
  const { state = likelyState(study), objective } = route.value.query;
  const isOldestFirst = QUEUED.has(state);
  const path = studyPath(study.name, "jobs", {
    state: STATES.includes(state) ? state : undefined, objective, limit: LIMIT, newest_first: isOldestFirst ? undefined : true,
  });
  const jobs = useResource(path, { read: get, quietMs: 3000, refreshMs: LEASES_MS });
  const runs = study.outputs.filter((output) => !output.same_run_as).map(({ name }) => name);
  const controls = html`
    <div class="segmented" role="group" aria-label="State">
      ${STATES.map((name) => html`<button aria-pressed=${String(name === state)} onClick=${() => setQuery({ state: name })}>${WORDS[name] ?? name}</button>`)}
    </div>
    <label class="row select">Run
      <select value=${objective ?? ""} onChange=${(event) => setQuery({ objective: event.currentTarget.value || undefined })}>
        <option value="">all</option>
        ${runs.map((name) => html`<option value=${name} selected=${name === objective}>${name}</option>`)}
      </select>
    </label>
  `;
  return html`
    <${Panel} title="Jobs" controls=${controls}>
      <${Loaded} resource=${jobs}>${(page) => (page.items.length
        ? html`<${Table} caption="Jobs" columns=${state === "failed" ? FAILED_COLUMNS : COLUMNS} rows=${page.items} rowKey=${(job) => job.job} size=${15} />
            ${page.next && html`<p class="note">The ${isOldestFirst ? "oldest" : "newest"} ${LIMIT} are listed; all are in the export.</p>`}`
        : html`<p class="note">No job is ${WORDS[state] ?? state}.</p>`)}<//>
    <//>
  `;
}
