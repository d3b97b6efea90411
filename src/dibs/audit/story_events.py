"""Which events belong to the story of one thing: a path, a task, an agent, a claim.

Events go in one after the other, in their order, from the beginning of the log: what a claim or a wait was about is
known only from its grant (fold.py). explain.py asks; sentences.py has the words.
"""

from __future__ import annotations

from dibs.audit.fold import BEGINS, Fold, is_over, is_task
from dibs.operations.claims import resources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.fold import ClaimSpan
    from dibs.audit.sentences import Known
    from dibs.stores.seam import Json, LogEvent

PATH, NAME, TASK, AGENT, CLAIM, EVENT, ALERT, CHANGE, RUN, STATE, UNDO, CHANNEL = (
    "path", "name", "task", "agent", "claim", "event", "alert", "change", "run", "state", "undo", "channel",
)  # fmt: skip
QUIET = frozenset({"claim.renewed", "interest.left", "interest.ended", "message.posted", "commit.checked"})
ABOUT_AGENTS = ("agent.", "handover.", "message.", "rules.")  # the subject of such an event is an agent


class Subject:
    """What a story is about."""

    __slots__ = ("commits", "id", "kind", "known", "others", "resources", "word")

    def __init__(self, kind: str, word: str, identifier: str, held: list[list[str]] | None = None) -> None:
        self.kind, self.word, self.id = kind, word, identifier
        self.resources = held or []  # of a path or a name; a path's earlier names, too
        self.commits: dict[str, int] = {}  # that the log names, and when: git has whole seconds
        self.known = False  # the log has something about this path
        self.others: list[str] = []  # what else the word could mean, as one would have to write it


class Step:
    """One sentence of a story, before it is one."""

    __slots__ = ("event", "known", "sentence", "wall")

    def __init__(self, wall: int, event: LogEvent | None, known: Known | None = None, sentence: str = "") -> None:
        self.wall, self.event, self.known, self.sentence = wall, event, known, sentence


