// Small parts that all views share: icons, paths, links to stories, clocks, lists that render only what is seen.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./lib.js";
import { may, nameOf, now, why } from "./store.js";
import { dur, time } from "./words.js";

export const Icon = ({ name, tone = "", label = "" }) => html`
  <svg
    class=${`i ${tone}`}
    role=${label ? "img" : null}
    aria-label=${label || null}
    aria-hidden=${label ? null : "true"}
  >
    <use href=${`#${name}`} />
  </svg>
`;

/** A path that gives way in the middle: the folder shrinks, the name stays. */
export function Path({ path }) {
  const end = path.endsWith("/") ? path.length - 1 : path.length;
  const cut = path.lastIndexOf("/", end - 1) + 1;
  return html`
    <span class="p" title=${path}>
      ${cut > 0 && html`<span class="d">${path.slice(0, cut)}</span>`}
      <span class="b">${path.slice(cut)}</span>
    </span>
  `;
}

export const Agent = ({ id }) => html`
  <button class="lnk nw" data-open=${`agent:${id}`} data-hl=${id}><b>${nameOf(id)}</b></button>
`;
export const Resource = ({ path }) => html`
  <button class="lnk" data-open=${`file:${path}`}><${Path} path=${path} /></button>
`;
export const Up = ({ at }) => html`
  <time>${at ? dur((now() - (typeof at === "number" ? at : time(at))) / 1000) : "–"}</time>
`;
export const Down = ({ until }) => html`<time>${until ? dur((time(until) - now()) / 1000) : "…"}</time>`;
export const Progress = ({ value, wide = "" }) => html`
  <span class=${`pg ${wide}`} title=${`${value}%`}>
    <i style=${{ transform: `scaleX(${Math.min(100, Math.max(0, value)) / 100})` }}></i>
  </span>
`;

/** A sentence of the server: what stands in backticks there is a command or a name, and looks like one. */
export const Said = ({ text }) =>
  String(text || "")
    .split("`")
    .map((part, i) => (i % 2 ? html`<code key=${i}>${part}</code>` : part));

/** A command to copy: whole, however long it is. */
export const Command = ({ text, act, label = "Copy" }) => html`
  <span class="cp">
    <code>${text}</code>
    <button class="ib" title=${label} aria-label=${`${label}: ${text}`} onClick=${() => act(`copy:${text}`)}>
      <${Icon} name="copy" />
    </button>
  </span>
`;

const LETTER = 6.9; // px of a usual letter of a name

/** The width of a column that shows the longest of these names whole, within limits of letters. */
export const wide = (names, least, most) =>
  `${Math.round(LETTER * Math.min(most, Math.max(least, ...names.map((name) => name.length))))}px`;

/** A button for an action; off where the caller may not call its operation. */
export const Button = ({ act, action, op = "", cls = "", children }) => html`
  <button class=${`btn ${cls}`} disabled=${op && !may(op)} title=${op ? why(op) : ""} onClick=${() => act(action)}>
    ${children}
  </button>
`;

/** Is a claim soon over: in three minutes, and in the last quarter of its time? */
export function isLow(claim) {
  const left = time(claim.expires_at) - now();
  return !!claim.expires_at && left < 180000 && (!claim.ttl || left < 250 * claim.ttl);
}

/** How much of a claim's time is left, as a bar. Where the server does not say how long it lasts, from its grant on. */
export function Lease({ claim, violated, quiet }) {
  const end = time(claim.expires_at);
  const left = end - now();
  const whole = claim.ttl ? claim.ttl * 1000 : end - time(claim.renewed_at || claim.since);
  const part = end && whole > 0 ? Math.min(1, Math.max(0, left / whole)) : 1;
  const tone = violated ? "viol" : quiet ? "sil" : isLow(claim) ? "low" : "";
  return html`
    <span class=${`rb ${tone} ${claim.mode === "read" ? "read" : ""}`}>
      <i style=${{ transform: `scaleX(${part.toFixed(3)})` }}></i>
    </span>
  `;
}

export const STATES = {
  working: ["work", "c-ok"],
  waiting: ["wait", "c-wait"],
  idle: ["free", "c3"],
  "waits for you": ["msg", "c-wait"],
  limited: ["wait", "c-wait"],
  stalled: ["silent", "c-bad"],
  silent: ["silent", "c-bad"],
  dead: ["dead", "c-dead"],
  killed: ["kill", "c-bad"],
};

export function StateWord({ agent, wait }) {
  const s = agent.shown;
  if (s === "waiting") return html`waiting <${Up} at=${wait?.since} />`;
  const since = {
    "waits for you": agent.waits?.since,
    limited: agent.limited?.since,
    stalled: agent.stalled_since,
    idle: agent.idle_since || agent.last_seen,
    silent: agent.last_seen,
    dead: agent.last_seen,
  };
  if (s === "limited" && agent.limited?.until) return html`${s} <${Down} until=${agent.limited.until} />`;
  if (s in since) return html`${s} <${Up} at=${since[s]} />`;
  return s;
}

/** A list with rows of one height of which only the visible ones exist. `row` makes one; keys are `item.id`. */
export function Rows({
  items,
  height,
  row,
  cls = "",
  label,
  head = null,
  empty = null,
  role = "grid",
  follow = false,
  foot = null,
}) {
  const box = useRef(null);
  const [view, setView] = useState({ top: 0, room: 900 });
  const phone = document.documentElement.clientWidth <= 760;
  useLayoutEffect(() => {
    const el = box.current;
    const look = () =>
      setView((v) =>
        v.top === el.scrollTop && v.room === el.clientHeight ? v : { top: el.scrollTop, room: el.clientHeight },
      );
    const seen = new ResizeObserver(look);
    seen.observe(el);
    look();
    return () => seen.disconnect();
  }, []);
  useEffect(() => {
    if (follow && box.current) box.current.scrollTop = 0;
  }, [follow, items.length && items[0].id]);
  const onScroll = () => {
    const el = box.current;
    setView({ top: el.scrollTop, room: el.clientHeight });
  };
  // on a phone the page scrolls, so short lists are whole; long ones scroll by themselves
  const many = items.length > 100;
  const over = 8;
  const first = many ? Math.max(0, Math.floor(view.top / height) - over) : 0;
  const last = many
    ? Math.min(items.length, Math.ceil((view.top + Math.min(view.room || 900, 2200)) / height) + over)
    : items.length;
  return html`
    <div
      class=${`scroll ${cls} ${phone && many ? "capped" : ""}`}
      ref=${box}
      onScroll=${many ? onScroll : null}
      role=${items.length ? role : null}
      aria-label=${label}
      aria-rowcount=${role === "grid" && items.length ? items.length : null}
      tabindex=${items.length ? "-1" : "0"}
    >
      ${head}
      ${items.length === 0
        ? empty
        : many
          ? html`
              <div class="vl" role="rowgroup" style=${{ height: `${items.length * height}px` }}>
                <div class="win0" role="presentation" style=${{ transform: `translateY(${first * height}px)` }}>
                  ${items.slice(first, last).map((x, i) => row(x, first + i))}
                </div>
              </div>
            `
          : html`<div role="rowgroup">${items.map(row)}</div>`}
      ${foot}
    </div>
  `;
}
