// Words and times: how long, when, what an event says. No state, no markup.

const pad = (n) => String(n).padStart(2, "0");

/** A length of time in seconds, for people; `fine` keeps the seconds of long minutes. */
export function dur(seconds, fine = false) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s}s`;
  const m = Math.floor(s / 60);
  if (m < 60) return fine || m < 5 ? `${m}m${pad(s % 60)}s` : `${m}m`;
  const hours = Math.floor(m / 60);
  return hours < 48 ? `${hours}h${pad(m % 60)}m` : `${Math.floor(hours / 24)}d${hours % 24}h`;
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
  gone: "its process is gone",
  killed: "its agent was killed",
  forced: "taken away",
};

/** Why a claim or an edit was refused: the circle of a deadlock, else the code and who was in the way. */
function refusal(d, blockers) {
  if (d.code === "deadlock") {
    const circle = (d.blockers || []).map((b) => b.agent);
    return `deadlock: ${[...circle, ...circle.slice(0, 1)].join(" → ")}`;
  }
  if (!blockers) return d.code;
  return d.code === "held" ? `held by ${blockers}` : `${d.code}: held by ${blockers}`;
}

/** What an event says besides who and about what. Plain facts of its data; an unknown kind shows its data. */
export function says(e) {
  const d = e.data || {};
  const list = (x) => words((x || []).map(resourceText));
  const who = (x) => words((x || []).map((b) => b.name || b.agent || b.holder || ""));
  switch (e.kind) {
    case "claim.granted":
      return `${d.mode}, token ${d.token}${CLAIM_VIA[d.via] || ""}`;
    case "claim.renewed":
      return "";
    case "token.made":
      return `for ${d.who}, ${d.role || d.kind}`;
    case "token.revoked":
      return `for ${d.who}`;
    case "claim.released":
      return (
        `${d.why}${d.commit ? ` ${String(d.commit).slice(0, 7)}` : ""}` +
        ((d.left || []).length ? `, still held: ${list(d.left)}` : "")
      );
    case "claim.ended":
      return `${CLAIM_WHY[d.why] || d.why}${d.by ? ` by ${d.by}` : ""}${d.reason ? `: ${d.reason}` : ""}`;
    case "claim.refused":
    case "edit.refused":
      return refusal(d, who(d.blockers));
    case "wait.queued":
      return `${d.mode}, waits`;
    case "wait.ended":
      return d.why;
    case "claim.asked":
      return `“${clip(String(d.text || ""), 120)}” about ${d.resource}`;
    case "task.added":
      return `${d.title || ""}${d.after?.length ? `, after ${words(d.after)}` : ""}`;
    case "task.moved":
      return `${d.from} → ${d.to}${d.class ? `, ${d.class}` : ""}${d.why ? `: ${d.why}` : ""}`;
    case "task.noted":
      return `“${clip(String(d.text || ""), 120)}”`;
    case "run.phased":
      return `${d.from} → ${d.to}`;
    case "run.noted":
      return `${d.what} ${d.number}: ${d.text}`;
    case "agent.killed":
    case "agent.revived":
      return d.why || "";
    case "agent.registered":
      return d.process ? `process ${d.process[3]}` : "";
    case "agent.booted":
      return `incarnation ${d.incarnation}${d.process ? `, process ${d.process[3]}` : ""}`;
    case "rules.acknowledged":
      return `version ${d.digest}`;
    case "commit.checked":
      return `${count(typeof d.paths === "number" ? d.paths : (d.paths || []).length, "path")}`;
    case "commit.refused":
      return `${d.code || ""}: ${words(d.paths || [])}`;
    case "alert.raised":
      return [d.what, d.severity, d.text].filter(Boolean).join(", ");
    case "message.posted":
      return d.type || "";
    case "radar.found":
      return `would conflict: ${words(d.files || [])}`;
    case "radar.cleared":
      return "would no longer conflict";
    case "landing.queued":
      return `for ${d.target}${d.priority ? `, priority ${d.priority}` : ""}`;
    case "landing.landed":
      return `on ${d.target} as ${String(d.commit).slice(0, 12)}`;
    case "landing.refused":
      return `${d.why || d.code}`;
    case "landing.cancelled":
      return `out of the queue for ${d.target}`;
    case "landing.moving":
      return `${String(d.base).slice(0, 12)} → ${String(d.commit).slice(0, 12)}`;
    case "state.set":
      return `version ${d.version}`;
    default:
      break;
  }
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
