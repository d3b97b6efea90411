"""Claims in groups with one fsync (`run_many`), compared with the same claims one by one (`run`).

What a server gains when requests arrive together. No sockets and no threads here: the store and the claim operation
alone, on canonical resources, each claim by its own call.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.figures import AT_LEAST, Comparison, Row, Target, alternate, bursts, median, spread
from dibs.canonical import Canonical
from dibs.client.session import Session
from dibs.operations.core.call import Call
from dibs.operations.core.entry import perform

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.figures import Burst
    from benchmarks.place import Bench
    from dibs.stores.seam import Transaction

GROUP = "groups"
ALONE = "claim by run"
SIZES = (1, 8, 64)
# A group of one is a run with a savepoint. The rest of a claim's time is the processor's, which no group saves.
TARGETS = {1: Target(AT_LEAST, 0.8), 8: Target(AT_LEAST, 2.0), 64: Target(AT_LEAST, 3.0)}


def measure(bench: Bench) -> list[Row]:
    """The rows of this group."""
    rounds = bench.count(120, 12)
    bench.say(f"groups: {rounds} of each size")
    session = Session(bench.workspace("groups"), None)
    try:
        sides = {title(size): _groups(session, size) for size in SIZES}
        sides[ALONE] = _groups(session, 0)
        taken = alternate(sides, rounds, 1)
    finally:
        session.close()
    rows = [Row(GROUP, ALONE, median(taken[ALONE]), "µs", more=spread(taken[ALONE]))]
    for size in SIZES:
        times = [time / size for time in taken[title(size)]]
        beside = Comparison(times, taken[ALONE], "run's rate", rates=True)
        note = "a claim" if size == 1 else f"a claim, {size} with one fsync"
        rows.append(
            Row(
                GROUP, title(size), median(times), "µs", beside=beside, target=TARGETS[size], note=note,
                more=spread(times),
            )
        )  # fmt: skip
    return rows


def title(size: int) -> str:
    """The name of a row."""
    return f"claims by run_many, {size} at once"


def _groups(session: Session, size: int) -> Burst:
    """A group of claims of that size; 0: one claim by `run`."""
    claim, policy, store = session.operation("claim"), session.config.policy, session.store

    def function(number: int) -> Callable[[Transaction], Any]:
        call = Call(policy, agent=f"bench{number % 32}")
        fields = {"resources": [Canonical(("file", f"by{size}/pkg{number % 50}/file{number}.py"))]}
        return lambda tx: perform(tx, call, claim, fields)

    def prepare(number: int) -> Callable[[], object]:
        if not size:
            return partial(store.run, function(number))
        return partial(_answered, store.run_many, [function(number * size + one) for one in range(size)])

    return bursts(prepare)


def _answered(run_many: Callable[[list[Any]], list[Any]], fns: list[Any]) -> None:
    for value, error in run_many(fns):
        assert error is None
        assert "token" in value
