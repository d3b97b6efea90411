"""Sends alerts to the command or the webhook of the config. operations/alerts/delivery.py says which, when, how often.

The command gets the alert as JSON on its standard input, and has succeeded if it ends with 0. The webhook gets the same
JSON by POST, and has succeeded if it answers 2xx; redirects are not followed. Its requests are signed where there is a
secret:

    X-Dibs-Signature: sha256=HMAC-SHA256(secret, TIMESTAMP + "." + BODY), hexadecimal
    X-Dibs-Timestamp: seconds since 1970; a receiver refuses old ones
    X-Dibs-Delivery:  the alert's id, the same in each attempt: a receiver that has it already drops the request

What goes wrong is told in words without the address, which may hold a secret.
"""

from __future__ import annotations

import os

from dibs import jsontext
from dibs.facts import clock
from dibs.operations.core.call import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.session.session import Session

WEBHOOK_TIMEOUT_S = 3.0  # below the lease of a waiter, which may be the one that sends
COMMAND_TIMEOUT_S = 5.0
MAX_SECRET_BYTES = 4_096
OK_FROM, OK_TO = 200, 300


def deliver(session: Session, agent: str, limit: int) -> int:
    """Send the alerts that are due, at most `limit`; returns how many were taken."""
    settings = session.config.policy.work["alerts"]
    if not (settings["command"] or settings["webhook"]):
        return 0
    from dibs.operations.alerts.delivery import IS_DUE, REPORT, TAKE
    from dibs.session import evidence

    call = Call(session.config.policy, agent=agent)
    if not session.run(IS_DUE, call, {})["due"]:
        return 0
    taken = session.run(TAKE, call, {"limit": limit})["taken"]
    evidence.number_all(session, [one["alert"] for one in taken])
    for one in taken:
        why = send(session, settings, one["alert"])
        session.run(REPORT, call, {"alert": one["alert"]["id"], "lease": one["lease"], "why": why})
    return len(taken)


def send(session: Session, settings: dict[str, Any], alert: dict[str, Any]) -> str:
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


def _by_webhook(session: Session, settings: dict[str, Any], identifier: str, body: bytes) -> str:
    import http.client
    from urllib.parse import urlsplit

    headers = {"Content-Type": "application/json", "User-Agent": "dibs", "X-Dibs-Delivery": identifier}
    if settings["secret_file"]:
        secret = _secret(os.path.join(session.place.root, settings["secret_file"]))
        if not secret:
            return "secret_file cannot be read, or is empty"
        headers |= signed(secret, str(clock.wall() // 1000), body)
    url = urlsplit(settings["webhook"])
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    try:
        connection = kind(url.hostname or "", url.port, timeout=WEBHOOK_TIMEOUT_S)
        try:
            connection.request("POST", f"{url.path or '/'}{f'?{url.query}' if url.query else ''}", body, headers)
            status = connection.getresponse().status
        finally:
            connection.close()
    except TimeoutError:
        return f"the webhook did not answer within {WEBHOOK_TIMEOUT_S:g} s"
    except (OSError, http.client.HTTPException, ValueError) as error:
        return f"the webhook cannot be reached: {getattr(error, 'strerror', None) or type(error).__name__}"
    return "" if OK_FROM <= status < OK_TO else f"the webhook answered {status}"


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
