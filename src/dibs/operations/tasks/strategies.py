"""Strategies: small functions that rank the candidates for a task, best first.

All have one signature, `(task, candidates, facts)`, and decide only the order. Push (assignments.py) takes the first
candidate with room; pull (`task next`) gives the task to the caller if the caller is the first.

- priority: the agent that asks; pushed, the one that has waited longest, else the least busy one. preemptive: the same
  (assignments.py has what happens if no agent has room).
- round_robin: the agent whose last task is longest ago. load_balanced: the one with the fewest tasks, then as
  round_robin.
- capability: the least over-qualified agent, so that generalists stay free.
- sticky: rendezvous hashing; the same key goes to the same agent, and one agent more or less moves 1/N of the keys.
- auction: the highest bid, the earlier of equal ones.

A task must wait only for an agent that will come for it; otherwise it could wait without end. So for a pull by
round_robin, load_balanced and capability, only agents compete that wait for work now and have room; by sticky also
agents that asked for work of the task's run within the last five minutes, or work on a task of it. An agent that left,
was killed, is known to be dead or has an open breaker never competes.
"""

from __future__ import annotations

from dibs.operations.agents.records import AGENT_KEYS, get_agents
from dibs.operations.core import paging
from dibs.operations.core.call import lineage_of
from dibs.operations.core.policy import DAY, MINUTE
from dibs.operations.tasks import lifecycle, records, workforce
from dibs.operations.tasks.lifecycle import EXECUTING
from dibs.stores.seam import COMMIT, digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dibs.operations.agents.records import Agent
    from dibs.operations.core.call import Call
    from dibs.operations.tasks.records import Bid, Task, WorkWaiter
    from dibs.stores.seam import Transaction

    Rank = Callable[[Task, Sequence[Agent], "Facts"], list[Agent]]

# An agent that was seen or asked within this counts as present; five times the interval of "seen".
PRESENCE_MS = 5 * MINUTE
ASKED_INTERVAL_MS = MINUTE  # at which an agent's asking is recorded
MAX_ASKED_RUNS = 16  # for one agent; the oldest is dropped
MAX_READ = 1_000  # running tasks, and assigned ones, for one choice
MAX_AUCTIONS_OPENED = 64  # by one look; the next opens more
THIS_COMMIT = 1 << 60  # above the number of every commit before
NO_QUEUE_PLACE = 1 << 30  # of an agent that does not wait
ROTATING_STRATEGIES = frozenset({"round_robin", "load_balanced"})  # these use the time of an agent's last task


class Facts:
    """The facts for the strategies. Gathered once for a choice, and for all the looks of one `next`."""

    __slots__ = ("asked", "assigned", "bids", "busy", "given", "live", "not_mine", "now", "opened", "place", "waiting")

    def __init__(self, now: int) -> None:
        self.now = now
        self.busy: dict[str, list[str]] = {}  # agent → the runs of its running tasks
        self.assigned: dict[str, list[int]] = {}  # agent → the priorities of the tasks assigned to it
        self.given: dict[str, list[int | str]] = {}  # agent → its last task by a rotating strategy: time, commit, place
        self.asked: dict[str, dict[str, int]] = {}  # agent → run → when it last asked for work
        self.waiting: dict[str, list[WorkWaiter]] = {}  # agent → its places among the waiters for work
        self.place: dict[str, int] = {}  # agent → the number of waiters before it
        self.bids: dict[str, Bid] = {}
        self.live: list[Agent] = []
        # strategies, demands and runs for which other agents come first
        self.not_mine: set[tuple[str, str, str]] = set()
        self.opened = 0

    def load(self, agent: str) -> int:
        """How many tasks an agent has, running or assigned."""
        return len(self.busy.get(agent, ())) + len(self.assigned.get(agent, ()))

    def in_line(self, agent: str) -> int:
        """An agent's place among the waiters for work."""
        return self.place.get(agent, NO_QUEUE_PLACE)


# --- the strategies


def priority(task: Task, candidates: Sequence[Agent], facts: Facts) -> list[Agent]:
    """The agent that has waited longest, then the least busy one."""
    return sorted(candidates, key=lambda agent: (facts.in_line(_id(agent)), facts.load(_id(agent)), _id(agent)))


