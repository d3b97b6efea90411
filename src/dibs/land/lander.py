"""Lands the queue: one lander at a time merges the next branches, checks them together, and moves the target.

operations/landing decides: who lands, what is next, what became of it. Here git and the project's check are run:
1. take: the claim `land:TARGET`, and the fence in the repository (target.py). What a dead lander was about to
   do is looked up: the target has its commit, or it has not.
2. batch: the next landings, each on top of the one before (commits.py). One that conflicts with the target is
   refused; one that conflicts only with another of the batch waits for the next batch.
3. check: the project's command in a clean working tree of its own, under the claim (held_command.py). If a batch fails,
   the next one is half as large, until a single landing fails: that one is refused with the end of the output, unless
   the target itself fails.
4. move: the intent is written, the remote gets it (`git push`, with its hooks), the target is moved by compare-and-set,
   working trees that have it follow. Where the target or the remote has moved, the batch is queued as before, and it is
   done again.
A lander that is killed anywhere leaves the target where it was, or landed with the intent in the store.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from time import monotonic

from dibs.client.identity import SHELL_OF, user_name
from dibs.client.landing_settings import home_of, settings_of, target_of
from dibs.errors import Conflict, DibsError, Failed, Fenced, Invalid, Unavailable
from dibs.git import queries as git
from dibs.git import sync
from dibs.land import commits, texts
from dibs.land.check_tree import CleanTree, plain
from dibs.land.target import Target
from dibs.machine import clock, processes
from dibs.operations.landing import lander as steps
from dibs.workers import child_process
from dibs.workers.child_environment import with_token
from dibs.workers.held_command import HeldCommand, Hold
from dibs.workspace.paths import of_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dibs.client.session import Session
    from dibs.land.commits import Prepared
    from dibs.operations.claims.answers import RenewAnswer
    from dibs.operations.core.call import Call
    from dibs.operations.core.declare import Operation
    from dibs.operations.core.policy import LandSettings
    from dibs.operations.landing.lander import Intent, QueuedLanding
    from dibs.stores.seam import Json

MAX_REDONE = 20  # times in a row that another process may move the target first
MAX_LOGS = 40  # of checks that are kept
CHECK_AGENT = "check"  # what a check calls dibs as: this subagent of the branch's agent
OUTPUT_BYTES = 16_000  # read from the end of a check's output
NOT_FOUND = 127  # the shell's exit code for a command that is not there


class Interrupted(Exception):
    """Somebody wants it to end; the landings are queued as before."""


class OutOfTime(Exception):
    """The caller's timeout; the landings stay queued."""


def need_check(settings: LandSettings) -> None:
    """Nothing lands without a check; what would land asks this before it queues anything."""
    if not settings["check"]:
        raise Invalid(
            'nothing lands without a check: write `check = "make test"`, or whichever command has to pass, below '
            "`[land]` in the main working tree's .dibs/config.toml (a person at a terminal is asked for it).",
            field="check",
        )


