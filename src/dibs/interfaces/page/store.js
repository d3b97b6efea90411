// The state of the page: one snapshot at event N, then the events from N+1 on, folded into maps.
// What an event means beyond the plain fact is not guessed: the thing it concerns is fetched again, debounced.
import * as api from "./api.js";
import { resourceText } from "./words.js";

export const KEPT_EVENTS = 6000; // in memory; the log view fetches older ones
const FIRST_EVENTS = 200; // for the first paint; the rest of the two hours follows
const PAST_MS = 2 * 3600 * 1000;
const MOST = { claims: 5000, agents: 2000, tasks: 10000 };
const REFRESH_MS = 10000; // what changes without an event: who was heard, what is used
const AGAIN_MS = 3000; // after a question that a busy server did not answer
const REST_MS = [400, 4000]; // between two fetches of a topic: eight times what one takes, within these

export const S = {
  phase: "starting", // starting, signin, live, lost
  error: "",
  me: null,
  seq: 0,
  version: 0,
  claims: new Map(),
  waiting: new Map(),
  pools: [],
  agents: new Map(),
  tasks: new Map(),
  runs: [],
  run: null,
  alerts: null, // null: not read yet
  radar: null,
  landings: null, // what the last look for coming conflicts said, and the landing queue
  warnings: [],
  events: [],
  older: false,
  marks: [], // marks: what the page itself has to say, in Latest
  resources: new Map(), // claim id → its resources, for events that name the claim alone
  kept: [], // overwritten contents that can be restored; read when that is asked for
  // what the whole log has of a filter, from before what is here
  found: { query: "", events: [], first: 0, busy: false },
  lostAt: 0,
  retryAt: 0,
  latency: 0,
  more: {},
  frozen: 0,
  usage: new Map(),
  whole: false,
};

const listeners = new Set();
export const listen = (f) => listeners.add(f);
let painted = 0;
let waiting = false;
/** Something changed: painted at most ten times a second. */
export function changed(data = true) {
  if (data) S.version += 1;
  if (waiting) return;
  waiting = true;
  const paint = () => {
    waiting = false;
    painted = performance.now();
    for (const f of listeners) f();
  };
  const rest = Math.max(0, 100 - (performance.now() - painted));
  setTimeout(() => (document.hidden ? paint() : requestAnimationFrame(paint)), rest);
}

/** The server's time; it stands still while nothing is heard of it. */
export const now = () => S.frozen || Date.now() + api.skew;
export const may = (operation) => S.phase === "live" && !!S.me?.may?.[operation];
export const why = (operation) =>
  S.phase !== "live"
    ? "Not connected: actions are off"
    : S.me?.may?.[operation]
      ? ""
      : `${S.me?.role || "you"}: may look, not do this`;
export const nameOf = (agent) => S.agents.get(agent)?.name || agent;

// --- fetching

const topics = {
  status: async () => {
    const { first, found, more } = await api.pages("status", "claims", { limit: 1000 }, MOST.claims);
    S.claims = new Map(found.map((c) => [c.claim, c]));
    for (const c of found) S.resources.set(c.claim, c.resources);
    S.waiting = new Map(first.waiting.map((w, i) => [`${w.agent}\t${w.resources.join("\t")}\t${i}`, w]));
    S.pools = first.pools || [];
    const lost = first.undelivered || [];
    S.warnings = [
      ...(first.warnings || []),
      ...(lost.length
        ? [
            `${lost.length === 1 ? "1 alert" : `${lost.length} alerts`} not delivered: ${lost[0].why} (dibs alerts)`,
          ]
        : []),
    ];
    S.more.claims = more;
  },
  agents: async () => {
    const answer = await api.pages("agents", "agents", { limit: 1000 }, MOST.agents);
    S.agents = new Map(answer.found.map((a) => [a.agent, { ...a, ...S.usage.get(a.agent) }]));
    S.more.agents = answer.more;
  },
  usage: async () => {
    // takes a moment for the server, so only now and then
    const { found } = await api.pages("agents", "agents", { limit: 1000, usage: true }, MOST.agents);
    S.usage = new Map(
      found.filter((a) => a.cpu !== undefined).map((a) => [a.agent, { cpu: a.cpu, memory: a.memory }]),
    );
    for (const [id, a] of S.agents) S.agents.set(id, { ...a, ...S.usage.get(id) });
  },
  tasks: async () => {
    const { found, more } = await api.pages("task list", "tasks", { limit: 1000 }, MOST.tasks);
    S.tasks = new Map(found.map((t) => [t.id, t]));
    S.more.tasks = more;
    S.whole = true;
  },
  runs: async () => {
    const answer = await api.call("run list", { limit: 20 });
    S.runs = answer.runs;
    const live = S.runs.find((r) => r.state === "active");
    S.run = live ? (await api.call("run progress", { run: live.id })).run : null;
  },
  alerts: async () => {
    S.alerts = (await api.call("alerts", { limit: 200 })).alerts;
  },
  worktrees: async () => {
    [S.radar, S.landings] = await Promise.all([
      api.call("radar", { limit: 100 }),
      api.call("landings", { limit: 100 }),
    ]);
  },
  kept: async () => {
    S.kept = (await api.call("restore", { list: true })).kept;
  },
};
/** Is a question worth asking again: no answer, too many at once, or the store was busy? */
const passing = (error) => !error.status || error.status === 429 || error.status >= 500;

