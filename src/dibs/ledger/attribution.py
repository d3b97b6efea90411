"""Attribution of a change: computed from the calls, the time of the change and the content; never from who found it.

The change happened between the last look at its path and the file's ctime. An agent is a suspect if it had a call in
that time that names the path, or that may write unnamed paths. A true writer that keeps to its calls is always among
them, so `sure` is right about agents; `likely` and `unknown` say that there are other suspects.

A call counts firmly from its beginning to its end, or for some minutes if its end was not reported (declined, aborted,
killed). It counts weakly after that, until the agent's next prompt, stop or boot closes it; and weakly for some seconds
after its end, for a formatter or a program that it left running. An undo leaves nothing running: it counts to its end.
The calls of an agent whose process is gone ended with it.

A client may run a formatter of its own around the end of an edit. What has the same words as the edit's content is that
formatter's, whoever else is at work: the edit's agent did it, and knows it.
"""

from __future__ import annotations

from dibs.ledger.state import (
    AFTER_OPEN_NS,
    FORMATTER_NS,
    INODE_LAG_NS,
    LIKELY,
    MERGES,
    MISSING,
    NOBODY,
    OUTSIDE,
    SECOND_NS,
    SURE,
    UNDO,
    WHOLE,
)
from dibs.operations.core.call import within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dibs.ledger.state import Head, State, ToolCall

FIRM_EDIT_NS, FIRM_COMMAND_NS = 120 * SECOND_NS, 600 * SECOND_NS  # how long a call without an end counts firmly
AFTER_NAMED_NS = FORMATTER_NS  # after the end of a call that names the path
AFTER_EDIT_NS = 60 * SECOND_NS  # the same, if it left the words as they were: clients give a hook a minute
WORD_SHARE = 20  # a formatter drops at most one of this many different words (an unused import), and brings none
AFTER_LEFT_NS = 8 * 3600 * SECOND_NS  # for a program that was left running
CLOCK_JUMP_S = 2  # the wall clock was set by more than this, so ctime means nothing
BLIND = "?"  # an agent's knowledge of a path that it changed without reading it


class Verdict:
    """Who changed a path, how certain that is, and the other suspects."""

    __slots__ = ("actor", "grade", "how", "own", "suspects")

    def __init__(
        self, actor: str, grade: str, suspects: Iterable[str] = (), how: str = "", *, own: bool = False
    ) -> None:
        self.actor, self.grade = actor, grade
        self.suspects = sorted(set(suspects))
        self.how = how  # how the call that named the path writes it; "" if none did
        self.own = own  # it alone ran, on its own work; the calls of the other suspects had ended


class _Suspect:
    """One agent that may have done it."""

    __slots__ = ("after", "agent", "announced", "could", "how", "is_exact", "late", "running")

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.running = False  # and at the time of the last write
        self.how = ""  # a call that ran at that time names the path: how it writes it
        self.is_exact = False  # a call names the path and announced this content
        self.announced: list[str] = []  # other contents that calls announced which ran at that time and name the path
        self.after = True  # only the seconds after the end of a call make it a suspect
        self.late = False  # a program that a call of it left, or a formatter after its edit of the path, may still run
        self.could = False  # it had a call, or such seconds, when the content was written


