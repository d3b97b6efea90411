"""One event as one plain sentence: who did what, to what, why, for how long, and how it can be taken back.

Every kind of operations/core/event_kinds.py has a sentence here; a test holds that. What agents wrote (names, reasons,
titles) is data: nothing in it that cannot be seen reaches a sentence, and their words stand in quotation marks.
"""

from __future__ import annotations

from dibs.audit.fold import is_lost
from dibs.client import quotes
from dibs.errors import counted, restoring, undoing
from dibs.machine import relative_times
from dibs.operations.guards.changes import who_did_it

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypedDict

    from dibs.audit.fold import Resource
    from dibs.operations.agents.events import AgentKilled
    from dibs.operations.alerts.events import AlertRaised
    from dibs.operations.claims.events import (
        ClaimCommitted,
        ClaimEnded,
        ClaimGranted,
        ClaimMoved,
        ClaimRefused,
        ClaimReleased,
        InterestEnded,
        WaitEnded,
        WaitQueued,
    )
    from dibs.operations.core.events import CallRefused
    from dibs.operations.documents.events import StateSet
    from dibs.operations.guards.events import (
        CommitRefused,
        CommitUnverified,
        DeployFinished,
        DeployRefused,
        DeployStarted,
        EditDoubted,
        EditRefused,
        EditRestored,
        EditTaken,
        EditUnattributed,
        EditViolated,
        UndoFinished,
        UndoRefused,
        UndoStarted,
    )
    from dibs.operations.handovers.events import HandoverEnded, HandoverMade, HandoverOffered
    from dibs.operations.landing.events import RadarCleared, RadarFound
    from dibs.operations.messages.events import MessagePosted
    from dibs.operations.tasks.events import TaskAdded, TaskAssigned, TaskForgotten, TaskMoved, TaskNoted
    from dibs.operations.votes.events import VoteDecided
    from dibs.stores.seam import Json, LogEvent

    class Known(TypedDict):
        """What an event's subject was until then: a claim, a waiter, an interest, or an attempt at a task."""

        now: int  # ms: since when
        resources: Sequence[Resource]

    # A function of the event, its data (of the type of its kind) and what is known of its subject.
    Sentence = Callable[["Teller", LogEvent, Json, "Known | None"], str]

SHOWN = 3  # resources and agents that a sentence names; the rest is a number
ABOUT_AGENTS = ("agent.", "message.", "rules.", "claim.asked")  # kinds of events whose subject is an agent
# Fields of an event's data that have an agent's id, or several.
AGENT_FIELDS = frozenset({"to", "by", "holder", "from", "about", "suspects", "holders", "of", "blockers"})
MAX_WORDS = 160  # letters of what an agent wrote
SHORT_COMMIT = 8  # letters of a commit's id
VERBS = {"write": "claimed {}", "read": "claimed {} for reading", "watch": "started watching {}"}
# {on}, {of}: what a claim or a wait was about, with its preposition; nothing where that is not known.
ENDS = {
    "expired": "{whose} claim{on} expired: it was not renewed.",
    "gone": "{whose} process exited: its claim{on} ended{after}.",
    "killed": "{who} was killed: its claim{on} ended{after}.",
    "cancelled": "{whose} task was cancelled: its claim{on} ended{after}.",
    "limited": "{who} cannot go on: its claim{on} ended{after}, and its task is offered to others.",
    "preempted": "{whose} task was preempted: its claim{on} ended{after}.",
    "unclaimed": "{who} did not pick up the hand-over{of} in time.",
    "removed": "The working tree was removed: {whose} claim{on} ended{after}.",
    "epoch": "The store lost commits: {whose} claim{on} ended.",
}
WAITS = {
    "granted": "{who} got its turn{for_}{after}.", "gave_up": "{who} gave up waiting{for_}{after}.",
    "lapsed": "{who} stopped asking{for_}: it lost its place in the queue{after}.",
    "deadlock": "{who} stopped waiting{for_}{after}: a deadlock.",
    "quota": "{who} stopped waiting{for_}{after}: too many agents wait for each other.",
    "killed": "{who} was killed while it waited{for_}.", "left": "{who} left while it waited{for_}.",
    "again": "{who} asked again{for_} and keeps its turn.",
    "epoch": "The store lost commits: {who} no longer waits{for_}.",
}  # fmt: skip
RELEASES = {
    "released": "{who} released {what}{after}.", "upgraded": "{who} gave up {what} for a stronger claim on it.",
    "committed": "{who} committed {what}{commit}, which ended its claim{after}.",
    "unchanged": "{who} stopped and had not changed {what}: its claim ended{after}.",
    "left": "{who} left, which released {what}{after}.", "done": "{who} finished {what}{after}.",
    "failed": "{who} gave up {what} as failed{after}.", "returned": "{who} returned {what}{after}.",
}  # fmt: skip
REFUSALS = {
    "conflict": "it had not seen what is in the file now, or the file is not settled",
    "held": "another agent holds it", "forbidden": "its role does not allow it",
    "order": "it breaks the order of claims",
    "deadlock": "it would cause a deadlock", "fenced": "its claim or its process was no longer the current one",
    "quota": "a limit was reached", "not_found": "it was not found", "killed": "the agent was killed",
    "behind": "the working tree was behind", "unverified": "the verification failed", "invalid": "it was not valid",
}  # fmt: skip
DEPLOY_REFUSALS = {
    "conflict": "files were changed and not committed", "unavailable": "whether the copy was stale could not be known",
    "forbidden": "a placeholder text would have shipped, or its role does not deploy",
}  # fmt: skip
HOW_PAST = {"past": "past the guard (`--no-verify`)", "replayed": "by replaying commits, for which git does not ask"}


