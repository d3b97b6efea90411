"""Answers about claims as text for people."""

from __future__ import annotations

from dibs.errors import counted, named, quoted
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.render import AT_WORK, continued, times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.interfaces.cli.render import Items, Lines

REFUSED_OFTEN = 3  # refusals of one agent on one resource that status points out
MAX_ALERTS_SHOWN = 5  # that status names; `dibs alerts` has all
MAX_WAITERS_SHOWN = 3  # in the line of one claim


def _claim(result: dict[str, Any]) -> Items:
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


def _renew(result: dict[str, Any]) -> Items:
    if not result["renewed"]:
        return ["you hold nothing"]
    return [f"renewed {', '.join(c['resources'])} for {times.left(c['expires_at'])}" for c in result["renewed"]]


def _release(result: dict[str, Any]) -> Items:
    if not result["released"]:
        return ["you hold nothing"]
    if "holders" in result:
        lines = [
            f"took {', '.join(one['resources'])} away from {named(one)} and notified it" for one in result["holders"]
        ]
        return lines + [f"kept {one['path']} as it is: `dibs restore {one['id']}`" for one in result["kept"]]
    to = f" to {named(result, 'to')}" if result.get("to") else ""
    return [f"released {', '.join(result['released'])}{to}"]


def _confirm(result: dict[str, Any]) -> Items:
    return [
        f"live: {named(result, 'holder')} holds it under token {result['token']} for {times.left(result['expires_at'])}"
    ]


def _ask(result: dict[str, Any]) -> Items:
    who = ", ".join(result.get("to_name") or result["to"])
    return [f"asked {who} to release {result['resource']}; you will be notified if it frees up within 10 minutes"]


def status(result: dict[str, Any], about: dict[str, Any]) -> Items:
    """The state of a workspace. `about` is what only the door knows: its name, its store, recent refusals."""
    waiting = result["waiting"]
    holders = {one["agent"] for one in [*result["claims"], *result["tasks"]]}
    places = {id(one): _waits_for(one, result["claims"]) for one in waiting}
    head = [about["workspace"], about["store"]]
    head.append(f"{counted(len(holders), 'agent')} at work, {len(waiting)} waiting")
    items: Lines = [terminal.Line(" · ".join(head), "bold"), ""]
    rows = [_row(claim, result, [one for one in waiting if places[id(one)] is claim]) for claim in result["claims"]]
    items.append(terminal.Table(("FILE", "HELD BY", "LEFT", "FOR", "WAITING"), rows) if rows else "nothing is held")
    alone = [one for one in waiting if places[id(one)] is None]
    items += [f"{named(one)} waits for {', '.join(one['resources'])} ({times.ago(one['since'])})" for one in alone]
    items += continued(result)
    hints = _hints(result, about["refused"])
    return [*items, "", *hints] if hints else items


def _row(claim: dict[str, Any], result: dict[str, Any], waiting: list[dict[str, Any]]) -> tuple[str, ...]:
    """One claim, with who waits for it; a task's claim is shown as the task."""
    who = named(claim) + ("" if claim["mode"] == "write" else f" ({claim['mode']})")
    what, why = ", ".join(claim["resources"]), claim["reason"]
    notes = [f"{named(one)} ({times.ago(one['since'])})" for one in waiting[:MAX_WAITERS_SHOWN]]
    notes += [f"and {len(waiting) - MAX_WAITERS_SHOWN} more"] if len(waiting) > MAX_WAITERS_SHOWN else []
    task = next((one for one in result["tasks"] if f"task:{one['id']}" in claim["resources"]), None)
    if task is not None:
        what, why = f"task {task['id']}", why or task["title"]
        notes += [f"{task['progress']} %"] if task.get("progress") else []
    return what, who, times.left(claim["expires_at"]), why, ", ".join(notes)


def _waits_for(waiter: dict[str, Any], claims: list[dict[str, Any]]) -> dict[str, Any] | None:
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


def _alert(alert: dict[str, Any]) -> terminal.Line:
    style = "red" if alert["severity"] == "error" else "yellow"
    kind = "" if alert["text"].startswith(alert["kind"]) else f"{alert['kind']}: "  # "deadlock prevented: …" says it
    return terminal.Line(f"! {kind}{alert['text']} ({alert['remedy']})", style)


def _hints(result: dict[str, Any], refused: dict[tuple[str, str], int]) -> Items:
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
            name = quoted(resource)
            text = f'! {agent} was refused {number} times on {resource}: dibs ask {name} "…"'
            hints.append(terminal.Line(f'{text}  or  dibs release {name} --force --why "…"', "yellow"))
    old = [named(agent) for agent in result["agents"] if agent.get("rules") == "old" and agent["state"] in AT_WORK]
    if old:
        hints.append(f"on old rules until their next boot or prompt: {', '.join(old)}")
    hints += [terminal.Line(f"warning: {text}", "yellow") for text in result.get("warnings", ())]
    return hints


RENDERERS = {"claim": _claim, "renew": _renew, "release": _release, "confirm": _confirm, "ask": _ask}
