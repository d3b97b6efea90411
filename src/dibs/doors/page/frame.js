// The frame on each view: top bar, lost bar, verdict, alerts, footer. Answers "is everything fine, what needs me".
import { html } from "./lib.js";
import { S, connect, leave, may, nameOf, why } from "./store.js";
import { model } from "./model.js";
import { Agent, Down, Icon, Progress, Up } from "./parts.js";
import { ALERTS } from "./alerts.js";
import { clock, count, dur, time } from "./words.js";
import { Finder } from "./finder.js";

export const VIEWS = [["overview", "Overview", "ov", "o"], ["timeline", "Timeline", "tl", "t"], ["tasks", "Tasks", "bd", "b"], ["graph", "Graph", "gr", "w"], ["log", "Log", "lg", "l"], ["worktrees", "Worktrees", "merge", "m"], ["oversight", "Oversight", "os", "c"]];

export function Top({ ui, act }) {
  const m = model();
  return html`<header id="top">
    <h1 class="brand"><b>dibs</b><span class="ws">${S.me?.workspace || ""}</span></h1>
    <nav id="tabs" aria-label="Views">${VIEWS.map(([id, title, icon]) => html`<a key=${id} href=${`#/${id}`} aria-current=${ui.view === id ? "page" : null}><${Icon} name=${icon} />${title}${id === "tasks" && m.taskOf.size > 0 && html`<span class="n">${m.tasks.filter((t) => t.state === "executing").length}</span>`}${id === "graph" && m.waits.length > 0 && html`<span class="n c-wait">${m.waits.length}</span>`}${id === "worktrees" && S.radar?.conflicts.length > 0 && html`<span class="n c-wait">${S.radar.conflicts.length}</span>`}</a>`)}</nav>
    <span class="sp"></span>
    <${Finder} />
    <div id="conn" role="status">${S.phase === "lost" ? html`<${Icon} name="dead" tone="c-bad" /><span class="txt">not connected</span>` : S.phase === "live" ? html`<${Icon} name="work" label="connected" /><span class="txt">live</span>` : html`<${Icon} name="wait" /><span class="txt">connecting</span>`}</div>
    <button class="ib" title="Theme: system, light, dark (T)" aria-label="Change theme" onClick=${() => act("theme")}><${Icon} name="theme" /></button>
    <button class="ib" id="helpb" title="Keys (?)" aria-label="Keyboard help" onClick=${() => act("help")}><span class="kbd">?</span></button>
  </header>`;
}

export function Lost() {
  if (S.phase !== "lost") return html`<div id="lost"></div>`;
  const age = Math.max(0, Math.round((Date.now() - S.lostAt) / 1000)), next = Math.max(0, Math.ceil((S.retryAt - Date.now()) / 1000));
  return html`<div id="lost" role="alert"><${Icon} name="silent" /><span>Connection lost at ${clock(S.lostAt)}. This is the state at event ${S.seq}, <b>${dur(age)} old</b>; clocks are stopped, actions are off.</span><span class="x">The guards do not need this page: claims are still granted and refused.</span><span class="sp"></span><span class="x">Next try in ${next} s</span><button class="btn" onClick=${() => connect()}>Try now</button></div>`;
}

const TONES = { working: "var(--ok-f)", waiting: "var(--wait-f)", idle: "var(--line2)", silent: "var(--bad-f)", dead: "var(--dead-f)", killed: "var(--bad-f)" };

