// Is it running, is anything wrong, when is it done?
import { html } from "../../../vendor/ui.js";
import { Health, WorkerCommand } from "../../components/health.js";
import { Metric, Panel, Progress } from "../../components/panel.js";
import { etaText } from "../../components/study_state.js";
import { StudyActions } from "../../components/study_actions.js";
import { get, studyPath } from "../../data/api.js";
import { useChoices } from "../../data/choices.js";
import { now } from "../../data/clock.js";
import { LEASES_MS, useResource } from "../../data/resource.js";
import { count, dateTime, duration, number, relative } from "../../pure/format.js";
import { studyHref } from "../../pure/route.js";
import { FrontChoices } from "./choices.js";
import { FrontPanel } from "./front.js";
import { HypervolumePanel, RunningPanel } from "./now.js";
import { OutputsTable } from "./outputs.js";

/** With the time at which its durations count from. */
async function readOverview(path) {
  return { ...(await get(path)), readAt: Date.now() };
}

export function Overview({ study }) {
  const overview = useResource(studyPath(study.name, "overview"), { read: readOverview, quietMs: 3000, refreshMs: LEASES_MS });
  const convergence = useResource(studyPath(study.name, "convergence", { points: 60 }), { quietMs: 5000 });
  const front = useResource(studyPath(study.name, "front"), { quietMs: 5000 });
  const { designs, labels, error } = useChoices(study);
  const eta = overview.data && etaNow(overview.data);
  const needsWorkers = study.health.some(({ code }) => code === "no_worker");
  const isUntouched = study.evaluated_full === 0 && !needsWorkers && study.outputs.every(({ done, leased }) => !done && !leased);
  return html`
    <div class="stack">
      <${Health} study=${study.name} items=${study.health} />
      ${isUntouched && study.phase !== "finished" && html`<${NoValuesYet} study=${study} />`}
      <${Panel} title="Progress" controls=${html`<${StudyActions} study=${study} />`}>
        <${Progress} done=${study.evaluated_full} planned=${study.planned_full} total=${study.budget} label="Full samples" />
        <dl class="metrics overview-metrics">
          <${Metric} label="Full samples" value=${count(study.evaluated_full)} unit="of ${count(study.budget)}"
            extra=${plannedText(study)} />
          <${Metric} ...${endMetric(study, eta)} />
          <${Metric} label="Step" value=${count(study.step)}
            extra=${study.planning_s !== null && `planned in ${duration(study.planning_s)}`} />
          <${Metric} label="Hypervolume" value=${number(study.hypervolume?.value)}
            extra=${study.hypervolume && html`<a href=${studyHref(study.name, "convergence")}>Is it still worth it?</a>`} />
          <${Metric} label="Front" ...${frontSize(study, front.data)}
            extra=${html`<a href=${studyHref(study.name, "tradeoffs")}>Show the trade-offs</a>`} />
        </dl>
      <//>
      <${FrontChoices} study=${study} designs=${designs} error=${error} />
      <div class="grid">
        <${FrontPanel} study=${study} front=${front.data} names=${labels} />
        <${HypervolumePanel} study=${study} convergence=${convergence.data} />
      </div>
      <${RunningPanel} study=${study} />
      <${OutputsTable} study=${study} />
      ${study.spec.notes && html`<${Panel} title="Notes"><p class="notes">${study.spec.notes}</p><//>`}
    </div>
  `;
}

function frontSize(study, front) {
  if (!front) return { value: "–" };
  const size = front.items.length;
  if (size) return { value: count(size), unit: size === 1 ? "sample" : "samples" };
  return { value: study.phase === "finished" ? "none" : "none yet" };
}

function plannedText(study) {
  const running = study.planned_full - study.evaluated_full;
  const parts = [];
  if (running > 0) parts.push(`${count(running)} in evaluation`);
  if (study.imported) parts.push(`${count(study.imported)} own or imported`);
  return parts.join(", ");
}

/** What is left of the times that the server stated some seconds ago. */
function etaNow({ eta, readAt }) {
  if (!eta || eta.low_s === null) return eta;
  const age = Math.max(now.value - readAt, 0) / 1000;
  return { ...eta, low_s: Math.max(eta.low_s - age, 0), high_s: Math.max(eta.high_s - age, 0) };
}

function endMetric(study, eta) {
  if (study.phase === "finished") {
    const took = (Date.parse(study.finished_at) - Date.parse(study.created_at)) / 1000;
    return { label: "Finished", value: relative(study.finished_at, now.value), extra: `${dateTime(study.finished_at)}, after ${duration(took)}` };
  }
  const started = `started ${relative(study.created_at, now.value)}`;
  if (!eta) return { label: "Time left", value: "–", extra: started };
  if (eta.low_s === null) return { label: "Time left", value: "not known yet", extra: eta.unknown };
  const until = new Date(now.value + eta.high_s * 1000).toISOString();
  return { label: "Time left", value: etaText({ ...study, eta }), extra: `until ${dateTime(until)} at the latest; ${started}` };
}

function NoValuesYet({ study }) {
  const runs = study.outputs.filter((objective) => !objective.same_run_as).map(({ name }) => name);
  return html`
    <${Panel} title="Waiting for the first worker" note="Start one wherever the simulations can run:">
      <${WorkerCommand} study=${study.name} objectives=${runs} />
    <//>
  `;
}
