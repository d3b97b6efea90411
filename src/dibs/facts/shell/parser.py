"""The shell's grammar: tree-sitter-bash, loaded the cheap way, because this is on the way of every hook call.

`import tree_sitter` costs over 20 ms, all of it for `typing`, `re` and `enum`, which its package file and the start of
its C module ask for and parsing never uses. So only the two C modules are loaded, without the package files, and what
they ask for at their start is lent to them. Afterwards the table of modules is as it was: a plain import later on gets
the real thing. Whenever any of this fails, the plain import does the work.

Only loading is here; what a tree means is read in `shell_walk`.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tree_sitter import Node, Parser

STAND_IN = "%"  # belongs to a word, and to no name of a variable
_MISSING = object()
_GRAMMAR = "tree_sitter_bash"
_kept: dict[str, Any] = {}  # the parser, and the C modules that must outlive it


def parse(source: str) -> Node:
    """The tree of a script's text; places in it are counted in characters.

    The grammar never sees a character above ASCII: with some of them behind a brace it reads beyond a table and takes
    the process down with it (tree-sitter-bash issue 337). To the shell they are letters of a word like others, so each
    has a stand-in, and a byte is a character.
    """
    data = source if source.isascii() else "".join([one if one < "\x80" else STAND_IN for one in source])
    if "parser" not in _kept:
        try:
            _kept["parser"] = _light()
        except Exception:  # noqa: BLE001 - whatever went wrong on the short way, the long way is still there
            _kept["parser"] = _plain()
    parser: Parser = _kept["parser"]
    tree = parser.parse(data.encode("ascii"))
    assert tree is not None, "a parser with a language and without a time limit gives a tree"
    return tree.root_node


def _plain() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _light() -> Parser:
    """A parser without `typing`, `re` and `enum`; what is in the table of modules now is there again afterwards."""
    if "tree_sitter" in sys.modules:
        return _plain()
    names = ("tree_sitter", "tree_sitter._binding", _GRAMMAR, f"{_GRAMMAR}._binding", "re", "enum")
    before = {name: sys.modules.get(name, _MISSING) for name in names}
    if before["enum"] is not _MISSING and before["re"] is not _MISSING:
        return _plain()  # nothing to be saved: another part of this process has loaded the dear ones already
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
    """A package of which only the folder is known, so that the C module in it is found and its package file not run."""
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
    """For `re.compile`, which queries would use; dibs makes none."""
    import re

    return re.compile(*arguments)


def _numbers(_name: str, members: dict[str, int]) -> Any:
    """For `enum.IntEnum`, of which the C module makes the kinds of its log's lines; dibs logs none."""
    return members
