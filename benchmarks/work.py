"""Work: the cost of taking and finishing a task, compared with bare SQLite and with other queues on SQLite.

Measured with one worker and with four processes that drain one queue together. All of them commit with
synchronous=FULL, and the tasks are no-ops. `task next` and `task done` are two commits, like the bare loop's; `task
done --next` finishes one task and takes the next in one commit, which is a worker's usual call; `task turn` does so
with ten at a time. The queues are in work_queues.py, the processes in work_processes.py, the peers in peers/queues.py;
a long queue and messages are in work_scale.py.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from benchmarks import work_scale
from benchmarks.environment import Peer
from benchmarks.figures import AT_LEAST, Comparison, Row, Target, alternate, median, not_measured, spread, timed
from benchmarks.work_processes import BARE, CHAINED, PAIRS, TASKS_PER_TURN, TURNS, WORKERS, Tally, of_dibs, of_peer
from benchmarks.work_queues import Bare, Queue, Tasks, left_behind

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from benchmarks.environment import Environment
    from benchmarks.figures import Burst
    from benchmarks.place import Bench

GROUP = "tasks"
SHARE = Target(AT_LEAST, 0.6)  # of the bare loop's rate
AHEAD = Target(AT_LEAST, 1.0)  # of a peer's rate
BURST = 10
WAITING_TASKS = 100  # in each queue while one worker takes from it; peers/queues.py has the same number
TITLES = {
    BARE: "bare take + finish", PAIRS: "dibs task next + done", CHAINED: "dibs task done --next",
    TURNS: f"dibs task turn, {TASKS_PER_TURN} at a time",
}  # fmt: skip
# For each peer: the package, its calls, and a note. The targets compare dibs with the first two.
PEERS = {
    "litequeue": ("litequeue", "litequeue pop + done", "at FULL"),
    "persist-queue": ("persist-queue", "persist-queue get + ack", ""),
    "litequeue-default": ("litequeue", "litequeue, its own default", "no fsync"),
    "huey": ("huey", "huey dequeue + result", "taken is gone"),
}
RIVALS = ("litequeue", "persist-queue")


def measure(bench: Bench, environment: Environment | None) -> list[Row]:
    """The rows of this group."""
    texts = _texts(bench)
    rows = _alone(bench, environment, texts)
    rows += _together(bench, environment, texts)
    return rows + work_scale.measure(bench)


def _texts(bench: Bench) -> dict[str, Any]:
    tasks = Tasks(bench.workspace("tasks-texts"))
    try:
        return left_behind(tasks)
    finally:
        tasks.close()


# --- one worker


def _alone(bench: Bench, environment: Environment | None, texts: dict[str, Any]) -> list[Row]:
    rounds = bench.count(100, 8)
    bench.say(f"tasks: {rounds * BURST} of each by one worker")
    notes: dict[str, Callable[[], str]] = {}
    with ExitStack() as stack:
        bare = Bare(bench.sub("tasks-bare"), texts)
        bare.make()
        pairs = Tasks(bench.workspace("tasks-pairs"))
        chained = Tasks(bench.workspace("tasks-chained"), chained=True)
        sides: dict[str, Burst] = {}
        for kind, queue in ((BARE, bare), (PAIRS, pairs), (CHAINED, chained)):
            stack.callback(queue.close)
            sides[kind] = _worker(queue)
        turns = Tasks(bench.workspace("tasks-turns"), turn=TASKS_PER_TURN)
        stack.callback(turns.close)
        sides[TURNS] = _turner(turns)
        for name, (package, _, _) in PEERS.items():
            if environment is not None and package in environment.versions:
                peer = stack.enter_context(Peer(environment, name, bench.sub(f"tasks-{name}"), queue=True))
                sides[name], notes[name] = peer.burst, partial(_twice, peer)
        taken = alternate(sides, rounds, BURST)
        told = {name: note() for name, note in notes.items()}
    return rows_of(environment, taken, "", told, time_of, set())


def _worker(queue: Queue) -> Burst:
    """One worker that takes and finishes; the same number of tasks is added before, untimed."""
    queue.add(WAITING_TASKS)
    seen: set[str] = set()

    def pair() -> None:
        item = queue.take()
        if item is None or item[0] in seen:
            message = f"the queue gave {item} though it has others"
            raise RuntimeError(message)
        seen.add(item[0])
        queue.finish(item)

    def burst(times: int) -> list[float]:
        queue.add(times)
        return [timed(pair) for _ in range(times)]

    return burst


def _turner(queue: Tasks) -> Burst:
    """A worker that takes and finishes many in one transaction: the average cost of each."""
    queue.add(WAITING_TASKS)

    def turn() -> None:
        for _ in range(TASKS_PER_TURN):
            item = queue.take()
            assert item is not None
            queue.finish(item)

    def burst(times: int) -> list[float]:
        queue.add(times)
        return [timed(turn) / TASKS_PER_TURN for _ in range(times // TASKS_PER_TURN)]

    return burst


def _twice(peer: Peer) -> str:
    (count,) = peer.ask("twice")
    return f"{count:,.0f} came twice" if count else "none twice"


# --- several at once


def _together(bench: Bench, environment: Environment | None, texts: dict[str, Any]) -> list[Row]:
    rounds, count = bench.count(6, 1), bench.count(1000, 200)
    bench.say(f"tasks: {count:,} drained by {WORKERS} processes, {rounds} times each")
    tallies = {name: Tally() for name in (BARE, PAIRS, CHAINED, TURNS)}
    sides = {name: of_dibs(bench, name, texts, count, tally) for name, tally in tallies.items()}
    for name in RIVALS:
        if environment is not None and PEERS[name][0] in environment.versions:
            tallies[name] = Tally()
            sides[name] = of_peer(bench, environment, name, count, tallies[name])
    taken = alternate(sides, rounds, 1)
    told = {name: tally.note for name, tally in tallies.items()}
    spoilt = {name for name in TITLES if not tallies[name].clean}
    for name in spoilt:
        bench.say(f"tasks: {TITLES[name]}: {told[name]}")
    return rows_of(environment, taken, f"{WORKERS} processes: ", told, rate_of, spoilt)


# --- rows

Figure = tuple[float, str, dict[str, float]]  # a value, its unit, and the details shown next to it


def time_of(times: list[float]) -> Figure:
    """The cost of one take and finish."""
    return median(times), "µs", spread(times)


def rate_of(times: list[float]) -> Figure:
    """The rate of several processes together."""
    return 1e6 / median(times), "/s", {"samples": float(len(times))}


def rows_of(
    environment: Environment | None,
    taken: dict[str, list[float]],
    before: str,
    told: dict[str, str],
    figure: Callable[[list[float]], Figure],
    spoilt: set[str],
) -> list[Row]:
    """Each side compared with the bare loop, then dibs compared with the peers of its targets.

    A queue of ours that gave a task twice or lost one is `spoilt`: it has no figure, and so misses its targets.
    """

    def row(name: str, title: str, against: str, target: Target | None, note: str = "") -> Row:
        value, unit, more = figure(taken[name])
        if name in spoilt:
            return Row(GROUP, before + title, None, unit, target=target, note=note)
        words = f"{'bare' if against == BARE else against}'s rate"
        beside = Comparison(taken[name], taken[against], words, rates=True) if against != name else None
        return Row(GROUP, before + title, value, unit, beside=beside, target=target, note=note, more=more)

    rows = []
    for name, times in taken.items():
        speed = f"{1e6 / median(times):,.0f} a second" if figure is time_of else ""
        title, about = (TITLES[name], "") if name in TITLES else PEERS[name][1:]
        note = ", ".join(word for word in (speed, about, told.get(name, "")) if word)
        rows.append(row(name, title, BARE, SHARE if name in {CHAINED, TURNS} else None, note))
    rows += [row(TURNS, f"{TITLES[TURNS]}, beside {name}", name, AHEAD) for name in RIVALS if name in taken]
    if environment is not None:
        wanted = PEERS if figure is time_of else RIVALS
        rows += [not_measured(GROUP, before + PEERS[n][1], environment.absent) for n in wanted if n not in taken]
    return rows