export function Verdict({ ui }) {
  const m = model(), n = m.open.length, total = m.agents.length;
  const states = Object.keys(TONES).map((s) => [s, m.agents.filter((a) => a.shown === s).length]).filter(([, k]) => k);
  const next = m.claims.filter((c) => c.expires_at && !c.task).reduce((a, c) => (!a || c.expires_at < a.expires_at ? c : a), null);
  const empty = S.whole && !total && !m.claims.length && !m.tasks.length;
  const kinds = [...new Set(m.open.map((a) => (ALERTS[a.kind]?.[0] || a.kind).toLowerCase()))].slice(0, 4).join(" · ");
  let main;
  if (S.phase === "lost") main = html`<div class="v main gone"><span class="k">As of ${clock(S.lostAt)}</span><div class="n">Unknown${n > 0 && html` <small>${n} needed you</small>`}</div></div>`;
  else if (empty) main = html`<div class="v main gone"><span class="k">Workspace is ready</span><div class="n">Nobody here yet</div></div>`;
  else if (n) main = html`<div class="v main bad"><span class="k">${kinds}</span><div class="n">${n} need${n === 1 ? "s" : ""} you</div></div>`;
  else if (S.warnings.length) main = html`<div class="v main bad"><span class="k">the store, or delivery</span><div class="n">${count(S.warnings.length, "warning")}</div></div>`;
  else if (m.plain.length) main = html`<div class="v main bad"><span class="k">${[...new Set(m.plain)].join(" · ")}</span><div class="n">${m.plain.length} need${m.plain.length === 1 ? "s" : ""} you</div></div>`;
  else main = html`<div class="v main fine"><span class="k">${S.alerts === null ? "" : "no open alert, "}${m.waits.length ? `${m.waits.length} blocked` : "nobody is blocked"}</span><div class="n"><${Icon} name="ok" />All well</div></div>`;
  const long = m.waits[0];
  return html`<section id="verdict" class=${ui.view === "overview" ? "" : "compact"} aria-label="State of the fleet">${main}
    ${!empty && html`<div class="v blk"><span class="k">Blocked</span><div class=${`n ${m.waits.length ? "c-wait" : ""}`}>${m.waits.length} <small>of ${total}${long && html`<span class="lng">, longest ${nameOf(long.agent)} <${Up} at=${long.since} /></span>`}</small></div></div>
    <div class="v agt"><span class="k">Agents</span><div class="n">${total} <span class="sb xtra" role="img" aria-label=${states.map(([s, k]) => `${k} ${s}`).join(", ") || "none"}>${states.map(([s, k]) => html`<i key=${s} style=${{ flex: k, background: TONES[s] }}></i>`)}</span><small class="xtra wide">${states.map(([s, k]) => `${k} ${s}`).join(" · ")}</small></div></div>
    <div class="v hld"><span class="k">Held</span><div class="n">${m.claims.length}${S.more.claims ? "+" : ""} ${next && html`<small class="xtra">next ends <${Down} until=${next.expires_at} fine=${true} /></small>`}</div></div>
    <div class="v run"><span class="k">${S.run ? `Run ${S.run.id}` : "Run"}</span><div class="n">${S.run ? html`${percent(S.run)}% <span class="xtra"><${Progress} value=${percent(S.run)} wide="w64" /></span><small>${S.run.phase || ""}</small>` : html`<small>none</small>`}</div></div>
    <div class="v ref"><span class="k">Refused, 2 h</span><div class="n">${m.refused} <span class="spark xtra" role="img" aria-label="refusals in ten-minute steps">${m.bins.map((b, i) => html`<i key=${i} class=${b ? "" : "z"} style=${{ height: `${b ? Math.max(3, Math.round((20 * b) / Math.max(3, ...m.bins))) : 1}px` }}></i>`)}</span></div></div>`}
    ${empty && html`<div class="v"><span class="k">Log</span><div class="n">${S.seq} <small>${S.seq === 1 ? "event" : "events"}</small></div></div>`}
  </section>`;
}
const percent = (run) => Math.round(run.progress || 0);

