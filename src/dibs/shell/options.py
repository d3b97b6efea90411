"""Options of commands, as getopt reads them: short ones in clusters, long ones abbreviated, values attached or not.

Each command's options with a value must be declared: if one is taken for a flag, its value becomes an operand.
"""

from __future__ import annotations

from dibs.shell.unknown import ANY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeVar

    from dibs.shell.unknown import Field

    T = TypeVar("T")  # in the place of an unknown word
    Words = list[str | None]
    Options = list[tuple[str, str | None]]
    Fields = list[Field]
    Given = list[tuple[str, Field | None]]  # None: the value is missing


def leading(
    words: list[str | T], short: str, long: tuple[str, ...], *, final: str = ""
) -> tuple[int, list[tuple[str, str | T | None]]]:
    """The options before the first operand, and the operand's place; `final`: options after which there are no more."""
    given: list[tuple[str, str | T | None]] = []
    i = 1
    while i < len(words):
        word = words[i]
        if not isinstance(word, str) or word in {"-", "--"} or not word.startswith("-"):
            return i + (word == "--"), given
        i = _option(words, i, short, long, given)
        if final and given and given[-1][0] in final:
            break
    return i, given


def options(
    words: list[str | T], short: str, long: tuple[str, ...]
) -> tuple[list[tuple[str, str | T | None]], list[str | T]]:
    """Options and operands, in any order."""
    given: list[tuple[str, str | T | None]] = []
    operands: list[str | T] = []
    i = 0
    while i < len(words):
        word = words[i]
        if word == "--":
            operands += words[i + 1 :]
            break
        if not isinstance(word, str) or word == "-" or not word.startswith("-"):
            operands.append(word)
            i += 1
        else:
            i = _option(words, i, short, long, given)
    return given, operands


def has(given: Sequence[tuple[str, Field | None]], *names: str) -> bool:
    """Was one of these options given?"""
    return any(option in names for option, _ in given)


def last(given: Given, *names: str) -> Field:
    """The last value of an option; "" if it was not given."""
    latest: Field = ""
    for option, value in given:
        if option in names:
            latest = ANY if value is None else value
    return latest


def _option(
    words: list[str | T], i: int, short: str, long: tuple[str, ...], given: list[tuple[str, str | T | None]]
) -> int:
    """Read one word of options; returns the place of the next word. A missing value is None."""
    word = words[i]
    assert isinstance(word, str), "options are known"
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        # An abbreviation counts as the option it may mean.
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
