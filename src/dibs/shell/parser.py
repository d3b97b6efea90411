"""The shell's grammar: tree-sitter-bash, loaded with few imports, because every hook call needs it.

`import tree_sitter` costs over 20 ms, all of it for `typing`, `re` and `enum`: its package file and its C module import
them, and parsing never uses them. So only the two C modules are loaded, without the package files, with stubs for these
imports. Afterwards `sys.modules` is restored: a later plain import gets the real modules. If any of this fails, the
plain import is used.

Only loading is here; walk.py reads the tree.
"""

from __future__ import annotations

import sys
from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tree_sitter import Node, Parser

STAND_IN = "%"  # can be part of a word, but not of a variable's name
_MISSING = object()
_GRAMMAR = "tree_sitter_bash"
_kept: dict[str, Any] = {}  # the C modules, which must outlive the parsers
_parsers: dict[int, Parser] = {}  # by thread: no two may use one at the same time


def parse(source: str) -> tuple[Node, list[int]]:
    """The tree of a script's text, and the places of blanks in it that were not typed.

    Places are counted in characters.
    """
    data, added = _for_grammar(source)
    thread = get_ident()
    parser = _parsers.get(thread)
    if parser is None:
        try:
            parser = _light()
        except Exception:  # noqa: BLE001 - if the fast import fails, the plain one is used
            parser = _plain()
        _parsers[thread] = parser
    tree = parser.parse(data.encode("ascii"))
    assert tree is not None, "a parser with a language and without a time limit gives a tree"
    return tree.root_node, added


def _for_grammar(source: str) -> tuple[str, list[int]]:
    r"""The text as the grammar can read it, and where it has a blank more.

    The grammar must see no character above ASCII: with some of them after a brace it reads beyond a table and crashes
    the process (tree-sitter-bash issue 337). To the shell they are ordinary letters, so each gets a stand-in, and a
    byte is a character. A line that begins with a backslash (`\rm x`, or a backslash alone) it takes for a part of the
    line before, unless a blank comes first; and a backslash at the very end for an error.
    """
    data = source if source.isascii() else "".join([letter if letter < "\x80" else STAND_IN for letter in source])
    if data.endswith("\\\n") and (len(data) - len(data[:-1].rstrip("\\"))) % 2 == 0:
        data = data[:-2] + "\n\n"
    added: list[int] = []
    if "\n\\" in data:
        lines = data.split("\n\\")
        place = 0
        for line in lines[:-1]:
            place += len(line) + 1
            added.append(place)
            place += 2
        data = "\n \\".join(lines)
    return data, added


def _plain() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _light() -> Parser:
    """A parser without `typing`, `re` and `enum`; `sys.modules` is restored afterwards."""
    if "tree_sitter" in sys.modules:
        return _plain()
    names = ("tree_sitter", "tree_sitter._binding", _GRAMMAR, f"{_GRAMMAR}._binding", "re", "enum")
    before = {name: sys.modules.get(name, _MISSING) for name in names}
    if before["enum"] is not _MISSING and before["re"] is not _MISSING:
        return _plain()  # nothing to save: another part of this process has loaded the slow ones already
    try:
        for name in ("tree_sitter", _GRAMMAR):
            sys.modules[name] = _bare(name)
        for name, attribute, lent in (("re", "compile", _compile), ("enum", "IntEnum", _numbers)):
            if before[name] is _MISSING:
                sys.modules[name] = _lend(name, attribute, lent)
        import tree_sitter._binding as core
        import tree_sitter_bash._binding as grammar
    finally:
        for name, module in before.items():
            if module is _MISSING:
                sys.modules.pop(name, None)
    _kept["modules"] = (core, grammar)
    parser: Parser = core.Parser(core.Language(grammar.language()))
    return parser


def _bare(name: str) -> Any:
    """A package with only its folder, so that its C module is found and its package file does not run."""
    import os

    for folder in sys.path:
        place = os.path.join(folder, name)
        if os.path.isfile(os.path.join(place, "__init__.py")):
            package: Any = type(sys)(name)
            package.__path__ = [place]
            return package
    raise ImportError(name)


def _lend(name: str, attribute: str, value: Any) -> Any:
    module: Any = type(sys)(name)
    setattr(module, attribute, value)
    return module


def _compile(*arguments: Any) -> Any:
    """Stub for `re.compile`, which only queries use; dibs has none."""
    import re

    return re.compile(*arguments)


def _numbers(_name: str, members: dict[str, int]) -> Any:
    """Stub for `enum.IntEnum`, which the C module uses for its log levels; dibs does not use its log."""
    return members
