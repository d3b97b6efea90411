"""Runs a command under a claim, for `dibs deploy`, `dibs lead` and `dibs worker`.

`Hold` keeps the claim: it renews it well before the deadline, confirms it in between, and knows when it is lost.
`HeldCommand` runs a command under it (child_process.py starts it):
- the claim is lost (taken over, killed, expired): the command gets SIGTERM, then SIGKILL;
- the store is unavailable: the command runs until the claim's deadline, and not longer;
- this process gets a signal: it is passed on to the command's process group;
- this process dies, by any signal: the keeper kills the command; it also does so at the claim's deadline if this
  process is stopped.
The command has its own session: it can read its standard input, but has no controlling terminal.
"""

from __future__ import annotations

from dibs.errors import Busy, DibsError, Fenced, Unavailable
from dibs.machine import clock
from dibs.workers import child_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dibs.operations.claims.answers import RenewAnswer

CONFIRM_INTERVAL_S = 0.5  # between two checks of the claim: a check is cheap, and a lost claim should be noticed soon
MAX_RENEWAL_INTERVAL_S = 20.0  # a quarter of the claim's life, if that is less
MIN_RENEWAL_INTERVAL_S = 0.05


class Hold:
    """A claim that is kept while a command runs under it."""

    __slots__ = ("_confirm", "_deadline", "_due", "_name", "_renew", "beat", "child", "lost", "token", "until")

    def __init__(
        self,
        name: str,
        token: int,
        expires_at: str,
        *,
        deadline: Callable[[str], int],
        confirm: Callable[[], object],
        renew: Callable[[], RenewAnswer],
        longest_beat: float = MAX_RENEWAL_INTERVAL_S,
    ) -> None:
        """`confirm` and `renew` ask the store about this claim; the answer of `renew` has `renewed`.

        `deadline` is the session's: a time of an answer on this machine's clock since boot.
        """
        self._name, self.token = name, token
        self._deadline, self._confirm, self._renew = deadline, confirm, renew
        self.until = deadline(expires_at)  # on the clock since boot
        self.beat = max(MIN_RENEWAL_INTERVAL_S, min(longest_beat, (self.until - clock.since_boot()) / 4000))
        self._due = clock.since_boot() + self.beat * 1000
        self.lost: DibsError | None = None
        self.child: child_process.Child | None = None  # the command to end when the claim is lost

    def attend(self, instead: Callable[[], str] | None = None) -> None:
        """Renew the claim when that is due, else confirm it. `instead` is a call to the store that renews as well."""
        if self.child is not None:
            self.child.kill_after_grace()
        if self.lost is not None:
            return
        try:
            if instead is not None:
                self.kept(instead())
            elif clock.since_boot() >= self._due:
                self._renewed(self._renew())
            else:
                self._confirm()
        except (Busy, Unavailable) as error:
            if clock.since_boot() >= self.until:  # enough retries have failed
                self._lose(error)
        except DibsError as error:
            self._lose(error)

    def kept(self, expires_at: str) -> None:
        """Note the claim's new deadline."""
        self.until = self._deadline(expires_at)
        self._due = clock.since_boot() + self.beat * 1000
        if self.child is not None:
            self.child.keep(self.until)

    def _renewed(self, answer: RenewAnswer) -> None:
        (renewed,) = answer["renewed"]
        if renewed["token"] != self.token:
            raise Fenced(resource=self._name, given=self.token, holder=None)
        self.kept(renewed["expires_at"])

    def _lose(self, error: DibsError) -> None:
        self.lost = error
        if self.child is not None:
            self.child.end()


class HeldCommand:
    """One command under a hold. It waits for `run` before its first instruction."""

    def __init__(self, keeper: child_process.Keeper, hold: Hold, command: Sequence[str], **settings: Any) -> None:
        """`settings` are those of subprocess.Popen: the environment, the folder, the three streams."""
        self._hold = hold
        self.child = child_process.Child(keeper, command, until=hold.until, waits=True, **settings)
        hold.child = self.child
        self.signal = 0  # the signal that ended it

    def interrupt(self, number: int) -> None:
        """Pass a signal on; the second one kills. For a signal handler."""
        self.signal = self.signal or number
        self.child.end(number)

    def cancel(self) -> None:
        """Cancel it before it runs."""
        self.child.cancel()
        self._hold.child = None

    def run_attended(self) -> int:
        """The same, if another thread keeps the hold."""
        self.child.go()
        try:
            code = self.child.wait()
        finally:
            self._hold.child = None
        assert code is not None, "a wait without a timeout ends with the command"
        return code

    def run(self, timeout: float | None = None, *, leaves: bool = False) -> int | None:
        """Let it run to its end; its exit code (minus a signal's number), None if it was ended at the timeout.

        `leaves`: after a success, processes that it left running (a service) are not killed.
        """
        end = None if timeout is None else clock.since_boot() + int(timeout * 1000)
        late = False
        self.child.go()
        try:
            while True:
                code = self.child.wait(min(CONFIRM_INTERVAL_S, self._hold.beat), leaves=leaves)
                if code is not None:
                    return None if late else code
                self._hold.attend()
                if end is not None and clock.since_boot() >= end and not late:
                    late = True
                    self.child.end()
        finally:
            self._hold.child = None
