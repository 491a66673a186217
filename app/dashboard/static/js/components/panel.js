// Framed parts of a page, and what they show while there is nothing else to show.
import { html } from "../../vendor/ui.js";
import { sentence } from "../pure/faults.js";
import { Icon } from "./icons.js";

export function Panel({ title, note, controls, children, className = "" }) {
  const hasHeader = title || controls;
  return html`
    <section class="panel ${className}" aria-label=${title}>
      ${hasHeader && html`
        <header>
          <div><h2>${title}</h2>${note && html`<p class="note">${note}</p>`}</div>
          ${controls && html`<div class="controls">${controls}</div>`}
        </header>`}
      ${children}
    </section>
  `;
}

export function Empty({ title, icon = "chart", children }) {
  return html`<div class="empty"><${Icon} name=${icon} /><h2>${title}</h2>${children}</div>`;
}

export function ProblemCard({ error }) {
  return html`
    <section class="panel problem" role="alert">
      <h2>This part cannot be shown</h2>
      <p>${sentence(error)}</p>
    </section>
  `;
}

/** What a resource gives, or that it is loading, or the server's sentence. */
export function Loaded({ resource, children }) {
  if (resource.data !== undefined) return children(resource.data);
  if (resource.error) return html`<${ProblemCard} error=${resource.error} />`;
  return html`<div class="skeleton" role="status" aria-label="Loading"></div>`;
}

export function Metric({ label, value, unit, extra }) {
  return html`
    <div class="metric">
      <dt>${label}</dt>
      <dd>${value}${unit && html` <small>${unit}</small>`}</dd>
      ${extra && html`<div class="extra">${extra}</div>`}
    </div>
  `;
}

export function Badge({ tone = "", children }) {
  return html`<span class="badge ${tone}">${children}</span>`;
}

export function Progress({ done, planned = done, total, label }) {
  const share = (value) => `${Math.min(100, (100 * value) / Math.max(total, 1))}%`;
  return html`
    <div class="progress" role="progressbar" aria-label=${label}
      aria-valuemin="0" aria-valuemax=${total} aria-valuenow=${done}>
      <i style=${{ width: share(done) }}></i>
      <i class="planned" style=${{ width: share(planned - done) }}></i>
    </div>
  `;
}
