"""What a model may run without a person being asked: nothing that runs programs, writes files or raises rights."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from dibs.interfaces import agents
from dibs.interfaces.agents import approved
from dibs.interfaces.cli import command
from dibs.interfaces.install import settings
from dibs.interfaces.mcp import tools
from dibs.operations.core.declare import AGENT, RANKS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.scratch import Shell

NEVER = (
    "lead", "worker", "deploy", "land", "init", "kill", "token new", "token list", "token revoke", "serve",
    "store move", "run start", "task done", "run gates", "run end", "revive", "up", "sweep", "import", "undo",
)  # fmt: skip
RUNNING = {"verify", "exec", "command", "plan"}  # names of fields whose value is run, or says what is


def test_each_command_of_dibs_is_declared_as_approved_or_as_one_that_a_person_is_asked_about() -> None:
    whole = {name for name in approved.APPROVED if " --" not in name}
    assert whole | approved.ASKED.keys() == set(command.names())
    assert not approved.APPROVED & approved.ASKED.keys()
    assert approved.APPROVED - whole == {"land --cancel", "land --status"}, "which nothing that lands can be added to"


@pytest.mark.parametrize("first", ["--cancel", "--status"])
@pytest.mark.parametrize("more", ["--all", "--watch", "--status", "--cancel"])
def test_what_is_approved_of_land_lands_nothing_whatever_follows(shell: Shell, first: str, more: str) -> None:
    if first != more:
        assert "land: either --" in shell.json("land", first, more, exit=64)["error"]["message"]


@pytest.mark.parametrize("name", sorted(approved.APPROVED))
def test_an_approved_command_runs_no_program_writes_no_file_and_needs_no_higher_rank(name: str) -> None:
    found = command.find(name.partition(" --")[0])
    assert not found.rest
    assert not found.raw
    for field in found.fields:
        assert field.kind != "file", field.name
        assert field.name not in RUNNING or name == "help", field.name
    if found.operation is not None:
        assert RANKS[found.operation.rank] <= RANKS[AGENT]
        assert not found.operation.around, "a part of a program"


@pytest.mark.parametrize("name", NEVER)
@pytest.mark.parametrize("start", ["dibs", ".dibs/dibs"])
def test_no_client_runs_these_without_asking(name: str, start: str) -> None:
    from dibs.interfaces.agents.claude.install import ALLOWED

    line = f"{start} {name} x"
    for entry in ALLOWED:
        prefix = entry.removeprefix("Bash(").removesuffix(":*)")
        assert line != prefix
        assert not line.startswith(f"{prefix} "), entry
    rules = agents.of("codex").own_files()[".codex/rules/dibs.rules"]
    found: list[list[list[str]]] = []
    exec(rules, {"prefix_rule": lambda pattern, **_: found.append(pattern)})  # noqa: S102 - our own file
    words = line.split(" ")
    for pattern in found:
        assert not all(word in choices for word, choices in zip(words, pattern, strict=False)), pattern


def test_what_dibs_advises_in_its_refusals_is_approved() -> None:
    assert {"claim", "ask", "release", "boot", "restore", "status", "explain", "inbox", "send"} <= approved.APPROVED


def test_the_tools_of_dibs_run_nothing_that_needs_a_person() -> None:
    """`init` lets a client use them without asking; `task done` has no `verify` there."""
    assert set(tools.TEXTS) - approved.APPROVED == {"task done"}
    assert "verify" in tools.HIDDEN_FIELDS["task done"]


@pytest.mark.parametrize("former", ["Bash(dibs:*)", "Bash(.dibs/dibs:*)"])
def test_the_entry_of_an_earlier_init_is_replaced_by_the_list_and_all_else_stays(former: str) -> None:
    text = json.dumps({"permissions": {"allow": ["Bash(ls:*)", former], "deny": ["Bash(rm:*)"]}}, indent=2)
    merged = json.loads(settings.merged(text, "claude", "x"))["permissions"]
    assert former not in merged["allow"]
    assert merged["allow"][0] == "Bash(ls:*)"
    assert "Bash(dibs claim:*)" in merged["allow"]
    assert "Bash(.dibs/dibs claim:*)" in merged["allow"]
    assert merged["deny"] == ["Bash(rm:*)"]
    left = json.loads(str(settings.cleaned(settings.merged(text, "claude", "x"), "claude", "x")))
    assert left["permissions"]["allow"] == ["Bash(ls:*)"]


@pytest.mark.parametrize("place", ["repo/.claude/settings.local.json", "own/settings.json"])
def test_doctor_warns_of_an_entry_that_allows_every_command(place: str, shell: Shell, tmp_path: Path) -> None:
    shell.environment["CLAUDE_CONFIG_DIR"] = str(tmp_path / "own")
    shell.json("init", "--clients", "claude", "--no-mcp", exit=0)
    assert not _warned(shell)
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"permissions": {"allow": ["Bash(/opt/bin/dibs:*)"]}}))
    (warned,) = _warned(shell)
    assert "Bash(/opt/bin/dibs:*) in " in warned
    assert "any program" in warned


def _warned(shell: Shell) -> list[str]:
    checks = shell.json("doctor")["checks"]
    return [check["message"] for check in checks if check["check"] == "claude permissions"]
