// The read-out: what `[data-tip]` says of the thing that is pointed at or focused, next to it.

const ROOM = 8;
let box = null;
let shown = null;

function place(el) {
  const r = el.getBoundingClientRect();
  const zoom = box.currentCSSZoom || 1;
  const { offsetWidth: width, offsetHeight: height } = box;
  const top = r.top / zoom - height - 6;
  const left = Math.min(Math.max(ROOM, r.left / zoom), innerWidth / zoom - width - ROOM);
  box.style.left = `${left}px`;
  box.style.top = `${top > ROOM ? top : r.bottom / zoom + 6}px`;
}

function show(el) {
  if (el === shown) return;
  shown = el;
  box.hidden = !el;
  if (!el) return;
  box.textContent = el.dataset.tip;
  place(el);
}

/** One box for all, below `body`: no view has to draw it. */
export function listenTips() {
  box = document.createElement("div");
  box.id = "tip";
  box.role = "tooltip";
  box.hidden = true;
  document.body.append(box);
  const of = (e) => e.target.closest?.("[data-tip]") || null;
  document.addEventListener("mouseover", (e) => show(of(e)));
  document.addEventListener("focusin", (e) => show(of(e)));
  document.addEventListener("focusout", () => show(null));
  document.addEventListener("keydown", (e) => e.key === "Escape" && show(null), true);
  document.addEventListener("scroll", () => show(null), true);
}
