// Import of evaluations: first what it would do, then the import itself.
import { html, useState } from "../../../vendor/ui.js";
import { Panel } from "../../components/panel.js";
import { say } from "../../components/toast.js";
import { request, studyPath } from "../../data/api.js";
import { changed } from "../../data/live.js";
import { plural } from "../../pure/format.js";

const MOST_FAULTS = 20;

export function ImportPanel({ study }) {
  const [text, setText] = useState("");
  const [plan, setPlan] = useState(null);
  const [faults, setFaults] = useState([]);
  const [isEvaluated, setIsEvaluated] = useState(false);

  async function send(isDryRun) {
    try {
      const path = studyPath(study.name, "import", { dry_run: isDryRun, evaluate: isEvaluated });
      const type = text.trimStart().startsWith("[") ? "application/json" : "text/csv";
      const result = await request("POST", path, text, { "Content-Type": type });
      setFaults([]);
      setPlan(isDryRun ? result : null);
      if (!isDryRun) {
        setText("");
        say(summary(result));
        changed();
      }
    } catch (error) {
      setPlan(null);
      setFaults(error.faults?.length ? error.faults : [{ pointer: "", detail: error.message }]);
    }
  }

  async function chooseFile(event) {
    const [file] = event.currentTarget.files;
    if (file) setText(await file.text());
    setPlan(null);
  }

  return html`
    <${Panel} title="Import evaluations" note="CSV with a header of variables and outputs, or a JSON list. Imported samples are data: they do not count towards the budget.">
      <div class="stack tight">
        <label class="field">File<input type="file" accept=".csv,.json" onChange=${chooseFile} /></label>
        <label class="field">or paste rows
          <textarea rows="5" spellcheck="false" value=${text} onInput=${(event) => { setText(event.currentTarget.value); setPlan(null); }}></textarea></label>
        <label class="check"><input type="checkbox" checked=${isEvaluated} onChange=${() => { setIsEvaluated(!isEvaluated); setPlan(null); }} />evaluate what the rows lack</label>
        ${plan && html`<p role="status">This would be done: ${summary(plan)}</p>`}
        ${faults.length > 0 && html`<ul class="plain fault" role="alert">${faults.slice(0, MOST_FAULTS).map(({ pointer, detail }) => html`<li>${pointer && `${pointer}: `}${detail}</li>`)}</ul>`}
        <div class="row">
          <button disabled=${!text.trim()} onClick=${() => send(true)}>Dry run</button>
          <button class="primary" disabled=${!plan} onClick=${() => send(false)}>Import</button>
        </div>
      </div>
    <//>
  `;
}

function summary(result) {
  const parts = [
    `${plural(result.rows, "row")} read`,
    `${plural(result.complete, "complete sample")} and ${plural(result.partial, "partial one")} added`,
    `${plural(result.values_added, "value")} added to known points`,
  ];
  if (result.jobs) parts.push(`${plural(result.jobs, "job")} queued`);
  if (result.unchanged) parts.push(`${result.unchanged} unchanged`);
  return `${parts.join(", ")}.`;
}
