"""Events leave the store for an archive and nowhere else: a kill at any point loses none, and every change is found."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dibs.audit import check as audit
from dibs.audit import events, expected_archives, housekeeping
from dibs.client import catalogue, log_reader
from dibs.client.session import Session
from dibs.client.upkeep import log_archives, log_upkeep, rounds
from dibs.errors import Forbidden, NotFound, Unavailable
from dibs.interfaces import session_doors
from dibs.machine import clock, processes
from dibs.operations.core.call import Call
from dibs.operations.core.policy import DAY
from dibs.operations.documents.records import document_key
from dibs.operations.messages.records import subscriptions_key
from dibs.operations.upkeep import log_retention
from dibs.operations.upkeep.records import archive_key
from dibs.undo import scope as undo_scope
from dibs.verify.checker import verify_archives, verify_store
from dibs.workspace import location
from tests.operations.fleet import resource
from tests.stores.redis_server import running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SEALED = 20  # events between two seals, here


class Keeper:
    """A workspace on a clock that only moves when told, and whoever uses it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, store: str = "", **log: Any) -> None:
        self.folder, self.now, self.started = folder, 1_000_000, clock.wall()
        (folder / ".dibs").mkdir(parents=True)
        settings = "".join(f"{name} = {value!r}\n" for name, value in {"events": 50, **log}.items())
        line = f'store = "{store}"\n' if store else ""
        (folder / ".dibs" / "config.toml").write_text(f'id = "keeper"\n{line}[log]\n{settings}'.replace("'", '"'))
        monkeypatch.setattr(log_retention, "SEAL_EVENTS", SEALED)
        if not store:
            monkeypatch.setattr(clock, "since_boot", lambda: self.now)
            monkeypatch.setattr(clock, "wall", lambda: self.now + self.started)
        self.session = self.opened()

    def opened(self) -> Session:
        return Session(
            str(self.folder),
            str(self.folder),
            place=location.find(str(self.folder), None),
            door=session_doors.ProgramDoor(),
        )

    def call(self, name: str, /, agent: str = "ann", **fields: Any) -> Any:
        call = self.session.identify(agent)
        return self.session.answer(catalogue.operation(name), call, fields)

    def work(self, times: int) -> None:
        """Claims and releases, two events each."""
        for number in range(times):
            self.call("claim", resources=[resource(f"{number % 7}.py")])
            self.call("release", resources=[resource(f"{number % 7}.py")])

    def sweep(self, session: Session | None = None) -> None:
        """All that is due."""
        found = {"more": True}
        while found["more"] or found.get("pruned"):
            found = (session or self.session).answer(catalogue.operation("sweep"), self.session.identify("ann"), {})

    @property
    def archives(self) -> list[Path]:
        return sorted((self.folder / ".dibs" / "local" / "archive").glob("*.jsonl.gz"))

    def reader(self) -> log_reader.LogReader:
        return log_reader.LogReader(self.session, self.session.identify("ann"))

    def verified(self) -> Any:
        named = expected_archives.expected(self.session, self.session.identify("ann"))
        return verify_store(self.session.store, archives=named)

    def codes(self) -> list[str]:
        return [finding.code for finding in self.verified().findings]


@pytest.fixture
def keeper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Keeper]:
    made = Keeper(tmp_path / "place", monkeypatch)
    yield made
    made.session.close()


