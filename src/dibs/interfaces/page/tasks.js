// Tasks: what is next, what is stuck. Five columns, planned split in ready and blocked; pointing draws what comes
// before and after.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./lib.js";
import * as api from "./api.js";
import { S, nameOf, now } from "./store.js";
import { model } from "./model.js";
import { Button, Command, Icon, Progress, Rows, STATES, StateWord, Up } from "./parts.js";
import { clock, count, dur, time } from "./words.js";

const COLUMNS = [
  ["discovery", "Discovery"],
  ["scoped", "Scoped"],
  ["planned", "Planned"],
  ["executing", "Executing"],
  ["complete", "Complete"],
];
const STALE_MS = 4 * 3600000; // an idea that nobody touched for this long
const PHASES = ["discovery", "analysis", "execution", "validation"];
const CARD = 66;
const DONE = 28;
const MOST_STOPPED = 20;
let kept = { version: -1 };

/** The columns, sorted; once for each change of the state. */
function board() {
  if (kept.version === S.version) return kept;
  const by = Object.fromEntries(COLUMNS.map(([s]) => [s, []]));
  const stopped = [];
  const after = new Map();
  for (const t of S.tasks.values()) {
    if (by[t.state]) by[t.state].push(t);
    else if (t.state === "failed" || t.state === "quarantined") stopped.push(t);
    for (const x of t.after || []) {
      if (!after.has(x)) after.set(x, []);
      after.get(x).push(t.id);
    }
  }
  for (const [s, list] of Object.entries(by)) {
    list.sort(
      s === "complete"
        ? (a, b) => (a.finished_at < b.finished_at ? 1 : -1)
        : (a, b) => b.priority - a.priority || (a.created_at < b.created_at ? -1 : 1),
    );
  }
  kept = { version: S.version, by, stopped, after };
  return kept;
}

const open = (t) => (t.after || []).filter((x) => S.tasks.has(x) && S.tasks.get(x).state !== "complete");

/** The foot of a card that is worked on: by whom, how far, since when. */
function Executing({ t, agent, wait }) {
  const [icon, tone] = agent ? STATES[agent.shown] : ["", ""];
  return html`
    ${agent
      ? html`
          <${Icon} name=${icon} tone=${tone} />
          <b class="el">${agent.name}</b>
          ${agent.shown !== "working" && html`
            <span class=${`nw ${tone}`}><${StateWord} agent=${agent} wait=${wait} /></span>
          `}
        `
      : html`<b>${t.agent ? nameOf(t.agent) : ""}</b>`}
    ${t.progress !== undefined && html`
      <${Progress} value=${t.progress} />
      <span>${t.progress}%</span>
    `}
    <span class="c3 nw"><${Up} at=${t.started_at} /></span>
  `;
}

/** The foot of a card that nobody works on: what it comes after; else what it needs, and its age. */
function Waiting({ t }) {
  const before = open(t);
  if (before.length) {
    const names = before.slice(0, 3).join(", ");
    const more = before.length > 3 ? ` +${before.length - 3}` : "";
    return html`<span class="el"><span class="c3">after</span> <code>${names}${more}</code></span>`;
  }
  if (t.waits_for) return html`<span class="c3">after ${count(t.waits_for, "task")}</span>`;
  return html`
    ${(t.needs || []).length > 0 && html`<span class="el">needs ${t.needs.join(", ")}</span>`}
    <span class="c3 nw">${dur((now() - time(t.created_at)) / 1000)} old</span>
  `;
}

function Card({ t, m, on }) {
  const me = {
    role: "row",
    "data-row": true,
    tabindex: "-1",
    "data-open": `task:${t.id}`,
    "data-task": t.id,
    "data-ag": t.agent || null,
    onMouseEnter: () => on(t.id),
    onMouseLeave: () => on(""),
    onFocus: () => on(t.id),
    onBlur: () => on(""),
  };
  if (t.state === "complete") {
    return html`
      <div class="card done" ...${me}>
        <span role="gridcell" class="ta">
          <${Icon} name="ok" tone="c-ok" />
          <span class="el">${t.title || t.id}</span>
          <span class="r">
            ${t.agent ? nameOf(t.agent) : ""} ${t.finished_at ? clock(time(t.finished_at), false) : ""}
          </span>
        </span>
      </div>
    `;
  }
  const agent = t.state === "executing" && m.agents.find((a) => a.agent === t.agent);
  const stale = ["discovery", "scoped"].includes(t.state) && now() - time(t.created_at) > STALE_MS;
  return html`
    <div class=${`card s-${agent ? agent.shown : ""}`} ...${me}>
      <div role="gridcell">
        <div class="h">
          <code class="el">${t.id}</code>
          ${stale && html`<span class="tag wait">stale</span>`}
          ${t.attempt > 1 && html`<span class="tag wait">try ${t.attempt} of ${t.max_attempts}</span>`}
          <span class="r" title="priority">P${t.priority}</span>
        </div>
        <div class="t el">${t.title || t.id}</div>
        <div class="f">
          ${t.state === "executing"
            ? html`<${Executing} t=${t} agent=${agent} wait=${agent && m.waitOf.get(agent.agent)} />`
            : html`<${Waiting} t=${t} />`}
        </div>
      </div>
    </div>
  `;
}

