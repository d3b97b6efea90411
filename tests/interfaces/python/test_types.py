"""What a type checker says of a program that uses dibs, installed from its wheel; and the stubs are what runs."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

from dibs.interfaces.python.aio_methods import AsyncMethods
from dibs.interfaces.python.methods import Methods
from tests import wheel
from tests.interfaces.python.test_methods import NAMES

UNQUOTED = str.maketrans("", "", "'\"")  # an annotation that was compiled has other quotes

# Each line with the error, or the type, that is expected in it.
PROGRAM = '''
import dibs
import dibs.aio
from pathlib import Path

ws = dibs.open(agent="ann")
reveal_type(ws.status()["claims"][0]["token"])  # int
reveal_type(ws.claim(Path("a.py"), "b.py", mode="read", ttl="10m", wait=60.5))  # dibs.interfaces.python.claim.Claim
reveal_type(ws.task_next(run="r")["task"]["title"])  # str
reveal_type(ws.boot()["held"][0]["mode"])  # Literal['write'] | Literal['read'] | Literal['watch']
reveal_type(ws.run_report("r1"))  # RunReportAnswer
ws.claim("a.py", mode="wirte")  # [arg-type]
ws.claim("a.py", request_id=5)  # [arg-type]
ws.confirm("a.py")  # [call-arg]
ws.confirm("a.py", token=1, tokens=2)  # [call-arg]
ws.task_fail("t1", class_="permanent", why="no")  #
ws.status()["claim"]  # [typeddict-item]
ws.nonsense()  # [attr-defined]
ws.task_list(state="done")  # [arg-type]


async def main(other: dibs.aio.AsyncWorkspace) -> None:
    reveal_type(await other.status())  # StatusAnswer
    reveal_type((await other.task_next())["token"])  # int
    reveal_type(other.claim("a"))  # dibs.interfaces.python.aio.ClaimRequest
    async with other.claim("a", wait=1) as claim:
        reveal_type(claim)  # dibs.interfaces.python.aio.AsyncClaim
    await other.confirm("a")  # [call-arg]
    other.status()["claims"]  # [index]


class Careful(dibs.Workspace):
    def whoami(self, *, request_id: int = 0) -> None:  # [override]
        """Not what the other one is."""


def work(job: object) -> int:
    return dibs.work(ws, lambda task, payload, inputs, progress: payload)["done"]  #
'''


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that has the wheel of this tree, and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "env", symlinks=True)
    (packages,) = (folder / "env").glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel.built_in(folder)).extractall(packages)
    return folder / "env" / "bin" / "python"


def test_a_type_checker_knows_every_parameter_and_every_answer(installed: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    process = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--show-error-codes", "--cache-dir", tmp_path / "cache",
         "--config-file", "/dev/null", "--python-executable", installed, program],
        check=False, capture_output=True, text=True, timeout=300, cwd=tmp_path,
    )  # fmt: skip
    notes: dict[int, str] = {}
    for number, text in re.findall(r"^program.py:(\d+): (.*)$", process.stdout, re.MULTILINE):
        notes[int(number)] = notes.get(int(number), "") + text
    for number, line in enumerate(PROGRAM.splitlines(), 1):
        _, marked, wanted = line.partition("  # ")
        if marked:
            assert wanted in notes.pop(number), line
    assert notes == {}, process.stdout


@pytest.mark.parametrize("owner", [Methods, AsyncMethods])
def test_the_stubs_are_what_is_made_at_run_time(owner: type) -> None:
    text = Path(inspect.getfile(owner)).with_suffix(".pyi").read_text()
    scope: dict[str, Any] = {}
    exec(f"from __future__ import annotations\n{text[text.index('class ') :]}", scope)  # noqa: S102 - our own text
    stub = scope[owner.__name__]
    assert [name for name in dir(stub) if not name.startswith("_")] == NAMES
    assert stub.__doc__ == owner.__doc__
    for name in NAMES:
        written, made = getattr(stub, name), getattr(owner, name)
        assert str(inspect.signature(written)).translate(UNQUOTED) == str(inspect.signature(made)).translate(
            UNQUOTED
        ), name
        assert inspect.getdoc(written) == made.__doc__
        assert inspect.iscoroutinefunction(written) == inspect.iscoroutinefunction(made)
