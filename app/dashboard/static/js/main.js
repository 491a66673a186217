import { html, render } from "../vendor/ui.js";
import { App } from "./app.js";
import { load } from "./data/session.js";

load();
render(html`<${App} />`, document.getElementById("app"));
