// Dialogs: what is asked before something is taken from somebody. Native `dialog`; Esc keeps things as they are.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./lib.js";
import { S, changed, leave, may, nameOf, refresh, why } from "./store.js";
import { commit, describe, fresh, send, ask } from "./actions.js";
import { Icon } from "./parts.js";
import { choose, keep, toast, ui } from "./route.js";
import { VIEWS } from "./views.js";

/** Close it now, not at the next paint: the page behind it takes keys again at once. */
export const shut = () => {
  ui.dialog = null;
  document.getElementById("dlg")?.close();
  changed(false);
};

function Modal({ label, children, first }) {
  const box = useRef(null);
  useLayoutEffect(() => {
    // as soon as it is there: a key that is pressed then is for it
    box.current.showModal(); // which also gives the focus back when it is closed
    (box.current.querySelector(first) || box.current).focus();
  }, []);
  return html`
    <dialog
      id="dlg"
      ref=${box}
      aria-labelledby="dt"
      aria-label=${label || null}
      onCancel=${(e) => {
        e.preventDefault();
        shut();
      }}
    >
      ${children}
    </dialog>
  `;
}

function Confirm({ kind, id }) {
  const [first] = useState(() => describe(kind, id));
  const [shown, setShown] = useState(first);
  const [why, setWhy] = useState("");
  const [typed, setTyped] = useState("");
  const [said, setSaid] = useState("");
  const [diff, setDiff] = useState(null);
  const [busy, setBusy] = useState(false);
  const request = useRef(fresh());
  useEffect(() => {
    if (!first) {
      toast("There is nothing to do any more: it changed meanwhile");
      shut();
    }
  }, []);
  if (!first) return null;
  const enough = (!shown.why || why.trim().length >= 4) && (!shown.typed || typed.trim() === shown.typed);
  const go = async (e) => {
    e?.preventDefault();
    if (!enough || busy) return;
    setBusy(true);
    setSaid("");
    try {
      await refresh(["status", "agents", "tasks", ...(kind === "restore" ? ["kept"] : [])]);
      const now = describe(kind, id);
      if (!now) {
        setSaid("There is nothing to do any more: it changed meanwhile. Nothing was done.");
        return;
      }
      const gone = shown.facts.filter((x) => x && !now.facts.includes(x));
      const come = now.facts.filter((x) => x && !shown.facts.includes(x));
      if (gone.length || come.length) {
        setDiff([...gone.map((x) => `no longer: ${x}`), ...come.map((x) => `now: ${x}`)]);
        setShown(now);
        request.current = fresh();
        return;
      }
      await commit(now, why.trim(), request.current);
      shut();
    } catch (error) {
      setSaid(error.message);
    } finally {
      setBusy(false);
    }
  };
  const key = (e) => {
    if (e.key === "Enter") {
      e.preventDefault();
      if (enough) {
        document.getElementById("yes").focus();
      } else if (shown.typed && e.target.id === "why") document.getElementById("typed").focus();
    }
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
          ${diff && html`
            <div class="diff" role="alert">
              <b>The facts changed meanwhile; nothing was done.</b>
              ${diff.map((x) => html`<div key=${x}>${x}</div>`)}
            </div>
          `}
          <div class="cq">
            ${shown.rows
              .filter(Boolean)
              .map(
                ([icon, tone, text]) => html`
                  <${Icon} key=${`i${text}`} name=${icon} tone=${tone} />
                  <div key=${text}>${text}</div>
                `,
              )}
          </div>
          ${shown.why && html`
            <label for="why">Why <span class="c3">told to ${shown.told}, kept in the log</span></label>
            <input
              type="text"
              id="why"
              placeholder="at least a few words"
              autocomplete="off"
              maxlength="500"
              value=${why}
              onInput=${(e) => setWhy(e.target.value)}
              onKeyDown=${key}
            />
          `}
          ${shown.typed && html`
            <label for="typed">The workspace’s name <span class="c3">${shown.typed}, typed</span></label>
            <input
              type="text"
              id="typed"
              autocomplete="off"
              spellcheck=${false}
              value=${typed}
              onInput=${(e) => setTyped(e.target.value)}
              onKeyDown=${key}
            />
          `}
          <div class="cmd"><span class="c2">${shown.command(why.trim() || "…")}</span></div>
          ${said && html`<p class="err" role="alert">${said}</p>`}
        </div>
        <div class="ft">
          <button type="button" class="btn" id="no" onClick=${shut}>
            Keep as it is <span class="kbd">Esc</span>
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
          <p>Told at the next call, as information from you. It changes nobody’s rights.</p>
          ${said && html`<p class="err" role="alert">${said}</p>`}
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
    "Go to",
    [
      ...VIEWS.map((view) => [`g ${view.key}`, view.title + (view.mnemonic ? ` (${view.mnemonic})` : "")]),
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
      ["Enter", "open its story"],
      ["Esc", "close, clear"],
    ],
  ],
  [
    "Act on what is selected",
    [
      ["m", "message"],
      ["a", "acknowledge the alert (the first one)"],
      ["r", "force release…"],
      ["x", "kill…"],
      ["X", "kill all…"],
      ["R", "restore…"],
    ],
  ],
  [
    "Anywhere",
    [
      ["/", "find, or filter the log"],
      ["f", "follow the log"],
      ["[", "zoom in"],
      ["]", "zoom out"],
      ["M", "message to all"],
      ["T", "theme"],
      ["?", "this"],
    ],
  ],
];

function Help() {
  return html`
    <${Modal} first="#no">
      <h2 class="hd" id="dt">Keys</h2>
      <div class="bo">
        <div class="keys">
          ${KEYS.map(
            ([head, list]) => html`
              <h3 key=${head}>${head}</h3>
              ${list.map(
                ([k, t]) => html`
                  <div key=${k}>
                    <span>${t}</span>
                    <span>${k.split(" ").map((x) => html`<span class="kbd" key=${x}>${x}</span> `)}</span>
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
          Single keys are on
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

export function Dialog() {
  const d = ui.dialog;
  if (!d) return null;
  if (d.kind === "help") return html`<${Help} />`;
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
