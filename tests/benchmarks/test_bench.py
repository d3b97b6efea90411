"""`make bench`: a very small run from end to end, and the arithmetic behind its figures."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from benchmarks import contention, figures, plot, redis, table, work, work_processes
from benchmarks.__main__ import main as command
from benchmarks.environment import Environment
from benchmarks.figures import AT_LEAST, AT_MOST, Comparison, Row, Target
from benchmarks.guard import Guard, MutualExclusionError
from benchmarks.peers import queues, redis_locks, redis_queues
from benchmarks.place import Bench
from benchmarks.work_queues import Bare, Tasks, left_behind
from dibs.errors import Invalid, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

TOP = Path(__file__).resolve().parent.parent.parent
MACHINE = {
    "dibs": "0", "python": "3", "sqlite": "3", "cpus": 2, "load": 0.5, "filesystem": "ext4", "fsync_us": 300.0,
    "at": "2026-01-01T00:00:00Z",
}  # fmt: skip


def run_benchmarks(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--no-peers", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.slow
def test_a_quick_run_prints_one_object_and_writes_json_and_svg(tmp_path: Path) -> None:
    done = run_benchmarks(tmp_path, "--only", "claims", "--json")
    assert done.returncode in {0, 1}, done.stderr  # a target may be missed on a busy machine, and the run says so
    printed = json.loads(done.stdout)
    assert printed["ok"] is (done.returncode == 0) is (not printed["missed"])
    written = json.loads((tmp_path / "dibs-bench" / "bench.json").read_text())
    assert written["rows"] == printed["rows"]
    rows: dict[str, dict[str, Any]] = {row["name"]: row for row in written["rows"]}
    assert set(rows) == {"bare apsw transaction", "claim operation", "Python API claim"}
    operation = rows["claim operation"]
    assert operation["unit"] == "µs"
    assert operation["value"] > 0
    assert operation["target"] == {"kind": "at least", "limit": 0.5, "of": "ratio"}
    assert operation["met"] is (operation["ratio"] >= 0.5)
    assert {"cpus", "python", "sqlite", "filesystem"} <= set(written["machine"])
    assert ET.parse(tmp_path / "dibs-bench" / "bench.svg").getroot().tag.endswith("svg")  # noqa: S314 - our own
    assert not list(tmp_path.glob(".dibs-bench-*")), "the scratch folder is gone"


@pytest.mark.slow
def test_groups_of_claims_are_measured_beside_claims_one_by_one(tmp_path: Path) -> None:
    done = run_benchmarks(tmp_path, "--only", "groups", "--json")
    assert done.returncode in {0, 1}, done.stderr
    rows = {row["name"]: row for row in json.loads(done.stdout)["rows"]}
    assert list(rows) == ["claim by run", *[f"claims by run_many, {size} at once" for size in (1, 8, 64)]]
    assert all(row["value"] > 0 for row in rows.values())
    # That they are faster is for `make bench` to say, on a quiet machine; that a group is one commit, for tests/stores.
    assert all(rows[f"claims by run_many, {size} at once"]["ratio"] > 0 for size in (1, 8, 64))


@pytest.mark.slow
def test_landings_are_measured_beside_a_script_and_the_radar_by_worktrees(tmp_path: Path) -> None:
    done = run_benchmarks(tmp_path, "--only", "land", "--json")
    assert done.returncode in {0, 1}, done.stderr
    rows = {row["name"]: row for row in json.loads(done.stdout)["rows"]}
    assert list(rows)[:2] == ["3 worktrees: a script, one after the other", "3 worktrees: dibs land, batches of 8"]
    assert rows["3 worktrees: dibs land, batches of 8"]["ratio"] > 0
    assert len([name for name in rows if name.startswith("radar, 3 worktrees")]) == 3


def test_words_that_are_off_are_refused_before_anything_is_measured(tmp_path: Path) -> None:
    for words in (["--only", "speed"], ["--seconds", "0"], ["--seconds", "soon"], ["--dir", str(tmp_path / "none")]):
        done = run_benchmarks(tmp_path, *words, "--json")
        assert done.returncode == 64, words
        assert json.loads(done.stdout)["error"]["code"] == "invalid"


def test_the_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^0$"):
        command(["--help"])
    shown = capsys.readouterr().out
    for option in ("--quick", "--only", "--no-peers", "--out", "--env", "--dir", "--seconds", "--json"):
        assert option in shown


def test_contending_processes_never_hold_one_path_together(tmp_path: Path) -> None:
    with Bench(str(tmp_path), quick=True) as bench:
        outcome = contention.contend(bench, "path", 2, 0.5)
    assert outcome.errors == []
    assert sum(outcome.counts) > 0
    assert 0 < outcome.p50 <= outcome.p99 <= outcome.longest


def test_two_in_one_place_and_a_token_that_fell_are_seen(tmp_path: Path) -> None:
    one, two = (Guard(str(tmp_path / "guard"), 2) for _ in range(2))
    with one.standing(0, "ann", 5), two.standing(1, "bob", 3):
        pass
    with (
        pytest.raises(MutualExclusionError, match="token 5 while nobody stood there with 5"),
        two.standing(0, "bob", 5),
    ):
        pass
    with pytest.raises(MutualExclusionError, match="while ann stood there with 6"), one.standing(0, "ann", 6):
        two.standing(0, "bob", 7).__enter__()
    three = Guard(str(tmp_path / "other"), 1)
    with pytest.raises(MutualExclusionError, match="somebody came in beside ann"), three.standing(0, "ann", 1):
        three._stand(0, "bob", 2)


def test_without_a_registry_the_peers_are_not_there_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.environment._run", _no_registry)
    environment = Environment(str(tmp_path / "env"))
    with Bench(str(tmp_path), quick=True) as bench:
        environment.prepare(bench)
    assert environment.versions == {}
    assert environment.absent == "not installed: ERROR: no such host"


def _no_registry(command: list[str], _timeout: float) -> str:
    raise subprocess.CalledProcessError(1, command, stderr="a warning\nERROR: no such host\n")


def test_the_bench_leaves_the_environment_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIBS_AGENT", "somebody")
    with Bench(str(tmp_path), quick=True) as bench:
        assert "DIBS_AGENT" not in os.environ
        folder = Path(bench.folder)
        assert folder.is_dir()
    assert os.environ["DIBS_AGENT"] == "somebody"
    assert not folder.exists()


# --- the arithmetic


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([3.0], 0.5, 3.0),
        ([1.0, 2.0], 0.5, 1.5),
        ([5.0, 1.0, 3.0], 0.5, 3.0),
        ([1.0, 2.0, 3.0, 4.0], 0.0, 1.0),
        ([1.0, 2.0, 3.0, 4.0], 1.0, 4.0),
        ([float(n) for n in range(101)], 0.99, 99.0),
    ],
)
def test_a_quantile_lies_between_its_neighbours(values: list[float], share: float, expected: float) -> None:
    assert figures.quantile(values, share) == pytest.approx(expected)


def test_a_quantile_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="no values"):
        figures.median([])


def test_the_slowest_share_is_one_when_all_got_the_same() -> None:
    assert figures.slowest_share([4, 4, 4]) == 1.0
    assert figures.slowest_share([1, 5]) == pytest.approx(1 / 3)
    assert figures.slowest_share([0, 0]) == 0.0
    assert figures.slowest_share([]) == 0.0


def test_the_sides_take_turns_and_the_first_place_moves_on() -> None:
    order: list[str] = []

    def side(name: str) -> Callable[[int], list[float]]:
        def burst(times: int) -> list[float]:
            order.append(name)
            return [float(times)] * times

        return burst

    taken = figures.alternate({"a": side("a"), "b": side("b")}, rounds=2, burst=3)
    assert order == ["a", "b", "a", "b", "b", "a"]  # a round that is thrown away, then two that begin in turn
    assert {name: len(times) for name, times in taken.items()} == {"a": 6, "b": 6}


def test_a_ratio_of_rates_is_turned_round() -> None:
    assert Comparison([2.0, 4.0, 9.0], [1.0, 2.0, 3.0], "it").ratio == 2.0
    slower_on_the_way = [1.0] * 30 + [10.0] * 70
    assert Comparison([2 * time for time in slower_on_the_way], slower_on_the_way, "it").ratio == 2.0
    assert Comparison([2.0] * 49 + [20.0] * 51, [1.0] * 51 + [10.0] * 49, "it").ratio == 2.0
    assert Comparison([4.0, 4.0], [1.0, 2.0, 3.0], "it").ratio == 2.0
    beside = Comparison([2.0, 4.0, 9.0], [1.0, 2.0, 3.0], "it", rates=True)
    assert (beside.ratio, beside.least) == (0.5, 0.5)


def test_a_target_is_met_at_its_limit() -> None:
    assert Target(AT_MOST, 3.0).met_by(3.0)
    assert not Target(AT_MOST, 3.0).met_by(3.1)
    assert Target(AT_LEAST, 0.5).met_by(0.5)
    assert not Target(AT_LEAST, 0.5).met_by(0.4)
    assert Target(AT_LEAST, 0.5).used(0.25) == 2.0
    assert Target(AT_MOST, 500, "value").used(100) == 0.2
    assert Target(AT_MOST, 0, "value").used(0) == 0.0


def test_a_row_without_a_figure_misses_its_target() -> None:
    assert Row("g", "n", None, "ms", target=Target(AT_MOST, 1.0)).met is False
    assert Row("g", "n", 2.0, "ms").met is None
    assert Row("g", "n", 2.0, "ms", target=Target(AT_MOST, 2.0, "value")).met is True


def test_missed_targets_are_named_and_drawn() -> None:
    rows = [
        Row("cold", "dibs <claim>", 40.0, "ms",
            beside=Comparison([4.0], [1.0], "the floor"), target=Target(AT_MOST, 3.0),
            more={"min": 30.0}),
        Row("claims", "bare", 300.0, "µs", more={"min": 200.0}),
        Row("claims", "a peer", None, "", note="not installed"),
    ]  # fmt: skip
    assert table.missed(rows) == ["cold: dibs <claim>"]
    assert table.verdict(rows) == "1 of 1 targets missed: cold: dibs <claim>"
    drawn = ET.fromstring(plot.svg(MACHINE, rows))  # noqa: S314 - our own
    words = [element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert "cold: dibs <claim>" in words
    assert any(word and "4.00x" in word for word in words)
    assert rows[2].as_json()["value"] is None


def test_the_table_shows_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    contended = {"processes": 2.0, "p50_ms": 1.0, "p99_ms": 2.0, "longest_ms": 3.0, "slowest": 0.9, "errors": 0.0}
    rows = [
        Row("claims", "claim operation", 300.0, "µs", more={"min": 200.0}),
        Row("contention", "2 processes, one path", 500.0, "/s", more=contended),
    ]
    table.show(MACHINE, rows)
    shown = capsys.readouterr().out
    assert "claims: claim operation" in shown
    assert "2 processes, one path" in shown
    assert "all 0 targets met" in shown


def test_an_unknown_folder_is_refused() -> None:
    with pytest.raises(Invalid):
        Bench("/nowhere/at/all", quick=True)


# --- tasks


@pytest.mark.torture
def test_a_quick_run_of_the_tasks_holds_dibs_to_the_bare_loop_and_to_a_long_queue(tmp_path: Path) -> None:
    done = run_benchmarks(tmp_path, "--only", "tasks", "--json")
    assert done.returncode in {0, 1}, done.stderr
    rows: dict[str, dict[str, Any]] = {row["name"]: row for row in json.loads(done.stdout)["rows"]}
    assert list(rows) == [
        "bare take + finish", "dibs task next + done", "dibs task done --next", "dibs task turn, 10 at a time",
        "4 processes: bare take + finish", "4 processes: dibs task next + done", "4 processes: dibs task done --next",
        "4 processes: dibs task turn, 10 at a time",
        "dibs task next + done, 100 waiting", "dibs task next + done, 2,000 waiting",
        "bare insert + delete", "dibs send, inbox, ack",
    ]  # fmt: skip
    held = [row for name, row in rows.items() if "dibs task turn" in name or "done --next" in name]
    assert [row["target"] for row in held] == [{"kind": "at least", "limit": 0.6, "of": "ratio"}] * 4
    assert all(row["against"] == "bare's rate" and row["value"] > 0 for row in held), "and no task came twice"
    assert rows["dibs task next + done, 2,000 waiting"]["target"] == {"kind": "at most", "limit": 1.5, "of": "ratio"}
    assert rows["dibs send, inbox, ack"]["target"] is None


def test_the_bare_queue_leaves_the_rows_that_dibs_leaves(tmp_path: Path) -> None:
    with Bench(str(tmp_path), quick=True) as bench:
        tasks = Tasks(bench.workspace("tasks"))
        texts = left_behind(tasks)
        tasks.close()
        bare = Bare(bench.sub("bare"), texts)
        bare.make()
        bare.add(1)
        item = bare.take()
        assert item is not None
        look = apsw.Connection(os.path.join(bench.folder, "bare", "bare.db"), vfs="unix")
        rows = "SELECT k, v, n, i1, i2 FROM kv ORDER BY k"

        def here(*names: str) -> list[tuple[Any, ...]]:
            return [tuple(json.loads(json.dumps(texts[name]).replace(texts["task"], item[0]))) for name in names]

        assert list(look.execute(rows)) == here("claim", "taken")
        assert bare.take() is None, "it was the only one"
        bare.finish(item)
        assert list(look.execute(rows)) == here("done")
        kinds = [json.loads(body)["kind"] for (body,) in look.execute("SELECT body FROM log ORDER BY seq")]
        assert kinds == ["claim.granted", "task.moved", "task.moved", "claim.released"]
        look.close()
        bare.close()


def test_a_chained_worker_commits_once_for_each_task(tmp_path: Path) -> None:
    with Bench(str(tmp_path), quick=True) as bench:
        tasks = Tasks(bench.workspace("tasks"), chained=True)
        tasks.add(3)
        taken, item = [], tasks.take()
        before = tasks.session.store.head().commit
        while item is not None:
            taken.append(item[0])
            tasks.finish(item)
            item = tasks.take()
        assert len(set(taken)) == 3
        assert tasks.session.store.head().commit - before <= 4, "three, and perhaps a last look for more"
        tasks.close()


def test_processes_that_drain_a_queue_together_get_each_task_once(tmp_path: Path) -> None:
    tally = work_processes.Tally()
    with Bench(str(tmp_path), quick=True) as bench:
        (took,) = work_processes.of_dibs(bench, work_processes.PAIRS, {}, 30, tally)(1)
    assert took > 0
    assert (tally.tasks, tally.note, tally.clean) == (30, "none twice", True)


def test_a_task_that_came_twice_or_never_or_a_worker_that_died_is_counted(tmp_path: Path) -> None:
    tally = work_processes.Tally()
    fine = {"errors": [], "failed": 0}
    tally.count(3, [{"tasks": ["a", "b"], **fine}, {"tasks": ["b"], **fine}])
    assert tally.note == "1 of 3 came twice, 1 never"
    assert not tally.clean
    dead = work_processes.Tally()
    words = [sys.executable, "-c", "print('ready', flush=True); input()"]
    work_processes.drained([words], str(tmp_path), 2, dead)
    assert dead.note == "none twice, 2 never, 1 errors (a worker died)"
    with pytest.raises(RuntimeError, match="did not start: no way in"):
        work_processes.drained([[sys.executable, "-c", "print('no way in')"]], str(tmp_path), 2, dead)


def test_a_queue_of_dibs_that_gave_a_task_twice_has_no_figure_and_misses_its_targets() -> None:
    times = {"bare": [1.0], "pairs": [1.0], "chained": [1.0], "turns": [1.0], "litequeue": [2.0]}
    figure = work.rate_of
    fine = work.rows_of(None, times, "4: ", {}, figure, set())
    assert table.missed(fine) == []
    bad = work.rows_of(None, times, "4: ", {"turns": "1 of 9 came twice"}, figure, {"turns"})
    assert table.missed(bad) == [
        "tasks: 4: dibs task turn, 10 at a time",
        "tasks: 4: dibs task turn, 10 at a time, beside litequeue",
    ]
    assert bad[3].note == "1 of 9 came twice"


def test_a_peer_that_is_ahead_of_dibs_is_a_missed_target_and_one_that_is_absent_is_named(tmp_path: Path) -> None:
    absent = Environment(str(tmp_path / "none"))
    absent.why = "no such host"
    times = {"bare": [1.0], "pairs": [1.0], "chained": [1.0], "turns": [1.0], "litequeue": [0.5]}
    rows = work.rows_of(absent, times, "", {}, work.time_of, set())
    assert table.missed(rows) == ["tasks: dibs task turn, 10 at a time, beside litequeue"]
    assert [row.name for row in rows if row.note == "not installed: no such host"] == [
        "persist-queue get + ack", "litequeue, its own default", "huey dequeue + result",
    ]  # fmt: skip


class Shelf:
    """A queue like a peer's: gives its third task twice, and is locked once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.added = self.locked = 0

    def put(self, text: str) -> None:
        self.added += 1
        self.texts += [text, text] if self.added == 3 else [text]

    def take(self) -> tuple[str, str] | None:
        if self.added and len(self.texts) == 2 and not self.locked:
            self.locked += 1
            message = "database is locked"
            raise sqlite3.OperationalError(message)
        text = self.texts.pop(0) if self.texts else None
        return (text, text) if text is not None else None

    def finish(self, handle: str) -> None:
        assert handle

    def tidy(self) -> None:
        assert len(self.texts) <= queues.WAITING_TASKS + 1


