"""`explain`: the story of one path, name, task, agent, claim, alert, change or event, in plain sentences, newest last.

The log is read once, from its beginning: what a claim was about is known only from its grant. A path's story includes
the claims on folders and globs that cover it, its earlier names (by git's history), and the commits that the log does
not know. Nothing is decided or changed here; sentences.py has the words.
"""

from __future__ import annotations

from collections import deque

from dibs.audit import sentences
from dibs.audit.events import MAX_DIGITS, since_of
from dibs.audit.expected_archives import passed_over
from dibs.audit.story_events import (
    AGENT,
    ALERT,
    CHANGE,
    CHANNEL,
    CLAIM,
    EVENT,
    NAME,
    PATH,
    RUN,
    STATE,
    TASK,
    UNDO,
    Step,
    StoryReader,
    Subject,
)
from dibs.client import quotes
from dibs.client.log_reader import LogReader
from dibs.errors import Invalid, NotFound, counted, quoted
from dibs.machine import clock, relative_times
from dibs.operations.claims import resources
from dibs.operations.core.declare import Field
from dibs.operations.core.query import Query
from dibs.stores.seam import Unsettled, read_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.audit.answers import ExplainAnswer, StepView
    from dibs.audit.requests import ExplainRequest
    from dibs.client.session import Session
    from dibs.operations.core.call import Call
    from dibs.stores.seam import LogEvent, Store

    Log = Store | LogReader

PAGE_EVENTS = 1_000  # read at a time
LISTED = 100  # steps in one answer, unless it is asked for another number
MAX_LISTED = 1_000
IDS_PER_TRIP = 200
ORDER = (EVENT, CLAIM, CHANGE, ALERT, UNDO, TASK, AGENT, RUN, STATE)  # of the meanings of a word; a path is the last
PREFIXES = frozenset((*ORDER, PATH))
NO_CLAIM = frozenset({"claim.refused", "claim.asked"})  # their subject is a resource or an agent
# What the subject of an event is, by the beginning of its kind.
FAMILIES = {"claim": CLAIM, "task": TASK, "alert": ALERT, "run": RUN, "state": STATE, "undo": UNDO}


# --- what the word means


def _subject(session: Session, call: Call, log: Log, word: str) -> Subject:
    """What a word means; an event before an id, an id before a task, a task before an agent, an agent before a path."""
    if not word.strip():
        raise Invalid("what: a path, a name, a task, an agent, a claim, an event's number", field="what")
    prefix, colon, rest = word.partition(":")
    if prefix == EVENT and rest and not rest.isdecimal():
        channel = Subject(CHANNEL, word, rest)
        reader = StoryReader(channel)
        if not any(reader.read(event) is not None for event in _events(log)):
            raise NotFound(f"no agent emitted {rest} or subscribes to it", what=word)
        return channel
    if colon and prefix in PREFIXES and rest:
        found = [one for one in _meanings(session, call, log, rest) if one.kind == prefix]
        if not found:
            raise NotFound(f"there is no {prefix} {rest}", what=word)
        return found[0]
    if word.startswith("#") and word[1:].isdecimal():
        return _subject(session, call, log, f"{EVENT}:{word[1:]}")
    found = _meanings(session, call, log, word)
    others = [one for one in found if one.kind != PATH]
    if others and not any(_exists(session, one) for one in found if one.kind == PATH):
        found = others
    if not found or (found[0].kind == PATH and not found[0].known and not _ever_existed(session, found[0])):
        text = f"nothing is known of {word}: it is no path, name, task, agent, claim or event here"
        raise NotFound(f"{text}; `dibs log --text {quoted(word)}` looks for the word in all events", what=word)
    chosen = found[0]
    chosen.others = [_as_written(one) for one in found[1:]]
    return chosen


def _as_written(subject: Subject) -> str:
    """How one has to write it so that nothing else is meant."""
    return subject.word if subject.kind == NAME else f"{subject.kind}:{subject.word}"


