"""Who is calling, as this machine sees it: what was said, the environment, and the processes above this one.

A door for callers of this machine makes its `Call` here. A door for others makes it from their credential, and asks
neither the environment nor the processes, which are the server's own: `Call(policy, agent=…, how="credential")`.
"""

from __future__ import annotations

import os

from dibs.facts import processes
from dibs.operations.core.call import OWN, Call
from dibs.session.known_clients import PROCESS_NAMES, SESSION_VARIABLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.core.policy import Policy


def identify_local(
    policy: Policy,
    chain: list[tuple[list[Any], str]],
    agent: str | None,
    *,
    client: list[Any] | None = None,
    request: str = "",
) -> Call:
    """The caller, by what was said (`agent`), the environment, and `chain`, the processes above this one.

    `client` is the agent's process where the door knows it; without, the call is words of a shell or a script.
    """
    variable = next((name for name in SESSION_VARIABLES if os.environ.get(name)), "")
    session = os.environ.get(variable, "")
    named = agent or os.environ.get("DIBS_AGENT") or session
    how = "--as" if agent else "DIBS_AGENT" if os.environ.get("DIBS_AGENT") else variable
    typed = client is None
    if client is None:
        client = processes.client_among(chain, PROCESS_NAMES)
    own = os.environ.get("DIBS_AGENT", "")
    if typed and own and client is not None and processes.variable_of(client, "DIBS_AGENT") == own:
        session = own  # so whoever started the client named its agent
    kinds = [name for process, name in chain if name in PROCESS_NAMES and process == client]
    kinds += [kind for variable, kind in SESSION_VARIABLES.items() if variable in os.environ]
    return Call(
        policy,
        agent=named,
        fallback="" if named else user_name(),  # asked for only where nobody is named
        client=client,
        ancestors=[process for process, _ in chain],
        request=request,
        kind=kinds[0] if kinds else "",
        typed=typed,
        session=session,
        how=how,
    )


def user_name() -> str:
    """The operating system's user; the environment is asked only where the system does not know its name."""
    try:
        import pwd

        name = pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        name = os.environ.get("USER") or os.environ.get("LOGNAME") or f"uid{os.getuid()}"
    return f"{name}@{os.uname().nodename}" if name.casefold() == OWN else name  # dibs itself goes by that name
