"""The Redis engine: the same seam on a server that several machines share.

Optimistic: reads are buffered with a signature of what they saw; one script checks that every read still holds and then
applies all writes and events at once, or applies nothing and gives the reads anew (scripts.py). `now` is the
server's clock. A connection that breaks is opened again and the same question asked again, for as long as the timeout
allows; a transaction that was sent has an id, so sending it twice does it once. What happens when the server itself
lost something is in epoch.py.

What is not here: any word of what dibs is for.
"""

from __future__ import annotations

from dibs.errors import Busy, DibsError, Unavailable
from dibs.facts import clock
from dibs.stores.move import moved_mark
from dibs.stores.redis import epoch, scripts
from dibs.stores.redis.cache import Cache
from dibs.stores.redis.clock_pace import Pace
from dibs.stores.redis.transaction import Guess, MovedError, RedisTransaction, Snapshot, bytes_of, words_of
from dibs.stores.redis.wire import Absent, Lost, Said, plain
from dibs.stores.seam import (
    MAX_RUNS,
    STALE_NOW,
    Engine,
    Event,
    Head,
    Seal,
    Unsettled,
    fill,
    sha1_of,
)
from dibs.stores.turns import Turns
from dibs.stores.urls import hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from dibs.stores.redis.transaction import Read
    from dibs.stores.redis.wire import Wire
    from dibs.stores.seam import Check, Description, T, Transaction

MANY_RUNS = MAX_RUNS * 8  # with those that only waited for their turn
MOMENT = 0.05  # seconds between two tries while the workspace is copied elsewhere
PATIENT = 3  # losses after which a transaction is let through alone; it gives up as busy after more, at the timeout
FORGETS = 590_000  # ms; the scripts remember for 600 s what became of a transaction
GOING = (b"done", b"again", b"gated", b"moving")  # what applying ends in on a server where all is in order
PAUSE = 0.001  # seconds before a transaction that lost a race is run again, grown with each loss
BREATH = 0.02  # seconds before a broken connection is opened again, doubled each time
TURN_S = 60.0  # for another thread of this process, which gives up by itself when the server is silent
WITNESSED = 5  # words of an answer that names the last event of its commit
ANSWERED = 3  # words of the answer to a transaction that was done before
DIGESTS: dict[str, str] = {}
SOON = ("LOADING", "BUSY", "TRYAGAIN", "MASTERDOWN")  # errors that pass by themselves


