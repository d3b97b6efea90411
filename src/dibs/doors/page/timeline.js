// Timeline: how it came to this. A lane for each resource or agent, bars for claims and waits, marks for what happened.
// Lanes above sixty fold by folder; marks nearer than eight pixels become one with a count.
import { html, useRef } from "./lib.js";
import { S, changed, nameOf, now } from "./store.js";
import { covers, model } from "./model.js";
import { Icon, Path, STATES } from "./parts.js";
import { aboutOf } from "./overview.js";
import { choose, ui } from "./route.js";
import { baseName, clock, isName, look, resourceText, says, time } from "./words.js";

const WHOLE = [-120, 30]; // minutes around now
const MOST_LANES = 60;
const MOST_BARS = 4000;
const MOST_ROWS = 5;
const NEAR = 0.7;
const NARROW = 2.5; // percent of the width: eight pixels of a usual one; a bar in which no name fits
const MARKS = /refused$|violated|killed|^commit\.(checked|unverified)|^deploy\.(started|finished)/;
let kept = { version: -1 };

export const range = () => ui.range || (ui.phone ? [-30, 10] : WHOLE);
export function zoom(by) {
  const [a, b] = range();
  const width = Math.max(2, Math.min(150, (b - a) * by));
  const end = Math.min(b, Math.max(1, width * 0.2));
  ui.range = [Math.max(WHOLE[0], end - width), end];
}

/** Every claim and wait of the last two hours as a bar, in milliseconds; rebuilt when the state changed. */
function bars() {
  if (kept.version === S.version) return kept;
  const m = model();
  const begin = now() - 120 * 60000;
  const open = new Map();
  const list = [];
  const marks = [];
  for (const e of S.events) {
    const at = time(e.at);
    if (at < begin) continue;
    if (e.kind === "claim.granted" || e.kind === "wait.queued") {
      open.set(e.subject, {
        agent: e.agent,
        at,
        resources: (e.data.resources || []).map(resourceText),
        mode: e.data.mode,
        wait: e.kind === "wait.queued",
      });
    } else if (
      e.kind === "claim.ended" ||
      e.kind === "wait.ended" ||
      (e.kind === "claim.released" && !(e.data.left || []).length)
    ) {
      const o = open.get(e.subject) || {
        agent: e.agent,
        at: begin,
        resources: S.resources.get(e.subject) || [],
        mode: "write",
        wait: e.kind === "wait.ended",
      };
      open.delete(e.subject);
      for (const r of o.resources) {
        if (!r.startsWith("task:")) {
          list.push({ ...o, resource: r, end: at, past: true, why: e.data.why, seq: e.seq });
        }
      }
    }
    if (MARKS.test(e.kind)) marks.push({ e, at, about: aboutOf(e).split(", ")[0] });
  }
  for (const c of m.claims) {
    for (const r of c.resources) {
      if (!r.startsWith("task:")) {
        const quiet = m.shown.get(c.agent) === "silent" || m.shown.get(c.agent) === "dead";
        list.push({
          agent: c.agent,
          at: Math.max(begin, time(c.since)),
          end: 0,
          lease: time(c.expires_at),
          resource: r,
          mode: c.mode,
          quiet,
          violated: m.violated.has(r),
        });
      }
    }
  }
  for (const w of m.waits) {
    for (const r of w.resources) {
      list.push({
        agent: w.agent,
        at: Math.max(begin, time(w.since)),
        end: 0,
        resource: w.holders[0]?.resource || r,
        wait: true,
        of: w.holders[0]?.agent,
      });
    }
  }
  list.sort((a, b) => a.at - b.at);
  kept = { version: S.version, list: list.slice(-MOST_BARS), marks, begin };
  return kept;
}

const folderOf = (r, depth) => {
  const parts = r.split("/");
  return parts.length > depth ? `${parts.slice(0, depth).join("/")}/` : r;
};

