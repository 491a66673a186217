// Two axes of samples, with a brush that writes ranges.
import { color } from "../data/theme.js";
import { valueOn } from "../data/samples.js";
import { axisTitle, shorten } from "../pure/axis.js";
import { number } from "../pure/format.js";
import { HOLLOW, KINDS, ORDER, originOf } from "../pure/marks.js";
import { axis, base, CROSS, fade, limitLines, markLine, PLUS } from "./look.js";

/** The place of a sample's index in the value of its mark. */
export const INDEX = 2;
const ROOM = ["5%", "5%"]; // between the outermost marks and the axes, for the names of designs
const SYMBOLS = { cross: CROSS, plus: PLUS, square: "rect" };

/**
 * ECharts options; `isShown(sample)` dims the others, `focus` is a sample number, `names` has the
 * names of designs by sample, as {text, best}.
 */
export function scatterOption({ samples, x, y, isShown, focus, names = new Map() }) {
  const series = groups(samples, isShown).map((group) => marks(group, samples, x, y)).filter(({ data }) => data.length);
  const chosen = samples.filter((sample) => sample.sample === focus && focus !== null);
  if (chosen.length) series.push(ring(chosen, x, y));
  const named = samples.filter((sample) => names.has(sample.sample) && isShown(sample));
  if (named.length) series.push(nameLabels(named, names, x, y, rightEdge(samples, x)));
  const lines = [...limitLines(x, "xAxis"), ...limitLines(y, "yAxis")];
  if (series.length) series[0].markLine = markLine(lines);
  return {
    ...base(),
    grid: { left: 70, right: 26, top: 22, bottom: 46 },
    tooltip: { ...base().tooltip, formatter: ({ value }) => describe(samples[value[INDEX]], [x, y]) },
    xAxis: sideOf(x, "x"),
    yAxis: sideOf(y, "y", { nameGap: 50 }),
    brush: { xAxisIndex: 0, yAxisIndex: 0, brushStyle: brushStyle(), outOfBrush: {}, throttleType: "debounce", throttleDelay: 80 },
    series,
  };
}

const LETTERS = { x: 40, y: 9 }; // that have room along the axis, or beside it

/** Choices without an order are categories. */
function sideOf(output, side, extra = {}) {
  const title = axisTitle(output);
  if (!output.choices) return axis(title, { type: output.scale === "log" ? "log" : "value", boundaryGap: ROOM, ...extra });
  const room = side === "x" ? Math.max(LETTERS.x / output.choices.length, 6) : LETTERS.y;
  const labels = { color: color("--muted"), fontSize: 11, formatter: (value) => shorten(value, Math.floor(room)) };
  return { ...axis(title, extra), type: "category", data: output.choices.map(String), axisLabel: labels };
}

function brushStyle() {
  return { color: fade("--accent", 0.1), borderColor: color("--accent"), borderWidth: 1 };
}

/** Samples that look alike, from back to front: {kind, isDim, isInitial, indices}. */
function groups(samples, isShown) {
  const found = new Map();
  samples.forEach((sample, index) => {
    const { kind } = sample;
    const isDim = !isShown(sample);
    const isInitial = sample.sample !== null && KINDS[kind].symbol === "circle" && originOf(sample) === "initial";
    const key = `${ORDER.indexOf(kind)} ${isDim} ${isInitial}`;
    if (!found.has(key)) found.set(key, { kind, isDim, isInitial, indices: [] });
    found.get(key).indices.push(index);
  });
  return [...found.values()].sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
}

/** Plain arrays, [x, y, index of the sample], which ECharts draws fastest. */
function marks({ kind, isDim, isInitial, indices }, samples, x, y) {
  const { symbol, color: name, size } = KINDS[kind];
  const isHollow = HOLLOW.has(kind);
  const placed = indices.filter((index) => isPlaced(samples[index], x, y));
  return {
    type: "scatter",
    progressive: 0, // a part that is drawn after the chart is gone would fail
    name: KINDS[kind].word,
    symbol: isInitial ? "rect" : SYMBOLS[symbol] ?? symbol,
    symbolSize: size,
    z: ORDER.indexOf(kind) + (isDim ? 0 : 10),
    itemStyle: {
      color: isHollow ? "transparent" : color(name),
      borderColor: isHollow ? color(name) : color("--panel"),
      borderWidth: isHollow ? 1.4 : 1,
      opacity: isDim ? 0.14 : 0.92,
    },
    emphasis: { scale: 1.4 },
    data: placed.map((index) => [...placeOf(samples[index], x, y), index]),
  };
}

