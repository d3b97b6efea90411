"""A tiny independent model of who may hold what, over a handful of concrete files. It shares no code with dibs.

A resource is expanded to the concrete files it matches by trying all of them; a holder is (agent, mode, deadline,
token).
"""

from __future__ import annotations

import re
from functools import cache

FILES = (
    "src/a.py", "src/b.py", "src/c.txt", "src/sub/a.py", "src/sub/d.py", "src/sub/deep/a.py", "lib/a.py", "lib/x.txt",
    "README.md", "db:migrations", "deploy:prod",
)  # fmt: skip

# What the agents of the simulation ask for; kind, canonical text.
RESOURCES = (
    ("file", "src/a.py"), ("file", "src/b.py"), ("file", "src/sub/a.py"), ("file", "lib/a.py"), ("file", "README.md"),
    ("tree", "src"), ("tree", "src/sub"), ("tree", "lib"), ("glob", "src/*.py"), ("glob", "src/**/a.py"),
    ("glob", "**/*.txt"), ("glob", "lib/?.py"), ("glob", "src/sub/**/[ad].py"), ("name", "db:migrations"),
    ("name", "deploy:prod"),
)  # fmt: skip


@cache
def files_of(resource: tuple[str, str]) -> frozenset[str]:
    """The concrete files that a resource matches."""
    kind, text = resource
    if kind in {"file", "name"}:
        return frozenset({text})
    if kind == "tree":
        return frozenset(f for f in FILES if f.startswith(text + "/"))
    pattern = re.escape(text).replace(r"\*\*/", "(?:[^/]+/)*").replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
    pattern = re.sub(r"\\\[(.*?)\\\]", r"[\1]", pattern)
    return frozenset(f for f in FILES if ":" not in f and re.fullmatch(pattern, f))


@cache
def spelt(text: str) -> tuple[str, str]:
    """The resource that a text in an answer stands for."""
    return next(resource for resource in RESOURCES if resource[1] == text)


@cache
def _files_of_all(texts: frozenset[str]) -> frozenset[str]:
    return frozenset().union(*[files_of(spelt(text)) for text in texts])


def unrelated(one: str, other: str) -> bool:
    """Is neither the other's ancestor, nor the same?"""
    return one != other and not one.startswith(other + "/") and not other.startswith(one + "/")


class Hold:
    """One claim as its holder was told of it."""

    def __init__(self, agent: str, texts: list[str], mode: str, until: int, token: int, *, tied: bool) -> None:
        self.agent, self.texts, self.mode, self.until, self.token = agent, set(texts), mode, until, token
        self.tied = tied  # ends with the agent's process

    @property
    def files(self) -> frozenset[str]:
        """The concrete files that it covers."""
        return _files_of_all(frozenset(self.texts))


class Model:
    """Every claim that was answered, by its id."""

    def __init__(self) -> None:
        self.holds: dict[str, Hold] = {}
        self.unclaimed: set[str] = set()  # hand-overs that nobody has picked up yet
        self.gone: dict[tuple[str, int], int] = {}  # id and token of what ended with its process → when
        self.seen: set[tuple[str, int]] = set()
        self.highest: dict[str, dict[str, int]] = {}  # file → agent → highest token of a write claim so far

    def granted(self, identifier: str, hold: Hold, now: int) -> None:
        """A grant was answered: nobody else may hold a live claim in its way."""
        for other in self.holds.values():
            if other.until <= now or not unrelated(hold.agent, other.agent):
                continue
            clash = hold.files & other.files
            writes = "write" in {hold.mode, other.mode} and "watch" not in {hold.mode, other.mode}
            assert not (clash and writes), f"two holders of {sorted(clash)}: {vars(hold)} and {vars(other)}"
        if self.gone.get((identifier, hold.token)) == now:  # its process died while its parent renewed it
            return
        known = self.holds.get(identifier)
        if known is not None and known.token == hold.token:
            self.renewed(identifier, hold.until, now)
        hold.tied = hold.tied or (known is not None and known.tied)
        if (identifier, hold.token) not in self.seen and hold.mode == "write":
            self.seen.add((identifier, hold.token))
            for file in hold.files:
                tokens = self.highest.setdefault(file, {})
                for agent, token in tokens.items():  # relatives may hold it together, and learn of it in any order
                    fell = unrelated(agent, hold.agent) and token >= hold.token
                    assert not fell, f"{hold.agent} got {file} under {hold.token}, and {agent} had {token} before"
                tokens[hold.agent] = max(hold.token, tokens.get(hold.agent, 0))
        self.holds[identifier] = hold

    def renewed(self, identifier: str, until: int, now: int) -> None:
        """A claim has another deadline: never an earlier one, whatever was claimed inside it.

        A hand-over begins when it is picked up. A boot may have shown it before, with the deadline of its place.
        """
        known = self.holds.get(identifier)
        if known is not None:
            begins = identifier in self.unclaimed or known.until <= now
            assert begins or until >= known.until, f"{vars(known)} was shortened to {until} at {now}"
            known.until = until
        self.unclaimed.discard(identifier)

    def drop(self, identifiers: list[str]) -> None:
        """These claims are over."""
        for identifier in identifiers:
            self.holds.pop(identifier, None)

    def died(self, agent: str, now: int) -> None:
        """The agent's process is gone, and what was tied to it."""
        ended = [i for i, h in self.holds.items() if h.agent == agent and h.tied]
        self.gone.update({(i, self.holds[i].token): now for i in ended})
        self.drop(ended)

    def drop_agent(self, agent: str, *, family: bool) -> None:
        """All claims of an agent are over, and with `family` its descendants'."""
        self.drop(
            [i for i, h in self.holds.items() if h.agent == agent or (family and h.agent.startswith(agent + "/"))]
        )

    def give_back(self, identifier: str, texts: set[str]) -> None:
        """Some resources of a claim were given back; without any it is over."""
        self.holds[identifier].texts -= texts
        if not self.holds[identifier].texts:
            del self.holds[identifier]
