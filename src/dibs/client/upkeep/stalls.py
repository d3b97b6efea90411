"""Is an agent of this machine stalled? Measures the CPU time of clients in the middle of a turn that give no sign.

A sample in `.dibs/local/` has, for each process, its CPU time with all below it, which processes these are, and since
when both are the same but for the least bit. What such a process would print or send takes CPU time, too. Never from a
hook. Nothing is decided here: operations/agents/turns.py says when an agent is stalled.
"""

from __future__ import annotations

from dibs import jsontext
from dibs.machine import atomic_write, clock, processes, usage
from dibs.operations.agents.turns import STALLED
from dibs.operations.core.call import process_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.client.session import Session
    from dibs.operations.agents.records import Process
    from dibs.operations.core.call import Call

SAMPLES = "quiet"  # in .dibs/local/
# A client that waits wakes up now and then (a timer, a connection that is kept open): this share of a core is nothing.
QUIET_SHARE = 0.02


def look(session: Session, call: Call, turns: Sequence[tuple[str, Process]]) -> None:
    """Measure these, and tell the store for how long each was quiet."""
    path = f"{session.place.local}/{SAMPLES}"
    mine = [(agent, process) for agent, process in turns if process[:3] == processes.here()]
    if not usage.CAN_METER or not mine:
        return
    now, before = clock.since_boot(), _read(path)
    measured = usage.seconds_of_trees({process[3] for _, process in mine})
    samples: dict[str, list[Any]] = {}
    quiet: list[list[str | int]] = []
    for agent, process in mine:
        seconds, pids = measured[process[3]]
        name = process_name(process)
        known = before.get(name)
        if known is None or not _is_quiet(known, seconds, pids, now):
            known = [seconds, pids, now]
        samples[name] = known
        quiet.append([agent, now - known[2]])
    try:
        atomic_write.replace(path, jsontext.encode(samples))
    except OSError:
        pass  # a sandbox, a full disk: the next look begins anew
    limit = session.config.policy.work["agents"]["stalled"]
    quiet = [one for one in quiet if int(one[1]) >= limit]
    if quiet:
        session.run(STALLED, call, {"quiet": quiet})


def _is_quiet(known: list[Any], seconds: float, pids: list[int], now: int) -> bool:
    """Are these the same processes, and did they use next to nothing since the sample?"""
    passed = (now - known[2]) / 1000
    return bool(known[1] == pids and 0 <= seconds - known[0] <= max(QUIET_SHARE * passed, QUIET_SHARE) and passed >= 0)


def _read(path: str) -> dict[str, list[Any]]:
    try:
        with open(path, encoding="utf-8") as file:
            found = jsontext.decode(file.read())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
