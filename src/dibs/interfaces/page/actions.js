// What a person can do here: each action with its facts of this moment, what it asks first, the call, and the event
// that proves it.
// The server decides; a dialog only says what will happen, in the facts that were there when it was opened.
import * as api from "./api.js";
import { S, nameOf, now, refetch } from "./store.js";
import { covers, model } from "./model.js";
import { toast } from "./route.js";
import { clock, count, dur, time, words } from "./words.js";

/** One word of a command, whatever its text is: no second command, and no option (as `quoted` of errors.py). */
export const quoted = (text) => {
  const word = text.startsWith("-") ? `./${text}` : text;
  return /^[\p{L}\p{N}/._\-+@%,:]+$/u.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
};
const names = (list) => words([...new Set(list.map((w) => nameOf(w.agent)))]);
const ago = (at) => `${dur((now() - time(at)) / 1000)} ago`;
const claimText = (c) => `${c.resources.join(", ")} (token ${c.token})`;

function killAgent(id, m) {
  const a = S.agents.get(id);
  if (!a) return null;
  const held = m.byAgent.get(id) || [];
  const task = m.taskOf.get(id);
  const blocked = m.blocks.get(id) || [];
  const host = a.host_name ? ` on ${a.host_name}` : "";
  const one = new Set(blocked.map((w) => w.agent)).size === 1;
  const paths = held.flatMap((c) => c.resources).filter((r) => !r.startsWith("task:"));
  return {
    op: "kill",
    icon: "kill",
    danger: true,
    why: true,
    told: nameOf(id),
    title: `Kill ${a.name}?`,
    verb: `Kill ${a.name}`,
    intro: `Last heard ${ago(a.last_seen)}${host}. This takes effect at its next call; it is not asked first.`,
    rows: [
      [
        "held",
        "c-held",
        `Voids ${count(held.length, "claim")}${paths.length ? `: ${words(paths)}` : ""}` +
          (task ? ", and that of its task" : ""),
      ],
      task && ["task", "c2", `${task.title || task.id} goes back to the queue`],
      blocked.length && [
        "wait",
        "c-wait",
        `${names(blocked)} ${one ? "gets what it waits for" : "get what they wait for"}`,
      ],
      ["kill", "c-bad", "Every call it makes is refused until it is revived. Reviving does not restore its claims"],
      [
        "dot",
        "c3",
        `Its process${a.pid ? ` (${a.pid})` : ""} lives on (dibs kill --end ends it); files keep what it wrote`,
      ],
    ],
    command: (w) => `dibs kill ${quoted(a.name)} --why ${quoted(w)}`,
    facts: [
      a.state,
      ...held.map(claimText).sort(),
      task ? `task ${task.id}` : "",
      ...blocked.map((w) => `${nameOf(w.agent)} waits`).sort(),
    ],
    call: (w, request) => api.call("kill", { agent: id, why: w, request_id: request }),
    proof: (e) => e.kind === "agent.killed" && e.subject === id,
    done: `Killed ${a.name}`,
    topics: ["status", "agents", "tasks", "alerts"],
  };
}

function killAll(_, m) {
  const there = m.agents.filter((a) => a.shown !== "killed" && a.kind === "agent");
  const n = m.taskOf.size;
  if (!there.length) return null;
  return {
    op: "kill",
    icon: "kill",
    danger: true,
    why: true,
    told: "all agents",
    typed: S.me.workspace,
    title: "Kill all agents?",
    verb: "Kill all",
    intro: `${count(there.length, "agent")} of ${S.me.workspace}. This stops the fleet.`,
    rows: [
      ["held", "c-held", `Voids ${count(m.claims.length, "claim")}`],
      n > 0 && ["task", "c2", `${count(n, "task")} ${n === 1 ? "goes" : "go"} back to the queue`],
      ["kill", "c-bad", "Every call they make is refused until `dibs revive all`"],
      ["dot", "c3", "Their processes are not ended; files keep what they wrote"],
    ],
    command: (w) => `dibs kill all --why ${quoted(w)}`,
    facts: there.map((a) => `${a.name} is there`).sort(),
    call: (w, request) => api.call("kill", { agent: "all", why: w, request_id: request }),
    proof: (e) => e.kind === "agent.killed",
    done: "Killed all agents",
    topics: ["status", "agents", "tasks", "alerts"],
  };
}