class Teller:
    """Makes sentences; knows the agents' names, and which overwritten contents can still be restored."""

    def __init__(self, names: dict[str, str], restorable: Iterable[str] | None = None) -> None:
        self._names = names
        self._restorable = None if restorable is None else set(restorable)

    def tell(self, event: LogEvent, known: Known | None = None) -> str:
        """The sentence. `known` is the claim or the wait that the event's subject means, as it was then."""
        try:
            return SENTENCES[event["kind"]](self, event, event["data"], known)
        except (KeyError, TypeError, ValueError, AttributeError):  # a kind or data of another version
            return f"{self.who(event['agent'])}: {quotes.clean(event['kind'])} {quotes.clean(event['subject'])}."

    # --- parts of sentences

    def who(self, agent: str | None) -> str:
        """An agent's name."""
        if not agent:
            return "an unknown agent"
        return quotes.clean(self._names.get(agent) or agent)

    def all(self, agents: Iterable[str]) -> str:
        """Some agents' names."""
        return some([self.who(agent) for agent in dict.fromkeys(agents)])

    def back(self, identifier: str, was: str) -> str:
        """How an overwritten content comes back; nothing where that was not looked up."""
        if self._restorable is None:
            return ""
        if not was:
            return " There was no file before."
        if identifier in self._restorable:
            return f" `{restoring(identifier)}` brings back what was there."
        return " What was there is no longer kept."


def mentioned(events: Iterable[LogEvent]) -> list[str]:
    """The agents that these events may name: their ids, and words that are none."""
    found: set[str] = set()
    for event in events:
        found.add(event["agent"])
        if event["kind"].startswith(ABOUT_AGENTS):
            found.add(event["subject"])
        data = event["data"]
        if AGENT_FIELDS.isdisjoint(data):
            continue
        for name in AGENT_FIELDS.intersection(data):
            value = data[name]
            for one in value if isinstance(value, list) else (value,):
                said = one.get("agent") if isinstance(one, dict) else one
                if isinstance(said, str):
                    found.add(said)
    return sorted(found - {""})


def what(resources: Iterable[Resource | str] | None) -> str:
    """Resources as a sentence names them."""
    names = [text_of(one) for one in resources or () if not (isinstance(one, (list, tuple)) and one[0] == "inode")]
    return some(names) or "nothing"


def text_of(resource: Resource | str) -> str:
    """One resource, of an event or as people write it."""
    text = str(resource[1] if isinstance(resource, (list, tuple)) else resource)
    return quotes.clean(text or "the whole repository")


