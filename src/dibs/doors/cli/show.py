"""Answers as text for people: plain lines, times as durations from now, no colour where nobody looks."""

from __future__ import annotations

import sys
import time

from dibs.errors import named
from dibs.session import durations, loss_texts, quotes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

AT_WORK = frozenset({"alive", "unknown"})  # states of agents that may still act


def show(command: str, result: dict[str, Any]) -> None:
    """Print one answer."""
    family, _, rest = command.partition(" ")
    showers = __import__(f"dibs.doors.cli.show_{family}", fromlist=["SHOWERS"]).SHOWERS if rest else _SHOWERS
    lines = showers.get(command, _plain)(result)
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def left(at: str) -> str:
    """How long until that time, as people say it."""
    return durations.show(_ms(at) + 999)  # the second that has begun counts


def ago(at: str) -> str:
    """How long since that time."""
    return durations.show(-_ms(at))


def _ms(at: str) -> int:
    """Milliseconds from now until an ISO 8601 time; negative if it is over."""
    import calendar

    moment = calendar.timegm(time.strptime(at[:19], "%Y-%m-%dT%H:%M:%S"))
    return int(moment * 1000 - time.time() * 1000) + int(at[20:23] or 0)


TOLD = 10  # claims and losses that a briefing names: a model pays for each line


def _claim(result: dict[str, Any]) -> list[str]:
    word = "renewed" if result.get("renewed") else "claimed"
    names = ", ".join(result["resources"])
    lines = [f"{word} {names} ({result['mode']}), token {result['token']}, for {left(result['expires_at'])}"]
    if result.get("ends") == "commit":
        lines[0] += "; it ends with your commit of it (--keep keeps it)"
    if result.get("note"):
        lines.append(f"note: {result['note']}")
    lines += [
        f"note: {named(other)} has a {other['mode']} claim on {other['resource']}" for other in result.get("watch", ())
    ]
    return lines


def _renew(result: dict[str, Any]) -> list[str]:
    if not result["renewed"]:
        return ["you hold nothing"]
    return [f"renewed {', '.join(c['resources'])} for {left(c['expires_at'])}" for c in result["renewed"]]


def _release(result: dict[str, Any]) -> list[str]:
    if not result["released"]:
        return ["you hold nothing"]
    if "holders" in result:
        lines = [
            f"took {', '.join(one['resources'])} away from {named(one)}, which is told" for one in result["holders"]
        ]
        return lines + [f"kept {one['path']} as it is: `dibs restore {one['id']}`" for one in result["kept"]]
    to = f" to {named(result, 'to')}" if result.get("to") else ""
    return [f"released {', '.join(result['released'])}{to}"]


def _confirm(result: dict[str, Any]) -> list[str]:
    return [f"live: {named(result, 'holder')} holds it under token {result['token']} for {left(result['expires_at'])}"]


def _ask(result: dict[str, Any]) -> list[str]:
    return [f"asked {', '.join(result.get('to_name') or result['to'])} to release {result['resource']}"]


def _boot(result: dict[str, Any]) -> list[str]:
    lines = [*loss_texts.first(result), f"You are {named(result)} (incarnation {result['incarnation']})."]
    for claim in result["held"][:TOLD]:
        names = _some(claim["resources"])
        lines.append(f"You hold {names} ({claim['mode']}), token {claim['token']}, for {left(claim['expires_at'])}.")
    if result["held_count"] > TOLD:
        lines.append(f"You hold {result['held_count'] - TOLD} more: `dibs status` lists them.")
    if not result["held"]:
        lines.append("You hold nothing.")
    lines += loss_texts.rest(result)
    if result["task"]:
        lines += quotes.task(result["task"])
    lines += _messages(result["messages"])
    if result.get("files"):
        from dibs.session import memory_files

        lines += memory_files.lines(result["files"])
    if result["rules"]:
        changed = result["rules"]["changed"] and not result["rules"]["first"]
        lines += ["", f"The rules{' CHANGED; these hold now' if changed else ''} (.dibs/rules.md):"]
        lines.append(result["rules"]["text"].strip())
    return lines


def _messages(messages: list[dict[str, Any]]) -> list[str]:
    whole = 1 << 20  # letters: none is that long
    return [line for m in messages for line in quotes.lines(m, f"{ago(m['at'])} ago", whole)]


def _inbox(result: dict[str, Any]) -> list[str]:
    more = (
        ["(there are more: acknowledge these first)"] if result["more"] and not result["cursor"] else going_on(result)
    )
    return (_messages(result["messages"]) + more) or ["no messages"]


def going_on(result: dict[str, Any]) -> list[str]:
    """How to see the rest of a listing, if there is one."""
    return [f"(there are more: `--after {result['cursor']}` goes on)"] if result.get("cursor") else []


def _send(result: dict[str, Any]) -> list[str]:
    to = result.get("to_name") or result["to"]
    whom = ", ".join(to[:5]) + (f" and {len(to) - 5} more" if len(to) > 5 else "")  # noqa: PLR2004 - as many as one reads
    full = f"; no room in the inbox of {', '.join(result['full'][:5])}" if result.get("full") else ""
    return [f"sent {result['message']} to {whom}{full}"]


def _emit(result: dict[str, Any]) -> list[str]:
    return [f"emitted {result['event']}"]