/**
 * Ask once, and again while the answer does not come; what this gives back ends it. For what a view shows beyond the
 * topics.
 */
export function asked(operation, fields, take) {
  let gone = false;
  let timer = 0;
  const ask = () =>
    api.call(operation, fields).then(
      (found) => {
        if (!gone) take(found);
      },
      (error) => {
        if (!gone && passing(error)) timer = setTimeout(ask, AGAIN_MS);
      },
    );
  ask();
  return () => {
    gone = true;
    clearTimeout(timer);
  };
}

const due = new Map(); // topic → { dirty, running, last, cost }

/** This topic is no longer what the page shows: fetch it, soon, and not more often than it can be afforded. */
export function refetch(topic, soon = 200) {
  const t = due.get(topic) || { dirty: false, running: false, last: 0, cost: 0, timer: 0 };
  due.set(topic, t);
  t.dirty = true;
  if (t.running || t.timer) return;
  const wait = Math.max(
    soon,
    t.last + Math.min(Math.max(REST_MS[0], 8 * t.cost), REST_MS[1]) - performance.now(),
  );
  t.timer = setTimeout(async () => {
    t.timer = 0;
    if (S.phase !== "live") return;
    t.dirty = false;
    t.running = true;
    const began = performance.now();
    let soon = 200;
    try {
      await topics[topic]();
      changed();
    } catch (error) {
      if (error.status === 401) {
        signedOut(error.message);
      } else if (passing(error)) {
        t.dirty = true;
        soon = AGAIN_MS;
      }
    }
    t.cost = performance.now() - began;
    t.last = performance.now();
    t.running = false;
    if (topic === "status") S.latency = S.latency ? 0.8 * S.latency + 0.2 * t.cost : t.cost;
    if (t.dirty) refetch(topic, soon);
  }, wait);
}

/** Fetch these now, whatever was fetched lately: before something is done about them. */
export async function refresh(names) {
  await Promise.all(names.map((name) => topics[name]()));
  changed();
}

// --- folding

const AFFECTS = [
  [/^(claim|wait|interest)\./, ["status"]],
  [/^agent\./, ["agents", "status"]],
  [/^(task)\./, ["tasks", "agents"]],
  [/^run\./, ["runs", "tasks"]],
  [/^(alert|edit|commit|deploy)\./, ["alerts"]],
  [/^(store|rules)\./, ["status", "agents"]],
  [/^(radar|landing)\./, ["worktrees"]],
];

