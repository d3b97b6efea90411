"""The error for a command that does not exist, with the one that was probably meant."""

from __future__ import annotations

from dibs.errors import Invalid, quoted
from dibs.interfaces.cli.command import family_of, names

MAX_WORD_CHARS = 80  # of a word that may be a name misspelt; to compare a longer one takes long

# Words of other tools, and our commands for the same.
SYNONYMS = {
    "list": ("status", "task list"), "ls": ("status", "task list"), "lock": ("claim",), "acquire": ("claim",),
    "take": ("claim",), "reserve": ("claim",), "unlock": ("release",), "free": ("release",), "drop": ("release",),
    "steal": ("release --force",), "who": ("agents", "whoami"), "me": ("whoami",), "id": ("whoami",),
    "watch": ("status --watch", "log -f"), "tail": ("log -f",), "metrics": ("stats",),
    "figures": ("stats",), "matrix": ("map",),
    "history": ("log",), "events": ("log",), "blame": ("explain PATH",), "why": ("explain",), "story": ("explain",),
    "config": ("doctor", "init"), "settings": ("doctor", "init"), "setup": ("init",), "install": ("init",),
    "uninstall": ("init --uninstall",), "ps": ("agents",), "queue": ("task list", "status"), "tasks": ("task list",),
    "todo": ("task list",), "add": ("task add",), "next": ("task next",), "done": ("task done",), "runs": ("run list",),
    "votes": ("vote list",), "message": ("send",), "msg": ("send",), "mail": ("inbox",), "messages": ("inbox",),
    "extend": ("renew",), "stop": ("kill",), "login": ("boot",), "start": ("boot", "up"), "register": ("boot",),
    "wait": ("claim --wait",), "revert": ("undo", "restore"), "rollback": ("undo",),
    "audit": ("check",), "test": ("doctor",),
    "get": ("state get",), "set": ("state set",), "man": ("help",),
}  # fmt: skip


def no_command(word: str, rest: list[str]) -> int:
    """Help on a family of commands, or an error that names what was meant."""
    family = family_of(word)
    as_json, rest = "--json" in rest, [one for one in rest if one != "--json"]
    if family:
        if not rest or rest[0] in {"-h", "--help"}:
            from dibs.interfaces.cli import help

            return help.show_family(word, as_json=as_json)
        if rest[0].startswith("-"):
            raise Invalid(f"which one: {', '.join(f'`dibs {name}`' for name in family)}?", command=word)
        typed = f"{word} {rest[0]}"
        near = closest(rest[0], [name.partition(" ")[2] for name in family])
        suggestions = [f"{word} {near}"] if near else []
        more = f"`dibs {quoted(word)}` lists its commands."
    else:
        typed = word
        suggestions = list(SYNONYMS.get(word, ()))
        if not suggestions:
            near = closest(word, sorted({name.partition(" ")[0] for name in names()}))
            suggestions = [near] if near else []
        more = "`dibs help --all` lists them."
    hint = f"did you mean {' or '.join(f'`dibs {name}`' for name in suggestions)}?" if suggestions else more
    raise Invalid(f"there is no command {typed!r}; {hint}", command=typed)


def closest(word: str, known: list[str]) -> str:
    """The known word that needs the fewest edits, if these are few for its length; "" if none is near.

    Of two that are equally near, the one that begins alike is meant: `tsk` is `task`, not `ask`.
    """
    if len(word) > MAX_WORD_CHARS:
        return ""
    found = min(known, key=lambda name: (distance(word, name), name[:1] != word[:1], name), default="")
    allowed = 1 if len(word) < 4 else 2 if len(word) < 8 else 3  # noqa: PLR2004 - short words are near to everything
    return found if found and distance(word, found) <= allowed else ""


def distance(one: str, other: str) -> int:
    """How many letters are inserted, deleted, replaced or swapped with their neighbour."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        row = [place]
        for at, its in enumerate(other, 1):
            best = min(last[at] + 1, row[at - 1] + 1, last[at - 1] + (letter != its))
            if place > 1 and at > 1 and letter == other[at - 2] and one[place - 2] == its:
                best = min(best, before[at - 2] + 1)
            row.append(best)
        before, last = last, row
    return last[-1]
