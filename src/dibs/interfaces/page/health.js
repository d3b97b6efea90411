// Health: is the fleet coordinated, who writes what, what does it cost? Three answers of the server, read when the
// view is opened and on demand: each reads the whole log there.
import { html, useEffect, useState } from "./lib.js";
import { call } from "./api.js";
import { Command, Said } from "./parts.js";

const MARKS = {
  ok: ["✓", "ok"],
  fail: ["✗", "bad"],
  warn: ["!", "wait"],
  "n/a": ["-", "na"],
  unknown: ["?", "wait"],
};
const ROWS = 60;
const COLUMNS = 30;
const PLOTS = [
  ["granted", "Claims granted"],
  ["refused", "Refused"],
  ["waits", "Waits ended"],
  ["complete", "Tasks complete"],
  ["failed", "Failed"],
  ["lost", "Lost"],
];
let kept = {}; // the last answers, while the page is open

const seconds = (s) =>
  s === null || s === undefined
    ? "-"
    : s < 100
      ? `${Math.round(s * 10) / 10}s`
      : s < 6000
        ? `${Math.round(s / 60)}m`
        : `${Math.round(s / 360) / 10}h`;

function Finding({ f, act }) {
  return html`
    <li>
      <span class=${`tag ${f.severity === "low" ? "wait" : "bad"}`}>${f.settled ? "settled" : f.severity}</span>${" "}
      <${Said} text=${f.text} />
      ${f.events.map((n) => html` <button key=${n} class="lnk" data-open=${`ev:${n}`}>#${n}</button>`)}
      ${f.settled
        ? html`<span class="c3"> ${f.settled.name || f.settled.agent}: ${f.settled.why}</span>`
        : f.remedy && html`<div><${Command} text=${f.remedy} act=${act} label="Copy command" /></div>`}
    </li>
  `;
}

function Line({ c, act }) {
  const [mark, tone] = MARKS[c.status];
  return html`
    <li class=${`chk ${tone}`} data-check=${c.check}>
      <span class="no">${c.number}</span>
      <span class="mk" aria-label=${c.status}>${mark}</span>
      <div>
        <span>${c.status === "fail" ? html`<b>${c.title}</b>` : html`<${Said} text=${c.message} />`}</span>
        ${c.findings.length > 0 && html`
          <ul>${c.findings.slice(0, 20).map((f) => html`<${Finding} key=${f.id} f=${f} act=${act} />`)}</ul>
        `}
      </div>
    </li>
  `;
}

function Check({ found, act }) {
  const shown = found.checks.filter((c) => c.status !== "n/a");
  const rest = found.checks.filter((c) => c.status === "n/a");
  const row = (c) => html`<${Line} key=${c.number} c=${c} act=${act} />`;
  const grave = { none: "ok", low: "wait", medium: "wait", high: "bad" }[found.severity];
  return html`
    <section class="panel osc" aria-label="Check">
      <header>
        <h2>Check</h2>
        <span class="sp"></span>
        <span class=${`tag ${grave}`}>
          ${found.risk ? `${found.severity.toUpperCase()} — ${found.risk}` : "nothing is wrong"}
        </span>
      </header>
      <div class="scroll">
        <ol class="checks">${shown.map(row)}</ol>
        ${rest.length > 0 && html`
          <details>
            <summary>${rest.length} not applicable here</summary>
            <ol class="checks">${rest.map(row)}</ol>
          </details>
        `}
      </div>
      <footer><span>${found.result}</span></footer>
    </section>
  `;
}

/** How one agent used one resource: W, r, x, and a star if it holds it now. */
function Cell({ u }) {
  if (!u) return html`<td class="" title=""></td>`;
  const tone = u.writes ? "w" : u.reads ? "r" : "x";
  const letters = `${u.writes ? "W" : ""}${u.reads ? "r" : ""}` || "x";
  const counts = `${u.name}: ${u.writes} writes, ${u.reads} reads, ${u.refused} refused`;
  return html`
    <td
      class=${u.holds ? `${tone} h` : tone}
      title=${u.holds ? `${counts}, holds it now` : counts}
      data-open=${`ev:${u.event}`}
    >
      ${u.holds ? `${letters}*` : letters}
    </td>
  `;
}

function Matrix({ found }) {
  const agents = found.agents.slice(0, COLUMNS);
  const rows = found.resources.slice(0, ROWS);
  const left = found.agents.length - agents.length;
  return html`
    <section class="panel osm" aria-label="Map">
      <header>
        <h2>Map</h2>
        <span class="n">
          ${found.totals.resources} resources, ${found.totals.writers} agents with write access
        </span>
      </header>
      <div class="scroll">
        <table class="matrix">
          <thead>
            <tr>
              <th scope="col">Resource</th>
              ${agents.map(
                (a) => html`
                  <th key=${a.agent} scope="col" data-open=${`agent:${a.agent}`}><span>${a.name}</span></th>
                `,
              )}
            </tr>
          </thead>
          <tbody>
            ${rows.map((r) => {
              const by = new Map(r.agents.map((u) => [u.agent, u]));
              return html`
                <tr key=${r.resource}>
                  <th scope="row">
                    <code>${r.resource}</code>
                    ${r.folded ? html`<span class="c3"> ${r.folded}</span>` : ""}
                  </th>
                  ${agents.map((a) => html`<${Cell} key=${a.agent} u=${by.get(a.agent)} />`)}
                </tr>
              `;
            })}
          </tbody>
        </table>
        ${!rows.length && html`<p class="pad c2">Nothing was claimed or written yet.</p>`}
      </div>
      <footer>
        <span>W writes, r reads, x was refused, * holds it now</span>
        ${left > 0 && html`<span>${left} more agents</span>`}
        ${(found.more || found.resources.length > ROWS) && html`<span>more resources: dibs map</span>`}
        ${found.depth > 0 && html`<span>folded at depth ${found.depth}</span>`}
      </footer>
    </section>
  `;
}

function Plot({ values }) {
  const top = Math.max(1, ...values);
  const w = 240 / values.length;
  return html`
    <svg class="plot" viewBox="0 0 240 28" preserveAspectRatio="none" aria-hidden="true">
      ${values.map(
        (v, i) => html`
          <rect
            key=${i}
            x=${i * w}
            width=${Math.max(1, w - 1)}
            y=${28 - (28 * v) / top}
            height=${(28 * v) / top}
          />
        `,
      )}
    </svg>
  `;
}

const Heads = ({ titles }) => html`
  <thead><tr>${titles.map((title) => html`<th key=${title} scope="col">${title}</th>`)}</tr></thead>
`;

const ByAgent = ({ agents }) => html`
  <table class="list">
    <${Heads} titles=${["Agent", "Complete", "Failed", "Lost", "Work", "Waited", "Refused"]} />
    <tbody>
      ${agents.map(
        (a) => html`
          <tr key=${a.agent} data-open=${`agent:${a.agent}`}>
            <th scope="row">${a.name}</th>
            <td>${a.complete}</td>
            <td>${a.failed + a.quarantined}</td>
            <td>${a.lost}</td>
            <td>${seconds(a.work_time)}</td>
            <td>${seconds(a.wait_time)}</td>
            <td>${a.refused}</td>
          </tr>
        `,
      )}
    </tbody>
  </table>
`;

const Contention = ({ resources }) => html`
  <table class="list">
    <${Heads} titles=${["Resource", "Refusals", "Free soon", "Waits", "Longest"]} />
    <tbody>
      ${resources.map(
        (c) => html`
          <tr key=${c.resource}>
            <th scope="row"><code>${c.resource}</code></th>
            <td>${c.refusals}</td>
            <td>${c.false_refusals}</td>
            <td>${c.waits}</td>
            <td>${seconds(c.longest_wait)}</td>
          </tr>
        `,
      )}
    </tbody>
  </table>
`;

function Stats({ found, since, choose }) {
  const t = found.totals;
  return html`
    <section class="panel oss" aria-label="Stats">
      <header>
        <h2>Stats</h2>
        <span class="sp"></span>
        <select class="sel" aria-label="Time" value=${since} onChange=${(e) => choose(e.target.value)}>
          ${["1h", "24h", "7d", "30d"].map((s) => html`<option key=${s} value=${s}>last ${s}</option>`)}
        </select>
      </header>
      <div class="scroll">
        <dl class="figs">
          <div>
            <dt>Complete</dt>
            <dd>
              ${t.complete}${" "}
              <small>${t.success_rate === null ? "" : `${Math.round(t.success_rate * 100)} %`}</small>
            </dd>
          </div>
          <div><dt>Work</dt><dd>${seconds(t.work_time)}</dd></div>
          <div><dt>Lost</dt><dd>${seconds(t.lost_time)}</dd></div>
          <div><dt>Waited</dt><dd>${seconds(t.wait_time)}</dd></div>
          <div><dt>Refused</dt><dd>${t.refused} <small>${t.false_refusals} freed within a minute</small></dd></div>
        </dl>
        <table class="plots">
          <tbody>
            ${PLOTS.filter(([k]) => t[k]).map(
              ([k, name]) => html`
                <tr key=${k}>
                  <th scope="row">${name}</th>
                  <td><${Plot} values=${found.buckets.map((b) => b[k])} /></td>
                  <td class="num">${t[k]}</td>
                </tr>
              `,
            )}
          </tbody>
        </table>
        ${found.by_agent.length > 0 && html`<${ByAgent} agents=${found.by_agent.slice(0, 50)} />`}
        ${found.contention.length > 0 && html`<${Contention} resources=${found.contention.slice(0, 8)} />`}
      </div>
    </section>
  `;
}

export function Health({ act }) {
  const [state, set] = useState(kept);
  const [since, setSince] = useState("24h");
  const [busy, setBusy] = useState(false);
  const look = async (time) => {
    setBusy(true);
    const parts = [
      ["check", {}],
      ["map", { rows: ROWS }],
      ["stats", { since: time }],
    ];
    await Promise.all(
      parts.map(([name, fields]) =>
        call(name, fields)
          .then(
            (found) => {
              kept = { ...kept, [name]: found, error: "" };
            },
            (error) => {
              kept = { ...kept, error: error.message };
            },
          )
          .then(() => set(kept)),
      ),
    );
    setBusy(false);
  };
  useEffect(() => {
    look(since);
  }, []);
  return html`
    <div class="os">
      <div class="bar">
        <button class="btn" id="look" disabled=${busy} onClick=${() => look(since)}>
          ${busy ? "Refreshing…" : "Refresh"}
        </button>
        <span class="c2">The guards are proven on each machine by</span>
        <${Command} text="dibs doctor" act=${act} label="Copy command" />
        ${state.error && html`<span class="c-bad"><${Said} text=${state.error} /></span>`}
      </div>
      ${state.check && html`<${Check} found=${state.check} act=${act} />`}
      ${state.map && html`<${Matrix} found=${state.map} />`}
      ${state.stats && html`
        <${Stats}
          found=${state.stats}
          since=${since}
          choose=${(s) => {
            setSince(s);
            look(s);
          }}
        />
      `}
      ${!state.check && !state.error && html`<p class="pad c2">Reading the log…</p>`}
    </div>
  `;
}
