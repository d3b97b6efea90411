"""Commands joined by `&&`, `||` and `|`, put back into the shell's own order.

With a redirection, the grammar nests them differently than the shell does: in `cd a && b 2>&1 | c > d` it takes the
first two commands together as the left side of the pipe, with the first redirection around both and the second one
around everything. It also puts the rest of a here-document's line inside the here-document. So the nodes are laid out
in a line, as typed, and grouped again: a pipe binds tighter than `&&`, and a redirection belongs to the command before
it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tree_sitter import Node

    from dibs.shell.text import Text

JOINED = frozenset(("list", "pipeline", "redirected_statement", "negated_command"))  # the nodes that are laid out here
REDIRECTS = frozenset(("file_redirect", "heredoc_redirect", "herestring_redirect"))
_OPERATORS = frozenset(("&&", "||", "|", "|&"))


class Part:
    """One command of a chain, with the redirections after it."""

    __slots__ = ("mixed", "negated", "node", "tail")

    def __init__(self, node: Node | None, tail: list[Node]) -> None:
        self.node = node  # None: redirections alone
        self.tail = tail
        self.negated = False
        self.mixed = False  # its stderr goes through the pipe as well


def pipelines(script: Text, node: Node, tail: list[Node]) -> list[tuple[str, list[Part]]]:
    """The pipelines of a chain, each with the operator before it ("" for the first)."""
    chain: list[tuple[str, list[Part]]] = []
    operator = ""
    for item in _line(script, node, tail):
        if isinstance(item, str):
            operator = item
        elif operator in {"|", "|&"} and chain:
            chain[-1][1][-1].mixed = operator == "|&"
            chain[-1][1].append(item)
        else:
            chain.append((operator, [item]))
    return chain


def _line(script: Text, node: Node, tail: list[Node]) -> list[Part | str]:
    """Commands and operators as they were typed."""
    if node.type == "redirected_statement":
        body = node.child_by_field_name("body")
        own = [child for child in node.children if child.type in REDIRECTS]
        for child in node.children:
            if child.is_error and script.text(child) == "<":
                script.repaired(child)  # `<>`: the grammar knows only its second half
        line = _line(script, body, own + tail) if body else [Part(None, own + tail)]
        return [*line, *(item for redirect in own for item in _behind(script, redirect))]
    if node.type == "negated_command":
        line = _line(script, node.children[-1], tail)
        if isinstance(line[0], Part):
            line[0].negated = True
        return line
    if node.type not in JOINED:
        return [Part(node, tail)]
    joined: list[Part | str] = []
    parts = [child for child in node.children if child.type in _OPERATORS or _counts(child)]
    for child in parts:
        if child.type in _OPERATORS:
            joined.append(child.type)
        else:
            joined += _line(script, child, tail if child is parts[-1] else [])
    return joined


def _counts(node: Node) -> bool:
    return node.is_named and node.type != "comment"


def _behind(script: Text, node: Node) -> list[Part | str]:
    """The rest of a here-document's line; where the grammar misread it, it is read again later."""
    line: list[Part | str] = []
    if node.type != "heredoc_redirect" or node.has_error:
        return line
    for index, child in enumerate(node.children):
        if child.type in {"&&", "||"}:
            line.append(child.type)
        elif child.type == "pipeline" or node.field_name_for_child(index) == "right":
            line += _line(script, child, [])
    return line
