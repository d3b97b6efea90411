// Graph: who waits for whom, and what opens it. Arrows point at the holder; a deadlock is red, its refused edge dashed.
import { html } from "./lib.js";
import { may, nameOf, now, why } from "./store.js";
import { model } from "./model.js";
import { Icon, Path, STATES } from "./parts.js";
import { Waits } from "./waits.js";
import { baseName, clip, count, dur, time } from "./words.js";
import * as dagre from "./vendor/dagre.js";

const W = 150;
const H = 46;
const MOST_NODES = 120;
const MOST_COLUMNS = 24;
const MOST_RESOURCES = 40;
let kept = { key: "" };

/** Nodes and edges with their places; laid out again only when they are others. */
function layout(m) {
  const edges = [];
  const seen = new Set();
  const add = (e) => {
    const id = `${e.from}\t${e.to}`;
    if (!seen.has(id) && e.from !== e.to) {
      seen.add(id);
      edges.push(e);
    }
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
      add({
        from: w.agent,
        to: h.agent,
        resource: w.resources[0],
        at: w.since,
        ring: ring.has(`${w.agent}\t${h.agent}`),
      });
    }
  }
  const names = [...new Set(edges.flatMap((e) => [e.from, e.to]))];
  if (names.length > MOST_NODES) return { names, edges, many: true };
  const key = edges.map((e) => `${e.from}>${e.to}${e.ring}${e.refused}${e.resource}`).join("|");
  if (kept.key !== key) {
    const g = new dagre.graphlib.Graph({ multigraph: true });
    g.setGraph({ rankdir: "BT", nodesep: 70, ranksep: 84, marginx: 12, marginy: 12 });
    g.setDefaultEdgeLabel(() => ({}));
    for (const n of names) g.setNode(n, { width: W, height: H });
    edges.forEach((e, i) =>
      g.setEdge(
        e.from,
        e.to,
        { width: Math.max(90, baseName(e.resource).length * 7.4 + 14), height: 40, labelpos: "c" },
        String(i),
      ),
    );
    dagre.layout(g);
    const places = new Map(
      names.map((n) => {
        const { x, y } = g.node(n);
        return [n, [x, y]];
      }),
    );
    const lines = edges.map((e, i) => {
      const l = g.edge(e.from, e.to, String(i));
      return { points: l.points.map((p) => [p.x, p.y]), label: [l.x, l.y] };
    });
    const size = g.graph();
    kept = { key, places, lines, width: size.width, height: size.height };
  }
  return { names, edges, ...kept };
}

const ROUND = (n) => Math.round(n * 10) / 10;
const path = (points) => `M${points.map(([x, y]) => `${ROUND(x)} ${ROUND(y)}`).join("L")}`;

const Up0 = ({ at }) => html`
  <tspan>${dur((now() - (typeof at === "number" ? at : time(at))) / 1000, true)}</tspan>
`;

function Label({ e, at: [x, y] }) {
  const name = clip(baseName(e.resource), 24);
  const width = Math.max(name.length * 7.4, 88) + 14;
  return html`
    <g class=${`lbl ${e.ring ? "cy" : ""}`} transform=${`translate(${ROUND(x)},${ROUND(y)})`}>
      <rect x=${-width / 2} y="-18" width=${width} height="36" rx="3" />
      <text class="m" text-anchor="middle" y="-3">${name}</text>
      <text class="tm" text-anchor="middle" y="12">
        ${e.refused ? "refused " : "waits "}
        <${Up0} at=${e.at} />
        ${e.refused ? " ago" : ""}
      </text>
    </g>
  `;
}

