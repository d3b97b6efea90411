"""Which of a command's simple commands the patterns of `[[pools.use]]` match, also inside of the scripts that it runs.

A pattern is words: the program's name, then words in their order, options in between ignored. `*` is any words, and
within a word any letters. `npm run`, `make X`, `just X`, `bash F` and `./F` are looked up, as for deploys
(deploy_commands.py), and what they run is read like a typed command. Read-only.
"""

from __future__ import annotations

from dibs import shell
from dibs.shell import deploy_commands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dibs.shell import Simple

    Words = list[str]

ANY = deploy_commands.ANY_WORDS
UNKNOWN = "…"  # a word that is not known before the command runs
MAX_LINES = 400  # of scripts, for one command


def matched(commands: Sequence[Simple], patterns: Sequence[str], here: str) -> dict[str, str]:
    """The patterns that match, each with what was typed, in the order of the commands."""
    split = {pattern: pattern.split() for pattern in patterns}
    names = {words[0].rpartition("/")[2] for words in split.values()}
    found: dict[str, str] = {}
    for words, typed in _called(commands, names, here, [MAX_LINES]):
        for pattern, wanted in split.items():
            if pattern not in found and speaks_of(wanted, words):
                found[pattern] = typed
    return found


def _called(
    commands: Sequence[Simple], names: set[str], here: str, left: list[int], depth: int = 0
) -> Iterator[tuple[Words, str]]:
    """The words of each simple command, and of those in the scripts that they run, with what was typed."""
    for simple in commands:
        if not simple.words or (shell.only_looks(simple.words[0]) and simple.words[0] not in names):
            continue
        words = [word if word is not None else UNKNOWN for word in simple.words]
        typed = simple.text or " ".join(words)
        for spelling in _spellings(words):
            yield spelling, typed
        if depth < deploy_commands.MAX_SCRIPT_DEPTH:
            for line in deploy_commands.lines_of(words, simple.text, simple.cwd or here):
                left[0] -= 1
                if left[0] < 0:
                    return
                for inner, _ in _called(shell.read(line, simple.cwd or here).commands, names, here, left, depth + 1):
                    yield inner, typed


def _spellings(words: Words) -> Iterator[Words]:
    """A command as it is typed, and as its program: `python -m pytest` is `pytest`."""
    yield [words[0].rpartition("/")[2], *words[1:]]
    if words[0].rpartition("/")[2].startswith("python") and words[1:2] == ["-m"] and words[2:]:
        yield words[2:]


def speaks_of(pattern: Sequence[str], words: Words) -> bool:
    """Do the words begin with the pattern? `*` at its end is any words, and none."""
    place = deploy_commands.matched_words(pattern, words, _fits)
    return place > 0 and all(rest == ANY for rest in pattern[place:])


def _fits(wanted_word: str, word: str) -> bool:
    """Does a word fit one of a pattern, in which `*` is any letters?"""
    if ANY not in wanted_word:
        return wanted_word == word
    first, *middle, last = wanted_word.split(ANY)
    if len(word) < len(first) + len(last) or not word.startswith(first) or not word.endswith(last):
        return False
    rest = word[len(first) : len(word) - len(last)]
    for part in middle:
        found = rest.find(part)
        if found < 0:
            return False
        rest = rest[found + len(part) :]
    return True
