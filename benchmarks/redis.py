"""Redis: the same operations on a server, compared with redis-py's own Lock and with queues on Redis.

The bench starts the servers itself, as `dibs up` does (append-only file, synced once a second): one on loopback, one on
a Unix socket. All sides use the same server and take turns. Targets are for loopback, which is closest to a fleet on
several machines; over a Unix socket a round trip costs less and its work counts more.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
from contextlib import ExitStack, contextmanager
from functools import partial
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from benchmarks import hooks
from benchmarks.contention import Outcome, answer_of
from benchmarks.crowd import let_loose
from benchmarks.environment import REDIS_LOCKS, REDIS_QUEUES, Peer
from benchmarks.figures import (
    AT_LEAST,
    AT_MOST,
    Comparison,
    Row,
    Target,
    above_floor,
    alternate,
    bursts,
    median,
    not_measured,
    slowest_share,
    spread,
    timed,
)
from benchmarks.work_queues import Tasks
from dibs.canonical import Canonical
from dibs.client.session import Session
from dibs.errors import DibsError
from dibs.operations.core.call import Call
from dibs.stores.redis import local_server, server_start
from dibs.stores.redis.store import RedisStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.environment import Environment
    from benchmarks.figures import Burst
    from benchmarks.place import Bench

GROUP = "redis"
BURST = 10
LOCK, PAIR = "redis-py Lock acquire + release", "dibs claim + release"
UNIX = ", over a Unix socket"
PAIR_TARGET = Target(AT_MOST, 2.5)
PATHS = 8
CROWD = 8  # processes
# By the ms that each claim is held. Where it is not held at all no target stands: nobody claims a file for no time, and
# what was faster there (guesses about other processes' rows) cost more code than it was worth.
HELD: dict[int, Target | None] = {5: Target(AT_LEAST, 1.2), 0: None}
SLOWEST = Target(AT_LEAST, 0.7, "value")
NO_ERROR = Target(AT_MOST, 0, "value")
FLOOR, EDIT, AGAIN = "interpreter -I -S (the floor)", "hook: Edit of a new file", "hook: Edit of a held file"
HOOK = Target(AT_MOST, 3.0)
TASKS = {"next": "dibs task next + done", "chained": "dibs task done --next"}
QUEUES = {
    "rq": ("RQ", "SimpleWorker, in one process"),
    "celery": ("Celery", "solo worker; taken is gone"),
    "huey": ("huey", "dequeue + execute; taken is gone"),
}
DONE = 50  # tasks of a peer in one burst: its worker starts for each burst
MEASURED = "MEMORY USAGE"


def measure(bench: Bench, environment: Environment | None, seconds: float) -> list[Row]:
    """The rows of this group."""
    rows: list[Row] = []
    try:
        url = _loopback()
        with _server(bench, url) as process:
            with _apart(process):
                rows += _pairs(bench, environment, url, "")
            with TemporaryDirectory(prefix="dibs-") as short:  # a socket's path must be short
                other = f"unix://{short}/s"
                with _server(bench, other) as another, _apart(another):
                    rows += _pairs(bench, environment, other, UNIX)
            rows += _hooks(bench)
            rows += _contention(bench, environment, url, seconds)
            rows += _tasks(bench, environment, url)
            rows += _memory(bench)
    except DibsError as error:
        return [*rows, not_measured(GROUP, PAIR, f"no server: {error}")]
    return rows


@contextmanager
def _server(bench: Bench, url: str) -> Iterator[int]:
    """A new server, started as by `dibs up`; workspaces made meanwhile are on it."""
    local = bench.sub(f"redis-{'unix' if url.startswith('unix') else 'loopback'}")
    before = os.environ.get("DIBS_STORE")
    process: int = server_start.start(local, url, "everysec")["pid"]
    os.environ["DIBS_STORE"] = url
    try:
        yield process
    finally:
        if before is None:
            del os.environ["DIBS_STORE"]
        else:
            os.environ["DIBS_STORE"] = before
        local_server.stop(local)


@contextmanager
def _apart(server: int) -> Iterator[None]:
    """The server on one processor, all others for this process and those that it starts: as on two machines.

    With one process that asks and waits, the scheduler may keep it on the server's processor, or not, for minutes. That
    is half the time of a round trip, and would spoil the ratio of two sides that were placed differently.
    """
    ours = os.sched_getaffinity(0) if server and hasattr(os, "sched_setaffinity") else set()
    if len(ours) > 1:
        os.sched_setaffinity(server, {max(ours)})
        os.sched_setaffinity(0, ours - {max(ours)})
    try:
        yield
    finally:
        if len(ours) > 1:
            os.sched_setaffinity(0, ours)
            os.sched_setaffinity(server, ours)


def _loopback() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"redis://127.0.0.1:{free.getsockname()[1]}/0"


# --- one claim after the other


def _pairs(bench: Bench, environment: Environment | None, url: str, where: str) -> list[Row]:
    rounds = bench.count(100, 10)
    bench.say(f"redis: {rounds * BURST} claims and releases{where}")
    with ExitStack() as stack:
        session = Session(bench.workspace(f"redis-claims{'-unix' if where else ''}"), None)
        stack.callback(session.close)
        sides: dict[str, Burst] = {PAIR: _pair(session)}
        if environment is not None and "redis" in environment.versions:
            words = [REDIS_LOCKS, url, "serve"]
            sides[LOCK] = stack.enter_context(Peer(environment, "", bench.sub("redis-lock"), words=words)).burst
        taken = alternate(sides, rounds, BURST)
    rows = []
    for name in (LOCK, PAIR):
        if name not in taken:
            rows.append(_absent(environment, name + where))
            continue
        beside = Comparison(taken[name], taken[LOCK], "the Lock") if name == PAIR and LOCK in taken else None
        target = PAIR_TARGET if beside is not None and not where else None
        rows.append(
            Row(GROUP, name + where, median(taken[name]), "µs", beside=beside, target=target, more=spread(taken[name]))
        )
    return rows


def _pair(session: Session) -> Burst:
    """A claim of a new path, and its release: the operations that every door calls."""
    claim, release = session.operation("claim"), session.operation("release")

    def pair(number: int) -> None:
        fields = {"resources": [Canonical(("file", f"src/pkg{number % 50}/file{number}.py"))]}
        session.run(claim, Call(session.config.policy, agent="bench"), dict(fields))
        session.run(release, Call(session.config.policy, agent="bench"), dict(fields))

    return bursts(lambda number: partial(pair, number))


def _absent(environment: Environment | None, name: str) -> Row:
    return not_measured(GROUP, name, environment.absent if environment is not None else "peers were not asked for")


# --- hooks


def _hooks(bench: Bench) -> list[Row]:
    if shutil.which("git") is None:
        return [not_measured(GROUP, EDIT, "git is not installed")]
    rounds = bench.count(30, 4)
    bench.say(f"redis: {rounds * hooks.BURST} calls of each hook")
    folder = hooks.repository(bench, "redis-hooks")
    command = hooks.command_of(folder)

    def edit(path: str) -> tuple[list[str], dict[str, Any]]:
        return command, hooks.payload(folder, "Edit", {"file_path": f"{folder}/src/{path}"})

    sides: dict[str, Burst] = {
        FLOOR: hooks.calls(lambda _: ([sys.executable, "-I", "-S", "-c", "pass"], {}), folder),
        EDIT: hooks.calls(lambda n: edit(f"new{n}.py"), folder),
        AGAIN: hooks.calls(lambda _: edit("held.py"), folder),
    }
    taken = alternate(sides, rounds, hooks.BURST)
    return above_floor(GROUP, taken, FLOOR, {EDIT: HOOK, AGAIN: HOOK})


# --- many at once


class Tally:
    """One side's results in all rounds of one scene."""

    def __init__(self) -> None:
        self.times: list[float] = []  # seconds for each grant, by round
        self.counts: list[int] = []  # grants of each process
        self.failed, self.first = 0, ""

    def add(self, outcome: Outcome) -> None:
        """One more round."""
        self.times.append(1 / outcome.rate if outcome.rate else float("inf"))
        before = self.counts or [0] * len(outcome.counts)
        self.counts = [one + other for one, other in zip(before, outcome.counts, strict=True)]
        self.failed += outcome.failed
        self.first = self.first or "; ".join(outcome.errors[:1])