/** The lanes: one for each key, folded by folder until there are at most sixty. */
function lanesOf(by, list) {
  if (by === "agent")
    return {
      keys: model()
        .need.map((a) => a.agent)
        .slice(0, 200),
      key: (b) => b.agent,
    };
  const names = [...new Set(list.map((b) => b.resource))];
  let depth = 12;
  let keys = names;
  while (keys.length > MOST_LANES && depth > 1) {
    depth -= 1;
    keys = [...new Set(names.map((r) => (isName(r) ? r : folderOf(r, depth))))];
  }
  const key =
    keys === names ? (b) => b.resource : (b) => (isName(b.resource) ? b.resource : folderOf(b.resource, depth));
  return { keys: keys.sort((a, b) => isName(a) - isName(b) || (a < b ? -1 : 1)).slice(0, 200), key };
}

function Mark({ group, x, top }) {
  const { e } = group[0];
  const [icon, tone] = look(e);
  const text = group
    .slice(0, 6)
    .map((g) => `${clock(g.at)} ${g.e.name || g.e.agent} ${g.e.kind} ${g.about}: ${says(g.e)}`)
    .join("\n");
  return html`
    <button
      class=${`mk ${tone}`}
      tabindex="-1"
      style=${{ left: `${x}%`, top: `${top}px` }}
      data-open=${`ev:${e.seq}`}
      data-ag=${e.agent}
      title=${text}
      aria-label=${group.length > 1 ? `${group.length}: ${text}` : text}
    >
      ${group.length > 1 ? html`<span class="cnt">${group.length}</span>` : html`<${Icon} name=${icon} />`}
    </button>
  `;
}

/** Marks that would overlap are one, with their number. */
function merged(marks, x) {
  const out = [];
  for (const k of marks) {
    const p = x(k.at);
    const last = out.at(-1);
    if (last && p - last.x < NEAR) {
      last.group.unshift(k);
    } else {
      out.push({ x: p, group: [k] });
    }
  }
  return out;
}

/** The lanes of this second: drawn again when a second is over or another window is chosen, not at each event. */
export function Lanes({ by, range: [a, b] }) {
  const key = `${Math.floor(now() / 1000)} ${by} ${a} ${b} ${innerWidth} ${S.phase}`;
  if (drawn.key !== key) drawn = { key, node: html`<${AllLanes} by=${by} range=${[a, b]} />` };
  return drawn.node;
}
let drawn = { key: "" };

