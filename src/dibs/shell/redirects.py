"""Redirections and here-documents, and a simple command with them."""

from __future__ import annotations

from dibs.shell.chains import REDIRECTS
from dibs.shell.findings import LITERAL_LETTERS
from dibs.shell.streams import Stream
from dibs.shell.unknown import ANY, either

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from dibs.shell.findings import Env
    from dibs.shell.text import Span, Text
    from dibs.shell.unknown import Field

    Walk = Callable[[Node, Env], Env | None]

_READS = frozenset(("<", "<&", "<&-", ">&-"))
_BEFORE = frozenset(("variable_assignment", "file_redirect", "herestring_redirect"))
_HOW = {">>": "append", "&>>": "append"}
_WHOLE = frozenset((">", ">|"))  # with `&>`, stderr is in the file as well


class Tail:
    """The redirections of one command: their targets go to the reading, the rest is kept for the command."""

    __slots__ = ("_cwd", "_env", "_script", "extras", "out", "stdin")

    def __init__(self, script: Text, nodes: list[Node], env: Env, cwd: str | None) -> None:
        self._script, self._env, self._cwd = script, env, cwd
        self.extras: list[Node] = []  # words of the command after a redirection
        self.stdin: Stream | None = None
        self.out: Stream | None = None  # the destination of the output, if it is redirected
        for node in nodes:
            self._one(node)

    def _one(self, node: Node) -> None:
        if node.type == "file_redirect":
            self._file(node)
        elif node.type == "herestring_redirect":
            self._script.substitutions(node, self._env)
            words = [child for child in node.children if child.is_named]
            fields = self._script.fields(words, self._env, self._cwd)
            word = fields[0] if len(fields) == 1 else "" if not fields else either(fields)
            self.stdin = Stream(word + "\n", raw=word) if isinstance(word, str) else Stream(word)
        else:
            self._here(node)

    def _file(self, node: Node) -> None:
        script = self._script
        both = any(child.is_error and script.text(child).strip() == ">" for child in node.children)  # `<>`
        both = both or script.source[max(script.start(node) - 1, 0) : script.start(node)] == "<"
        operator = next((c.type for c in node.children if not c.is_named and c.type != "file_descriptor"), ">")
        words = [child for i, child in enumerate(node.children) if node.field_name_for_child(i) == "destination"]
        spans = script.spans(words)
        if both:
            script.repaired(node)
        if not spans:
            return
        self.extras += [part for span in spans[1:] for part in span[2]]
        paths = script.fields(spans[0][2], self._env, self._cwd)
        text = script.source[script.start(node) : spans[0][1]]
        if operator == "<" and not both:
            self._input(paths[0] if len(paths) == 1 else ANY)
        if operator in _READS and not both:
            return
        descriptor = next((script.text(child) for child in node.children if child.type == "file_descriptor"), "1")
        for path in paths:  # none: the shell refuses `> $EMPTY`
            if operator == ">&" and isinstance(path, str) and not path.rstrip("-").strip("0123456789"):
                if script.reading.capturing and descriptor == "1":
                    self.out = script.reading.stream()
                elif descriptor == "2" and path == "1":
                    script.reading.mixes(self.out)
                continue  # another descriptor, or a closed one
            if operator == ">&" and not isinstance(path, str) and _is_descriptor(script.source, text):
                continue
            target = script.reading.write(self._cwd, path, _HOW.get(operator, "write"), text)
            if descriptor == "1" and not both:
                self.out = script.reading.stream()
                if target and operator in _WHOLE:
                    self.out.targets.append(target)

    def _input(self, path: Field) -> None:
        """The input is a file, or the output of `<(…)`."""
        reading = self._script.reading
        if path == "/dev/fd/63" and reading.piped:
            self.stdin = reading.piped
            return
        self.stdin = Stream(ANY, file=path if isinstance(path, str) else None)
        if isinstance(path, str) and (self._cwd is not None or path.startswith("/")):
            full = path if path.startswith("/") else f"{self._cwd}/{path}"
            reading.read(full)
            self.stdin.files.append((full, ""))
            text = reading.text_of(full)
            if text is not None:
                self.stdin = Stream(text, file=path)
                self.stdin.files.append((full, ""))
            elif not reading.is_written(full) and not reading.opened:
                self.stdin.listed = full

    def around(self, walk: Walk, node: Node, env: Env) -> Env | None:
        """Walk the statement that these redirections follow."""
        reading, given, sink = self._script.reading, env.given, self._script.reading.sink
        env.given, reading.sink = self.stdin or given, self.out or sink
        failed = walk(node, env)
        env.given, reading.sink = given, sink
        if self.out:
            self.out.settle()
        return failed

    def pour(self) -> None:
        """`$(< file)` is the file's content."""
        if self.stdin and self.stdin.file and not self.out and self._script.reading.capturing:
            self._script.reading.prints(ANY, self.stdin.files)

    def alone(self) -> None:
        """Redirections without a command: the files they open become empty."""
        if self.out:
            self.out.settle()

    def _here(self, node: Node) -> None:
        text = body(self._script, node)
        wrong = node.has_error
        delimiter = "".join(self._script.text(child) for child in node.children if child.type == "heredoc_start")
        if not delimiter.isascii():
            self._script.reading.broken = (
                True  # the grammar does not see its letters and may confuse it with another line
            )
        quoted = any(mark in delimiter for mark in "'\"\\")
        certain = not wrong and (quoted or not any(mark in text for mark in "$`\\"))
        self.stdin = Stream(text if certain else ANY, raw=text)
        for index, child in enumerate(node.children):
            if child.type == "heredoc_body":
                self._script.substitutions(child, self._env)
                if not quoted:
                    self._script.hidden(child, self._env)
            elif wrong:
                continue  # the line is read again separately
            elif child.type in {"file_redirect", "herestring_redirect"}:
                self._one(child)
            elif node.field_name_for_child(index) == "argument":
                self.extras.append(child)


