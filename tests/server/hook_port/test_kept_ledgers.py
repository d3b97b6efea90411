"""Ledgers that a server keeps between hooks: always what the file says, never what a hook only assumed."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from dibs.ledger import ledger_files
from dibs.ledger.cache import KeptLedgers
from dibs.ledger.state import State

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dibs.ledger.cache import KeptTree


@pytest.fixture
def ledgers() -> Iterator[KeptLedgers]:
    made = KeptLedgers()
    yield made
    made.close()


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "ledger").mkdir()
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text(f"{name}\n")
        os.utime(tmp_path / name, (1, 1))
    return tmp_path


def tree(ledgers: KeptLedgers, top: Path) -> KeptTree:
    return ledgers.tree(str(top), str(top / "ledger"))


def told(state: State) -> Any:
    """All that a state says."""
    heads = {
        path: [getattr(head, name) for name in head.__slots__ if name != "change"] for path, head in state.heads.items()
    }
    calls = {key: [getattr(call, name) for name in call.__slots__] for key, call in state.calls.items()}
    return heads, calls, state.count, state.spare, state.moves, state.looks, state.began, sorted(state.untold)


def replayed(top: Path) -> Any:
    return told(State(ledger_files.load(str(top / "ledger"))[0]))


def hook(tree: KeptTree, agent: str, *paths: str) -> None:
    """What a hook before an edit does with its tree."""
    tree.survey(paths)
    tree.settle()
    for path in paths:
        tree.name(f"{agent} 1", path, "w")
    tree.open_call(f"{agent} 1", agent, is_open=False)
    tree.write()


def test_a_state_is_lent_again_with_what_others_appended_and_is_what_the_file_says(
    ledgers: KeptLedgers, top: Path
) -> None:
    first = tree(ledgers, top)
    hook(first, "ada", "a.py")
    first.give_back()
    second = tree(ledgers, top)
    state = second.state
    ledger_files.append(str(top / "ledger"), [("B", "5:0", "ben")], (0, 0))
    hook(second, "ben", "a.py", "b.py")
    second.give_back()
    third = tree(ledgers, top)
    assert third.state is state
    assert told(third.state) == replayed(top)


def test_what_a_hook_only_assumed_is_not_kept(ledgers: KeptLedgers, top: Path) -> None:
    first = tree(ledgers, top)
    hook(first, "ada", "a.py")
    first.give_back()
    before = replayed(top)
    second = tree(ledgers, top)
    state = second.state
    os.utime(top / "a.py", (3, 3))  # the same content, found at a later time
    second.survey()
    second.settle()
    assert told(second.state) != before
    second.give_back()
    third = tree(ledgers, top)
    assert third.state is state
    assert told(third.state) == before == replayed(top)


def test_lines_of_others_come_before_those_that_are_not_written_yet(ledgers: KeptLedgers, top: Path) -> None:
    first = tree(ledgers, top)
    hook(first, "ada", "a.py", "b.py")
    os.utime(top / "b.py", (3, 3))
    first.survey()
    first.settle()
    looked = first.state.heads["b.py"].looked
    ledger_files.append(str(top / "ledger"), [("B", "5:0", "ben")], (0, 0))
    (top / "c.py").write_text("changed\n")
    first.look(["c.py"])
    assert "ben" in first.state.began
    assert first.state.heads["b.py"].looked == looked
    first.write()
    assert told(first.state) == replayed(top)
    first.give_back()


def test_two_hooks_at_once_have_two_states(ledgers: KeptLedgers, top: Path) -> None:
    hook(tree(ledgers, top), "ada", "a.py")
    one, two = tree(ledgers, top), tree(ledgers, top)
    assert one.state is not two.state
    hook(one, "ben", "b.py")
    hook(two, "cid", "c.py")
    one.give_back()
    two.give_back()
    assert told(tree(ledgers, top).state) == replayed(top)


def test_a_replaced_ledger_is_read_again(ledgers: KeptLedgers, top: Path) -> None:
    first = tree(ledgers, top)
    hook(first, "ada", "a.py")
    first.give_back()
    live = top / "ledger" / "live"
    text = live.read_text()
    other = top / "other"
    other.write_text(text.replace("ada", "eve"))
    other.replace(live)
    second = tree(ledgers, top)
    assert "eve" in second.state.began
    assert told(second.state) == replayed(top)
    second.give_back()


def test_a_ledger_that_was_changed_in_place_is_read_again(ledgers: KeptLedgers, top: Path) -> None:
    first = tree(ledgers, top)
    hook(first, "ada", "a.py")
    first.give_back()
    live = top / "ledger" / "live"
    live.write_text(live.read_text().replace("ada", "eve"))
    os.utime(live, (2, 2))
    assert "eve" in tree(ledgers, top).state.began


def test_hooks_of_many_threads_leave_states_that_the_file_says(ledgers: KeptLedgers, top: Path) -> None:
    def work(agent: str) -> None:
        for number in range(12):
            one = tree(ledgers, top)
            hook(one, f"{agent}{number}", "a.py", "b.py")
            one.shorten()
            one.give_back()

    threads = [threading.Thread(target=work, args=(f"t{n}-",)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for _ in range(8):
        assert told(tree(ledgers, top).state) == replayed(top)


def test_no_file_stays_open(top: Path) -> None:
    ledgers = KeptLedgers()
    before = set(os.listdir("/proc/self/fd"))
    for agent in ("ada", "ben"):
        one = tree(ledgers, top)
        hook(one, agent, "a.py")
        one.give_back()
    ledgers.close()
    assert set(os.listdir("/proc/self/fd")) <= before  # the collector may have closed what another test left
