import assert from "node:assert/strict";
import test from "node:test";

import { axisTitle, paddedRange, shorten, shortNames, timeStep } from "../../../app/dashboard/static/js/pure/axis.js";
import { idleGaps } from "../../../app/dashboard/static/js/pure/breaks.js";
import { toCsv } from "../../../app/dashboard/static/js/pure/csv.js";
import { designsOf, labelsOf } from "../../../app/dashboard/static/js/pure/designs.js";
import { pathOf } from "../../../app/dashboard/static/js/pure/faults.js";
import { brokenLimits, kindOf } from "../../../app/dashboard/static/js/pure/marks.js";
import { href, parseRoute, studyHref } from "../../../app/dashboard/static/js/pure/route.js";
import { withoutUnset } from "../../../app/dashboard/static/js/pure/specification.js";

test("addresses lead to pages and back", () => {
  assert.deepEqual(parseRoute(""), { page: "studies", query: {} });
  assert.deepEqual(parseRoute(studyHref("a.b", "work", { state: "failed", objective: undefined })), {
    page: "study", study: "a.b", tab: "work", query: { state: "failed" },
  });
  assert.deepEqual(parseRoute("#/jobs/17"), { page: "job", job: 17, query: {} });
  for (const wrong of ["#/jobs/x", "#/studies/a/nothing", "#/studies/..", "#/studies/%E0%A4%A/x/y", "#/elsewhere"]) {
    assert.equal(parseRoute(wrong).page, "missing");
  }
  assert.equal(href("/compare", { studies: "a,b" }), "#/compare?studies=a%2Cb");
});

test("the range of an axis holds its values, however close they are", () => {
  for (const [low, high] of [[1000.1, 1000.9], [-3, 7], [0, 0], [5e-7, 6e-7], [42, 42]]) {
    const [start, end] = paddedRange(low, high);
    assert.ok(start < low && end > high, `${start} to ${end}`);
    assert.ok(end - start <= Math.max(2 * (high - low), 0.4 * Math.abs(high), 1e-6) || high === 0);
  }
});

test("a specification is shown without what is not set", () => {
  const spec = { notes: "", lower: null, variables: [{ name: "a", low: 0, choices: null }], seed: 0 };
  assert.deepEqual(withoutUnset(spec), { variables: [{ name: "a", low: 0 }], seed: 0 });
});

test("ticks of durations are round", () => {
  assert.equal(timeStep(3), undefined);
  assert.equal(timeStep(800), 120);
  assert.equal(timeStep(3 * 86_400), 43_200);
  assert.equal(timeStep(1e9), undefined);
});

test("long idle gaps are found, short ones and overlaps are not", () => {
  const bars = [[0, 10], [2, 50], [52, 60], [500, 510]].map(([start, end]) => ({ start, end }));
  const [gap, ...others] = idleGaps(bars, { margin: 0 });
  assert.deepEqual(gap, [60, 500]);
  assert.deepEqual(others, []);
  assert.deepEqual(idleGaps([]), []);
});

test("idle time up to now is a gap too", () => {
  assert.deepEqual(idleGaps([{ start: 0, end: 10 }], { until: 100, margin: 0 }), [[10, 100]]);
});

test("a margin of the busy time stays beside a gap", () => {
  const bars = [{ start: 0, end: 50 }, { start: 950, end: 1000 }];
  assert.deepEqual(idleGaps(bars, { margin: 0.02 }), [[52, 948]]);
});

test("a design that is the best in several ways is one row", () => {
  const items = [
    { code: "best", objective: "mass", sample: 3 },
    { code: "best", objective: "drag", sample: 5 },
    { code: "knee", objective: null, sample: 3 },
  ];
  const designs = designsOf(items);
  assert.deepEqual(designs.map(({ titles }) => titles), [["Best mass", "Balanced (knee)"], ["Best drag"]]);
  assert.deepEqual(labelsOf(designs).get(3), { text: "best mass, knee", best: new Set(["mass"]) });
  assert.equal(labelsOf(Array.from({ length: 9 }, (_, sample) => ({ sample, labels: [] }))).size, 0);
});

test("a CSV quotes what it must and holds no formulas", () => {
  assert.equal(toCsv(["a", "b"], [[1.5, 'say "x", y'], [-2, "=cmd()"], [null, undefined]]), "a,b\r\n1.5,\"say \"\"x\"\", y\"\r\n-2,'=cmd()\r\n,\r\n");
});

test("pointers become paths", () => {
  assert.deepEqual(pathOf("#/variables/0/low"), ["variables", 0, "low"]);
  assert.deepEqual(pathOf("#/a~1b~0c"), ["a/b~c"]);
  assert.deepEqual(pathOf("#"), []);
});

test("the kind of a sample", () => {
  const sample = { sample: 1, full: true, open: 0, failures: {}, values: { mass: 3, stress: 9 } };
  const limits = [{ name: "stress", upper: 8 }, { name: "mass", lower: 1 }];
  assert.equal(kindOf(sample, new Set([1]), limits), "front");
  assert.equal(kindOf({ ...sample, excluded: true }, new Set([1])), "excluded");
  assert.equal(kindOf(sample, new Set(), limits), "infeasible");
  assert.equal(kindOf(sample, new Set()), "dominated");
  assert.equal(kindOf(sample, new Set(), [{ name: "mass" }, { name: "drag" }]), "partial");
  assert.equal(kindOf({ ...sample, open: 1 }, new Set()), "open");
  assert.equal(kindOf({ ...sample, full: false }, new Set()), "partial");
  assert.equal(kindOf({ ...sample, failures: { mass: "error" } }, new Set()), "failed");
  assert.equal(kindOf({ ...sample, infeasible: true }, new Set()), "infeasible");
  assert.equal(kindOf({ ...sample, failures: { mass: "infeasible" } }, new Set()), "infeasible");
  assert.deepEqual(brokenLimits(sample, limits), ["stress"]);
});

test("titles of axes have unit, direction and limits", () => {
  assert.equal(axisTitle({ name: "drag", unit: "N", direction: "minimize", upper: 30 }), "drag [N] ↓ (≤ 30)");
  assert.equal(axisTitle({ name: "span" }), "span");
});

test("short names keep what tells them apart", () => {
  const names = shortNames(["cluster-node-001.rack.example", "cluster-node-002.rack.example"], 16);
  assert.notEqual(names.get("cluster-node-001.rack.example"), names.get("cluster-node-002.rack.example"));
  assert.equal(shortNames(["mass", "drag"], 16).get("mass"), "mass");
  const racks = shortNames(["cluster-node-001.rack-0.example", "cluster-node-002.rack-1.example"], 9);
  assert.deepEqual([...racks.values()], ["…001.rac…", "…002.rac…"]);
  const mixed = shortNames(["node1", "cluster-node-001.example", "cluster-node-002.example"], 14);
  assert.equal(mixed.get("node1"), "node1");
  assert.equal(mixed.get("cluster-node-001.example"), "…node-001…");
  const alike = ["a-rather-long-name-1", "a-rather-long-name-12"];
  assert.deepEqual([...shortNames(alike, 12).values()], ["…name-1", "…name-12"]);
  assert.ok(shorten("a".repeat(50), 20).length <= 20);
});
