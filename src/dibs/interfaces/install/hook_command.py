"""The command in a client's settings, which calls the launcher `.dibs/hook`. The rest is in workspace/launcher.py."""

from __future__ import annotations

from dibs.interfaces.install import scripts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.agents.adapter import Client

MARK = ".dibs/hook"  # an entry in a client's settings with this is ours


def command(client: Client, event: str) -> str:
    """The command for one event in a client's settings.

    Before a tool call every failure is a refusal. At other events exit 2 would hold back a person's prompt, or send the
    model back to work.
    """
    before = client.hook.EVENTS[event] == "before"
    ends = scripts.refuse(client.reads) if before else scripts.PASS
    words = f"{client.name} {event}" if client.names_event else client.name
    if client.hook.PROJECT_VARIABLE:
        return f"{scripts.PROJECT.format(variable=client.hook.PROJECT_VARIABLE, words=words)}{scripts.FIND}{ends}"
    start = f"${{{client.starts_at}:-$PWD}}" if client.starts_at else "$PWD"
    search = scripts.UPWARD.format(start=start)
    return f"sh -c '{search}{words}; {scripts.FIND}{ends}' || exit {2 if before else 0}"
