"""`dibs undo`: what an agent changed comes back byte for byte, and what others did stays."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import traceback
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs import aio
from dibs.audit.answers import UndoneView
from dibs.errors import Conflict, Forbidden, Held, Invalid, NotFound
from dibs.ledger import compaction, ledger_files, working_tree
from dibs.ledger import state as ledger
from dibs.operations.claims import records as claim_records
from dibs.undo import apply, scope, undo
from dibs.verify.checker import verify_store
from tests.plain_git import git
from tests.undo.undo_desk import Desk, State, get, lines, put, tick

ODD = (
    "a.txt",
    "with space.txt",
    "new\nline",
    "tab\there",
    "ünïcode-漢",
    "d/e/f.bin",
    "-dash",
    "q'uote\"",
    ":colon*[x]",
)
CONTENTS: list[State] = [
    None, (b"", ""), (b"one\n", ""), (b"one\ntwo\n", "x"), (b"one\r\ntwo\r\n", ""), (b"\0\xff\xfebinary\r\n", ""),
    (b"no end", "x"), (b"target", "l"), (b"../else where", "l"), (b"x" * 70_000, ""),
]  # fmt: skip


# --- byte for byte


@pytest.mark.parametrize("tracked", [True, False])
def test_a_file_of_any_kind_comes_back_whatever_became_of_it(desk: Desk, tracked: bool) -> None:
    before = {f"d{place}/f": state for place, state in enumerate(CONTENTS)}
    for name, state in before.items():
        put(desk.folder / name, state)
    if tracked:
        desk.commit("first")
    else:
        working_tree.of(desk.session.place).look_at_all()
    for by in range(1, len(CONTENTS)):
        after = {name: CONTENTS[(place + by) % len(CONTENTS)] for place, name in enumerate(before)}
        desk.undo(desk.change("ann", after))
        assert desk.state(*before) == before, by
    assert not (desk.folder / "d0").exists()
    assert verify_store(desk.session.store).ok


def test_a_file_that_was_changed_and_then_made_executable_comes_back(desk: Desk) -> None:
    put(desk.folder / "a", lines("1"))
    desk.commit("first")
    desk.change("ann", {"a": lines("2")})
    desk.change("ann", {"a": (b"2\n", "x")})
    desk.change("ann", {"a": (b"3\n", "x")})
    assert desk.plan("ann").blocked == []
    done = desk.undo("ann")
    assert desk.all() == {"a": lines("1")}
    desk.undo(done["undo"])
    assert desk.all() == {"a": (b"3\n", "x")}


def test_a_path_of_any_name_comes_back(desk: Desk) -> None:
    before: dict[str, State] = {name: (name.encode(), "x") for name in ODD}
    for name, state in before.items():
        put(desk.folder / name, state)
    desk.commit("first")
    desk.change("ann", {**dict.fromkeys(ODD), **{f"{name}2": (b"new", "") for name in ODD}})
    desk.undo("ann")
    assert desk.all() == before


def test_a_ledger_that_was_compacted_still_knows_what_was_there(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "MAX_OBSOLETE_LINES", 1)
    monkeypatch.setattr(ledger, "COMPACT_AT_LINES", 1)
    put(desk.folder / "a", (b"0", ""))
    desk.commit("first")
    first = desk.change("ann", {"a": (b"1", "")})
    for turn in range(5):
        desk.change("bob", {f"b{turn}": (b"b", "")})
    assert ledger_files.past(desk.session.place.private)
    desk.undo(first)
    assert get(desk.folder / "a") == (b"0", "")


def test_what_is_older_than_the_policy_is_forgotten_and_said_to_be(desk: Desk) -> None:
    put(desk.folder / "a", (b"0", ""))
    claim = desk.change("ann", {"a": (b"1", "")})
    working_tree.of(desk.session.place).cut()
    tree = working_tree.of(desk.session.place)
    lines = compaction.compacted(tree.state, tree.now)
    ledger_files.replace(tree.folder, lines, ledger_files.load(tree.folder)[1], compaction.past(tree.state))
    ledger_files.trim_past(tree.folder, lambda line: ledger.is_change_since(line, tree.now + 1))
    assert ledger_files.past(tree.folder) == []
    with pytest.raises(NotFound):
        desk.plan("none")
    assert desk.plan(claim).files == []
    assert get(desk.folder / "a") == (b"1", "")


def test_an_agent_without_hooks_is_known_by_its_claim(desk: Desk) -> None:
    put(desk.folder / "a", (b"0", ""))
    desk.commit("first")
    claim = desk.change("script", {"a": (b"1", ""), "new": (b"n", "")}, hooks=False)
    desk.undo(claim)
    assert desk.all() == {"a": (b"0", "")}


def test_without_git_it_works_as_well(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "repo", with_git=False)
    put(desk.folder / "a", (b"0", "x"))
    claim = desk.change("ann", {"a": (b"1", ""), "b": (b"b", "")})
    desk.undo(claim)
    assert desk.all() == {"a": (b"0", "x")}
    desk.close()


def test_a_folder_in_the_place_of_a_file_and_a_rename_come_back(desk: Desk) -> None:
    put(desk.folder / "x", (b"file", ""))
    put(desk.folder / "old", (b"same", ""))
    desk.commit("first")
    before = desk.all()
    claim = desk.change("ann", {"x": None, "old": None, "new": (b"same", "")})
    desk.change("ann", {"x/y": (b"below", "")})
    desk.undo("ann")
    assert desk.all() == before
    desk.undo(claim)


# --- others


def test_what_others_built_on_it_is_refused_and_merged_if_told_so(desk: Desk) -> None:
    put(desk.folder / "a", lines("1", "2", "3", "4", "5", "6", "7"))
    desk.commit("first")
    claim = desk.change("ann", {"a": lines("ONE", "2", "3", "4", "5", "6", "7")})
    desk.change("bob", {"a": lines("ONE", "2", "3", "4", "5", "6", "SEVEN")})
    (blocked,) = desk.plan(claim).blocked
    assert (blocked.path, [run.by for run in blocked.blockers]) == ("a", ["bob"])
    done = desk.undo(claim, theirs=True)
    assert get(desk.folder / "a") == lines("1", "2", "3", "4", "5", "6", "SEVEN")
    assert done["conflicts"] == 0


def test_a_conflict_is_marked_and_what_cannot_be_merged_stays(desk: Desk) -> None:
    put(desk.folder / "a", lines("1"))
    put(desk.folder / "bin", (b"\0", ""))
    desk.commit("first")
    claim = desk.change("ann", {"a": lines("ONE"), "bin": (b"\0ann", ""), "new": (b"ann", "")})
    desk.change("bob", {"a": lines("uno"), "bin": (b"\0bob", ""), "new": (b"bob", "")})
    done = desk.undo(claim, theirs=True)
    text = (desk.folder / "a").read_text()
    assert text.startswith("<<<<<<< now\nuno\n|||||||")
    assert f"=======\n1\n>>>>>>> before {claim}\n" in text
    assert desk.state("bin", "new") == {"bin": (b"\0bob", ""), "new": (b"bob", "")}
    assert done["conflicts"] >= 1


def test_another_agent_s_mode_change_is_kept_by_a_merge(desk: Desk) -> None:
    put(desk.folder / "a", lines("1"))
    desk.commit("first")
    claim = desk.change("ann", {"a": lines("2")})
    desk.change("bob", {"a": (b"2\n", "x")})
    assert desk.plan(claim).blocked
    desk.undo(claim, theirs=True)
    assert get(desk.folder / "a") == (b"1\n", "x")


def test_files_that_another_agent_holds_are_refused_and_nothing_is_changed(desk: Desk) -> None:
    put(desk.folder / "a", lines("1"))
    put(desk.folder / "b", lines("1"))
    desk.commit("first")
    claim = desk.change("ann", {"a": lines("2"), "b": lines("2")})
    desk.claim("bob", "b")
    with pytest.raises(Held):
        desk.undo(claim)
    assert desk.state("a", "b") == {"a": lines("2"), "b": lines("2")}
    assert not [one for one in os.listdir(f"{desk.session.place.private}/undo") if one.endswith(".json")]
    assert verify_store(desk.session.store).ok


def test_only_an_orchestrator_or_a_person_undoes_another_agent_s_work(desk: Desk) -> None:
    put(desk.folder / "a", lines("1"))
    desk.commit("first")
    claim = desk.change("ann", {"a": lines("2")})
    session = desk.session
    plan = desk.plan(claim)
    call = session.identify("bob")
    call.session = "bob"
    with pytest.raises(Forbidden):
        apply.Worker(session, call).begin(plan)
    desk.undo(claim, by="ann")
    assert get(desk.folder / "a") == lines("1")


def test_the_undone_agent_is_told_and_the_log_says_it(desk: Desk) -> None:
    claim = desk.change("ann", {"a": lines("2")})
    done = desk.undo(claim)
    inbox = desk.session.run(desk.session.operation("inbox"), desk.session.identify("ann"), {})["messages"]
    assert [one["type"] for one in inbox] == ["undo"]
    assert "undid what you changed in a" in inbox[0]["text"]
    desk.undo(done["undo"])
    assert get(desk.folder / "a") == lines("2")
    status = desk.session.run(desk.session.operation("status"), desk.session.identify("ann"), {})
    assert status["claims"] == []


def held_by(desk: Desk, agent: str) -> list[tuple[str, list[str], str, str]]:
    found = desk.session.run(desk.session.operation("status"), desk.session.identify(agent), {})["claims"]
    return [(one["agent"], one["resources"], one["mode"], one["reason"]) for one in found]


@pytest.mark.parametrize("mode", ["write", "read"])
def test_the_caller_s_own_claim_outlives_the_undo_with_its_own_reason(desk: Desk, mode: Any) -> None:
    put(desk.folder / "a", lines("1"))
    claim = desk.change("ann", {"a": lines("2"), "b": lines("b")})
    with dibs.open(str(desk.folder), "cy") as ws:
        ws.claim("a", mode=mode, reason="a look at the port")
        done = desk.undo(claim, "a", by="cy")
        (kept,) = held_by(desk, "cy")
        assert kept == ("cy", ["a"], mode, "a look at the port")
        assert [row["undo"] for row in claims_of(desk, "cy") if "undo" in row] == []
        ws.release(all=True)
        desk.undo(done["undo"], by="cy")
        assert held_by(desk, "cy") == []


def test_nothing_is_the_work_of_an_undo_only_because_its_caller_held_the_file(desk: Desk) -> None:
    """Clocks differ, so a change of nobody's right before the claim would be: by chance, so the scope is asked."""
    claim = desk.change("ann", {"a": lines("2")})
    done = desk.undo(claim, by="cy")
    of_undo, _ = scope.find(desk.session, desk.session.identify("cy"), done["undo"], 0)
    of_claim, _ = scope.find(desk.session, desk.session.identify("cy"), claim, 0)
    assert (of_undo.holds, bool(of_claim.holds)) == ([], True)


