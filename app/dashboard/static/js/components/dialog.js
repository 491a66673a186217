// Dialogs that say what will happen before it does.
import { html, signal, useEffect, useRef, useState } from "../../vendor/ui.js";
import { sentence } from "../pure/faults.js";
import { changed } from "../data/live.js";
import { say } from "./toast.js";

const open = signal(null);

/**
 * Ask before doing. `text` says what will happen; `fields` are inputs
 * [{name, label, type, value, ...}]; `action(values)` does it, and its refusal stays in the dialog.
 */
export function confirm(dialog) {
  open.value = dialog;
}

export function Dialogs() {
  if (!open.value) return null;
  return html`<${Dialog} key=${open.value.title} ...${open.value} />`;
}

function Dialog({ title, text, fields = [], verb, isDangerous = false, action, done = "" }) {
  const element = useRef(null);
  const [fault, setFault] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  useEffect(() => {
    const opener = document.activeElement;
    element.current.showModal();
    const close = () => element.current?.close();
    addEventListener("hashchange", close); // as "Back" of a browser
    return () => {
      removeEventListener("hashchange", close);
      opener?.focus?.();
    };
  }, []);

  async function submit(event) {
    event.preventDefault();
    const values = readFields(event.currentTarget, fields);
    setIsBusy(true);
    try {
      await action(values);
      element.current.close();
      if (done) say(done);
      changed();
    } catch (error) {
      setFault(sentence(error));
      setIsBusy(false);
    }
  }

  return html`
    <dialog ref=${element} aria-labelledby="dialog-title" onClose=${() => { open.value = null; }}>
      <form onSubmit=${submit}>
        <h2 id="dialog-title">${title}</h2>
        <p>${text}</p>
        ${fields.map((field) => html`<${Field} ...${field} />`)}
        ${fault && html`<p class="fault" role="alert">${fault}</p>`}
        <div class="actions">
          <button type="button" onClick=${() => element.current.close()}>Cancel</button>
          <button type="submit" class=${isDangerous ? "danger" : "primary"} disabled=${isBusy}>${verb}</button>
        </div>
      </form>
    </dialog>
  `;
}

function Field({ label, type = "text", name, value, hint, choices, ...rest }) {
  if (choices) {
    return html`<label class="field">${label}<select name=${name}>
      ${choices.map((choice, index) => html`<option value=${index} selected=${choice === value}>${String(choice)}</option>`)}</select></label>`;
  }
  if (type === "checkbox") {
    return html`<label class="check"><input type="checkbox" name=${name} defaultChecked=${value} />${label}</label>`;
  }
  return html`
    <label class="field">${label}
      <input name=${name} type=${type} defaultValue=${value ?? ""} ...${rest} />
      ${hint && html`<span class="note">${hint}</span>`}
    </label>
  `;
}

function readFields(form, fields) {
  const values = {};
  for (const { name, type, choices } of fields) {
    const input = form.elements.namedItem(name); // elements.length is their number, not a variable's field
    values[name] = choices ? choices[Number(input.value)] : type === "checkbox" ? input.checked : type === "number" ? numberOf(input.value) : input.value;
  }
  return values;
}

function numberOf(text) {
  return text.trim() === "" ? null : Number(text);
}
