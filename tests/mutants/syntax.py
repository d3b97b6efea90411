"""A change of the source, told by syntax: of which function, which statement or expression, and what happens to it.

A row quotes no source text, so that it outlives a new name of a variable, a reformatted line and a moved module:

    ("_refuse_tasks", "never if until", …)    ("places._bind", "drop call delete", …)

The first part is the end of a dotted name, as much of it as is unique below src/dibs: a function, a class, or a constant
of a module or class (`claim`, `grants.claim`, `Search.find`, `install.MATCHERS`). The second is one change, or several
with ", then " between them:

    never TARGET, always TARGET   its condition (or, without one, its value, or itself) is False, or True
    drop TARGET                   a statement, operand, filter, argument, element, decorator
    replace TARGET -> CODE        $1 in the code is the second expression that the target is made of, $1.0 the first of that;
                                  statements stand instead of the target's statement
    text 'OLD' -> 'NEW'           within the one string that holds the old text

A target is a kind and the words that it mentions: names, attributes, fields, words of a string, operators. The kind is the
name of a class of `ast` in lower case (`if`, `return`, `call`, `ifexp`, `compare`), `assign` for each kind of assignment,
or what an expression is there for: `operand` of and/or, `filter` of a comprehension, `argument`, `element`, `decorator`.
Of a compound statement the words of its head count; of a call the first word is the function's name. Of expressions
within each other the innermost counts. `#2` is the second one of those that are left. `if containing raise Stale` is the
innermost `if` with that in its body, `continue beneath for waiters` one that stands there. The shortest target is the one
that breaks least: `python -m tests.mutants.propose FILE LINE` prints the rows for a line.
"""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import re
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCES = Path(__file__).resolve().parent.parent.parent / "src" / "dibs"
BODIES = ("body", "orelse", "finalbody", "handlers")
ROLES = {
    ("BoolOp", "values"): "operand", ("comprehension", "ifs"): "filter",
    ("Call", "args"): "argument", ("Call", "keywords"): "argument",
    ("List", "elts"): "element", ("Tuple", "elts"): "element", ("Set", "elts"): "element", ("Dict", "keys"): "element",
}  # fmt: skip
KINDS = {"augassign": "assign", "annassign": "assign", "excepthandler": "except",
         "asyncfor": "for", "asyncwith": "with"}  # fmt: skip
OPERATORS = {
    "Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Is": "is", "IsNot": "is not",
    "In": "in", "NotIn": "not in", "Not": "not", "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "BitOr": "|", "BitAnd": "&",
}  # fmt: skip
DEFINED = re.compile(r"^\s*(?:(?:async\s+)?def|class)\s+(\w+)|^\s*(\w+)\s*(?::[^=\n]+)?=[^=]", re.MULTILINE)
MOST_SHOWN = 12
Edit = tuple[ast.stmt | ast.expr, ast.AST]  # a node, and what stands there instead
# Of each node: what it is part of, in which field, where in its list.
_PLACES: dict[ast.AST, tuple[ast.AST, str, int | None]] = {}


class StaleRowError(Exception):
    """A row names what is not there, or there more than once. Its text says what to write instead."""


class Scope(NamedTuple):
    """What the first part of a row names: all of it, if a name is defined twice in one file."""

    file: str  # below src/dibs
    name: str
    nodes: tuple[ast.AST, ...]


# --- the first part: a function


def scope(where: str) -> Scope:
    """Find the one function, class or constant whose dotted name ends so."""
    last = where.rpartition(".")[2]
    there = [one for file in _files_by_name().get(last, ()) for one in scopes(file)]
    named = [one for one in there if one.name.endswith(f".{last}")]
    found = [one for one in named if f".{one.name}".endswith(f".{where}")]
    if len(found) == 1:
        return found[0]
    near = found or named
    names = [one.name for one in near] or get_close_matches(last, _files_by_name(), MOST_SHOWN)
    what = "several names end" if found else "no name ends"
    raise StaleRowError(f"{what} with {where!r}; write one of: {', '.join(names[:MOST_SHOWN])}")


