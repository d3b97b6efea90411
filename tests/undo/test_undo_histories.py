"""`dibs undo` over random histories of several agents: byte for byte what the model says, and back again.

Files of any kind and name are written, made executable, linked, renamed, removed and replaced by folders; agents with
hooks and one without, commits in between, files that git ignores. What others did stays; what is undone comes back by
the undo of the undo.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.errors import NotFound
from dibs.stores.seam import read_event
from dibs.verify.checker import verify_store
from tests.plain_git import git
from tests.undo.undo_desk import Desk, State, get, put

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

SCRIPTS = ("script", "robot")  # agents without hooks: known by their claims alone
NAMES = ("a", "b", "d/c", "d/with space", "new\nline", "ünï-漢", "-dash", ":colon*[x]")
PLAIN = ("a", "b", "d/c", "d/with space", "ünï-漢", ":colon*[x]")  # that can be claimed, and begin as no link
KINDS: tuple[State, ...] = (
    None, (b"", ""), (b"one\n", ""), (b"one\n", "x"), (b"one\r\ntwo\r\n", ""), (b"\0\xff\xfe\r\n", "x"),
    (b"no end", ""), (b"target", "l"), (b"../else where", "l"),
)  # fmt: skip
OTHERS: State = (b"others built on it", "")
START: dict[str, State] = {
    "a": (b"start\n", ""), "b": None, "d/c": (b"c\r\n", "x"), "d/with space": (b"", ""), "new\nline": (b"n", ""),
    "ünï-漢": None, "-dash": (b"target", "l"), ":colon*[x]": (b"\0", ""),
}  # fmt: skip


class Step(NamedTuple):
    """What an agent does: files get these contents; or `moved` goes to the other name; then it may commit its files."""

    by: str
    wanted: dict[str, State]
    moved: tuple[str, str] | None
    commits: bool


def steps(agents: tuple[str, ...], *, commits: bool = False) -> st.SearchStrategy[list[Step]]:
    def of(by: str) -> st.SearchStrategy[Step]:
        names = st.sampled_from(PLAIN if by in SCRIPTS else NAMES)
        edits = st.dictionaries(names, st.sampled_from(KINDS[:-2] if by in SCRIPTS else KINDS), min_size=1, max_size=3)
        moves = st.tuples(names, names).filter(lambda pair: pair[0] != pair[1])
        may = st.booleans() if commits else st.just(value=False)
        return st.one_of(st.builds(Step, st.just(by), edits, st.none(), may),
                         st.builds(Step, st.just(by), st.just({}), moves, may))  # fmt: skip

    return st.lists(st.sampled_from(agents).flatmap(of), min_size=1, max_size=6)


def play(desk: Desk, history: list[Step]) -> list[tuple[str, dict[str, tuple[State, State]]]]:
    """Do it; what really changed, by whom."""
    for name, state in START.items():
        put(desk.folder / name, state)
    desk.commit("first")
    for agent in {step.by for step in history}:
        desk.register(agent)
    done = []
    for step in history:
        wanted = dict(step.wanted)
        if step.moved is not None:
            wanted = {step.moved[0]: None, step.moved[1]: get(desk.folder / step.moved[0])}
        changed = {name: (get(desk.folder / name), state) for name, state in wanted.items()}
        changed = {name: (was, now) for name, (was, now) in changed.items() if was != now}
        if changed:
            desk.change(step.by, {name: now for name, (_, now) in changed.items()}, hooks=step.by not in SCRIPTS)
            done.append((step.by, changed))
            if step.commits:
                commit(desk, step.by, list(changed))
    return done


def commit(desk: Desk, agent: str, names: list[str]) -> None:
    """The agent commits its own files, and nothing else."""
    for name in names:
        words = ("add",) if get(desk.folder / name) is not None else ("rm", "-q", "--cached", "--ignore-unmatch")
        git(desk.folder, *words, "--", f":(literal){name}")
    git(desk.folder, "commit", "-q", "--allow-empty", "-m", "more", f"--trailer=Dibs-Agent: {agent}")


def model(done: list[tuple[str, dict[str, tuple[State, State]]]], agent: str) -> dict[str, State]:
    """For each file what undoing all of an agent's edits makes of it; OTHERS where they built on it."""
    found: dict[str, State] = {}
    for name, start in START.items():
        runs: list[tuple[str, State, State]] = []
        value = start
        for by, changed in done:
            if name in changed:
                value = changed[name][1]
                if runs and runs[-1][0] == by:
                    runs[-1] = (by, runs[-1][1], value)
                else:
                    runs.append((by, *changed[name]))
        for by, before, after in reversed(runs):
            if by == agent and before != after:
                if value == after:
                    value = before
                elif value != before:
                    value = OTHERS
                    break
        found[name] = value
    return found


