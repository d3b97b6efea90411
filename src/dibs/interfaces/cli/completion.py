"""What can be typed next: commands, options, and values that the workspace knows. For `dibs __complete`.

It must be quick and never be wrong aloud: where the workspace cannot be read, there is nothing to propose.
"""

from __future__ import annotations

from dibs.errors import DibsError
from dibs.interfaces.cli import parse
from dibs.interfaces.cli.audiences import is_plumbing
from dibs.interfaces.cli.command import Command, family_of, find, names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.core.declare import Field

Found = list[tuple[str, str]]  # a value and what it is
MAX_VALUES = 200  # values: more than a person looks through


def complete(words: list[str]) -> list[tuple[str, str]]:
    """The continuations of the last word; the ones before it stand already."""
    before, current = words[:-1], words[-1] if words else ""
    common, before = _common(before)
    name, rest = _command(before)
    found = _of_command(find(name), rest, current, common) if name else _commands(before, current)
    if name and not rest:  # a command may have a family of its own: `alerts`, `alerts ack`
        found = [*_commands([name], current), *found]
    seen: dict[str, str] = {}
    for value, text in found:
        if value.startswith(current) and value not in seen:
            seen[value] = text
    return list(seen.items())[:MAX_VALUES]


def _common(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """The common options anywhere among the words, and the words without those before the command."""
    common: dict[str, str] = {}
    left: list[str] = []
    place = 0
    while place < len(words):
        option, given, value = words[place][2:].partition("=") if words[place].startswith("--") else ("", "", "")
        if option in parse.COMMON and (given or place + 1 < len(words)):
            common[option] = value if given else words[place + 1]
            place += 1 if given else 2
            continue
        left.append(words[place])
        place += 1
    while left and left[0].startswith("-"):
        del left[0]
    return common, left


def _command(words: list[str]) -> tuple[str, list[str]]:
    """The command that the words name, and the words after it."""
    known = set(names())
    if " ".join(words[:2]) in known and len(words) > 1:
        return " ".join(words[:2]), words[2:]
    if words and words[0] in known:
        return words[0], words[1:]
    return "", words


def _commands(before: list[str], current: str) -> Found:
    if before:
        return [(name.partition(" ")[2], find(name).help) for name in family_of(before[0]) if not is_plumbing(name)]
    if current.startswith("-"):
        return [*_switches(), ("--version", "")]
    first: dict[str, str] = {}
    for name in names():
        if is_plumbing(name) and not current:
            continue  # known to who types its beginning
        word, _, second = name.partition(" ")
        first.setdefault(word, "" if second else find(name).help if word.startswith(current) else "")
    return list(first.items())


def _switches() -> Found:
    return [(f"--{name}", "") for name in (*parse.COMMON, *parse.SWITCHES)]


def _of_command(command: Command, rest: list[str], current: str, common: dict[str, str]) -> Found:
    options = {f"--{f.name.replace('_', '-')}": f for f in command.shown if not f.positional}
    for letter, name in command.short.items():
        options[f"-{letter}"] = next(f for f in command.fields if f.name == name)
    last = rest[-1] if rest else ""
    if "--" in rest or (last.startswith("--") and last[2:] in parse.COMMON):
        if last == "--as":
            return _agents(common)
        return [(one, "") for one in parse.COLORS] if last == "--color" else []
    if last in options and options[last].kind != "flag":
        return _values(command, options[last], common)
    if current.startswith("-"):
        return [(name, field.help) for name, field in options.items()] + _switches()
    if command.name == "help":
        from dibs.interfaces.cli.manual import topics

        return _commands(rest, current) + ([] if rest else topics.completions())
    positional = [field for field in command.shown if field.positional]
    place = min(_loose(rest, options), max(0, len(positional) - 1))
    taken = _loose(rest, options) > place and positional[place:] and positional[place].kind != "resources"
    return _values(command, positional[place], common) if positional and not taken else []


def _loose(rest: list[str], options: dict[str, Field]) -> int:
    """How many words stand already that are neither options nor their values."""
    count, skip = 0, False
    for word in rest:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = "=" not in word and word in options and options[word].kind != "flag"
        else:
            count += 1
    return count


NO_AGENTS = ("NEXT", "all")  # words that stand for an agent, where a field says so


def _values(command: Command, field: Field, common: dict[str, str]) -> Found:
    """What a field may be, as far as the workspace knows."""
    if field.choices:
        return [(choice, "") for choice in field.choices]
    if field.kind == "agent" or field.name in {"agent", "to", "electorate"}:
        return [*_agents(common), *[(word, "") for word in field.metavar.split("|") if word in NO_AGENTS]]
    if field.kind == "resources" and field.required:
        return []  # files, which the shell proposes: nobody claims what is held
    if field.kind in {"resource", "resources"}:
        return _held(common)
    by_name = {"run": _runs, "resume": _runs, "task": _tasks, "parent": _tasks, "after": _tasks, "key": _keys}
    source = by_name.get(field.name)
    if source is None and field.positional and field.name in {"id", "task", "vote", "run"}:
        source = {"tasks": _tasks, "votes": _votes, "runs": _runs}.get(command.group)
    return [] if source is None or (field.name == "after" and command.group != "tasks") else source(common)


def _ask(operation: str, common: dict[str, str], **fields: object) -> dict[str, list[Any]]:
    """The answer of a reading operation; nothing where there is no workspace or its store does not answer."""
    import os

    from dibs.client.session import Session

    try:
        given = common.get("workspace") or os.environ.get("DIBS_WORKSPACE")
        session = Session(os.getcwd(), given, timeout=1.0, short_lived=True, missing="leave")
        call = session.identify(common.get("as"))
        answer: dict[str, list[Any]] = session.run(session.operation(operation), call, fields)
    except DibsError:
        return {}
    return answer


def _agents(common: dict[str, str]) -> Found:
    return [(one["name"], one["state"]) for one in _ask("agents", common).get("agents", ())]


def _held(common: dict[str, str]) -> Found:
    claims = _ask("status", common).get("claims", ())
    return [(text, f"held by {claim['name']}") for claim in claims for text in claim["resources"]]


def _tasks(common: dict[str, str]) -> Found:
    return [(one["id"], f"{one['state']}: {one['title']}") for one in _ask("task list", common).get("tasks", ())]


def _runs(common: dict[str, str]) -> Found:
    return [(one["id"], one["state"]) for one in _ask("run list", common).get("runs", ())]


def _votes(common: dict[str, str]) -> Found:
    return [(one["id"], one["title"]) for one in _ask("vote list", common).get("votes", ())]


def _keys(common: dict[str, str]) -> Found:
    return [(one["key"], "") for one in _ask("state list", common).get("documents", ())]
