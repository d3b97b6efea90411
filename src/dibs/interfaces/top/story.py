"""The story of an agent, path, task or event, or of all worktrees: facts, what is held, all events about it."""

from __future__ import annotations

from dibs import jsontext
from dibs.interfaces.top import event_texts, words, worktrees
from dibs.interfaces.top.draw import fit, pad, wrapped
from dibs.interfaces.top.panes import event_row, state_word
from dibs.interfaces.top.rows import Row
from dibs.interfaces.top.words import covers, length, ms, plain, touches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from dibs.interfaces.top import records
    from dibs.interfaces.top.model import Model
    from dibs.interfaces.top.rows import Line
    from dibs.operations.alerts.answers import AlertView
    from dibs.operations.tasks.answers import TaskDetail

SHOWN = 200  # events; the log has the rest
LABEL = 11
CONTINUES = " "  # in the place of a label: the line belongs to the one above
MOST_LISTED = 30
TEXT = 66  # columns of a long text: it fits beside its label on a terminal of 80
HOLDS = 100  # claims of one agent that are listed


class Story:
    """What is opened, with what was read of it besides the state."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.kind, _, self.id = what.partition(":")
        self.events: list[records.Event] = []  # that the log has of it
        self.full: TaskDetail | None = None  # of a task: its notes
        self.index = self.top = 0

    @property
    def query(self) -> dict[str, object]:
        """What to ask the log about it."""
        fields: dict[str, dict[str, object]] = {
            "agent": {"agent": self.id}, "file": {"path": [self.id]}, "task": {"path": [f"task:{self.id}"]},
            "worktrees": {"kind": "landing."}, "alert": {"text": self.id},
        }  # fmt: skip
        if self.kind not in fields:
            return {"after": int(self.id) - 1, "limit": 1, "sentences": True}
        return {**fields[self.kind], "limit": SHOWN, "sentences": True}

    def title(self, model: Model) -> str:
        """What it is, in some words."""
        if self.kind == "agent":
            return f"agent {plain(model.state.name_of(self.id))}"
        if self.kind == "ev":
            return f"event {self.id}"
        if self.kind == "alert":
            alert = _alert_of(model, self.id)
            return f"alert {self.id}" if alert is None else words.ALERTS.get(alert["kind"], plain(alert["kind"]))
        if self.kind == "worktrees":
            return "worktrees: coming conflicts, and what lands"
        return plain(f"task {self.id}" if self.kind == "task" else self.id)

    def select_first(self, model: Model) -> None:
        """Select what can be acted on: the first way out of a deadlock, where there is one."""
        rows = self.rows(model)
        self.index = next((place for place, row in enumerate(rows) if row.id.startswith("fact way ")), 0)

    def rows(self, model: Model) -> list[Row]:
        """Facts, then events, newest first."""
        facts = _FACTS[self.kind](model, self)
        events = {event["seq"]: event for event in self.events}
        for event in model.state.events:
            if self.concerns(model, event):
                events[event["seq"]] = event
        found = [events[seq] for seq in sorted(events, reverse=True)][:SHOWN]
        title = f"Story: {words.count(len(found), 'event')}, newest first"
        return [*facts, fact("", ""), fact("", title, tone="bold"), *[event_row(event) for event in found]]

    def concerns(self, model: Model, event: records.Event) -> bool:
        """Is an event that is here about this?"""
        identifier, subject, data = self.id, event["subject"], event["data"]
        if self.kind == "agent":
            blockers = data.get("blockers")
            return identifier in {event["agent"], subject, data.get("holder")} or (
                isinstance(blockers, list)
                and any(isinstance(one, dict) and identifier in one.values() for one in blockers)
            )
        if self.kind == "file":
            return identifier in {subject, *words.resources_of(data), *model.state.resources.get(subject, ())}
        if self.kind == "task":
            name = f"task:{identifier}"
            return subject in {identifier, name} or name in model.state.resources.get(subject, ())
        if self.kind == "alert":
            alert = _alert_of(model, identifier)
            return bool(subject == identifier or (alert is not None and event["seq"] in alert.get("evidence", ())))
        if self.kind == "worktrees":
            return bool(event["kind"].startswith(("radar.", "landing.")))
        return str(event["seq"]) == identifier


def _long(label: str, text: str, *, tone: str = "") -> list[Row]:
    """A text that may take several lines."""
    lines = wrapped(plain(text), TEXT, MOST_LISTED)
    return [fact(label if place == 0 else CONTINUES, line, tone=tone) for place, line in enumerate(lines)]


def _each(label: str, things: Iterable[tuple[str, str]], *, tone: str = "") -> list[Row]:
    """Several facts of one label, which is said once; each leads to its own story."""
    return [
        fact(label if place == 0 else CONTINUES, text, tone=tone, open=opens, row=f"{label} {text}")
        for place, (text, opens) in enumerate(things)
    ]


def fact(label: str, text: str, *, tone: str = "", open: str = "", row: str = "") -> Row:
    """A line of facts; `open` is the story that it leads to."""

    def draw(columns: int) -> Line:
        return fit([(f" {pad(label, LABEL)} " if label else " ", "dim"), (plain(text), tone)], columns)

    return Row(f"fact {row or label} {text[:60]}", draw, open=open)


def _agent(model: Model, story: Story) -> list[Row]:
    state, identifier = model.state, story.id
    agent = next((one for one in model.agents if one["agent"] == identifier), None)
    if agent is None:
        known = state.agents.get(identifier)
        return [fact("State", f"{known['state']}" if known else "not here any more")]
    wait, task, held = model.wait_of.get(identifier), model.task_of.get(identifier), model.held_by.get(identifier, [])
    word, tone = state_word(model, agent)
    where = [agent["client"], agent["type"], agent["host_name"], agent["pid"] and f"process {agent['pid']}"]
    rows = [fact("State", word, tone=tone), fact("Where", ", ".join([str(one) for one in where if one]) or "not known")]
    if wait:
        of = words.joined(state.name_of(one["agent"]) for one in wait["holders"])
        what = wait["resources"][0]
        held_by = f", held by {of}: A asks, r releases it" if of else ""
        rows.append(fact("Waits for", f"{what}{held_by}", tone="wait", open=f"file:{what}"))
    blocked = model.blocks.get(identifier, [])
    rows += _each("Holds up", [(state.name_of(one["agent"]), f"agent:{one['agent']}") for one in blocked])
    if task:
        done = f", {task['progress']}%" if task.get("progress") is not None else ""
        since = length(state.now - ms(task["started_at"])) if task.get("started_at") else ""
        rows.append(fact("Task", f"{task['id']}: {task['title']}{done}, {since}", open=f"task:{task['id']}"))
    if agent.get("killed"):
        rows.append(fact("Killed", agent["killed"], tone="bad"))
    if agent.get("rules") in {"old", "not told"}:
        rows.append(fact("Rules", "acts on old rules" if agent["rules"] == "old" else "not told yet", tone="wait"))
    if agent["breaker"] != "closed":
        rows.append(fact("Breaker", agent["breaker"], tone="wait"))
    use = "not visible from here"
    if agent.get("cpu") is not None:
        use = f"{round(agent['cpu'])} % of a core, {words.byte_count(agent['memory'])}B"
    rows += [fact("Last heard", f"{length(state.now - ms(agent['last_seen']))} ago"), fact("Use", use)]
    holds = []
    for claim in held[:HOLDS]:
        left = length(ms(claim["expires_at"]) - state.now) if claim["expires_at"] else "…"
        path = claim["resources"][0]
        opens = f"task:{path[5:]}" if path.startswith("task:") else f"file:{path}"
        holds.append((f"{', '.join(claim['resources'])}  {claim['mode']}, {left} left", opens))
    rows += _each("Holds", holds)
    if len(held) > HOLDS:
        rows.append(fact("", f"and {len(held) - HOLDS} more"))
    return rows


def _file(model: Model, story: Story) -> list[Row]:
    state, path = model.state, story.id
    found = [claim for claim in model.claims if any(covers(one, path) for one in claim["resources"])]
    waits = [wait for wait in model.waits if any(touches(path, one) for one in wait["resources"])]
    rows = []
    for claim in found[:MOST_LISTED]:
        by = "" if path in claim["resources"] else f", by {claim['resources'][0]}"
        name = claim.get("name") or state.name_of(claim["agent"])
        left = f", {length(ms(claim['expires_at']) - state.now)} left" if claim["expires_at"] else ""
        since = words.clock(ms(claim["since"]), seconds=False)
        rows.append(fact("Holder", f"{name}, {claim['mode']}{by}, since {since}, token {claim['token']}{left}",
                         open=f"agent:{claim['agent']}"))  # fmt: skip
    if found:
        claim = found[0]
        opens = f"task:{claim['task']}" if claim.get("task") else ""
        rows.append(fact("For", claim.get("reason") or claim.get("task") or "not said", open=opens))
        if claim.get("expected"):
            past = length(state.now - ms(claim["since"]))
            rows.append(fact("Expected", f"{length(claim['expected'] * 1000)}, so far {past}"))
    else:
        rows.append(fact("Holder", "nobody: it is free"))
    if path in model.violated:
        rows.append(fact("Violated", model.violated[path]["text"], tone="bad"))
    for wait in waits[:MOST_LISTED]:
        since = length(state.now - ms(wait["since"]), fine=True)
        rows.append(fact("Waiting", f"{wait['name']} {since}", tone="wait", open=f"agent:{wait['agent']}"))
    if not waits:
        rows.append(fact("Waiting", "nobody"))
    return rows


def _task(model: Model, story: Story) -> list[Row]:
    state, identifier = model.state, story.id
    task = state.tasks.get(identifier)
    if task is None:
        return [fact("Task", "not in the list")]
    done = f", {task['progress']}%" if task.get("progress") is not None else ""
    rows = [fact("Title", task["title"]), fact("State", f"{task['state']}{done}, priority {task['priority']}")]
    if task["agent"]:
        rows.append(fact("Agent", state.name_of(task["agent"]), open=f"agent:{task['agent']}"))
    rows.append(fact("Attempt", f"{task['attempt']} of {task['max_attempts']}"))
    full = story.full or task
    after = task.get("after") or full.get("after") or []
    before = [one["id"] for one in model.tasks if identifier in (one.get("after") or ())]
    for label, others in (("After", after), ("Before", before)):
        rows += [
            fact(label, f"{other}  {state.tasks[other]['state'] if other in state.tasks else ''}", open=f"task:{other}")
            for other in others[:MOST_LISTED]
        ]
        if not others:
            waits = task.get("waits_for") if label == "After" else 0
            rows.append(fact(label, words.count(waits, "task") if waits else "nothing"))
    why = task["error"]["why"] if "error" in task else ""
    notes = story.full.get("notes") if story.full else []
    for label, text in (("Run", task.get("run")), ("Why", why), ("Last note", notes[-1]["text"] if notes else "")):
        if text:
            rows.append(fact(label, str(text)))
    rows.append(fact("Added", f"{length(state.now - ms(task['created_at']))} ago"))
    return rows


def _alert_of(model: Model, identifier: str) -> AlertView | None:
    return next((alert for alert in model.state.alerts if alert["id"] == identifier), None)


def _alert(model: Model, story: Story) -> list[Row]:
    state, alert = model.state, _alert_of(model, story.id)
    if alert is None:
        return [fact("State", "cleared: its cause is gone", tone="ok")]
    tone = {"error": "bad", "warning": "wait"}.get(alert["severity"], "dim")
    rows = [fact("State", f"{alert['severity']}, {alert['state']}", tone=tone), *_long("What", alert["text"])]
    if alert.get("cycle"):
        rows += ways_out(model, alert)
    else:
        rows += _long("To do", alert["remedy"], tone="held")
        if alert["agent"]:
            rows.append(fact("Agent", state.name_of(alert["agent"]), open=f"agent:{alert['agent']}"))
        rows += _each("About", [(path, f"file:{path}") for path in alert.get("resources") or ()])
    if alert.get("expected") is not None:
        rows.append(fact("Expected", f"{length(alert['expected'] * 1000)}, so far {length(alert['actual'] * 1000)}"))
    repeats = f", {words.count(alert['repeats'], 'time')} again" if alert.get("repeats") else ""
    rows.append(fact("Since", f"{length(state.now - ms(alert['since']))} ago{repeats}"))
    taken, sent = alert.get("acknowledged"), alert.get("delivery")
    if taken:
        why = f": {taken['why']}" if taken["why"] else ""
        rows.append(fact("Seen by", f"{state.name_of(taken['agent'])}{why}", open=f"agent:{taken['agent']}"))
    if sent:
        rows.append(fact("Delivery", f"{sent['state']}{': ' if sent['why'] else ''}{sent['why']}"))
    return rows


def ways_out(model: Model, alert: AlertView) -> list[Row]:
    """How a deadlock is resolved: one of its claims is released. Each row is such a claim: A asks, r takes it."""
    name_of = model.state.name_of
    rows = [
        fact("", ""),
        fact("", "How to resolve: select any one of these; A asks its holder, r releases it", tone="bold"),
    ]
    for number, step in enumerate(alert["cycle"], 1):
        gets = "gets it" if step["agent"] in model.wait_of else "can claim it"
        said = f"{name_of(step['holder'])} releases {step['resource']}, and {name_of(step['agent'])} {gets}"
        rows.append(fact(f"Way {number}", said, tone="wait", open=f"file:{step['resource']}", row=f"way {number}"))
    return [*rows, fact("", "")]


def _worktrees(model: Model, _: Story) -> list[Row]:
    return [fact(label, text, tone=tone, open=opens) for label, text, tone, opens in worktrees.facts(model)]


def _event(model: Model, story: Story) -> list[Row]:
    state = model.state
    event = next((one for one in [*state.events, *story.events] if str(one["seq"]) == story.id), None)
    if event is None:
        return [fact("Event", "it is not in the log any more, or not yet here")]
    rows = [
        *_long("What", event_texts.says(event), tone=event_texts.tone(event)),
        fact("Time", f"{words.clock(ms(event['at']))}, {length(state.now - ms(event['at']))} ago"),
        fact("Agent", event.get("name") or event["agent"], open=f"agent:{event['agent']}"),
    ]
    about = words.resources_of(event["data"]) or state.resources.get(event["subject"], [])
    rows += _each(
        "About",
        [(path, f"task:{path[5:]}" if path.startswith("task:") else f"file:{path}") for path in about[:MOST_LISTED]],
    )
    if not about:
        opens = next((f"{kind}:{event['subject']}" for kind, known in (("task", state.tasks), ("agent", state.agents))
                      if event["subject"] in known), "")  # fmt: skip
        rows.append(fact("About", state.name_of(str(event["subject"])), open=opens))
    return [*rows, fact("Kind", event["kind"], tone="dim"), *_long("Fields", _fields(event["data"]), tone="dim")]


def _fields(data: dict[str, Any]) -> str:
    """The data of an event, as `log --raw` and its JSON have it."""
    said = [f"{name} {value if isinstance(value, str) else jsontext.encode(value)}" for name, value in data.items()]
    return ", ".join([one for one in said if one])


_FACTS: dict[str, Callable[[Model, Story], list[Row]]] = {
    "agent": _agent, "file": _file, "task": _task, "ev": _event, "alert": _alert, "worktrees": _worktrees,
}  # fmt: skip
