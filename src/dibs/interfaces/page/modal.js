// The frame of a dialog: the browser's own. Esc leaves things as they are.
import { html, useLayoutEffect, useRef } from "./lib.js";
import { changed } from "./store.js";
import { ui } from "./route.js";

/** Close it now, not at the next paint: the page behind it takes keys again at once. */
export const shut = () => {
  ui.dialog = null;
  document.getElementById("dlg")?.close();
  changed(false);
};

export function Modal({ label, children, first, wide = false }) {
  const box = useRef(null);
  useLayoutEffect(() => {
    // as soon as it is there: a key that is pressed then is for it
    box.current.showModal(); // which also gives the focus back when it is closed
    (box.current.querySelector(first) || box.current).focus();
  }, []);
  return html`
    <dialog
      id="dlg"
      class=${wide ? "wide" : ""}
      ref=${box}
      aria-labelledby=${label ? null : "dt"}
      aria-label=${label || null}
      onCancel=${(e) => {
        e.preventDefault();
        shut();
      }}
    >
      ${children}
    </dialog>
  `;
}
