"""The command of `[gates] stop = "verify: COMMAND"`: it runs in the background, and its result counts for one state.

The state is HEAD with the contents of all changed files. A hook starts the command once for each state, waits WAIT_S
for its end, and lets the turn end if there is none: the agent hears of a failure with its next prompt. The command runs
in the agent's working tree, in a session of its own, for `[gates] verify_timeout` at most; if the state is another one
at its end, its result is void. Results lie in `.dibs/local/verify/`; cleanup.py deletes them after a day.
"""

from __future__ import annotations

import os
import sys
import time

from dibs import jsontext
from dibs.machine import atomic_write, caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.client.session import Session

    class Result(TypedDict):
        """How a run ended."""

        exit: int | None  # None: it runs
        at: int  # s: when it began
        text: str  # what failed, in a line


FOLDER = "verify"  # in .dibs/local/
WAIT_S = 8.0  # of the 20 s that clients give a hook
POLL_S = 0.05
MAX_OUTPUT_BYTES = 4_096  # of its end
MAX_LINE_CHARS = 200
CODE = "import sys; sys.path.insert(0, sys.argv.pop(1)); from dibs.guards.verification import main; main(sys.argv[1:])"
SCRIPT = '"$@" </dev/null >/dev/null 2>&1 &'  # the shell ends at once: nobody has a child to wait for


def outcome(session: Session, agent: str, command: str) -> str:
    """How the command fails on the present state; "" if it succeeded, or does not say so in time."""
    if caller.other() is not None:  # a server's thread does not wait: the hook's own process does
        from dibs.machine.other_caller import Declined

        raise Declined
    place = session.place
    state = state_of(place.top)
    path = f"{place.local}/{FOLDER}/{_digest(place.top, command, state)}"
    limit = session.config.policy.work["gates"]["verify_timeout"] // 1000
    known = _read(path)
    if known is None or (known["exit"] is None and time.time() - known["at"] > limit + WAIT_S):
        _start(path, place.top, state, command, limit)
    end = time.monotonic() + WAIT_S
    while (known := _read(path)) is None or known["exit"] is None:
        if time.monotonic() >= end:
            _mark(place.local, agent, path)
            return ""
        time.sleep(POLL_S)
    return known["text"]


def told_later(local: str, agent: str) -> str:
    """At a prompt: how the verification of what the last turn left failed, if it ended after that turn."""
    mark = _mark_of(local, agent)
    try:
        with open(mark, encoding="utf-8") as file:
            path = file.read()
    except OSError:
        return ""
    known = _read(path)
    if known is not None and known["exit"] is None:
        return ""
    os.unlink(mark)
    return (
        f"dibs: the verification of what your last turn left failed: {known['text']}" if known and known["text"] else ""
    )


def state_of(top: str) -> str:
    """HEAD, and the contents of what differs from it."""
    from dibs.git import queries as git
    from dibs.ledger import contents

    rows = [f"{change.path}\t{contents.read(f'{top}/{change.path}')[0]}" for change in git.dirty(top)]
    return _digest(git.head(top), *sorted(rows))


def _digest(*parts: str) -> str:
    from dibs.stores.seam import digest_of

    return digest_of("\n".join(parts))


def _start(path: str, top: str, state: str, command: str, limit: int) -> None:
    _write(path, {"exit": None, "at": int(time.time()), "text": ""})
    source = __file__[: -len("/dibs/guards/verification.py")]
    words = [sys.executable, "-c", CODE, source, path, top, state, command, str(limit)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "DIBS_"))}
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", SCRIPT, "sh", *words], environment, setsid=True)
    os.waitpid(pid, 0)


def main(words: list[str]) -> None:
    """The process in the background."""
    import subprocess

    path, top, state, command, limit = words
    began = int(time.time())
    process = subprocess.Popen(  # noqa: S603 - the command of the config
        ["/bin/sh", "-c", command], cwd=top, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True,
    )  # fmt: skip
    try:
        out, _ = process.communicate(timeout=int(limit))
        code = process.returncode
        end = out[-MAX_OUTPUT_BYTES:].decode(errors="replace").strip().rpartition("\n")[2][:MAX_LINE_CHARS]
        text = "" if code == 0 else f"exit code {code}{f': {end}' if end else ''}"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        code, text = 124, f"no end within {limit} s"
    if state_of(top) != state:
        try:
            os.unlink(path)
        except OSError:
            pass
        return
    _write(path, {"exit": code, "at": began, "text": text})


def _read(path: str) -> Result | None:
    try:
        with open(path, encoding="utf-8") as file:
            found: Result = jsontext.decode(file.read())
    except (OSError, ValueError):
        return None
    return found


def _write(path: str, result: Result) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    atomic_write.replace(path, jsontext.encode(result))


def _mark_of(local: str, agent: str) -> str:
    from dibs.ledger import ledger_files

    return f"{local}/{FOLDER}/@{ledger_files.name_of(agent)}"


def _mark(local: str, agent: str, path: str) -> None:
    with open(_mark_of(local, agent), "w", encoding="utf-8") as file:
        file.write(path)
