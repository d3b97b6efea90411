"""The five panes of `dibs top` and the alerts: their rows, in order, and how each is drawn in a number of columns.

A row is drawn only when it is seen. Its `id` keeps it selected while others come and go; `open` is the story behind it.
"""

from __future__ import annotations

from functools import partial

from dibs.interfaces.cli.terminal import cut_path
from dibs.interfaces.top import event_texts, words
from dibs.interfaces.top.draw import bar, fit, pad, spaced
from dibs.interfaces.top.model import STALE_MS, holds_up, is_low, tree
from dibs.interfaces.top.rows import Row, Rows
from dibs.interfaces.top.words import ALERTS, length, ms, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dibs.interfaces.top.model import Model
    from dibs.interfaces.top.records import Agent, Event, OpenAlert, TreeRow
    from dibs.interfaces.top.rows import Line, Span
    from dibs.operations.claims.answers import ClaimView
    from dibs.operations.tasks.answers import TaskView

NAMES = ("Agents", "Held", "Waits", "Tasks", "Log")
AGENTS, HELD, WAITS, TASKS, LOG = range(5)
ALERT = 5  # the strip of alerts, which can be gone to like a pane
SORTS: dict[int, tuple[str, ...]] = {
    AGENTS: ("need", "name", "longest"), HELD: ("path", "time left", "holder"), WAITS: ("longest", "agent"),
    TASKS: ("state", "priority", "newest"), LOG: ("newest", "oldest"), ALERT: ("worst",),
}  # fmt: skip
STATE, PERCENT, SINCE, BAR, LEFT = 15, 3, 6, 8, 6
NAME_LEAST, NAME_MOST = 5, 16
SHAPES = {"working": "*", "waiting": "~", "idle": "o", "silent": "?", "dead": "x", "killed": "x",
          "asks you": "!", "stalled": "?", "limited": "="}  # fmt: skip
TONES = {"working": "ok", "waiting": "wait", "idle": "dim", "silent": "bad", "dead": "dead", "killed": "bad",
         "asks you": "bad", "stalled": "bad", "limited": "wait"}  # fmt: skip
TASK_SHAPES = {"executing": "*", "ready": "o", "blocked": "~", "stopped": "!", "complete": "+", "cancelled": "x"}
TASK_TONES = {"executing": "ok", "blocked": "wait", "stopped": "bad", "complete": "dim", "cancelled": "dim"}


def names_width(model: Model) -> int:
    """Columns for the names of agents: as the longest, within limits."""
    return max(NAME_LEAST, min(NAME_MOST, model.longest_name))


def rows_of(pane: int, model: Model, sort: int = 0, query: str = "") -> Sequence[Row]:
    """The rows of a pane, sorted and filtered."""
    order = SORTS[pane][sort % len(SORTS[pane])]
    if pane == LOG:
        return _log(model, order, query)
    rows = _ROWS[pane](model, order)
    wanted = query.lower().split()
    return [row for row in rows if all(word in row.search.lower() for word in wanted)] if wanted else rows


def head_of(pane: int, model: Model, columns: int) -> Line:
    """The titles above a pane's columns."""
    name = names_width(model)
    if pane == AGENTS:
        state, task, holds = _agent_columns(model, columns, name)
        text = (
            f" {pad('AGENT', name)} {pad('STATE', state)} {pad('TASK', task)} {pad('%', PERCENT, right=True)} "
            f"{pad('HOLDS, OR WAITS FOR', holds)} {pad('SINCE', SINCE, right=True)}"
        )
    elif pane == HELD:
        left = pad("TIME LEFT", BAR + 1 + LEFT, right=True)
        text = f" {pad('PATH', _held_column(columns, name))} {pad('HOLDER', name)} {left}"
    elif pane == WAITS:
        text = f" {pad('AGENT', name)} {pad('STATE', 15)} WANTS, HELD BY"
    elif pane == TASKS:
        title = pad("TASK", _task_column(columns, name))
        text = f" {pad('STATE', 13)} {title} PRI {pad('AGENT', name)} {'%':>3} {'AGE':>6}"
    else:
        text = f" {'EVENT':>6} {pad('TIME', 8)} WHAT HAPPENED"
    return fit([(text, "dim")], columns)


