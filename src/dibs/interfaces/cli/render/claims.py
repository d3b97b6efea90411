"""Answers about claims as text for people."""

from __future__ import annotations

from dibs.errors import asking, counted, named, restoring, taking_away
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.render import AT_WORK, continued, times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from dibs.interfaces.cli.render import Items, Lines

    class Surroundings(TypedDict):
        """What of a workspace's state only a door knows."""

        workspace: str  # its folder's name
        store: str
        refused: dict[tuple[str, str], int]  # how often lately, by an agent's name and a resource

    from dibs.operations.agents.answers import AgentView
    from dibs.operations.alerts.answers import AlertGroup
    from dibs.operations.claims.answers import (
        AskAnswer,
        ClaimAnswer,
        ClaimView,
        ConfirmAnswer,
        ReleaseAnswer,
        RenewAnswer,
        StatusAnswer,
        WaiterView,
    )

REFUSED_OFTEN = 3  # refusals of one agent on one resource that status points out
MAX_WAITERS_SHOWN = 3  # in one row
MAX_ROWS = 50  # of what is held; `--all` shows the rest


def _claim(result: ClaimAnswer) -> Items:
    word = "renewed" if result.get("renewed") else "claimed"
    names = ", ".join(result["resources"])
    if result.get("used_up") == result["resources"]:
        return [f"your turn at {names}: there is nothing to release"]
    lines = [f"{word} {names} ({result['mode']}), token {result['token']}, for {times.left(result['expires_at'])}"]
    if result.get("ends") == "commit":
        lines[0] += "; your commit of the file releases it (--keep keeps it)"
    if result.get("note"):
        lines.append(f"note: {result['note']}")
    lines += [
        f"note: {named(other)} has a {other['mode']} claim on {other['resource']}" for other in result.get("watch", ())
    ]
    return lines


def _renew(result: RenewAnswer) -> Items:
    if not result["renewed"]:
        return ["you hold nothing"]
    return [f"renewed {', '.join(c['resources'])} for {times.left(c['expires_at'])}" for c in result["renewed"]]


def _release(result: ReleaseAnswer) -> Items:
    if not result["released"]:
        return ["you hold nothing"]
    if "holders" in result:
        lines = [
            f"took {', '.join(holder['resources'])} away from {named(holder)} and notified it"
            for holder in result["holders"]
        ]
        return lines + [f"kept {content['path']} as it is: `{restoring(content['id'])}`" for content in result["kept"]]
    to = f" to {named(result, 'to')}" if result.get("to") else ""
    return [f"released {', '.join(result['released'])}{to}"]


def _confirm(result: ConfirmAnswer) -> Items:
    return [
        f"live: {named(result, 'holder')} holds it under token {result['token']} for {times.left(result['expires_at'])}"
    ]


def _ask(result: AskAnswer) -> Items:
    who = ", ".join(result.get("to_name") or result["to"])
    return [f"asked {who} to release {result['resource']}; you will be notified if it frees up within 10 minutes"]


def status(result: StatusAnswer, about: Surroundings, *, every: bool = False) -> Items:
    """The state of a workspace, what needs attention first. `about` is what only the door knows of it."""
    waiting = result["waiting"]
    holders = {claim["agent"] for claim in result["claims"]} | {task["agent"] for task in result["tasks"]}
    head = [about["workspace"], about["store"]]
    head.append(f"{counted(len(holders), 'agent')} at work, {len(waiting)} waiting")
    items: Lines = [terminal.Line(" · ".join(head), "bold"), *_hints(result, about["refused"]), ""]
    places = [(waiter, _waits_for(waiter, result["claims"])) for waiter in waiting]
    rows = [
        row for claim in result["claims"]
        for row in _rows(claim, result, [(waiter, on[1]) for waiter, on in places if on and on[0] is claim])
    ]  # fmt: skip
    items += _held(rows, every=every) if rows else ["nothing is held"]
    for waiter in [waiter for waiter, on in places if on is None]:
        items.append(f"{named(waiter)} waits for {', '.join(waiter['resources'])} ({times.ago(waiter['since'])})")
    longest = min([(waiter["since"], on[1]) for waiter, on in places if on], default=None)
    if longest is not None:
        ways = f"`{asking(longest[1])}` asks its holder, `{taking_away([longest[1]])}` takes it away"
        items += ["", f"to free one: {ways}"]
    return [*items, *continued(result)]


def _held(rows: list[tuple[str, ...]], *, every: bool) -> Lines:
    """The table of what is held; a long one is folded, with what others wait for first."""
    title = "FILE" if all(is_path(row[0]) for row in rows) else "RESOURCE"
    shown = rows if every or len(rows) <= MAX_ROWS else sorted(rows, key=lambda row: not row[4])[:MAX_ROWS]
    lines: Lines = [terminal.Table((title, "HELD BY", "LEFT", "FOR", "WAITING"), shown)]
    if len(shown) < len(rows):
        lines.append(f"and {len(rows) - len(shown)} more: `dibs status --all`")
    return lines


def is_path(resource: str) -> bool:
    """Is it a path, rather than a name (`deploy:prod`) or a task?"""
    return ":" not in resource and not resource.startswith("task ")


