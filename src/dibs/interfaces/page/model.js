// What the views show, derived from the state once for each change: nothing is decided here, only sorted and joined.
import { S, nameOf, now } from "./store.js";
import { isName, resourceText, time } from "./words.js";

export const WINDOW_MS = 2 * 3600 * 1000; // "the last two hours"
let at = -1;
let made = null;

/** All derived values of this version of the state. */
export function model() {
  if (at === S.version) return made;
  at = S.version;
  const claims = [...S.claims.values()];
  const byAgent = group(claims, (c) => c.agent);
  const waits = [...S.waiting.values()]
    .map((w) => joined(w, claims))
    .sort((a, b) => time(a.since) - time(b.since));
  const waitOf = new Map(waits.map((w) => [w.agent, w]));
  const blocks = new Map();
  for (const w of waits) {
    for (const h of w.holders) push(blocks, h.agent, w);
  }
  const open = worstFirst((S.alerts || []).filter((a) => a.state === "open"));
  const needs = open.filter((a) => a.severity !== "info").flatMap((a) => a.ids).length; // `info` needs nobody
  const quiet = new Set(
    (S.alerts || []).filter((a) => a.kind === "silent" && a.state !== "cleared").map((a) => a.agent),
  );
  const violated = new Set(
    (S.alerts || [])
      .filter((a) => a.kind === "violation" && a.state !== "cleared")
      .flatMap((a) => a.resources || [a.subject]),
  );
  const tasks = [...S.tasks.values()];
  const taskOf = new Map(tasks.filter((t) => t.state === "executing" && t.agent).map((t) => [t.agent, t]));
  const agents = [...S.agents.values()]
    .filter((a) => a.state !== "left" && (a.kind !== "person" || byAgent.has(a.agent) || waitOf.has(a.agent)))
    .map((a) => ({
      ...a,
      shown: stateOf(a, waitOf.get(a.agent), byAgent.get(a.agent), taskOf.get(a.agent), quiet.has(a.agent)),
    }));
  const shown = new Map(agents.map((a) => [a.agent, a.shown]));
  const deadlocks = circles(waits);
  // a server without a list of alerts: what is plain to see needs somebody, too
  const plain =
    S.alerts === null
      ? [
          ...deadlocks.map(() => "deadlock"),
          ...agents
            .filter((a) => byAgent.has(a.agent) && (a.shown === "silent" || a.shown === "dead"))
            .map((a) => a.shown),
        ]
      : [];
  made = {
    claims,
    byAgent,
    waits,
    waitOf,
    blocks,
    open,
    needs,
    violated,
    tasks,
    taskOf,
    agents,
    shown,
    deadlocks,
    plain,
    ...past(),
  };
  const holdsUp = (a) => (blocks.get(a.agent) || []).length;
  made.need = [...agents].sort((a, b) => rank(a) - rank(b) || holdsUp(b) - holdsUp(a) || since(a) - since(b));
  let held = null; // only the views that show it make it
  Object.defineProperty(made, "tree", { get: () => (held ??= tree(claims, waits, violated, shown)) });
  return made;

  function rank(a) {
    if (["waits for you", "limited", "stalled", "silent", "killed"].includes(a.shown)) return 0;
    if (a.shown === "waiting") return 1;
    if (violated.size && (byAgent.get(a.agent) || []).some(isViolated)) return 2;
    if (claims.length < 3000 && blocks.has(a.agent)) return 3;
    return { working: 4, idle: 5, dead: byAgent.has(a.agent) ? 0 : 6 }[a.shown] ?? 4;
  }
  function isViolated(c) {
    return c.resources.some((r) => violated.has(r));
  }
  function since(a) {
    return a.shown === "waiting" ? time(waitOf.get(a.agent)?.since) : 0;
  }
}

/** What an agent is doing, in a few words: its task, what its session is about, else what it holds something for. */
export function doing(a, m) {
  const task = m.taskOf.get(a.agent);
  if (task) return task.title || task.id;
  return a.doing || (m.byAgent.get(a.agent) || []).find((c) => c.reason)?.reason || "";
}

/** Is there nothing in the workspace, as far as all of it was read? */
export const isEmpty = (m) => S.whole && !m.agents.length && !m.claims.length && !m.tasks.length;

const RANKS = { error: 0, warning: 1, info: 2 };

