"""What a person can do in `dibs top`: each action with its facts of this moment, what it asks first, and its call.

The operations decide; a dialog only says what will happen, in the facts that were there when it was opened. They are
read again when it is confirmed: if they changed, nothing is done and the difference is shown. An action is
done when the log has its event. The page does the same (interfaces/page/actions.js).
"""

from __future__ import annotations

import os

from dibs.errors import quoted, restoring, taking_away
from dibs.interfaces.top.model import Model
from dibs.interfaces.top.words import clock as time_of_day
from dibs.interfaces.top.words import count, covers, joined, length, listed, ms, plain, touches
from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypedDict

    from dibs.audit.answers import EventView
    from dibs.interfaces.top.reader import Asker
    from dibs.interfaces.top.state import FleetState
    from dibs.operations.claims.answers import ClaimView, WaiterView
    from dibs.operations.guards.answers import KeptView

    class Outcome(TypedDict, total=False):
        """What came of an action that was confirmed: one of these."""

        event: int  # it was done: the number of its event, 0 if the log does not have it yet
        gone: bool  # there is nothing to do any more
        changed: list[str]  # the facts are others now; `action` has those of now
        action: Action


LEAST_REASON = 4  # letters
IN_LOG_MS = 3_000  # for the event of an action
LOOK_S = 0.05
LOG_PAGE = 500
# Action → the operation that it needs.
NEEDS = {
    "kill": "kill", "killall": "kill", "revive": "revive", "release": "release", "requeue": "task move",
    "cancel": "task cancel", "message": "send", "ask": "ask", "ack": "alerts ack", "restore": "restore",
    "diff": "diff", "handover": "handover", "undo": "restore",
}  # fmt: skip


class Action:
    """One thing to do, as it stands now."""

    def __init__(  # noqa: PLR0913 - a description: each is given by its name
        self, title: str, *, operation: str, verb: str, intro: str, rows: list[tuple[str, str]], facts: list[str],
        command: Callable[[str], str], fields: Callable[[str], dict[str, object]], proof: tuple[str, ...],
        subjects: set[str], done: str, told: str = "", why: bool = False, typed: str = "",
    ) -> None:  # fmt: skip
        self.title, self.operation, self.verb, self.intro = title, operation, verb, intro
        self.rows = rows  # (letter, what will happen)
        self.facts = [one for one in facts if one]  # compared again when it is confirmed
        self.command, self.fields = command, fields
        self.proof, self.subjects = proof, subjects  # kinds of the event that proves it, and whom it is about
        self.done, self.told = done, told
        self.why = why  # must a reason be given?
        self.typed = typed  # what has to be typed, of what cannot be taken back

    def is_proved_by(self, event: EventView) -> bool:
        """Is this the event of what was done?"""
        return event["kind"] in self.proof and (not self.subjects or event["subject"] in self.subjects)


def describe(model: Model, kind: str, subject: str, kept: list[KeptView] | None = None) -> Action | None:
    """An action as it stands now; None if there is nothing to do it to."""
    if kind == "restore":
        return _restore(model, subject, kept or [])
    return _KINDS[kind](model, subject)


def _claim_text(claim: ClaimView) -> str:
    return f"{', '.join(claim['resources'])} (token {claim['token']})"


def _gets(blocked: list[WaiterView]) -> str:
    return "gets what it waits for" if len({wait["agent"] for wait in blocked}) == 1 else "get what they wait for"


def _names(model: Model, waits: list[WaiterView]) -> str:
    return joined(model.state.name_of(wait["agent"]) for wait in waits)


def _kill(model: Model, agent: str) -> Action | None:
    state = model.state
    found = state.agents.get(agent)
    if found is None:
        return None
    held, task, blocked = model.held_by.get(agent, []), model.task_of.get(agent), model.blocks.get(agent, [])
    paths = [path for claim in held for path in claim["resources"] if not path.startswith("task:")]
    where = f" on {found['host_name']}" if found.get("host_name") else ""
    process = f" ({found['pid']})" if found.get("pid") else ""
    name, named = found["name"], f": {listed(paths)}" if paths else ""
    return Action(
        f"Kill {name}?", operation="kill", verb=f"Kill {name}", told=name, why=True,
        intro=f"Last heard {length(state.now - ms(found['last_seen']))} ago{where}. This takes effect at its next "
        "call; it is not asked first.",
        rows=[
            ("#", f"Voids {count(len(held), 'claim')}{named}{', and that of its task' if task else ''}"),
            *([("o", f"{task['title'] or task['id']} goes back to the queue")] if task else []),
            *([("~", f"{_names(model, blocked)} {_gets(blocked)}")] if blocked else []),
            ("x", "Every call it makes is refused until it is revived. Reviving does not restore its claims"),
            ("-", f"Its process{process} lives on (`dibs kill --end` ends it); files keep what it wrote"),
        ],
        facts=[
            found["state"], *sorted(map(_claim_text, held)), f"task {task['id']}" if task else "",
            *sorted([f"{state.name_of(wait['agent'])} waits" for wait in blocked]),
        ],
        command=lambda why: f"dibs kill {quoted(name)} --why {quoted(why)}",
        fields=lambda why: {"agent": agent, "why": why},
        proof=("agent.killed",), subjects={agent}, done=f"Killed {name}",
    )  # fmt: skip