def judge(  # noqa: PLR0913 - each is one fact of the change
    state: State,
    path: str,
    after: str,
    changed: int,
    now: int,
    offset: int,
    *,
    known: Head | None = None,
    git: bool = False,
    written: int = 0,
    signature: str = "",
    tidies: Callable[[str], bool] = lambda _: False,
) -> Verdict:
    """Attribute a change: `changed` is the file's ctime, `known` the ledger's last content of the path.

    `git`: the new content is what a commit has, which no formatter makes. `written` is the file's mtime: if no suspect
    could write at that time, none of them made this content. `signature` is the file's own: a file that appears may
    have been elsewhere before. `tidies` says whether the new content is a formatter's version of another one.
    """
    head = known if known is not None else state.heads.get(path)
    since = state.last_look(head, now) if head is not None else state.full
    set_back = head is not None and (abs(head.offset - offset) > CLOCK_JUMP_S or changed < since - INODE_LAG_NS)
    if changed > now or set_back:
        changed = now  # a clock was set, or a write is in progress: it may have happened at any time up to now
        written = 0
    suspects = _suspects(state, path, after, since, changed, now, min(written, changed))
    movers = _moved(state, path, signature) if head is None or head.content == MISSING else []
    if movers and not any(one.how for one in suspects):
        return Verdict(movers[0], LIKELY, movers) if len(movers) == 1 else Verdict(NOBODY, NOBODY, movers)
    editor = "" if git or head is None else _editor(state, path, head, changed)
    others = [one for one in suspects if one.is_exact or (one.how and one.agent != editor)]
    if editor and not others and head is not None and tidies(head.content):
        return Verdict(editor, LIKELY, [editor, *[one.agent for one in suspects]], MERGES)
    if not any(one.could for one in suspects):
        return Verdict(OUTSIDE, OUTSIDE)
    verdict = _first_fit(state, suspects, head, tidies, git=git)
    if verdict.grade == SURE and head is None and not verdict.how:
        verdict.grade = LIKELY  # a rewrite of the same bytes changes the ctime as well
    return verdict


def _moved(state: State, path: str, signature: str) -> list[str]:
    """Whose unfinished work this file was at another path. A file that moves with its folder keeps its times."""
    if len(signature) < 2:  # noqa: PLR2004 - a missing file's
        return []
    for change in reversed(state.changes):
        if change.signature == signature and change.path != path:
            head = state.heads[change.path]
            last = head.change if head.content == MISSING else None
            return head.owners if last is None else last.was_owned
    return []


def _editor(state: State, path: str, head: Head, changed: int) -> str:
    """The agent whose edit, that runs or has just ended, left what was there, uncommitted; "" if there is none."""
    for call in reversed(state.calls.values()):
        if call.how(path)[0] and head.authors.get(head.content) == call.agent in head.owners:
            done = min(call.closed + AFTER_EDIT_NS if call.closed else changed, call.ended or changed)
            return call.agent if call.opened <= changed <= done else ""
    return ""


def same_words(before: bytes, after: bytes) -> bool:
    """Does a content have the words of another one, and hardly fewer? Blanks and signs are a formatter's to set.

    A number stands there at most as often as before: to count up is an edit, though the new number stands elsewhere.
    """
    blanks = bytes([one if one > 127 or chr(one).isalnum() else 32 for one in range(256)])  # noqa: PLR2004 - ASCII
    words = [text.translate(blanks).lower().split() for text in (before, after)]
    was, now = map(set, words)
    if not now <= was or len(was - now) * WORD_SHARE > len(was):
        return False
    left: dict[bytes, int] = {}
    for share, text_words in zip((1, -1), words, strict=True):
        for word in text_words:
            if word[-1:].isdigit():
                left[word] = left.get(word, 0) + share
    return min(left.values(), default=0) >= 0


