// The lanes of the timeline: bars for claims and waits, marks for what happened. Lanes above sixty fold by folder;
// marks nearer than eight pixels become one with a count.
import { html } from "./lib.js";
import { S, nameOf, now } from "./store.js";
import { aboutOf, covers, model } from "./model.js";
import { Icon, Path, STATES } from "./parts.js";
import { ui } from "./route.js";
import { baseName, clock, dur, isName, look, resourceText, says, time } from "./words.js";

export const WHOLE = [-120, 30]; // minutes around now
const MOST_LANES = 60;
const MOST_BARS = 4000;
const MOST_ROWS = 5;
const NEAR = 0.7;
const THIN = 3; // px: the least width of a bar, which ends where it ends
const LETTER = 6.4; // px of a usual letter: a name that does not fit into its bar is in the read-out
const MARKS = /refused$|violated|killed|^commit\.(checked|unverified)|^deploy\.(started|finished)/;
let kept = { version: -1 };

const isTask = (resource) => resource.startsWith("task:");
const isBegin = (e) => e.kind === "claim.granted" || e.kind === "wait.queued";
const isEnd = (e) =>
  e.kind === "claim.ended" ||
  e.kind === "wait.ended" ||
  (e.kind === "claim.released" && !(e.data.left || []).length);

/** The claims and waits that ended since `begin`, and what else happened. */
function pastBars(begin) {
  const open = new Map();
  const list = [];
  const marks = [];
  for (const e of S.events) {
    const at = time(e.at);
    if (at < begin) continue;
    if (isBegin(e)) {
      const resources = (e.data.resources || []).map(resourceText);
      open.set(e.subject, { agent: e.agent, at, resources, mode: e.data.mode, wait: e.kind === "wait.queued" });
    } else if (isEnd(e)) {
      const resources = S.resources.get(e.subject) || [];
      const earlier = { agent: e.agent, at: begin, resources, mode: "write", wait: e.kind === "wait.ended" };
      const o = open.get(e.subject) || earlier;
      open.delete(e.subject);
      for (const resource of o.resources.filter((r) => !isTask(r))) {
        list.push({ ...o, resource, end: at, past: true, why: e.data.why, seq: e.seq });
      }
    }
    if (MARKS.test(e.kind)) marks.push({ e, at, about: aboutOf(e).split(", ")[0] });
  }
  return { list, marks };
}

/** What is held now. */
const claimBars = (m, begin) =>
  m.claims.flatMap((c) => {
    const quiet = m.shown.get(c.agent) === "silent" || m.shown.get(c.agent) === "dead";
    const bar = { agent: c.agent, at: Math.max(begin, time(c.since)), end: 0, lease: time(c.expires_at), mode: c.mode };
    const held = c.resources.filter((r) => !isTask(r));
    return held.map((resource) => ({ ...bar, resource, quiet, violated: m.violated.has(resource) }));
  });

/** Who waits now. */
const waitBars = (m, begin) =>
  m.waits.flatMap((w) => {
    const [holder] = w.holders;
    const bar = { agent: w.agent, at: Math.max(begin, time(w.since)), end: 0, wait: true, of: holder?.agent };
    return w.resources.map((r) => ({ ...bar, resource: holder?.resource || r }));
  });

/** Every claim and wait of the last two hours as a bar, in milliseconds; rebuilt when the state changed. */
function bars() {
  if (kept.version === S.version) return kept;
  const m = model();
  const begin = now() - 120 * 60000;
  const { list, marks } = pastBars(begin);
  list.push(...claimBars(m, begin), ...waitBars(m, begin));
  list.sort((a, b) => a.at - b.at);
  kept = { version: S.version, list: list.slice(-MOST_BARS), marks };
  return kept;
}

/** How many minutes ago the first bar or mark of all was, 0 if there is none. */
export function extent() {
  const { list, marks } = bars();
  const first = Math.min(list[0]?.at ?? Infinity, marks[0]?.at ?? Infinity);
  return first < Infinity ? Math.max(0, now() - first) / 60000 : 0;
}

const folderOf = (r, depth) => {
  const parts = r.split("/");
  return parts.length > depth ? `${parts.slice(0, depth).join("/")}/` : r;
};

