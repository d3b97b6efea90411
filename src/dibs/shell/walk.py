"""Statements of the shell: walks the tree of a script as the shell would, and takes every branch.

An `Env` holds the shell's state at each point (directory, variables with known values). Where two branches join, only
what holds in both stays known; a directory may be one of several. A loop over known words is walked once for each word;
any other loop until its state no longer changes. A function is walked at each call, or once if it is never called.

`run` returns the shell's state if the statement failed, where that differs (a `cd`), else None.
"""

from __future__ import annotations

from dibs.shell import chains as shell_chains
from dibs.shell import parser as shell_parser
from dibs.shell import redirects as shell_redirects
from dibs.shell.findings import Env, Reading, TooComplex
from dibs.shell.globs import FileView
from dibs.shell.text import Text
from dibs.shell.unknown import ANY, Unknown, either

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tree_sitter import Node

    from dibs.shell.unknown import Field


MAX_DEPTH = 60  # of nested statements; each takes some frames of Python's stack
LOOP_ROUNDS = 3  # until the state is stable: the first drops what changes, the second what depended on it


class Script(Text):
    """One text that is read as a script."""

    __slots__ = ("_called", "_depth", "_functions", "_repaired")

    def __init__(self, source: str, reading: Reading, home: str, view: FileView, level: int) -> None:
        super().__init__(source, reading, home, view, level)
        self._functions: dict[str, tuple[Node, list[Node]]] = {}
        self._called: set[str] = set()
        self._depth = 0
        self._repaired: set[int] = set()  # grammar errors that this module repairs

    def walk(self, source: str, env: Env) -> None:
        """Walk another script, one level deeper."""
        Script(source, self.reading, self.home, self.view, self.level + 1).read(env)

    def trial(self) -> Script:
        """One without functions that notes everything in a reading of its own."""
        return Script("", Reading(FileView()), self.home, self.view, self.level)

    def function(self, name: str, env: Env) -> bool:
        """Walk the function of this name, if there is one."""
        if name not in self._functions or self._depth > MAX_DEPTH // 2:
            return False
        self._called.add(name)
        body, tail = self._functions[name]
        alternative = self.run(body, env, tail)
        if alternative:
            env.join(alternative)
        return True

    def read(self, env: Env) -> None:
        """Walk the whole script."""
        root, self.added = shell_parser.parse(self.source)
        alternative = self.run(root, env)
        if alternative:
            env.join(alternative)
        while self.reading.traps and not self.level:
            self.script(self.reading.traps.pop(), env.copy())
        for name, (body, tail) in list(self._functions.items()):
            if name not in self._called:
                self._called.add(name)
                inside = env.copy()
                inside.forget_parameters()
                self._maybe(body, inside, tail)
        if root.has_error:
            self._admit(root)
        if self._lost(root):
            self.reading.broken = True

    def repaired(self, node: Node) -> None:
        """The errors in this node are understood."""
        waiting = [node]
        while waiting:
            inner = waiting.pop()
            if inner.is_error or inner.is_missing:
                self._repaired.add(inner.start_byte)
            waiting += inner.children

    def _admit(self, root: Node) -> None:
        """The grammar could not parse a part; what that part writes is unknown."""
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if (node.is_error or node.is_missing) and node.start_byte not in self._repaired:
                self.reading.broken = True
                return
            if node.has_error:
                waiting += node.children

    def _lost(self, root: Node) -> bool:
        """Is there text that belongs to no node and was not accounted for, or a command over the end of its line?"""
        if self.dropped(0, self.start(root)) or self.dropped(self.end(root), len(self.source)):
            return True
        waiting = [root]
        while waiting:
            node = waiting.pop()
            children = node.children
            for before, after in zip(children, children[1:], strict=False):  # noqa: RUF007 - itertools would be one more import in a hook
                end, start = self.end(before), self.start(after)
                if end >= start:
                    continue
                if start not in self.recovered and self.dropped(end, start):
                    return True
                if node.type == "command" and "\n" in self.source[end:start].replace("\\\n", ""):
                    return True
            waiting += [child for child in children if child.child_count and child.type not in _TEXTS]
        return False

    # --------------------------------------------------------------------------------------------------------------
    # Statements

    def run(self, node: Node, env: Env, tail: list[Node] | None = None) -> Env | None:
        """Walk one statement; `tail` are the redirections after it."""
        self.reading.step()
        self._depth += 1
        try:
            if self._depth > MAX_DEPTH:
                raise TooComplex
            if node.type in shell_chains.JOINED:
                return self._chain(node, env, tail or [])
            if node.type in shell_chains.REDIRECTS:
                shell_redirects.Tail(self, [node], env, env.where).pour()
                return None
            if node.type == "command":
                return self._everywhere(node, env, tail or [])
            name = _STATEMENTS.get(node.type, "substitutions")
            walk: shell_redirects.Walk = getattr(self, name)
            with_tail = self._redirect(tail, env) if tail else None
            if with_tail is None:
                return walk(node, env)
            failed = with_tail.around(walk, node, env)
            shell_redirects.go_on(self, tail or [], env)
        finally:
            self._depth -= 1
        return failed

    def _everywhere(self, node: Node, env: Env, tail: list[Node]) -> Env | None:
        """Walk one command in each of the directories where the shell may be."""
        if len(env.cwds) == 1:
            return shell_redirects.command(self, node, env, tail)
        ends, failed = [], []
        self.reading.unsure += 1  # in one of them, unknown which
        for cwd in env.cwds:
            here = env.copy()
            here.cwds = [cwd]
            alternative = shell_redirects.command(self, node, here, tail)
            ends.append(here)
            failed.append(alternative or here)
        self.reading.unsure -= 1
        env.become(_joined(ends))
        other = _joined(failed)
        return None if other.same(env) else other

    def sequence(self, nodes: list[Node], env: Env) -> Env | None:
        """Statements one after the other."""
        alternative = None
        for index, node in enumerate(nodes):
            if not node.is_named or node.type in {"comment", "heredoc_body", "heredoc_end"}:
                continue
            if alternative:
                env.join(alternative)
            self.reading.moment += not self.reading.capturing
            if index + 1 < len(nodes) and nodes[index + 1].type == "&":
                alternative = None
                self.run(node, env.copy())
                self.reading.left = True
            else:
                alternative = self.run(node, env)
        return alternative

    def _maybe(self, node: Node, env: Env, tail: list[Node] | None = None) -> Env | None:
        """Walk a statement that may not run."""
        self.reading.unsure += 1
        failed = self.run(node, env, tail)
        self.reading.unsure -= 1
        return failed

    def _perhaps(self, nodes: list[Node], env: Env) -> Env | None:
        """Walk statements that may not run."""
        self.reading.unsure += 1
        failed = self.sequence(nodes, env)
        self.reading.unsure -= 1
        return failed

    def _group(self, node: Node, env: Env) -> Env | None:
        if node.children and node.children[0].type == "((":
            self.arithmetic(node, env)
            return None
        return self.sequence(node.children, env)

    def _program(self, node: Node, env: Env) -> Env | None:
        return self.sequence(node.children, env)

    def _subshell(self, node: Node, env: Env) -> Env | None:
        self.sequence(node.children, env.copy())
        return None

    def _chain(self, node: Node, env: Env, tail: list[Node]) -> Env | None:
        """Pipelines joined by `&&` and `||`."""
        failed: Env | None = None
        for operator, parts in shell_chains.pipelines(self, node, tail):
            if not operator:
                failed = self._pipeline(parts, env)
                continue
            otherwise = failed or env.copy()
            self.reading.moment += not self.reading.capturing
            if operator == "&&":
                otherwise.join(self._pipeline(parts, env) or env)
                failed = None if otherwise.same(env) else otherwise
            else:
                self.reading.unsure += 1
                last = self._pipeline(parts, otherwise)
                self.reading.unsure -= 1
                failed = None
                if not self._leaves(parts):
                    env.join(otherwise)
                    if last:
                        env.join(last)
        return failed

    def _pipeline(self, parts: list[shell_chains.Part], env: Env) -> Env | None:
        if len(parts) > 1:
            sink, given = self.reading.sink, env.given
            for part in parts:
                inside = env.copy()
                inside.given = given
                given = self.reading.stream()
                given.mixed = self.reading.mixing = part.mixed
                self.reading.sink = sink if part is parts[-1] else given
                self._part(part, inside)
            self.reading.sink = sink
            self.reading.mixing = False
            return None
        failed = self._part(parts[0], env)
        if not parts[0].negated or failed is None:
            return failed
        succeeded = env.copy()
        env.become(failed)
        return succeeded

    def _part(self, part: shell_chains.Part, env: Env) -> Env | None:
        if part.node is not None:
            return self.run(part.node, env, part.tail)
        with_tail = self._redirect(part.tail, env)
        if with_tail:
            with_tail.alone()
        shell_redirects.go_on(self, part.tail, env)
        return None

    def _leaves(self, parts: list[shell_chains.Part]) -> bool:
        """Does the shell end here (`|| exit 1`), so that nothing continues from there?"""
        node = parts[0].node
        if len(parts) > 1 or node is None or node.type != "command":
            return False
        return self.text(node).split(None, 1)[:1] in (["exit"], ["return"])

    def _redirect(self, tail: list[Node], env: Env) -> shell_redirects.Tail | None:
        """Redirections of a compound command; they happen before it starts."""
        last = None
        for cwd in env.cwds:
            last = shell_redirects.Tail(self, tail, env, cwd)
        return last

    def _if(self, node: Node, env: Env) -> Env | None:
        ends: list[Env] = []
        rest = env.copy()
        self._branch(node, rest, ends)
        for child in node.children:
            if child.type == "elif_clause":
                self._branch(child, rest, ends)
            elif child.type == "else_clause":
                alternative = self._perhaps(child.children, rest)
                if alternative:
                    rest.join(alternative)
        env.become(_joined([*ends, rest]))
        return None

    def _branch(self, node: Node, rest: Env, ends: list[Env]) -> None:
        """`if A; then B`: the state after B is one end; the rest continues from A's failure."""
        kinds = [child.type for child in node.children]
        then = kinds.index("then") if "then" in kinds else len(kinds)
        taken = rest.copy()
        alternative = self.sequence(node.children[:then], taken)
        rest.become(alternative or taken)
        ends_at = next((i for i, kind in enumerate(kinds) if kind in {"elif_clause", "else_clause"}), len(kinds))
        alternative = self._perhaps(node.children[then:ends_at], taken)
        if alternative:
            taken.join(alternative)
        ends.append(taken)

    def _while(self, node: Node, env: Env) -> Env | None:
        self.loop(node.children, env)
        return None

    def loop(self, nodes: list[Node], env: Env) -> None:
        """The same statements any number of times."""
        for _ in range(LOOP_ROUNDS):
            before = env.copy()
            alternative = self._perhaps(nodes, env)
            if alternative:
                env.join(alternative)
            env.join(before)
            if env.same(before):
                return
        env.cwds, env.variables = [None], {}
        self.sequence(nodes, env.copy())

    def _for(self, node: Node, env: Env) -> Env | None:
        variable = node.child_by_field_name("variable")
        body = node.child_by_field_name("body")
        name = self.text(variable) if variable else ""
        words = [child for index, child in enumerate(node.children) if node.field_name_for_child(index) == "value"]
        before = env.copy()
        values = self.fields(words, env, env.where)
        if not any(child.type == "in" for child in node.children):
            values = self._parameters(env)
        vague = [value for value in values if isinstance(value, Unknown)]
        if vague:
            self.set(env, name, either(vague))
            self.set(before, name, either(vague))
            self.loop([body] if body else [], env)
        for value in values:
            if isinstance(value, str) and body:
                env.variables[name] = value
                alternative = self.run(body, env)
                if alternative:
                    env.join(alternative)
        env.join(before)
        return None

    @staticmethod
    def _parameters(env: Env) -> list[Field]:
        known = env.variables.get("@")
        return list(known) if isinstance(known, list) else [ANY]

    def _counted(self, node: Node, env: Env) -> Env | None:
        """`for ((…))`."""
        self.arithmetic(node, env)
        body = node.child_by_field_name("body")
        self.loop([body] if body else [], env)
        return None

    def _case(self, node: Node, env: Env) -> Env | None:
        ends = [env.copy()]
        for child in node.children:
            if child.type == "case_item":
                inside = env.copy()  # with `;&` one item continues in the next, with its state
                for end in ends[1:]:
                    inside.cwds += [cwd for cwd in end.cwds if cwd not in inside.cwds]
                alternative = self._perhaps(child.children, inside)
                if alternative:
                    inside.join(alternative)
                ends.append(inside)
            else:
                self.substitutions(child, env)
        env.become(_joined(ends))
        return None

    def _function(self, node: Node, _env: Env) -> Env | None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        redirects = [child for child in node.children if child.type in shell_chains.REDIRECTS]
        if name and body:
            self._functions[self.text(name)] = (body, redirects)
        return None

    def _test(self, node: Node, env: Env) -> Env | None:
        """`[ a > b ]` compares nothing: it is a redirection, unlike in `[[ … ]]`."""
        self.substitutions(node, env)
        if node.children and node.children[0].type == "[":
            waiting = list(node.children)
            while waiting:
                child = waiting.pop()
                following = child.next_sibling
                if child.type in {">", ">>"} and following:
                    for cwd in env.cwds:
                        for path in self.fields([following], env, cwd):
                            self.reading.write(cwd, path, "write", self.text(node))
                waiting += child.children
        return None

    def _declared(self, node: Node, env: Env) -> Env | None:
        """`export A=b`, `unset A`, `A=b C=d`; alone, they list what is set."""
        if node.type == "declaration_command" and not any(child.type in _SETS for child in node.children):
            self.reading.prints(ANY)
        options = "".join(self.text(child) for child in node.children if child.type == "word")
        for child in node.children:
            if child.type == "variable_assignment":
                name, value = self.assigned(child, env)
                # Options that change what the value means (a number, a name, upper case) leave nothing known.
                self.set(env, name, ANY if any(letter in options for letter in "inlu") else value)
                if self._exports(node, options):
                    env.export(name)
            elif node.type == "unset_command":
                env.variables.pop(self.text(child), None)
            elif child.type == "variable_name" and self._exports(node, options):
                env.export(self.text(child))
            elif child.type not in {"variable_name", "word"} and child.is_named:
                env.source = ""  # `export $(cat .env)`: it may set any variable
        return None

    @staticmethod
    def _exports(node: Node, options: str) -> bool:
        """Does it give variables to the programs that follow?"""
        return bool(node.children) and (node.children[0].type == "export" or "x" in options)

    def _assignment(self, node: Node, env: Env) -> Env | None:
        self.set(env, *self.assigned(node, env))
        return None


def _joined(envs: list[Env]) -> Env:
    first = envs[0].copy()
    for other in envs[1:]:
        first.join(other)
    return first


_SETS = frozenset(("variable_assignment", "variable_name"))

# In these, the text between two nodes is content.
_TEXTS = frozenset(("string", "translated_string", "heredoc_body", "expansion", "arithmetic_expansion", "test_command"))

_STATEMENTS = {
    "program": "_program",
    "ERROR": "_program",
    "compound_statement": "_group",
    "do_group": "_group",
    "subshell": "_subshell",
    "if_statement": "_if",
    "while_statement": "_while",
    "for_statement": "_for",
    "c_style_for_statement": "_counted",
    "case_statement": "_case",
    "function_definition": "_function",
    "test_command": "_test",
    "declaration_command": "_declared",
    "unset_command": "_declared",
    "variable_assignments": "_declared",
    "variable_assignment": "_assignment",
}
