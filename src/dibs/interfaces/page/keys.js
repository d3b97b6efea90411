// Keys: one letter each, off where somebody types or has turned them off (WCAG 2.1.4). Rows are `[data-row]`.
import { choose, close, open, ui } from "./route.js";
import { S } from "./store.js";
import { shut } from "./modal.js";
import { VIEWS } from "./views.js";
import { cut } from "./words.js";

const rows = () => [...document.querySelectorAll("#main [data-row]")];
const current = () => document.querySelector("#main [data-row].cur");

function select(el) {
  if (!el) return;
  current()?.classList.remove("cur");
  el.classList.add("cur");
  el.focus({ preventScroll: true });
  el.scrollIntoView({ block: "nearest" });
}

function step(by) {
  const all = rows();
  const at = all.indexOf(current());
  select(all[at < 0 ? 0 : Math.max(0, Math.min(all.length - 1, at + by))]);
}

function side(dx) {
  const from = current();
  if (!from) {
    step(0);
    return;
  }
  const b = from.getBoundingClientRect();
  let best = null;
  let least = Infinity;
  for (const el of rows()) {
    const q = el.getBoundingClientRect();
    if (dx > 0 ? q.left < b.right - 4 : q.right > b.left + 4) continue;
    const d = Math.abs(q.left - b.left) + 2 * Math.abs(q.top - b.top);
    if (d < least) {
      least = d;
      best = el;
    }
  }
  select(best);
}

const CHORD_MS = 1200; // between the keys of `g t`

/** What each key does; `row` is the selected one. */
function keyActions(act, row) {
  const [kind, id] = cut(row?.dataset.open || "");
  return {
    j: () => step(1),
    k: () => step(-1),
    h: () => side(-1),
    l: () => side(1),
    "/": () => (document.getElementById("logq") || document.getElementById("findbox"))?.focus(),
    "?": () => act("help"),
    T: () => act("theme"),
    f: () => act("follow"),
    "[": () => act("zoom:0.6"),
    "]": () => act("zoom:1.6"),
    M: () => act("msg:all"),
    n: () => act("addtask:"),
    A: () => act("ackall"),
    X: () => act("killall:all"),
    R: () => kind === "file" && act(`restore:${id}`),
    x: () => kind === "agent" && act(`kill:${id}`),
    r: () => kind === "file" && act(`release:${id}`),
    m: () => row?.dataset.ag && act(`msg:${row.dataset.ag}`),
    a: () => act("ack"),
  };
}

/** A digit: the view of that place. Is it one? */
function digit(e) {
  const view = VIEWS[Number(e.key) - 1];
  if (view) location.hash = `#/${view.id}`;
  return Boolean(view);
}

/** The second key of a chord: to a view, or to the first alert. Is it one? */
function chord(e) {
  const view = VIEWS.find((one) => one.key === e.key);
  if (view) {
    e.preventDefault();
    location.hash = `#/${view.id}`;
  } else if (e.key === "a") {
    document.querySelector("#alerts button")?.focus();
  }
  return Boolean(view) || e.key === "a";
}

/** Enter and the arrows: they work where single keys are turned off, too. Is it one of them? */
function plainKey(e) {
  if (e.key === "Enter") {
    if (e.target.matches("[data-row], .nd") && e.target.dataset.open) {
      e.preventDefault();
      open(e.target.dataset.open);
    }
    return true;
  }
  if (e.key === "ArrowDown" || e.key === "ArrowUp") {
    if (e.target.matches("[data-row], #main")) {
      e.preventDefault();
      step(e.key === "ArrowDown" ? 1 : -1);
    }
    return true;
  }
  return false;
}

/** The arrows to the side, in a lane: to its next bar or mark, whose read-out is shown. Is it one? */
function along(e) {
  const lane = e.target.closest?.(".lane");
  const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
  if (!lane || !by) return false;
  const all = [...lane.querySelectorAll(".tk button")].sort(
    (a, b) => a.getBoundingClientRect().left - b.getBoundingClientRect().left,
  );
  const at = all.indexOf(e.target);
  all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.max(0, Math.min(all.length - 1, at + by))]?.focus();
  e.preventDefault();
  return true;
}

function escape(typing, target) {
  if (typing) target.blur();
  else if (ui.open) close();
}

/** A key for the palette before it is painted: it begins with it. */
function early(e) {
  if (ui.dialog.kind !== "palette") return;
  if (e.key === "Enter") ui.dialog.enter = true;
  else if (e.key.length === 1) ui.dialog.text = (ui.dialog.text || "") + e.key;
  else return;
  e.preventDefault();
}

export function listenKeys(act) {
  let going = -Infinity; // when `g` was pressed, not when the page came to it: it may be busy meanwhile
  document.addEventListener("keydown", (e) => {
    if (S.phase === "signin") return;
    if ((e.metaKey || e.ctrlKey) && !e.altKey && !e.shiftKey && e.key.toLowerCase() === "k") {
      e.preventDefault();
      if (!ui.dialog) act("palette");
      return;
    }
    if (e.metaKey || e.ctrlKey || e.altKey) return;
    if (ui.dialog) {
      if (document.getElementById("dlg")?.open) return;
      if (e.key === "Escape") shut();
      else early(e);
      return;
    }
    const typing = e.target.matches("input, select, textarea");
    if (e.key === "Escape") {
      escape(typing, e.target);
      return;
    }
    if (typing || along(e) || plainKey(e) || ui.keys !== "on") return;
    const second = e.timeStamp - going < CHORD_MS;
    going = -Infinity;
    if (ui.hint) choose({ hint: false });
    if (second ? chord(e) : digit(e)) return;
    const begin = () => {
      going = e.timeStamp;
      choose({ hint: true });
      setTimeout(() => choose({ hint: false }), CHORD_MS);
    };
    const action = e.key === "g" ? begin : keyActions(act, current())[e.key];
    if (action) {
      e.preventDefault();
      action();
    }
  });
  // a row that is focused by the pointer or by Tab is the selected one
  document.addEventListener("focusin", (e) => {
    const el = e.target.closest?.("[data-row]");
    if (el && !el.classList.contains("cur")) {
      current()?.classList.remove("cur");
      el.classList.add("cur");
    }
  });
}

/** One tab stop for each view: the selected row, or the first one. */
export function roving() {
  const all = rows();
  const now = current() || all[0];
  for (const el of all) {
    if (el !== now && el.tabIndex === 0) el.tabIndex = -1;
  }
  if (now && now.tabIndex !== 0) now.tabIndex = 0;
}
