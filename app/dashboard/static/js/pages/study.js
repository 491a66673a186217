// The frame of a study's pages: name, state, tabs. The selection follows from tab to tab.
import { html, useEffect, useRef } from "../../vendor/ui.js";
import { Guard } from "../components/guard.js";
import { ProblemCard } from "../components/panel.js";
import { StateBadge } from "../components/study_state.js";
import { get, Refusal, studyPath } from "../data/api.js";
import { follow } from "../data/live.js";
import { route } from "../data/navigation.js";
import { LEASES_MS, useResource } from "../data/resource.js";
import { selectionQuery } from "../data/shared_selection.js";
import { studyHref, TABS } from "../pure/route.js";
import { Balance } from "./balance.js";
import { Convergence } from "./convergence.js";
import { Models } from "./models.js";
import { Overview } from "./overview/overview.js";
import { Samples } from "./samples/samples.js";
import { SetUp } from "./set_up/set_up.js";
import { TradeOffs } from "./trade_offs/trade_offs.js";
import { Work } from "./work/work.js";

const PAGES = {
  overview: Overview, work: Work, tradeoffs: TradeOffs, convergence: Convergence,
  models: Models, balance: Balance, samples: Samples, setup: SetUp,
};

/** With `outputs`, the objectives and then the constraints. */
async function readStudy(path) {
  const study = await get(path);
  return { ...study, outputs: [...study.objectives, ...(study.constraints ?? [])] };
}

export function Study() {
  const { study: name, tab } = route.value;
  const study = useResource(studyPath(name), { read: readStudy, refreshMs: LEASES_MS });
  const Page = PAGES[tab];
  const isGone = study.error instanceof Refusal && study.error.status === 404;
  // A study that does not exist has no events; all studies' events tell when it is created
  useEffect(() => follow(isGone ? "events" : studyPath(name, "events")), [name, isGone]);
  const tabs = useRef(null);
  useEffect(() => showCurrent(tabs.current), [tab]);
  document.title = `${name} · Counterpoise`;
  return html`
    <div class="page-head">
      <div class="row"><h1>${name}</h1>${study.data && html`<${StateBadge} study=${study.data} />`}</div>
    </div>
    <nav class="tabs" aria-label="Study" ref=${tabs}>
      ${TABS.map(([key, title]) => html`
        <a href=${studyHref(name, key, { ...selectionQuery(), target: route.value.query.target })} aria-current=${key === tab ? "page" : undefined}>${title}</a>`)}
    </nav>
    ${study.data && html`<${Guard} key=${tab}><${Page} study=${study.data} /><//>`}
    ${!study.data && study.error && html`<${ProblemCard} error=${study.error} /><p><a href="#/">All studies</a></p>`}
    ${study.isLoading && html`<div class="skeleton" role="status" aria-label="Loading"></div>`}
  `;
}

/** On a phone not all tabs are seen at once. Only the row of tabs scrolls, not the page. */
function showCurrent(tabs) {
  const link = tabs.querySelector("[aria-current]");
  tabs.scrollLeft = link.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - link.clientWidth) / 2;
}
