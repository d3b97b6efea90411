// Overview: who is doing what now, what is held, who waits for whom, what was fought over, the latest events.
import { html, useRef } from "./lib.js";
import { S, nameOf, now } from "./store.js";
import { model } from "./model.js";
import { Down, Icon, Lease, Path, Progress, Rows, STATES, StateWord, Up, isLow } from "./parts.js";
import { Lanes } from "./timeline.js";
import { choose, ui } from "./route.js";
import { baseName, bytes, clock, count, dur, look, resourceText, says, time } from "./words.js";

function AgentRow({ a, m }) {
  const task = m.taskOf.get(a.agent);
  const wait = m.waitOf.get(a.agent);
  const blocked = m.blocks.get(a.agent) || [];
  const held = (m.byAgent.get(a.agent) || []).filter((c) => !c.task);
  const files = held.flatMap((c) => c.resources);
  const next = held
    .filter((c) => c.expires_at)
    .reduce((x, c) => (!x || c.expires_at < x.expires_at ? c : x), null);
  const [icon, tone] = STATES[a.shown];
  const over = held.find((c) => c.expected && now() - time(c.since) > c.expected * 1000);
  const hurt = files.find((r) => m.violated.has(r));
  const note = task?.note || "";
  return html`
    <div
      key=${a.agent}
      class=${`ag s-${a.shown}`}
      role="row"
      data-row
      tabindex="-1"
      data-open=${`agent:${a.agent}`}
      data-ag=${a.agent}
      data-hl=${a.agent}
    >
      <div role="gridcell">
        <div class="l1">
          <${Icon} name=${icon} tone=${tone} />
          <span class="nm el">${a.name}</span>
          <span class="c3 el">${a.client || (a.kind === "person" ? "person" : a.type)}</span>
        </div>
        <div class="l2">
          <span class=${`el ${a.shown === "working" || a.shown === "idle" ? "c3" : tone}`}>
            <${StateWord} agent=${a} wait=${wait} />
          </span>
        </div>
      </div>
      <div role="gridcell">
        <div class="l1">
          ${task
            ? html`
                <span class="el">${task.title || task.id}</span>
                ${task.progress !== undefined && html`
                  <${Progress} value=${task.progress} />
                  <span class="c3 nw">${task.progress}%</span>
                `}
              `
            : html`<span class="c3">no task</span>`}
        </div>
        <div class="l2">
          ${wait
            ? html`
                <span class="c-wait nw">for</span>
                <${Path} path=${wait.resources[0]} />
                ${wait.holders.length > 0 && html`
                  <span class="nw">of <b>${nameOf(wait.holders[0].agent)}</b></span>
                `}
              `
            : hurt
              ? html`
                  <span class="c-bad nw inl">
                    <${Icon} name="viol" />
                    ${baseName(hurt)} was changed by another
                  </span>
                `
              : blocked.length
                ? html`
                    <span class="c-wait nw">
                      holds up${" "}
                      ${blocked
                        .slice(0, 3)
                        .map((w) => nameOf(w.agent))
                        .join(", ")}
                      ${blocked.length > 3 ? ` +${blocked.length - 3}` : ""}
                    </span>
                    ${over && html`
                      <span class="el">
                        · ${dur((now() - time(over.since)) / 1000)}, expected ${dur(over.expected)}
                      </span>
                    `}
                  `
                : html`
                    <span class="el">
                      ${note ||
                      (a.killed
                        ? a.killed
                        : (held[0]?.reason !== task?.title &&
                            held[0]?.reason !== task?.id &&
                            held[0]?.reason) ||
                          "")}
                    </span>
                  `}
        </div>
      </div>
      <div class="fl" role="gridcell">
        <div class="l1">
          ${files.length
            ? html`
                <${Path} path=${files[0]} />
                ${files.length > 1 && html`<span class="c3 nw">+${files.length - 1}</span>`}
              `
            : html`<span class="c3">nothing held</span>`}
        </div>
        ${next && html`
          <div class="l2 c3">
            <span class="el">next ends <${Down} until=${next.expires_at} fine=${true} /></span>
          </div>
        `}
      </div>
      <div class="num since" role="gridcell">
        <span><${Up} at=${task?.started_at || a.since} fine=${false} /></span>
        ${a.cpu !== undefined && html`<span class="u2">${Math.round(a.cpu)}% ${bytes(a.memory)}</span>`}
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

function Agents({ m }) {
  const sorted = ui.sort === "name" ? [...m.agents].sort((a, b) => (a.name < b.name ? -1 : 1)) : m.need;
  const order = useOrder(sorted);
  const items = order.map((a) => ({ id: a.agent, a }));
  return html`
    <section
      class="panel agents"
      aria-label="Agents"
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
          <option value="need">what needs me first</option>
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
            <span role="columnheader">Task</span>
            <span role="columnheader">Holds</span>
            <span role="columnheader" class="num since">For</span>
            <span role="columnheader" class="num use">Use</span>
          </div>
        `}
        empty=${html`<p class="pad c3">No agent is here now.</p>`}
        row=${(x) => html`<${AgentRow} key=${x.id} a=${x.a} m=${m} />`}
      />
    </section>
  `;
}

