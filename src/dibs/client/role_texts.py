"""What an agent's role lets it do, in the words of its briefing. Decided in operations/agents/roles.py."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.agents.answers import RoleView

EVERYTHING = "**"


def writes_freely(role: RoleView | None) -> bool:
    """Is a file of the repository claimed for it when it edits one?"""
    return role is None or EVERYTHING in role["write"]


def lines(role: RoleView | None) -> list[str]:
    """The role, and what it may not; nothing for an agent that may everything."""
    if role is None:
        return []
    acts = [act for act in ("commit", "deploy") if not role[act]]
    said = f"Your role here is {role['role']}."
    if not writes_freely(role):
        places = [*([f"{role['scratch']}/"] if role["scratch"] else []), *role["write"]]
        said += (
            f" You may read everything and write only to {' and '.join(places)}." if places else " You write nothing."
        )
    if acts:
        said += f" You may not {' or '.join(acts)}."
    if acts or not writes_freely(role):
        said += " Hand your result over (`dibs send`, or the result of your task): an orchestrator integrates it."
    return [said]
