// Predicted against observed, with two deviations as bars and the diagonal.
import { color } from "../data/theme.js";
import { axisTitle, paddedRange } from "../pure/axis.js";
import { number, tick } from "../pure/format.js";
import { axis, base } from "./look.js";

const DEVIATIONS = 2;

export function forecastsOption({ output, paint }) {
  const values = output.forecasts.flatMap(({ predicted, deviation, observed }) => [
    predicted - DEVIATIONS * deviation, predicted + DEVIATIONS * deviation, observed,
  ]);
  const [low, high] = paddedRange(Math.min(...values), Math.max(...values));
  const sides = { type: "value", min: low, max: high, splitNumber: 4 };
  const labels = { color: color("--muted"), fontSize: 11, showMinLabel: false, showMaxLabel: false, formatter: tick };
  const title = axisTitle({ ...output, name: output.objective });
  return {
    ...base(),
    grid: { left: 66, right: 18, top: 14, bottom: 50 },
    tooltip: { ...base().tooltip, formatter: ({ data }) => describe(data.forecast) },
    xAxis: axis(`predicted ${title}`, { ...sides, axisLabel: labels }),
    yAxis: axis("observed", { ...sides, axisLabel: labels, nameGap: 48 }),
    series: [
      { type: "line", silent: true, symbol: "none", data: [[low, low], [high, high]], lineStyle: { color: color("--line-strong"), type: "dashed", width: 1.3 }, tooltip: { show: false } },
      { type: "custom", z: 2, renderItem: deviationBar(color(paint)), encode: { x: [0, 1, 2], y: 3 }, data: output.forecasts.map(barData) },
      { type: "scatter", z: 3, symbolSize: 8, itemStyle: { color: color(paint), borderColor: color("--panel"), borderWidth: 1 }, data: output.forecasts.map(pointData) },
    ],
  };
}

function barData(forecast) {
  const { predicted, deviation, observed } = forecast;
  return { value: [predicted - DEVIATIONS * deviation, predicted + DEVIATIONS * deviation, predicted, observed], forecast };
}

function pointData(forecast) {
  return { value: [forecast.predicted, forecast.observed], forecast };
}

function deviationBar(stroke) {
  return (params, api) => {
    const [x0, y] = api.coord([api.value(0), api.value(3)]);
    const [x1] = api.coord([api.value(1), api.value(3)]);
    return { type: "line", shape: { x1: x0, y1: y, x2: x1, y2: y }, style: { stroke, lineWidth: 1.4, opacity: 0.45 } };
  };
}

function describe({ sample, step, predicted, deviation, observed, surprise }) {
  const off = surprise === null ? "" : `\noff by ${number(surprise, 2)} deviations`;
  return `Sample ${sample} (${step})\npredicted ${number(predicted)} ± ${number(deviation, 2)}\nobserved ${number(observed)}${off}`;
}
