// The looks that all charts share.
import { color } from "../data/theme.js";
import { clock, dateTime, number, tick } from "../pure/format.js";

const SHORT_MS = 8000; // seconds alone would be the same on several ticks
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const FONT = getComputedStyle(document.documentElement).getPropertyValue("--font");

export function base() {
  return {
    animation: false,
    textStyle: { fontFamily: FONT, color: color("--text"), fontSize: 12 },
    grid: { left: 64, right: 20, top: 18, bottom: 48 },
    tooltip: {
      renderMode: "richText", // the HTML kind violates the content security policy
      confine: true,
      backgroundColor: color("--panel"),
      borderColor: color("--line-strong"),
      borderWidth: 1,
      padding: [8, 11],
      textStyle: { color: color("--text"), fontSize: 12, fontFamily: FONT, lineHeight: 18 },
    },
  };
}

export function axis(name, extra = {}) {
  return {
    name,
    nameLocation: "middle",
    nameGap: 30,
    nameTextStyle: { color: color("--muted"), fontSize: 12, fontWeight: 500 },
    axisLine: { show: true, lineStyle: { color: color("--line-strong") } },
    axisTick: { show: false },
    axisLabel: { color: color("--muted"), fontSize: 11, formatter: tick, hideOverlap: true },
    splitLine: { lineStyle: { color: color("--line"), width: 1 } },
    scale: true,
    ...extra,
  };
}

/** Clock times; with the day where the span is longer than one. Breaks take no room. */
export function timeAxis(extra = {}) {
  const { axisLabel, ...rest } = axis("", extra);
  const span = extra.max - extra.min;
  const drawn = (extra.breaks ?? []).reduce((left, { start, end }) => left - (end - start), span);
  const formatter = (value) => {
    if (drawn > 3 * DAY_MS) return dateTime(value).split(",")[0];
    return span > DAY_MS ? dateTime(value) : clock(value, drawn < 2 * HOUR_MS, drawn < SHORT_MS);
  };
  return { type: "time", ...rest, axisLabel: { ...axisLabel, formatter } };
}

/** A line at a limit, with its value. */
export function limitLines(output, dimension) {
  const lines = [];
  for (const [key, sign] of [["lower", "≥"], ["upper", "≤"]]) {
    if (typeof output?.[key] !== "number") continue;
    lines.push({
      [dimension]: output[key],
      label: { formatter: `${sign} ${number(output[key])}`, color: color("--bad"), position: "insideEndTop" },
    });
  }
  return lines;
}

export function markLine(lines) {
  if (!lines.length) return undefined;
  return {
    silent: true,
    symbol: "none",
    animation: false,
    lineStyle: { color: color("--bad"), type: "dashed", width: 1.2 },
    data: lines,
  };
}

/** A colour with an alpha value. */
export function fade(name, alpha) {
  const [red, green, blue] = color(name).match(/[\d.]+/g);
  return `rgba(${red}, ${green}, ${blue}, ${alpha})`;
}

export const PLUS = "path://M-0.25,-1L0.25,-1L0.25,-0.25L1,-0.25L1,0.25L0.25,0.25L0.25,1L-0.25,1L-0.25,0.25L-1,0.25L-1,-0.25L-0.25,-0.25Z";
export const CROSS = "path://M-1,-0.7L-0.7,-1L0,-0.3L0.7,-1L1,-0.7L0.3,0L1,0.7L0.7,1L0,0.3L-0.7,1L-1,0.7L-0.3,0Z";
