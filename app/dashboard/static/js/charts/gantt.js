// Attempts by worker slot: bars for runs, counted bands for bursts, marks for failures.
import { color, seriesName, seriesShape } from "../data/theme.js";
import { idleGaps } from "../pure/breaks.js";
import { clock, duration, plural } from "../pure/format.js";
import { shorten, shortNames } from "../pure/axis.js";
import { base, fade, timeAxis } from "./look.js";

export const ROW_HEIGHT = 26;
const RUN_LENGTH = 13; // of a name in a bar
const SHAPE_MARKS = { circle: "●", triangle: "▲" }; // for runs that share a colour
const BAD = new Set(["failed", "expired"]);

export const slotKey = ({ worker, slot }) => `${worker}\u0000${slot}`;

/** The bars of these slots with numbers for times; running attempts end at `now`. */
export function barsOf(timeline, slots) {
  const rows = new Map(slots.map((slot, index) => [slotKey(slot), index]));
  return allBars(timeline)
    .map((bar) => ({ ...bar, row: rows.get(slotKey(bar.item)) }))
    .filter(({ row }) => row !== undefined);
}

function allBars(timeline) {
  const now = Date.parse(timeline.now);
  return timeline.items.map((item) => ({
    item, start: Date.parse(item.start), end: item.end ? Date.parse(item.end) : now,
  }));
}

/** {start, last, gaps} of all slots, so that every page of slots has the same axis. */
function spanOf(timeline, isFinished, withBreaks) {
  const bars = allBars(timeline);
  const expected = timeline.items.map(({ expected_end: end }) => (end ? Date.parse(end) : -Infinity));
  const start = Math.min(...bars.map((bar) => bar.start), Date.parse(timeline.now));
  const ended = Math.max(...bars.map((bar) => bar.end), start + 1);
  const last = Math.max(isFinished ? ended : Date.parse(timeline.end), ended, ...expected);
  return { start, last, gaps: withBreaks ? idleGaps(bars, { until: last }) : [] };
}

export function ganttOption({ timeline, slots, workers, objectives, isFinished, withBreaks, graphic }) {
  const bars = barsOf(timeline, slots);
  const indexOf = new Map(objectives.map(({ name }, index) => [name, index]));
  const short = shortNames(objectives.map(({ name }) => name), RUN_LENGTH);
  const { start, last, gaps } = spanOf(timeline, isFinished, withBreaks);
  return {
    ...base(),
    grid: { left: labelWidth() + 14, right: 16, top: 8, bottom: 44 },
    tooltip: { ...base().tooltip, formatter: ({ dataIndex }) => describeBar(bars[dataIndex]) },
    dataZoom: [
      { type: "inside", xAxisIndex: 0, filterMode: "weakFilter", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false },
      { type: "slider", xAxisIndex: 0, filterMode: "weakFilter", height: 16, bottom: 4, ...sliderLook() },
    ],
    xAxis: timeAxis({
      min: start, max: last,
      breaks: gaps.map(([from, to]) => ({ start: from, end: to, gap: "2%" })),
      breakArea: { itemStyle: { color: color("--raised"), borderColor: color("--line-strong"), opacity: 1 }, zigzagAmplitude: 3 },
      splitLine: { show: true, lineStyle: { color: color("--line") } },
    }),
    yAxis: {
      type: "category", inverse: true, data: slotLabels(slots, workers),
      axisLine: { show: false }, axisTick: { show: false },
      axisLabel: { color: color("--text"), fontSize: 11, width: labelWidth(), overflow: "truncate", interval: 0 },
      splitLine: { show: true, lineStyle: { color: color("--line") } },
    },
    series: [{
      type: "custom", progressive: 0, clip: true, encode: { x: [1, 2], y: 0 },
      renderItem: (params, api) => renderBar(params, api, bars, { indexOf, short }, graphic),
      // Plain arrays: ECharts creates a model for each item that is an object
      data: bars.map((bar) => [bar.row, bar.start, bar.end]),
    }],
  };
}

function sliderLook() {
  return {
    borderColor: "transparent", backgroundColor: color("--raised"), fillerColor: fade("--accent", 0.18),
    handleStyle: { color: color("--accent") }, textStyle: { color: color("--muted"), fontSize: 10 },
    brushSelect: false, showDataShadow: false, labelFormatter: (value) => clock(value, true),
  };
}

/** Of the workers' names: less on a phone. */
function labelWidth() {
  return innerWidth < 640 ? 84 : 176;
}

/** Short names that are the same on all pages of slots. */
function slotLabels(slots, workers) {
  const names = shortNames(workers, Math.floor(labelWidth() / 6.4) - 4);
  return slots.map(({ worker, slot }) => (slot === 0 ? names.get(worker) : `${names.get(worker)} · ${slot + 1}`));
}

