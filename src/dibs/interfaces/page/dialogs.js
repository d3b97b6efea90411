// Dialogs: what is asked before something is taken from somebody. Native `dialog`; Esc keeps things as they are.
import { html, useEffect, useRef, useState } from "./lib.js";
import { S, changed, leave, may, nameOf, refresh, why } from "./store.js";
import { commit, describe, fresh, send, ask } from "./actions.js";
import { Diff, Form, isForm } from "./forms.js";
import { Modal, shut } from "./modal.js";
import { Palette } from "./palette.js";
import { Icon, Said } from "./parts.js";
import { choose, keep, toast, ui } from "./route.js";
import { VIEWS } from "./views.js";

const WHY = { placeholder: "at least a few words", maxlength: "500" };

const Field = ({ set, ...more }) => html`
  <input type="text" autocomplete="off" onInput=${(e) => set(e.target.value)} ...${more} />
`;

/** How two lists of facts differ, in words. */
function differences(before, now) {
  const gone = before.filter((x) => x && !now.includes(x)).map((x) => `no longer: ${x}`);
  const come = now.filter((x) => x && !before.includes(x)).map((x) => `now: ${x}`);
  return [...gone, ...come];
}

const Changed = ({ facts }) => html`
  <div class="diff" role="alert">
    <b>The facts changed meanwhile; nothing was done.</b>
    ${facts.map((x) => html`<div key=${x}>${x}</div>`)}
  </div>
`;

const Consequences = ({ rows }) => html`
  <div class="cq">
    ${rows.filter(Boolean).map(
      ([icon, tone, text]) => html`
        <${Icon} key=${`i${text}`} name=${icon} tone=${tone} />
        <div key=${text}><${Said} text=${text} /></div>
      `,
    )}
  </div>
`;

/** An action that is about to be done: read again first, and done only if its facts are still those that were shown. */
function useAction(kind, id) {
  const [first] = useState(() => describe(kind, id));
  const [shown, setShown] = useState(first);
  const [error, setError] = useState("");
  const [changes, setChanges] = useState(null);
  const [busy, setBusy] = useState(false);
  const request = useRef(fresh());
  const run = async (why) => {
    await refresh(["status", "agents", "tasks", ...(kind === "restore" ? ["kept"] : [])]);
    const now = describe(kind, id);
    if (!now) {
      setError("Nothing is left to do: it changed meanwhile. Nothing was done.");
      return;
    }
    const found = differences(shown.facts, now.facts);
    if (found.length) {
      setChanges(found);
      setShown(now);
      request.current = fresh();
      return;
    }
    await commit(now, why, request.current);
    shut();
  };
  const confirm = (why) => {
    setBusy(true);
    setError("");
    return run(why)
      .catch((e) => setError(e.message))
      .finally(() => setBusy(false));
  };
  return { shown, error, changes, busy, confirm };
}

function Confirm({ kind, id }) {
  const { shown, error, changes, busy, confirm } = useAction(kind, id);
  const [why, setWhy] = useState("");
  const [typed, setTyped] = useState("");
  useEffect(() => {
    if (!shown) {
      toast("Nothing is left to do: it changed meanwhile");
      shut();
    }
  }, []);
  if (!shown) return null;
  const enough = (!shown.why || why.trim().length >= 4) && (!shown.typed || typed.trim() === shown.typed);
  const go = (e) => {
    e.preventDefault();
    if (enough && !busy) confirm(why.trim());
  };
  const key = (e) => {
    if (e.key !== "Enter") return;
    e.preventDefault();
    if (enough) document.getElementById("yes").focus();
    else if (shown.typed && e.target.id === "why") document.getElementById("typed").focus();
  };
  return html`
    <${Modal} first=${shown.why ? "#why" : "#no"}>
      <form onSubmit=${go}>
        <h2 class="hd" id="dt">
          <${Icon} name=${shown.icon} tone=${shown.danger ? "c-bad" : ""} />
          ${shown.title}
        </h2>
        <div class="bo">
          <p>${shown.intro}</p>
          ${changes && html`<${Changed} facts=${changes} />`}
          <${Consequences} rows=${shown.rows} />
          ${shown.why && html`
            <label for="why">Why <span class="c3">sent to ${shown.told}, kept in the log</span></label>
            <${Field} id="why" value=${why} set=${setWhy} onKeyDown=${key} ...${WHY} />
          `}
          ${shown.typed && html`
            <label for="typed">The workspace’s name <span class="c3">${shown.typed}, typed</span></label>
            <${Field} id="typed" value=${typed} set=${setTyped} onKeyDown=${key} spellcheck=${false} />
          `}
          <div class="cmd"><span class="c2">${shown.command(why.trim() || "…")}</span></div>
          ${error && html`<p class="err" role="alert"><${Said} text=${error} /></p>`}
        </div>
        <div class="ft">
          <button type="button" class="btn" id="no" onClick=${shut}>
            ${shown.keep || "Cancel"} <span class="kbd">Esc</span>
          </button>
          <button
            type="submit"
            class=${`btn pri ${shown.danger ? "dng" : ""}`}
            id="yes"
            disabled=${!enough || busy}
          >
            ${shown.verb}
          </button>
        </div>
      </form>
    <//>
  `;
}