def claims_of(desk: Desk, agent: str) -> list[claim_records.Claim]:
    return desk.session.store.look(lambda tx: claim_records.claims_of(tx, agent))


def test_an_agent_without_hooks_that_undoes_a_part_can_undo_the_rest(desk: Desk) -> None:
    put(desk.folder / "a", lines("1"))
    desk.commit("first")
    desk.change("script", {"a": lines("2"), "new": lines("n")}, hooks=False)
    desk.undo("script", "new", by="script")
    assert [one.path for one in desk.plan("script").files] == ["a"]
    desk.undo("script", by="script")
    assert desk.all() == {"a": lines("1")}


def test_what_a_live_agent_holds_is_refused_to_others_and_undone_by_itself(desk: Desk) -> None:
    put(desk.folder / "a", lines("1"))
    desk.commit("first")
    with dibs.open(str(desk.folder), "ann") as ann, dibs.open(str(desk.folder), "bob") as bob:
        tree = working_tree.of(desk.session.place)
        tree.look(["a"])
        tree.write()
        claim = ann.claim("a", reason="mine")
        tick()
        put(desk.folder / "a", lines("2"))
        with pytest.raises(Held, match="ann holds a"):
            bob.undo(claim.answer["claim"])
        assert ann.undo(claim.answer["claim"])["restored"] == ["a"]
        assert get(desk.folder / "a") == lines("1")
        claim.check()


