// The frame on each view: top bar, lost bar, footer. The verdict and the alerts are files of their own.
import { html } from "./lib.js";
import { S, connect, leave } from "./store.js";
import { model } from "./model.js";
import { Icon } from "./parts.js";
import { clock, count, dur } from "./words.js";
import { Finder } from "./finder.js";
import { VIEWS } from "./views.js";

function Tab({ view, m, current }) {
  const n = view.badge?.(m);
  return html`
    <a href=${`#/${view.id}`} aria-current=${current ? "page" : null}>
      <${Icon} name=${view.icon} />
      ${view.title}
      ${n > 0 && html`<span class=${view.alarming ? "n c-wait" : "n"}>${n}</span>`}
    </a>
  `;
}

function Connection() {
  if (S.phase === "lost") return html`<${Icon} name="dead" tone="c-bad" /><span class="txt">not connected</span>`;
  if (S.phase === "live") return html`<${Icon} name="work" label="connected" /><span class="txt">live</span>`;
  return html`<${Icon} name="wait" /><span class="txt">connecting</span>`;
}

export function Top({ ui, act }) {
  const m = model();
  return html`
    <header id="top">
      <h1 class="brand"><b>dibs</b><span class="ws">${S.me?.workspace || ""}</span></h1>
      <nav id="tabs" aria-label="Views">
        ${VIEWS.map((view) => html`<${Tab} key=${view.id} view=${view} m=${m} current=${ui.view === view.id} />`)}
      </nav>
      <span class="sp"></span>
      <${Finder} />
      <div id="conn" role="status"><${Connection} /></div>
      <button
        class="ib"
        title="Theme: system, light, dark (T)"
        aria-label="Change theme"
        onClick=${() => act("theme")}
      >
        <${Icon} name="theme" />
      </button>
      <button
        class="ib"
        id="helpb"
        title="Keyboard shortcuts (?)"
        aria-label="Keyboard shortcuts"
        onClick=${() => act("help")}
      >
        <span class="kbd">?</span>
      </button>
    </header>
  `;
}

export function Lost() {
  if (S.phase !== "lost") return html`<div id="lost"></div>`;
  const age = Math.max(0, Math.round((Date.now() - S.lostAt) / 1000));
  const next = Math.max(0, Math.ceil((S.retryAt - Date.now()) / 1000));
  return html`
    <div id="lost" role="alert">
      <${Icon} name="silent" />
      <span>
        Connection lost at ${clock(S.lostAt)}. This is the state at event ${S.seq},${" "}
        <b>${dur(age)} old</b>; clocks are stopped, actions are off.
      </span>
      <span class="x">The guards do not need this page: claims are still granted and refused.</span>
      <span class="sp"></span>
      <span class="x">Next try in ${next} s</span>
      <button class="btn" onClick=${() => connect()}>Try now</button>
    </div>
  `;
}

/** After `g`: where each key leads. */
const Hint = () => html`
  <span>
    ${VIEWS.map((view) => html`<span key=${view.id} class="hnt"><b class="kbd">${view.key}</b>${view.title}</span>`)}
    <span class="hnt"><b class="kbd">a</b>First alert</span>
  </span>
`;

export function Foot({ ui }) {
  const acked = (S.alerts || []).filter((a) => a.state === "acknowledged").length;
  const actions = [
    ["release", "release"],
    ["kill", "kill"],
    ["task move", "requeue"],
  ]
    .filter(([op]) => S.me?.may?.[op])
    .map(([, w]) => w);
  return html`
    <footer id="foot">
      <span>Event <b class="c2">${S.seq}</b></span>
      <span>state read in ${Math.round(S.latency)} ms</span>
      ${acked > 0 && html`
        <button class="lnk" data-open="alerts:acknowledged">${count(acked, "alert")} dismissed</button>
      `}
      <span class="sp"></span>
      <span>
        ${S.me
          ? `${S.me.name || S.me.agent}, ${S.me.role}: may ${actions.length ? actions.join(", ") : "look"}`
          : ""}
      </span>
      <button class="lnk" onClick=${() => leave()}>Sign out</button>
      ${ui.hint
        ? html`<${Hint} />`
        : html`
            <span>
              <span class="kbd">j</span>
              <span class="kbd">k</span> move <span class="kbd">↵</span> open <span class="kbd">g</span> go to${" "}
              <span class="kbd">?</span> keyboard shortcuts
            </span>
          `}
    </footer>
  `;
}
