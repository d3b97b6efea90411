"""What `dibs undo` is asked for: the claim, task, agent or earlier undo that a word means, as times and agents.

Read from the log, once, from its beginning, archives included. operations/guards/undo.py says which changes belong to
it.
"""

from __future__ import annotations

from dibs.audit import log_walk
from dibs.audit.fold import UNKNOWN, Fold, Listener
from dibs.client.log_reader import LogReader
from dibs.errors import NotFound
from dibs.operations.core.call import within
from dibs.operations.guards.undo import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.audit.fold import ClaimSpan, Resource, TaskSpan
    from dibs.client.session import Session
    from dibs.operations.core.call import Call
    from dibs.stores.seam import LogEvent

MS = 1_000_000  # ns
FOREVER = 1 << 62
CLAIM, UNDO, TASK, AGENT = "claim", "undo", "task", "agent"
FILE = "file"  # what it was at a time (time_machine.py)
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
        self.is_whole = False  # whoever made them: all changes of the paths since then
        self.reverts = True  # commits, too

    @property
    def agents(self) -> list[str]:
        """The agents whose work it is."""
        return list(dict.fromkeys(span.agent for span in self.spans))

    def title(self) -> str:
        """For people."""
        return f"{self.kind} {self.id}"


class _Work:
    """A claim to write, or an undo: who had it when, and what was committed of it."""

    __slots__ = ("commits", "spans", "tree")

    def __init__(self, tree: str, first: Span) -> None:
        self.tree, self.spans = tree, [first]
        self.commits: set[str] = set()


class _Wanted:
    """The kinds of events that say something about claims, tasks, undos, commits and who is an agent."""

    def __contains__(self, kind: object) -> bool:
        return str(kind).partition(".")[0] in {"claim", "task", "undo", "commit", "agent"}


class Log(Listener):
    """What the log says of claims, undos, tasks and commits."""

    def __init__(self, session: Session, call: Call) -> None:
        self.claims: dict[str, _Work] = {}
        self.undos: dict[str, _Work] = {}
        self.done: dict[str, list[Span]] = {}  # what was undone → by whom, when
        self.tasks: dict[str, list[Span]] = {}
        self.agents: set[str] = set()
        self.commits: list[tuple[str, int, str]] = []  # agent, time, commit
        fold = Fold(self)
        for event in log_walk.events(session, _Wanted(), session.store.head().seq, 0, LogReader(session, call)):
            self.agents.add(event["agent"])
            if event["data"].get("commit") and event["kind"].startswith("claim."):
                self._committed(event)
            fold.read(event)

    def _committed(self, event: LogEvent) -> None:
        commit = event["data"]["commit"]
        self.commits.append((event["agent"], event["wall"] * MS, commit))
        if event["subject"] in self.claims:
            self.claims[event["subject"]].commits.add(commit)

    def claim_began(self, span: ClaimSpan) -> None:
        """An agent may write."""
        if span.mode == "write":
            self.claims[span.id] = _Work(span.tree, _open(span, span.resources))

    def claim_passed(self, span: ClaimSpan) -> None:
        """Another agent may, instead."""
        if span.id in self.claims:
            self.claims[span.id].spans.append(_open(span, span.resources))

    def claim_ended(self, span: ClaimSpan) -> None:
        """The agent may no longer."""
        if span.id in self.claims:
            self.claims[span.id].spans[-1].end = span.end_wall * MS

    def attempt_began(self, span: TaskSpan) -> None:
        """An agent works on a task."""
        self.tasks.setdefault(span.id, []).append(_open(span))

    attempt_passed = attempt_began

    def attempt_ended(self, span: TaskSpan) -> None:
        """It does no longer."""
        if span.start != UNKNOWN:
            self.tasks[span.id][-1].end = span.end_wall * MS

    def noted(self, event: LogEvent) -> None:
        """A task that nobody took is known, too; undos; commits past the guard."""
        kind, subject, data, when = event["kind"], event["subject"], event["data"], event["wall"] * MS
        if kind == "task.moved":
            self.tasks.setdefault(subject, [])
        elif kind == "undo.started":
            self.undos[subject] = _Work(data["tree"], Span(event["agent"], when, FOREVER))
        elif kind == "undo.finished" and subject in self.undos:
            undo = self.undos[subject]
            undo.spans[-1].end = when
            self.done.setdefault(data["what"], []).append(Span(event["agent"], undo.spans[0].start, when))
            if data.get("commit"):
                undo.commits.add(data["commit"])
                if data["claim"] in self.claims:
                    self.claims[data["claim"]].commits.add(data["commit"])
        elif kind == "commit.unverified":
            self.commits.append((event["agent"], when, subject))

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
            work = (self.claims if kind == CLAIM else self.undos)[word]
            found.spans, found.commits, found.trees = work.spans, work.commits, {work.tree}
        found.since, found.undone = since, self.done.get(found.title(), [])
        # What an undo changed is in the ledger under its name. So nothing is its work only because its caller held the
        # file then: a change right before the claim would be.
        held = self.claims.values() if kind != UNDO else ()
        found.holds = [span for claim in held for span in claim.spans]
        if kind in {AGENT, TASK}:
            for by, when, commit in self.commits:
                if when >= since and any(
                    within(by, span.agent) and span.start <= when <= span.end for span in found.spans
                ):
                    found.commits.add(commit)
        return found


def _open(span: ClaimSpan | TaskSpan, held: Sequence[Resource] | None = None) -> Span:
    return Span(span.agent, span.start_wall * MS, FOREVER, held)


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
        if kinds == (AGENT,):
            session.run(FOUND, call, {"word": word, "known": True})  # refuses, with the name that may be meant
        one = "claim, undo, task or agent" if len(kinds) > 1 else prefix
        raise NotFound(
            f"there is no {one} {word} in the log; `dibs explain PATH` names the claims of a file", what=word
        )
    return log.scope(found[0], word, agent, since), [f"{kind}:{word}" for kind in found[1:]]
