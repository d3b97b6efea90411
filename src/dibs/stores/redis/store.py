"""The Redis engine: the same seam on a server that several machines share.

Optimistic: reads are buffered with a signature of what they saw. One script checks that every read still holds, then
applies all writes and events at once; or it applies nothing and returns fresh reads (scripts.py). `now` is the server's
clock. A lost connection is reopened and the command retried until the timeout; a transaction has an id, so sending it
twice applies it once. epoch.py handles a server that lost commits.

What is not here: any word of what dibs is for.
"""

from __future__ import annotations

import os

from dibs.error_subtypes import Unreachable
from dibs.errors import Busy, DibsError, Invalid, Unavailable
from dibs.machine import caller, clock
from dibs.stores.move import moved_mark
from dibs.stores.opening import LEAVE, MEMORY_FILE, WAIT
from dibs.stores.redis import epoch, scripts
from dibs.stores.redis.cache import Cache
from dibs.stores.redis.clock_pace import Pace
from dibs.stores.redis.transaction import Guess, MovedError, RedisTransaction, Snapshot, bytes_of, words_of
from dibs.stores.redis.wire import ConnectionLost, ServerDown, ServerError, open_wire, plain
from dibs.stores.seam import (
    MAX_CLOCK_AGE_MS,
    MAX_RUNS,
    MAX_STALE_RUNS,
    BaseStore,
    Event,
    Head,
    Seal,
    Unsettled,
    fill,
    sha1_of,
    too_slow,
    unknown_outcome,
)
from dibs.stores.turns import Turns
from dibs.stores.urls import hidden, option_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from dibs.stores.opening import Opening
    from dibs.stores.redis.autostart import Autostart
    from dibs.stores.redis.group import Group
    from dibs.stores.redis.transaction import Read
    from dibs.stores.redis.wire import Wire, Word
    from dibs.stores.seam import Check, Description, Outcome, T, Transaction

MAX_RUNS_AND_WAITS = MAX_RUNS * 8  # runs and waits for the gate together
MOVE_POLL_S = 0.05  # between two attempts while the workspace is being moved
# Lost races after which a transaction gets the gate alone. With more, it gives up as busy at the timeout.
LOSSES_BEFORE_GATE = 3
OUTCOME_KEPT_MS = 590_000  # the scripts keep the outcome of a transaction for 600 s
NORMAL_STATUSES = (b"done", b"again", b"gated", b"moving")  # APPLY's answers on a healthy server
RETRY_PAUSE_S = 0.001  # before a transaction that lost a race is run again; grows with each loss
RECONNECT_BACKOFF_S = 0.02  # before a lost connection is reopened; doubles each time
TURN_TIMEOUT_S = 60.0  # for another thread of this process, which has its own timeout when the server is silent
WORDS_BEFORE_LINK = 5  # a longer answer names the last event of its commit
WORDS_OF_KNOWN_OUTCOME = 3  # the answer for a transaction that was applied before
DIGESTS: dict[str, str] = {}
TRANSIENT_ERRORS = ("LOADING", "BUSY", "TRYAGAIN", "MASTERDOWN")  # retried until the timeout


def open_store(opening: Opening) -> RedisStore:
    """The workspace on a server; a new one begins there. A local server that is down is started."""
    store = connect(opening)
    if opening.missing and opening.url.startswith(("redis:", "unix:")):
        if os.path.exists(fallback_mark(opening.workspace)):
            from dibs.stores.redis import autostart

            autostart.refuse_fallback_elsewhere(opening.local, opening.url, opening.workspace)
        if opening.missing != LEAVE:
            store.missing = _starter(opening)
    if not opening.is_pinned:
        epoch.begin(store)
    return store


