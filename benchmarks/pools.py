"""A unit of a pool of 100, compared with a file: one claim in one long-lived process, released after it was timed.

Nine of the units are taken by others, then half of them: a request has to read who has what.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.figures import AT_MOST, Comparison, Row, Target, alternate, bursts, median, spread
from dibs.canonical import Canonical
from dibs.client.session import Session
from dibs.operations.core.call import Call

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.figures import Burst
    from benchmarks.place import Bench

GROUP = "pools"
UNITS = 100
TAKEN = {"9 taken": 9, "50 taken": 50}
TARGET = Target(AT_MOST, 1.2)
FILE = "a file"
BURST = 10


def measure(bench: Bench) -> list[Row]:
    """The rows of this group."""
    rounds = bench.count(150, 15)
    bench.say(f"pools: {rounds * BURST} of each")
    sessions = {name: Session(bench.workspace(f"pools-{taken}"), None) for name, taken in TAKEN.items()}
    sessions[FILE] = Session(bench.workspace("pools-file"), None)
    sides: dict[str, Burst] = {FILE: side(sessions[FILE], lambda number: Canonical(("file", f"src/file{number}.py")))}
    for name, taken in TAKEN.items():
        sessions[name].config.policy.pools = {
            "named": {"port": {"range": [1, UNITS], "wait": 1, "on_timeout": "refuse", "scope": "workspace"}},
            "use": [],
        }
        unit = Canonical(("name", "pool:port"))
        for number in range(taken):
            claimed(sessions[name], f"other{number}", unit)
        sides[name] = side(sessions[name], lambda _, unit=unit: unit)  # type: ignore[misc]
    try:
        times = alternate(sides, rounds, BURST)
    finally:
        for session in sessions.values():
            session.close()
    return [
        Row(
            GROUP, name if name == FILE else f"a unit of {UNITS}, {name}", median(times[name]), "µs",
            beside=None if name == FILE else Comparison(times[name], times[FILE], "a file"),
            target=TARGET if name == "9 taken" else None, more=spread(times[name]),
        )
        for name in (FILE, *TAKEN)
    ]  # fmt: skip


def claimed(session: Session, agent: str, resource: Canonical) -> object:
    """One claim of an agent."""
    return session.run(session.operation("claim"), Call(session.config.policy, agent=agent), {"resources": [resource]})


def side(session: Session, resource: Callable[[int], Canonical]) -> Burst:
    """Claims of one agent, each released before the next."""
    release = session.operation("release")

    def prepare(number: int) -> Callable[[], object]:
        return partial(claimed, session, "bench", resource(number))

    def after(number: int) -> None:
        fields = {"resources": [resource(number)]}
        session.run(release, Call(session.config.policy, agent="bench"), fields)

    return bursts(prepare, after)
