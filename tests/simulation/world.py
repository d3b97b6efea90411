"""The simulation: a fleet on a virtual clock, with crashes, pauses, aborted transactions and retries.

Everything random comes from one seed, so a failing run is replayed by its seed. After each answer the independent model
is asked whether it can be true; at the end the log goes through `dibs verify`, and when everybody has gone nothing may
be left.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from dibs.client import catalogue
from dibs.errors import Deadlock, DibsError, Fenced, Held, Killed
from dibs.operations.core.call import Call, Continue, NeedsFacts, process_name, to_json
from dibs.operations.core.entry import perform
from dibs.operations.core.policy import Policy
from dibs.stores.seam import fill, read_event
from dibs.testing.memory import MemoryStore
from dibs.verify.checker import verify_store
from tests.canonical import canonical
from tests.simulation.model import RESOURCES, Hold, Model, spelt
from tests.stores.interrupts import ENGINE_FILES, Interrupter

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.stores.seam import Event, Store, Transaction

NAMES = ("ann", "bob", "cid", "dan", "eve", "fay", "ann/one", "ann/two", "bob/one", "bob/one/x")
START = 1_700_000_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ACTIONS = {
    "claim": 40, "release": 16, "confirm": 8, "renew": 6, "retry": 5, "boot": 3, "crash": 2, "pause": 2, "kill": 1,
    "leave": 1, "sweep": 2, "hand": 2, "ask": 1, "status": 1, "seal": 1,
}  # fmt: skip
CHOICES, WEIGHTS = list(ACTIONS), list(accumulate(ACTIONS.values()))


@cache
def _milliseconds(iso: str) -> int:
    return (datetime.fromisoformat(iso) - EPOCH) // timedelta(milliseconds=1)


class Agent:
    """What one simulated agent remembers, and the process it runs in."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.process: list[Any] | None = None
        self.tokens: list[tuple[int, tuple[str, str]]] = []  # believed, possibly stale
        self.waiting: dict[str, Any] | None = None
        self.asleep_until = 0
        self.killed = False
        self.last: tuple[str, str, dict[str, Any], Any] | None = None  # request id, operation, fields, answer