def connect(opening: Opening) -> RedisStore:
    """The workspace on a server; nothing is asked of it yet."""
    url = opening.url
    if not opening.workspace:
        message = (
            "a store that several machines share needs the `id` of this workspace in .dibs/config.toml; run `dibs init`"
        )
        raise Invalid(message, store=url)
    try:
        wire = open_wire(url, opening.timeout)
    except ImportError as error:
        from dibs.machine import extras

        message = f"this store needs {extras.advice('redis')}: {error}"
        raise Unavailable(message, store=url) from None
    memory, kept = f"{opening.local}/{MEMORY_FILE}", opening.second_copy(MEMORY_FILE)
    store = RedisStore(wire, opening.workspace, timeout=opening.timeout, memory=memory, kept=kept)
    if "expire=" in url:
        from dibs.machine import durations

        store.expire = durations.parse(option_of(url, "expire"), "expire in the URL of the store")
    return store


def fallback_mark(workspace: str) -> str:
    """The file that tells other clones on this machine that another store is the fallback for their server."""
    environ = caller.environ()
    state = environ.get("XDG_STATE_HOME")
    if not state:
        state = f"{environ.get('HOME') or os.path.expanduser('~')}/.local/state"
    return f"{state}/dibs/fallback-{workspace}"


def _starter(opening: Opening) -> Callable[[], None]:
    """The function that is called when no server listens; loaded only then."""
    known: list[Autostart] = []

    def start() -> None:
        if not known:
            from dibs.stores.redis.autostart import Autostart

            known.append(Autostart(opening.local, opening.url, patient=opening.missing == WAIT))
        known[0]()

    return start


