"""A client that dibs never heard of, added as one folder to a copy of the package: all of dibs knows it then."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dibs.guards import payload
from dibs.interfaces.agents import adapter, make_index
from dibs.interfaces.agents.claude import hook as claude
from dibs.interfaces.agents.codex import hook as codex
from dibs.interfaces.agents.copilot import hook as copilot
from dibs.interfaces.agents.cursor import hook as cursor
from dibs.interfaces.agents.gemini import hook as gemini
from dibs.interfaces.agents.opencode import hook as opencode
from dibs.interfaces.install.probe import DETACHED
from dibs.workspace import known_clients as index
from tests.interfaces.installation import everything, git, write

if TYPE_CHECKING:
    from dibs.interfaces.agents.adapter import Dialect

TOP = Path(__file__).resolve().parents[3]
TOY = Path(__file__).with_name("toy")
CLI = "from dibs.interfaces.cli import main; import sys; sys.exit(main(sys.argv[1:]))"
THEIRS = (
    '{\n  // mine\n  "colour": "red",\n  "hooks": {"will": [{"hooks": [{"type": "command", "command": "./own"}]}]}\n}\n'
)
# the types hold each to the contract
DIALECTS: tuple[Dialect, ...] = (claude, codex, copilot, cursor, gemini, opencode)


class World:
    """A repository, and a package that has the toy client."""

    def __init__(self, folder: Path) -> None:
        self.src, self.repo, self.home = folder / "src", folder / "repo", folder / "home"
        shutil.copytree(TOP / "src", self.src, ignore=shutil.ignore_patterns("__pycache__"))
        self.before = everything(self.src)
        shutil.copytree(TOY, self.src / "dibs" / "interfaces" / "agents" / "toy")
        self.python("-m", "dibs.interfaces.agents.make_index")
        for cached in self.src.rglob("__pycache__"):
            shutil.rmtree(cached)
        self.after = everything(self.src)
        self.home.mkdir()
        self.repo.mkdir()
        git("init", "-q", "-b", "main", cwd=self.repo)
        write(self.repo / ".toy" / "hooks.json", THEIRS)
        write(self.repo / "TOY.md", "Play.\n")

    def python(self, *words: str, given: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        """A Python that has this package."""
        return subprocess.run(
            [sys.executable, "-P", *words], input=given, cwd=self.src.parent if "-m" in words else self.repo,
            capture_output=True, text=True, check=False, timeout=120,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.home), "PYTHONPATH": str(self.src), "DIBS_STATES": "off",
                 **more},
        )  # fmt: skip

    def dibs(self, *words: str, **more: str) -> dict[str, Any]:
        done = self.python("-c", CLI, *words, "--json", **more)
        assert "Traceback" not in done.stderr, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def hook(self, event: str, agent: str, **more: Any) -> subprocess.CompletedProcess[str]:
        """The command in the client's settings, run as the client would, but with no process of the test's above it."""
        settings = json.loads(re.sub(r"//.*", "", (self.repo / ".toy" / "hooks.json").read_text()))
        commands = [one["hooks"][0]["command"] for one in settings["hooks"][event]]
        (command,) = [command for command in commands if ".dibs/hook" in command]
        sent = {"session_id": agent, "cwd": str(self.repo), "hook_event_name": event, **more}
        ended = self.home / "exit"
        done = subprocess.run(
            ["sh", "-c", DETACHED, "sh", command, str(ended)], input=json.dumps(sent), cwd=self.repo, text=True,
            capture_output=True, check=False, env={"PATH": "/usr/bin:/bin", "HOME": str(self.home)}, timeout=120,
        )  # fmt: skip
        done.returncode = int(ended.read_text())
        return done

    def puts(self, agent: str, path: str) -> subprocess.CompletedProcess[str]:
        return self.hook("will", agent, tool_name="put", tool_input={"path": path, "content": "x\n"})


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("toy"))


def test_one_folder_and_the_index_that_is_made_are_all_that_changes(world: World) -> None:
    changed = {name for name in {*world.before, *world.after} if world.before.get(name) != world.after.get(name)}
    folder = "dibs/interfaces/agents"
    assert changed == {
        "dibs/workspace/known_clients.py", "dibs/workspace/hook_dialects.py", f"{folder}/toy",
        f"{folder}/toy/__init__.py", f"{folder}/toy/hook.py", f"{folder}/toy/install.py",
    }  # fmt: skip
    said = (
        (TOP / "docs" / "internals" / "extending.md")
        .read_text()
        .split("## How to add a client\n", 1)[1]
        .split("\n## ", 1)[0]
    )
    for name in ("hook.py", "install.py", "__init__.py"):
        assert f"`interfaces/agents/NAME/{name}`" in said
    assert "`workspace/known_clients.py`, `hook_dialects.py`" in said


@pytest.mark.slow
def test_it_is_found_guarded_proven_and_taken_out_again(world: World) -> None:
    before = everything(world.repo)
    assert world.dibs("init", "--dry-run")["clients"] == ["toy"], "by what lies in the repository"
    assert world.dibs("init", "--dry-run", "--clients", "Toy_Agent")["clients"] == ["toy"], "and by another name"
    made = world.dibs("init")
    assert {".toy/hooks.json", ".toy/allowed/dibs", "TOY.md"} <= set(made["changes"])
    assert "// mine" in (world.repo / ".toy" / "hooks.json").read_text()

    booted = world.hook("wakes", "ann")
    assert "You are" in json.loads(booted.stdout)["hear"], booted
    assert world.puts("ann", "a.py").returncode == 0
    refused = world.puts("bob", "a.py")
    answer = json.loads(refused.stdout)
    assert (refused.returncode, answer["event"], answer["verdict"]) == (2, "will", "no")
    assert "holds a.py" in answer["because"]
    assert world.hook("will", "bob", tool_name="get", tool_input={"path": "a.py"}).returncode == 0
    assert world.puts("bob", ".toy/hooks.json").returncode == 2, "its settings need an explicit claim"
    assert world.dibs("whoami", TOY_SESSION="ann")["agent"] == "ann"

    checks = {one["check"]: one for one in world.dibs("doctor")["checks"]}
    assert checks["toy guard"]["ok"], checks["toy guard"]
    assert (checks["toy trust"]["ok"], checks["toy trust"]["message"]) == (False, f"Toy does not trust {world.repo}")
    write(world.home / ".toy.json", json.dumps({"trusted": [str(world.repo)]}))
    assert {one["check"]: one["ok"] for one in world.dibs("doctor")["checks"]}["toy trust"]

    moved = (world.repo / ".dibs" / "local" / "run").read_text().replace("entry.py", "gone.py")
    moved = moved.replace(sys.executable, f"{sys.executable}-gone")  # that one has a dibs, which knows no toy
    (world.repo / ".dibs" / "local" / "run").write_text(moved)
    (world.repo / ".git" / "dibs" / "run").write_text(moved)
    without = world.puts("bob", "b.py")
    assert (without.returncode, json.loads(without.stdout)["verdict"]) == (2, "no"), "the launcher speaks its dialect"
    assert "was moved" in json.loads(world.hook("wakes", "bob").stdout)["hear"]

    world.dibs("init")
    gone = world.dibs("init", "--uninstall", "--yes")
    assert gone["ok"], gone
    assert everything(world.repo) == before


def test_the_index_is_what_the_clients_say() -> None:
    assert Path(index.__file__).read_text() == make_index.text()
    assert tuple(client.name for client in make_index.found()) == index.NAMES


def test_every_client_says_what_the_contract_asks_for() -> None:
    for client in make_index.found():
        for name in ("title", "program", "settings_file", "pages"):
            assert getattr(client, name), (client.name, name)
        spoken = client.hook
        assert spoken in DIALECTS
        assert set(client.entries()) <= set(spoken.EVENTS)
        assert client.settings_file in client.strict or any(
            client.settings_file.startswith(f"{path}/") for path in client.strict
        ), f"an agent could switch the guards of {client.name} off"
        assert client.denies(spoken.deny(client.event_of("before"), "because"))
        assert not client.denies({
            "decision": "allow", "permission": "allow", "deny": "", "permissionDecision": "allow",
            "hookSpecificOutput": {"permissionDecision": "allow"},
        })  # fmt: skip
        for path, text in client.own_files().items():
            assert text.startswith(adapter.MADE), path
        event = payload.read(client.name, client.event_of("before"), client.probe("ann", "/t", "p"))
        assert event is not None
        assert (event.session, event.cwd, event.kind in {"edit", "patch"}) == ("ann", "/t", True)
