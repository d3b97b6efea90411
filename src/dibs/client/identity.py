"""Identifies a caller on this machine: by the given name, the environment, and the processes above this one.

A door for callers of this machine makes its `Call` here. A door for others makes it from their credential, and does not
use the environment or the processes, which are the server's own: `Call(policy, agent=…, how="credential")`.
"""

from __future__ import annotations

import os

from dibs.machine import caller, processes
from dibs.operations.core.call import RESERVED, Call
from dibs.workspace.known_clients import PROCESS_NAMES, SESSION_VARIABLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.call import Process
    from dibs.operations.core.policy import Policy


SHELL_OF = "DIBS_SHELL_OF"  # the agent whose code runs here, where dibs started it: as in that agent's own shell


def identify_local(
    policy: Policy,
    chain: list[tuple[Process, str]],
    agent: str | None,
    *,
    client: Process | None = None,
    request: str = "",
) -> Call:
    """The caller, by the given name (`agent`), the environment, and `chain`, the processes above this one.

    `client` is the agent's process where the door knows it; without it, the call comes from a shell or a script.
    """
    environ = caller.environ()
    given = {name: environ[name] for name in SESSION_VARIABLES if name in environ}
    variable = next((name for name, value in given.items() if value), "")
    session = environ.get(SHELL_OF) or given.get(variable, "")
    own = environ.get("DIBS_AGENT", "")
    named = agent or own or session
    how = "--as" if agent else "DIBS_AGENT" if own else variable
    typed = client is None
    if client is None:
        client = processes.client_among(chain, PROCESS_NAMES)
    if typed and own and client is not None and processes.variable_of(client, "DIBS_AGENT") == own:
        session = own  # the client was started with that name for its agent
    kinds = [name for process, name in chain if name in PROCESS_NAMES and process == client]
    kinds += [SESSION_VARIABLES[name] for name in given]
    return Call(
        policy,
        agent=named,
        fallback="" if named else user_name(),  # looked up only where no agent is named
        client=client,
        ancestors=[process for process, _ in chain],
        request=request,
        kind=kinds[0] if kinds else "",
        from_shell=typed,
        session=session,
        identified_by=how,
        host=os.uname().nodename,
    )


def user_name() -> str:
    """The operating system's user; by the environment only where the system does not know its name."""
    try:
        import pwd

        name = pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        name = caller.environ().get("USER") or caller.environ().get("LOGNAME") or f"uid{os.getuid()}"
    return f"{name}@{os.uname().nodename}" if name.casefold() in RESERVED else name
