// What can be done about an alert: rows of a table by its kind. The first one that the server knows is the row's
// button, the others are in its menu. The server decides; an operation that it does not have is not offered.
import { S, nameOf } from "./store.js";
import { model } from "./model.js";
import { quoted } from "./actions.js";
import { baseName } from "./words.js";

const file = (a) => (a.resources || []).find((r) => !r.startsWith("task:")) || a.resources?.[0] || a.subject;
const who = (a) => nameOf(a.agent);
const holder = (a) => model().claims.find((c) => c.resources.includes(file(a)));

const message = (a) => ({ text: `Message ${who(a)}…`, action: `msg:${a.agent}`, op: "send" });
const story = (a) => ({ text: `Show ${who(a)}`, action: `open:agent:${a.agent}` });
const kill = (a) => ({ text: `Kill ${who(a)}…`, action: `kill:${a.agent}`, op: "kill", danger: true });
const diff = (a) => ({ text: "Show diff", action: `diff:${a.agent}`, op: "diff" });
const handover = (a) => ({ text: "Hand to…", action: `handover:${a.agent}`, op: "handover" });
// the files are on the agent's machine, where this command undoes it
const undo = (a) => ({ text: `Copy dibs undo ${who(a)}`, action: `copy:dibs undo ${quoted(who(a))}` });
const restore = (a) => ({ text: `Restore ${baseName(file(a))}…`, action: `restore:${file(a)}`, op: "restore" });
const ask = (a) =>
  holder(a) && { text: `Ask for ${baseName(file(a))}…`, action: `ask:${file(a)}`, op: "ask" };
const release = (a) =>
  holder(a) && {
    text: `Release ${baseName(file(a))}…`,
    action: `release:${file(a)}`,
    op: "release",
    danger: true,
  };
const requeue = (a) => ({ text: `Requeue ${a.subject}…`, action: `requeue:${a.subject}`, op: "task move" });
const cancel = (a) => ({
  text: `Cancel ${a.subject}…`,
  action: `cancel:${a.subject}`,
  op: "task cancel",
  danger: true,
});
const resolve = () => ({ text: "Resolve deadlock…", action: "go:waits" });
const dismiss = (a) => ({ text: "Dismiss", action: `ack:${a.ids}`, op: "alerts ack" });

const BY_KIND = {
  violation: [restore, message, release],
  deadlock: [resolve, message],
  dead: [diff, story, handover, undo],
  silent: [message, diff, handover, kill],
  asks: [story, message],
  hold: [ask, message, release],
  wait: [ask, release, message],
  expired: [story, message],
  poison: [requeue, cancel],
};
const ABOUT_AGENT = new Set([message, story, kill, diff, handover, undo]);

/** The actions of an alert, the most useful first; dismissing it is always the last one. */
export function remedies(a) {
  const known = S.agents.has(a.agent);
  return [...(BY_KIND[a.kind] || [message]), dismiss]
    .filter((make) => known || !ABOUT_AGENT.has(make))
    .map((make) => make(a))
    .filter((one) => one && (!one.op || one.op in (S.me?.may || {})));
}
