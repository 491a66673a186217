import { html } from "../../vendor/ui.js";
import { connection } from "../data/live.js";
import { clock } from "../pure/format.js";

export function Away() {
  const { state, since } = connection.value;
  if (state !== "away") return null;
  return html`
    <div class="banner" role="alert">
      The server has not responded since ${clock(since, true)}. This page shows what was known
      then, and continues by itself.
    </div>
  `;
}
