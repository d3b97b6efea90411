// Open alerts, above each view: what needs somebody, its evidence, and what can be done about it.
import { html } from "./lib.js";
import { S, may, nameOf, why } from "./store.js";
import { model } from "./model.js";
import { Agent, Button, Icon, Up } from "./parts.js";

// kind → what people call it, and its shape
export const ALERTS = {
  violation: ["Violation", "viol"],
  deadlock: ["Deadlock", "cycle"],
  asks: ["Waits for you", "msg"],
  silent: ["Silent", "silent"],
  dead: ["Dead", "dead"],
  hold: ["Long hold", "held"],
  wait: ["Long wait", "wait"],
  expired: ["Expired", "silent"],
  bypass: ["Bypassed", "commit"],
  removed: ["Removed", "commit"],
  deploy_stale: ["Stale deploy", "deploy"],
  deploy_unverified: ["Unverified deploy", "deploy"],
  poison: ["Poison task", "task"],
  breaker: ["Breaker open", "refused"],
  store: ["Store", "viol"],
  rules: ["Old rules", "msg"],
};

/** The buttons of an alert: what its remedy is about. */
function remedies(a) {
  const out = [];
  if (a.kind === "violation") {
    out.push(["Restore…", `restore:${(a.resources || [])[0] || a.subject}`, "", "restore"]);
  }
  if (a.kind === "deadlock") out.push(["Resolve…", "go:graph", "pri", ""]);
  if (a.agent && ["silent", "dead", "hold"].includes(a.kind) && S.agents.has(a.agent)) {
    if (a.kind === "silent" || a.kind === "dead") {
      out.push([`Kill ${nameOf(a.agent)}…`, `kill:${a.agent}`, "dng", "kill"]);
    } else {
      out.push(["Release…", `release:${(a.resources || [])[0] || a.subject}`, "dng", "release"]);
    }
  }
  if (a.kind === "poison") out.push(["Requeue…", `requeue:${a.subject}`, "", "task move"]);
  if (a.agent && S.agents.has(a.agent)) {
    out.push([`Message ${nameOf(a.agent)}`, `msg:${a.agent}`, "", "send"]);
  }
  return out.slice(0, 2);
}

/** What an alert says, without the words that its row has already. */
function Text({ a }) {
  const named = !a.agent || !S.agents.has(a.agent) || a.text.includes(nameOf(a.agent));
  const text = a.text.startsWith(`${a.kind} `) ? a.text.slice(a.kind.length + 1) : a.text;
  return html`<span title=${a.text}>${named ? "" : html`<${Agent} id=${a.agent} />: `}${text}</span>`;
}

const Evidence = ({ events }) => html`
  <span class="evd">
    ${events.map((seq) => html`<button key=${seq} class="lnk" data-open=${`ev:${seq}`}>#${seq}</button> `)}·${" "}
  </span>
`;

function Acknowledge({ a, act }) {
  const title = why("alerts ack") || "Acknowledge: seen, stays in the log, clears by itself when its cause is gone";
  return html`
    <button class="btn q" disabled=${!may("alerts ack")} title=${title} onClick=${() => act(`ack:${a.ids}`)}>
      Ack
    </button>
  `;
}

/** One alert; `hidden` is the number of those that are not shown where only one is. */
function Alert({ a, hidden, act }) {
  const [word, icon] = ALERTS[a.kind] || [a.kind, "viol"];
  const events = (a.evidence || []).slice(0, 2);
  const remedy = ([text, action, cls, op]) => html`
    <${Button} key=${action} act=${act} action=${action} op=${op} cls=${cls}>${text}<//>
  `;
  return html`
    <div class=${`al sev-${a.severity === "error" ? "bad" : "wait"}`} data-alert=${a.id}>
      <${Icon} name=${icon} />
      <span class="kind">
        <button class="lnk" data-open=${`alert:${a.id}`}>${word}</button>
        ${a.ids.length > 1 ? ` ×${a.ids.length}` : ""}
      </span>
      <span class="what">
        <${Text} a=${a} />
        <code class="rem" title=${`To do: ${a.remedy}`}>${a.remedy}</code>
      </span>
      <span class="meta">
        ${events.length > 0 && html`<${Evidence} events=${events} />`}
        <${Up} at=${a.since} fine=${false} /> ago
      </span>
      <span class="act mut-act">
        ${hidden === null
          ? html`${remedies(a).map(remedy)}<${Acknowledge} a=${a} act=${act} />`
          : html`<button class="btn" onClick=${() => act("alerts")}>${hidden > 0 ? `${hidden} more` : "Show"}</button>`}
      </span>
    </div>
  `;
}

const Warning = ({ text }) => html`
  <div class="al sev-bad">
    <${Icon} name="viol" />
    <span class="kind">Warning</span>
    <span class="what"><span>${text}</span></span>
    <span class="meta"></span>
    <span class="act"></span>
  </div>
`;

export function Alerts({ ui, act }) {
  const all = model().open;
  const one = ui.view !== "overview" && !ui.allAlerts;
  const hidden = one ? all.length - 1 : null;
  return html`
    <section id="alerts" class=${one ? "one" : ""} aria-label="Open alerts" aria-live="polite">
      ${(one ? all.slice(0, 1) : all).map((a) => html`<${Alert} key=${a.id} a=${a} hidden=${hidden} act=${act} />`)}
      ${S.warnings.map((text) => html`<${Warning} key=${text} text=${text} />`)}
    </section>
  `;
}
