"""What `dibs undo` is asked for: the claim, task, agent or earlier undo that a word means, as times and agents.

Read from the log, once, from its beginning, archives included. operations/guards/undo.py says which changes belong to
it.
"""

from __future__ import annotations

from dibs.errors import NotFound
from dibs.operations.core.call import within
from dibs.operations.guards.undo import Span
from dibs.reports import log_walk
from dibs.session.log_reader import LogReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.core.call import Call
    from dibs.session.session import Session

MS = 1_000_000  # ns
FOREVER = 1 << 62
CLAIM, UNDO, TASK, AGENT = "claim", "undo", "task", "agent"
KINDS = (CLAIM, UNDO, TASK, AGENT)  # in this order, if a word can mean several


class Scope:
    """Whose changes, when and where."""

    def __init__(self, kind: str, word: str) -> None:
        self.kind, self.id = kind, word
        self.spans: list[Span] = []  # what these agents changed then is meant
        self.holds: list[Span] = []  # all claims: an agent that runs no hooks is known by its own
        self.commits: set[str] = set()  # commits that the log says are its work
        self.since = 0  # nothing from before this time
        self.trees: set[str] = set()  # working trees of its claims; "" for all
        self.undone: list[Span] = []  # undos of it that were finished before

    @property
    def agents(self) -> list[str]:
        """The agents whose work it is."""
        return list(dict.fromkeys(span.agent for span in self.spans))

    def title(self) -> str:
        """For people."""
        return f"{self.kind} {self.id}"


class _Claim:
    __slots__ = ("agents", "commits", "end", "held", "start", "tree")

    def __init__(self, agent: str, held: list[list[str]], tree: str, start: int) -> None:
        self.agents, self.held, self.tree, self.start = [(agent, start)], held, tree, start
        self.end = FOREVER
        self.commits: set[str] = set()

    def spans(self, *, held: bool = True) -> list[Span]:
        ends = [*[start for _, start in self.agents[1:]], self.end]
        return [
            Span(agent, start, end, self.held if held else None)
            for (agent, start), end in zip(self.agents, ends, strict=True)
        ]


class _Wanted:
    """The kinds of events that say something about claims, tasks, undos, commits and who is an agent."""

    def __contains__(self, kind: object) -> bool:
        return str(kind).partition(".")[0] in {"claim", "task", "undo", "commit", "agent"}


class Log:
    """What the log says of claims, undos, tasks and commits."""

    def __init__(self, session: Session, call: Call) -> None:
        self.claims: dict[str, _Claim] = {}
        self.undos: dict[str, _Claim] = {}
        self.done: dict[str, list[Span]] = {}  # what was undone → by whom, when
        self.tasks: dict[str, list[Span]] = {}
        self.agents: set[str] = set()
        self.commits: list[tuple[str, int, str]] = []  # agent, time, commit
        for event in log_walk.events(session, _Wanted(), session.store.head().seq, 0, LogReader(session, call)):
            self._read(event, event["wall"] * MS)

    def _read(self, event: dict[str, Any], when: int) -> None:
        kind, subject, data, agent = event["kind"], event["subject"], event["data"], event["agent"]
        self.agents.add(agent)
        claim = self.claims.get(subject)
        if kind == "claim.granted" and data["mode"] == "write":
            self.claims[subject] = _Claim(agent, data["resources"], data["tree"], when)
        elif kind == "task.moved":
            self._moved(subject, agent, data["to"], when)
        elif kind == "task.passed":
            self._moved(subject, agent, "executing", when)
        elif kind == "undo.started":
            self.undos[subject] = _Claim(agent, [], data["tree"], when)
        elif kind == "undo.finished" and subject in self.undos:
            self.undos[subject].end = when
            self.done.setdefault(data["what"], []).append(Span(agent, self.undos[subject].start, when))
            if data.get("commit"):
                self.undos[subject].commits.add(data["commit"])
                if data["claim"] in self.claims:
                    self.claims[data["claim"]].commits.add(data["commit"])
        elif kind == "commit.unverified":
            self.commits.append((agent, when, subject))
        elif claim is not None:
            self._of_claim(claim, kind, data, when)
        if data.get("commit") and kind.startswith("claim."):
            self.commits.append((agent, when, data["commit"]))

    def _of_claim(self, claim: _Claim, kind: str, data: dict[str, Any], when: int) -> None:
        if kind == "claim.moved" and data["to"] != claim.agents[-1][0]:
            claim.agents.append((data["to"], when))
        elif kind == "claim.ended" or (kind == "claim.released" and not data["left"]):
            claim.end = when
        if data.get("commit"):
            claim.commits.add(data["commit"])

    def _moved(self, task: str, agent: str, to: str, when: int) -> None:
        spans = self.tasks.setdefault(task, [])
        if spans and spans[-1].end == FOREVER:
            spans[-1].end = when
        if to == "executing":
            spans.append(Span(agent, when, FOREVER))

    def has(self, kind: str, word: str, agent: str) -> bool:
        """Does the log know this?"""
        if kind == AGENT:
            return any(within(one, agent) for one in self.agents)
        return word in {CLAIM: set(self.claims), UNDO: set(self.undos), TASK: set(self.tasks)}[kind]

    def scope(self, kind: str, word: str, agent: str, since: int) -> Scope:
        """What is meant by it, since that time."""
        found = Scope(kind, word)
        if kind == AGENT:
            found.spans = [Span(agent, since, FOREVER)]
        elif kind == TASK:
            found.spans = self.tasks[word]
        else:
            claim = (self.claims if kind == CLAIM else self.undos)[word]
            found.spans, found.commits, found.trees = claim.spans(held=kind == CLAIM), claim.commits, {claim.tree}
        found.since, found.undone = since, self.done.get(found.title(), [])
        # What an undo changed is in the ledger under its name. So nothing is its work only because its caller held the
        # file then: a change right before the claim would be.
        held = self.claims.values() if kind != UNDO else ()
        found.holds = [span for claim in held for span in claim.spans()]
        if kind in {AGENT, TASK}:
            for by, when, commit in self.commits:
                if when >= since and any(
                    within(by, span.agent) and span.start <= when <= span.end for span in found.spans
                ):
                    found.commits.add(commit)
        return found


def find(session: Session, call: Call, word: str, since: int) -> tuple[Scope, list[str]]:
    """What the word means, and how to write what else it could mean. `since` is a time in ns, or 0."""
    from dibs.operations.agents.lookups import FOUND

    prefix, colon, rest = word.partition(":")
    kinds: tuple[str, ...] = KINDS
    if colon and prefix in KINDS and rest:
        kinds, word = (prefix,), rest
    log = Log(session, call)
    agent = session.run(FOUND, call, {"word": word})["id"]
    found = [kind for kind in kinds if log.has(kind, word, agent)]
    if not found:
        one = "claim, undo, task or agent" if len(kinds) > 1 else prefix
        raise NotFound(
            f"there is no {one} {word} in the log; `dibs explain PATH` names the claims of a file", what=word
        )
    return log.scope(found[0], word, agent, since), [f"{kind}:{word}" for kind in found[1:]]
