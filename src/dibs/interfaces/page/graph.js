// Waits: who waits for whom, and what resolves it. An arrow points at the holder; a deadlock is red, its refused edge
// dashed. The picture keeps its letters readable: what does not fit is reached by scrolling, dragging and zooming.
import { html, useEffect, useRef, useState } from "./lib.js";
import { S, may, nameOf, now, why } from "./store.js";
import { doing, model } from "./model.js";
import { Icon, Path, STATES } from "./parts.js";
import { choose, ui } from "./route.js";
import { Waits } from "./waits.js";
import { Matrix } from "./matrix.js";
import { waitTrees } from "./wait_trees.js";
import { baseName, clip, count, dur, time } from "./words.js";

const MOST_NODES = 400;
const MARGIN = 12;
const LEAST = 11 / 12; // the small letters have 12 px: fitted to the width they keep 11
const ZOOM = [0.3, 2];
let kept = { key: "" };

/** Who waits for whom: one edge for each pair, and the refused one of each deadlock. */
function edgesOf(m) {
  const edges = new Map();
  const add = (e) => {
    const id = `${e.from}\t${e.to}`;
    if (!edges.has(id) && e.from !== e.to) edges.set(id, e);
  };
  const ring = new Set(m.deadlocks.flatMap((d) => d.steps.map((s) => `${s.agent}\t${s.holder}`)));
  for (const d of m.deadlocks) {
    for (const s of d.steps) {
      if (s.agent === d.agent && !m.waitOf.has(s.agent)) {
        add({ from: s.agent, to: s.holder, resource: s.resource, at: d.at, ring: true, refused: true });
      }
    }
  }
  for (const w of m.waits) {
    for (const h of w.holders.slice(0, 3)) {
      const isRing = ring.has(`${w.agent}\t${h.agent}`);
      add({ from: w.agent, to: h.agent, resource: w.resources[0], at: time(w.since), ring: isRing });
    }
  }
  return [...edges.values()];
}

/** The picture's places; found again only when the edges or the width are others. */
function layout(m, width) {
  const edges = edgesOf(m);
  const key = `${width}|${edges.map((e) => `${e.from}>${e.to}${e.ring}${e.refused}`).join("|")}`;
  if (kept.key !== key) kept = { key, g: waitTrees(edges, width, MOST_NODES) };
  return { ...kept.g, all: edges };
}

const waited = (at) => dur((now() - at) / 1000);

/** What stands below a name: what it waits for, or was refused; else what it is doing. */
function situation(id, edge, m) {
  if (!edge) return doing(S.agents.get(id) || { agent: id }, m) || m.shown.get(id) || "";
  const file = baseName(edge.resource);
  return edge.refused ? `was refused ${file}` : `${waited(edge.at)} for ${file}`;
}

