// Steering a study: for admins; every action says what it will do.
import { html } from "../../vendor/ui.js";
import { post, request, studyPath } from "../data/api.js";
import { go } from "../data/navigation.js";
import { isAdmin } from "../data/session.js";
import { count, plural } from "../pure/format.js";
import { confirm } from "./dialog.js";

export function StudyActions({ study }) {
  if (!isAdmin.value) return null;
  const isFinished = study.phase === "finished";
  const isPaused = study.state === "paused";
  const runs = study.outputs.filter((output) => !output.same_run_as);
  const failed = runs.reduce((sum, run) => sum + run.failed, 0);
  return html`
    ${failed > 0 && html`<button onClick=${() => retry(study, failed)}>Retry failed jobs</button>`}
    ${!isFinished && !isPaused && html`<button onClick=${() => pause(study)}>Pause</button>`}
    ${isPaused && html`<button class="primary" onClick=${() => resume(study)}>Resume</button>`}
    <button onClick=${() => extend(study)}>Extend</button>
    ${!isFinished && html`<button class="danger" onClick=${() => stop(study)}>Stop</button>`}
  `;
}

function pause(study) {
  confirm({
    title: `Pause ${study.name}?`,
    text: "Workers get no new jobs and no step is planned. Running jobs go on, and their values are recorded.",
    verb: "Pause",
    action: () => post(studyPath(study.name, "pause")),
    done: "The study is paused.",
  });
}

function resume(study) {
  confirm({
    title: `Resume ${study.name}?`,
    text: `Workers get jobs again${study.phase === "finished" ? "" : ", and steps are planned"}.`,
    verb: "Resume",
    action: () => post(studyPath(study.name, "resume")),
    done: "The study goes on.",
  });
}

function extend(study) {
  const batch = Number(study.spec.batch_size) || 1; // "auto" is none
  confirm({
    title: `Extend ${study.name}`,
    text: `The budget is ${count(study.budget)} full samples. A larger one lets the search go on${study.phase === "finished" ? "; the study is reopened" : ""}.`,
    fields: [{
      name: "budget", label: "New budget, full samples in all", type: "number",
      value: study.budget + 5 * batch, min: study.budget + 1, required: true,
    }],
    verb: "Extend",
    action: ({ budget }) => post(studyPath(study.name, "extend"), { budget }),
    done: "The budget is raised.",
  });
}

function stop(study) {
  confirm({
    title: `Stop ${study.name}?`,
    text: "The study is finished now. Jobs that wait are not evaluated. It can be reopened with a larger budget.",
    fields: [{ name: "cancel", label: "Advise workers to stop what runs, too", type: "checkbox", value: false }],
    verb: "Stop the study",
    isDangerous: true,
    action: ({ cancel }) => post(studyPath(study.name, "stop"), { cancel_running: cancel }),
    done: "The study is stopped.",
  });
}

function retry(study, failed) {
  confirm({
    title: "Retry failed jobs?",
    text: `${plural(failed, "failed job")} will be ready again, as if ${failed === 1 ? "it" : "they"} had not failed.`,
    verb: "Retry",
    action: () => post(studyPath(study.name, "retry"), {}),
    done: "The jobs are ready again.",
  });
}

export function deleteStudy(study) {
  confirm({
    title: `Delete ${study.name}?`,
    text: "The study and all its data are deleted. This cannot be undone: export the data first if they may be needed.",
    fields: [
      { name: "name", label: `Type ${study.name} to confirm`, required: true, pattern: study.name.replace(/[.]/g, "\\."), autocomplete: "off" },
      { name: "force", label: "Delete it although workers hold jobs: their values are lost", type: "checkbox", value: false },
    ],
    verb: "Delete the study",
    isDangerous: true,
    action: async ({ force }) => {
      await request("DELETE", studyPath(study.name, "", { force: force || undefined }));
      go("#/");
    },
    done: "The study is deleted.",
  });
}