function fold(e) {
  const d = e.data || {};
  if (e.kind === "claim.granted") {
    const resources = (d.resources || []).map(resourceText);
    S.resources.set(e.subject, resources);
    if (!S.claims.has(e.subject)) {
      S.claims.set(e.subject, {
        claim: e.subject,
        agent: e.agent,
        name: e.name,
        resources,
        mode: d.mode,
        token: d.token,
        since: e.at,
        expires_at: "",
        reason: "",
        task: "",
        fresh: true,
      });
    }
  } else if (e.kind === "claim.ended" || (e.kind === "claim.released" && !(d.left || []).length)) {
    S.claims.delete(e.subject);
  } else if (e.kind === "wait.queued") {
    S.resources.set(e.subject, (d.resources || []).map(resourceText));
    S.waiting.set(e.subject, {
      agent: e.agent,
      name: e.name,
      resources: (d.resources || []).map(resourceText),
      mode: d.mode,
      since: e.at,
      until: "",
      reason: "",
      fresh: true,
    });
  } else if (e.kind === "wait.ended") {
    S.waiting.delete(e.subject);
  } else if (e.kind === "task.moved" && S.tasks.has(e.subject)) {
    S.tasks.set(e.subject, { ...S.tasks.get(e.subject), state: d.to });
  }
}

function heard(events) {
  if (!events.length) return;
  const topics = new Set();
  for (const e of events) {
    if (e.seq <= S.seq) continue; // of a stream that began earlier
    S.seq = e.seq;
    S.events.push(e);
    fold(e);
    if (e.kind.startsWith("claim.") && S.resources.get(e.subject)?.some((r) => r.startsWith("land:"))) {
      topics.add("worktrees");
    } // who lands, or keeps others from it
    for (const [test, list] of AFFECTS) {
      if (test.test(e.kind)) {
        for (const one of list) topics.add(one);
      }
    }
  }
  if (S.events.length > KEPT_EVENTS + 500) {
    S.events.splice(0, S.events.length - KEPT_EVENTS);
    S.older = true;
  }
  if (S.resources.size > 4 * KEPT_EVENTS) {
    S.resources = new Map([...S.resources].slice(-2 * KEPT_EVENTS));
  }
  if (S.back) {
    S.back.count += events.length;
  }
  for (const one of topics) refetch(one);
  changed();
}

// --- the connection

let stop = null;
let attempt = 0;
let timer = 0;

async function snapshot() {
  const began = performance.now();
  // all at once: whatever is older than the log's end is fetched again as soon as the stream is open
  const [me, log] = await Promise.all([
    api.me(),
    api.call("log", { limit: FIRST_EVENTS, sentences: true }),
    ...["status", "agents", "alerts"].map((name) => topics[name]()),
  ]);
  S.latency = performance.now() - began;
  S.me = me;
  for (const e of log.events) {
    if (e.kind === "claim.granted" || e.kind === "wait.queued") {
      S.resources.set(e.subject, (e.data.resources || []).map(resourceText));
    }
  }
  S.events = log.events;
  S.seq = Number(log.cursor) || 0;
  S.older = !!log.earlier;
}

/** The events of the last two hours, for the timeline and the contention: after the first paint, page by page. */
async function fillIn() {
  try {
    while (
      S.phase === "live" &&
      S.older &&
      S.events.length < KEPT_EVENTS - 1000 &&
      Date.parse(S.events[0].at) > now() - PAST_MS
    ) {
      await fetchOlder();
    }
  } catch {
    /* the log view has a button for it */
  }
}

const MOST_MARKS = 20;

/** Say something in Latest that no event says. */
function mark(text) {
  S.marks.push({ at: now(), seq: S.seq, text });
  if (S.marks.length > MOST_MARKS) S.marks.shift();
}

const pruned = (g) =>
  `events ${g.after + 1} to ${g.continues - 1} were pruned before this page read them: a new snapshot was taken`;

/** Begin, or begin again: a snapshot unless there is one, then the events after it. */
export async function connect() {
  clearTimeout(timer);
  stop?.abort();
  const mine = (stop = new AbortController());
  const back = S.phase === "lost" && S.seq > 0;
  try {
    if (!S.seq) {
      await snapshot();
      changed();
    }
    if (back) {
      S.me = await api.me();
      S.back = { at: S.lostAt, from: S.seq, count: 0 };
    }
    await api.stream(S.seq, {
      signal: mine.signal,
      heard,
      open: () => {
        if (mine.signal.aborted) return;
        attempt = 0;
        S.phase = "live";
        S.frozen = 0;
        S.error = "";
        for (const one of Object.keys(topics)) {
          if (one !== "kept") refetch(one, 0);
        }
        if (S.back) {
          setTimeout(backAgain, 600);
        } else {
          fillIn();
        }
        changed();
      },
      gap: (g) => {
        mark(g.continues > g.after ? pruned(g) : "the log is another one now: a new snapshot was taken");
        S.back = null;
        S.seq = 0;
        S.phase = "lost";
        S.lostAt ||= now();
        connect();
      },
    });
  } catch (error) {
    if (mine.signal.aborted && mine !== stop) return;
    if (error.status === 401) {
      signedOut(error.message);
      return;
    }
    lost(error);
  }
}

