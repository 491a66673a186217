// All samples of the selection, page by page from the server.
import { html, useMemo } from "../../../vendor/ui.js";
import { Empty, Panel, ProblemCard } from "../../components/panel.js";
import { SelectionBar } from "../../components/selection_bar.js";
import { EvaluatePoint } from "../../components/evaluate_point.js";
import { url, studyPath } from "../../data/api.js";
import { route, setQuery } from "../../data/navigation.js";
import { useSamples, valueOn } from "../../data/samples.js";
import { selection } from "../../data/shared_selection.js";
import { isAdmin } from "../../data/session.js";
import { matcher } from "../../pure/selection.js";
import { FocusedSample } from "./focused_sample.js";
import { SampleTable } from "./table.js";

export function Samples({ study }) {
  const withPartial = route.value.query.partial === "1";
  const { samples, outputs, isCut, error } = useSamples(study, { withPartial });
  const chosen = selection.value;
  const shown = useMemo(() => (samples ?? []).filter(matcher(chosen, valueOn)), [samples, chosen]);
  if (error && !samples) return html`<${ProblemCard} error=${error} />`;
  if (!samples) return html`<div class="skeleton" role="status" aria-label="Loading"></div>`;
  const controls = html`
    <a class="button" href=${url(studyPath(study.name, "export/samples")).href} download>All as a file</a>
    ${isAdmin.value && html`<${EvaluatePoint} study=${study} />`}
  `;
  return html`
    <div class="stack">
      <${SelectionBar} study=${study} shown=${shown} total=${samples.length} isCut=${isCut} outputs=${outputs}>
        <label class="check"><input type="checkbox" checked=${withPartial}
          onChange=${(event) => setQuery({ partial: event.currentTarget.checked ? "1" : undefined })} />partial samples</label>
      <//>
      <${FocusedSample} study=${study} samples=${samples} outputs=${outputs} />
      <${Panel} title="Samples" controls=${controls}>
        ${samples.length
          ? html`<${SampleTable} study=${study} outputs=${outputs} rows=${shown} size=${25} />`
          : html`<${Empty} title="No samples yet"><p>The initial design appears as soon as a planner has planned it.</p><//>`}
      <//>
    </div>
  `;
}
