// The drawer: the story of one agent, path, task or event. Its facts, what it holds and waits for, all events about it.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./lib.js";
import { S, asked, nameOf } from "./store.js";
import { covers, model } from "./model.js";
import { Agent, Button, Down, Icon, Lease, Path, Resource, STATES, StateWord, Up } from "./parts.js";
import { aboutOf } from "./overview.js";
import { ALERTS } from "./alerts.js";
import { close } from "./route.js";
import { pairFacts } from "./worktrees.js";
import { aboutFile, useSentences } from "./sentences.js";
import { bytes, clock, count, dur, look, resourceText, says, time } from "./words.js";

const SHOWN = 200; // events of a story; the log has the rest

function Head({ icon, tone, children, note }) {
  const focus = useRef(null);
  useLayoutEffect(() => {
    focus.current?.focus({ preventScroll: true });
  }, []);
  return html`
    <header>
      <h2>${icon && html`<${Icon} name=${icon} tone=${tone} />`}${children}</h2>
      <button class="ib" ref=${focus} aria-label="Close (Esc)" onClick=${close}><${Icon} name="x" /></button>
      <span class="c2">${note}</span>
    </header>
  `;
}

/** Events about one thing: those that are here at once, then what the server's log has of it. */
function Story({ id, test, query, about: what }) {
  const [older, setOlder] = useState([]);
  const live = S.phase === "live";
  useEffect(
    () =>
      query && live ? asked("log", { ...query, limit: SHOWN }, (page) => setOlder(page.events)) : undefined,
    [id, !query, live],
  );
  const found = new Map(older.map((e) => [e.seq, e]));
  for (const e of S.events) {
    if (test(e)) found.set(e.seq, e);
  }
  const list = [...found.values()].sort((a, b) => b.seq - a.seq).slice(0, SHOWN);
  const told = useSentences(what, list[0]?.seq);
  return html`
    <h3>Story <span>${count(list.length, "event")}, newest first</span></h3>
    <ol>
      ${list.map((e) => {
        const [icon, tone] = look(e);
        const about = aboutOf(e);
        return html`
          <li class="st" key=${e.seq}>
            <span class="t">${clock(time(e.at))}</span>
            <${Icon} name=${icon} tone=${tone} />
            <span class="x">
              ${told.get(e.seq) || html`
                <b>${e.name || e.agent}</b> ${e.kind.replace(".", " ")} ${about && html`<code>${about}</code>`}${" "}
                <span class="c2">${says(e)}</span>
              `}${" "}
              <button class="lnk q" data-open=${`ev:${e.seq}`}>#${e.seq}</button>
            </span>
          </li>
        `;
      })}
    </ol>
  `;
}

const Facts = ({ rows }) => html`
  <dl class="fx">
    ${rows.filter(Boolean).map(([k, v], i) => html`<dt key=${`t${i}`}>${k}</dt><dd key=${`d${i}`}>${v}</dd>`)}
  </dl>
`;