def _contention(bench: Bench, environment: Environment | None, url: str, seconds: float) -> list[Row]:
    rows: list[Row] = []
    failed, first = 0, ""
    peer = environment if environment is not None and "redis" in environment.versions else None
    rounds = bench.count(3, 1)
    each = max(1.0, seconds / 2)
    for held, target in HELD.items():
        title = f"{CROWD} processes, {PATHS} paths, held {held} ms"
        bench.say(f"redis: {title}, {rounds} times {each:g} s of each side")
        mine, theirs = Tally(), Tally()
        folder = bench.workspace(f"redis-crowd-{held}")
        for _ in range(rounds):
            mine.add(_scene([_claimer(folder, n, held, each) for n in range(CROWD)], folder, each))
            if peer is not None:
                theirs.add(_scene([_locker(peer, url, held, each)] * CROWD, folder, each))
        failed, first = failed + mine.failed, first or mine.first
        rows += _rows_of(title, mine, theirs if peer is not None else None, held, target)
    note = first or "two holders, a token that fell and anything else"
    return [*rows, Row(GROUP, "errors in all of dibs' scenes", float(failed), "", target=NO_ERROR, note=note)]


def _rows_of(title: str, mine: Tally, theirs: Tally | None, held: int, target: Target | None) -> list[Row]:
    rows = []
    share = slowest_share(mine.counts)
    if theirs is not None:
        note = f"slowest process {slowest_share(theirs.counts):.2f} of the mean"
        rows.append(Row(GROUP, f"{title}: redis-py Lock", 1 / median(theirs.times), "/s", note=note))
    beside = Comparison(mine.times, theirs.times, "the Lock's rate", rates=True) if theirs is not None else None
    rows.append(
        Row(
            GROUP,
            f"{title}: dibs",
            1 / median(mine.times),
            "/s",
            beside=beside,
            target=target if beside is not None else None,
            note=f"slowest process {share:.2f} of the mean",
        )
    )
    if not held:
        rows.append(Row(GROUP, f"{title}: slowest process", share, "of mean", target=SLOWEST))
    return rows


