"""`dibs kill`: the operation, for people; with `--end` it asks, and ends the agent's client on this machine as well."""

from __future__ import annotations

import sys

from dibs.client import catalogue
from dibs.errors import NO, Invalid, Unavailable, named
from dibs.interfaces.cli import dispatch, terminal
from dibs.interfaces.cli.command import Command
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Session
    from dibs.interfaces.cli.parse import Words
    from dibs.operations.agents.answers import EndedView, KillAnswer
    from dibs.operations.agents.client_process import ClientProcessAnswer
    from dibs.operations.core.call import Call, Process

UNASKED = "nothing was done yet; the same with `--yes` does it"


def run(words: Words) -> int:
    """Kill it; with `--end`, first look whose process is meant, and ask."""
    operation = catalogue.operation("kill")
    session, call, values = dispatch.read(operation, words)
    ending = _ending(session, call, values) if words.fields.get("end") else None
    if ending is not None and not words.fields.get("yes") and not _agreed(words, *ending):
        return NO
    if ending is not None:
        session, call, values = dispatch.read(operation, words)
    answer: KillAnswer = session.answer(operation, call, values)
    if ending is not None:
        answer["ended"] = _end(ending[1])
        answer["running"] = [one for one in answer["running"] if _is_there(one["pid"])]
    return dispatch.finish(operation, answer, words)


def _ending(session: Session, call: Call, values: dict[str, object]) -> tuple[ClientProcessAnswer, Process]:
    """The process that would be ended; raises if there is none on this machine that may be."""
    from dibs.machine import processes
    from dibs.operations.agents.client_process import CLIENT_PROCESS

    if values["agent"] == "all":
        raise Invalid("--end is for one agent: `dibs kill all` ends no process", field="end")
    seen: ClientProcessAnswer = session.run(CLIENT_PROCESS, call, {"agent": values["agent"]})
    process, name = seen["process"], named(seen)
    instead = "Without `--end` the agent is killed, and its process lives on."
    if process is None:
        whose = "a subagent, which runs in its parent's process" if "/" in seen["agent"] else "not started by a client"
        raise Invalid(f"{name} is {whose}: dibs ends no other process. {instead}", field="end", agent=seen["agent"])
    if (there := processes.alive(process)) is not True:
        why = "has exited" if there is False else "runs on another machine, or in a container, where dibs cannot end it"
        raise Invalid(f"the process of {name} ({process[3]}) {why}. {instead}", field="end", agent=seen["agent"])
    if process[3] in [one[0][3] for one in processes.ancestors()]:
        raise Invalid(f"this command runs below {name} ({process[3]}): end it from another terminal.", field="end")
    return seen, process


def _agreed(words: Words, seen: ClientProcessAnswer, process: Process) -> bool:
    """Say what ends, and ask the person at the terminal; without a terminal the answer is no."""
    also = f", and with it {', '.join(map(terminal.clean, seen['others']))}" if seen["others"] else ""
    text = (
        f"{seen['client']} (process {process[3]}), which runs {terminal.clean(named(seen))}, is ended{also}: "
        "SIGTERM, and SIGKILL after 5 s. What it has not saved is lost; files keep what it wrote."
    )
    if words.json or not (terminal.is_terminal() and sys.stdin.isatty()):
        for line in (text, UNASKED):
            terminal.complain(line)
        return False
    terminal.write([text])
    sys.stdout.write("kill the agent and end its process? [y/N] ")
    sys.stdout.flush()
    if sys.stdin.readline().strip().lower() in {"y", "yes"}:
        return True
    terminal.complain("nothing was done")
    return False


def _end(process: Process) -> EndedView:
    """End it; the agent is killed by now, whatever comes of it."""
    from dibs.machine import ending

    try:
        return {"pid": process[3], "by": ending.end(process)}
    except OSError as error:
        why = "it belongs to another user" if isinstance(error, PermissionError) else str(error)
        raise Unavailable(f"the agent is killed, but its process {process[3]} was not ended: {why}.") from None


def _is_there(pid: int) -> bool:
    from dibs.machine import processes

    return bool(processes.name_of(pid))


COMMAND = Command(
    "kill",
    run=run,
    fields=(
        Field("end", "flag", "also end its client's process, on this machine", default=False),
        Field("yes", "flag", "with --end: do not ask", default=False),
    ),
    examples=(
        ("dibs kill codex-2 --why 'runs in circles'", "stop an agent"),
        ("dibs kill codex-2 --why 'hangs' --end", "and end its client's process (SIGTERM, then SIGKILL)"),
        ("dibs kill all --why 'the wrong branch'", "stop all agents; `dibs revive all` lets them go on"),
    ),
)