function Node({ id, at: [x, y], agent, m, inRing }) {
  const task = clip(m.taskOf.get(id)?.id || "", 20);
  const name = clip(nameOf(id), 16);
  const state = agent?.shown || "idle";
  return html`
    <g
      class=${`nd ${inRing ? "cy" : state === "waiting" ? "wt" : ""}`}
      tabindex="0"
      role="button"
      aria-label=${`${name} ${task} ${state}`}
      data-open=${`agent:${id}`}
      transform=${`translate(${ROUND(x - W / 2)},${ROUND(y - H / 2)})`}
    >
      <rect width=${W} height=${H} rx="6" />
      <g class=${STATES[state][1]}>
        <svg class="i" x="10" y="9" width="14" height="14"><use href=${`#${STATES[state][0]}`} /></svg>
      </g>
      <text>
        <tspan x="30" y="20" font-weight="600">${name}</tspan> <tspan class="mut" x="10" y="37">${task}</tspan>
      </text>
    </g>
  `;
}

function Picture({ m, g }) {
  const inRing = new Set(g.edges.filter((e) => e.ring).flatMap((e) => [e.from, e.to]));
  const by = new Map(m.agents.map((a) => [a.agent, a]));
  return html`
    <svg
      class="g"
      viewBox=${`0 0 ${ROUND(g.width)} ${ROUND(g.height)}`}
      style=${{ maxWidth: `${Math.round(g.width * 1.15)}px` }}
      role="group"
      aria-label="Graph; the list next to it says the same in words"
    >
      <defs>
        <marker id="aw" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
          <path class="fw" d="M0 0 8 4 0 8z" />
        </marker>
        <marker id="ar" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
          <path class="fb" d="M0 0 8 4 0 8z" />
        </marker>
      </defs>
      ${g.edges.map(
        (e, i) => html`
          <path
            key=${`e${i}`}
            class=${`eg ${e.ring ? "cy" : ""} ${e.refused ? "rf" : ""}`}
            d=${path(g.lines[i].points)}
            marker-end=${`url(#${e.ring ? "ar" : "aw"})`}
          />
        `,
      )}
      ${g.edges.map((e, i) => html`<${Label} key=${`l${i}`} e=${e} at=${g.lines[i].label} />`)}
      ${g.names.map(
        (n) => html`
          <${Node} key=${n} id=${n} at=${g.places.get(n)} agent=${by.get(n)} m=${m} inRing=${inRing.has(n)} />
        `,
      )}
    </svg>
  `;
}

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

const contention = (f) =>
  `${count(f.waits, "wait")}, ${count(f.refused, "refusal")}` +
  (f.longest ? `, longest ${dur(f.longest / 1000)}` : "");

/** What one agent has to do with one resource, as a shape: holds it, waits for it, was refused it. */
function cellsOf(m, fought) {
  const holds = new Map(m.claims.flatMap((c) => c.resources.map((r) => [`${r}\t${c.agent}`, c])));
  const wanted = (w) => [...w.resources, ...w.holders.map((h) => h.resource)];
  const wants = new Set(m.waits.flatMap((w) => wanted(w).map((r) => `${r}\t${w.agent}`)));
  return (r, a) => {
    const c = holds.get(`${r}\t${a.agent}`);
    if (c) {
      return html`
        <${Icon}
          name=${m.violated.has(r) ? "viol" : c.mode === "write" ? "held" : "read"}
          tone=${m.violated.has(r) ? "c-bad" : a.shown === "silent" ? "c-dead" : "c-held"}
          label=${`${a.name} ${c.mode === "read" ? "reads" : "holds"} ${r}`}
        />
      `;
    }
    if (wants.has(`${r}\t${a.agent}`)) {
      return html`<${Icon} name="wait" tone="c-wait" label=${`${a.name} waits for ${r}`} />`;
    }
    if (!fought.get(r)?.agents.has(a.agent)) return null;
    return html`<${Icon} name="refused" tone="c3" label=${`${a.name} was refused ${r}`} />`;
  };
}

/** The agents of the columns: those involved in a wait or a refusal before others, by name. */
function columnsOf(m) {
  const involved = new Set([
    ...m.waits.flatMap((w) => [w.agent, ...w.holders.map((h) => h.agent)]),
    ...m.fought.flatMap((f) => [...f.agents]),
  ]);
  const byName = (a, b) => (a.name < b.name ? -1 : 1);
  return [...m.agents]
    .sort((a, b) => involved.has(b.agent) - involved.has(a.agent) || byName(a, b))
    .slice(0, MOST_COLUMNS)
    .sort(byName);
}

function Matrix({ m }) {
  const fought = new Map(m.fought.map((f) => [f.resource, f]));
  const all = [
    ...new Set([...m.fought.map((f) => f.resource), ...m.claims.flatMap((c) => c.resources)]),
  ].filter((r) => !/^(task|role):/.test(r));
  const shown = all.slice(0, MOST_RESOURCES);
  const cols = columnsOf(m);
  const cell = cellsOf(m, fought);
  return html`
    <section class="panel gm" aria-label="Resources by agents">
      <header>
        <h2>Resources by agents</h2>
        <span class="n">
          most contended first${all.length > shown.length ? `, ${shown.length} of ${all.length}` : ""}
        </span>
        <span class="sp"></span>
        <span class="legend">
          <span><${Icon} name="held" tone="c-held" />write</span>
          <span><${Icon} name="read" tone="c-held" />read</span>
          <span><${Icon} name="wait" tone="c-wait" />waits</span>
          <span><${Icon} name="refused" tone="c3" />was refused</span>
        </span>
      </header>
      <div class="scroll" tabindex="0" role="region" aria-label="Table of resources and agents">
        <table class="mx">
          <thead>
            <tr>
              <th scope="col">Resource</th>
              ${cols.map((a) => html`<th key=${a.agent} scope="col"><span class="el">${a.name}</span></th>`)}
              <th scope="col">Last 2 h</th>
            </tr>
          </thead>
          <tbody>
            ${shown.map((r) => {
              const f = fought.get(r);
              return html`
                <tr key=${r} data-row tabindex="-1" data-open=${`file:${r}`}>
                  <td><${Path} path=${r} /></td>
                  ${cols.map((a) => html`<td key=${a.agent}>${cell(r, a)}</td>`)}
                  <td class="c2 nw">${f ? contention(f) : html`<span class="c3">quiet</span>`}</td>
                </tr>
              `;
            })}
          </tbody>
        </table>
        ${!shown.length && html`<p class="pad c3">Nothing is held and nothing was refused.</p>`}
      </div>
    </section>
  `;
}

export function Graph({ act }) {
  const m = model();
  const g = layout(m);
  const rest = m.agents.filter((a) => !g.names.includes(a.agent));
  return html`
    <div class="gr">
      <section class="panel gp" aria-label="Wait graph">
        <header><h2>Who waits for whom</h2><span class="n">an arrow points at the holder</span></header>
        <div class="g0">
          ${g.many
            ? html`
                <p class="c2 fine0">
                  ${g.names.length}${" "}
                  agents wait for each other: too many to draw. The list says who waits for whom.
                </p>
              `
            : g.edges.length
              ? html`<${Picture} m=${m} g=${g} />`
              : html`<p class="c-ok fine0"><${Icon} name="ok" />No agent is waiting.</p>`}
        </div>
        <footer>
          <span>Not involved</span>
          ${rest
            .slice(0, 24)
            .map(
              (a) => html`
                <span key=${a.agent} class="inl">
                  <${Icon} name=${STATES[a.shown][0]} tone=${STATES[a.shown][1]} label=${a.shown} />
                  ${a.name}
                </span>
              `,
            )}
          ${rest.length > 24 && html`<span>and ${rest.length - 24} more</span>`}
        </footer>
      </section>
      <section class="panel gl" aria-label="In words">
        <header><h2>How to resolve</h2></header>
        <div class="scroll" tabindex="0">
          <${Waits} m=${m} after=${(d) => html`<${WaysOut} d=${d} m=${m} act=${act} />`} most=${200} />
        </div>
      </section>
      <${Matrix} m=${m} />
    </div>
  `;
}
