"""`dibs check`: the audit of a workspace. Each check passes, or fails with the reason and a severity.

`dibs doctor` asks whether dibs works here; this asks whether the agents work as the workspace wants them to. Nothing is
changed.
"""

from __future__ import annotations

import os
import sys

from dibs import jsontext
from dibs.doors.cli.command import Command
from dibs.doors.cli.render import AT_WORK, count, times
from dibs.errors import NO, YES, DibsError
from dibs.facts import clock
from dibs.session.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.doors.cli.parse import Words

    Found = tuple[bool, str]

SHOWN = 5
ERROR, WARNING = "error", "warning"


def run(words: Words) -> int:
    """Exit 0 if nothing failed, 1 if an error did; a warning alone is told and passes."""
    given = words.common.get("workspace") or os.environ.get("DIBS_WORKSPACE")
    session = Session(os.getcwd(), given, timeout=5.0, short_lived=True)
    checks = examine(session, words.common.get("as"))
    failed = [check["check"] for check in checks if not check["ok"]]
    wrong = any(not check["ok"] and check["severity"] == ERROR for check in checks)
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": not wrong, "checks": checks, "failed": failed}) + "\n")
    else:
        for check in checks:
            mark = "ok     " if check["ok"] else "WRONG  " if check["severity"] == ERROR else "warning"
            sys.stdout.write(f"{mark}  {check['check']}: {check['message']}\n")
    return NO if wrong else YES


def examine(session: Session, agent: str | None) -> list[dict[str, Any]]:
    """Run every check; a later one runs also when an earlier one failed."""
    call = session.identify(agent)
    looks: tuple[tuple[str, str, Callable[[Session, Any], Found]], ...] = (
        ("record", ERROR, _record), ("rules", WARNING, _rules), ("agents on old rules", WARNING, _old_rules),
        ("holders", WARNING, _holders), ("waiting", WARNING, _waiting), ("violations", ERROR, _violations),
        ("commits", WARNING, _commits), ("files", WARNING, _files),
    )  # fmt: skip
    found = []
    for name, severity, look in looks:
        try:
            ok, message = look(session, call)
        except DibsError as error:
            ok, message = False, error.message
        found.append({"check": name, "ok": ok, "severity": severity, "message": message})
    return found


def _record(session: Session, _: Any) -> Found:
    """Is the log whole, and does it hold nothing that cannot have happened?"""
    from dibs.doors.cli.commands import verify
    from dibs.lookout.verify import verify_store

    report = verify_store(session.store, None, verify.progress())
    return report.ok, "; ".join(verify.lines(report.as_json(), ok=report.ok)[:SHOWN])


def _rules(session: Session, _: Any) -> Found:
    from dibs.session import rules_file

    digest = rules_file.digest(session.place)
    return bool(digest), f"version {digest}" if digest else "there are no rules; `dibs init` makes .dibs/rules.md"


def _old_rules(session: Session, call: Any) -> Found:
    """Agents at work that were told another version of the rules, or none. One that holds something is at work."""
    status = session.run(session.operation("status"), call, {})
    holders = {claim["agent"] for claim in status["claims"]}
    agents = session.run(session.operation("agents"), call, {})["agents"]
    there = [a for a in agents if a["state"] in AT_WORK]
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
    odd = [c for c in status["claims"] if states.get(c["agent"]) in {"gone", "left", "killed"}]
    if not odd:
        return True, f"{count(len(status['claims']), 'claim')}, none of an agent that is gone"
    names = ", ".join(f"{claim['resources'][0]} ({claim['agent']})" for claim in odd[:SHOWN])
    return False, f"{count(len(odd), 'claim')} of agents that are gone; they expire at their deadlines: {names}"


def _waiting(session: Session, call: Any) -> Found:
    waiting = session.run(session.operation("status"), call, {})["waiting"]
    if not waiting:
        return True, "no agent waits"
    first = waiting[0]
    what = f"{first['agent']}, for {first['resources'][0]}, since {times.ago(first['since'])} ago"
    return False, f"{count(len(waiting), 'agent')} waiting; the first is {what}"


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
        page = session.store.events(after, 1_000)
        for event in page:
            after = event.seq
            shown = read_event(event)
            if shown["kind"] == kind:
                found.append((shown, event.wall))
        if len(page) < 1_000:  # noqa: PLR2004 - the page's size
            break
    if not found:
        return True, f"no {what}"
    last, when = found[-1]
    lately = times.short(clock.wall() - when)
    return False, f"{len(found)} {what}; the last one: {last['subject']} by {last['agent']}, {lately} ago: {more}"


def _files(session: Session, _: Any) -> Found:
    """The state, decisions and lessons files that the config names."""
    named = session.config.policy.guards["files"]
    missing = [path for path in named.values() if not os.path.exists(f"{session.place.top}/{path}")]
    if missing:
        return False, f"named in the config and missing: {', '.join(missing)}"
    return True, ", ".join(named.values()) if named else "none named in the config"


COMMAND = Command(
    "check",
    "Audit the workspace: rules, claims, violations, the log. Exit code 1 if something is wrong.",
    run=run,
    group="guards",
    examples=(("dibs check", "every check, with its result"),),
    json="checks[], failed[]",
)
