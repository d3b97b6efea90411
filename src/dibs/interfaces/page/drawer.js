// The drawer: the story of one thing. Those of agents, paths and tasks are in stories.js, the others here.
import { html, useEffect, useState } from "./lib.js";
import { S, asked, nameOf } from "./store.js";
import { aboutOf } from "./model.js";
import { Agent, Button, Command, Resource, Said, Up } from "./parts.js";
import { ALERTS } from "./alerts.js";
import { remedies } from "./remedies.js";
import { Facts, Head, Story } from "./story.js";
import { OfAgent, OfFile, OfTask } from "./stories.js";
import { pairFacts } from "./worktrees.js";
import { clock, count, cut, dur, look, resourceText, says, time } from "./words.js";

function OfEvent({ id }) {
  const [fetched, setFetched] = useState(null);
  const here = S.events.find((x) => x.seq === Number(id));
  const live = S.phase === "live";
  useEffect(
    () =>
      !here && live
        ? asked("log", { after: Number(id) - 1, limit: 1, sentences: true }, (p) => setFetched(p.events[0]))
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
          ["Says", e.text ? html`<${Said} text=${e.text} />` : says(e)],
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

const since = (a) => html`
  <${Up} at=${a.since} /> ago${a.repeats ? `, ${count(a.repeats, "time")} again` : ""}
`;

function alertFacts(a, act) {
  const events = [...new Set(a.evidence || [])];
  const by = a.acknowledged;
  return [
    ["What", html`<${Said} text=${a.text} />`],
    a.remedy && ["To do", html`<${Command} text=${a.remedy} act=${act} label="Copy command" />`],
    a.agent && ["Agent", html`<${Agent} id=${a.agent} />`],
    (a.resources || []).length > 0 && [
      "About",
      a.resources.map((r) => html`<${Resource} key=${r} path=${r} /> `),
    ],
    a.expected !== undefined && ["Expected", `${dur(a.expected)}, so far ${dur(a.actual)}`],
    ["Since", since(a)],
    events.length > 0 && [
      "Evidence",
      events.map((n) => html`<button key=${n} class="lnk" data-open=${`ev:${n}`}>#${n}</button> `),
    ],
    by && ["Dismissed", `by ${nameOf(by.agent)}${by.why ? `: ${by.why}` : ""}`],
    a.cleared && ["Cleared", a.cleared.why],
    a.delivery && ["Delivery", `${a.delivery.state}${a.delivery.why ? `: ${a.delivery.why}` : ""}`],
  ];
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
      tone=${!a || a.state === "cleared" ? "c-ok" : { error: "c-bad", info: "c2" }[a.severity] || "c-wait"}
      note=${a ? `${a.severity}, ${a.state}` : "no longer known"}
    >
      ${word}
    <//>
    <div class="acts mut-act">
      ${a?.state === "open" && html`
        ${remedies({ ids: [id], ...a }).map(
          ({ text, action, op, danger }) => html`
            <${Button} key=${text} act=${act} action=${action} op=${op} cls=${danger ? "dng" : ""}>${text}<//>
          `,
        )}
      `}
    </div>
    <div class="bd0" tabindex="-1">
      ${a && html`<${Facts} rows=${alertFacts(a, act)} />`}
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
      ${count(list.length, "alert")} dismissed
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
      note=${c ? "would conflict if merged now" : "no longer a coming conflict"}
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
    <${Head} icon="merge" tone="c-held" note=${x ? `${x.state}, onto ${x.onto}` : "no longer in the queue"}>
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
              html`<${Up} at=${x.at} /> ago${x.priority ? `, priority ${x.priority}` : ""}`,
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
  const [kind, id] = cut(what);
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
