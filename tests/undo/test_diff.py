"""`dibs diff AGENT`: what the agent changed and no commit has, as a diff; nothing of others, and nothing is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dibs.client import catalogue, read_fields
from dibs.client.session import Session
from dibs.errors import NotFound
from tests.plain_git import git
from tests.undo.undo_desk import Desk, lines, put


def diff(desk: Desk, agent: str, *paths: str, **fields: Any) -> list[Any]:
    operation = catalogue.operation("diff")
    asked = read_fields.request(desk.session, operation, {"agent": agent, "paths": list(paths), **fields}, typed=True)
    found: list[Any] = desk.session.answer(operation, desk.session.identify("person"), asked)["files"]
    return found


def test_a_diff_has_what_the_agent_changed_and_no_commit_has(desk: Desk) -> None:
    put(desk.folder / "a", lines("1", "2"))
    put(desk.folder / "gone", lines("x"))
    desk.commit("first")
    desk.change("ann", {"a": lines("1", "2", "3"), "b": lines("new"), "gone": None})
    desk.change("bob", {"c": lines("bob's")})
    before = desk.all()
    found = diff(desk, "ann")
    assert [(one["path"], one["change"], one["added"], one["removed"]) for one in found] == [
        ("a", "modified", 1, 0), ("b", "added", 1, 0), ("gone", "deleted", 0, 1),
    ]  # fmt: skip
    assert found[0]["diff"].split("\n") == ["--- a/a", "+++ b/a", "@@ -1,2 +1,3 @@", " 1", " 2", "+3"]
    assert found[1]["diff"].startswith("--- /dev/null\n+++ b/b\n")
    assert [one["path"] for one in diff(desk, "ann", "b")] == ["b"]
    assert "diff" not in diff(desk, "ann", stat=True)[0]
    assert desk.all() == before


def test_a_diff_begins_with_what_was_committed_last_and_ends_with_a_commit(desk: Desk) -> None:
    put(desk.folder / "a", lines("1"))
    desk.commit("first")
    desk.change("ann", {"a": lines("1", "2")})
    desk.commit("ann's")
    assert diff(desk, "ann") == []
    desk.change("ann", {"a": lines("1", "2", "3")})
    assert diff(desk, "ann")[0]["diff"].split("\n")[3:] == [" 1", " 2", "+3"]


def test_a_diff_leaves_out_what_others_did_in_the_same_file(desk: Desk) -> None:
    rows = [str(row) for row in range(20)]
    put(desk.folder / "a", lines(*rows))
    desk.commit("first")
    desk.change("ann", {"a": lines("ann", *rows)})
    desk.change("bob", {"a": lines("ann", *rows, "bob")})
    (found,) = diff(desk, "ann")
    assert found["shared"]
    assert "+ann" in found["diff"]
    assert "bob" not in found["diff"]


def test_a_diff_has_the_files_of_other_working_trees(desk: Desk, tmp_path: Path) -> None:
    put(desk.folder / "a", lines("1"))
    desk.commit("first")
    git(desk.folder, "worktree", "add", "-q", str(tmp_path / "other"))
    desk.change("ann", {"a": lines("2")})
    desk.session.close()
    desk.session = Session(str(tmp_path / "other"), None)
    assert [(one["path"], one["tree"]) for one in diff(desk, "ann")] == [("a", str(desk.folder))]


def test_an_unknown_agent_is_refused_with_the_name_that_may_be_meant(desk: Desk) -> None:
    desk.change("annabel", {"a": lines("1")})
    with pytest.raises(NotFound, match="did you mean annabel"):
        diff(desk, "annable")
