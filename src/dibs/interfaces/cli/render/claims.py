"""Answers about claims as text for people."""

from __future__ import annotations

from dibs.errors import asking, counted, named, restoring, taking_away
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
MAX_WAITERS_SHOWN = 3  # in the line of one claim


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


def status(result: StatusAnswer, about: Surroundings) -> Items:
    """The state of a workspace. `about` is what only the door knows of it."""
    waiting = result["waiting"]
    holders = {claim["agent"] for claim in result["claims"]} | {task["agent"] for task in result["tasks"]}
    places = {id(waiter): _waits_for(waiter, result["claims"]) for waiter in waiting}
    head = [about["workspace"], about["store"]]
    head.append(f"{counted(len(holders), 'agent')} at work, {len(waiting)} waiting")
    items: Lines = [terminal.Line(" · ".join(head), "bold"), ""]
    rows = [
        _row(claim, result, [waiter for waiter in waiting if places[id(waiter)] is claim]) for claim in result["claims"]
    ]
    items.append(terminal.Table(("FILE", "HELD BY", "LEFT", "FOR", "WAITING"), rows) if rows else "nothing is held")
    alone = [waiter for waiter in waiting if places[id(waiter)] is None]
    for waiter in alone:
        items.append(f"{named(waiter)} waits for {', '.join(waiter['resources'])} ({times.ago(waiter['since'])})")
    items += continued(result)
    hints = _hints(result, about["refused"])
    return [*items, "", *hints] if hints else items


def _row(claim: ClaimView, result: StatusAnswer, waiting: list[WaiterView]) -> tuple[str, ...]:
    """One claim, with who waits for it; a task's claim is shown as the task."""
    who = named(claim) + ("" if claim["mode"] == "write" else f" ({claim['mode']})")
    what, why = ", ".join(claim["resources"]), claim["reason"]
    notes = [f"{named(waiter)} ({times.ago(waiter['since'])})" for waiter in waiting[:MAX_WAITERS_SHOWN]]
    notes += [f"and {len(waiting) - MAX_WAITERS_SHOWN} more"] if len(waiting) > MAX_WAITERS_SHOWN else []
    task = next((task for task in result["tasks"] if f"task:{task['id']}" in claim["resources"]), None)
    if task is not None:
        what, why = f"task {task['id']}", why or task["title"]
        notes += [f"{task['progress']} %"] if task.get("progress") else []
    return what, who, times.left(claim["expires_at"]), why, ", ".join(notes)


def _waits_for(waiter: WaiterView, claims: list[ClaimView]) -> ClaimView | None:
    """The claim that a waiter most likely waits for: one that has a resource of its own, or one above or below it."""
    wanted = waiter["resources"]
    for claim in claims:
        if claim["agent"] != waiter["agent"] and any(
            mine == its or f"{mine}/".startswith(f"{its.rstrip('/')}/") or f"{its}/".startswith(f"{mine.rstrip('/')}/")
            for mine in wanted
            for its in claim["resources"]
        ):
            return claim
    return None


def _alert(alert: AlertShort) -> terminal.Line:
    style = "red" if alert["severity"] == "error" else "yellow"
    kind = "" if alert["text"].startswith(alert["kind"]) else f"{alert['kind']}: "  # "deadlock prevented: …" says it
    return terminal.Line(f"! {kind}{alert['text']} ({alert['remedy']})", style)


def _hints(result: StatusAnswer, refused: dict[tuple[str, str], int]) -> Items:
    """What a person may want to act on."""
    hints: Lines = [_alert(alert) for alert in result["alerts"][:MAX_ALERTS_SHOWN] if alert["state"] == "open"]
    if result["alert_count"] > len(hints):
        hints.append(f"{counted(result['alert_count'], 'alert')} in all: `dibs alerts`")
    lost = result.get("undelivered", ())
    if lost:
        hints.append(
            terminal.Line(f"! {counted(len(lost), 'alert')} not delivered: {lost[0]['why']} (dibs alerts)", "yellow")
        )
    held = {text: claim for claim in result["claims"] for text in claim["resources"]}
    for (agent, resource), number in refused.items():
        if number >= REFUSED_OFTEN and resource in held and named(held[resource]) != agent:
            text = f"! {agent} was refused {number} times on {resource}: {asking(resource)}"
            hints.append(terminal.Line(f"{text}  or  {taking_away([resource])}", "yellow"))
    old = [named(agent) for agent in result["agents"] if agent.get("rules") == "old" and agent["state"] in AT_WORK]
    if old:
        hints.append(f"on old rules until their next boot or prompt: {', '.join(old)}")
    hints += [terminal.Line(f"warning: {text}", "yellow") for text in result.get("warnings", ())]
    return hints


RENDERERS = {"claim": _claim, "renew": _renew, "release": _release, "confirm": _confirm, "ask": _ask}
