"""The sources of operations/, by their syntax: what `make generate` reads definitions from, comments included."""

from __future__ import annotations

import ast
import io
import tokenize
from functools import cache
from pathlib import Path

from dibs import operations

OPERATIONS = Path(operations.__file__).resolve().parent
Named = ast.FunctionDef | ast.ClassDef


class Source:
    """One file below operations/."""

    def __init__(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        self.name = path.stem
        self.room = path.parent.name
        self.tree = ast.parse(text)
        self.comments = {
            token.start[0]: token.string.lstrip("# ").partition("  # noqa")[0]
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type == tokenize.COMMENT
        }
        self.constants: dict[str, ast.expr] = {}  # also those below TYPE_CHECKING: names of types
        self.definitions: dict[str, Named] = {}
        self.imports: dict[str, tuple[str, str, str]] = {}  # local name → room, file, name in it ("": the file)
        self._read(self.tree.body)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                self._import(node)

    def comment(self, node: ast.expr | ast.stmt) -> str:
        """The comment at the end of a statement or an element."""
        return self.comments.get(node.end_lineno or node.lineno, "")

    def _read(self, body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.If):
                self._read(node.body)
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                self.definitions[node.name] = node
            elif isinstance(node, ast.Assign):
                self.constants.update(assigned(node.targets[0], node.value))
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                self.constants.update(assigned(node.target, node.value))

    def _import(self, node: ast.ImportFrom) -> None:
        parts = (node.module or "").split(".")[2:]  # below dibs.operations
        for name in node.names:
            if len(parts) == 1:
                self.imports[name.asname or name.name] = (parts[0], name.name, "")
            elif len(parts) > 1:
                self.imports[name.asname or name.name] = (parts[0], parts[1], name.name)


def assigned(target: ast.expr, value: ast.expr) -> dict[str, ast.expr]:
    """The names that an assignment sets, each with its value."""
    if isinstance(target, ast.Name):
        return {target.id: value}
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        pairs = zip(target.elts, value.elts, strict=True)
        return {part.id: expression for part, expression in pairs if isinstance(part, ast.Name)}
    return {}


@cache
def sources() -> dict[tuple[str, str], Source]:
    """Every file of a room, by room and name."""
    files = [Source(path) for path in sorted(OPERATIONS.glob("*/*.py"))]
    return {(source.room, source.name): source for source in files}


def named(name: str) -> list[Source]:
    """The files of this name, by room: `records`, `events`."""
    return [source for (_, file), source in sources().items() if file == name]
