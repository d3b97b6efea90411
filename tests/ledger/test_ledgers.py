"""The ledger's files: whole lines whatever happens at the same time, and what an agent has seen."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import pytest

from dibs.ledger import ledger_files, state
from dibs.ledger.ledger_files import Seen
from dibs.machine import processes

ODD = [
    "plain", "tab\there", "line\nbreak", "back\\slash", "\\n", "\\t", "\\\\n", "\\", "täst 日本", "\udc80bytes", "",
    " ", "\r", "\x1f", "\u2028",
]  # fmt: skip
FORK = multiprocessing.get_context("fork")
PATIENCE = 60.0


def load(folder: Path) -> list[list[str]]:
    return [row for row in ledger_files.load(str(folder))[0] if row != [""]]


# --- lines


def test_fields_of_any_kind_come_back_as_they_were(tmp_path: Path) -> None:
    ledger_files.append(str(tmp_path), [("S", text, text) for text in ODD], (0, 0))
    assert load(tmp_path) == [["S", text, text] for text in ODD]


def test_a_ledger_that_is_not_there_is_empty_and_the_first_line_makes_it(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there"
    assert ledger_files.load(str(folder)) == ([], (0, 0))
    assert ledger_files.tail(str(folder), (1, 1)) is None
    assert ledger_files.append(str(folder), [("S", "1")], (0, 0)) is None
    assert load(folder) == [["S", "1"]]
    assert (folder / "live").stat().st_mode & 0o777 == 0o600


def test_a_line_that_is_being_written_is_left_out_and_read_when_it_is_whole(tmp_path: Path) -> None:
    ledger_files.append(str(tmp_path), [("S", "1")], (0, 0))
    with (tmp_path / "live").open("ab") as file:
        file.write(b"S\t2")
        file.flush()
        rows, known = ledger_files.load(str(tmp_path))
        assert [row for row in rows if row != [""]] == [["S", "1"]]
        file.write(b"2\n")
    added = ledger_files.tail(str(tmp_path), known)
    assert added is not None
    assert [row for row in added[0] if row != [""]] == [["S", "22"]]


def test_behind_a_torn_line_the_next_one_is_whole(tmp_path: Path) -> None:
    ledger_files.append(str(tmp_path), [("S", "1")], (0, 0))
    with (tmp_path / "live").open("ab") as file:
        file.write(b"T\ttorn")
    ledger_files.append(str(tmp_path), [("S", "2")], (0, 0))
    assert load(tmp_path) == [["S", "1"], ["T", "torn"], ["S", "2"]]


def test_whoever_appends_gets_what_others_added_since_it_read_and_its_own(tmp_path: Path) -> None:
    ledger_files.append(str(tmp_path), [("S", "1")], (0, 0))
    _, known = ledger_files.load(str(tmp_path))
    ledger_files.append(str(tmp_path), [("S", "2")], known)
    added = ledger_files.append(str(tmp_path), [("S", "3")], known)
    assert added is not None
    assert [row for row in added[0] if row != [""]] == [["S", "2"], ["S", "3"]]
    nothing = ledger_files.tail(str(tmp_path), added[1])
    assert nothing is not None
    assert [row for row in nothing[0] if row != [""]] == []


def test_after_a_cut_all_is_read_again_and_no_line_is_lost(tmp_path: Path) -> None:
    ledger_files.append(str(tmp_path), [("S", "1"), ("S", "2")], (0, 0))
    _, known = ledger_files.load(str(tmp_path))
    assert ledger_files.replace(str(tmp_path), [("S", "cut")], known)
    assert ledger_files.tail(str(tmp_path), known) is None
    assert ledger_files.append(str(tmp_path), [("S", "3")], known) is None
    assert load(tmp_path) == [["S", "cut"], ["S", "3"]]
    assert [path.name for path in tmp_path.iterdir()] == ["live"]


def test_a_cut_by_one_that_has_not_read_the_last_line_is_refused(tmp_path: Path) -> None:
    ledger_files.append(str(tmp_path), [("S", "1")], (0, 0))
    _, known = ledger_files.load(str(tmp_path))
    ledger_files.append(str(tmp_path), [("S", "2")], known)
    assert not ledger_files.replace(str(tmp_path), [], known)
    assert not ledger_files.replace(str(tmp_path / "never"), [], known)
    assert load(tmp_path) == [["S", "1"], ["S", "2"]]


def test_a_cut_waits_for_nobody_who_is_about_to_append(tmp_path: Path) -> None:
    import fcntl

    ledger_files.append(str(tmp_path), [("S", "1")], (0, 0))
    _, known = ledger_files.load(str(tmp_path))
    with (tmp_path / "live").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        assert not ledger_files.replace(str(tmp_path), [], known)
    assert ledger_files.replace(str(tmp_path), [], known)


def test_a_lock_that_somebody_keeps_for_ever_does_not_keep_a_line_from_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    monkeypatch.setattr(ledger_files, "LOCK_TRIES", 3)
    ledger_files.append(str(tmp_path), [("S", "1")], (0, 0))
    with (tmp_path / "live").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        ledger_files.append(str(tmp_path), [("S", "2")], (0, 0))
    assert load(tmp_path) == [["S", "1"], ["S", "2"]]


def _append(folder: str, name: str, count: int) -> None:
    known = (0, 0)
    for number in range(count):
        text = f"{name}-{number}-" + "x" * (number % 300)
        added = ledger_files.append(folder, [("S", text), ("D", text)], known)
        known = added[1] if added is not None else ledger_files.load(folder)[1]


def _cut(folder: str, done: Any) -> None:
    cuts = 0
    while not done.is_set() or not cuts:
        lines, known = ledger_files.load(folder)
        cuts += ledger_files.replace(folder, [line for line in lines if line != [""]], known)
    os._exit(0 if cuts else 1)


def test_of_many_processes_that_append_while_the_ledger_is_cut_down_no_line_is_lost_or_mixed(tmp_path: Path) -> None:
    done = FORK.Event()
    writers = [FORK.Process(target=_append, args=(str(tmp_path), f"w{number}", 150)) for number in range(4)]
    cutter = FORK.Process(target=_cut, args=(str(tmp_path), done))
    for process in (*writers, cutter):
        process.start()
    for process in writers:
        process.join(PATIENCE)
        assert process.exitcode == 0
    done.set()
    cutter.join(PATIENCE)
    assert cutter.exitcode == 0, "it was cut at least once"
    rows = load(tmp_path)
    assert len(rows) == 4 * 150 * 2
    for first, second in zip(rows[::2], rows[1::2], strict=True):
        assert (first[0], second[0], first[1]) == ("S", "D", second[1]), "the lines of one write stay together"
    for number in range(4):
        mine = [row[1].split("-")[1] for row in rows[::2] if row[1].startswith(f"w{number}-")]
        assert mine == [str(one) for one in range(150)], "in the order in which they were written"


def test_the_time_is_the_wall_clocks_and_how_far_it_is_ahead_changes_only_if_it_is_set() -> None:
    before = time.time_ns()
    first, ahead = ledger_files.now()
    assert before <= first <= time.time_ns()
    assert abs(ledger_files.now()[1] - ahead) <= 1


# --- what an agent has seen


def test_the_last_content_that_an_agent_saw_is_what_it_knows(tmp_path: Path) -> None:
    ledger_files.saw(str(tmp_path), "ada", [("x", "c1", 1), ("y", "d1", 1)])
    ledger_files.saw(str(tmp_path), "ada", [("x", "c2", 2)])
    seen = Seen(str(tmp_path), "ada")
    assert (seen.last("x"), seen.last("y"), seen.last("z")) == ("c2", "d1", "")
    assert (seen.ever("x", "c1"), seen.ever("x", "c2"), seen.ever("x", "d1")) == (True, True, False)
    assert seen.files() == {"y": "d1", "x": "c2"}
    assert Seen(str(tmp_path), "bob").last("x") == ""


def test_lines_that_come_out_of_order_are_put_in_order_by_their_times(tmp_path: Path) -> None:
    """Whoever finds a change notes what its actor knows, perhaps after the actor has read the file again."""
    ledger_files.saw(str(tmp_path), "ada", [("x", "c2", 2)])
    ledger_files.saw(str(tmp_path), "ada", [("x", "?", 1)])
    assert Seen(str(tmp_path), "ada").last("x") == "c2"
    assert Seen(str(tmp_path), "ada").files() == {"x": "c2"}


@pytest.mark.parametrize("path", [text for text in ODD if text])
def test_a_path_of_any_name_is_known_by_that_name_and_no_other(tmp_path: Path, path: str) -> None:
    ledger_files.saw(str(tmp_path), "ada", [(path, "c1", 1), (f"below/{path}", "c2", 2), (f"{path}2", "c3", 3)])
    seen = Seen(str(tmp_path), "ada")
    assert (seen.last(path), seen.last(f"below/{path}"), seen.last(f"{path}2")) == ("c1", "c2", "c3")
    assert seen.files()[path] == "c1"


def test_a_damaged_line_is_void_and_the_others_count(tmp_path: Path) -> None:
    ledger_files.saw(str(tmp_path), "ada", [("x", "c1", 1)])
    with (tmp_path / "seen" / "ada").open("ab") as file:
        file.write(b"2\tx\n\n\t\tx\nmany\tc9\tx\n\xff\xfe\tc8\tx\n2\tc7\tmore\tx\n\0\0\n")
    ledger_files.saw(str(tmp_path), "ada", [("y", "d1", 3)])
    seen = Seen(str(tmp_path), "ada")
    assert (seen.last("x"), seen.last("y")) == ("c1", "d1")
    assert seen.files() == {"x": "c1", "y": "d1"}


def test_no_two_agents_share_a_file() -> None:
    ids = [
        "a",
        "A",
        "a/b",
        "a.b",
        "a b",
        "a%2f.b",
        "a\nb",
        "ä",
        "",
        "..",
        "a/../b",
        "x" * 300,
        "x" * 301,
        "日" * 100,
        "日" * 101,
    ]
    ids += ["/".join([f"{'0' * 35}{number}"] * 6) for number in range(9)] + ["\udc80", "%udc80."]
    names = [ledger_files.name_of(agent) for agent in ids if agent]
    assert len(set(names)) == len(names)
    assert all("/" not in name and len(name.encode()) <= 255 for name in names)
    assert not {".", ".."} & set(names)


def test_what_an_agent_has_seen_is_cut_down_when_it_is_long_to_the_last_of_each_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_files, "SEEN_TRIM_BYTES", 2000)
    for number in range(100):
        ledger_files.saw(str(tmp_path), "ada", [(f"f{number % 5}", f"c{number}", number + 1)])
    ledger_files.trim_seen(str(tmp_path), "ada")
    seen = Seen(str(tmp_path), "ada")
    assert seen.files() == {f"f{number}": f"c{95 + number}" for number in range(5)}
    ledger_files.saw(str(tmp_path), "ada", [("f1", "new", 200)])
    assert Seen(str(tmp_path), "ada").last("f1") == "new"
    assert len(list((tmp_path / "seen").iterdir())) == 1


# --- signs of life


def test_a_sign_of_life_is_due_until_it_was_given_and_again_after_some_minutes_or_if_the_clock_was_set(
    tmp_path: Path,
) -> None:
    assert ledger_files.is_due(str(tmp_path), "a/b")
    ledger_files.heard(str(tmp_path), "a/b")
    assert not ledger_files.is_due(str(tmp_path), "a/b")
    path = tmp_path / "alive" / ledger_files.name_of("a/b")
    for shift in (-ledger_files.HEARTBEAT_S - 5, 3600):
        os.utime(path, (time.time() + shift, time.time() + shift))
        assert ledger_files.is_due(str(tmp_path), "a/b")
    ledger_files.heard(str(tmp_path), "a/b")
    assert not ledger_files.is_due(str(tmp_path), "a/b")


def test_the_look_of_a_read_is_the_line_that_any_other_look_leaves(tmp_path: Path) -> None:
    ledger_files.note_look(str(tmp_path), (5, 7), "c1", "1:2:3:4", "a b")
    assert [state.look_line(state.stamp(5, 7), "c1", "1:2:3:4", "a b")] == [
        tuple(row) for row in ledger_files.load(str(tmp_path))[0]
    ]


def test_agents_of_one_client_are_one_look_at_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[object] = []

    def alive(process: list[object]) -> bool:
        looks.append(process)
        return process == ["here", 1, 1]

    monkeypatch.setattr(processes, "alive", alive)
    for agent, client in (("a", 1), ("a/child", 1), ("b", 2), ("c", 2)):
        ledger_files.heard(str(tmp_path), agent, ["here", client, 1])
    ledger_files.heard(str(tmp_path), "nobody's")
    (tmp_path / "alive" / "torn").write_bytes(b"[1,")
    assert ledger_files.gone(str(tmp_path), ["a", "a/child", "b", "c", "nobody's", "torn", "never"]) == ["b", "c"]
    assert looks == [["here", 1, 1], ["here", 2, 1]]
