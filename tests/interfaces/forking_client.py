"""A stand-in for an agent's client that has dibs loaded already and forks itself for each hook: some 5 ms, not 60.

Each hook is still a process of its own and a child of this client, with its own stdin, stdout, stderr, environment and
folder, so that who calls is found as ever; only the start of the interpreter is saved. For tests that need thousands of
hooks. It does what each line of JSON on its stdin says, and answers with one line:

    {"do": "hook", "words": ["claude"], …}    dibs.guards.hook.main
    {"do": "dibs", "words": ["status"], …}    the command line
    {"do": "run", "words": ["bash", "-c", …]} any other program

Without the tests' own packages: it is started with -I -S, under the name by which it was called.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import IO, Any

LOADED = (
    "client",
    "deploy",
    "git",
    "guards",
    "interfaces/agents/claude",
    "interfaces/cli",
    "land",
    "ledger",
    "machine",
    "operations",
    "shell",
    "stores",
    "undo",
    "workers",
    "workspace",
)
NOT_LOADED = ("redis", "demo", "bundl", "entry", "up.py", "__")  # how a folder or file begins


def load(root: str) -> None:
    """Import whatever a hook may need, so that no child has to."""
    own = sys.executable.rpartition("/bin/")[0]
    for base in (
        root,
        os.environ["SITE"],
        f"{own}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages",
    ):
        sys.path.append(base)
    for folder in LOADED:
        for where, folders, names in os.walk(f"{root}/dibs/{folder}"):
            folders[:] = sorted(name for name in folders if not name.startswith(NOT_LOADED))
            for name in sorted(names):
                if name.endswith(".py") and not name.startswith(NOT_LOADED):
                    importlib.import_module(f"{where[len(root) + 1 :].replace('/', '.')}.{name[:-3]}")
    gc.collect()
    gc.freeze()


def child(order: dict[str, Any], files: Sequence[IO[bytes]]) -> None:
    """One call, in the process that was forked for it; it does not come back."""
    code = 70
    try:
        for number, file in enumerate(files):
            os.dup2(file.fileno(), number)
        os.chdir(order["cwd"])
        os.environ.clear()
        os.environ.update(order["env"])
        if order["do"] == "run":
            os.execvpe(order["words"][0], order["words"], order["env"])  # noqa: S606 - a program of the test's own
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode) for number, mode in enumerate("rww"))
        if order["do"] == "hook":
            from dibs.guards.hook import main
        else:
            from dibs.interfaces.cli import main
        code = main(order["words"])
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def done(order: dict[str, Any]) -> dict[str, Any]:
    """Fork, wait, and tell what came of it; bytes as Latin-1."""
    files = [tempfile.TemporaryFile() for _ in range(3)]  # noqa: SIM115 - closed below
    files[0].write(order["given"].encode("latin-1"))
    files[0].seek(0)
    began = time.monotonic()
    pid = os.fork()
    if not pid:
        child(order, files)
    _, status = os.waitpid(pid, 0)
    answer: dict[str, Any] = {"code": os.waitstatus_to_exitcode(status), "took": time.monotonic() - began}
    for name, file in (("out", files[1]), ("err", files[2])):
        file.seek(0)
        answer[name] = file.read().decode("latin-1")
    for file in files:
        file.close()
    return answer


def main() -> None:
    """Detach, load dibs, say the process's id, and work until nobody is there any more to ask."""
    if os.fork():
        os._exit(0)
    os.setsid()
    load(sys.argv[1])
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    for line in sys.stdin:
        answer = done(json.loads(line))
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
