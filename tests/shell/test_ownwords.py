"""dibs' own commands among the words of a shell command: which, and as whom."""

from __future__ import annotations

import pytest

from dibs import shell
from dibs.operations.core import authority
from dibs.shell import dibs_commands


def spoken(command: str) -> list[tuple[str, str]]:
    """What a command line has dibs do."""
    return dibs_commands.speaks_as(shell.read(command, "/repo").commands)


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("dibs release src/x.py --as AAAA", [("release", "AAAA")]),
        ("dibs release --all --as=AAAA", [("release", "AAAA")]),
        ("dibs --as AAAA release x", [("release", "AAAA")]),
        ("DIBS_AGENT=AAAA dibs release x", [("release", "AAAA")]),
        ("env DIBS_AGENT=AAAA dibs release x", [("release", "AAAA")]),
        ("export DIBS_AGENT=AAAA; dibs release x", [("release", "AAAA")]),
        ("export DIBS_AGENT=AAAA && cd src && dibs release x", [("release", "AAAA")]),
        ("DIBS_AGENT=AAAA; export DIBS_AGENT; dibs leave", [("leave", "AAAA")]),
        ("DIBS_AGENT=BBBB dibs release x --as AAAA", [("release", "AAAA")]),
        ("dibs leave --as AAAA", [("leave", "AAAA")]),
        ("dibs kill AAAA --why 'it is slow'", [("kill", "")]),
        ("true && dibs revive AAAA", [("revive", "")]),
        ("dibs init --uninstall --yes", [("init --uninstall", "")]),
        ("dibs store move redis://x", [("store move", "")]),
        (".dibs/dibs release x --as AAAA", [("release", "AAAA")]),
        ("/usr/local/bin/dibs release x --as AAAA", [("release", "AAAA")]),
        ("python -m dibs release x --as AAAA", [("release", "AAAA")]),
        ("python3.12 -I -m dibs kill AAAA --why x", [("kill", "")]),
        ("uv run dibs release x --as AAAA", [("release", "AAAA")]),
        ("uv run --quiet python -m dibs kill AAAA --why x", [("kill", "")]),
        ("bash -c 'dibs kill AAAA --why x'", [("kill", "")]),
        ("sudo dibs kill AAAA --why x", [("kill", "")]),
        ("dibs task done T --token 3 --as AAAA", [("task done", "AAAA")]),
        ('dibs release x --as "$HOLDER"', [("release", "?")]),
        ("DIBS_AGENT=AAAA git commit -m x", [("git", "AAAA")]),
        ("dibs claim src/x.py --wait 60s", []),
        ("dibs status; dibs release x; git commit -m 'as --as AAAA'", []),
        ("dibs init", []),
        ("echo dibs kill AAAA", []),
        ("grep -- --as README.md", []),
        ("dibs send AAAA 'use --as?'", []),
        ("python -m pytest --as x", []),
    ],
)
def test_what_a_command_would_say_through_dibs_and_as_whom(command: str, found: list[tuple[str, str]]) -> None:
    assert spoken(command) == found


def test_both_floors_know_the_same_reserved_commands() -> None:
    assert set(authority.ACTS) == dibs_commands.RESERVED
