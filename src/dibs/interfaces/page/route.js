// Where the page is: the view, what the drawer shows, what was chosen. In the address: `#/tasks?open=task:t1`.
import { changed } from "./store.js";

const read = (key, other) => {
  try {
    return localStorage.getItem(`dibs.${key}`) || other;
  } catch {
    return other;
  }
};
export const keep = (key, value) => {
  try {
    localStorage.setItem(`dibs.${key}`, value);
  } catch {
    /* not kept */
  }
};

export const ui = {
  view: "overview",
  open: "",
  back: null,
  dialog: null,
  toast: "",
  theme: read("theme", "auto"),
  keys: read("keys", "on"),
  sort: "need",
  allAlerts: false,
  by: "resource",
  range: null,
  scale: 0, // of the wait graph; 0: what fits
  hint: false, // the keys after `g` are shown
  query: "",
  kinds: new Set(),
  follow: true,
  hover: false,
  point: "",
};

/** Set something that was chosen, and draw it. */
export function choose(values) {
  Object.assign(ui, values);
  changed(false);
}

/** Go where an address says; `viewOf` knows the views. */
export function go(hash, viewOf) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const words = new URLSearchParams(query);
  ui.view = viewOf(path).id;
  ui.open = words.get("open") || "";
  if (["auto", "light", "dark"].includes(words.get("theme"))) ui.theme = words.get("theme");
  if (words.get("by")) ui.by = words.get("by") === "agent" ? "agent" : "resource";
  ui.allAlerts = false;
}

/** Open a story in the drawer; the focus returns to where it was. */
export function open(what) {
  if (!ui.open) ui.back = document.activeElement;
  ui.open = what;
  history.replaceState(null, "", `#/${ui.view}?open=${encodeURIComponent(what)}`);
  changed(false);
}

export function close() {
  ui.open = "";
  history.replaceState(null, "", `#/${ui.view}`);
  changed(false);
  const back = ui.back;
  ui.back = null;
  // now, not after the next paint: the next key is for what has the focus
  (back?.isConnected ? back : document.getElementById("main"))?.focus({ preventScroll: true });
}

let timer = 0;
export function toast(text) {
  ui.toast = text;
  clearTimeout(timer);
  timer = setTimeout(() => choose({ toast: "" }), 6000);
  changed(false);
}
