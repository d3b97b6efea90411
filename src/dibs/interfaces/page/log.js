// Log: what exactly happened. Filters `agent: kind: about:` and words over the events that are here; older ones on
// demand.
import { html, useState } from "./lib.js";
import { S, changed, fetchOlder, may, search } from "./store.js";
import { aboutOf } from "./model.js";
import { Icon, Rows } from "./parts.js";
import { choose, toast, ui } from "./route.js";
import { clock, look, says, time } from "./words.js";

const KINDS = [
  ["refused", "Refusals", (k) => k.endsWith(".refused")],
  ["claim", "Claims", (k) => k.startsWith("claim.") && k !== "claim.refused"],
  ["wait", "Waits", (k) => /^(wait|interest)\./.test(k)],
  ["task", "Tasks", (k) => k.startsWith("task.")],
  ["edit", "Violations", (k) => /violated|unverified/.test(k)],
  ["commit", "Commits", (k) => /^(commit|git)\./.test(k) && !k.endsWith("refused")],
  ["deploy", "Deploys", (k) => k.startsWith("deploy.") && !k.endsWith("refused")],
  ["agent", "Agents", (k) => k.startsWith("agent.")],
  ["alert", "Alerts", (k) => k.startsWith("alert.")],
];
const rest = (k) => !KINDS.some(([, , test]) => test(k));
const FACETS = [...KINDS, ["rest", "Rest", rest]];
let kept = { key: "" };

const full = (e) =>
  (e.text0 ??=
    [e.seq, e.kind, e.agent, e.name, e.subject, aboutOf(e), e.text, says(e)].join(" ").toLowerCase());

/** The events that match, newest first; once for each change of the filter or the state. */
function matching() {
  const key = `${S.version}\t${ui.query}\t${[...ui.kinds]}`;
  if (kept.key === key) return kept;
  const parts = ui.query.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const tests = FACETS.filter(([id]) => ui.kinds.has(id)).map(([, , t]) => t);
  const counts = Object.fromEntries(FACETS.map(([id]) => [id, 0]));
  const list = [];
  for (let i = S.events.length - 1; i >= 0; i -= 1) {
    const e = S.events[i];
    for (const [id, , test] of FACETS) {
      if (test(e.kind)) counts[id] += 1;
    }
    if (tests.length && !tests.some((t) => t(e.kind))) continue;
    if (
      parts.every((w) => {
        const m = /^(agent|kind|about):(.+)$/.exec(w);
        if (!m) return full(e).includes(w);
        if (m[1] === "agent") return e.agent.toLowerCase() === m[2] || (e.name || "").toLowerCase() === m[2];
        return m[1] === "kind"
          ? e.kind.startsWith(m[2].replace(/\*$/, ""))
          : `${e.subject} ${aboutOf(e)}`.toLowerCase().includes(m[2]);
      })
    ) {
      list.push({ id: e.seq, e });
    }
  }
  if (ui.query.trim() && S.found.query === ui.query.trim()) {
    // what the whole log has, from before what is here
    const first = S.events[0]?.seq || Infinity;
    for (let i = S.found.events.length - 1; i >= 0; i -= 1) {
      const e = S.found.events[i];
      if (e.seq < first && (!tests.length || tests.some((t) => t(e.kind)))) list.push({ id: e.seq, e });
    }
  }
  kept = { key, list, counts, word: parts.find((w) => w.length > 1 && !w.includes(":")) || "" };
  return kept;
}

/** A text with the word that was looked for marked. */
function Hit({ text, word }) {
  const t = String(text);
  if (!word) return t;
  const at = t.toLowerCase().indexOf(word);
  return at < 0
    ? t
    : html`${t.slice(0, at)}<mark>${t.slice(at, at + word.length)}</mark>${t.slice(at + word.length)}`;
}

