// The stories of an agent, a path and a task: its facts, what it holds and waits for.
import { html, useEffect, useState } from "./lib.js";
import { S, asked, nameOf } from "./store.js";
import { covers, doing, model } from "./model.js";
import { Agent, Button, Down, Icon, Lease, Path, Resource, STATES, StateWord, Up } from "./parts.js";
import { Facts, Head, Story } from "./story.js";
import { aboutFile } from "./sentences.js";
import { bytes, clock, count, dur, resourceText, time } from "./words.js";

const Agents = ({ ids }) => ids.map((id) => html`<${Agent} key=${id} id=${id} /> `);
const TaskLink = ({ id, title = id }) => html`<button class="lnk" data-open=${`task:${id}`}>${title}</button>`;

/** An agent of the list; one that has left it or was killed as the server knows it. */
function agentOf(m, id) {
  const a = S.agents.get(id);
  return m.agents.find((x) => x.agent === id) || (a && { ...a, shown: a.state === "killed" ? "killed" : "idle" });
}

const WaitsFor = ({ wait }) => html`
  <${Resource} path=${wait.resources[0]} />
  ${wait.holders.length > 0 && html` held by <${Agents} ids=${wait.holders.map((h) => h.agent)} />`}
`;

const WorksOn = ({ task }) => html`
  <${TaskLink} id=${task.id} title=${task.title || task.id} />
  ${task.progress !== undefined ? `, ${task.progress}%` : ""}, <${Up} at=${task.started_at} />
`;

function rulesOf(a) {
  if (a.rules === "old") return html`<span class="tag wait">acting on old rules</span>`;
  return a.rules === "not told" ? "not shown yet" : "current version";
}

function agentFacts(a, m, tone) {
  const task = m.taskOf.get(a.agent);
  const wait = m.waitOf.get(a.agent);
  const blocked = m.blocks.get(a.agent) || [];
  const use = a.cpu === undefined ? "not visible from here" : `${Math.round(a.cpu)} % of a core, ${bytes(a.memory)}B`;
  return [
    ["State", html`<span class=${tone}><${StateWord} agent=${a} wait=${wait} /></span>`],
    wait && ["Waits for", html`<${WaitsFor} wait=${wait} />`],
    blocked.length > 0 && ["Holds up", html`<${Agents} ids=${blocked.map((w) => w.agent)} />`],
    ["Doing", task ? html`<${WorksOn} task=${task} />` : doing(a, m) || "no task"],
    a.killed && ["Killed", a.killed],
    ["Rules", rulesOf(a)],
    a.breaker && a.breaker !== "closed" && ["Breaker", html`<span class="tag wait">${a.breaker}</span>`],
    ["Last heard", html`<${Up} at=${a.last_seen} /> ago`],
    ["Use", use],
  ];
}

const HeldRow = ({ c }) => html`
  <li class="tr" data-open=${`file:${c.resources[0]}`}>
    <span class="nm">
      <${Icon} name=${c.mode === "write" ? "held" : "read"} tone="c-held" />
      <span class="el">${c.resources.join(", ")}</span>
    </span>
    <span></span>
    <span><${Lease} claim=${c} /></span>
    <span class="left"><${Down} until=${c.expires_at} /></span>
  </li>
`;

const isAboutAgent = (e, id) =>
  e.agent === id ||
  e.subject === id ||
  e.data?.holder === id ||
  (e.data?.blockers || []).some?.((b) => b.agent === id || b.holder === id);

export function OfAgent({ id, act }) {
  const m = model();
  const a = agentOf(m, id);
  const held = m.byAgent.get(id) || [];
  const [icon, tone] = (a && STATES[a.shown]) || ["dead", "c-dead"];
  const where = a
    ? [a.client, a.type, a.host_name, a.pid && `process ${a.pid}`].filter(Boolean).join(", ")
    : "no longer here";
  return html`
    <${Head} icon=${icon} tone=${tone} note=${where || `agent ${id}`}>${a?.name || id}<//>
    <div class="acts mut-act">
      ${a?.shown === "killed"
        ? html`<${Button} act=${act} action=${`revive:${id}`} op="revive" cls="pri">Revive…<//>`
        : html`
            <${Button} act=${act} action=${`msg:${id}`} op="send">Message…<//>
            ${"diff" in (S.me?.may || {}) && html`
              <${Button} act=${act} action=${`diff:${id}`} op="diff">Show diff<//>
            `}
            ${"handover" in (S.me?.may || {}) && html`
              <${Button} act=${act} action=${`handover:${id}`} op="handover">Hand to…<//>
            `}
            <${Button} act=${act} action=${`kill:${id}`} op="kill" cls="dng">Kill…<//>
          `}
    </div>
    <div class="bd0" tabindex="-1">
      ${a && html`<${Facts} rows=${agentFacts(a, m, tone)} />`}
      <h3>Holds <span>${held.length}</span></h3>
      <ul>
        ${held.slice(0, 100).map((c) => html`<${HeldRow} key=${c.claim} c=${c} />`)}
        ${!held.length && html`<li class="c3 pad">nothing</li>`}
      </ul>
      <${Story}
        id=${id}
        about=${`agent:${id}`}
        query=${a ? { agent: id } : null}
        test=${(e) => isAboutAgent(e, id)}
      />
    </div>
  `;
}

const Holder = ({ c, path }) => html`
  <${Agent} id=${c.agent} />, ${c.mode}
  ${c.resources.includes(path) ? "" : html`, by <${Path} path=${c.resources[0]} />`}