def _meanings(session: Session, call: Call, log: Log, word: str) -> list[Subject]:
    """All that a word can mean, by one look at the log."""
    from dibs.operations.agents.lookups import FOUND

    agent = session.run(FOUND, call, {"word": word})["id"]
    path = _path_of(session, word)
    seen = {AGENT} if agent != word else set()
    run = word  # a run is meant by its id, or by the name that it was started with: then the last one of that name
    reader = StoryReader(path) if path is not None else None
    for event in _events(log):
        family, subject, data = event["kind"].partition(".")[0], event["subject"], event["data"]
        if event["agent"] == agent or (family == "agent" and subject == agent):
            seen.add(AGENT)
        if subject == word and family in FAMILIES and event["kind"] not in NO_CLAIM:
            seen.add(FAMILIES[family])
        if event["kind"] == "run.started" and word == data.get("operation"):
            seen.add(RUN)
            run = subject
        if family == "edit" and word in {data.get("id"), data.get("undo")}:
            seen.add(CHANGE)
        if path is not None and reader is not None and reader.read(event) is not None:
            path.known = True
            _note_commits(path, event)
    if word.isdecimal() and len(word) <= MAX_DIGITS and 0 < int(word) <= session.store.head().seq:
        seen.add(EVENT)
    ids = {AGENT: agent, RUN: run}
    found = [Subject(kind, word, ids.get(kind, word)) for kind in ORDER if kind in seen]
    if path is not None:  # a name that an event mentions, such as task:7, is what it says
        found.append(path)
    return found


def _path_of(session: Session, word: str) -> Subject | None:
    try:
        kind, text, *_ = session.paths.resource(word, session.cwd)
    except Invalid:
        return None
    return Subject(NAME if kind == "name" else PATH, word, text, [[kind, text]])


def _exists(session: Session, path: Subject) -> bool:
    import os

    return os.path.lexists(f"{session.place.top}/{path.id}")


def _ever_existed(session: Session, path: Subject) -> bool:
    """Is it there, or does git remember it?"""
    from dibs.git import file_history

    if _exists(session, path):
        return True
    asks = session.place.common and path.resources[0][0] != "glob"
    return bool(asks and file_history.of(session.place.top, path.id))


def _events(log: Log) -> Iterator[LogEvent]:
    """The whole log, in its order."""
    after = 0
    while True:
        page = log.events(after, PAGE_EVENTS)
        for one in page:
            yield read_event(one)
            after = one.seq
        if len(page) < PAGE_EVENTS:
            return


# --- the query


def _explain(session: Session, call: Call, request: ExplainRequest) -> ExplainAnswer:
    whole = LogReader(session, call)
    unread = 0 if request["archives"] else _archived(session, whole)
    log: Log = session.store if unread else whole
    try:
        subject = _subject(session, call, log, request["what"])
    except NotFound as error:
        if not unread:
            raise
        if call.credential is not None:  # a server's thread is not kept by a log of millions, unless that is asked for
            text = f"{error.message}; {counted(unread, 'earlier event')} in archives, which --archives reads"
            raise NotFound(text, what=request["what"]) from None
        log, unread = whole, 0
        subject = _subject(session, call, log, request["what"])
    about, mark = subject, 0
    if subject.kind == EVENT:
        mark = int(subject.id)
        about = _of_event(whole, mark) or subject
        if mark <= unread:  # the story around it is there
            log, unread = whole, 0
    since_seq, since_wall = since_of(request["since"])
    more_steps = _from_git(session, log, about) if about.kind == PATH else []
    page = _Page((since_seq, since_wall), request["limit"] or MAX_LISTED, request["after"], mark)
    _gathered(log, about, more_steps, page)
    steps = list(page.steps)
    teller = sentences.Teller(_names(session, call, steps), _restorable(session, call, steps))
    told = [_shown(teller, step, mark) for step in steps]
    missing = passed_over(session, call, whole, since_seq, session.store.head().seq)["missing"] if log is whole else []
    return {
        "what": {"kind": subject.kind, "id": subject.id, "name": _name(teller, subject)},
        "others": subject.others,
        "steps": told,
        "now": _now(session, call, about),
        "more": page.more,
        "cursor": page.count,
        "earlier": page.earlier,
        "unread": unread,
        "missing": missing,
    }


