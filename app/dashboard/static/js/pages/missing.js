import { html } from "../../vendor/ui.js";
import { Empty } from "../components/panel.js";

export function Missing() {
  document.title = "Counterpoise";
  return html`<${Empty} title="There is no such page"><p><a href="#/">All studies</a></p><//>`;
}