def round_robin(task: Task, candidates: Sequence[Agent], facts: Facts) -> list[Agent]:
    """The agent whose last task is longest ago."""
    return sorted(
        candidates, key=lambda agent: (facts.given.get(_id(agent), []), facts.in_line(_id(agent)), _id(agent))
    )


def load_balanced(task: Task, candidates: Sequence[Agent], facts: Facts) -> list[Agent]:
    """The agent with the fewest tasks."""
    return sorted(round_robin(task, candidates, facts), key=lambda agent: facts.load(_id(agent)))


def capability(task: Task, candidates: Sequence[Agent], facts: Facts) -> list[Agent]:
    """The least over-qualified agent."""
    needs = set(task["needs"])
    return sorted(priority(task, candidates, facts), key=lambda agent: len(set(agent["can"]) - needs))


def sticky(task: Task, candidates: Sequence[Agent], facts: Facts) -> list[Agent]:
    """Each key (the task's sticky key, else its key, its parent or its id) gives the agents an order of their own."""
    word = task["sticky"] or task["key"] or task["parent"] or task["task"]
    return sorted(candidates, key=lambda agent: digest_of(f"{word}|{_id(agent)}"))


def auction(task: Task, candidates: Sequence[Agent], facts: Facts) -> list[Agent]:
    """The highest bidder, the earlier of equal ones; agents without a bid are left out."""
    bidders = [agent for agent in candidates if _id(agent) in facts.bids]
    bids = facts.bids
    return sorted(bidders, key=lambda agent: (-bids[_id(agent)]["amount"], bids[_id(agent)]["commit"], _id(agent)))


RANKS: dict[str, Rank] = {
    "priority": priority, "round_robin": round_robin, "load_balanced": load_balanced, "capability": capability,
    "sticky": sticky, "auction": auction, "preemptive": priority,
}  # fmt: skip


def _id(agent: Agent) -> str:
    return str(agent["agent"])


# --- what they go by


def gather(tx: Transaction, without: str = "") -> Facts:
    """The waiters, the running tasks, and when each agent got its last one. `without` is a task that does not count."""
    facts = Facts(tx.now)
    for place, waiter in enumerate([waiter for waiter in workforce.present(tx) if not records.is_for_one_task(waiter)]):
        facts.waiting.setdefault(waiter["agent"], []).append(waiter)
        facts.place.setdefault(waiter["agent"], place)
    for task in records.tasks_in_state(tx, EXECUTING, MAX_READ):
        facts.busy.setdefault(task["agent"], []).append(task["run"])
    for _, task in records.scan_tasks(tx, records.ASSIGNED, MAX_READ)[0]:
        if task["assigned"] and task["task"] != without:
            facts.assigned.setdefault(task["assigned"]["agent"], []).append(task["priority"])
    for agent, history in records.get_histories(tx):
        facts.asked[agent] = history["asked"]
        facts.given[agent] = [history["given"]] if isinstance(history["given"], int) else history["given"]
    return facts


def living(tx: Transaction, call: Call, facts: Facts, among: Iterable[str] | None = None) -> list[Agent]:
    """The agents (or those named in `among`) that are there to work, as far as is known."""
    known = _agents(tx, among)
    killed = {name for name, agent in known.items() if agent["killed"]}
    wanted = known if among is None else [name for name in dict.fromkeys(among) if name in known]
    there = [known[name] for name in wanted if not known[name]["left"] and killed.isdisjoint(lineage_of(name))]
    call.know([agent["process"] for agent in there])
    return [agent for agent in there if _is_there(tx, call, agent, facts)]


def _agents(tx: Transaction, among: Iterable[str] | None) -> dict[str, Agent]:
    """Agents by their names; named ones with their ancestors, since a kill covers subagents."""
    if among is not None:
        agents = get_agents(tx, sorted({one for name in among for one in lineage_of(name)}))
        return {agent["agent"]: agent for agent in agents.values() if agent is not None}
    every = [agent for _, agent in paging.every(tx, AGENT_KEYS)]
    return {agent["agent"]: agent for agent in every if agent.get("works") or agent["killed"]}


def _is_there(tx: Transaction, call: Call, agent: Agent, facts: Facts) -> bool:
    alive = call.alive(agent["process"])
    if alive is False or workforce.breaker(tx, call, agent)[0] == "open":
        return False
    return bool(alive or agent["agent"] in facts.waiting or agent["seen"] + PRESENCE_MS > tx.now)