def some(names: list[str], few: int = SHOWN) -> str:
    """A few of these, and how many more."""
    if len(names) > few:
        return f"{', '.join(names[:few])} and {len(names) - few} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def said(text: object) -> str:
    """An agent's own words, in quotation marks."""
    words = quotes.clean(" ".join(str(text).split()))
    return f"“{words[:MAX_WORDS]}{'…' if len(words) > MAX_WORDS else ''}”"


def _short(commit: object) -> str:
    return quotes.clean(str(commit))[:SHORT_COMMIT]


def _about(preposition: str, known: Known | None) -> str:
    """What the event's subject was about; nothing if that is not known."""
    return f" {preposition} {what(known['resources'])}" if known else ""


def _after(event: LogEvent, known: Known | None) -> str:
    """How long it lasted."""
    return f" after {relative_times.short(event['now'] - known['now'])}" if known else ""


def _why(reason: object) -> str:
    return f": {said(reason)}" if reason else ""


# --- claims and waits


def _granted(t: Teller, e: LogEvent, d: ClaimGranted, _: Known | None) -> str:
    things = what(d["resources"])
    if d["via"] == "handover":
        begin = f"{t.who(e['agent'])} was handed {things}"
    elif d["via"] == "queue":
        begin = f"{t.who(e['agent'])} got {things} from the queue"
    elif d.get("tree") and d["mode"] == "write":
        begin = f"{t.who(e['agent'])} claimed {things} to change it"
    else:
        begin = f"{t.who(e['agent'])} {VERBS.get(d['mode'], 'claimed {}').format(things)}"
    task = f", for task {quotes.clean(d['task'])}" if d.get("task") else ""
    return f"{begin} (token {d['token']}){task}{_why(d.get('reason'))}."


def _moved(t: Teller, e: LogEvent, d: ClaimMoved, known: Known | None) -> str:
    if d["why"] == "boot":
        return f"{t.who(d['to'])} started again and keeps its claim{_about('on', known)}, under token {d['token']}."
    return f"{t.who(e['agent'])} left: its claim{_about('on', known)} passed to {t.who(d['to'])}."


def _released(t: Teller, e: LogEvent, d: ClaimReleased, known: Known | None) -> str:
    after, things = _after(e, known), what(d.get("resources"))
    if d.get("to"):
        whose = f" of {t.who(e['agent'])}" if d.get("by") else ""
        text = f"{t.who(d.get('by') or e['agent'])} handed {things}{whose} over to {t.who(d['to'])}{after}."
    elif d.get("by"):
        whose = f"{t.who(e['agent'])}'s claim"
        text = f"{t.who(d['by'])} committed {things} ({_short(d.get('commit', ''))}), which ended {whose}{after}."
    else:
        commit = f" ({_short(d['commit'])})" if d.get("commit") else ""
        form = RELEASES.get(d["why"], RELEASES["released"])
        text = form.format(who=t.who(e["agent"]), what=things, after=after, commit=commit)
        if commit and d["why"] != "committed":
            text = f"{text[:-1]}, with commit {_short(d['commit'])}."
    return f"{text} It still holds {what(d['left'])}." if d.get("left") else text


def _ended(t: Teller, e: LogEvent, d: ClaimEnded, known: Known | None) -> str:
    who, on = t.who(e["agent"]), _about("on", known)
    if d["why"] == "forced":
        things = what(known["resources"]) if known else "a claim"
        return f"{t.who(d.get('by'))} took {things} away from {who}{_after(e, known)}{_why(d.get('reason'))}."
    form = ENDS.get(d["why"], "{whose} claim{on} ended{after}.")
    whose = f"{who}'" if who.endswith("s") else f"{who}'s"
    return form.format(who=who, whose=whose, on=on, of=_about("of", known), after=_after(e, known))


def _committed(t: Teller, e: LogEvent, d: ClaimCommitted, known: Known | None) -> str:
    things = what(known["resources"]) if known else "a claimed file"
    return f"{t.who(e['agent'])} committed {things} ({_short(d['commit'])}) and keeps its claim."


