// Tasks: what is next, what is stuck. Five columns, planned split in ready and blocked; pointing draws what comes
// before and after.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./lib.js";
import * as api from "./api.js";
import { S, may, nameOf, now, why } from "./store.js";
import { model } from "./model.js";
import { Icon, Progress, Rows, STATES, StateWord, Up } from "./parts.js";
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
let kept = { version: -1 };

/** The columns, sorted; once for each change of the state. */
function board() {
  if (kept.version === S.version) return kept;
  const by = Object.fromEntries(COLUMNS.map(([s]) => [s, []]));
  const stopped = [];
  const after = new Map();
  for (const t of S.tasks.values()) {
    if (by[t.state]) {
      by[t.state].push(t);
    } else if (t.state === "failed" || t.state === "quarantined") stopped.push(t);
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
  const wait = agent && m.waitOf.get(agent.agent);
  const before = open(t);
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
            ? html`
                ${agent
                  ? html`
                      <${Icon} name=${STATES[agent.shown][0]} tone=${STATES[agent.shown][1]} />
                      <b class="el">${agent.name}</b>
                      ${agent.shown !== "working" && html`
                        <span class=${`nw ${STATES[agent.shown][1]}`}>
                          <${StateWord} agent=${agent} wait=${wait} />
                        </span>
                      `}
                    `
                  : html`<b>${t.agent ? nameOf(t.agent) : ""}</b>`}
                ${t.progress !== undefined && html`
                  <${Progress} value=${t.progress} />
                  <span>${t.progress}%</span>
                `}
                <span class="c3 nw"><${Up} at=${t.started_at} fine=${false} /></span>
              `
            : before.length
              ? html`
                  <span class="el">
                    <span class="c3">after</span>${" "}
                    <code>
                      ${before.slice(0, 3).join(", ")}
                      ${before.length > 3 ? ` +${before.length - 3}` : ""}
                    </code>
                  </span>
                `
              : t.waits_for
                ? html`<span class="c3">after ${count(t.waits_for, "task")}</span>`
                : html`
                    ${(t.needs || []).length > 0 && html`<span class="el">needs ${t.needs.join(", ")}</span>`}
                    <span class="c3 nw">${dur((now() - time(t.created_at)) / 1000)} old</span>
                  `}
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

export function Tasks({ act }) {
  const m = model();
  const b = board();
  const box = useRef(null);
  const [at, setAt] = useState("");
  const [, more] = useState(0);
  useEffect(() => {
    // a server whose list has no `after`: ask for the one that is pointed at
    const t = S.tasks.get(at);
    if (!t || t.after || !t.waits_for || S.phase !== "live") return;
    api.call("task show", { id: at }).then(
      (x) => {
        const full = x.task || x;
        if (full.after) {
          S.tasks.set(at, { ...t, after: full.after });
          more((n) => n + 1);
        }
      },
      () => {},
    );
  }, [at]);
  useWires(box, at);
  const run = S.run;
  const ready = b.by.planned.filter((t) => !t.waits_for && !open(t).length);
  const blocked = b.by.planned.filter((t) => t.waits_for || open(t).length);
  const rows = (s) =>
    s !== "planned"
      ? b.by[s].map((t) => ({ id: t.id, t }))
      : [
          { id: "\tready", sub: "Ready", n: ready.length },
          ...ready.map((t) => ({ id: t.id, t })),
          { id: "\tblocked", sub: "Blocked", n: blocked.length },
          ...blocked.map((t) => ({ id: t.id, t })),
        ];
  const row = (x) =>
    x.sub
      ? html`<div key=${x.id} class="sub" role="row"><span role="gridcell">${x.sub} <b>${x.n}</b></span></div>`
      : html`<${Card} key=${x.id} t=${x.t} m=${m} on=${setAt} />`;
  return html`
    <div class="bd">
      <div class="bar0">
        ${run
          ? html`
              <b>${run.id}</b>
              <span class="c2">
                ${PHASES.map(
                  (p, i) => html`
                    <span key=${p}>
                      ${i > 0 ? " › " : ""}
                      ${p === run.phase ? html`<b>${p}</b>` : html`<span class="c3">${p}</span>`}
                    </span>
                  `,
                )}
              </span>
              <${Progress} value=${run.progress || 0} wide="w120" />
              <span>${Math.round(run.progress || 0)}%</span>
              <span class="c3">
                led by ${nameOf(run.coordinator)}, ${dur((now() - time(run.started_at)) / 1000)}
                ${run.error_count ? `, ${count(run.error_count, "error")}` : ""}
              </span>
            `
          : html`<span class="c3">No run is active.</span>`}
        <span class="sp"></span>
        <span class="legend">
          <span><i class="sw up"></i>comes before</span>
          <span><i class="sw dn"></i>waits for it</span>
        </span>
      </div>
      ${b.stopped.length > 0 && html`
        <section class="panel stopped" aria-label="Stopped tasks">
          ${b.stopped
            .slice(0, 20)
            .map(
              (t) => html`
                <div key=${t.id} class="tray" data-row tabindex="-1" data-open=${`task:${t.id}`}>
                  <${Icon} name="dead" tone="c-bad" />
                  <span class="nw"><b>${t.id}</b> <span class="tag bad">${t.state}</span></span>
                  <span class="el c2 tt">${t.why || t.failure?.why || t.title}</span>
                  <span class="mut-act trayact">
                    <button
                      class="btn"
                      disabled=${!may("task move")}
                      title=${why("task move")}
                      onClick=${() => act(`requeue:${t.id}`)}
                    >
                      Requeue…
                    </button>
                    <button
                      class="btn q"
                      disabled=${!may("task cancel")}
                      title=${why("task cancel")}
                      onClick=${() => act(`cancel:${t.id}`)}
                    >
                      Cancel…
                    </button>
                  </span>
                </div>
              `,
            )}
          ${b.stopped.length > 20 && html`
            <p class="pad c3">and ${b.stopped.length - 20} more: the log has them</p>
          `}
        </section>
      `}
      <div class="chips colnav" role="group" aria-label="Go to column">
        ${COLUMNS.map(
          ([s, n]) => html`
            <button
              key=${s}
              class="chip"
              onClick=${() => {
                const e = document.querySelector(`[data-col=${s}]`);
                e?.parentNode.scrollTo({ left: e.offsetLeft - 12 });
              }}
            >
              ${n}
              <span class="n">${b.by[s].length}</span>
            </button>
          `,
        )}
      </div>
      <div class="cols" ref=${box}>
        ${COLUMNS.map(
          ([s, n]) => html`
            <section key=${s} class="panel" data-col=${s} aria-label=${n}>
              <header><h2>${n}</h2><span class="n">${b.by[s].length}${S.more.tasks ? "+" : ""}</span></header>
              <${Rows}
                items=${rows(s)}
                height=${s === "complete" ? DONE : CARD + 5}
                label=${n}
                cls=${rows(s).length > 100 ? "fixed" : ""}
                empty=${html`<p class="c3">none</p>`}
                row=${row}
              />
            </section>
          `,
        )}
        <svg id="wires" aria-hidden="true"></svg>
      </div>
    </div>
  `;
}
