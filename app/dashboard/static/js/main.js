import { html, render } from "../vendor/ui.js";
import { App } from "./app.js";
import { load } from "./data/session.js";

const root = document.getElementById("app");

load();
root.replaceChildren(); // what index.html shows while the scripts are loaded
render(html`<${App} />`, root);
