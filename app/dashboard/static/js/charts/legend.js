// Legends in HTML: readable by screen readers, with shapes and not only colours.
import { html } from "../../vendor/ui.js";
import { HOLLOW, KINDS } from "../pure/marks.js";

const SHAPES = {
  circle: "M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9z",
  square: "M3 3h8v8H3z",
  triangle: "M7 2.5 12 11.5H2z",
  diamond: "M7 1.5 12.5 7 7 12.5 1.5 7z",
  plus: "M5.8 1.5h2.4v4.3h4.3v2.4H8.2v4.3H5.8V8.2H1.5V5.8h4.3z",
  cross: "M2.5 4 4 2.5l3 3 3-3L11.5 4l-3 3 3 3-1.5 1.5-3-3-3 3L2.5 10l3-3z",
};

export function Mark({ symbol, color, isHollow = false, opacity = 1 }) {
  const paint = isHollow
    ? { fill: "none", stroke: `var(${color})`, strokeWidth: 1.6 }
    : { fill: `var(${color})`, opacity };
  return html`<svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true"><path d=${SHAPES[symbol]} style=${paint} /></svg>`;
}

export function KindLegend({ kinds, withInitial = false }) {
  return html`
    <ul class="legend">
      ${kinds.map((kind) => html`
        <li><${Mark} symbol=${KINDS[kind].symbol} color=${KINDS[kind].color}
          isHollow=${HOLLOW.has(kind)} />${KINDS[kind].word}</li>`)}
      ${withInitial && html`<li><${Mark} symbol="square" color="--muted" />square: initial design</li>`}
    </ul>
  `;
}

/** Lines or bars by name: [{name, color, symbol}]. */
export function SeriesLegend({ items }) {
  return html`
    <ul class="legend">
      ${items.map(({ name, color, symbol = "square", opacity = 1 }) => html`
        <li><${Mark} symbol=${symbol} color=${color} opacity=${opacity} />${name}</li>`)}
    </ul>
  `;
}