`;

const Waiter = ({ w }) => html`
  <span><${Agent} id=${w.agent} /> <span class="c-wait"><${Up} at=${w.since} /></span> </span>
`;

function fileFacts(path, claims, waits) {
  const c = claims[0];
  const ends = c?.expires_at;
  return [
    ...claims.slice(0, 5).map((x, i) => [i ? `Also ${i}` : "Holder", html`<${Holder} c=${x} path=${path} />`]),
    ends && ["Ends", html`${clock(time(ends), false)}, in <${Down} until=${ends} />`],
    c?.expected && ["Expected", html`${dur(c.expected)}, so far <${Up} at=${c.since} />`],
    c && ["For", c.reason || (c.task ? html`<${TaskLink} id=${c.task} />` : "not given")],
    ["Waiting", waits.length ? waits.map((w) => html`<${Waiter} key=${w.agent} w=${w} />`) : "nobody"],
  ];
}

export function OfFile({ id, act }) {
  const m = model();
  const claims = m.claims.filter((c) => c.resources.some((r) => covers(r, id)));
  const c = claims[0];
  const holder = c && (c.name || nameOf(c.agent));
  const resource = c?.resources.find((r) => covers(r, id));
  const waits = m.waits.filter((w) => w.resources.some((r) => covers(id, r) || covers(r, id)));
  const mine = new Set(claims.map((x) => x.claim));
  const violated = m.violated.has(id);
  const [icon, tone] = violated ? ["viol", "c-bad"] : c ? ["held", "c-held"] : ["free", "c3"];
  const note = c ? `held by ${holder} since ${clock(time(c.since), false)}, token ${c.token}` : "free";
  const isAbout = (e) =>
    e.subject === id ||
    mine.has(e.subject) ||
    (e.data?.resources || S.resources.get(e.subject) || []).some?.((r) => resourceText(r) === id);
  return html`
    <${Head} icon=${icon} tone=${tone} note=${note}><${Path} path=${id} /><//>
    <div class="acts mut-act">
      ${violated && html`<${Button} act=${act} action=${`restore:${id}`} op="restore">Restore…<//>`}
      ${c && html`
        <${Button} act=${act} action=${`ask:${resource}`} op="ask">Ask ${holder} to release<//>
        <${Button} act=${act} action=${`release:${resource}`} op="release" cls="dng">Force release…<//>
      `}
    </div>
    <div class="bd0" tabindex="-1">
      <${Facts} rows=${fileFacts(id, claims, waits)} />
      <${Story} id=${id} about=${aboutFile(id)} query=${{ path: [id] }} test=${isAbout} />
    </div>
  `;
}

export function OfTask({ id, act }) {
  const [full, setFull] = useState(null);
  const m = model();
  const t = S.tasks.get(id);
  const state = t?.state;
  const live = S.phase === "live";
  useEffect(
    () => (live ? asked("task show", { id }, (x) => setFull(x.task || x)) : undefined),
    [id, state, live],
  );
  if (!t) {
    return html`
      <${Head} icon="task" note="not in the list">${id}<//>
      <div class="bd0"><${Story} id=${id} about=${`task:${id}`} test=${(e) => e.subject === id} /></div>
    `;
  }
  const link = (x) => html`
    <span key=${x}>
      <${TaskLink} id=${x} /> <span class="c3">${S.tasks.get(x)?.state || ""}</span>${" "}
    </span>
  `;
  const after = t.after || full?.after || [];
  const before = m.tasks.filter((x) => (x.after || []).includes(id)).map((x) => x.id);
  const over = ["complete", "cancelled"].includes(state);
  return html`
    <${Head} icon="task" note=${`${t.id}, ${t.state}, priority ${t.priority}, added by ${t.by}`}>
      ${t.title || t.id}
    <//>
    <div class="acts mut-act">
      ${["failed", "quarantined", "cancelled", "discovery", "scoped"].includes(state) && html`
        <${Button} act=${act} action=${`requeue:${id}`} op="task move">Requeue…<//>
      `}
      ${!over && html`<${Button} act=${act} action=${`edittask:${id}`} op="task edit">Edit…<//>`}
      ${!over && html`<${Button} act=${act} action=${`cancel:${id}`} op="task cancel" cls="dng">Cancel…<//>`}
    </div>
    <div class="bd0" tabindex="-1">
      <${Facts}
        rows=${[
          ["State", `${t.state}${t.progress !== undefined ? `, ${t.progress}%` : ""}`],
          t.agent && ["Agent", html`<${Agent} id=${t.agent} />`],
          ["Attempt", `${t.attempt} of ${t.max_attempts}`],
          ["After", after.length ? after.map(link) : t.waits_for ? count(t.waits_for, "task") : "nothing"],
          ["Before", before.length ? before.slice(0, 20).map(link) : "nothing"],
          t.run && ["Run", t.run],
          (full?.notes || []).length > 0 && ["Last note", full.notes.at(-1).text],
          (t.why || full?.why) && ["Why", t.why || full.why],
          ["Added", html`<${Up} at=${t.created_at} /> ago`],
        ]}
      />
      <${Story}
        id=${id}
        about=${`task:${id}`}
        query=${{ path: [`task:${id}`] }}
        test=${(e) =>
          e.subject === id ||
          e.subject === `task:${id}` ||
          (S.resources.get(e.subject) || []).includes(`task:${id}`)}
      />
    </div>
  `;
}