def archived(keeper: Keeper, times: int = 100) -> Keeper:
    """With several archives."""
    for _ in range(times // 10):
        keeper.work(10)
        keeper.sweep()
    assert len(keeper.archives) >= 3
    return keeper


def test_archives_and_the_log_are_one_chain_and_every_event_is_read_once_and_in_order(keeper: Keeper) -> None:
    archived(keeper)
    head, live = keeper.session.store.head().seq, keeper.session.store.events(0, 1000)
    assert live[0].seq > 100
    assert len(live) <= 50 + SEALED + 2
    report = keeper.verified()
    assert report.findings == []
    assert (report.first, report.last, report.events, report.archives) == (1, head, head, len(keeper.archives))
    assert verify_store(keeper.session.store).first == live[0].seq, "without the archives it begins at a seal"
    reader = keeper.reader()
    for size in (7, 1000):
        read: list[int] = []
        while page := reader.events(read[-1] if read else 0, size):
            read += [event.seq for event in page]
        assert read == list(range(1, head + 1))
    for after in (0, 5, 19, 20, 21, 63, live[0].seq - 2, live[0].seq - 1, live[0].seq, head - 1):
        assert [event.seq for event in reader.events(after, 3)] == list(range(after + 1, min(after + 4, head + 1)))
    shown, cursor, more = events.page_of(reader, 0, events.Filter(kind="agent."), 5)
    assert [event["seq"] for event in shown] == [1]
    assert (cursor, more) == (head, False)
    last, _, earlier, _ = events.last_of(reader, events.Filter(), head - 10)
    assert (last[0]["seq"], earlier) == (11, True)


def test_equal_events_give_equal_bytes_and_an_archive_is_checked_without_its_store(
    keeper: Keeper, tmp_path: Path
) -> None:
    archived(keeper)
    away = tmp_path / "away"
    shutil.copytree(keeper.archives[0].parent, away)
    shutil.rmtree(keeper.folder)
    paths = [str(path) for path in sorted(away.iterdir())]
    report = verify_archives(paths)
    assert report.findings == []
    assert report.first == 1
    for path in paths:
        assert verify_archives([path]).findings == []
    assert [found.code for found in verify_archives([paths[0], paths[2]]).findings] == ["gap"]
    assert [found.code for found in verify_archives([paths[1], paths[0]]).findings] == ["archive"]
    text = gzip.decompress(Path(paths[1]).read_bytes())
    Path(paths[1]).write_bytes(gzip.compress(text.replace(b"ann", b"eve", 3)))
    assert [found.code for found in verify_archives(paths).findings][:1] == ["link"]


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _rewrite(path: Path) -> None:
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), 1))


@pytest.mark.parametrize("harm", [Path.unlink, _cut, _flip, _rewrite, lambda path: path.write_bytes(b"")])
@pytest.mark.parametrize("which", [0, 1, -1])
def test_a_changed_or_missing_archive_is_one_finding(keeper: Keeper, harm: Callable[[Path], Any], which: int) -> None:
    archived(keeper, 60)
    harm(keeper.archives[which])
    assert keeper.codes() == ["archive"]


def test_a_person_settles_a_lost_archive_and_the_log_says_so(keeper: Keeper) -> None:
    archived(keeper, 60)
    lost = keeper.archives[1]
    kept = lost.read_bytes()
    lost.unlink()
    (line,) = keeper.call("check", check="log")["checks"]
    ((finding, name),) = [(one["text"], one["id"]) for one in line["findings"]]
    assert "it is missing" in finding
    assert name.startswith("log:archive-")
    _, said = audit.record_of(keeper.session)
    assert f"dibs check --settle {name} --why T" in said
    person = keeper.session.identify(None)
    keeper.session.answer(catalogue.operation("check settle"), person, {"what": name, "why": "the disk broke"})
    assert keeper.codes() == []
    assert keeper.verified().settled == 1
    assert keeper.call("check", check="log")["failed"] == []
    assert audit.record_of(keeper.session)[0]
    assert "the disk broke" in [event.body for event in keeper.session.store.events(0, 1000)][-1]
    keeper.archives[0].unlink()
    assert keeper.codes() == ["archive"], "another one is another loss"
    keeper.session.answer(catalogue.operation("check settle"), person, {"what": name, "undo": True})
    assert keeper.codes() == ["archive", "archive"]
    lost.write_bytes(kept)
    assert keeper.codes() == ["archive"], "what comes back is whole again"


def _rewritten(path: Path) -> None:
    """Another reason in one event, in a file that reads well."""
    text = gzip.decompress(path.read_bytes()).replace(b"ann", b"bob")
    path.write_bytes(gzip.compress(text))