def _refused(t: Teller, e: LogEvent, d: ClaimRefused, _: Known | None) -> str:
    wanted = what(d.get("resources") or [e["subject"]])
    begin = f"{t.who(e['agent'])} was refused {wanted}"
    blockers = d.get("blockers") or []
    if d["code"] == "deadlock":
        agents = [t.who(one.get("agent")) for one in blockers]
        return f"{begin}: it would cause a deadlock ({' → '.join([*agents, *agents[:1]])})."
    if not blockers:
        return f"{begin}: {REFUSALS.get(d['code'], quotes.clean(d['code']))}."
    first = blockers[0]
    state = "waits for" if first.get("waiting") else "held" if first.get("mode") == "write" else "read"
    more = f" (and {len(blockers) - 1} more)" if len(blockers) > 1 else ""
    thing = text_of(first.get("resource", ""))
    thing = "it" if thing == wanted else thing
    return f"{begin}: {t.who(first.get('agent'))} {state} {thing}{_why(first.get('reason'))}{more}."


def _queued(t: Teller, e: LogEvent, d: WaitQueued, _: Known | None) -> str:
    return f"{t.who(e['agent'])} started waiting for {what(d['resources'])}."


def _wait_ended(t: Teller, e: LogEvent, d: WaitEnded, known: Known | None) -> str:
    form = WAITS.get(d["why"], "{who} no longer waits{for_}{after}.")
    return form.format(who=t.who(e["agent"]), for_=_about("for", known), after=_after(e, known))


def _interest_ended(t: Teller, e: LogEvent, d: InterestEnded, known: Known | None) -> str:
    things = what(known["resources"]) if known else "what it asked for"
    if d["why"] == "served":
        return f"{t.who(e['agent'])} was notified that {things} is free."
    return f"{t.who(e['agent'])} is no longer notified when {things} is free."


# --- edits and commits


def _edit_refused(t: Teller, e: LogEvent, d: EditRefused, _: Known | None) -> str:
    why = REFUSALS.get(d["code"], quotes.clean(d["code"]))
    return f"{t.who(e['agent'])} was refused an edit of {text_of(e['subject'])}: {why}."


def _violated(t: Teller, e: LogEvent, d: EditViolated, _: Known | None) -> str:
    path = text_of(e["subject"])
    text = f"{t.who(e['agent'])} changed {path} although {t.who(d['holder'])} held it or had unfinished work in it."
    return text + t.back(d["id"], d["was"])


def _unattributed(t: Teller, e: LogEvent, d: EditUnattributed, _: Known | None) -> str:
    path = text_of(e["subject"])
    by = who_did_it(d["grade"], [t.who(one) for one in d.get("suspects", ())])
    holder = f"{t.who(d['holder'])} held or had unfinished work in"
    return f"{path}, which {holder}, was changed; {by}.{t.back(d['id'], d['was'])}"


def _taken(t: Teller, e: LogEvent, d: EditTaken, _: Known | None) -> str:
    text = f"{t.who(e['agent'])} continued {text_of(e['subject'])}, in which {t.who(d['holder'])} had unfinished work."
    return text + t.back(d["id"], d["was"])


def _doubted(t: Teller, e: LogEvent, d: EditDoubted, _: Known | None) -> str:
    others = f", while {t.all(d['suspects'])} was at work too" if d.get("suspects") else ""
    text = f"{text_of(e['subject'])} changed, probably by a command that {t.who(e['agent'])} ran{others}."
    return text + t.back(d["id"], d["was"])


def _restored(t: Teller, e: LogEvent, d: EditRestored, _: Known | None) -> str:
    undo = t.back(d["undo"], d["was"]) if d.get("undo") else ""
    return (
        f"{t.who(e['agent'])} restored {text_of(e['subject'])} as it was before change {quotes.clean(d['id'])}.{undo}"
    )


def _commit_refused(t: Teller, e: LogEvent, d: CommitRefused, _: Known | None) -> str:
    why = REFUSALS.get(d["code"], quotes.clean(d["code"]))
    return f"{t.who(e['agent'])} was refused a commit of {what(d['paths'])}: {why}."


