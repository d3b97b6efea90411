"""The port for callers on this machine: a Unix socket, one request a line, JSON both ways.

One thread reads whatever has arrived, decides it as one group with one commit, and answers; while a group is synced to
the disk, the next one gathers in the sockets. What cannot be decided in one transaction goes to a few worker threads.

The socket is for this user alone: its file is 0600, and the peer's user id is checked. A caller may send several
requests before it reads an answer; answers carry the request's number `n` and may come in another order. Everything a
caller can use up has a bound: connections, the length of a line, requests at work, answers that it does not read.
A caller that has closed its connection has no request: what was read of it is dropped, not decided.
"""

from __future__ import annotations

import os
import selectors
import socket
import struct
import sys
import threading
from collections import deque
from queue import SimpleQueue

from dibs import jsontext
from dibs.client import wire
from dibs.client.driver import DECIDED, REPEAT
from dibs.client.server_link import MAX_LINE
from dibs.errors import Busy, Invalid
from dibs.machine import clock
from dibs.server.request_decider import RequestDecider, as_dibs_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.wire import AnswerMessage
    from dibs.server.host import Host
    from dibs.server.request_decider import Request
    from dibs.stores.seam import Json

    class LineMessage(AnswerMessage):
        """An answer on a line of its own."""

        n: Json  # the request's number, as its caller sent it

    Line = dict[str, Json]  # a request, not checked yet

MAX_CONNECTIONS = 1_024
MAX_GROUP = 64  # requests in one commit: keeps a transaction at some 10 ms
MAX_WAITING = 4_096  # requests that are read and not decided; above it, callers are told that the store is busy
MAX_UNREAD = 16 * 1024 * 1024  # bytes of answers that a caller does not read before it is dropped
MAX_READ = 1024 * 1024  # bytes of one caller in one round: others have their turn
STALL_MS = 30_000  # a line, or an answer, that makes no progress for this long ends its connection
WORKERS = 8  # threads for what takes more than one transaction
BACKLOG = 1_024
TICK_S = 5.0  # between two looks for stalled connections
CHUNK = 262_144


class _Peer:
    """One connected caller."""

    __slots__ = ("closed", "moved", "out", "socket", "text")

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.text = bytearray()  # of a line that is not complete
        self.out = bytearray()  # of answers that the caller has not taken yet
        self.moved = clock.since_boot()  # when something last came or went
        self.closed = False


