import assert from "node:assert/strict";
import test from "node:test";

import {
  clock, count, duration, durationRange, listed, number, percent, plural, relative, stepText, tick, withLocalTimes,
} from "../../../app/dashboard/static/js/pure/format.js";

test("a time of day has seconds and milliseconds on request", () => {
  const time = new Date(2026, 0, 2, 3, 4, 5, 6);
  assert.equal(clock(time), "03:04");
  assert.equal(clock(time, true), "03:04:05");
  assert.equal(clock(time, true, true), "03:04:05.006");
});

test("numbers have four significant digits and keep their integers", () => {
  assert.equal(number(0.0123456), "0.01235");
  assert.equal(number(12345.678), "12346");
  assert.equal(number(1234567), "1.235e6");
  assert.equal(number(-0.00001), "−1e−5");
  assert.equal(number(7), "7");
  assert.equal(number(0), "0");
});

test("a missing number is a dash", () => {
  for (const missing of [null, undefined, NaN]) assert.equal(number(missing), "–");
  assert.equal(percent(null), "–");
  assert.equal(duration(undefined), "–");
});

test("durations show their two largest units", () => {
  assert.equal(duration(0.0004), "< 1 ms");
  assert.equal(duration(0.25), "250 ms");
  assert.equal(duration(59.6), "1 min");
  assert.equal(duration(3599.9), "1 h");
  assert.equal(duration(3725), "1 h 2 min");
  assert.equal(duration(90_000), "1 d 1 h");
  assert.equal(duration(86_399), "1 d");
});

test("a range of durations that look the same is one", () => {
  assert.equal(durationRange(60, 60.2), "1 min");
  assert.equal(durationRange(60, 120), "1 min to 2 min");
});

test("counts are grouped and plurals agree", () => {
  assert.match(count(1234567), /^1\D234\D567$/);
  assert.equal(count(999), "999");
  assert.equal(plural(1, "job"), "1 job");
  assert.equal(plural(2, "job"), "2 jobs");
});

test("ticks that are close differ", () => {
  assert.deepEqual([1.7591, 1.7592, 0.30000000000000004, 1e7].map(tick), ["1.7591", "1.7592", "0.3", "1e7"]);
});

test("times are relative to now", () => {
  const now = Date.parse("2026-11-17T22:00:00Z");
  assert.equal(relative("2026-11-17T21:57:00Z", now), "3 min ago");
  assert.equal(relative("2026-11-17T23:00:00Z", now), "in 1 h");
  assert.equal(relative("2026-11-17T22:00:05Z", now), "now");
  assert.equal(relative("2026-11-17T21:59:55Z", now), "just now");
});

test("times inside a sentence become local ones", () => {
  const text = withLocalTimes("told at 2026-11-17T22:00:00.123Z, late");
  assert.match(text, /^told at \d+ Nov(?: \d+)?, \d\d:\d\d, late$/);
});

test("lists are cut where they are long", () => {
  assert.equal(listed(["a", "b", "c"], 2), "a, b, c");
  assert.equal(listed(["a", "b", "c", "d"], 2), "a, b and 2 more");
});

test("steps in words, and choices as they are", () => {
  assert.deepEqual(["initial", "search:4", "stream:mass:2"].map(stepText), ["the initial design", "search step 4", "stream mass 2"]);
  assert.equal(number("steel"), "steel");
  assert.equal(number(true), "true");
});
