"""`dibs mcp`: the server on stdin and stdout, for the client that started it. It ends with its stdin, or by a signal.

What was asked before the end is still answered, within a moment: `printf … | dibs mcp` prints its answer.
"""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, NoReturn

import anyio
import mcp_types as types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from dibs.interfaces.mcp.near import LocalWorkspace
from dibs.interfaces.mcp.server import Door, quiet

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

GRACE_S = 2.0  # for calls under way when stdin ends; one that waits for a claim is cancelled then
BEGUN_S = 0.05  # until the last line has become a call
LOOK_S = 0.01


def serve(workspace: str = "", *, every: bool = False) -> None:
    """Serve one client until it closes our stdin."""
    quiet()
    anyio.run(_serve, LocalWorkspace(workspace), every)


async def _serve(near: LocalWorkspace, every: bool) -> None:
    door = Door(near, every=every)
    server = door.server()
    try:
        async with stdio_server() as (read, write), anyio.create_task_group() as tasks:
            to, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            tasks.start_soon(_pass_on, read, to, write.clone(), door)
            with anyio.CancelScope() as calls:
                tasks.start_soon(_end_at_signal, calls, door, near)
                await server.run(messages, write, server.create_initialization_options())
                await anyio.to_thread.run_sync(near.end)
                tasks.cancel_scope.cancel()
    finally:
        door.close()
        near.close()


async def _pass_on(
    read: MemoryObjectReceiveStream[SessionMessage | Exception],
    to: MemoryObjectSendStream[SessionMessage | Exception],
    back: MemoryObjectSendStream[SessionMessage],
    door: Door,
) -> None:
    """Lines as they come; their end only when what they asked is answered."""
    async with to, back:
        async for message in read:
            if isinstance(message, Exception):
                refusal = _no_message(message)
                if refusal is not None:
                    await back.send(SessionMessage(refusal))
            else:
                await to.send(message)
        await anyio.sleep(BEGUN_S)
        await _settled(door)


def _no_message(error: Exception) -> types.JSONRPCError | None:
    r"""What is said of a line that the SDK cannot read, and would pass over: its sender would wait for an answer.

    A client writes half a character (`"\ud83d"`) where its model cut an emoji in two, and the SDK takes no such text.
    """
    wrong = error.errors() if isinstance(error, ValidationError) else []
    sent: object = next((one["input"] for one in wrong if isinstance(one["input"], dict)), None)
    text, code = "a message is one object of JSON-RPC 2.0", types.INVALID_REQUEST
    if wrong and wrong[0]["type"] == "json_invalid":
        code = types.PARSE_ERROR
        try:
            sent = json.loads(wrong[0]["input"])
            text = "a text in this message is not valid Unicode"
        except (ValueError, RecursionError):
            pass  # no JSON at all
    if not isinstance(sent, dict) or not {"id", "method"} <= set(sent) or type(sent["id"]) not in {int, str}:
        return None  # nobody waits for an answer, or nobody knows who
    return types.JSONRPCError(jsonrpc="2.0", id=sent["id"], error=types.ErrorData(code=code, message=text))


async def _settled(door: Door) -> None:
    with anyio.move_on_after(GRACE_S):
        while door.under_way:  # noqa: ASYNC110 - counted by handlers that end one by one
            await anyio.sleep(LOOK_S)


async def _end_at_signal(calls: anyio.CancelScope, door: Door, near: LocalWorkspace) -> NoReturn:
    """End at Ctrl-C or SIGTERM: calls that wait leave their queues first.

    The thread that reads stdin cannot be cancelled, so the process ends here, not by returning.
    """
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            calls.cancel()
            with anyio.CancelScope(shield=True):
                await _settled(door)
            door.close()
            near.close()
            os._exit(128 + number)
    raise AssertionError