function OfAgent({ id, act }) {
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
    : "not here any more";
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
                ${wait.holders.length > 0 && html` of${" "}
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
                ? html`<span class="tag wait">acts on old rules</span>`
                : a.rules === "not told"
                  ? "not told yet"
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

function OfFile({ id, act }) {
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
                : "not said"),
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

function OfTask({ id, act }) {
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

function OfEvent({ id }) {
  const [fetched, setFetched] = useState(null);
  const here = S.events.find((x) => x.seq === Number(id));
  const live = S.phase === "live";
  useEffect(
    () =>
      !here && live
        ? asked("log", { after: Number(id) - 1, limit: 1 }, (p) => setFetched(p.events[0]))
        : undefined,
    [id, live],
  );
  const e = here || fetched;
  if (!e) {
    return html`
      <${Head} note="">Event ${id}<//>
      <p class="pad c3">It is not in the log any more, or not yet here.</p>
    `;
  }
  const [icon, tone] = look(e);
  const about = aboutOf(e);
  const resources = (e.data?.resources || S.resources.get(e.subject) || []).map(resourceText);
  return html`
    <${Head} icon=${icon} tone=${tone} note=${`event ${e.seq}, ${clock(time(e.at))}`}>${e.kind}<//>
    <div class="acts"></div>
    <div class="bd0" tabindex="-1">
      <${Facts}
        rows=${[
          ["Agent", S.agents.has(e.agent) ? html`<${Agent} id=${e.agent} />` : e.agent],
          [
            "About",
            resources.length
              ? resources.slice(0, 8).map((r) => html`<${Resource} key=${r} path=${r} /> `)
              : S.tasks.has(e.subject)
                ? html`<button class="lnk" data-open=${`task:${e.subject}`}>${e.subject}</button>`
                : S.agents.has(e.subject)
                  ? html`<${Agent} id=${e.subject} />`
                  : about || e.subject,
          ],
          ["Says", says(e)],
          ["Data", html`<code>${JSON.stringify(e.data)}</code>`],
          ["Link", html`<code>${e.link || ""}</code>`],
        ]}
      />
      <${Story}
        id=${`ev${id}`}
        about=${`event:${id}`}
        test=${(x) => x.subject === e.subject && x.subject !== ""}
      />
    </div>
  `;
}

function OfAlert({ id, act }) {
  const here = (S.alerts || []).find((x) => x.id === id);
  const [over, setOver] = useState(null);
  const live = S.phase === "live";
  useEffect(
    () =>
      !here && live
        ? asked("alerts", { state: "cleared", limit: 1000 }, (p) =>
            setOver(p.alerts.find((x) => x.id === id) || null),
          )
        : undefined,
    [id, !here, live],
  );
  const a = here || over;
  const [word, icon] = (a && ALERTS[a.kind]) || ["Alert", "viol"];
  const shows = new Set(a?.evidence || []);
  return html`
    <${Head}
      icon=${icon}
      tone=${!a || a.state === "cleared" ? "c-ok" : a.severity === "error" ? "c-bad" : "c-wait"}
      note=${a ? `${a.severity}, ${a.state}` : "not known any more"}
    >
      ${word}
    <//>
    <div class="acts mut-act">
      ${a?.state === "open" && html`
        <${Button} act=${act} action=${`ack:${id}`} op="alerts ack">Acknowledge<//>
      `}
      ${a && html`<button class="btn" onClick=${() => act(`copy:${a.remedy}`)}>Copy what to do</button>`}
    </div>
    <div class="bd0" tabindex="-1">
      ${a && html`
        <${Facts}
          rows=${[
            ["What", a.text],
            ["To do", html`<code class="todo">${a.remedy}</code>`],
            a.agent && ["Agent", html`<${Agent} id=${a.agent} />`],
            (a.resources || []).length > 0 && [
              "About",
              a.resources.map((r) => html`<${Resource} key=${r} path=${r} /> `),
            ],
            a.expected !== undefined && ["Expected", `${dur(a.expected)}, so far ${dur(a.actual)}`],
            [
              "Since",
              html`
                <${Up} at=${a.since} fine=${false} />${" "}
                ago${a.repeats ? `, ${count(a.repeats, "time", "times")} again` : ""}
              `,
            ],
            shows.size > 0 && [
              "Evidence",
              [...shows].map((n) => html`<button key=${n} class="lnk" data-open=${`ev:${n}`}>#${n}</button> `),
            ],
            a.acknowledged && [
              "Acknowledged",
              `by ${nameOf(a.acknowledged.agent)}${a.acknowledged.why ? `: ${a.acknowledged.why}` : ""}`,
            ],
            a.cleared && ["Cleared", a.cleared.why],
            a.delivery && ["Delivery", `${a.delivery.state}${a.delivery.why ? `: ${a.delivery.why}` : ""}`],
          ]}
        />
      `}
      <${Story}
        id=${`alert${id}`}
        about=""
        query=${{ text: id }}
        test=${(e) => e.subject === id || shows.has(e.seq)}
      />
    </div>
  `;
}

