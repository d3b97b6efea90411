"""The tools of `dibs mcp` before the hooks: who calls is noted for the server, and no call is suspected of a write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dibs.workspace import call_notes

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interfaces.repository import Repository


def test_a_call_of_an_own_tool_is_noted_with_its_agent_until_it_is_over(repo: Repository) -> None:
    ann = repo.agent("ann")
    ann.boot()
    local = str(repo.folder / ".dibs" / "local")
    for tool in ("mcp__dibs__claim", "mcp__plugin_dibs_dibs__claim", "mcp_dibs_claim"):
        assert ann.may(tool, "toolu_1", resources=["a"]).silent
        assert call_notes.agent_of(local, "toolu_1") == ann.session
        assert ann.did(tool, "toolu_1", resources=["a"]).silent
        assert call_notes.agent_of(local, "toolu_1") == ""


def test_a_subagent_s_call_is_noted_as_the_subagent_s(repo: Repository) -> None:
    ann = repo.agent("ann")
    ann.boot()
    helper = ann.born("helper")
    helper.may("mcp__dibs__claim", "toolu_1", resources=["a"])
    assert call_notes.agent_of(str(repo.folder / ".dibs" / "local"), "toolu_1") == f"{ann.session}/helper"


def test_another_server_s_tool_is_noted_nowhere(repo: Repository) -> None:
    ann = repo.agent("ann")
    ann.boot()
    assert ann.may("mcp__files__list", "toolu_1", folder="a").allowed
    assert call_notes.agent_of(str(repo.folder / ".dibs" / "local"), "toolu_1") == ""


@pytest.mark.parametrize("call", ["", "../x", "a/b", "a.b", "x" * 129, "\x00", "ä", "a\nb"])
def test_an_id_that_is_no_plain_name_is_noted_nowhere(tmp_path: Path, call: str) -> None:
    call_notes.put(str(tmp_path), call, "ann")
    call_notes.drop(str(tmp_path), call)
    assert call_notes.agent_of(str(tmp_path), call) == ""
    assert list(tmp_path.rglob("*")) == []


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    call_notes.put(str(tmp_path / "gone"), "toolu_1", "ann")
    assert call_notes.agent_of(str(tmp_path / "gone"), "toolu_1") == ""
