// The page: starts the state, draws the frame and the view, and turns clicks and keys into actions.
import { html, render } from "./lib.js";
import { S, changed, enter, listen, may, refresh, start, why } from "./store.js";
import { model } from "./model.js";
import { Alerts, Foot, Lost, Top, Verdict } from "./frame.js";
import { Empty, Overview } from "./overview.js";
import { Timeline, zoom } from "./timeline.js";
import { Tasks } from "./tasks.js";
import { Graph } from "./graph.js";
import { Log } from "./log.js";
import { Oversight } from "./oversight.js";
import { Coming, Worktrees } from "./worktrees.js";
import { Drawer } from "./drawer.js";
import { Dialog } from "./dialogs.js";
import { SignIn } from "./signin.js";
import { acknowledge } from "./actions.js";
import { listenKeys, roving } from "./keys.js";
import { go, keep, open, toast, ui } from "./route.js";

const VIEWS = { overview: Overview, timeline: Timeline, tasks: Tasks, graph: Graph, log: Log, worktrees: Worktrees, oversight: Oversight };
const NEEDS = { kill: "kill", killall: "kill", restore: "restore", revive: "revive", release: "release", requeue: "task move", cancel: "task cancel", msg: "send", ask: "ask", unland: "landings cancel" };

/** The ids of the alert that the key `a` means: whose story is open, that has the focus, else the first one. */
function meant() {
  const open = model().open, id = ui.open.startsWith("alert:") ? ui.open.slice(6) : document.activeElement?.closest?.("[data-alert]")?.dataset.alert;
  return String((id ? open.find((a) => a.ids.includes(id)) : open[0])?.ids || "");
}

/** One action by name: `kill:ivo`. What the caller may not do is said, not tried. */
function act(action) {
  const cut = action.indexOf(":"), kind = cut < 0 ? action : action.slice(0, cut), id = cut < 0 ? "" : action.slice(cut + 1);
  if (kind === "go") location.hash = `#/${id}`;
  else if (kind === "theme") { ui.theme = { auto: "light", light: "dark", dark: "auto" }[ui.theme]; keep("theme", ui.theme); toast(`Theme: ${ui.theme === "auto" ? "as the system" : ui.theme}`); }
  else if (kind === "help") ui.dialog = { kind: "help" };
  else if (kind === "alerts") ui.allAlerts = true;
  else if (kind === "follow") { ui.follow = !ui.follow; }
  else if (kind === "zoom") zoom(Number(id));
  else if (kind === "copy") navigator.clipboard?.writeText(id).then(() => toast("Copied"), () => toast("The browser did not allow it"));
  else if (kind === "ack" || kind === "ack1") {
    const which = id || meant();
    if (!which) return;
    if (!may("alerts ack")) { toast(why("alerts ack")); return; }
    Promise.all(String(which).split(",").map(acknowledge)).then(() => refresh(["alerts"])).then(() => toast("Acknowledged. It clears itself when the cause is gone"), (e) => toast(e.message));
  } else if (kind === "restore" && may("restore")) {
    refresh(["kept"]).then(() => { if (S.kept.some((k) => k.path === id)) ui.dialog = { kind, id }; else toast(`Nothing is kept of ${id}`); changed(false); }, (e) => toast(e.message));
  } else if (NEEDS[kind]) { if (may(NEEDS[kind])) ui.dialog = { kind, id }; else toast(why(NEEDS[kind])); }
  changed(false);
}

function App() {
  ui.phone = innerWidth <= 760;
  document.documentElement.dataset.theme = ui.theme;
  document.body.classList.toggle("off", S.phase === "lost");
  if (S.phase === "signin") { document.title = "dibs"; return html`<${SignIn} enter=${enter} />`; }
  const m = model(), View = VIEWS[ui.view];
  const n = m.open.length;
  document.title = `${S.phase === "lost" ? "? " : n ? `(${n}) ` : ""}${S.me?.workspace || ""} · dibs`;
  if (!S.seq) return html`<${Lost} /><main id="main" tabindex="-1"><p class="pad c2">${S.phase === "lost" ? S.error : "Reading the state of the workspace…"}</p></main>`;
  const empty = S.whole && !m.agents.length && !m.claims.length && !m.tasks.length;
  return html`<${Top} ui=${ui} act=${act} /><${Lost} /><${Verdict} ui=${ui} /><${Alerts} ui=${ui} act=${act} />${ui.view === "overview" && html`<${Coming} />`}
    <main id="main" tabindex="-1" aria-label=${ui.view}>${empty && !["log", "worktrees"].includes(ui.view) ? html`<${Empty} act=${act} />` : html`<${View} key=${ui.view} act=${act} />`}</main>
    <${Foot} act=${act} />
    ${ui.open && html`<${Drawer} what=${ui.open} act=${act} />`}
    <${Dialog} />
    <div id="toast" role="status" hidden=${!ui.toast}>${ui.toast}</div>`;
}

const root = document.getElementById("app");
function draw() {
  render(html`<${App} />`, root);
  roving();
  point(ui.point);
  if (!drawn && S.seq) { drawn = true; requestAnimationFrame(() => performance.mark("dibs-first-paint")); }
}
let drawn = false;
root.textContent = "";
listen(draw);

// --- pointing: what belongs to an agent stays, the rest gives way

let timer = 0;
function point(agent) {
  document.body.classList.toggle("hl", !!agent);
  if (!agent && !ui.pointed) return;
  ui.pointed = agent;
  for (const el of document.querySelectorAll("[data-ag]")) el.classList.toggle("on", el.dataset.ag === agent);
}
document.addEventListener("mouseover", (e) => {
  const el = e.target.closest?.("[data-hl]"), to = el && (ui.view === "overview" || ui.view === "timeline") ? el.dataset.hl : "";
  clearTimeout(timer);
  if (!to) { ui.point = ""; point(""); return; }
  timer = setTimeout(() => { ui.point = to; point(to); }, 350);
});

document.addEventListener("click", (e) => {
  if (e.target.closest?.("dialog, .btn")) return;
  const el = e.target.closest?.("[data-open]");
  if (el) { e.preventDefault(); open(el.dataset.open); }
});
addEventListener("hashchange", () => { go(location.hash); changed(false); document.getElementById("main")?.focus({ preventScroll: true }); });
addEventListener("resize", () => changed(false));
document.addEventListener("visibilitychange", () => changed(false));
document.querySelector(".skip").addEventListener("click", (e) => { e.preventDefault(); document.getElementById("main")?.focus(); });

listenKeys(act);
if (!location.hash.startsWith("#code=")) go(location.hash);
start();
draw();
