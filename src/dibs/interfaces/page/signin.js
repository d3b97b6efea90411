// Signing in with a token. `dibs serve --open` needs no form: its address has a code that counts once.
import { html, useState } from "./lib.js";
import { S } from "./store.js";

export function SignIn({ enter }) {
  const [token, setToken] = useState("");
  const [said, setSaid] = useState("");
  const [busy, setBusy] = useState(false);
  const go = async (e) => {
    e.preventDefault();
    setBusy(true);
    setSaid("");
    try {
      await enter({ token: token.trim() });
      setToken("");
    } catch (error) {
      setSaid(error.message);
    } finally {
      setBusy(false);
    }
  };
  return html`
    <main class="signin" id="main" tabindex="-1">
      <h1>dibs</h1>
      <p>This page shows a workspace in which coding agents coordinate. It needs to know who you are.</p>
      <p>
        On the server’s machine, <code>dibs serve --open</code>${" "}
        signs you in. Elsewhere, a person makes a token: <code>dibs token new --person you</code>.
      </p>
      <form onSubmit=${go}>
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          spellcheck=${false}
          value=${token}
          onInput=${(e) => setToken(e.target.value)}
        />
        <div class="row">
          <button class="btn pri" disabled=${!token.trim() || busy}>Sign in</button>
          <span class="c3">kept by the server as a session, never by this page</span>
        </div>
        ${(said || S.error) && html`<p class="err" role="alert">${said || S.error}</p>`}
      </form>
    </main>
  `;
}
