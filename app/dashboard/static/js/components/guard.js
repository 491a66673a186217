// A page that fails becomes a card; the rest of the dashboard stays.
import { html, useErrorBoundary } from "../../vendor/ui.js";

export function Guard({ children }) {
  const [error, retry] = useErrorBoundary((fault) => console.error(fault));
  if (!error) return children;
  return html`
    <section class="panel problem" role="alert">
      <h2>This page failed</h2>
      <p>${error.message}. The data are still in the REST API.</p>
      <p><button onClick=${retry}>Try again</button></p>
    </section>
  `;
}