/** The run that most attempts of a bar belong to decides its colour. */
export function mainObjective(item) {
  return Object.entries(item.objectives).sort((a, b) => b[1] - a[1])[0]?.[0];
}

function renderBar(params, api, bars, { indexOf, short }, graphic) {
  const bar = bars[params.dataIndex];
  const [x0, y] = api.coord([bar.start, bar.row]);
  const [x1] = api.coord([bar.end, bar.row]);
  const height = Math.min(18, api.size([0, 1])[1] * 0.7);
  const area = { x: params.coordSys.x, y: params.coordSys.y, width: params.coordSys.width, height: params.coordSys.height };
  const full = { x: x0, y: y - height / 2, width: Math.max(x1 - x0, 1.5), height };
  const shape = graphic.clipRectByRect(full, area);
  if (!shape) return null;
  const isBand = bar.item.count > 1;
  const isRunning = bar.item.end === null;
  const index = indexOf.get(mainObjective(bar.item)) ?? 7;
  const paint = color(seriesName(index));
  const rectangle = { type: "rect", shape: rounded(shape), style: barStyle(paint, isBand, isRunning) };
  const children = [rectangle];
  if (isRunning && bar.item.expected_end) children.push(expectedMark(bar, api, full, area, paint, graphic));
  const text = barText(bar.item, shape.width, short.get(mainObjective(bar.item)) ?? "", SHAPE_MARKS[seriesShape(index)] ?? "");
  if (text) children.push(label(text, shape, color(isBand || isRunning ? "--text" : "--panel")));
  if (bar.item.failed > 0) children.push(failureMark(shape));
  return children.length > 1 ? { type: "group", children: children.filter(Boolean) } : rectangle;
}

/** What fits into a bar: how many attempts it has, the name of the run, or a mark. */
function barText({ count, attempt }, width, name, mark) {
  if (count > 1) return width > 22 ? `${count}` : "";
  if (width > 70) return shorten(name, Math.floor(width / 7));
  if (attempt > 1 && width > 14) return `↻${attempt}`;
  return width > 12 ? mark : "";
}

/** Corners of narrow bars are not seen, and take longer to draw. */
function rounded(shape) {
  return shape.width > 6 ? { ...shape, r: 2.5 } : shape;
}

/** An outline from now to the expected end of what runs. */
function expectedMark(bar, api, full, area, stroke, graphic) {
  const [x] = api.coord([Date.parse(bar.item.expected_end), bar.row]);
  const from = full.x + full.width;
  if (x <= from) return null;
  const shape = graphic.clipRectByRect({ x: from, y: full.y, width: x - from, height: full.height }, area);
  return shape && { type: "rect", shape: { ...shape, r: 2.5 }, style: { fill: "transparent", stroke, opacity: 0.5, lineDash: [2, 3] } };
}

function barStyle(paint, isBand, isRunning) {
  if (isRunning) return { fill: paint, opacity: 0.45, stroke: paint, lineWidth: 1.6, lineDash: [4, 3] };
  if (isBand) return { fill: paint, opacity: 0.38, stroke: paint, lineWidth: 1 };
  return { fill: paint, opacity: 0.9 };
}

function label(text, shape, fill) {
  return {
    type: "text",
    style: { text, x: shape.x + shape.width / 2, y: shape.y + shape.height / 2, align: "center", verticalAlign: "middle", fontSize: 10, fill },
  };
}

/** A red edge with a cross: not by colour alone. */
function failureMark(shape) {
  const x = shape.x + shape.width;
  const y = shape.y + shape.height / 2;
  return {
    type: "group",
    children: [
      { type: "rect", shape: { x: x - 3, y: shape.y, width: 3, height: shape.height }, style: { fill: color("--bad") } },
      { type: "text", style: { text: "✕", x: x - 1, y, align: "center", verticalAlign: "middle", fontSize: 11, fontWeight: 700, fill: color("--bad"), stroke: color("--panel"), lineWidth: 2.5 } },
    ],
  };
}

export function outcomeText(item) {
  if (item.end === null) return "running";
  if (item.count > 1) return item.failed ? `${plural(item.failed, "failure")}` : "done";
  const kind = item.failure ? ` (${item.failure})` : "";
  return `${item.outcome}${kind}`;
}

function describeBar({ item, start, end }) {
  const runs = Object.entries(item.objectives).map(([name, times]) => (item.count > 1 ? `${name}: ${times}` : name));
  const title = item.count > 1 ? `${item.count} short attempts` : `Job ${item.job}, sample ${item.sample}`;
  const lines = [title, ...runs, `${clock(start, true)} – ${item.end ? clock(end, true) : "now"}, ${duration((end - start) / 1000)}`, outcomeText(item)];
  if ((item.attempt ?? 1) > 1) lines.push(`attempt ${item.attempt}`);
  if (item.expected_end) lines.push(`expected until ${clock(Date.parse(item.expected_end), true)}`);
  return lines.join("\n");
}

export { BAD };