function restoreFile(id, m) {
  const k = S.kept.find((x) => x.path === id);
  const holders = m.claims
    .filter((c) => c.resources.some((r) => covers(r, id)))
    .map((c) => c.name || nameOf(c.agent));
  if (!k) return null;
  const who = k.by ? nameOf(k.by) : "An unknown process";
  return {
    op: "restore",
    icon: "viol",
    title: `Restore ${id}?`,
    verb: "Restore",
    intro: `${who} overwrote it ${ago(k.at)}, when ${nameOf(k.holder)} held it. The earlier content is kept.`,
    rows: [
      ["held", "c-held", `The file gets its earlier content (${k.blob.slice(0, 12)})`],
      ["task", "c2", "The present content is kept, too: the restore can be undone"],
      [
        "wait",
        "c-wait",
        holders.length
          ? `${words(holders)} holds it now, keeps it, and is notified`
          : "Nobody holds it now; it stays free",
      ],
    ],
    command: () => `dibs restore ${quoted(k.id)}`,
    facts: [k.id, ...holders],
    call: (_, request) => api.call("restore", { what: k.id, request_id: request }),
    proof: (e) => e.kind === "edit.restored" && e.subject === id,
    done: `Restored ${id}`,
    topics: ["status", "alerts"],
  };
}

function reviveAgent(id) {
  const a = S.agents.get(id);
  if (!a) return null;
  return {
    op: "revive",
    icon: "work",
    title: `Revive ${a.name}?`,
    verb: "Revive",
    intro: "It may act again from its next call on. It holds nothing.",
    rows: [a.killed && ["kill", "c3", `It was killed: ${a.killed}`]],
    command: () => `dibs revive ${quoted(a.name)}`,
    facts: [a.state],
    call: (_, request) => api.call("revive", { agent: id, request_id: request }),
    proof: (e) => e.kind === "agent.revived" && e.subject === id,
    done: `Revived ${a.name}`,
    topics: ["agents"],
  };
}

function releaseClaim(id, m) {
  const found = m.claims.filter((c) => c.resources.includes(id));
  if (!found.length) return null;
  const c = found[0];
  const left = c.expires_at ? ` and has ${dur((time(c.expires_at) - now()) / 1000)} left` : "";
  const who = words(found.map((x) => x.name || nameOf(x.agent)));
  const waits = m.waits.filter((w) => w.resources.some((r) => covers(id, r) || covers(r, id)));
  return {
    op: "release",
    icon: "viol",
    danger: true,
    why: true,
    told: who,
    title: `Release ${id}, held by ${who}?`,
    verb: "Release",
    intro: `${who} holds it since ${clock(time(c.since), false)}${left}. It has not agreed.`,
    rows: [
      [
        "held",
        "c-held",
        `${who} loses it now and is notified, with the reason; a late write under token ${c.token} is refused`,
      ],
      [
        "wait",
        "c-wait",
        waits.length
          ? `${names(waits)} ${waits.length === 1 ? "gets" : "get"} it at once`
          : "Nobody waits for it",
      ],
      [
        "viol",
        "c-wait",
        "Uncommitted changes stay in the working tree, unguarded; their content is kept for dibs restore",
      ],
    ],
    command: (w) => `dibs release ${quoted(id)} --force --why ${quoted(w)}`,
    facts: [
      ...found.map((x) => `${nameOf(x.agent)} holds ${claimText(x)}`).sort(),
      ...waits.map((w) => `${nameOf(w.agent)} waits`).sort(),
    ],
    call: (w, request) => api.call("release", { resources: [id], force: true, why: w, request_id: request }),
    proof: (e) =>
      (e.kind === "claim.ended" || e.kind === "claim.released") && found.some((x) => x.claim === e.subject),
    done: `Released ${id}`,
    topics: ["status", "alerts"],
  };
}

function cancelLanding(id) {
  const x = S.landings?.landings.find((one) => one.id === id && one.state === "queued");
  if (!x) return null;
  return {
    op: "landings cancel",
    icon: "merge",
    title: `Take ${x.branch} out of the queue?`,
    verb: "Take out",
    intro: `${x.name || nameOf(x.agent)} queued it ${ago(x.at)} to land on ${x.onto}.`,
    rows: [
      ["merge", "c2", "The branch and its worktree stay as they are"],
      ["task", "c2", "It can be queued again; then it is the last one"],
    ],
    command: () => `dibs land --cancel ${quoted(x.branch)}`,
    facts: [x.state, x.commit],
    call: (_, request) => api.call("landings cancel", { landing: id, request_id: request }),
    proof: (e) => e.kind === "landing.cancelled" && e.subject === id,
    done: `${x.branch} is out of the queue`,
    topics: ["worktrees"],
  };
}

