"""A row of the table finds its place by syntax, and a stale one says what to write."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from tests.mutants import propose, syntax
from tests.mutants.syntax import StaleRowError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FUNCTION = """
def first(claims, now):
    live = [claim for claim in claims if claim["until"] > now and not claim["pending"]]
    for claim in live:
        if claim["token"] == 0:
            raise Stale(claim)
        log.write(
            claim,
        )
    if not live:
        return None
    return max(live[0], default(now))
"""


@pytest.fixture
def function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[syntax.Scope]:
    """A source of one function, instead of dibs."""
    (tmp_path / "room.py").write_text(FUNCTION)
    monkeypatch.setattr(syntax, "SOURCES", tmp_path)
    _forget()
    yield syntax.scope("room.first")
    _forget()


def _forget() -> None:
    for cache in (syntax.scopes, syntax.tree, syntax._files_by_name):
        cache.cache_clear()


@pytest.mark.parametrize(
    ("change", "old", "new"),
    [
        ("drop operand pending", ' and not claim["pending"]', ""),
        ("never filter until", 'claim["until"] > now and not claim["pending"]', "False"),
        ("never if containing raise Stale", 'claim["token"] == 0', "False"),
        ("always if beneath for", 'claim["token"] == 0', "True"),
        ("drop call write", "log.write(\n            claim,\n        )", "pass\n\n"),
        ("replace call max -> $1", "max(live[0], default(now))", "live[0]"),
        ("replace call write -> raise", "log.write(\n            claim,\n        )", "raise\n\n"),
        ("text 'pend' -> 'spend'", "pending", "spending"),
        ("always if #2, then drop raise", "raise Stale(claim)", "pass"),
    ],
)
def test_a_change_is_made_at_one_place_and_all_other_lines_stay(
    function: syntax.Scope, change: str, old: str, new: str
) -> None:
    expected = FUNCTION.replace(old, new)
    if "then" in change:
        expected = expected.replace("not live", "True")
    changed = syntax.mutated(function, change)
    assert ast.dump(ast.parse(changed)) == ast.dump(ast.parse(expected))
    assert len(changed.splitlines()) == len(FUNCTION.splitlines())


@pytest.mark.parametrize(
    ("change", "advice"),
    [
        (
            "drop call read",
            "room.first has no 'call read'; it has these:\n  room.py:6: Stale(claim)\n  room.py:7: log.write(claim)",
        ),
        ("never if", "say which by a word or #N:\n  room.py:5: if claim['token'] == 0:\n  room.py:10: if not live:"),
        ("drop with", "nor any 'with'"),
        ("replace call max -> lives[0]", "knows no lives"),
        ("text 'pen ' -> ''", "in 0 strings"),
    ],
)
def test_a_stale_row_says_what_there_is_instead(function: syntax.Scope, change: str, advice: str) -> None:
    with pytest.raises(StaleRowError) as raised:
        syntax.mutated(function, change)
    assert advice in str(raised.value)


@pytest.mark.usefixtures("function")
def test_a_function_that_was_renamed_is_named_with_those_that_are_there() -> None:
    with pytest.raises(StaleRowError, match=r"no name ends with 'hall.first'; write one of: room.first"):
        syntax.scope("hall.first")
    with pytest.raises(StaleRowError, match="write one of: first"):
        syntax.scope("fist")


def test_the_row_that_is_proposed_for_a_line_means_that_line(
    function: syntax.Scope, capsys: pytest.CaptureFixture[str]
) -> None:
    propose.main(str(syntax.SOURCES / function.file), 5)
    row = capsys.readouterr().out.splitlines()[0]
    assert row == '("first", "never if token", TEST),'
    assert "if (False):" in syntax.mutated(function, "never if token")
