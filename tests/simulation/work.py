"""The simulation of work: agents add, take, finish, fail, give back and split tasks, die, sleep and come back late.

It runs in the world of world.py, on its clock, with its crashes, pauses, kills, aborted transactions and retries. The
ledger hears every event as it is committed and knows nothing of the operations; what it holds them to:
- a task is completed once, under the token of the live claim behind it, before that claim's deadline;
- a refusal as late is true: that token was not live;
- every task that was added is in exactly one state, and lies in exactly one place where it is found;
- when no more tasks come and agents go on working, every task comes to its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.errors import DibsError, Fenced, Killed, NotFound
from dibs.operations.core.policy import STRATEGIES, WORK, Policy
from dibs.stores.seam import read_event
from dibs.verify.checker import verify_store
from tests.simulation.world import Agent, World

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.operations.core.policy import TaskSettings
    from dibs.stores.seam import LogEvent, Store, Transaction

TTL = 30_000
OPEN = 60  # tasks that may be open before nobody adds any more
KINDS = {"bob": ("coder", ["go"]), "cid": ("coder", []), "dan": ("tester", ["go", "sql"]), "ann": ("", ["sql"])}
DEMANDS: tuple[dict[str, Any], ...] = (
    {}, {}, {}, {}, {"needs": ["go"]}, {"needs": ["sql"]}, {"for": "coder"}, {"for": "tester", "needs": ["go"]},
)  # fmt: skip
INDEX = ("ready\t", "mine\t", "tasks\t")


class Ledger:
    """What was committed, as the events tell it."""

    def __init__(self) -> None:
        self.states: dict[str, str] = {}
        self.claims: dict[str, dict[str, Any]] = {}  # live claims on tasks: task, agent, token, until
        self.completed = self.refused = self.lost = 0

    def hear(self, said: LogEvent) -> None:
        """One more event."""
        kind, subject, data = said["kind"], said["subject"], said["data"]
        if kind == "claim.granted" and data["resources"][0][1].startswith("task:"):
            name = data["resources"][0][1][5:]
            self.claims[subject] = {
                "task": name,
                "agent": said["agent"],
                "token": data["token"],
                "until": data["until"],
            }
        elif kind == "claim.renewed" and subject in self.claims:
            self.claims[subject]["until"] = data["until"]
        elif kind == "claim.moved" and subject in self.claims:
            self.claims[subject].update(agent=data["to"], token=data["token"])
        elif kind == "claim.ended" or (kind == "claim.released" and not data["left"]):
            self.claims.pop(subject, None)
        elif kind == "task.added":
            assert subject not in self.states, f"{subject} was added twice"
            self.states[subject] = data["state"]
        elif kind == "task.moved":
            self.moved(said)

    def moved(self, said: LogEvent) -> None:
        """A task went on."""
        name, data = said["subject"], said["data"]
        assert self.states[name] == data["from"], f"{name} is {self.states[name]}, not {data['from']}"
        assert data["from"] != "complete", f"{name} was finished before"
        self.states[name] = data["to"]
        self.lost += data.get("class") == "lost"
        if data["to"] == "complete":
            self.completed += 1
            assert self.live(name, data["token"], said["now"]), f"{name} was finished under {data['token']}"

    def live(self, task: str, token: int, now: int) -> bool:
        """Does this token finish that task now?"""
        return any(
            claim["task"] == task and claim["token"] == token and claim["until"] > now for claim in self.claims.values()
        )


class Worker(Agent):
    """What one worker remembers."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.has: list[tuple[str, int]] = []  # tasks and tokens, believed and possibly stale


