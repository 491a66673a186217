// Samples as rows: the twin of the charts.
import { html, useMemo } from "../../../vendor/ui.js";
import { Badge } from "../../components/panel.js";
import { Table } from "../../components/table.js";
import { valueOn } from "../../data/samples.js";
import { select, selection } from "../../data/shared_selection.js";
import { axisTitle } from "../../pure/axis.js";
import { number } from "../../pure/format.js";
import { originOf } from "../../pure/marks.js";

const WORDS = { open: "in evaluation" };
const TONES = { front: "info", infeasible: "bad", failed: "warn" };

/** Columns for number, kind, origin and these variables or outputs. */
export function sampleColumns(study, axes) {
  return [
    { key: "sample", title: "Sample", isId: true, value: (row) => row.sample, cell: (row) => html`<${SampleButton} row=${row} />` },
    { key: "kind", title: "Kind", value: (row) => row.kind, cell: (row) => html`<${KindBadge} sample=${row} />` },
    { key: "origin", title: "From", value: (row) => row.step ?? originOf(row), cell: (row) => originText(row) },
    ...axes.map((axis) => ({
      key: `axis:${axis.name}`, title: axisTitle(axis), isNumber: true,
      value: (row) => valueOn(row, axis.name),
      cell: (row) => valueCell(row, axis.name),
    })),
  ];
}

export function KindBadge({ sample }) {
  return html`<${Badge} tone=${TONES[sample.kind] ?? ""}>${WORDS[sample.kind] ?? sample.kind}<//>`;
}

/** By keyboard, what a click on the row does. */
export function SampleButton({ row }) {
  const isChosen = row.sample === selection.value.focus;
  return html`<button class="link" aria-pressed=${String(isChosen)} aria-label="Show sample ${row.sample}">${row.sample}</button>`;
}

function originText(row) {
  const [, ...rest] = (row.step ?? "").split(":");
  return [originOf(row), ...rest].join(" ");
}

function valueCell(row, name) {
  const failure = row.failures[name];
  if (failure) return html`<${Badge} tone="bad">${failure}<//>`;
  const text = number(valueOn(row, name));
  return row.broken_limits?.includes(name) ? html`<span class="beyond" title="beyond its limit">${text} ✕</span>` : text;
}

export function SampleTable({ study, outputs, rows, axes, size }) {
  const shownAxes = axes ?? [...outputs, ...study.spec.variables];
  const columns = useMemo(() => sampleColumns(study, shownAxes), [study.spec, outputs]);
  const chosen = selection.value;
  const toggle = (row) => select({ ...chosen, focus: row.sample === chosen.focus ? null : row.sample });
  return html`
    <${Table} caption="Samples" columns=${columns} rows=${rows} rowKey=${(row) => row.sample} size=${size} isScrolled=${true}
      isChosen=${(row) => row.sample === chosen.focus} onRow=${toggle} />
  `;
}