function Compose({ to, resource }) {
  const [text, setText] = useState(resource ? "Could you release it soon? " : "");
  const [said, setSaid] = useState("");
  const request = useRef(fresh());
  const all = to === "all";
  const who = all ? "all agents" : nameOf(to);
  const go = async (e) => {
    e.preventDefault();
    try {
      await (resource ? ask(resource, text.trim(), request.current) : send(to, text.trim(), request.current));
      shut();
      toast(`Sent to ${who}`);
    } catch (error) {
      setSaid(error.message);
    }
  };
  return html`
    <${Modal} first="#why">
      <form onSubmit=${go}>
        <h2 class="hd" id="dt"><${Icon} name="msg" />${resource ? `Ask for ${resource}` : `Message ${who}`}</h2>
        <div class="bo">
          <textarea
            id="why"
            aria-label="Message"
            maxlength="4000"
            placeholder=${`What should ${who} know?`}
            value=${text}
            onInput=${(e) => setText(e.target.value)}
          ></textarea>
          <p>Delivered at the next call, as information from you. It changes nobody’s rights.</p>
          ${said && html`<p class="err" role="alert"><${Said} text=${said} /></p>`}
        </div>
        <div class="ft">
          <button type="button" class="btn" id="no" onClick=${shut}>
            Discard <span class="kbd">Esc</span>
          </button>
          <button type="submit" class="btn pri" id="yes" disabled=${!text.trim()}>Send</button>
        </div>
      </form>
    <//>
  `;
}

const KEYS = [
  [
    "Anything",
    [
      ["Ctrl K", "commands: do or find anything (⌘ K on a Mac)"],
      ["/", "find, or filter the log"],
    ],
  ],
  [
    "Go to",
    [
      ...VIEWS.map((view, i) => [`g ${view.key}`, view.title, String(i + 1)]),
      ["g a", "First alert"],
    ],
  ],
  [
    "Move",
    [
      ["j", "next"],
      ["k", "previous"],
      ["h", "column left"],
      ["l", "column right"],
      ["← →", "bars and marks of a lane"],
      ["Enter", "open its story"],
      ["Esc", "close, or clear"],
    ],
  ],
  [
    "Act on what is selected",
    [
      ["m", "message"],
      ["a", "dismiss the alert (the first one)"],
      ["A", "dismiss all alerts"],
      ["r", "force release…"],
      ["x", "kill…"],
      ["X", "kill all…"],
      ["R", "restore…"],
    ],
  ],
  [
    "Anywhere",
    [
      ["n", "add a task…"],
      ["f", "follow the log"],
      ["[", "zoom in: less time, a larger graph"],
      ["]", "zoom out"],
      ["M", "message all"],
      ["T", "theme"],
      ["?", "keyboard shortcuts"],
    ],
  ],
];

function Help() {
  return html`
    <${Modal} first="#no">
      <h2 class="hd" id="dt">Keyboard shortcuts</h2>
      <div class="bo">
        <div class="keys">
          ${KEYS.map(
            ([head, list]) => html`
              <h3 key=${head}>${head}</h3>
              ${list.map(
                ([k, t, or]) => html`
                  <div key=${k}>
                    <span>${t}</span>
                    <span>
                      ${k.split(" ").map((x) => html`<span class="kbd" key=${x}>${x}</span> `)}
                      ${or && html`or <span class="kbd">${or}</span>`}
                    </span>
                  </div>
                `,
              )}
            `,
          )}
        </div>
        <label class="inl">
          <input
            type="checkbox"
            checked=${ui.keys === "on"}
            onChange=${(e) => {
              ui.keys = e.target.checked ? "on" : "off";
              keep("keys", ui.keys);
              changed(false);
            }}
          />${" "}
          Single-key shortcuts are on
        </label>
      </div>
      <div class="ft">
        <button
          class="btn q"
          onClick=${() => {
            shut();
            leave();
          }}
        >
          Sign out
        </button>
        <button
          class="btn dng"
          disabled=${!may("kill")}
          title=${why("kill")}
          onClick=${() => choose({ dialog: { kind: "killall", id: "all" } })}
        >
          Kill all…
        </button>
        <button
          class="btn"
          disabled=${!may("send")}
          title=${why("send")}
          onClick=${() => choose({ dialog: { kind: "msg", id: "all" } })}
        >
          Message all
        </button>
        <button class="btn" id="no" onClick=${shut}>Close</button>
      </div>
    <//>
  `;
}

export function Dialog({ act }) {
  const d = ui.dialog;
  if (!d) return null;
  if (d.kind === "help") return html`<${Help} />`;
  if (d.kind === "palette") return html`<${Palette} act=${act} />`;
  if (d.kind === "diff") return html`<${Diff} key=${d.id} id=${d.id} act=${act} />`;
  if (isForm(d.kind)) return html`<${Form} key=${`${d.kind}:${d.id}`} kind=${d.kind} id=${d.id} />`;
  if (d.kind === "msg") return html`<${Compose} key=${d.id} to=${d.id} />`;
  if (d.kind === "ask") {
    return html`
      <${Compose}
        key=${d.id}
        to=${S.claims.size ? [...S.claims.values()].find((c) => c.resources.includes(d.id))?.agent || "" : ""}
        resource=${d.id}
      />
    `;
  }
  return html`<${Confirm} key=${`${d.kind}:${d.id}`} kind=${d.kind} id=${d.id} />`;
}