# --- Python


def test_python_undoes_by_the_same_code(desk: Desk) -> None:
    put(desk.folder / "a", lines("1"))
    claim = desk.change("ann", {"a": lines("2"), "b": lines("b")})
    with dibs.open(str(desk.folder), "boss") as ws:
        shown = ws.undo(claim, "a", dry_run=True)
        assert (shown["done"], [one["path"] for one in shown["files"]]) == (False, ["a"])
        assert "-2\n+1" in shown["files"][0]["diff"]
        done = ws.undo(claim, since="1h")
        assert (done["done"], sorted(done["restored"]), done["commit"]) == (True, ["a", "b"], None)
        assert desk.all() == {"a": lines("1")}
        with pytest.raises(NotFound, match="nothing that claim"):
            ws.undo(claim)
        ws.undo(done["undo"])
        assert desk.state("a", "b") == {"a": lines("2"), "b": lines("b")}
        for odd in (0, "0s", "-1h", "soon", -1, True, float("nan"), [1]):
            with pytest.raises(Invalid, match="since"):
                ws.undo(claim, since=odd)  # type: ignore[arg-type]
        for what in ("", " ", None, 7):
            with pytest.raises(Invalid, match="what"):
                ws.undo(what)  # type: ignore[arg-type]
    assert desk.state("a", "b") == {"a": lines("2"), "b": lines("b")}


