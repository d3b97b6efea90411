"""Options of commands, as getopt reads them: short ones in clusters, long ones abbreviated, values attached or apart.

Which options take a value has to be said for each command; one taken for a flag makes its value an operand.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    Words = list[str | None]  # None: cannot be known
    Options = list[tuple[str, str | None]]


def leading(words: Words, short: str, long: tuple[str, ...]) -> tuple[int, Options]:
    """The options at the beginning, up to the first operand: where that is, and what they are."""
    given: Options = []
    i = 1
    while i < len(words):
        word = words[i]
        if word is None or word in {"-", "--"} or not word.startswith("-"):
            return i + (word == "--"), given
        i = _option(words, i, short, long, given)
    return i, given


def options(words: Words, short: str, long: tuple[str, ...]) -> tuple[Options, Words]:
    """Options and operands, wherever they stand."""
    given: Options = []
    operands: Words = []
    i = 0
    while i < len(words):
        word = words[i]
        if word == "--":
            operands += words[i + 1 :]
            break
        if word is None or word == "-" or not word.startswith("-"):
            operands.append(word)
            i += 1
        else:
            i = _option(words, i, short, long, given)
    return given, operands


def has(given: Options, *names: str) -> bool:
    """Was one of these options given?"""
    return any(option in names for option, _ in given)


def last(given: Options, *names: str) -> str | None:
    """The last value of an option; "" if it was not given, None if it cannot be known."""
    found: str | None = ""
    for option, value in given:
        if option in names:
            found = value
    return found


def _option(words: Words, i: int, short: str, long: tuple[str, ...], given: Options) -> int:
    """Take one word of options; where the next word is. A value that is missing or cannot be known is None."""
    word = words[i] or ""
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        # An abbreviation is taken for the option it may stand for.
        full = name if name in long else next((known for known in long if known.startswith(name)), name)
        if equals or full not in long:
            given.append((full, value if equals else None))
            return i + 1
        given.append((full, words[i + 1] if i + 1 < len(words) else None))
        return i + 2
    for at in range(1, len(word)):
        if word[at] in short:
            rest = word[at + 1 :]
            given.append((word[at], rest or (words[i + 1] if i + 1 < len(words) else None)))
            return i + 1 if rest else i + 2
        given.append((word[at], None))
    return i + 1
