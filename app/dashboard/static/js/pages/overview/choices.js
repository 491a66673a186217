// Named designs of the front, so that nobody has to choose from a long table.
import { html, useState } from "../../../vendor/ui.js";
import { Panel, ProblemCard } from "../../components/panel.js";
import { Table } from "../../components/table.js";
import { route, setQuery } from "../../data/navigation.js";
import { select, selection } from "../../data/shared_selection.js";
import { axisTitle } from "../../pure/axis.js";
import { number } from "../../pure/format.js";
import { SampleButton } from "../samples/table.js";

export function FrontChoices({ study, designs, error }) {
  const { target } = route.value.query;
  const [isEditing, setIsEditing] = useState(false);
  const isRefused = Boolean(error && target);
  if (!designs.length && !isRefused) return null;
  const chosen = selection.value;
  const controls = html`<button onClick=${() => setIsEditing(!isEditing)} aria-expanded=${String(isEditing)}>My target</button>`;
  return html`
    <${Panel} title="Designs to choose from" controls=${controls}
      note="The best of the front in each objective, and the one that compromises most evenly. A click shows a design in all charts.">
      ${(isEditing || isRefused) && html`<${TargetForm} study=${study} target=${target} />`}
      ${isRefused && html`<${ProblemCard} error=${error} />`}
      <${Table} caption="Designs to choose from" columns=${columnsOf(study)} rows=${designs}
        rowKey=${(row) => row.sample} isChosen=${(row) => row.sample === chosen.focus}
        onRow=${(row) => select({ ...chosen, focus: row.sample === chosen.focus ? null : row.sample })} />
    <//>
  `;
}

function columnsOf(study) {
  return [
    { key: "why", title: "Design", isName: true, cell: (row) => html`<strong>${row.titles.join(", ")}</strong>` },
    { key: "sample", title: "Sample", isId: true, value: (row) => row.sample, cell: (row) => html`<${SampleButton} row=${row} />` },
    ...study.spec.objectives.map((objective) => ({
      key: objective.name, title: axisTitle(objective), isNumber: true,
      value: (row) => row.values[objective.name],
      cell: (row) => html`<span class=${row.best.has(objective.name) ? "best" : ""}>${number(row.values[objective.name])}</span>`,
    })),
  ];
}

function TargetForm({ study, target }) {
  const given = Object.fromEntries((target ?? "").split(",").map((part) => part.split(":")));
  function submit(event) {
    event.preventDefault();
    const { elements } = event.currentTarget;
    const parts = study.spec.objectives
      .map(({ name }) => [name, elements[`target-${name}`].value.trim()])
      .filter(([, value]) => value !== "" && Number.isFinite(Number(value)))
      .map(([name, value]) => `${name}:${Number(value)}`);
    setQuery({ target: parts.join(",") || undefined });
  }
  return html`
    <form class="target" onSubmit=${submit}>
      ${study.spec.objectives.map((objective) => html`
        <label class="field">${axisTitle(objective)}
          <input name=${`target-${objective.name}`} type="number" step="any" defaultValue=${given[objective.name] ?? ""} /></label>`)}
      <button class="primary">Find the nearest</button>
      <button type="button" onClick=${() => setQuery({ target: undefined })}>Clear</button>
    </form>
  `;
}