@settings(max_examples=max(10, settings().max_examples // 20))  # each has a repository of its own
@given(history=steps(("ann", "bob", "cy")))
def test_any_history_comes_back_as_the_model_says_and_forth_again(
    tmp_path_factory: pytest.TempPathFactory, history: list[Step]
) -> None:
    compare(Desk(folder_of(tmp_path_factory)), history, "ann")


@settings(max_examples=max(5, settings().max_examples // 40))
@given(history=steps(SCRIPTS))
def test_so_does_a_history_of_agents_without_hooks(
    tmp_path_factory: pytest.TempPathFactory, history: list[Step]
) -> None:
    compare(Desk(folder_of(tmp_path_factory)), history, SCRIPTS[0])


def compare(desk: Desk, history: list[Step], agent: str) -> None:
    """Play it, undo all that this agent did, compare with the model, and undo the undo."""
    try:
        done = play(desk, history)
        before = desk.all()
        expected = model(done, agent)
        blocked = sorted(name for name, state in expected.items() if state == OTHERS)
        free = [name for name in START if name not in blocked]
        try:
            plan = desk.plan(agent)
        except NotFound:
            assert {name: before.get(name) for name in START} == expected
            return
        assert sorted(one.path for one in plan.blocked) == blocked
        if [one for one in plan.files if one.path in free]:
            undone = desk.undo(agent, *free)
            wanted = {name: before.get(name) if name in blocked else state for name, state in expected.items()}
            assert desk.all() == {name: state for name, state in wanted.items() if state is not None}
            desk.undo(undone["undo"])
        else:
            assert {name: before.get(name) for name in free} == {name: expected[name] for name in free}
        assert desk.all() == before
        assert verify_store(desk.session.store).ok
    finally:
        desk.close()


@settings(max_examples=max(10, settings().max_examples // 20))
@given(history=steps(("ann", "bob", "ann/helper"), commits=True))
def test_with_commits_in_between_the_agent_s_work_goes_the_others_stays_and_all_of_it_comes_back(
    tmp_path_factory: pytest.TempPathFactory, history: list[Step]
) -> None:
    desk = Desk(folder_of(tmp_path_factory))
    (desk.folder / ".gitignore").write_text("build/\n")
    put(desk.folder / "build" / "out", (b"made\n", "x"))
    try:
        done = play(desk, history)
        before, tree = desk.all(), git(desk.folder, "rev-parse", "HEAD^{tree}")
        authors: dict[str, set[str]] = {name: set() for name in START}
        for by, changed in done:
            for name in changed:
                authors[name].add(by.partition("/")[0])
        try:
            plan = desk.plan("ann")
        except NotFound:
            assert all("ann" not in who for who in authors.values())
            return
        blocked = [one.path for one in plan.blocked]
        assert all(authors[name] == {"ann", "bob"} for name in blocked), "only where another agent had a part"
        free = [name for name in START if name not in blocked]
        if not [one for one in plan.files if one.path in free]:
            return
        undone = desk.undo("ann", *free)
        after = desk.all()
        for name, who in authors.items():
            if who == {"ann"}:
                assert after.get(name) == START[name], "its own file is as it was at the start"
            elif "ann" not in who or name in blocked:
                assert after.get(name) == before.get(name), "what it has no part in is untouched"
            else:
                assert after.get(name) in {START[name], before.get(name)} | made_by("bob", done, name)
        assert after["build/out"] == before["build/out"]
        if all(who != {"ann", "bob"} for who in authors.values()):
            assert not any(one.path in free for one in left(desk)), "nothing of it is left to undo"
        desk.undo(undone["undo"])
        assert desk.all() == before
        assert git(desk.folder, "rev-parse", "HEAD^{tree}") == tree
        assert verify_store(desk.session.store).ok
    finally:
        desk.close()


LINES = [f"line {number}" for number in range(13)]
APART = (0, 4, 8, 12)  # lines so far from each other that a merge keeps them apart


@settings(max_examples=max(6, settings().max_examples // 30))
@given(edits=st.lists(st.tuples(st.sampled_from(["ann", "bob"]), st.sampled_from(APART), st.text("xyz", min_size=1)),
                      min_size=1, max_size=6))  # fmt: skip
def test_a_merge_takes_out_the_agent_s_lines_and_keeps_all_others(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[str, int, str]]
) -> None:
    desk = Desk(folder_of(tmp_path_factory))
    now = list(LINES)
    by: dict[int, set[str]] = {place: set() for place in APART}
    try:
        put(desk.folder / "f", text_of(now))
        desk.commit("first")
        for agent, place, word in edits:
            if now[place] != word:
                now[place] = word
                by[place].add(agent)
                desk.change(agent, {"f": text_of(now)})
        if not any("ann" in who for who in by.values()):
            return
        try:
            desk.undo("ann", theirs=True)
        except NotFound:
            assert not any("ann" in who for who in by.values())
        found = (desk.folder / "f").read_text().splitlines()
        if {"ann", "bob"} not in by.values():
            assert found == [LINES[i] if by.get(i) == {"ann"} else line for i, line in enumerate(now)]
        for place, who in by.items():
            if who == {"bob"}:
                assert now[place] in found, "what another agent wrote is never lost"
        desk.undo(undo_of(desk))
        assert get(desk.folder / "f") == text_of(now)
    finally:
        desk.close()


def text_of(lines: list[str]) -> State:
    return "".join(f"{line}\n" for line in lines).encode(), ""


def undo_of(desk: Desk) -> str:
    """The id of the last undo."""
    events = [read_event(event) for event in desk.session.store.events(0, 1_000)]
    return str([event["subject"] for event in events if event["kind"] == "undo.finished"][-1])


def folder_of(factory: pytest.TempPathFactory) -> Path:
    return factory.mktemp("h") / "repo"


def made_by(agent: str, done: list[tuple[str, dict[str, tuple[State, State]]]], name: str) -> set[State]:
    return {changed[name][1] for by, changed in done if by == agent and name in changed}


def left(desk: Desk) -> list[Any]:
    try:
        return desk.plan("ann").files
    except NotFound:
        return []