class RedisStore(Engine):
    """One workspace on a server, opened. Threads may share it; they take turns."""

    def __init__(self, wire: Wire, workspace: str, *, timeout: float = 5.0, memory: str = "", kept: str = "") -> None:
        self.wire = wire
        self.timeout = timeout
        self.expire = 0  # ms without a commit after which all of it may go; 0: never
        self.missing: Callable[[], None] | None = None  # told when no server listens there; may raise
        self.tag = f"{{dibs:{workspace}}}:"
        self.keys = [self.tag + name for name in ("v", "k", "i1", "i2", "head", "log")]
        self.remembered = epoch.Remembered(memory, kept)
        self._turns = Turns(self._set_right, nested=True)
        self._cache = Cache()
        self._pace = Pace(f"{memory}-clock" if memory else "")
        self._asked_at = clock.since_boot()  # right before the last question
        self._settling = False
        self._looking = False  # at the log alone, which may be unsettled
        self._allowed = False  # to write all that a commit writes; asked once

    # --- the verbs of the store

    def run(self, fn: Callable[[Transaction], T]) -> T:
        """Run `fn` in one serialisable transaction; durable as far as the server's settings say."""
        return self._turns.call(self._run, fn, TURN_S)

    def _set_right(self) -> None:
        """A call that was interrupted may have left these behind."""
        self._settling = self._looking = False

    def _run(self, fn: Callable[[Transaction], T]) -> T:
        """Run it until it is committed. Each run that was sent may be the one: the answer to it may have been lost."""
        trial = _Trial(self.timeout)
        results: list[T] = []
        cache = self._cache if self._cache.is_fresh(trial.began) and not self._settling else None
        snapshot: Snapshot | None = None if cache is None else Guess(cache)
        try:
            for number_of_run in range(MANY_RUNS):
                tx = RedisTransaction(self, trial.id, snapshot, cache, writes=True)
                snapshot = None
                started = clock.since_boot() if number_of_run else trial.began
                try:
                    result = fn(tx)
                except MovedError as moved_on:
                    snapshot = moved_on.snapshot
                    continue
                except (Unavailable, Unsettled):
                    raise
                except Exception as error:
                    if tx.is_guess:
                        cache = None
                        continue  # a guess is no reason to refuse anything
                    self._refuse_missing(tx, error)
                    raise
                if not tx.touched:
                    if tx.is_guess:
                        cache = None
                        continue  # nor to answer anything
                    self._refuse_missing(tx)
                    return result
                if clock.since_boot() - started > STALE_NOW:
                    continue
                results.append(result)
                answer = self._apply(tx, trial, len(results) - 1)
                if answer is None:
                    continue
                if answer[0] == b"done":
                    trial.alone = False
                    number = self._learn(tx, answer, len(results) - 1)
                    filled: T = fill(results[int(answer[2])], number)
                    return filled
                snapshot = self._next_try(tx, trial, answer)
        finally:
            if trial.alone:
                self._let_others(trial.id)
        raise Busy(tried=trial.lost)

    def _refuse_missing(self, tx: RedisTransaction, error: Exception | None = None) -> None:
        """A transaction that will not be applied: nobody has looked yet whether a part of the workspace is missing.

        An error that is no refusal (facts are needed) decides nothing.
        """
        if tx.reads and (error is None or isinstance(error, DibsError)):
            self.read([])

    def _learn(self, tx: RedisTransaction, answer: Any, attempt: int) -> int:
        """Keep what was written in the cache. Gives the number of the commit."""
        number = int(answer[1])
        self.remembered.rise(number)
        if len(answer) > WITNESSED:
            self.remembered.saw(number, int(answer[4]), answer[5])
        if int(answer[2]) != attempt:  # it was done by an earlier run, which wrote something else
            self._cache.clear()
            return number
        time = int(answer[3]) if len(answer) > ANSWERED else 0
        self._cache.wrote(number, tx.now, time, [(bytes_of(key), texts) for key, texts in tx.written.items()])
        return number

    def _next_try(self, tx: RedisTransaction, trial: _Trial, answer: Any) -> Snapshot | None:
        """Wait as is fit before the transaction is run again; the reads in the answer save a trip."""
        over = clock.since_boot() > trial.end
        if answer[0] == b"again" and tx.is_guess and not trial.guessed:
            trial.guessed = True  # the first wrong guess is no lost race
            if int(answer[1]) < self.remembered.number:
                return None  # to be looked into with the next question
            return self._take(answer, tx.reads)
        if answer[0] == b"moving":
            if over:
                moved_mark.refuse_write(answer[1].decode(), hidden(self.wire.url), 0)
            clock.sleep(MOMENT)
            return None
        if over and trial.lost + trial.gated > PATIENT:
            raise Busy(tried=trial.lost + trial.gated)
        if answer[0] == b"gated":
            trial.gated += 1
            clock.sleep(PAUSE * min(trial.gated + 1, 16) * (0.5 + _chance()))
            return None
        trial.lost += 1
        trial.alone = trial.lost > PATIENT
        if not trial.alone and trial.lost > 1:  # the first time at once: what came back is new
            clock.sleep(PAUSE * min(trial.lost, 8) * (1 + _chance()))
        return self._take(answer, tx.reads)

    def _take(self, answer: Any, reads: Sequence[Read]) -> Snapshot:
        """The snapshot in an answer; it goes into the cache."""
        snapshot = Snapshot(answer, reads)
        excess = min(self._pace.excess(snapshot.now), snapshot.now - snapshot.last)
        if excess > 0:
            self._hold_back(snapshot, answer[6], excess)
        self._pace.note(self._asked_at, snapshot.now)
        self._cache.learn(reads, answer[-1], snapshot)
        return snapshot

    def _hold_back(self, snapshot: Snapshot, offset: bytes, excess: int) -> None:
        """The server's clock was set forward: the store's clock goes on from where it stood."""
        try:
            self.script(scripts.HOLD_BACK, [self.keys[4]], lambda: [offset, str(excess)])
        except DibsError:
            pass  # one who may only read: then it counts for this call alone
        snapshot.now -= excess

    def _let_others(self, identifier: str) -> None:
        """It was to commit alone for a moment, and will not."""
        try:
            self.wire.call("EVAL", scripts.LEAVE, 1, f"{self.tag}gate", identifier)
        except (Lost, Said):
            pass  # the moment passes by itself

    def look(self, fn: Callable[[Transaction], T]) -> T:
        """Run `fn` on one consistent snapshot."""
        return self._turns.call(self._look, fn, TURN_S)

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
        """Nothing to prepare: a wake is kept for a minute until somebody takes it."""

    def unwatch(self, name: str) -> None:
        """Drop a wake that nobody will wait for; if that fails, it goes by itself."""
        try:
            self._turns.call(lambda key: self.wire.call("DEL", key), f"{self.tag}w:{name}", TURN_S)
        except (Lost, Said):
            pass

    def wait(self, name: str, timeout: float) -> bool:
        """Wait until `name` is woken, at most `timeout` seconds."""
        return self._blocked(lambda: self.wire.wait(f"{self.tag}w:{name}", timeout), timeout)

    def follow(self, after: int, timeout: float) -> bool:
        """Wait until the log has an event behind number `after`; the server wakes us."""
        last = f"{after}-1"
        return self._blocked(
            lambda: bool(self.wire.block("XREAD", timeout, "COUNT", 1, "STREAMS", self.keys[5], last)), timeout
        )

    def _blocked(self, wait: Callable[[], bool], timeout: float) -> bool:
        """A wait on the server; where it does not answer, a short pause: the caller looks again."""
        try:
            return wait()
        except (Lost, Said):
            clock.sleep(min(timeout, 0.2))
            return False

    def head(self) -> Head:
        """Where the log ends. What is not settled yet is no hindrance: nothing is decided by it."""

        def tail(_: None) -> Head:
            before, self._looking = self._looking, True
            try:
                return self._look(lambda tx: tx.tail())
            finally:
                self._looking = before

        return self._turns.call(tail, None, TURN_S)

    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        """Events with a number above `after`, in order."""

        def entries(first: str) -> Any:
            self.head()  # refuses what is not to be gone on with
            return self.ask("XRANGE", self.keys[5], first, "+", "COUNT", limit)

        found = self._turns.call(entries, f"{after + 1}-1", TURN_S)
        events = []
        for entry, fields in found:
            said = dict(zip(fields[::2], fields[1::2], strict=True))
            now, seq = int(said[b"n"]), int(entry.partition(b"-")[0])
            wall = int(said.get(b"w", now))
            events.append(Event(seq, int(said[b"c"]), now, wall, said[b"b"].decode(), said[b"l"].decode()))
        return events

    def seals(self) -> list[Seal]:
        """The seals, in order."""
        flat = self._turns.call(lambda key: self.ask("HGETALL", key), f"{self.tag}seals", TURN_S)
        pairs = list(flat.items()) if isinstance(flat, dict) else list(zip(flat[::2], flat[1::2], strict=True))
        found = []
        for seq, text in pairs:
            link, _, body = text.decode().partition("\n")
            found.append(Seal(int(seq), link, body))
        return sorted(found, key=lambda seal: seal.seq)

    def close(self) -> None:
        """Close the connections."""
        self.wire.close()
        self.remembered.close()

    # --- for people

    @property
    def address(self) -> str:
        """Where the server is; with the password, if the URL has one."""
        return self.wire.url

    def describe(self) -> Description:
        """What the server says of itself."""
        from dibs.stores.redis import health

        return health.describe(self)

    def check(self) -> Iterator[Check]:
        """The checks of `dibs doctor` on the server and on the workspace there."""
        from dibs.stores.redis import health

        return health.check(self)

    # --- after a loss

    def settle(self, fn: Callable[[], bool]) -> None:
        """Let `fn` give up what rests on lost commits: it runs transactions, and says whether there is more to do."""
        self._turns.call(self._settle, fn, TURN_S)

    def _settle(self, fn: Callable[[], bool]) -> None:
        since = self.ask("HGET", self.keys[4], "since")
        self._settling = True
        try:
            while fn():
                pass
        except _SettledError:
            return
        finally:
            self._settling = False
        self.script(scripts.SETTLED, [self.keys[4]], lambda: [since])

    # --- asking the server

    def ask(self, *words: Any) -> Any:
        """One command, asked again when the connection broke; only for those that may be asked twice."""
        return self._patiently(lambda: self.wire.call(*words))

    def script(self, text: str, keys: Sequence[str], words: Callable[[], list[Any]]) -> Any:
        """Run a script, named by its digest once it was sent. `words` are asked for after the connection stands."""
        wire = self.wire

        def once() -> Any:
            if not wire.run_id:
                wire.identify()  # connects
            self._asked_at = clock.since_boot()
            try:
                return wire.call("EVALSHA", _digest(text), len(keys), *keys, *words())
            except Said as error:
                if not str(error).startswith("NOSCRIPT"):
                    raise
                return wire.call("EVAL", text, len(keys), *keys, *words())

        return self._patiently(once)

    def ask_who(self) -> None:
        """Ask the server anew for its name."""
        self._patiently(self.wire.identify)

    def _patiently(self, once: Callable[[], Any]) -> Any:
        """Again after a broken connection, with growing pauses, for as long as the timeout allows."""
        end = clock.since_boot() + int(self.timeout * 1000)
        breath = BREATH
        while True:
            try:
                return once()
            except Said as error:
                if not str(error).startswith(SOON) or clock.since_boot() >= end:
                    raise plain(error, self.wire.url) from None
            except Lost as error:
                if self.missing is not None and isinstance(error, Absent):
                    self.missing()
                self._cache.clear()  # another server may stand there by now
                if clock.since_boot() >= end:
                    raise plain(error, self.wire.url) from None
            clock.sleep(breath * (1 + _chance()))
            breath = min(breath * 2, 0.5)

    def read(self, reads: Sequence[Read], *, looks: bool = True) -> Snapshot:
        """All these reads at one moment. Who looks wants to hear if a part is missing; who writes will."""

        def words() -> list[Any]:
            how = 2 if self._looking else 1 if self._settling else 0 if looks else 3
            return [self.wire.run_id, how, self.remembered.witness, len(reads), *words_of(reads)]

        for _ in range(MAX_RUNS):
            answer = self.script(scripts.READ, self.keys, words)
            if self._accepted(answer):
                snapshot = self._take(answer, reads)
                if epoch.check(self, snapshot.commit, snapshot.since):
                    return snapshot
        raise Busy(tried=MAX_RUNS)

    def has_seal(self, seq: int) -> bool:
        """Does a seal stand at this event?"""
        return bool(self.ask("HEXISTS", f"{self.tag}seals", seq))

    def _apply(self, tx: RedisTransaction, trial: _Trial, attempt: int) -> Any:
        """Check and apply; None where that has to be done on another footing, from the start."""
        rest = tx.writes()
        reads = [*words_of(tx.reads), *[tx.snapshot.signature(read) for read in tx.reads]]
        commit = f"{'>' if tx.is_guess else ''}{tx.snapshot.commit}"
        trial.refuse_late(self.wire.url)
        sent = 0

        def words() -> list[Any]:
            nonlocal sent
            sent += 1
            head = (
                f"{self.wire.run_id} {self._settling:d} {trial.id} {attempt} {commit} {tx.now} {trial.lost} "
                f"{bool(tx.sealed):d} {not self._allowed:d} {len(tx.reads)} {len(reads) + 2}"
            )
            return [head, *reads, *rest]

        try:
            answer = self.script(scripts.APPLY, self.keys, words)
        except Unavailable as error:
            if sent > 1 or (sent and error.fields.get("unreachable")):
                raise _unknown(error) from None
            raise
        if sent > 1:
            trial.unsure = trial.unsure or trial.began
        self._allowed = self._allowed or answer[0] in GOING
        return answer if answer[0] in GOING or self._accepted(answer) else None

    def _accepted(self, answer: Any) -> bool:
        """May this answer be gone on with? What can be put right is, and then it is to be asked again."""
        status, where = answer[0], hidden(self.wire.url)
        if status == b"ok":
            return True
        self._cache.clear()  # what was certain here is so no longer
        if status == b"void":
            raise Unsettled
        if status == b"settled":
            raise _SettledError
        if status == b"damaged":
            epoch.damaged(self)
        if status == b"noperm":
            error = Said(f"NOPERM this user may not use {answer[1].decode()}")
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


