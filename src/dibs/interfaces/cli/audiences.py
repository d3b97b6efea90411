"""Whom each command is for: what `dibs help` shows first, what `--all` groups, what is hidden from both, what is meant.

Only names: the texts are the declarations'. A command that is not named here is listed under its declared group.
"""

from __future__ import annotations

PEOPLE, AGENTS, FLEET, PLUMBING = "people", "agents", "fleet", "plumbing"

# What a person needs, in the order in which it is needed: `dibs help` shows these and no others.
EVERYDAY = (
    ("dibs init", "make this repository a workspace, with hooks for its agents and for git"),
    ("dibs demo", "see what it prevents, in a minute"),
    ("dibs lookback", "what happened between your agents' past sessions, and what dibs would have done"),
    ("dibs doctor", "is everything all right? Each finding with the command that fixes it"),
    ("dibs status", "who holds what, and who waits (--watch keeps it on the screen)"),
    ("dibs top", "the fleet, live in this terminal"),
    ("dibs serve --open", "the same in a browser"),
    ("dibs alerts", "what needs attention, and what to do about it"),
    ("dibs explain FILE|AGENT", "the story of a file, an agent, a task or a claim"),
    ("dibs log", "what happened, when, and by which agent (-f follows)"),
    ("dibs undo AGENT", "undo what an agent, a task or a claim changed"),
    ("dibs restore FILE", "bring back a file that was overwritten; without a file, list what is kept"),
    ("dibs kill AGENT", "stop an agent and free what it holds (`dibs revive` lets it act again)"),
    ("dibs radar", "which worktrees and branches would conflict"),
    ("dibs land", "merge this branch into main, checked, one at a time"),
)
COMMON = frozenset(line.split()[1] for line, _ in EVERYDAY)  # what is meant, of commands that are equally near

# The headings of `dibs help --all`: whom for, title. A declared group is a heading, unless WHERE says otherwise.
HEADINGS = {
    "setup": (PEOPLE, "Set up"),
    "see": (PEOPLE, "See"),
    "decide": (PEOPLE, "Decide"),
    "server": (PEOPLE, "A server for the workspace"),
    "about": (PEOPLE, "About dibs"),
    "claims": (AGENTS, "Claims"),
    "agents": (AGENTS, "An agent's own session"),
    "messages": (AGENTS, "Messages"),
    "tasks": (FLEET, "Tasks"),
    "runs": (FLEET, "Runs: one job of the whole fleet"),
    "state": (FLEET, "Shared documents"),
    "votes": (FLEET, "Votes"),
    "plumbing": (PLUMBING, "Plumbing: what hooks, servers and scripts run"),
}
TITLES = {
    PEOPLE: "FOR PEOPLE",
    AGENTS: "FOR AGENTS: what they are told to run; the hooks do most of it for them",
    FLEET: "FOR FLEETS: work that is handed out",
    PLUMBING: "PLUMBING",
}
GROUPS = {"guards": "decide", "record": "see", "worktrees": "decide"}  # declared groups that are no headings
WHERE = {
    "agents": "see", "check": "see", "doctor": "setup", "kill": "decide", "lead": "runs", "radar": "see",
    "revive": "decide", "serve": "see", "status": "see", "timeline": "see", "worker": "tasks",
    **dict.fromkeys((
        "confirm", "git-hook", "hook", "mcp", "prune", "renew", "run purge", "seal", "store move", "sweep",
        "sync-check", "task turn", "up",
    ), "plumbing"),
}  # fmt: skip


def heading_of(name: str, group: str) -> str:
    """The heading below which a command is listed."""
    return WHERE.get(name) or GROUPS.get(group, group)


def is_plumbing(name: str) -> bool:
    """Is it run by hooks, servers and scripts rather than typed?"""
    return WHERE.get(name) == "plumbing"