/** The buttons of an alert: what its remedy is about. */
function remedies(a) {
  const out = [];
  if (a.kind === "violation") out.push(["Restore…", `restore:${(a.resources || [])[0] || a.subject}`, "", "restore"]);
  if (a.kind === "deadlock") out.push(["Resolve…", "go:graph", "pri", ""]);
  if (a.agent && ["silent", "dead", "hold"].includes(a.kind) && S.agents.has(a.agent)) {
    if (a.kind === "silent" || a.kind === "dead") out.push([`Kill ${nameOf(a.agent)}…`, `kill:${a.agent}`, "dng", "kill"]);
    else out.push(["Release…", `release:${(a.resources || [])[0] || a.subject}`, "dng", "release"]);
  }
  if (a.kind === "poison") out.push(["Requeue…", `requeue:${a.subject}`, "", "task move"]);
  if (a.agent && S.agents.has(a.agent)) out.push([`Message ${nameOf(a.agent)}`, `msg:${a.agent}`, "", "send"]);
  return out.slice(0, 2);
}

export function Alerts({ ui, act }) {
  const m = model();
  const all = m.open;
  const one = ui.view !== "overview" && !ui.allAlerts;
  const list = one ? all.slice(0, 1) : all;
  return html`<section id="alerts" class=${one ? "one" : ""} aria-label="Open alerts" aria-live="polite">${list.map((a) => {
    const [word, icon] = ALERTS[a.kind] || [a.kind, "viol"];
    const shows = (a.evidence || []).slice(0, 2);
    return html`<div key=${a.id} class=${`al sev-${a.severity === "error" ? "bad" : "wait"}`} data-alert=${a.id}><${Icon} name=${icon} /><span class="kind"><button class="lnk" data-open=${`alert:${a.id}`}>${word}</button>${a.ids.length > 1 ? ` ×${a.ids.length}` : ""}</span><span class="what"><span title=${a.text}>${a.agent && S.agents.has(a.agent) && !a.text.includes(nameOf(a.agent)) ? html`<${Agent} id=${a.agent} />: ` : ""}${a.text.startsWith(`${a.kind}, `) ? a.text.slice(a.kind.length + 2) : a.text}</span><code class="rem" title=${`To do: ${a.remedy}`}>${a.remedy}</code></span><span class="meta">${shows.length > 0 && html`<span class="evd">${shows.map((ev) => html`<button key=${ev} class="lnk" data-open=${`ev:${ev}`}>#${ev}</button> `)}· </span>`}<${Up} at=${a.since} fine=${false} /> ago</span><span class="act mut-act">${one ? html`<button class="btn" onClick=${() => act("alerts")}>${all.length > 1 ? `${all.length - 1} more` : "Show"}</button>` : html`${remedies(a).map(([t, d, c, op]) => html`<button key=${d} class=${`btn ${c}`} disabled=${op && !may(op)} title=${op ? why(op) : ""} onClick=${() => act(d)}>${t}</button>`)}<button class="btn q" disabled=${!may("alerts ack")} title=${why("alerts ack") || "Acknowledge: seen, stays in the log, clears itself when the cause is gone"} onClick=${() => act(`ack:${a.ids}`)}>Ack</button>`}</span></div>`;
  })}${S.warnings.map((w) => html`<div key=${w} class="al sev-bad"><${Icon} name="viol" /><span class="kind">Warning</span><span class="what"><span>${w}</span></span><span class="meta"></span><span class="act"></span></div>`)}</section>`;
}

export function Foot({ act }) {
  const acked = (S.alerts || []).filter((a) => a.state === "acknowledged").length;
  const actions = [["release", "release"], ["kill", "kill"], ["task move", "requeue"]].filter(([op]) => S.me?.may?.[op]).map(([, w]) => w);
  return html`<footer id="foot"><span>Event <b class="c2">${S.seq}</b></span><span>state read in ${Math.round(S.latency)} ms</span>${acked > 0 && html`<button class="lnk" data-open="alerts:acknowledged">${count(acked, "alert")} acknowledged</button>`}<span class="sp"></span><span>${S.me ? `${S.me.name || S.me.agent}, ${S.me.role}: may ${actions.length ? actions.join(", ") : "look"}` : ""}</span><button class="lnk" onClick=${() => leave()}>Sign out</button><span><span class="kbd">j</span><span class="kbd">k</span> move <span class="kbd">↵</span> open <span class="kbd">?</span> keys</span></footer>`;
}
