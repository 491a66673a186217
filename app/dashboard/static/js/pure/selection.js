// The one selection that all charts and tables of a study share, and its form in the URL.
//
// ranges: by axis, [low, high] with null for an open end. Several axes: all must match.
// only:   sample numbers that were kept, or null for all.
// hidden: sample numbers that were excluded from view.
// focus:  the sample that is looked at, or null.

export const EMPTY = Object.freeze({
  ranges: Object.freeze({}),
  only: null,
  hidden: Object.freeze([]),
  focus: null,
});

/** The entries of the address: `r` ranges, `only`, `hide`, `focus`. */
export function toQuery(selection) {
  const ranges = Object.entries(selection.ranges).map(
    ([axis, [low, high]]) => `${axis}:${low ?? ""}..${high ?? ""}`,
  );
  return {
    r: ranges.join(";") || undefined,
    only: selection.only ? formatNumbers(selection.only) : undefined,
    hide: selection.hidden.length ? formatNumbers(selection.hidden) : undefined,
    focus: selection.focus ?? undefined,
  };
}

/** What cannot be read is left out: an address may be edited by hand. */
export function fromQuery(query) {
  const focus = /^\d+$/.test(query.focus ?? "") ? Number(query.focus) : null;
  return {
    ranges: parseRanges(query.r ?? ""),
    only: query.only === undefined ? null : parseNumbers(query.only),
    hidden: parseNumbers(query.hide ?? ""),
    focus,
  };
}

function parseRanges(text) {
  const ranges = {};
  for (const part of text.split(";")) {
    const match = /^(.+):([^:]*)\.\.([^:]*)$/.exec(part);
    if (!match) continue;
    const [low, high] = [bound(match[2]), bound(match[3])];
    if (low === null && high === null) continue;
    ranges[match[1]] = [low, high];
  }
  return ranges;
}

function bound(text) {
  const value = text.trim() === "" ? NaN : Number(text);
  return Number.isFinite(value) ? value : null;
}

/** Sorted numbers, runs as ranges: [1, 2, 3, 7] -> "1-3,7". */
export function formatNumbers(numbers) {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b);
  const parts = [];
  let start = 0;
  for (let end = 0; end < sorted.length; end += 1) {
    if (sorted[end + 1] === sorted[end] + 1) continue;
    parts.push(start === end ? `${sorted[end]}` : `${sorted[start]}-${sorted[end]}`);
    start = end + 1;
  }
  return parts.join(",");
}

const MOST_NUMBERS = 100_000; // an address edited by hand must not fill the memory

export function parseNumbers(text) {
  const numbers = [];
  for (const part of text.split(",")) {
    const match = /^(\d{1,15})(?:-(\d{1,15}))?$/.exec(part.trim());
    if (!match) continue;
    const [first, last] = [Number(match[1]), Number(match[2] ?? match[1])];
    const end = Math.min(last, first + MOST_NUMBERS - numbers.length - 1);
    for (let number = first; number <= end; number += 1) numbers.push(number);
  }
  return numbers;
}

/** A test for samples; `valueOf(sample, axis)` gives a number or undefined. */
export function matcher(selection, valueOf) {
  const only = selection.only && new Set(selection.only);
  const hidden = new Set(selection.hidden);
  const ranges = Object.entries(selection.ranges);
  return (sample) => {
    if (hidden.has(sample.sample) || (only && !only.has(sample.sample))) return false;
    return ranges.every(([axis, range]) => isWithin(valueOf(sample, axis), range));
  };
}

function isWithin(value, [low, high]) {
  if (value === undefined || value === null) return false;
  return (low === null || value >= low) && (high === null || value <= high);
}

export function isNarrowed(selection) {
  return Object.keys(selection.ranges).length > 0 || selection.only !== null || selection.hidden.length > 0;
}

/** Only these samples from now on; the ranges that chose them are no longer needed. */
export function keep(selection, numbers) {
  return { ...selection, only: numbers, ranges: {} };
}

export function exclude(selection, numbers) {
  const hidden = [...new Set([...selection.hidden, ...numbers])];
  return { ...selection, hidden, ranges: {} };
}

export function restore(selection) {
  return { ...EMPTY, focus: selection.focus };
}

/**
 * Null removes the range. Six digits are enough, and keep the address readable. A range that is
 * replaced keeps its place, so that the same ranges always make the same address.
 */
export function setRange(selection, axis, range) {
  const { [axis]: _, ...others } = selection.ranges;
  if (!range) return { ...selection, ranges: others };
  return { ...selection, ranges: { ...selection.ranges, [axis]: rounded(range) } };
}

const NEGLIGIBLE = 1e-9; // beside the other end: a brush to 0 ends a rounding error away

function rounded([first, second]) {
  const isClosed = first !== null && second !== null;
  const [low, high] = isClosed && first > second ? [second, first] : [first, second];
  const largest = Math.max(Math.abs(low ?? 0), Math.abs(high ?? 0));
  const round = (end) => (Math.abs(end) < NEGLIGIBLE * largest ? 0 : Number(end.toPrecision(6)));
  return [low, high].map((end) => (end === null ? null : round(end)));
}