/** Errors before warnings, new before old; equal ones are one, with all their ids. */
function worstFirst(alerts) {
  const merged = new Map();
  for (const a of alerts) {
    const key = `${a.kind}\t${a.agent}\t${a.text}`;
    const was = merged.get(key);
    merged.set(key, was ? { ...was, ids: [...was.ids, a.id] } : { ...a, ids: [a.id] });
  }
  return [...merged.values()].sort((a, b) =>
    a.severity === b.severity ? time(b.since) - time(a.since) : RANKS[a.severity] - RANKS[b.severity],
  );
}

export const group = (list, key) => {
  const m = new Map();
  for (const x of list) push(m, key(x), x);
  return m;
};
function push(map, key, value) {
  const l = map.get(key);
  if (l) {
    l.push(value);
  } else {
    map.set(key, [value]);
  }
}

/** The word for an agent: what the server says of it, and whether it waits. */
function stateOf(a, wait, held, task, quiet) {
  if (a.state === "killed") return "killed";
  if (a.state === "gone" || a.health === "dead" || a.activity === "exited") return "dead";
  if (a.activity === "waits for a person") return "waits for you";
  if (a.activity === "limited") return "limited";
  if (a.activity === "stalled") return "stalled";
  if (wait) return "waiting";
  // on one that has nothing, nobody depends
  if (quiet || (a.health === "silent" && (held?.length || task))) return "silent";
  return held?.length || task ? "working" : "idle";
}

/** A waiter with those who hold what it wants: as the server says; else those whose claims cover it. */
function joined(w, claims) {
  if (w.holders) return w;
  const wants = w.resources;
  const holders = [];
  for (const c of claims) {
    if (c.agent === w.agent) continue;
    const hit = c.resources.find((r) => wants.some((x) => covers(r, x) || covers(x, r)));
    if (hit) {
      holders.push({
        agent: c.agent,
        name: c.name,
        claim: c.claim,
        resource: hit,
        since: c.since,
        expires_at: c.expires_at,
      });
    }
  }
  return { ...w, holders };
}
export const covers = (r, x) =>
  r === x || (!isName(x) && (r === "." || x.startsWith(r.endsWith("/") ? r : `${r}/`)));

/** What an event is about, as people know it: the path of a claim, not its id. */
export function aboutOf(e) {
  if (e.data?.resources?.length) return e.data.resources.map(resourceText).slice(0, 2).join(", ");
  if (S.resources.has(e.subject)) return S.resources.get(e.subject).slice(0, 2).join(", ");
  if (e.data?.sides) return e.data.sides.join(" and "); // two worktrees, of the radar
  if (e.data?.branch && e.kind.startsWith("landing.")) return e.data.branch;
  return e.subject === e.agent ? "" : e.subject_name || nameOf(e.subject);
}

/** Refused deadlocks whose other agents still wait: the last for each agent. */
function circles(waits) {
  const waiting = new Set(waits.map((w) => w.agent));
  const found = new Map();
  for (const a of S.alerts || []) {
    if (a.kind === "deadlock" && a.cycle && a.state !== "cleared") {
      found.set(a.agent, { seq: a.evidence?.at(-1) || 0, at: time(a.since), agent: a.agent, steps: a.cycle });
    }
  }
  if (S.alerts === null) {
    for (let i = S.events.length - 1; i >= 0; i -= 1) {
      const e = S.events[i];
      if (time(e.at) < now() - WINDOW_MS) break;
      if (e.kind !== "claim.refused" || e.data?.code !== "deadlock" || found.has(e.agent)) continue;
      const steps = e.data.blockers || [];
      if (steps.slice(1).every((s) => waiting.has(s.agent)) && steps.length > 1) {
        found.set(e.agent, { seq: e.seq, at: time(e.at), agent: e.agent, steps });
      }
    }
  }
  return [...found.values()];
}

