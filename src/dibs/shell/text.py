"""The text of a script with the grammar's tree of it: the places of words, and their possible values.

The grammar misreads some words: an escaped blank after quotes, or at the beginning, is lost between two of them; a word
before a redirection may be left out; commands in a here-document or in `${…}` are not always shown. This module repairs
that; any other text left out makes the reading broken. walk.py walks the statements.
"""

from __future__ import annotations

from dibs.shell import parameters as shell_parameters
from dibs.shell import words as shell_words
from dibs.shell.commands import CommandInterpreter
from dibs.shell.unknown import ANY, PLAIN, Unknown, between, either

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

    from dibs.shell.findings import Env, Reading, Value
    from dibs.shell.globs import FileView
    from dibs.shell.unknown import Field

    Span = tuple[int, int, list[Node]]  # a word's start and end, and its nodes

MAX_VALUE_LENGTH = 10_000  # characters or elements of a variable; limits a value that doubles in a loop

_EXPANSIONS = frozenset((
    "simple_expansion", "expansion", "command_substitution", "arithmetic_expansion", "process_substitution",
))  # fmt: skip


class Text(CommandInterpreter):
    """One text that is read as a script."""

    __slots__ = ("added", "recovered", "source")

    def __init__(self, source: str, reading: Reading, home: str, view: FileView, level: int) -> None:
        super().__init__(reading, home, view, level)
        self.source = source
        self.added: list[int] = []  # places of blanks that only the grammar has seen
        self.recovered: set[int] = set()  # nodes before which a left-out text is accounted for

    def run(self, node: Node, env: Env, tail: list[Node] | None = None) -> Env | None:
        """Walk one statement; `tail` are the redirections after it."""
        raise NotImplementedError

    def sequence(self, nodes: list[Node], env: Env) -> Env | None:
        """Walk statements, one after the other."""
        raise NotImplementedError

    def repaired(self, node: Node) -> None:
        """The grammar's errors in this node are understood."""
        raise NotImplementedError

    def start(self, node: Node) -> int:
        """Where a node starts in the text."""
        return self._typed(node.start_byte)

    def end(self, node: Node) -> int:
        """Where a node ends in the text."""
        return self._typed(node.end_byte)

    def _typed(self, place: int) -> int:
        """A place of the grammar's in the text as it was typed; the grammar gets one byte for each character."""
        if not self.added:
            return place
        from bisect import bisect_left

        return place - bisect_left(self.added, place)

    def text(self, node: Node) -> str:
        """A node as typed."""
        return self.source[self.start(node) : self.end(node)]

    @staticmethod
    def set(env: Env, name: str, value: Value) -> None:
        """Set a variable to a value, or to unknown."""
        too_long = not isinstance(value, Unknown) and len(value) > MAX_VALUE_LENGTH
        if too_long or value == ANY:
            env.variables.pop(name, None)
        else:
            env.variables[name] = value

    def assigned(self, node: Node, env: Env) -> tuple[str, Value]:
        """The name and value of `A=b`."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        where = env.where
        if name and name.type == "subscript":
            self.substitutions(name, env)
        key = self.text(name) if name else ""
        content: Value = ""
        if value and value.type == "array":
            content = [
                _cell(field) for field in self.fields([child for child in value.children if child.is_named], env, where)
            ]
        elif value:
            start = self.start(value)
            text, holes = self.source[start : self.end(value)], self.holes([value], env, start)
            content = shell_words.value(text, holes, where, self.home)
        if any(child.type == "+=" for child in node.children):
            was = env.variables.get(key)
            if isinstance(was, list) and isinstance(content, list):
                return key, [*was, *content]
            if isinstance(was, str) and isinstance(content, str):
                return key, was + content
            return key, ANY if was is None or isinstance(was, list) else between("", either([was]).begun(), "x")
        return self._subscripted(key, content, env) if "[" in key else (key, content)

    def _subscripted(self, key: str, content: Value, env: Env) -> tuple[str, Value]:
        """`a[0]=b`: any element of the array may be this one."""
        name, _, index = key.partition("[")
        was = env.variables.get(name)
        if was is None and index == "0]" and isinstance(content, str):
            return name, [content]
        cells = was if isinstance(was, list) else [] if was is None else [was]
        return name, ANY if isinstance(content, list) else either([*cells, content])

    def fields(self, nodes: list[Node], env: Env, cwd: str | None) -> list[Field]:
        """The fields of some words."""
        return self.expanded(self.spans(nodes), env, cwd)

    def expanded(self, spans: list[Span], env: Env, cwd: str | None) -> list[Field]:
        """The fields of the words in some places."""
        fields: list[Field] = []
        for start, end, parts in spans:
            self.reading.step()
            holes = self.holes(parts, env, start, cwd)
            fields += shell_words.fields(self.source[start:end], holes, cwd, self.home, self.view, env.separators)
        return fields

    def spans(self, nodes: list[Node]) -> list[Span]:
        """Where the words are; two nodes with more than blanks between them are one word."""
        spans: list[Span] = []
        for node in nodes:
            start, end = self.start(node), self.end(node)
            begin = start
            while self.source[max(start - 2, 0) : start] in {"\\ ", "\\\t"}:
                start -= 2  # an escaped blank at the beginning of a word falls out of it
            if spans and not self.apart(spans[-1][1], start):
                first, _, parts = spans.pop()
                spans.append((first, end, [*parts, node]))
                self.recovered.add(begin)
            else:
                spans.append((start, end, [node]))
                if start != begin:
                    self.recovered.add(begin)
        return spans

    def dropped(self, end: int, start: int) -> str:
        """The text between two nodes that belongs to no node: the grammar silently leaves some out."""
        return self.source[end:start].replace("\\\n", "  ").strip()

    def apart(self, end: int, start: int) -> bool:
        """Are two words separate? A redirection between them separates them too."""
        gap = self.source[end:start].replace("\\\n", "")
        return bool(gap) and (gap[0] in " \t\n" or gap[0] in "<>|&;()")

    def holes(self, nodes: list[Node], env: Env, start: int, cwd: str | None = None) -> shell_words.Holes:
        """The expansions in a word, each with how to get its value."""
        where = cwd if cwd is not None else env.where
        holes: shell_words.Holes = {}
        for node in self.expansions(nodes):
            holes[self.start(node) - start] = (self.end(node) - start, self._evaluation(node, env, where))
        return holes

    def _evaluation(self, node: Node, env: Env, cwd: str | None) -> Callable[[], Value]:
        return lambda: shell_parameters.value(self, node, env, cwd)

    @staticmethod
    def expansions(nodes: list[Node]) -> Iterator[Node]:
        """The outermost expansions in some nodes."""
        waiting = nodes[::-1]
        while waiting:
            node = waiting.pop()
            if node.type in _EXPANSIONS:
                yield node
            else:
                waiting += node.children[::-1]

    def substitutions(self, node: Node, env: Env) -> Env | None:
        """Walk the commands that run during an expansion."""
        for inner in self.expansions([node]):
            for cwd in env.cwds:
                shell_parameters.value(self, inner, env, cwd)
        return None

    def hidden(self, node: Node, env: Env) -> None:
        """Commands in expanded text that the grammar does not show: in here-documents and `${…}`."""
        text, start = self.text(node), self.start(node)
        if "`" not in text and "$(" not in text:
            return
        seen = [(self.start(inner) - start, self.end(inner) - start) for inner in _commands(node)]
        for inside in shell_parameters.substituted(text, seen):
            for cwd in env.cwds:
                here = env.copy()
                here.cwds = [cwd]
                self.script(inside, here)

    def arithmetic(self, node: Node, env: Env) -> None:
        """Variables in an arithmetic expression may be any number afterwards."""
        text = self.text(node)
        if "=" in text or "++" in text or "--" in text:
            letters = [character if character.isalnum() or character == "_" else " " for character in text]
            for name in "".join(letters).split():
                if not name[0].isdigit():
                    env.variables[name] = PLAIN
        self.substitutions(node, env)


def _cell(field: Field) -> Field:
    """An element of an array without its key: `[x]=y`."""
    if isinstance(field, str):
        return field.partition("]=")[2] if field.startswith("[") and "]=" in field else field
    return field if not field.below else Unknown([str(_cell(way)) for way in field.below])


def _commands(node: Node) -> Iterator[Node]:
    """The substitutions below a node that the grammar shows."""
    waiting = list(node.children)
    while waiting:
        inner = waiting.pop()
        if inner.type in {"command_substitution", "arithmetic_expansion"}:
            yield inner
        else:
            waiting += inner.children
