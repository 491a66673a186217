// Named designs of the front, so that nobody has to choose from a long table.
import { html, useState } from "../../vendor/ui.js";
import { Panel } from "../components/panel.js";
import { Table } from "../components/table.js";
import { studyPath } from "../data/api.js";
import { route, setQuery } from "../data/navigation.js";
import { useResource } from "../data/resource.js";
import { select, selection } from "../data/shared_selection.js";
import { axisTitle } from "../pure/axis.js";
import { number } from "../pure/format.js";

const WORDS = { knee: "Balanced (knee)", nearest: "Nearest to your target" };

export function FrontChoices({ study }) {
  const { target } = route.value.query;
  const { data } = useResource(studyPath(study.name, "choices", { target }), { quietMs: 5000 });
  const [isEditing, setIsEditing] = useState(false);
  if (!data?.items.length) return null;
  const chosen = selection.value;
  const controls = html`<button onClick=${() => setIsEditing(!isEditing)} aria-expanded=${String(isEditing)}>My target</button>`;
  return html`
    <${Panel} title="Designs to choose from" controls=${controls}
      note="The best of the front in each objective, and the one that compromises most evenly.">
      ${isEditing && html`<${TargetForm} study=${study} target=${target} />`}
      <${Table} caption="Designs to choose from" columns=${columnsOf(study)} rows=${rowsOf(data.items)}
        rowKey=${(row) => row.sample} isChosen=${(row) => row.sample === chosen.focus}
        onRow=${(row) => select({ ...chosen, focus: row.sample === chosen.focus ? null : row.sample })} />
    <//>
  `;
}

/** One row per design: a design can be the best in several ways. */
function rowsOf(items) {
  const rows = new Map();
  for (const item of items) {
    const row = rows.get(item.sample) ?? { ...item, titles: [] };
    row.titles.push(item.code === "best" ? `Best ${item.objective}` : WORDS[item.code] ?? item.code);
    rows.set(item.sample, row);
  }
  return [...rows.values()];
}

function columnsOf(study) {
  const best = bestValues(study);
  return [
    { key: "why", title: "Design", isName: true, cell: (row) => html`<strong>${row.titles.join(", ")}</strong>` },
    { key: "sample", title: "Sample", isId: true, value: (row) => row.sample },
    ...study.spec.objectives.map((objective) => ({
      key: objective.name, title: axisTitle(objective), isNumber: true,
      value: (row) => row.values[objective.name],
      cell: (row) => html`<span class=${best(row, objective.name) ? "best" : ""}>${number(row.values[objective.name])}</span>`,
    })),
  ];
}

function bestValues() {
  return (row, name) => row.titles.includes(`Best ${name}`);
}

function TargetForm({ study, target }) {
  const given = Object.fromEntries((target ?? "").split(",").map((part) => part.split(":")));
  function submit(event) {
    event.preventDefault();
    const { elements } = event.currentTarget;
    const parts = study.spec.objectives
      .map(({ name }) => [name, elements[`target-${name}`].value.trim()])
      .filter(([, value]) => value !== "" && Number.isFinite(Number(value)))
      .map(([name, value]) => `${name}:${value}`);
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
