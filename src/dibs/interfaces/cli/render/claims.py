"""Answers about claims as text for people."""

from __future__ import annotations

from dibs.errors import counted, named, quoted
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.render import AT_WORK, continued, times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.interfaces.cli.render import Items, Lines

    class Surroundings(TypedDict):
        """What of a workspace's state only a door knows."""

        workspace: str  # its folder's name
        store: str
        refused: dict[tuple[str, str], int]  # how often lately, by an agent's name and a resource

    from dibs.operations.claims.answers import (
        AlertShort,
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
MAX_ALERTS_SHOWN = 5  # that status names; `dibs alerts` has all
MAX_WAITERS_SHOWN = 3  # in one row
MAX_ROWS = 50  # of what is held; `--all` shows the rest


def _claim(result: ClaimAnswer) -> Items:
    word = "renewed" if result.get("renewed") else "claimed"
    names = ", ".join(result["resources"])
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
        return lines + [
            f"kept {content['path']} as it is: `dibs restore {content['id']}`" for content in result["kept"]
        ]
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
        name = quoted(longest[1])
        ways = f"`dibs ask {name} TEXT` asks its holder, `dibs release {name} --force --why TEXT` takes it away"
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
    rows = []
    for resource in claim["resources"]:
        mine = [waiter for waiter, wanted in waiting if wanted == resource]
        notes = [f"{named(waiter)} ({times.ago(waiter['since'])})" for waiter in mine[:MAX_WAITERS_SHOWN]]
        notes += [f"and {len(mine) - MAX_WAITERS_SHOWN} more"] if len(mine) > MAX_WAITERS_SHOWN else []
        what, why, task = resource, claim["reason"], tasks.get(resource)
        if task is not None:
            what, why = f"task {task['id']}", why or task["title"]
            notes += [f"{task['progress']} %"] if task.get("progress") else []
        rows.append((what, who, times.left(claim["expires_at"]), why, ", ".join(notes)))
    return rows


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


def _alert(alert: AlertShort) -> terminal.Line:
    style = "red" if alert["severity"] == "error" else "yellow"
    kind = "" if alert["text"].startswith(alert["kind"]) else f"{alert['kind']}: "  # "deadlock prevented: …" says it
    return terminal.Line(f"! {kind}{alert['text']} (`{alert['remedy']}`)", style)


def _hints(result: StatusAnswer, refused: dict[tuple[str, str], int]) -> Items:
    """What a person may want to act on."""
    hints: Lines = [_alert(alert) for alert in result["alerts"][:MAX_ALERTS_SHOWN] if alert["state"] == "open"]
    if result["alert_count"] > len(hints):
        hints.append(f"{counted(result['alert_count'], 'alert')} in all: `dibs alerts`")
    lost = result.get("undelivered", ())
    if lost:
        hints.append(
            terminal.Line(f"! {counted(len(lost), 'alert')} not delivered: {lost[0]['why']} (`dibs alerts`)", "yellow")
        )
    held = {text: claim for claim in result["claims"] for text in claim["resources"]}
    for (agent, resource), number in refused.items():
        if number >= REFUSED_OFTEN and resource in held and named(held[resource]) != agent:
            name = quoted(resource)
            text = f"! {agent} was refused {number} times on {resource}: `dibs ask {name} TEXT`"
            hints.append(terminal.Line(f"{text}, or `dibs release {name} --force --why TEXT`", "yellow"))
    old = [named(agent) for agent in result["agents"] if agent.get("rules") == "old" and agent["state"] in AT_WORK]
    if old:
        hints.append(f"on old rules until their next boot or prompt: {', '.join(old)}")
    hints += [terminal.Line(f"warning: {text}", "yellow") for text in result.get("warnings", ())]
    return hints


RENDERERS = {"claim": _claim, "renew": _renew, "release": _release, "confirm": _confirm, "ask": _ask}
