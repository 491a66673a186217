// Light or dark: the system's, or the reader's choice.
import { signal } from "../../vendor/ui.js";

const KEY = "counterpoise-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

function current() {
  return document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light");
}

export const theme = signal(current());
system.addEventListener("change", () => { theme.value = current(); });

export function toggle() {
  const next = current() === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // Storage is blocked: the choice holds until the page is closed.
  }
  theme.value = next;
}

const probe = document.createElement("span");
probe.hidden = true;
document.documentElement.append(probe);

const known = new Map(); // computed styles are slow, and a chart needs one for each bar

/** A colour of css/tokens.css in the current theme, for canvases: color("--accent"). */
export function color(name) {
  const key = `${current()} ${name}`;
  if (!known.has(key)) {
    probe.style.color = `var(${name})`;
    known.set(key, getComputedStyle(probe).color);
  }
  return known.get(key);
}

export const SERIES = 8;

/** The name of the colour of a study's n-th output; consistent on all pages. */
export function seriesName(index) {
  return `--series-${(index % SERIES) + 1}`;
}

const SHAPES = ["square", "circle", "triangle"];

/** The shape of the n-th output's mark in tables and legends: outputs that share a colour differ in it. */
export function seriesShape(index) {
  return SHAPES[Math.floor(index / SERIES) % SHAPES.length];
}

export function seriesColor(index) {
  return color(seriesName(index));
}
