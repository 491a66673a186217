// Lines over steps, time or counts.
import { color, SERIES } from "../data/theme.js";
import { timeStep } from "../pure/axis.js";
import { tick } from "../pure/format.js";
import { axis, base, fade } from "./look.js";

const SYMBOLS = ["circle", "square", "triangle", "diamond"];
const DASHES = ["solid", [6, 3], [2, 2]];

/** Another shape for lines that share a colour. */
export function lineSymbol(index) {
  return SYMBOLS[(index + Math.floor(index / SERIES)) % SYMBOLS.length];
}

/** series: [{name, color, points: [[x, y], …], step}]; `step` is ECharts' "end" or "start"; `x` and `y` are {title, format, isWhole, isTime}. */
export function linesOption({ series, x, y, band, yRange = {} }) {
  return {
    ...base(),
    grid: { left: 70, right: 22, top: 16, bottom: 44 },
    tooltip: { ...base().tooltip, trigger: "axis", formatter: (items) => describe(items, x, y) },
    xAxis: { type: "value", ...axis(x.title, { axisLabel: labels(x), splitLine: { show: false }, minInterval: x.isWhole ? 1 : undefined, ...timeTicks(series, x) }) },
    yAxis: { type: "value", ...axis(y.title, { axisLabel: labels(y), nameGap: 52, minInterval: y.isWhole ? 1 : undefined, ...yRange }) },
    series: series.map((line, index) => ({
      type: "line",
      name: line.name,
      step: line.step ?? false,
      symbol: lineSymbol(index).replace("square", "rect"),
      symbolSize: line.points.length > 60 ? 0 : 7,
      showSymbol: line.points.length <= 60,
      lineStyle: { width: 2, color: color(line.color), type: DASHES[Math.floor(index / SERIES) % DASHES.length] },
      itemStyle: { color: color(line.color) },
      areaStyle: series.length === 1 && !band ? { color: fade(line.color, 0.09), origin: "start" } : undefined,
      markArea: index === 0 && band ? bandArea(band) : undefined,
      data: line.points,
    })),
  };
}

/** Durations are counted from the start. */
function timeTicks(series, x) {
  if (!x.isTime) return {};
  const last = Math.max(...series.flatMap(({ points }) => points.map(([time]) => time)), 0);
  const step = timeStep(last);
  return { min: 0, max: step && Math.ceil(last / step) * step, interval: step };
}

function labels(side) {
  return { color: color("--muted"), fontSize: 11, hideOverlap: true, formatter: side.format ?? tick };
}

/** A range of good values behind the lines. */
function bandArea([low, high]) {
  return { silent: true, itemStyle: { color: fade("--good", 0.09) }, data: [[{ yAxis: low }, { yAxis: high }]] };
}

function describe(items, x, y) {
  const format = (side, value) => (side.format ?? tick)(value);
  const lines = items.map(({ seriesName, value }) => `${seriesName}: ${format(y, value[1])}`);
  return [`${x.title}: ${format(x, items[0].value[0])}`, ...lines].join("\n");
}