function Node({ id, place: { x, y, width, height, cell }, edge, m, inRing }) {
  const state = m.shown.get(id) || "idle";
  const name = nameOf(id);
  const text = situation(id, edge, m);
  const [icon, tone] = STATES[state] || STATES.idle;
  const letters = Math.floor((width - 40) / 7);
  const shown = clip(text, letters + (cell ? 1 : 4));
  const tip = `${name}, ${state}${edge ? `: ${edge.refused ? "was refused" : "waits for"} ${edge.resource}` : ""}`;
  return html`
    <g
      class=${`nd ${inRing ? "cy" : ""} ${cell ? "cell" : ""}`}
      data-row
      tabindex="-1"
      role="button"
      aria-label=${`${clip(name, letters)} ${shown}, ${state}`}
      data-tip=${tip}
      data-open=${`agent:${id}`}
      transform=${`translate(${x},${y})`}
    >
      <rect width=${width} height=${height} rx="6" />
      <g class=${tone}>
        <svg class="i" x="10" y=${cell ? 4 : 8} width="14" height="14"><use href=${`#${icon}`} /></svg>
      </g>
      <text>
        <tspan x="30" y=${cell ? 15 : 19} font-weight="600">${clip(name, letters)}</tspan>${" "}
        <tspan class=${edge ? (edge.ring ? "rg" : "wg") : "mut"} x=${cell ? 30 : 10} y=${cell ? 30 : 36}>
          ${shown}
        </tspan>
      </text>
    </g>
  `;
}

const half = (p) => p.y + Math.min(p.height, 44) / 2;

/** From a waiter, or a box of them, to the holder: on its left, or above it. */
function line(from, to) {
  const x = to.x + to.width;
  const y1 = half(from);
  if (from.x < x) return `M${from.x} ${y1}H${to.x + 16}V${to.y + to.height}`;
  const y2 = half(to);
  const k = Math.min(40, (from.x - x) / 2);
  return `M${from.x} ${y1}C${from.x - k} ${y1} ${x + k} ${y2} ${x} ${y2}`;
}

/** Across the trees: the edge that closes a deadlock, and second holders. Below them, or right of an indented one. */
function bow(from, to) {
  if (Math.abs(from.y - to.y) > from.height) {
    const [x1, x2] = [from.x + from.width, to.x + to.width];
    const far = Math.max(x1, x2) + 44;
    return `M${x1} ${half(from)}C${far} ${half(from)} ${far} ${half(to)} ${x2} ${half(to)}`;
  }
  const [x1, y1] = [from.x + from.width / 2, from.y + from.height];
  const [x2, y2] = [to.x + to.width / 2, to.y + to.height];
  const low = Math.max(y1, y2) + 36;
  return `M${x1} ${y1}C${x1} ${low} ${x2} ${low} ${x2} ${y2}`;
}

const Edge = ({ e, d }) => html`
  <path
    class=${`eg ${e.ring ? "cy" : ""} ${e.refused ? "rf" : ""}`}
    d=${d}
    marker-end=${`url(#${e.ring ? "ar" : "aw"})`}
  />
`;

const Arrow = ({ id, cls }) => html`
  <marker id=${id} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
    <path class=${cls} d="M0 0 8 4 0 8z" />
  </marker>
`;

const Box = ({ box }) => html`
  <rect class="bx" x=${box.x} y=${box.y} width=${box.width} height=${box.height} rx="8" />
`;

function Picture({ m, g, scale }) {
  const inRing = new Set(g.all.filter((e) => e.ring).flatMap((e) => [e.from, e.to]));
  const edgeOf = new Map();
  for (const e of g.all) {
    if (!edgeOf.has(e.from)) edgeOf.set(e.from, e);
  }
  const [width, height] = [g.width + 2 * MARGIN, g.height + 2 * MARGIN];
  const at = (id) => g.places.get(id);
  return html`
    <svg
      class="g"
      viewBox=${`${-MARGIN} ${-MARGIN} ${width} ${height}`}
      width=${width * scale}
      height=${height * scale}
      role="group"
      aria-label="Graph; the list next to it says the same in words"
    >
      <defs><${Arrow} id="aw" cls="fw" /><${Arrow} id="ar" cls="fb" /></defs>
      ${g.boxes.map((box) => html`
        <${Edge} key=${`b${box.holder}`} e=${{}} d=${line(box, at(box.holder))} />
        <${Box} key=${`r${box.holder}`} box=${box} />
      `)}
      ${g.edges.map((e) => html`<${Edge} key=${`${e.from}>${e.to}`} e=${e} d=${line(at(e.from), at(e.to))} />`)}
      ${g.across.map((e) => html`<${Edge} key=${`${e.from}+${e.to}`} e=${e} d=${bow(at(e.from), at(e.to))} />`)}
      ${[...g.places].map(
        ([id, place]) => html`
          <${Node} key=${id} id=${id} place=${place} edge=${edgeOf.get(id)} m=${m} inRing=${inRing.has(id)} />
        `,
      )}
    </svg>
  `;
}

const zoomed = (by, scale) => Math.min(ZOOM[1], Math.max(ZOOM[0], scale * by));

/** Zooms the picture by a factor; 0 is back to what fits. For keys and the palette. */
export const scaleBy = (by) => choose({ scale: by ? zoomed(by, ui.scale || ui.fitted || 1) : 0 });

/** The width of a box, and what a pointer does to it: drag to pan, the wheel with Ctrl to zoom. */
function usePan() {
  const box = useRef(null);
  const from = useRef(null);
  const [width, setWidth] = useState(800);
  useEffect(() => {
    const el = box.current;
    const seen = new ResizeObserver(() => setWidth(el.clientWidth));
    seen.observe(el);
    const wheel = (e) => {
      if (!e.ctrlKey && !e.metaKey) return;
      e.preventDefault();
      scaleBy(e.deltaY < 0 ? 1.1 : 1 / 1.1);
    };
    el.addEventListener("wheel", wheel, { passive: false });
    return () => {
      seen.disconnect();
      el.removeEventListener("wheel", wheel);
    };
  }, []);
  const onPointerDown = (e) => {
    if (e.pointerType !== "mouse" || e.button || e.target.closest(".nd")) return;
    from.current = { x: e.clientX + box.current.scrollLeft, y: e.clientY + box.current.scrollTop };
    box.current.setPointerCapture(e.pointerId);
  };
  const onPointerMove = (e) => {
    if (from.current) box.current.scrollTo(from.current.x - e.clientX, from.current.y - e.clientY);
  };
  const onPointerUp = () => {
    from.current = null;
  };
  const onKeyDown = (e) => {
    const by = { "+": 1.2, "=": 1.2, "-": 1 / 1.2, 0: 0 }[e.key];
    if (by === undefined || e.ctrlKey || e.metaKey) return;
    e.preventDefault();
    scaleBy(by);
  };
  return { width, pan: { ref: box, onPointerDown, onPointerMove, onPointerUp, onKeyDown } };
}

const Zoom = ({ scale }) => html`
  <span class="seg zoom" role="group" aria-label="Zoom">
    <button aria-label="Zoom out" title="Zoom out ([)" onClick=${() => scaleBy(1 / 1.2)}>−</button>
    <button
      aria-label=${`${Math.round(scale * 100)}%: reset the zoom`}
      title="Reset the zoom (0)"
      onClick=${() => scaleBy(0)}
    >
      ${Math.round(scale * 100)}%
    </button>
    <button aria-label="Zoom in" title="Zoom in (])" onClick=${() => scaleBy(1.2)}>+</button>
  </span>
`;

/** The picture in its box. */
function WaitGraph({ m }) {
  const { width, pan } = usePan();
  const g = layout(m, width - 2 * MARGIN);
  const fits = (width - 2) / (g.width + 2 * MARGIN);
  ui.fitted = Math.min(1, Math.max(LEAST, fits));
  const scale = ui.scale || ui.fitted;
  const rest = m.agents.filter((a) => !g.names.includes(a.agent));
  return html`
    <section class="panel gp" aria-label="Wait graph">
      <header>
        <h2>Who waits for whom</h2>
        <span class="n">
          an arrow points at the holder${g.hidden > 0 ? `; ${g.hidden} more in the list` : ""}
        </span>
        <span class="sp"></span>
        ${g.all.length > 0 && html`<${Zoom} scale=${scale} />`}
      </header>
      <div class="g0" tabindex="0" role="region" aria-label="Wait graph: arrows scroll, + and - zoom" ...${pan}>
        ${g.all.length
          ? html`<${Picture} m=${m} g=${g} scale=${scale} />`
          : html`<p class="c-ok fine0"><${Icon} name="ok" />No agent is waiting</p>`}
      </div>
      <${Others} agents=${rest} />
    </section>
  `;
}

const Others = ({ agents }) =>
  agents.length > 0 && html`
    <footer>
      <span>Not involved</span>
      ${agents
        .slice(0, 12)
        .map(
          (a) => html`
            <span key=${a.agent} class="inl">
              <${Icon} name=${STATES[a.shown][0]} tone=${STATES[a.shown][1]} label=${a.shown} />
              ${a.name}
            </span>
          `,
        )}
      ${agents.length > 12 && html`<span>and ${count(agents.length - 12, "other")}</span>`}
    </footer>
  `;

/** For each step of a deadlock: ask its holder, or take it away. */
function WaysOut({ d, m, act }) {
  const held = (s) => {
    const w = m.waitOf.get(s.agent);
    return w?.holders.find((h) => h.agent === s.holder)?.resource || s.resource;
  };
  return html`
    <p class="c2 out">Any one of these resolves it:</p>
    ${d.steps.map((s) => {
      const r = held(s);
      return html`
        <div key=${s.agent} class="tray two mut-act">
          <span class="el"><${Path} path=${r} /> held by <b>${nameOf(s.holder)}</b></span>
          <span class="trayact">
            <button class="btn" disabled=${!may("ask")} title=${why("ask")} onClick=${() => act(`ask:${r}`)}>
              Ask ${nameOf(s.holder)}
            </button>
            <button
              class="btn dng"
              disabled=${!may("release")}
              title=${why("release")}
              onClick=${() => act(`release:${r}`)}
            >
              Release…
            </button>
          </span>
        </div>
      `;
    })}
  `;
}

export function Graph({ act }) {
  const m = model();
  const resolves = (d) => html`<${WaysOut} d=${d} m=${m} act=${act} />`;
  return html`
    <div class="gr">
      <${WaitGraph} m=${m} />
      <section class="panel gl" aria-label="In words">
        <header><h2>How to resolve</h2></header>
        <div class="scroll" tabindex="0"><${Waits} m=${m} after=${resolves} most=${200} act=${act} /></div>
      </section>
      <${Matrix} m=${m} />
    </div>
  `;
}
