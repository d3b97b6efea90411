// Signing in with a token. `dibs serve --open` needs no form: its address has a code that counts once.
import { html, useState } from "./lib.js";
import { Said } from "./parts.js";
import { S } from "./store.js";

/** Why a token was not taken, for the person who typed it. */
const plain = (error) =>
  error.status === 401
    ? "This token does not count here: it is mistyped, was revoked, or belongs to another workspace."
    : error.message;

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
      setSaid(plain(error));
    } finally {
      setBusy(false);
    }
  };
  return html`
    <main class="signin" id="main" tabindex="-1">
      <h1>dibs</h1>
      <p>This page shows a workspace in which coding agents coordinate. Sign in to see it.</p>
      <dl>
        <dt>On the server’s machine</dt>
        <dd>
          Run <code>dibs serve --open</code> in the repository: it opens this page signed in, or prints a link that
          does. Your token is in <code>.dibs/local/serve.token</code> there.
        </dd>
        <dt>On another machine</dt>
        <dd>Somebody on the server’s machine makes you a token: <code>dibs token new --person NAME</code></dd>
      </dl>
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
        ${(said || S.error) && html`<p class="err" role="alert"><${Said} text=${said || S.error} /></p>`}
      </form>
    </main>
  `;
}