function TreeRow({ r }) {
  const indent = Array.from({ length: r.depth }, (_, i) => html`<i key=${i} class="ind"></i>`);
  const cut = r.name.lastIndexOf("/") + 1;
  const name = html`
    <span class="el" title=${r.path}>
      ${cut > 0 && html`<span class="c3">${r.name.slice(0, cut)}</span>`}
      ${r.name.slice(cut)}
      ${r.folder ? "/" : ""}
    </span>
  `;
  if (r.c) {
    const c = r.c;
    const low = isLow(c);
    const icon = r.violated
      ? ["viol", "c-bad", "violated"]
      : r.quiet
        ? ["silent", "c-dead", "holder is silent"]
        : c.mode === "write"
          ? ["held", "c-held", "write"]
          : ["read", "c-held", c.mode];
    return html`
      <div
        class="tr"
        role="row"
        data-row
        tabindex="-1"
        data-open=${`file:${r.path}`}
        data-ag=${c.agent}
        data-hl=${c.agent}
      >
        <span class="nm" role="gridcell">
          ${indent}
          <${Icon} name=${icon[0]} tone=${icon[1]} label=${icon[2]} />
          ${name}
          ${c.mode !== "write" && html`<span class="tag">${c.mode}</span>`}
          ${r.waits
            .slice(0, 2)
            .map(
              (w) => html`
                <span key=${w.agent} class="tag wait" title=${`${nameOf(w.agent)} waits`}>
                  <${Icon} name="wait" label="waits:" />
                  ${nameOf(w.agent)}
                </span>
              `,
            )}
          ${r.waits.length > 2 && html`<span class="tag wait">+${r.waits.length - 2}</span>`}
        </span>
        <span class="by el" role="gridcell" title=${c.name || nameOf(c.agent)}>
          ${c.name || nameOf(c.agent)}
        </span>
        <span role="gridcell"><${Lease} claim=${c} violated=${r.violated} quiet=${r.quiet} /></span>
        <span class=${`left ${low ? "c-wait" : ""}`} role="gridcell"><${Down} until=${c.expires_at} /></span>
      </div>
    `;
  }
  if (r.w) {
    return html`
      <div
        class="tr w"
        role="row"
        data-row
        tabindex="-1"
        data-open=${`file:${r.path}`}
        data-ag=${r.w.agent}
        data-hl=${r.w.agent}
      >
        <span class="nm" role="gridcell">
          ${indent}
          <${Icon} name="wait" tone="c-wait" label="waited for" />
          ${name}
        </span>
        <span class="by el" role="gridcell">${nameOf(r.w.agent)}</span>
        <span class="nw c-wait" role="gridcell">waits</span>
        <span class="left" role="gridcell"><${Up} at=${r.w.since} fine=${false} /></span>
      </div>
    `;
  }
  return html`
    <div class="tr dir" role="row">
      <span class="nm" role="gridcell">${indent}<${Icon} name="dir" />${name}</span>
    </div>
  `;
}

function Held({ m }) {
  const rows = [...m.tree.names, ...m.tree.rows];
  return html`
    <section class="panel held" aria-label="Held paths">
      <header>
        <h2>Held</h2>
        <span class="n">
          ${count(m.claims.length, "claim")}
          ${m.tree.tasks ? `, ${m.tree.tasks} of them for tasks` : ""}
        </span>
      </header>
      <${Rows}
        items=${rows}
        height=${ui.phone ? 32 : 23}
        cls="pad4"
        label="Held paths"
        empty=${html`<p class="pad c3">Nothing is held: every path is free.</p>`}
        row=${(r) => html`<${TreeRow} key=${r.id} r=${r} />`}
      />
      <footer>
        <span class="inl"><${Icon} name="free" />All else is free</span>
        <span class="inl"><${Icon} name="held" tone="c-held" />write</span>
        <span class="inl"><${Icon} name="read" tone="c-held" />read</span>
        <span class="inl"><${Icon} name="wait" tone="c-wait" />waited for</span>
      </footer>
    </section>
  `;
}