def _unverified(t: Teller, e: LogEvent, d: CommitUnverified, _: Known | None) -> str:
    held = f", with {what(d['paths'])}, which {t.all(d['holders'])} held" if d.get("holders") else ""
    return f"{t.who(e['agent'])} committed {_short(e['subject'])} {HOW_PAST.get(d['how'], '')}{held}."


# --- tasks


def _task_added(t: Teller, e: LogEvent, d: TaskAdded, _: Known | None) -> str:
    after = f" It waits for {some([quotes.clean(one) for one in d['after']])}." if d.get("after") else ""
    return f"{t.who(e['agent'])} added task {quotes.clean(e['subject'])}: {said(d['title'])}.{after}"


def _task_noted(t: Teller, e: LogEvent, d: TaskNoted, known: Known | None) -> str:
    form = (
        "{who} changed task {what}: {words}."
        if {"title", "priority"} & set(d)
        else "{who} noted on task {what}: {words}."
    )
    return _form(form)(t, e, d, known)


def _task_moved(t: Teller, e: LogEvent, d: TaskMoved, known: Known | None) -> str:
    task, who, to = quotes.clean(e["subject"]), t.who(e["agent"]), d["to"]
    if to == "executing":
        return f"{who} began task {task} (token {d.get('token')})."
    after = _after(e, known) if d["from"] == "executing" else ""
    if is_lost(d):
        follows = "it is planned again" if to == "planned" else "it is quarantined: no agent gets it"
        return f"{who} lost task {task}{after} ({d['why']}): {follows}."
    if to == "complete":
        checked = f"; `{quotes.clean(d['verified']['command'])}` passed" if d.get("verified") else ""
        return f"{who} completed task {task}{after}{checked}."
    if to in {"failed", "quarantined", "cancelled"}:
        words = {"failed": "failed at", "quarantined": "failed at", "cancelled": "cancelled"}[to]
        held = " It is quarantined: no agent gets it." if to == "quarantined" else ""
        return f"{who} {words} task {task}{after}{_why(d.get('why'))}.{held}"
    return f"{who} moved task {task} from {quotes.clean(d['from'])} to {quotes.clean(to)}{after}{_why(d.get('why'))}."


def _tasks_forgotten(_t: Teller, _e: LogEvent, d: TaskForgotten, _: Known | None) -> str:
    return f"dibs removed the records of finished tasks: {some([quotes.clean(str(one)) for one in d['tasks']])}."


def _assigned(t: Teller, e: LogEvent, d: TaskAssigned, _: Known | None) -> str:
    how = "" if d.get("strategy") in {None, "direct"} else f" (by {quotes.clean(d['strategy'])})"
    return f"Task {quotes.clean(e['subject'])} was assigned to {t.who(d['to'])} by {t.who(e['agent'])}{how}."


# --- agents


def _killed(t: Teller, e: LogEvent, d: AgentKilled, _: Known | None) -> str:
    return f"{t.who(e['agent'])} killed {t.who(e['subject'])}{_why(d.get('why'))}."


def _posted(t: Teller, e: LogEvent, d: MessagePosted, _: Known | None) -> str:
    kind = f" ({quotes.clean(d['type'])})" if d.get("type") else ""
    return f"{t.who(e['agent'])} sent {t.who(e['subject'])} message {quotes.clean(d['id'])}{kind}."


def _call_refused(t: Teller, e: LogEvent, d: CallRefused, _: Known | None) -> str:
    if d["code"] == "not_found":  # of a release or a renewal
        return f"{t.who(e['agent'])} could not give back or renew {quotes.clean(e['subject'])}: it did not hold it."
    needs = f" (it takes the rank {quotes.clean(d['needs'])})" if d.get("needs") else ""
    why, call = REFUSALS.get(d["code"], quotes.clean(d["code"])), quotes.clean(e["subject"])
    if d["code"] == "forbidden":  # the caller may be another one, which used the name
        return f"A call as {t.who(e['agent'])} was refused ({call}): {why}{needs}."
    return f"{t.who(e['agent'])} was refused {call or 'a call'}: {why}{needs}."


def _state_set(t: Teller, e: LogEvent, d: StateSet, _: Known | None) -> str:
    verb = "deleted" if d.get("deleted") else "wrote"
    return f"{t.who(e['agent'])} {verb} the state {quotes.clean(e['subject'])} (version {d['version']})."


