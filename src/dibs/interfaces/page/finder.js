// Find an agent, a path or a task by a part of its name; Enter opens its story.
import { html, useState } from "./lib.js";
import { model } from "./model.js";
import { Icon, Path, STATES } from "./parts.js";
import { choose, open } from "./route.js";
import { isName } from "./words.js";

const MOST = 9;
const KEYS = /Mac|iP/.test(navigator.platform) ? "⌘K" : "Ctrl K"; // of the palette

/** Agents, paths and tasks whose name has this text. */
export function hits(text) {
  const q = text.trim().toLowerCase();
  if (!q) return null;
  const m = model();
  const out = [];
  for (const a of m.agents) {
    if (out.length < MOST && `${a.agent} ${a.name}`.toLowerCase().includes(q)) {
      out.push({ what: `agent:${a.agent}`, icon: STATES[a.shown], name: a.name, note: a.shown });
    }
  }
  for (const c of m.claims) {
    for (const r of c.resources) {
      if (out.length < MOST && !r.startsWith("task:") && r.toLowerCase().includes(q)) {
        out.push({ what: `file:${r}`, icon: ["held", "c-held"], path: r, note: c.name || c.agent });
      }
    }
  }
  for (const t of m.tasks) {
    if (out.length < MOST && `${t.id} ${t.title}`.toLowerCase().includes(q)) {
      out.push({ what: `task:${t.id}`, icon: ["task", ""], name: t.title, note: t.state });
    }
  }
  if (!out.length && !isName(q) && q.includes("/")) {
    out.push({ what: `file:${text.trim()}`, icon: ["free", ""], path: text.trim(), note: "its story" });
  }
  return out;
}

function Hit({ id, hit, chosen, take }) {
  const down = (e) => {
    e.preventDefault(); // the box keeps the focus until it is taken
    take(hit);
  };
  return html`
    <li id=${id} role="option" aria-selected=${chosen} onMouseDown=${down}>
      <${Icon} name=${hit.icon[0]} tone=${hit.icon[1]} />
      ${hit.path ? html`<${Path} path=${hit.path} />` : html`<span class="el">${hit.name}</span>`}
      <span class="t">${hit.note}</span>
    </li>
  `;
}

export function Finder() {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const found = hits(text);
  const chosen = Math.min(at, (found?.length || 0) - 1);
  const take = (hit) => {
    if (hit) {
      setText("");
      document.activeElement?.blur?.();
      open(hit.what);
    }
  };
  const key = (e) => {
    const n = found?.length || 0;
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      if (n) setAt((at + (e.key === "ArrowDown" ? 1 : n - 1)) % n);
    }
    if (e.key === "Enter") take(found?.[chosen]);
    if (e.key === "Escape") {
      setText("");
      e.target.blur();
      e.stopPropagation();
    }
  };
  return html`
    <div id="find" role="search">
      <${Icon} name="find" />
      <input
        id="findbox"
        role="combobox"
        aria-expanded=${!!found}
        aria-controls="hits"
        aria-autocomplete="list"
        aria-activedescendant=${found?.length ? `hit${chosen}` : null}
        aria-label="Find an agent, a path or a task"
        placeholder="Find agent, path, task"
        autocomplete="off"
        spellcheck=${false}
        value=${text}
        onInput=${(e) => {
          setText(e.target.value);
          setAt(0);
        }}
        onKeyDown=${key}
        onBlur=${() => setTimeout(() => setText(""), 150)}
      />
      <button
        class="kbd"
        title="Do or find anything"
        aria-label=${`${KEYS}: do or find anything`}
        onClick=${() => choose({ dialog: { kind: "palette" } })}
      >
        ${KEYS}
      </button>
      <ul id="hits" role="listbox" aria-label="Found" hidden=${!found}>
        ${(found || []).map(
          (hit, i) => html`
            <${Hit} key=${hit.what} id=${`hit${i}`} hit=${hit} chosen=${i === chosen} take=${take} />
          `,
        )}
        ${found && !found.length && html`
          <li class="c3" role="option" aria-selected="false">Nothing by that name</li>
        `}
      </ul>
    </div>
  `;
}