/** One waiter, or one step of a refused deadlock. */
export function WaitRow({ agent, resource, holder, at, refused = false, claim = null }) {
  return html`
    <li class="wr" data-row tabindex="-1" data-open=${`file:${resource}`} data-ag=${agent} data-hl=${agent}>
      <b class="el">${nameOf(agent)}</b>
      <span class="arr">
        <span class=${refused ? "c-bad" : "c-wait"}>${refused ? "was refused" : "waits"}</span>
        ${holder && html`<span class="c2">for</span><b class="el">${nameOf(holder)}</b>`}
      </span>
      <span class=${`nw ${refused ? "c-bad" : "c-wait"}`}><${Up} at=${at} />${refused ? " ago" : ""}</span>
      <span class="l2">
        <${Path} path=${resource} />
        ${claim?.expires_at && html`
          <span class="c3 nw">
            ${claim.resource !== resource ? `in ${claim.resource}, ` : ""}
            <${Down} until=${claim.expires_at} /> left
          </span>
        `}
      </span>
    </li>
  `;
}

/** Deadlocks kept together, then who waits by itself. Also for the graph, with ways out between them. */
export function Waits({ m, after = null, most = 60 }) {
  if (!m.waits.length && !m.deadlocks.length) {
    return html`<div class="ch"><div class="cap c-ok"><${Icon} name="ok" />Nobody waits</div></div>`;
  }
  const inside = new Set(m.deadlocks.flatMap((d) => d.steps.map((s) => s.agent)));
  return html`
    ${m.deadlocks.map(
      (d) => html`
        <div class="ch cyc" key=${`d${d.seq}`}>
          <div class="cap c-bad">
            <${Icon} name="cycle" />
            Deadlock of${" "}
            ${d.steps.length}, refused${d.seq > 0 && html` <button class="lnk c3" data-open=${`ev:${d.seq}`}>
                #${d.seq}
              </button>
            `}
          </div>
          <ul>
            ${d.steps.map((s) => {
              const w = m.waitOf.get(s.agent);
              const me = s.agent === d.agent && !w;
              return html`
                <${WaitRow}
                  key=${s.agent}
                  agent=${s.agent}
                  resource=${w?.resources[0] || s.resource}
                  holder=${s.holder}
                  at=${me ? d.at : w?.since || s.since}
                  refused=${me}
                  claim=${w?.holders[0]}
                />
              `;
            })}
          </ul>
          ${after && after(d)}
        </div>
      `,
    )}
    ${m.waits
      .filter((w) => !inside.has(w.agent))
      .slice(0, most)
      .map(
        (w) => html`
          <div class="ch one" key=${`${w.agent} ${w.resources[0]}`}>
            <ul>
              <${WaitRow}
                agent=${w.agent}
                resource=${w.resources[0]}
                holder=${w.holders[0]?.agent}
                at=${w.since}
                claim=${w.holders[0]}
              />
            </ul>
          </div>
        `,
      )}
    ${m.waits.length > most && html`<p class="pad c3">and ${m.waits.length - most} more</p>`}
  `;
}

export function EventRow({ e }) {
  const [icon, tone] = look(e);
  const about = aboutOf(e);
  return html`
    <li class="ev" data-row tabindex="-1" data-open=${`ev:${e.seq}`} data-ag=${e.agent}>
      <span class="t">${clock(time(e.at))}</span>
      <${Icon} name=${icon} tone=${tone} />
      <span class="x">
        <b>${e.name || e.agent}</b> <span class="c2">${e.kind.replace(".", " ")}</span>${" "}
        ${about && about !== e.agent && html`<code>${about}</code>`} <span class="c3">${says(e)}</span>
      </span>
    </li>
  `;
}

