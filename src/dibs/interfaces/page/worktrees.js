// Worktrees: which of them would conflict if merged now, and what lands on main: what the radar and the landing queue
// last said.
import { html, useEffect } from "./lib.js";
import { S, may, nameOf, refetch, why } from "./store.js";
import { Agent, Button, Command, Icon, Path, Rows, Said, Up } from "./parts.js";
import { count } from "./words.js";

const REFRESH_MS = 10000; // a look that finds nothing new leaves no event
const FILES = 3; // of a pair, in its row; the story has all
const span = ([first, n]) => (n <= 1 ? `line ${first}` : `lines ${first}–${first + n - 1}`);

/** Where two sides meet in a file: the lines in each side's own version, or the kind of conflict. */
export function where(file, sides) {
  if (!file.hunks.length) return file.kind;
  const shown = file.hunks
    .slice(0, 3)
    .map((h) => `${sides[0].name} ${span(h.one)}, ${sides[1].name} ${span(h.other)}`);
  return (
    shown.join("; ") +
    (file.hunks.length > 3 ? `; and ${count(file.hunks.length - 3, "more place", "more places")}` : "")
  );
}
const whose = (side) => (side.agents.length ? `, ${side.agents.map(nameOf).join(", ")}` : "");

/** The line above the views: how many pairs, the newest, and where to look. */
export function Coming() {
  const found = S.radar?.conflicts || [];
  if (!found.length) return null;
  const c = found.at(-1);
  const files = c.files.map((f) => f.path);
  return html`
    <section id="coming" aria-label="Coming conflicts">
      <${Icon} name="merge" />
      <span class="kind">
        ${found.length}
        ${S.radar.more ? "+" : ""} ${found.length === 1 ? "pair" : "pairs"}
      </span>
      <span class="what">
        ${c.sides[0].name} and ${c.sides[1].name} would conflict if merged now: ${files.slice(0, 2).join(", ")}
        ${c.count > 2 ? ` and ${c.count - 2} more` : ""}
      </span>
      <span class="meta"><${Up} at=${c.since} /> ago</span>
      <span class="act"><a class="btn" href="#/worktrees">Show</a></span>
    </section>
  `;
}

function Pair({ c }) {
  const [one, other] = c.sides;
  return html`
    <div class="wp" role="row" data-row tabindex="-1" data-open=${`pair:${c.id}`} data-pair=${c.id}>
      <div role="gridcell">
        <div class="l1">
          <${Icon} name="merge" tone="c-wait" />
          <b class="el">${one.name}</b>
          <span class="c3">and</span>
          <b class="el">${other.name}</b>
        </div>
        <div class="l2 c3">
          <span class="el">
            ${[...one.agents, ...other.agents].map(nameOf).join(", ") || "nobody is known to work there"}
          </span>
        </div>
      </div>
      <div role="gridcell">
        ${c.files
          .slice(0, FILES)
          .map(
            (f) => html`
              <div key=${f.path} class="l1">
                <${Path} path=${f.path} />
                <span class="c3 el">${where(f, c.sides)}</span>
              </div>
            `,
          )}
        ${c.count > FILES && html`<div class="l2 c3">and ${count(c.count - FILES, "more file")}</div>`}
      </div>
      <div role="gridcell" class="num"><${Up} at=${c.since} /></div>
    </div>
  `;
}

function Radar({ act }) {
  const r = S.radar;
  const list = r?.conflicts || [];
  const empty = !r
    ? html`<p class="pad c2">Reading…</p>`
    : r.looked_at && r.looked < 2
      ? html`<p class="pad c2">There is only one working tree or branch: nothing to merge</p>`
      : r.looked_at
        ? html`
            <p class="pad c-ok inl">
              <${Icon} name="ok" />
              No two of ${r.looked} working trees and branches would conflict
            </p>
          `
        : html`
            <div class="pad c2">
              <p>
                Not checked yet. A server checks by itself as soon as there are two worktrees or branches; to check now:
              </p>
              <${Command} text="dibs radar" act=${act} />
            </div>
          `;
  return html`
    <section class="panel wtr" aria-label="Coming conflicts">
      <header>
        <h2>Would conflict if merged now</h2>
        <span class="n">${count(list.length, "pair")}${r?.more ? "+" : ""}</span>
        <span class="sp"></span>
        ${r?.looked_at && html`<span class="c3">checked <${Up} at=${r.looked_at} /> ago</span>`}
      </header>
      <${Rows}
        items=${list}
        height=${56}
        label="Coming conflicts"
        empty=${empty}
        row=${(c) => html`<${Pair} key=${c.id} c=${c} />`}
      />
    </section>
  `;
}

const LOOKS = {
  queued: ["wait", "c-wait"],
  landed: ["ok", "c-ok"],
  refused: ["refused", "c-bad"],
  cancelled: ["dead", "c-dead"],
};

