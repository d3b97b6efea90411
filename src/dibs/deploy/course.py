"""One deploy at a time, of what everybody has, proven afterwards: the course of `dibs deploy TARGET -- CMD`.

What happens, in short: the checks of checks.py; the claim `deploy:TARGET`; the command under it
(workers/held_command.py); the verification, tried again for a while, because a public surface takes its time; the
outcome into the log.
- refused: nothing was run; raised with who or what is in the way.
- the command or its verification fails, or the deploy is interrupted: recorded as that, the claim is released, raised.
- the claim was lost on the way (it was killed, or outlived its longest life): the command is ended; recorded; raised.
- this process dies: its command ends with it; the claim ends where its client is known, else at its deadline; the log
  has a start without an end. The next deploy is refused while the process of the command still runs.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from time import monotonic

from dibs.deploy import checks
from dibs.errors import DibsError, Failed, Fenced, Invalid, Unverified
from dibs.machine import clock, durations, processes
from dibs.machine.signals import Interrupted
from dibs.operations.guards import deploy_guard
from dibs.workers import child_process
from dibs.workers.child_environment import with_token
from dibs.workers.held_command import HeldCommand, Hold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

    from dibs.client.session import Session
    from dibs.operations.core.call import Call, Fields
    from dibs.operations.core.declare import Operation
    from dibs.operations.guards.records import Risks
    from dibs.stores.seam import Json

    class DeployAnswer(Risks):
        """What `dibs deploy` came to."""

        target: str
        commit: str
        behind: int | None  # commits that the reference branch has and it has not; None: not known
        token: int
        verified: bool
        exit: int | None  # the command's exit code
        result: str  # one of `deploy_guard.RESULTS`


VERIFY_TIMEOUT_S = 120  # in which a public surface should show what was deployed
RETRY_PAUSES_S = (1, 2, 4, 8)  # between tries; the last one repeats
MAX_OUTPUT_CHARS = 300  # of the end of a verification's output


class DeployRequest:
    """What is to be deployed, and how: the words of whoever asks."""

    __slots__ = ("command", "dirty", "quiet", "risks", "target", "unverified", "verify", "verify_timeout")

    def __init__(self, target: str, command: list[str], fields: Fields, *, quiet: bool = False) -> None:
        self.target = target
        self.command = command
        self.verify: str = fields.get("verify") or ""
        self.unverified = bool(fields.get("unverified"))
        self.verify_timeout: str | None = fields.get("verify_timeout")
        self.dirty = bool(fields.get("dirty"))
        self.risks = {name: bool(fields.get(name)) for name in deploy_guard.ACCEPTED_RISKS}  # accepted, and recorded
        self.quiet = quiet  # stdout has the answer and nothing else
        if self.verify and self.unverified:
            raise Invalid("deploy: either --verify CMD or --unverified", field="unverified")


class Deploy:
    """One deploy, from the checks to the record."""

    def __init__(self, session: Session, call: Call, request: DeployRequest) -> None:
        self.session, self.call, self.request = session, call, request
        self.target = request.target
        named = checks.settings(session, self.target)
        self.unverified = request.unverified
        self.verify: str = "" if self.unverified else request.verify or named.get("verify") or ""
        given = request.verify_timeout
        configured_s = checks.config(session).get("verify_timeout", VERIFY_TIMEOUT_S)
        self.verify_timeout_s = durations.parse(given, "verify_timeout") / 1000 if given else configured_s
        self.resource = session.paths.canonical(f"deploy:{self.target}", session.cwd)
        self.commit, self.token = "", 0
        self.behind: int | None = None
        self.keep = False
        self.keeper = child_process.Keeper()
        self._expires_at = ""
        self._hold: Hold | None = None
        self._command: HeldCommand | None = None  # what runs now

    def run(self) -> DeployAnswer:
        """Deploy. A refusal, and whatever goes wrong, is raised."""
        if not self.verify and not self.unverified:
            raise Unverified(
                f"no verification command for {self.target}: use --verify CMD, or name it in the config "
                f"([deploy.targets.{self.target}] verify), or use --unverified, which is recorded.",
                target=self.target,
                started=False,
            )
        self._claim()
        started = False
        try:
            top, request = self.session.place.top, self.request
            status = checks.examine(self.session, self.call, self.target, top, dirty=request.dirty, **request.risks)
            self.commit, self.behind = status.commit, status.behind
            if status.why and not request.quiet:
                sys.stderr.write(f"dibs: not compared with the remote: {status.why}\n")
            command = self._prepare()
            fields = {
                "commit": self.commit, "command": shlex.join(request.command)[:500], "process": processes.this(),
                "runs": processes.of(command.child.pid),
            }  # fmt: skip
            try:
                self._run(deploy_guard.START, **fields, **request.risks)
            except BaseException:
                command.cancel()
                raise
            started = True
        finally:
            if not started:
                self.keeper.close()
                if not self.keep:
                    self._release()
        return self._go(command)

    def _claim(self) -> None:
        claim = self.session.operation("claim")
        fields = {"resources": [self.resource], "reason": f"deploys {self.target}", "by": "deploy"}
        answer = self.session.run(claim, self.call, fields)
        self.token, self.keep = answer["token"], bool(answer.get("renewed"))
        self._expires_at = answer["expires_at"]

    def _run(self, operation: Operation, **fields: Json) -> Json:
        self.call.facts.clear()
        return self.session.run(operation, self.call, {"target": self.target, "token": self.token, **fields})

    def _release(self) -> None:
        try:
            fields = {"resources": [self.resource], "token": self.token}
            self.session.run(self.session.operation("release"), self.call, fields)
        except DibsError:  # lost already, or the store is busy: then it ends by itself
            pass

    def _prepare(self) -> HeldCommand:
        """The command, with this terminal; it waits until it may run."""
        out = sys.stderr if self.request.quiet else None
        sys.stdout.flush()
        self._hold = Hold(
            f"deploy:{self.target}", self.token, self._expires_at, deadline=self.session.deadline,
            confirm=lambda: self._ask("confirm", resource=self.resource, token=self.token),
            renew=lambda: self._ask("renew", resources=[self.resource]),
        )  # fmt: skip
        return HeldCommand(self.keeper, self._hold, self.request.command, env=self._environment(), stdout=out)

    def _ask(self, name: str, **fields: Json) -> Json:
        self.call.facts.clear()
        return self.session.run(self.session.operation(name), self.call, fields)

    def _go(self, command: HeldCommand) -> DeployAnswer:
        """Run and verify; whatever happens is recorded."""
        begun, code, result = monotonic(), None, "interrupted"
        self._command = command
        before = {
            number: signal.signal(number, self._interrupt) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        }
        complaint = ""
        try:
            code = self._run_command(command, leaves=True)
            result = "failed" if code else "unchecked" if self.unverified else "unverified"
            if result == "unverified":
                complaint = self._verified()
                result = "unverified" if complaint else "ok"
        except Interrupted:
            result = "interrupted"
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            self.keeper.close()
            seconds = round(monotonic() - begun, 3)
            # an error may be propagating here; recording goes first anyway
            fenced = self._record(result, seconds, code)
        return self._outcome(result, code, complaint, fenced)

    def _run_command(self, command: HeldCommand, timeout: float | None = None, *, leaves: bool = False) -> int | None:
        """Its exit code, None at the timeout. Raises if it was interrupted or the claim was lost."""
        assert self._hold is not None
        self._command = command
        code = command.run(timeout, leaves=leaves)
        self._command = None
        if command.signal or self._hold.lost is not None:
            raise Interrupted
        return code

    def _interrupt(self, number: int, _: FrameType | None) -> None:
        """A signal: pass it on to what runs."""
        if self._command is None:
            raise Interrupted
        self._command.interrupt(number)

    def _record(self, result: str, seconds: float, code: int | None) -> Fenced | None:
        try:
            self._run(
                deploy_guard.FINISH, result=result, commit=self.commit, seconds=seconds, exit=code, keep=self.keep
            )  # fmt: skip
        except Fenced as error:
            return error
        return None

    def _outcome(self, result: str, code: int | None, complaint: str, fenced: Fenced | None) -> DeployAnswer:
        shown: DeployAnswer = {
            "target": self.target, "commit": self.commit, "behind": self.behind, "token": self.token,
            "verified": result == "ok", "exit": code, "result": result,
        }  # fmt: skip
        for risk in deploy_guard.ACCEPTED_RISKS:
            if self.request.risks[risk]:
                shown[risk] = True
        if result == "interrupted" and fenced is None:
            raise Failed(f"the deploy of {self.target} was interrupted; how far it came is not known.", **shown)
        if result == "failed":
            how = f"ended with {code}" if code is None or code >= 0 else f"was {child_process.exit_text(code)}"
            raise Failed(f"the command {how}; {self.target} may be half deployed.", **shown)
        if result == "unverified":
            raise Unverified(f"the command ran, but the verification failed: {complaint}", **shown, started=True)
        if fenced is not None:
            message = f"it was begun, but the claim was lost on the way: {fenced.message} Look at what is deployed."
            raise Fenced(message, **{**fenced.fields, **shown, "token": fenced.fields.get("token")})
        return shown

    def _environment(self) -> dict[str, str]:
        own = {"DIBS_AGENT": self.call.agent} if self.call.agent else {}
        return {
            **os.environ, **own, **with_token(self.token), "DIBS_DEPLOY": self.target, "DIBS_COMMIT": self.commit,
        }  # fmt: skip

    def _verified(self) -> str:
        """Try the verification until it passes or times out. "" if it passed, else what it said last."""
        until = monotonic() + self.verify_timeout_s
        tries = 0
        while True:
            complaint = self._verify_once(max(1.0, until - monotonic()))
            pause = RETRY_PAUSES_S[min(tries, len(RETRY_PAUSES_S) - 1)]
            if not complaint or monotonic() + pause > until:
                return complaint
            if not tries:
                left = durations.show(round((until - monotonic()) * 1000))
                self.session.door.announce(f"not yet: {complaint}; retried for another {left} (--verify-timeout)")
            tries += 1
            self._rest(pause)

    def _rest(self, seconds: float) -> None:
        """Keep the target meanwhile."""
        assert self._hold is not None
        self._hold.attend()
        if self._hold.lost is not None:
            raise Interrupted
        clock.sleep(seconds)

    def _verify_once(self, timeout: float) -> str:
        assert self._hold is not None
        with tempfile.TemporaryFile() as said:
            words, nothing = ["/bin/sh", "-c", self.verify], subprocess.DEVNULL
            streams = {"stdin": nothing, "stdout": said, "stderr": said}
            code = self._run_command(
                HeldCommand(self.keeper, self._hold, words, env=self._environment(), **streams), timeout
            )
            if code is None:
                return f"`{self.verify}` took too long"
            if code == 0:
                return ""
            size = said.seek(0, os.SEEK_END)
            said.seek(max(0, size - MAX_OUTPUT_CHARS))
            text = " ".join(said.read().decode(errors="replace").split())
        return f"`{self.verify}` ended with {code}{f': {text}' if text else ''}"
