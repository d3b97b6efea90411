"""`dibs mcp`: the server on stdin and stdout, for the client that started it. It ends with its stdin, or by a signal.

What was asked before the end is still answered, within a moment: `printf … | dibs mcp` prints its answer.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any, NoReturn

import anyio
from mcp.server.stdio import stdio_server

from dibs.doors.mcp.near import Near
from dibs.doors.mcp.server import Door, quiet

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream

GRACE_S = 2.0  # for calls under way when stdin ends; one that waits for a claim is cancelled then
BEGUN_S = 0.05  # until the last line has become a call
LOOK_S = 0.01


def serve(workspace: str = "", *, every: bool = False) -> None:
    """Serve one client until it closes our stdin."""
    quiet()
    anyio.run(_serve, Near(workspace), every)


async def _serve(near: Near, every: bool) -> None:
    door = Door(near, every=every)
    server = door.server()
    try:
        async with stdio_server() as (read, write), anyio.create_task_group() as tasks:
            to, messages = anyio.create_memory_object_stream[Any](0)
            tasks.start_soon(_pass_on, read, to, door)
            with anyio.CancelScope() as calls:
                tasks.start_soon(_end_at_signal, calls, door, near)
                await server.run(messages, write, server.create_initialization_options())
                tasks.cancel_scope.cancel()
    finally:
        door.close()
        near.close()


async def _pass_on(read: Any, to: MemoryObjectSendStream[Any], door: Door) -> None:
    """Lines as they come; their end only when what they asked is answered."""
    async with to:
        async for message in read:
            await to.send(message)
        await anyio.sleep(BEGUN_S)
        await _settled(door)


async def _settled(door: Door) -> None:
    with anyio.move_on_after(GRACE_S):
        while door.under_way:  # noqa: ASYNC110 - counted by handlers that end one by one
            await anyio.sleep(LOOK_S)


async def _end_at_signal(calls: anyio.CancelScope, door: Door, near: Near) -> NoReturn:
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
