// The list of studies: is anything wrong, and when is it done?
import { html, useState } from "../../vendor/ui.js";
import { Badge, Empty, Loaded, Panel, Progress } from "../components/panel.js";
import { Command } from "../components/command.js";
import { Sparkline } from "../components/sparkline.js";
import { etaText, StateBadge } from "../components/study_state.js";
import { Table } from "../components/table.js";
import { getAll } from "../data/api.js";
import { now } from "../data/clock.js";
import { LEASES_MS, useResource } from "../data/resource.js";
import { isAdmin } from "../data/session.js";
import { count, plural, relative } from "../pure/format.js";
import { studyHref } from "../pure/route.js";

const COLUMNS = [
  { key: "name", title: "Study", isName: true, value: (study) => study.name,
    cell: (study) => html`<a class="strong" href=${studyHref(study.name)}>${study.name}</a>` },
  { key: "state", title: "State", value: (study) => study.phase, cell: (study) => html`<${StateBadge} study=${study} />` },
  { key: "progress", title: "Full samples", value: (study) => study.evaluated_full / study.budget, cell: ProgressCell },
  { key: "eta", title: "Time left", value: (study) => study.eta.high_s, cell: (study) => (study.phase === "finished" ? "–" : html`<span class=${study.eta.low_s === null ? "note" : ""} title=${study.eta.unknown ?? undefined}>${etaText(study)}</span>`) },
  { key: "front", title: "Front", isNumber: true, value: (study) => study.front, cell: (study) => count(study.front) },
  { key: "hypervolume", title: "Hypervolume", cell: (study) => html`
      <${Sparkline} values=${study.hypervolume} label="Hypervolume over ${plural(study.hypervolume.length, "step")}" />` },
  { key: "health", title: "Health", value: (study) => warningsOf(study).length, cell: HealthCell },
  { key: "created", title: "Created", value: (study) => study.created_at, cell: (study) => relative(study.created_at, now.value) },
];

export function Studies() {
  const studies = useResource("overview", { read: (path) => getAll(path, 2000, 100), quietMs: 3000, refreshMs: LEASES_MS });
  document.title = "Counterpoise";
  return html`
    <div class="page-head">
      <h1>Studies</h1>
      ${isAdmin.value && html`<a class="button primary" href="#/new">New study</a>`}
    </div>
    <${Loaded} resource=${studies}>${(items) => (items.length ? html`<${List} items=${items} />` : html`<${NoStudies} />`)}<//>
  `;
}

const MANY = 8; // more have a filter

function List({ items }) {
  const [part, setPart] = useState("");
  const found = items.filter(({ name }) => name.toLowerCase().includes(part.trim().toLowerCase()));
  const warned = items.filter((study) => warningsOf(study).length > 0).length;
  const filter = html`
    <label class="row select">Name contains <input type="search" value=${part} onInput=${(event) => setPart(event.currentTarget.value)} /></label>`;
  const note = `${plural(items.length, "study", "studies")}, ${warned || "none"} with warnings.`;
  const header = items.length > MANY ? { title: "All studies", note, controls: filter } : {};
  return html`
    <${Panel} ...${header}>
      <${Table} caption="Studies" columns=${COLUMNS} rows=${found} rowKey=${(study) => study.name}
        sort=${{ key: "created", isDescending: true }} />
    <//>
  `;
}

function NoStudies() {
  return html`
    <${Panel}>
      <${Empty} title="There is no study yet">
        <p>A study declares variables, objectives and a budget. Create one here, from Python, or on the command line:</p>
        <${Command} text="counterpoise study create wing.yaml" />
        <p>To see a small study at work first: <code>counterpoise demo --stay</code></p>
      <//>
    <//>
  `;
}

function ProgressCell(study) {
  return html`
    <div class="progress-cell">
      <${Progress} done=${study.evaluated_full} planned=${study.planned_full} total=${study.budget} label="Full samples of ${study.name}" />
      <span>${count(study.evaluated_full)} / ${count(study.budget)}</span>
    </div>
  `;
}

function warningsOf(study) {
  return study.health.filter(({ code }) => code !== "paused");
}

function HealthCell(study) {
  const items = warningsOf(study);
  if (!items.length) return html`<${Badge} tone="good">OK<//>`;
  return html`<a href=${studyHref(study.name)} title=${items.map(({ detail }) => detail).join("\n")}>
    <${Badge} tone="warn">${plural(items.length, "warning")}<//></a>`;
}