def _kill_all(model: Model, _: str) -> Action | None:
    there = [agent for agent in model.agents if agent["shown"] != "killed" and agent["kind"] == "agent"]
    if not there:
        return None
    executing = len(model.task_of)
    return Action(
        "Kill all agents?", operation="kill", verb="Kill all", told="all agents", why=True, typed=model.state.workspace,
        intro=f"{count(len(there), 'agent')} of {model.state.workspace}. This stops the fleet.",
        rows=[
            ("#", f"Voids {count(len(model.claims), 'claim')}"),
            *([("o", f"{count(executing, 'task')} {'goes' if executing == 1 else 'go'} back to the queue")]
              if executing else []),
            ("x", "Every call they make is refused until `dibs revive all`"),
            ("-", "Their processes are not ended; files keep what they wrote"),
        ],
        facts=sorted([f"{agent['name']} is there" for agent in there]),
        command=lambda why: f"dibs kill all --why {quoted(why)}", fields=lambda why: {"agent": "all", "why": why},
        proof=("agent.killed",), subjects={agent["agent"] for agent in there}, done="Killed all agents",
    )  # fmt: skip


def _revive(model: Model, agent: str) -> Action | None:
    found = model.state.agents.get(agent)
    if found is None:
        return None
    return Action(
        f"Revive {found['name']}?", operation="revive", verb="Revive",
        intro="It may act again from its next call on. It holds nothing.",
        rows=[("x", f"It was killed: {found['killed']}")] if found.get("killed") else [], facts=[found["state"]],
        command=lambda _: f"dibs revive {quoted(found['name'])}", fields=lambda _: {"agent": agent},
        proof=("agent.revived",), subjects={agent}, done=f"Revived {found['name']}",
    )  # fmt: skip


def _release(model: Model, path: str) -> Action | None:
    state = model.state
    found = [claim for claim in model.claims if path in claim["resources"]]
    if not found:
        return None
    who = joined(claim.get("name") or state.name_of(claim["agent"]) for claim in found)
    waits = [wait for wait in model.waits if any(touches(path, one) for one in wait["resources"])]
    left, token = found[0]["expires_at"], found[0]["token"]
    ends = f" and has {length(ms(left) - state.now)} left" if left else ""
    return Action(
        f"Release {path}, held by {who}?", operation="release", verb="Release", told=who, why=True,
        intro=f"{who} has held it since {time_of_day(ms(found[0]['since']), seconds=False)}{ends}. It has not agreed.",
        rows=[
            ("#", f"{who} loses it now and is notified, with the reason; a late write under token {token} is refused"),
            ("~", f"{_names(model, waits)} {'gets' if len(waits) == 1 else 'get'} it at once" if waits
             else "Nobody waits for it"),
            ("!", "Uncommitted changes stay in the working tree, unguarded; their content is kept for dibs restore"),
        ],
        facts=[
            *sorted([f"{state.name_of(claim['agent'])} holds {_claim_text(claim)}" for claim in found]),
            *sorted([f"{state.name_of(wait['agent'])} waits" for wait in waits]),
        ],
        command=lambda why: taking_away([path], why),
        fields=lambda why: {"resources": [path], "force": True, "why": why},
        proof=("claim.ended", "claim.released"), subjects={claim["claim"] for claim in found}, done=f"Released {path}",
    )  # fmt: skip


def _requeue(model: Model, identifier: str) -> Action | None:
    task = model.state.tasks.get(identifier)
    if task is None:
        return None
    return Action(
        f"Requeue {identifier}?", operation="task move", verb="Requeue",
        intro=f"{task['title'] or identifier} is {task['state']}.",
        rows=[("o", "Moves to planned; an agent that fits can take it")], facts=[task["state"]],
        command=lambda _: f"dibs task move {quoted(identifier)} planned",
        fields=lambda _: {"id": identifier, "state": "planned"},
        proof=("task.moved",), subjects={identifier}, done=f"{identifier} is planned",
    )  # fmt: skip


