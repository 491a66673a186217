// What are my workers doing? The timeline, utilisation, queues and jobs.
import { html, useState } from "../../../vendor/ui.js";
import { WorkerCommand } from "../../components/health.js";
import { Empty, Loaded, Panel } from "../../components/panel.js";
import { readTimeline, timelinePath } from "../../data/timeline.js";
import { LEASES_MS, useResource } from "../../data/resource.js";
import { JobsPanel } from "./jobs.js";
import { QueuesPanel } from "./queues.js";
import { SpeedsPanel } from "./speeds.js";
import { TimelinePanel } from "./timeline.js";

export function Work({ study }) {
  const [range, setRange] = useState(null);
  const timeline = useResource(timelinePath(study.name, range), { read: readTimeline, quietMs: 4000, refreshMs: LEASES_MS });
  return html`
    <div class="stack">
      <${Loaded} resource=${timeline}>${(data) => html`
        ${data.items.length || range
          ? html`<${TimelinePanel} study=${study} timeline=${data} range=${range} setRange=${setRange} />`
          : html`<${NobodyYet} study=${study} />`}
        <${SpeedsPanel} study=${study} />
        <${QueuesPanel} study=${study} timeline=${data} />
      `}<//>
      <${JobsPanel} study=${study} />
    </div>
  `;
}

function NobodyYet({ study }) {
  const runs = study.outputs.filter((objective) => !objective.same_run_as).map(({ name }) => name);
  return html`
    <${Panel} title="Timeline">
      <${Empty} icon="clock" title="No worker has taken a job yet">
        <p>Start a worker wherever the simulations can run:</p>
        <${WorkerCommand} study=${study.name} objectives=${runs} />
      <//>
    <//>
  `;
}
