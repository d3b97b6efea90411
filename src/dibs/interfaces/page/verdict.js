// The verdict: is everything fine, does something need me? The two-second answer, above each view.
import { html } from "./lib.js";
import { S, nameOf } from "./store.js";
import { isEmpty, model } from "./model.js";
import { Down, Icon, Progress, Up } from "./parts.js";
import { ALERTS } from "./alerts.js";
import { clock, count } from "./words.js";

const TONES = {
  working: "var(--ok-f)",
  waiting: "var(--wait-f)",
  idle: "var(--line2)",
  "waits for you": "var(--wait-f)",
  limited: "var(--wait-f)",
  stalled: "var(--bad-f)",
  silent: "var(--bad-f)",
  dead: "var(--dead-f)",
  killed: "var(--bad-f)",
};

const percent = (run) => Math.round(run.progress || 0);

const Main = ({ tone, about, children }) => html`
  <div class=${`v main ${tone}`}>
    <span class="k">${about}</span>
    <div class="n">${children}</div>
  </div>
`;

const Needs = ({ n, about }) => html`<${Main} tone="bad" about=${about}>${n} need${n === 1 ? "s" : ""} you<//>`;

const alertWords = (open) => {
  const kinds = new Set(open.map((a) => (ALERTS[a.kind]?.[0] || a.kind).toLowerCase()));
  return [...kinds].slice(0, 4).join(" · ");
};

function Answer({ m, empty }) {
  const n = m.needs;
  if (S.phase === "lost") {
    return html`
      <${Main} tone="gone" about=${`As of ${clock(S.lostAt)}`}>
        Unknown${n > 0 && html` <small>${n} needed you</small>`}
      <//>
    `;
  }
  if (empty) return html`<${Main} tone="gone" about="Workspace is ready">No agents yet<//>`;
  if (n) return html`<${Needs} n=${n} about=${alertWords(m.open.filter((a) => a.severity !== "info"))} />`;
  if (S.warnings.length) {
    return html`<${Main} tone="bad" about="the store, or delivery">${count(S.warnings.length, "warning")}<//>`;
  }
  if (m.plain.length) return html`<${Needs} n=${m.plain.length} about=${[...new Set(m.plain)].join(" · ")} />`;
  const waiting = m.agents.filter((a) => a.shown === "waiting").length;
  const quiet = S.alerts === null ? "" : m.open.length ? "nothing needs you" : "no open alert";
  if (waiting) {
    const text = `${waiting} of ${m.agents.length} wait${waiting === 1 ? "s" : ""}`;
    return html`<${Main} tone="wait" about=${quiet}><${Icon} name="wait" />${text}<//>`;
  }
  const about = [quiet, "nobody waits"].filter(Boolean).join(", ");
  return html`<${Main} tone="fine" about=${about}><${Icon} name="ok" />All well<//>`;
}

function Blocked({ m }) {
  const longest = m.waits[0];
  return html`
    <div class="v blk">
      <span class="k">Waiting</span>
      <div class=${`n ${m.waits.length ? "c-wait" : ""}`}>
        ${m.waits.length}${" "}
        <small>
          of ${m.agents.length}
          ${longest && html`
            <span class="lng">, longest ${nameOf(longest.agent)} <${Up} at=${longest.since} /></span>
          `}
        </small>
      </div>
    </div>
  `;
}

function Agents({ m }) {
  const states = Object.keys(TONES)
    .map((s) => [s, m.agents.filter((a) => a.shown === s).length])
    .filter(([, n]) => n);
  const texts = states.map(([s, n]) => `${n} ${s}`);
  return html`
    <div class="v agt">
      <span class="k">Agents</span>
      <div class="n">
        ${m.agents.length}${" "}
        <span class="sb xtra" role="img" aria-label=${texts.join(", ") || "none"}>
          ${states.map(([s, n]) => html`<i key=${s} style=${{ flex: n, background: TONES[s] }}></i>`)}
        </span>
        <small class="xtra wide">${texts.join(" · ")}</small>
      </div>
    </div>
  `;
}

function Held({ m }) {
  const next = m.claims
    .filter((c) => c.expires_at && !c.task)
    .reduce((a, c) => (!a || c.expires_at < a.expires_at ? c : a), null);
  return html`
    <div class="v hld">
      <span class="k">Held</span>
      <div class="n">
        ${m.claims.length}
        ${S.more.claims ? "+" : ""}${" "}
        ${next && html`<small class="xtra">next ends <${Down} until=${next.expires_at} /></small>`}
      </div>
    </div>
  `;
}

const Run = ({ run }) => html`
  <div class="v run">
    <span class="k">${run ? `Run ${run.id}` : "Run"}</span>
    <div class="n">
      ${run
        ? html`
            ${percent(run)}%${" "}
            <span class="xtra"><${Progress} value=${percent(run)} wide="w64" /></span>
            <small>${run.phase || ""}</small>
          `
        : html`<small>none</small>`}
    </div>
  </div>
`;

function Refused({ m }) {
  const most = Math.max(3, ...m.bins);
  const height = (n) => (n ? Math.max(3, Math.round((20 * n) / most)) : 1);
  return html`
    <div class="v ref">
      <span class="k">Refused, 2 h</span>
      <div class="n">
        ${m.refused}${" "}
        <span class="spark xtra" role="img" aria-label="refusals in ten-minute steps">
          ${m.bins.map((n, i) => html`<i key=${i} class=${n ? "" : "z"} style=${{ height: `${height(n)}px` }}></i>`)}
        </span>
      </div>
    </div>
  `;
}

const Log = () => html`
  <div class="v">
    <span class="k">Log</span>
    <div class="n">${S.seq} <small>${S.seq === 1 ? "event" : "events"}</small></div>
  </div>
`;

export function Verdict({ ui }) {
  const m = model();
  const empty = isEmpty(m);
  return html`
    <section id="verdict" class=${ui.view === "overview" ? "" : "compact"} aria-label="State of the fleet">
      <${Answer} m=${m} empty=${empty} />
      ${empty
        ? html`<${Log} />`
        : html`<${Blocked} m=${m} /><${Agents} m=${m} /><${Held} m=${m} /><${Run} run=${S.run} /><${Refused} m=${m} />`}
    </section>
  `;
}
