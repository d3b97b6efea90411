"""The table of programs: one row for each, named in no other place; its functions exist; imports go one way."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dibs import shell
from dibs.shell import archives, builtin, copies, downloads, programs, rows, tools, writers
from dibs.shell.programs import PROGRAMS, function
from dibs.shell.tools import TOOLS

ROOM = Path(shell.__file__).parent
TABLES = ("programs.py", "tools.py", "rows.py")
# The cmdlets and aliases of another shell; and what is asked of a command besides its writes: does it deploy, is it
# dibs?
OTHER_TABLES = ("powershell.py", "deploy_commands.py", "dibs_commands.py")
ALL = {**PROGRAMS, **TOOLS}

# Names of programs that are words of something else as well. As the name of a program none of them may be compared
# (see the test after it).
OTHER_WORDS = {
    "signs of the grammar": ". : [",
    "keywords and jumps of the grammar": "command coproc exit export return",
    "options": "chmod chown eval exec file help info jobs parallel python sort stat test time timeout type wait w",
    "subcommands of git and others": "diff export grep mv pr rm sync",
    "effects on a file": "link read touch",
    "functions of scripts": "printf rename truncate unlink",
    "commands of editors": "ed ex find split vi",
    "kinds of patterns": "perl",
    "folders of virtual environments": "env",
    "facts of a row": "builtin dash look",
}


def _literals(tree: ast.AST) -> Iterator[str]:
    """The texts in a module, without the names of attributes."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id[:2] == "__":
            continue  # `__slots__`, `__all__`
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        yield from _literals(node)


def _modules() -> list[tuple[str, ast.Module]]:
    return [(path.name, ast.parse(path.read_text())) for path in sorted(ROOM.glob("*.py"))]


def test_each_program_has_one_row() -> None:
    names = Counter(name for table in (programs._ROWS, tools._ROWS) for key in table for name in key.split())
    assert [name for name, count in names.items() if count > 1] == []
    assert names.keys() == ALL.keys()


def test_no_program_is_named_outside_its_row() -> None:
    others = {word for words in OTHER_WORDS.values() for word in words.split()}
    named = {
        f"{file}: {text}"
        for file, tree in _modules()
        if file not in {*TABLES, *OTHER_TABLES}
        for text in _literals(tree)
        if text in ALL and text not in others
    }
    assert named == set()


def _sides(node: ast.Compare) -> list[ast.expr]:
    return [node.left, *node.comparators]


def test_no_code_tells_programs_apart_by_their_names() -> None:
    compared = [
        f"{file}:{node.lineno}"
        for file, tree in _modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        and any(isinstance(part, ast.Attribute) and part.attr == "name" for part in (node.left, *node.comparators))
        and any(
            isinstance(part, ast.Constant | ast.Set | ast.Tuple | ast.List) for part in (node.left, *node.comparators)
        )
    ]
    assert compared == []


def _named_functions() -> list[tuple[str, tuple[str, ...], int]]:
    """The functions that the rows name, with their arguments, and how many values come before these."""
    functions: set[tuple[str, tuple[str, ...], int]] = set()
    for row in ALL.values():
        plain = [row[key] for key in ("builtin", "acts") if key in row]
        plain += [row["prints"]] if "." in row.get("prints", "") else []
        functions |= {(name, (), 1) for name in plain}
        functions |= {(row[key][0], row[key][1:], 1) for key in ("runs", "writes") if key in row}
        functions |= {(row["rule"][0], row["rule"][1:], 2)} if "rule" in row else set()
    return sorted(functions)


@pytest.mark.parametrize(("name", "arguments", "before"), _named_functions())
def test_the_functions_that_a_row_names_exist_and_take_its_arguments(
    name: str, arguments: tuple[str, ...], before: int
) -> None:
    inspect.signature(function(name)).bind(*[None] * before, *arguments)


@pytest.mark.parametrize("module", [archives, builtin, copies, downloads, writers])
def test_every_function_that_reads_a_program_is_named_by_a_row(module: Any) -> None:
    named = {name for name, _, _ in _named_functions()}
    short = module.__name__.rpartition(".")[2]
    readers = [
        f"{short}.{name}"
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and name[0] != "_"
        if "call" in inspect.signature(value).parameters
    ]
    assert [name for name in readers if name not in named] == []


def test_rows_are_said_in_words_that_are_split() -> None:
    """A list of words is one text with single blanks: what a person writes by hand must not have an empty word."""
    texts = [text for row in ALL.values() for text in _texts(row)]
    assert [text for text in texts if " ".join(text.split()) != text] == []


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def test_the_table_is_plain_data_that_the_types_describe() -> None:
    assert set().union(*ALL.values()) == set(rows.Program.__annotations__)
    for key, kind in (("wraps", rows.Wrapper), ("formatter", rows.Formatter), ("manages", rows.Manifest)):
        facts = {fact for row in ALL.values() for fact in row.get(key, ())}  # type: ignore[attr-defined]
        assert facts == set(kind.__annotations__), key


# ------------------------------------------------------------------------------------------------------------------
# One direction


ONLY_TYPES = ("parameters.py", "text.py")  # a value needs the text around it, which asks for it


def _imports(tree: ast.AST) -> Iterator[str]:
    """The modules of the room that a module imports, in functions and for types as well."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "dibs.shell":
            files = [f"{alias.name}.py" for alias in node.names]
            yield from [file if (ROOM / file).exists() else "__init__.py" for file in files]
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("dibs.shell."):
            yield f"{node.module.rpartition('.')[2]}.py"


def test_no_module_of_the_reader_imports_itself_through_others() -> None:
    graph = {file: {name for name in _imports(tree) if (file, name) != ONLY_TYPES} for file, tree in _modules()}
    while leaves := [file for file, needed in graph.items() if not needed & graph.keys()]:
        for file in leaves:
            del graph[file]
    assert graph == {}
