// The frame around every page: navigation, connection, who is signed in.
import { html, useEffect } from "../vendor/ui.js";
import { TopBar } from "./components/top_bar.js";
import { Away } from "./components/away.js";
import { Toast } from "./components/toast.js";
import { Dialogs } from "./components/dialog.js";
import { Guard } from "./components/guard.js";
import { follow, stop } from "./data/live.js";
import { route } from "./data/navigation.js";
import { isSignedIn, me } from "./data/session.js";
import { Compare } from "./pages/compare.js";
import { Job } from "./pages/work/job.js";
import { Login } from "./pages/login.js";
import { Missing } from "./pages/missing.js";
import { NewStudy } from "./pages/set_up/new_study.js";
import { Studies } from "./pages/studies.js";
import { Study } from "./pages/study.js";
import { Workers } from "./pages/workers.js";

const PAGES = {
  studies: Studies, study: Study, workers: Workers, compare: Compare,
  job: Job, new: NewStudy, missing: Missing,
};

export function App() {
  const { page, study } = route.value;
  const isKnown = me.value !== undefined;
  const mayRead = isSignedIn.value;
  useEffect(() => {
    if (!mayRead) stop();
    else if (page !== "study") follow("events"); // a study's page follows its own
  }, [mayRead, page]);
  if (!isKnown) return html`<p class="empty" role="status">Connecting to the server…</p>`;
  if (!mayRead) return html`<${Login} />`;
  const Page = PAGES[page];
  // The tabs of a study keep their place, and the keyboard's focus
  const place = study ? `studies/${study}` : location.hash.split("?")[0];
  return html`
    <a class="skip" href="#content" onClick=${focusContent}>Skip to content</a>
    <${TopBar} />
    <${Away} />
    <main id="content" tabindex="-1"><${Guard} key=${place}><${Page} /><//></main>
    <${Dialogs} />
    <${Toast} />
  `;
}

/** The address holds the page, so that the link must not change it. */
function focusContent(event) {
  event.preventDefault();
  document.getElementById("content").focus();
}
