// Words and times: how long, when, what an event says. No state, no markup.

const pad = (n) => String(n).padStart(2, "0");

/** A length of time in seconds, for people: one form everywhere, so that the times of a row can be compared. */
export function dur(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s}s`;
  const m = Math.floor(s / 60);
  if (m < 60) return `${m}m`;
  const hours = Math.floor(m / 60);
  if (hours >= 48) return `${Math.floor(hours / 24)}d`;
  return m % 60 ? `${hours}h${pad(m % 60)}m` : `${hours}h`;
}

/** The wall clock of the person who looks. */
export function clock(ms, seconds = true) {
  const d = new Date(ms);
  return `${pad(d.getHours())}:${pad(d.getMinutes())}${seconds ? `:${pad(d.getSeconds())}` : ""}`;
}

/** The two sides of the first colon: `kill:ivo`, `file:src/a.py`. */
export function cut(text) {
  const at = text.indexOf(":");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

export const time = (iso) => (iso ? Date.parse(iso) : 0);
export const count = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;
export const clip = (text, most = 200) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
export const words = (list) =>
  list.length > 3 ? `${list.slice(0, 3).join(", ")} and ${list.length - 3} more` : list.join(", ");

/** A resource as events name it (`["tree", "src/a.py"]`), as `status` does. */
export const resourceText = (r) => (Array.isArray(r) ? String(r[r.length - 1]) : String(r));
export const isName = (resource) => /^[a-z][a-z0-9_-]*:/.test(resource);
export const baseName = (path) => path.replace(/\/$/, "").split("/").pop() || path;

const CLAIM_VIA = { queue: ", from the queue", handover: ", handed over" };
const CLAIM_WHY = {
  expired: "it expired",
  gone: "its process exited",
  killed: "its agent was killed",
  forced: "taken away",
};

const list = (resources) => words((resources || []).map(resourceText));
const agents = (blockers) => words((blockers || []).map((b) => b.name || b.agent || b.holder || ""));
const after = (mark, text) => (text ? `${mark}${text}` : "");
const short = (commit, letters = 12) => String(commit).slice(0, letters);
const quoted = (text) => `“${clip(String(text || ""), 120)}”`;

/** Why a claim or an edit was refused: the circle of a deadlock, else the code and who was in the way. */
function refusal(d) {
  if (d.code === "deadlock") {
    const circle = (d.blockers || []).map((b) => b.agent);
    return `deadlock: ${[...circle, ...circle.slice(0, 1)].join(" → ")}`;
  }
  const who = agents(d.blockers);
  if (!who) return d.code;
  return d.code === "held" ? `held by ${who}` : `${d.code}: held by ${who}`;
}

// kind of event → what its data says
const SAYS = {
  "agent.booted": (d) => `incarnation ${d.incarnation}${after(", process ", d.process?.[3])}`,
  "agent.killed": (d) => d.why || "",
  "agent.registered": (d) => after("process ", d.process?.[3]),
  "agent.revived": (d) => d.why || "",
  "alert.raised": (d) => [d.what, d.severity, d.text].filter(Boolean).join(", "),
  "claim.asked": (d) => `${quoted(d.text)} about ${d.resource}`,
  "claim.ended": (d) => `${CLAIM_WHY[d.why] || d.why}${after(" by ", d.by)}${after(": ", d.reason)}`,
  "claim.granted": (d) => `${d.mode}, token ${d.token}${CLAIM_VIA[d.via] || ""}`,
  "claim.refused": refusal,
  "claim.released": (d) =>
    `${d.why}${d.commit ? ` ${short(d.commit, 7)}` : ""}${after(", still held: ", list(d.left))}`,
  "claim.renewed": () => "",
  "commit.checked": (d) => count(typeof d.paths === "number" ? d.paths : (d.paths || []).length, "path"),
  "commit.refused": (d) => `${d.code || ""}: ${words(d.paths || [])}`,
  "edit.refused": refusal,
  "landing.cancelled": (d) => `out of the queue for ${d.target}`,
  "landing.landed": (d) => `on ${d.target} as ${short(d.commit)}`,
  "landing.moving": (d) => `${short(d.base)} → ${short(d.commit)}`,
  "landing.queued": (d) => `for ${d.target}${after(", priority ", d.priority)}`,
  "landing.refused": (d) => `${d.why || d.code}`,
  "message.posted": (d) => d.type || "",
  "radar.cleared": () => "would no longer conflict",
  "radar.found": (d) => `would conflict: ${words(d.files || [])}`,
  "rules.acknowledged": (d) => `version ${d.digest}`,
  "run.noted": (d) => `${d.what} ${d.number}: ${d.text}`,
  "run.phased": (d) => `${d.from} → ${d.to}`,
  "state.set": (d) => `version ${d.version}`,
  "task.added": (d) => `${d.title || ""}${after(", after ", words(d.after || []))}`,
  "task.moved": (d) => `${d.from} → ${d.to}${after(", ", d.class)}${after(": ", d.why)}`,
  "task.noted": (d) => ("title" in d || "priority" in d ? d.text : quoted(d.text)),
  "token.made": (d) => `for ${d.who}, ${d.role || d.kind}`,
  "token.revoked": (d) => `for ${d.who}`,
  "wait.ended": (d) => d.why,
  "wait.queued": (d) => `${d.mode}, waits`,
};

/** What an event says besides who and about what. Plain facts of its data; an unknown kind shows its data. */
export function says(e) {
  const d = e.data || {};
  if (SAYS[e.kind]) return SAYS[e.kind](d);
  const parts = Object.entries(d).filter(([, v]) => v !== null && v !== "" && v !== undefined);
  return clip(parts.map(([k, v]) => `${k} ${typeof v === "object" ? JSON.stringify(v) : v}`).join(", "), 160);
}

const KINDS = [
  [/^edit\.violated|^(commit|push)\.unverified/, "viol", "c-bad"],
  [/^agent\.killed/, "kill", "c-bad"],
  [/refused$/, "refused", "c-wait"],
  [/^alert\.raised/, "viol", "c-wait"],
  [/^alert\./, "ok", "c2"],
  [/^claim\.ended/, "dead", "c-dead"],
  [/^claim\.granted/, "held", "c-held"],
  [/^claim/, "read", "c-held"],
  [/^wait/, "wait", "c-wait"],
  [/^radar\.found/, "merge", "c-wait"],
  [/^radar|^landing/, "merge", "c2"],
  [/^commit|^git/, "commit", "c2"],
  [/^deploy/, "deploy", "c2"],
  [/^task/, "task", "c2"],
  [/^message|^event/, "msg", "c2"],
  [/^run/, "run", "c2"],
];

/** The shape and colour of an event. */
export function look(e) {
  if (e.kind === "claim.refused" && e.data?.code === "deadlock") return ["cycle", "c-bad"];
  const found = KINDS.find(([test]) => test.test(e.kind));
  return found ? [found[1], found[2]] : ["dot", "c3"];
}

/** Bytes, for people: `512M`, `1.2G`. */
export const bytes = (n) => (n >= 1e9 ? `${(n / 1073741824).toFixed(1)}G` : `${Math.round(n / 1048576)}M`);
