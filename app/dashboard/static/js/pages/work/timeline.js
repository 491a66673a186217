import { html, useCallback, useEffect, useMemo, useState } from "../../../vendor/ui.js";
import { loadCharts } from "../../charts/chart.js";
import { ChartPanel } from "../../charts/chart_panel.js";
import { barsOf, ganttOption, mainObjective, outcomeText, ROW_HEIGHT } from "../../charts/gantt.js";
import { SeriesLegend } from "../../charts/legend.js";
import { go } from "../../data/navigation.js";
import { seriesName, seriesShape } from "../../data/theme.js";
import { clock, count, dateTime, duration, plural } from "../../pure/format.js";

const SLOTS_SHOWN = 25; // rows at a time; more on the next page
const FRAME = 60;

export function TimelinePanel({ study, timeline, range, setRange }) {
  const [first, setFirst] = useState(0);
  const [withBreaks, setWithBreaks] = useState(true);
  const graphic = useGraphic();
  const slots = timeline.slots.slice(first, first + SLOTS_SHOWN);
  const workers = useMemo(() => [...new Set(timeline.slots.map(({ worker }) => worker))], [timeline]);
  const runs = useMemo(() => new Set(timeline.items.flatMap((item) => Object.keys(item.objectives))), [timeline]);
  const objectives = study.outputs.filter(({ name }) => runs.has(name));
  const bars = useMemo(() => barsOf(timeline, slots), [timeline, first]);
  const option = useCallback(
    () => (graphic ? ganttOption({ timeline, slots, workers, objectives: study.outputs, isFinished: study.phase === "finished", withBreaks, graphic }) : {}),
    [timeline, first, withBreaks, graphic],
  );
  const clicked = ({ dataIndex }) => {
    const { item, start, end } = bars[dataIndex];
    if (item.job) go(`#/jobs/${item.job}`);
    else setRange({ start: new Date(start - 1).toISOString(), end: new Date(end + 1).toISOString() });
  };
  const legend = objectives.map((objective) => {
    const index = study.outputs.indexOf(objective);
    return { name: objective.name, color: seriesName(index), symbol: seriesShape(index) };
  });
  return html`
    <${ChartPanel}
      title="Timeline" note=${noteOf(timeline, range, beginsLater(study, timeline))}
      controls=${html`
        <${WindowButtons} study=${study} timeline=${timeline} range=${range} setRange=${setRange} />
        <label class="check"><input type="checkbox" checked=${withBreaks} onChange=${() => setWithBreaks(!withBreaks)} />collapse idle time</label>
        <${SlotPages} first=${first} setFirst=${setFirst} total=${timeline.slots.length} />`}
      label=${describe(timeline)}
      option=${option} height=${FRAME + ROW_HEIGHT * Math.max(slots.length, 2)} on=${{ click: clicked }}
      legend=${html`<${SeriesLegend} items=${legend} />
        <ul class="legend"><li>▨ band: several short attempts, counted; click to open</li><li>dashed: running</li>
          <li>✕ failed or lost</li><li>↻ retry</li></ul>`}
      table=${tableOf(study, bars)}
    />
  `;
}

function useGraphic() {
  const [graphic, setGraphic] = useState(null);
  useEffect(() => { loadCharts().then((charts) => setGraphic(charts.graphic)); }, []);
  return graphic;
}

function noteOf(timeline, range, hasEarlier) {
  const isWhole = !range && !hasEarlier;
  const span = isWhole ? "The whole history" : `${dateTime(timeline.start)} to ${dateTime(timeline.end)}`;
  const cut = timeline.isCut ? "; the latest part is left out, zoom in to see it" : "";
  return `${span}${cut}. A click on a bar opens its job.`;
}

/** Long histories are shown in windows of so many attempts. */
function WindowButtons({ study, timeline, range, setRange }) {
  const earlier = { end: timeline.start };
  return html`
    ${beginsLater(study, timeline) && html`<button onClick=${() => setRange(earlier)}>← Earlier</button>`}
    ${range && html`<button onClick=${() => setRange(null)}>Back to now</button>`}
  `;
}

function beginsLater(study, timeline) {
  return Date.parse(timeline.start) > Date.parse(study.created_at) + 1000;
}

function describe(timeline) {
  const attempts = timeline.items.reduce((sum, item) => sum + item.count, 0);
  const failed = timeline.items.reduce((sum, item) => sum + item.failed, 0);
  return `Timeline: ${plural(attempts, "attempt")} in ${plural(timeline.slots.length, "worker slot")}, ${count(failed)} failed or lost. The same data are in the table.`;
}

function SlotPages({ first, setFirst, total }) {
  if (total <= SLOTS_SHOWN) return null;
  return html`
    <span class="pager"><span class="note">slots ${first + 1}–${Math.min(first + SLOTS_SHOWN, total)} of ${total}</span>
    <button disabled=${first === 0} onClick=${() => setFirst(first - SLOTS_SHOWN)} aria-label="Earlier slots">↑</button>
    <button disabled=${first + SLOTS_SHOWN >= total} onClick=${() => setFirst(first + SLOTS_SHOWN)} aria-label="Later slots">↓</button></span>
  `;
}

function tableOf(study, bars) {
  const columns = [
    { key: "worker", title: "Worker", isName: true, value: ({ item }) => item.worker },
    { key: "slot", title: "Slot", isNumber: true, value: ({ item }) => item.slot + 1 },
    { key: "start", title: "Start", value: ({ item }) => item.start, cell: ({ start }) => clock(start, true) },
    { key: "duration", title: "Took", isNumber: true, value: ({ start, end }) => (end - start) / 1000, cell: ({ start, end }) => duration((end - start) / 1000) },
    { key: "objective", title: "Run", value: ({ item }) => mainObjective(item) },
    { key: "count", title: "Attempts", isNumber: true, value: ({ item }) => item.count },
    { key: "outcome", title: "Outcome", value: ({ item }) => outcomeText(item) },
    { key: "job", title: "Job", isNumber: true, value: ({ item }) => item.job, cell: ({ item }) => (item.job ? html`<a href="#/jobs/${item.job}">${item.job}</a>` : "") },
  ];
  return {
    columns, rows: bars, name: `${study.name}-timeline`,
    rowKey: ({ item }) => `${item.worker} ${item.slot} ${item.start} ${item.job}`,
    sort: { key: "start", isDescending: true },
  };
}
