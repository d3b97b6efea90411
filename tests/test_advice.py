"""Commands that dibs advises: every word in them that comes from elsewhere is quoted for the shell.

A model runs such a command as it stands. So a name that another agent chose (a path, a branch, an agent's id, a task's
type) must stay one word. This reads the source: each place where a text with a command takes in a value, in Python
and in the page's JavaScript.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "dibs"
PROGRAMS = ("dibs", "git", "rm", "kill", "chmod", "cd", "mv", "cp", "cat", "sudo", "ls")
COMMAND = re.compile(rf"(?:{'|'.join(PROGRAMS)}) ")
QUOTES = frozenset({"quoted", "quoted_resource", "quote"})  # functions whose answer is one word of a shell, or several
KEEPS = frozenset({"clean"})  # functions that leave quoting as it is
# Texts that begin like a command and are sentences.
SENTENCES = (
    "dibs could not ", "dibs coordinates ", "dibs did ", "dibs has ", "dibs land: ", "dibs raised ", "dibs removed ",
    "dibs {__version__}",
        "git ended ", "git merge-file ", "git merge-tree ", "git refused ", "git takes ", "git {text} cannot ",
    "git {what} failed ",
)  # fmt: skip
# Values that dibs makes itself, by file: ids, numbers, names of its own commands.
OWN = {
    "interfaces/cli/commands/init.py": {"folder"},
    "interfaces/cli/commands/log.py": {"gap['last']"},
    "interfaces/cli/commands/serve.py": {"pid"},
    "interfaces/cli/commands/undo.py": {"done['undo']"},
    "interfaces/cli/doctor/guards.py": {"client"},
    "interfaces/cli/doctor/sections.py": {"kind", "line['check']"},
    "interfaces/cli/doctor/todo.py": {"names"},  # quoted where the message is made
    "interfaces/cli/dispatch.py": {"line", "old"},
    "interfaces/cli/help.py": {"name", "word"},
    "interfaces/cli/parse.py": {"command"},
    "interfaces/cli/render/claims.py": {"content['id']"},
    "interfaces/cli/suggest.py": {"name"},
    "guards/advised.py": {"verb"},
    "guards/briefing.py": {"task['token']"},
    "guards/git_scope.py": {"words[3:]"},  # the rest of a command that is quoted where it is made
    "guards/heads.py": {"' '.join(words)"},  # each is quoted where it is added
    "interfaces/mcp/tools.py": {"operation.name"},
    "errors.py": {"mode"},
    "git/aliases.py": {"meant"},  # read, not shown
    "operations/alerts/agent_causes.py": {"token"},
    "operations/core/authority.py": {"act", "operation.name"},
    "operations/guards/changes.py": {"report.id"},
    "operations/guards/commit_guard.py": {"ids[-1]"},
    "operations/guards/shell_guard.py": {"spoken[0][0]"},
    "operations/guards/shared_tree.py": {"place"},
    "operations/tasks/board.py": {"hints[to]"},
    "operations/tasks/lifecycle.py": {"' '.join(options)"},  # each is quoted where it is made
    "guards/git_hooks.py": {"hook"},
    "audit/check.py": {"one.last"},
    "audit/checks/coordination.py": {"change['id']"},
    "audit/checks/health.py": {"change['id']", "event['seq']"},
    "audit/sentences.py": {"identifier"},
    "undo/plan.py": {"one.id[:8]"},
    "client/loss_texts.py": {"loss['claim']"},
    "client/quotes.py": {"identifier"},
}  # fmt: skip


def _python_files() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if "make_" not in path.name)


class _Module:
    """One file: where its commands take in values."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.tree = ast.parse(text)
        self.own = OWN.get(self.name, set())
        self.parents = {id(child): node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def bare(self) -> list[str]:
        """The values that stand unquoted in a command, as `file:line {value}`."""
        found = []
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.JoinedStr, ast.BinOp)) and not self._is_part(node):
                parts = _parts(node)
                values = _in_commands(parts) if parts is not None else []
                found += [
                    f"{self.name}:{value.lineno} {{{ast.unparse(value)}}}" for value in values if not self.safe(value)
                ]
        return found

    def _is_part(self, node: ast.AST) -> bool:
        """Is it a part of a larger text?"""
        parent = self.parents.get(id(node))
        return isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add) and _parts(parent) is not None

    def safe(self, value: ast.expr) -> bool:
        """Is this value quoted, or a text of dibs' own?"""
        if isinstance(value, ast.Constant) or ast.unparse(value) in self.own:
            return True
        if isinstance(value, ast.Name):
            return value.id.isupper() or self._is_made_safely(value)
        if isinstance(value, ast.IfExp):
            return self.safe(value.body) and self.safe(value.orelse)
        if isinstance(value, ast.BoolOp):
            return all(map(self.safe, value.values))
        if isinstance(value, ast.JoinedStr):
            return all(self.safe(part.value) for part in value.values if isinstance(part, ast.FormattedValue))
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            return self.safe(value.left) and self.safe(value.right)
        return isinstance(value, ast.Call) and self._is_safe_call(value)

    def _is_safe_call(self, call: ast.Call) -> bool:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
        if name in QUOTES:
            return True
        if name in KEEPS:
            return self.safe(call.args[0])
        if name != "join" or not call.args:
            return ast.unparse(call) in self.own
        words = call.args[0]
        if isinstance(words, (ast.ListComp, ast.GeneratorExp)):
            return self.safe(words.elt)
        if isinstance(words, ast.Call) and ast.unparse(words.func) == "map":
            return ast.unparse(words.args[0]) in QUOTES
        return isinstance(words, (ast.List, ast.Tuple)) and all(map(self.safe, words.elts))

    def _is_made_safely(self, name: ast.Name) -> bool:
        """Is everything that its function assigns to this name safe?"""
        function: ast.AST | None = name
        while function is not None and not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            function = self.parents.get(id(function))
        if function is None:
            return False
        values = [
            node.value
            for node in ast.walk(function)
            if isinstance(node, (ast.Assign, ast.AugAssign)) and node.value is not None
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name) and target.id == name.id
        ]
        return bool(values) and all(map(self.safe, values))


