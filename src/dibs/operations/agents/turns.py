"""An agent's turns: what it is doing, when it waits for a person, when it is stalled, when it is idle.

A client's hooks tell when a person prompts the agent, when the agent asks a person, and when its turn is over. That is
kept in the agent's record. A question and a stall end with the next call of the agent, whatever it is (entry.py).

- prompted: a turn is open from now on. The first words of the prompt are what the agent is doing, unless the config
  says otherwise (`[agents] prompts`); no more of it is stored.
- asks: the agent waits for a person: a permission, a question, a form. denied: nobody was there to be asked.
- over: the turn ended. While something that it left runs on, the agent is at work. One that its person interrupted
  may end without a word: then a stall is all that is seen.
- stalled: a turn is open, and for `[agents] stalled` no hook came and the client's processes used no CPU. The machine
  that the agent runs on measures that (client/upkeep/stalls.py); its word counts for processes that it sees.

A report about a turn that is not open, a process that is not the agent's, or an agent that ended changes nothing.
"""

from __future__ import annotations

from dibs.errors import printable
from dibs.operations.agents.records import get_agent, get_agents, put_agent
from dibs.operations.core.call import process_name
from dibs.operations.core.declare import ANYWHERE, HOSTS, Field, Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.operations.agents.answers import Activity
    from dibs.operations.agents.records import Agent
    from dibs.operations.agents.requests import StalledRequest, TurnRequest
    from dibs.operations.core.answers import NoAnswer
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Json, Transaction

PROMPTED, ASKS, OVER, DENIED = "prompted", "asks", "over", "denied"
MAX_WORDS_CHARS = 60  # of a prompt, as what the agent is doing
MAX_QUESTION_CHARS = 80
MAX_SENT_CHARS = 400  # of a prompt: more does not leave the machine that it was typed on
RECENT_MS = 120_000  # twice the interval at which an agent's activity is recorded
MAX_WATCHED = 200  # open turns that one look measures


def words_of(text: str, most: int = MAX_WORDS_CHARS) -> str:
    """The first words of a text, on one line, without control characters; "" for what no person typed."""
    words = printable(text[:MAX_SENT_CHARS])
    if words.startswith("<"):  # clients wrap their own notes to the model in tags
        return ""
    if len(words) <= most:
        return words
    cut = words[:most].rpartition(" ")[0] or words[: most - 1]
    return f"{cut.rstrip(' .,;:')}…"


def _turn(tx: Transaction, call: Call, request: TurnRequest) -> NoAnswer:
    """The client tells of the caller's turn."""
    agent = get_agent(tx, call.agent)
    assert agent is not None, "the entry has registered the caller"
    if request["what"] == PROMPTED:
        agent.pop("limited", None)
        if request["continues"]:
            agent.setdefault("turn", tx.now)
        else:
            agent["turn"] = tx.now
            agent.pop("gate", None)
            agent.pop("open_end", None)
            if request["open_end"]:
                agent["open_end"] = True
        agent.pop("busy", None)
        said = words_of(request["text"]) if call.policy.work["agents"]["prompts"] else ""
        if said:
            agent["doing"] = said
        elif not call.policy.work["agents"]["prompts"]:
            agent.pop("doing", None)
    elif request["what"] == ASKS:
        agent["waits"] = {"since": tx.now, "what": words_of(request["text"], MAX_QUESTION_CHARS)}
    elif request["what"] == DENIED:
        agent["asked"] = True
    elif "busy" not in agent:
        rest(tx, agent)
    put_agent(tx, agent)
    return {}


def rest(tx: Transaction, agent: Agent, *, busy: bool = False) -> None:
    """The agent's turn is over; what it left running keeps it at work. The record is not written here."""
    agent.pop("busy", None)
    if busy:
        agent["busy"] = True
    else:
        agent.pop("turn", None)
        agent["rested"] = tx.now


def _may_stall(tx: Transaction, call: Call, agent: Agent) -> bool:
    """Is a turn of it open, without a sign for long, and nobody asked?"""
    limit: int = call.policy.work["agents"]["stalled"]
    present = not agent["left"] and not agent["killed"] and agent["process"] is not None
    return present and "turn" in agent and "waits" not in agent and tx.now - max(agent["seen"], agent["turn"]) >= limit


def watched(tx: Transaction, call: Call, agents: Iterable[Agent]) -> list[Json]:
    """The agents of which CPU time would tell whether they are stalled, each with its process."""
    return [
        [agent["agent"], agent["process"]]
        for agent in agents
        if agent["process"] is not None
        and "stalled" not in agent
        and _may_stall(tx, call, agent)
        and call.alive(agent["process"])
    ][:MAX_WATCHED]


def _stalled(tx: Transaction, call: Call, request: StalledRequest) -> NoAnswer:
    """The caller's machine measured the agents' processes: they used no CPU for so long."""
    limit: int = call.policy.work["agents"]["stalled"]
    known = get_agents(tx, [agent for agent, _ in request["quiet"]])
    call.know([agent["process"] for agent in known.values() if agent is not None])
    for identifier, quiet in request["quiet"]:
        agent = known[identifier]
        if agent is None or quiet < limit or not _may_stall(tx, call, agent) or not call.alive(agent["process"]):
            continue
        agent["stalled"] = agent["seen"]
        put_agent(tx, agent)
    return {}


def activity(tx: Transaction, call: Call, agent: Agent) -> Activity:  # noqa: PLR0911 - one for each word
    """What the agent is at: one word for people. `call.facts` says what is known of its process."""
    if agent["killed"]:
        return "killed"
    if agent["left"]:
        return "left"
    process = agent["process"]
    alive = call.facts.get(process_name(process)) if process is not None else None
    if alive is False:
        return "exited"
    if "waits" in agent:
        return "waits for a person"
    if "limited" in agent:
        return "limited"
    if "stalled" in agent:
        return "stalled"
    recent = tx.now - agent["seen"] <= RECENT_MS
    if "rested" in agent:
        return "idle"
    if recent or (alive and "turn" in agent):
        return "working"
    return "idle" if alive else "unknown"


TURN = Operation(
    "turn", _turn, "The client tells of the agent's turn.", sent_by=ANYWHERE,
    fields=(
        Field("what", "choice", "what became of it", choices=(PROMPTED, ASKS, OVER, DENIED), required=True),
        Field("text", "raw", "the prompt, or what is asked", default="", longest=MAX_SENT_CHARS),
        Field("continues", "flag", "no person typed the prompt: the turn continues", default=False),
        Field("open_end", "flag", "it asks to stop early, or not to commit", default=False),
    ),
)  # fmt: skip
STALLED = Operation(
    "stalled", _stalled, "The processes of these agents used no CPU for a while.", sent_by=HOSTS, registers=False,
    fields=(
        Field("quiet", "rows", "each agent, and for how long", required=True, items=(
            Field("agent", "text", "its id", required=True),
            Field("ms", "integer", "for how long its processes used none", required=True, least=0),
        )),
    ),
)  # fmt: skip

INTERNAL = (TURN, STALLED)
