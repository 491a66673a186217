// A range by typing: what a brush does, without a mouse.
import { html } from "../../vendor/ui.js";
import { select, selection } from "../data/shared_selection.js";
import { setRange } from "../pure/selection.js";

export function RangeForm({ axes }) {
  function submit(event) {
    event.preventDefault();
    const { axis, low, high } = event.currentTarget.elements;
    const range = [bound(low.value), bound(high.value)];
    const isOpen = range.every((end) => end === null);
    select(setRange(selection.value, axis.value, isOpen ? null : range));
    event.currentTarget.closest("details").open = false;
  }
  return html`
    <details class="range-form">
      <summary>Add a range</summary>
      <form class="row" onSubmit=${submit}>
        <select name="axis" aria-label="Axis">${axes.map(({ name }) => html`<option value=${name}>${name}</option>`)}</select>
        <input name="low" type="number" step="any" placeholder="from" aria-label="From" />
        <input name="high" type="number" step="any" placeholder="to" aria-label="To" />
        <button>Select</button>
      </form>
    </details>
  `;
}

function bound(text) {
  return text.trim() === "" ? null : Number(text);
}
