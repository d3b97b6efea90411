"""`dibs top` in a real terminal (tmux) at several sizes: what a person sees and does, with a server and without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dibs
from tests.e2e.clients.tmux import Pane
from tests.interfaces.http.web import Server
from tests.interfaces.repository import Repository
from tests.interfaces.test_dead_agent import at_work
from tests.land.landing_repo import LandingRepo
from tests.scratch import repo as _repo
from tests.stores.redis_server import free_port
from tests.waiting import until

pytestmark = pytest.mark.clients
repo = _repo

TOP = f"{sys.executable} -m dibs top"
REPOSITORY = Path(__file__).resolve().parent.parent.parent
HOSTILE = "<b>[red]$(x)日本"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The fleet of the pictures: ten agents, a deadlock, tasks."""
    folder = tmp_path_factory.mktemp("top") / "shop"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    command = [sys.executable, "-m", "tools.dashboard_scene", str(folder)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as scene:
        assert scene.stdout is not None
        assert scene.stdout.readline() == b"ready\n"
        yield folder
        scene.kill()


def kinds(folder: Path, kind: str) -> list[Any]:
    command = [sys.executable, "-m", "dibs", "log", "--kind", kind, "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return [event for event in json.loads(done.stdout)["events"] if event["kind"] == kind]


def test_eighty_by_twenty_four_shows_one_pane_at_a_time(shop: Path, tmp_path: Path) -> None:
    with Pane(tmp_path / "t", shop, TOP, (80, 24)) as pane:
        lines = pane.see("1 NEEDS YOU  deadlock", "[1 Agents]", "live #", "~  Landing", "enter story")
        assert len(lines) == 24
        assert lines[1].startswith(" blocked 3 of 10, longest ")
        assert lines[3].startswith("!1 Deadlock     cleo > eve > dov > cleo, cleo was refused")
        assert lines[3].endswith("enter resolve")
        assert lines[4].startswith("~  Conflict     cleo-amounts and eve-amounts: amounts.txt would")
        assert lines[5].startswith("~  Landing      1 branch queued for main; lead keeps others")
        assert lines[7].split() == ["AGENT", "STATE", "TASK", "%", "HOLDS,", "OR", "WAITS", "FOR", "SINCE"]
        assert lines[8].startswith(">")
        assert " < " in lines[8]
        assert lines[-1].startswith(" j/k move  enter story")
        for key, text in (
            ("2", "deploy:staging"),
            ("3", "DEADLOCK of 3: enter shows how"),
            ("4", "email-sync"),
            ("5", "dibs raised alert"),
        ):
            pane.press(key)
            pane.see(text)
        pane.press("1", "/")
        pane.type("cleo")
        pane.gone("hana")
        pane.press("Enter", "Enter")
        pane.see("─ agent cleo", "Story: ", "src/db")
        pane.press("Escape")
        pane.press("Escape")
        pane.see("hana")
        pane.press("?")
        pane.see("force release")
        pane.press(*"jjjjjjjjjjjjjjjjjjjjjjjj")
        pane.see("leave")
        pane.press("Escape")
        pane.press("q")
        pane.see("ended 0", " icanon")


def test_it_is_resized_while_it_runs_to_all_panes_and_back(shop: Path, tmp_path: Path) -> None:
    with Pane(tmp_path / "t", shop, TOP, (80, 24)) as pane:
        pane.see("[1 Agents]")
        for size in ((120, 40), (160, 50), (200, 60), (80, 24), (60, 15)):
            pane.resize(size)
            wide = size[0] >= 100
            lines = pane.see("[1 Agents 10]" if wide else "[1 Agents]─2 Held")
            assert len(lines) == size[1]
            if wide:
                shown = "\n".join(
                    pane.see("2 Held 24", "3 Waits 3", "4 Tasks 24", "5 Log", "┬", "┴", "WHAT HAPPENED", "TIME LEFT")
                )
                assert "DEADLOCK of 3: enter shows how" in shown
                assert "planned 3 ready, 4 blocked" in shown
        pane.press("C-c")
        pane.see("ended 130", " icanon")


def test_a_dead_agent_is_looked_at_and_handed_to_the_next_one_in_three_keys(repo: Repository, tmp_path: Path) -> None:
    at_work(repo).client.kill()
    with Pane(tmp_path / "t", repo.folder, TOP, (160, 50)) as pane:
        pane.see("ada-1 exited just now without signing off. Task docker is back in the queue.", "d diff   H hand over")
        pane.press("!", "d")
        pane.see("Uncommitted work of ada-1: 2 files", "+more", "+++ b/new.py")
        pane.press("Escape")
        pane.gone("+more")
        pane.press("x")
        pane.see("ada-1 is dead already")
        pane.press("H")
        pane.see("Hand over the work of ada-1?", "task docker", "uncommitted work in a.py, new.py", "--to NEXT")
        pane.press("Enter", "Enter", "Enter")
        pane.see("Handed the work of ada-1 to the next agent that starts")
        (event,) = kinds(repo.folder, "handover.offered")
        assert (event["subject"], event["data"]["tasks"], event["data"]["files"]) == ("ada-1", ["docker"], 2)
        pane.press("q")
        pane.see("ended 0")


def test_the_work_of_an_agent_that_runs_is_undone_in_three_keys(repo: Repository, tmp_path: Path) -> None:
    ada = at_work(repo)
    ada.hook("UserPromptSubmit", prompt="build the image")
    with Pane(tmp_path / "t", repo.folder, TOP, (160, 50)) as pane:
        pane.see("ada-1", "new.py")
        pane.press("1", "u")
        pane.see("Undo the work of ada-1?", "ada-1 is still at work on", "it loses them", "notified why", "[Cancel]")
        pane.press("Tab", "Enter")
        pane.see("Undone in 2 files")
        assert (repo.folder / "a.py").read_text() == "a.py at first\n"
        assert not (repo.folder / "new.py").exists()
        pane.press("q")
        pane.see("ended 0")
    assert "undid" in ada.hook("UserPromptSubmit", prompt="go on").told


def test_after_a_lunch_break_nothing_needs_anybody(repo: Repository, tmp_path: Path) -> None:
    repo.config('[claims]\nttl = "1s"\n')
    ada = repo.agent("ada-1")
    ada.boot()
    for name in ("a.py", "new.py"):
        ada.edit(name, "more\n")
    ada.stop()
    with Pane(tmp_path / "t", repo.folder, TOP, (160, 50)) as pane:
        pane.see("ada-1", "new.py")
        until(lambda: repo.terminal("sweep") and len(kinds(repo.folder, "claim.renewed")) >= 2, "the deadline")
        pane.see("ALL WELL", "new.py")
        pane.press("!")
        lines = pane.see("ALL WELL")
        assert not [line for line in lines if line.startswith(("!1", "~  Expired"))]
        pane.press("q")
        pane.see("ended 0")


def test_two_branches_that_land_are_followed_in_the_story_of_the_worktrees(tmp_path: Path) -> None:
    repo = LandingRepo(tmp_path / "repo")
    repo.change("ann", a="1\n")
    repo.change("bob", b="1\n")
    repo.queue("ann", "bob")
    with Pane(tmp_path / "t", repo.folder, TOP, (120, 40)) as pane:
        pane.see("2 branches queued for main; nobody lands: dibs land --all")
        pane.press("g", "m")
        pane.see("ann", "bob", "queued")
        assert repo.land("--all")["landed"] == 2
        pane.see("landed")
        pane.press("Escape")
        pane.gone("queued for main")
        pane.press("q")
        pane.see("ended 0")
    assert {"a.txt", "b.txt"} <= set(repo.git("ls-tree", "--name-only", "main").split())


def test_a_deadlock_is_seen_opened_and_its_holder_asked(shop: Path, tmp_path: Path) -> None:
    with Pane(tmp_path / "t", shop, TOP, (120, 40)) as pane:
        pane.see("!1 Deadlock", "enter resolve")
        pane.press("!", "Enter")
        lines = pane.see("How to resolve: select any one of these", "Way 3")
        way = next(line for line in lines if line.startswith(">Way 1"))
        held = way.split(" releases ")[1].split(",")[0]
        pane.press("A")
        pane.see(f"Ask for {held}")
        pane.press("Escape")
        pane.press("r")
        pane.see(f"Release {held}, held by ")
        pane.press("Escape")
        pane.press("q")
        pane.see("ended 0", " icanon")


def test_a_kill_a_release_and_kill_all_with_their_confirmations(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    dibs.init(str(folder))
    with dibs.open(str(folder), agent="ada", timeout=10) as ada, dibs.open(str(folder), agent="ben", timeout=10) as ben:
        ada.claim("src/a.py", reason=HOSTILE)
        ben.claim("src/b.py")
        with Pane(tmp_path / "t", folder, TOP, (100, 30)) as pane:
            pane.see("ada", "src/a.py", "ALL WELL")
            ada.claim("src/live.py")  # appears by itself
            pane.press("2")
            pane.see("live.py")
            pane.press("j", "r")
            pane.see("Release src/a.py, held by ada?")
            pane.type("needed now")
            pane.press("Enter")
            pane.see("[Release]")
            assert not kinds(folder, "claim.ended")
            pane.press("Enter")
            pane.see("Released src/a.py, event ")
            assert kinds(folder, "claim.ended")[0]["data"]["reason"] == "needed now"
            pane.press("1", "g", "g", "x")
            pane.see("Kill ada?")
            pane.press("Escape")
            pane.gone("Kill ada?")
            assert not kinds(folder, "agent.killed")
            pane.press("X")
            pane.see("Kill all agents?")
            pane.type("wrong branch")
            pane.press("Enter")
            pane.type("work")
            pane.press("Enter")
            pane.see("[Kill all]")
            pane.press("Enter")
            pane.see("Killed all agents, event ", "x killed")
            assert {event["subject"] for event in kinds(folder, "agent.killed")} >= {"ada", "ben"}
            pane.press("q")
            pane.see("ended 0", " icanon")


def test_a_far_store_is_shown_lost_and_shown_again_without_a_missed_event(tmp_path: Path) -> None:
    """`DIBS_STORE=http://…`: the server is elsewhere, goes away, and comes back."""
    home, away = tmp_path / "home", tmp_path / "away"
    for folder in (home, away):
        folder.mkdir()
    dibs.init(str(home))
    (away / ".dibs").mkdir()
    (away / ".dibs" / "config.toml").write_text((home / ".dibs" / "config.toml").read_text())
    with dibs.open(str(home), agent="ada", timeout=10) as ada:
        ada.claim("src/before.py")
        with dibs.open(str(home), agent="root", timeout=10) as root:
            made = root.token_new(agent="eyes", role="viewer")
        token = tmp_path / "token"
        token.write_text(made["token"])
        token.chmod(0o600)
        with Server(home, "--port", str(free_port())) as server:
            url = server.about["url"]
            environment = {"DIBS_STORE": url, "DIBS_TOKEN_FILE": str(token), "DIBS_TOKEN": made["token"]}
            with Pane(tmp_path / "t", away, TOP, (120, 30), **environment) as pane:
                pane.see("src/before.py", "viewer: may look")
                pane.press("x")
                pane.see("may look, not do this")
                server.stop()
                pane.see("UNKNOWN", "Connection lost", "clocks are stopped")
                for number in range(5):
                    ada.claim(f"src/away-{number}.py")
                with Server(home, "--port", url.rpartition(":")[2]) as again:
                    pane.see("none missed", "ALL WELL")
                    pane.press("2")
                    pane.see("away-4.py")
                    again.stop()
                pane.press("q")
                pane.see("ended 0", " icanon")


def test_one_picture_of_a_served_workspace_is_the_same_as_of_a_plain_one(shop: Path) -> None:
    def picture() -> dict[str, Any]:
        done = subprocess.run(
            [*TOP.split(), "--json"], cwd=shop, capture_output=True, text=True, check=True, env=os.environ
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return {key: found[key] for key in ("verdict", "held", "agents", "tasks", "blocked")}

    alone = picture()
    with Server(shop) as server:
        assert picture() == alone
        server.stop()
