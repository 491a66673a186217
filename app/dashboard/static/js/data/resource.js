// Reads a resource, and again when the event stream says that something changed.
import { useEffect, useRef, useState } from "../../vendor/ui.js";
import { get, Refusal, Unreachable } from "./api.js";
import { now as clock } from "./clock.js";
import { revision } from "./live.js";
import { expire } from "./session.js";

// Leases and signs of life are no events: pages that show them read again after so long
export const LEASES_MS = 20_000;
const AWAY_MS = 5000; // until a request is repeated that no server has responded to
const PAUSE = 10; // times as long as the last read took: no page keeps a server busy
const LONGEST_PAUSE_MS = 60_000;
const MOST_KEPT = 24; // responses kept for going back, so that a page open for a day does not grow
const kept = new Map();

function remember(key, data) {
  kept.delete(key);
  kept.set(key, data);
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
}

/**
 * {data, error, isLoading, reload}. `path` null: nothing is read.
 * `read` reads it in another way than one GET; `quietMs` is the shortest time between two reads,
 * longer where they are slow, and `refreshMs` the longest one while the page is seen.
 */
export function useResource(path, { read = get, quietMs = 1000, isLive = true, refreshMs = null } = {}) {
  const [state, setState] = useState({ path: null, data: undefined, error: null });
  const seen = isLive ? revision.value : 0;
  const tick = refreshMs && !document.hidden ? Math.floor(clock.value / refreshMs) : 0;
  const times = useRef({ path: null, started: 0, tookMs: 0, timer: null, isReading: false, isStale: false });
  const [round, setRound] = useState(0);

  useEffect(() => {
    if (path === null) return undefined;
    const now = times.current;
    const isNew = now.path !== path;
    if (!isNew && now.isReading) {
      now.isStale = true;
      return undefined;
    }
    const quiet = Math.max(quietMs, Math.min(PAUSE * now.tookMs, LONGEST_PAUSE_MS));
    const wait = isNew ? 0 : Math.max(0, now.started + quiet - Date.now());
    clearTimeout(now.timer);
    now.path = path;
    now.timer = setTimeout(() => load(path), wait);
    return undefined;
  }, [path, seen, round, tick]);
  useEffect(() => () => clearTimeout(times.current.timer), []);

  async function load(wanted) {
    const now = times.current;
    now.started = Date.now();
    now.isReading = true;
    now.isStale = false;
    let next;
    try {
      const data = await read(wanted);
      remember(wanted, data);
      next = { path: wanted, data, error: null };
    } catch (error) {
      if (error instanceof Refusal && error.status === 401) expire();
      if (!(error instanceof Refusal || error instanceof Unreachable)) throw error;
      const isGone = error instanceof Refusal && error.status === 404;
      if (isGone) kept.delete(wanted);
      next = { path: wanted, data: kept.get(wanted), error };
    }
    now.isReading = false;
    now.tookMs = next.error ? 0 : Date.now() - now.started;
    if (now.path !== wanted) return;
    setState(next);
    if (now.isStale) again();
    else if (next.error instanceof Unreachable) now.timer = setTimeout(again, AWAY_MS);
  }

  function again() {
    setRound((value) => value + 1);
  }

  const isCurrent = state.path === path;
  const data = isCurrent ? state.data : kept.get(path);
  const error = isCurrent ? state.error : null;
  return {
    data,
    error,
    isLoading: data === undefined && error === null && path !== null,
    reload: again,
  };
}