# --- agents


def _agent_columns(model: Model, columns: int, name: int) -> tuple[int, int, int]:
    """Columns for the state, the task and what is held: the state has what it needs, within limits."""
    state = max(STATE, min(columns * 3 // 10, model.longest_state))
    rest = max(0, columns - (name + state + PERCENT + SINCE + 6))
    task = min(rest * 2 // 5, max(len("TASK"), model.longest_task))
    return state, task, rest - task


def state_word(model: Model, agent: Agent) -> tuple[str, str]:
    """What an agent does, in a few letters, and its style."""
    now, shown = model.state.now, agent["shown"]
    shape, tone = SHAPES[shown], TONES[shown]
    if shown == "waiting":
        return f"{shape} waits {length(now - ms(model.wait_of[agent['agent']]['since']), fine=True)}", tone
    if shown == "asks you":
        return f"{shape} {shown} {length(now - ms(agent['waits']['since']))}", tone
    if shown == "limited":
        until = ms(agent["limited"].get("until", ""))
        return f"{shape} {shown} {length(until - now) if until > now else ''}".rstrip(), tone
    if shown in {"silent", "dead", "idle", "stalled"}:
        return f"{shape} {shown} {length(now - ms(agent['last_seen']))}", tone
    if shown == "working" and model.hurt(agent["agent"]):
        return "! violated", "bad"
    blocked = model.blocks.get(agent["agent"])
    if shown == "working" and blocked:
        return holds_up(blocked), "wait"
    return f"{shape} {shown}", tone


def _agents(model: Model, order: str) -> list[Row]:
    agents = model.agents
    if order == "name":
        agents = sorted(agents, key=lambda agent: str(agent["name"]))
    elif order == "longest":
        agents = sorted(agents, key=lambda agent: _begun(model, agent) or 1 << 62)
    name = names_width(model)
    return [
        Row(
            agent["agent"], partial(_agent, model, agent, name), open=f"agent:{agent['agent']}", agent=agent["agent"],
            search=_agent_text(model, agent),
        ) for agent in agents
    ]  # fmt: skip


def _agent_text(model: Model, agent: Agent) -> str:
    task = model.task_of.get(agent["agent"])
    files = " ".join(model.files_of(agent["agent"])[:50])
    about = f"{agent['name']} {agent['agent']} {agent['shown']} {agent['type']} {agent['client']}"
    return f"{about} {task['id'] if task else ''} {files}"


def _begun(model: Model, agent: Agent) -> int:
    task = model.task_of.get(agent["agent"])
    return ms((task.get("started_at") if task else "") or agent["since"])


def _agent(model: Model, agent: Agent, name: int, columns: int) -> Line:
    state_columns, task_columns, holds_columns = _agent_columns(model, columns, name)
    word, tone = state_word(model, agent)
    task = model.task_of.get(agent["agent"])
    percent = task.get("progress") if task else None
    return spaced(
        columns, (pad(plain(agent["name"]), name), "bold"), (pad(word, state_columns), tone),
        (pad(plain(task["id"] if task else agent.get("doing") or "-"), task_columns), "" if task else "dim"),
        (pad("" if percent is None else str(percent), PERCENT, right=True), ""), _holds(model, agent, holds_columns),
        (pad(length(model.state.now - _begun(model, agent)), SINCE, right=True), "dim"),
    )  # fmt: skip


def _holds(model: Model, agent: Agent, columns: int) -> Span:
    """What an agent waits for and whose it is; else what it holds."""
    wait = model.wait_of.get(agent["agent"])
    if wait:
        of = f" < {plain(model.state.name_of(wait['holders'][0]['agent']))}" if wait["holders"] else ""
        of = of if len(of) < columns // 2 else of[: columns // 2]
        return pad(cut_path(plain(wait["resources"][0]), columns - len(of)) + of, columns), "wait"
    files = model.files_of(agent["agent"])
    if not files:
        return pad(plain(agent.get("killed") or "-"), columns), "dim"
    first = model.hurt(agent["agent"]) or files[0]
    more = f" +{len(files) - 1}" if len(files) > 1 else ""
    return pad(cut_path(plain(first), columns - len(more)) + more, columns), "bad" if first in model.violated else ""


# --- held


def _held_column(columns: int, name: int) -> int:
    return max(8, columns - name - BAR - LEFT - 5)


def _held(model: Model, order: str) -> Sequence[Row]:
    rows = tree(model)
    if order != "path":
        rows = [{**row, "depth": 0, "name": row["path"]} for row in rows if "claim" in row]
        key: Callable[[TreeRow], Any] = lambda row: row["claim"].get("expires_at") or "9"  # noqa: E731 - one of two
        if order == "holder":
            key = lambda row: (row["claim"].get("name") or "", row["path"])  # noqa: E731 - the other
        rows.sort(key=key)
    name = names_width(model)
    return Rows(rows, lambda row: str(row["id"]), lambda row: Row(
        row["id"], partial(_held_row, model, row, name), open=f"file:{row['path']}" if _is_thing(row) else "",
        agent=(row.get("claim") or row.get("wait") or {}).get("agent", ""), search=_held_text(row),
    ))  # fmt: skip


def _is_thing(row: TreeRow) -> bool:
    return "claim" in row or "wait" in row


def _held_text(row: TreeRow) -> str:
    about = row.get("claim") or row.get("wait")
    waiters = " ".join([wait.get("name", "") for wait in row["waits"]])
    holder = f"{about.get('name', '')} {about['agent']} {about['mode']}" if about else ""
    return f"{row['path']} {holder} {waiters}"


def _held_row(model: Model, row: TreeRow, name: int, columns: int) -> Line:
    now, width = model.state.now, _held_column(columns, name)
    indent = "  " * min(row["depth"], 6)
    text, claim, wait = plain(row["name"]), row.get("claim"), row.get("wait")
    if claim is None:
        if wait is None:
            return fit([(f" {indent}{cut_path(text, width - len(indent))}", "dim")], columns)
        waits = length(now - ms(wait["since"]), fine=True)
        path = pad(indent + cut_path(text, width - len(indent)), width)
        return spaced(columns, (path, ""), (pad(plain(wait["name"]), name), "bold"), (f"~ waits {waits}", "wait"))
    waiters = words.joined(plain(one["name"] or one["agent"]) for one in row["waits"])
    note = f" ~ {waiters}" if waiters else ""
    mode = f" {claim['mode']}" if claim["mode"] != "write" else ""
    note = f"{mode}{note}"[: max(width // 2, width - len(indent) - len(text))]
    hurt, low = row["path"] in model.violated, is_low(claim, now)
    quiet = model.shown.get(claim["agent"]) in {"silent", "dead"}
    tone = "bad" if hurt else "dead" if quiet else "wait" if low else "held"
    left = ms(claim["expires_at"]) - now
    return fit(
        [
            ("!" if hurt else "?" if quiet else " ", tone),
            (pad(indent + cut_path(text, width - len(indent) - len(note)) + note, width), "wait" if waiters else ""),
            (" ", ""), (pad(plain(claim.get("name") or claim["agent"]), name), "bold"), (" ", ""),
            (bar(part_left(claim, now), BAR, "=" if claim["mode"] == "read" else "#"), tone), (" ", ""),
            (pad(length(left) if claim["expires_at"] else "…", LEFT, right=True), "wait" if low else ""),
        ],
        columns,
    )  # fmt: skip


def part_left(claim: ClaimView, now: int) -> float:
    """How much of a claim's time is left, from 0 to 1."""
    end = ms(claim["expires_at"])
    whole = claim["ttl"] * 1000 if claim.get("ttl") else end - ms(claim.get("renewed_at") or claim["since"])
    return max(0.0, min(1.0, (end - now) / whole)) if end and whole > 0 else 1.0


# --- waits


def _waits(model: Model, order: str) -> list[Row]:
    rows: list[Row] = []
    name = names_width(model)
    inside: set[str] = set()
    for lock in model.deadlocks:
        at = words.clock(ms(lock["since"]), seconds=False)
        title = f"DEADLOCK of {len(lock['cycle'])}: enter shows how to resolve it ({at})"
        rows.append(Row(lock["id"], partial(_title, title, "bad"), open=f"alert:{lock['id']}", search="deadlock"))
        for step in lock["cycle"]:
            inside.add(step["agent"])
            wait = model.wait_of.get(step["agent"])
            refused = step["agent"] == lock["agent"] and wait is None
            since = ms(lock["since"] if refused else (wait or step)["since"])
            drawn = partial(_wait, model, step["agent"], step["resource"], step["holder"], since, refused, name)
            search = f"{step['agent']} {step['resource']} {step['holder']}"
            row = f"{lock['id']}\t{step['agent']}"
            rows.append(Row(row, drawn, open=f"file:{step['resource']}", agent=step["agent"], search=search))
    waits = [wait for wait in model.waits if wait["agent"] not in inside]
    if order == "agent":
        waits.sort(key=lambda wait: str(wait["name"]))
    for wait in waits:
        holder = wait["holders"][0] if wait["holders"] else {"agent": "", "resource": wait["resources"][0]}
        drawn = partial(
            _wait, model, wait["agent"], wait["resources"][0], holder["agent"], ms(wait["since"]), False, name
        )
        path = wait["resources"][0]
        search = f"{wait['name']} {wait['agent']} {path}"
        rows.append(Row(f"{wait['agent']}\t{path}", drawn, open=f"file:{path}", agent=wait["agent"], search=search))
    return rows


def _title(text: str, tone: str, columns: int) -> Line:
    return fit([(f" {text}", tone)], columns)


def _wait(
    model: Model, agent: str, resource: str, holder: str, since: int, refused: bool, name: int, columns: int
) -> Line:
    name_of, past = model.state.name_of, length(model.state.now - since, fine=True)
    of = f"  held by {plain(name_of(holder))}" if holder else ""
    word = f"refused {past}" if refused else f"waits {past}"
    room = max(8, columns - name - 18 - len(of))
    tone = "bad" if refused else "wait"
    path = cut_path(plain(resource), room)
    return spaced(
        columns, (pad(plain(name_of(agent)), name), "bold"), (pad(word, 15), tone), (path, ""), (of[1:], "dim")
    )


# --- tasks


def _task_column(columns: int, name: int) -> int:
    return max(8, columns - name - 31)


def task_counts(model: Model, board: dict[str, list[TaskView]]) -> list[str]:
    """The run, and how many tasks are in each state, in two texts."""
    run = model.state.run
    more = "+" if model.state.more.get("tasks") else ""
    counts = [f"{name} {len(board[name])}{more}" for name in ("discovery", "scoped")]
    counts.append(f"planned {len(board['ready'])} ready, {len(board['blocked'])} blocked")
    counts += [f"{name} {len(board[name])}" for name in ("executing", "complete")]
    stopped = [f"{plain(task['id'])} {task['state']}" for task in board["stopped"]]
    about = f"run {plain(run['id'])} {round(run.get('progress') or 0)}% {run.get('phase') or ''}" if run else "no run"
    return ["   ".join(counts), f"{about}{f'   stopped: {words.listed(stopped)}' if stopped else ''}"]


def _tasks(model: Model, order: str) -> Sequence[Row]:
    board = model.board()
    listed = [(state, task) for state, tasks in board.items() for task in tasks]
    if order == "priority":
        listed.sort(key=lambda one: -one[1]["priority"])
    elif order == "newest":
        listed.sort(key=lambda one: str(one[1]["created_at"]), reverse=True)
    name = names_width(model)

    def row(one: tuple[str, TaskView]) -> Row:
        state, task = one
        search = f"{task['id']} {task['title']} {state} {task['state']} {task.get('name') or ''}"
        drawn = partial(_task, model, state, task, name)
        return Row(task["id"], drawn, open=f"task:{task['id']}", agent=task.get("agent") or "", search=search)

    return Rows(listed, lambda one: str(one[1]["id"]), row)


def _task(model: Model, state: str, task: TaskView, name: int, columns: int) -> Line:
    width, now = _task_column(columns, name), model.state.now
    text = plain(task["id"] if task["title"] in {"", task["id"]} else f"{task['id']}  {task['title']}")
    before = model.opened(task) if state == "blocked" else []
    if state == "stopped":
        text += f": {plain(task['error']['why'])}" if "error" in task else ""
    elif before:
        text += f"  after: {plain(words.listed(before, 2))}"
    elif state == "blocked":
        text += f"  after {words.count(task.get('waits_for') or 0, 'task')}"
    elif state in {"discovery", "scoped"} and now - ms(task["created_at"]) > STALE_MS:
        text += "  stale"
    if task["attempt"] > 1:
        text += f"  try {task['attempt']} of {task['max_attempts']}"
    word = task["state"] if state == "stopped" else state
    since = ms(task.get("started_at") if state == "executing" else task["created_at"])
    percent, priority = task.get("progress"), f"{task['priority']:>3}"
    return spaced(
        columns, (f"{TASK_SHAPES.get(state, '.')} {pad(word, 11)}", TASK_TONES.get(state, "")),
        (pad(text, width - max(0, len(priority) - 3)), "dim" if state == "complete" else ""), (priority, "dim"),
        (pad(plain(task.get("name") or task["agent"] or ""), name), "bold"),
        (pad("" if percent is None else str(percent), PERCENT, right=True), ""),
        (pad(length(now - since) if since else "", SINCE, right=True), "dim"),
    )  # fmt: skip


# --- the log


def matches(model: Model, event: Event, query: str) -> bool:
    """Does an event match `agent:ada kind:claim. about:src/db` and words?"""
    for word in query.lower().split():
        key, colon, rest = word.partition(":")
        if colon and key == "agent":
            if rest not in {event["agent"].lower(), (event.get("name") or "").lower()}:
                return False
        elif colon and key == "kind":
            if not event["kind"].startswith(rest.rstrip("*")):
                return False
        elif colon and key == "about":
            if rest not in f"{event['subject']} {model.state.about(event)}".lower():
                return False
        elif word not in event_text(model, event):
            return False
    return True


def event_text(model: Model, event: Event) -> str:
    """All that an event says, in small letters, made once."""
    if "words" not in event:
        about, says = model.state.about(event), event_texts.says(event)
        parts = (event["seq"], event["kind"], event["agent"], event["name"], event["subject"], about, says)
        event["words"] = " ".join([str(part) for part in parts]).lower()
    return event["words"]


def _log(model: Model, order: str, query: str) -> Sequence[Row]:
    events = model.state.events
    found = [event for event in events if matches(model, event, query)] if query.strip() else events
    if query.strip() == model.state.searched:  # what the whole log has of it, from before the events that are here
        first = events[0]["seq"] if events else 0
        found = [event for event in model.state.found if event["seq"] < first] + found
    things = found[:] if order == "oldest" else found[::-1]  # a copy: the log grows meanwhile
    return Rows(things, lambda event: str(event["seq"]), event_row)


def event_row(event: Event) -> Row:
    """An event as a row."""
    return Row(str(event["seq"]), partial(_event, event), open=f"ev:{event['seq']}", agent=event["agent"])


def _event(event: Event, columns: int) -> Line:
    return fit([(f" {event['seq']:>6} ", "dim"), *event_spans(event)], columns)


def event_spans(event: Event) -> list[Span]:
    """When, and what happened."""
    return [(words.clock(event["ms"]), "dim"), (" ", ""), (event_texts.says(event), event_texts.tone(event))]


# --- alerts


def remedies(model: Model, alert: OpenAlert) -> list[tuple[str, str]]:
    """What can be done about an alert from here: (key and word, action)."""
    kind, agent, known = alert["kind"], alert["agent"], alert["agent"] in model.state.agents
    found: list[tuple[str, str]] = []
    if kind == "violation":
        found.append(("R restore", f"restore:{alert['subject']}"))
    elif kind == "deadlock":
        found.append(("enter resolve", "go:waits"))
    elif kind in {"asks", "silent"} and known and alert.get("resources"):
        found.append(("r release", f"release:{alert['resources'][0]}"))
    elif kind == "dead":
        keys = {"diff": "d diff", "handover": "H hand over", "undo": "u undo"}
        offered = [one["act"] for one in alert.get("actions", ())]
        found += [(keys[act], f"{act}:{agent}") for act in offered if act in keys]
    elif kind == "hold" and known:
        found.append(("r release", f"release:{(alert.get('resources') or [alert['subject']])[0]}"))
    elif kind == "poison":
        found.append(("p requeue", f"requeue:{alert['subject']}"))
    return found


def _alerts(model: Model, _: str) -> list[Row]:
    rows = []
    for number, alert in enumerate(model.open, 1):
        rows.append(Row(alert["id"], partial(_alert, model, alert, number), open=f"alert:{alert['id']}",
                        agent=alert["agent"], search=f"{alert['kind']} {alert['text']}"))  # fmt: skip
    lost = model.state.undelivered
    told = f"{words.count(len(lost), 'alert')} not delivered: {lost[0]['why']} (dibs alerts)" if lost else ""
    warnings = [*model.state.warnings, *([told] if told else [])]
    rows += [Row(f"\t{warning}", partial(_warning, warning), search=warning) for warning in warnings]
    from dibs.interfaces.top import worktrees  # it draws rows, too

    return rows + worktrees.lines(model)


def _alert(model: Model, alert: OpenAlert, number: int, columns: int) -> Line:
    word = str(ALERTS.get(alert["kind"], alert["kind"])) + (f" x{alert['times']}" if alert["times"] > 1 else "")
    style = {"error": "bad", "warning": "wait"}.get(alert["severity"], "dim")
    name = model.state.name_of(alert["agent"])
    text = alert["text"] if not alert["agent"] or name in alert["text"] else f"{name}: {alert['text']}"
    if alert.get("cycle"):
        ring = [model.state.name_of(step["agent"]) for step in alert["cycle"]]
        text = f"{' > '.join([*ring, ring[0]])}, {name} was refused"
    wide = columns >= 120  # noqa: PLR2004 - where the wide layout begins, about
    todo = "   ".join([text for text, _ in remedies(model, alert)][: None if wide else 1]) or "a ack"
    event = f"#{alert['evidence'][0]}  " if wide and alert.get("evidence") else ""
    end = f"{event}{length(model.state.now - ms(alert['since']))}  {todo}"
    if wide and todo != "a ack":
        end += "   a ack"
    size = 17 if wide else 12
    head = [(f"!{number} ", style), (pad(word, size), f"bold {style}"), (" ", "")]
    room = max(0, columns - len(f"!{number} ") - size - 1 - len(end) - 1)
    said, order = plain(text), f"  {plain(alert['remedy'])}"
    if len(said) + len(order) <= room:  # there is room for the command, too; its story has it anyway
        return fit([*head, (said, ""), (pad(order, room - len(said)), "dim"), (" ", ""), (end, "dim")], columns)
    return fit([*head, (pad(said, room), ""), (" ", ""), (end, "dim")], columns)


def _warning(text: str, columns: int) -> Line:
    return fit([("!  ", "bad"), (pad("Warning", 12), "bold bad"), (f" {plain(text)}", "")], columns)


_ROWS: dict[int, Callable[[Model, str], Sequence[Row]]] = {
    AGENTS: _agents, HELD: _held, WAITS: _waits, TASKS: _tasks, ALERT: _alerts,
}  # fmt: skip
