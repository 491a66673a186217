// Long idle gaps of a timeline, to be collapsed by axis breaks.

/**
 * Gaps without any bar, [start, end], up to `until`, that are longer than `share` of the span.
 * At both ends a `margin` of the busy time stays.
 */
export function idleGaps(bars, { until = -Infinity, share = 0.08, margin = 0.02 } = {}) {
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
      gaps.push([covered, start]);
    }
    covered = Math.max(covered, end);
  }
  const idle = gaps.reduce((sum, [start, end]) => sum + end - start, 0);
  const kept = Math.min((span - idle) * margin, span * share * 0.25);
  return gaps.map(([start, end]) => [start + kept, end - kept]);
}
