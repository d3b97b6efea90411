// Resources by agents: who holds, waits for, or was refused what; the most contended first.
import { html } from "./lib.js";
import { Icon, Path } from "./parts.js";
import { count, dur } from "./words.js";

const MOST_COLUMNS = 24;
const MOST_RESOURCES = 40;

const contention = (f) =>
  `${count(f.waits, "wait")}, ${count(f.refused, "refusal")}` +
  (f.longest ? `, longest ${dur(f.longest / 1000)}` : "");

/** What one agent has to do with one resource, as a shape: holds it, waits for it, was refused it. */
function cellsOf(m, fought) {
  const holds = new Map(m.claims.flatMap((c) => c.resources.map((r) => [`${r}\t${c.agent}`, c])));
  const wanted = (w) => [...w.resources, ...w.holders.map((h) => h.resource)];
  const wants = new Set(m.waits.flatMap((w) => wanted(w).map((r) => `${r}\t${w.agent}`)));
  return (r, a) => {
    const c = holds.get(`${r}\t${a.agent}`);
    if (c) {
      return html`
        <${Icon}
          name=${m.violated.has(r) ? "viol" : c.mode === "write" ? "held" : "read"}
          tone=${m.violated.has(r) ? "c-bad" : a.shown === "silent" ? "c-dead" : "c-held"}
          label=${`${a.name} ${c.mode === "read" ? "reads" : "holds"} ${r}`}
        />
      `;
    }
    if (wants.has(`${r}\t${a.agent}`)) {
      return html`<${Icon} name="wait" tone="c-wait" label=${`${a.name} waits for ${r}`} />`;
    }
    if (!fought.get(r)?.agents.has(a.agent)) return null;
    return html`<${Icon} name="refused" tone="c3" label=${`${a.name} was refused ${r}`} />`;
  };
}

/** The agents of the columns: those involved in a wait or a refusal before others, by name. */
function columnsOf(m) {
  const involved = new Set([
    ...m.waits.flatMap((w) => [w.agent, ...w.holders.map((h) => h.agent)]),
    ...m.fought.flatMap((f) => [...f.agents]),
  ]);
  const byName = (a, b) => (a.name < b.name ? -1 : 1);
  return [...m.agents]
    .sort((a, b) => involved.has(b.agent) - involved.has(a.agent) || byName(a, b))
    .slice(0, MOST_COLUMNS)
    .sort(byName);
}

export function Matrix({ m }) {
  const fought = new Map(m.fought.map((f) => [f.resource, f]));
  const all = [
    ...new Set([...m.fought.map((f) => f.resource), ...m.claims.flatMap((c) => c.resources)]),
  ].filter((r) => !/^(task|role):/.test(r));
  const shown = all.slice(0, MOST_RESOURCES);
  const cols = columnsOf(m);
  const cell = cellsOf(m, fought);
  return html`
    <section class="panel gm" aria-label="Resources by agents">
      <header>
        <h2>Resources by agents</h2>
        <span class="n">
          most contended first${all.length > shown.length ? `, ${shown.length} of ${all.length}` : ""}
        </span>
        <span class="sp"></span>
        <span class="legend">
          <span><${Icon} name="held" tone="c-held" />write</span>
          <span><${Icon} name="read" tone="c-held" />read</span>
          <span><${Icon} name="wait" tone="c-wait" />waits</span>
          <span><${Icon} name="refused" tone="c3" />was refused</span>
        </span>
      </header>
      <div class="scroll" tabindex="0" role="region" aria-label="Table of resources and agents">
        <table class="mx">
          <thead>
            <tr>
              <th scope="col">Resource</th>
              ${cols.map((a) => html`<th key=${a.agent} scope="col"><span class="el">${a.name}</span></th>`)}
              <th scope="col">Last 2 h</th>
            </tr>
          </thead>
          <tbody>
            ${shown.map((r) => {
              const f = fought.get(r);
              return html`
                <tr key=${r} data-row tabindex="-1" data-open=${`file:${r}`}>
                  <td><${Path} path=${r} /></td>
                  ${cols.map((a) => html`<td key=${a.agent}>${cell(r, a)}</td>`)}
                  <td class="c2 nw">${f ? contention(f) : html`<span class="c3">quiet</span>`}</td>
                </tr>
              `;
            })}
          </tbody>
        </table>
        ${!shown.length && html`<p class="pad c3">Nothing is held and nothing was refused.</p>`}
      </div>
    </section>
  `;
}
