"""The value of `$A`, `${A%.py}`, `$(basename a/b)`, if it can be known without running anything.

The commands in a substitution are walked too: they run, even if their output is unused.
"""

from __future__ import annotations

from dibs.machine import caller
from dibs.shell import globs as shell_globs
from dibs.shell import words as shell_words
from dibs.shell.unknown import ANY, PLAIN, Unknown, either

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from dibs.shell.findings import Env, Value
    from dibs.shell.streams import Stream
    from dibs.shell.text import Text
    from dibs.shell.unknown import Field

_NAME = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

# Parameters and variables whose value is a number or a name.
_PLAIN = frozenset((
    "$", "!", "#", "?", "BASHPID", "EPOCHREALTIME", "EPOCHSECONDS", "EUID", "GROUPS", "HOSTNAME", "HOSTTYPE", "LINENO",
    "LOGNAME", "MACHTYPE", "OSTYPE", "PPID", "RANDOM", "SECONDS", "SHLVL", "SRANDOM", "UID", "USER",
))  # fmt: skip

# Variables that the shell itself sets; so do the positional parameters get a value.
_SHELLS_OWN = frozenset((
    "@", "*", "BASH_REMATCH", "COPROC", "DIRSTACK", "MAPFILE", "OLDPWD", "OPTARG", "OPTIND", "PIPESTATUS", "PWD",
    "REPLY",
))  # fmt: skip

# Variables that lead out of every working tree, where they are set. One that the environment does not have is empty.
_ELSEWHERE = frozenset((
    "BASH_ENV", "CARGO_HOME", "GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY",
    "GOPATH", "NVM_DIR", "PYENV_ROOT", "RUNNER_TEMP", "RUNNER_TOOL_CACHE", "TEMP", "TMP", "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
))  # fmt: skip


def value(script: Text, node: Node, env: Env, cwd: str | None) -> Value:
    """What an expansion gives."""
    if node.type == "simple_expansion":
        return lookup(script.text(node)[1:], env, cwd)
    if node.type == "expansion":
        for child in node.children:
            script.substitutions(child, env)
        script.hidden(node, env)
        return _braced(script.text(node)[2:-1], env, cwd)
    if node.type == "arithmetic_expansion":
        for child in node.children:
            script.arithmetic(child, env)
        return PLAIN
    stream = _substitution(script, node, env, cwd)
    if node.type == "process_substitution":
        script.reading.piped = stream
        return "/dev/fd/63"
    text = stream.text
    if text is not None:
        return text.rstrip("\n")
    pieces = stream.pieces
    only = pieces[0] if len(pieces) == 1 else ANY
    return only if isinstance(only, Unknown) and only.end else stream.lines


def lookup(name: str, env: Env, cwd: str | None) -> Value:
    """A variable or parameter by its name."""
    if name == "PWD":
        return cwd or ANY
    if name == "OLDPWD":
        return env.old or ANY
    if name in {"@", "*"}:
        return env.variables.get("@", ANY)
    content = env.variables.get(name)
    if content is None:
        return _inherited(name, env)
    return (content[0] if content else "") if isinstance(content, list) else content


def _inherited(name: str, env: Env) -> Field:
    """A variable that the command does not set, as far as the environment tells: no more than how it begins."""
    if name == "TMPDIR":
        return caller.environ().get("TMPDIR", "").rstrip("/") or "/tmp"  # noqa: S108 - the usual place
    if name in _PLAIN:
        return PLAIN
    if not name.strip("_0123456789") or not env.inherits(name):
        return ANY
    given = caller.environ().get(name, "")
    if not given:
        return "" if name in _ELSEWHERE else ANY
    if "IFS" in env.variables:  # it is split elsewhere than at blanks
        return ANY
    return ANY if given.startswith(("-", "~")) or any(mark in given for mark in "*?[\\\n") else Unknown((given,))


def _substitution(script: Text, node: Node, env: Env, cwd: str | None) -> Stream:
    """What the commands in a substitution print."""
    inside = env.copy()
    inside.cwds = [cwd]
    reading, sink = script.reading, script.reading.sink
    text = script.text(node)
    out = reading.sink = reading.stream()
    writes_in = text.startswith(">")  # `>(…)`: its commands print to the output of the command around it
    if writes_in:
        reading.sink = sink
    reading.capturing += 1
    if text.startswith("`") and "\\" in text:
        for escaped in "\\`$":
            text = text.replace("\\" + escaped, escaped)
        script.script(text[1:-1], inside)
    else:
        script.sequence(node.children, inside)
    reading.capturing -= 1
    reading.sink = sink
    return out