@functools.cache
def _files_by_name() -> dict[str, tuple[str, ...]]:
    files: dict[str, tuple[str, ...]] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        file = path.relative_to(SOURCES).as_posix()
        for name in sorted({first or second for first, second in DEFINED.findall(path.read_text())}):
            files[name] = (*files.get(name, ()), file)
    return files


@functools.cache
def scopes(file: str) -> tuple[Scope, ...]:
    """Every function, class and constant of a file, with its dotted name below dibs."""
    found: dict[str, list[ast.AST]] = {}
    _define(tree(file), ".".join(Path(file).with_suffix("").parts).removesuffix(".__init__"), found)
    return tuple([Scope(file, name, tuple(nodes)) for name, nodes in found.items()])


def _define(node: ast.AST, above: str, found: dict[str, list[ast.AST]], *, is_local: bool = False) -> None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.setdefault(f"{above}.{child.name}", []).append(child)
            _define(child, f"{above}.{child.name}", found, is_local=not isinstance(child, ast.ClassDef))
        elif isinstance(child, ast.Assign | ast.AnnAssign) and not is_local:
            for target in child.targets if isinstance(child, ast.Assign) else [child.target]:
                if isinstance(target, ast.Name):
                    found.setdefault(f"{above}.{target.id}", []).append(child)
        elif not isinstance(child, ast.expr):
            _define(child, above, found, is_local=is_local)


@functools.cache
def tree(file: str) -> ast.Module:
    """A file's syntax, in which each node knows where it stands."""
    module = ast.parse((SOURCES / file).read_text())
    for node in ast.walk(module):
        for field, value in ast.iter_fields(node):
            for place, child in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(child, ast.expr | ast.stmt | ast.keyword | ast.comprehension | ast.excepthandler):
                    _PLACES[child] = (node, field, place if isinstance(value, list) else None)
    return module


# --- the second part: a statement or an expression


def find(where: Scope, target: str) -> ast.AST:
    """Find the one node that a target names."""
    found = matches(where, target)
    if len(found) == 1:
        return found[0]
    kind = target.split(maxsplit=1)[0]
    shown = found or matches(where, kind)
    lines = "".join([f"\n  {where.file}:{getattr(node, 'lineno', 0)}: {_brief(node)}" for node in shown[:MOST_SHOWN]])
    others = [one.name for one in scopes(where.file) if one != where and matches(one, target)] if not found else []
    raise StaleRowError(
        f"{where.name} has {len(found) or 'no'} {target!r}"
        + (f" (but {', '.join(others[:MOST_SHOWN])})" if others else "")
        + (f"; {'say which by a word or #N' if found else 'it has these'}:{lines}" if shown else f", nor any {kind!r}")
    )


def matches(where: Scope, target: str) -> list[ast.AST]:
    """All nodes that a target may mean, in the order of the source."""
    own, relation, other = re.fullmatch(r"(.+?)(?: (beneath|containing) (.+))?", target, re.DOTALL).groups()  # type: ignore[union-attr]
    kind, *words = own.split()
    number = words.pop() if words and words[-1].startswith("#") else ""
    found = [node for top in where.nodes for node in nodes(top) if kind in kinds(node) and _mentions(node, kind, words)]
    if relation:
        others = matches(where, other)
        if relation == "beneath":
            found = [node for node in found if any(above in others for above in ancestors(node))]
        else:
            nearest = [next((above for above in bearers(node) if above in found), None) for node in others]
            found = [node for node in found if node in nearest]
    if kind != "call":
        outer = {id(above) for node in found if isinstance(node, ast.expr) for above in ancestors(node)}
        found = [node for node in found if not isinstance(node, ast.expr) or id(node) not in outer]
    return found[int(number[1:]) - 1 : int(number[1:])] if number else found


