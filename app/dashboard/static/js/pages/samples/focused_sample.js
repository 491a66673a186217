// The sample that is looked at.
import { html } from "../../../vendor/ui.js";
import { confirm } from "../../components/dialog.js";
import { Panel } from "../../components/panel.js";
import { EvaluatePoint } from "../../components/evaluate_point.js";
import { post, studyPath } from "../../data/api.js";
import { isAdmin } from "../../data/session.js";
import { select, selection } from "../../data/shared_selection.js";
import { axisTitle } from "../../pure/axis.js";
import { number, stepText, withUnit } from "../../pure/format.js";
import { brokenLimits, originOf } from "../../pure/marks.js";
import { Facts } from "../work/job.js";
import { KindBadge } from "./table.js";

export function FocusedSample({ study, samples, outputs }) {
  const chosen = selection.value;
  const sample = chosen.focus === null ? undefined : samples.find((other) => other.sample === chosen.focus);
  if (!sample) return null;
  const broken = sample.broken_limits ?? brokenLimits(sample, outputs);
  const values = outputs.map((output) => [axisTitle(output), resultText(sample, output)]);
  const point = study.spec.variables.map((variable) => [withUnit(variable.name, variable.unit), number(sample.x[variable.name], 6)]);
  const controls = html`
    ${isAdmin.value && html`
      <${EvaluatePoint} study=${study} from=${sample.x} />
      <${ExcludeButton} study=${study} sample=${sample} />`}
    <button class="quiet" onClick=${() => select({ ...chosen, focus: null })}>Close</button>
  `;
  return html`
    <${Panel} title=${`Sample ${sample.sample}`} controls=${controls}
      note=${html`<${KindBadge} sample=${sample} /> ${sample.step ? `from ${stepText(sample.step)}` : originOf(sample)}${broken.length > 0 && `; limits broken: ${broken.join(", ")}`}`}>
      <div class="grid"><${Facts} entries=${values} /><${Facts} entries=${point} /></div>
    <//>
  `;
}

function resultText(sample, output) {
  if (sample.failures[output.name]) return `${sample.failures[output.name]}`;
  return number(sample.values[output.name], 6);
}

function ExcludeButton({ study, sample }) {
  if (sample.excluded) {
    return html`<button onClick=${() => change(study, sample, "restore")}>Restore for good</button>`;
  }
  return html`<button onClick=${() => change(study, sample, "exclude")}>Exclude for good</button>`;
}

function change(study, sample, verb) {
  const isExclusion = verb === "exclude";
  const later = study.phase === "finished"
    ? "the hypervolume of a finished study stays as it is"
    : "the models and the hypervolume with the next step";
  confirm({
    title: `${isExclusion ? "Exclude" : "Restore"} sample ${sample.sample}?`,
    text: isExclusion
      ? `The front leaves it out at once; ${later}. Its values are kept, and it can be restored.`
      : `The front takes it in again at once; ${later}.`,
    verb: isExclusion ? "Exclude" : "Restore",
    action: () => post(studyPath(study.name, `samples/${sample.sample}/${verb}`)),
    done: isExclusion ? "The sample is excluded." : "The sample is restored.",
  });
}
