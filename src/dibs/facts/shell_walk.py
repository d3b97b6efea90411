"""Statements of the shell: the tree of a script is walked as the shell would, with every branch taken.

What the shell knows at each point (directory, variables with a known value) is carried along in an `Env`. Where two
ways meet, only what holds on both stays known; a directory may be one of several. A loop over known words is walked
once for each; another loop until nothing changes any more. A function is walked where it is called, or once if it never
is.

The grammar has its own view of some things, which is put right on the way: redirections of the last command stand
around the whole list before it, words behind a redirection stand in it, a line goes on inside of its here-document.

`run` gives what the shell would know if the statement failed, where that differs (a `cd`), else None.
"""

from __future__ import annotations

from dibs.facts import shell_parser
from dibs.facts.shell_reading import Env, Reading, TooMuch
from dibs.facts.shell_text import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from dibs.facts.shell_globs import Look

    Walk = Callable[[Node, Env, list[Node] | None], Env | None]

DEPTH = 60  # statements in statements; each takes some frames of the interpreter's own stack
ROUNDS = 3  # of a loop, until what is known stays the same: one loses what changes, one what depended on it

_REDIRECTS = frozenset(("file_redirect", "heredoc_redirect", "herestring_redirect"))


class Script(Text):
    """One text that is read as a script."""

    __slots__ = ("_called", "_depth", "_functions", "_repaired")

    def __init__(self, source: str, reading: Reading, home: str, look: Look, level: int) -> None:
        super().__init__(source, reading, home, look, level)
        self._functions: dict[str, tuple[Node, list[Node]]] = {}
        self._called: set[str] = set()
        self._depth = 0
        self._repaired: set[int] = set()  # where the grammar erred and this module knew better

    def function(self, name: str, env: Env) -> bool:
        """Walk through the function of this name, if there is one."""
        if name not in self._functions or self._depth > DEPTH // 2:
            return False
        self._called.add(name)
        body, tail = self._functions[name]
        alternative = self.run(body, env, tail)
        if alternative:
            env.join(alternative)
        return True

    def read(self, env: Env) -> None:
        """Walk through all of it."""
        root = shell_parser.parse(self.encoded())
        alternative = self.run(root, env)
        if alternative:
            env.join(alternative)
        for name, (body, tail) in list(self._functions.items()):
            if name not in self._called:
                self._called.add(name)
                inside = env.copy()
                for parameter in [name for name in inside.variables if name in {"@", "#"} or name.isdigit()]:
                    del inside.variables[parameter]
                self.run(body, inside, tail)
        if root.has_error:
            self._admit(root)

    def repaired(self, node: Node) -> None:
        """The errors in this node are understood."""
        waiting = [node]
        while waiting:
            inner = waiting.pop()
            if inner.is_error or inner.is_missing:
                self._repaired.add(inner.start_byte)
            waiting += inner.children

    def _admit(self, root: Node) -> None:
        """The grammar could not make sense of a part; whatever that part would write is not known."""
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if (node.is_error or node.is_missing) and node.start_byte not in self._repaired:
                self.reading.broken = True
                return
            if node.has_error:
                waiting += node.children

    # --------------------------------------------------------------------------------------------------------------
    # Statements

    def run(self, node: Node, env: Env, tail: list[Node] | None = None) -> Env | None:
        """Walk through one statement; `tail` are the redirections that stand behind it."""
        self.reading.step()
        self._depth += 1
        try:
            if self._depth > DEPTH:
                raise TooMuch
            name = _STATEMENTS.get(node.type)
            if name is None:
                self.substitutions(node, env)
                return self._behind(env, tail)
            walk: Walk = getattr(self, name)
            if node.type in _LEAVES and len(env.cwds) > 1:
                return self._everywhere(walk, node, env, tail)
            return walk(node, env, tail)
        finally:
            self._depth -= 1

    def _everywhere(self, walk: Walk, node: Node, env: Env, tail: list[Node] | None) -> Env | None:
        """One command in each of the directories where the shell may be."""
        ends, failed = [], []
        for cwd in env.cwds:
            here = env.copy()
            here.cwds = [cwd]
            alternative = walk(node, here, tail)
            ends.append(here)
            failed.append(alternative or here)
        env.become(_joined(ends))
        other = _joined(failed)
        return None if other.same(env) else other

    def sequence(self, nodes: list[Node], env: Env) -> Env | None:
        """Statements one after the other."""
        alternative = None
        last = 0
        for index, node in enumerate(nodes):
            gap = self.source[last : self.start(node)] if last else ""
            last = self.end(node)
            if gap and gap.replace("\\\n", "").strip():
                self.reading.broken = True  # text that belongs to nothing
            if not node.is_named or node.type in {"comment", "heredoc_body", "heredoc_end"}:
                continue
            if alternative:
                env.join(alternative)
            if index + 1 < len(nodes) and nodes[index + 1].type == "&":
                alternative = None
                self.run(node, env.copy())
            else:
                alternative = self.run(node, env)
        return alternative

    def _group(self, node: Node, env: Env, tail: list[Node] | None) -> Env | None:
        if node.children and node.children[0].type == "((":
            self.arithmetic(node, env)
        else:
            self.sequence(node.children, env)
        return self._behind(env, tail)

    def _program(self, node: Node, env: Env, _tail: list[Node] | None) -> Env | None:
        return self.sequence(node.children, env)

    def _subshell(self, node: Node, env: Env, tail: list[Node] | None) -> Env | None:
        self.sequence(node.children, env.copy())
        return self._behind(env, tail)

    def _list(self, node: Node, env: Env, tail: list[Node] | None) -> Env | None:
        left, right = node.children[0], node.children[-1]
        operator = next((child.type for child in node.children if child.type in {"&&", "||"}), "")
        if not operator or len(node.children) == 1:
            return self.sequence(node.children, env)
        return self.either(self.run(left, env), operator, right, env, tail)

    def either(self, failed: Env | None, operator: str, right: Node, env: Env, tail: list[Node] | None) -> Env | None:
        """What comes behind `&&` or `||`; `env` and `failed` are how the left side ended."""
        failed = failed or env.copy()
        if operator == "&&":
            alternative = self.run(right, env, tail)
            failed.join(alternative or env)
            return None if failed.same(env) else failed
        after = failed.copy()
        alternative = self.run(right, after, tail)
        if not _leaves(right):
            env.join(after)
            if alternative:
                env.join(alternative)
        return None

    def _pipeline(self, node: Node, env: Env, tail: list[Node] | None) -> Env | None:
        parts = [child for child in node.children if child.is_named]
        for part in parts:
            self.run(part, env.copy(), tail if part is parts[-1] else None)
        return None

    def _negated(self, node: Node, env: Env, tail: list[Node] | None) -> Env | None:
        was = env.copy()
        alternative = self.run(node.children[-1], env, tail)
        if alternative:
            was.become(env)
            env.become(alternative)
            return was
        return None

    def _redirected(self, node: Node, env: Env, tail: list[Node] | None) -> Env | None:
        body = node.child_by_field_name("body")
        own = [child for child in node.children if child.type in _REDIRECTS]
        for child in node.children:
            if child.is_error and self.text(child) == "<":
                self._repaired.add(child.start_byte)  # `<>`, of which the grammar knows only the second half
        behind = own + (tail or [])
        return self.run(body, env, behind) if body else self._behind(env, behind)

    def _behind(self, env: Env, tail: list[Node] | None) -> Env | None:
        """Redirections of what is not a simple command, and what goes on in the line of a here-document."""
        from dibs.facts import shell_redirects

        if not tail:
            return None
        for cwd in env.cwds:
            shell_redirects.Tail(self, tail, env, cwd)
        return shell_redirects.go_on(self, tail, None, env)

    def _if(self, node: Node, env: Env, tail: list[Node] | None) -> Env | None:
        ends: list[Env] = []
        rest = env.copy()
        self._branch(node, rest, ends)
        for child in node.children:
            if child.type == "elif_clause":
                self._branch(child, rest, ends)
            elif child.type == "else_clause":
                self.sequence(child.children, rest)
        env.become(_joined([*ends, rest]))
        return self._behind(env, tail)

    def _branch(self, node: Node, rest: Env, ends: list[Env]) -> None:
        """`if A; then B`: B goes to the ends; the rest is how it goes on when A failed."""
        kinds = [child.type for child in node.children]
        then = kinds.index("then") if "then" in kinds else len(kinds)
        taken = rest.copy()
        alternative = self.sequence(node.children[:then], taken)
        rest.become(alternative or taken)
        ends_at = next((i for i, kind in enumerate(kinds) if kind in {"elif_clause", "else_clause"}), len(kinds))
        alternative = self.sequence(node.children[then:ends_at], taken)
        if alternative:
            taken.join(alternative)
        ends.append(taken)

    def _while(self, node: Node, env: Env, tail: list[Node] | None) -> Env | None:
        self.loop(node.children, env)
        return self._behind(env, tail)

    def loop(self, nodes: list[Node], env: Env) -> None:
        """The same statements any number of times."""
        for _ in range(ROUNDS):
            before = env.copy()
            alternative = self.sequence(nodes, env)
            if alternative:
                env.join(alternative)
            env.join(before)
            if env.same(before):
                return
        env.cwds, env.variables = [None], {}
        self.sequence(nodes, env.copy())

    def _for(self, node: Node, env: Env, tail: list[Node] | None) -> Env | None:
        variable = node.child_by_field_name("variable")
        body = node.child_by_field_name("body")
        name = self.text(variable) if variable else ""
        words = [child for index, child in enumerate(node.children) if node.field_name_for_child(index) == "value"]
        before = env.copy()
        values = self.fields(words, env, env.cwds[0] if len(env.cwds) == 1 else None)
        if not any(child.type == "in" for child in node.children):
            values = self._parameters(env)
        if None in values:
            env.variables.pop(name, None)
            before.variables.pop(name, None)
            self.loop([body] if body else [], env)
        for value in values:
            if value is not None and body:
                env.variables[name] = value
                alternative = self.run(body, env)
                if alternative:
                    env.join(alternative)
        env.join(before)
        return self._behind(env, tail)

    @staticmethod
    def _parameters(env: Env) -> list[str | None]:
        known = env.variables.get("@")
        return list(known) if isinstance(known, list) else [None]

    def _counted(self, node: Node, env: Env, tail: list[Node] | None) -> Env | None:
        """`for ((…))`."""
        self.arithmetic(node, env)
        body = node.child_by_field_name("body")
        self.loop([body] if body else [], env)
        return self._behind(env, tail)

    def _case(self, node: Node, env: Env, tail: list[Node] | None) -> Env | None:
        ends = [env.copy()]
        for child in node.children:
            if child.type == "case_item":
                inside = env.copy()  # with `;&` one item goes on in the next, from where it is then
                for end in ends[1:]:
                    inside.cwds += [cwd for cwd in end.cwds if cwd not in inside.cwds]
                alternative = self.sequence(child.children, inside)
                if alternative:
                    inside.join(alternative)
                ends.append(inside)
            else:
                self.substitutions(child, env)
        env.become(_joined(ends))
        return self._behind(env, tail)

    def _function(self, node: Node, _env: Env, tail: list[Node] | None) -> Env | None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        redirects = [child for child in node.children if child.type in _REDIRECTS]
        if name and body:
            self._functions[self.text(name)] = (body, redirects + (tail or []))
        return None

    def _test(self, node: Node, env: Env, tail: list[Node] | None) -> Env | None:
        """`[ a > b ]` compares nothing: it is a redirection, other than in `[[ … ]]`."""
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
        return self._behind(env, tail)

    def _command(self, node: Node, env: Env, tail: list[Node] | None) -> Env | None:
        from dibs.facts import shell_redirects

        return shell_redirects.command(self, node, env, tail or [])

    def _declared(self, node: Node, env: Env, tail: list[Node] | None) -> Env | None:
        """`export A=b`, `unset A`, `A=b C=d`."""
        options = "".join(self.text(child) for child in node.children if child.type == "word")
        for child in node.children:
            if child.type == "variable_assignment":
                name, value = self.assigned(child, env)
                # Options that change what the value means (a number, a name, upper case) leave nothing known.
                self.set(env, name, None if any(letter in options for letter in "inlu") else value)
            elif node.type == "unset_command":
                env.variables.pop(self.text(child), None)
        return self._behind(env, tail)

    def _assignment(self, node: Node, env: Env, tail: list[Node] | None) -> Env | None:
        self.set(env, *self.assigned(node, env))
        return self._behind(env, tail)


def _leaves(node: Node) -> bool:
    """Does the shell end here (`|| exit 1`), so that nothing goes on from there?"""
    text = node.text or b""
    return node.type == "command" and text.split(None, 1)[:1] in ([b"exit"], [b"return"])


def _joined(envs: list[Env]) -> Env:
    first = envs[0].copy()
    for other in envs[1:]:
        first.join(other)
    return first


_STATEMENTS = {
    "program": "_program",
    "ERROR": "_program",
    "compound_statement": "_group",
    "do_group": "_group",
    "subshell": "_subshell",
    "list": "_list",
    "pipeline": "_pipeline",
    "negated_command": "_negated",
    "redirected_statement": "_redirected",
    "if_statement": "_if",
    "while_statement": "_while",
    "for_statement": "_for",
    "c_style_for_statement": "_counted",
    "case_statement": "_case",
    "function_definition": "_function",
    "test_command": "_test",
    "command": "_command",
    "declaration_command": "_declared",
    "unset_command": "_declared",
    "variable_assignments": "_declared",
    "variable_assignment": "_assignment",
}
_LEAVES = frozenset(("command", "declaration_command", "unset_command", "variable_assignments", "variable_assignment"))