function AllLanes({ by, range: [a, b] }) {
  const { list, marks } = bars();
  const m = model();
  const t = now();
  const span = (b - a) * 60000;
  const from = t + a * 60000;
  const to = t + b * 60000;
  const x = (ms) => (100 * (ms - from)) / span;
  const { keys, key } = lanesOf(by, list);
  const inLane = new Map(keys.map((k) => [k, { bars: [], marks: [] }]));
  for (const bar of list) {
    const end = bar.end || t;
    if ((bar.lease || end) < from || bar.at > to) continue;
    inLane.get(key(bar))?.bars.push(bar);
  }
  const fleet = [];
  for (const k of marks) {
    if (k.at < from || k.at > to) continue;
    const lane =
      by === "agent"
        ? inLane.get(k.e.agent)
        : /^commit|killed/.test(k.e.kind)
          ? null
          : inLane.get(key({ resource: k.about })) ||
            inLane.get(keys.find((one) => covers(one.replace(/\/$/, ""), k.about)));
    if (lane) {
      lane.marks.push(k);
    } else {
      fleet.push(k);
    }
  }
  const minutes = b - a;
  const step =
    (minutes > 100 ? 15 : minutes > 50 ? 10 : minutes > 20 ? 5 : minutes > 8 ? 2 : 1) *
    (ui.phone ? 2 : 1) *
    60000;
  const ticks = [];
  for (let ms = Math.ceil(from / step) * step; ms <= to; ms += step) ticks.push(ms);
  const nowX = x(t);
  const near = ui.phone ? 10 : 3;
  const grid = html`
    <span class="grid">${ticks.map((ms) => html`<i key=${ms} style=${{ left: `${x(ms)}%` }}></i>`)}</span>
    ${b > 0 && html`
      <span class="fut" style=${{ left: `${Math.max(0, nowX)}%` }}></span>
      <span class="nowl" style=${{ left: `${nowX}%` }}></span>
    `}
  `;
  const shown =
    by === "agent" ? keys : keys.filter((k) => inLane.get(k).bars.length || inLane.get(k).marks.length);
  return html`
    <div class="lanes">
      <div class="axis">
        <span></span>
        <div class="ax">
          ${ticks.map((ms) => {
            const p = x(ms);
            return (
              p > near && p < 100 - near && Math.abs(p - nowX) > near && html`
                <span key=${ms} style=${{ left: `${p}%` }}>${clock(ms, false)}</span>
              `
            );
          })}
          ${b > 0 && html`<span class="nowt" style=${{ left: `${nowX}%` }}>now</span>`}
        </div>
      </div>
      ${by === "resource" && html`
        <div class="lane fl0">
          <div class="lb"><b>Fleet</b><span class="c3 el">commits, kills, commands</span></div>
          <div class="tk">
            ${grid}
            ${merged(fleet, x).map((g) => html`<${Mark} key=${g.group[0].e.seq} ...${g} top=${6} />`)}
          </div>
        </div>
      `}
      ${shown.map(
        (k) => html`
          <${Lane}
            key=${k}
            id=${k}
            by=${by}
            lane=${inLane.get(k)}
            x=${x}
            t=${t}
            grid=${grid}
            m=${m}
            to=${to}
            from=${from}
          />
        `,
      )}
      ${!shown.length && html`<p class="pad c3">Nothing was held or refused in this window.</p>`}
    </div>
  `;
}

/** Are these two short ones in a row, of one agent? They are drawn as one. */
const isSame = (bar, last, thin) =>
  last?.past &&
  bar.past &&
  bar.wait === last.wait &&
  bar.agent === last.agent &&
  bar.end - bar.at < thin &&
  bar.at - last.end < thin;

/** The bars of a lane in rows, so that none covers another; those that found no row are counted. */
function placeBars(bars, t, thin) {
  const rows = [];
  const placed = [];
  let hidden = 0;
  for (const bar of bars) {
    const last = placed.at(-1);
    if (isSame(bar, last, thin)) {
      last.end = Math.max(last.end, bar.end);
      last.count = (last.count || 1) + 1;
      rows[last.r] = Math.max(rows[last.r], last.end);
      continue;
    }
    const free = rows.findIndex((end) => end <= bar.at + 50);
    const r = free < 0 ? rows.length : free;
    if (r >= MOST_ROWS) {
      hidden += 1;
      continue;
    }
    rows[r] = bar.lease || bar.end || t;
    placed.push({ ...bar, r });
  }
  return { placed, hidden, height: Math.max(1, rows.length) };
}

function barClass(bar) {
  if (bar.wait) return "wt";
  const classes = [
    bar.past && "past",
    bar.mode === "read" && "read",
    bar.violated && "viol",
    bar.quiet && "sil",
    bar.why === "killed" && "killed",
    bar.why === "gone" && "gone",
  ];
  return classes.filter(Boolean).join(" ");
}

function barTitle(bar) {
  const verb = bar.wait ? "waited for" : bar.past ? "held" : "holds";
  const more = bar.count ? `, ${bar.count} times` : bar.why ? `, ${bar.why}` : "";
  return `${nameOf(bar.agent)} ${verb} ${bar.resource} from ${clock(bar.at)}${more}`;
}

function barText(bar, by) {
  if (by !== "agent") return nameOf(bar.agent);
  return bar.wait && bar.of ? `→ ${nameOf(bar.of)}` : baseName(bar.resource);
}

