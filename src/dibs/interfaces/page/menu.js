// A menu of further actions behind one button. The browser's popover: above everything, closed by Esc and by a click
// elsewhere, the focus goes back to the button.
import { html, useRef } from "./lib.js";
import { may, why } from "./store.js";
import { Icon } from "./parts.js";

const ROOM = 8; // px to the edge of the window

/** Below the button, or above it where there is no room; the right edges meet. */
function place(button, box) {
  const b = button.getBoundingClientRect();
  const zoom = button.currentCSSZoom || 1;
  const { offsetWidth: width, offsetHeight: height } = box;
  const below = b.bottom / zoom + 4;
  const fits = below + height + ROOM < innerHeight / zoom;
  box.style.left = `${Math.max(ROOM, b.right / zoom - width)}px`;
  box.style.top = `${fits ? below : Math.max(ROOM, b.top / zoom - height - 4)}px`;
}

const items = (box) => [...box.querySelectorAll("[role=menuitem]:not([disabled])")];

function move(e) {
  const all = items(e.currentTarget);
  const at = all.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[e.key];
  if (to === undefined) return;
  e.preventDefault();
  e.stopPropagation();
  all.at(to % all.length)?.focus();
}

/** `actions`: rows of { text, action, op, danger }. */
export function Menu({ label, actions, act }) {
  const button = useRef(null);
  const box = useRef(null);
  if (!actions.length) return null;
  const toggle = () => {
    if (!box.current.matches(":popover-open")) box.current.showPopover();
    else box.current.hidePopover();
  };
  const opened = (e) => {
    const open = e.newState === "open";
    button.current.ariaExpanded = String(open);
    if (!open) return;
    place(button.current, box.current);
    items(box.current)[0]?.focus();
  };
  const take = (action) => {
    box.current.hidePopover();
    act(action);
  };
  return html`
    <button
      class="ib more"
      ref=${button}
      aria-haspopup="menu"
      aria-expanded="false"
      aria-label=${label}
      title=${label}
      onClick=${toggle}
    >
      <${Icon} name="more" />
    </button>
    <div class="menu" popover="auto" role="menu" aria-label=${label} ref=${box} onToggle=${opened} onKeyDown=${move}>
      ${actions.map(
        ({ text, action, op = "", danger }) => html`
          <button
            key=${text}
            role="menuitem"
            class=${danger ? "dng" : ""}
            disabled=${op && !may(op)}
            title=${op ? why(op) : ""}
            onClick=${() => take(action)}
          >
            ${text}
          </button>
        `,
      )}
    </div>
  `;
}