def test_a_peers_queue_is_kept_at_its_length_and_what_comes_twice_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shelf = Shelf()
    monkeypatch.setattr("sys.stdin", io.StringIO("2\n5\ntwice\n"))
    queues.serve(shelf)
    first, second, twice = map(json.loads, capsys.readouterr().out.splitlines())
    assert (len(first), len(second), twice) == (2, 5, [1])
    assert shelf.added == queues.WAITING_TASKS + 2, "what was taken was put back before the second burst"


def test_a_peers_worker_goes_on_after_an_error_and_tells_of_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shelf = Shelf()
    for number in range(4):
        shelf.put(f"task {number}")
    monkeypatch.setattr("sys.stdin", io.StringIO("0\n"))
    queues.drain(shelf)
    ready, answer = capsys.readouterr().out.splitlines()
    assert ready == "ready"
    told = json.loads(answer)
    assert told["tasks"] == ["task 0", "task 1", "task 2", "task 2", "task 3"]
    assert (told["failed"], told["errors"]) == (1, ["OperationalError: database is locked"])


# --- on Redis


@pytest.mark.torture
def test_a_run_on_redis_starts_its_servers_and_measures_every_promise(tmp_path: Path) -> None:
    done = run_benchmarks(tmp_path, "--only", "redis", "--json")
    assert done.returncode in {0, 1}, done.stderr
    rows: dict[str, dict[str, Any]] = {row["name"]: row for row in json.loads(done.stdout)["rows"]}
    crowd = "8 processes, 8 paths, held"
    assert list(rows) == [
        redis.LOCK, redis.PAIR, redis.LOCK + redis.UNIX, redis.PAIR + redis.UNIX,
        redis.FLOOR, redis.EDIT, redis.AGAIN,
        f"{crowd} 5 ms: dibs", f"{crowd} 0 ms: dibs", f"{crowd} 0 ms: slowest process", "errors in all of dibs' scenes",
        "take + finish: dibs task next + done", "take + finish: dibs task done --next", "RQ", "Celery", "huey",
        "memory of a live claim", "memory of a thousand events",
    ]  # fmt: skip
    assert rows[redis.LOCK]["note"] == "peers were not asked for"
    assert rows[redis.EDIT]["target"] == {"kind": "at most", "limit": 3.0, "of": "ratio"}
    assert rows["errors in all of dibs' scenes"]["value"] == 0, rows["errors in all of dibs' scenes"]["note"]
    assert 300 < rows["memory of a live claim"]["value"] < 3_000
    assert 50 < rows["memory of a thousand events"]["value"] < 1_000
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".dibs-bench")], "it cleans up"