/** A claim or a wait, and thinly how long the claim still has. */
function Bar({ bar, by, x, t, to, from }) {
  const s = Math.max(bar.at, from);
  const e = Math.min(bar.end || t, to);
  const width = x(e) - x(s);
  const top = `${bar.r * 20 + 4}px`;
  const lease = bar.lease > t && to > t && (100 * (Math.min(bar.lease, to) - t)) / (to - from);
  return html`
    ${e > s && html`
      <button
        class=${`cb0 ${barClass(bar)}`}
        tabindex="-1"
        data-ag=${bar.agent}
        data-hl=${bar.agent}
        data-open=${bar.seq && !bar.wait ? `ev:${bar.seq}` : `file:${bar.resource}`}
        style=${{ left: `${x(s)}%`, width: `max(3px, ${width}%)`, top }}
        title=${barTitle(bar)}
      >
        ${width > NARROW ? barText(bar, by) : ""}
      </button>
    `}
    ${lease && html`
      <i class="cb0 lease" style=${{ left: `${x(Math.max(t, from))}%`, width: `${lease}%`, top }}></i>
    `}
  `;
}

const AgentLabel = ({ agent }) => html`
  <${Icon} name=${STATES[agent.shown][0]} tone=${STATES[agent.shown][1]} />
  <b class="el">${agent.name}</b>
  <span class="c3 el">${agent.client || agent.type}</span>
`;

function Lane({ id, by, lane, x, t, grid, m, to, from }) {
  const { placed, hidden, height } = placeBars(lane.bars, t, (to - from) * 0.004);
  const agent = by === "agent" ? m.agents.find((g) => g.agent === id) : null;
  return html`
    <div
      class="lane"
      data-row
      tabindex="-1"
      style=${{ minHeight: `${height * 20 + 4}px` }}
      data-open=${`${by === "agent" ? "agent" : "file"}:${id}`}
    >
      <div class="lb">
        ${agent ? html`<${AgentLabel} agent=${agent} />` : html`<${Path} path=${id} />`}
        ${hidden > 0 && html`<span class="c3 nw" title="more claims than rows">+${hidden}</span>`}
      </div>
      <div class="tk">
        ${grid}
        ${placed.map((bar, i) => html`<${Bar} key=${i} bar=${bar} by=${by} x=${x} t=${t} to=${to} from=${from} />`)}
        ${merged(lane.marks, x).map(
          (g) => html`<${Mark} key=${g.group[0].e.seq} ...${g} top=${height * 20 - 16} />`,
        )}
      </div>
    </div>
  `;
}

