// Who is doing what: the agents of the overview, those that need somebody first.
import { html, useRef } from "./lib.js";
import { nameOf, now } from "./store.js";
import { doing } from "./model.js";
import { Down, Icon, Path, Progress, Rows, STATES, StateWord, Up, wide } from "./parts.js";
import { choose, ui } from "./route.js";
import { baseName, bytes, dur, time } from "./words.js";

/** The line below a task: what the agent waits for, what happened to it, whom it holds up; else what it says. */
function Situation({ a, m, task, held }) {
  const wait = m.waitOf.get(a.agent);
  if (a.shown === "waits for you" && a.waits?.what) {
    return html`<span class="el c-wait" title=${a.waits.what}>${a.waits.what}</span>`;
  }
  if (wait) {
    return html`
      <span class="c-wait nw">for</span>
      <${Path} path=${wait.resources[0]} />
      ${wait.holders.length > 0 && html`<span class="nw">held by <b>${nameOf(wait.holders[0].agent)}</b></span>`}
    `;
  }
  const violated = held.flatMap((c) => c.resources).find((r) => m.violated.has(r));
  if (violated) {
    return html`
      <span class="c-bad nw inl"><${Icon} name="viol" />${baseName(violated)} was changed by another agent</span>
    `;
  }
  const blocked = m.blocks.get(a.agent) || [];
  if (blocked.length) return html`<${HoldsUp} blocked=${blocked} held=${held} />`;
  const reason = held[0]?.reason;
  const known = !task || reason === task.title || reason === task.id;
  return html`<span class="el">${task?.note || a.killed || (!known && reason) || ""}</span>`;
}

function HoldsUp({ blocked, held }) {
  const names = blocked.slice(0, 3).map((w) => nameOf(w.agent));
  const over = held.find((c) => c.expected && now() - time(c.since) > c.expected * 1000);
  return html`
    <span class="c-wait nw">
      holds up ${names.join(", ")}${blocked.length > 3 ? ` +${blocked.length - 3}` : ""}
    </span>
    ${over && html`
      <span class="el">· ${dur((now() - time(over.since)) / 1000)}, expected ${dur(over.expected)}</span>
    `}
  `;
}

/** The task; else what the agent says that it does: the words of its prompt, or of its first claim. */
function TaskCell({ a, task, m }) {
  const about = doing(a, m);
  if (!task) return html`<span class=${about ? "el" : "c3"} title=${about}>${about || "no task"}</span>`;
  return html`
    <span class="el">${task.title || task.id}</span>
    ${task.progress !== undefined && html`
      <${Progress} value=${task.progress} />
      <span class="c3 nw">${task.progress}%</span>
    `}
  `;
}

function HeldCell({ held }) {
  const files = held.flatMap((c) => c.resources);
  const next = held
    .filter((c) => c.expires_at)
    .reduce((x, c) => (!x || c.expires_at < x.expires_at ? c : x), null);
  return html`
    <div class="l1">
      ${files.length
        ? html`
            <${Path} path=${files[0]} />
            ${files.length > 1 && html`<span class="c3 nw">+${files.length - 1}</span>`}
          `
        : html`<span class="c3">nothing held</span>`}
    </div>
    ${next && html`
      <div class="l2 c3"><span class="el">next ends <${Down} until=${next.expires_at} /></span></div>
    `}
  `;
}

const typeOf = (a) => a.client || (a.kind === "person" ? "person" : a.type);

function AgentCell({ a, m }) {
  const [icon, tone] = STATES[a.shown] || STATES.idle;
  const calm = a.shown === "working" || a.shown === "idle";
  return html`
    <div class="l1">
      <${Icon} name=${icon} tone=${tone} />
      <span class="nm el" title=${a.name}>${a.name}</span>
    </div>
    <div class="l2">
      <span class=${`nw ${calm ? "c3" : tone}`}><${StateWord} agent=${a} wait=${m.waitOf.get(a.agent)} /></span>
      ${typeOf(a) && html`<span class="c3 el ty">${typeOf(a)}</span>`}
    </div>
  `;
}

