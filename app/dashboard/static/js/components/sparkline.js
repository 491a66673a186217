// A small line without axes.
import { html } from "../../vendor/ui.js";

const [WIDTH, HEIGHT, PAD] = [120, 30, 3];

export function Sparkline({ values, label }) {
  if (values.length < 2) return html`<span class="note">–</span>`;
  const low = Math.min(...values);
  const span = Math.max(...values) - low || 1;
  const points = values.map((value, index) => {
    const x = PAD + (index * (WIDTH - 2 * PAD)) / (values.length - 1);
    const y = HEIGHT - PAD - ((value - low) * (HEIGHT - 2 * PAD)) / span;
    return [x.toFixed(1), y.toFixed(1)];
  });
  const [lastX, lastY] = points.at(-1);
  return html`
    <svg class="spark" width=${WIDTH} height=${HEIGHT} viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label=${label}>
      <polyline points=${points.map((point) => point.join(",")).join(" ")} />
      <circle cx=${lastX} cy=${lastY} r="2.6" />
    </svg>
  `;
}