class World:
    """One run."""

    def __init__(
        self,
        seed: int,
        make: Callable[[World], Store] | None = None,
        *,
        aborts: float = 0.05,
        interrupts: float = 0.0,
    ) -> None:
        self.dice = random.Random(seed)
        self.ids = random.Random(seed + 1)
        self.now, self.wall_offset = 1_000, START
        self.pids = 100
        self.alive: dict[str, bool] = {}
        self.aborts = aborts
        self.interrupts = interrupts  # how many of the calls meet a Ctrl-C inside the store; without aborts only
        self.interrupted = 0
        self.refused = 0  # hand-overs, as a deadlock
        self.interrupter = Interrupter(*ENGINE_FILES)
        self.inside = False
        self.calling = ""
        self.store: Store = make(self) if make is not None else self._memory()
        self.policy = Policy(ttl=60_000, max_life=600_000)
        self.agents = {name: Agent(name) for name in NAMES}
        self.everybody = list(self.agents.values())
        self.model = Model()
        self.done: dict[str, int] = {}
        self.trace: list[Any] = []
        self.keep_trace = False

    def _memory(self) -> Store:
        return MemoryStore(
            now=lambda: self.now,
            wall=lambda: self.now + self.wall_offset,
            new_id=self.new_id,
            abort=lambda: self.aborts > 0 and self.dice.random() < self.aborts,
            between=self.between,
        )

    def new_id(self) -> str:
        """Identifiers from the seed."""
        return f"{self.ids.getrandbits(48):012x}"

    def between(self) -> None:
        """What happens while an aborted transaction has not been run again: often somebody else's commit."""
        if not self.inside and self.dice.random() < 0.5:
            self.inside = True
            try:
                self.act(self.dice.choice([a for a in self.agents.values() if a.name != self.calling]))
            finally:
                self.inside = False

    # --- one step

    def step(self) -> None:
        """Time passes and somebody does something."""
        self.now += int(self.dice.expovariate(1 / 800)) if self.dice.random() < 0.98 else self.dice.randrange(90_000)
        if self.dice.random() < 0.002:  # the wall clock jumps; nothing may come of it
            self.wall_offset = START + self.dice.choice((0, 3_600_000, -3_600_000, 315_360_000_000, -315_360_000_000))
        self.act(self.dice.choice(self.everybody))

    def act(self, agent: Agent) -> None:
        """One call of one agent, or one misfortune."""
        if agent.asleep_until > self.now:
            return
        if agent.waiting is not None and self.dice.random() < 0.7:
            self.poll(agent)
            return
        chosen = self.dice.choices(CHOICES, cum_weights=WEIGHTS)[0]
        self.done[chosen] = self.done.get(chosen, 0) + 1
        getattr(self, chosen)(agent)

    def call(self, agent: Agent, name: str, fields: dict[str, Any], request: str = "") -> Any:
        """Run one operation; the answer or the refusal, after facts were looked up as often as needed."""
        operation = catalogue.operation(name)
        fields = canonical(operation, fields)
        call = Call(self.policy, agent=agent.name, fallback="nobody", client=agent.process, request=request)
        verb = self.store.run if operation.writes else self.store.look

        def body(tx: Transaction) -> Any:
            return perform(tx, call, operation, fields)

        head = self.store.head().seq
        while True:
            if not self.inside:
                self.calling = agent.name
            try:
                answer = self.decide(operation, call, fields, verb, body)
                if isinstance(answer, Continue):
                    continue
                answer = to_json(answer)
                break
            except NeedsFacts as need:
                for process in need.processes:
                    call.facts[process_name(process)] = self.alive.get(process_name(process))
            except DibsError as error:
                answer = error
                break
        for event in self.store.events(head) if operation.writes else ():
            self.follow(event)
        if isinstance(answer, Killed):
            named = self.agents.get(answer.agent, agent)  # the caller, its ancestor, or whom it wanted to hand over to
            assert self.is_killed(named), f"{named.name} was said to be killed"
        elif not isinstance(answer, DibsError) and operation.writes:
            assert not self.is_killed(agent), f"{agent.name} is killed and got {answer}"
        if self.keep_trace:
            shown = [answer.code, answer.fields] if isinstance(answer, DibsError) else answer
            self.trace.append([self.now, agent.name, name, fields, shown])
        return answer

    def follow(self, event: Event) -> None:
        """What no answer tells: activity renews what an agent holds, and waiters are served."""
        if '"claim.renewed"' not in event.body and '"via":"queue"' not in event.body:
            return
        said = read_event(event)
        if said["kind"] == "claim.renewed":
            self.model.renewed(said["subject"], said["data"]["until"], self.now)
        elif said["kind"] == "claim.granted":
            self.model.unclaimed.add(said["subject"])

    def decide(
        self, operation: Any, _call: Call, _fields: dict[str, Any], verb: Callable[[Any], Any], body: Callable[..., Any]
    ) -> Any:
        """One run of an operation, in this process; other worlds send it elsewhere."""
        return self.attempt(verb, body) if operation.writes else verb(body)

    def attempt(self, verb: Callable[[Any], Any], body: Callable[[Transaction], Any]) -> Any:
        """Run a transaction, now and then with an interrupt at some bytecode of the store: it was done, or it was not.

        Whoever was interrupted does not know which. The world does, and goes on from there: with the answer that was
        lost, or by doing it now.
        """
        if not self.interrupts or self.dice.random() >= self.interrupts:
            return verb(body)
        decided: list[tuple[int, Any]] = []
        answers: list[Any] = []

        def noted(tx: Any) -> Any:
            result = body(tx)
            decided[:] = [(tx.number, result)]
            return result

        at = self.dice.randrange(1, int(self.dice.choice((100, 1_000, 6_000))))
        if self.interrupter.interrupt(lambda: answers.append(verb(noted)), at) is None:
            return answers[0]
        self.interrupted += 1
        commit = self.store.head().commit
        if decided and decided[0][0] <= commit:
            return fill(decided[0][1], commit)
        return verb(body)

    def is_killed(self, agent: Agent) -> bool:
        """Is the agent, or one it descends from, killed?"""
        return any(
            other.killed and (agent.name == other.name or agent.name.startswith(other.name + "/"))
            for other in self.agents.values()
        )

    # --- what agents do

    def wish(self) -> dict[str, Any]:
        """A random request."""
        count = self.dice.choices((1, 2, 3), (8, 2, 1))[0]
        fields: dict[str, Any] = {"resources": [list(r) for r in self.dice.sample(RESOURCES, count)]}
        fields["mode"] = self.dice.choices(("write", "read", "watch"), (6, 3, 1))[0]
        if self.dice.random() < 0.3:
            fields["ttl"] = self.dice.choice((500, 5_000, 30_000, 120_000))
        if self.dice.random() < 0.3:
            fields["expect"] = self.dice.choice((1_000, 10_000))
        return fields

    def claim(self, agent: Agent) -> None:
        """Ask for something, sometimes ready to wait, sometimes as a hook that cannot."""
        fields = self.wish()
        request = self.new_id() if self.dice.random() < 0.3 else ""
        kind = self.dice.random()
        if kind < 0.35 and agent.waiting is None:
            waiting = {"fields": fields, "deadline": self.now + self.dice.randrange(1_000, 60_000), "request": request}
            agent.waiting = {**waiting, "waiter": ""}
            self.poll(agent)
            return
        if kind < 0.45:
            fields["interest"] = True
        answer = self.call(agent, "claim", fields, request)
        self.heard(agent, fields, answer)
        agent.last = (request, "claim", fields, answer) if request else agent.last

    def poll(self, agent: Agent) -> None:
        """Look whether it is one's turn; at the deadline for the last time."""
        waiting = agent.waiting
        assert waiting is not None
        left = max(0, waiting["deadline"] - self.now)
        fields = {**waiting["fields"], "wait": left, "waiter": waiting["waiter"]}
        answer = self.call(agent, "claim", fields, waiting["request"])
        if isinstance(answer, dict) and "waiting" in answer:
            assert left > 0, "nothing waits past its deadline"
            waiting["waiter"] = answer["waiting"]
            return
        agent.waiting = None
        self.heard(agent, waiting["fields"], answer)

    def heard(self, agent: Agent, fields: dict[str, Any], answer: Any) -> None:
        """Put an answer to a claim before the model."""
        if isinstance(answer, Deadlock):
            agents = {step["agent"] for step in answer.cycle} | {step["holder"] for step in answer.cycle}
            assert agent.name in agents
            assert len(agents) > 1, f"a cycle of one: {answer.cycle}"
            return
        if isinstance(answer, Held):
            assert answer.blockers
            for blocker in answer.blockers:
                assert blocker["agent"] != agent.name, "an agent's own claims never block it"
            return
        if isinstance(answer, DibsError):
            return
        for identifier, hold in list(self.model.holds.items()):  # an upgrade takes the weaker claim's place
            weaker = ("watch", "read", "write").index(hold.mode) < ("watch", "read", "write").index(answer["mode"])
            if hold.agent == agent.name and weaker and answer["claim"] not in self.model.holds:
                self.model.give_back(identifier, set(answer["resources"]))
        self.learn(agent, answer, agent)
        for resource in fields["resources"]:
            agent.tokens.append((answer["token"], tuple(resource)))
        agent.tokens = agent.tokens[-12:]

    def learn(self, agent: Agent, answer: dict[str, Any], by: Agent | None = None) -> None:
        """A claim as the answer tells it. The model may know it already: then it was renewed."""
        until = self.now + self.until(answer["expires_at"])
        tied = by is agent and agent.process is not None
        hold = Hold(agent.name, answer["resources"], answer["mode"], until, answer["token"], tied=tied)
        self.model.granted(answer["claim"], hold, self.now)

    def until(self, iso: str) -> int:
        """Milliseconds from now until a time in an answer."""
        return _milliseconds(iso) - (self.now + self.wall_offset)

    def release(self, agent: Agent) -> None:
        """Give back one thing by its token, which may be stale, or everything."""
        if agent.tokens and self.dice.random() < 0.8:
            token, resource = self.dice.choice(agent.tokens)
            live = any(
                h.token == token
                and h.until > self.now
                and (h.agent == agent.name or h.agent.startswith(agent.name + "/"))
                for h in self.model.holds.values()
            )
            answer = self.call(agent, "release", {"resources": [list(resource)], "token": token})
            if isinstance(answer, DibsError):
                return
            assert live, f"{agent.name} released {resource} by stale token {token}"
            for identifier, hold in list(self.model.holds.items()):
                if hold.token == token and (hold.agent == agent.name or hold.agent.startswith(agent.name + "/")):
                    self.model.give_back(identifier, {resource[1]})
        else:
            answer = self.call(agent, "release", {"all": True})
            if not isinstance(answer, DibsError):
                self.model.drop_agent(agent.name, family=True)

    def confirm(self, agent: Agent) -> None:
        """Is a token that one remembers still live? The model must agree when it says no."""
        if not agent.tokens:
            return
        token, resource = self.dice.choice(agent.tokens)
        answer = self.call(agent, "confirm", {"resource": list(resource), "token": token})
        if isinstance(answer, Fenced):
            live = [h for h in self.model.holds.values() if h.token == token and h.agent == agent.name]
            assert not any(h.until > self.now and resource[1] in h.texts for h in live), (
                f"token {token} of {agent.name} for {resource} was refused although it is live"
            )
        else:
            assert answer["token"] == token

    def renew(self, agent: Agent) -> None:
        """Ask for a new deadline for everything."""
        answer = self.call(agent, "renew", {})
        if isinstance(answer, DibsError):
            return
        for claim in answer["renewed"]:
            self.model.unclaimed.discard(claim["claim"])
            self.learn(self.agents[claim["agent"]], claim, agent)

    def retry(self, agent: Agent) -> None:
        """The answer was lost: the same request id again gets the same answer and no second effect."""
        if agent.last is None:
            return
        request, name, fields, before = agent.last
        head = self.store.head().seq
        answer = self.call(agent, name, fields, request)
        if isinstance(before, (Killed, Fenced)):  # it was refused before it was looked at: this is the first time
            self.heard(agent, fields, answer)
            agent.last = (request, name, fields, answer)
            return
        if isinstance(answer, (Killed, Fenced)):
            return
        if isinstance(before, DibsError):
            assert isinstance(answer, DibsError)
            assert (answer.code, answer.fields) == (before.code, before.fields)
        else:
            assert answer == before, f"{answer} is not {before}"
        mine = [e.body for e in self.store.events(head) if f'"claim.granted","agent":"{agent.name}"' in e.body]
        assert not mine, f"a retry had an effect: {mine}"

    def boot(self, agent: Agent) -> None:
        """Start, or start again in the same or another process."""
        before = agent.process
        if agent.process is None or self.dice.random() < 0.4:
            agent.process = self.new_process()
        answer = self.call(agent, "boot", {})
        if isinstance(answer, DibsError):
            return
        if before is not None and before != agent.process:
            agent.tokens = []
        self.model.drop_agent(agent.name, family=False)
        for claim in answer["held"]:
            self.learn(agent, claim, agent)
            agent.tokens += [(claim["token"], self.spelt(text)) for text in claim["resources"]]

    def spelt(self, text: str) -> tuple[str, str]:
        """The resource that a text in an answer stands for."""
        return spelt(text)

    def new_process(self) -> list[Any]:
        """A live process with a pid never used before."""
        self.pids += 1
        process = ["host", "boot", "ns", self.pids, self.pids]
        self.alive[process_name(process)] = True
        return process

    def crash(self, agent: Agent) -> None:
        """SIGKILL: whatever it held is free as soon as anybody looks, if its process was known."""
        if agent.process is not None:
            self.alive[process_name(agent.process)] = False
            self.model.died(agent.name, self.now)
        agent.process, agent.tokens, agent.waiting, agent.last = None, [], None, None
        agent.asleep_until = self.now + self.dice.randrange(20_000)

    def pause(self, agent: Agent) -> None:
        """SIGSTOP for a while; afterwards it acts on what it remembers."""
        agent.asleep_until = self.now + self.dice.choice((500, 20_000, 90_000))

    def kill(self, agent: Agent) -> None:
        """The kill switch, for somebody else; or its end."""
        target = self.dice.choice([a for a in self.agents.values() if a is not agent])
        if target.killed:
            answer = self.call(agent, "revive", {"agent": target.name})
            target.killed = isinstance(answer, DibsError)
            return
        answer = self.call(agent, "kill", {"agent": target.name, "why": "test"})
        if not isinstance(answer, DibsError):
            target.killed = True
            self.model.drop_agent(target.name, family=True)

    def leave(self, agent: Agent) -> None:
        """Say good-bye; a subagent's claims pass to its parent."""
        answer = self.call(agent, "leave", {})
        if not isinstance(answer, DibsError):
            self.model.drop_agent(agent.name, family=False)
            agent.tokens = []

    def sweep(self, agent: Agent) -> None:
        """Do what came due."""
        self.call(agent, "sweep", {})

    def hand(self, agent: Agent) -> None:
        """Hand one thing over to somebody, or everything."""
        target = self.dice.choice([a for a in self.agents.values() if a is not agent])
        held = [(identifier, text) for identifier, one in self.model.holds.items() if one.agent == agent.name
                for text in sorted(one.texts)]  # fmt: skip
        one = self.dice.choice(held) if held and self.dice.random() < 0.7 else None
        what = {"all": True} if one is None else {"resources": [list(spelt(one[1]))]}
        answer = self.call(agent, "release", {**what, "to": target.name})
        if isinstance(answer, Deadlock):
            self.refused += 1
        if isinstance(answer, DibsError):
            return
        if one is None:
            self.model.drop_agent(agent.name, family=True)
        for claim in answer["claims"]:
            for identifier, before in list(self.model.holds.items()) if one is not None else ():
                if before.agent == agent.name or before.agent.startswith(agent.name + "/"):
                    self.model.give_back(identifier, set(claim["resources"]))
            self.learn(target, claim)

    def ask(self, agent: Agent) -> None:
        """Ask the holder of something."""
        self.call(agent, "ask", {"resource": list(self.dice.choice(RESOURCES)), "text": "please"})

    def status(self, agent: Agent) -> None:
        """Nobody is shown who is past the deadline."""
        answer = self.call(agent, "status", {})
        for claim in answer["claims"]:
            assert self.until(claim["expires_at"]) > 0
        self.indexed()

    def indexed(self) -> None:
        """Every row of a claim belongs to a record that its agent's index finds, and has a row for each resource."""

        def look(tx: Transaction) -> tuple[list[Any], list[Any]]:
            rows = tx.fetch([("i", "j"), ("n", "o"), ("r", "s")], 10_000).rows
            indexed = [row for kind in ("claims", "waits", "interests") for row in tx.scan(1, f"{kind}\t", 10_000).rows]
            return [record for _, record in rows], [record for _, _, record in indexed]

        rows, found = self.store.look(look)
        kinds = ("claim", "waiter", "interest")
        by_index = {record[kind]: record for record in found for kind in kinds if kind in record}
        counts: dict[str, int] = {}
        for record in rows:
            identifier = next(record[kind] for kind in kinds if kind in record)
            there = by_index[identifier]
            if "first" in record:  # it only says where the record is
                assert (record["first"], record["agent"]) == (there["resources"][0], there["agent"])
            else:
                assert there == record
            counts[identifier] = counts.get(identifier, 0) + 1
        assert counts == {identifier: len(record["resources"]) for identifier, record in by_index.items()}

    def seal(self, agent: Agent) -> None:
        """Now and then a seal, and the log before it dropped."""
        if self.dice.random() >= 0.05 or isinstance(self.call(agent, "seal", {}), DibsError):
            return
        if self.dice.random() < 0.3:
            self.call(agent, "prune", {"keep": 0})

    # --- the end

    def check(self) -> None:
        """The log is clean, and when everybody has gone nothing is left."""
        self.inside = True  # nobody else acts any more
        report = verify_store(self.store)
        assert report.ok, report.findings[:5]
        self.now += 3_600_000
        watcher = Agent("watcher")
        for _ in range(200):
            answer = self.call(watcher, "sweep", {})
            if not answer["more"]:
                break
        left = self.store.look(lambda tx: tx.fetch([("i", "j"), ("n", "o"), ("r", "s")]).rows)
        assert not left, f"left behind: {left[:3]}"
        report = verify_store(self.store)
        assert report.ok, report.findings[:5]
        assert report.live == 0
