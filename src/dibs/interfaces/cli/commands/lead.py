"""`dibs lead -- CMD`: run a command as the only leader. Who leads is who holds the claim on `role:NAME`.

What happens, in short: it waits in line for the claim; runs the command while it renews the claim; gives it back when
the command ends, whose exit code is its own.
- this process dies: its claim ends as soon as the next in line looks, within about a second, and its command with it.
- the claim is lost (killed, its maximum life reached, the name taken over): the command is ended; exit 1.
- it stops (SIGSTOP, a machine that sleeps): when the claim expires the keeper ends the command, before the next
  leader's begins; back again it is refused.
- the store cannot be used: the command runs until the claim expires, and not longer.
What the command does elsewhere should be under DIBS_LEADER_TOKEN: a check of it refuses a former leader.
"""

from __future__ import annotations

import os
import sys

from dibs import jsontext
from dibs.errors import Busy, Held, Invalid, Unavailable, named
from dibs.interfaces.cli import parse
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.long_running import SIGNALLED, leave, on_signals, open_workspace
from dibs.machine import clock, durations
from dibs.machine.signals import Interrupted
from dibs.operations.core.declare import Field
from dibs.workers import child_process
from dibs.workers.held_command import HeldCommand, Hold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from dibs.interfaces.python.workspace import Workspace

FIELDS = (
    Field("name", "text", "the role (default orchestrator): the claim is on role:NAME", default="orchestrator",
          metavar="NAME"),
    Field("wait", "duration", "how long to wait to become the leader (default: no limit)", metavar="D"),
    Field("ttl", "duration", "how long the claim lasts between renewals (default 15s)", metavar="D"),
)  # fmt: skip
TTL_MS = 15_000  # a silent leader is replaced within this
WAIT_STEP_MS = 12 * 3_600_000  # of one wait; then it waits again, at the end of the line
STORE_TIMEOUT_MS = 300_000  # without a store before a candidate gives up
STORE_RETRY_S = 1.0  # between tries while the store cannot be used


def run(words: parse.Words) -> int:
    """Become the leader, and lead."""
    if not words.rest:
        raise Invalid("lead: name the command after `--`", usage=f"usage: {parse.usage('lead', FIELDS, 'CMD…')}")
    given = words.fields
    wait = durations.parse(given["wait"], "wait") if "wait" in given else None
    ttl = durations.parse(given["ttl"], "ttl") if "ttl" in given else TTL_MS
    ws = open_workspace(words, "lead")
    leader = _Leader(ws, given.get("name", "orchestrator"), ttl, quiet=words.json)
    on_signals(leader.interrupt)
    try:
        leader.elect(wait)
        code = leader.lead(words.rest)
    except Interrupted:
        return SIGNALLED + leader.signal
    finally:
        leave(ws)
    if words.json:
        shown = {"name": leader.name, "agent": ws.briefing["agent"], "token": leader.token, "exit": code}
        sys.stdout.write(jsontext.encode({"ok": code == 0, **shown}) + "\n")
    return code


class _Leader:
    """A candidate, then the leader."""

    def __init__(self, ws: Workspace, name: str, ttl: int, *, quiet: bool) -> None:
        self.ws, self.name, self.ttl, self.quiet = ws, name, ttl, quiet
        self.resource: Any = ws.session.paths.canonical(f"role:{name}", ws.session.cwd)
        self.token, self.signal, self._expires_at = 0, 0, ""
        self._command: HeldCommand | None = None
        self._said = ""

    def interrupt(self, number: int, _: FrameType | None) -> None:
        """A signal: pass it on to the command, or give up waiting."""
        self.signal = number
        if self._command is None:
            self.ws.session.interrupt = Interrupted()
            raise self.ws.session.interrupt
        self._command.interrupt(number)

    def elect(self, wait: int | None) -> None:
        """Wait in line for the claim. Raises Held at the timeout."""
        end = None if wait is None else clock.since_boot() + wait
        outage = 0
        while True:
            left = WAIT_STEP_MS if end is None else max(0, min(WAIT_STEP_MS, end - clock.since_boot()))
            try:
                self._claim(left)
            except Held:
                if end is not None and clock.since_boot() >= end:
                    raise
                outage = 0
            except (Busy, Unavailable) as error:
                outage = outage or clock.since_boot()
                if clock.since_boot() - outage >= STORE_TIMEOUT_MS:
                    raise
                self._say(error.message)
                clock.sleep(STORE_RETRY_S)
            else:
                return

    def _claim(self, wait: int) -> None:
        session = self.ws.session
        fields = {"resources": [self.resource], "ttl": self.ttl, "wait": wait, "reason": f"leads {self.name}"}
        operation, call = session.operation("claim"), self.ws.caller()
        answer = (
            session.run_waiting(operation, call, fields, self._waits) if wait else session.run(operation, call, fields)
        )
        self.token, self._expires_at = answer["token"], answer["expires_at"]

    def _waits(self, answer: dict[str, Any]) -> None:
        who = ", ".join(sorted({named(blocker) for blocker in answer.get("blockers", ())}))
        self._say(f"{who or 'another agent'} leads {self.name}; waiting to take over")

    def _say(self, text: str) -> None:
        if text != self._said and not self.quiet:
            sys.stderr.write(f"dibs: {text}\n")
            sys.stderr.flush()
        self._said = text

    def lead(self, command: list[str]) -> int:
        """Run the command while the claim is ours; its exit code. Raises what became of the claim if it was lost."""
        hold = Hold(
            f"role:{self.name}", self.token, self._expires_at, deadline=self.ws.session.deadline,
            confirm=lambda: self.ws.confirm(self.resource, token=self.token),
            renew=lambda: self.ws.renew(self.resource),
        )  # fmt: skip
        keeper = child_process.Keeper()
        environment = {**os.environ, "DIBS_LEADER_TOKEN": str(self.token)}
        self._say(f"{self.ws.briefing['agent']} leads {self.name} now")
        self._command = HeldCommand(keeper, hold, command, env=environment)
        code = self._command.run()
        keeper.close()
        assert code is not None, "there is no timeout"
        hold.attend()
        if hold.lost is not None and not self.signal:
            raise hold.lost
        if self.signal:
            return SIGNALLED + self.signal
        return code if code >= 0 else SIGNALLED - code


COMMAND = Command(
    "lead",
    "Run a command as the only leader; the next in line takes over when the leader is gone.",
    run=run,
    group="agents",
    fields=FIELDS,
    rest="CMD…",
    examples=(
        ("dibs lead -- dibs run start fleet.toml", "lead the role `orchestrator`"),
        ("dibs lead --name nightly --wait 1m -- ./nightly.sh", "give up if it does not lead within a minute"),
    ),
    notes=(
        (
            "The command's environment has DIBS_LEADER_TOKEN, which `dibs confirm role:NAME --token N` checks, and "
            "DIBS_AGENT."
        ),
        (
            "If the leader dies, the next takes over within about a second. If it hangs, the next takes over when its "
            "claim expires. A leader that lost the claim has its command ended and exits with 1. A claim is renewed "
            "for 8 hours at most, unless the config says otherwise (a pattern for `role:*` with max_life)."
        ),
        "Exit code: the command's; 1 if the claim was lost or not granted in time.",
    ),
    json="name, agent, token, exit",
)
