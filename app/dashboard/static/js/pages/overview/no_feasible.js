// A study whose samples all break a limit: what comes nearest, and what to do.
import { html } from "../../../vendor/ui.js";
import { Badge, Panel } from "../../components/panel.js";
import { Table } from "../../components/table.js";
import { axisTitle } from "../../pure/axis.js";
import { listed, number } from "../../pure/format.js";
import { SampleButton } from "../samples/table.js";

export function NoFeasible({ study, outputs, front }) {
  if (front?.code !== "no_feasible_sample") return null;
  const limited = outputs.filter(({ lower, upper }) => typeof lower === "number" || typeof upper === "number");
  const columns = [
    { key: "sample", title: "Sample", isId: true, value: (row) => row.sample, cell: (row) => html`<${SampleButton} row=${row} />` },
    { key: "violation", title: "Violation", isNumber: true, value: (row) => row.violation, cell: (row) => number(row.violation, 2) },
    { key: "broken", title: "Limits broken", cell: (row) => html`<${Badge} tone="bad">${listed(row.broken_limits, 3)}<//>` },
    ...limited.map((output) => ({
      key: output.name, title: axisTitle(output), isNumber: true,
      value: (row) => row.values[output.name], cell: (row) => number(row.values[output.name]),
    })),
  ];
  return html`
    <${Panel} title="No feasible sample" note="Every full sample breaks a limit, so that there is no front. These come nearest; if none comes near, check the limits and their units.">
      <${Table} caption="Nearest to feasible" columns=${columns} rows=${front.least_violating} rowKey=${(row) => row.sample} />
    <//>
  `;
}
