"""The rows of the table for a line: python -m tests.mutants.propose FILE LINE.

Prints, for each statement, condition and operand that begins in that line, the function and the change to write, by the
shortest target that no new name of a local variable breaks.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.mutants import syntax

if TYPE_CHECKING:
    from collections.abc import Iterator

# Words that say little, or that a refactoring takes first; and the two that a target is made with.
VAGUE = {"self", "cls", "None", "True", "False", "found", "got", "one", "said", "met", "kept", "wish",
         "beneath", "containing"}  # fmt: skip
BUILT_IN = {*dir(builtins), *dir(str), *dir(dict), *dir(list)}
SIGNS = frozenset(syntax.OPERATORS.values())
MOST_WORDS = 6
LOCAL = 9  # the rank of a local name, which no target has


def where(scope: syntax.Scope) -> str:
    """The shortest end of its name that means nothing else."""
    parts = scope.name.split(".")
    for count in range(1, len(parts)):
        try:
            if syntax.scope(end := ".".join(parts[-count:])) == scope:
                return end
        except syntax.StaleRowError:
            continue
    return scope.name


def target(scope: syntax.Scope, node: ast.AST) -> str:
    """The shortest target that means this node alone; none, if it is an expression around another one of its kind."""
    return next((text for text in _targets(scope, node) if syntax.matches(scope, text) == [node]), "")


def _targets(scope: syntax.Scope, node: ast.AST) -> Iterator[str]:
    kinds = _kinds(node)
    simple = [text for kind in kinds for text in _simple(scope, node, kind)]
    yield from simple
    above = list(itertools.takewhile(lambda one: one not in scope.nodes, syntax.ancestors(node)))
    below = [one for one in syntax.nodes(node) if one is not node] if isinstance(node, ast.stmt) else []
    for relation, others in (("containing", below), ("beneath", above)):
        for text in (text for other in others for kind in _kinds(other)[:1] for text in _simple(scope, other, kind)):
            yield from (f"{own} {relation} {text}" for own in (*kinds, *simple[:2]))
    yield from kinds
    yield from (f"{kind} {sign}" for kind in kinds for sign in sorted(syntax.mentioned(node) & SIGNS))
    yield from (f"{own} #{number}" for number in range(1, 4) for own in (*simple[:1], *kinds))
    outer = next((target(scope, one) for one in above if isinstance(one, ast.stmt)), "")
    yield from (f"{kind} #{number} beneath {outer}" for number in range(1, 9) for kind in kinds if outer)
    yield from (f"{kinds[0]} #{number}" for number in range(1, 100))


def _kinds(node: ast.AST) -> list[str]:
    """What a node is called: an operand or a filter by that, all else by its class first."""
    roles = {*syntax.ROLES.values()}
    return sorted(syntax.kinds(node) - {""}, key=lambda kind: (kind not in {"operand", "filter"}, kind in roles))


def _simple(scope: syntax.Scope, node: ast.AST, kind: str) -> list[str]:
    words = _words(scope, node)[:MOST_WORDS]
    if kind == "call" and not isinstance(node, ast.Expr):
        name = syntax.callee(node)
        return [f"call {name}", *[f"call {name} {word}" for word in words if word != name]] if name else []
    return [f"{kind} {' '.join(some)}" for count in (1, 2) for some in itertools.combinations(words, count)]


def _words(scope: syntax.Scope, node: ast.AST) -> list[str]:
    """What a node mentions, without local names; what is likely to stay first."""
    local = _local(scope)
    ranks: dict[str, float] = {}
    for part in syntax.nodes(node, head=True):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute | ast.Name):
            _rank(ranks, syntax.callee(part), LOCAL if syntax.callee(part) in local else 1)
        if isinstance(part, ast.Attribute):
            _rank(ranks, part.attr, 0 if part.attr.isupper() else 3)
        elif isinstance(part, ast.Name) and part.id not in local:
            _rank(ranks, part.id, 0 if part.id.isupper() or part.id[0].isupper() else 5)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str) and " " not in part.value:
            for word in re.findall(r"\w+", part.value):
                _rank(ranks, word, 2 if word == part.value else 4)
        elif isinstance(part, ast.keyword) and part.arg:
            _rank(ranks, part.arg, 4)
    words = [word for word, rank in ranks.items() if rank < LOCAL and word not in VAGUE and len(word) > 1]
    return sorted(words, key=lambda word: (ranks[word], len(word)))


def _local(scope: syntax.Scope) -> set[str]:
    """The parameters and variables of a function."""
    inner = [part for top in scope.nodes if not isinstance(top, ast.Assign | ast.AnnAssign) for part in ast.walk(top)]
    names = {part.id for part in inner if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    return names | {part.arg for part in inner if isinstance(part, ast.arg)}


def _rank(ranks: dict[str, float], word: str, rank: float) -> None:
    ranks[word] = min(ranks.get(word, LOCAL), 6 if word in BUILT_IN else rank)


def main(file: str, line: int) -> None:
    """Print the rows of a line."""
    path = Path(file).resolve().relative_to(syntax.SOURCES).as_posix()
    around = [one for one in syntax.scopes(path) if line in _lines(one)]
    if not around:
        sys.exit(f"no function, class or constant stands in line {line}")
    scope = min(around, key=lambda one: len(_lines(one)))
    for node in [node for top in scope.nodes for node in syntax.nodes(top) if getattr(node, "lineno", 0) == line]:
        for verb in _verbs(node):
            meant = node.value if isinstance(node, ast.Expr) else node
            print(f'("{where(scope)}", "{verb} {target(scope, meant)}", TEST),')


def _lines(scope: syntax.Scope) -> range:
    first = scope.nodes[0]
    assert isinstance(first, ast.stmt)
    return range(first.lineno, (first.end_lineno or first.lineno) + 1)


def _verbs(node: ast.AST) -> tuple[str, ...]:
    kinds = syntax.kinds(node)
    if kinds & {"operand", "filter"}:
        return "never", "always", "drop"
    if kinds & {"if", "while", "ifexp", "return"}:
        return "never", "always"
    return ("drop",) if isinstance(node, ast.stmt) or "keyword" in kinds else ()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