def substituted(text: str, seen: list[tuple[int, int]]) -> list[str]:
    """The commands in backticks and `$(…)` of a text that the shell expands, except at the places already seen."""
    commands: list[str] = []
    i = 0
    while i < len(text):
        skip = next((end for start, end in seen if start <= i < end), 0)
        if skip:
            i = skip
        elif text[i] == "\\":
            i += 2
        elif text[i] == "`":
            end = i + 1
            while end < len(text) and text[end] != "`":
                end += 2 if text[end] == "\\" else 1
            commands.append(text[i + 1 : end].replace("\\`", "`").replace("\\$", "$").replace("\\\\", "\\"))
            i = end + 1
        elif text.startswith("$(", i) and not text.startswith("$((", i):
            end = _closing(text, i + 2)
            commands.append(text[i + 2 : end])
            i = end + 1
        else:
            i += 1
    return commands


def _closing(text: str, i: int) -> int:
    """Where a bracket closes that is open here."""
    depth = 1
    while i < len(text):
        if text[i] == "\\":
            i += 1
        elif text[i] in "'\"":
            end = text.find(text[i], i + 1)
            i = end if end > 0 else len(text)
        elif text[i] in "()":
            depth += 1 if text[i] == "(" else -1
            if not depth:
                return i
        i += 1
    return len(text)


# ------------------------------------------------------------------------------------------------------------------
# ${…}


def _braced(inner: str, env: Env, cwd: str | None) -> Value:
    if inner.startswith("#") and inner[1:] and not inner[1:].strip(_NAME):
        content = lookup(inner[1:], env, cwd)
        return str(len(content)) if isinstance(content, str) else PLAIN
    if inner.startswith("!") and inner[1:] and not inner[1:].strip(_NAME):
        other = lookup(inner[1:], env, cwd)
        return lookup(other, env, cwd) if isinstance(other, str) and other and not other.strip(_NAME) else ANY
    end = 1 if inner[:1] in {"@", "*"} else 0
    while end < len(inner) and inner[end] in _NAME:
        end += 1
    name, rest = inner[:end], inner[end:]
    if not name:
        return ANY
    content = lookup(name, env, cwd)
    if rest.startswith("["):
        index, _, rest = rest[1:].partition("]")
        content = _element(env.variables.get(name), index)
    if isinstance(content, list):
        return _each(content, rest)
    if isinstance(content, str):
        if not content and name not in env.variables and name not in caller.environ() and rest[:1] in {"-", "+"}:
            rest = f":{rest}"  # for one that is not set, both forms are the same
        changed = _changed(content, rest, env, cwd)
        if rest.startswith(":=") and not content:
            env.variables[name] = changed
        return changed
    return _derived(content, rest) if rest[:2] not in {":-", ":="} or content != ANY else _default(name, rest, env, cwd)


def _default(name: str, rest: str, env: Env, cwd: str | None) -> Field:
    """`${A:-b}`, `${A:=b}` of a variable that nothing is known of."""
    if name in env.variables or name.isdigit() or name in _SHELLS_OWN or caller.environ().get(name):
        return ANY  # it may have a value
    if not env.inherits(name):
        return ANY
    default = either([_literal(rest[2:], env, cwd)])
    if rest[1] == "=":
        env.variables[name] = default
    return default


def _each(elements: list[Field], rest: str) -> Value:
    """All elements, some of them, or each of them changed."""
    if not rest:
        return elements
    first = _numbers(rest)
    if first is not None:
        begin, length = first
        return elements[begin:] if length is None else elements[begin : begin + length]
    if rest[0] not in "#%/^,":
        return ANY
    return [_changed(element, rest) if isinstance(element, str) else _derived(element, rest) for element in elements]


def _numbers(rest: str) -> tuple[int, int | None] | None:
    """`:1`, `:0:10`; None for anything else."""
    parts = rest.split(":")
    if parts[0] or len(parts) not in {2, 3} or not all(part.isascii() and part.isdigit() for part in parts[1:]):
        return None
    return int(parts[1][:9]), int(parts[2][:9]) if len(parts) > 2 else None  # noqa: PLR2004 - where, how many