/** What an event is about, as people know it: the path of a claim, not its id. */
export function aboutOf(e) {
  if (e.data?.resources?.length) return e.data.resources.map(resourceText).slice(0, 2).join(", ");
  if (S.resources.has(e.subject)) return S.resources.get(e.subject).slice(0, 2).join(", ");
  if (e.data?.sides) return e.data.sides.join(" and "); // two worktrees, of the radar
  if (e.data?.branch && e.kind.startsWith("landing.")) return e.data.branch;
  return e.subject === e.agent ? "" : e.subject_name || nameOf(e.subject);
}

function Fought({ m }) {
  const most = Math.max(3, ...m.fought.slice(0, 8).map((f) => f.waits + f.refused));
  return html`
    <section class="panel cont" aria-label="Contention">
      <header>
        <h2>Fought over</h2>
        <span class="n">last 2 h</span>
        <span class="sp"></span>
        <span class="legend">
          <span><i class="sw w8 wf"></i>waits</span>
          <span><i class="sw w8 l2"></i>refused</span>
        </span>
      </header>
      <ul class="scroll pad4">
        ${m.fought.length === 0 && html`<li class="cb c3">Nothing</li>`}
        ${m.fought
          .slice(0, 8)
          .map(
            (f) => html`
              <li key=${f.resource} class="cb" data-row tabindex="-1" data-open=${`file:${f.resource}`}>
                <${Path} path=${f.resource} />
                <span class="bar" title=${`${count(f.waits, "wait")}, ${count(f.refused, "refusal")}`}>
                  <i
                    class="wf"
                    style=${{ flex: `0 0 ${(60 * f.waits) / most}px`, background: "var(--wait-f)" }}
                  ></i>
                  <i style=${{ flex: `0 0 ${(60 * f.refused) / most}px`, background: "var(--line2)" }}></i>
                </span>
                <span class="num">${f.waits + f.refused}</span>
              </li>
            `,
          )}
      </ul>
    </section>
  `;
}

function Latest() {
  const list = S.events.slice(-40).reverse();
  const marks = S.marks.slice(-3).reverse();
  return html`
    <section class="panel recent" aria-label="Latest events">
      <header><h2>Latest</h2><span class="sp"></span><a class="btn q" href="#/log">Log</a></header>
      <ul class="scroll pad4">
        ${marks.map(
          (k) => html`
            <li key=${`m${k.at}`} class="ev c-held">
              <span class="t">${clock(k.at)}</span>
              <${Icon} name="ok" />
              <span class="x" title=${k.text}>${k.text}</span>
            </li>
          `,
        )}
        ${list.map((e) => html`<${EventRow} key=${e.seq} e=${e} />`)}
      </ul>
    </section>
  `;
}

export function Overview() {
  const m = model();
  const wide = innerWidth >= 2200 && innerHeight >= 1200;
  return html`
    <div class="ov">
      <${Agents} m=${m} />
      <${Held} m=${m} />
      <section class="panel waits" aria-label="Who waits for whom">
        <header>
          <h2>Who waits for whom</h2>
          <span class="n">${m.waits.length}</span>
          <span class="sp"></span>
          <a class="btn q" href="#/graph">Graph</a>
        </header>
        <div class="scroll" tabindex="0"><${Waits} m=${m} /></div>
      </section>
      <${Fought} m=${m} />
      <${Latest} />
      ${wide && html`
        <section class="panel mini" aria-label="Timeline by agent">
          <header>
            <h2>Last two hours</h2>
            <span class="n">what each agent held</span>
            <span class="sp"></span>
            <a class="btn q" href="#/timeline?by=agent">Timeline</a>
          </header>
          <div class="scroll"><${Lanes} by="agent" range=${[-120, 30]} /></div>
        </section>
      `}
    </div>
  `;
}

export function Empty({ act }) {
  const cmd = (c) => html`
    <div class="cmd">
      <span>${c}</span>
      <button class="btn q" aria-label=${`Copy ${c}`} onClick=${() => act(`copy:${c}`)}>Copy</button>
    </div>
  `;
  return html`
    <div class="mt">
      <h2>No agent has called here yet</h2>
      <p>
        As soon as an agent edits a file, claims a path or takes a task, it appears here. No reload is needed.
      </p>
      <ol>
        <li>
          <span>Put dibs before your agents: hooks for the clients and for git.</span>
          ${cmd("dibs init --clients claude,codex")}
        </li>
        <li><span>See whether each guard refuses a forbidden write.</span>${cmd("dibs doctor")}</li>
        <li><span>Or watch a dozen agents at work first, for a minute.</span>${cmd("dibs demo --serve")}</li>
      </ol>
    </div>
  `;
}