/** The lanes: one for each key, folded by folder until there are at most sixty. */
function lanesOf(by, list) {
  if (by === "agent") {
    const agents = model().need.slice(0, 200);
    return { keys: agents.map((a) => a.agent), key: (b) => b.agent };
  }
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
    .map((g) => `${clock(g.at)} ${g.e.text || `${g.e.name || g.e.agent} ${g.e.kind} ${g.about}: ${says(g.e)}`}`)
    .join("\n");
  return html`
    <button
      class=${`mk ${tone}`}
      tabindex="-1"
      style=${{ left: `${x}%`, top: `${top}px` }}
      data-open=${`ev:${e.seq}`}
      data-ag=${e.agent}
      data-tip=${text}
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

const STEPS = [[100, 15], [50, 10], [20, 5], [8, 2], [4, 1], [2, 0.5], [0, 0.25]];

/** Minutes between two lines of the grid. */
function stepOf(minutes) {
  const [, step] = STEPS.find(([above]) => minutes > above) || STEPS.at(-1);
  return step * (ui.phone ? 2 : 1);
}

/** Bars and marks by lane; marks of no lane are of the fleet. */
function sortIntoLanes(by, from, to, t) {
  const { list, marks } = bars();
  const { keys, key } = lanesOf(by, list);
  const lanes = new Map(keys.map((k) => [k, { bars: [], marks: [] }]));
  const fleet = [];
  for (const bar of list) {
    if ((bar.lease || bar.end || t) >= from && bar.at <= to) lanes.get(key(bar))?.bars.push(bar);
  }
  const laneOf = (k) => {
    if (by === "agent") return lanes.get(k.e.agent);
    if (/^commit|killed/.test(k.e.kind)) return null;
    const covering = () => keys.find((lane) => covers(lane.replace(/\/$/, ""), k.about));
    return lanes.get(key({ resource: k.about })) || lanes.get(covering());
  };
  for (const k of marks) {
    if (k.at >= from && k.at <= to) (laneOf(k)?.marks || fleet).push(k);
  }
  return { keys, lanes, fleet };
}

/** The clock times above the lanes: none at the edges, none under "now". */
function Axis({ ticks, x, nowX, now: shown, fine }) {
  const near = ui.phone ? 10 : 3;
  const fits = (p) => p > near && p < 100 - near && Math.abs(p - nowX) > near;
  return html`
    <div class="axis">
      <span></span>
      <div class="ax">
        ${ticks.map(
          (ms) => fits(x(ms)) && html`<span key=${ms} style=${{ left: `${x(ms)}%` }}>${clock(ms, fine)}</span>`,
        )}
        ${shown && html`<span class="nowt" style=${{ left: `${nowX}%` }}>now</span>`}
      </div>
    </div>
  `;
}

function AllLanes({ by, range: [a, b] }) {
  const m = model();
  const t = now();
  const from = t + a * 60000;
  const to = t + b * 60000;
  const x = (ms) => (100 * (ms - from)) / (to - from);
  const { keys, lanes, fleet } = sortIntoLanes(by, from, to, t);
  const step = stepOf(b - a) * 60000;
  const ticks = [];
  for (let ms = Math.ceil(from / step) * step; ms <= to; ms += step) ticks.push(ms);
  const nowX = x(t);
  const grid = html`
    <span class="grid">${ticks.map((ms) => html`<i key=${ms} style=${{ left: `${x(ms)}%` }}></i>`)}</span>
    ${b > 0 && html`
      <span class="fut" style=${{ left: `${Math.max(0, nowX)}%` }}></span>
      <span class="nowl" style=${{ left: `${nowX}%` }}></span>
    `}
  `;
  const isUsed = (k) => lanes.get(k).bars.length || lanes.get(k).marks.length;
  const shown = by === "agent" ? keys : keys.filter(isUsed);
  const same = { by, x, t, grid, m, to, from };
  return html`
    <div class="lanes">
      <${Axis} ticks=${ticks} x=${x} nowX=${nowX} now=${b > 0} fine=${step < 60000} />
      ${by === "resource" && html`
        <div class="lane fl0">
          <div class="lb"><b>Fleet</b><span class="c3 el">commits, kills, commands</span></div>
          <div class="tk">
            ${grid}
            ${merged(fleet, x).map((g) => html`<${Mark} key=${g.group[0].e.seq} ...${g} top=${6} />`)}
          </div>
        </div>
      `}
      ${shown.map((k) => html`<${Lane} key=${k} id=${k} lane=${lanes.get(k)} ...${same} />`)}
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

/** Who held or waited for what, from when to when, how long, and how it ended or will end. */
function barTip(bar, t) {
  const verb = bar.wait ? (bar.past ? "waited for" : "waits for") : bar.past ? "held" : "holds";
  const end = bar.past ? clock(bar.end) : "now";
  const more = [
    bar.count && `${bar.count} times`,
    bar.of && `held by ${nameOf(bar.of)}`,
    bar.past && bar.why,
    bar.lease > t && `${dur((bar.lease - t) / 1000)} left`,
  ].filter(Boolean);
  return (
    `${nameOf(bar.agent)} ${verb} ${bar.resource}\n` +
    `${clock(bar.at)} to ${end}, ${dur(((bar.end || t) - bar.at) / 1000)}${more.length ? `; ${more.join(", ")}` : ""}`
  );
}

function barText(bar, by) {
  if (by !== "agent") return nameOf(bar.agent);
  return bar.wait && bar.of ? `→ ${nameOf(bar.of)}` : baseName(bar.resource);
}

const trackWidth = () => document.querySelector(".lane .tk")?.clientWidth || innerWidth - 260;

/** A claim or a wait, and thinly how long the claim still has. */
function Bar({ bar, by, x, t, to, from }) {
  const s = Math.max(bar.at, from);
  const e = Math.min(bar.end || t, to);
  const width = x(e) - x(s);
  const text = barText(bar, by);
  const fits = (width / 100) * trackWidth() > text.length * LETTER + 12;
  const tip = barTip(bar, t);
  const top = `${bar.r * 20 + 4}px`;
  const lease = bar.lease > t && to > t && (100 * (Math.min(bar.lease, to) - t)) / (to - from);
  return html`
    ${e > s && html`
      <button
        class=${`cb0 ${barClass(bar)} ${fits ? "tx" : ""}`}
        tabindex="-1"
        aria-label=${tip}
        data-tip=${tip}
        data-ag=${bar.agent}
        data-hl=${bar.agent}
        data-open=${bar.seq && !bar.wait ? `ev:${bar.seq}` : `file:${bar.resource}`}
        style=${{ left: `min(${x(s)}%, ${x(e)}% - ${THIN}px)`, width: `max(${THIN}px, ${width}%)`, top }}
      >
        ${fits ? text : ""}
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