def test_asyncio_undoes_as_well(desk: Desk) -> None:
    put(desk.folder / "a", lines("1"))
    claim = desk.change("ann", {"a": lines("2")})

    async def undone() -> list[str]:
        async with aio.open(str(desk.folder), "boss") as ws:
            return (await ws.undo(claim))["restored"]

    assert asyncio.run(undone()) == ["a"]


# --- commits


def test_committed_work_is_reverted_by_one_commit_and_others_staged_work_stays(desk: Desk) -> None:
    put(desk.folder / "a", lines("1"))
    put(desk.folder / "keep", lines("k"))
    desk.commit("first")
    desk.change("ann", {"a": lines("2"), "new": (b"n", "x")})
    desk.commit("ann's one", "ann")
    desk.change("ann", {"a": lines("3")})
    desk.commit("ann's two", "ann")
    put(desk.folder / "keep", lines("staged"))
    git(desk.folder, "add", "keep")
    done = desk.undo("ann")
    assert desk.all() == {"a": lines("1"), "keep": lines("staged")}
    assert git(desk.folder, "status", "--porcelain") == "M  keep"
    assert git(desk.folder, "rev-list", "--count", "HEAD") == "4"
    message = git(desk.folder, "log", "-1", "--format=%B")
    assert message.startswith("Undo agent ann\n")
    assert message.count("This reverts commit ") == 2
    desk.undo(done["undo"])
    assert desk.state("a", "new") == {"a": lines("3"), "new": (b"n", "x")}
    assert git(desk.folder, "status", "--porcelain") == "M  keep"


def test_unfinished_work_that_another_agent_s_commit_took_in_is_unfinished_again(desk: Desk) -> None:
    put(desk.folder / "a", lines("1"))
    desk.commit("first")
    desk.change("bob", {"a": lines("1", "bob")})
    desk.change("ann", {"a": lines("ann", "bob")})
    desk.commit("ann's, with what bob had begun", "ann")
    done = desk.undo("ann")
    assert git(desk.folder, "show", "HEAD:a") == "1"
    assert get(desk.folder / "a") == lines("1", "bob")
    desk.undo(done["undo"])
    assert git(desk.folder, "show", "HEAD:a") == "ann\nbob"
    assert get(desk.folder / "a") == lines("ann", "bob")
    assert git(desk.folder, "status", "--porcelain") == ""