def _deploy_started(t: Teller, e: LogEvent, d: DeployStarted, _: Known | None) -> str:
    """The start, with what was left out on purpose."""
    back = ", as a rollback" if d.get("rollback") else ""
    unsynced = ", without a comparison with the remote" if d.get("unsynced") else ""
    return f"{t.who(e['agent'])} began to deploy {_short(d['commit'])} to {quotes.clean(e['subject'])}{back}{unsynced}."


def _deploy_refused(t: Teller, e: LogEvent, d: DeployRefused, _: Known | None) -> str:
    why = DEPLOY_REFUSALS.get(d["code"]) or REFUSALS.get(d["code"], quotes.clean(d["code"]))
    return f"{t.who(e['agent'])} was refused a deploy to {quotes.clean(e['subject'])}: {why}."


def _deploy_finished(t: Teller, e: LogEvent, d: DeployFinished, _: Known | None) -> str:
    results = {
        "ok": "and its verification passed", "failed": f"and it failed (exit code {d.get('exit')})",
        "unverified": "and its verification failed", "unchecked": "without a verification",
        "interrupted": "and was interrupted",
    }  # fmt: skip
    lost = " Its claim was lost meanwhile." if d.get("fenced") else ""
    end = results.get(d["result"], quotes.clean(d["result"]))
    return f"{t.who(e['agent'])} deployed {_short(d['commit'])} to {quotes.clean(e['subject'])}, {end}.{lost}"


def _alert(t: Teller, e: LogEvent, d: AlertRaised, _: Known | None) -> str:
    things = what(d["resources"]) if d.get("resources") else text_of(t.who(d["about"]) if d.get("about") else "")
    about = "" if things in {"the whole repository", t.who(e["agent"])} else f", about {things}"
    to = f" for {t.who(e['agent'])}" if e["agent"] else ""
    return f"dibs raised alert {quotes.clean(e['subject'])}{to}: {quotes.clean(d['what'])} ({d['severity']}){about}."


def _decided(_t: Teller, e: LogEvent, d: VoteDecided, _: Known | None) -> str:
    end = f"decided for {said(d['option'])}" if d["outcome"] == "decided" else f"ended {quotes.clean(d['outcome'])}"
    return f"Vote {quotes.clean(e['subject'])} {end}."


# --- working trees and branches


def _radar_found(_t: Teller, _e: LogEvent, d: RadarFound, _: Known | None) -> str:
    return f"{_sides(d)} would conflict if they were merged: {what(d['files'])}."


def _radar_cleared(_t: Teller, _e: LogEvent, d: RadarCleared, _: Known | None) -> str:
    return f"{_sides(d)} would no longer conflict."


def _sides(data: RadarFound | RadarCleared) -> str:
    return some([quotes.clean(str(side)) for side in data["sides"]])


# --- undo


def _undo_started(t: Teller, e: LogEvent, d: UndoStarted, _: Known | None) -> str:
    things = f"{what(d['paths'])}{_more(d)}"
    return f"{t.who(e['agent'])} began to undo what {t.all(d['of'])} changed in {things}."


def _undo_finished(t: Teller, e: LogEvent, d: UndoFinished, _: Known | None) -> str:
    commit = f", in commit {_short(d['commit'])}" if d.get("commit") else ""
    left = f" {counted(d['conflicts'], 'file')} with conflicts to settle." if d.get("conflicts") else ""
    text = f"{t.who(e['agent'])} undid what {t.all(d['of'])} changed in {counted(d['restored'], 'file')}{commit}.{left}"
    return f"{text} `{quotes.clean(undoing(e['subject']))}` takes that back."


def _undo_refused(t: Teller, e: LogEvent, d: UndoRefused, _: Known | None) -> str:
    why = REFUSALS.get(d["code"], quotes.clean(d["code"]))
    return f"{t.who(e['agent'])} was refused an undo of what {t.all(d['of'])} changed: {why}."


def _more(d: UndoStarted) -> str:
    left = d.get("count", 0) - len(d["paths"])
    return f" and {left} more" if left > 0 else ""


