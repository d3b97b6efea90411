// Forms: what a person adds or changes here. A task, a claim, the next agent for a task or for a dead agent's work.
// The server checks the words; what it refuses is said below them, and nothing is lost.
import { html, useRef, useState } from "./lib.js";
import * as api from "./api.js";
import { S, nameOf, refetch } from "./store.js";
import { model } from "./model.js";
import { fresh, quoted } from "./actions.js";
import { Icon, Said } from "./parts.js";
import { Modal, shut } from "./modal.js";
import { toast } from "./route.js";

const listed = (text) => text.split(/[\s,]+/).filter(Boolean);
const agents = () => model().agents.filter((a) => a.kind === "agent" && !["dead", "killed"].includes(a.shown));
const agentOptions = (first) => [["", first], ...agents().map((a) => [a.agent, a.name])];

/** Branches that the page has heard of. */
const branches = () => {
  const landed = (S.landings?.landings || []).map((x) => x.branch);
  const near = (S.radar?.conflicts || []).flatMap((c) => c.sides.map((s) => s.name));
  return [...new Set([...near, ...landed])];
};

/** A task's new title, priority, place, agent and note: only what was changed is sent. */
async function saveTask(id, before, { title, priority, state, to, note }, request) {
  const edited = {
    ...(title !== before.title && { title }),
    ...(Number(priority) !== before.priority && { priority: Number(priority) }),
  };
  const steps = [
    Object.keys(edited).length && ["task edit", { id, ...edited }],
    note && ["task note", { id, text: note }],
    state !== before.state && ["task move", { id, state }],
    to && ["task assign", { id, to }],
  ].filter(Boolean);
  for (const [operation, fields] of steps) {
    await api.call(operation, { ...fields, request_id: `${request}-${operation.slice(5)}` });
  }
}

const STATES = ["discovery", "scoped", "planned"];

const FORMS = {
  addtask: () => ({
    icon: "task",
    title: "Add a task",
    verb: "Add task",
    fields: [
      { id: "title", label: "What is to be done", required: true, most: 500 },
      { id: "priority", label: "Priority", hint: "a number; higher comes first", value: "0" },
      { id: "after", label: "After", hint: "ids of tasks that must be complete first" },
      { id: "for", label: "Only for agents of type", hint: "for instance coder; empty: any" },
    ],
    call: (v, request) =>
      api.call("task add", {
        title: v.title,
        priority: Number(v.priority) || 0,
        ...(v.after && { after: listed(v.after) }),
        ...(v.for && { for: v.for }),
        request_id: request,
      }),
    done: (v, answer) => `Added ${answer.task?.id || answer.id || v.title}`,
    topics: ["tasks"],
  }),
  edittask: (id) => {
    const t = S.tasks.get(id);
    if (!t) return null;
    const movable = STATES.includes(t.state) || ["failed", "quarantined", "cancelled"].includes(t.state);
    const states = movable ? [...new Set([t.state, ...STATES])] : [t.state];
    return {
      icon: "task",
      title: `Edit ${t.title || t.id}`,
      verb: "Save",
      fields: [
        { id: "title", label: "What is to be done", value: t.title, required: true, most: 500 },
        { id: "priority", label: "Priority", hint: "a number; higher comes first", value: String(t.priority || 0) },
        { id: "state", label: "State", value: t.state, options: states.map((s) => [s, s]) },
        { id: "to", label: "Assign to", value: "", options: agentOptions(t.agent ? nameOf(t.agent) : "any agent") },
        { id: "note", label: "Note", hint: "added to its notes", area: true, most: 4000 },
      ],
      call: (v, request) => saveTask(id, { ...t, priority: t.priority || 0 }, v, request),
      done: () => `Saved ${id}`,
      topics: ["tasks"],
    };
  },
  claim: (path) => ({
    icon: "held",
    title: "Claim a path for yourself",
    verb: "Claim",
    note: "Agents are refused there until you release it, or its time is up.",
    fields: [
      { id: "path", label: "Path", value: path, required: true },
      { id: "reason", label: "For", hint: "what agents are told" },
    ],
    call: (v, request) =>
      api.call("claim", { resources: [v.path], reason: v.reason, keep: true, request_id: request }),
    done: (v) => `You hold ${v.path}`,
    topics: ["status"],
  }),
  land: () => ({
    icon: "merge",
    title: "Land a branch",
    verb: "Queue it",
    note: "It is queued; whoever lands next merges it, checks the result and moves the branch it lands on.",
    fields: [{ id: "branch", label: "Branch", hint: "or the worktree that has it", required: true, names: branches() }],
    call: (v, request) => api.call("land", { branch: v.branch, request_id: request }),
    done: (v) => `${v.branch} is in the queue`,
    topics: ["worktrees"],
  }),
  handover: (id) => ({
    icon: "merge",
    title: `Hand over the work of ${nameOf(id)}`,
    verb: "Hand over",
    note: "Its claims, its task and its uncommitted files pass on with a briefing. It is fenced when it wakes.",
    fields: [
      { id: "to", label: "To", value: "NEXT", options: [["NEXT", "the next agent"], ...agentOptions("").slice(1)] },
    ],
    call: (v, request) => api.call("handover", { agent: id, to: v.to, request_id: request }),
    done: (v) => `Handed over to ${v.to === "NEXT" ? "the next agent" : nameOf(v.to)}`,
    topics: ["status", "agents", "tasks", "alerts"],
  }),
};
export const isForm = (kind) => kind in FORMS;

