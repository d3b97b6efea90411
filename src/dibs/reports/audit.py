"""`check`, the audit of a workspace, and what all such answers share: each check passes, or fails with a severity.

`doctor` (doctor.py) asks whether dibs works here; `check` asks whether the agents work as the workspace wants them to.
Nothing is changed.
"""

from __future__ import annotations

import os

from dibs.errors import DibsError, counted
from dibs.facts import clock, relative_times
from dibs.operations.core.query import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.operations.core.call import Call
    from dibs.session.session import Session

    Found = tuple[bool, str]

SHOWN = 5
PAGE_EVENTS = 1_000  # read at a time
ERROR, WARNING = "error", "warning"
ENDED = frozenset({"gone", "left", "killed"})  # states of agents that act no more


def record_of(session: Session) -> Found:
    """Is the log whole, and does it hold nothing that cannot have happened?"""
    from dibs.lookout.verify import verify_store
    from dibs.operations.core.call import Call
    from dibs.reports import log_reader

    report = verify_store(session.store, None, session.progress)
    if not session.is_far:  # a server's archives are the server's to look at
        for one in log_reader.expected(session, Call(session.config.policy))():
            if one.here and (why := one.problem()):
                report.add(one.first, "archive", f"{one.path}: {why}")
    return report.ok, "; ".join(record_lines(report.as_json(), ok=report.ok)[:SHOWN])


def record_lines(found: dict[str, Any], *, ok: bool) -> list[str]:
    """What `verify` found, for people."""
    said = [f"event {finding['seq']}: {finding['code']}: {finding['message']}" for finding in found["findings"]]
    head = f"head {found['last']}:{found['link']}"
    if ok:
        what = f"{found['events']} events, {found['granted']} claims granted, {found['live']} live"
        if found.get("archives"):
            what += f", {counted(found['archives'], 'archive')} read"
        if found.get("elsewhere"):
            what += f", {counted(found['elsewhere'], 'archive')} on other machines not read"
        return [f"clean: {what}, highest token {found['token']}, {head}"]
    return [*said, f"NOT clean: {found['found']} findings, {head}"]


def _check(session: Session, call: Call) -> dict[str, Any]:
    """Run every check; a later one runs also when an earlier one failed."""
    looks: tuple[tuple[str, str, Callable[[Session, Any], Found]], ...] = (
        ("record", ERROR, _record), ("rules", WARNING, _rules), ("agents on old rules", WARNING, _old_rules),
        ("holders", WARNING, _holders), ("waiting", WARNING, _waiting), ("violations", ERROR, _violations),
        ("commits", WARNING, _commits), ("files", WARNING, _files), ("alerts", WARNING, _alerts),
    )  # fmt: skip
    found = []
    for name, severity, look in looks:
        try:
            ok, message = look(session, call)
        except DibsError as error:
            ok, message = False, error.message
        found.append({"check": name, "ok": ok, "severity": severity, "message": message})
    failed = [check for check in found if not check["ok"]]
    wrong = [check["check"] for check in failed if check["severity"] == ERROR]
    return {"checks": found, "failed": [check["check"] for check in failed], "wrong": wrong}


def _record(session: Session, _: Any) -> Found:
    return record_of(session)


def _rules(session: Session, _: Any) -> Found:
    from dibs.session import rules_file

    digest = rules_file.digest(session.place)
    return bool(digest), f"version {digest}" if digest else "there are no rules; `dibs init` makes .dibs/rules.md"


def _old_rules(session: Session, call: Any) -> Found:
    """Agents at work that were told another version of the rules, or none. One that holds something is at work."""
    status = session.run(session.operation("status"), call, {})
    holders = {claim["agent"] for claim in status["claims"]}
    agents = session.run(session.operation("agents"), call, {})["agents"]
    there = [a for a in agents if a["state"] not in ENDED]
    old = [a["name"] for a in there if a.get("rules") == "old"]
    never = [
        a["name"] for a in there if a.get("rules") == "not told" and a["agent"] in holders and "@" not in a["agent"]
    ]
    said = []
    if old:
        said.append(f"{len(old)} act on old rules until their next boot or message: {', '.join(old[:SHOWN])}")
    if never:
        said.append(
            f"{len(never)} hold something and were never told the rules (`dibs boot` does): {', '.join(never[:SHOWN])}"
        )
    return not said, "; ".join(said) or "every agent at work was told these rules"