def _parts(node: ast.AST) -> list[str | ast.expr] | None:
    """A text and the values in it, in order; None if it is no text."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return [
            str(part.value) if isinstance(part, ast.Constant) else part.value
            for part in node.values
            if isinstance(part, (ast.Constant, ast.FormattedValue))
        ]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [(side, _parts(side)) for side in (node.left, node.right)]
        if all(parts is None for _, parts in sides):
            return None
        return [part for side, parts in sides for part in (parts if parts is not None else [side])]
    return None


def _in_commands(parts: list[str | ast.expr]) -> list[ast.expr]:
    """The values that stand within a command: between backticks, or in a text that is one as a whole.

    What stands between backticks from its first letter on was made elsewhere: that text is a command as a whole.
    """
    first = parts[0] if parts and isinstance(parts[0], str) else ""
    shown = "".join(part if isinstance(part, str) else "{" + ast.unparse(part) + "}" for part in parts)
    whole = bool(COMMAND.match(first)) and not shown.startswith(SENTENCES) and "`" not in shown
    found: list[ast.expr] = []
    within, begun = False, ""
    for part in parts:
        if not isinstance(part, str):
            if whole or (within and COMMAND.match(begun)):
                found.append(part)
            continue
        for letter in part:
            if letter == "`":
                within, begun = not within, ""
            elif within:
                begun += letter
    return found


@pytest.mark.parametrize("path", _python_files(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_word_from_elsewhere_is_quoted_in_a_command_that_dibs_advises(path: Path) -> None:
    assert _Module(str(path.relative_to(SOURCE)), path.read_text()).bare() == []


@pytest.mark.parametrize("path", sorted((SOURCE / "interfaces" / "page").glob("*.js")), ids=lambda path: path.name)
def test_every_word_from_elsewhere_is_quoted_in_a_command_that_the_page_shows(path: Path) -> None:
    commands = re.findall(rf"`(?:{'|'.join(PROGRAMS)}) [^`]*`", path.read_text())
    values = [value for command in commands for value in re.findall(r"\$\{([^}]*)\}", command)]
    assert [value for value in values if not re.fullmatch(r"quoted\([\w.]+\)", value)] == []


def test_the_reader_of_this_test_finds_each_way_in_which_a_word_gets_into_a_command() -> None:
    bad = """
def f(name, names):
    word = name.strip()
    a = f"Run `dibs claim {name}`."
    b = f"dibs claim {name}"
    c = "Run `dibs claim " + name + "` now"
    d = f"Run `dibs claim {' '.join(names)}`"
    e = f"Run `git log {word}`"
    g = f"`dibs claim {quoted(name)} --as {name}`"
"""
    good = """
def f(name, names):
    word = quoted(name) if name else ""
    a = f"Run `dibs claim {quoted(name)}`, {name}."
    b = f"dibs claim {' '.join(map(quoted, names))} {' '.join([quoted(one) for one in names])}"
    c = "Run `dibs claim " + quoted(name) + "` now, " + name
    d = f"Run `git log {word}`"
"""
    assert [len(_bare_of(text)) for text in (bad, good)] == [6, 0]


def _bare_of(text: str) -> list[str]:
    return _Module("x.py", text).bare()
