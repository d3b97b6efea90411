"""Roles: who may write where, commit and deploy. They come from the config or a credential; no agent gives itself one.

A viewer writes nothing. A worker reads everything and writes only to its own scratch folder; it hands its results over
with a message or as a task's result. An orchestrator integrates, commits and deploys. An agent without a role may write
everything that is guarded. The default role is for agents: a person at a terminal has a role only if the config names
that person. authority.py decides which operations a role may call, by its rank.
"""

from __future__ import annotations

from dibs.errors import Forbidden
from dibs.operations.agents.marks import safe
from dibs.operations.agents.records import get_agent
from dibs.operations.core.declare import AGENT, ANYWHERE, BY_AGENT, PERSON, RANKS, VIEWER, WORKER, Field, Operation
from dibs.operations.core.policy import covers, matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.operations.agents.answers import RoleView
    from dibs.operations.agents.records import Agent
    from dibs.operations.agents.requests import UseRequest
    from dibs.operations.core.answers import NoAnswer
    from dibs.operations.core.call import Call
    from dibs.operations.core.policy import Rights
    from dibs.stores.seam import Transaction


LOCAL_FOLDER = ".dibs/local"  # dibs' own record: only dibs writes there, and agents into their scratch folders
NO_RIGHTS: Rights = {"write": [], "tools": [], "commit": False, "deploy": False}
ALL_RIGHTS: Rights = {"write": ["**"], "tools": [], "commit": True, "deploy": True}


def scratch_of(agent: str) -> str:
    """The agent's own folder, relative to the workspace's root. A subagent's lies in its parent's."""
    return f"{LOCAL_FOLDER}/scratch/{'/'.join([safe(part) for part in agent.split('/')])}"


def of(call: Call, agent: Agent | None, client: str = "", who: str = "") -> tuple[str, Rights | None]:
    """The role of the caller (or of `who`) and its rights; ("", None) for an agent without one."""
    roles = call.policy.guards["roles"]
    identifier = who or call.agent
    if call.sender == BY_AGENT:
        client = ""  # by its word alone: it may be any client's hook, or none
    if call.role and identifier == call.agent:
        return call.role, _rights(call, call.role)
    kind = agent.get("client_type", "") if agent is not None else ""  # what an agent says about itself gives it no role
    for pattern, given in roles["assign"]:
        if _speaks_of(pattern, identifier, kind, client):
            if "*" in pattern and "/" not in pattern and _is_own_promotion(call, pattern, identifier, given):
                continue
            name = given
            break
    else:
        is_person = call.is_person if identifier == call.agent else agent is not None and agent.get("kind") == "person"
        name = "" if is_person else roles["default"]
    if not name:
        return "", None
    return name, _rights(call, name)


def _is_own_promotion(call: Call, pattern: str, agent: str, given: str) -> bool:
    """Is it the name that an agent gave to its subagent which would raise that above the default?"""
    if "/" not in agent or _speaks_of(pattern, agent.partition("/")[0], "", ""):
        return False
    usual = call.policy.guards["roles"]["default"]
    return RANKS[rank_of(call, given or AGENT)] > RANKS[rank_of(call, usual or AGENT)]


def told(call: Call, agent: Agent) -> RoleView | None:
    """The caller's role and what it lets it do, for its briefing; None without one, and for a person's credential."""
    name, rights = of(call, agent, call.kind)
    if rights is None or rank_of(call, name) == PERSON:
        return None
    scratch = "" if rank_of(call, name) == VIEWER else scratch_of(call.agent)
    return {
        "role": name, "scratch": scratch, "write": rights["write"], "commit": rights["commit"],
        "deploy": rights["deploy"],
    }  # fmt: skip


def _rights(call: Call, name: str) -> Rights:
    preset = NO_RIGHTS if rank_of(call, name) in {VIEWER, WORKER} else ALL_RIGHTS
    return {**preset, **call.policy.guards["roles"]["named"].get(name, {})}


def rank_of(call: Call, role: str) -> str:
    """The rank of a role (authority.py); a role of the config counts as an agent, unless it says otherwise."""
    own = call.policy.guards["roles"]["named"].get(role, {}).get("may", "")
    return own or (role if role in RANKS else AGENT)