/** What the events of the last two hours add up to: refusals by ten minutes, the most contended resources. */
function past() {
  const end = now();
  const bins = Array(12).fill(0);
  const fought = new Map();
  let refused = 0;
  const note = (r, key, ms) => {
    const f = fought.get(r) || { resource: r, waits: 0, refused: 0, longest: 0, agents: new Set() };
    f[key] += 1;
    if (ms) f.longest = Math.max(f.longest, ms);
    fought.set(r, f);
    return f;
  };
  const queued = new Map();
  for (let i = S.events.length - 1; i >= 0; i -= 1) {
    const e = S.events[i];
    const t = time(e.at);
    if (t < end - WINDOW_MS) break;
    if (e.kind.endsWith(".refused")) {
      refused += 1;
      const b = 11 - Math.floor((end - t) / 600000);
      if (b >= 0 && b < 12) bins[b] += 1;
    }
    if (e.kind === "claim.refused") {
      note(resourceText(e.data.resources?.[0] ?? e.subject), "refused").agents.add(e.agent);
    } else if (e.kind === "wait.ended") {
      queued.set(e.subject, t);
    } else if (e.kind === "wait.queued") {
      note(resourceText(e.data.resources?.[0] ?? ""), "waits", (queued.get(e.subject) || end) - t);
    }
  }
  const list = [...fought.values()].sort(
    (a, b) => b.waits + b.refused - a.waits - a.refused || b.longest - a.longest,
  );
  return { refused, bins, fought: list };
}

/** Put something at a path of the tree. */
function put(root, path, key, value) {
  let node = root;
  for (const part of path.replace(/\/$/, "").split("/")) {
    if (!node.kids.has(part)) node.kids.set(part, { kids: new Map(), claims: [], waits: [] });
    node = node.kids.get(part);
  }
  node[key].push(value);
}

/** The rows of one node: its claims, else those who wait for it, else the folder. */
function rowsOf(node, depth, name, path) {
  if (node.claims.length) {
    const folder = node.kids.size > 0;
    const row = (claim, i) => ({ depth, name, ...claim, folder, waits: i ? [] : node.waits });
    return node.claims.map((claim, i) => ({ id: `c\t${path}\t${claim.c.claim}`, ...row(claim, i) }));
  }
  if (node.waits.length) {
    return node.waits.map((w) => ({ id: `w\t${path}\t${w.agent}`, depth, name, path, w, waits: [] }));
  }
  return [{ id: `d\t${path}`, depth, name, path, folder: true, waits: [] }];
}

/** All rows below a node. Folders with one child are one row. */
function walk(node, depth, above) {
  return [...node.kids.keys()].sort().flatMap((key) => {
    let name = key;
    let here = node.kids.get(key);
    while (!here.claims.length && !here.waits.length && here.kids.size === 1) {
      const [[part, next]] = here.kids;
      name += `/${part}`;
      here = next;
    }
    const path = above ? `${above}/${name}` : name;
    return [...rowsOf(here, depth, name, path), ...walk(here, depth + 1, path)];
  });
}

/** The pools that are in use: how much of each is taken, who waits, and its units. */
function poolRows(units, waits) {
  return S.pools.flatMap(({ name, size }) => {
    const taken = units.get(name).sort((a, b) => a.path.length - b.path.length || (a.path < b.path ? -1 : 1));
    const waiters = waits.filter((w) => w.resources.includes(name));
    if (!taken.length && !waiters.length) return [];
    const pool = { size, taken: taken.length };
    return [{ id: `p\t${name}`, depth: 0, name, path: name, pool, waits: waiters }, ...taken];
  });
}

/** Held paths as the rows of the repository's tree; names and pools first. */
function tree(claims, waits, violated, shown) {
  const names = [];
  const units = new Map(S.pools.map((pool) => [pool.name, []]));
  const root = { kids: new Map() };
  let tasks = 0;
  const isQuiet = (agent) => shown.get(agent) === "silent" || shown.get(agent) === "dead";
  const add = (c, r) => {
    const row = { c, path: r, violated: violated.has(r), quiet: isQuiet(c.agent) };
    if (r.startsWith("task:")) {
      tasks += 1;
    } else if (isName(r)) {
      const waiters = waits.filter((w) => w.resources.includes(r));
      const unitsOfPool = units.get(r.slice(0, r.lastIndexOf(":")));
      const at = { id: `n\t${r}\t${c.claim}`, depth: unitsOfPool ? 1 : 0, name: r };
      (unitsOfPool || names).push({ ...at, ...row, waits: waiters });
    } else {
      put(root, r, "claims", row);
    }
  };
  for (const c of claims) c.resources.forEach((r) => add(c, r));
  for (const w of waits) {
    for (const r of w.resources) {
      if (!isName(r)) put(root, r, "waits", w);
    }
  }
  names.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { names: [...names, ...poolRows(units, waits)], rows: walk(root, 0, ""), tasks };
}