def asks(facts: Facts, agent: Agent, task: Task) -> bool:
    """Will this agent come for such work by itself: does it wait for it now, or has it asked lately?"""
    name, run = _id(agent), task["run"]
    asked = facts.asked.get(name, {}).get(run, 0)
    return _waits(facts, name, run) or (bool(asked) and asked + PRESENCE_MS > facts.now)


def _waits(facts: Facts, agent: str, run: str) -> bool:
    return any(record["run"] in {"", run} for record in facts.waiting.get(agent, ()))


def given(tx: Transaction, agent: str, facts: Facts) -> None:
    """Record that an agent gets a task now."""
    place = sum(last[1:2] == [THIS_COMMIT] for last in facts.given.values())
    facts.given[agent] = [tx.now, THIS_COMMIT, place]
    _keep(tx, agent, facts)


def _keep(tx: Transaction, agent: str, facts: Facts) -> None:
    """Written only for the rotating strategies; a sweep drops it after a day."""
    last = [COMMIT if part == THIS_COMMIT else part for part in facts.given.get(agent, ())]
    records.put_history(tx, agent, {"given": last, "asked": facts.asked.get(agent, {})}, tx.now + DAY)


# --- pull


def may_pull(tx: Transaction, call: Call, agent: Agent, task: Task, strategy: str) -> bool:
    """Does this ready task go to the caller?"""
    if strategy in {"priority", "preemptive"}:
        return True
    facts = _facts(tx, call)
    if strategy == "auction":
        return _auctioned(tx, call, task, facts)
    me = _id(agent)
    kind = (strategy, records.pool_of(task), task["run"])
    if kind in facts.not_mine:
        return False
    facts.place[me] = -1  # among equals, the caller comes first
    if strategy == "sticky":
        _note_asking(tx, me, task["run"], facts)
    others = [other for other in facts.live if _id(other) != me]
    rivals = [other for other in others if _competes(tx, call, other, task, strategy, facts)]
    first = _id(RANKS[strategy](task, [agent, *rivals], facts)[0])
    if first != me:
        if strategy != "sticky":  # each sticky task may be for another agent
            facts.not_mine.add(kind)
        for record in facts.waiting.get(first, ())[:1]:
            if record["wake"]:
                tx.wake(record["wake"])
        return False
    if strategy in ROTATING_STRATEGIES and workforce.early_claim(tx, call, task) is None:
        given(tx, me, facts)
    return True


def _competes(tx: Transaction, call: Call, agent: Agent, task: Task, strategy: str, facts: Facts) -> bool:
    """Would this agent come for the task?"""
    if not lifecycle.fits(agent, task["needs"], task["for"]):
        return False
    name = _id(agent)
    if strategy == "sticky":
        return asks(facts, agent, task) or task["run"] in facts.busy.get(name, ())
    return _waits(facts, name, task["run"]) and facts.load(name) < workforce.limit_of(tx, call, agent)


def _note_asking(tx: Transaction, agent: str, run: str, facts: Facts) -> None:
    asked = facts.asked.setdefault(agent, {})
    if asked.get(run, 0) + ASKED_INTERVAL_MS > tx.now and run in asked:
        return
    asked[run] = tx.now
    while len(asked) > MAX_ASKED_RUNS:
        del asked[min(asked, key=lambda run: (asked[run], run))]
    _keep(tx, agent, facts)


def _auctioned(tx: Transaction, call: Call, task: Task, facts: Facts) -> bool:
    """A task that had its auction is free for all. One without an auction yet is put up when it is found."""
    if task["auctioned"]:
        return True
    if facts.opened < MAX_AUCTIONS_OPENED:
        from dibs.operations.tasks import auctions

        facts.opened += 1
        auctions.put_up(tx, call, task)
    return False


def _facts(tx: Transaction, call: Call) -> Facts:
    """The facts for all looks of one transaction: `next` may look at many tasks that are for other agents."""
    global _last  # noqa: PLW0603 - a cache of one entry
    last = _last
    if last is not None and last[0] is tx:
        return last[1]
    facts = gather(tx)
    facts.live = living(tx, call, facts, [*facts.waiting, *facts.busy, *facts.asked])
    _last = (tx, facts)
    return facts


_last: tuple[Transaction, Facts] | None = None