def _speaks_of(pattern: str, agent: str, kind: str, client: str) -> bool:
    if pattern == "subagents":
        return "/" in agent
    what, colon, rest = pattern.partition(":")
    if colon and what == "type":
        return kind == rest
    if colon and what == "client":
        return client == rest
    if "*" in pattern:
        first, _, last = pattern.partition("*")
        return agent.startswith(first) and agent.endswith(last) and len(agent) >= len(first) + len(last)
    return pattern in {agent, agent.partition("/")[0]}


def may_hold(role: Rights, resource: Sequence[str]) -> bool:
    """May a role write this path, or hold this name (such as `port:8080`)?"""
    fits = matches if resource[0] == "name" else covers
    return any(fits(pattern, resource) for pattern in role["write"])


def refusal_of_write(
    call: Call, agent: Agent | None, resource: Sequence[str], *, local: bool, client: str = "", tool: str = ""
) -> Forbidden | None:
    """Why the caller may not write this path, or None. `local`: it is in the working tree that has `.dibs/local/`."""
    kind, text = resource[0], resource[1]
    if local and kind == "tree" and (not text or LOCAL_FOLDER.startswith(text + "/")):
        return Forbidden(
            f"{text or '.'} has dibs' own record in it, {LOCAL_FOLDER}/; name what is in it instead.",
            path=text,
            within=True,
        )
    if local and (text == LOCAL_FOLDER or text.startswith(LOCAL_FOLDER + "/")):
        scratch = scratch_of(call.agent)
        if text.startswith(scratch + "/") or text == scratch:
            given = of(call, agent, client)[0]
            if given and rank_of(call, given) == VIEWER:
                who = call.name or call.agent
                return Forbidden(f"{who} is a {given}, which writes nothing.", role=given, path=text)
            return None
        return Forbidden(
            f"{text} is dibs' own record; write to your scratch folder, {scratch_of(call.agent)}/, instead.", path=text
        )
    name, role = of(call, agent, client)
    if role is None:
        return None
    if tool and bans(role, tool):
        return _banned(name, tool)
    if any(covers(pattern, resource) for pattern in role["write"]):
        return None
    who = call.name or call.agent
    return Forbidden(
        f"{who} is a {name} and may not write {text or '.'}: write to {scratch_of(call.agent)}/ and hand the "
        "result over (`dibs send`, or the result of your task); an orchestrator integrates it.",
        role=name,
        path=text,
    )


def bans(role: Rights, tool: str) -> bool:
    """Is this tool on a role's list? A name there may end with `*`: `mcp__github__*`."""
    listed = role.get("tools", ())
    return any(tool.startswith(name[:-1]) if name.endswith("*") else tool == name for name in listed)


def any_bans(call: Call, tool: str) -> bool:
    """Is this tool on the list of any role? Most are on none; then no role need be looked up."""
    return any(bans(role, tool) for role in call.policy.guards["roles"]["named"].values())


def _banned(name: str, tool: str) -> Forbidden:
    text = f"the role {name} may not use {tool} ([roles.{name}] in .dibs/config.toml). Do it another way, or leave it."
    return Forbidden(text, role=name, tool=tool)


def _use(tx: Transaction, call: Call, request: UseRequest) -> NoAnswer | Forbidden:
    """May the agent use this tool at all?"""
    tool = request["tool"]
    name, role = of(call, get_agent(tx, call.agent), request["client"])
    if role is None or not bans(role, tool):
        return {}
    tx.append("command.refused", call.agent, tool, {"code": Forbidden.code, "role": name})
    return _banned(name, tool)


def refusal_to(call: Call, agent: Agent | None, act: str, client: str = "") -> Forbidden | None:
    """Why the caller may not `commit` or `deploy`, or None."""
    name, role = of(call, agent, client)
    if role is None or role.get(act):
        return None
    return Forbidden(
        f"{call.name or call.agent} is a {name} and may not {act}; hand your result over, an orchestrator does it.",
        role=name,
        act=act,
    )


USE = Operation(
    "use", _use, "May this tool be used?", sent_by=ANYWHERE,
    fields=(
        Field("tool", "text", "the tool", required=True, longest=0),
        Field("client", "text", "the client", default=""),
    ),
    errors=(Forbidden,),
)  # fmt: skip

INTERNAL = (USE,)