def _rows(claim: ClaimView, result: StatusAnswer, waiting: list[tuple[WaiterView, str]]) -> list[tuple[str, ...]]:
    """One row for each resource of a claim, with who waits for it; a task's claim is shown as the task."""
    who = named(claim) + ("" if claim["mode"] == "write" else f" ({claim['mode']})")
    tasks = {f"task:{task['id']}": task for task in result["tasks"]}
    rows: list[tuple[str, ...]] = []
    for resource in claim["resources"]:
        mine = [waiter for waiter, wanted in waiting if wanted == resource]
        notes = [f"{named(waiter)} ({times.ago(waiter['since'])})" for waiter in mine[:MAX_WAITERS_SHOWN]]
        notes += [f"and {len(mine) - MAX_WAITERS_SHOWN} more"] if len(mine) > MAX_WAITERS_SHOWN else []
        what, why, task = resource, claim["reason"], tasks.get(resource)
        if task is not None:
            what, why = f"task {task['id']}", why or task["title"]
            notes += [f"{task['progress']} %"] if task.get("progress") else []
        why = why or _doing(claim, result)
        left = "while it runs" if claim["left"].startswith("kept") else times.left(claim["expires_at"])
        rows.append((what, who, left, why, ", ".join(notes)))
    return rows


def _doing(claim: ClaimView, result: StatusAnswer) -> str:
    """What the holder is doing, by its last prompt."""
    return next((agent.get("doing", "") for agent in result["agents"] if agent["agent"] == claim["agent"]), "")


def _waits_for(waiter: WaiterView, claims: list[ClaimView]) -> tuple[ClaimView, str] | None:
    """The claim that a waiter most likely waits for, and what of it: its own resource, or one above or below it."""
    wanted = waiter["resources"]
    for claim in claims:
        if claim["agent"] == waiter["agent"]:
            continue
        for its in claim["resources"]:
            if any(
                mine == its
                or f"{mine}/".startswith(f"{its.rstrip('/')}/")
                or f"{its}/".startswith(f"{mine.rstrip('/')}/")
                for mine in wanted
            ):
                return claim, its
    return None


STYLES = {"error": "red", "warning": "yellow", "info": "dim"}  # of an alert, by its severity


def _group(group: AlertGroup) -> terminal.Line:
    """The open alerts of one kind, in a line."""
    word = group["label"].lower()
    times = f" x{group['count']}" if group["count"] > 1 else ""
    kind = "" if group["text"].startswith(word) and not times else f"{word}{times}: "  # "deadlock prevented: …" says it
    todo = f"`{group['remedy']}`"
    todo += f"; dismiss all: `{group['dismiss']}`" if group["count"] > 1 else ""
    mark = "!" if group["needs_you"] else "·"
    return terminal.Line(f"{mark} {kind}{group['text']} ({todo})", STYLES[group["severity"]])


def _needing(agents: Sequence[AgentView]) -> Lines:
    """The agents that wait for a person, and those that are stalled: what they hold up comes first."""
    lines: Lines = []
    for agent in sorted(agents, key=lambda one: (-len(one.get("holds_up", ())), -one.get("holds", 0))):
        if "waits" in agent:
            what = f" ({agent['waits']['what']})" if agent["waits"]["what"] else ""
            state = f"has waited for a person for {times.ago(agent['waits']['since'])}{what}"
        elif "stalled_since" in agent:
            state = f"is stalled: no sign and no CPU time for {times.ago(agent['stalled_since'])}"
        else:
            continue
        doing = f', at work on "{agent["doing"]}"' if agent.get("doing") else ""
        held = f"; holds {counted(agent['holds'], 'claim')}" if agent.get("holds") else ""
        wanting = agent.get("holds_up_name") or agent.get("holds_up", ())
        behind = f"; holds up {', '.join(wanting[:MAX_WAITERS_SHOWN])}" if wanting else ""
        lines.append(terminal.Line(f"! {named(agent)} {state}{doing}{held}{behind}", "yellow"))
    return lines


def _hints(result: StatusAnswer, refused: dict[tuple[str, str], int]) -> Items:
    """What a person may want to act on."""
    groups = result["alert_groups"]
    told = {agent for group in groups if group["kind"] in {"asks", "silent"} for agent in group["agents"]}
    hints: Lines = [*_needing([one for one in result["agents"] if one["agent"] not in told]), *map(_group, groups)]
    acknowledged = result["alert_count"] - sum(group["count"] for group in groups)
    if acknowledged:
        hints.append(f"{counted(acknowledged, 'alert')} acknowledged: `dibs alerts`")
    lost = result.get("undelivered", ())
    if lost:
        hints.append(
            terminal.Line(f"! {counted(len(lost), 'alert')} not delivered: {lost[0]['why']} (`dibs alerts`)", "yellow")
        )
    held = {text: claim for claim in result["claims"] for text in claim["resources"]}
    for (agent, resource), number in refused.items():
        if number >= REFUSED_OFTEN and resource in held and named(held[resource]) != agent:
            text = f"! {agent} was refused {number} times on {resource}: `{asking(resource)}`"
            hints.append(terminal.Line(f"{text}, or `{taking_away([resource])}`", "yellow"))
    old = [named(agent) for agent in result["agents"] if agent.get("rules") == "old" and agent["state"] in AT_WORK]
    if old:
        hints.append(f"on old rules until their next boot or prompt: {', '.join(old)}")
    hints += [terminal.Line(f"warning: {text}", "yellow") for text in result.get("warnings", ())]
    return hints


RENDERERS = {"claim": _claim, "renew": _renew, "release": _release, "confirm": _confirm, "ask": _ask}
