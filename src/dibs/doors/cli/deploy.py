"""`dibs deploy TARGET -- CMD`: one deploy at a time, of what everybody has, proven afterwards.

What happens, in short: the checks of doors/deploying.py; the claim `deploy:TARGET`; the command, while the claim is
renewed; the verification, tried again for a while, because a public surface takes its time; the outcome into the log.
- refused: nothing was run; exit 1 with who or what is in the way.
- the command or its verification fails, or somebody interrupts: recorded as that, the claim is given back, exit 1.
- the claim was lost on the way (it was killed, or outlived its longest life): recorded and said; exit 1.
- this process dies: the claim ends with it where its client is known, else at its deadline; the log has a start without
  an end.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from time import monotonic

from dibs import jsontext
from dibs.doors import deploying, durations
from dibs.doors.cli import parse
from dibs.doors.cli.run import open_session
from dibs.errors import YES, DibsError, Failed, Fenced, Invalid, Killed, NotFound, Unverified
from dibs.facts import clock, processes
from dibs.operations import deploys
from dibs.operations.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType
    from typing import Any

    from dibs.doors.session import Session
    from dibs.operations.call import Call

FIELDS = (
    Field("target", "text", "what is deployed: any name; `[deploy.targets.NAME]` in the config tells about it",
          positional=True, required=True, metavar="TARGET"),
    Field("verify", "text", "a shell command that proves it worked, through what the public sees", default="",
          metavar="CMD"),
    Field("unverified", "flag", "deploy without a verification; the log has it", default=False),
    Field("verify_timeout", "duration", "how long to try the verification again (default: the config's, 2m)",
          metavar="D"),
    Field("dirty", "flag", "deploy although there are uncommitted changes", default=False),
    Field("unsynced", "flag", "deploy although nothing can be compared with the remote; the log has it", default=False),
    Field("rollback", "flag", "deploy older content on purpose; the log has it", default=False),
)  # fmt: skip
HELP = "Deploy: claim the target, refuse when behind, run the command behind `--`, verify, record."
MORE = (
    "The command stands behind `--`:  dibs deploy prod --verify 'curl -fsS https://…' -- make release",
    "Placeholders (TODO, TBD, coming soon; `[deploy] placeholders`) do not ship: they are searched in the files of the",
    "target's `ships`, or else in the lines added since its last good deploy.",
    "The command finds DIBS_DEPLOY (the target), DIBS_TOKEN and DIBS_COMMIT in its environment.",
    "HEAD must have all of the remote's default branch (or of the target's `branch`), whatever is checked out, and",
    "contain the target's last good deploy. What cannot be compared (no remote, no answer, a shallow clone) is refused",
    "with exit 2.",
    "JSON beside `ok`: target, commit, behind, token, verified, and unsynced or rollback if that was said",
    "Refusals: held, behind, conflict, forbidden, unverified, failed, fenced, unavailable",
)
PATIENCE = 120  # seconds in which a public surface should show what was deployed
PAUSES = (1, 2, 4, 8)  # seconds between tries; the last goes on
RENEW = 30.0  # seconds between renewals, far less than any claim lasts
MERCY = 10.0  # seconds that an interrupted command has to end by itself


def run(arguments: list[str]) -> int:
    """One deploy."""
    words = parse.parse("deploy", FIELDS, arguments, rest=True)
    if words.help:
        from dibs.doors.cli import help

        return help.of_command("deploy", HELP, FIELDS, list(MORE))
    if not words.rest:
        raise Invalid("deploy: name the command behind `--`", usage=f"usage: {parse.usage('deploy', FIELDS)} -- CMD…")
    session = open_session(words)
    deploy = _Deploy(session, session.identify(words.common.get("as")), words)
    shown = deploy.run()
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": True, **shown}) + "\n")
    else:
        how = "verified" if shown["verified"] else "not verified, as you said"
        sys.stdout.write(f"deployed {shown['target']} ({shown['commit'][:12] or 'no commit'}), {how}\n")
    return YES


class _Interrupted(Exception):
    """Somebody wants it to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class _Deploy:
    """One deploy, from the checks to the record."""

    def __init__(self, session: Session, call: Call, words: parse.Words) -> None:
        self.session, self.call, self.words = session, call, words
        self.target: str = words.fields["target"]
        named = deploying.settings(session, self.target)
        self.unverified = bool(words.fields.get("unverified"))
        self.verify: str = "" if self.unverified else words.fields.get("verify") or named.get("verify") or ""
        given = words.fields.get("verify_timeout")
        named_patience = deploying.config(session).get("verify_timeout", PATIENCE)
        self.patience = durations.parse(given, "verify_timeout") / 1000 if given else named_patience
        self.resource = session.paths.resource(f"deploy:{self.target}", session.cwd)
        self.said = {name: bool(words.fields.get(name)) for name in deploys.SAID}
        self.commit, self.token = "", 0
        self.behind: int | None = None
        self.keep = self.lost = False
        if words.fields.get("verify") and self.unverified:
            raise Invalid("deploy: either --verify CMD or --unverified", field="unverified")

    def run(self) -> dict[str, Any]:
        """Deploy. A refusal, and whatever goes wrong, is raised."""
        if not self.verify and not self.unverified:
            raise Unverified(
                f"nothing would prove that {self.target} works: say --verify CMD, or name it in the config "
                f"([deploy.targets.{self.target}] verify), or say --unverified, which is recorded.",
                target=self.target,
                started=False,
            )
        self._claim()
        started = False
        try:
            dirty = bool(self.words.fields.get("dirty"))
            top = self.session.place.top
            standing = deploying.examine(self.session, self.call, self.target, top, dirty=dirty, **self.said)
            self.commit, self.behind = standing.commit, standing.behind
            if standing.why and not self.words.json:
                sys.stderr.write(f"dibs: not compared with the remote: {standing.why}\n")
            fields = {"commit": self.commit, "command": shlex.join(self.words.rest)[:500], "process": processes.this()}
            self._run(deploys.START, **fields, **self.said)
            started = True
        finally:
            if not started and not self.keep:
                self._release()
        return self._go()

    def _claim(self) -> None:
        claim = self.session.operation("claim")
        fields = {"resources": [list(self.resource)], "reason": f"deploys {self.target}", "by": "deploy"}
        answer = self.session.run(claim, self.call, fields)
        self.token, self.keep = answer["token"], bool(answer.get("renewed"))

    def _run(self, operation: Any, **fields: Any) -> Any:
        self.call.facts.clear()
        return self.session.run(operation, self.call, {"target": self.target, "token": self.token, **fields})

    def _release(self) -> None:
        try:
            fields = {"resources": [list(self.resource)], "token": self.token}
            self.session.run(self.session.operation("release"), self.call, fields)
        except DibsError:  # lost already, or the store is busy: then it ends by itself
            pass

    def _go(self) -> dict[str, Any]:
        """Run and verify; whatever happens is recorded."""
        begun, code, result = monotonic(), None, "interrupted"
        before = {
            number: signal.signal(number, _interrupt) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        }
        complaint = ""
        try:
            code = self._command(self.words.rest)
            result = "failed" if code else "unchecked" if self.unverified else "unverified"
            if result == "unverified":
                complaint = self._verified()
                result = "unverified" if complaint else "ok"
        except _Interrupted:
            pass
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            seconds = round(monotonic() - begun, 3)
            # under way there may be an error on its way up; recording goes first all the same
            fenced = self._record(result, seconds, code)
        return self._outcome(result, code, complaint, fenced)

    def _record(self, result: str, seconds: float, code: int | None) -> Fenced | None:
        try:
            self._run(
                deploys.FINISH, result=result, commit=self.commit, seconds=seconds, exit=code, keep=self.keep
            )  # fmt: skip
        except Fenced as error:
            return error
        return None

    def _outcome(self, result: str, code: int | None, complaint: str, fenced: Fenced | None) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "target": self.target, "commit": self.commit, "behind": self.behind, "token": self.token,
            "verified": result == "ok", "exit": code, "result": result,
            **{name: True for name, was in self.said.items() if was},
        }  # fmt: skip
        if result == "interrupted":
            raise Failed(f"the deploy of {self.target} was interrupted; how far it came is not known.", **shown)
        if result == "failed":
            raise Failed(f"the command ended with {code}; {self.target} may be half deployed.", **shown)
        if result == "unverified":
            raise Unverified(f"the command ran, but the verification failed: {complaint}", **shown, started=True)
        if fenced is not None:
            message = f"it ran, but the claim was lost on the way: {fenced.message} Look at what is deployed."
            raise Fenced(message, **{**fenced.fields, **shown, "token": fenced.fields.get("token")})
        return shown

    def _environment(self) -> dict[str, str]:
        own = {"DIBS_AGENT": self.call.agent} if self.call.agent else {}
        return {
            **os.environ, **own, "DIBS_DEPLOY": self.target, "DIBS_TOKEN": str(self.token), "DIBS_COMMIT": self.commit,
        }  # fmt: skip

    def _command(self, words: Sequence[str]) -> int:
        """The command, with this terminal; the claim is renewed while it runs. Its exit code."""
        out = sys.stderr if self.words.json else None  # with --json, stdout has one object and nothing else
        sys.stdout.flush()
        try:
            child = subprocess.Popen(words, env=self._environment(), stdout=out)  # noqa: S603 - it is what was asked for
        except OSError as error:
            sys.stderr.write(f"dibs: {words[0]} cannot be started: {error.strerror}\n")
            return 127
        try:
            while True:
                try:
                    return child.wait(timeout=RENEW)
                except subprocess.TimeoutExpired:
                    self._renew()
        except _Interrupted as interrupted:
            _end(child, interrupted.number)
            raise

    def _renew(self) -> None:
        """Keep the target while the command runs. Lost is lost: it is said once, and the command goes on."""
        try:
            self.call.facts.clear()
            fields = {"resources": [list(self.resource)]}
            self.session.run(self.session.operation("renew"), self.call, fields)
        except (Fenced, Killed, NotFound) as error:
            if not self.lost:
                sys.stderr.write(f"dibs: {error.message}\n")
            self.lost = True
        except DibsError:  # the store is busy: there are several more chances before the deadline
            pass

    def _verified(self) -> str:
        """Try the verification until it passes or its time is over. "" if it passed, else what it said last."""
        until = monotonic() + self.patience
        tries = 0
        while True:
            complaint = self._verify_once(max(1.0, until - monotonic()))
            pause = PAUSES[min(tries, len(PAUSES) - 1)]
            if not complaint or monotonic() + pause > until:
                return complaint
            tries += 1
            self._renew()
            clock.sleep(pause)

    def _verify_once(self, timeout: float) -> str:
        try:
            done = subprocess.run(  # noqa: S603 - a line of the shell by declaration
                ["/bin/sh", "-c", self.verify],
                env=self._environment(),
                capture_output=True,
                text=True,
                check=False,
                errors="replace",
                timeout=timeout,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            return f"`{self.verify}` took too long"
        if done.returncode == 0:
            return ""
        said = " ".join((done.stderr.strip() or done.stdout.strip())[-300:].split())
        return f"`{self.verify}` ended with {done.returncode}{f': {said}' if said else ''}"


def _interrupt(number: int, _: FrameType | None) -> None:
    raise _Interrupted(number)


def _end(child: subprocess.Popen[bytes], number: int) -> None:
    """Pass the signal on, unless the terminal sent it to the command as well; then wait, but not for ever."""
    if not (number == signal.SIGINT and _in_foreground()) and child.poll() is None:
        child.send_signal(number)
    try:
        child.wait(timeout=MERCY)
    except (subprocess.TimeoutExpired, _Interrupted):
        child.kill()
        child.wait()


def _in_foreground() -> bool:
    """Do this process and the command get what is typed at the terminal?"""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False