/** The histogram over all, with the window: drag to choose, click for all, arrows to move. */
function Brush() {
  const el = useRef(null);
  const drag = useRef(null);
  const t = now();
  const [a, b] = range();
  const N = 60;
  const bins = Array.from({ length: N }, () => [0, 0, 0]);
  for (let i = S.events.length - 1; i >= 0; i -= 1) {
    const e = S.events[i];
    const k = Math.floor((((time(e.at) - t) / 60000 + 120) / 150) * N);
    if (k < 0) break;
    if (k >= N) continue;
    bins[k][0] += 1;
    if (e.kind.endsWith("refused")) bins[k][1] += 1;
    if (/violated|killed/.test(e.kind) || e.data?.code === "deadlock") bins[k][2] += 1;
  }
  const most = Math.max(4, ...bins.map((x) => x[0]));
  const at = (e) => {
    const r = el.current.getBoundingClientRect();
    return Math.min(30, Math.max(-120, ((e.clientX - r.left) / r.width) * 150 - 120));
  };
  const down = (e) => {
    drag.current = at(e);
    el.current.setPointerCapture(e.pointerId);
  };
  const move = (e) => {
    if (drag.current === null) return;
    const p = at(e);
    if (Math.abs(p - drag.current) > 1) {
      ui.range = [Math.min(p, drag.current), Math.max(p, drag.current)];
      changed(false);
    }
  };
  const up = (e) => {
    if (drag.current === null) return;
    if (Math.abs(at(e) - drag.current) <= 1) ui.range = [...WHOLE];
    drag.current = null;
    changed(false);
  };
  const key = (e) => {
    const d = { ArrowLeft: -5, ArrowRight: 5 }[e.key];
    if (d) {
      e.preventDefault();
      e.stopPropagation();
      const w = b - a;
      const s = Math.min(30 - w, Math.max(-120, a + d));
      ui.range = [s, s + w];
      changed(false);
    }
  };
  const h = (k) => `${Math.round((34 * k) / most)}px`;
  return html`
    <div class="brushbox">
      <span class="c3 brl">Drag to zoom, click for all</span>
      <div
        id="brush"
        ref=${el}
        role="slider"
        tabindex="0"
        aria-label="Time window; arrows move it, [ and ] zoom"
        aria-valuemin="-120"
        aria-valuemax="30"
        aria-valuenow=${Math.round(a)}
        aria-valuetext=${`${clock(t + a * 60000, false)} to ${clock(t + b * 60000, false)}`}
        onPointerDown=${down}
        onPointerMove=${move}
        onPointerUp=${up}
        onKeyDown=${key}
      >
        ${bins.map(
          ([n, r, v], i) =>
            n > 0 && html`
              <i key=${i} class="hb" style=${{ left: `${(i / N) * 100}%`, height: h(n) }}></i>
              ${r > 0 && html`
                <i key=${`r${i}`} class="hb r" style=${{ left: `${(i / N) * 100}%`, height: h(r) }}></i>
              `}
              ${v > 0 && html`
                <i key=${`v${i}`} class="hb vv" style=${{ left: `${(i / N) * 100}%`, height: h(v) }}></i>
              `}
            `,
        )}
        <div
          class="win"
          style=${{ left: `${((a + 120) / 150) * 100}%`, width: `${((b - a) / 150) * 100}%` }}
        ></div>
      </div>
    </div>
  `;
}

export function Timeline() {
  const [a, b] = range();
  const t = now();
  const set = (p, q) => {
    ui.range = [p, q];
    changed(false);
  };
  const early = S.events[0] && S.older ? time(S.events[0].at) : 0;
  return html`
    <div class="tl">
      <div class="bar0">
        <span class="seg" role="group" aria-label="Lanes">
          <button
            aria-pressed=${ui.by === "resource"}
            onClick=${() => choose({ by: "resource" })}
          >
            By resource
          </button>
          <button
            aria-pressed=${ui.by === "agent"}
            onClick=${() => choose({ by: "agent" })}
          >
            By agent
          </button>
        </span>
        <span class="seg" role="group" aria-label="Range">
          ${[
            ["15 m", -15, 5],
            ["30 m", -30, 10],
            ["2 h", -120, 30],
          ].map(
            ([w, p, q]) => html`
              <button key=${w} aria-pressed=${a === p && b === q} onClick=${() => set(p, q)}>${w}</button>
            `,
          )}
        </span>
        <span class="c3 nw">
          ${clock(t + a * 60000, false)} to ${clock(t + b * 60000, false)}
          ${early > t + a * 60000 ? `; events here from ${clock(early, false)} on` : ""}
        </span>
        <span class="sp"></span>
        <span class="legend">
          <span><i class="sw held"></i>held</span>
          <span><i class="sw past"></i>ended</span>
          <span><i class="sw wg"></i>waiting</span>
          <span><${Icon} name="refused" tone="c-wait" />refused</span>
          <span><${Icon} name="cycle" tone="c-bad" />deadlock</span>
          <span><${Icon} name="viol" tone="c-bad" />violation</span>
          <span><${Icon} name="kill" tone="c-bad" />kill</span>
          <span><${Icon} name="commit" />commit</span>
          <span><${Icon} name="deploy" />deploy</span>
        </span>
      </div>
      <section class="panel tlpanel" aria-label="Lanes">
        <${Brush} />
        <div class="scroll" tabindex="-1"><${Lanes} by=${ui.by} range=${[a, b]} /></div>
      </section>
    </div>
  `;
}