def test_committed_and_uncommitted_work_come_back_together(desk: Desk) -> None:
    put(desk.folder / "a", lines("1"))
    desk.commit("first")
    desk.change("ann", {"a": lines("2")})
    desk.commit("ann's", "ann")
    desk.change("ann", {"a": lines("3")})
    done = desk.undo("ann")
    assert get(desk.folder / "a") == lines("1")
    desk.undo(done["undo"])
    assert git(desk.folder, "show", "HEAD:a") == "2"
    assert get(desk.folder / "a") == lines("3")


def test_a_commit_that_others_built_on_is_refused_and_merged_if_told_so(desk: Desk) -> None:
    put(desk.folder / "a", lines("1", "2", "3", "4", "5"))
    desk.commit("first")
    desk.change("ann", {"a": lines("ONE", "2", "3", "4", "5")})
    desk.commit("ann's", "ann")
    desk.change("bob", {"a": lines("ONE", "2", "3", "4", "FIVE")})
    desk.commit("bob's", "bob")
    (blocked,) = desk.plan("ann").blocked
    assert [run.by for run in blocked.blockers] == ["bob"]
    desk.undo("ann", theirs=True)
    assert get(desk.folder / "a") == lines("1", "2", "3", "4", "FIVE")
    assert git(desk.folder, "status", "--porcelain") == ""


def test_line_ends_that_git_changes_come_back_as_the_working_tree_had_them(desk: Desk) -> None:
    git(desk.folder, "config", "core.autocrlf", "true")
    put(desk.folder / "a", (b"1\r\n2\r\n", ""))
    desk.commit("first")
    desk.change("ann", {"a": (b"1\r\n", "")})
    desk.commit("ann's", "ann")
    desk.undo("ann")
    assert get(desk.folder / "a") == (b"1\r\n2\r\n", "")
    assert git(desk.folder, "status", "--porcelain") == ""


def test_during_a_merge_nothing_is_committed(desk: Desk) -> None:
    put(desk.folder / "a", lines("1"))
    desk.commit("first")
    desk.change("ann", {"a": lines("2")})
    head = desk.commit("ann's", "ann")
    Path(desk.folder, ".git", "MERGE_HEAD").write_text(f"{head}\n")
    with pytest.raises(Conflict):
        desk.undo("ann")
    assert get(desk.folder / "a") == lines("2")


def test_staged_work_that_is_undone_leaves_the_index(desk: Desk) -> None:
    put(desk.folder / "a", lines("1"))
    desk.commit("first")
    claim = desk.change("ann", {"a": lines("2"), "new": lines("n")})
    git(desk.folder, "add", "-A")
    desk.undo(claim)
    assert git(desk.folder, "status", "--porcelain") == ""


# --- crashes


@pytest.mark.long
@pytest.mark.parametrize("commit", [False, True])
def test_killed_at_any_step_the_next_run_continues_to_the_same_end(tmp_path: Path, commit: bool) -> None:
    for step in range(1, 40):
        (tmp_path / f"{step}").mkdir()
        desk = Desk(tmp_path / f"{step}" / "repo")
        put(desk.folder / "a", lines("1"))
        put(desk.folder / "b", (b"b", "x"))
        desk.commit("first")
        claim = desk.change("ann", {"a": lines("2"), "b": None, "new": (b"n", "")})
        if commit:
            desk.commit("ann's", "ann")
        what = "ann" if commit else claim
        plan = desk.plan(what)
        child = os.fork()
        if not child:
            killing(step)
            try:
                session = type(desk.session)(str(desk.folder), None)
                apply.Worker(session, session.identify("boss")).begin(plan)
            except BaseException:  # noqa: BLE001 - this process is a copy of pytest's, and must not go on as one
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert ended in {0, -signal.SIGKILL}
        worker = apply.Worker(desk.session, desk.session.identify("boss"))
        for made in worker.unfinished():
            worker.proceed(made)
        if desk.plan(what).files:
            desk.undo(what)
        assert desk.all() == {"a": lines("1"), "b": (b"b", "x")}, step
        assert git(desk.folder, "status", "--porcelain") == "", step
        assert worker.unfinished() == []
        assert verify_store(desk.session.store).ok
        desk.close()
        if ended == 0:
            assert step > 5
            return
    raise AssertionError("it never ended by itself")