def _claimer(folder: str, place: int, held: int, seconds: float) -> list[str]:
    words = [folder, f"worker{place}", str(PATHS), str(held), str(seconds)]
    return [sys.executable, "-m", "benchmarks.redis_worker", *words]


def _locker(environment: Environment, url: str, held: int, seconds: float) -> list[str]:
    words = [url, "contend", str(PATHS), str(held), str(seconds)]
    return [environment.python, "-I", REDIS_LOCKS, *words]


def _scene(commands: list[list[str]], folder: str, seconds: float) -> Outcome:
    return Outcome([answer_of(line) for line in let_loose(commands, folder)[1]], seconds)


# --- tasks


def _tasks(bench: Bench, environment: Environment | None, url: str) -> list[Row]:
    rounds = bench.count(8, 2)
    bench.say(f"redis: {rounds * DONE} tasks of each queue")
    absent: dict[str, str] = {}
    with ExitStack() as stack:
        sides: dict[str, Burst] = {}
        for kind in TASKS:
            queue = Tasks(bench.workspace(f"redis-tasks-{kind}"), chained=kind == "chained")
            stack.callback(queue.close)
            sides[kind] = _worker(queue)
        for name in QUEUES:
            if environment is not None and name in environment.versions and "redis" in environment.versions:
                words = [REDIS_QUEUES, name, url]
                peer = stack.enter_context(Peer(environment, "", bench.sub(f"redis-{name}"), words=words))
                try:
                    peer.burst(1)
                except RuntimeError as error:  # a version of it that does not work here
                    absent[name] = str(error)
                else:
                    sides[name] = peer.burst
        taken = alternate(sides, rounds, DONE)
    rows = []
    for name in (*TASKS, *QUEUES):
        title, note = (TASKS[name], "") if name in TASKS else QUEUES[name]
        if name not in taken:
            rows.append(not_measured(GROUP, title, absent[name]) if name in absent else _absent(environment, title))
            continue
        times = taken[name]
        note = f"{1e6 / median(times):,.0f} a second{f', {note}' if note else ''}"
        rows.append(Row(GROUP, f"take + finish: {title}", median(times), "µs", note=note, more=spread(times)))
    return rows


def _worker(queue: Tasks) -> Callable[[int], list[float]]:
    def pair() -> None:
        item = queue.take()
        assert item is not None
        queue.finish(item)

    def burst(times: int) -> list[float]:
        queue.add(times)
        return [timed(pair) for _ in range(times)]

    return burst


# --- memory


def _memory(bench: Bench) -> list[Row]:
    """The server's memory for a live claim and for an event, by its own count."""
    count = bench.count(2_000, 200)
    bench.say(f"redis: the memory of {count:,} live claims")
    session = Session(bench.workspace("redis-memory"), None)
    try:
        store = session.store
        assert isinstance(store, RedisStore)
        claim = session.operation("claim")

        def take(number: int) -> None:
            fields = {"resources": [Canonical(("file", f"src/package{number % 50}/module{number}.py"))]}
            session.run(claim, Call(session.config.policy, agent="claude-01J8Z4Q6XK"), fields)

        take(0)
        before, events = _used(store), store.head().seq
        for number in range(1, count + 1):
            take(number)
        after, written = _used(store), store.head().seq - events
    finally:
        session.close()
    rows, log = (after[0] - before[0]) / count, (after[1] - before[1]) / written * 1000
    note = f"`{MEASURED}` of what is kept, over {count:,} claims"
    return [
        Row(GROUP, "memory of a live claim", rows, "bytes", note=note),
        Row(GROUP, "memory of a thousand events", log / 1024, "KiB", note="one a claim; kept until pruned"),
    ]


def _used(store: RedisStore) -> tuple[int, int]:
    """Bytes of the rows with their indexes, and of the log."""
    sizes = [store.ask(*MEASURED.split(), key, "SAMPLES", "0") or 0 for key in store.keys]
    return sum(sizes[:5]), sizes[5]
