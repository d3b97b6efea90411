"""Renewal: one thread a workspace that renews the claims that are held in a `with`, until the end of each block.

What happens, in short:
- in good time: after a third of what is left of a claim, and at least every minute, so that a loss is noticed.
- lost (expired, taken away, the agent killed): `claim.lost` says why, `claim.live` is False, `claim.check()` raises;
  `claim.on_lost` is called, or else the loss is logged.
- the longest life of a claim: a renewal that brings no later deadline is the last one.
- the store is busy or cannot be used: tried again until the claim's deadline.
- an interrupt: nothing here is a lock that could stay taken. Claims come and go by one call each of a C function.
- a fork: the child has no thread, and renews nothing of its parent's.
- the end of the process: the thread is a daemon; one that is killed leaves what every killed process leaves.
"""

from __future__ import annotations

import os
from _queue import Empty, SimpleQueue

from dibs.errors import Busy, DibsError, Fenced, Unavailable
from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from threading import Thread

    from dibs.interfaces.python.claim import Claim

LONGEST_BEAT_MS = 60_000  # between two renewals: then a claim that was taken away is noticed within a minute
SHORTEST_BEAT_MS = 20  # a claim of less than a tenth of a second cannot be kept by asking
RETRY_MS = 200  # between two tries while the store cannot be used
LINGER_MS = 2_000  # that the thread waits for another claim: a program that claims often needs no new one each time
JOIN_S = 5.0  # that `stop` waits for a running renewal: the timeout of a store


class Renewals:
    """The claims of one workspace that are renewed."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._process = os.getpid()
        self._due: dict[int, tuple[int, Claim]] = {}  # id of the handle → when it is to be renewed
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._thread: Thread | None = None
        self._wakes_at = 0  # when the thread looks again by itself
        self._stopped = False

    def add(self, claim: Claim) -> None:
        """Renew it from now on."""
        if os.getpid() != self._process:
            self._clear()
        self._due[id(claim)] = (_next_beat(claim), claim)
        thread = self._thread
        if thread is None or not thread.is_alive():
            self._start()
        elif self._due[id(claim)][0] < self._wakes_at:
            self._bell.put(None)

    def remove(self, claim: Claim) -> None:
        """Renew it no longer."""
        self._due.pop(id(claim), None)

    def stop(self) -> None:
        """End the thread, after a running renewal."""
        self._stopped = True
        self._due.clear()
        thread, self._thread = self._thread, None
        if thread is not None and os.getpid() == self._process:
            self._bell.put(None)
            from threading import current_thread

            if thread is not current_thread():
                thread.join(JOIN_S)

    def _start(self) -> None:
        from threading import Thread

        self._stopped = False
        self._thread = Thread(target=self._run, name="dibs-renewal", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        """The thread: renew what is due, until there has been nothing to renew for a while."""
        idle_since = clock.since_boot()
        while not self._stopped:
            now = clock.since_boot()
            for key, (due, claim) in list(self._due.items()):
                if due <= now and key in self._due:
                    self._attend(key, claim)
            now = clock.since_boot()
            if self._due:
                idle_since = now
            elif now - idle_since >= LINGER_MS:
                return  # `add` sees that it is not alive, and starts another one
            self._wakes_at = min([due for due, _ in list(self._due.values())], default=idle_since + LINGER_MS)
            try:
                self._bell.get(timeout=max(0.001, (self._wakes_at - now) / 1000))
            except Empty:
                pass

    def _attend(self, key: int, claim: Claim) -> None:
        """Renew one claim."""
        before, until = claim.expires_at, claim.until
        try:
            claim.renew_all()
        except (Busy, Unavailable) as error:
            if clock.since_boot() < until:
                self._again(key, claim, clock.since_boot() + RETRY_MS)
            else:
                self._lose(key, claim, error)
        except DibsError as error:
            self._lose(key, claim, error)
        except Exception as error:  # noqa: BLE001 - a closed store, the interpreter's end: nobody is left to tell
            if not self._stopped:
                self._lose(key, claim, Unavailable(f"could not be renewed: {error}"))
        else:
            if claim.expires_at <= before and claim.until - clock.since_boot() <= LONGEST_BEAT_MS:
                self._again(key, claim, claim.until + SHORTEST_BEAT_MS)  # its longest life: look how it ended
            else:
                self._again(key, claim, _next_beat(claim))

    def _again(self, key: int, claim: Claim, due: int) -> None:
        if key in self._due:
            self._due[key] = (due, claim)

    def _lose(self, key: int, claim: Claim, error: DibsError) -> None:
        if self._due.pop(key, None) is None:
            return  # the block has ended meanwhile
        claim.lost = error if isinstance(error, Fenced) else Fenced(
            f"the claim on {', '.join(claim.resources)} is lost: {error.message}", resource=claim.resources[0],
            given=claim.token, holder=None,
        )  # fmt: skip
        if claim.on_lost is not None:
            claim.on_lost(claim, error)
            return
        import logging

        logging.getLogger("dibs").warning("lost %s: %s", ", ".join(claim.resources), error.message)


def _next_beat(claim: Claim) -> int:
    left = claim.until - clock.since_boot()
    return clock.since_boot() + max(SHORTEST_BEAT_MS, min(LONGEST_BEAT_MS, left // 3))
