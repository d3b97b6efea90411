"""`dibs land`: queue the branch of this worktree, then land it, or wait until another process has.

The operation `land` queues; land/lander.py lands. Which branch and which commit is meant is read here: a branch, a
worktree's folder, or nothing for the worktree that the caller is in.
- landed: exit 0. Refused: exit 1 with the reason; the branch is untouched. Timeout: exit 2, it stays queued.
- interrupted: the check ends, the claim is given back, the landing stays queued for the next one who lands.
"""

from __future__ import annotations

import os
import sys

from dibs import jsontext
from dibs.client import catalogue, read_fields
from dibs.client.landing_settings import settings_of, target_of
from dibs.errors import CANNOT_DECIDE, NO, YES, Conflict, Failed, Invalid, Unavailable
from dibs.git import queries as git
from dibs.git import sides
from dibs.interfaces.cli import render, terminal
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import answer, open_session
from dibs.interfaces.cli.long_running import SIGNALLED, on_signals
from dibs.machine import clock, durations
from dibs.machine.signals import Interrupted
from dibs.operations.core.declare import PAGED, Field
from dibs.operations.core.policy import MAX_WAIT_MS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

    from dibs.client.session import Session
    from dibs.interfaces.cli.parse import Words
    from dibs.land.lander import Lander
    from dibs.land.wait import QueueLander
    from dibs.operations.core.call import Call
    from dibs.operations.core.policy import LandSettings
    from dibs.operations.landing.answers import LandingView

FIELDS = (
    Field("status", "flag", "show the queue, and what was decided lately", default=False),
    Field("queue", "flag", "with --status: only what is queued", default=False),
    *PAGED,
    Field("cancel", "flag", "take the branch out of the queue", default=False),
    Field("wait", "duration", "how long to wait for it (default: the config's, 1h; 0: only queue it)", metavar="D"),
    Field("all", "flag", "land all that is queued, then end", default=False),
    Field("watch", "flag", "land what is queued, and what will be, until interrupted", default=False),
)
EXCLUSIVE = ("status", "cancel", "all", "watch")
LISTING = ("queue", "limit", "after")  # go with --status
PAUSE_S = 1.0  # between two looks of --watch


def run(words: Words) -> int:
    """Queue and land, or one of the other things."""
    given = [name for name in EXCLUSIVE if words.fields.get(name)]
    if len(given) > 1:
        raise Invalid(f"land: either --{' or --'.join(given)}", field=given[1])
    if words.fields.get("branch") and given and given[0] != "cancel":
        raise Invalid(
            f"land: --{given[0]} is for all that is queued; leave {words.fields['branch']} out", field="branch"
        )
    for name in LISTING:
        if words.fields.get(name) and not words.fields.get("status"):
            raise Invalid(f"land: --{name} goes with --status", field=name)
    session = open_session(words)
    call = session.identify(words.common.get("as"), request=words.common.get("request-id", ""))
    if not session.place.common:
        raise Invalid("this is not a git repository: there is nothing to land", path=session.place.root)
    if words.fields.get("status"):
        return _status(session, call, words)
    if words.fields.get("cancel"):
        landing = _branch(session, words.fields.get("branch", ""), exists=False)
        operation = catalogue.operation("landings cancel")
        fields = {"landing": landing, "onto": _onto(session, words)}
        answer("landings cancel", session.answer(operation, call, fields), as_json=words.json)
        return YES
    return _Land(session, call, words).run()


def _onto(session: Session, words: Words) -> str:
    """The branch to land on: the one that is named, else the usual one."""
    named: str = words.fields.get("onto", "")
    return named or target_of(session)


def _status(session: Session, call: Call, words: Words) -> int:
    operation = catalogue.operation("landings")
    said = {name: words.fields[name] for name in LISTING if name in words.fields}
    fields = read_fields.request(session, operation, {**said, "onto": _onto(session, words)})
    answer("landings", session.answer(operation, call, fields), as_json=words.json)
    return YES