def kinds(node: ast.AST) -> set[str]:
    """What a node is called: by its class, and by what it is there for."""
    name = type(node).__name__.lower()
    above, field, _ = _PLACES.get(node, (None, "", None))
    role = "decorator" if field == "decorator_list" else ROLES.get((type(above).__name__, field), "")
    return {KINDS.get(name, name), role}


def _mentions(node: ast.AST, kind: str, words: list[str]) -> bool:
    if kind == "call" and words and callee(node) != words[0]:
        return False
    return not words or mentioned(node).issuperset(words)


def callee(node: ast.AST) -> str:
    """The name of the function that a call calls."""
    function = getattr(node, "func", None)
    return str(getattr(function, "id", getattr(function, "attr", "")))


@functools.cache
def mentioned(node: ast.AST) -> frozenset[str]:
    """The words of a node; of a compound statement those of its head."""
    words: set[str] = set()
    for part in nodes(node, head=True):
        for field, value in ast.iter_fields(part):
            if isinstance(value, str | bytes) and field != "type_comment":
                words.update(re.findall(r"\w+", value if isinstance(value, str) else value.decode("latin-1")))
            elif field == "value" and isinstance(value, int | float | None) and isinstance(part, ast.Constant):
                words.add(repr(value))
            for child in value if isinstance(value, list) else [value]:
                words.add(OPERATORS.get(type(child).__name__, ""))
    return frozenset(words - {""})


def nodes(node: ast.AST, *, head: bool = False) -> Iterator[ast.AST]:
    """A node and all below it, in the order of the source; without the statements of its body, if only its head counts."""
    yield node
    for field, value in ast.iter_fields(node):
        if head and field in BODIES and isinstance(value, list):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from nodes(child)


def ancestors(node: ast.AST) -> Iterator[ast.AST]:
    """What stands around a node, from within."""
    while (at := _PLACES.get(node)) is not None:
        node = at[0]
        yield node


def bearers(node: ast.AST) -> Iterator[ast.AST]:
    """What stands around a node and has it in its body, not in its `else`."""
    while (at := _PLACES.get(node)) is not None:
        if at[1] != "orelse":
            yield at[0]
        node = at[0]


def _brief(node: ast.AST) -> str:
    return ast.unparse(node).splitlines()[0][:100]


# --- the change


def mutated(where: Scope, change: str) -> str:
    """The source of the file with the change."""
    source = (SOURCES / where.file).read_text()
    for node, new in sorted(edits(where, change), key=lambda edit: (edit[0].lineno, edit[0].col_offset), reverse=True):
        source = _splice(source, node, new)
    ast.parse(source)  # with an error of syntax every test would fail
    return source


def edits(where: Scope, change: str) -> list[Edit]:
    """The nodes whose text changes, each with what stands there instead."""
    return [_edit(where, step) for step in change.split(", then ") if step]


def _edit(where: Scope, step: str) -> Edit:
    verb, _, rest = step.partition(" ")
    if verb == "text":
        return _text(where, *[ast.literal_eval(part) for part in rest.split(" -> ")])
    target, _, code = rest.partition(" -> ")
    node = find(where, target)
    if verb == "drop":
        return _drop(node)
    if verb == "replace":
        new = _code(where, node, code)
        return _whole(_statement(node) if isinstance(new, ast.Module) else node, new)
    assert verb in {"never", "always"}, f"not a change: {step!r}"
    condition = getattr(node, "test", None) or (getattr(node, "value", None) if isinstance(node, ast.stmt) else None)
    return _whole(condition or node, ast.Constant(verb == "always"))


def _drop(node: ast.AST) -> Edit:
    above, field, place = _PLACES[node]
    if isinstance(above, ast.Expr | ast.Await):
        return _drop(above)
    if isinstance(node, ast.stmt):
        return node, ast.Pass()
    if place is None:
        raise StaleRowError(f"not to be dropped, as it is no statement and in no list: {_brief(node)}")
    new = copy.deepcopy(above)
    del getattr(new, field)[place]
    if isinstance(new, ast.Dict):
        del new.values[place]
    if isinstance(new, ast.BoolOp) and len(new.values) == 1:
        new = new.values[0]
    return _whole(above, new)


