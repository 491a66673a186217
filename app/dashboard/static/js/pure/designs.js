// Designs of a front that have a name.

const WORDS = { knee: "Balanced (knee)", nearest: "Nearest to your target" };
const SHORT = { knee: "knee", nearest: "your target" };
const MOST_LABELS = 8; // more would hide the marks

/** One row per design: a design can be the best in several ways. */
export function designsOf(items) {
  const rows = new Map();
  for (const item of items) {
    const row = rows.get(item.sample) ?? { ...item, titles: [], labels: [], best: new Set() };
    const isBest = item.code === "best";
    row.titles.push(isBest ? `Best ${item.objective}` : WORDS[item.code] ?? item.code);
    row.labels.push(isBest ? `best ${item.objective}` : SHORT[item.code] ?? item.code);
    if (isBest) row.best.add(item.objective);
    rows.set(item.sample, row);
  }
  return [...rows.values()];
}

/** By sample, for marks in charts: {text, best}, best the objectives; none where there are too many. */
export function labelsOf(designs) {
  if (designs.length > MOST_LABELS) return new Map();
  return new Map(designs.map(({ sample, labels, best }) => [sample, { text: labels.join(", "), best }]));
}
