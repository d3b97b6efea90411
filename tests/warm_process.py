"""A process that has dibs loaded and forks itself for each command and each stand-in client: some 5 ms, not 60.

A command is still a process of its own, with its own stdin, stdout, stderr, environment, folder, name and exit code;
only the start of the interpreter and the imports are saved. tests/warm.py starts it and asks it. Linux only: it needs
the name of a process to be writable, and pidfd_open.

One datagram on the socket is one order, with open files beside it:

    {"do": "dibs", …}    the command line; files: stdin, stdout, stderr, and where to say the pid and the exit status
    {"do": "client", …}  a client of an agent, detached from here, that starts programs as its children
                         (tests/interfaces/client.py is the same from a cold start); files: its stdin and stdout
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import selectors
import signal
import socket
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

NOT_LOADED = ("__init__", "__main__", "answers", "build", "bundle", "entry", "make_index")
# Folders and files that few commands need. Their libraries take a second to load, and make every fork dearer.
NO_COMMANDS = ("demo/", "interfaces/http/", "interfaces/mcp/", "interfaces/page/", "interfaces/serve/",
               "stores/redis/client.py", "testing/")  # fmt: skip
OTHERS = ("apsw", "calendar", "contextlib", "difflib", "hashlib", "shlex", "shutil", "tempfile", "tomllib",
          "tree_sitter", "tree_sitter_bash", "unicodedata", "zlib")  # fmt: skip
LONGEST = 1 << 17  # bytes of an order
FILES = 4
OUR_FILES = 256  # more than this process ever has open


def load() -> None:
    """Import whatever a command may need, so that no child has to."""
    import dibs

    root = Path(dibs.__file__).parent
    for file in sorted(root.rglob("*.py")):
        path = file.relative_to(root)
        if path.stem not in NOT_LOADED and not path.as_posix().startswith(NO_COMMANDS):
            importlib.import_module(".".join(["dibs", *path.with_suffix("").parts]))
    for name in OTHERS:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    gc.disable()  # as the command itself does


def rename(name: str) -> None:
    """The name by which others see this process."""
    Path("/proc/self/comm").write_text(name, encoding="utf-8")


def become(files: list[int], cwd: str, env: dict[str, str]) -> None:
    """Take these files for stdin, stdout and stderr, this folder and this environment."""
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(3, OUR_FILES)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    plain = next((env[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if env.get(name)), "C") in {"C", "POSIX"}
    errors = "surrogateescape" if plain else "strict"
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, closefd=False, encoding="utf-8", errors=how)  # noqa: SIM115 - open to the end
        for number, mode, how in ((0, "r", errors), (1, "w", errors), (2, "w", "backslashreplace"))
    )


def end(run: Callable[[], int]) -> NoReturn:
    """Run it to the end of this process."""
    code = 1
    try:
        code = run()
    except SystemExit as said:
        code = said.code if isinstance(said.code, int) else int(said.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter does at the top
        traceback.print_exc()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def command(words: list[str]) -> int:
    """The command line."""
    from dibs.interfaces import cli

    rename("dibs")
    sys.argv = words
    cli.entry()


def hook(words: list[str]) -> int:
    """What guards/start/entry.py comes to."""
    from dibs.guards.hook import leave, main

    rename("python3")
    leave(main(words))


# --- a stand-in client


def stand_in() -> Any:
    """The module of the one from a cold start, which stands alone."""
    folder = str(Path(__file__).parent / "interfaces")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module("client")


def forked(run: Callable[[list[str]], int], words: list[str], order: dict[str, Any]) -> dict[str, Any]:
    """One call in a process of its own, a child of this client."""
    files = [os.memfd_create("given"), os.memfd_create("out"), os.memfd_create("err")]
    with os.fdopen(os.dup(files[0]), "wb") as given:
        given.write(stand_in().bytes_of(order["given"]))
    os.lseek(files[0], 0, os.SEEK_SET)
    began = time.monotonic()
    pid = os.fork()
    if not pid:
        become(files, order["cwd"], order["env"])
        end(lambda: run(words))
    watched = os.pidfd_open(pid)
    late = not select.select([watched], [], [], order["seconds"])[0]
    if late:
        os.kill(pid, signal.SIGKILL)
    os.close(watched)
    _, status = os.waitpid(pid, 0)
    took = time.monotonic() - began
    answer: dict[str, Any] = {"code": os.waitstatus_to_exitcode(status), "took": took}
    for name, file in zip(("", "out", "err"), files, strict=True):
        os.lseek(file, 0, os.SEEK_SET)
        with os.fdopen(file, "rb") as read:
            answer[name] = read.read().decode("latin-1")
    return {"late": order["seconds"]} if late else answer


def client(order: dict[str, Any], files: list[int]) -> NoReturn:
    """A client: it does what each line of JSON on its stdin says, until nobody is there any more to ask."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    become([*files, nowhere], order["cwd"], order["env"])
    rename(order["name"])
    started = stand_in().started
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    for line in sys.stdin:
        asked = json.loads(line)
        words = asked["words"]
        if words[: len(order["hook"])] == order["hook"]:
            answer = forked(hook, words[len(order["hook"]) :], asked)
        elif words[0] == order["dibs"]:
            answer = forked(command, words, asked)
        else:
            answer = started(**asked)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    os._exit(0)


# --- what is asked


class Process:
    """The process itself: it answers at once, and says how a command ended when it did."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._waiting = selectors.DefaultSelector()
        self._waiting.register(control, selectors.EVENT_READ)

    def serve(self) -> None:
        """Until nobody is there any more to ask."""
        while True:
            for key, _ in self._waiting.select():
                if key.data is None:
                    said, files, _, _ = socket.recv_fds(self._control, LONGEST, FILES)
                    if not said:
                        return
                    self._start(json.loads(said), files)
                else:
                    self._ended(key)

    def _start(self, order: dict[str, Any], files: list[int]) -> None:
        pid = os.fork()
        if pid:
            if order["do"] == "client":
                os.waitpid(pid, 0)
            else:
                status = files.pop()
                os.write(status, pid.to_bytes(4, "big"))
                self._waiting.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, status))
            for file in files:
                os.close(file)
            return
        if order["do"] == "client":
            if os.fork():
                os._exit(0)
            end(lambda: client(order, files))
        become(files[:3], order["cwd"], order["env"])
        end(lambda: command(order["words"]))

    def _ended(self, key: selectors.SelectorKey) -> None:
        pid, status = key.data
        self._waiting.unregister(key.fileobj)
        os.close(key.fd)
        _, how = os.waitpid(pid, 0)
        try:
            os.write(status, (how & 0xFFFF).to_bytes(4, "big"))
        except BrokenPipeError:  # nobody waits for it any more
            pass
        os.close(status)


def main() -> None:
    """Load dibs, and serve the socket whose number is in the arguments."""
    sys.path[0] = str(Path(sys.executable).parent)  # as it is for the command
    load()
    Process(socket.socket(fileno=int(sys.argv[1]))).serve()


if __name__ == "__main__":
    main()