function AgentRow({ a, m }) {
  const task = m.taskOf.get(a.agent);
  const held = (m.byAgent.get(a.agent) || []).filter((c) => !c.task);
  return html`
    <div
      class=${`ag s-${a.shown}`}
      role="row"
      data-row
      tabindex="-1"
      data-open=${`agent:${a.agent}`}
      data-ag=${a.agent}
      data-hl=${a.agent}
    >
      <div role="gridcell"><${AgentCell} a=${a} m=${m} /></div>
      <div role="gridcell">
        <div class="l1"><${TaskCell} a=${a} task=${task} m=${m} /></div>
        <div class="l2"><${Situation} a=${a} m=${m} task=${task} held=${held} /></div>
      </div>
      <div class="fl" role="gridcell"><${HeldCell} held=${held} /></div>
      <div class="num since" role="gridcell">
        <span><${Up} at=${task?.started_at || a.since} /></span>
        ${a.cpu !== undefined && html`<span class="u2">${Math.round(a.cpu)}% ${bytes(a.memory)}B</span>`}
      </div>
      <div class="num use" role="gridcell">
        ${a.cpu === undefined
          ? html`<span class="c3" title="not visible from here">–</span>`
          : html`<span>${Math.round(a.cpu)} %</span><span class="c3">${bytes(a.memory)}B</span>`}
      </div>
    </div>
  `;
}

/** The order of the agents; while the pointer is on them it waits, so that no row jumps away under it. */
function useOrder(list) {
  const kept = useRef([]);
  if (!ui.hover) {
    kept.current = list.map((a) => a.agent);
    return list;
  }
  const by = new Map(list.map((a) => [a.agent, a]));
  const stay = kept.current.filter((id) => by.has(id));
  const fresh = list.filter((a) => !kept.current.includes(a.agent));
  return [...stay.map((id) => by.get(id)), ...fresh];
}

/** The longer one of the two lines of an agent's cell, by its letters; the second is a little smaller. */
const firstLines = (a) => {
  const second = `${a.shown} 59m · ${typeOf(a) || ""}`;
  return second.length * 0.86 - 3 > a.name.length ? second.slice(0, second.length * 0.86 - 3) : a.name;
};

export function Agents({ m }) {
  const sorted = ui.sort === "name" ? [...m.agents].sort((a, b) => (a.name < b.name ? -1 : 1)) : m.need;
  const order = useOrder(sorted);
  const items = order.map((a) => ({ id: a.agent, a }));
  return html`
    <section
      class="panel agents"
      aria-label="Agents"
      style=${{ "--nm": wide(m.agents.map(firstLines), 9, 20) }}
      onMouseEnter=${() => {
        ui.hover = true;
      }}
      onMouseLeave=${() => choose({ hover: false })}
    >
      <header>
        <h2>Who is doing what</h2>
        <span class="n">${m.agents.length}</span>
        <span class="sp"></span>
        <select
          class="sel"
          aria-label="Sort agents"
          value=${ui.sort}
          onChange=${(e) => choose({ sort: e.target.value })}
        >
          <option value="need">needs attention first</option>
          <option value="name">by name</option>
        </select>
      </header>
      <${Rows}
        items=${items}
        height=${48}
        label="Agents"
        head=${items.length > 0 && html`
          <div class="ag hd" role="row">
            <span role="columnheader">Agent</span>
            <span role="columnheader">Doing</span>
            <span role="columnheader">Holds</span>
            <span role="columnheader" class="num since">For</span>
            <span role="columnheader" class="num use">Use</span>
          </div>
        `}
        empty=${html`<p class="pad c3">No agents now.</p>`}
        row=${(x) => html`<${AgentRow} key=${x.id} a=${x.a} m=${m} />`}
      />
    </section>
  `;
}
