// "Evaluate this point": a sample of the engineer's own.
import { html } from "../../vendor/ui.js";
import { post, studyPath } from "../data/api.js";
import { confirm } from "./dialog.js";

export function EvaluatePoint({ study, from }) {
  const text = from ? "Evaluate near it" : "Evaluate a point";
  return html`<button onClick=${() => ask(study, from)}>${text}</button>`;
}

function fieldOf(variable, value) {
  const { name, low, high } = variable;
  const choices = variable.values ?? variable.choices;
  if (choices) return { name, label: name, choices, value: value ?? choices[0] };
  const step = variable.type === "int" ? 1 : "any";
  return { name, label: `${name}, from ${low} to ${high}`, type: "number", step, min: low, max: high, required: true, value };
}

function ask(study, from) {
  const fields = study.spec.variables.map((variable) => fieldOf(variable, from?.[variable.name]));
  const runs = study.outputs.filter(({ same_run_as: other }) => !other).map(({ name }) => name);
  confirm({
    title: "Evaluate a point",
    text: "Its jobs come before all cheap-only ones. A full sample counts towards the budget, unless it is left out of it.",
    fields: [
      ...fields,
      { name: "only-runs", label: "Only these runs, separated by commas (empty: all)", placeholder: runs.join(", ") },
      { name: "outside-budget", label: "leave it out of the budget", type: "checkbox", value: false },
    ],
    verb: "Evaluate",
    action: ({ "outside-budget": outside, "only-runs": only, ...x }) => {
      const objectives = only.split(",").map((name) => name.trim()).filter(Boolean);
      const body = { x, objectives: objectives.length ? objectives : null, outside_budget: outside };
      return post(studyPath(study.name, "samples"), body);
    },
    done: "The point is queued.",
  });
}