@pytest.mark.long
@pytest.mark.parametrize("commit", [False, True])
def test_ctrl_c_leaves_all_of_it_or_nothing_and_no_claim(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, commit: bool
) -> None:
    put(desk.folder / "a", lines("1"))
    put(desk.folder / "b", (b"b", "x"))
    desk.commit("first")
    ends: set[str] = set()
    for step in range(1, 60):
        claim = desk.change("ann", {"a": lines("2"), "b": None, "new": (b"n", "")})
        if commit:
            desk.commit("ann's", "ann")
        plan = desk.plan("ann" if commit else claim)
        worker = apply.Worker(desk.session, desk.session.identify("boss"))
        with monkeypatch.context() as patched:
            fired = interrupting(patched, step)
            try:
                worker.begin(plan)
                ended = "done"
            except KeyboardInterrupt:
                ended = "interrupted"
        assert worker.unfinished() == []
        assert held_by(desk, "boss") == []
        undone = {"a": lines("1"), "b": (b"b", "x")}
        assert desk.all() in ([undone] if ended == "done" else [undone, {"a": lines("2"), "new": (b"n", "")}]), step
        ends.add(ended)
        tick()
        if desk.all() != undone:
            desk.undo("ann" if commit else claim)
        if not fired:  # it has fewer steps
            break
    assert ends == {"done", "interrupted"}
    assert verify_store(desk.session.store).ok


def interrupting(patched: pytest.MonkeyPatch, step: int) -> list[int]:
    """Ctrl-C comes once, at the given step; then that is in the list."""
    left = itertools.count(1)
    fired: list[int] = []

    def counted(function: Any) -> Any:
        def call(*words: Any, **fields: Any) -> Any:
            if next(left) == step:
                fired.append(step)
                raise KeyboardInterrupt
            return function(*words, **fields)

        return call

    for name in ("replace", "unlink", "rename", "chmod", "rmdir"):
        patched.setattr(os, name, counted(getattr(os, name)))
    for name in ("_put", "_stage", "_commit", "_write_journal"):
        patched.setattr(apply.Worker, name, counted(getattr(apply.Worker, name)))
    return fired


def test_an_interrupted_undo_that_the_caller_may_not_finish_stands_in_the_way_of_its_own_files_only(desk: Desk) -> None:
    for name in ("a", "b"):
        put(desk.folder / name, lines("1"))
    desk.commit("first")
    claim = desk.change("ann", {"a": lines("2")})
    desk.change("bob", {"a": lines("3"), "b": lines("2")})
    session = desk.session
    worker = apply.Worker(session, session.identify("boss"))
    nothing: dict[str, Any] = {name: [] for name in ("files", "staged", "entries", "commits")}
    made: Any = {
        "undo": "u1",
        "what": f"claim {claim}",
        "of": ["ann"],
        "paths": ["a"],
        "conflicts": 0,
        "before": "",
        **nothing,
    }
    Path(worker.folder).mkdir(parents=True)
    worker._take(made)
    worker._write_journal(made)
    desk.release("boss")
    bob = session.identify("bob")
    bob.session = "bob"  # in the shell of its client
    with pytest.raises(Conflict, match="undo u1 of a was interrupted: `dibs undo` in this way is not for bob"):
        undo.Undo(session, bob).run("bob")
    done = undo.Undo(session, bob).run("bob", ["b"])
    assert done["restored"] == ["b"]
    assert "Undo u1 was interrupted and is not finished" in done["notes"][0]
    told: list[UndoneView] = []
    with pytest.raises(NotFound):
        undo.Undo(session, session.identify("boss"), told=told.append).run(f"claim:{claim}", ["b"])
    assert [one["undo"] for one in told] == ["u1"]


def killing(step: int) -> None:
    """This process dies by SIGKILL before the given step that changes a file."""
    left = itertools.count(1)

    def counted(function: Any) -> Any:
        def call(*words: Any, **fields: Any) -> Any:
            if next(left) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*words, **fields)

        return call

    for name in ("replace", "unlink", "rename", "chmod", "rmdir"):
        setattr(os, name, counted(getattr(os, name)))
