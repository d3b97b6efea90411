"""The simulation with pools: a fleet that claims units, files and names, waits for them, dies and is killed.

What is held is read from the records after each step, by rules of its own: a unit has one agent, a pool no more holders
than units, and a request got all that it asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.errors import DibsError, Held
from dibs.operations.core.policy import Policy
from tests.simulation.world import Agent, World

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.operations.pools.shapes import Pool
    from dibs.stores.seam import Store

POOLS = {"build": 2, "gpu": 4, "api": 0}
THINGS = (["name", "pool:build"], ["name", "pool:gpu"], ["name", "pool:gpu:1"], ["name", "pool:build:0"],
          ["name", "pool:api"], ["name", "db:x"], ["file", "a.py"])  # fmt: skip


def pool(**said: Any) -> Pool:
    """A pool as the config has it."""
    return {"wait": 1, "on_timeout": "refuse", "scope": "workspace", **said}  # type: ignore[typeddict-item]


class Unasked:
    """In the place of the model of files and names: the records are looked at instead."""

    def __init__(self) -> None:
        self.holds: dict[str, Any] = {}
        self.unclaimed: set[str] = set()

    def ignore(self, *_: Any, **__: Any) -> None:
        """Whatever it is told."""

    granted = renewed = died = drop_agent = give_back = ignore


class PoolWorld(World):
    """One run."""

    def __init__(self, seed: int, make: Callable[[World], Store] | None = None, **settings: Any) -> None:
        super().__init__(seed, make, **settings)
        named = {
            "build": pool(size=2),
            "gpu": pool(units=["0", "1", "2", "3"]),
            "api": pool(rate={"count": 60, "per": 60_000, "burst": 3}),
        }
        self.policy = Policy(ttl=60_000, max_life=600_000, pools={"named": named, "use": []})
        self.model: Any = Unasked()
        self.got = {"granted": 0, "waited": 0, "refused": 0}

    def wish(self) -> dict[str, Any]:
        """A random request."""
        count = self.dice.choices((1, 2), (5, 1))[0]
        fields: dict[str, Any] = {"resources": [list(one) for one in self.dice.sample(THINGS, count)]}
        if self.dice.random() < 0.3 and any(one[1] in {"pool:gpu", "pool:api"} for one in fields["resources"]):
            fields["units"] = self.dice.choice((2, 3))
        if self.dice.random() < 0.4:
            fields["by"] = "shell"
        if self.dice.random() < 0.3:
            fields["ttl"] = self.dice.choice((500, 5_000, 30_000))
        return fields

    def heard(self, agent: Agent, fields: dict[str, Any], answer: Any) -> None:
        """All or none: an answer has as many units as were asked for, and everything else."""
        if isinstance(answer, Held):
            self.got["refused"] += 1
            assert answer.blockers or answer.reasons  # there is always a why
        if isinstance(answer, DibsError):
            return
        self.got["waited" if answer.get("renewed") is False else "granted"] += 1
        for _, text in fields["resources"]:
            name = text.removeprefix("pool:")
            if text.startswith("pool:") and name in POOLS and POOLS[name]:
                have = [one for one in answer["resources"] if one.startswith(f"{text}:")]
                assert len(have) >= fields.get("units", 1), answer
            else:
                assert text in answer["resources"]
        agent.tokens.append((answer["token"], self.dice.choice(fields["resources"])))
        agent.tokens = agent.tokens[-12:]

    def learn(self, agent: Agent, answer: dict[str, Any], by: Agent | None = None) -> None:
        """The records are looked at instead."""

    def spelt(self, text: str) -> tuple[str, str]:
        """The resource that a text in an answer stands for."""
        return ("file", text) if text == "a.py" else ("name", text)

    def release(self, agent: Agent) -> None:
        """Give back one thing by its token, which may be stale, or everything."""
        if agent.tokens and self.dice.random() < 0.8:
            token, resource = self.dice.choice(agent.tokens)
            self.call(agent, "release", {"resources": [list(resource)], "token": token})
        else:
            self.call(agent, "release", {"all": True})

    def confirm(self, agent: Agent) -> None:
        """Is a token that one remembers still live?"""
        if agent.tokens:
            token, resource = self.dice.choice(agent.tokens)
            self.call(agent, "confirm", {"resource": list(resource), "token": token})

    def hand(self, agent: Agent) -> None:
        """Hand something over to somebody."""
        if agent.tokens:
            target = self.dice.choice([one for one in self.agents.values() if one is not agent])
            _, resource = self.dice.choice(agent.tokens)
            self.call(agent, "release", {"resources": [list(resource)], "to": target.name})

    def ask(self, agent: Agent) -> None:
        """Ask the holders of something."""
        self.call(agent, "ask", {"resource": list(self.dice.choice(THINGS)), "text": "please"})

    def held(self) -> dict[str, set[str]]:
        """The agents of each unit that is held now."""
        claims = self.store.look(lambda tx: [row[2] for row in tx.scan(1, "claims\t", 10_000).rows])
        found: dict[str, set[str]] = {}
        for claim in claims:
            for _, text in claim["resources"]:
                if claim["until"] > self.now and text.startswith("pool:"):
                    found.setdefault(text, set()).add(claim["agent"])
        return found

    def check_units(self) -> None:
        """A unit has one agent, and a pool no more holders than units."""
        held = self.held()
        assert all(len(agents) == 1 for agents in held.values()), held
        for name, size in POOLS.items():
            assert len([unit for unit in held if unit.startswith(f"pool:{name}:")]) <= size, held