@pytest.mark.parametrize("harm", [lambda path: path.unlink(), lambda path: path.write_bytes(b"?"), _rewritten])
@pytest.mark.parametrize("which", [0, 1])
def test_who_reads_the_log_is_told_which_events_are_lost(
    keeper: Keeper, harm: Callable[[Path], Any], which: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    archived(keeper)
    whole = [event["seq"] for event in keeper.call("log", limit=0)["events"]]
    lost = keeper.archives[which]
    first, last = [int(part) for part in lost.name.split("-")[:2]]
    harm(lost)
    left = [seq for seq in whole if not first <= seq <= last]
    for fields in ({"limit": 0}, {"limit": 10_000}, {"after": 0, "limit": 0}, {"kind": "claim.", "limit": 10_000}):
        found = keeper.call("log", **fields)
        assert [(gap["first"], gap["last"]) for gap in found["missing"]] == [(first, last)], fields
        assert found["lost"] == last - first + 1
        assert {event["seq"] for event in found["events"]} <= set(left)
        assert fields.get("kind") or [event["seq"] for event in found["events"]] == left, "what is before it is shown"
    monkeypatch.setattr(events, "PAGE", 5)  # shorter than what is lost
    began = keeper.call("log", limit=3, kind="agent.registered")["events"]
    assert ([event["seq"] for event in began] == [1]) is bool(which)
    assert keeper.call("log", limit=10)["missing"] == [], "what is not asked for is not missed"
    assert keeper.call("log", after=last, limit=5)["lost"] == 0
    assert keeper.call("log", after=last - 3, limit=5)["lost"] == 3
    keeper.call("check settle", agent="root", what=f"log:archive-{last}", why="the disk died")
    found = keeper.call("log", limit=0)
    assert ([gap["settled"] for gap in found["missing"]], found["lost"]) == ([True], 0)
    assert [gap["first"] for gap in keeper.call("explain", what="1.py", archives=True)["missing"]] == [first]


def test_a_finding_whose_event_was_archived_keeps_its_number_and_its_settlement(keeper: Keeper) -> None:
    keeper.call("boot", agent="rogue")
    boss = keeper.session.identify("boss")
    keeper.session.answer(catalogue.operation("kill"), boss, {"agent": "rogue", "why": "it rewrote the history"})
    keeper.call("task add", agent="boss", title="migrate", id="migrate", attempts=1)
    keeper.call("task next", agent="ann")
    keeper.call("task fail", agent="ann", id="migrate", why="no such table", **{"class": "transient"})

    def found(check: str) -> list[tuple[list[int], bool]]:
        (line,) = keeper.call("check", agent="boss", check=check)["checks"]
        return [(one["events"], "settled" in one) for one in line["findings"]]

    before = {check: found(check) for check in ("agents", "tasks")}
    person = keeper.session.identify(None)
    number = before["agents"][0][0][0]
    keeper.session.answer(catalogue.operation("check settle"), person, {"what": str(number), "why": "it stays dead"})
    before["agents"] = [(before["agents"][0][0], True)]
    evidence = [one["evidence"] for one in keeper.call("alerts", agent="boss")["alerts"]]
    assert [*before["agents"], *before["tasks"]]
    assert all(events for events, _ in [*before["agents"], *before["tasks"]])
    archived(keeper)
    assert keeper.session.store.events(0, 1)[0].seq > max(*evidence[0], number)
    assert {check: found(check) for check in before} == before
    assert [one["evidence"] for one in keeper.call("alerts", agent="boss")["alerts"]] == evidence
    for path in keeper.archives:
        path.unlink()
    assert found("tasks") == [([], False)], "without the archives there is no number, and the finding stays"


def test_an_agent_s_subscription_is_delivered_from_archives_and_a_lost_one_is_told(keeper: Keeper) -> None:
    keeper.call("subscribe", agent="bob", what="build.*")
    for number in range(30):
        keeper.call("emit", kind="build.done", data=number)
        keeper.work(2)
        keeper.sweep()
    assert keeper.session.store.events(0, 1)[0].seq > 60
    second = keeper.archives[1]
    whole = second.read_bytes()
    heard = [one["text"] for one in _inbox(keeper)]
    assert heard == [f"build.done: {number}" for number in range(30)]
    key = subscriptions_key("bob")
    keeper.session.store.run(lambda tx: tx.put(key, {**tx.get(key), "cursor": 2}))
    second.unlink()
    again = [one["text"] for one in _inbox(keeper)]
    gaps = [text for text in again if "were dropped from the log" in text]
    assert len(gaps) == 1
    numbers = [int(text.rpartition(" ")[2]) for text in again if text not in gaps]
    assert numbers == sorted(set(numbers))
    assert 0 < len(numbers) < 30
    assert again.index(gaps[0]) not in {0, len(again) - 1}, "what is missing is told in its place"
    second.write_bytes(whole)


def _inbox(keeper: Keeper) -> list[dict[str, Any]]:
    found = []
    while page := keeper.call("inbox", agent="bob")["messages"]:
        found += page
        for one in page:
            keeper.call("ack", agent="bob", message=one["message"])
    return found


def test_a_report_a_story_figures_and_a_map_read_archives(keeper: Keeper) -> None:
    keeper.call("run start", name="fix", id="r1")
    keeper.call("task add", title="the first", id="t1", run="r1")
    token = keeper.call("task claim", id="t1")["token"]
    keeper.now += 5_000
    keeper.call("task done", id="t1", token=token)
    claim = keeper.call("claim", resources=[resource("old.py")])["claim"]
    held = keeper.session.store.head().seq
    keeper.call("release", resources=[resource("old.py")])
    archived(keeper, 60)
    assert keeper.session.store.events(0, 1)[0].seq > held
    found = keeper.call("run report", run="r1")
    assert found["notes"] == []
    assert found["by_agent"]["ann"]["work_time"] == 5.0
    assert keeper.call("stats", since="1h")["totals"]["complete"] == 1
    assert "old.py" in [row["resource"] for row in keeper.call("map", since="1h")["resources"]]
    scope, _ = undo_scope.find(keeper.session, keeper.session.identify("ann"), claim, 0)
    assert (scope.kind, scope.agents) == ("claim", ["ann"])
    with pytest.raises(NotFound, match="nothing is known of nowhere"):
        keeper.call("explain", what="nowhere")
    story = keeper.call("explain", what="task:t1")
    assert [step["kind"] for step in story["steps"]][:2] == ["task.added", "task.moved"]
    assert story["unread"] == 0
    whole = keeper.call("explain", what="agent:ann", archives=True, limit=1000)
    assert whole["steps"][0]["kind"] == "agent.registered"
    assert keeper.call("explain", what="agent:ann")["unread"] > held
    around = keeper.call("explain", what=f"#{held}")
    assert [step["asked"] for step in around["steps"] if step.get("asked")] == [True]
    (keeper.folder / ".dibs" / "local" / "archive" / keeper.archives[0].name).unlink()
    with pytest.raises(NotFound, match="no archive on this machine has it"):
        keeper.call("explain", what="#3")


def test_an_archive_that_the_store_does_not_name_any_more_is_a_finding(keeper: Keeper) -> None:
    archived(keeper)
    first = keeper.session.run(log_retention.ARCHIVES, keeper.session.identify("ann"), {})["archives"][0]
    keeper.session.store.run(lambda tx: tx.delete(archive_key(first["last"])))
    assert "archive" in keeper.codes()


def test_a_damaged_log_is_not_pruned(keeper: Keeper) -> None:
    keeper.work(30)
    keeper.call("seal")
    store: Any = keeper.session.store
    store._sql("UPDATE log SET body = replace(body, 'ann', 'eve') WHERE seq = 5")
    with pytest.raises(Unavailable, match="event 5 was changed"):
        log_upkeep.by_config(keeper.session, keeper.session.identify("ann"))
    assert keeper.archives == []
    assert store.events(0, 1)[0].seq == 1


# --- crashes


def test_a_kill_at_any_point_leaves_each_event_in_the_store_or_in_a_recorded_archive(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_retention, "PRUNE_EVENTS", 30)
    keeper.work(60)
    keeper.call("seal")
    head = keeper.session.store.head().seq
    points = ((os, "fsync"), (os, "replace"), (os, "unlink"), (log_archives, "digest_and_size"), (Session, "run"),
              (log_archives, "_line"))  # fmt: skip
    killed = 0
    for place, name in points:
        step = 41 if name == "_line" else 1
        for late in (False, True):
            keeper.work(40)
            keeper.call("seal")
            for number in range(1, 400, step):
                ended = _die(keeper, place, name, number, late=late)
                report = keeper.verified()
                assert report.findings == []
                assert (report.first, report.events) == (1, report.last)
                killed += not ended
                if ended:
                    break
    assert killed > 20
    keeper.sweep()
    assert keeper.session.store.events(0, 1)[0].seq > 1
    left = [path for path in keeper.archives[0].parent.iterdir() if not path.name.endswith(".gz")]
    assert left == [], "the next one clears away what was left"
    read = [event.seq for event in keeper.reader().events(0, 10_000)]
    assert read == list(range(1, read[-1] + 1))
    assert read[-1] >= head


@pytest.mark.parametrize("engine", ["sqlite", "redis"])
def test_many_events_leave_in_pieces_and_the_log_is_whole_after_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    with running() if engine == "redis" else nullcontext() as server:
        keeper = Keeper(tmp_path / "place", monkeypatch, server.url if server else "")
        keeper.work(100)  # nobody swept meanwhile
        keeper.call("seal")
        sealed = keeper.session.store.seals()[0].seq
        monkeypatch.setattr(log_retention, "PRUNE_EVENTS", 30)
        counts: list[int] = []
        first = 1
        run = Session.run

        def watched(session: Session, operation: Any, *given: Any) -> Any:
            nonlocal first
            answer = run(session, operation, *given)
            left = session.store.events(0, 1)[0].seq
            if left > first:
                counts.append(left - first)
                first = left
                _is_whole(keeper)
            return answer

        monkeypatch.setattr(Session, "run", watched)
        if engine == "sqlite":
            made = keeper.call("prune")
            assert (made["through"], len(made["archives"])) == (sealed, 1)
        else:
            keeper.sweep()
        monkeypatch.setattr(Session, "run", run)
        assert counts == [30] * (sealed // 30) + [sealed % 30] * (sealed % 30 > 0)
        assert len(keeper.archives) == 1
        assert len([event for event in keeper.session.store.events() if "log.pruned" in event.body]) == 1
        assert first == sealed + 1
        keeper.session.close()


def _is_whole(keeper: Keeper) -> None:
    """Each event is read once, and every check passes, with the archives and without."""
    head = keeper.session.store.head().seq
    report = keeper.verified()
    assert (report.findings, report.first, report.events) == ([], 1, head)
    assert verify_store(keeper.session.store).findings == []
    reader = keeper.reader()
    for size in (7, 1000):
        read: list[int] = []
        while page := reader.events(read[-1] if read else 0, size):
            read += [event.seq for event in page]
        assert read == list(range(1, head + 1))
    old = [event.seq for event in reader.archived({b"claim.granted", b"claim.released"})]
    assert old == sorted(set(old))
    assert max(old) < keeper.session.store.events(0, 1)[0].seq


def test_a_prune_that_was_cut_short_is_continued_by_the_next_sweep_whatever_the_config_says_then(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper.work(60)
    keeper.call("seal")
    monkeypatch.setattr(log_retention, "PRUNE_EVENTS", 30)
    with monkeypatch.context() as patch:
        patch.setattr(log_upkeep, "_drop_more", _cut_short)
        with pytest.raises(ZeroDivisionError):
            log_upkeep.by_config(keeper.session, keeper.session.identify("ann"))
    assert keeper.session.store.events(0, 1)[0].seq == 31
    (keeper.folder / ".dibs" / "config.toml").write_text('id = "keeper"\n[log]\nkeep = "90d"\nevents = 1000000\n')
    keeper.session.close()
    keeper.session = keeper.opened()
    keeper.sweep()
    (seal,) = keeper.session.store.seals()
    assert keeper.session.store.events(0, 1)[0].seq == seal.seq + 1
    assert len(keeper.archives) == 1
    _is_whole(keeper)


def _cut_short(*_: Any) -> None:
    raise ZeroDivisionError


def _die(keeper: Keeper, place: Any, name: str, number: int, *, late: bool) -> bool:
    """A process that archives, and kills itself at the so-manieth call; whether it came to its end before."""
    child = os.fork()
    if child == 0:
        try:
            whole, calls = getattr(place, name), 0

            def deadly(*words: Any, **named: Any) -> Any:
                nonlocal calls
                calls += 1
                if calls == number and not late:
                    os.kill(os.getpid(), signal.SIGKILL)
                result = whole(*words, **named)
                if calls == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                return result

            session = keeper.opened()
            session.store.head()
            setattr(place, name, deadly)
            log_upkeep.by_config(session, session.identify("ann"))
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1] == 0


# --- limits and authority


def test_the_oldest_archives_go_when_there_are_too_many_bytes_and_the_log_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = Keeper(tmp_path / "small", monkeypatch, archives=4_000)
    for _ in range(20):
        keeper.work(10)
        keeper.sweep()
    assert sum(path.stat().st_size for path in keeper.archives) <= 4_000
    report = keeper.verified()
    assert report.findings == []
    assert report.first > 1
    dropped = [event for event in keeper.session.store.events(0, 1000) if "log.dropped" in event.body]
    assert dropped
    keeper.session.close()


def test_who_may_not_prune_writes_no_archive(keeper: Keeper) -> None:
    keeper.work(30)
    keeper.call("seal")
    keeper.now += 31 * DAY
    client = processes.this()
    agent = Call(keeper.session.config.policy, agent="claude-1", client=client, ancestors=[client])
    with pytest.raises(Forbidden):
        keeper.session.answer(catalogue.operation("prune"), agent, {})
    assert keeper.archives == []
    made = keeper.call("prune")
    assert len(made["archives"]) == len(keeper.archives) > 0
    assert keeper.codes() == []


def test_one_process_of_a_machine_archives_at_a_time(keeper: Keeper) -> None:
    keeper.work(60)
    keeper.call("seal")
    lock = log_upkeep._locked(keeper.session.place.local)
    assert lock is not None
    assert log_upkeep.by_config(keeper.session, keeper.session.identify("ann")) == 0
    os.close(lock)
    assert log_upkeep.by_config(keeper.session, keeper.session.identify("ann")) == 1


def test_a_lasting_process_archives_and_a_hook_lets_another_do_it(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    monkeypatch.setattr(log_upkeep, "start", started.append)
    keeper.work(60)
    rounds.step(keeper.session, "hook", "ann", every=0, deliver=False)
    assert started == [keeper.session]
    assert keeper.archives == []
    rounds.step(keeper.session, "server", "ann", every=0, deliver=False)
    assert len(keeper.archives) == 1
    assert len(started) == 1


def test_on_redis_the_machine_that_prunes_has_the_archive_and_another_one_says_that_it_has_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running() as server:
        here = Keeper(tmp_path / "here", monkeypatch, server.url)
        archived(here, 80)
        assert here.verified().findings == []
        monkeypatch.setattr("dibs.machine.processes.host", lambda: "another-machine")
        there = Keeper(tmp_path / "there", monkeypatch, server.url)
        report = there.verified()
        assert (report.findings, report.archives, report.elsewhere) == ([], 0, len(here.archives))
        for one in (here, there):
            one.session.close()


# --- housekeeping


def test_housekeeping_removes_what_was_left_and_nothing_else(keeper: Keeper) -> None:
    keeper.work(1)
    local = Path(keeper.session.place.local)
    dead = 2**22 + 1  # above the largest pid
    (local / "wakes").mkdir(exist_ok=True)
    (local / "commits").mkdir()
    os.mkfifo(local / "wakes" / "abc")
    gone = [local / f"look.{dead}.7f", local / "config-1.json", local / "commits" / "12-34", local / "serve.json"]
    kept = [local / "mine.txt", local / "notes.1.txt", local / f"look.{os.getpid()}.7f", local / "commits" / "told"]
    for path in gone + kept:
        path.write_text("x")
        os.utime(path, (1, 1))
    call = keeper.session.identify("ann")
    found = [what for what, _, _ in housekeeping.mends(keeper.session, call)]
    assert found == ["temporary files", "waiters' pipes", "config caches", "commit notes", "server"]
    assert all(path.exists() for path in gone), "looking changes nothing"
    for _, _, mend in housekeeping.mends(keeper.session, call):
        mend()
    assert not any(path.exists() for path in [*gone, local / "wakes" / "abc"])
    assert all(path.exists() for path in kept)
    assert list(housekeeping.mends(keeper.session, call)) == []


def test_a_database_gives_back_what_was_dropped(keeper: Keeper) -> None:
    store: Any = keeper.session.store
    store.run(lambda tx: [tx.put(document_key(str(number)), "x" * 4_000) for number in range(400)])
    store.run(lambda tx: [tx.delete(document_key(str(number))) for number in range(400)])
    store._sql("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    before = os.path.getsize(store.path)
    found = [what for what, _, _ in housekeeping.mends(keeper.session, keeper.session.identify("ann"))]
    assert "database" in found
    assert store.compact() > 1_000_000
    assert os.path.getsize(store.path) < before // 4
    assert store.integrity() == []
    keeper.work(1)
    assert keeper.codes() == []
