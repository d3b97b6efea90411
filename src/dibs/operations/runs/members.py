"""The agents of a run: who takes part, and what their processes use.

- retry: joining again changes only the newly given values.
- crash: a dead agent stays in the list, and is shown as gone.
"""

from __future__ import annotations

from dibs.errors import Invalid, Quota
from dibs.operations.agents.records import put_agent, registered_agent
from dibs.operations.core.call import iso
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.runs import records, runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.agents.records import Agent
    from dibs.operations.core.call import Call
    from dibs.operations.runs.answers import RunJoinAnswer, RunMember, RunUsageAnswer
    from dibs.operations.runs.records import Member, Use
    from dibs.operations.runs.requests import RunJoinRequest, RunUsageRequest
    from dibs.stores.seam import Transaction

MAX_AGENTS = 1_000  # of one run


def _join(tx: Transaction, call: Call, request: RunJoinRequest) -> RunJoinAnswer:
    """Join a run. The given type and capabilities are the agent's from now on, as at a boot."""
    record = runs.chosen(tx, request["run"])
    agent = registered_agent(tx, call.agent)
    kind, able = request["type"], sorted(set(request["can"]))
    if (kind and kind != agent["type"]) or (able and able != agent["can"]):
        was, agent["type"], agent["can"] = agent["type"], kind or agent["type"], able or agent["can"]
        if agent["type"] != was:
            from dibs.operations.messages import broadcasts

            broadcasts.take_on_type(tx, agent, was)
        put_agent(tx, agent)
    from dibs.operations.tasks import workforce

    workforce.mark_as_worker(tx, agent)
    member = _member(tx, record["run"], agent)
    records.put_member(tx, record["run"], member)
    return {"run": runs.shown(tx, record), "agent": shown(tx, member)}


def _member(tx: Transaction, run: str, agent: Agent) -> Member:
    """An agent's part in a run, existing or new, with its present type and capabilities."""
    known = records.get_member(tx, run, agent["agent"])
    if known is None:
        if records.has_members(tx, run, MAX_AGENTS):
            raise Quota(
                f"run {run} has {MAX_AGENTS} agents; it takes no more.", what="agents in one run", limit=MAX_AGENTS
            )
        tx.append("run.joined", agent["agent"], run, {"type": agent["type"], "can": agent["can"]})
    process = agent["process"]
    return {
        "agent": agent["agent"],
        "joined": tx.now if known is None else known["joined"],
        "usage": None if known is None else known["usage"],
        "peak": None if known is None else known["peak"],
        "type": agent["type"],
        "can": agent["can"],
        "pid": process[3] if process is not None else None,
    }


def shown(tx: Transaction, member: Member) -> RunMember:
    """An agent of a run, as people and programs see it."""
    view: RunMember = {
        "agent": member["agent"], "type": member["type"], "can": member["can"], "pid": member["pid"],
        "joined_at": iso(tx, member["joined"]),
    }  # fmt: skip
    latest, peak = member["usage"], member["peak"]
    if latest and peak:
        view["usage"] = {**latest, "at": iso(tx, latest["at"])}
        view["peak"] = {"cpu": peak["cpu"], "memory": peak["memory"], "threads": peak["threads"]}
    return view


def _usage(tx: Transaction, call: Call, request: RunUsageRequest) -> RunUsageAnswer:
    """Store the usage of the caller's process. It comes with a heartbeat, so an ended run is no error."""
    cpu, memory, threads = request["cpu"], request["memory"], request["threads"]
    for name, value in (("cpu", cpu), ("memory", memory), ("threads", threads)):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 2**53:
            raise Invalid(f"{name}: a number that is not negative", field=name)
    if not request["run"]:
        return {"kept": False}
    agent = registered_agent(tx, call.agent)
    run = runs.check_id(request["run"])
    return {"kept": keep_use(tx, run, agent, round(float(cpu), 1), int(memory), int(threads))}


def keep_use(tx: Transaction, run: str, agent: Agent, cpu: float, memory: int, threads: int | None = None) -> bool:
    """Store an agent's usage for an active run: the latest, and the maximum. Those of a task count no threads."""
    record = records.get_run(tx, run)
    if record is None or record["state"] != records.ACTIVE:
        return False
    member = _member(tx, run, agent)
    if threads is None:
        threads = member["usage"]["threads"] if member["usage"] else 1
    use: Use = {"cpu": cpu, "memory": memory, "threads": threads}
    before = member["peak"] or use
    member["peak"] = {
        "cpu": max(cpu, before["cpu"]), "memory": max(memory, before["memory"]),
        "threads": max(threads, before["threads"]),
    }  # fmt: skip
    member["usage"] = {**use, "at": tx.now}
    records.put_member(tx, run, member)
    return True


# Not in the catalogue: a worker sends it with its heartbeats.
USAGE = Operation(
    "run usage",
    _usage,
    "Store the usage of the caller's process.",
    sent_by=ANYWHERE,
    fields=(
        runs.RUN,
        Field("cpu", "json", "percent of one core", default=0),
        Field("memory", "integer", "bytes", default=0),
        Field("threads", "integer", "how many", default=0),
    ),
    answer="RunUsageAnswer",
)

INTERNAL = (USAGE,)

OPERATIONS = (
    Operation(
        "run join",
        _join,
        "Take part in a run.",
        group="runs",
        fields=(
            runs.RUN,
            Field("type", "text", "your agent type", default="", metavar="T"),
            Field("can", "words", "your capabilities", default=(), metavar="C,…"),
        ),
        errors=(*runs.ERRORS, Quota),
        rank="worker",
        answer="RunJoinAnswer",
    ),
)