class _Trial:
    """One transaction on its way through as many runs as it takes."""

    def __init__(self, timeout: float) -> None:
        self.id = clock.random_id()
        self.began = clock.since_boot()
        self.end = self.began + int(timeout * 1000)
        self.lost = self.gated = 0
        self.alone = False  # the server keeps others out until it is done
        self.guessed = False  # a guess was wrong
        self.unsure = 0  # since when there is a run that was sent and not answered

    def refuse_late(self, url: str) -> None:
        """The server forgets what became of a transaction; after that sending another run could do it twice."""
        if self.unsure and clock.since_boot() - self.unsure > FORGETS:
            raise _unknown(plain(Lost("it was paused for long"), url))


class _SettledError(Exception):
    """Another caller gave up already what had to be."""


def _digest(text: str) -> str:
    """The name under which a server that has run a script before knows it."""
    digest = DIGESTS.get(text)
    if digest is None:
        digest = DIGESTS[text] = sha1_of(text.encode())
    return digest


def _unknown(error: DibsError) -> DibsError:
    """A transaction was sent, and no answer came: it may have been done."""
    message = f"{error.message} Whether it was done is not known: ask again with the same request id, or look."
    return Unavailable(message.replace(" Nothing was changed.", ""), **error.fields, unknown=True)


def _chance() -> float:
    return int(clock.random_id()[:2], 16) / 256
