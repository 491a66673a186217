// Titles of axes: name, unit, direction and limits.
import { number, withUnit } from "./format.js";

const ARROWS = { minimize: "↓", maximize: "↑" };

/** "drag [N] ↓", with limits "… ≤ 30". */
export function axisTitle(output) {
  const arrow = output.direction ? ` ${ARROWS[output.direction]}` : "";
  return withUnit(output.name, output.unit) + arrow + limitText(output);
}

export function limitText({ lower, upper }) {
  const parts = [];
  if (typeof lower === "number") parts.push(`≥ ${number(lower)}`);
  if (typeof upper === "number") parts.push(`≤ ${number(upper)}`);
  return parts.length ? ` (${parts.join(", ")})` : "";
}

/** The same for people who cannot see an arrow. */
export function axisWords(output) {
  const direction = output.direction === "maximize" ? ", larger is better" : ", smaller is better";
  return withUnit(output.name, output.unit) + (output.isObjective === false ? "" : direction) + limitText(output);
}

/** Short forms by name: what all long names have in common at both ends is left out. */
export function shortNames(names, length) {
  const isLong = names.some((name) => name.length > length);
  if (!isLong || names.length < 2) return new Map(names.map((name) => [name, shorten(name, length)]));
  const start = commonLength(names, (name, index) => name[index]);
  const end = commonLength(names.map((name) => name.slice(start)), (name, index) => name[name.length - 1 - index]);
  return new Map(names.map((name) => {
    const middle = name.slice(start, name.length - end);
    const text = `${start ? "…" : ""}${middle}${end ? "…" : ""}`;
    return [name, shorten(text.length < name.length ? text : name, length)];
  }));
}

/** How many characters are the same in all names, from one side. */
function commonLength(names, at) {
  const shortest = Math.min(...names.map((name) => name.length));
  let length = 0;
  while (length < shortest && names.every((name) => at(name, length) === at(names[0], length))) length += 1;
  return length === shortest ? 0 : length;
}

/** Names often begin alike: the middle is left out. */
export function shorten(text, length = 22) {
  if (text.length <= length) return text;
  const end = Math.ceil(length * 0.55);
  return `${text.slice(0, length - end - 1)}…${text.slice(-end)}`;
}
