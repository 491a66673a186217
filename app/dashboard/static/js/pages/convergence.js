// Is it still worth the money?
import { html, useCallback } from "../../vendor/ui.js";
import { ChartPanel } from "../charts/chart_panel.js";
import { linesOption } from "../charts/lines.js";
import { Badge, Empty, Loaded, Metric, Panel } from "../components/panel.js";
import { StudyActions } from "../components/study_actions.js";
import { studyPath } from "../data/api.js";
import { route, setQuery } from "../data/navigation.js";
import { useResource } from "../data/resource.js";
import { count, dateTime, duration, number } from "../pure/format.js";

export const AGAINST = {
  slow: { title: "slow evaluations", isWhole: true, value: (point) => point.slow_evaluations ?? point.evaluated_full },
  time: { title: "time since the start", value: (point) => point.elapsed_s, format: duration, isTime: true },
  step: { title: "step", isWhole: true, value: (point) => point.number },
};
const ASSESSMENTS = {
  too_early: ["", "Too early to say"],
  improving: ["good", "Still improving"],
  slowing: ["warn", "Slowing down"],
  stalled: ["bad", "Stalled"],
};
const POINTS = 400;

export function Convergence({ study }) {
  const convergence = useResource(studyPath(study.name, "convergence", { points: POINTS }), { quietMs: 5000 });
  return html`<${Loaded} resource=${convergence}>${(data) => html`<${Charts} study=${study} data=${data} />`}<//>`;
}

function Charts({ study, data }) {
  const points = data.points.filter(({ hypervolume }) => hypervolume !== null);
  const against = Object.hasOwn(AGAINST, route.value.query.against ?? "") ? route.value.query.against : "slow";
  return html`
    <div class="stack">
      <${Assessment} study=${study} data=${data} />
      ${points.length < 2
        ? html`<${Panel}><${Empty} title="The line begins with the second step"><p>The hypervolume measures how much of the objectives' space the front dominates; it is computed with every step of the search.</p><//><//>`
        : html`
          <${LinePanel} study=${study} data=${data} points=${points} against=${against}
            title="Hypervolume" unit="" value=${(point) => point.hypervolume} color="--series-1" controls=${html`<${AgainstChoice} against=${against} />`} />
          <div class="grid">
            <${LinePanel} study=${study} data=${data} points=${points.filter((point) => point.gain_per_slow_h !== null)} against=${against}
              title="Gain per slow hour" note="Hypervolume gained per hour of the slowest run, since the step before." value=${(point) => point.gain_per_slow_h} step="start" color="--series-2" height=${260} />
            <${LinePanel} study=${study} data=${data} points=${points} against=${against}
              title="Samples on the front" value=${(point) => point.front} isWhole=${true} color="--series-3" height=${260} />
          </div>`}
    </div>
  `;
}

function Assessment({ study, data }) {
  const [tone, word] = ASSESSMENTS[data.assessment] ?? ["", data.assessment];
  const last = data.points.at(-1);
  return html`
    <${Panel} controls=${html`<${StudyActions} study=${study} />`} title="Is it still worth the money?">
      <p class="assessment"><${Badge} tone=${tone}>${word}<//> ${data.detail}</p>
      <dl class="metrics">
        <${Metric} label="Hypervolume" value=${number(last?.hypervolume)} extra=${data.exact === false ? "approximated" : ""} />
        <${Metric} label="Recent gain" value=${gainText(data.recent)}
          extra=${data.recent && `in ${count(data.recent.slow_evaluations)} slow runs`} />
        <${Metric} label="Slow runs" value=${count(last?.slow_evaluations)} extra=${data.slow_run && `of ${data.slow_run}`} />
        <${Metric} label="Slow time" value=${duration(last?.slow_s)} extra="of all slow runs together" />
      </dl>
    <//>
  `;
}

/** As precise as the sentence beside it. */
export function gainText(recent) {
  const share = recent?.share ?? null;
  return share === null ? "–" : `${number(100 * share, 2)} %`;
}

export function AgainstChoice({ against }) {
  return html`
    <div class="segmented" role="group" aria-label="Against">
      ${Object.entries({ slow: "Slow runs", time: "Time", step: "Step" }).map(([key, title]) => html`
        <button aria-pressed=${String(key === against)} onClick=${() => setQuery({ against: key })}>${title}</button>`)}
    </div>
  `;
}

function LinePanel({ study, data, points, against, title, note, value, color, controls, isWhole = false, step = "end", height = 340 }) {
  const x = AGAINST[against];
  const option = useCallback(
    () => linesOption({
      series: [{ name: title, color, step, points: points.map((point) => [x.value(point), value(point)]) }],
      x, y: { title: title.toLowerCase(), isWhole },
    }),
    [data, against],
  );
  const columns = [
    { key: "step", title: "Step", isNumber: true, value: (point) => point.number },
    { key: "at", title: "Time", value: (point) => point.at, cell: (point) => dateTime(point.at) },
    { key: "slow", title: "Slow runs", isNumber: true, value: (point) => point.slow_evaluations },
    { key: "value", title, isNumber: true, value, cell: (point) => number(value(point), 6) },
  ];
  const reference = title === "Hypervolume" && data.reference_point
    ? `Against ${Object.entries(data.reference_point).map(([name, at]) => `${name} ${number(at, 3)}`).slice(0, 6).join(", ")}.`
    : note;
  return html`
    <${ChartPanel} title=${title} note=${reference} controls=${controls} option=${option} height=${height}
      label=${`${title} against ${x.title}: ${points.length} points, from ${number(value(points[0] ?? {}))} to ${number(value(points.at(-1) ?? {}))}. The same data are in the table.`}
      table=${{ columns, rows: points, rowKey: (point) => point.number, name: `${study.name}-${title.toLowerCase().replaceAll(" ", "-")}` }} />
  `;
}
