import { html } from "../../vendor/ui.js";
import { connection } from "../data/live.js";
import { route } from "../data/navigation.js";
import { me, signOut } from "../data/session.js";
import { theme, toggle } from "../data/theme.js";
import { Icon } from "./icons.js";
import { attempt } from "./toast.js";

const LINKS = [
  ["#/", "Studies", ["studies", "study", "new", "job"]],
  ["#/compare", "Compare", ["compare"]],
  ["#/workers", "Workers", ["workers"]],
];
const STATES = {
  live: ["good", "Live"],
  connecting: ["", "Connecting"],
  away: ["warn", "Offline"],
};
const ICON = new URL("../../icon.svg", import.meta.url).href;

export function TopBar() {
  const { page } = route.value;
  const [tone, word] = STATES[connection.value.state];
  const other = theme.value === "dark" ? "light" : "dark";
  return html`
    <header class="top">
      <a class="brand" href="#/"><img src=${ICON} alt="" width="24" height="24" />Counterpoise</a>
      <nav aria-label="Main">
        ${LINKS.map(([href, text, pages]) => html`
          <a href=${href} aria-current=${pages.includes(page) ? "page" : undefined}>${text}</a>`)}
      </nav>
      <div class="end">
        <span class="badge ${tone}" role="status"><span class="dot"></span>${word}</span>
        <button class="icon" onClick=${toggle} aria-label="Use the ${other} theme" title="Use the ${other} theme">
          <${Icon} name=${theme.value === "dark" ? "sun" : "moon"} />
        </button>
        <${Account} />
      </div>
    </header>
  `;
}

function Account() {
  const { role, by } = me.value;
  if (by !== "cookie") return null;
  return html`
    <span class="note">${role}</span>
    <button class="quiet" onClick=${() => attempt(signOut)}>Sign out</button>
  `;
}
