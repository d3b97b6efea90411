"""Scale: the cost of a claim in a workspace with 100 live claims, and with 100,000.

The claims come in packages of ten: six files and, in every other package, four globs (two below the whole package, such
as `pkg12/**/*.g0`, two below one directory), in the others four directories; so the measured
claims meet no other. A larger workspace has more packages, not fuller ones: the question is whether the number of
claims elsewhere costs anything. Claims nearby have their own rows, without a target: every claim checks the globs that
begin with a wildcard, and a glob or directory checks everything held below it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.figures import AT_MOST, Comparison, Row, Target, alternate, bursts, median, spread
from dibs.canonical import Canonical
from dibs.client.session import Session
from dibs.operations.core.call import Call
from dibs.operations.core.entry import perform
from dibs.operations.core.policy import HOUR, MAX_ROOT_GLOBS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.figures import Burst
    from benchmarks.place import Bench
    from dibs.stores.seam import Transaction

GROUP = "scale"
TARGET = Target(AT_MOST, 1.5)
BURST = 5
SMALL = 100
CLAIMS_PER_PACKAGE = 10  # six files and four globs or directories
CLAIMS_PER_TRANSACTION = 500  # while loading; a transaction of over two seconds would be run again
NEARBY = 1000  # claims below one directory, for the row about a glob over it
LIFE = 8 * HOUR  # the longest life of a claim: none expires during the run

Wanted = list[list[str]]


def measure(bench: Bench, _: object = None) -> list[Row]:
    """The rows of this group."""
    large = bench.count(100_000, 2_000)
    rounds = bench.count(60, 6)
    sessions = {size: Session(bench.workspace(f"scale-{size}"), None) for size in (SMALL, large)}
    with_globs = Session(bench.workspace("scale-globs"), None)
    nearby = Session(bench.workspace("scale-nearby"), None)
    try:
        for size, session in sessions.items():
            load(bench, session, _mixed(size), size)
        load(bench, with_globs, _mixed(SMALL), SMALL)
        load(bench, with_globs, _root_globs(), MAX_ROOT_GLOBS)
        load(bench, nearby, _nearby(), NEARBY)
        bench.say(f"scale: {rounds * BURST} claims of each kind in each workspace")
        sides: dict[str, Burst] = {}
        for kind, resource in PROBES.items():
            for size, session in sessions.items():
                sides[f"{kind} {size}"] = _probe(session, resource, size // CLAIMS_PER_PACKAGE)
        sides["globs"] = _probe(with_globs, PROBES["file"], SMALL // CLAIMS_PER_PACKAGE)
        sides["nearby"] = _probe(nearby, lambda _, n: Canonical(("glob", f"pkg0/**/*.probe{n}")), 1)
        taken = alternate(sides, rounds, BURST)
    finally:
        for session in (*sessions.values(), with_globs, nearby):
            session.close()
    return _rows(taken, large)


def _rows(taken: dict[str, list[float]], large: int) -> list[Row]:
    rows = []
    for kind in PROBES:
        base, times = taken[f"{kind} {SMALL}"], taken[f"{kind} {large}"]
        rows.append(Row(GROUP, f"{kind} claim, {SMALL} live", median(base), "µs", more=spread(base)))
        rows.append(
            Row(
                GROUP,
                f"{kind} claim, {large:,} live",
                median(times),
                "µs",
                beside=Comparison(times, base, f"{SMALL} live"),
                target=TARGET,
                more=spread(times),
            )
        )
    for side, name, kind in (
        ("globs", f"file claim, {SMALL} live and {MAX_ROOT_GLOBS} leading-wildcard globs", "file"),
        ("nearby", f"glob claim over {NEARBY:,} live claims below it", "glob"),
    ):
        base, times = taken[f"{kind} {SMALL}"], taken[side]
        beside = Comparison(times, base, f"{SMALL} live")
        rows.append(Row(GROUP, name, median(times), "µs", beside=beside, more=spread(times)))
    return rows


# --- the measured claims: the package's number and a serial number → a free resource

PROBES: dict[str, Callable[[int, int], Canonical]] = {
    "file": lambda package, n: Canonical(("file", f"pkg{package}/d1/probe{n}.md")),
    "directory": lambda package, n: Canonical(("tree", f"pkg{package | 1}/probe{n}")),
    "glob": lambda package, n: Canonical(("glob", f"pkg{package & ~1}/**/*.probe{n}")),
}


def _probe(session: Session, resource: Callable[[int, int], Canonical], packages: int) -> Burst:
    """Claim new resources all over the workspace and release them untimed: the number of live claims stays."""
    claim, release = session.operation("claim"), session.operation("release")

    def fields(number: int) -> dict[str, Any]:
        package = number * 7919 % packages  # a prime: jumps between packages, so that no page is cached by chance
        return {"resources": [resource(package, number)]}

    def prepare(number: int) -> Callable[[], object]:
        return partial(session.run, claim, Call(session.config.policy, agent="probe"), fields(number))

    def give_back(number: int) -> None:
        session.run(release, Call(session.config.policy, agent="probe"), fields(number))

    return bursts(prepare, give_back)


# --- loading


def load(bench: Bench, session: Session, claims: Iterator[tuple[str, Wanted]], count: int) -> None:
    """Make these claims through the operation itself, many in one transaction."""
    operation = session.operation("claim")
    done = 0
    while True:
        some = [claim for _, claim in zip(range(CLAIMS_PER_TRANSACTION), claims, strict=False)]
        if not some:
            return

        def together(tx: Transaction, some: list[tuple[str, Wanted]] = some) -> None:
            for agent, wanted in some:
                call = Call(session.config.policy, agent=agent)
                answer = perform(tx, call, operation, {"resources": wanted, "ttl": LIFE})
                if not isinstance(answer, dict) or answer.get("renewed"):
                    message = f"{wanted} was not granted while loading: {answer}"
                    raise RuntimeError(message)

        session.store.run(together)
        done += len(some)
        if done % 20_000 == 0:
            bench.say(f"scale: {done:,} of {count:,} claims made")


def _mixed(count: int) -> Iterator[tuple[str, Wanted]]:
    """That many claims, one resource each, the owner of a package being its agent."""
    for package in range(count // CLAIMS_PER_PACKAGE):
        agent, top = f"load/{package % 997}", f"pkg{package}"
        for n in range(6):
            yield agent, [Canonical(("file", f"{top}/d{n % 3}/file{n}.py"))]
        for n in range(2):
            if package % 2:
                yield agent, [Canonical(("tree", f"{top}/tree{n}"))]
                yield agent, [Canonical(("tree", f"{top}/d3/tree{n}"))]
            else:
                yield agent, [Canonical(("glob", f"{top}/**/*.g{n}"))]
                yield agent, [Canonical(("glob", f"{top}/d{n}/*.h{n}"))]


def _root_globs() -> Iterator[tuple[str, Wanted]]:
    """As many as a workspace may have; held by the owners' ancestor, which their directories do not block."""
    for n in range(MAX_ROOT_GLOBS):
        yield "load", [Canonical(("glob", f"**/*.r{n}"))]


def _nearby() -> Iterator[tuple[str, Wanted]]:
    for n in range(NEARBY):
        yield "load/0", [Canonical(("file", f"pkg0/d{n % 20}/file{n}.py"))]
