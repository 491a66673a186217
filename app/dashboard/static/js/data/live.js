// The event stream: tells resources when to read again, and whether the server is there.
import { signal } from "../../vendor/ui.js";
import { url } from "./api.js";
import { checkSession } from "./session.js";

// Kinds of events: EventKind in counterpoise/wire/codes.py; "closed" is sent when a server stops.
const KINDS = [
  "created", "paused", "resumed", "stopped", "extended", "retried", "imported", "requested",
  "excluded", "restored", "phase", "step_due", "step", "step_failed", "done", "infeasible",
  "failed", "withdrawn", "cancelled", "finished", "deleted", "reset", "closed",
];
const QUIET_MS = 1000; // at most one round of reading per second, however many events come
const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 15_000;
// A browser has six connections to a server, for all its tabs: those that are hidden give theirs back
const HIDDEN_MS = 10_000;

/** "connecting", "live" or "away", and since when. */
export const connection = signal({ state: "connecting", since: Date.now() });
/** Grows when something changed. */
export const revision = signal(0);

let source = null;
let followed = null;
let lastId = "";
let retryMs = FIRST_RETRY_MS;
let retryTimer = null;
let bumpTimer = null;
let hiddenTimer = null;
let isSuspended = false;

/** Follow another stream: "events", or the path of a study's events. */
export function follow(path) {
  if (path === followed) return;
  followed = path;
  lastId = "";
  connect();
}

export function stop() {
  followed = null;
  close();
}

function connect() {
  close();
  isSuspended = document.hidden;
  if (isSuspended) return;
  const address = url(followed);
  if (lastId) address.searchParams.set("after", lastId);
  source = new EventSource(address);
  source.onopen = () => {
    retryMs = FIRST_RETRY_MS;
    const wasAway = connection.value.state === "away";
    setState("live");
    if (wasAway) changed();
  };
  source.onerror = onError;
  for (const kind of KINDS) source.addEventListener(kind, onEvent);
}

document.addEventListener("visibilitychange", () => {
  clearTimeout(hiddenTimer);
  if (document.hidden) hiddenTimer = setTimeout(suspend, HIDDEN_MS);
  else if (isSuspended) resume();
});

function suspend() {
  if (followed === null) return;
  isSuspended = true;
  close();
}

/** Follow again from now on: what has happened meanwhile is read at once. */
function resume() {
  lastId = "";
  isSuspended = false;
  if (followed === null) return;
  connect();
  changed();
}

function close() {
  clearTimeout(retryTimer);
  source?.close();
  source = null;
}

function onEvent(event) {
  if (event.lastEventId) lastId = event.lastEventId;
  changed();
}

/** The browser gives up after some errors, for example a proxy's: then try again ourselves. */
function onError() {
  setState("away");
  if (source?.readyState !== EventSource.CLOSED) return;
  close();
  checkSession(); // a refused cookie ends the stream, too
  retryTimer = setTimeout(connect, retryMs);
  retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS);
}

function setState(state) {
  if (connection.value.state !== state) connection.value = { state, since: Date.now() };
}

export function changed() {
  bumpTimer ??= setTimeout(() => {
    bumpTimer = null;
    revision.value += 1;
  }, QUIET_MS);
}