/** Lines from what comes before (blue) and to what waits for it (amber), over the cards that are on the screen. */
function useWires(box, at) {
  useLayoutEffect(() => {
    const el = box.current;
    const svg = el?.querySelector("#wires");
    if (!svg) return;
    for (const c of el.querySelectorAll(".card")) c.classList.remove("on", "me", "up", "dn");
    svg.replaceChildren();
    el.classList.remove("dep");
    const t = S.tasks.get(at);
    const me = at && el.querySelector(`[data-task="${CSS.escape(at)}"]`);
    if (!t || !me) return;
    const ups = t.after || [];
    const downs = board().after.get(at) || [];
    if (!ups.length && !downs.length) return;
    el.classList.add("dep");
    me.classList.add("on", "me");
    const frame = el.getBoundingClientRect();
    const zoom = el.currentCSSZoom || 1;
    const from = frame.left - el.scrollLeft * zoom;
    const place = (x) => {
      const r = x.getBoundingClientRect();
      return {
        l: (r.left - from) / zoom,
        r: (r.right - from) / zoom,
        y: (r.top - frame.top + r.height / 2) / zoom,
      };
    };
    const line = (a, b, tone) => {
      const p = place(a);
      const q = place(b);
      const forth = p.r <= q.l;
      const back = q.r <= p.l;
      const [x1, x2] = forth ? [p.r, q.l] : back ? [p.l, q.r] : [p.r, q.r];
      const k = back ? -40 : 40;
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      path.setAttribute(
        "d",
        `M${x1} ${p.y}C${x1 + k} ${p.y} ${x2 - (forth || back ? k : -k)} ${q.y} ${x2} ${q.y}`,
      );
      path.setAttribute("class", tone);
      svg.append(path);
    };
    const find = (id) => el.querySelector(`[data-task="${CSS.escape(id)}"]`);
    for (const id of ups) {
      const c = find(id);
      if (c) {
        c.classList.add("on", "up");
        line(c, me, "up");
      }
    }
    for (const id of downs) {
      const c = find(id);
      if (c) {
        c.classList.add("on", "dn");
        line(me, c, "dn");
      }
    }
  });
}

/** Of a server whose list has no `after`: ask for the task that is pointed at. */
function useDependencies(at) {
  const [, redraw] = useState(0);
  useEffect(() => {
    const t = S.tasks.get(at);
    if (!t || t.after || !t.waits_for || S.phase !== "live") return;
    api.call("task show", { id: at }).then(
      (x) => {
        const full = x.task || x;
        if (full.after) {
          S.tasks.set(at, { ...t, after: full.after });
          redraw((n) => n + 1);
        }
      },
      () => {},
    );
  }, [at]);
}

function Run({ run }) {
  if (!run) return html`<span class="c3">No run is active.</span>`;
  const phase = (p, i) => html`
    <span key=${p}>
      ${i > 0 ? " › " : ""}
      ${p === run.phase ? html`<b>${p}</b>` : html`<span class="c3">${p}</span>`}
    </span>
  `;
  return html`
    <b>${run.id}</b>
    <span class="c2">${PHASES.map(phase)}</span>
    <${Progress} value=${run.progress || 0} wide="w120" />
    <span>${Math.round(run.progress || 0)}%</span>
    <span class="c3">
      led by ${nameOf(run.coordinator)}, ${dur((now() - time(run.started_at)) / 1000)}
      ${run.error_count ? `, ${count(run.error_count, "error")}` : ""}
    </span>
  `;
}

const Stopped = ({ t, act }) => html`
  <div class="tray" data-row tabindex="-1" data-open=${`task:${t.id}`}>
    <${Icon} name="dead" tone="c-bad" />
    <span class="nw"><b>${t.id}</b> <span class="tag bad">${t.state}</span></span>
    <span class="el c2 tt">${t.why || t.failure?.why || t.title}</span>
    <span class="mut-act trayact">
      <${Button} act=${act} action=${`requeue:${t.id}`} op="task move">Requeue…<//>
      <${Button} act=${act} action=${`cancel:${t.id}`} op="task cancel" cls="q">Cancel…<//>
    </span>
  </div>
`;

const StoppedTasks = ({ tasks, act }) => html`
  <section class="panel stopped" aria-label="Stopped tasks">
    ${tasks.slice(0, MOST_STOPPED).map((t) => html`<${Stopped} key=${t.id} t=${t} act=${act} />`)}
    ${tasks.length > MOST_STOPPED && html`
      <p class="pad c3">and ${tasks.length - MOST_STOPPED} more: the log has them</p>
    `}
  </section>
`;