function requeueTask(id) {
  const t = S.tasks.get(id);
  if (!t) return null;
  return {
    op: "task move",
    icon: "task",
    title: `Requeue ${t.id}?`,
    verb: "Requeue",
    intro: `${t.title || t.id} is ${t.state}.`,
    rows: [["task", "c2", "Moves to planned; an agent that fits can take it"]],
    command: () => `dibs task move ${quoted(t.id)} planned`,
    facts: [t.state],
    call: (_, request) => api.call("task move", { id, state: "planned", request_id: request }),
    proof: (e) => e.kind === "task.moved" && e.subject === id,
    done: `${t.id} is planned`,
    topics: ["tasks", "alerts"],
  };
}

function cancelTask(id, m) {
  const t = S.tasks.get(id);
  if (!t) return null;
  const later = m.tasks.filter((x) => (x.after || []).includes(id));
  return {
    op: "task cancel",
    icon: "dead",
    danger: true,
    why: true,
    told: t.by_name || nameOf(t.by),
    title: `Cancel ${t.id}?`,
    verb: "Cancel task",
    keep: "Keep it",
    intro: `${t.title || t.id} is ${t.state}${t.agent ? `, with ${nameOf(t.agent)}` : ""}.`,
    rows: [
      [
        "dead",
        "c-bad",
        later.length
          ? `${count(later.length, "task")} after it ${later.length === 1 ? "stays" : "stay"} blocked`
          : "No task is known to wait for it",
      ],
      t.agent && ["held", "c-held", `${nameOf(t.agent)} loses its claim on it and is notified`],
      ["task", "c2", "Can be requeued by hand"],
    ],
    command: (w) => `dibs task cancel ${quoted(t.id)} --why ${quoted(w)}`,
    facts: [t.state, t.agent || ""],
    call: (w, request) => api.call("task cancel", { id, why: w, request_id: request }),
    proof: (e) => e.kind === "task.moved" && e.subject === id,
    done: `${t.id} is cancelled`,
    topics: ["tasks", "status"],
  };
}

const ACTIONS = {
  kill: killAgent,
  killall: killAll,
  restore: restoreFile,
  revive: reviveAgent,
  release: releaseClaim,
  unland: cancelLanding,
  requeue: requeueTask,
  cancel: cancelTask,
};

/** An action as it stands now, or null if there is nothing to do it to. `facts` is what is compared again on commit. */
export const describe = (kind, id) => ACTIONS[kind]?.(id, model()) || null;

/** Do it, and say so once the log has it. */
export async function commit(action, why, request) {
  const from = S.seq;
  const answer = await action.call(why, request);
  const seen = await inLog(action.proof, from);
  for (const one of action.topics) refetch(one, 0);
  toast(
    seen
      ? `${action.done}, event ${seen.seq}`
      : `${action.done}: the server says so, its event is not here yet`,
  );
  return answer;
}

const PROOF_MS = 10000; // the event of an action comes within some milliseconds; on a busy machine it may take longer

function inLog(test, from) {
  const look = () => {
    for (let i = S.events.length - 1; i >= 0 && S.events[i].seq > from; i -= 1) {
      if (test(S.events[i])) return S.events[i];
    }
    return null;
  };
  return new Promise((done) => {
    const end = Date.now() + PROOF_MS;
    const again = () => {
      const e = look();
      if (e || Date.now() > end) {
        done(e);
      } else {
        setTimeout(again, 50);
      }
    };
    again();
  });
}

export const send = (to, text, request) => api.call("send", { to, text, request_id: request });
export const ask = (resource, text, request) => api.call("ask", { resource, text, request_id: request });
export const acknowledge = (id) => api.call("alerts ack", { id });
export const fresh = () => {
  let n = "";
  for (const b of crypto.getRandomValues(new Uint8Array(12))) n += b.toString(16).padStart(2, "0");
  return `page-${n}`;
};
