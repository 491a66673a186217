// A form for the usual fields; it writes the YAML, which holds the rest.
import { html, useEffect, useState } from "../../../vendor/ui.js";

const STRATEGIES = ["sbp-bo", "counterpoise"]; // those to choose from by hand; the YAML takes all
const VARIABLE = { name: "", type: "float", low: 0, high: 1 };
const OBJECTIVE = { name: "", direction: "minimize" };
const CONSTRAINT = { name: "", upper: 1 };

export function SpecForm({ text, onText }) {
  const [spec, setSpec] = useState(null);
  const [yaml, setYaml] = useState(null);
  useEffect(() => {
    import("../../../vendor/yaml.js").then((library) => {
      setYaml(library);
      const read = library.parseDocument(text).toJS();
      setSpec(read && typeof read === "object" ? read : { name: "", variables: [], objectives: [], budget: 60 });
    });
  }, []);
  if (!spec) return html`<div class="skeleton"></div>`;
  const update = (change) => {
    const next = { ...spec, ...change };
    setSpec(next);
    onText(yaml.stringify(next));
  };
  return html`
    <div class="stack tight">
      <div class="row">
        <${Input} label="Name" value=${spec.name} onValue=${(name) => update({ name })} />
        <${Input} label="Budget, full samples" type="number" value=${spec.budget} onValue=${(budget) => update({ budget })} />
        <${Input} label="Samples per step" type="number" value=${typeof spec.batch_size === "number" ? spec.batch_size : ""} onValue=${(value) => update({ batch_size: value ?? undefined })} />
        <${Input} label="Strategy" type=${STRATEGIES} value=${spec.strategy} onValue=${(strategy) => update({ strategy })} />
      </div>
      <${Rows} title="Variables" items=${spec.variables ?? []} blank=${VARIABLE} onItems=${(variables) => update({ variables })} fields=${VARIABLE_FIELDS} />
      <${Rows} title="Objectives" items=${spec.objectives ?? []} blank=${OBJECTIVE} onItems=${(objectives) => update({ objectives })} fields=${OBJECTIVE_FIELDS} />
      <${Rows} title="Constraints" items=${spec.constraints ?? []} blank=${CONSTRAINT} onItems=${(constraints) => update({ constraints: constraints.length ? constraints : undefined })} fields=${CONSTRAINT_FIELDS} />
    </div>
  `;
}

const VARIABLE_FIELDS = [
  ["name", "Name", "text"], ["type", "Type", ["float", "int"]], ["low", "Low", "number"], ["high", "High", "number"],
  ["scale", "Scale", ["linear", "log"]],
];
const OBJECTIVE_FIELDS = [
  ["name", "Name", "text"], ["direction", "Direction", ["minimize", "maximize"]], ["unit", "Unit", "text"],
  ["evaluation_time_s", "Seconds per run", "number"],
];

const CONSTRAINT_FIELDS = [
  ["name", "Name", "text"], ["lower", "At least", "number"], ["upper", "At most", "number"], ["unit", "Unit", "text"],
  ["same_run_as", "In the run of", "text"],
];

function Rows({ title, items, blank, fields, onItems }) {
  const set = (index, key, value) => onItems(items.map((item, position) => (position === index ? { ...item, [key]: value ?? undefined } : item)));
  return html`
    <fieldset class="rows"><legend>${title}</legend>
      ${items.map((item, index) => html`
        <div class="row" key=${index}>
          ${fields.map(([key, label, type]) => html`<${Input} label=${label} type=${type} value=${item[key] ?? ""} onValue=${(value) => set(index, key, value)} />`)}
          <button type="button" class="quiet" aria-label="Remove ${item.name || "row"}" onClick=${() => onItems(items.filter((_, position) => position !== index))}>✕</button>
        </div>`)}
      <button type="button" onClick=${() => onItems([...items, blank])}>Add</button>
    </fieldset>
  `;
}

function Input({ label, type = "text", value, onValue }) {
  if (Array.isArray(type)) {
    return html`<label class="field">${label}<select value=${value || type[0]} onChange=${(event) => onValue(event.currentTarget.value)}>
      ${type.map((choice) => html`<option value=${choice} selected=${choice === value}>${choice}</option>`)}</select></label>`;
  }
  const read = (given) => (given === "" ? null : type === "number" ? Number(given) : given);
  return html`<label class="field">${label}<input type=${type} step="any" value=${value ?? ""} onInput=${(event) => onValue(read(event.currentTarget.value))} /></label>`;
}