function scrollToColumn(state) {
  const column = document.querySelector(`[data-col=${state}]`);
  column?.parentNode.scrollTo({ left: column.offsetLeft - 12 });
}

const Columns = ({ b, shown }) => html`
  <div class="chips colnav" role="group" aria-label="Go to column">
    ${shown.map(
      ([state, title]) => html`
        <button key=${state} class="chip" onClick=${() => scrollToColumn(state)}>
          ${title}
          <span class="n">${b.by[state].length}</span>
        </button>
      `,
    )}
  </div>
`;

/** The rows of a column; of planned tasks first those that are ready, then, under a heading, those that are blocked. */
function rowsOf(b, state) {
  const rows = (tasks) => tasks.map((t) => ({ id: t.id, t }));
  if (state !== "planned") return { rows: rows(b.by[state]) };
  const isBlocked = (t) => t.waits_for || open(t).length;
  const ready = b.by.planned.filter((t) => !isBlocked(t));
  const blocked = b.by.planned.filter(isBlocked);
  const sub = { id: "\tblocked", sub: "Blocked", n: blocked.length };
  return { ready: ready.length, rows: [...rows(ready), ...(blocked.length ? [sub, ...rows(blocked)] : [])] };
}

function Column({ b, m, state, title, on }) {
  const { rows, ready } = rowsOf(b, state);
  const row = (x) =>
    x.sub
      ? html`<div key=${x.id} class="sub" role="row"><span role="gridcell">${x.sub} <b>${x.n}</b></span></div>`
      : html`<${Card} key=${x.id} t=${x.t} m=${m} on=${on} />`;
  return html`
    <section class="panel" data-col=${state} aria-label=${title}>
      <header>
        <h2>${title}</h2>
        <span class="n">${b.by[state].length}${S.more.tasks ? "+" : ""}</span>
        ${ready !== undefined && html`<span class="n">· ${ready} ready</span>`}
      </header>
      <${Rows}
        items=${rows}
        height=${state === "complete" ? DONE : CARD + 5}
        label=${title}
        cls=${rows.length > 100 ? "fixed" : ""}
        empty=${null}
        row=${row}
      />
    </section>
  `;
}

/** A column without tasks: its name and nothing else, so that the others have the room. */
const Folded = ({ state, title }) => html`
  <section class="panel fold" data-col=${state} aria-label=${title}>
    <header><h2>${title}</h2><span class="n">0</span></header>
  </section>
`;

const WIDTHS = { planned: 1.15, executing: 1.25, discovery: 0.8, scoped: 0.8, complete: 0.85 };

const NoTasks = ({ act }) => html`
  <div class="mt">
    <h2>No tasks yet</h2>
    <p>
      A task waits here until an agent takes it. Agents take them with <code>dibs task next</code>; without tasks they
      work on what they are told, and their claims are on the overview.
    </p>
    <${Button} act=${act} action="addtask:" op="task add" cls="pri">Add a task…<//>
    <div class="cmd"><${Command} text="dibs task add 'what is to be done'" act=${act} /></div>
  </div>
`;

export function Tasks({ act }) {
  const m = model();
  const b = board();
  const box = useRef(null);
  const [at, setAt] = useState("");
  useDependencies(at);
  useWires(box, at);
  if (S.whole && !S.tasks.size) return html`<${NoTasks} act=${act} />`;
  const isFull = ([state]) => b.by[state].length > 0;
  const shown = COLUMNS.filter(isFull);
  const columns = COLUMNS.map(([state]) => (isFull([state]) ? `minmax(0, ${WIDTHS[state]}fr)` : "36px")).join(" ");
  return html`
    <div class="bd">
      <div class="bar0">
        <${Button} act=${act} action="addtask:" op="task add"><${Icon} name="add" />Add task…<//>
        <${Run} run=${S.run} />
        <span class="sp"></span>
        <span class="legend">
          <span><i class="sw up"></i>comes before</span>
          <span><i class="sw dn"></i>waits for it</span>
        </span>
      </div>
      ${b.stopped.length > 0 && html`<${StoppedTasks} tasks=${b.stopped} act=${act} />`}
      <${Columns} b=${b} shown=${shown} />
      <div class="cols" ref=${box} style=${{ "--cols": columns }}>
        ${COLUMNS.map(([state, title]) =>
          isFull([state])
            ? html`<${Column} key=${state} b=${b} m=${m} state=${state} title=${title} on=${setAt} />`
            : html`<${Folded} key=${state} state=${state} title=${title} />`,
        )}
        <svg id="wires" aria-hidden="true"></svg>
      </div>
    </div>
  `;
}
