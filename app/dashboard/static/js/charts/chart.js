// A chart on a canvas: its description for screen readers, its theme and its size.
import { html, useEffect, useRef } from "../../vendor/ui.js";
import { theme } from "../data/theme.js";

let library = null;

const RETRY_MS = 3000;
const RELEASES = ["pointerup", "pointercancel"];
const RELEASE_MS = 120; // after the end of a drag, until its events have been handled

/** ECharts is the largest file: it is fetched when the first chart is drawn. */
export function loadCharts() {
  library ??= fetchCharts();
  return library;
}

/** Again while the server is away; another address, because browsers may keep a failure. */
async function fetchCharts(attempt = 0) {
  try {
    return await import(`../../vendor/charts.js${attempt ? `?${attempt}` : ""}`);
  } catch {
    await new Promise((resolve) => { setTimeout(resolve, RETRY_MS); });
    return fetchCharts(attempt + 1);
  }
}

/** The option with the part of the axis that the reader has zoomed to, if there still is one. */
function withZoom(option, before) {
  const { start, end, startValue, endValue } = before?.[0] ?? { start: 0, end: 100 };
  const isWhole = start <= 0 && end >= 100;
  const hasPart = startValue < option.xAxis?.max && endValue > option.xAxis?.min;
  if (!option.dataZoom || isWhole || !hasPart) return option;
  return { ...option, dataZoom: option.dataZoom.map((zoom) => ({ ...zoom, startValue, endValue })) };
}

/**
 * `option()` gives ECharts options in the current theme; `label` describes the chart in words.
 * `on` maps events to handlers; `ready(chart)` is called after every drawing.
 */
export function Chart({ option, label, height = 320, minWidth = 0, on = {}, ready }) {
  const element = useRef(null);
  const current = useRef({ chart: null, isPressed: false, isStale: false });
  Object.assign(current.current, { on, option, ready }); // the latest, for what happens later
  const currentTheme = theme.value;

  useEffect(() => {
    let isGone = false;
    const state = current.current;
    const observer = new ResizeObserver(() => state.chart?.resize());
    loadCharts().then(({ init }) => {
      if (isGone || !element.current) return;
      state.chart = init(element.current, null, { renderer: "canvas" });
      for (const name of Object.keys(on)) {
        state.chart.on(name, (event) => state.on[name]?.(event, state.chart));
      }
      observer.observe(element.current);
      element.current.addEventListener("pointerdown", press);
      draw();
    });
    return () => {
      isGone = true;
      for (const name of RELEASES) window.removeEventListener(name, release);
      observer.disconnect();
      state.chart?.dispose();
      state.chart = null;
    };
  }, []);
  useEffect(draw, [option, currentTheme]);

  /** New values that arrive during a drag are drawn at its end: drawing would cancel it. */
  function press() {
    current.current.isPressed = true;
    for (const name of RELEASES) window.addEventListener(name, release, { once: true });
  }

  function release() {
    setTimeout(() => {
      const state = current.current;
      state.isPressed = false;
      if (state.isStale) draw();
    }, RELEASE_MS);
  }

  function draw() {
    const { chart, option: latest, ready: whenDrawn, isPressed } = current.current;
    current.current.isStale = isPressed;
    if (!chart || isPressed) return;
    chart.setOption(withZoom(latest(), chart.getOption()?.dataZoom), { notMerge: true });
    whenDrawn?.(chart);
    element.current.dataset.drawn = "true";
  }

  const size = { height: `${height}px`, minWidth: minWidth ? `${minWidth}px` : undefined };
  return html`
    <div class="chart-scroll"><div class="chart" ref=${element} role="img" aria-label=${label} style=${size}></div></div>
  `;
}