def _subscribe(result: dict[str, Any]) -> list[str]:
    if result.get("off"):
        return [f"you hear of {result['subscription']} no more"]
    return [f"you hear of {result['subscription']} in your inbox, from behind event {result['cursor']} on"]


def _subscriptions(result: dict[str, Any]) -> list[str]:
    rows = [(one["subscription"], str(one["cursor"])) for one in result["subscriptions"]]
    return (
        table(("SUBSCRIPTION", "TOLD UP TO EVENT"), rows) + going_on(result) if rows else ["you subscribe to nothing"]
    )


def _status(result: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    rows = [
        (", ".join(c["resources"]), c["mode"], named(c), left(c["expires_at"]), str(c["token"]), c["reason"])
        for c in result["claims"]
    ]
    lines += table(("HELD", "MODE", "BY", "LEFT", "TOKEN", "FOR"), rows) if rows else ["nothing is held"]
    waits = [(", ".join(w["resources"]), w["mode"], named(w), ago(w["since"]), w["reason"]) for w in result["waiting"]]
    if waits:
        lines += ["", *table(("WAITED FOR", "MODE", "BY", "SINCE", "FOR"), waits)]
    old = [named(agent) for agent in result["agents"] if agent.get("rules") == "old" and agent["state"] in AT_WORK]
    if old:
        lines += ["", f"on old rules until their next boot or prompt: {', '.join(old)}"]
    lines += going_on(result)
    lines += [f"warning: {text}" for text in result.get("warnings", ())]
    return lines


def _kind(agent: dict[str, Any]) -> str:
    """What somebody is, in one word."""
    return str(agent["type"] or (agent["kind"] if agent["kind"] == "person" else ""))


def _agents(result: dict[str, Any]) -> list[str]:
    rows = [
        (named(a), a["state"], a["health"] if a["state"] != "left" else "", _kind(a), str(a["incarnation"]),
         str(a["pid"] or ""), f"{ago(a['last_seen'])} ago", _some(a.get("tasks", [])), a.get("rules", ""),
         a.get("killed", "") or _breaker(a)) for a in result["agents"]
    ]  # fmt: skip
    head = ("AGENT", "STATE", "HEALTH", "TYPE", "INCARNATION", "PID", "SEEN", "TASKS", "RULES", "WHY")
    return table(head, rows) + going_on(result) if rows else ["no agents yet", *going_on(result)]


def _breaker(agent: dict[str, Any]) -> str:
    return "" if agent["breaker"] == "closed" else f"breaker {agent['breaker']}"


def _some(names: list[str]) -> str:
    """A few of these; the rest is a number."""
    few = 3
    return ", ".join(names[:few]) + (f" and {len(names) - few} more" if len(names) > few else "")


def _kill(result: dict[str, Any]) -> list[str]:
    agent = result["agents"][0]
    voided = f"; voided: {', '.join(result['voided'])}" if result["voided"] else ""
    name = named(agent)
    return [f"killed {name} ({agent['killed']}){voided}. `dibs revive {name}` lets it act again."]


def _revive(result: dict[str, Any]) -> list[str]:
    return [f"{named(result['agents'][0])} may act again; it got nothing back."]


def _leave(result: dict[str, Any]) -> list[str]:
    if result["passed"]:
        return [f"left; {', '.join(result['passed'])} passed to {named(result, 'to')}"]
    return ["left" + (f"; released {', '.join(result['released'])}" if result["released"] else "")]


def _whoami(result: dict[str, Any]) -> list[str]:
    by = {"process": "by your client's process", "user": "by the operating system's user"}
    known = f"incarnation {result['incarnation']}, holds {result['held']}" if result["known"] else "not known here yet"
    role = f", role {result['role']}" if result["role"] else ""
    who = result["name"] if result["name"] == result["agent"] else f"{result['name']} ({result['agent']})"
    return [f"{who}{role}; {known}; {by.get(result['by'], 'by ' + result['by'])}"]


def _sweep(result: dict[str, Any]) -> list[str]:
    done = ", ".join(f"{count} {name}" for name, count in result["swept"].items() if count)
    return [f"swept: {done or 'nothing was due'}" + ("; there is more" if result["more"] else "")]


def _rules(result: dict[str, Any]) -> list[str]:
    if not result["digest"]:
        return ["this workspace has no rules; `dibs init` makes .dibs/rules.md"]
    told = "you were told these" if result["current"] else "you were not told this version; `dibs rules --ack` says so"
    return [result["text"].rstrip("\n"), "", f"({result['digest']}: {told})"]


def _scratch(result: dict[str, Any]) -> list[str]:
    return [result["scratch"]]


def _plain(result: dict[str, Any]) -> list[str]:
    return [f"{key}: {value}" for key, value in result.items()]


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns wide enough for what is in them."""
    widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [head, *rows]
    ]


_SHOWERS = {
    "claim": _claim, "renew": _renew, "release": _release, "confirm": _confirm, "ask": _ask, "boot": _boot,
    "inbox": _inbox, "status": _status, "agents": _agents, "kill": _kill, "revive": _revive, "leave": _leave,
    "sweep": _sweep, "rules": _rules, "scratch": _scratch, "send": _send, "emit": _emit, "subscribe": _subscribe,
    "subscriptions": _subscriptions, "whoami": _whoami,
}  # fmt: skip
