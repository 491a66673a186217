// Long idle gaps of a timeline, to be collapsed by axis breaks.

/** Gaps without any bar, [start, end], up to `until`, that are longer than `share` of the span. */
export function idleGaps(bars, { until = -Infinity, share = 0.08, margin = 0.01 } = {}) {
  const sorted = bars.map(({ start, end }) => [start, end]).sort((a, b) => a[0] - b[0]);
  if (!sorted.length) return [];
  const last = sorted.reduce((latest, [, end]) => Math.max(latest, end), until);
  if (until > -Infinity) sorted.push([until, until]);
  const span = last - sorted[0][0];
  const gaps = [];
  let covered = sorted[0][1];
  for (const [start, end] of sorted) {
    const gap = start - covered;
    if (gap > span * share) {
      gaps.push([covered + gap * margin, start - gap * margin]);
    }
    covered = Math.max(covered, end);
  }
  return gaps;
}