def _derived(text: Unknown, rest: str) -> Unknown:
    """What remains of the known beginning when an unknown value is cut or changed."""
    if not rest:
        return text
    if text.whole and rest[0] in "#%/":
        changed = [_changed(way, rest) for way in text.below or ()]
        known = [way for way in changed if isinstance(way, str)]
        if len(known) == len(changed):
            return Unknown(known, whole=True)
    if rest[0] in ":-=?+" and rest[:2].strip(":-=?+") == "":
        if text.below is None or rest[:2].endswith("+") or rest[0] == "+":
            return ANY
        return text  # it has a value
    if rest[0] == "%" and ("/" not in rest or (rest[1:2] != "%" and rest == "%/*")):
        # The end of a file's name may be cut from what is known of it; its folder stays.
        return text if text.below is None else Unknown([way[: way.rfind("/") + 1] for way in text.below])
    if rest == "##*/":
        return PLAIN
    return text.inside()


def _element(array: Value | None, index: str) -> Value:
    if not isinstance(array, list):
        return array if isinstance(array, Unknown) else ANY
    if index in {"@", "*"}:
        return array
    if index == "-1" and array:
        return array[-1]
    known = index.isdigit() and len(index) < 6 and int(index) < len(array)  # noqa: PLR2004 - digits
    if known and not any(isinstance(element, Unknown) for element in array[: int(index) + 1]):
        return array[int(index)]
    return either(array) if array else ANY


def _changed(text: str, rest: str, env: Env | None = None, cwd: str | None = None) -> Field:
    if not rest:
        return text
    for operator in (":-", ":=", ":?", ":+", "-", "=", "?", "+"):
        if rest.startswith(operator):
            present = bool(text) or not operator.startswith(":")
            other = rest[len(operator) :]
            if operator.endswith("+"):
                return _literal(other, env, cwd) if present else ""
            return text if present else _literal(other, env, cwd)
    if rest[0] in "#%":
        return _cut(text, rest)
    if rest[0] == "/":
        return _replaced(text, rest)
    part = _numbers(rest)
    if part is not None:
        return text[part[0] :] if part[1] is None else text[part[0] : part[0] + part[1]]
    return {"^^": text.upper(), ",,": text.lower()}.get(rest, ANY if text.startswith("/") else PLAIN)


def _literal(text: str, env: Env | None = None, cwd: str | None = None) -> Field:
    """A word within `${…}`; with the variables in it, if the shell's state is given."""
    holes: shell_words.Holes = {}
    home = env.variables.get("HOME") if env else ""
    at = text.find("$") if env and "'" not in text else -1
    while env and at >= 0:
        end = at + 1
        braced = text.startswith("{", end)
        while end < len(text) and (text[end] in _NAME or (braced and text[end] != "}")):
            end += 1
        inner = text[at + 1 + braced : end]
        if inner and not inner.strip(_NAME):
            holes[at] = end + braced, _looked_up(inner, env, cwd)
        at = text.find("$", end)
    return shell_words.value(text, holes, cwd, home if isinstance(home, str) else "")


def _looked_up(name: str, env: Env, cwd: str | None) -> Callable[[], Value]:
    return lambda: lookup(name, env, cwd)


def _cut(text: str, rest: str) -> Field:
    """`${A%.py}`, `${A%%.*}`, `${A#src/}`, `${A##*/}`."""
    longest = rest[1:2] == rest[0]
    pattern = shell_words.pattern(rest[2 if longest else 1 :], {})
    if pattern is None:
        return Unknown((text,)).inside()
    front = rest[0] == "#"
    cuts = list(range(len(text) + 1))
    if front == longest:
        cuts.reverse()
    for cut in cuts:
        part, remainder = (text[:cut], text[cut:]) if front else (text[cut:], text[:cut])
        if shell_globs.matches(pattern, part):
            return remainder
    return text


def _replaced(text: str, rest: str) -> Field:
    every = rest.startswith("//")
    what, slash, by = rest[2 if every else 1 :].partition("/")
    if what[:1] in {"#", "%"} and not every:
        return _at_end(text, what, by)
    old, new = shell_words.pattern(what, {}), _literal(by)
    if not old or isinstance(new, Unknown) or shell_globs.is_pattern(old) or "\\" in what or not (slash or by == ""):
        return Unknown((text,)).inside()
    return text.replace(shell_globs.plain(old), new, -1 if every else 1)


def _at_end(text: str, what: str, by: str) -> Field:
    """`${A/#src/lib}`, `${A/%.py/.txt}`: at the beginning or the end alone."""
    old, new = shell_words.pattern(what[1:], {}), _literal(by)
    if old is None or isinstance(new, Unknown) or shell_globs.is_pattern(old) or "\\" in what:
        return Unknown((text,)).inside()
    literal = shell_globs.plain(old)
    if what[0] == "#":
        return new + text[len(literal) :] if text.startswith(literal) else text
    return text[: len(text) - len(literal)] + new if text.endswith(literal) else text
