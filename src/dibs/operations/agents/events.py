"""The events of agents and credentials, as types of their data. operations/core/events.py says how to add one."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

Process = list[int | str | bool | list[int | str]]  # as the agent's record has it


class AgentRegistered(TypedDict):
    """agent.registered: An agent was registered. Subject: agent."""

    process: Process | None
    name: str
    machine: NotRequired[str]  # if a machine's credential did


class AgentBooted(TypedDict):
    """agent.booted: An agent started again, as another incarnation. Subject: agent."""

    incarnation: int
    process: Process | None


class AgentLeft(TypedDict):
    """agent.left: An agent left. Subject: agent."""


class AgentForgotten(TypedDict):
    """agent.forgotten: The record of an agent that is long gone was removed. Subject: the agent, which is gone."""

    seen: int


class AgentSame(TypedDict):
    """agent.same: Both ids mean this agent from now on. Subject: another id of the agent."""

    was: str  # the earlier agent of that id, or empty


class AgentKilled(TypedDict):
    """agent.killed: An agent was killed: all its calls are refused. Subject: the agent it happened to."""

    why: str


class AgentRevived(TypedDict):
    """agent.revived: A killed agent was revived. Subject: the agent it happened to."""


class TokenMade(TypedDict):
    """token.made: A person made a credential for a server's caller. Subject: credential id."""

    kind: Literal["agent", "person", "machine"]
    who: str
    role: str
    until: int
    fingerprint: str  # of the secret's hash


class TokenRevoked(TypedDict):
    """token.revoked: A credential was revoked: its calls are refused. Subject: credential id."""

    who: str


class RulesAcknowledged(TypedDict):
    """rules.acknowledged: An agent was shown the workspace's rules. Subject: agent."""

    digest: str  # of that version