def _handed(t: Teller, e: LogEvent, d: HandoverMade | HandoverOffered, _: Known | None) -> str:
    tasks = [f"task {quotes.clean(task)}" for task in d["tasks"]]
    claims = len(d["claims"]) - len(tasks)  # a task has one, too
    more = [counted(claims, "claim")] if claims > 0 else []
    more += [f"uncommitted work in {counted(d['files'], 'file')}"] if d["files"] else []
    work = some([*tasks, *more])
    note = f": {said(d['note'])}" if d.get("note") else ""
    to = d.get("to")
    if isinstance(to, str):
        return f"{t.who(e['agent'])} handed the work of {t.who(e['subject'])} over to {t.who(to)} ({work}){note}."
    return f"{t.who(e['agent'])} kept the work of {t.who(e['subject'])} for the next agent ({work}){note}."


def _handover_ended(t: Teller, e: LogEvent, d: HandoverEnded, _: Known | None) -> str:
    whose = f"the work of {t.who(e['subject'])}"
    if d["why"] == "lapsed":
        return f"No agent started in time to take over {whose}: it was released."
    if d["why"] == "cancelled":
        return f"The offer of {whose} to the next agent was taken back: it was released."
    return f"Another hand-over of {whose} took the place of the first."


# --- the rest, each a form with the agent and the subject


def _form(form: str) -> Sentence:
    """A sentence with the agent ({who}), the subject ({what}) or the agent that it names ({whom}), and data."""

    def say(t: Teller, e: LogEvent, d: Json, known: Known | None) -> str:
        given = {name: quotes.clean(str(value)) for name, value in d.items()}
        parts = _Parts(
            given,
            who=t.who(e["agent"]),
            what=text_of(e["subject"]),
            whom=t.who(e["subject"]),
            things=what((known and known["resources"]) or d.get("resources")),
            on=_about("on", known),
            again="" if d.get("incarnation") == 1 else " again",
            words=said(d.get("text") or d.get("how") or ""),
            because=_why(d.get("why")),
            kind=quotes.clean(str(d.get("what", ""))),
            commit=_short(d.get("commit", "")),
            sender=t.who(d.get("from") or None),
        )
        whole = form if parts["commit"] else form.replace(" ({commit})", "")  # a branch may be queued without one
        return whole.format_map(parts)

    return say


class _Parts(dict[str, str]):
    """The parts of a form; what an event does not say is left empty."""

    def __init__(self, given: dict[str, str], **parts: str) -> None:
        super().__init__({**given, **parts})

    def __missing__(self, name: str) -> str:
        return ""