class Work(World):
    """One run."""

    def __init__(self, seed: int, make: Callable[[World], Store] | None = None, *, aborts: float = 0.05) -> None:
        super().__init__(seed, make, aborts=aborts)
        tasks: TaskSettings = {
            **WORK["tasks"], "max_tasks": 2, "max_attempts": 4, "breaker_failures": 4, "breaker_pause": 5_000
        }  # fmt: skip
        self.policy = Policy(ttl=TTL, max_life=600_000, work={**WORK, "tasks": tasks})
        self.agents = {name: Worker(name) for name in self.agents}
        self.ledger = Ledger()
        self.heard_up_to = 0
        self.quiet = False  # the end: nobody adds, crashes or is killed any more
        for agent in self.agents.values():
            type_, can = KINDS.get(agent.name, ("", []))
            self.call(agent, "boot", {"type": type_, "can": can})

    # --- one step

    def step(self) -> None:
        """Time passes and somebody does something. Seldom so long that all deadlines are over."""
        self.now += int(self.dice.expovariate(1 / 250)) if self.dice.random() < 0.995 else self.dice.randrange(60_000)
        if self.dice.random() < 0.002:  # the wall clock jumps; nothing may come of it
            self.wall_offset += self.dice.choice((3_600_000, -3_600_000))
        self.act(self.dice.choice(list(self.agents.values())))

    def act(self, agent: Agent) -> None:
        """One call of one agent, or one misfortune."""
        assert isinstance(agent, Worker)
        if agent.asleep_until > self.now:
            return
        if agent.waiting is not None and self.dice.random() < 0.7:
            self.look(agent)
            return
        actions: tuple[tuple[Callable[[Any], None], int], ...] = (
            (self.add, 24), (self.take, 26), (self.finish, 24), (self.fail, 5), (self.give, 2), (self.split, 2),
            (self.report, 3), (self.note, 1), (self.cancel, 1), (self.move, 6), (self.claim_one, 3), (self.retry, 5),
            (self.boot, 3), (self.crash, 2), (self.pause, 1), (self.kill, 1), (self.leave, 1), (self.hand, 1),
            (self.sweep, 2), (self.seal, 1), (self.assign, 3), (self.bid, 3),
        )  # fmt: skip
        chosen = self.dice.choices([a for a, _ in actions], [w for _, w in actions])[0]
        self.done[chosen.__name__] = self.done.get(chosen.__name__, 0) + 1
        chosen(agent)

    def call(self, agent: Agent, name: str, fields: dict[str, Any], request: str = "") -> Any:
        """Run one operation and let the ledger hear what came of it."""
        answer = super().call(agent, name, fields, request)
        self.hear()
        if request:
            agent.last = (request, name, fields, answer)
        return answer

    def hear(self) -> None:
        """What was committed since, by whomever."""
        while page := self.store.events(self.heard_up_to):
            for event in page:
                self.ledger.hear(read_event(event))
            self.heard_up_to = page[-1].seq

    def ask(self, agent: Agent, name: str, fields: dict[str, Any]) -> Any:  # type: ignore[override]
        """The same, sometimes with a request id."""
        return self.call(agent, name, fields, self.new_id() if self.dice.random() < 0.3 else "")

    def some(self, agent: Worker) -> tuple[str, int] | None:
        """A task that the agent believes to have."""
        return self.dice.choice(agent.has) if agent.has else None

    def any(self) -> str | None:
        """A task that is there, rarely one that is finished."""
        states = self.ledger.states
        names = [name for name, state in states.items() if state != "complete"] or list(states)
        return self.dice.choice(names) if names else None

    # --- what agents do

    def add(self, agent: Worker) -> None:
        """A task, perhaps behind others, perhaps a child, perhaps in a race."""
        alive = [name for name, state in self.ledger.states.items() if state != "complete"]
        if len(alive) > OPEN:
            return
        fields: dict[str, Any] = {"title": "work", **self.dice.choice(DEMANDS), "priority": self.dice.randrange(-1, 2)}
        if alive and self.dice.random() < 0.2:
            fields["after"] = self.dice.sample(alive, min(len(alive), self.dice.randrange(1, 4)))
        if alive and self.dice.random() < 0.08:
            fields["parent"] = self.dice.choice(alive)
        if self.dice.random() < 0.08:
            fields["race"] = f"race-{self.now // 20_000}"
        if self.dice.random() < 0.1:
            fields["key"] = f"key-{self.dice.randrange(500)}"
        if self.dice.random() < 0.1:
            fields["strategy"] = self.dice.choice(STRATEGIES)
        if self.dice.random() < 0.05:
            fields["state"] = self.dice.choice(("discovery", "scoped"))
        self.ask(agent, "task add", fields)

    def take(self, agent: Worker) -> None:
        """The best one, sometimes ready to wait for it."""
        if agent.waiting is None and self.dice.random() < 0.2:
            agent.waiting = {"deadline": self.now + self.dice.randrange(1_000, 20_000), "waiter": ""}
            self.look(agent)
            return
        self.took(agent, self.ask(agent, "task next", {}))

    def look(self, agent: Worker) -> None:
        """Whether there is something by now; at the deadline for the last time."""
        waiting = agent.waiting
        assert waiting is not None
        left = max(0, waiting["deadline"] - self.now)
        answer = self.call(agent, "task next", {"wait": left, "waiter": waiting["waiter"], "wake": agent.name})
        if isinstance(answer, dict) and "waiting" in answer:
            assert left > 0, "nothing waits past its deadline"
            waiting["waiter"] = answer["waiting"]
            return
        agent.waiting = None
        self.took(agent, answer)

    def claim_one(self, agent: Worker) -> None:
        """A certain one."""
        name = self.any()
        if name is not None:
            self.took(agent, self.ask(agent, "task claim", {"id": name}))

    def took(self, agent: Worker, answer: Any) -> None:
        """It is given a task, or not."""
        if isinstance(answer, dict) and "token" in answer:
            agent.has.append((answer["task"]["id"], answer["token"]))
            agent.has = agent.has[-6:]

    def ended(self, agent: Worker, had: tuple[str, int], answer: Any) -> bool:
        """Was it done? A refusal as late must be true."""
        if isinstance(answer, Fenced):
            self.ledger.refused += 1
            if "task" in answer.fields:  # else the whole process is no longer the agent's current one
                mine = [c for c in self.ledger.claims.values() if c["token"] == had[1] and c["task"] == had[0]]
                assert not any(c["until"] > self.now and c["agent"] == agent.name for c in mine), (
                    f"{agent.name} was refused for {had} although it is live: {mine}"
                )
        if had in agent.has and not isinstance(answer, Killed) and self.dice.random() < 0.8:
            agent.has.remove(had)  # sometimes it forgets, and comes again
        return not isinstance(answer, DibsError)

    def finish(self, agent: Worker) -> None:
        """With a result, perhaps going on with the next."""
        had = self.some(agent)
        if had is None:
            return
        fields = {"id": had[0], "token": had[1], "result": {"by": agent.name}, "next": self.dice.random() < 0.4}
        answer = self.ask(agent, "task done", fields)
        if self.ended(agent, had, answer) and answer.get("next"):
            self.took(agent, answer["next"])

    def fail(self, agent: Worker) -> None:
        """It did not work."""
        had = self.some(agent)
        if had is not None:
            kind = self.dice.choices(("transient", "permanent"), (5, 1))[0]
            fields = {"id": had[0], "token": had[1], "class": kind, "why": "bad luck"}
            self.ended(agent, had, self.ask(agent, "task fail", fields))

    def give(self, agent: Worker) -> None:
        """Back to the queue."""
        had = self.some(agent)
        if had is not None:
            self.ended(agent, had, self.ask(agent, "task release", {"id": had[0], "token": had[1], "note": "later"}))

    def split(self, agent: Worker) -> None:
        """Into parts, one behind the other."""
        had = self.some(agent)
        if had is not None and len([s for s in self.ledger.states.values() if s != "complete"]) < OPEN:
            first = f"{had[0][:40]}-{self.new_id()}"
            children = [{"title": "one", "id": first}, {"title": "two", "after": [first]}]
            fields = {"id": had[0], "token": had[1], "children": children}
            self.ended(agent, had, self.ask(agent, "task split", fields))

    def report(self, agent: Worker) -> None:
        """How far it is."""
        had = self.some(agent)
        if had is not None:
            fields = {"id": had[0], "token": had[1], "percent": self.dice.randrange(101)}
            self.ended(agent, had, self.ask(agent, "task progress", fields))

    def assign(self, agent: Worker) -> None:
        """To whom a strategy says, or to a certain one."""
        name = self.any()
        if name is not None:
            chosen = {"to": self.dice.choice(list(self.agents))} if self.dice.random() < 0.4 else {}
            if self.dice.random() < 0.5:
                chosen["strategy"] = self.dice.choice(STRATEGIES)
            self.ask(agent, "task assign", {"id": name, **chosen})

    def bid(self, agent: Worker) -> None:
        """For something that is auctioned, if anything is."""

        def look(tx: Transaction) -> list[str]:
            return [task["task"] for _, _, task in tx.scan(1, "tasks\tauction\t", 20).rows]

        names = self.store.look(look)
        if names:
            self.ask(agent, "task bid", {"id": self.dice.choice(names), "amount": self.dice.randrange(5)})

    def note(self, agent: Worker) -> None:
        """Where it stands."""
        name = self.any()
        if name is not None:
            self.ask(agent, "task note", {"id": name, "text": "here"})

    def cancel(self, agent: Worker) -> None:
        """Somebody changed their mind."""
        name = self.any()
        if name is not None:
            self.ask(agent, "task cancel", {"id": name})

    def move(self, agent: Worker) -> None:
        """By hand; most often what did not work is tried again."""
        stuck = [n for n, state in self.ledger.states.items() if state not in {"planned", "executing", "complete"}]
        name = self.dice.choice(stuck) if stuck and self.dice.random() < 0.8 else self.any()
        if name is not None:
            to = self.dice.choices(("planned", "scoped", "discovery", "complete"), (8, 3, 1, 1))[0]
            self.ask(agent, "task move", {"id": name, "state": to})

    def retry(self, agent: Agent) -> None:
        """The answer was lost: the same request id again gets the same answer and no second effect."""
        if agent.last is None:
            return
        request, name, fields, before = agent.last
        states = dict(self.ledger.states)
        head = self.store.head().seq
        answer = self.call(agent, name, fields, request)
        agent.last = (request, name, fields, before)
        undecided = isinstance(before, DibsError) and before.code in {"invalid", "conflict", "forbidden", "killed"}
        raised = isinstance(before, NotFound) and "ready" not in before.fields
        fenced = isinstance(before, Fenced) and "task" not in before.fields
        if undecided or raised or fenced:  # it was refused before it was looked at: this is the first time
            agent.last = None
            return
        if isinstance(answer, Killed) or (isinstance(answer, Fenced) and "task" not in answer.fields):
            return
        if isinstance(before, DibsError):
            assert isinstance(answer, DibsError), f"{answer} after {before!r}"
            assert (answer.code, answer.fields) == (before.code, before.fields)
        else:
            assert answer == before, f"{answer} is not {before}"
        mine = [e for e in map(read_event, self.store.events(head)) if e["kind"].startswith("task.")]
        if not self.aborts:  # else somebody else may have acted meanwhile
            assert not mine, f"a retry had an effect: {mine}"
            assert states == self.ledger.states

    # --- misfortunes

    def boot(self, agent: Agent) -> None:
        """Start, or start again in the same or another process; what it was told is what it has."""
        assert isinstance(agent, Worker)
        if agent.process is None or self.dice.random() < 0.4:
            agent.process = self.new_process()
        answer = self.call(agent, "boot", {})
        if not isinstance(answer, DibsError):
            stale = agent.has[-1:] if self.dice.random() < 0.3 else []  # somebody does not listen
            agent.has = [(held["task"], held["token"]) for held in answer["held"] if held["task"]] + stale

    def crash(self, agent: Agent) -> None:
        """SIGKILL; another process may remember what it had."""
        assert isinstance(agent, Worker)
        kept = agent.has if self.dice.random() < 0.3 else []
        super().crash(agent)
        agent.has = kept

    def kill(self, agent: Agent) -> None:
        """The kill switch, for somebody else; or its end."""
        killed = [a for a in self.agents.values() if a.killed and a is not agent]
        target = self.dice.choice(killed or [a for a in self.agents.values() if a is not agent])
        name = "revive" if target.killed else "kill"
        answer = self.call(agent, name, {"agent": target.name, **({} if target.killed else {"why": "test"})})
        if not isinstance(answer, DibsError):
            target.killed = name == "kill"

    def leave(self, agent: Agent) -> None:
        """Say good-bye, and perhaps not mean it."""
        self.call(agent, "leave", {})

    def hand(self, agent: Agent) -> None:
        """Hand everything over to somebody."""
        target = self.dice.choice([a for a in self.agents.values() if a is not agent])
        assert isinstance(target, Worker)
        answer = self.call(agent, "release", {"all": True, "to": target.name})
        if not isinstance(answer, DibsError):
            target.has += [(claim["resources"][0][5:], claim["token"]) for claim in answer["claims"]]

    # --- what must be true

    def placed(self, *, all_of_them: bool = False) -> None:
        """Every task is in the state that the events say, found in one place, and at work only with a claim."""

        def look(tx: Transaction) -> tuple[list[Any], list[Any], list[Any]]:
            rows = [row for prefix in INDEX for row in _all(tx, prefix)]
            claims = tx.fetch([("ntask:", "ntask;")], 100_000).rows
            due = _all(tx, "later\t", 2)
            return rows, [record for _, record in claims], due

        rows, claims, due = self.store.look(look)
        found: dict[str, str] = {}
        held = {record["claim"]: record for record in claims if "claim" in record}
        for entry, key, task in rows:
            name = task["task"]
            assert key == f"t\t{name}"
            assert name not in found, f"{name} lies in two places"
            state = found[name] = task.get("state", "planned")
            assert entry.startswith(f"tasks\t{state}\t") or state == "planned", (entry, state)
            if state == "executing":
                claim = held.pop(task["claim"], None)
                assert claim is not None, f"{name} is at work and nobody has it"
                assert claim["agent"] == task["agent"]
            if all_of_them or state != "complete":
                assert self.ledger.states[name] == state, f"{name} is {state}, the log says {self.ledger.states[name]}"
        assert len(found) == len(self.ledger.states), "a task was lost"
        assert not held, f"claims on tasks that nobody works on: {held}"
        for _, _, task in due:
            waits = task.get("not_before", 0) or task.get("assigned") or task.get("window")
            assert waits or task.get("strategy") == "preemptive", task
        self.waited_for()

    def waited_for(self) -> None:
        """What each task waits for is what is not complete of it; a parent counts its open children."""

        def look(tx: Transaction) -> tuple[list[Any], list[Any], list[Any]]:
            ranges = [("t\t", "t\n"), ("ta\t", "ta\n"), ("tc\t", "tc\n")]
            return tuple(tx.fetch([one], 1_000_000).rows for one in ranges)  # type: ignore[return-value]

        tasks, after, children = self.store.look(look)
        states = self.ledger.states
        names = {key[3:]: kept["after"] for key, kept in after}
        kids: dict[str, int] = {}
        for key, _ in children:
            _, parent, child = key.split("\t")
            kids[parent] = kids.get(parent, 0) + (states[child] not in {"complete", "cancelled"})
        for key, task in tasks:
            name = key[2:]
            if states[name] != "complete":
                waits = len([one for one in names.get(name, ()) if states[one] != "complete"])
                assert task.get("open", 0) == waits, f"{name} waits for {task.get('open', 0)}, there are {waits}"
                assert task.get("kids", 0) == kids.get(name, 0), f"{name}: {task.get('kids', 0)} open children"

    def work_off(self) -> int:
        """No more tasks come, nobody is killed any more: whoever is there works until all is done. Gives the rounds."""
        self.inside = True
        boss = Worker("boss")
        rounds = 0
        for agent in self.agents.values():
            if agent.killed:
                self.call(boss, "revive", {"agent": agent.name})
                agent.killed = False
        workers = [Worker(f"{name}-late") for name in KINDS] + [Worker("plain")]
        for worker in workers:
            worker.process = self.new_process()
            type_, can = KINDS.get(worker.name[:3], ("", []))
            self.call(worker, "boot", {"type": type_, "can": can})
        while any(state != "complete" for state in self.ledger.states.values()):
            rounds += 1
            assert rounds < 20_000, f"never ends: {self.left()[:5]}"
            self.now += 500
            if rounds % 20 == 0:
                self.call(boss, "sweep", {})
                self.replan(boss)
            for worker in workers:
                self.took(worker, self.call(worker, "task next", {}))
                for name, token in worker.has:
                    self.call(worker, "task done", {"id": name, "token": token})
                worker.has = []
        return rounds

    def replan(self, boss: Worker) -> None:
        """What did not work is tried again by hand, one state at a time."""
        for name, state in list(self.ledger.states.items()):
            step = {"failed": "planned", "quarantined": "planned", "cancelled": "planned", "discovery": "scoped",
                    "scoped": "planned"}.get(state)  # fmt: skip
            if step:
                self.call(boss, "task move", {"id": name, "state": step})

    def left(self) -> list[tuple[str, str]]:
        """The tasks that are not complete."""
        return [(name, state) for name, state in self.ledger.states.items() if state != "complete"]

    def check(self) -> None:
        """Everything comes to its end, once, and the log is clean."""
        self.hear()
        self.placed(all_of_them=True)
        self.work_off()
        self.placed(all_of_them=True)
        assert self.ledger.completed == len(self.ledger.states)
        report = verify_store(self.store)
        assert report.ok, report.findings[:5]


def _all(tx: Transaction, prefix: str, index: int = 1) -> list[Any]:
    rows: list[Any] = []
    after = ""
    while True:
        page = tx.scan(index, prefix, 512, after)
        rows += page.rows
        if not page.truncated:
            return rows
        after = page.rows[-1][0]
