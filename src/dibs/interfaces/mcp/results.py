"""Answers and refusals as the results of tools.

Claude Code and Codex show their model the structured content alone, Gemini the text alone. So a refusal's words stand
in both. A refusal is a decision, and its result is no error of the tool (`isError` is false): Claude Code would drop
the structured content of one that is, and Gemini would show a dump of JSON. What made no sense (`invalid`) and what
could not be decided (`busy`, `unavailable`) is an error of the call.
"""

from __future__ import annotations

import json
import re

from dibs.errors import NO, DibsError, Invalid, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import TypedDict

    class TextContent(TypedDict):
        """A text of a result."""

        type: str
        text: str

    class ToolResult(TypedDict):
        """The result of a tool's call, as the protocol has it."""

        content: list[TextContent]
        structuredContent: dict[str, object]
        isError: bool


# Code → what a model does next. A refusal's own words say who and why.
NEXT = {
    "held": 'Do not touch it. Call `claim` again with `wait` (such as "45s"), or `ask` its holder, or do other work.',
    "fenced": "What you held is not yours any more. Stop that work; call `boot` to see what you hold.",
    "killed": "Stop working. Tell your user: only a person or an orchestrator can revive you.",
    "deadlock": "Call `release` for something that you hold, then claim all that you need in one call.",
    "order": "Call `release` for what you hold, then claim all of it in one call.",
    "not_found": "Follow the message; if it names no step, check the id, or do other work.",
    "conflict": "Read it again, take the change into account, then repeat the call with what is current now.",
    "invalid": "Correct the arguments and call again.",
    "forbidden": "Do not try another way. Leave it, or ask an agent or person that may do it.",
    "quota": "Finish or release something first, then call again.",
    "behind": "Bring in what is missing, test, then call again.",
    "unverified": "Repair what failed, then call again.",
    "failed": "Look at what failed, then decide.",
    "busy": "Wait a moment and call again.",
    "unavailable": "Call again once. If it fails again, tell your user; do not work on shared files meanwhile.",
    "unauthorized": "Tell your user: the credential of this connection is not valid.",
}
NEXT_WAITED = (
    "It is still held. Call `claim` again with `wait` (you keep no place in line meanwhile), or do other work."
)
NEXT_SET_UP = (
    "Nothing is wrong with the arguments. Tell your user what the message says; no claim protects you until then."
)
COMMAND = "`dibs "
OPTION = re.compile(r"(?<![\w`-])--([a-z][a-z-]+)")


def answered(answer: dict[str, object], notice: Sequence[str] = ()) -> ToolResult:
    """The result of a call that was answered: the object that `--json` prints, and as text the same."""
    structured = {**answer, **({"notice": list(notice)} if notice else {})}
    return made(structured, json.dumps(structured, ensure_ascii=False))


def refused(
    error: DibsError,
    tools: Collection[str],
    notice: Sequence[str] = (),
    *,
    waited: bool = False,
    set_up: bool = True,
) -> ToolResult:
    """The result of a call that was refused, or could not be decided; `set_up`: there is a workspace."""
    message = spoken(error.message, tools)
    following = NEXT.get(error.code, NEXT["unavailable"])
    if waited and error.code == "held":
        following = NEXT_WAITED
    elif not set_up and error.code == "invalid":
        following = NEXT_SET_UP
    structured = {**error.as_json(), "message": message, "next": following}
    if notice:
        structured["notice"] = list(notice)
    lines = [f"{error.code}: {message}", f"Next: {following}", *[f"Notice: {line}" for line in notice]]
    return made(structured, "\n".join(lines), is_error=error.exit != NO)


def made(structured: dict[str, object], text: str, *, is_error: bool = False) -> ToolResult:
    """A result, as the protocol has it."""
    return {"content": [{"type": "text", "text": text}], "structuredContent": structured, "isError": is_error}


def unexpected(error: BaseException) -> DibsError:
    """What a caller is told of an error in dibs itself: a sentence, never a traceback."""
    if isinstance(error, DibsError):
        return error
    if isinstance(error, (UnicodeError, RecursionError)):
        return Invalid("the arguments are not valid Unicode, or nested too deeply")
    message = f"internal error: {type(error).__name__}. The call may or may not have been completed."
    return Unavailable(message, internal=True)


def spoken(text: str, tools: Collection[str]) -> str:
    """A text of dibs' own for a reader that has tools: a command that is one of them is named as the tool.

    So is an option as the field, and those of the command are named after its tool.
    """
    parts = text.split(COMMAND)
    found = _fields_in(parts[0])
    for part in parts[1:]:
        command, tick, rest = part.partition("`")
        tool = _tool(command.split(), tools) if tick else ""
        the = "The" if not found or found.endswith(". ") else "the"
        found += f"{the} tool `{tool}`{_with(command)}" if tool else f"{COMMAND}{command}{tick}"
        found += _fields_in(rest)
    return found


def _fields_in(text: str) -> str:
    """The same with options named as fields: `--not-done` is `not_done`."""
    return OPTION.sub(lambda found: f"`{found[1].replace('-', '_')}`", text)


def _with(command: str) -> str:
    """The fields that stand for a command's options."""
    fields = [f"`{name.replace('-', '_')}`" for name in OPTION.findall(command)]
    return f" with {' and '.join(fields)}" if fields else ""


def _tool(words: list[str], tools: Collection[str]) -> str:
    """The tool of a command line."""
    for count in (2, 1):
        name = "_".join(words[:count]).replace("-", "_")
        if len(words) >= count and name in tools:
            return name
    return ""
