// What needs attention, as cards; nothing when all is well.
import { html } from "../../vendor/ui.js";
import { studyHref } from "../pure/route.js";
import { Command } from "./command.js";

const TITLES = {
  paused: "The study is paused",
  finished_early: "The study ended before its budget was used",
  workers_drained: "All workers are drained",
  step_failed: "A step cannot be planned",
  planner_missing: "No planner is running",
  jobs_failed: "Jobs have failed",
};
const BAD = new Set(["step_failed", "planner_missing"]);
const INFO = new Set(["paused"]);

export function Health({ study, items }) {
  if (!items.length) return null;
  const idle = items.filter(({ code }) => code === "no_worker");
  return html`
    <section class="health" aria-label="Health">
      ${idle.length > 0 && html`<${NoWorkerCard} study=${study} items=${idle} />`}
      ${items.filter(({ code }) => code !== "no_worker").map((item) => html`<${Card} key=${item.code + item.objective} study=${study} item=${item} />`)}
    </section>
  `;
}

/** One card and one command for all objectives that nobody evaluates. */
function NoWorkerCard({ study, items }) {
  const names = items.map(({ objective }) => objective);
  return html`
    <article class="health-card bad">
      <strong>No worker evaluates ${names.join(", ")}</strong>
      <span>Jobs wait, and no live worker can evaluate them. Start one wherever the simulations
        can run; name your own functions:</span>
      <${WorkerCommand} study=${study} objectives=${names} />
    </article>
  `;
}

function Card({ study, item }) {
  const tone = BAD.has(item.code) ? "bad" : INFO.has(item.code) ? "info" : "";
  const title = TITLES[item.code] ?? item.code.replaceAll("_", " ");
  return html`
    <article class="health-card ${tone}">
      <strong>${title}${item.objective && `: ${item.objective}`}</strong>
      <span>${item.detail}</span>
      ${item.code === "jobs_failed" && html`
        <a href=${studyHref(study, "work", { state: "failed", objective: item.objective })}>Show the failed jobs</a>`}
    </article>
  `;
}

/** The exact command that starts a worker for this server and study. */
export function WorkerCommand({ study, objectives }) {
  const server = location.href.split("#")[0].replace(/\/$/, "");
  const named = objectives.map((name) => `--objective ${name}=my_simulations:${pythonName(name)}`).join(" ");
  return html`<${Command} text=${`counterpoise worker --url ${server} --study ${study} ${named}`} />`;
}

function pythonName(name) {
  return name.replace(/[^A-Za-z0-9_]/g, "_").replace(/^(\d)/, "_$1");
}
