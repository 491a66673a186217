// Stacked bars by step.
import { color } from "../data/theme.js";
import { count } from "../pure/format.js";
import { axis, base } from "./look.js";

/** series: [{name, color, opacity, values}], one value per category. */
export function barsOption({ categories, series, xTitle, yTitle }) {
  return {
    ...base(),
    tooltip: { ...base().tooltip, trigger: "axis", axisPointer: { type: "none" }, formatter: (items) => describe(items, xTitle) },
    xAxis: { type: "category", data: categories, ...axis(xTitle, { splitLine: { show: false }, axisLabel: { color: color("--muted"), fontSize: 11, hideOverlap: true } }) },
    yAxis: { type: "value", ...axis(yTitle, { scale: false, nameGap: 46, minInterval: 1 }) },
    series: series.map(({ name, color: paint, values, opacity = 1 }) => ({
      type: "bar",
      name,
      stack: "all",
      barMaxWidth: 38,
      itemStyle: { color: color(paint), opacity },
      data: values,
    })),
  };
}

function describe(items, title) {
  const lines = items.filter(({ value }) => value).map(({ seriesName, value }) => `${seriesName}: ${count(value)}`);
  return [`${title} ${items[0].name}`, ...lines].join("\n");
}
