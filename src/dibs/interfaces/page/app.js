// The page: starts the state, draws the frame and the view, and turns clicks and keys into actions.
import { html, render } from "./lib.js";
import { S, changed, enter, listen, may, refresh, start, why } from "./store.js";
import { isEmpty, model } from "./model.js";
import { Foot, Lost, Top } from "./frame.js";
import { Verdict } from "./verdict.js";
import { Alerts } from "./alerts.js";
import { Empty } from "./empty.js";
import { Said } from "./parts.js";
import { Coming } from "./worktrees.js";
import { viewOf } from "./views.js";
import { Drawer } from "./drawer.js";
import { Dialog } from "./dialogs.js";
import { SignIn } from "./signin.js";
import { acknowledge } from "./actions.js";
import { listenKeys, roving } from "./keys.js";
import { listenTips } from "./tips.js";
import { go, keep, open, toast, ui } from "./route.js";
import { count, cut } from "./words.js";

// an action that opens a dialog, and the operation that its caller has to be allowed
const NEEDS = {
  kill: "kill",
  killall: "kill",
  restore: "restore",
  revive: "revive",
  release: "release",
  requeue: "task move",
  cancel: "task cancel",
  msg: "send",
  ask: "ask",
  unland: "landings cancel",
  addtask: "task add",
  edittask: "task edit",
  claim: "claim",
  land: "land",
  diff: "diff",
  handover: "handover",
};

/** The ids of the alert that the key `a` means: whose story is open, that has the focus, else the first one. */
function meant() {
  const open = model().open;
  const id = ui.open.startsWith("alert:")
    ? ui.open.slice(6)
    : document.activeElement?.closest?.("[data-alert]")?.dataset.alert;
  return String((id ? open.find((a) => a.ids.includes(id)) : open[0])?.ids || "");
}

function turnTheme() {
  ui.theme = { auto: "light", light: "dark", dark: "auto" }[ui.theme];
  keep("theme", ui.theme);
  toast(`Theme: ${ui.theme === "auto" ? "as the system" : ui.theme}`);
}

function copy(text) {
  navigator.clipboard?.writeText(text).then(
    () => toast("Copied"),
    () => toast("The browser does not allow copying"),
  );
}

function dismissAlerts(ids) {
  if (!ids) return;
  if (!may("alerts ack")) {
    toast(why("alerts ack"));
    return;
  }
  const all = ids.split(",");
  Promise.all(all.map(acknowledge))
    .then(() => refresh(["alerts"]))
    .then(
      () => toast(`Dismissed ${count(all.length, "alert")}. The log keeps ${all.length === 1 ? "it" : "them"}`),
      (e) => toast(e.message),
    );
}

/** Ask first, if the caller may. What it may not do is said, not tried. */
function openDialog(kind, id) {
  if (may(NEEDS[kind])) ui.dialog = { kind, id };
  else toast(why(NEEDS[kind]));
}

function openRestore(path) {
  if (!may("restore")) {
    openDialog("restore", path);
    return;
  }
  refresh(["kept"]).then(
    () => {
      if (S.kept.some((k) => k.path === path)) openDialog("restore", path);
      else toast(`No earlier content of ${path} is kept`);
      changed(false);
    },
    (e) => toast(e.message),
  );
}

const ACTIONS = {
  go: (view) => (location.hash = `#/${view}`),
  theme: turnTheme,
  help: () => (ui.dialog = { kind: "help" }),
  alerts: () => (ui.allAlerts = true),
  follow: () => (ui.follow = !ui.follow),
  zoom: (by) => viewOf(ui.view).zoom?.(Number(by)),
  open,
  palette: () => (ui.dialog = { kind: "palette" }),
  copy,
  ack: (ids) => dismissAlerts(ids || meant()),
  ackall: () => dismissAlerts(String(model().open.flatMap((a) => a.ids))),
  restore: openRestore,
};

/** One action by name: `kill:ivo`. */
function act(action) {
  const [kind, id] = cut(action);
  if (ACTIONS[kind]) ACTIONS[kind](id);
  else openDialog(kind, id);
  changed(false);
}

function App() {
  ui.phone = innerWidth <= 760;
  document.documentElement.dataset.theme = ui.theme;
  document.body.classList.toggle("off", S.phase === "lost");
  if (S.phase === "signin") {
    document.title = "dibs";
    return html`<${SignIn} enter=${enter} />`;
  }
  const m = model();
  const view = viewOf(ui.view);
  const n = m.needs;
  document.title = `${S.phase === "lost" ? "? " : n ? `(${n}) ` : ""}${S.me?.workspace || ""} · dibs`;
  if (!S.seq) {
    return html`
      <${Lost} />
      <main id="main" tabindex="-1">
        <p class="pad c2">
          <${Said} text=${S.phase === "lost" ? S.error : "Reading the state of the workspace…"} />
        </p>
      </main>
    `;
  }
  return html`
    <${Top} ui=${ui} act=${act} />
    <${Lost} />
    <${Verdict} ui=${ui} />
    <${Alerts} ui=${ui} act=${act} />
    ${ui.view === "overview" && html`<${Coming} />`}
    <main id="main" tabindex="-1" aria-label=${ui.view}>
      ${isEmpty(m) && !view.empty
        ? html`<${Empty} act=${act} view=${view} />`
        : html`<${view.component} key=${view.id} act=${act} />`}
    </main>
    <${Foot} ui=${ui} />
    ${ui.open && html`<${Drawer} what=${ui.open} act=${act} />`}
    <${Dialog} act=${act} />
    <div id="toast" role="status" hidden=${!ui.toast}><${Said} text=${ui.toast} /></div>
  `;
}

const root = document.getElementById("app");
function draw() {
  render(html`<${App} />`, root);
  roving();
  point(ui.point);
  if (!drawn && S.seq) {
    drawn = true;
    requestAnimationFrame(() => performance.mark("dibs-first-paint"));
  }
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
  for (const el of document.querySelectorAll("[data-ag]")) {
    el.classList.toggle("on", el.dataset.ag === agent);
  }
}
document.addEventListener("mouseover", (e) => {
  const el = e.target.closest?.("[data-hl]");
  const to = el && viewOf(ui.view).pointing ? el.dataset.hl : "";
  clearTimeout(timer);
  if (!to) {
    ui.point = "";
    point("");
    return;
  }
  timer = setTimeout(() => {
    ui.point = to;
    point(to);
  }, 350);
});

document.addEventListener("click", (e) => {
  if (e.target.closest?.("dialog, .btn")) return;
  const el = e.target.closest?.("[data-open]");
  if (el) {
    e.preventDefault();
    open(el.dataset.open);
  }
});
addEventListener("hashchange", () => {
  go(location.hash, viewOf);
  changed(false);
  document.getElementById("main")?.focus({ preventScroll: true });
});
addEventListener("resize", () => changed(false));
document.addEventListener("visibilitychange", () => changed(false));
document.querySelector(".skip").addEventListener("click", (e) => {
  e.preventDefault();
  document.getElementById("main")?.focus();
});

listenKeys(act);
listenTips();
if (!location.hash.startsWith("#code=")) go(location.hash, viewOf);
start();
draw();
