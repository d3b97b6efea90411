"""Figures that may only fall: modules that a call passes through, and code that no type describes.

The figures are exact. A higher one fails: take the cause out, or say in the commit why it has to be. A lower one fails,
too, until it is written down here, so that it cannot rise again unseen.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dibs.operations.claims import grants
from tests.interfaces.repository import PATIENCE, Agent, Repository
from tests.module_trace import SWEEP_ONE_IN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOP = Path(__file__).resolve().parent.parent
SRC = TOP / "src" / "dibs"
TRACE = str(Path(__file__).with_name("module_trace.py"))


def verdict(name: str, now: int, was: int) -> str:
    """What to do about a figure that has changed; "" if it has not."""
    if now > was:
        return f"{name}: {now}, up from {was}: remove what was added"
    return f"{name}: {now}, down from {was}: write the new figure down" if now < was else ""


# --- modules

# Loaded when the call ends, and entered by it; modules of dibs alone. tests/module_trace.py says what that means.
EDIT = {"loaded": 63, "entered": 43}
LS = {"loaded": 54, "entered": 25}
SED = {"loaded": 76, "entered": 55}
CLI_CLAIM = {"loaded": 62, "entered": 45}
HTTP_CLAIM = {"entered": 45}  # a server has more loaded than one request needs


@pytest.fixture
def ada(tmp_path: Path) -> Iterator[Agent]:
    """An agent in a repository, some calls after its start."""
    repo = Repository(tmp_path)
    repo.write("src/d.py", "d.py at first\n")
    agent = repo.agent("ada")
    agent.boot()
    agent.edit("b.py", "edited\n")
    agent.bash("ls -la src")
    yield agent
    repo.close()


def traced(ada: Agent, *words: str, given: dict[str, Any] | None = None) -> dict[str, list[str]]:
    """The modules of one call, which has to be granted."""
    file = ada.repo.scratch / "trace.json"
    answer = ada.client.run(
        sys.executable, "-I", "-X", "utf8", TRACE, str(file), *words, cwd=ada.cwd, given=json.dumps(given).encode(),
        CLAUDE_CODE_SESSION_ID=ada.session, PATH=ada.repo.path,
    )  # fmt: skip
    assert answer.allowed, answer
    modules: dict[str, list[str]] = json.loads(file.read_text())
    return modules


def hook_of(ada: Agent, tool: str, **given: str) -> dict[str, list[str]]:
    """The modules of the hook before a tool's call."""
    payload = {
        "session_id": ada.session, "transcript_path": "/nowhere/t.jsonl", "cwd": str(ada.cwd), "tool_name": tool,
        "tool_input": given, "tool_use_id": "traced", "hook_event_name": "PreToolUse",
    }  # fmt: skip
    return traced(ada, "hook", "claude", given=payload)


def hold(modules: dict[str, list[str]], figures: dict[str, int]) -> None:
    """There are as many as is written down; else they are named, with a star if they are entered."""
    said = [verdict(f"modules {name}", len(modules[name]), was) for name, was in figures.items()]
    names = [f"{'*' if name in modules['entered'] else ' '} {name}" for name in modules["loaded"]]
    assert not any(said), "\n".join([*filter(None, said), *names])


def test_an_edit_that_claims_its_file_passes_through_no_more_modules(ada: Agent) -> None:
    modules = hook_of(ada, "Edit", file_path=str(ada.cwd / "a.py"), old_string="a", new_string="b")
    assert ada.repo.claims()["ada"] == ["a.py", "b.py"]
    hold(modules, EDIT)


def test_a_shell_command_that_only_looks_passes_through_no_more_modules(ada: Agent) -> None:
    modules = hook_of(ada, "Bash", command="ls -la src")
    hold(modules, LS)


def test_a_shell_command_that_writes_a_file_passes_through_no_more_modules(ada: Agent) -> None:
    modules = hook_of(ada, "Bash", command="sed -i s/at/of/ a.py")
    assert ada.repo.claims()["ada"] == ["a.py", "b.py"]
    hold(modules, SED)


def test_a_claim_from_the_command_line_passes_through_no_more_modules(ada: Agent) -> None:
    assert hasattr(grants, SWEEP_ONE_IN), "tests/module_trace.py takes chance out of a claim by this constant"
    modules = traced(ada, "cli", "claim", "a.py")
    assert ada.repo.claims()["ada"] == ["a.py", "b.py"]
    hold(modules, CLI_CLAIM)


