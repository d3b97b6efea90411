"""A few agents on the memory engine and a clock that only moves when told: for tests of single decisions."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, cast

from dibs.canonical import Canonical
from dibs.client import catalogue
from dibs.errors import DibsError
from dibs.ledger.state import SURE
from dibs.operations.core.call import Call, Continue, JobsLeft, NeedsFacts, RunCommand, process_name, to_json
from dibs.operations.core.entry import perform
from dibs.operations.core.long_jobs import CONTINUE
from dibs.operations.core.policy import GUARDS, Policy
from dibs.operations.guards.audits import AUDIT
from dibs.operations.guards.edit_guard import EDIT, OLDER, target
from dibs.operations.upkeep.log_retention import PLAN
from dibs.stores.seam import read_event
from dibs.testing.memory import MemoryStore
from dibs.verify.checker import verify_store
from tests import declared
from tests.canonical import canonical

if TYPE_CHECKING:
    from dibs.operations.core.declare import Operation
    from dibs.operations.core.policy import GuardSettings
    from dibs.operations.guards.edit_guard import Knowledge
    from dibs.stores.seam import LogEvent, Transaction

WALL = 1_700_000_000_000
TREE, OTHER_TREE = "/repo", "/repo-linked"  # two working trees of one repository


def resource(text: str) -> Canonical:
    """`a.py` is a file, `src/` a tree, `*` makes a glob, a colon a name."""
    if ":" in text:
        return Canonical(("name", text))
    if any(letter in text for letter in "*?["):
        return Canonical(("glob", text))
    return Canonical(("tree", text.rstrip("/")) if text.endswith("/") or text == "" else ("file", text))


_changes = itertools.count(1)


def change(
    actor: str, name: str = "x.py", *, was: str = "old", now: str = "new", grade: str = SURE, owners: Any = (),
    suspects: Any = (), named: bool = False, id: str = "", tree: str = TREE, heard: Any = (), drops: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """A change as a hook finds it in the ledger; each has an id of its own."""
    return {
        "id": id or f"{next(_changes):012x}", "resource": resource(name), "tree": tree, "was": was, "now": now,
        "actor": actor, "grade": grade, "suspects": list(suspects) or ([actor] if grade == SURE else []),
        "owners": list(owners), "named": named, "heard": list(heard), "drops": drops,
    }  # fmt: skip


def guards(**settings: Any) -> GuardSettings:
    """What a config says to the guards: the defaults, and what is set here."""
    return cast("GuardSettings", {**GUARDS, **settings})


def item(
    name: str, *, ignored: bool = False, blob: str = "b0", changed: str | None = None, alias: str = "",
    inside: Any = (), facts: Knowledge | None = None,
) -> Any:  # fmt: skip
    """A file as the door of the edit guard brings it; `changed` is who changed it since the agent last saw it."""
    if changed is not None:
        facts = known(OLDER, changed)
    return target(Canonical((*resource(name), alias)), ignored=ignored, content=blob, facts=facts, inside=inside)


def known(
    how: str, author: str = "", *, owners: Any = (), merges: bool = False, since: bool = False, disputed: bool = False
) -> Knowledge:
    """What the ledger says of a file: what the agent knows of it, who made what is there, whose unfinished work."""
    return {
        "merges": merges, "known": how, "author": author, "owners": list(owners), "since": since, "disputed": disputed,
    }  # fmt: skip


class Fleet:
    """The store, the clock, and which processes are alive."""

    def __init__(self, **policy: Any) -> None:
        self.now = 1_000_000
        ids = itertools.count(1)
        self.store = MemoryStore(now=lambda: self.now, wall=lambda: self.now + WALL, new_id=lambda: f"{next(ids):012x}")
        self.policy = Policy(**policy)
        self.dead: set[str] = set()
        self.needs = 0
        self.carries_on = True  # as a door does; without, whoever called died after the first transaction
        self.rules = ""  # digest of the workspace's rules, as a door would bring it

    def process(self, pid: int) -> list[Any]:
        """A process of this machine."""
        return ["host", "boot", "ns", pid, 1]

    def kill9(self, pid: int) -> None:
        """That process is gone."""
        self.dead.add(process_name(self.process(pid)))

    def call(self, agent: str, name: str, /, *, client: int | None = None, request: str = "", **fields: Any) -> Any:
        """Run one operation as `agent`; a refusal is raised."""
        for key in ("resources", "resource"):
            if key in fields and fields[key] and isinstance(fields[key][0], str):
                text = fields[key]
                fields[key] = resource(text) if isinstance(text, str) else [resource(one) for one in text]
        return self.internal(agent, catalogue.operation(name), process=client, request=request, **fields)

    def crowd(self, count: int) -> None:
        """Very many agents that were seen lately and are idle, whose ids come before all others."""
        self.call("seen", "boot")
        record = self.record("a\tseen")
        names = [f"-{number:05d}" for number in range(count)]

        def put(tx: Transaction) -> None:
            for name in names:
                tx.put(f"a\t{name}", {**record, "agent": name, "name": name, "works": False})

        self.store.run(put)

    def internal(
        self, agent: str, operation: Operation, /, *, process: int | None = None, request: str = "", **fields: Any
    ) -> Any:
        """Run an operation that is in no catalogue, as a guard's door does; a refusal is raised."""
        fields = canonical(operation, fields)
        client = self.process(process) if process is not None else None
        above = [] if client is None else [client]  # as a client stands above its hooks
        call = Call(self.policy, agent=agent, client=client, ancestors=above, request=request, fallback="me@here")
        call.rules = self.rules
        verb = self.store.run if operation.writes else self.store.look
        while True:
            try:
                answer = verb(lambda tx: perform(tx, call, operation, fields))
                if isinstance(answer, Continue | RunCommand):
                    continue
                break
            except NeedsFacts as need:
                self.needs += 1
                for name in map(process_name, need.processes):
                    call.facts[name] = name not in self.dead
        if isinstance(answer, DibsError):
            raise declared.hold_refusal(answer)
        if self.carries_on and isinstance(answer, JobsLeft):
            for job in answer.jobs:
                while (step := self.internal(agent, CONTINUE, process=process, job=job))["more"]:
                    pass
                answer.answer.update(step["answer"])
            answer = answer.answer
        answer = to_json(answer)
        declared.hold(operation, answer, decided=True)
        return answer

    def prune(self, agent: str, **fields: Any) -> Any:
        """Prune once, with the facts of an archive as the machine that writes it has them."""
        plan = self.internal(agent, PLAN, **fields)
        first, last = plan["before"]["seq"] + 1, plan["through"]
        archive = {
            "file": f"{first}-{last}", "first": first, "last": last, "link": plan["link"], "sha256": "0" * 64,
            "size": 1, "host": "host",
        }  # fmt: skip
        return self.call(agent, "prune", **fields, archive=archive)

    def claim(self, agent: str, /, *names: str, **fields: Any) -> Any:
        """Claim by name."""
        return self.call(agent, "claim", resources=list(names), **fields)

    def release(self, agent: str, /, *names: str, **fields: Any) -> Any:
        """Release by name, or all."""
        return self.call(agent, "release", **({"resources": list(names)} if names else {"all": True}), **fields)

    def edit(self, agent: str, /, *files: Any, tree: str = TREE, **fields: Any) -> Any:
        """Ask the edit guard, by name or by item."""
        targets = [item(file) if isinstance(file, str) else file for file in files]
        return self.internal(agent, EDIT, targets=targets, tree=tree, **fields)

    def overwrite(self, finder: str, /, *changes: dict[str, Any], tool: str = "Bash") -> list[dict[str, Any]]:
        """Somebody's hook after a call finds these changes; what came of them."""
        answer: list[dict[str, Any]] = self.internal(finder, AUDIT, found=list(changes), tool=tool)["violations"]
        return answer

    def record(self, key: str) -> Any:
        """One record of the store, or None."""
        return self.store.look(lambda tx: tx.get(key))

    def told(self, agent: str) -> list[tuple[str, str]]:
        """What is in an agent's inbox: kind and text."""
        return [(message["type"], message["text"]) for message in self.call(agent, "inbox")["messages"]]

    def holders(self) -> list[tuple[str, str]]:
        """Who holds what."""
        shown = self.call("viewer", "status")
        return sorted((claim["agent"], text) for claim in shown["claims"] for text in claim["resources"])

    def events(self, kind: str = "") -> list[LogEvent]:
        """The log."""
        return [e for e in map(read_event, self.store.events(0, 1_000_000)) if e["kind"].startswith(kind)]

    def clean(self) -> None:
        """The log holds nothing that cannot have happened."""
        report = verify_store(self.store)
        assert report.ok, report.findings