def _holders(session: Session, call: Any) -> Found:
    """Claims of agents of which nothing is known any more."""
    status = session.run(session.operation("status"), call, {})
    states = {agent["agent"]: agent["state"] for agent in status["agents"]}
    odd = [c for c in status["claims"] if states.get(c["agent"]) in ENDED]
    if not odd:
        return True, f"{counted(len(status['claims']), 'claim')}, none of an agent that is gone"
    names = ", ".join(f"{claim['resources'][0]} ({claim['agent']})" for claim in odd[:SHOWN])
    return False, f"{counted(len(odd), 'claim')} of agents that are gone; they expire at their deadlines: {names}"


def _waiting(session: Session, call: Any) -> Found:
    waiting = session.run(session.operation("status"), call, {})["waiting"]
    if not waiting:
        return True, "no agent waits"
    first = waiting[0]
    what = f"{first['agent']}, for {first['resources'][0]}, since {relative_times.ago(first['since'])} ago"
    return False, f"{counted(len(waiting), 'agent')} waiting; the first is {what}"


def _violations(session: Session, _: Any) -> Found:
    """Files of one agent that another one changed, and that nobody has brought back or settled."""
    return _events(session, "edit.violated", "changes to files that another agent held", "`dibs restore --list`")


def _commits(session: Session, _: Any) -> Found:
    return _events(session, "commit.unverified", "commits that bypassed the commit guard", "`dibs log`")


def _events(session: Session, kind: str, what: str, more: str) -> Found:
    from dibs.stores.seam import read_event

    found = []
    after = 0
    while True:
        page = session.store.events(after, PAGE_EVENTS)
        for event in page:
            after = event.seq
            shown = read_event(event)
            if shown["kind"] == kind:
                found.append((shown, event.wall))
        if len(page) < PAGE_EVENTS:
            break
    if not found:
        return True, f"no {what}"
    last, when = found[-1]
    lately = relative_times.short(clock.wall() - when)
    return False, f"{len(found)} {what}; the last one: {last['subject']} by {last['agent']}, {lately} ago: {more}"


def _files(session: Session, _: Any) -> Found:
    """The state, decisions and lessons files that the config names."""
    named = session.config.policy.guards["files"]
    missing = [path for path in named.values() if not os.path.exists(f"{session.place.top}/{path}")]
    if missing:
        return False, f"named in the config and missing: {', '.join(missing)}"
    return True, ", ".join(named.values()) if named else "none named in the config"


def _alerts(session: Session, call: Any) -> Found:
    """Open alerts, undelivered ones, and whether anybody would raise the next one."""
    from dibs.session import upkeep

    lasting = (upkeep.last(session.place.local) or {"lasting": False})["lasting"]  # before this call looks itself
    found = session.answer(session.operation("alerts"), call, {})
    opened = [alert for alert in found["alerts"] if alert["state"] == "open"]
    said = [f"{counted(len(opened), 'alert')} open, the gravest: {opened[0]['text']}"] if opened else []
    said += undelivered(found["deliveries"])
    if not lasting and session.run(session.operation("status"), call, {})["claims"]:
        text = "only the agents' own hooks look for trouble, while they work; `dibs sweep --watch` always does"
        said.append(text)
    return not said, "; ".join(said) or "none open"


def undelivered(found: dict[str, int]) -> list[str]:
    """Which alerts are not delivered, in words."""
    lines = []
    if found["failed"]:
        words = "could not be delivered: `dibs alerts --json` has the reasons"
        lines.append(f"{counted(found['failed'], 'alert')} {words}")
    if found["pending"]:
        lines.append(f"{counted(found['pending'], 'alert')} to be delivered: a worker, a waiter or `dibs sweep` does")
    return lines


CHECK = Query(
    "check",
    _check,
    "Audit the workspace: rules, claims, violations, the log. Exit code 1 if something is wrong.",
    answer="CheckAnswer",
    group="guards",
    refuses="wrong",
)

QUERIES = (CHECK,)
