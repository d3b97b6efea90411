"""Work at scale: taking and finishing with 100 and with 100,000 waiting tasks; and messages.

The waiting tasks are of ten kinds in equal parts: for any agent, for a type of agent, for capabilities, of several
priorities. The agent may take half of the kinds and has to look at all of them. Every tenth task waits for the one
added before it, which is ready: finishing that one makes it ready. Taken tasks are replaced untimed: the number stays.

A message's round trip is sending it, showing it to its recipient and acknowledging it, three commits, compared with a
bare insert and delete of a message's row, two.
"""

from __future__ import annotations

import itertools
import os
from functools import partial
from typing import TYPE_CHECKING, Any

import apsw

from benchmarks.figures import AT_MOST, Comparison, Row, Target, alternate, bursts, median, spread, timed
from benchmarks.work_queues import DELETE, INSERT, Tasks
from dibs.client.session import Session
from dibs.operations.core.call import Call
from dibs.operations.messages.records import messages_prefix
from dibs.stores.sqlite import database_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.figures import Burst
    from benchmarks.place import Bench

GROUP = "tasks"
TARGET = Target(AT_MOST, 1.5)
SMALL = 100
BURST = 5
PROGRESS_TASKS = 20_000  # between two lines of progress while loading
TYPE, CAN = "builder", ["linux", "python"]  # the agent's type and capabilities
# The requirements of the kinds: the agent can take the first half of them.
KINDS: tuple[dict[str, Any], ...] = (
    {},
    {"for": TYPE},
    {"needs": ["python"]},
    {"needs": ["linux", "python"]},
    {"for": TYPE, "needs": ["linux"]},
    {"for": "tester"},
    {"for": "writer"},
    {"needs": ["go"]},
    {"needs": ["go", "python"]},
    {"for": TYPE, "needs": ["macos"]},
)
BARE, ROUND_TRIP = "bare insert + delete", "dibs send, inbox, ack"


def measure(bench: Bench) -> list[Row]:
    """The rows about many tasks, and those about messages."""
    return [*_scale(bench), *_messages(bench)]


# --- many tasks


def _scale(bench: Bench) -> list[Row]:
    large, rounds = bench.count(100_000, 2_000), bench.count(60, 6)
    queues = {size: Tasks(bench.workspace(f"tasks-{size}")) for size in (SMALL, large)}
    try:
        sides = {str(size): _probe(bench, queue, size) for size, queue in queues.items()}
        bench.say(f"tasks: {rounds * BURST} taken and finished with each number of them waiting")
        taken = alternate(sides, rounds, BURST)
    finally:
        for queue in queues.values():
            queue.close()
    base, times = taken[str(SMALL)], taken[str(large)]
    name = "dibs task next + done"
    return [
        Row(GROUP, f"{name}, {SMALL} waiting", median(base), "µs", more=spread(base)),
        Row(
            GROUP,
            f"{name}, {large:,} waiting",
            median(times),
            "µs",
            beside=Comparison(times, base, f"{SMALL} waiting"),
            target=TARGET,
            more=spread(times),
        ),
    ]


def _probe(bench: Bench, queue: Tasks, size: int) -> Burst:
    """Take and finish one of many; replacements are added untimed."""
    queue.session.run(
        queue.session.operation("boot"),
        Call(queue.session.config.policy, agent=queue.agent),
        {"type": TYPE, "can": CAN},
    )
    mixed = _mixed()
    for done in range(0, size, PROGRESS_TASKS):
        queue.add_all(list(itertools.islice(mixed, min(PROGRESS_TASKS, size - done))))
        if size > PROGRESS_TASKS:
            bench.say(f"tasks: {min(size, done + PROGRESS_TASKS):,} of {size:,} added")
    mine = itertools.cycle([kind for kind in KINDS if _fits(kind)])

    def pair() -> None:
        item = queue.take()
        assert item is not None
        queue.finish(item)

    def burst(times: int) -> list[float]:
        taken = []
        for _ in range(times):
            taken.append(timed(pair))
            queue.add_all([{"title": "a task of the bench", **next(mine)}])
        return taken

    return burst


def _fits(kind: dict[str, Any]) -> bool:
    return kind.get("for", TYPE) == TYPE and set(kind.get("needs", ())) <= set(CAN)


def _mixed() -> Iterator[dict[str, Any]]:
    """Tasks of all kinds, without end."""
    for number in itertools.count():
        fields = {"title": f"task {number} of the bench", "id": f"n{number}", **KINDS[number * 7 % len(KINDS)]}
        if number % 10 == 9:  # noqa: PLR2004 - every tenth
            yield {**fields, "after": [f"n{number - 1}"]}
        else:
            yield {**fields, "priority": number % 3}


# --- messages


def _messages(bench: Bench) -> list[Row]:
    rounds = bench.count(60, 6)
    bench.say(f"tasks: {rounds * BURST} messages there and back")
    session = Session(bench.workspace("messages"), None)
    try:
        trip = _round_trip(session)
        row = _left_by_a_message(session)
        taken = alternate({BARE: _bare(bench.sub("messages-bare"), row), ROUND_TRIP: trip}, rounds, BURST)
    finally:
        session.close()
    base = taken[BARE]
    return [
        Row(
            GROUP,
            name,
            median(times),
            "µs",
            beside=None if name == BARE else Comparison(times, base, "bare's rate", rates=True),
            note="three commits" if name == ROUND_TRIP else "two commits",
            more=spread(times),
        )
        for name, times in taken.items()
    ]


def _call(session: Session, name: str, agent: str, **fields: Any) -> Any:
    return session.run(session.operation(name), Call(session.config.policy, agent=agent), fields)


def _round_trip(session: Session) -> Burst:
    """From one agent to another: sent, shown, acknowledged."""
    for agent in ("sender", "recipient"):
        _call(session, "boot", agent)

    def trip() -> None:
        sent = _call(session, "send", "sender", to="recipient", text="a message of the bench", ack=True)
        found = _call(session, "inbox", "recipient", new=True)["messages"]
        assert [message["message"] for message in found] == [sent["message"]]
        _call(session, "ack", "recipient", message=sent["message"])

    return bursts(lambda _: trip)


def _left_by_a_message(session: Session) -> tuple[Any, ...]:
    """The row of one message, from the database."""
    sent = _call(session, "send", "sender", to="recipient", text="a message of the bench", ack=True)
    connection = database_file.connect(os.path.join(session.place.local, "dibs.db"))
    try:
        select = "SELECT k, v, n, i1, i2 FROM kv WHERE k >= ? LIMIT 1"
        row = connection.execute(select, (messages_prefix("recipient"),)).get
    finally:
        connection.close()
    _call(session, "inbox", "recipient", new=True)
    _call(session, "ack", "recipient", message=sent["message"])
    assert row is not None
    return tuple(row)


def _bare(folder: str, row: tuple[Any, ...]) -> Burst:
    connection = apsw.Connection(os.path.join(folder, "bare.db"), vfs="unix")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(database_file.SCHEMA_1)

    def there_and_back(number: int) -> None:
        key = f"{row[0]}{number}"
        connection.execute(INSERT, (key, *row[1:]))
        connection.execute(DELETE, (key,))

    def prepare(number: int) -> Callable[[], object]:
        return partial(there_and_back, number)

    return bursts(prepare)