def test_the_server_has_a_processor_of_its_own_for_a_while() -> None:
    before = os.sched_getaffinity(0)
    with subprocess.Popen(["sleep", "60"]) as server:
        try:
            with redis._apart(server.pid):
                assert not os.sched_getaffinity(0) & os.sched_getaffinity(server.pid) or len(before) == 1
            assert os.sched_getaffinity(0) == os.sched_getaffinity(server.pid) == before
            with pytest.raises(ZeroDivisionError), redis._apart(server.pid):
                _ = 1 / 0
            assert os.sched_getaffinity(0) == before
            with redis._apart(0):
                assert os.sched_getaffinity(0) == before, "it runs in a container"
        finally:
            server.kill()


def test_a_machine_without_a_server_says_so_in_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> Any:
        message = "nothing could be started"
        raise Unavailable(message)

    monkeypatch.setattr("dibs.stores.redis.server_start.start", none)
    with Bench(str(tmp_path), quick=True) as bench:
        (row,) = redis.measure(bench, None, 1.0)
    assert (row.name, row.value, row.note) == (redis.PAIR, None, "no server: nothing could be started")


def test_the_lock_s_rate_and_dibs_own_are_held_against_each_other_in_one_scene() -> None:
    def outcome(*counts: int) -> contention.Outcome:
        return contention.Outcome([{"waits": [], "within": n, "errors": [], "failed": 0} for n in counts], 1.0)

    mine, theirs = redis.Tally(), redis.Tally()
    for _ in range(3):
        mine.add(outcome(10, 30))
        theirs.add(outcome(40, 0))
    lock, own, share = redis._rows_of("scene", mine, theirs, 0, redis.HELD[0])
    assert lock.value == pytest.approx(40)
    assert lock.note == "slowest process 0.00 of the mean"
    assert own.ratio == pytest.approx(1.0)
    assert own.met is None, "no target where claims are held for no time"
    assert (share.value, share.met) == (0.5, False)
    (alone,) = redis._rows_of("scene", mine, None, 5, redis.HELD[5])
    assert (alone.ratio, alone.met) == (None, None)


