// A job's page: its attempts, log, point and deadline.
import { html } from "../../../vendor/ui.js";
import { withCode } from "../../components/health.js";
import { confirm } from "../../components/dialog.js";
import { Badge, Loaded, Panel } from "../../components/panel.js";
import { Table } from "../../components/table.js";
import { post, studyPath } from "../../data/api.js";
import { now } from "../../data/clock.js";
import { LEASES_MS, useResource } from "../../data/resource.js";
import { route } from "../../data/navigation.js";
import { isAdmin } from "../../data/session.js";
import { dateTime, duration, number, stepText, withLocalTimes } from "../../pure/format.js";
import { studyHref } from "../../pure/route.js";
import { JobState } from "./jobs.js";

const TONES = { done: "good", late: "good", failed: "bad", expired: "bad" };

export function Job() {
  const { job: id } = route.value;
  const job = useResource(`jobs/${id}`, { refreshMs: LEASES_MS });
  document.title = `Job ${id} · Counterpoise`;
  return html`<${Loaded} resource=${job}>${(data) => html`<${JobDetails} job=${data} />`}<//>`;
}

function JobDetails({ job }) {
  return html`
    <div class="page-head">
      <div>
        <div class="row"><h1>Job ${job.job}: ${job.objective}</h1><${JobState} state=${job.state} /></div>
        <p class="sub"><a href=${studyHref(job.study)}>${job.study}</a>, sample
          <a href=${studyHref(job.study, "samples", { focus: job.sample, partial: job.cheap_only ? "1" : undefined })}> ${job.sample}</a>${job.step && `, proposed by ${stepText(job.step)}`}</p>
      </div>
      <div class="row">${isAdmin.value && html`<${JobActions} job=${job} />`}</div>
    </div>
    <div class="stack">
      ${job.why.length > 0 && html`<${Panel} title="Why it is in this state"><ul class="plain sentences">${job.why.map((line) => html`<li>${withCode(withLocalTimes(line))}</li>`)}</ul><//>`}
      <div class="grid">
        <${Panel} title="Point"><${Facts} entries=${Object.entries(job.x).map(([name, value]) => [name, number(value, 6)])} /><//>
        <${Panel} title="Result"><${Facts} entries=${resultOf(job)} /><//>
      </div>
      <${Panel} title="Attempts">
        ${job.attempts.length
          ? html`<${Table} caption="Attempts" columns=${COLUMNS} rows=${job.attempts} rowKey=${(attempt) => attempt.number} />`
          : html`<p class="note">No worker has taken it yet.</p>`}
        ${job.attempts.filter(({ message }) => message).map((attempt) => html`
          <h3>Log of attempt ${attempt.number}</h3><pre class="log" tabindex="0">${attempt.message}</pre>`)}
      <//>
    </div>
  `;
}

const COLUMNS = [
  { key: "number", title: "Attempt", isId: true, value: (attempt) => attempt.number },
  { key: "worker", title: "Worker", isName: true, value: (attempt) => attempt.worker },
  { key: "leased", title: "Began", value: (attempt) => attempt.leased_at, cell: (attempt) => dateTime(attempt.leased_at) },
  { key: "took", title: "Took", isNumber: true, value: tookOf, cell: (attempt) => duration(tookOf(attempt)) },
  { key: "outcome", title: "Outcome", value: (attempt) => attempt.outcome, cell: (attempt) => html`
      <${Badge} tone=${TONES[attempt.outcome] ?? "info"}>${attempt.outcome ?? "running"}${attempt.failure ? `: ${attempt.failure}` : ""}<//>` },
  { key: "value", title: "Value", isNumber: true, value: (attempt) => attempt.value, cell: (attempt) => number(attempt.value) },
];

function tookOf(attempt) {
  const end = attempt.ended_at ? Date.parse(attempt.ended_at) : now.value;
  return attempt.duration_s ?? Math.max(end - Date.parse(attempt.leased_at), 0) / 1000;
}

function resultOf(job) {
  const entries = [["value", number(job.value, 6)], ["kind", job.cheap_only ? "cheap-only" : "full"]];
  if (job.also.length) entries.push(["returns also", job.also.join(", ")]);
  if (job.ahead !== null) entries.push(["jobs before it", job.ahead >= 1000 ? "1000 or more" : String(job.ahead)]);
  if (job.expires_at) entries.push(["deadline", dateTime(job.expires_at)]);
  return entries;
}

export function Facts({ entries }) {
  return html`<dl class="facts">${entries.map(([term, text]) => html`<dt>${term}</dt><dd>${text}</dd>`)}</dl>`;
}

function JobActions({ job }) {
  return html`
    ${job.state === "leased" && html`<button class="danger" onClick=${() => cancel(job)}>Cancel</button>`}
    ${job.state === "failed" && html`<button onClick=${() => retry(job)}>Retry</button>`}
  `;
}

function cancel(job) {
  confirm({
    title: `Cancel job ${job.job}?`,
    text: "Its worker is told to stop with its next heartbeat. The job is tried again, unless you say otherwise.",
    fields: [{ name: "fail", label: "Do not try it again: it has failed", type: "checkbox", value: false }],
    verb: "Cancel the job",
    isDangerous: true,
    action: ({ fail }) => post(`jobs/${job.job}/cancel`, { fail }),
    done: "The run is cancelled.",
  });
}

/** The API retries by objective: the sentence says so. */
function retry(job) {
  confirm({
    title: `Retry the failed jobs of ${job.objective}?`,
    text: `This job and all other failed jobs of ${job.objective} in ${job.study} are ready again, as if they had not failed.`,
    verb: "Retry",
    action: () => post(studyPath(job.study, "retry"), { objectives: [job.objective] }),
    done: "The jobs are ready again.",
  });
}
