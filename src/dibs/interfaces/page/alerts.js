// Open alerts, above each view: what needs somebody, its evidence, and what can be done about it. Those of one kind are
// one row until it is opened.
import { html } from "./lib.js";
import { S, changed, nameOf } from "./store.js";
import { group, model } from "./model.js";
import { Agent, Button, Command, Icon, Said, Up } from "./parts.js";
import { Menu } from "./menu.js";
import { remedies } from "./remedies.js";
import { count, words } from "./words.js";

// kind → what people call it, and its shape
export const ALERTS = {
  unfinished: ["Unfinished", "task"],
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
export const wordOf = (a) => ALERTS[a.kind]?.[0] || a.kind;

/** What an alert says, without the words that its row has already. */
function Text({ a }) {
  const named = !a.agent || !S.agents.has(a.agent) || a.text.includes(nameOf(a.agent));
  const text = a.text.startsWith(`${a.kind} `) ? a.text.slice(a.kind.length + 1) : a.text;
  return html`
    <span title=${a.text}>${named ? "" : html`<${Agent} id=${a.agent} />: `}<${Said} text=${text} /></span>
  `;
}

const Evidence = ({ events }) => html`
  <span class="evd">
    ${events.map((seq) => html`<button key=${seq} class="lnk" data-open=${`ev:${seq}`}>#${seq}</button> `)}·${" "}
  </span>
`;

/** One button, the rest in a menu. */
function Actions({ a, act }) {
  const [first, ...rest] = remedies(a);
  return html`
    ${first && html`<${Button} act=${act} action=${first.action} op=${first.op} cls="first">${first.text}<//>`}
    <${Menu} label=${`More about ${wordOf(a)}`} actions=${rest} act=${act} />
  `;
}

/** One alert; `hidden` is the number of those that are not shown where only one is. */
function Alert({ a, hidden = null, act, inside = false }) {
  const icon = ALERTS[a.kind]?.[1] || "viol";
  const events = (a.evidence || []).slice(0, 2);
  return html`
    <div class=${`al sev-${toneOf(a.severity)} ${inside ? "in" : ""}`} data-alert=${a.id}>
      <${Icon} name=${icon} />
      <span class="kind">
        <button class="lnk" data-open=${`alert:${a.id}`}>${wordOf(a)}</button>
        ${a.ids.length > 1 ? ` ×${a.ids.length}` : ""}
      </span>
      <span class="what">
        <${Text} a=${a} />
        ${a.remedy && html`<span class="rem"><${Command} text=${a.remedy} act=${act} label="Copy command" /></span>`}
      </span>
      <span class="meta">
        ${events.length > 0 && html`<${Evidence} events=${events} />`}
        <${Up} at=${a.since} /> ago
      </span>
      <span class="act mut-act">
        ${hidden === null
          ? html`<${Actions} a=${a} act=${act} />`
          : html`<button class="btn" onClick=${() => act("alerts")}>${hidden > 0 ? `${hidden} more` : "Show"}</button>`}
      </span>
    </div>
  `;
}

const toneOf = (severity) => ({ error: "bad", warning: "wait" })[severity] || "info";
const opened = new Set(); // kinds whose alerts are shown one by one

function toggle(kind) {
  if (!opened.delete(kind)) opened.add(kind);
  changed(false);
}

const idsOf = (alerts) => alerts.flatMap((a) => a.ids);

/** Several alerts of one kind: how many, about whom, and all of them at once. */
function Group({ kind, alerts, act }) {
  const [first] = alerts;
  const isOpen = opened.has(kind);
  const about = [...new Set(alerts.map((a) => (a.agent ? nameOf(a.agent) : (a.resources || [])[0] || a.subject)))];
  const icon = ALERTS[kind]?.[1] || "viol";
  return html`
    <div class=${`al grp sev-${toneOf(first.severity)}`} data-kind=${kind}>
      <${Icon} name=${icon} />
      <span class="kind">${wordOf(first)} <b class="cnt">${count(idsOf(alerts).length, "alert")}</b></span>
      <span class="what"><span title=${about.join(", ")}>${words(about)}</span></span>
      <span class="meta">newest <${Up} at=${first.since} /> ago</span>
      <span class="act mut-act">
        <button class="btn first" aria-expanded=${isOpen} onClick=${() => toggle(kind)}>
          ${isOpen ? "Hide" : "Show"} ${alerts.length}
        </button>
        <${Button} act=${act} action=${`ack:${idsOf(alerts)}`} op="alerts ack" cls="q">Dismiss all<//>
      </span>
    </div>
    ${isOpen && alerts.map((a) => html`<${Alert} key=${a.id} a=${a} act=${act} inside=${true} />`)}
  `;
}

const Warning = ({ text }) => html`
  <div class="al sev-bad">
    <${Icon} name="viol" />
    <span class="kind">Warning</span>
    <span class="what"><span><${Said} text=${text} /></span></span>
    <span class="meta"></span>
    <span class="act"></span>
  </div>
`;

export function Alerts({ ui, act }) {
  const all = model().open;
  const one = ui.view !== "overview" && !ui.allAlerts;
  const rows = one
    ? all.slice(0, 1).map((a) => html`<${Alert} key=${a.id} a=${a} hidden=${all.length - 1} act=${act} />`)
    : [...group(all, (a) => a.kind)].map(([kind, alerts]) =>
        alerts.length === 1
          ? html`<${Alert} key=${alerts[0].id} a=${alerts[0]} act=${act} />`
          : html`<${Group} key=${kind} kind=${kind} alerts=${alerts} act=${act} />`,
      );
  return html`
    <section id="alerts" class=${one ? "one" : ""} aria-label="Open alerts" aria-live="polite">
      ${rows} ${S.warnings.map((text) => html`<${Warning} key=${text} text=${text} />`)}
    </section>
  `;
}
