// A command to copy.
import { html, useState } from "../../vendor/ui.js";

export function Command({ text }) {
  const [isCopied, setIsCopied] = useState(false);
  async function copy() {
    await navigator.clipboard?.writeText(text);
    setIsCopied(true);
    setTimeout(() => setIsCopied(false), 2000);
  }
  return html`
    <div class="command">
      <code tabindex="0">${text}</code>
      ${navigator.clipboard && html`<button onClick=${copy}>${isCopied ? "Copied" : "Copy"}</button>`}
    </div>
  `;
}