def _code(where: Scope, node: ast.AST, code: str) -> ast.AST:
    """The code of a row, with the parts of the node that it asks for."""
    module = ast.parse(re.sub(r"\$([\d.]*\d)", lambda match: "at_" + match[1].replace(".", "_"), code))
    names = [one for one in ast.walk(module) if isinstance(one, ast.Name) and not one.id.startswith("at_")]
    own = {one.id for one in names if isinstance(one.ctx, ast.Store)}
    if unknown := {one.id for one in names} - own - _known(where) - {*dir(builtins)}:
        raise StaleRowError(f"{where.name} knows no {', '.join(sorted(unknown))}, which the code of the row names")

    class Parts(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.AST:
            if not re.fullmatch(r"at_[\d_]+", name.id):
                return name
            part = node
            for place in name.id.split("_")[1:]:
                if int(place) >= len(parts(part)):
                    raise StaleRowError(f"{ast.unparse(part)} in {where.name} has no part {place}")
                part = parts(part)[int(place)]
            return copy.deepcopy(part)

    Parts().visit(module)
    only = module.body[0]
    return only.value if isinstance(only, ast.Expr) and isinstance(node, ast.expr) and len(module.body) == 1 else module


def _known(where: Scope) -> set[str]:
    """The names of a function, and those of its module."""
    known = [part for top in where.nodes for part in ast.walk(top)]
    for top in tree(where.file).body:
        is_scope = isinstance(top, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        known += [top] if is_scope else ast.walk(top)
    return {str(getattr(part, field, "")) for part in known for field in ("id", "arg", "asname", "name")}


def _statement(node: ast.AST) -> ast.AST:
    return next(one for one in (node, *ancestors(node)) if isinstance(one, ast.stmt))


def parts(node: ast.AST) -> list[ast.expr]:
    """The expressions that a node is made of, from the left."""
    found: list[ast.expr] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            found.append(child)
        elif isinstance(child, ast.keyword | ast.comprehension):
            found += parts(child)
    return found


def _text(where: Scope, old: str, new: str) -> Edit:
    found = []
    for node in [node for top in where.nodes for node in nodes(top) if isinstance(node, ast.Constant)]:
        text = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
        found += [(node, text)] if isinstance(text, str) and old in text else []
    if len(found) != 1 or found[0][1].count(old) != 1:
        raise StaleRowError(f"{where.name} holds the text {old!r} in {len(found)} strings, or more than once in one")
    node, text = found[0]
    changed = text.replace(old, new)
    return _whole(node, ast.Constant(changed.encode("latin-1") if isinstance(node.value, bytes) else changed))


def _whole(node: ast.AST, new: ast.AST) -> Edit:
    """The same change of the nearest expression or statement around it whose place in the text is known."""
    above, field, place = _PLACES[node]
    formatted = isinstance(above, ast.JoinedStr | ast.FormattedValue)  # Python 3.11 does not say where in an f-string
    if isinstance(node, ast.expr | ast.stmt) and not isinstance(node, ast.Starred | ast.Slice) and not formatted:
        return node, new
    around = copy.deepcopy(above)
    if place is None:
        setattr(around, field, new)
    else:
        getattr(around, field)[place] = new
    return _whole(above, around)


def _splice(source: str, node: ast.stmt | ast.expr, new: ast.AST) -> str:
    """The source with the node's text exchanged, and all lines after it where they were."""
    lines = source.encode().splitlines(keepends=True)
    assert node.end_lineno is not None
    before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
    after = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
    text = ast.unparse(ast.fix_missing_locations(new))
    rest = "\n" * (node.end_lineno - node.lineno - text.count("\n"))
    text = text.replace("\n", "\n" + " " * node.col_offset) + rest if isinstance(node, ast.stmt) else f"({text}{rest})"
    return (before + text.encode() + after).decode()
