"""Sends alerts to the command or the webhook of the config. operations/alerts/delivery.py says which, when, how often.

The command gets the alert as JSON on its standard input, and has succeeded if it ends with 0. The webhook gets the same
JSON by POST, and has succeeded if it answers 2xx; redirects are not followed. Its requests are signed where there is a
secret:

    X-Dibs-Signature: sha256=HMAC-SHA256(secret, TIMESTAMP + "." + BODY), hexadecimal
    X-Dibs-Timestamp: seconds since 1970; a receiver refuses old ones
    X-Dibs-Delivery:  the alert's id, the same in each attempt: a receiver that has it already drops the request

What goes wrong is told in words without the address, which may hold a secret. No waiter, worker or server sends an
alert itself: a slow receiver would cost it its own deadline, or its next look. It starts a `dibs sweep`, which does.
"""

from __future__ import annotations

import os

from dibs import jsontext
from dibs.machine import clock
from dibs.operations.core.call import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket as sockets

    from dibs.client.session import Session
    from dibs.operations.alerts.answers import AlertView
    from dibs.operations.core.policy import AlertSettings

WEBHOOK_TIMEOUT_S = 3.0  # for the whole exchange, from the look for the address to the status
COMMAND_TIMEOUT_S = 5.0
MAX_SECRET_BYTES = 4_096
OK_FROM, OK_TO = 200, 300


def _is_due(session: Session, agent: str) -> bool:
    settings = session.config.policy.work["alerts"]
    if not (settings["command"] or settings["webhook"]):
        return False
    from dibs.operations.alerts.delivery import IS_DUE

    return bool(session.run(IS_DUE, Call(session.config.policy, agent=agent), {})["due"])


def start(session: Session, agent: str) -> None:
    """Have the alerts that are due sent by a process of its own."""
    if not _is_due(session, agent):
        return
    from dibs.machine import background

    try:
        background.start("sweep", "--workspace", session.place.root)
    except OSError:
        pass  # a sandbox; another process does it


def deliver(session: Session, agent: str, limit: int) -> int:
    """Send the alerts that are due, at most `limit`; returns how many were taken."""
    if not _is_due(session, agent):
        return 0
    from dibs.client import evidence
    from dibs.operations.alerts.delivery import REPORT, TAKE

    settings, call = session.config.policy.work["alerts"], Call(session.config.policy, agent=agent)
    taken = session.run(TAKE, call, {"limit": limit})["taken"]
    evidence.number_all(session, [one["alert"] for one in taken])
    for one in taken:
        why = send(session, settings, one["alert"])
        session.run(REPORT, call, {"alert": one["alert"]["id"], "lease": one["lease"], "why": why})
    return len(taken)


def send(session: Session, settings: AlertSettings, alert: AlertView) -> str:
    """One attempt, by command and by webhook; why it failed, "" if it did not."""
    shown = {key: value for key, value in alert.items() if key != "delivery"}
    body = jsontext.encode({"alert": shown, "workspace": session.config.id, "root": session.place.root}).encode()
    wrong = []
    if settings["command"]:
        wrong.append(_by_command(session, settings["command"], body))
    if settings["webhook"]:
        wrong.append(_by_webhook(session, settings, alert["id"], body))
    return "; ".join(one for one in wrong if one)


def _by_command(session: Session, command: str, body: bytes) -> str:
    import signal
    import subprocess

    try:
        child = subprocess.Popen(  # noqa: S603 - the config's own command, as with a deploy's verification
            ["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=session.place.root, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return f"the command cannot be run: {error.strerror}"
    try:
        child.communicate(body, COMMAND_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)  # with all that it started
        child.communicate()
        return f"the command did not end within {COMMAND_TIMEOUT_S:g} s"
    return f"the command ended with exit code {child.returncode}" if child.returncode else ""


def _by_webhook(session: Session, settings: AlertSettings, identifier: str, body: bytes) -> str:
    headers = {"Content-Type": "application/json", "User-Agent": "dibs", "X-Dibs-Delivery": identifier}
    if settings["secret_file"]:
        secret = _secret(os.path.join(session.place.root, settings["secret_file"]))
        if not secret:
            return "secret_file cannot be read, or is empty"
        headers |= signed(secret, str(clock.wall() // 1000), body)
    return _posted(settings["webhook"], headers, body)


def _posted(address: str, headers: dict[str, str], body: bytes) -> str:
    """One exchange, which ends at its deadline, however slowly the receiver sends; why it failed, "" if it did not."""
    import http.client
    import threading
    from urllib.parse import urlsplit

    url = urlsplit(address)
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    late = f"the webhook did not answer within {WEBHOOK_TIMEOUT_S:g} s"
    why: list[str] = []

    def exchange() -> None:
        try:
            connection.request("POST", f"{url.path or '/'}{f'?{url.query}' if url.query else ''}", body, headers)
            status = connection.getresponse().status
            why.append("" if OK_FROM <= status < OK_TO else f"the webhook answered {status}")
        except TimeoutError:
            why.append(late)
        except (OSError, http.client.HTTPException, ValueError) as error:
            why.append(f"the webhook cannot be reached: {getattr(error, 'strerror', None) or type(error).__name__}")
        finally:
            connection.close()

    try:
        connection = kind(url.hostname or "", url.port, timeout=WEBHOOK_TIMEOUT_S)
    except ValueError as error:  # a port that is none
        return f"the webhook cannot be reached: {type(error).__name__}"
    thread = threading.Thread(target=exchange, daemon=True)  # a timeout of a socket counts for each read of it alone
    thread.start()
    thread.join(WEBHOOK_TIMEOUT_S)
    if why:
        return why[0]
    _cut(connection.sock)
    return late


def _cut(socket: sockets.socket) -> None:
    """End the exchange: the thread that reads gets no more."""
    import contextlib
    from socket import SHUT_RDWR

    with contextlib.suppress(OSError, AttributeError):  # not connected yet, or just closed
        socket.shutdown(SHUT_RDWR)


def signed(secret: bytes, timestamp: str, body: bytes) -> dict[str, str]:
    """The headers by which a receiver knows that a request is from here."""
    import hmac

    digest = hmac.new(secret, timestamp.encode() + b"." + body, "sha256").hexdigest()
    return {"X-Dibs-Timestamp": timestamp, "X-Dibs-Signature": f"sha256={digest}"}


def _secret(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(MAX_SECRET_BYTES).strip()
    except OSError:
        return b""
