"""One call of a tool, from its arguments to its result. Blocking; it runs in a thread of its own, and never raises.

The low-level server of the SDK checks nothing: every argument is held to its declared field, by the same reader as all
doors use. A call that waits can be cancelled (`Caller.leave`): it then leaves the queue, and what it was granted.
"""

from __future__ import annotations

from dibs.errors import DibsError, Invalid
from dibs.interfaces.mcp import results
from dibs.interfaces.mcp.notices import Notices
from dibs.interfaces.mcp.tools import IGNORED, MAX_WAIT_S
from dibs.machine import durations
from dibs.server import locations
from dibs.server.requests import Gone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    from starlette.requests import Request

    from dibs.interfaces.mcp.callers import Who
    from dibs.interfaces.mcp.results import ToolResult
    from dibs.interfaces.mcp.tools import Tool
    from dibs.server.host import Host
    from dibs.server.requests import Caller, Requests

    class Asked(Protocol):
        """A workspace, as a transport has it: stdio by the client's process, HTTP by a credential."""

        @property
        def host(self) -> Host:
            """The opened workspace; raises where there is none."""

        @property
        def requests(self) -> Requests:
            """How operations are asked for."""

        def who(self, meta: Mapping[str, Any], client: str, request: Request | None) -> Who:
            """Who makes a call, by its metadata, the client's name and the HTTP request, if there is one."""


SHOWN_FIELDS = 20  # of a tool, in a refusal that names them


class Calls:
    """The tools of one server, and how they are called."""

    def __init__(self, asked: Asked, tools: dict[str, Tool]) -> None:
        self.asked = asked
        self.tools = tools
        self._notices = Notices(asked, tools)

    def call(
        self,
        tool: Tool,
        arguments: dict[str, object],
        meta: Mapping[str, Any],
        client: str,
        request: Request | None,
        there: Caller,
    ) -> ToolResult:
        """The result of a call. `client` is the client's name, `request` the HTTP request."""
        try:
            return self._call(tool, arguments, meta, client, request, there)
        except Gone:
            return results.made({"ok": False}, "cancelled", is_error=True)  # nobody reads it
        except BaseException as error:  # noqa: BLE001 - a model gets a sentence, never a traceback
            return results.refused(results.unexpected(error), self.tools)

    def _call(
        self,
        tool: Tool,
        arguments: dict[str, object],
        meta: Mapping[str, Any],
        client: str,
        request: Request | None,
        there: Caller,
    ) -> ToolResult:
        given, limited = _given(tool, arguments)
        try:
            who = self.asked.who(meta, client, request)
        except DibsError as error:
            return results.refused(error, self.tools, set_up=False)
        try:
            answer = self.asked.requests.answer(who.identity, tool.operation.name, given, agent=who.agent, caller=there)
        except DibsError as error:
            if who.identity.credential is not None:
                locations.hide_in(self.asked.host.place, error)
            return results.refused(error, self.tools, self._notices.of(who), waited=limited)
        told = () if "messages" in answer else self._notices.of(who)  # an inbox and a boot have told already
        return results.answered(answer, told)


def _given(tool: Tool, arguments: dict[str, object]) -> tuple[dict[str, object], bool]:
    """The arguments that are the operation's business, and whether a wait was cut to what one call may last."""
    given: dict[str, object] = {}
    limited = False
    known = tool.input_schema["properties"]
    fields = tool.operation.by_name
    for name, value in arguments.items():
        if name not in known:
            if name in IGNORED:
                continue
            raise _unknown(tool.name, name, list(known))
        if value is None and fields[name].kind != "json":
            continue  # some models say every field
        given[name] = value
        if name == "wait":
            asked = durations.read(value, "wait")
            limited = asked > MAX_WAIT_S * 1000
            given[name] = min(asked / 1000, MAX_WAIT_S)
    for name in tool.operation.required:
        if name not in given:
            raise Invalid(f"{tool.name} needs `{name}`", field=name)
    return given, limited


def _unknown(tool: str, name: str, known: list[str]) -> Invalid:
    """A field that the tool does not have."""
    shown = ", ".join(known[:SHOWN_FIELDS]) or "none"
    return Invalid(f"{tool}: there is no field {ascii(name)[:60]}; its fields: {shown}", field=name[:60])
