// What needs attention, as cards: cause, consequence and next step; nothing when all is well.
import { html } from "../../vendor/ui.js";
import { me } from "../data/session.js";
import { listed } from "../pure/format.js";
import { studyHref } from "../pure/route.js";
import { Command } from "./command.js";
import { Icon } from "./icons.js";

const TITLES = {
  paused: "The study is paused",
  finished_early: "The study ended before its budget was used",
  workers_drained: "Workers are drained",
  step_failed: "A step cannot be planned",
  planner_missing: "No planner is running",
  jobs_failed: "Jobs have failed",
  run_hangs: "A run takes far longer than usual",
  slots_idle: "Slow workers run out of jobs",
  worker_name_shared: "Two workers use one name",
  no_feasible_sample: "No sample qualifies for the front",
};
const BAD = new Set(["step_failed", "planner_missing"]);
const INFO = new Set(["paused"]);
const ICONS = { bad: "problem", info: "info" };
const NAMED = 4; // objectives in a title

export function Health({ study, items }) {
  if (!items.length) return null;
  const idle = items.filter(({ code }) => code === "no_worker");
  return html`
    <section class="health" aria-label="Health">
      ${idle.length > 0 && html`<${NoWorkerCard} study=${study} items=${idle} />`}
      ${items.filter(({ code }) => code !== "no_worker").map((item) => html`
        <${ItemCard} key=${`${item.code} ${item.objective} ${item.job} ${item.worker}`} study=${study} item=${item} />`)}
    </section>
  `;
}

/** One card and one command for all objectives that nobody evaluates. */
function NoWorkerCard({ study, items }) {
  const names = items.map(({ objective }) => objective);
  return html`
    <${Card} tone="bad" title=${`No worker evaluates ${listed(names, NAMED)}`}>
      <span>Their jobs wait until a worker asks for them. Start one wherever the simulations can
        run; name your own functions:</span>
      <${WorkerCommand} study=${study} objectives=${names} />
    <//>
  `;
}

function ItemCard({ study, item }) {
  const tone = BAD.has(item.code) ? "bad" : INFO.has(item.code) ? "info" : "";
  const title = TITLES[item.code] ?? item.code.replaceAll("_", " ");
  const links = linksOf(study, item);
  return html`
    <${Card} tone=${tone} title=${`${title}${item.objective ? `: ${item.objective}` : ""}`}>
      <div class="detail">${withCode(item.detail)}</div>
      ${links.length > 0 && html`<span class="row">${links.map(([href, text]) => html`<a href=${href}>${text}</a>`)}</span>`}
    <//>
  `;
}

function Card({ tone, title, children }) {
  return html`
    <article class="health-card ${tone}">
      <${Icon} name=${ICONS[tone] ?? "warning"} />
      <div><strong>${title}</strong>${children}</div>
    </article>
  `;
}

function linksOf(study, { code, job, worker, objective }) {
  const links = [];
  if (code === "jobs_failed") links.push([studyHref(study, "work", { state: "failed", objective }), "Show the failed jobs"]);
  if (code === "no_feasible_sample") links.push([studyHref(study, "tradeoffs"), "Show the samples"]);
  if (job) links.push([`#/jobs/${job}`, `Job ${job}`]);
  if (worker || code === "workers_drained") links.push(["#/workers", "Workers"]);
  return links;
}

/** A sentence of the server with its commands set as such. */
export function withCode(text) {
  return text.split("`").map((part, index) => (index % 2 ? html`<code>${part}</code>` : part));
}

/** The exact command that starts a worker for this server and study. */
export function WorkerCommand({ study, objectives }) {
  const server = location.href.split("#")[0].replace(/\/$/, "");
  const named = objectives.map((name) => `--objective ${name}=my_simulations:${pythonName(name)}`).join(" ");
  return html`
    <${Command} text=${`counterpoise worker --url ${server} --study ${study} ${named}`} />
    ${me.value.login_required && html`<span class="note">With a worker token of this server in <code>COUNTERPOISE_TOKEN</code>.</span>`}
  `;
}

function pythonName(name) {
  return name.replace(/[^A-Za-z0-9_]/g, "_").replace(/^(\d)/, "_$1");
}
