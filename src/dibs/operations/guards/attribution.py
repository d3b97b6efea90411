"""Whose change is it? Computed from the calls, the time of the change and the content; never from who found it.

The change happened between the last look at its path and the file's ctime. Whoever had a call then that names the path,
or that may write what it does not name, is a suspect. A true writer that keeps to its calls is always among them, so
`sure` is right about agents; `likely` and `unknown` do not hide that there are others.

When a call counts: firmly from its beginning to its end, or for some minutes if nobody told of its end (declined,
aborted, killed); weakly after that, until the agent's next prompt, stop or boot closes it; and weakly for some seconds
after its end, for what a formatter or a program left running does then.
"""

from __future__ import annotations

from dibs.operations.core.call import within
from dibs.operations.guards.ledger import LIKELY, MERGES, NOBODY, OUTSIDE, SECOND_NS, SURE, WHOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.operations.guards.ledger import Call, Head, State

INODE_LAG_NS = SECOND_NS // 100  # by so much the time of an inode may be behind the clock
FIRM_EDIT_NS, FIRM_COMMAND_NS = 120 * SECOND_NS, 600 * SECOND_NS  # how long a call without an end certainly counts
AFTER_NAMED_NS, AFTER_OPEN_NS = (
    10 * SECOND_NS,
    2 * SECOND_NS,
)  # after its end: a client's formatter, a program that lags behind
AFTER_LEFT_NS = 8 * 3600 * SECOND_NS  # a program that was left running
CLOCK_JUMP_S = 2  # seconds: the wall clock was set by more than this, so ctime tells nothing
BLIND = "?"  # what an agent knows of a path that it changed without having seen it


class Verdict:
    """Who changed a path, how certain that is, and who else might have."""

    __slots__ = ("actor", "grade", "how", "suspects")

    def __init__(self, actor: str, grade: str, suspects: Iterable[str] = (), how: str = "") -> None:
        self.actor, self.grade = actor, grade
        self.suspects = sorted(set(suspects))
        self.how = how  # how the call that named the path writes it; "" if none did


class _Suspect:
    """One agent that may have done it."""

    __slots__ = ("after", "agent", "how", "met", "running", "unmet")

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.running = False  # and at the time of the last write
        self.how = ""  # a call that ran at that time names the path: how it writes it
        self.met = False  # a call names it, and this is the content that it was to have
        self.unmet = False  # a call that ran at that time names it, and this is another content
        self.after = True  # nothing but the seconds after the end of a call speaks against it


def judge(
    state: State,
    path: str,
    after: str,
    changed: int,
    now: int,
    offset: int,
    *,
    known: Head | None = None,
    git: bool = False,
) -> Verdict:
    """Whose change it is: `changed` is the file's ctime, `known` what the ledger knew of the path.

    `git`: the new content is what git has, which no formatter makes.
    """
    head = known if known is not None else state.heads.get(path)
    since = state.last_look(head, now) if head is not None else state.full
    set_back = head is not None and (abs(head.offset - offset) > CLOCK_JUMP_S or changed < since - INODE_LAG_NS)
    if changed > now or set_back:
        changed = now  # a clock was set, or a write is going on: it may have been at any time up to now
    suspects = _suspects(state, path, after, since, changed, now)
    if not suspects:
        return Verdict(OUTSIDE, OUTSIDE)
    verdict = _first_fit(state, suspects, head, git=git)
    if verdict.grade == SURE and head is None and not verdict.how:
        verdict.grade = LIKELY  # a rewrite of the same bytes moves the ctime as well
    return verdict


def _first_fit(state: State, suspects: list[_Suspect], head: Head | None, *, git: bool) -> Verdict:
    """The first rule that fits: what was expected, a name, the only one, the only one that ran when it was written."""
    names = [one.agent for one in suspects]
    nobody = Verdict(NOBODY, NOBODY, names)
    exact = [one for one in suspects if one.met]
    if len(exact) == 1:
        return Verdict(exact[0].agent, SURE, names, exact[0].how)
    named = [one for one in suspects if one.how]
    running = [one for one in suspects if one.running]
    alone = len(suspects) == 1
    if len(named) > 1 or (named and named[0].unmet and not alone):
        return nobody
    if named:
        return Verdict(named[0].agent, SURE if alone else LIKELY, names, named[0].how)
    if alone and running:
        return Verdict(names[0], SURE, names)
    owners = head.owners if head is not None else []
    tidies = [one.agent for one in suspects if one.after and one.agent in owners]
    if tidies and not git and (alone or tidies[0] in state.formats):
        return Verdict(tidies[0], LIKELY, names)  # a formatter that its client runs after its edits
    return Verdict(running[0].agent, LIKELY, names) if len(running) == 1 else nobody


def _suspects(state: State, path: str, after: str, since: int, changed: int, now: int) -> list[_Suspect]:
    """Who had a call in the interval that could write the path. Who is above another suspect explains nothing more."""
    found: dict[str, _Suspect] = {}
    for call in state.calls.values():
        how, expected = call.named.get(path, ("", ""))
        if not call.is_open and not how:
            continue
        first, firm, weak = _times(call, now, named=bool(how))
        if first > changed or weak < since - INODE_LAG_NS:
            continue
        one = found.setdefault(call.agent, _Suspect(call.agent))
        is_firm = firm > since  # a call's own last look comes after its end
        running = first <= changed <= firm
        one.running = one.running or running
        one.after = one.after and not is_firm
        if not how.islower():
            continue
        if expected and expected == after:
            one.how, one.met = how, True
        elif running:
            one.how = one.how or how
            one.unmet = one.unmet or bool(expected)
    agents = list(found)
    return [
        one
        for agent, one in found.items()
        if one.how or not any(other != agent and within(other, agent) for other in agents)
    ]


def _times(call: Call, now: int, *, named: bool) -> tuple[int, int, int]:
    """From when a call counts, until when firmly, and until when weakly."""
    first = call.opened - INODE_LAG_NS
    if call.closed:
        after = AFTER_LEFT_NS if call.left else AFTER_NAMED_NS if named else AFTER_OPEN_NS
        return first, call.closed, call.closed + after
    if call.ended:  # it may never have run
        return first, first - 1, call.ended
    return first, call.opened + (FIRM_COMMAND_NS if call.is_open or call.diary >= 0 else FIRM_EDIT_NS), now


def knowledge(how: str, *, sure: bool, before_known: bool, after_seen: bool, foreign: bool = False) -> bool:
    """Does the actor of a change know the new content? Nobody else's knowledge moves by a change.

    It does if it brought the whole content, if what it changed was known to it, or if it certainly brought back a
    content that it has seen (a stash, a checkout). A `foreign` one is git's or another's, and it did not bring it
    itself (a pull, a checkout): it knows that only if it has seen it. Else it is blind from then on, until it reads.
    """
    if foreign:
        return after_seen and (sure or bool(how))
    if how == WHOLE:
        return True
    if how == MERGES or sure:
        return before_known or after_seen
    return False
