// Create a study from YAML or from a form that writes it; faults are shown at their lines.
import { html, useEffect, useState } from "../../../vendor/ui.js";
import { Panel } from "../../components/panel.js";
import { get, post, Refusal, studyPath } from "../../data/api.js";
import { go, route } from "../../data/navigation.js";
import { isAdmin } from "../../data/session.js";
import { lineOf } from "../../pure/faults.js";
import { studyHref } from "../../pure/route.js";
import { withoutUnset } from "../../pure/specification.js";
import { SpecForm } from "./form.js";

const EXAMPLE = `name: wing
variables:
  - {name: span, low: 1.5, high: 4.0}
  - {name: ribs, type: int, low: 3, high: 12}
objectives:
  - {name: mass, unit: kg}
  - {name: drag, unit: N}
  - {name: stiffness, direction: maximize}
budget: 60
`;

export function NewStudy() {
  const [text, setText] = useState(EXAMPLE);
  const [faults, setFaults] = useState([]);
  const [isForm, setIsForm] = useState(false);
  const { from } = route.value.query;
  useEffect(() => { if (from) copyOf(from).then(setText, (error) => setFaults(faultsOf(error))); }, [from]);
  document.title = "New study · Counterpoise";

  function change(next) {
    setText(next);
    setFaults([]);
  }

  /** The form shows only what it can keep. */
  async function showForm() {
    const { spec, faults: syntax } = await parse(text);
    const found = syntax.length ? syntax : formFaults(spec);
    setFaults(found);
    setIsForm(found.length === 0);
  }

  async function create(isPaused) {
    const { spec, document, lines, faults: syntax } = await parse(text);
    if (syntax.length) {
      setFaults(syntax);
      return;
    }
    try {
      const study = await post(`studies${isPaused ? "?paused=true" : ""}`, spec);
      go(studyHref(study.name));
    } catch (error) {
      setFaults(faultsOf(error, document, lines));
    }
  }

  return html`
    <div class="page-head"><h1>New study</h1>
      <div class="segmented" role="group" aria-label="Input">
        <button aria-pressed=${String(!isForm)} onClick=${() => setIsForm(false)}>YAML</button>
        <button aria-pressed=${String(isForm)} onClick=${showForm}>Form</button>
      </div>
    </div>
    <div class="new-study">
      <${Panel} title=${isForm ? "Form" : "Specification"} note=${isForm ? "It writes the YAML." : "YAML or JSON."}>
        ${isForm
          ? html`<${SpecForm} text=${text} onText=${change} />`
          : html`<${Editor} text=${text} onText=${change} faults=${faults} />`}
      <//>
      <${Panel} title="Create">
        <${FaultList} faults=${faults} />
        <div class="row">
          ${isAdmin.value ? html`
            <button class="primary" onClick=${() => create(false)}>Create the study</button>
            <button onClick=${() => create(true)}>Create paused</button>`
            : html`<span class="note">To create a study, log in with an admin token.</span>`}
        </div>
        <p class="note spaced">A paused study plans nothing before it is resumed, so that evaluations can be imported first.</p>
        <p class="note spaced">Recommended where some objectives are cheap: <code>strategy: counterpoise</code>. It starts slow runs only where the known cheap values are promising.</p>
      <//>
    </div>
  `;
}

function Editor({ text, onText, faults }) {
  const bad = new Set(faults.map(({ line }) => line));
  const rows = Math.max(text.split("\n").length + 1, 16);
  return html`
    <div class="editor">
      <ol aria-hidden="true">${Array.from({ length: rows }, (_, index) => html`<li class=${bad.has(index + 1) ? "bad" : undefined}>${index + 1}</li>`)}</ol>
      <textarea rows=${rows} wrap="off" spellcheck="false" aria-label="Specification" aria-invalid=${faults.length ? "true" : undefined}
        value=${text} onInput=${(event) => onText(event.currentTarget.value)}></textarea>
    </div>
  `;
}

function FaultList({ faults }) {
  if (!faults.length) return null;
  return html`
    <ul class="plain fault" role="alert">
      ${faults.map(({ line, pointer, detail }) => html`<li><strong>${line ? `Line ${line}` : pointer}</strong>: ${pointer && line ? html`<code>${pointer.replace(/^#\/?/, "")}</code> ` : ""}${detail}</li>`)}
    </ul>
  `;
}

async function parse(text) {
  const { LineCounter, parseDocument } = await import("../../../vendor/yaml.js");
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const faults = document.errors.map((error) => ({ line: error.linePos?.[0].line, pointer: "", detail: error.message.split("\n")[0] }));
  return { spec: faults.length ? null : document.toJS(), document, lines, faults };
}

const LISTS = ["variables", "objectives", "constraints"];

function formFaults(spec) {
  if (spec === null) return [];
  if (!isMapping(spec)) return [{ line: null, pointer: "The form", detail: "needs fields such as `name: wing`; mend the YAML first" }];
  const wrong = LISTS.filter((name) => !(spec[name] ?? []).every?.(isMapping));
  return wrong.map((name) => ({ line: null, pointer: name, detail: "the form needs a list of entries with fields; mend the YAML first" }));
}

function isMapping(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function faultsOf(error, document, lines) {
  if (!(error instanceof Refusal) || !error.faults.length) return [{ line: null, pointer: "Refused", detail: error.message }];
  return error.faults.map(({ pointer, detail }) => ({ line: lineOf(document, lines, pointer), pointer, detail }));
}

async function copyOf(name) {
  const { spec, budget } = await get(studyPath(name));
  const { stringify } = await import("../../../vendor/yaml.js");
  const { seed: _, ...rest } = spec;
  return stringify({ ...withoutUnset(rest), budget, name: `${name}-2` });
}