def _first_fit(
    state: State, suspects: list[_Suspect], head: Head | None, tidies: Callable[[str], bool], *, git: bool
) -> Verdict:
    """The first rule that fits: the announced content, a name, the only suspect, the only one that ran at the write."""
    names = [one.agent for one in suspects]
    nobody = Verdict(NOBODY, NOBODY, names)
    exact = [one for one in suspects if one.is_exact]
    if len(exact) == 1:
        return Verdict(exact[0].agent, SURE, names, exact[0].how)
    named = [one for one in suspects if one.how]
    running = [one for one in suspects if one.running]
    owners = head.owners if head is not None else []
    if len(running) == 1 and running[0].agent in owners:  # its own work, and the others' calls had ended
        suspects = [one for one in suspects if one.running or one.late or not one.after]
    alone = len(suspects) == 1
    certain = SURE if alone and len(names) == 1 else LIKELY  # a program may go on for a moment after its call
    if len(named) > 1:
        return nobody
    if named and named[0].announced and not alone and not any(tidies(one) for one in named[0].announced):
        return nobody
    if named:
        return Verdict(named[0].agent, certain, names, named[0].how)
    if alone and running:
        return Verdict(running[0].agent, certain, names, own=certain == LIKELY)
    format_ = [one.agent for one in suspects if one.after and one.agent in owners]
    there = head is not None and head.content != MISSING  # a formatter makes no file
    if format_ and there and not git and (alone or format_[0] in state.formats):
        return Verdict(format_[0], LIKELY, names)  # a formatter that its client runs after its edits
    if len(running) != 1:
        return nobody
    if running[0].agent not in owners:
        names = [one.agent for one in suspects if not one.after]
    return Verdict(running[0].agent, LIKELY, names)


def _suspects(state: State, path: str, after: str, since: int, changed: int, now: int, written: int) -> list[_Suspect]:
    """The agents with a call in the interval that could write the path, without the ancestors of other suspects."""
    suspects: dict[str, _Suspect] = {}
    for call in state.calls.values():
        how, expected = call.how(path)
        if not call.is_open and not how:
            continue
        first, firm, weak = _times(call, now, named=bool(how))
        if first > changed or weak < since - INODE_LAG_NS:
            continue
        suspect = suspects.setdefault(call.agent, _Suspect(call.agent))
        is_firm = firm > since  # a call's own last look comes after its end
        running = first <= changed <= firm
        suspect.running = suspect.running or running
        suspect.after = suspect.after and not is_firm
        suspect.late = suspect.late or call.left or bool(how)
        suspect.could = suspect.could or written <= weak
        if not how.islower():
            continue
        missed = 0 < call.closed < since  # a look after its end did not find what it announced: it failed
        if expected and expected == after and not missed:
            suspect.how, suspect.is_exact, suspect.could = how, True, True
        elif running:
            suspect.how = suspect.how or how
            suspect.announced += [expected] if expected else []
    agents = list(suspects)
    return [
        suspect
        for agent, suspect in suspects.items()
        if suspect.how or not any(other != agent and within(other, agent) for other in agents)
    ]


def _times(call: ToolCall, now: int, *, named: bool) -> tuple[int, int, int]:
    """When a call starts to count, until when firmly, and until when weakly."""
    first = call.opened - INODE_LAG_NS
    if call.closed:
        after = AFTER_LEFT_NS if call.left else AFTER_NAMED_NS if named else AFTER_OPEN_NS
        if call.id.startswith(UNDO):
            after = 0  # `dibs undo` writes what it announced and leaves nothing running
        if call.ended and not call.left and (named or call.ended == call.closed):
            # Its formatter ran before the agent went on, and the hook that says so has looked; or it died then.
            after = min(after, max(0, call.ended - 2 * INODE_LAG_NS - call.closed))
        return first, call.closed, call.closed + after
    if call.ended:  # it may never have run
        return first, first - 1, call.ended
    return first, call.opened + (FIRM_COMMAND_NS if call.is_open or call.diary >= 0 else FIRM_EDIT_NS), now


def knowledge(how: str, *, sure: bool, before_known: bool, after_seen: bool, foreign: bool = False) -> bool:
    """Does the actor of a change know the new content? A change never updates another agent's knowledge.

    It does if it brought the whole content, if it knew what it changed, or if it certainly brought back a content that
    it has seen (a stash, a checkout). A `foreign` content is git's or another agent's (a pull, a checkout): the actor
    knows it only if it has seen it. Otherwise it is blind from then on, until it reads the file.
    """
    if foreign:
        return after_seen and (sure or bool(how))
    if how == WHOLE:
        return True
    if how == MERGES or sure:
        return before_known or after_seen
    return False