class StoryReader:
    """Reads the log in its order and keeps what belongs to a subject."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._fold = Fold()
        self._mine: set[str] = set()  # claims and waits that belong to the story
        self._takes = getattr(self, f"_{subject.kind}")

    def read(self, event: LogEvent) -> Step | None:
        """The event as a step, if it belongs to the story."""
        kind, known = event["kind"], None
        if kind in BEGINS:
            self._fold.read(event)
            wanted = self._takes(event)
        else:
            wanted = self._takes(event)
            known = self._known(event) if wanted else None
            self._fold.read(event)
        if self._mine and is_over(event):
            self._mine.discard(event["subject"])
        if not wanted or kind == "claim.renewed":
            return None
        if self._subject.kind != CLAIM and (
            (kind in {"claim.granted", "claim.released"} and all(map(is_task, event["data"]["resources"])))
            or (kind in QUIET and self._subject.kind != EVENT)
        ):
            return None  # the task's own event says the same; or nothing happened that anybody asks for
        return Step(event["wall"], event, known)

    def _known(self, event: LogEvent) -> Known | None:
        """What the event's subject was until now: what it was about, and since when."""
        if event["kind"] == "task.moved":
            attempt = self._fold.attempts.get(event["subject"])
            return None if attempt is None else {"now": attempt.start, "resources": []}
        span = self._open(event["subject"])
        return None if span is None else {"now": span.start, "resources": span.held}

    def _open(self, identifier: str) -> ClaimSpan | None:
        """The claim, wait or interest of this id, if it is not over."""
        fold = self._fold
        return fold.claims.get(identifier) or fold.waits.get(identifier) or fold.interests.get(identifier)

    # One method a kind of subject: does this event belong to its story?

    def _path(self, event: LogEvent) -> bool:
        kind, subject, data = event["kind"], event["subject"], event["data"]
        wanted = self._subject.resources
        if subject in self._mine:
            return True
        found = data.get("resources")
        if isinstance(found, list) and kind.partition(".")[0] in {"claim", "wait", "interest", "alert"}:
            if self._meets(found):
                if kind in BEGINS:
                    self._mine.add(subject)
                return True
            return any(isinstance(one, str) and self._names(one) for one in found)
        if kind.startswith("edit.") or kind == "call.refused":
            return self._names(subject)
        if kind.startswith(("deploy.", "landing.")):
            about = f"deploy:{subject}" if kind.startswith("deploy.") else f"land:{data.get('target', subject)}"
            return ["name", about] in wanted
        if kind == "claim.asked":
            return self._names(data["resource"])
        if kind in {"commit.refused", "commit.unverified"} or kind.startswith("undo."):
            return any(self._names(path) for path in data.get("paths") or () if isinstance(path, str))
        return False

    _name = _path

    def _meets(self, held: list[Json]) -> bool:
        plain = [one[:2] for one in held if isinstance(one, list) and one[0] != "inode"]
        return resources.any_overlap(plain, self._subject.resources) is not None

    def _names(self, text: str) -> bool:
        """Is this text a path of the story, or one below it?"""
        return any(
            text == one[1] if one[0] == "name" else resources.overlap(["file", text], one)
            for one in self._subject.resources
        )

    def _claim(self, event: LogEvent) -> bool:
        """Its own events; and who was refused, waited or changed its files while it lived."""
        kind, subject, data = event["kind"], event["subject"], event["data"]
        if subject == self._subject.id:
            self._subject.resources = _without_aliases(self._open(subject)) or self._subject.resources
            return True
        if data.get("claim") == self._subject.id or subject in self._mine:
            return True
        mine = self._open(self._subject.id)
        if mine is None or kind in {"claim.granted", "claim.released", "interest.left"}:
            return False
        if kind.startswith(("claim.", "wait.", "edit.", "commit.")):
            self._subject.resources = _without_aliases(mine)
            return self._path(event)
        return False

    def _task(self, event: LogEvent) -> bool:
        kind, subject, data = event["kind"], event["subject"], event["data"]
        task = self._subject.id
        if kind.startswith("task.") and subject == task:
            return True
        if kind in {"claim.granted", "claim.released"}:
            return bool(data.get("task") == task)  # its own claim begins and ends with the task's moves
        if kind in {"claim.refused", "call.refused", "claim.asked"}:
            return f"task:{task}" in {subject, data.get("resource")}
        if kind == "claim.ended":
            span = self._open(subject)
            return span is not None and ["name", f"task:{task}"] in span.held
        if kind in {"handover.made", "handover.offered"}:
            return task in data["tasks"]
        return bool(kind.startswith("alert.")) and task in {data.get("about"), subject}

    def _agent(self, event: LogEvent) -> bool:
        agent, data = self._subject.id, event["data"]
        if agent in {event["agent"], data.get("to"), data.get("by"), data.get("holder")}:
            return True
        if agent in (data.get("of") or ()):
            return True
        if agent == event["subject"] and (_is(event, ABOUT_AGENTS) or event["kind"] == "claim.asked"):
            return True
        blockers = data.get("blockers")
        return isinstance(blockers, list) and any(
            isinstance(one, dict) and one.get("agent") == agent for one in blockers
        )

    def _alert(self, event: LogEvent) -> bool:
        return _is(event, "alert.") and event["subject"] == self._subject.id

    def _change(self, event: LogEvent) -> bool:
        return _is(event, "edit.") and self._subject.id in {event["data"].get("id"), event["data"].get("undo")}

    def _undo(self, event: LogEvent) -> bool:
        return _is(event, "undo.") and event["subject"] == self._subject.id

    def _run(self, event: LogEvent) -> bool:
        in_run = event["kind"] == "task.added" and event["data"].get("run") == self._subject.id
        return in_run or (_is(event, "run.") and event["subject"] == self._subject.id)

    def _state(self, event: LogEvent) -> bool:
        key = self._subject.id
        about: dict[str, str] = {"state.set": key, "call.refused": f"state:{key}"}
        return bool(event["subject"] == about.get(event["kind"]))

    def _channel(self, event: LogEvent) -> bool:
        """Emitted events of one kind, and who subscribes to it."""
        what, about = self._subject.id, event["subject"]
        return _is(event, "event.") and (about == what or (about.endswith("*") and what.startswith(about[:-1])))

    def _event(self, event: LogEvent) -> bool:
        return str(event["seq"]) == self._subject.id


def _is(event: LogEvent, family: str | tuple[str, ...]) -> bool:
    kind: str = event["kind"]
    return kind.startswith(family)


def _without_aliases(span: ClaimSpan | None) -> list[list[str]]:
    """What a claim is on."""
    return [list(one[:2]) for one in (span.held if span else ()) if one[0] != "inode"]