function backAgain() {
  const b = S.back;
  if (!b || S.phase !== "live") return;
  S.back = null;
  const events = b.count === 1 ? "1 event" : `${b.count} events`;
  mark(`connected again after ${Math.round((now() - b.at) / 1000)} s: ${events} since ${b.from}, none missed`);
  changed();
}

function lost(error) {
  if (S.phase !== "lost") {
    S.lostAt = now();
    if (S.seq) S.frozen = S.lostAt;
  }
  S.phase = "lost";
  S.error = error.message;
  const wait = Math.min(10000, 500 * 2 ** Math.min(attempt, 5)) * (0.8 + 0.4 * Math.random());
  attempt += 1;
  S.retryAt = Date.now() + wait;
  timer = setTimeout(connect, wait);
  changed();
}

function signedOut(message) {
  stop?.abort();
  clearTimeout(timer);
  api.forget();
  Object.assign(S, { phase: "signin", error: message, seq: 0, me: null });
  changed();
}

export async function leave() {
  await api.signOut();
  signedOut("");
}

/** Sign in and begin. */
export async function enter(how) {
  await api.signIn(how);
  Object.assign(S, { phase: "starting", error: "", seq: 0 });
  changed();
  connect();
}

export async function start() {
  const code = /^#code=([0-9a-f]+)$/.exec(location.hash)?.[1];
  if (code) {
    history.replaceState(null, "", "#/overview");
    try {
      await enter({ code });
      return;
    } catch (error) {
      S.error = error.message;
    }
  }
  if (!api.signedIn()) {
    S.phase = "signin";
    changed();
    return;
  }
  connect();
}

setInterval(() => changed(false), 1000); // the one clock
setInterval(() => {
  if (S.phase === "live" && !document.hidden) {
    for (const one of ["status", "agents", "alerts", "usage"]) refetch(one, 0);
  }
}, REFRESH_MS);

/** Older events for the log and for stories: before the first one that is here. */
export async function fetchOlder() {
  const first = S.events[0]?.seq || 0;
  if (first <= 1) {
    S.older = false;
    return;
  }
  const page = await api.call("log", { after: Math.max(0, first - 1 - 1000), limit: 1000, sentences: true });
  for (const e of page.events) {
    if ((e.kind === "claim.granted" || e.kind === "wait.queued") && !S.resources.has(e.subject)) {
      S.resources.set(e.subject, (e.data.resources || []).map(resourceText));
    }
  }
  S.events = page.events.filter((e) => e.seq < first).concat(S.events);
  S.older = page.events.length > 0 && page.events[0].seq > 1;
  changed();
}

/** The whole log for what a filter says, newest first, from before what is here; again: from further back. */
export async function search(query) {
  const again = S.found.query === query;
  const first = S.events[0]?.seq || S.seq + 1;
  if (S.found.busy || (again && !S.found.first)) return;
  const fields = { limit: 200, before: again ? S.found.first : first, sentences: true };
  const text = [];
  for (const word of query.split(/\s+/).filter(Boolean)) {
    const m = /^(agent|kind|about):(.+)$/.exec(word);
    if (m && m[1] !== "about") {
      fields[m[1]] = m[2].replace(/\*$/, "");
    } else {
      text.push(m ? m[2] : word);
    }
  }
  if (text.length) fields.text = text.join(" ");
  S.found.busy = true;
  changed(false);
  try {
    const page = await api.call("log", fields);
    S.found = {
      query,
      events: [...page.events, ...(again ? S.found.events : [])],
      first: page.earlier ? page.first : 0,
      busy: false,
    };
    changed();
  } finally {
    S.found.busy = false;
    changed(false);
  }
}