function Landing({ x, place, lander, act }) {
  const [icon, tone] = LOOKS[x.state] || ["dot", "c3"];
  const busy = lander?.landings.includes(x.id);
  const said =
    x.state === "landed"
      ? `as ${x.landed.slice(0, 12)}`
      : x.state === "queued"
        ? busy
          ? `${lander.stage} now`
          : `number ${place}${x.priority ? `, priority ${x.priority}` : ""}`
        : x.why || "";
  return html`
    <div
      class="wl"
      role="row"
      data-row
      tabindex="-1"
      data-open=${`landing:${x.id}`}
      data-ag=${x.agent}
      data-landing=${x.id}
    >
      <div role="gridcell" class="l1"><${Icon} name=${icon} tone=${tone} /><b class="el">${x.branch}</b></div>
      <div role="gridcell" class=${tone}>${x.state}</div>
      <div role="gridcell" class="el">${x.name || nameOf(x.agent)}</div>
      <div role="gridcell" class="c2 how" title=${said}><${Said} text=${said} /></div>
      <div role="gridcell" class="num"><${Up} at=${x.decided_at || x.at} /></div>
      <div role="gridcell" class="mut-act">
        ${x.state === "queued" && html`
          <button
            class="btn q"
            disabled=${!may("landings cancel")}
            title=${why("landings cancel")}
            onClick=${() => act(`unland:${x.id}`)}
          >
            Take out…
          </button>
        `}
      </div>
    </div>
  `;
}

/** Who lands now, or keeps others from it. */
function Lander({ lander, queued, act }) {
  if (!lander) {
    return (
      queued > 0 && html`
        <p class="now c-wait">
          <${Icon} name="wait" />No lander is running. Start one: <${Command} text="dibs land --all" act=${act} />
        </p>
      `
    );
  }
  const doing = lander.landings.length
    ? `lands ${count(lander.landings.length, "branch", "branches")}: ${lander.stage}`
    : `keeps others from landing${lander.reason ? `: ${lander.reason}` : ""}`;
  return html`
    <p class="now">
      <${Icon} name="run" tone="c-held" />
      <${Agent} id=${lander.agent} /> ${doing}, <${Up} at=${lander.since} />
    </p>
  `;
}

function Queue({ act }) {
  const q = S.landings;
  const list = q?.landings || [];
  const lander = q?.lander;
  const queued = list.filter((x) => x.state === "queued");
  const empty = !q
    ? html`<p class="pad c2">Reading…</p>`
    : html`
        <div class="pad c2">
          <p>Nothing was queued yet. In the worktree of a branch that is ready:</p>
          <${Command} text="dibs land" act=${act} />
        </div>
      `;
  return html`
    <section class="panel wtq" aria-label="Landing queue">
      <header>
        <h2>Landing on ${q?.onto || "main"}</h2>
        <span class="n">${count(q?.queued || 0, "branch", "branches")} queued</span>
        <span class="sp"></span>
        <${Button} act=${act} action="land:" op="land" cls="q">Land a branch…<//>
        ${q?.last && html`
          <span class="c3">
            last moved <${Up} at=${q.last.at} /> ago to <code>${q.last.commit.slice(0, 12)}</code>
          </span>
        `}
      </header>
      <${Lander} lander=${lander} queued=${queued.length} act=${act} />
      <${Rows}
        items=${list}
        height=${34}
        label="Landings"
        empty=${empty}
        head=${list.length > 0 && html`
          <div class="wl hd" role="row">
            <span role="columnheader">Branch</span>
            <span role="columnheader">State</span>
            <span role="columnheader">Agent</span>
            <span role="columnheader">How</span>
            <span role="columnheader" class="num">Since</span>
            <span role="columnheader"><span class="vh">Action</span></span>
          </div>
        `}
        row=${(x) => html`
          <${Landing} key=${x.id} x=${x} place=${queued.indexOf(x) + 1} lander=${lander} act=${act} />
        `}
      />
    </section>
  `;
}

export function Worktrees({ act }) {
  useEffect(() => {
    const timer = setInterval(() => refetch("worktrees", 0), REFRESH_MS);
    return () => clearInterval(timer);
  }, []);
  return html`<div class="wt"><${Radar} act=${act} /><${Queue} act=${act} /></div>`;
}

/** Facts for the drawer. */
export const pairFacts = (c) => [
  ...c.sides.map((s, i) => [
    i ? "Other side" : "One side",
    html`<b>${s.name}</b>${whose(s)}${s.tree && html`<br /><code>${s.tree}</code>`}`,
  ]),
  ["Since", html`<${Up} at=${c.since} /> ago`],
  ...c.files.map((f) => [
    f.kind,
    html`<${Path} path=${f.path} /> <span class="c2">${f.hunks.length ? where(f, c.sides) : ""}</span>`,
  ]),
  c.count > c.files.length && ["More", count(c.count - c.files.length, "more file")],
];
