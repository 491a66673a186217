// Parallel coordinates of samples over variables and outputs, with brushes.
import { color } from "../data/theme.js";
import { valueOn } from "../data/samples.js";
import { limitText, shorten, shortNames } from "../pure/axis.js";
import { tick } from "../pure/format.js";
import { KINDS, ORDER } from "../pure/marks.js";
import { base, fade } from "./look.js";
import { describe } from "./scatter.js";

const WIDTHS = { front: 2, predicted: 1.4 };
const DASHES = { partial: [2, 3], open: [2, 3], excluded: [1, 4], predicted: [6, 4], infeasible: [5, 3], failed: [5, 3] };
const OPACITY = { front: 0.85, partial: 0.6, open: 0.6, infeasible: 0.6, failed: 0.7 };
const FAINT = 0.4;
const BRUSH_Z = 10_000; // of ECharts
const NAME_LENGTH = 15;
const SHORT_LENGTH = 13; // of many axes
const MANY = 8;
const AXIS_WIDTH = 100;
const AXIS_WIDTH_OF_MANY = 112;
const ARROWS = { minimize: " ↓", maximize: " ↑" };

/** ECharts options; `axes` are variables and outputs. */
export function parallelOption({ samples, axes, isShown, focus }) {
  const names = axisNames(axes);
  const all = samples.map((_, index) => index);
  const shown = ORDER.map((kind) => lines(samples, all.filter((index) => samples[index].kind === kind && isShown(samples[index])), kind, axes));
  const dimmed = { ...lines(samples, all.filter((index) => !isShown(samples[index])), "dominated", axes), z: 1 };
  dimmed.lineStyle = { color: fade("--dominated", 1), opacity: 0.06, width: 1 };
  dimmed.silent = true;
  const chosen = all.filter((index) => samples[index].sample === focus && focus !== null);
  const focused = { ...lines(samples, chosen, "front", axes), z: 30, silent: true, lineStyle: { color: color("--chosen"), width: 3.5, opacity: 1 } };
  return {
    ...base(),
    parallel: { left: 48, right: 62, top: names.some((name) => name.includes("\n")) ? 56 : 42, bottom: 16, parallelAxisDefault: axisLook() },
    parallelAxis: axes.map((output, dim) => axisOf(output, dim, names)),
    tooltip: { ...base().tooltip, formatter: ({ value }) => describe(samples[value.at(-1)], axes.slice(0, 14)) },
    series: [dimmed, ...shown, focused].filter(({ data }) => data.length),
  };
}

/** The least width at which the names of axes do not touch. */
export function leastWidth(axes) {
  return axes.length * (axes.length < MANY ? AXIS_WIDTH : AXIS_WIDTH_OF_MANY);
}

function axisLook() {
  return {
    nameTextStyle: { color: color("--text"), fontSize: 11, fontWeight: 560, lineHeight: 14 },
    nameGap: 14,
    axisLine: { lineStyle: { color: color("--line-strong") } },
    axisTick: { show: false },
    axisLabel: {
      color: color("--muted"), fontSize: 10.5, formatter: tick,
      textBorderColor: color("--panel"), textBorderWidth: 3,
    },
    realtime: false, // a redraw in the middle of a drag would end it
    areaSelectStyle: { width: 18, color: color("--accent"), borderColor: color("--accent"), borderWidth: 1, opacity: 0.25 },
    scale: true,
  };
}

/** With unit and direction, as far as there is room. */
function axisNames(axes) {
  const length = axes.length < MANY ? NAME_LENGTH : SHORT_LENGTH;
  const short = shortNames(axes.map(({ name }) => name), length);
  return axes.map((axis) => {
    const { name, unit, direction } = axis;
    const text = short.get(name);
    const hasRoom = text.length + (unit ?? "").length < length;
    const limits = limitText(axis).trim().replace(/[()]/g, "");
    return `${text}${unit && hasRoom ? ` [${unit}]` : ""}${ARROWS[direction] ?? ""}${limits && `\n${limits}`}`;
  });
}

function axisOf(output, dim, names) {
  const isLog = output.scale === "log";
  const common = { dim, id: axisId(output.name), name: names[dim] };
  if (output.choices) return { ...common, type: "category", data: output.choices.map(String), axisLabel: { formatter: (value) => shorten(value, NAME_LENGTH) } };
  const bounds = output.isVariable ? { min: output.low ?? undefined, max: output.high ?? undefined } : {};
  return { ...common, type: isLog ? "log" : "value", ...bounds, splitNumber: 4 };
}

export const axisId = (name) => `axis:${name}`;
export const axisName = (id) => id.replace(/^axis:/, "");

/** Plain arrays, one value per axis and the sample's index, which ECharts draws fastest. */
function lines(samples, indices, kind, axes) {
  return {
    type: "parallel",
    name: KINDS[kind].word,
    z: 2 + ORDER.indexOf(kind),
    progressive: 0, // a part that is drawn after the chart is gone would fail
    inactiveOpacity: 0.05,
    activeOpacity: OPACITY[kind] ?? FAINT,
    lineStyle: { color: color(KINDS[kind].color), width: WIDTHS[kind] ?? 1, type: DASHES[kind] ?? "solid", opacity: OPACITY[kind] ?? FAINT },
    emphasis: { lineStyle: { width: 3, opacity: 1 } },
    data: indices.map((index) => [...axes.map((axis) => placeOn(samples[index], axis)), index]),
  };
}

function placeOn(mark, { name, choices }) {
  const value = valueOn(mark, name);
  return value === undefined || value === null ? "-" : choices ? String(value) : value;
}

/**
 * Show ranges as brushes, silently: only a reader's own brush is an event. The action is not
 * documented by ECharts: it is used here only.
 */
export function showRanges(chart, axes, ranges) {
  for (const { name, choices } of axes) {
    if (!ranges[name] || choices) continue;
    const [low, high] = ranges[name];
    const [least, most] = chart.getModel().getComponent("parallelAxis", axes.findIndex((axis) => axis.name === name)).axis.scale.getExtent();
    chart.dispatchAction({ type: "axisAreaSelect", parallelAxisId: axisId(name), intervals: [[low ?? least, high ?? most]] }, { silent: true });
  }
  if (Object.keys(ranges).length) chart.resize({ silent: true }); // else the last axis lacks its brush
}

/** After each drawing: ECharts gives brushes that are not a reader's own an opaque style. */
export function paintBrushes(chart) {
  const style = { fill: fade("--accent", 0.25), stroke: color("--accent"), lineWidth: 1 };
  for (const shape of chart.getZr().storage.getDisplayList()) {
    const isBrush = shape.z === BRUSH_Z && shape.name === "main";
    if (isBrush && shape.style.fill !== style.fill) shape.setStyle(style);
  }
}
