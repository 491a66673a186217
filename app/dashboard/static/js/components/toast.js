// One short message at a time, and actions whose refusal becomes one.
import { html, signal } from "../../vendor/ui.js";
import { changed } from "../data/live.js";

const SHOWN_MS = 6000;
const message = signal("");
let timer = null;

export function say(text) {
  message.value = text;
  clearTimeout(timer);
  timer = setTimeout(() => { message.value = ""; }, SHOWN_MS);
}

/** Do something; show the server's sentence if it refuses. Returns whether it was done. */
export async function attempt(action, done = "") {
  try {
    await action();
    if (done) say(done);
    changed();
    return true;
  } catch (error) {
    say(error.message);
    return false;
  }
}

export function Toast() {
  return html`<div aria-live="polite">${message.value && html`<p class="toast">${message.value}</p>`}</div>`;
}
