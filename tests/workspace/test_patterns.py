"""Braces are spelt out; what looks like a pattern and is none is refused with what to write, never silently a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from dibs.errors import Invalid
from dibs.workspace import path_patterns
from dibs.workspace.paths import Paths


@pytest.fixture
def here(tmp_path: Path) -> Paths:
    (tmp_path / "app" / "[id]").mkdir(parents=True)
    (tmp_path / "odd").mkdir()
    for name in ("{a,b}", "[!", "back\\slash", "a[b"):
        (tmp_path / "odd" / name).write_text("")
    return Paths(str(tmp_path), fold=False, common="")


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("src/{a,c}*", [["glob", "src/a*", ""], ["glob", "src/c*", ""]]),
        ("{src,lib}/x.py", [["tree", "src/x.py", ""], ["tree", "lib/x.py", ""]]),
        ("src/{a,{b,c}d}.py", [["tree", "src/a.py", ""], ["tree", "src/bd.py", ""], ["tree", "src/cd.py", ""]]),
        ("src/x{,.bak}", [["tree", "src/x", ""], ["tree", "src/x.bak", ""]]),
        ("{a,a}", [["tree", "a", ""]]),
        ("{a,b}/{c,d}", [["tree", f"{x}/{y}", ""] for x in "ab" for y in "cd"]),
        ("glob:{a,b}", [["glob", "a", ""], ["glob", "b", ""]]),
        ("db:{users,orders}", [["name", "db:users", ""], ["name", "db:orders", ""]]),
        ("path:{a,b}", [["tree", "{a,b}", ""]]),
        ("pages/{slug}.html", [["tree", "pages/{slug}.html", ""]]),
        ("a{b,c", [["tree", "a{b,c", ""]]),
        ("odd/{a,b}", [["file", "odd/{a,b}", ""]]),
        ("odd/[!", [["file", "odd/[!", ""]]),
        ("odd/back\\slash", [["file", "odd/back\\slash", ""]]),
        ("odd/a[b", [["file", "odd/a[b", ""]]),
        ("app/[id]/new.tsx", [["tree", "app/[id]/new.tsx", ""]]),
        ("src/[ab]*", [["glob", "src/[ab]*", ""]]),
    ],
)
def test_a_text_stands_for_these(here: Paths, written: str, found: list[list[str]]) -> None:
    assert here.expanded(written, here.root) == found


@pytest.mark.parametrize(
    ("written", "advice"),
    [
        ("x/[!", "path:x/[!"),
        ("src/[abc", "path:src/[abc"),
        ("src/\\*", "path:src/*"),
        ("src\\a.py", "src/a.py"),
        ("src/{1..9}.py", "{1,2,3}"),
        ("src/{a,\\*}", "path:src/*"),
        ("glob:x/[!", "path:x/[!"),
    ],
)
def test_what_is_no_pattern_is_refused_with_what_to_write(here: Paths, written: str, advice: str) -> None:
    with pytest.raises(Invalid) as refused:
        here.expanded(written, here.root)
    assert advice in refused.value.message
    assert here.expanded("path:src/*", here.root) == [["tree", "src/*", ""]], "and the advice works"


def test_there_is_an_end_to_the_alternatives(here: Paths) -> None:
    assert len(here.expanded("{a,b}" * 6, here.root)) == path_patterns.MAX_ALTERNATIVES
    for written in ("{a,b}" * 7, "{a,b}" * 500):
        with pytest.raises(Invalid, match="claim a directory"):
            here.expanded(written, here.root)


def test_where_one_is_asked_for_two_are_refused_with_one_of_them(here: Paths) -> None:
    with pytest.raises(Invalid, match="name one of them, such as src/a"):
        here.canonical("src/{a,b}.py", here.root)