class RedisStore(BaseStore):
    """One open workspace on a server. Threads may share it; they take turns."""

    def __init__(self, wire: Wire, workspace: str, *, timeout: float = 5.0, memory: str = "", kept: str = "") -> None:
        self.wire = wire
        self.timeout = timeout
        self.expire = 0  # ms without a commit after which the workspace expires; 0: never
        self.missing: Callable[[], None] | None = None  # called when no server listens there; may raise
        self.tag = f"{{dibs:{workspace}}}:"
        self.keys = [self.tag + name for name in ("v", "k", "i1", "i2", "head", "log")]
        self.remembered = epoch.Remembered(memory, kept)
        self._turns = Turns(self._repair, hidden(wire.url), nested=True)
        self._cache = Cache()
        self._pace = Pace(f"{memory}-clock" if memory else "")
        self._asked_at = clock.since_boot()  # right before the last command
        self._ahead: int | None = None  # the server's time of day in an answer minus the clock when it was asked
        self._settling = False
        self._looking = False  # reading the log only, which works unsettled
        self._allowed = False  # the user has every permission that a commit needs; checked once

    # --- the verbs of the store

    def run(self, fn: Callable[[Transaction], T]) -> T:
        """Run `fn` in one serialisable transaction; durable as far as the server's settings say."""
        return self._turns.call(self._run, fn, TURN_TIMEOUT_S)

    def run_many(self, fns: Sequence[Callable[[Transaction], Any]]) -> list[Outcome]:
        """Run several transactions and apply them by one script (group.py)."""
        from dibs.stores.redis import group

        return group.run(self, fns)

    def _repair(self) -> None:
        """Reset what an interrupted call may have left."""
        self._settling = self._looking = False

    def _run(self, fn: Callable[[Transaction], T]) -> T:
        """Run it until it is committed.

        Any run that was sent may be the committed one: its answer may have been lost.
        """
        commit_attempt = _CommitAttempt(self.timeout)
        results: list[T] = []
        stale = 0
        cache = self._cache if self._cache.is_fresh(commit_attempt.began) and not self._settling else None
        snapshot: Snapshot | None = None if cache is None else Guess(cache)
        try:
            for number_of_run in range(MAX_RUNS_AND_WAITS):
                tx = RedisTransaction(self, commit_attempt.id, snapshot, cache, writes=True)
                snapshot = None
                started = clock.since_boot() if number_of_run else commit_attempt.began
                try:
                    result = fn(tx)
                except MovedError as moved_on:
                    snapshot = moved_on.snapshot
                    cache = None if tx.is_guess else cache
                    continue
                except (Unavailable, Unsettled):
                    raise
                except Exception as error:
                    if tx.is_guess:
                        cache = None
                        continue  # a guess must not refuse anything
                    self._refuse_missing(tx, error)
                    raise
                if not tx.touched:
                    if tx.is_guess:
                        cache = None
                        continue  # nor answer anything
                    self._refuse_missing(tx)
                    return result
                if clock.since_boot() - started > MAX_CLOCK_AGE_MS:
                    stale += 1
                    if stale == MAX_STALE_RUNS and not results:
                        raise too_slow()
                    continue
                results.append(result)
                answer = self._apply(tx, commit_attempt, len(results) - 1)
                if answer is None:
                    continue
                if answer[0] == b"done":
                    commit_attempt.alone = False
                    number = self._learn(tx, answer, len(results) - 1)
                    filled: T = fill(results[int(answer[2])], number)
                    return filled
                snapshot = self._next_try(tx, commit_attempt, answer)
                cache = None if tx.is_guess else cache  # one wrong guess is enough
        finally:
            if commit_attempt.alone:
                self._open_gate(commit_attempt.id)
        raise Busy(tried=commit_attempt.lost)

    def _refuse_missing(self, tx: RedisTransaction, error: Exception | None = None) -> None:
        """Check for missing parts of the workspace, for a transaction that will not be applied: APPLY would check.

        An error that is not a refusal (facts are needed) decides nothing.
        """
        if tx.reads and (error is None or isinstance(error, DibsError)):
            self.read([])

    def _learn(self, tx: RedisTransaction, answer: Any, attempt: int) -> int:
        """Cache what was written. Returns the number of the commit."""
        number = int(answer[1])
        self.remembered.rise(number)
        if len(answer) > WORDS_BEFORE_LINK:
            self.remembered.saw(number, int(answer[4]), answer[5])
        if int(answer[2]) != attempt:  # an earlier run was applied, which wrote something else
            self._cache.clear()
            return number
        time = int(answer[3]) if len(answer) > WORDS_OF_KNOWN_OUTCOME else 0
        self._cache.wrote(number, tx.now, time, [(bytes_of(key), texts) for key, texts in tx.written.items()])
        return number

    def _next_try(self, tx: RedisTransaction | Group, commit_attempt: _CommitAttempt, answer: Any) -> Snapshot | None:
        """Back off before the transaction is run again; the reads in the answer save a round trip."""
        over = clock.since_boot() > commit_attempt.end
        if answer[0] == b"again" and tx.is_guess and not commit_attempt.guessed:
            commit_attempt.guessed = True  # the first wrong guess is not a lost race
            if int(answer[1]) < self.remembered.number:
                return None  # the next read looks into it
            return self._take(answer, tx.reads)
        if answer[0] == b"moving":
            if over:
                moved_mark.refuse_write(answer[1].decode(), hidden(self.wire.url), 0)
            clock.sleep(MOVE_POLL_S)
            return None
        if over and commit_attempt.lost + commit_attempt.gated > LOSSES_BEFORE_GATE:
            raise Busy(tried=commit_attempt.lost + commit_attempt.gated)
        if answer[0] == b"gated":
            commit_attempt.gated += 1
            clock.sleep(RETRY_PAUSE_S * min(commit_attempt.gated + 1, 16) * (0.5 + _chance()))
            return None
        commit_attempt.lost += 1
        commit_attempt.alone = commit_attempt.lost > LOSSES_BEFORE_GATE
        if not commit_attempt.alone and commit_attempt.lost > 1:  # the first retry is immediate: its reads are fresh
            clock.sleep(RETRY_PAUSE_S * min(commit_attempt.lost, 8) * (1 + _chance()))
        return self._take(answer, tx.reads)

    def _take(self, answer: Any, reads: Sequence[Read]) -> Snapshot:
        """The snapshot in an answer; also fills the cache."""
        snapshot = Snapshot(answer, reads)
        self._ahead = snapshot.wall - self._asked_at
        clock.hear(self._ahead)
        excess = min(self._pace.excess(snapshot.now), snapshot.now - snapshot.last)
        if excess > 0:
            self._hold_back(snapshot, answer[6], excess)
        self._pace.note(self._asked_at, snapshot.now)
        self._cache.learn(reads, answer[-1], snapshot)
        return snapshot

    def _hold_back(self, snapshot: Snapshot, offset: bytes, excess: int) -> None:
        """The server's clock was set forward: hold the store's clock back, so that it continues from where it stood."""
        try:
            self.script(scripts.HOLD_BACK, [self.keys[4]], lambda: [offset, str(excess)])
        except DibsError:
            pass  # a read-only user: then it counts for this call alone
        snapshot.now -= excess

    def _open_gate(self, identifier: str) -> None:
        """Give back the gate after a transaction that will not commit."""
        try:
            self.command("EVAL", scripts.LEAVE, 1, f"{self.tag}gate", identifier)
        except (ConnectionLost, ServerError):
            pass  # the gate expires by itself

    def look(self, fn: Callable[[Transaction], T]) -> T:
        """Run `fn` on one consistent snapshot."""
        return self._turns.call(self._look, fn, TURN_TIMEOUT_S)

    def _look(self, fn: Callable[[Transaction], T]) -> T:
        snapshot: Snapshot | None = None
        for _ in range(MAX_RUNS):
            tx = RedisTransaction(self, "", snapshot, writes=False)
            try:
                return fn(tx)
            except MovedError as moved_on:
                snapshot = moved_on.snapshot
        raise Busy(tried=MAX_RUNS)

    def watch(self, name: str) -> None:
        """Nothing to prepare: the server keeps a wake for a minute."""

    def unwatch(self, name: str) -> None:
        """Drop a wake that has no waiter any more; if that fails, it expires."""
        try:
            self.command("DEL", f"{self.tag}w:{name}")
        except (ConnectionLost, ServerError):
            pass

    def wait(self, name: str, timeout: float) -> bool:
        """Wait until `name` is woken, at most `timeout` seconds."""
        return self._blocked(lambda: self.wire.wait(f"{self.tag}w:{name}", timeout), timeout)

    def follow(self, after: int, timeout: float) -> bool:
        """Wait until the log has an event after number `after`; the server wakes us."""
        last = f"{after}-1"
        return self._blocked(
            lambda: bool(self.wire.block("XREAD", timeout, "COUNT", 1, "STREAMS", self.keys[5], last)), timeout
        )

    def _blocked(self, wait: Callable[[], bool], timeout: float) -> bool:
        """Wait on the server, over a separate connection; without an answer, pause: the caller looks again."""
        self._turns.refuse_forked()
        try:
            return wait()
        except (ConnectionLost, ServerError):
            clock.sleep(min(timeout, 0.2))
            return False

    def head(self) -> Head:
        """Where the log ends. Works also while the store is unsettled: nothing is decided by it."""

        def tail(_: None) -> Head:
            before, self._looking = self._looking, True
            try:
                return self._look(lambda tx: tx.tail())
            finally:
                self._looking = before

        return self._turns.call(tail, None, TURN_TIMEOUT_S)

    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        """Events with a number above `after`, in order."""

        def entries(first: str) -> Any:
            self.head()  # refuses a workspace that must not be used
            return self.ask("XRANGE", self.keys[5], first, "+", "COUNT", limit)

        found = self._turns.call(entries, f"{after + 1}-1", TURN_TIMEOUT_S)
        events = []
        for entry, fields in found:
            said = dict(zip(fields[::2], fields[1::2], strict=True))
            now, seq = int(said[b"n"]), int(entry.partition(b"-")[0])
            wall = int(said.get(b"w", now))
            events.append(Event(seq, int(said[b"c"]), now, wall, said[b"b"].decode(), said[b"l"].decode()))
        return events

    def seals(self) -> list[Seal]:
        """The seals, in order."""
        flat = self.ask("HGETALL", f"{self.tag}seals")
        pairs = list(flat.items()) if isinstance(flat, dict) else list(zip(flat[::2], flat[1::2], strict=True))
        found = []
        for seq, text in pairs:
            link, _, body = text.decode().partition("\n")
            found.append(Seal(int(seq), link, body))
        return sorted(found, key=lambda seal: seal.seq)

    def close(self) -> None:
        """Close the connections, after the turns of other threads."""

        def closed(wire: Wire) -> None:
            wire.close()
            self.remembered.close()

        self._turns.call(closed, self.wire, TURN_TIMEOUT_S)

    # --- for people

    @property
    def address(self) -> str:
        """Where the server is; with the password, if the URL has one."""
        return self.wire.url

    def describe(self) -> Description:
        """The server's description of itself."""
        from dibs.stores.redis import health

        return health.describe(self)

    def wall_ahead(self) -> int:
        """From the server's last answer, measured from before it was asked."""
        return super().wall_ahead() if self._ahead is None else self._ahead

    def check(self) -> Iterator[Check]:
        """The checks of `dibs doctor` on the server and on the workspace there."""
        from dibs.stores.redis import health

        return health.check(self)

    # --- after a loss

    def settle(self, fn: Callable[[], bool]) -> None:
        """Let `fn` give up what rests on lost commits: it runs transactions and returns whether more is left."""
        self._turns.call(self._settle, fn, TURN_TIMEOUT_S)

    def _settle(self, fn: Callable[[], bool]) -> None:
        since = self.ask("HGET", self.keys[4], "since")
        self._settling = True
        try:
            while fn():
                pass
        except _AlreadySettledError:
            return
        finally:
            self._settling = False
        self.script(scripts.SETTLED, [self.keys[4]], lambda: [since])

    # --- commands to the server: each in a turn, its caller's or one of its own, since answers come in order

    def command(self, *words: Word) -> Any:
        """Send one command once."""
        return self._turns.call(lambda words: self.wire.call(*words), words, TURN_TIMEOUT_S)

    def ask(self, *words: Word) -> Any:
        """Send one command, retried when the connection is lost; only for commands that may run twice."""
        return self._with_retries(lambda: self.wire.call(*words))

    def script(self, text: str, keys: Sequence[str], words: Callable[[], Sequence[Word]]) -> Any:
        """Run a script, by its digest once the server has it. `words` is called after the connection is open."""
        wire = self.wire

        def once() -> Any:
            if not wire.run_id:
                wire.identify()  # connects
            self._asked_at = clock.since_boot()
            given = words()  # once: what the server answers with NOSCRIPT was not run
            try:
                return wire.call("EVALSHA", _digest(text), len(keys), *keys, *given)
            except ServerError as error:
                if not str(error).startswith("NOSCRIPT"):
                    raise
                return wire.call("EVAL", text, len(keys), *keys, *given)

        return self._with_retries(once)

    def ask_run_id(self) -> None:
        """Ask the server again for its run id."""
        self._with_retries(self.wire.identify)

    def _with_retries(self, once: Callable[[], Any]) -> Any:
        """Do it in a turn; retry after a lost connection or a transient error."""
        return self._turns.call(self._retried, once, TURN_TIMEOUT_S)

    def _retried(self, once: Callable[[], Any]) -> Any:
        """Retry with growing backoff, until the timeout."""
        end = clock.since_boot() + int(self.timeout * 1000)
        backoff = RECONNECT_BACKOFF_S
        while True:
            try:
                return once()
            except ServerError as error:
                if not str(error).startswith(TRANSIENT_ERRORS) or clock.since_boot() >= end:
                    raise plain(error, self.wire.url) from None
            except ConnectionLost as error:
                if self.missing is not None and isinstance(error, ServerDown):
                    self.missing()
                self._cache.clear()  # another server may answer there now
                if clock.since_boot() >= end:
                    raise plain(error, self.wire.url) from None
            clock.sleep(backoff * (1 + _chance()))
            backoff = min(backoff * 2, 0.5)

    def read(self, reads: Sequence[Read], *, looks: bool = True) -> Snapshot:
        """All these reads at one moment. With `looks`, also check for missing parts; a writer's APPLY checks that."""

        def words() -> list[Word]:
            how = 2 if self._looking else 1 if self._settling else 0 if looks else 3
            return [self.wire.run_id, how, self.remembered.witness, len(reads), *words_of(reads)]

        for _ in range(MAX_RUNS):
            answer = self.script(scripts.READ, self.keys, words)
            if self._accepted(answer):
                snapshot = self._take(answer, reads)
                snapshot.run_id = self.wire.run_id
                if epoch.check(self, snapshot.commit, snapshot.since):
                    return snapshot
        raise Busy(tried=MAX_RUNS)

    def certified(self, snapshot: Snapshot) -> bool:
        """Is it still the server of that snapshot, and does it take writes? Asked where the server may refuse them."""
        if not self.wire.is_guarded:
            return True
        return bool(self.script(scripts.CERTIFY, [self.keys[4]], lambda: [snapshot.run_id, str(snapshot.now)]))

    def has_seal(self, seq: int) -> bool:
        """Does a seal stand at this event?"""
        return bool(self.ask("HEXISTS", f"{self.tag}seals", seq))

    def _apply(self, tx: RedisTransaction | Group, commit_attempt: _CommitAttempt, attempt: int) -> Any:
        """Check and apply; None if the transaction has to start again."""
        rest = tx.writes()
        reads = [*words_of(tx.reads), *[tx.snapshot.signature(read) for read in tx.reads]]
        commit = f"{'>' if tx.is_guess else ''}{tx.snapshot.commit}"
        commit_attempt.refuse_late(self.wire.url)
        sent = 0

        def words() -> list[Word]:
            nonlocal sent
            sent += 1
            head = (
                f"{self.wire.run_id} {self._settling:d} {commit_attempt.id} {attempt} {commit} {tx.now} "
                f"{commit_attempt.lost} {tx.is_exact:d} {not self._allowed:d} {len(tx.reads)} {len(reads) + 2} "
                f"{tx.commits}"
            )
            return [head, *reads, *rest]

        try:
            answer = self.script(scripts.APPLY, self.keys, words)
        except Unavailable as error:
            if sent > 1 or (sent and isinstance(error, Unreachable)):
                raise unknown_outcome(error) from None
            raise
        if sent > 1:
            commit_attempt.unsure = commit_attempt.unsure or commit_attempt.began
        self._allowed = self._allowed or answer[0] in NORMAL_STATUSES
        return answer if answer[0] in NORMAL_STATUSES or self._accepted(answer) else None

    def _accepted(self, answer: Any) -> bool:
        """Can we continue with this answer? Repairs what it can; the caller then retries."""
        status, where = answer[0], hidden(self.wire.url)
        if status == b"ok":
            return True
        self._cache.clear()  # its rows are no longer certain
        if status == b"void":
            raise Unsettled
        if status == b"settled":
            raise _AlreadySettledError
        if status == b"damaged":
            epoch.damaged(self)
        if status == b"noperm":
            error = ServerError(f"NOPERM this user may not use {answer[1].decode()}")
            raise plain(error, self.wire.url)
        if status == b"moved":
            moved_mark.refuse(answer[1].decode(), where)
        if status == b"run":
            epoch.another_server(self, answer[1].decode(), int(answer[2]))
            return False
        if status == b"other":
            epoch.replaced(self, int(answer[1]))
            return False
        if status == b"empty":
            epoch.empty(self, leftovers=answer[1] != b"0")
            return False
        message = f"the workspace on {where} was written by another version of dibs. Nothing was changed."
        raise Unavailable(message, store=where, schema=answer[1].decode())


class _CommitAttempt:
    """One transaction and all the runs it takes to commit."""

    def __init__(self, timeout: float) -> None:
        self.id = clock.random_id()
        self.began = clock.since_boot()
        self.end = self.began + int(timeout * 1000)
        self.lost = self.gated = 0
        self.alone = False  # it has the gate: the server keeps others out until it is done
        self.guessed = False  # a guess was wrong
        self.unsure = 0  # since when a run was sent and not answered

    def refuse_late(self, url: str) -> None:
        """Refuse another run once the server may have dropped the outcome: a second run could apply it twice."""
        if self.unsure and clock.since_boot() - self.unsure > OUTCOME_KEPT_MS:
            raise unknown_outcome(plain(ConnectionLost("it was paused for long"), url))


class _AlreadySettledError(Exception):
    """Another caller has settled the store already."""


def _digest(text: str) -> str:
    """The digest by which the server knows a script that it has run before."""
    digest = DIGESTS.get(text)
    if digest is None:
        digest = DIGESTS[text] = sha1_of(text.encode())
    return digest


def _chance() -> float:
    return int(clock.random_id()[:2], 16) / 256
