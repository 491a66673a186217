// The specification, steering, import and export of a study.
import { html, useEffect, useState } from "../../../vendor/ui.js";
import { Panel } from "../../components/panel.js";
import { deleteStudy, StudyActions } from "../../components/study_actions.js";
import { Table } from "../../components/table.js";
import { studyPath, url } from "../../data/api.js";
import { isAdmin } from "../../data/session.js";
import { limitText } from "../../pure/axis.js";
import { duration, number } from "../../pure/format.js";
import { outputsOf } from "../../pure/marks.js";
import { withoutUnset } from "../../pure/specification.js";
import { studyHref } from "../../pure/route.js";
import { Facts } from "../work/job.js";
import { ImportPanel } from "./import.js";

const EXPORTS = [["samples", "Samples"], ["jobs", "Jobs and attempts"], ["front", "Front"]];
const SHOWN_APART = new Set(["name", "variables", "objectives", "constraints", "requirements", "notes"]);

export function SetUp({ study }) {
  const { spec } = study;
  const settings = Object.entries(current(study)).filter(([key, value]) => !SHOWN_APART.has(key) && value !== null);
  return html`
    <div class="stack">
      <div class="grid uneven">
        <${Panel} title="Variables"><${Table} caption="Variables" columns=${VARIABLES} rows=${spec.variables} rowKey=${({ name }) => name} /><//>
        <${Panel} title="Outputs"><${Table} caption="Outputs" columns=${OUTPUTS} rows=${outputsOf(spec)} rowKey=${({ name }) => name} /><//>
      </div>
      <div class="grid">
        <${Panel} title="Settings">
          <${Facts} entries=${settings.map(([key, value]) => [key.replaceAll("_", " "), text(value)])} />
          ${(spec.requirements ?? []).length > 0 && html`<h3>Requirements</h3><ul class="plain">${spec.requirements.map((rule) => html`<li><code>${text(rule)}</code></li>`)}</ul>`}
        <//>
        <${Panel} title="Steering and files">
          <div class="stack tight">
            ${isAdmin.value && html`<div class="row"><${StudyActions} study=${study} /></div>`}
            <div class="row"><span class="note">Export</span>
              ${EXPORTS.map(([what, title]) => html`<a class="button" download href=${url(studyPath(study.name, `export/${what}`)).href}>${title}</a>`)}
            </div>
            <${SpecText} study=${study} />
            ${isAdmin.value && html`<div class="row"><a class="button" href=${`#/new?from=${encodeURIComponent(study.name)}`}>New study from this one</a>
              <button class="danger" onClick=${() => deleteStudy(study)}>Delete</button></div>`}
          </div>
        <//>
      </div>
      ${isAdmin.value && html`<${ImportPanel} study=${study} />`}
    </div>
  `;
}

/** The specification with the budget as it has been extended. */
function current({ spec, budget }) {
  return { ...spec, budget };
}

function text(value) {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const VARIABLES = [
  { key: "name", title: "Name", isName: true, value: (row) => row.name },
  { key: "type", title: "Type", value: (row) => row.type, cell: (row) => (row.scale === "log" ? `${row.type}, log` : row.type) },
  { key: "range", title: "Range", value: (row) => row.low, cell: rangeOf },
];
function rangeOf({ low, high, values, choices }) {
  const levels = values ?? choices;
  return levels ? levels.map((level) => number(level)).join(", ") : `${number(low)} to ${number(high)}`;
}

const OUTPUTS = [
  { key: "name", title: "Name", isName: true, value: (row) => row.name },
  { key: "goal", title: "Goal", value: (row) => `${row.isObjective ? row.direction : "constraint"}${limitText(row)}` },
  { key: "unit", title: "Unit", value: (row) => row.unit ?? "" },
  { key: "run", title: "Run", value: (row) => row.same_run_as ?? row.name },
  { key: "time", title: "Declared time", isNumber: true, value: (row) => row.evaluation_time_s, cell: (row) => duration(row.evaluation_time_s) },
];

function SpecText({ study }) {
  const [yaml, setYaml] = useState("");
  useEffect(() => {
    import("../../../vendor/yaml.js").then(({ stringify }) => setYaml(stringify(withoutUnset(current(study)))));
  }, [study.name, study.budget]);
  return html`<details><summary>Specification as YAML</summary><pre class="log" tabindex="0">${yaml}</pre></details>`;
}
