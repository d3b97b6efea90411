// The stories of an agent, a path and a task: its facts, what it holds and waits for.
import { html, useEffect, useState } from "./lib.js";
import { S, asked, nameOf } from "./store.js";
import { covers, model } from "./model.js";
import { Agent, Button, Down, Icon, Lease, Path, Resource, STATES, StateWord, Up } from "./parts.js";
import { Facts, Head, Story } from "./story.js";
import { aboutFile } from "./sentences.js";
import { bytes, clock, count, dur, resourceText, time } from "./words.js";

export function OfAgent({ id, act }) {
  const m = model();
  const a =
    m.agents.find((x) => x.agent === id) ||
    (S.agents.get(id) && {
      ...S.agents.get(id),
      shown: S.agents.get(id).state === "killed" ? "killed" : "idle",
    });
  const held = m.byAgent.get(id) || [];
  const task = m.taskOf.get(id);
  const wait = m.waitOf.get(id);
  const blocks = m.blocks.get(id) || [];
  const [icon, tone] = a ? STATES[a.shown] : ["dead", "c-dead"];
  const where = a
    ? [a.client, a.type, a.host_name, a.pid && `process ${a.pid}`].filter(Boolean).join(", ")
    : "no longer here";
  return html`
    <${Head} icon=${icon} tone=${tone} note=${where || `agent ${id}`}>${a?.name || id}<//>
    <div class="acts mut-act">
      ${a?.shown === "killed"
        ? html`<${Button} act=${act} action=${`revive:${id}`} op="revive" cls="pri">Revive…<//>`
        : html`
            <${Button} act=${act} action=${`msg:${id}`} op="send">Message<//>
            <${Button} act=${act} action=${`kill:${id}`} op="kill" cls="dng">Kill…<//>
          `}
    </div>
    <div class="bd0" tabindex="-1">
      ${a && html`
        <${Facts}
          rows=${[
            ["State", html`<span class=${tone}><${StateWord} agent=${a} wait=${wait} /></span>`],
            wait && [
              "Waits for",
              html`
                <${Resource} path=${wait.resources[0]} />
                ${wait.holders.length > 0 && html` held by${" "}
                  ${wait.holders.map((h) => html`<${Agent} key=${h.agent} id=${h.agent} /> `)}
                `}
              `,
            ],
            blocks.length > 0 && [
              "Holds up",
              blocks.map((w) => html`<${Agent} key=${w.agent} id=${w.agent} /> `),
            ],
            [
              "Task",
              task
                ? html`
                    <button class="lnk" data-open=${`task:${task.id}`}>${task.title || task.id}</button>
                    ${task.progress !== undefined ? `, ${task.progress}%` : ""},${" "}
                    <${Up} at=${task.started_at} fine=${false} />
                  `
                : "none",
            ],
            a.killed && ["Killed", a.killed],
            [
              "Rules",
              a.rules === "old"
                ? html`<span class="tag wait">acting on old rules</span>`
                : a.rules === "not told"
                  ? "not shown yet"
                  : "current version",
            ],
            a.breaker &&
              a.breaker !== "closed" && ["Breaker", html`<span class="tag wait">${a.breaker}</span>`],
            ["Last heard", html`<${Up} at=${a.last_seen} /> ago`],
            [
              "Use",
              a.cpu === undefined
                ? "not visible from here"
                : `${Math.round(a.cpu)} % of a core, ${bytes(a.memory)}B`,
            ],
          ]}
        />
      `}
      <h3>Holds <span>${held.length}</span></h3>
      <ul>
        ${held
          .slice(0, 100)
          .map(
            (c) => html`
              <li class="tr" key=${c.claim} data-open=${`file:${c.resources[0]}`}>
                <span class="nm">
                  <${Icon} name=${c.mode === "write" ? "held" : "read"} tone="c-held" />
                  <span class="el">${c.resources.join(", ")}</span>
                </span>
                <span></span>
                <span><${Lease} claim=${c} /></span>
                <span class="left"><${Down} until=${c.expires_at} /></span>
              </li>
            `,
          )}
        ${!held.length && html`<li class="c3 pad">nothing</li>`}
      </ul>
      <${Story}
        id=${id}
        about=${`agent:${id}`}
        query=${a ? { agent: id } : null}
        test=${(e) =>
          e.agent === id ||
          e.subject === id ||
          e.data?.holder === id ||
          (e.data?.blockers || []).some?.((b) => b.agent === id || b.holder === id)}
      />
    </div>
  `;
}

export function OfFile({ id, act }) {
  const m = model();
  const found = m.claims.filter((c) => c.resources.some((r) => covers(r, id)));
  const c = found[0];
  const waits = m.waits.filter((w) => w.resources.some((r) => covers(id, r) || covers(r, id)));
  const mine = new Set(found.map((x) => x.claim));
  const hurt = m.violated.has(id);
  return html`
    <${Head}
      icon=${hurt ? "viol" : c ? "held" : "free"}
      tone=${hurt ? "c-bad" : c ? "c-held" : "c3"}
      note=${c
        ? `held by ${c.name || nameOf(c.agent)} since ${clock(time(c.since), false)}, token ${c.token}`
        : "free"}
    >
      <${Path} path=${id} />
    <//>
    <div class="acts mut-act">
      ${hurt && html`<${Button} act=${act} action=${`restore:${id}`} op="restore">Restore…<//>`}
      ${c && html`
        <${Button} act=${act} action=${`ask:${c.resources.find((r) => covers(r, id))}`} op="ask">
          Ask ${c.name || nameOf(c.agent)} to release
        <//>
        <${Button}
          act=${act}
          action=${`release:${c.resources.find((r) => covers(r, id))}`}
          op="release"
          cls="dng"
        >
          Force release…
        <//>
      `}
    </div>
    <div class="bd0" tabindex="-1">
      <${Facts}
        rows=${[
          ...found
            .slice(0, 5)
            .map((x, i) => [
              i ? `Also ${i}` : "Holder",
              html`
                <${Agent} id=${x.agent} />, ${x.mode}
                ${x.resources.includes(id) ? "" : html`, by <${Path} path=${x.resources[0]} />`}
              `,
            ]),
          c?.expires_at && [
            "Ends",
            html`${clock(time(c.expires_at), false)}, in <${Down} until=${c.expires_at} fine=${true} />`,
          ],
          c?.expected && ["Expected", html`${dur(c.expected)}, so far <${Up} at=${c.since} fine=${false} />`],
          c && [
            "For",
            c.reason ||
              (c.task
                ? html`<button class="lnk" data-open=${`task:${c.task}`}>${c.task}</button>`
                : "not given"),
          ],
          [
            "Waiting",
            waits.length
              ? waits.map(
                  (w) => html`
                    <span key=${w.agent}>
                      <${Agent} id=${w.agent} /> <span class="c-wait"><${Up} at=${w.since} /></span>${" "}
                    </span>
                  `,
                )
              : "nobody",
          ],
        ]}
      />
      <${Story}
        id=${id}
        about=${aboutFile(id)}
        query=${{ path: [id] }}
        test=${(e) =>
          e.subject === id ||
          mine.has(e.subject) ||
          (e.data?.resources || S.resources.get(e.subject) || []).some?.((r) => resourceText(r) === id)}
      />
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
      <button class="lnk" data-open=${`task:${x}`}>${x}</button>${" "}
      <span class="c3">${S.tasks.get(x)?.state || ""}</span>${" "}
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
          ["Added", html`<${Up} at=${t.created_at} fine=${false} /> ago`],
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