def test_a_claim_over_http_enters_no_more_modules(ada: Agent) -> None:
    file = ada.repo.scratch / "trace.json"
    done = subprocess.run(
        [sys.executable, "-X", "utf8", TRACE, str(file), "http", str(ada.cwd), "a.py"],
        env=ada.repo.env, capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert ada.repo.claims()["bob"] == ["a.py", "first.py"], done.stdout
    hold(json.loads(file.read_text()), HTTP_CLAIM)


# --- code that no type describes

MOST_PARAMETERS = 8
# Classes whose constructor is the form of a declaration: one parameter for each thing that can be said there.
DECLARATIONS = frozenset(("Action", "Command", "Field", "Operation", "Query"))
GENERATED = "Made by `make generate`"


def untyped_dicts(tree: ast.Module) -> list[ast.AST]:
    """Each `dict[str, Any]`."""
    return [
        node for node in ast.walk(tree) if isinstance(node, ast.Subscript) and ast.unparse(node) == "dict[str, Any]"
    ]


def any_annotations(tree: ast.Module) -> list[ast.AST]:
    """Each annotation that is `Any`, and nothing else."""
    annotations = [getattr(node, name, None) for node in ast.walk(tree) for name in ("annotation", "returns")]
    return [node for node in annotations if isinstance(node, ast.Name) and node.id == "Any"]


def record_uses(tree: ast.Module) -> list[ast.AST]:
    """Each `Record`."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "Record"]


def raw_keys(tree: ast.Module) -> list[ast.AST]:
    """Each text with a TAB; an f-string is one text."""
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    return [
        node
        for node in ast.walk(tree)
        if (isinstance(node, ast.JoinedStr) and any("\t" in str(getattr(part, "value", "")) for part in node.values))
        or (isinstance(node, ast.Constant) and "\t" in str(node.value) and id(node) not in parts)
    ]


def long_signatures(tree: ast.Module) -> list[ast.AST]:
    """Each function with more than eight parameters, `self` and `*all` not counted."""
    if GENERATED in (ast.get_docstring(tree) or ""):
        return []
    forms = {
        id(part)
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name in DECLARATIONS
        for part in node.body
    }
    found: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and id(node) not in forms:
            given = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            if len(given) - (given[:1] in (["self"], ["cls"])) > MOST_PARAMETERS:
                found.append(node)
    return found


def sources(folder: str) -> Iterator[tuple[str, ast.Module]]:
    """The sources below a folder of src/dibs: name and syntax."""
    for file in sorted((SRC / folder).rglob("*.py")):
        yield file.relative_to(SRC).as_posix(), ast.parse(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("folder", "what", "count", "was"),
    [
        ("", "dict[str, Any]", untyped_dicts, 114),
        ("", "annotations that are Any", any_annotations, 146),
        ("", "uses of Record", record_uses, 1),
        ("operations", "raw keys outside records.py", raw_keys, 5),
        ("", "functions with more than eight parameters", long_signatures, 4),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_no_more_code_lacks_a_type(
    folder: str, what: str, count: Callable[[ast.Module], list[ast.AST]], was: int
) -> None:
    numbers = {name: len(count(tree)) for name, tree in sources(folder) if not (folder and _is_records(name))}
    said = verdict(what, sum(numbers.values()), was)
    assert not said, "\n".join([said, *(f"{number:5} {name}" for name, number in numbers.items() if number)])


def _is_records(name: str) -> bool:
    """Is this the file of a room in which its keys are made?"""
    return name.endswith("/records.py")


EIGHT = "a, b, c, d, e, f, g, h"


@pytest.mark.parametrize(
    ("count", "source", "number"),
    [
        (untyped_dicts, "def f(a: dict[str, Any]) -> list[dict[str, Any]]: b: dict[str, int]", 2),
        (any_annotations, "def f(a: Any, *b: Any, c: list[Any]) -> Any: d: Any = 1", 4),
        (record_uses, "def f(a: Record) -> list[Record]: ...", 2),
        (raw_keys, "a, b, c, d = f'a\\t{x}', 'b\\t', f'{x:1}{y}', f'c\\t{x}\\t{x}'", 3),
        (long_signatures, f"def f({EIGHT}): ...\ndef g({EIGHT}, i): ...", 1),
        (long_signatures, f"class A:\n    def f(self, {EIGHT}): ...\n    def g(self, {EIGHT}, *, i): ...", 1),
        (long_signatures, f"class Field:\n    def __init__(self, {EIGHT}, i): ...", 0),
        (long_signatures, f"'{GENERATED}.'\ndef f({EIGHT}, i): ...", 0),
    ],
)
def test_what_lacks_a_type_is_counted(count: Callable[[ast.Module], list[ast.AST]], source: str, number: int) -> None:
    assert len(count(ast.parse(source))) == number


def test_a_figure_that_rises_fails_and_one_that_falls_has_to_be_written_down() -> None:
    assert "remove what was added" in verdict("modules", 43, 42)
    assert "write the new figure down" in verdict("modules", 41, 42)
    assert not verdict("modules", 42, 42)