class Lander:
    """One process that lands, from its take to its leave."""

    def __init__(
        self,
        session: Session,
        call: Call,
        *,
        say: Callable[[str], None] | None = None,
        deadline: int | None = None,
        own: str = "",
        onto: str = "",
    ) -> None:
        """`deadline`: on the clock since boot. `own`: the caller's own landing, whose outcome the caller says."""
        self.session, self.call = session, call
        self.settings = settings_of(session)
        self.onto = onto or target_of(session)
        self._say = say or (lambda _: None)
        self._own = own
        self._deadline = deadline
        self._keeper = child_process.Keeper()
        self._command: HeldCommand | None = None
        self._signal = 0
        self._green: set[str] = set()  # trees that passed the check
        self._checks = 0
        self.passed: dict[str, str] = {}  # landings that this lander passes over → why

    def interrupt(self, number: int) -> None:
        """A signal: the check ends, then the lander. For a signal handler."""
        self._signal = self._signal or number
        if self._command is not None:
            self._command.interrupt(number)

    # --- its turn

    def take(self) -> None:
        """Become the lander; raises Held if another one is. What an earlier one left is settled."""
        need_check(self.settings)
        pushes = bool(self.settings["remote"])
        fields = {"onto": self.onto, "lander": processes.this(), "pushes": pushes}
        self.call.facts.clear()
        taken = self.session.run(steps.TAKE, self.call, fields)
        self._token, self._turn = taken["token"], taken["turn"]
        self._hold = Hold(
            f"land:{self.onto}", self._token, taken["expires_at"], deadline=self.session.deadline,
            confirm=lambda: self._step(steps.CONFIRM), renew=self._renew,
        )  # fmt: skip
        place = self.session.place
        self._clean = CleanTree(place, self.onto, self._turn, self._held)
        self._target = Target(place.top, place.common, self.onto, self._turn, self._token)
        self._builder = commits.CommitBuilder(place.top, place.common, self.onto, self.settings, self._token)
        try:
            self._target.fence(lambda: self._step(steps.CONFIRM))
            self._clean.drop_others()
            if "interrupted" in taken:
                self._settle(taken["interrupted"])
            else:
                self._follow()
        except BaseException as error:
            self._note_stop(error)
            self.leave()
            raise

    def leave(self) -> None:
        """End the turn. If the store cannot be used, the claim ends with this process or at its deadline."""
        self._keeper.close()
        self._clean.drop()
        try:
            self._step(steps.LEAVE)
        except DibsError:
            pass

    def _renew(self) -> RenewAnswer:
        self.call.facts.clear()
        renew = self.session.operation("renew")
        answer: RenewAnswer = self.session.run(renew, self.call, {"resources": [of_name(f"land:{self.onto}")]})
        return answer

    def _step(self, operation: Operation, **fields: object) -> Json:
        self.call.facts.clear()
        given = {"onto": self.onto, "token": self._token, "turn": self._turn, **fields}
        return self.session.run(operation, self.call, given)

    def _settle(self, intent: Intent) -> None:
        """An earlier lander died in the middle of a move: did the target move?"""
        commit, here = intent["commit"], self._target.commit()
        there = self._fetched() if self.settings["remote"] else ""
        if there and self._builder.contains(there, commit) and not (here and self._builder.contains(here, commit)):
            self._follow_remote(here, there)
            here = self._target.commit()
        if any(tip and self._builder.contains(tip, commit) for tip in (here, there)):
            self._step(steps.DONE, note=self._follow())
        else:
            self._step(steps.BACK)

    def _follow(self) -> str:
        """Bring the target's working trees along; why one could not follow, "" if all did."""
        followed, why = self._target.bring_along()
        for tree, before in followed:
            self._settle_ledger(tree, before, self._target.commit())
        if why:
            why = f"{why.rstrip('.')}. The next landing brings it along."
            self._say(why)
        return why

    def _note_stop(self, error: BaseException) -> None:
        """What keeps the queue from landing is told to the agents that wait for it; they stay queued."""
        if not isinstance(error, (Unavailable, Failed, Conflict, Invalid)):
            return
        try:
            self._step(steps.STOP, what=str(error.fields.get("lock") or error.message), why=error.message)
        except DibsError:  # the store is what cannot be used
            pass

    # --- the queue

    def run(self, until: Callable[[], bool]) -> int:
        """Land until `until`, or until nothing is left to land; returns how many landed."""
        try:
            return self._run(until)
        except DibsError as error:
            self._note_stop(error)
            raise

    def _run(self, until: Callable[[], bool]) -> int:
        landed = redone = failed = 0
        limit = self._batch_size()
        while not until():
            self._attend()
            base = self._base()
            chosen = self._step(steps.BATCH, size=limit, without=list(self.passed))["landings"]
            if not chosen:
                break
            chain = self._chain(base, chosen)
            if not chain:
                continue
            self._target.try_locks(self._target.commit())
            commit = self._builder.together(base, chain)
            output = self._checked_all(base, commit, chain)
            if output is None:
                count = self._move(base, commit, chain)
                landed += count
                failed -= count
                redone = 0 if count else redone + 1
                if redone > MAX_REDONE:
                    raise Unavailable(f"other processes keep moving {self.onto}; try again.", target=self.onto)
            elif len(chain) > 1:
                failed = len(chain)
                limit = max(1, len(chain) // 2)
                self._say(f"{len(chain)} branches together fail the check; trying {limit}")
                continue
            else:
                self._fails(base, chain[0], *output)
                failed = 0
            if failed <= 0:
                limit = self._batch_size()
        return landed

    def _batch_size(self) -> int:
        """How many are checked together. A linear history has each landing on its own line: each is checked."""
        linear = self.settings["method"] != commits.MERGE
        return 1 if linear and self.settings["green"] != "last" else int(self.settings["batch"])

    def _attend(self) -> None:
        """Keep the claim; raises if it is lost, or if it is time to end."""
        self._hold.attend()
        if self._hold.lost is not None:
            raise self._hold.lost
        if self._signal:
            raise Interrupted
        if self._deadline is not None and clock.since_boot() >= self._deadline:
            raise OutOfTime

    def _base(self) -> str:
        """The commit that the next batch is built on: the target, or the remote's if that is ahead."""
        here = self._target.commit()
        there = self._fetched() if self.settings["remote"] else ""
        if not here and not there:
            raise Invalid(
                f"there is no branch {self.onto} here; name it in [land] of .dibs/config.toml", field="branch"
            )
        if not there or here == there or (here and self._builder.contains(here, there)):
            return here
        if not here or self._builder.contains(there, here):
            return there
        remote = self.settings["remote"]
        raise Conflict(
            f"{self.onto} here and on {remote} have diverged: merge or rebase {self.onto} onto {remote}/{self.onto} "
            "first. Nothing was landed.",
            target=self.onto,
        )

    def _fetched(self) -> str:
        top, remote = self.session.place.top, self.settings["remote"]
        try:
            return self._fetched_once()
        except Unavailable:
            if self._clean.drop_others():  # the git of a killed lander made it since: it ends a moment after its lander
                return self._fetched_once()
            known = git.remotes(top)
            if remote in known or "/" in remote or ":" in remote:
                raise
            raise Invalid(
                f"there is no remote {remote} here; there is {', '.join(known) or 'none'}: `remote` in [land] of "
                ".dibs/config.toml",
                field="remote",
            ) from None

    def _fetched_once(self) -> str:
        top, remote = self.session.place.top, self.settings["remote"]
        return sync.fetched(top, remote, self.onto, self.settings["remote_timeout"] / 1000)

    def _chain(self, base: str, chosen: Sequence[QueuedLanding]) -> list[Prepared]:
        """The landings that can go together, each on top of the one before; those that cannot at all are refused."""
        chain: list[Prepared] = []
        here = base
        for landing in chosen:
            made = self._builder.prepare(here, landing)
            if made.code == "missing":
                made = self._from_elsewhere(here, landing, made)
                if made.id in self.passed:
                    continue
            if made.code == "conflict" and chain:  # with the target, or only with another one of this batch?
                alone = self._builder.prepare(base, landing)
                if not alone.code:
                    continue
                made = alone
            if made.code:
                self._refuse(made, made.code, made.why, paths=made.paths)
                continue
            blocked = self._target.in_the_way(self._target.commit(), made.commit) if made.commit != here else None
            if blocked:
                paths = self._builder.paths(here, made.commit)
                why = texts.in_the_way(self.session, self.call, self.onto, blocked, paths)
                self._refuse(made, "tree", why, paths=paths)
                continue
            chain.append(made)
            here = made.commit
        return chain

    def _from_elsewhere(self, base: str, landing: QueuedLanding, made: Prepared) -> Prepared:
        """A commit that is not here: the remote may have it. Else the clone that it was queued in lands it itself."""
        remote, branch, home = self.settings["remote"], landing["branch"], landing["home"]
        if remote:
            try:
                there = sync.fetched(self.session.place.top, remote, branch, self.settings["remote_timeout"] / 1000)
            except DibsError:  # `_base` says what is wrong with the remote
                there = ""
            if there:
                made = self._builder.prepare(base, landing)
        if made.code == "missing" and home and home != home_of(self.session):
            self.passed[made.id] = texts.elsewhere(landing, remote)
            self._say(self.passed[made.id])
        return made

    def _refuse(self, made: Prepared, code: str, why: str, **facts: object) -> None:
        if made.id != self._own:
            self._say(f"{made.branch}: {why}")
        self._step(steps.REFUSE, landing=made.id, code=code, why=why, **facts)

    def _fails(self, base: str, made: Prepared, output: str, log: str, how: str) -> None:
        """A single landing fails the check: it is refused, unless the target fails without it."""
        red = self._checked(base, base, ())
        if red is None:
            why = f"the check `{self.settings['check']}` {how}."
            self._refuse(made, "check", why, output=output, log=log)
            return
        self.passed[made.id] = (
            f"{self.onto} itself fails the check `{self.settings['check']}` ({red[2]}), so whether {made.branch} does "
            f"cannot be known; it stays queued. Repair {self.onto}, or the check, first; the output is in {red[1]}"
            f"{texts.last_line(red[0])}"
        )
        self._step(steps.STOP, what=f"red {base}", why=self.passed[made.id], landings=[made.id])

    # --- the check

    def _checked_all(self, base: str, commit: str, chain: Sequence[Prepared]) -> tuple[str, str, str] | None:
        """The same for what the target is to be moved to, and, if the config wants it, for each commit on the way."""
        for made in chain if self.settings["green"] == "every" else ():
            for number, step in enumerate(made.commits[:-1], 1):
                found = self._checked(base, step, chain)
                if found is not None:
                    return *found[:2], f"{found[2]} at commit {number} of {len(made.commits)} of {made.branch}"
        return self._checked(base, commit, chain)

    def _checked(self, base: str, commit: str, chain: Sequence[Prepared]) -> tuple[str, str, str] | None:
        """None if a commit passes the check; else the end of the output, the file with all of it, how it ended."""
        tree = self._builder.tree(commit)
        if tree in self._green or (chain and all(one.commit == base for one in chain)):
            return None
        self._attend()
        folder = self._clean.at(commit)
        names = ", ".join([one.branch for one in chain]) or self.onto
        self._say(f"checking {names}")
        log = self._log_file()
        timeout = self.settings["check_timeout"] / 1000
        if self._deadline is not None:
            timeout = min(timeout, max(0.1, (self._deadline - clock.since_boot()) / 1000))
        begun = monotonic()
        with open(log, "wb+") as said:
            code = self._held(
                ["/bin/sh", "-c", self.settings["check"]], timeout, cwd=folder, env=self._environment(commit, chain),
                stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            )  # fmt: skip
            said.seek(max(0, said.seek(0, os.SEEK_END) - OUTPUT_BYTES))
            output = plain(said.read())
        if code == 0:
            os.unlink(log)
            self._green.add(tree)
            return None
        if code is None:
            if self._deadline is not None and clock.since_boot() >= self._deadline:
                raise OutOfTime
            return output, log, f"took longer than {monotonic() - begun:.0f} s"
        lost = ": the shell did not find it" if code == NOT_FOUND else ""
        return output, log, f"ended with {child_process.exit_text(code)}{lost}"

    def _held(self, words: Sequence[str], timeout: float, **settings: Any) -> int | None:
        """A command under the claim; its exit code, None at the timeout.

        Raises if the claim is lost, or if a signal came.
        """
        self._command = HeldCommand(self._keeper, self._hold, words, **settings)
        try:
            code = self._command.run(timeout)
        except BaseException:
            self._command.child.end()
            self._command.child.end()
            raise
        finally:
            self._command = None
        if self._signal:
            raise Interrupted
        if self._hold.lost is not None:
            raise self._hold.lost
        return code

    def _environment(self, commit: str, chain: Sequence[Prepared]) -> dict[str, str]:
        """The check runs the branch's code: as a subagent of the branch's agent, whoever the lander is."""
        outer = {name: value for name, value in os.environ.items() if name not in git.ASTRAY}
        agent = chain[-1].landing["agents"][-1] if chain else self.call.agent
        own = dict.fromkeys(("DIBS_AGENT", SHELL_OF), f"{agent or user_name()}/{CHECK_AGENT}")
        return {**outer, **own, **with_token(self._token), "DIBS_LAND": self.onto, "DIBS_COMMIT": commit}

    def _log_file(self) -> str:
        folder = f"{self.session.place.local}/land"
        os.makedirs(folder, 0o700, exist_ok=True)
        self._checks += 1
        for name in sorted(os.listdir(folder))[:-MAX_LOGS]:
            try:
                os.unlink(f"{folder}/{name}")
            except OSError:
                pass
        return f"{folder}/check-{self._turn:08d}-{self._checks:04d}.log"

    # --- the move

    def _move(self, base: str, commit: str, chain: Sequence[Prepared]) -> int:
        """Move the target to a checked commit; returns how many landed, 0 if it has to be done again."""
        self._attend()
        here = self._target.commit()
        if self._target.in_the_way(here, commit):
            return 0  # an agent began to edit meanwhile: the next round refuses that landing
        moves = [[one.id, one.tip, one.commit] for one in chain]
        if self._step(steps.MOVE, base=here or base, commit=commit, moves=moves)["gone"]:
            return 0
        text = f"dibs land: {', '.join([one.branch for one in chain])}"
        try:
            published = self._published(base, here, commit, text)
        except Unavailable:
            if not self.settings["remote"] and self._target.commit() == here:
                self._step(steps.BACK)
            raise
        if not published:
            self._step(steps.BACK)
            return 0
        landed: list[str] = self._step(steps.DONE, note=self._follow())["landed"]
        others = [one.branch for one in chain if one.id != self._own]
        if others:
            self._say(f"{', '.join(others)} landed on {self.onto} as {commit[:12]}")
        return len(landed)

    def _published(self, base: str, here: str, commit: str, text: str) -> bool:
        """The remote has the commit, if there is one, and the target is there; False if either has moved."""
        remote = self.settings["remote"]
        if not remote:
            if here != base:
                return False
            return commit == here or self._target.move(here, commit, text)
        if here and not self._builder.contains(commit, here):
            return False
        if commit != base or not here:
            self._step(steps.CONFIRM)
            if not self._target.is_mine():
                raise Fenced(resource=f"land:{self.onto}", given=self._token, holder=None)
            if not self._pushed(commit):
                return False
        why = "was moved by another process and stays as it is"
        try:
            if self._target.move(here, commit, text):
                return True
        except Unavailable as error:  # it has landed where it counts; here it follows with the next landing
            why = f"could not follow: {error.message}"
        self._say(f"{remote} has {commit[:12]}; {self.onto} here {why}")
        return True

    def _pushed(self, commit: str) -> bool:
        """Push, through git's own hooks; False if the remote has moved."""
        remote, top = self.settings["remote"], self.session.place.top
        env = {**git.environment(), **with_token(self._token), "DIBS_LAND": self.onto}
        env |= {"DIBS_AGENT": self.call.agent} if self.call.agent else {}
        with tempfile.TemporaryFile() as said:
            words = ["git", "-C", top, "push", "--porcelain", remote, f"{commit}:refs/heads/{self.onto}"]
            code = self._held(
                words,
                self.settings["remote_timeout"] / 1000,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )
            said.seek(0)
            text = plain(said.read(8_000))
        if code == 0:
            return True
        there = self._fetched()  # whatever was said, where the remote is now says what it means
        if there and self._builder.contains(there, commit):
            return True
        if there and not self._builder.contains(commit, there):
            return False
        self._step(steps.BACK)
        reason = texts.refusal(text).rstrip(".")
        raise Failed(
            f"{remote} did not take it: {reason}. {self.onto} was not moved, and everything stays queued.",
            target=self.onto, commit=commit,
        )  # fmt: skip

    def _follow_remote(self, here: str, there: str) -> None:
        """The remote has what a dead lander pushed: the target here follows, if it only lacks that."""
        behind = not here or self._builder.contains(there, here)
        if behind and not self._target.in_the_way(here, there):
            self._target.move(here, there, "dibs land: follow")

    def _settle_ledger(self, tree: str, before: str, after: str) -> None:
        """What landed in a working tree is committed, so it is nobody's unfinished work."""
        from dibs.ledger import working_tree

        try:
            working_tree.at(tree, self.session.place).finish(self._builder.paths(before, after))
        except (DibsError, OSError):  # the next hook in that tree looks for itself
            pass
