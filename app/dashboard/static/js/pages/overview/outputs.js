// The outputs of a study: what they cost, and how far their jobs are.
import { html } from "../../../vendor/ui.js";
import { Mark } from "../../charts/legend.js";
import { Badge, Panel } from "../../components/panel.js";
import { Table } from "../../components/table.js";
import { seriesName, seriesShape } from "../../data/theme.js";
import { limitText } from "../../pure/axis.js";
import { count, duration, number, withUnit } from "../../pure/format.js";
import { outputsOf } from "../../pure/marks.js";

export function OutputName({ name, unit, index }) {
  return html`<span class="output"><${Mark} symbol=${seriesShape(index)} color=${seriesName(index)} />${withUnit(name, unit)}</span>`;
}

const counter = (key, title) => ({
  key, title, isNumber: true, value: (row) => row[key], cell: (row) => (row.same_run_as ? "" : count(row[key])),
});

const COLUMNS = [
  { key: "name", title: "Output", isName: true, value: (row) => row.name, cell: (row) => html`<${OutputName} ...${row} />` },
  { key: "goal", title: "Goal", value: (row) => row.goal },
  { key: "cost", title: "Median run", isNumber: true, value: (row) => row.median_duration_s,
    cell: (row) => (row.same_run_as ? html`<span class="note">with ${row.same_run_as}</span>` : duration(row.median_duration_s)) },
  { key: "ratio", title: "Ratio", isNumber: true, value: (row) => row.ratio,
    cell: (row) => html`${row.cheap && html`<${Badge}>cheap<//>`} ${number(row.ratio, 3)}` },
  counter("ready", "Waiting"),
  counter("leased", "Running"),
  counter("done", "Done"),
  counter("infeasible", "Infeasible"),
  { ...counter("failed", "Failed"), cell: FailedCell },
  counter("superseded", "Superseded"),
];

function FailedCell({ failed, same_run_as: run }) {
  if (run) return "";
  return failed ? html`<${Badge} tone="bad">${count(failed)}<//>` : "0";
}

export function OutputsTable({ study }) {
  const declared = new Map(outputsOf(study.spec).map((output) => [output.name, output]));
  const rows = study.outputs.map((objective, index) => {
    const output = declared.get(objective.name) ?? {};
    const aim = output.isObjective === false ? "constraint" : objective.direction;
    return { ...objective, index, goal: aim + limitText(output) };
  });
  return html`
    <${Panel} title="Outputs and their jobs" note="Ratios are ${study.ratio_source}: evaluations that fit into one of the slowest run.">
      <${Table} caption="Outputs and their jobs" columns=${COLUMNS} rows=${rows} rowKey=${(row) => row.name} />
    <//>
  `;
}