def _is_descriptor(source: str, text: str) -> bool:
    """`>&$fd`, where the same command opens `{fd}>`."""
    name = text.partition("&")[2].strip(' $"{}')
    return "{" + name + "}>" in source or "{" + name + "}<" in source


def body(script: Text, node: Node) -> str:
    """The text of a here-document."""
    last, end, start = script.start(node), script.end(node), None
    for child in node.children:
        if child.type == "heredoc_end":
            end = script.start(child)
        elif child.type == "heredoc_body":
            start = script.source.find("\n", last) + 1
        elif start is None:
            last = script.end(child)
    text = script.source[start or end : end]
    if any(child.type == "<<-" for child in node.children):
        text = "".join(line.lstrip("\t") for line in text.splitlines(keepends=True))
    return text


def go_on(script: Text, tail: list[Node], env: Env) -> None:
    """The text after a here-document in its line, where the grammar misread it: `cat <<X > f; rm y`."""
    for node in tail:
        if node.type == "heredoc_redirect" and node.has_error:
            script.repaired(node)
            _again(script, node, env)


def _again(script: Text, node: Node, env: Env) -> None:
    """Read the rest of the line as a separate line."""
    start = next((script.end(child) for child in node.children if child.type == "heredoc_start"), None)
    if start is None:
        script.reading.broken = True
        return
    end = script.source.find("\n", start)
    line = script.source[start : end if end >= 0 else len(script.source)]
    if "<<" in line or line.endswith("\\"):
        script.reading.broken = True  # a second document: its lines would be taken for commands
    before = script.reading.mixing
    script.reading.mixing = True  # the written text is not the output of `:`
    script.script(": " + line, env)
    script.reading.mixing = before


def command(script: Text, node: Node, env: Env, tail: list[Node]) -> Env | None:
    """One simple command, in the one directory that `env` knows."""
    cwd = env.cwds[0]
    own = [child for child in node.children if child.type in REDIRECTS]
    assigned = [script.assigned(child, env) for child in node.children if child.type == "variable_assignment"]
    words = [child for child in node.children if _is_word(child)]
    for child in node.children:
        if child.is_missing or (child.type == "command_name" and not script.text(child)):
            script.repaired(child)  # `A=b > f`: the grammar misses a command
        elif child.type in _BEFORE and _goes_on(script, child):
            script.reading.broken = True  # the seeming command is a part of this
        elif child.type == "subshell" or child.is_error:
            script.run(child, env.copy())
    behind = Tail(script, own + tail, env, cwd)
    spans = sorted(script.spans(words) + script.spans(behind.extras) + _dropped(script, node, tail), key=_place)
    fields = script.expanded(spans, env, cwd)
    text = script.text(node)
    if not any(child.type == "heredoc_redirect" for child in tail) and tail:
        text = script.source[script.start(node) : script.end(tail[-1])]
    if not fields:
        for name, value in assigned:
            script.set(env, name, value)
        behind.pour()
        behind.alone()
        go_on(script, tail, env)
        return None
    script.reading.step()
    prefix = {name: ANY if isinstance(value, list) else value for name, value in assigned}
    sink = script.reading.sink
    if behind.out:
        script.reading.sink = behind.out
    failed = script.command(fields, env, text.strip(), prefix, behind.stdin or env.given)
    script.reading.sink = sink
    behind.alone()
    go_on(script, own + tail, env)
    return failed


def _goes_on(script: Text, node: Node) -> bool:
    """Does a word continue after its node? The grammar cuts it short where an escape follows quotes."""
    following = script.source[script.end(node) : script.end(node) + 2]
    return bool(following) and following != "\\\n" and following[0] not in " \t\n\r;&|<>()`"


def _place(span: Span) -> tuple[int, int]:
    return span[:2]


def _is_word(node: Node) -> bool:
    if not node.is_named:
        return node.type in {"$", "==", "=~"}  # a lone dollar; operators that the grammar takes out of the words
    if node.type in REDIRECTS or node.type in {"variable_assignment", "comment", "subshell"} or node.is_error:
        return False
    return not node.is_missing and node.end_byte > node.start_byte


def _dropped(script: Text, node: Node, tail: list[Node]) -> list[Span]:
    """Words of a command that the grammar left out: `git switch - 2>&1` has lost its dash."""
    spans: list[Span] = []
    parts = [*node.children, *tail]
    for before, after in zip(parts, parts[1:], strict=False):  # noqa: RUF007 - itertools would be one more import in a hook
        if before.type == "heredoc_redirect":
            break
        end, start = script.end(before), script.start(after)
        text = script.dropped(end, start) if end < start else ""
        if text and not text.strip(LITERAL_LETTERS + " \t"):
            script.recovered.add(start)
            at = end
            for word in text.split():
                at = script.source.index(word, at)
                spans.append((at, at + len(word), []))
                at += len(word)
    return spans
