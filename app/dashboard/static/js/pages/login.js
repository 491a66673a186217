import { html, useState } from "../../vendor/ui.js";
import { notice, signIn } from "../data/session.js";

const ICON = new URL("../../icon.svg", import.meta.url).href;

export function Login() {
  const [fault, setFault] = useState("");
  const [isBusy, setIsBusy] = useState(false);

  async function submit(event) {
    event.preventDefault();
    setIsBusy(true);
    try {
      await signIn(event.currentTarget.elements.token.value.trim());
    } catch (error) {
      setFault(error.message);
      setIsBusy(false);
    }
  }

  return html`
    <main class="login">
      <form class="panel" onSubmit=${submit}>
        <img src=${ICON} alt="" width="44" height="44" />
        <h1>Counterpoise</h1>
        <p class="note">${notice.value || "Sign in with a read or admin token of this server."}</p>
        <label class="field">Token
          <input name="token" type="password" required autocomplete="current-password"
            aria-invalid=${fault ? "true" : undefined} autofocus />
        </label>
        ${fault && html`<p class="fault" role="alert">${fault}</p>`}
        <button class="primary" disabled=${isBusy}>Sign in</button>
        <p class="note">The operator of the server has the tokens: they are set
          as <code>COUNTERPOISE_READ_TOKENS</code> and <code>COUNTERPOISE_ADMIN_TOKENS</code>.</p>
      </form>
    </main>
  `;
}