function ring(samples, x, y) {
  return {
    type: "scatter",
    symbol: "circle",
    symbolSize: 21,
    silent: true,
    z: 40,
    itemStyle: { color: "transparent", borderColor: color("--chosen"), borderWidth: 2.6 },
    data: samples.filter((sample) => isPlaced(sample, x, y)).map((sample) => ({ value: placeOf(sample, x, y) })),
  };
}

/** The names of designs beside their marks. */
function nameLabels(samples, names, x, y, edge) {
  return {
    type: "scatter",
    symbol: "circle",
    symbolSize: 17,
    silent: true,
    z: 41,
    itemStyle: { color: "transparent", borderColor: color("--text"), borderWidth: 1.3 },
    label: {
      show: true, position: "top", distance: 4, fontSize: 11, fontWeight: 600, color: color("--text"),
      textBorderColor: color("--panel"), textBorderWidth: 2.5, formatter: ({ data }) => data.title,
    },
    labelLayout: { moveOverlap: "shiftY" },
    data: samples.filter((sample) => isPlaced(sample, x, y)).map((sample) => {
      const { text, best } = names.get(sample.sample);
      const isAtEdge = valueOn(sample, x.name) > edge;
      return { value: placeOf(sample, x, y), title: text, label: { position: isAtEdge ? "left" : labelSide(best, y) } };
    }),
  };
}

/** The best of an axis outside of the cloud, where there is nothing; the others beside their marks, where no best is named. */
function labelSide(best, y) {
  if (!best.size) return "right";
  const isBestUp = best.has(y.name);
  return isBestUp && y.direction !== "maximize" ? "bottom" : "top";
}

const EDGE = 0.85; // of the width

/** Beyond this value a name is written to the left of its mark, or the chart would cut it. */
function rightEdge(samples, x) {
  const values = samples.map((sample) => valueOn(sample, x.name)).filter((value) => typeof value === "number");
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low + EDGE * (high - low);
}

function placeOf(sample, x, y) {
  return [x, y].map(({ name, choices }) => (choices ? String(valueOn(sample, name)) : valueOn(sample, name)));
}

/** Whether a sample has a value on both axes. */
export function isPlaced(sample, x, y) {
  return [x, y].every(({ name }) => !isMissing(valueOn(sample, name)));
}

function isMissing(value) {
  return value === undefined || value === null;
}

/** The text of a mark's tooltip. */
export function describe(mark, axes) {
  const title = mark.sample === null ? "Predicted" : `Sample ${mark.sample}`;
  const kind = mark.sample === null ? "by the models of the last step" : `${KINDS[mark.kind].word}, ${originOf(mark)}`;
  const lines = axes.map((output) => valueLine(mark, output));
  return [`${title} (${kind})`, ...new Set(lines)].join("\n");
}

function valueLine(mark, { name, unit }) {
  const deviation = mark.deviation?.[name];
  const spread = typeof deviation === "number" ? ` ± ${number(deviation, 2)}` : "";
  return `${name}: ${number(valueOn(mark, name))}${spread}${unit ? ` ${unit}` : ""}`;
}

/** Draw the ranges of both axes as a brush, silently, and let the reader draw another. */
export function showBrush(chart, x, y, ranges) {
  chart.dispatchAction({ type: "takeGlobalCursor", key: "brush", brushOption: { brushType: "rect", brushMode: "single" } });
  const [rangeX, rangeY] = [ranges[x.name], ranges[y.name]];
  if (!rangeX && !rangeY) return;
  const coordRange = [closed(chart, 0, rangeX), closed(chart, 1, rangeY)];
  chart.dispatchAction({ type: "brush", areas: [{ brushType: "rect", coordRange, xAxisIndex: 0, yAxisIndex: 0 }] }, { silent: true });
}

function closed(chart, dimension, range) {
  const axisModel = chart.getModel().getComponent(dimension === 0 ? "xAxis" : "yAxis", 0);
  const [low, high] = axisModel.axis.scale.getExtent();
  return [range?.[0] ?? low, range?.[1] ?? high];
}