function Input({ field, value, set }) {
  const same = { id: `f-${field.id}`, value, onInput: (e) => set(e.target.value) };
  if (field.options) {
    return html`
      <select ...${same}>
        ${field.options.map(([key, text]) => html`<option key=${key} value=${key}>${text}</option>`)}
      </select>
    `;
  }
  if (field.area) return html`<textarea maxlength=${field.most} ...${same}></textarea>`;
  return html`
    <input type="text" autocomplete="off" maxlength=${field.most || 500} list=${`l-${field.id}`} ...${same} />
    ${field.names && html`
      <datalist id=${`l-${field.id}`}>
        ${field.names.map((name) => html`<option key=${name} value=${name} />`)}
      </datalist>
    `}
  `;
}

export function Form({ kind, id }) {
  const [form] = useState(() => FORMS[kind](id));
  const [values, setValues] = useState(() =>
    Object.fromEntries((form?.fields || []).map((f) => [f.id, f.value || ""])),
  );
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const request = useRef(fresh());
  if (!form) return null;
  const enough = form.fields.every((f) => !f.required || values[f.id].trim());
  const go = async (e) => {
    e.preventDefault();
    if (!enough || busy) return;
    setBusy(true);
    setError("");
    const trimmed = Object.fromEntries(Object.entries(values).map(([key, text]) => [key, text.trim()]));
    try {
      const answer = await form.call(trimmed, request.current);
      for (const topic of form.topics) refetch(topic, 0);
      shut();
      toast(form.done(trimmed, answer || {}));
    } catch (refused) {
      request.current = fresh();
      setError(refused.message);
      setBusy(false);
    }
  };
  return html`
    <${Modal} first=${`#f-${form.fields[0].id}`}>
      <form onSubmit=${go}>
        <h2 class="hd" id="dt"><${Icon} name=${form.icon} />${form.title}</h2>
        <div class="bo">
          ${form.note && html`<p>${form.note}</p>`}
          ${form.fields.map(
            (f) => html`
              <label key=${f.id} for=${`f-${f.id}`}>${f.label} <span class="c3">${f.hint || ""}</span></label>
              <${Input} field=${f} value=${values[f.id]} set=${(text) => setValues({ ...values, [f.id]: text })} />
            `,
          )}
          ${error && html`<p class="err" role="alert"><${Said} text=${error} /></p>`}
        </div>
        <div class="ft">
          <button type="button" class="btn" id="no" onClick=${shut}>Cancel <span class="kbd">Esc</span></button>
          <button type="submit" class="btn pri" id="yes" disabled=${!enough || busy}>${form.verb}</button>
        </div>
      </form>
    <//>
  `;
}

const TONES = { "+": "c-ok", "-": "c-bad", "@": "c-held" };

const Lines = ({ text }) =>
  text
    .split("\n")
    .map((line, i) => html`<span key=${i} class=${TONES[line[0]] || ""}>${line}${"\n"}</span>`);

/** One file of it: how much changed, what is not certain, the lines. */
const Changes = ({ file: f }) => html`
  <details open=${(f.diff || "").length < 8000}>
    <summary>
      <code>${f.path}</code> ${f.change}${" "}
      <span class="c-ok">+${f.added}</span> <span class="c-bad">−${f.removed}</span>
      ${f.likely && html` <span class="tag wait">likely its work</span>`}
      ${f.shared && html` <span class="tag wait">others changed it later</span>`}
    </summary>
    ${f.problem && html`<p class="err">${f.problem}</p>`}
    ${f.diff && html`<pre class="diffs" tabindex="0"><${Lines} text=${f.diff} /></pre>`}
  </details>
`;

/** What an agent left uncommitted, read only. */
export function Diff({ id, act }) {
  const [found, setFound] = useState(null);
  const [error, setError] = useState("");
  const asked = useRef(false);
  if (!asked.current) {
    asked.current = true;
    api.call("diff", { agent: id }).then(setFound, (refused) => setError(refused.message));
  }
  return html`
    <${Modal} first="#no" wide=${true}>
      <h2 class="hd" id="dt"><${Icon} name="commit" />Uncommitted work of ${nameOf(id)}</h2>
      <div class="bo">
        ${error && html`<p class="err" role="alert"><${Said} text=${error} /></p>`}
        ${!found && !error && html`<p>Reading…</p>`}
        ${found && !found.files.length && html`<p>Nothing is uncommitted on this machine.</p>`}
        ${found?.files.map((f) => html`<${Changes} key=${f.tree + f.path} file=${f} />`)}
      </div>
      <div class="ft">
        <button class="btn" onClick=${() => act(`copy:dibs diff ${quoted(nameOf(id))}`)}>Copy command</button>
        <button class="btn" id="no" onClick=${shut}>Close</button>
      </div>
    <//>
  `;
}