function Row({ e, word }) {
  const [icon, tone] = look(e);
  const about = aboutOf(e);
  const told = (e.text || "").replaceAll("`", "");
  const isElsewhere = word && !`${told} ${e.kind} ${e.name || e.agent}`.toLowerCase().includes(word);
  return html`
    <div class="lr" role="row" data-row tabindex="-1" data-open=${`ev:${e.seq}`} data-ag=${e.agent}>
      <span class="sq" role="gridcell">${e.seq}</span>
      <span class="tm c2" role="gridcell">${clock(time(e.at))}</span>
      <span class="kd" role="gridcell">
        <${Icon} name=${icon} tone=${tone} />
        <span class="el"><${Hit} text=${e.kind} word=${word} /></span>
      </span>
      <b class="who el" role="gridcell"><${Hit} text=${e.name || e.agent} word=${word} /></b>
      <span class="x" role="gridcell">
        ${told && html`<${Hit} text=${told} word=${word} /> `}
        ${!told && about && html`<code><${Hit} text=${about} word=${word} /></code> `}
        ${(!told || isElsewhere) && html`<span class="dt"><${Hit} text=${says(e)} word=${word} /></span>`}
      </span>
    </div>
  `;
}

function clearFilters() {
  ui.kinds.clear();
  choose({ query: "" });
}

function toggleKind(id) {
  if (!ui.kinds.delete(id)) ui.kinds.add(id);
  changed(false);
}

const searchAll = (query) => query && search(query).catch((error) => toast(error.message));

const Filter = ({ query }) => html`
  <div class="q">
    <input
      id="logq"
      aria-label="Filter the log"
      placeholder="words, agent:ada, kind:claim.*, about:src/db"
      spellcheck=${false}
      value=${ui.query}
      onInput=${(e) => choose({ query: e.target.value })}
      onKeyDown=${(e) => e.key === "Enter" && searchAll(query)}
    />
    <button class="btn" aria-pressed=${ui.follow} onClick=${() => choose({ follow: !ui.follow })}>
      ${ui.follow ? html`<${Icon} name="work" tone="c-ok" />Following` : "Follow"}
    </button>
  </div>
`;

const Facets = ({ counts }) => html`
  <div class="chips" role="group" aria-label="Kinds">
    ${FACETS.map(
      ([id, name]) => html`
        <button key=${id} class="chip" aria-pressed=${ui.kinds.has(id)} onClick=${() => toggleKind(id)}>
          ${name}
          <span class="n">${counts[id]}</span>
        </button>
      `,
    )}
  </div>
`;

const Heads = () => html`
  <div class="lr hd" role="row">
    <span class="sq" role="columnheader">No.</span>
    <span role="columnheader">Time</span>
    <span role="columnheader">Kind</span>
    <span role="columnheader">Agent</span>
    <span role="columnheader">About</span>
  </div>
`;

/** How much of the log is shown, and how to see more of it: by a search in all of it, or by reading further back. */
function More({ query, shown }) {
  const [busy, setBusy] = useState(false);
  const older = () => {
    setBusy(true);
    fetchOlder()
      .catch((error) => toast(error.message))
      .finally(() => setBusy(false));
  };
  const searched = S.found.query === query;
  const beyond = query && S.older && may("log") && (!searched || S.found.first > 0);
  const offer = searched ? `Searched back to ${S.found.first}: continue` : "Search the whole log";
  return html`
    <footer>
      <span>${shown} of ${S.events.length} events from ${S.events[0]?.seq || 0} to ${S.seq}</span>
      ${beyond && html`
        <button class="btn q" id="whole" disabled=${S.found.busy} onClick=${() => searchAll(query)}>
          ${S.found.busy ? "Searching…" : offer}
        </button>
      `}
      ${searched && query && !S.found.first && html`<span class="c3">the whole log was searched</span>`}
      ${S.older && html`
        <button class="btn q" disabled=${busy} onClick=${older}>
          ${busy ? "Reading…" : "Load 1,000 earlier events"}
        </button>
      `}
    </footer>
  `;
}

export function Log() {
  const { list, counts, word } = matching();
  const query = ui.query.trim();
  return html`
    <div class="lg">
      <${Filter} query=${query} />
      <${Facets} counts=${counts} />
      <section class="panel lgpanel" aria-label="Events">
        <${Rows}
          items=${list}
          height=${ui.phone ? 52 : 26}
          label="Events"
          follow=${ui.follow}
          cls="loglist"
          head=${list.length > 0 && html`<${Heads} />`}
          empty=${html`
            <p class="pad c2">
              No event matches. <button class="lnk" onClick=${clearFilters}>Clear the filters</button>
            </p>
          `}
          row=${(x) => html`<${Row} key=${x.id} e=${x.e} word=${word} />`}
        />
        <${More} query=${query} shown=${list.length} />
      </section>
    </div>
  `;
}
