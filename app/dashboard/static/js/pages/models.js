// Can I trust the models?
import { html, useCallback } from "../../vendor/ui.js";
import { ChartPanel } from "../charts/chart_panel.js";
import { forecastsOption } from "../charts/forecasts.js";
import { SeriesLegend } from "../charts/legend.js";
import { linesOption, lineSymbol } from "../charts/lines.js";
import { Badge, Empty, Loaded, Panel } from "../components/panel.js";
import { Table } from "../components/table.js";
import { studyPath } from "../data/api.js";
import { useResource } from "../data/resource.js";
import { seriesName } from "../data/theme.js";
import { number, percent, withUnit } from "../pure/format.js";
import { OutputName } from "./overview/outputs.js";

const TONES = { good: "good", fair: "warn", poor: "bad", overconfident: "bad", unknown: "" };

export function Models({ study }) {
  const models = useResource(studyPath(study.name, "models"), { quietMs: 5000 });
  return html`<${Loaded} resource=${models}>${(data) => {
    const known = data.outputs.some(({ steps }) => steps.length);
    return known ? html`<${Charts} study=${study} data=${data} />` : html`<${NoModels} />`;
  }}<//>`;
}

function NoModels() {
  return html`
    <${Panel}><${Empty} title="There are no models yet">
      <p>The search fits one Gaussian process per output with every step. It begins when the initial design is evaluated.</p><//><//>
  `;
}

function Charts({ study, data }) {
  const outputs = data.outputs.map((output, index) => ({ ...output, index }));
  return html`
    <div class="stack">
      <${Panel} title="Assessments"><${Table} caption="Assessments" columns=${ASSESSMENTS} rows=${outputs} rowKey=${(row) => row.objective} /><//>
      <div class="grid">
        <${OverSteps} study=${study} outputs=${outputs} field="skill" title="Skill over steps"
          note="Leave-one-out Q²: 1 is perfect, 0 no better than the mean." />
        <${OverSteps} study=${study} outputs=${outputs} field="calibration" title="Calibration over steps" band=${[0.9, 1]}
          note="Share of residuals within two deviations; about 95 % is right." />
      </div>
      <div><h2>Predicted before, observed after</h2>
        <p class="note">Each bar is two deviations to both sides; on the diagonal a prediction was perfect.</p></div>
      <div class="grid">${outputs.map((output) => html`<${Forecasts} key=${output.objective} study=${study} output=${output} />`)}</div>
    </div>
  `;
}

const last = (row) => row.steps.at(-1);
const ASSESSMENTS = [
  { key: "output", title: "Output", isName: true, value: (row) => row.objective, cell: (row) => html`<${OutputName} name=${row.objective} unit=${row.unit} index=${row.index} />` },
  { key: "assessment", title: "Assessment", value: (row) => row.assessment, cell: (row) => html`<${Badge} tone=${TONES[row.assessment] ?? ""}>${row.assessment}<//>` },
  { key: "detail", title: "Why", cell: (row) => row.detail },
  { key: "size", title: "Values", isNumber: true, value: (row) => last(row)?.size },
  { key: "skill", title: "Skill", isNumber: true, value: (row) => last(row)?.skill, cell: (row) => number(last(row)?.skill, 3) },
  { key: "calibration", title: "Calibration", isNumber: true, value: (row) => last(row)?.calibration, cell: (row) => percent(last(row)?.calibration) },
  { key: "within", title: "Forecasts within 2 dev.", isNumber: true, value: (row) => row.within_two, cell: (row) => percent(row.within_two) },
];

function OverSteps({ study, outputs, field, title, note, band }) {
  const option = useCallback(() => linesOption({
    series: outputs.map((output) => ({
      name: output.objective, color: seriesName(output.index),
      points: output.steps.filter((step) => step[field] !== null).map((step) => [step.number, step[field]]),
    })),
    x: { title: "step", isWhole: true },
    y: { title: field, format: field === "calibration" ? (value) => percent(value) : undefined },
    band, yRange: { max: 1, splitNumber: 4, min: ({ min }) => Math.floor(Math.min(min, 0.8) * 10) / 10 },
  }), [outputs.map(({ steps }) => steps.length).join()]);
  const rows = outputs.flatMap((output) => output.steps.map((step) => ({ ...step, objective: output.objective })));
  const columns = [
    { key: "objective", title: "Output", value: (row) => row.objective },
    { key: "number", title: "Step", isNumber: true, value: (row) => row.number },
    { key: field, title: field, isNumber: true, value: (row) => row[field], cell: (row) => number(row[field], 3) },
  ];
  return html`
    <${ChartPanel} title=${title} note=${note} option=${option} height=${280}
      label=${`${title} of ${outputs.map(({ objective }) => objective).join(", ")}. The same data are in the table.`}
      legend=${html`<${SeriesLegend} items=${outputs.map(({ objective, index }) => ({ name: objective, color: seriesName(index), symbol: lineSymbol(index) }))} />`}
      table=${{ columns, rows, rowKey: (row) => `${row.objective} ${row.number}`, name: `${study.name}-${field}` }} />
  `;
}

function Forecasts({ study, output }) {
  const option = useCallback(() => forecastsOption({ output, paint: seriesName(output.index) }), [output.forecasts.length, output.objective]);
  const title = withUnit(output.objective, output.unit);
  if (!output.forecasts.length) {
    return html`<${Panel} title=${title}><p class="note">No predicted value has come in yet.</p><//>`;
  }
  const columns = ["sample", "number", "predicted", "deviation", "observed", "surprise"].map((key) => ({
    key, title: key === "number" ? "step" : key, isNumber: true, value: (row) => row[key], cell: (row) => number(row[key]),
  }));
  return html`
    <${ChartPanel} title=${title} option=${option} height=${300}
      label=${`Predicted against observed ${output.objective} for ${output.forecasts.length} samples. The same data are in the table.`}
      table=${{ columns, rows: output.forecasts, rowKey: (row) => `${row.sample} ${row.number}`, name: `${study.name}-${output.objective}-forecasts` }} />
  `;
}