class Door:
    """A lock like redis-py's: the third is not to be had, the fourth breaks."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.held = 0

    def ping(self) -> None:
        """It is there."""

    def lock(self, name: str, timeout: int) -> Door:
        assert timeout == redis_locks.LIFE_S
        self.names.append(name)
        return self

    def acquire(self, blocking_timeout: float = 0) -> bool:
        assert blocking_timeout in {0, redis_locks.WAIT_S}
        if len(self.names) == 4:
            message = "connection lost"
            raise OSError(message)
        self.held += len(self.names) != 3
        return len(self.names) != 3

    def release(self) -> None:
        self.held -= 1


def test_a_peers_lock_is_taken_under_a_new_name_each_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    door = Door()
    monkeypatch.setattr("sys.stdin", io.StringIO("2\n"))
    redis_locks.serve(door)
    assert len(json.loads(capsys.readouterr().out)) == 2
    assert (len(set(door.names)), door.held) == (2, 0)


def test_a_peers_lock_that_contends_counts_what_it_got_and_what_went_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    door = Door()
    monkeypatch.setattr("sys.stdin", io.StringIO("0\n"))
    moments = iter([0.0, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 9.0])
    monkeypatch.setattr("time.monotonic", lambda: next(moments))
    redis_locks.contend(door, 8, 0.0, 0.55)
    ready, line = capsys.readouterr().out.splitlines()
    answer = json.loads(line)
    assert ready == "ready"
    assert set(door.names) <= {f"path{n}" for n in range(8)}
    assert (len(answer["waits"]), answer["failed"], door.held) == (2, 2, 0)
    assert answer["errors"] == ["it was not to be had", "OSError: connection lost"]


def test_a_peers_worker_answers_on_stdout_and_keeps_its_own_words_off_it(monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.StringIO()
    monkeypatch.setattr("sys.stdin", io.StringIO("3\n"))
    redis_queues.serve(lambda times: [1.5] * times, said)
    assert json.loads(said.getvalue()) == [1.5] * 3