function OfAlerts({ id }) {
  const list = (S.alerts || []).filter((a) => a.state === id);
  return html`
    <${Head} icon="ok" tone="c2" note="each clears by itself when its cause is gone">
      ${count(list.length, "alert")} ${id}
    <//>
    <div class="acts"></div>
    <div class="bd0" tabindex="-1">
      <${Facts}
        rows=${list.map((a) => [
          html`<button class="lnk" data-open=${`alert:${a.id}`}>${ALERTS[a.kind]?.[0] || a.kind}</button>`,
          html`
            ${a.text}${" "}
            <span class="c3">
              ${nameOf(a.acknowledged?.agent || "")}
              ${a.acknowledged?.why ? `: ${a.acknowledged.why}` : ""}
            </span>
          `,
        ])}
      />
    </div>
  `;
}

function OfPair({ id }) {
  const c = S.radar?.conflicts.find((x) => x.id === id);
  return html`
    <${Head}
      icon="merge"
      tone=${c ? "c-wait" : "c-ok"}
      note=${c ? "would conflict if merged now" : "no coming conflict any more"}
    >
      ${c ? c.sides.map((s) => s.name).join(" and ") : id}
    <//>
    <div class="acts"></div>
    <div class="bd0" tabindex="-1">
      ${c && html`<${Facts} rows=${pairFacts(c)} />`}
      <${Story}
        id=${`pair${id}`}
        about=""
        query=${{ text: id }}
        test=${(e) => e.subject === id && e.kind.startsWith("radar.")}
      />
    </div>
  `;
}

function OfLanding({ id, act }) {
  const x = S.landings?.landings.find((one) => one.id === id);
  return html`
    <${Head} icon="merge" tone="c-held" note=${x ? `${x.state}, onto ${x.onto}` : "not in the queue any more"}>
      ${x ? x.branch : id}
    <//>
    <div class="acts mut-act">
      ${x?.state === "queued" && html`
        <${Button} act=${act} action=${`unland:${id}`} op="landings cancel">Take out…<//>
      `}
    </div>
    <div class="bd0" tabindex="-1">
      ${x && html`
        <${Facts}
          rows=${[
            ["Agent", html`<${Agent} id=${x.agent} />`],
            [
              "Queued",
              html`<${Up} at=${x.at} fine=${false} /> ago${x.priority ? `, priority ${x.priority}` : ""}`,
            ],
            x.commit && ["Commit", html`<code>${x.commit.slice(0, 12)}</code>`],
            x.landed && ["Landed", html`as <code>${x.landed.slice(0, 12)}</code>, token ${x.token}`],
            x.why && ["Why", x.why],
            (x.paths || []).length > 0 && ["Conflicts in", x.paths.join(", ")],
            x.output && ["Check said", html`<code class="todo">${x.output}</code>`],
            x.log && ["All of it", html`<code>${x.log}</code>`],
          ]}
        />
      `}
      <${Story}
        id=${`landing${id}`}
        about=""
        query=${{ text: id }}
        test=${(e) => e.subject === id || (e.kind === "landing.moving" && (e.data.landings || []).includes(id))}
      />
    </div>
  `;
}

export function Drawer({ what, act }) {
  const cut = what.indexOf(":");
  const kind = what.slice(0, cut);
  const id = what.slice(cut + 1);
  const View = {
    agent: OfAgent,
    file: OfFile,
    task: OfTask,
    ev: OfEvent,
    alert: OfAlert,
    alerts: OfAlerts,
    pair: OfPair,
    landing: OfLanding,
  }[kind];
  if (!View) return null;
  return html`
    <aside id="drawer" role="dialog" aria-label="Story"><${View} key=${what} id=${id} act=${act} /></aside>
  `;
}