def _branch(session: Session, word: str, *, exists: bool = True) -> str:
    """The branch that is meant: by its name, by a folder of its worktree, or that of this worktree."""
    top = session.place.top
    if word and (git.commit(top, f"refs/heads/{word}") or not (exists or os.path.isdir(word))):
        return word
    folder = os.path.realpath(os.path.join(session.cwd, word)) if word else top
    for side in sides.worktrees(top):
        if side.top == folder:
            if not side.branch:
                raise Invalid(f"HEAD is on no branch in {folder}; `git switch -c NAME` makes one", field="branch")
            return side.branch
    if not git.commit(top, "HEAD"):
        raise Invalid("there is no commit in this repository yet: there is nothing to land", field="branch")
    raise Invalid(f"there is no branch and no worktree {word or folder} in this repository", field="branch")


class _Land:
    """One call that lands."""

    def __init__(self, session: Session, call: Call, words: Words) -> None:
        self.session, self.call, self.words = session, call, words
        self._target = _onto(session, words)
        self._settings = settings_of(session)
        self._own = ""  # the id of the caller's own landing
        self._lander: Lander | None = None
        self._signal = 0
        self._over = False  # it was interrupted and says so

    def run(self) -> int:
        self._settings = self._with_check()
        on_signals(self._interrupt)
        try:
            if self.words.fields.get("all") or self.words.fields.get("watch"):
                return self._all()
            return self._one()
        except BaseException as error:
            from dibs.land import lander as landing

            if not isinstance(error, (Interrupted, landing.Interrupted)):
                raise
            self._over = True
        found = self._found()
        if found is not None and found["state"] != "queued":  # it was too late to interrupt
            return self._outcome(found)
        self._say("interrupted; what is queued stays queued")
        if self.words.json:
            shown = {"landing": found} if found is not None else {}
            sys.stdout.write(jsontext.encode({"ok": False, "interrupted": True, **shown}) + "\n")
        return SIGNALLED + self._signal

    def _found(self) -> LandingView | None:
        """The caller's own landing as it is now; None if it has none."""
        if not self._own:
            return None
        from dibs.operations.landing import lander

        self.call.facts.clear()
        asked = {"onto": self._target, "landing": self._own}
        found: LandingView = self.session.run(lander.TURN, self.call, asked)["landing"]
        return found

    def _interrupt(self, number: int, _: FrameType | None) -> None:
        if self._over:
            return
        self._signal = number
        if self._lander is None:
            raise Interrupted
        self._lander.interrupt(number)

    def _started(self, lander: Lander | None) -> None:
        self._lander = lander
        if lander is None and self._signal:
            raise Interrupted

    def _say(self, text: str) -> None:
        if not self.words.json:
            sys.stderr.write(f"dibs: {text}\n")
            sys.stderr.flush()

    def _with_check(self) -> LandSettings:
        """The settings; a person at a terminal is asked for the check, if there is none yet."""
        if self._settings["check"] or self.words.json or not (terminal.is_terminal() and sys.stdin.isatty()):
            return self._settings
        from dibs.land import first_check

        return first_check.asked(self.session, self.call, self._settings, self._say)

    def _one(self) -> int:
        from dibs.land import lander as landing
        from dibs.land import wait as landing_wait

        fields = self.words.fields
        wait = durations.parse(fields["wait"], "wait") if "wait" in fields else self._settings["wait"]
        if wait:  # it may have to land the branch itself
            landing.need_check(self._settings)
        operation = catalogue.operation("land")
        branch = _branch(self.session, fields.get("branch", ""))
        said = {name: value for name, value in fields.items() if name in operation.by_name}
        values = read_fields.request(self.session, operation, {**said, "branch": branch})
        values["onto"] = self._target
        self._check_target()
        values["commit"] = values.get("commit") or git.commit(self.session.place.top, f"refs/heads/{branch}")
        self._note_uncommitted(branch)
        queued = self.session.answer(operation, self.call, values)
        self.call.request = ""  # it belongs to the operation
        if self._was_undone(queued["landing"]):
            queued = self.session.answer(operation, self.call, {**values, "again": True})
        if queued["landing"]["state"] != "queued":
            return self._outcome(queued["landing"])
        if not wait:
            lands = self._who_lands()
            answer("land", {**queued, "lands": lands}, as_json=self.words.json)
            return YES
        self._own = queued["landing"]["id"]
        until = clock.since_boot() + min(wait, MAX_WAIT_MS)
        found = landing_wait.wait_for(
            self.session, self.call, queued["landing"]["id"], until=until, onto=self._target, say=self._say,
            started=self._started,
        )  # fmt: skip
        return self._outcome(found)

    def _was_undone(self, found: LandingView) -> bool:
        """It has landed, and the target was reset since: it is no part of it any more."""
        if found["state"] != "landed":
            return False
        words = ("merge-base", "--is-ancestor", found["landed"], f"refs/heads/{self._target}")
        return git.ask(self.session.place.top, *words, fine=(0, 1, 128)).code != 0

    def _check_target(self) -> None:
        """A branch that is not there is a usage error, unless the remote may have it."""
        if not git.commit(self.session.place.top, f"refs/heads/{self._target}") and not self._settings["remote"]:
            raise Invalid(
                f"there is no branch {self._target} here: name the one to land on with --onto, or as `branch` in "
                "[land] of .dibs/config.toml",
                field="onto",
            )

    def _who_lands(self) -> str:
        """Who lands what is only queued: an agent that does so now, the server, or nobody ("")."""
        from dibs.operations.landing import lander
        from dibs.workspace import auto_serve

        found = self.session.run(lander.TURN, self.call, {"onto": self._target})
        if not found["free"]:
            who: str = found.get("agent", "")
            return who
        served = self._settings["server"] and self._settings["check"]
        return "server" if served and auto_serve.is_served(self.session.place.local) else ""

    def _note_uncommitted(self, branch: str) -> None:
        for side in sides.worktrees(self.session.place.top):
            if side.branch == branch:
                count = len(git.dirty(side.top))
                if count:
                    files = "1 file has" if count == 1 else f"{count} files have"
                    self._say(f"{files} uncommitted changes in {side.top}, which are no part of it")

    def _outcome(self, found: LandingView) -> int:
        code = {"landed": YES, "queued": CANNOT_DECIDE}.get(found["state"], NO)
        if self.words.json:
            sys.stdout.write(jsontext.encode({"ok": code == YES, "landing": found}) + "\n")
            return code
        if code == CANNOT_DECIDE:
            self._say(
                f"{found['branch']} is still queued; `dibs land --status` shows it, and you will be notified when "
                "it is decided"
            )
            return code
        for line in render.items("landings cancel", {"landing": found}):
            (sys.stdout if code == YES else sys.stderr).write(f"{line}\n")
        if found.get("output"):
            sys.stderr.write(f"{found['output']}\n")
        if code == NO and found.get("log"):
            sys.stderr.write(f"dibs: the whole output is in {found['log']}\n")
        return code

    def _all(self) -> int:
        from dibs.land import lander as landing
        from dibs.land import wait as landing_wait

        landing.need_check(self._settings)
        if self.words.fields.get("watch"):
            self._watch(landing_wait.QueueLander(self._target))
        landed = landing_wait.land_all(self.session, self.call, onto=self._target, say=self._say, started=self._started)
        shown = {"landed": landed, "onto": self._target}
        if self.words.json:
            sys.stdout.write(jsontext.encode({"ok": True, **shown}) + "\n")
        else:
            sys.stdout.write(f"{landed} landed on {shown['onto']}\n")
        return YES

    def _watch(self, drain: QueueLander) -> NoReturn:
        """Land until a signal comes; what stops it is said once."""
        said = ""
        while True:
            self.session.reread()
            try:
                drain.step(self.session, self.call, say=self._say, started=self._started)
            except (Unavailable, Failed, Conflict) as error:
                if error.message != said:
                    said = error.message
                    self._say(said)
            clock.sleep(PAUSE_S)


COMMAND = Command(
    "land",
    run=run,
    fields=FIELDS,
    notes=(
        (
            "The branch is merged into main (or rebased, or squashed: `[land] method`), the check of the config runs "
            "in a clean worktree, and main is moved only if it passes and nobody else moved it. The branch itself is "
            "never changed. The first caller lands the next branches together; the others wait."
        ),
        (
            "Exit code: 0 landed, 1 refused (conflict, failed check: its agents are notified), 2 timed out, and it "
            "is still queued. The check's environment has DIBS_LAND (the branch), DIBS_TOKEN and DIBS_COMMIT."
        ),
        "`dibs claim land:main --reason T` freezes main: nothing lands until it is released.",
    ),
)