class SocketPort:
    """A Unix socket of one server; `start` and `stop` it."""

    def __init__(self, host: Host, path: str) -> None:
        self.path = path
        self.host = host
        self.half = RequestDecider(host)
        self.requests = 0  # so far: for metrics, and to know whether the server is used
        self.last_request = clock.since_boot()
        self._selector = selectors.DefaultSelector()
        self._listener: socket.socket | None = None
        self._peers: set[_Peer] = set()
        self._waiting: deque[tuple[_Peer, Json, Request]] = deque()
        self._work: SimpleQueue[tuple[_Peer, Json, Request, Json] | None] = SimpleQueue()
        self._finished: deque[tuple[_Peer, Json, Request]] = deque()
        self._at_work = 0
        self._workers: list[threading.Thread] = []
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._bell, self._ear = socket.socketpair()

    def start(self) -> None:
        """Listen, and serve in a thread of its own."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            if os.path.lexists(self.path):  # a killed server's: who starts one holds the lock of serve
                os.unlink(self.path)
            mask = os.umask(0o177)
            try:
                listener.bind(self.path)
            finally:
                os.umask(mask)
            listener.listen(BACKLOG)
            listener.setblocking(False)
        except BaseException:
            listener.close()
            raise
        self._listener = listener
        for sock in (self._bell, self._ear):
            sock.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ, None)
        self._selector.register(self._ear, selectors.EVENT_READ, None)
        self._thread = threading.Thread(target=self._serve, name="dibs-socket", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Answer what is decided, close all connections, and remove the socket's file."""
        if self._thread is None:
            return
        self._stopping = True
        self._ring()
        self._thread.join()
        self._thread = None
        for _ in self._workers:
            self._work.put(None)
        for worker in self._workers:
            worker.join()
        self._workers.clear()
        for sock in (self._bell, self._ear):
            sock.close()
        self._selector.close()

    # --- the loop

    def _serve(self) -> None:
        looked = clock.since_boot()
        while not self._stopping:
            ready = self._selector.select(0 if self._waiting else TICK_S)
            for key, mask in ready:
                if key.data is None:
                    self._accept() if key.fileobj is self._listener else self._hear()
                else:
                    self._move(key.data, mask)
            while self._finished:
                self._answer(*self._finished.popleft())
            if self._waiting:
                self._decide()
            if clock.since_boot() - looked > TICK_S * 1000:
                looked = clock.since_boot()
                self._drop_stalled(looked)
        assert self._listener is not None
        self._listener.close()
        try:
            os.unlink(self.path)
        except OSError:
            pass
        for peer in list(self._peers):
            self._close(peer)

    def _accept(self) -> None:
        assert self._listener is not None
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:  # none left, or it was gone before we came
                return
            if len(self._peers) >= MAX_CONNECTIONS or not is_own(sock):
                sock.close()
                continue
            sock.setblocking(False)
            peer = _Peer(sock)
            self._peers.add(peer)
            self._selector.register(sock, selectors.EVENT_READ, peer)

    def _hear(self) -> None:
        try:
            while self._ear.recv(4096):
                pass
        except OSError:
            pass

    def _ring(self) -> None:
        """Wake the loop, from another thread."""
        try:
            self._bell.send(b"!")
        except OSError:
            pass  # it is awake: the pair is full of bells

    def _move(self, peer: _Peer, mask: int) -> None:
        if mask & selectors.EVENT_WRITE:
            self._flush(peer)
        if mask & selectors.EVENT_READ and not peer.closed:
            self._read(peer)

    def _read(self, peer: _Peer) -> None:
        """All that has come; its complete lines become requests, unless the caller has gone."""
        size = 0
        while size < MAX_READ:
            try:
                data = peer.socket.recv(CHUNK)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            if not data:
                self._close(peer)  # with what it sent: nobody waits for an answer
                return
            peer.text += data
            size += len(data)
            if len(data) < CHUNK and data.endswith(b"\n"):
                break  # the usual case: one line. That the caller has gone is then seen at the next look
        peer.moved = clock.since_boot()
        *lines, rest = peer.text.split(b"\n")
        peer.text = rest
        for line in lines:
            if line.strip():
                self._take(peer, bytes(line))
            if peer.closed:
                return
        if len(rest) > MAX_LINE:
            self._send(peer, {"n": None, **wire.error_out(Invalid(f"a line has at most {MAX_LINE} bytes"))})
            self._close(peer)

    def _take(self, peer: _Peer, line: bytes) -> None:
        """One line: a request that waits to be decided, or an error for its sender."""
        number: Json = None
        self.requests += 1
        self.last_request = clock.since_boot()
        try:
            sent = _opened(line)
            number = sent.get("n")
            request = self._request(sent, number)
        except Exception as error:  # noqa: BLE001 - a defect of one request must not end the server
            self._send(peer, {"n": number, **wire.error_out(as_dibs_error(error))})
            return
        if request.is_quick:
            self._waiting.append((peer, number, request))
        else:
            self._hand_over(peer, number, request, (None, None))

    def _request(self, sent: Line, number: Json) -> Request:
        """The request that a line is; raises if it is none, or if there are too many."""
        if len(self._waiting) + self._at_work >= MAX_WAITING:
            raise Busy("the server is busy; try again.")
        via = None if sent.get("via") is None else [sent["via"], number]
        call, fields = sent.get("call", {}), sent.get("fields", {})
        return self.half.read(sent.get("op"), call, fields, via, sent.get("top"), sent.get("store", ""))

    # --- deciding

    def _decide(self) -> None:
        """The next group: one commit for all, then their answers."""
        group: list[tuple[_Peer, Json, Request]] = []
        while self._waiting and len(group) < MAX_GROUP:
            one = self._waiting.popleft()
            if not one[0].closed:
                group.append(one)
        if not group:
            return
        try:
            outcomes = self.host.store.run_many([request.decide for _, _, request in group])
        except Exception as error:  # noqa: BLE001 - it is the outcome of them all
            outcomes = [(None, error)] * len(group)
        for (peer, number, request), (outcome, failure) in zip(group, outcomes, strict=True):
            step = self.half.judge(request, outcome, failure)
            if step is DECIDED:
                request.answer["g"] = len(group)
                self._answer(peer, number, request)
            elif step is REPEAT:
                self._waiting.append((peer, number, request))
            else:
                self._hand_over(peer, number, request, (outcome, failure))

    def _answer(self, peer: _Peer, number: Json, request: Request) -> None:
        """Send it; if its caller has gone, what it got is taken back."""
        ahead = self.half.host.store.wall_ahead()
        if not self._send(peer, {"n": number, "ahead": ahead, **request.answer}) and request.operation.withdraws:
            self._hand_over(peer, number, request, None, recall=True)

    def _hand_over(self, peer: _Peer, number: Json, request: Request, value: Json, *, recall: bool = False) -> None:
        """To a worker thread; they are started as they are needed."""
        self._at_work += 1
        if len(self._workers) < min(WORKERS, self._at_work):
            worker = threading.Thread(target=self._work_on, name="dibs-socket-worker", daemon=True)
            self._workers.append(worker)
            worker.start()
        self._work.put((peer, None if recall else number, request, _RECALL if recall else value))

    def _work_on(self) -> None:
        while (one := self._work.get()) is not None:
            peer, number, request, value = one
            try:
                if value is _RECALL:
                    self.half.recall(request)
                elif not peer.closed:
                    self.half.finish(request, *value)
            except Exception as error:  # noqa: BLE001 - a defect of one request must not end the server
                request.fail(error)
            self._at_work -= 1  # only a measure: a lost count between threads does no harm
            if value is not _RECALL:
                self._finished.append((peer, number, request))
                self._ring()

    # --- sending

    def _send(self, peer: _Peer, message: LineMessage) -> bool:
        """Queue an answer and send what goes; False if the caller has gone."""
        if peer.closed:
            return False
        try:
            line = jsontext.encode(message).encode() + b"\n"
        except (TypeError, ValueError) as error:  # a defect of one answer must not end the server
            line = jsontext.encode({"n": message["n"], **wire.error_out(as_dibs_error(error))}).encode() + b"\n"
        if not peer.out:
            try:
                sent = peer.socket.send(line)
            except BlockingIOError:
                sent = 0
            except OSError:
                self._close(peer)
                return False
            if sent == len(line):
                return True
            line = line[sent:]
            self._selector.modify(peer.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, peer)
        peer.out += line
        if len(peer.out) > MAX_UNREAD:
            self._close(peer)
            return False
        return True

    def _flush(self, peer: _Peer) -> None:
        try:
            sent = peer.socket.send(peer.out)
        except BlockingIOError:
            return
        except OSError:
            self._close(peer)
            return
        del peer.out[:sent]
        peer.moved = clock.since_boot()
        if not peer.out:
            self._selector.modify(peer.socket, selectors.EVENT_READ, peer)

    def _close(self, peer: _Peer) -> None:
        if not peer.closed:
            peer.closed = True
            self._peers.discard(peer)
            self._selector.unregister(peer.socket)
            peer.socket.close()

    def _drop_stalled(self, now: int) -> None:
        """End the connections whose caller neither finishes its line nor reads its answers."""
        for peer in list(self._peers):
            if (peer.text or peer.out) and now - peer.moved > STALL_MS:
                self._close(peer)


_RECALL = object()  # work of another kind: the caller has gone


def is_own(sock: socket.socket) -> bool:
    """Is the other end a process of this user?"""
    try:
        if sys.platform == "linux":
            size = struct.calcsize("3i")
            _, user, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
        else:  # pragma: no cover - macOS
            import ctypes

            uid, gid = ctypes.c_uint(), ctypes.c_uint()
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.getpeereid(sock.fileno(), ctypes.byref(uid), ctypes.byref(gid)) != 0:
                return False
            user = uid.value
    except OSError:
        return False
    return int(user) == os.getuid()


def _opened(line: bytes) -> Line:
    try:
        sent = jsontext.decode(line.decode())
    except (ValueError, RecursionError, SystemError):
        raise Invalid("a line is one JSON object") from None
    if not isinstance(sent, dict):
        raise Invalid("a line is one JSON object")
    return sent
