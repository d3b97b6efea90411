"""An engine that dibs never heard of, added to a copy of the package as one folder and one row of the table."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dibs.stores import ENGINES
from dibs.stores.far import engine as far
from dibs.stores.far import store as far_store
from dibs.stores.opening import Opening
from dibs.stores.redis import engine as redis
from dibs.stores.redis import store as redis_store
from dibs.stores.sqlite import engine as sqlite
from dibs.stores.sqlite import store as sqlite_store
from dibs.testing import conformance
from tests.interfaces.installation import everything, git, write
from tests.stores.toy import engine as toy
from tests.stores.toy import store as toy_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.stores.engines import Engine, Opener
    from dibs.stores.seam import Store

TOP = Path(__file__).resolve().parents[2]
TOY = Path(__file__).with_name("toy")
CLI = "from dibs.interfaces.cli import main; import sys; sys.exit(main(sys.argv[1:]))"
# the types hold each to the contract
OPENERS: tuple[Opener, ...] = (far_store, redis_store, sqlite_store, toy_store)
FOLDERS: tuple[Engine, ...] = (far, redis, sqlite, toy)


class Package:
    """A copy of the package that has the toy engine; what every file of it was before, and is now."""

    def __init__(self, src: Path) -> None:
        self.src = src
        shutil.copytree(TOP / "src", src, ignore=shutil.ignore_patterns("__pycache__"))
        self.before = everything(src)
        stores = src / "dibs" / "stores"
        shutil.copytree(TOY, stores / "toy", ignore=shutil.ignore_patterns("__pycache__"))
        (stores / "toy" / "__init__.py").touch()
        table = stores / "__init__.py"
        table.write_text(table.read_text().replace("ENGINES = {\n", 'ENGINES = {\n    "toy:": "toy",\n'))
        self.after = everything(src)


class World:
    """A workspace whose store is a toy."""

    def __init__(self, folder: Path, src: Path) -> None:
        self.src, self.repo, self.home = src, folder / "repo", folder / "home"
        self.home.mkdir()
        self.repo.mkdir()
        git("init", "-q", "-b", "main", cwd=self.repo)
        write(self.repo / ".dibs" / "config.toml", 'store = "toy:"\n')
        assert self.dibs("init", "--clients", "claude")["ok"]

    def python(self, *words: str, given: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        """A Python that has this package."""
        return subprocess.run(
            [sys.executable, "-P", *words], input=given, cwd=self.repo, capture_output=True, text=True, check=False,
            timeout=120,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.home), "PYTHONPATH": str(self.src), "DIBS_STATES": "off",
                 **more},
        )  # fmt: skip

    def dibs(self, *words: str, **more: str) -> dict[str, Any]:
        done = self.python("-c", CLI, *words, "--json", **more)
        assert "Traceback" not in done.stderr, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout or done.stderr)
        return answer

    def refusal(self, *words: str) -> dict[str, Any]:
        """The error of a command that is refused."""
        error: dict[str, Any] = self.dibs(*words)["error"]
        return error

    def edit(self, agent: str, path: str) -> subprocess.CompletedProcess[str]:
        """The hook before an edit of Claude's."""
        payload = {
            "session_id": agent, "cwd": str(self.repo), "hook_event_name": "PreToolUse", "tool_name": "Write",
            "tool_input": {"file_path": str(self.repo / path), "content": "x\n"}, "transcript_path": "/nowhere/t.jsonl",
        }  # fmt: skip
        entry = self.src / "dibs" / "guards" / "start" / "entry.py"
        return self.python("-I", "-S", str(entry), "claude", given=json.dumps(payload))


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    return Package(tmp_path_factory.mktemp("toy") / "src")


@pytest.fixture
def world(package: Package, tmp_path: Path) -> World:
    return World(tmp_path, package.src)


def test_one_folder_and_one_row_of_the_table_are_all_that_changes(package: Package) -> None:
    names = {*package.before, *package.after}
    changed = {name for name in names if package.before.get(name) != package.after.get(name)}
    assert changed == {
        "dibs/stores/__init__.py", "dibs/stores/toy", "dibs/stores/toy/__init__.py", "dibs/stores/toy/engine.py",
        "dibs/stores/toy/store.py",
    }  # fmt: skip
    said = (
        (TOP / "docs" / "internals" / "extending.md")
        .read_text()
        .split("## How to add an engine\n", 1)[1]
        .split("\n## ", 1)[0]
    )
    for name in ("store.py", "engine.py", "__init__.py"):
        assert f"`stores/NAME/{name}`" in said
    assert "| `stores/__init__.py` |" in said


def test_a_workspace_on_a_new_engine_claims_refuses_and_is_guarded(world: World) -> None:
    assert (world.repo / ".dibs" / "local" / "store").read_text() == "toy:\n"

    assert world.dibs("claim", "a.py", "--as", "ann")["ok"]
    refused = world.refusal("claim", "a.py", "--as", "bob")
    assert (refused["code"], refused["blockers"][0]["agent"]) == ("held", "ann")
    assert world.edit("bob", "b.py").returncode == 0
    hooked = world.edit("bob", "a.py")
    assert (hooked.returncode, "ann holds a.py" in hooked.stderr) == (2, True)
    assert {claim["agent"] for claim in world.dibs("status")["claims"]} == {"ann", "bob"}
    assert world.dibs("verify")["ok"]
    assert not (world.repo / ".dibs" / "local" / "dibs.db").exists()


def test_commands_about_stores_know_what_a_new_engine_is_not(world: World) -> None:
    up = world.dibs("up")
    assert (up["store"], up["started"], "path" in up) == ("toy:", False, False)
    assert "stops no other" in world.refusal("up", "--stop")["message"]
    assert world.refusal("store", "move", "sqlite:")["message"] == "a toy cannot be moved"
    assert "--recover is for an SQLite file" in world.refusal("doctor", "--recover")["message"]
    assert "dibs opens `toy:`, `sqlite:`" in world.refusal("store", "move", "nosuch:")["message"]
    (world.repo / ".dibs" / "local" / "toy.db").rename(world.home / "toy.db")
    checks = {check["check"]: check for check in world.dibs("doctor")["checks"]}
    assert "is gone" in checks["database"]["message"]
    (world.home / "toy.db").rename(world.repo / ".dibs" / "local" / "toy.db")


@pytest.mark.parametrize("case", conformance.CASES, ids=lambda case: case.__name__)
def test_the_toy_conforms(case: Callable[[Callable[[], Store]], None], tmp_path: Path) -> None:
    numbers = count()

    def fresh() -> Store:
        return toy_store.open_store(Opening(str(tmp_path), f"toy:{tmp_path}/{next(numbers)}.db", is_pinned=False))

    case(fresh)


def test_every_engine_of_the_table_has_the_two_modules() -> None:
    known = {*FOLDERS, *OPENERS}
    for folder in {*ENGINES.values()}:
        modules = [__import__(f"dibs.stores.{folder}.{name}", fromlist=("x",)) for name in ("store", "engine")]
        assert {*modules} <= known, "name them above, so that their types are checked"
        assert callable(modules[0].open_store)
        assert {"DATABASE", "SERVER", "open_side"} <= {*vars(modules[1])}