SENTENCES: dict[str, Sentence] = {
    "claim.granted": _granted, "claim.moved": _moved, "claim.released": _released, "claim.ended": _ended,
    "claim.refused": _refused, "claim.renewed": _form("{who} renewed its claim{on}."),
    "claim.committed": _committed,
    "claim.asked": _form("{who} asked {whom} to release {resource}: {words}."),
    "wait.queued": _queued, "wait.ended": _wait_ended, "interest.ended": _interest_ended,
    "interest.left": _form("{who} will be notified when {things} is free."),
    "agent.registered": _form("{whom} joined."), "agent.booted": _form("{whom} started{again}."),
    "agent.left": _form("{whom} left."),
    "agent.forgotten": _form("dibs removed the record of {whom}, which is long gone."),
    "agent.same": _form("{who} goes by another id, too."), "agent.killed": _killed,
    "agent.revived": _form("{who} revived {whom}{because}."),
    "handover.made": _handed, "handover.offered": _handed, "handover.ended": _handover_ended,
    "token.made": _form("{who} made credential {what}."), "token.revoked": _form("{who} revoked credential {what}."),
    "message.posted": _posted, "message.acknowledged": _form("{who} acknowledged message {what} from {sender}."),
    "message.expired": _form("Message {what} from {sender} expired before {who} acknowledged it."),
    "message.dropped": _form("A message from dibs to {whom} was dropped: its inbox was full."),
    "event.emitted": _form("{who} emitted {what}."), "event.subscribed": _form("{who} subscribed to {what}."),
    "event.unsubscribed": _form("{who} is no longer subscribed to {what}."),
    "alert.raised": _alert, "alert.acknowledged": _form("{who} acknowledged alert {what}{because}."),
    "alert.cleared": _form("Alert {what} was cleared{because}."),
    "audit.settled": _form("{who} accepted the finding {what} of dibs check{because}."),
    "audit.unsettled": _form("{who} no longer accepts the finding {what} of dibs check{because}."),
    "audit.tested": _form("{who} tested {agents} agents at once ({what}): {edits} edits, {lost} lost."),
    "log.sealed": _form("The log was sealed through event {through}."),
    "log.pruned": _form("The events through {through} were moved to an archive."),
    "log.dropped": _form("The archive of the events {first} to {last} was dropped{because}."),
    "landing.queued": _form("{who} queued {branch} to land on {target} ({commit})."),
    "radar.found": _radar_found, "radar.cleared": _radar_cleared,
    "store.recovered": _form("A new database took the place of a damaged one."),
    "store.moving": _form("The workspace was about to be moved to {what}."),
    "store.moved": _form("The workspace was moved to {what}."),
    "store.fallback": _form("SQLite took the place of a server that did not start."),
    "store.epoch": _form("The store lost answered commits, which ended claims ({claims})."),
    "call.refused": _call_refused, "state.set": _state_set,
    "vote.opened": _form("{who} opened vote {what}."), "vote.cast": _form("{who} voted in {what}."),
    "vote.decided": _decided, "commit.checked": _form("{who} passed the commit guard (files: {paths})."),
    "commit.refused": _commit_refused, "commit.unverified": _unverified,
    "landing.moving": _form("{who} was about to move {what} to {commit}."),
    "landing.landed": _form("{branch} landed on {target} ({commit})."),
    "landing.refused": _form("{branch} did not land on {target} ({code}){because}."),
    "landing.stopped": _form("Nothing could land on {what} for the moment{because}; all stayed queued."),
    "landing.cancelled": _form("{who} took {branch} out of the queue for {target}."),
    "tree.removed": _form("{what} was removed with unfinished work in it, which is kept."),
    "push.unverified": _form("A push of {what} bypassed the guard."),
    "git.moved": _form("HEAD moved while a command by {who} was running."),
    "run.started": _form("{who} started run {what}."), "run.joined": _form("{who} joined run {what}."),
    "run.phased": _form("{who} moved run {what} from {from} to {to}."),
    "run.noted": _form("{who} noted {kind} {number} in run {what}: {words}."),
    "run.handled": _form("{who} handled error {number} of run {what}: {words}."),
    "run.ended": _form("{who} ended run {what}."), "run.refused": _form("{who} could not end or purge run {what}."),
    "run.archived": _form("{who} archived run {what}."), "run.purged": _form("{who} purged run {what}."),
    "task.forgotten": _tasks_forgotten,
    "task.added": _task_added, "task.moved": _task_moved,
    "task.passed": _form("Task {what} passed to {who}."),
    "task.kept": _form("Task {what} stayed when its run was removed."),
    "task.noted": _task_noted, "task.assigned": _assigned,
    "task.lapsed": _form("{who} did not pick up task {what} in time."),
    "task.auctioned": _form("{who} opened an auction of task {what}."),
    "task.bid": _form("{who} bid {amount} for task {what}."),
    "deploy.started": _deploy_started, "deploy.finished": _deploy_finished,
    "deploy.refused": _deploy_refused,
    "edit.refused": _edit_refused, "edit.violated": _violated, "edit.unattributed": _unattributed,
    "edit.taken": _taken, "edit.doubted": _doubted, "edit.restored": _restored,
    "edit.accepted": _form("{who} accepted what is in {what} now (change {id})."),
    "undo.started": _undo_started,
    "undo.finished": _undo_finished,
    "undo.refused": _undo_refused,
    "command.refused": _form("{who} was refused the command `{what}`."),
    "guard.doubted": _form("A guard could not check a call by {who} and let it pass{because}."),
    "rules.acknowledged": _form("{whom} was shown the rules."),
}  # fmt: skip
