// Overview: who is doing what now, what is held, who waits for whom, what was contended, the latest events.
import { html } from "./lib.js";
import { S, nameOf } from "./store.js";
import { aboutOf, model } from "./model.js";
import { Down, Icon, Lease, Path, Rows, Said, Up, isLow, wide } from "./parts.js";
import { ui } from "./route.js";
import { Agents } from "./agents.js";
import { Waits } from "./waits.js";
import { Lanes } from "./lanes.js";
import { clock, count, look, says, time } from "./words.js";

/** Icon, tone and label of a claim. */
function claimLook({ c, violated, quiet }) {
  if (violated) return ["viol", "c-bad", "violated"];
  if (quiet) return ["silent", "c-dead", "holder is silent"];
  return c.mode === "write" ? ["held", "c-held", "write"] : ["read", "c-held", c.mode];
}

/** Who waits for a path: the name of one, the number of several. The name of the path comes first. */
function Waiters({ waits }) {
  if (!waits.length) return null;
  const names = waits.map((w) => nameOf(w.agent));
  const title = `${names.join(", ")} ${names.length === 1 ? "waits" : "wait"}`;
  return html`
    <span class=${`tag wait ${names.length > 1 ? "md" : ""}`} title=${title}>
      <${Icon} name="wait" label="waits:" />
      <span class="el">${names.length === 1 ? names[0] : names.length}</span>
    </span>
  `;
}

function ClaimRow({ r, indent, name }) {
  const c = r.c;
  const holder = c.name || nameOf(c.agent);
  const [icon, tone, label] = claimLook(r);
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
        <${Icon} name=${icon} tone=${tone} label=${label} />
        ${name}
        ${c.mode !== "write" && html`<span class="tag md">${c.mode}</span>`}
        <${Waiters} waits=${r.waits} />
      </span>
      <span class="by el" role="gridcell" title=${holder}>${holder}</span>
      <span role="gridcell"><${Lease} claim=${c} violated=${r.violated} quiet=${r.quiet} /></span>
      <span class=${`left ${isLow(c) ? "c-wait" : ""}`} role="gridcell"><${Down} until=${c.expires_at} /></span>
    </div>
  `;
}

const WaiterRow = ({ r, indent, name }) => html`
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
    <span class="left" role="gridcell"><${Up} at=${r.w.since} /></span>
  </div>
`;

const PoolRow = ({ r, name }) => html`
  <div class="tr dir" role="row" data-row tabindex="-1" data-open=${`file:${r.path}`}>
    <span class="nm" role="gridcell">
      <${Icon} name="dir" />${name}
      <span class=${`nw ${r.pool.taken < r.pool.size ? "c3" : "c-wait"}`}>${`${r.pool.taken} of ${r.pool.size}`}</span>
      <${Waiters} waits=${r.waits} />
    </span>
  </div>
`;

function TreeRow({ r }) {
  const indent = Array.from({ length: r.depth }, (_, i) => html`<i key=${i} class="ind"></i>`);
  const cut = r.name.lastIndexOf("/") + 1;
  const name = html`
    <span class="p" title=${r.path}>
      ${cut > 0 && html`<span class="d">${r.name.slice(0, cut)}</span>`}
      <span class="b">${r.name.slice(cut)}${r.folder ? "/" : ""}</span>
    </span>
  `;
  if (r.pool) return html`<${PoolRow} r=${r} name=${name} />`;
  if (r.c) return html`<${ClaimRow} r=${r} indent=${indent} name=${name} />`;
  if (r.w) return html`<${WaiterRow} r=${r} indent=${indent} name=${name} />`;
  return html`
    <div class="tr dir" role="row">
      <span class="nm" role="gridcell">${indent}<${Icon} name="dir" />${name}</span>
    </div>
  `;
}

function Held({ m }) {
  const rows = [...m.tree.names, ...m.tree.rows];
  const holders = rows.map((r) => (r.c ? r.c.name || nameOf(r.c.agent) : r.w ? nameOf(r.w.agent) : ""));
  return html`
    <section class="panel held" aria-label="Held paths" style=${{ "--by": wide(holders, 6, 18) }}>
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
        <span class="inl"><${Icon} name="free" />Everything else is free</span>
        <span class="inl"><${Icon} name="held" tone="c-held" />write</span>
        <span class="inl"><${Icon} name="read" tone="c-held" />read</span>
        <span class="inl"><${Icon} name="wait" tone="c-wait" />waited for</span>
      </footer>
    </section>
  `;
}

/** What happened, in a sentence; until the server has said it, the kind and its facts. */
function EventText({ e }) {
  if (e.text) return html`<${Said} text=${e.text} />`;
  const about = aboutOf(e);
  return html`
    <b>${e.name || e.agent}</b> <span class="c2">${e.kind.replace(".", " ")}</span>${" "}
    ${about && about !== e.agent && html`<code>${about}</code>`} <span class="c3">${says(e)}</span>
  `;
}

export function EventRow({ e }) {
  const [icon, tone] = look(e);
  return html`
    <li class="ev" data-row tabindex="-1" data-open=${`ev:${e.seq}`} data-ag=${e.agent}>
      <span class="t" title=${clock(time(e.at))}><${Up} at=${e.at} /></span>
      <${Icon} name=${icon} tone=${tone} />
      <span class="x"><${EventText} e=${e} /></span>
    </li>
  `;
}

function Fought({ m }) {
  const most = Math.max(3, ...m.fought.slice(0, 8).map((f) => f.waits + f.refused));
  return html`
    <section class="panel cont" aria-label="Contention">
      <header>
        <h2 title="in the last two hours">Most contended</h2>
        <span class="sp"></span>
        <span class="legend">
          <span><i class="sw w8 wf"></i>waits</span>
          <span><i class="sw w8 l2"></i>refused</span>
        </span>
      </header>
      <ul class="scroll pad4">
        ${m.fought.length === 0 && html`<li class="pad c3">Nothing was waited for or refused.</li>`}
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
              <span class="t" title=${clock(k.at)}><${Up} at=${k.at} /></span>
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
  const large = innerWidth >= 2200 && innerHeight >= 1200;
  return html`
    <div class="ov">
      <${Agents} m=${m} />
      <${Held} m=${m} />
      <section class="panel waits" aria-label="Who waits for whom">
        <header>
          <h2>Who waits for whom</h2>
          <span class="n">${m.waits.length}</span>
          <span class="sp"></span>
          <a class="btn q" href="#/waits">Waits</a>
        </header>
        <div class="scroll" tabindex="0"><${Waits} m=${m} /></div>
      </section>
      <${Fought} m=${m} />
      <${Latest} />
      ${large && html`
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
