// A chart with its title, its legend, its table twin and its data as CSV.
import { html, useState } from "../../vendor/ui.js";
import { download } from "../components/download.js";
import { Panel } from "../components/panel.js";
import { Table } from "../components/table.js";
import { toCsv } from "../pure/csv.js";
import { Chart } from "./chart.js";

/** `table` is {columns, rows, rowKey, name}: the same data as the chart; `empty` replaces a chart of nothing. */
export function ChartPanel({ title, note, controls, legend, table, empty, children, ...chart }) {
  const [isTable, setIsTable] = useState(false);
  const buttons = html`
    ${controls}
    ${table && html`<span class="twin">
      <button class="quiet" aria-pressed=${String(isTable)} onClick=${() => setIsTable(!isTable)}>
        ${isTable ? "Chart" : "Table"}</button>
      <button class="quiet" onClick=${() => saveTable(table)} title="Download these data as CSV">CSV</button></span>`}
  `;
  return html`
    <${Panel} title=${title} note=${note} controls=${buttons}>
      ${isTable && table
        ? html`<${Table} caption=${title} isScrolled=${true} ...${table} />`
        : empty || html`<${Chart} ...${chart} />${legend}`}
      ${children}
    <//>
  `;
}

export function saveTable({ columns, rows, name }) {
  const exported = columns.filter((column) => column.value);
  const text = toCsv(exported.map(({ title }) => title), rows.map((row) => exported.map((column) => column.value(row))));
  download(`${name}.csv`, text);
}
