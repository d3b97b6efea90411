"""The error for a command that does not exist, with the one that was probably meant.

In this order: what other tools call it (SYNONYMS), commands that begin with the word, the nearest spelling of a command
or a synonym. Of several that are equally near, one that people use often is meant, and plumbing last.
"""

from __future__ import annotations

from dibs.errors import Invalid, quoted
from dibs.interfaces.cli.audiences import COMMON, is_plumbing
from dibs.interfaces.cli.command import family_of, names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_WORD_CHARS = 80  # of a word that may be a name misspelt; to compare a longer one takes long
MIN_BEGINNING_CHARS = 3  # of a command: `re` may be six of them
MAX_SUGGESTIONS = 2

# Words of other tools, and our commands for the same; one that is not there yet is passed over.
SYNONYMS = {
    "list": ("status", "task list"), "ls": ("status", "task list"), "lock": ("claim",), "acquire": ("claim",),
    "take": ("claim",), "reserve": ("claim",), "unlock": ("release",), "free": ("release",), "drop": ("release",),
    "steal": ("release --force",), "who": ("agents", "whoami"), "me": ("whoami",), "id": ("whoami",),
    "watch": ("status --watch", "log -f"), "tail": ("log -f",), "metrics": ("stats",),
    "figures": ("stats",), "matrix": ("map",),
    "history": ("log",), "events": ("log",), "blame": ("explain FILE",), "why": ("explain",), "story": ("explain",),
    "config": ("doctor", "init"), "settings": ("doctor", "init"), "setup": ("init",), "install": ("init",),
    "uninstall": ("init --uninstall",), "ps": ("agents",), "queue": ("task list", "status"), "tasks": ("task list",),
    "todo": ("task list",), "add": ("task add",), "next": ("task next",), "done": ("task done",), "runs": ("run list",),
    "votes": ("vote list",), "message": ("send",), "msg": ("send",), "mail": ("inbox",), "messages": ("inbox",),
    "extend": ("renew",), "stop": ("kill",), "pause": ("kill",), "suspend": ("kill",), "halt": ("kill",),
    "abort": ("kill",), "resume": ("revive",), "unpause": ("revive",), "continue": ("revive",),
    "login": ("boot",), "start": ("boot", "up"), "register": ("boot",),
    "wait": ("claim --wait",), "revert": ("undo", "restore"), "rollback": ("undo",), "reset": ("undo", "restore"),
    "recover": ("restore", "doctor --recover"), "checkout": ("restore",),
    "audit": ("check",), "test": ("doctor",), "health": ("doctor",), "diagnose": ("doctor",), "lint": ("check",),
    "repair": ("doctor --fix",), "fix": ("doctor --fix",), "update": ("init",), "upgrade": ("init",),
    "get": ("state get",), "set": ("state set",), "man": ("help",), "docs": ("help",), "doc": ("help",),
    "usage": ("help",), "commands": ("help --all",), "ui": ("serve --open", "top"), "gui": ("serve --open", "top"),
    "dashboard": ("serve --open", "top"), "web": ("serve --open",), "page": ("serve --open",),
    "browser": ("serve --open",), "open": ("serve --open",), "http": ("serve",), "server": ("serve",),
    "monitor": ("top",), "live": ("top",), "notifications": ("alerts",), "warnings": ("alerts",),
    "conflicts": ("radar",), "merge": ("land",), "push": ("land",), "ship": ("land",), "worktrees": ("radar",),
    "takeover": ("handover", "release --to"), "transfer": ("handover", "release --to"),
    "pass": ("handover", "release --to"), "try": ("demo",), "example": ("demo",), "tutorial": ("demo",),
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
        suggestions = meant(word)
        more = "`dibs help --all` lists them."
    hint = f"did you mean {' or '.join(f'`dibs {name}`' for name in suggestions)}?" if suggestions else more
    raise Invalid(f"there is no command {typed!r}; {hint}", command=typed)


def meant(word: str) -> list[str]:
    """The commands that a word most likely means; none if it is near to nothing."""
    known = names()
    first = sorted({name.partition(" ")[0] for name in known})
    word = word.lower()
    if word in SYNONYMS:
        return _there(SYNONYMS[word], known)
    begun = [name for name in first if name.startswith(word) and not is_plumbing(name)]
    if begun and len(word) >= MIN_BEGINNING_CHARS:
        return sorted(begun, key=_rank)[:MAX_SUGGESTIONS]
    near = closest(word, [*first, *SYNONYMS])
    return _there(SYNONYMS[near], known) if near in SYNONYMS else [near] if near else []


def _there(commands: Iterable[str], known: list[str]) -> list[str]:
    """Those of these command lines whose command there is."""
    return [line for line in commands if line in known or " ".join(line.split()[:1]) in known]


def _rank(name: str) -> int:
    """How seldom it is meant."""
    return 0 if name in COMMON else 2 if is_plumbing(name) else 1


def closest(word: str, known: Iterable[str]) -> str:
    """The known word that needs the fewest edits, if these are few for its length; "" if none is near.

    Of two that are equally near, the one that begins alike is meant, `tsk` is `task`, not `ask`; then the one that is
    used more: `stauts` is `status`, not `stats`. Plumbing is meant only by one slip.
    """
    if len(word) > MAX_WORD_CHARS:
        return ""
    allowed = 1 if len(word) < 4 else 2 if len(word) < 8 else 3  # noqa: PLR2004 - short words are near to everything
    near = []
    for name in known:
        edits = distance(word, name)
        if edits <= (1 if is_plumbing(name) else allowed):
            near.append((edits, name[:1] != word[:1], _rank(name), name))
    return min(near)[-1] if near else ""


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
