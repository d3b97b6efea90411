// The palette (Ctrl K, ⌘ K): everything that can be done or found, by a few letters of its words.
import { html, useEffect, useState } from "./lib.js";
import { S, leave, may } from "./store.js";
import { model } from "./model.js";
import { quoted } from "./actions.js";
import { hits } from "./finder.js";
import { Icon, Path } from "./parts.js";
import { Modal, shut } from "./modal.js";
import { open, ui } from "./route.js";
import { VIEWS } from "./views.js";
import { count } from "./words.js";

const MOST = 14;
const COMMANDS = ["dibs status", "dibs top", "dibs doctor", "dibs alerts", "dibs log --follow", "dibs land --all"];

const act = (icon, text, action, op = "", note = "") => ({ icon, text, action, op, note });

/** What does not depend on the words. */
function general(m) {
  const ids = m.open.flatMap((a) => a.ids);
  return [
    ...VIEWS.map((view, i) => act(view.icon, `Go to ${view.title}`, `go:${view.id}`, "", `g ${view.key} or ${i + 1}`)),
    act("task", "Add a task…", "addtask:", "task add", "n"),
    act("held", "Claim a path for yourself…", "claim:", "claim"),
    act("merge", "Land a branch…", "land:", "land"),
    ...(ids.length ? [act("ok", `Dismiss all alerts (${ids.length})`, `ack:${ids}`, "alerts ack", "A")] : []),
    act("msg", "Message all agents…", "msg:all", "send", "M"),
    act("kill", "Kill all agents…", "killall:all", "kill", "X"),
    ...COMMANDS.map((text) => act("copy", `Copy command: ${text}`, `copy:${text}`)),
    act("theme", "Change theme", "theme", "", "T"),
    act("os", "Keyboard shortcuts", "help", "", "?"),
    act("x", "Sign out", "leave"),
  ];
}

/** What can be done with an agent. */
const ofAgent = (a) => [
  act("msg", `Message ${a.name}…`, `msg:${a.agent}`, "send"),
  a.shown === "killed"
    ? act("work", `Revive ${a.name}…`, `revive:${a.agent}`, "revive")
    : act("kill", `Kill ${a.name}…`, `kill:${a.agent}`, "kill"),
  act("merge", `Hand over the work of ${a.name}…`, `handover:${a.agent}`, "handover"),
  act("commit", `Show the uncommitted work of ${a.name}`, `diff:${a.agent}`, "diff"),
  act("copy", `Copy command: dibs undo ${quoted(a.name)}`, `copy:dibs undo ${quoted(a.name)}`),
  act("copy", `Copy command: dibs explain ${quoted(a.name)}`, `copy:dibs explain ${quoted(a.name)}`),
];

/** What can be done with a path that is held. */
const ofPath = (path) => [
  act("msg", `Ask for ${path}…`, `ask:${path}`, "ask"),
  act("held", `Release ${path}…`, `release:${path}`, "release"),
  act("viol", `Restore ${path}…`, `restore:${path}`, "restore"),
  act("copy", `Copy command: dibs explain ${quoted(path)}`, `copy:dibs explain ${quoted(path)}`),
];

const ofTask = (t) => [
  act("task", `Edit ${t.title || t.id}…`, `edittask:${t.id}`, "task edit"),
  act("dead", `Cancel ${t.title || t.id}…`, `cancel:${t.id}`, "task cancel"),
];

const has = (text, words) => words.every((word) => text.toLowerCase().includes(word));

/** Commands whose words are all there; then what is found by name, and what can be done with it. */
function entries(text) {
  const m = model();
  const words = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const known = (one) => !one.op || one.op in (S.me?.may || {});
  if (!words.length) return general(m).filter(known).slice(0, MOST);
  const name = words.at(-1);
  const agents = m.agents.filter((a) => has(`${a.name} ${a.agent}`, [name])).slice(0, 4);
  const paths = [...new Set(m.claims.flatMap((c) => c.resources))]
    .filter((r) => !r.startsWith("task:") && has(r, [name]))
    .slice(0, 4);
  const tasks = m.tasks.filter((t) => has(`${t.id} ${t.title}`, [name])).slice(0, 3);
  const commands = [
    ...general(m),
    ...agents.flatMap(ofAgent),
    ...paths.flatMap(ofPath),
    ...tasks.flatMap(ofTask),
  ].filter((one) => known(one) && has(one.text, words));
  const found = (hits(text) || []).map((hit) => ({ ...hit, icon: hit.icon[0], tone: hit.icon[1], text: hit.name }));
  return [...found.slice(0, 5), ...commands].slice(0, MOST);
}

const Entry = ({ one, id, chosen, take }) => html`
  <li id=${id} role="option" aria-selected=${chosen} onMouseDown=${take} aria-disabled=${!!one.op && !may(one.op)}>
    <${Icon} name=${one.icon} tone=${one.tone || ""} />
    ${one.path ? html`<${Path} path=${one.path} />` : html`<span class="el">${one.text}</span>`}
    <span class="t">${one.note}</span>
  </li>
`;

export function Palette({ act: perform }) {
  const [text, setText] = useState(ui.dialog.text || "");
  const [at, setAt] = useState(0);
  const list = entries(text);
  const chosen = Math.min(at, list.length - 1);
  const take = (one) => {
    if (!one) return;
    shut();
    if (one.what) open(one.what);
    else if (one.action === "leave") leave();
    else perform(one.action);
  };
  const key = (e) => {
    const n = list.length;
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      if (n) setAt((chosen + (e.key === "ArrowDown" ? 1 : n - 1)) % n);
    } else if (e.key === "Enter") {
      e.preventDefault();
      const typed = e.target.value; // which may not be painted yet
      take(typed === text ? list[chosen] : entries(typed)[0]);
    }
  };
  useEffect(() => {
    if (ui.dialog?.enter) take(list[0]);
  }, []);
  return html`
    <${Modal} first="#palbox" label="Commands">
      <div class="pal">
        <input
          id="palbox"
          type="text"
          role="combobox"
          aria-expanded="true"
          aria-controls="pallist"
          aria-activedescendant=${list.length ? `pal${chosen}` : null}
          aria-label="Do or find anything"
          placeholder="Do or find anything: kill ada, add task, release auth.py, waits"
          autocomplete="off"
          spellcheck=${false}
          value=${text}
          onInput=${(e) => {
            setText(e.target.value);
            setAt(0);
          }}
          onKeyDown=${key}
        />
        <ul id="pallist" role="listbox" aria-label="Commands">
          ${list.map(
            (one, i) => html`
              <${Entry} key=${one.what || one.text} one=${one} id=${`pal${i}`} chosen=${i === chosen} take=${(e) => {
                e.preventDefault();
                take(one);
              }} />
            `,
          )}
          ${!list.length && html`<li class="c3" role="option" aria-selected="false">Nothing by these words</li>`}
        </ul>
        <p class="hint">
          <span class="kbd">↑</span> <span class="kbd">↓</span> choose <span class="kbd">↵</span> do it${" "}
          <span class="kbd">Esc</span> close · ${count(list.length, "entry", "entries")}
        </p>
      </div>
    <//>
  `;
}
