"""Hooks of this machine ask here: `.dibs/hook` connects by bash's /dev/tcp and gets its answer without starting Python.

A loopback port is open to every user, to every container with the host's network and to browsers. So nothing is read
beyond 200 bytes without the secret, which stands in a file that only this user can read (bash_script.py has the
protocol); a stranger costs neither a thread nor a wait; and the caller's pid is checked against its socket.

A request runs through the same code as in a hook's own process (`guards/hook.py`), with the caller's environment,
directory and processes. What a server cannot know as the caller would (another workspace, another store) is declined:
then the hook asks the store itself.

One thread, the leader, listens and answers: threads that run Python at the same time only hold each other up. When an
answer takes long (git runs, the disk is slow), another thread becomes the leader. A clock thread sees to that, tells
hooks that wait that they are worked on, drops what takes too long, and declines what comes while all threads are busy.
"""

from __future__ import annotations

import gc
import hmac
import os
import secrets
import selectors
import signal
import socket
import threading
import time
from collections import deque

from dibs.errors import Unavailable
from dibs.guards import hook
from dibs.ledger.cache import KeptLedgers
from dibs.machine import caller, clock, socket_owner
from dibs.machine.other_caller import Caller, Declined
from dibs.server.hook_port import bash_script
from dibs.workspace import serve_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.server.host import Host

WORKERS = 8  # most of them wait: for git, for its index, for the disk
ACCEPTS = 64  # new connections, before anything else is done
LEAD_S = 0.02  # an answer that takes longer leaves the lead to another thread
BACKLOG = 1024  # bash cannot limit the time of a connect, so a full queue would hold a hook up
MAX_STRANGERS = 512  # connections that have not shown the secret; the oldest is dropped for a new one
MAX_FRIENDS = 1024  # connections that have, and that are not answered yet
MAX_BEFORE_SECRET_BYTES = 200
STRANGER_TIMEOUT_S = 3.0  # for the secret
SENT_TIMEOUT_S = hook.HOOK_STDIN_TIMEOUT_S + 0.5  # from the secret to the request's first byte: the client's text
REQUEST_TIMEOUT_S = 5.0  # from its first byte to its last
MAX_REQUEST_BYTES = bash_script.MAX_SENT_BYTES + 4 * 1024 * 1024  # with an environment in it
BEAT_S = 0.2  # between two signs that a request is worked on; a hook gives up after 0.5 s without one
WORK_TIMEOUT_S = 60.0  # after it no more signs are sent
ANSWER_TIMEOUT_S = 2.0  # to send an answer that does not fit into the socket's buffer
TICK_S, SLOW_TICK_S = LEAD_S, 0.2  # of the clock, while hooks come and when none has come for a while
QUIET_S = 2.0  # this while
CHECK_S = 0.5  # between two looks at whether the script is in its place
STOP_TIMEOUT_S = 0.8  # for requests that are being worked on
GREETING, FIELDS = 3, 8  # fields that come with the secret, and all before what the client sent
CHUNK = 65_536
ALLOWED, DECLINED, AT_WORK = b"0", b"?", b"+"
# as plain numbers: Python's own names for them are enums, and each use of one costs a microsecond or more
FAMILY, KIND, TCP, NODELAY = int(socket.AF_INET), int(socket.SOCK_STREAM), int(socket.IPPROTO_TCP), socket.TCP_NODELAY
PEEK = int(socket.MSG_PEEK) | int(socket.MSG_DONTWAIT)
QUICK = getattr(socket, "TCP_QUICKACK", None)
DEFER = getattr(socket, "TCP_DEFER_ACCEPT", None)

# The stages of a connection: no secret yet; the client's text is read; the request is sent; it is worked on; answered.
STRANGE, READING, SENDING, WORKING, OVER = range(5)


class Connection:
    """One hook that asks, or a stranger."""

    __slots__ = ("beat", "caller", "data", "mutex", "since", "socket", "stage")

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self.data = bytearray()
        self.stage = STRANGE
        self.since = self.beat = time.monotonic()  # when this stage began; the last sign of life
        self.caller: Caller | None = None
        self.mutex = threading.Lock()  # held to send and to close: a sign must not come into an answer


