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

const PAD = 0.06; // of the span, at both ends

/** Round ends somewhat outside of two values, however close these are. */
export function paddedRange(low, high) {
  const pad = (high - low || Math.abs(high) || 1) * PAD;
  const unit = 10 ** Math.floor(Math.log10(pad));
  return [Math.floor((low - pad) / unit) * unit, Math.ceil((high + pad) / unit) * unit];
}

const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];
const TIME_STEPS = [
  ...[1, 2, 5, 10, 15, 30], ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR), ...[1, 2, 7, 14, 28].map((count) => count * DAY),
];
const MOST_TICKS = 7;

/** Seconds between ticks that read as round durations; undefined where any number does. */
export function timeStep(span) {
  return span < MOST_TICKS ? undefined : TIME_STEPS.find((step) => span / step <= MOST_TICKS);
}

/** Short forms by name: words that all long names have in common at both ends are left out. */
export function shortNames(names, length) {
  const long = names.filter((name) => name.length > length);
  const start = long.length > 1 ? commonStart(long) : 0;
  const reversed = long.map((name) => [...name.slice(start)].reverse().join(""));
  const end = long.length > 1 ? commonStart(reversed) : 0;
  const beginning = (name) => name.slice(start, start + length - 2);
  const longest = Math.max(...long.map((name) => name.length)) - start - end;
  const room = Math.max(0, length - longest - (end ? 2 : 1));
  const isTold = new Set(long.map(beginning)).size === long.length; // apart by their next letters
  const from = long.length ? wordAt(long[0], Math.max(0, start - room)) : 0; // as many common words as fit
  return new Map(names.map((name) => {
    if (name.length <= length) return [name, name];
    if (isTold && start && name.length - start - end > length - 2) return [name, `…${beginning(name)}…`];
    const middle = name.slice(from, name.length - end);
    return [name, shorten(`${from ? "…" : ""}${middle}${end ? "…" : ""}`, length)];
  }));
}

/** The place of the first whole word at or after a place. */
function wordAt(name, place) {
  if (place === 0) return 0;
  const [rest] = /[A-Za-z0-9]*[^A-Za-z0-9]*/.exec(name.slice(place - 1));
  return place - 1 + rest.length;
}

/** The length of the words that all texts begin with; never a whole text. */
function commonStart(texts) {
  const shortest = Math.min(...texts.map((text) => text.length));
  let same = 0;
  while (same < shortest && texts.every((text) => text[same] === texts[0][same])) same += 1;
  const words = texts[0].slice(0, Math.min(same, shortest - 1)).match(/^.*[^A-Za-z0-9]/);
  return words ? words[0].length : 0;
}

/** Names often begin alike: the middle is left out. */
export function shorten(text, length = 22) {
  if (text.length <= length) return text;
  const end = Math.ceil(length * 0.55);
  return `${text.slice(0, length - end - 1)}…${text.slice(-end)}`;
}