def _cancel(model: Model, identifier: str) -> Action | None:
    task = model.state.tasks.get(identifier)
    if task is None:
        return None
    later = len([one for one in model.tasks if identifier in (one.get("after") or ())])
    agent = model.state.name_of(task["agent"]) if task["agent"] else ""
    return Action(
        f"Cancel {identifier}?", operation="task cancel", verb="Cancel task", why=True,
        told=model.state.name_of(task.get("by") or ""),
        intro=f"{task['title'] or identifier} is {task['state']}{f', with {agent}' if agent else ''}.",
        rows=[
            ("x", f"{count(later, 'task')} after it {'stays' if later == 1 else 'stay'} blocked" if later
             else "No task is known to wait for it"),
            *([("#", f"{agent} loses its claim on it and is notified")] if agent else []),
            ("o", "Can be requeued by hand"),
        ],
        facts=[task["state"], task.get("agent") or ""],
        command=lambda why: f"dibs task cancel {quoted(identifier)} --why {quoted(why)}",
        fields=lambda why: {"id": identifier, "why": why},
        proof=("task.moved",), subjects={identifier}, done=f"{identifier} is cancelled",
    )  # fmt: skip


def _restore(model: Model, path: str, kept: list[KeptView]) -> Action | None:
    found = next((one for one in kept if one["path"] == path), None)
    if found is None:
        return None
    holders = joined(
        claim.get("name") or claim["agent"]
        for claim in model.claims
        if any(covers(one, path) for one in claim["resources"])
    )
    by = model.state.name_of(found["by"]) if found["by"] else "an unknown process"
    return Action(
        f"Restore {path}?", operation="restore", verb="Restore",
        intro=f"{by} overwrote it {length(model.state.now - ms(found['at']))} ago, when "
        f"{model.state.name_of(found['holder'])} held it. The earlier content is kept.",
        rows=[
            ("#", f"The file gets its earlier content ({str(found['blob'])[:12]})"),
            ("o", "The present content is kept, too: the restore can be undone"),
            ("~", f"{holders} holds it now: it keeps it and is told to read it again" if holders
             else "Nobody holds it now; it stays free"),
        ],
        facts=[str(found["id"]), holders], command=lambda _: restoring(found["id"]),
        fields=lambda _: {"what": found["id"]}, proof=("edit.restored",), subjects={path}, done=f"Restored {path}",
    )  # fmt: skip


_KINDS: dict[str, Callable[[Model, str], Action | None]] = {
    "kill": _kill, "killall": _kill_all, "revive": _revive, "release": _release, "requeue": _requeue, "cancel": _cancel,
}  # fmt: skip


# --- doing it


def request_id() -> str:
    """A new idempotency key: an action that is sent twice is done once."""
    return f"top-{os.urandom(12).hex()}"


def kept_contents(asker: Asker) -> list[KeptView]:
    """The contents that can be restored."""
    found: list[KeptView] = asker.ask("restore", {"list": True})["kept"]
    return found


def commit(asker: Asker, state: FleetState, kind: str, subject: str, action: Action, why: str, request: str) -> Outcome:
    """Read the facts again; do it if they are the same. Returns what came of it."""
    for topic in ("status", "agents", "tasks"):
        state.take(topic, *asker.listing(topic))
    kept = kept_contents(asker) if kind == "restore" else None
    with state.mutex:
        model = Model(state)
        since = state.seq
    now = describe(model, kind, subject, kept)
    if now is None:
        return {"gone": True}
    if now.facts != action.facts:
        gone = [f"no longer: {one}" for one in action.facts if one not in now.facts]
        come = [f"now: {one}" for one in now.facts if one not in action.facts]
        return {"changed": [*gone, *come], "action": now}
    asker.ask(action.operation, now.fields(why), request=request)
    return {"event": _in_log(asker, now, since)}


def _in_log(asker: Asker, action: Action, since: int) -> int:
    """The number of the action's event; 0 if the log does not have it yet."""
    end = clock.since_boot() + IN_LOG_MS
    while True:
        answer = asker.ask("log", {"after": since, "limit": LOG_PAGE})
        for event in answer["events"]:
            if action.is_proved_by(event):
                return int(event["seq"])
        since = int(answer["cursor"])
        if not answer["more"]:
            if clock.since_boot() >= end:
                return 0
            clock.sleep(LOOK_S)


def said(action: Action, event: int) -> str:
    """What a person is told of an action that was done."""
    return f"{plain(action.done)}, event {event}" if event else f"{plain(action.done)}: its event is not in the log yet"
