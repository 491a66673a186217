// The timeline of a study, page by page, with the slots of all pages.
import { get, studyPath } from "./api.js";
import { slotKey } from "../charts/gantt.js";

const MOST_ITEMS = 8000; // what a chart draws well; zooming in asks for a shorter span
const LATEST = 10_000; // attempts of one window of the history

/** All pages of a window merged into one record. */
export async function readTimeline(path) {
  let merged = null;
  let cursor = null;
  do {
    const address = cursor ? `${path}${path.includes("?") ? "&" : "?"}cursor=${encodeURIComponent(cursor)}` : path;
    const page = await get(address);
    merged = merged ? merge(merged, page) : page;
    cursor = page.next;
  } while (cursor && merged.items.length < MOST_ITEMS);
  return { ...merged, isCut: Boolean(cursor) };
}

function merge(before, page) {
  const slots = new Map([...before.slots, ...page.slots].map((slot) => [slotKey(slot), slot]));
  return {
    ...page,
    start: before.start,
    slots: [...slots.values()].sort((a, b) => a.worker.localeCompare(b.worker) || a.slot - b.slot),
    items: [...before.items, ...page.items],
    utilisation: addUp(before.utilisation, page.utilisation),
  };
}

function addUp(before, after) {
  const rows = new Map(before.map((row) => [row.objective, row]));
  for (const row of after) {
    const known = rows.get(row.objective);
    if (!known) {
      rows.set(row.objective, row);
      continue;
    }
    const [busy, other, idle] = ["busy_s", "other_s", "idle_s"].map((key) => known[key] + row[key]);
    const all = busy + other + idle;
    rows.set(row.objective, {
      objective: row.objective, slots: Math.max(known.slots, row.slots),
      busy_s: busy, other_s: other, idle_s: idle, share: all ? (busy + other) / all : null,
    });
  }
  return [...rows.values()];
}

/** A window of the history: a range, or the latest attempts before `end`. */
export function timelinePath(study, window) {
  const latest = window?.start ? undefined : LATEST;
  return studyPath(study, "timeline", { from: window?.start, to: window?.end, latest, limit: LATEST });
}
