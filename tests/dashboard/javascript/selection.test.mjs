import assert from "node:assert/strict";
import test from "node:test";

import {
  EMPTY, exclude, formatNumbers, fromQuery, isNarrowed, keep, matcher, parseNumbers, restore, setRange, toQuery,
} from "../../../app/dashboard/static/js/pure/selection.js";

const samples = [1, 2, 3, 4].map((sample) => ({ sample, mass: sample * 10 }));
const valueOf = (sample, axis) => sample[axis];
const shown = (selection) => samples.filter(matcher(selection, valueOf)).map(({ sample }) => sample);

test("a selection survives the address", () => {
  const selection = { ranges: { mass: [1.5, null], "a.b-c": [-2, 3e-7] }, only: [1, 2, 3, 9], hidden: [4], focus: 2 };
  const query = toQuery(selection);
  assert.deepEqual(fromQuery(query), selection);
});

test("an empty selection leaves nothing in the address", () => {
  assert.deepEqual(Object.values(toQuery(EMPTY)).filter((value) => value !== undefined), []);
  assert.deepEqual(fromQuery({}), { ranges: {}, only: null, hidden: [], focus: null });
});

test("what cannot be read in an address is left out", () => {
  const selection = fromQuery({ r: "mass;:1..2;drag:x..y;span:..5", only: "a,3-1", hide: "1e9", focus: "x" });
  assert.deepEqual(selection, { ranges: { span: [null, 5] }, only: [], hidden: [], focus: null });
});

test("a long run of numbers in an address is cut", () => {
  assert.equal(parseNumbers("1-999999999999").length, 100_000);
});

test("runs of numbers are ranges", () => {
  assert.equal(formatNumbers([7, 3, 1, 2, 3]), "1-3,7");
  assert.deepEqual(parseNumbers("1-3,7"), [1, 2, 3, 7]);
});

test("ranges include their ends and leave out samples without a value", () => {
  assert.deepEqual(shown({ ...EMPTY, ranges: { mass: [20, 30] } }), [2, 3]);
  assert.deepEqual(shown({ ...EMPTY, ranges: { drag: [0, 1] } }), []);
});

test("several ranges must all match", () => {
  assert.deepEqual(shown({ ...EMPTY, ranges: { mass: [20, null], sample: [null, 3] } }), [2, 3]);
});

test("keep, exclude and restore", () => {
  const brushed = setRange(EMPTY, "mass", [20, 40]);
  const kept = keep(brushed, shown(brushed));
  assert.deepEqual(shown(kept), [2, 3, 4]);
  const without = exclude(setRange(kept, "mass", [40, 40]), [4]);
  assert.deepEqual(shown(without), [2, 3]);
  assert.equal(isNarrowed(without), true);
  assert.deepEqual(shown(restore(without)), [1, 2, 3, 4]);
  assert.equal(isNarrowed(restore(without)), false);
});

test("ends of a range are put in order, and rounding errors beside the other end are 0", () => {
  assert.deepEqual(setRange(EMPTY, "mass", [5, 3]).ranges.mass, [3, 5]);
  assert.deepEqual(setRange(EMPTY, "mass", [1.1e-16, 3.14159265]).ranges.mass, [0, 3.14159]);
  assert.deepEqual(setRange(EMPTY, "mass", [null, 1e-16]).ranges.mass, [null, 1e-16]);
});

test("the same ranges make the same address, whichever was set last", () => {
  const both = setRange(setRange(EMPTY, "mass", [1, 2]), "drag", [3, 4]);
  assert.equal(toQuery(setRange(both, "mass", [1, 2])).r, toQuery(both).r);
});