class HookPort:
    """The port for hooks of one host, from `start` to `stop`."""

    def __init__(self, host: Host, *, old_bash: bool = False) -> None:
        self.host = host
        self.answered = self.declined = 0  # requests
        self._last_request = time.monotonic()
        self._old_bash = old_bash
        # without hexadecimal digits: an old bash takes four system calls for each sign of the proof
        self._secret, self._proof = (secrets.token_urlsafe(bash_script.SECRET_BYTES) for _ in range(2))
        self._selector = selectors.DefaultSelector()
        self._listener: socket.socket | None = None
        self._bell, self._rung = socket.socketpair()  # wakes the leader at the end
        self._connections: dict[int, Connection] = {}
        self._threads: list[threading.Thread] = []
        self._lead = threading.Semaphore(1)  # free: the next thread that wants it leads
        self._ready: deque[Connection] = deque()  # requests that nobody works on yet
        self._mutex = threading.Lock()  # of the three below
        self._at_work = 0  # threads that answer a request
        self._leader: threading.Thread | None = None
        self._busy_since = 0.0  # since when the leader works on one request; 0: it listens
        self._stopping = threading.Event()
        self._ledgers = KeptLedgers()
        self._text, self._build = "", serve_file.build()
        self._kept: dict[str, tuple[int, int]] = {}  # the script's files, by device and inode

    @property
    def about(self) -> dict[str, str]:
        """Nothing is said of it but in its script."""
        return {}

    @property
    def port(self) -> int:
        """The port, once it is open."""
        assert self._listener is not None, "it is started"
        found: int = self._listener.getsockname()[1]
        return found

    def start(self) -> None:
        """Open the port, start the threads, write the script."""
        _load()
        gc.freeze()  # what is loaded stays: the collector need not look at it while hooks wait
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.bind(("127.0.0.1", 0))
            if DEFER is not None:  # a connection counts once it has sent something
                listener.setsockopt(socket.IPPROTO_TCP, DEFER, 1)
            listener.listen(BACKLOG)
            listener.setblocking(False)
        except OSError as error:
            listener.close()
            raise Unavailable(f"no port for hooks on 127.0.0.1: {error.strerror or error}") from None
        self._listener = listener
        for one in (self._bell, self._rung):
            one.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(self._rung, selectors.EVENT_READ)
        self._threads = [threading.Thread(target=self._work, name=f"hook {n}", daemon=True) for n in range(WORKERS)]
        self._threads.append(threading.Thread(target=self._keep_time, name="hook clock", daemon=True))
        for thread in self._threads:
            thread.start()
        self._text = bash_script.text(
            self.port, self._secret, self._proof, names=not socket_owner.HAS_PROC, old=self._old_bash
        )
        self._put()

    def stop(self) -> None:
        """Remove the script, answer what is being worked on, close the port."""
        self._stopping.set()
        self._ring()
        self._lead.release()
        end = time.monotonic() + STOP_TIMEOUT_S
        for thread in self._threads:
            thread.join(max(0.1, end - time.monotonic()))
        for connection in list(self._connections.values()):
            with connection.mutex:
                self._close(connection)
        self._selector.close()
        if self._listener is not None:
            self._listener.close()
        self._bell.close()
        self._rung.close()
        self._ledgers.close()
        self._remove()

    # --- the script's files

    def _places(self) -> list[str]:
        place = self.host.place
        return [f"{folder}/{bash_script.NAME}" for folder in dict.fromkeys((place.local, place.shared))]

    def _put(self) -> None:
        """Write the script next to `run`, and next to its copy below git's directory, where it is not there."""
        for path in self._places():
            if path in self._kept and _inode(path) == self._kept[path]:
                continue
            making = clock.temporary(path)
            try:
                fd = os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                with open(fd, "w", encoding="utf-8", errors="surrogateescape") as file:
                    file.write(self._text)
                    written = os.fstat(fd)
                self._kept[path] = written.st_dev, written.st_ino
                os.replace(making, path)
            except OSError:  # a full disk, a sandbox: then hooks go their own way
                _unlink(making)

    def _remove(self) -> None:
        """Remove what was written, unless another server has written its own since."""
        for path, inode in self._kept.items():
            if _inode(path) == inode:
                _unlink(path)

    # --- leading

    def _work(self) -> None:
        """One thread: it leads, until it is busy for long; then it finishes that, and waits for its turn again."""
        me = threading.current_thread()
        while True:
            self._lead.acquire()
            with self._mutex:
                self._leader = me
            while True:
                if self._stopping.is_set():
                    self._lead.release()  # for the next one to see it as well
                    return
                self._turn(self._answer)
                with self._mutex:
                    self._busy_since = 0.0 if self._leader is me else self._busy_since
                    if self._leader is not me:
                        break

    def _turn(self, work: Callable[[Connection], bytes], timeout_s: float | None = None) -> None:
        """Wait for something to happen, and deal with it: with all that have just come, and with one request.

        A hook waits half a second for the proof, but for an answer as long as it is told that it is worked on.
        """
        for key, _ in self._selector.select(0 if self._ready else timeout_s):
            if key.data is not None:
                self._hear(key.data)
            elif key.fileobj is self._listener:
                for _ in range(ACCEPTS):
                    connection = self._accept()
                    if connection is None:
                        break
                    self._hear(connection)
        try:
            connection = self._ready.popleft()
        except IndexError:
            return
        self._do(connection, work)

    def _hear(self, connection: Connection) -> None:
        try:
            if self._read(connection):
                self._ready.append(connection)
        except OSError:  # of this connection
            self._drop(connection)

    def _do(self, connection: Connection, work: Callable[[Connection], bytes]) -> None:
        """Answer a request."""
        self._last_request = self._busy_since = time.monotonic()
        self.host.used = clock.since_boot()
        with self._mutex:
            self._at_work += 1
        try:
            answer = work(connection)
        except BaseException:  # noqa: BLE001 - a thread goes on, and its hook asks the store itself
            answer = DECLINED
        with self._mutex:
            self._at_work -= 1
        with connection.mutex:
            if answer:
                _send(connection.socket, answer)
            self._close(connection)
        self.answered += 1
        self.declined += answer == DECLINED

    def _ring(self) -> None:
        try:
            self._bell.send(b".")
        except OSError:  # it rings already
            pass

    def _accept(self) -> Connection | None:
        assert self._listener is not None
        try:
            connected = _accepted(self._listener)
        except BlockingIOError:
            return None
        except OSError:  # the other side has gone already, or this process has too many open files
            self._drop_strangers(MAX_STRANGERS // 4)
            return None
        connected.setblocking(False)
        connected.setsockopt(TCP, NODELAY, 1)
        connection = Connection(connected)
        self._connections[connected.fileno()] = connection
        self._selector.register(connected, selectors.EVENT_READ, connection)
        if len(self._connections) > MAX_STRANGERS:
            self._drop_strangers(len(self._connections) - MAX_STRANGERS)
        return connection

    def _drop_strangers(self, count: int) -> None:
        """Drop those that are longest here."""
        for connection in [one for one in list(self._connections.values()) if one.stage == STRANGE][:count]:
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        with connection.mutex:
            self._close(connection)

    def _close(self, connection: Connection) -> None:
        """Close it; its mutex is held. What is over is never touched again: another connection may have its number."""
        if connection.stage == OVER:
            return
        if connection.stage != WORKING:
            self._selector.unregister(connection.socket)
        connection.stage = OVER
        self._connections.pop(connection.socket.fileno(), None)
        connection.socket.close()

    def _read(self, connection: Connection) -> bool:
        """Read what came; True once the request is complete."""
        with connection.mutex:
            if connection.stage == OVER:
                return False
            _acknowledge(connection.socket)
            try:
                data = connection.socket.recv(MAX_BEFORE_SECRET_BYTES if connection.stage == STRANGE else CHUNK)
            except BlockingIOError:
                return False
            connection.data += data
            if not data or (connection.stage == STRANGE and not self._knows(connection)):
                self._close(connection)
                return False
            ends = connection.data.count(0)
            if connection.stage == READING and (ends > GREETING or not connection.data.endswith(b"\0")):
                connection.stage, connection.since = SENDING, time.monotonic()
            if len(connection.data) > MAX_REQUEST_BYTES:
                self._close(connection)
            elif ends > FIELDS and connection.data.endswith(b"\0"):
                self._selector.unregister(connection.socket)
                connection.stage = WORKING
                connection.since = connection.beat = time.monotonic()
                return True
        return False

    def _knows(self, connection: Connection) -> bool:
        """Has it shown the secret? Then the proof is sent, and its process looked at while it goes on. False: drop it.

        The secret is in the first packet of a hook. What sends it in pieces is none.
        """
        wanted = len(self._secret)
        shown = bytes(connection.data[:wanted])
        if not hmac.compare_digest(shown, self._secret.encode()) or len(self._connections) > MAX_FRIENDS:
            return False
        del connection.data[:wanted]
        connection.stage, connection.since = READING, time.monotonic()
        connection.socket.send(self._proof.encode())
        connection.caller = self._caller(connection)
        return True

    # --- the clock

    def _keep_time(self) -> None:
        looked = time.monotonic()
        while not self._stopping.is_set():
            time.sleep(TICK_S if time.monotonic() - self._last_request < QUIET_S else SLOW_TICK_S)
            now = time.monotonic()
            self._pass_lead(now)
            for connection in list(self._connections.values()):
                self._check_time(connection, now)
            if now - looked > CHECK_S:
                looked = now
                if serve_file.build() == self._build:
                    self._put()
                else:  # dibs was upgraded: this server answers as it was before
                    self._remove()

    def _pass_lead(self, now: float) -> None:
        """Let another thread lead if the leader is busy for long; if all are, decline what comes."""
        with self._mutex:
            if self._leader is not None and self._busy_since and now - self._busy_since > LEAD_S:
                self._leader, self._busy_since = None, 0.0
                self._lead.release()
        if self._at_work >= WORKERS:
            for _ in range(BACKLOG):
                before = self.answered
                self._turn(lambda _: DECLINED, 0)
                if self.answered == before:
                    return

    def _check_time(self, connection: Connection, now: float) -> None:
        """Drop what takes too long; tell those that wait that they are worked on."""
        past = now - connection.since
        if connection.stage == WORKING:
            if now - connection.beat >= BEAT_S and past < WORK_TIMEOUT_S:
                self._beat(connection, now)
        elif connection.stage == READING:
            if past > SENT_TIMEOUT_S:
                self._end_reading(connection)
        elif past > (STRANGER_TIMEOUT_S if connection.stage == STRANGE else REQUEST_TIMEOUT_S):
            self._drop(connection)

    def _beat(self, connection: Connection, now: float) -> None:
        if not connection.mutex.acquire(blocking=False):
            return  # it is being answered
        try:
            if connection.stage == WORKING:
                connection.beat = now
                connection.socket.send(AT_WORK)
        except OSError:
            pass  # it has gone; its thread will see
        finally:
            connection.mutex.release()

    def _end_reading(self, connection: Connection) -> None:
        """The client's text does not end, and bash has no clock of its own there: end the launcher's bash.

        The launcher goes on with an interpreter, which refuses after its own time.
        """
        with connection.mutex:
            if connection.stage != READING:
                return
            how = bytes(connection.data).split(b"\0")[2:3]
            pid = connection.caller.pid if connection.caller is not None and how == [b"child"] else 0
            if pid and socket_owner.belongs_to(pid, connection.socket):
                try:
                    os.kill(pid, signal.SIGTERM)
                except OSError:
                    pass
            self._close(connection)

    # --- answering

    def _caller(self, connection: Connection) -> Caller | None:
        """The process that asks, if it is what it says; None: it is declined."""
        version, pid, how = [*bytes(connection.data).split(b"\0"), b"", b"", b""][:GREETING]
        if version != bash_script.VERSION.encode() or not pid.isdigit():
            return None
        number = int(pid)
        if not socket_owner.belongs_to(number, connection.socket):
            return None
        environ = _environment(number) if socket_owner.HAS_PROC else {}
        if how == b"child":  # the launcher gives bash a locale of its own
            environ.pop("LC_ALL", None)
            if bash_script.LOCALE in environ:
                environ["LC_ALL"] = environ.pop(bash_script.LOCALE)
        return Caller(number, environ, self.host, self._ledgers)

    def _answer(self, connection: Connection) -> bytes:
        """The answer to a request; b"" if nobody waits for it any more."""
        asks = connection.caller
        client, name, folder, tree, environment, sent = bytes(connection.data[:-1]).split(b"\0", FIELDS)[GREETING:]
        connection.data = bytearray()
        if asks is None:
            return DECLINED
        asks.folder = os.fsdecode(folder)
        if environment:
            asks.environ.update(_pairs(environment, "\1"))
        if tree:
            asks.environ["DIBS_TREE"] = os.fsdecode(tree)
        if asks.environ.get("DIBS_STORE") or asks.environ.get("DIBS_TRACEBACK"):
            return DECLINED  # another store may be meant; a traceback is for a terminal
        if _is_gone(connection.socket):
            return b""
        caller.work_for(asks)
        try:
            said = hook.answer(os.fsdecode(client), os.fsdecode(name), sent)
        except Declined:
            return DECLINED
        finally:
            caller.work_for(None)
            asks.done()
        if not (said.out or said.err or said.code):
            return ALLOWED
        out, err = said.out.encode("utf-8", "surrogateescape"), said.err.encode("utf-8", "backslashreplace")
        return b"=%s\0%s\0%d\0" % (out.replace(b"\0", b""), err.replace(b"\0", b"\\x00"), said.code)


def _load() -> None:
    """Load what hooks load, so that the first one need not wait; and before there are threads.

    A hook's own process loads the shell's grammar with stand-ins in `sys.modules`, which is not for many threads.
    """
    import tree_sitter
    import tree_sitter_bash

    from dibs.guards import edit_call, lifecycle, shell_call, tool_call

    assert all((tree_sitter, tree_sitter_bash, edit_call, lifecycle, shell_call, tool_call))


def _accepted(listener: socket.socket) -> socket.socket:
    """The next connection: what `listener.accept()` gives, without its search for the names of family and kind."""
    fd, _ = listener._accept()  # type: ignore[attr-defined]  # noqa: SLF001 - it has no other way in
    return socket.socket(FAMILY, KIND, 0, fileno=fd)


def _environment(pid: int) -> dict[str, str]:
    """The environment that a process was started with; of a name that stands there twice the first counts."""
    fd = os.open(f"/proc/{pid}/environ", os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = part = os.read(fd, CHUNK)
        while part and len(data) < MAX_REQUEST_BYTES:
            part = os.read(fd, CHUNK)
            data += part
    finally:
        os.close(fd)
    return _pairs(data, "\0")


def _pairs(data: bytes, between: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for row in os.fsdecode(data).split(between):
        name, sign, value = row.partition("=")
        if sign and name and name not in found:
            found[name] = value
    return found


def _is_gone(connected: socket.socket) -> bool:
    """Has the hook given up? A server that was stopped and continued must not decide for it."""
    try:
        return not connected.recv(1, PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True


def _send(connected: socket.socket, answer: bytes) -> None:
    try:
        sent = connected.send(answer)  # an answer that does not fit into the socket's buffer is rare
        if sent < len(answer):
            connected.settimeout(ANSWER_TIMEOUT_S)
            connected.sendall(answer[sent:])
    except OSError:  # it has gone
        pass


def _acknowledge(connected: socket.socket) -> None:
    """Acknowledge at once: bash sends line by line, and waits for it between two small packets. Linux forgets it."""
    if QUICK is not None:
        connected.setsockopt(TCP, QUICK, 1)


def _inode(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