class _Page:
    """The wanted steps of a story: those after a position, or those around one event, or else the last ones.

    A position counts the steps of the whole story, so a cursor stays true while the story grows.
    """

    def __init__(self, since: tuple[int, int], limit: int, after: int | None, mark: int) -> None:
        self._since, self._limit, self._after, self._mark = since, limit, after, mark
        self.steps: deque[Step] = deque()
        self.count = 0  # the position after the last step
        self.earlier = self.more = False
        self._is_full = after is not None  # what comes beyond the limit is left for the next page

    def take(self, step: Step) -> bool:
        """Add one step, if it is wanted; False when the page is full."""
        seq = step.event["seq"] if step.event is not None else 0
        if step.wall < self._since[1] or (self._since[0] and seq <= self._since[0]):
            return True
        if self._is_full and len(self.steps) == self._limit:
            self.more = True
            return False
        self.count += 1
        if self._after is not None and self.count <= self._after:
            return True
        self.steps.append(step)
        if len(self.steps) > self._limit:
            self._drop(1)
        if self._mark and seq == self._mark and not self._is_full:
            self._drop(max(0, len(self.steps) - (self._limit + 1) // 2))  # room for what came after it
            self._is_full = True
        return True

    def _drop(self, number: int) -> None:
        for _ in range(number):
            self.steps.popleft()
            self.earlier = True


def _gathered(log: Log, subject: Subject, also: list[Step], page: _Page) -> None:
    """Fill the page with the story: the log's events, and the steps that git knows."""
    reader = StoryReader(subject)
    waiting = deque(sorted(also, key=lambda step: step.wall))
    for event in _events(log):
        while waiting and waiting[0].wall <= event["wall"]:
            if not page.take(waiting.popleft()):
                return
        step = reader.read(event)
        if step is not None and not page.take(step):
            return
    while waiting:
        if not page.take(waiting.popleft()):
            return


def _archived(session: Session, whole: LogReader) -> int:
    """How many events are before those of the store, in archives of this machine."""
    first = next((event.seq for event in session.store.events(0, 1)), 1)
    return first - 1 if first > 1 and whole.archives() else 0


def _of_event(log: Log, seq: int) -> Subject | None:
    """What an event is about, so that the story around it can be told."""
    page = log.events(seq - 1, 1)
    if not page or page[0].seq != seq:
        raise NotFound(f"event {seq} was pruned, and no archive on this machine has it", what=str(seq))
    event = read_event(page[0])
    family, subject = event["kind"].partition(".")[0], event["subject"]
    if event["kind"] == "claim.asked":
        return Subject(AGENT, subject, subject)
    if family == "edit" or event["kind"] == "claim.refused":
        held = event["data"].get("resources") or [["file", subject]]
        return Subject(PATH, subject, subject, [list(one[:2]) for one in held if one[0] != "inode"])
    kind = AGENT if family in {"agent", "handover"} else FAMILIES.get(family)
    return Subject(kind, subject, subject) if kind else None


def _names(session: Session, call: Call, steps: list[Step]) -> dict[str, str]:
    """The names of all agents that the steps mention."""
    from dibs.operations.agents.lookups import NAMES

    wanted = sentences.mentioned([step.event for step in steps if step.event is not None])
    try:
        found: dict[str, str] = session.run(NAMES, call, {"agents": wanted})["names"]
    except Unsettled:  # a server that lost commits: the story is told anyway
        found = {}
    return found


def _restorable(session: Session, call: Call, steps: list[Step]) -> list[str]:
    """Those of the kept contents that the steps mention which are still kept."""
    from dibs.operations.guards.restores import RESTORABLE

    said = [step.event["data"].get(name) for step in steps if step.event is not None for name in ("id", "undo")]
    ids = list(dict.fromkeys([one for one in said if isinstance(one, str) and one]))
    found: list[str] = []
    for start in range(0, len(ids), IDS_PER_TRIP):
        kept = session.run(RESTORABLE, call, {"ids": ids[start : start + IDS_PER_TRIP]})["kept"]
        found += [one["id"] for one in kept]
    return found


def _name(teller: sentences.Teller, subject: Subject) -> str:
    if subject.kind == AGENT:
        return teller.who(subject.id)
    return sentences.text_of(subject.resources[0]) if subject.kind == PATH else quotes.clean(subject.id)


def _shown(teller: sentences.Teller, step: Step, mark: int) -> StepView:
    event = step.event
    if event is None:
        return {
            "seq": None,
            "at": clock.iso(step.wall),
            "kind": "git",
            "agent": "",
            "name": "",
            "sentence": step.sentence,
            "data": {},
        }
    view: StepView = {
        "seq": event["seq"], "at": clock.iso(step.wall), "kind": event["kind"], "agent": event["agent"],
        "name": teller.who(event["agent"]) if event["agent"] else "",
        "sentence": teller.tell(event, step.known), "data": event["data"],
    }  # fmt: skip
    if mark == event["seq"]:
        view["asked"] = True
    return view


def _from_git(session: Session, log: Log, subject: Subject) -> list[Step]:
    """A path's earlier names, which become part of the subject, and its commits."""
    from dibs.git import file_history

    place = session.place
    if not place.common or subject.resources[0][0] == "glob":
        return []
    history = file_history.of(place.top, subject.id)
    names = list(dict.fromkeys(one.old for one in history if one.old))
    if names:
        subject.resources += [["file", name] for name in names]
        reader = StoryReader(subject)
        for event in _events(log):  # what the log names under them
            if reader.read(event) is not None:
                _note_commits(subject, event)
    found: list[Step] = []
    for one in reversed(history):  # git has the newest first
        commit, by = one.commit[: sentences.SHORT_COMMIT], quotes.clean(one.agent or one.author)
        if one.old or one.new:
            text = f"{by} renamed {sentences.text_of(one.old or one.path)} to {sentences.text_of(one.new or one.path)}"
            text += (
                f" ({commit}){': `dibs explain ' + quotes.clean(quoted(one.new)) + '` continues' if one.new else ''}."
            )
        elif one.gone:
            before = quotes.clean(quoted(f"{commit}^:{one.path}"))
            text = f"{by} deleted it ({commit}): {sentences.said(one.title)}; `git show {before}` has it."
        elif one.commit in subject.commits:
            continue  # the log says more of it
        else:
            text = f"{by} committed it ({commit}): {sentences.said(one.title)}."
        wall = subject.commits.get(one.commit, one.wall)
        found.append(Step(max(wall, found[-1].wall if found else 0), None, sentence=text))  # never before its parent
    return found


def _note_commits(subject: Subject, event: LogEvent) -> None:
    """The commits that an event of a path names."""
    for commit in (event["data"].get("commit"), event["subject"] if event["kind"].startswith("commit.") else None):
        if isinstance(commit, str):
            subject.commits.setdefault(commit, event["wall"])


def _now(session: Session, call: Call, subject: Subject) -> list[str]:
    """How it stands at this moment."""
    if subject.kind not in {PATH, NAME, AGENT, CLAIM}:
        return []
    status = session.run(session.operation("status"), call, {})
    found = []
    for claim in status["claims"]:
        held = claim["resources"]
        if subject.kind == AGENT and claim["agent"] != subject.id:
            continue
        if subject.kind == CLAIM and claim["claim"] != subject.id:
            continue
        if subject.kind in {PATH, NAME} and not _touches(held, subject):
            continue
        left = f", {relative_times.left(claim['expires_at'])} left" if claim.get("expires_at") else ""
        why = f": {sentences.said(claim['reason'])}" if claim.get("reason") else ""
        things = sentences.some([quotes.clean(one) for one in held])
        who = quotes.clean(claim.get("name") or claim["agent"])
        found.append(f"{who} holds {things} ({claim['mode']}, held {relative_times.ago(claim['since'])}{left}){why}.")
    for one in status["waiting"]:
        mine = one["agent"] == subject.id if subject.kind == AGENT else _touches(one["resources"], subject)
        if mine and subject.kind != CLAIM:
            who = quotes.clean(one.get("name") or one["agent"])
            things = sentences.some([quotes.clean(text) for text in one["resources"]])
            found.append(f"{who} waits for {things}, {relative_times.ago(one['since'])} so far.")
    if not found and subject.kind in {PATH, NAME}:
        found.append("Nobody holds it.")
    return found[:MAX_NOW] + ([f"And {counted(len(found) - MAX_NOW, 'claim')} more."] if len(found) > MAX_NOW else [])


MAX_NOW = 10  # sentences about the present


def _touches(texts: list[str], subject: Subject) -> bool:
    for text in texts:
        for one in subject.resources:
            if one[0] == "name" or ":" in text:
                if text == one[1]:
                    return True
            elif resources.overlap(["glob" if set(text) & set("*?[") else "tree", "" if text == "." else text], one):
                return True
    return False


EXPLAIN = Query(
    "explain",
    _explain,
    "Tell the story of a path, task, agent, claim or event in plain sentences, newest last.",
    fields=(
        Field("what", "text", "a path, a name (deploy:prod), a task, agent, claim, alert, change, or an event's number",
              required=True, positional=True, longest=0, metavar="WHAT"),
        Field("since", "text", "only the last 10m, 2h …, or after this event number", default="", metavar="D|SEQ"),
        Field("limit", "integer", "at most N steps, the last ones", default=LISTED, most=MAX_LISTED, metavar="N"),
        Field("after", "integer", "continue after this position (a `cursor`), oldest first", metavar="CURSOR"),
        Field("archives", "flag", "also the events that were moved to archives", default=False),
    ),
    errors=(NotFound, Invalid),
    answer="ExplainAnswer",
    group="record",
)  # fmt: skip

QUERIES = (EXPLAIN,)
