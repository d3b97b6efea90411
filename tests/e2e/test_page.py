"""The page in a real browser, at a real server: what a person sees and does, and what no name or message can do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import dibs
from benchmarks import watching
from dibs.audit import check as audit
from dibs.canonical import Canonical
from dibs.client.session import Session
from dibs.interfaces.page import sign_in
from tests.e2e.clients import browser as browsers
from tests.e2e.clients.install import program
from tests.interfaces.http.web import Server
from tests.interfaces.overwritten_file import BEFORE, overwritten
from tests.interfaces.repository import Repository
from tests.interfaces.test_dead_agent import typed
from tests.scratch import repo as _repo
from tests.stores.redis_server import free_port
from tests.waiting import until

pytestmark = pytest.mark.clients
repo = _repo

WAIT_MS = 60_000  # a busy machine has other work as well; what is there is seen at once
HOSTILE = "<img src=x onerror=alert(1)>\"'`${alert(2)}</script><script>alert(3)</script>"
# Not only drawn: before its stream of events is open the page says that it connects, and offers no actions.
LIVE = "() => document.querySelector('#conn .txt')?.textContent === 'live'"
VIEW = "(view) => document.querySelector('main')?.ariaLabel === view"
CHORD_MS = 3_000
FOLLOWED = 150  # events in each view


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=browsers.installed() or None, args=browsers.FLAGS)
        yield launched
        launched.close()


class Window:
    """A page that was opened, and everything that it should not do."""

    def __init__(self, page: Any, origin: str) -> None:
        self.page, self.origin = page, origin
        self.faults: list[str] = []
        self.expected: tuple[str, ...] = ()
        page.set_default_timeout(WAIT_MS)
        page.on("console", lambda said: self._note(said.type == "error", said.text))
        page.on("pageerror", lambda error: self._note(True, str(error)))
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self._note(not request.url.startswith(origin), f"asked {request.url}"))

    def _note(self, wrong: bool, text: str) -> None:
        if wrong:
            self.faults.append(text)

    def _dialog(self, box: Any) -> None:
        self._note(True, f"dialog {box.message}")
        box.dismiss()

    def see(self, text: str, where: str = "#app") -> None:
        """Wait until this text is there."""
        self.page.wait_for_function(
            "([where, text]) => [...document.querySelectorAll(where)].some((e) => e.textContent.includes(text))",
            arg=[where, text],
        )

    def gone(self, text: str, where: str = "#app") -> None:
        """Wait until it is not."""
        self.page.wait_for_function(
            "([where, text]) => ![...document.querySelectorAll(where)].some((e) => e.textContent.includes(text))",
            arg=[where, text],
        )

    def go(self, hash: str) -> None:
        self.page.evaluate("(hash) => { location.hash = hash; }", hash)

    def press(self, key: str, view: str) -> None:
        """`g` and a key, to a view. Again, should the machine have let more than a second pass between the two."""
        from playwright.sync_api import TimeoutError as Late

        for _ in range(20):
            self.page.keyboard.press("g")
            self.page.keyboard.press(key)
            try:
                self.page.wait_for_function(VIEW, arg=view, timeout=CHORD_MS)
            except Late:
                continue
            return
        pytest.fail(f"g {key} does not reach {view}")

    def check(self) -> None:
        """Nothing that it should not do was done."""
        assert [one for one in self.faults if not any(word in one for word in self.expected)] == []


Opened = Callable[..., Window]


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Any]:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    dibs.init(str(tmp_path))
    with dibs.open(str(tmp_path), agent="ada", timeout=10) as made:
        yield made


@pytest.fixture
def server(workspace: Any, tmp_path: Path) -> Iterator[Server]:  # noqa: ARG001 - it has to be there first
    with Server(tmp_path, "--port", str(free_port())) as running:
        yield running
        running.stop()


@pytest.fixture
def opened(chromium: Any, server: Server) -> Iterator[Opened]:
    """Open the page, signed in by a code; closed and checked at the end."""
    contexts: list[Any] = []
    windows: list[Window] = []

    def make(*, token: str = "", **how: Any) -> Window:
        context = chromium.new_context(**{"viewport": {"width": 1440, "height": 900}, **how})
        contexts.append(context)
        url = server.about["url"]
        window = Window(context.new_page(), url)
        windows.append(window)
        if token:
            window.expected = ("401",)
            window.page.goto(url)
            assert window.page.locator(".signin").bounding_box()["width"] > 300
            window.page.fill("#token", token)
            window.page.click("button:has-text('Sign in')")
        else:
            window.page.goto(sign_in.address(server.about["url"], server.about["token_file"]))
        window.page.wait_for_function(LIVE)
        return window

    yield make
    for window in windows:
        window.check()
    for context in contexts:
        context.close()


@contextmanager
def waiting(folder: Path, agent: str, path: str) -> Iterator[None]:
    """An agent that waits for a claim meanwhile."""
    other = dibs.open(str(folder), agent=agent, timeout=10)

    def wait() -> None:
        try:
            other.claim(path, wait="60s")
        except dibs.DibsError:
            pass

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    try:
        yield
    finally:
        with dibs.open(str(folder), agent="root", timeout=10) as root:
            for claim in root.status()["claims"]:
                root.release(*claim["resources"], force=True, why="the test is over")
        thread.join(60)
        other.close()


def test_an_empty_workspace_says_what_to_do_and_fills_by_itself(chromium: Any, tmp_path: Path) -> None:
    dibs.init(str(tmp_path))
    with Server(tmp_path) as server:
        context = chromium.new_context()
        window = Window(context.new_page(), server.about["url"])
        window.page.goto(sign_in.address(server.about["url"], server.about["token_file"]))
        window.see("No agents yet", "main")
        window.see("No agents yet", "#verdict")
        window.see("dibs init --clients", "main")
        window.go("#/tasks")
        window.see("dibs task add", "main")
        window.go("#/health")
        window.page.wait_for_selector(".chk")
        window.go("#/overview")
        with dibs.open(str(tmp_path), agent="ada", timeout=10) as workspace:
            workspace.claim("src/a.py")
        window.see("a.py", ".held")
        window.check()
        context.close()
        server.stop()


def test_a_workspace_with_hooks_says_to_start_an_agent_and_a_wrong_token_is_refused_in_a_plain_sentence(
    chromium: Any, tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    command = [sys.executable, "-m", "dibs", "init", "--clients", "claude"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    with Server(tmp_path) as server:
        context = chromium.new_context()
        window = Window(context.new_page(), server.about["url"])
        window.expected = ("401",)
        window.page.goto(server.about["url"])
        window.see(".dibs/local/serve.token", ".signin")
        window.page.fill("#token", "dibs_a_b")
        window.page.click("button:has-text('Sign in')")
        window.see("This token does not count here", ".err")
        assert "`" not in window.page.inner_text(".signin")
        window.page.fill("#token", server.token)
        window.page.click("button:has-text('Sign in')")
        window.see("Start an agent in this repository", "main")
        window.gone("dibs init", "main")
        window.check()
        context.close()
        server.stop()


def test_a_claim_and_a_refusal_appear_by_themselves(opened: Opened, workspace: Any, tmp_path: Path) -> None:
    window = opened()
    workspace.claim("src/api/auth.py", reason="rotate tokens")
    window.see("auth.py", ".held")
    window.see("ada", ".agents")
    with dibs.open(str(tmp_path), agent="ben", timeout=10) as ben, pytest.raises(dibs.Held):
        ben.claim("src/api/auth.py")
    window.see("ben was refused src/api/auth.py", ".recent")
    window.see("src/api/auth.py", ".cont")
    window.page.click(".held [data-row]")
    window.see("Holder", "#drawer")
    window.see("ada claimed src/api/auth.py", "#drawer")  # the sentence that takes the place of the kind
    window.page.keyboard.press("Escape")
    window.page.wait_for_function("() => document.querySelector('#drawer') === null")


def test_what_a_busy_server_did_not_answer_is_asked_again(opened: Opened, workspace: Any) -> None:
    workspace.task_add("Do it", id="t1")
    window = opened()
    window.see("ada", ".agents")
    window.expected = ("503",)
    failed: list[str] = []

    def busy(route: Any) -> None:
        name = route.request.url.rpartition("/v1/")[2]
        if name in failed:
            route.continue_()
        else:
            failed.append(name)
            route.fulfill(status=503, content_type="application/json", body='{"ok": false, "error": {"code": "busy"}}')

    window.page.route("**/v1/**", busy)
    workspace.task_claim("t1")
    workspace.claim("src/a.py", reason="by and by")
    workspace.task_add("Do more", id="t2")
    window.page.click(".held [data-row]:has-text('a.py')")
    window.see("ada claimed src/a.py", "#drawer")
    window.see("by and by", "#drawer")
    window.go("#/tasks")
    window.see("Do more", ".bd")
    # a list that was being fetched when the route was set comes from before it; the next one is asked for again
    until(lambda: window.page.wait_for_timeout(20) or {"explain", "log", "status", "task/list"} <= set(failed))


def test_a_deadlock_is_drawn_with_its_ways_out(opened: Opened, workspace: Any, tmp_path: Path) -> None:
    window = opened()
    workspace.claim("a.py")
    with dibs.open(str(tmp_path), agent="ben", timeout=10) as ben:
        ben.claim("b.py")
        with waiting(tmp_path, "ben", "a.py"):
            window.see("ben", ".waits")
            with pytest.raises(dibs.Deadlock):
                workspace.claim("b.py", wait="5s")
            window.see("Deadlock", "#alerts")
            window.see("need", "#verdict .main")
            window.go("#/waits")
            window.page.wait_for_function("() => document.querySelectorAll('.gp .eg.cy').length >= 1")
            window.see("Release…", ".gl")
            assert window.page.title().startswith("(")


def test_a_deadlock_is_resolved_in_three_steps(opened: Opened, workspace: Any, tmp_path: Path) -> None:
    workspace.claim("a.py")
    with dibs.open(str(tmp_path), agent="ben", timeout=10) as ben:
        ben.claim("b.py")
        with waiting(tmp_path, "ben", "a.py"):
            window = opened()
            window.see("ben", ".waits")
            with pytest.raises(dibs.Deadlock):
                workspace.claim("b.py", wait="5s")
            window.page.click("#alerts button:has-text('Resolve deadlock…')")
            window.page.click(".gl .tray:has-text('a.py') button:has-text('Release…')")
            window.page.fill("#why", "ben goes first")
            window.page.click("#yes")
            window.see("Released a.py", "#toast")
            window.gone("Deadlock", "#alerts")
            window.see("No agent is waiting", ".gp")


def test_a_dead_agents_work_is_seen_and_handed_to_another_in_three_steps(chromium: Any, repo: Repository) -> None:
    ada, bob = repo.agent("ada-1"), repo.agent("bob-1")
    bob.boot()
    ada.boot()
    ada.edit("a.py", "a.py at first\nmore\n")
    ada.client.kill()
    with Server(repo.folder) as server:
        context = chromium.new_context(viewport={"width": 1440, "height": 900})
        window = Window(context.new_page(), server.about["url"])
        window.page.goto(sign_in.address(server.about["url"], server.about["token_file"]))
        window.see("exited", "#alerts")
        window.gone("Kill", "#alerts")
        window.page.click("#alerts button:has-text('Show diff')")
        window.see("+more", "dialog")
        window.page.keyboard.press("Escape")
        window.page.click("#alerts button[aria-haspopup=menu]")
        window.page.click(".menu:popover-open button:has-text('Hand to…')")
        window.page.select_option("#f-to", label="bob-1")
        window.page.click("#yes")
        window.see("Handed over to bob-1", "#toast")
        window.see("bob-1", ".held .by")
        window.check()
        context.close()
        server.stop()


def served(chromium: Any, server: Server, **how: Any) -> Window:
    """The page of a repository whose agents are stand-in clients."""
    window = Window(
        chromium.new_context(viewport={"width": 1440, "height": 900}, **how).new_page(), server.about["url"]
    )
    window.page.goto(sign_in.address(server.about["url"], server.about["token_file"]))
    window.page.wait_for_function(LIVE)
    return window


def test_the_work_of_an_agent_that_runs_is_undone_in_three_steps(chromium: Any, repo: Repository) -> None:
    """The files are on its machine: the palette gives the command, which asks there."""
    ada = repo.agent("ada-1")
    ada.boot()
    ada.hook("UserPromptSubmit", prompt="port the API")
    ada.edit("a.py", "a.py at first\nmore\n")
    with Server(repo.folder) as server:
        window = served(chromium, server, permissions=["clipboard-read", "clipboard-write"])
        window.see("ada-1", ".agents")
        window.page.keyboard.press("Control+k")
        window.page.keyboard.type("undo ada")
        window.see("dibs undo ada-1", "#pallist [aria-selected=true]")
        window.page.keyboard.press("Enter")
        window.see("Copied", "#toast")
        command = window.page.evaluate("navigator.clipboard.readText()")
        seen = typed(repo, *command.split()[1:], answer="y")
        assert "ada-1 is still at work on a.py: it loses it, and is notified why." in seen
        assert (repo.folder / "a.py").read_text() == "a.py at first\n"
        window.gone("a.py", ".held")
        assert "undid" in ada.hook("UserPromptSubmit", prompt="go on").told
        window.check()
        window.page.context.close()
        server.stop()


def test_an_agent_that_waits_for_a_person_and_one_that_is_stalled_are_seen_at_once(
    chromium: Any, repo: Repository
) -> None:
    repo.config('[agents]\nstalled = "1s"\n')
    ada, bob = repo.agent("ada-1"), repo.agent("bob-1")
    for agent in (ada, bob):
        agent.boot()
        agent.hook("UserPromptSubmit", prompt="port the API")
    ada.edit("a.py", "a.py at first\nmore\n")
    ada.hook("PermissionRequest", tool_name="Bash", tool_input={"command": "git push"})
    with Server(repo.folder) as server:
        window = served(chromium, server)
        window.page.wait_for_selector(".ag:has-text('ada-1'):has-text('waits for you')")
        window.page.wait_for_selector(".ag:has-text('bob-1'):has-text('stalled')")
        first = window.page.locator(".agents .ag:not(.hd)").nth(0).inner_text()
        assert "ada-1" in first, "it holds a file"
        ada.read("b.py")  # a person allowed it
        window.gone("waits for you", ".agents")
        for agent in (ada, bob):
            agent.stop()
        window.gone("stalled", ".agents")
        window.check()
        window.page.context.close()
        server.stop()


def test_after_a_lunch_break_nothing_needs_anybody(chromium: Any, repo: Repository) -> None:
    repo.config('[claims]\nttl = "1s"\n')
    ada = repo.agent("ada-1")
    ada.boot()
    for name in ("a.py", "new.py"):
        ada.edit(name, "more\n")
    ada.stop()
    with Server(repo.folder) as server:
        context = chromium.new_context()
        window = Window(context.new_page(), server.about["url"])
        window.page.goto(sign_in.address(server.about["url"], server.about["token_file"]))
        window.see("new.py", ".held")
        until(
            lambda: "claim.renewed" in {one["kind"] for one in repo.terminal("log", "--raw")["events"]}, "the deadline"
        )
        window.see("All well", "#verdict")
        window.see("new.py", ".held")
        assert window.page.locator("#alerts .al").count() == 0
        window.check()
        context.close()
        server.stop()


def test_who_is_blocked_is_seen_at_once_and_its_holder_asked_in_three_steps(
    opened: Opened, workspace: Any, tmp_path: Path
) -> None:
    workspace.claim("src/api.py", reason="new route")
    with waiting(tmp_path, "ben", "src/api.py"):
        window = opened()
        window.see("1 of 2 waits", "#verdict .main.wait")
        window.see("new route", ".agents")
        window.page.click("#tabs a[href='#/waits']")
        window.see("ada holds up 1 agent", ".gl")
        window.page.click(".gl button:has-text('Ask to release…')")
        window.page.click("#yes")
        window.see("Sent to ada", "#toast")
        assert [one for one in workspace.log(limit=50)["events"] if one["kind"] == "claim.asked"]


@pytest.mark.usefixtures("workspace")
def test_a_pool_shows_its_units_and_who_waits_for_one(opened: Opened, tmp_path: Path) -> None:
    with (tmp_path / ".dibs" / "config.toml").open("a") as file:
        file.write("[pools]\nbuild = { size = 1 }\n")
    with dibs.open(str(tmp_path), agent="cid", timeout=10) as cid:
        cid.claim("pool:build", reason="tests")
        with waiting(tmp_path, "ben", "pool:build"):
            window = opened()
            window.see("1 of 1", ".held")
            window.see("pool:build:0", ".held")
            window.see("ben", ".held .tag.wait")


def test_two_branches_are_queued_to_land_in_three_steps_each(opened: Opened, workspace: Any, tmp_path: Path) -> None:
    assert workspace
    two_worktrees(tmp_path)
    window = opened()
    window.go("#/worktrees")
    for branch in ("ann", "bob"):
        window.page.click("button:has-text('Land a branch…')")
        window.page.fill("#f-branch", branch)
        window.page.click("#yes")
        window.see(f"{branch} is in the queue", "#toast")
    window.see("number 2", ".wtq")
    window.see("dibs land --all", ".wtq .now")


def test_a_task_is_added_and_edited_from_the_palette_and_empty_columns_are_folded(
    opened: Opened, workspace: Any
) -> None:
    window = opened()
    window.page.keyboard.press("Control+k")
    window.page.keyboard.type("add task")
    window.see("Add a task…", "#pallist [aria-selected=true]")
    window.page.keyboard.press("Enter")
    window.page.fill("#f-title", "Rotate the tokens")
    window.page.fill("#f-priority", "7")
    window.page.keyboard.press("Enter")
    window.see("Added ", "#toast")
    [task] = workspace.task_list()["tasks"]
    assert (task["title"], task["priority"], task["state"]) == ("Rotate the tokens", 7, "planned")
    window.page.keyboard.press("3")
    window.see("Rotate the tokens", ".card")
    assert window.page.locator(".fold").count() == 4
    window.page.keyboard.press("Control+k")
    window.page.keyboard.type("edit rotate")
    window.page.keyboard.press("Enter")
    window.page.fill("#f-title", "Rotate all tokens")
    window.page.fill("#f-priority", "9")
    window.page.select_option("#f-state", "scoped")
    window.page.fill("#f-note", "first the sessions")
    window.page.click("#yes")
    window.see("Rotate all tokens", "[data-col=scoped]")
    assert workspace.task_show(task["id"])["task"]["priority"] == 9
    assert workspace.task_show(task["id"])["task"]["notes"][-1]["text"] == "first the sessions"
    window.page.keyboard.press("Control+k")
    window.page.keyboard.type("kill ada")
    window.page.keyboard.press("Enter")
    window.see("Kill ada?", "dialog")


def queued(folder: Path, waiters: int, holders: int) -> None:
    """Many who wait: each for one of the holders, every third for another waiter."""
    session = Session(str(folder), None)
    claim = session.operation("claim")
    paths = [Canonical(session.paths.resource(f"src/{n}.py", session.cwd, literal=True)) for n in range(waiters)]
    for number in range(waiters):
        session.run(claim, session.identify(f"claude-{number:03}"), {"resources": [paths[number]]})
    for number in range(holders, waiters):
        target = number - 1 if number % 3 == 0 else number % holders
        fields = {"resources": [paths[target]], "wait": 600_000}
        session.run(claim, session.identify(f"claude-{number:03}"), fields)
    session.close()


def test_two_hundred_waits_are_drawn_with_readable_letters_and_panned_and_zoomed(
    opened: Opened, workspace: Any, tmp_path: Path
) -> None:
    assert workspace
    queued(tmp_path, 210, 10)
    window = opened()
    window.see("200 of 2", "#verdict .main.wait")
    window.page.keyboard.press("4")
    window.page.wait_for_function("() => document.querySelectorAll('.gp .nd').length === 210")
    least = """() => Math.min(...[...document.querySelectorAll('.gp tspan')].map((e) =>
        parseFloat(getComputedStyle(e).fontSize) * e.closest('svg.g').getScreenCTM().a))"""
    assert window.page.evaluate(least) >= 10.99
    overlaps = """() => { const all = [...document.querySelectorAll('.gp .nd > rect')]
        .map((e) => e.getBoundingClientRect()); return all.filter((a, i) => all.some((b, k) => k > i
        && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)).length; }"""
    assert window.page.evaluate(overlaps) == 0
    assert window.page.locator(".gm tbody tr").first.bounding_box()["y"] < 860  # the table below is not pushed off
    before = window.page.evaluate("document.querySelector('.gp svg.g').clientWidth")
    window.page.click("button[aria-label='Zoom in']")
    window.page.wait_for_function("(w) => document.querySelector('.gp svg.g').clientWidth > w", arg=before)
    window.page.focus(".gp .g0")
    window.page.keyboard.press("0")
    window.page.wait_for_function("(w) => document.querySelector('.gp svg.g').clientWidth === w", arg=before)
    box = window.page.locator(".gp .g0").bounding_box()
    window.page.mouse.move(box["x"] + box["width"] - 40, box["y"] + box["height"] - 20)
    window.page.mouse.down()
    window.page.mouse.move(box["x"] + box["width"] - 60, box["y"] + 60, steps=4)
    window.page.mouse.up()
    assert window.page.evaluate("document.querySelector('.gp .g0').scrollTop") > 100


def test_the_timeline_is_fitted_to_what_happened_and_each_bar_has_a_read_out_for_pointer_and_keys(
    opened: Opened, workspace: Any, tmp_path: Path
) -> None:
    workspace.claim("src/api.py")
    with waiting(tmp_path, "ben", "src/api.py"):
        window = opened()
        window.see("ben", ".waits")
        window.page.keyboard.press("2")
        window.page.wait_for_selector(".cb0.wt")
        past = """() => { const now = document.querySelector('.lane .nowl').getBoundingClientRect().left;
            return [...document.querySelectorAll('.lane .cb0:not(.lease)')]
            .filter((e) => e.getBoundingClientRect().right > now + 2).length; }"""
        assert window.page.evaluate(past) == 0
        window.page.hover(".cb0.wt")
        window.see("ben waits for src/api.py", "#tip")
        window.see("held by ada", "#tip")
        window.page.mouse.move(5, 5)
        window.page.focus(".lane[data-row]")
        window.page.keyboard.press("ArrowRight")
        window.see("ada holds src/api.py", "#tip:not([hidden])")


def test_a_kill_is_confirmed_with_its_facts_and_shown_once_the_log_has_it(opened: Opened, workspace: Any) -> None:
    window = opened()
    workspace.claim("src/a.py")
    window.see("src/a.py", ".agents")
    window.page.click(".agents [data-row]")
    window.page.click("#drawer button:has-text('Kill…')")
    window.see("Voids 1 claim", "dialog")
    assert window.page.is_disabled("#yes")
    window.page.fill("#why", "loops on one test")
    window.see("dibs kill ada --why 'loops on one test'", "dialog")
    window.page.keyboard.press("Enter")  # moves to the button, and does nothing else
    assert window.page.evaluate("document.activeElement.id") == "yes"
    assert not [one for one in workspace.log(limit=50)["events"] if one["kind"] == "agent.killed"]
    window.page.keyboard.press("Enter")
    window.see("Killed ada, event ", "#toast")
    window.see("killed", ".agents")
    assert [one for one in workspace.log(limit=50)["events"] if one["kind"] == "agent.killed"]


def test_facts_that_changed_while_a_dialog_was_open_are_shown_and_nothing_is_done(
    opened: Opened, workspace: Any
) -> None:
    window = opened()
    workspace.claim("src/a.py")
    window.see("src/a.py", ".agents")
    window.page.click(".agents [data-row]")
    window.page.click("#drawer button:has-text('Kill…')")
    window.page.fill("#why", "it is over")
    workspace.claim("src/b.py")
    window.see("b.py", ".held")
    window.page.click("#yes")
    window.see("The facts changed meanwhile; nothing was done", "dialog")
    window.see("now: src/b.py", "dialog")
    assert not [one for one in workspace.log(limit=50)["events"] if one["kind"] == "agent.killed"]
    window.page.click("#yes")
    window.see("Killed ada", "#toast")


def test_kill_all_wants_a_reason_and_the_name_of_the_workspace(opened: Opened, workspace: Any, tmp_path: Path) -> None:
    window = opened()
    workspace.claim("src/a.py")
    with dibs.open(str(tmp_path), agent="ben", timeout=10) as ben:
        ben.claim("src/b.py")
        window.see("src/b.py", ".agents")
        window.page.keyboard.press("X")
        window.see("Kill all agents?", "dialog")
        window.see("Voids 2 claims", "dialog")
        window.page.fill("#why", "the wrong branch")
        window.page.keyboard.press("Enter")
        assert window.page.evaluate("document.activeElement.id") == "typed"
        window.page.fill("#typed", "another")
        assert window.page.is_disabled("#yes")
        window.page.fill("#typed", tmp_path.name)
        window.see("dibs kill all --why 'the wrong branch'", "dialog")
        window.page.click("#yes")
        window.see("Killed all agents, event ", "#toast")
        window.page.wait_for_function(
            "() => [...document.querySelectorAll('.agents .ag')]"
            ".filter((e) => e.textContent.includes('killed')).length === 2"
        )
        with pytest.raises(dibs.Killed):
            ben.claim("src/c.py")


def test_an_overwritten_file_is_restored_in_two_steps_for_the_agent_that_holds_it(
    opened: Opened, workspace: Any, tmp_path: Path
) -> None:
    path, _ = overwritten(tmp_path, "a.py")
    window = opened()
    window.see("Violation", "#alerts")
    window.page.click("#alerts button:has-text('Restore a.py…')")
    window.see("ann holds it now, keeps it, and is notified", "dialog")
    window.page.click("#yes")
    window.see("Restored a.py, event ", "#toast")
    window.see("a.py", ".held")  # by ann, for which the person acted
    assert path.read_bytes() == BEFORE
    window.gone("Violation", "#alerts")
    assert [one["agent"] for one in workspace.status()["claims"]] == ["ann"]


def test_the_whole_log_is_searched_beyond_what_is_here(opened: Opened, workspace: Any, tmp_path: Path) -> None:
    workspace.emit("needle", data={"text": "In the Haystack"})
    session = Session(str(tmp_path), None)

    def more(tx: Any) -> None:
        for number in range(1_000):
            tx.append("event.emitted", "ada", "hay", {"n": number})

    for _ in range(7):
        session.store.run(more)
    session.close()
    window = opened()
    window.go("#/log")
    window.page.fill("#logq", "haystack kind:event.")
    window.see("No event matches", ".lgpanel")
    window.page.press("#logq", "Enter")
    window.see("Haystack", ".loglist")
    window.page.wait_for_selector(".loglist mark")
    window.see("the whole log was searched", ".lgpanel footer")


def test_a_viewer_sees_all_and_may_do_nothing(opened: Opened, workspace: Any, tmp_path: Path) -> None:
    with dibs.open(str(tmp_path), agent="root", timeout=10) as root:
        token = root.token_new(agent="eyes", role="viewer")["token"]
    workspace.claim("src/a.py")
    window = opened(token=token)
    window.see("a.py", ".held")
    window.see("may look", "#foot")
    window.page.click(".held [data-row]")
    button = window.page.wait_for_selector("#drawer button:has-text('Force release…')")
    assert button.is_disabled()
    assert "viewer" in button.get_attribute("title")
    window.page.keyboard.press("Escape")
    window.page.focus(".agents [data-row]")
    window.page.keyboard.press("x")
    window.see("may look", "#toast")
    # whoever sends it all the same is refused by the server, in its words
    reply = window.page.evaluate(
        "async () => { const id = localStorage.getItem('dibs.client'); const r = await fetch(`/s/${id}/v1/kill`, "
        "{method: 'POST', headers: {'content-type': 'application/json', 'x-dibs-page': '1'}, "
        "body: JSON.stringify({agent: 'ada', why: 'no'})}); return r.status; }"
    )
    assert reply == 403
    window.expected = ("401", "403")


def test_it_says_that_it_lost_the_server_and_misses_no_event_when_it_is_back(
    opened: Opened, workspace: Any, server: Server, tmp_path: Path
) -> None:
    window = opened()
    window.expected = ("ERR_", "Failed to load", "net::")
    workspace.claim("src/before.py")
    window.see("before.py", ".held")
    server.stop()
    window.see("Connection lost", "#lost")
    window.see("Unknown", "#verdict")
    for number in range(30):
        workspace.claim(f"src/away/{number}.py")
    with Server(tmp_path, "--port", str(server.port)) as again:
        window.see("none missed", ".recent")  # it tries again by itself
        window.see("29.py", ".held")
        window.gone("Connection lost", "#lost")
        window.go("#/log")
        window.see("claim.granted", ".loglist")
        seen = window.page.evaluate(
            "() => [...document.querySelectorAll('.loglist .sq')].map((e) => Number(e.textContent)).filter(Boolean)"
        )
        assert sorted(seen) == list(range(min(seen), max(seen) + 1))
        workspace.claim("src/after.py")
        window.see("src/after.py", ".loglist")
        again.stop()


def test_hostile_names_and_messages_are_text(opened: Opened, workspace: Any, tmp_path: Path) -> None:
    window = opened()
    with dibs.open(str(tmp_path), agent="lead", timeout=10) as lead:
        lead.task_add(HOSTILE, id="t1")
        lead.run_start("op", id="r1")
        lead.emit("hostile", data={"x": HOSTILE})
    workspace.claim(f"src/{HOSTILE.replace('/', '_')}.py", reason=HOSTILE)
    workspace.task_claim("t1")
    workspace.task_note("t1", HOSTILE)
    workspace.send("lead", HOSTILE)
    window.see("<img src=x", ".held")
    window.see("<img src=x", ".agents")
    for view in ("timeline", "tasks", "waits", "log", "overview"):
        window.go(f"#/{view}")
        window.page.wait_for_function(VIEW, arg=view)
    for what in ("task:t1", "agent:ada", f"file:src/{HOSTILE.replace('/', '_')}.py"):
        window.page.evaluate("(w) => { location.hash = '#/overview?open=' + encodeURIComponent(w); }", what)
        window.see("Story", "#drawer")
    window.go("#/log")
    window.page.fill("#logq", "<img")
    window.page.wait_for_selector("mark")
    assert window.page.evaluate("document.querySelectorAll('#app img, #app script').length") == 0


@pytest.fixture
def many(workspace: Any, tmp_path: Path) -> Any:
    """A thousand claims of fifty agents, some tasks."""
    for agent in range(50):
        with dibs.open(str(tmp_path), agent=f"agent-{agent:02d}", timeout=10) as one:
            for number in range(20):
                one.claim(f"src/part-{agent % 10}/agent-{agent:02d}/file-{number:02d}.py")
    return workspace


@pytest.mark.usefixtures("many")  # the claims are there first
def test_a_thousand_claims_are_painted_in_a_second_of_work_and_scrolled_without_a_long_task(opened: Opened) -> None:
    window = opened()
    with work(window) as tasks:
        window.page.reload()
        # The mark is set in the frame after the one in which the claims can be seen.
        window.page.wait_for_function("() => performance.getEntriesByName('dibs-first-paint').length > 0")
        window.see("1000 claims", ".held")
    assert sum(tasks) < 1_000
    assert window.page.evaluate("document.querySelectorAll('.held [role=row]').length") < 200
    with work(window) as tasks:
        for place in range(0, 40_000, 1_000):
            window.page.evaluate("(top) => { document.querySelector('.held .scroll').scrollTop = top; }", place)
            window.page.evaluate("() => new Promise(requestAnimationFrame)")
    assert max(tasks) < 200
    window.see("file-19.py", ".held")


@pytest.fixture
def fleet(workspace: Any, tmp_path: Path) -> Iterator[None]:  # noqa: ARG001 - it has to be there first
    """200 agents with 1,000 claims, 5,000 tasks, and a hundred events in each second."""
    crew = watching.fill(str(tmp_path), watching.AGENTS, watching.TASKS)
    process = watching.busy(str(tmp_path))
    yield
    process.kill()
    process.wait()
    for one in crew:
        one.close()


@pytest.mark.long
@pytest.mark.usefixtures("fleet")
def test_a_fleet_that_makes_a_hundred_events_a_second_is_followed_without_a_long_task(
    opened: Opened, workspace: Any
) -> None:
    window = opened()
    for view in ("overview", "timeline", "tasks", "waits", "log"):
        before = seen(window)
        with work(window) as tasks:
            window.go(f"#/{view}")
            window.page.wait_for_function(
                "(after) => Number(document.querySelector('#foot b')?.textContent) > after", arg=before + FOLLOWED
            )
        assert max(tasks) < 200, view
    begun = workspace.log(limit=1)["cursor"]
    window.page.wait_for_function(
        "(seq) => Number(document.querySelector('.lr[data-open]')?.dataset.open.slice(3)) >= seq", arg=begun
    )


@contextmanager
def work(window: Window) -> Iterator[list[float]]:
    """The processor time, in ms, that each task of the page took meanwhile.

    Not the time that passed: on a busy machine a task waits for its turn of the processor.
    """
    browser = window.page.context.browser
    browser.start_tracing(page=window.page, categories=["toplevel"])
    found: list[float] = []
    yield found
    events = json.loads(browser.stop_tracing())["traceEvents"]
    main = {
        (one["pid"], one["tid"])
        for one in events if one["name"] == "thread_name" and one["args"]["name"] == "CrRendererMain"
    }  # fmt: skip
    found += [one["tdur"] / 1000 for one in events if (one["pid"], one["tid"]) in main and "tdur" in one]


def seen(window: Window) -> int:
    """The number of the last event that the page has."""
    return int(window.page.evaluate("Number(document.querySelector('#foot b').textContent)"))


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_has_a_serious_barrier(opened: Opened, workspace: Any, tmp_path: Path, scheme: str) -> None:
    with dibs.open(str(tmp_path), agent="lead", timeout=10) as lead:
        lead.run_start("op", id="r1")
        lead.task_add("First", id="t1", run="r1")
        lead.task_add("Second", id="t2", after=["t1"])
    workspace.task_claim("t1")
    workspace.claim("src/a.py")
    window = opened(color_scheme=scheme, reduced_motion="reduce")
    axe = program("axe").read_text(encoding="utf-8")
    with waiting(tmp_path, "ben", "src/a.py"):
        window.see("ben", ".waits")
        two_worktrees(tmp_path)
        subprocess.run([sys.executable, "-m", "dibs", "radar"], cwd=tmp_path, check=False, capture_output=True)
        workspace.land("ann")
        window.see("would conflict", "#coming")
        for view in ("overview", "timeline", "tasks", "waits", "log", "worktrees", "health", "overview?open=agent:ada"):
            window.go(f"#/{view}")
            plain = view.partition("?")[0]
            window.page.wait_for_function(VIEW, arg=plain)
            assert barriers(window, axe, scheme) == [], view
        window.page.click("#drawer button:has-text('Kill…')")
        window.see("Voids", "dialog")
        assert barriers(window, axe, scheme) == []
        window.page.keyboard.press("Escape")


def barriers(window: Window, axe: str, scheme: str) -> list[Any]:
    """What axe-core finds that is serious or worse. In the dark only colours differ: only they are looked at again."""
    if not window.page.evaluate("() => 'axe' in window"):
        window.page.evaluate(axe)
    how = {"resultTypes": ["violations"], **({"runOnly": ["color-contrast"]} if scheme == "dark" else {})}
    found = window.page.evaluate("async (how) => (await axe.run(document, how)).violations", how)
    return [
        (one["id"], [node["html"][:200] for node in one["nodes"][:3]])
        for one in found
        if one["impact"] in {"serious", "critical"}
    ]


def test_keys_reach_every_view_the_rows_and_their_stories(opened: Opened, workspace: Any) -> None:
    workspace.claim("src/a.py")
    workspace.claim("src/b.py")
    window = opened()
    window.see("b.py", ".held")
    keys = window.page.keyboard
    for key, view in (
        ("t", "timeline"),
        ("k", "tasks"),
        ("w", "waits"),
        ("l", "log"),
        ("h", "health"),
        ("o", "overview"),
    ):
        window.press(key, view)
    keys.press("j")
    keys.press("Enter")
    window.see("ada", "#drawer h2")
    keys.press("Escape")
    assert window.page.evaluate("document.activeElement.dataset.open") == "agent:ada"
    keys.press("?")
    window.see("Single-key shortcuts are on", "dialog")
    keys.press("Escape")
    keys.press("/")
    keys.type("b.py")
    window.see("b.py", "#hits")
    keys.press("Enter")
    window.see("Holder", "#drawer")


def poisoned(workspace: Any, *tasks: str) -> None:
    """Tasks that failed for the last time."""
    for task in tasks:
        workspace.task_add("x", id=task, attempts=1)
        token = workspace.task_claim(task)["token"]
        workspace.task_fail(task, token=token, class_="transient", why="no")


def test_alerts_of_one_kind_are_one_row_each_has_its_story_and_the_key_dismisses_the_one_that_is_meant(
    opened: Opened, workspace: Any
) -> None:
    poisoned(workspace, "older", "newer")
    window = opened()
    window.see("2 need you", "#verdict")
    window.see("2 alerts", "#alerts .grp")
    assert window.page.locator("#alerts .al").count() == 1
    window.page.click("#alerts button:has-text('Show 2')")
    window.see("task older failed", "#alerts")
    shown = window.page.locator("#alerts .in .what").all_inner_texts()
    assert ["newer" in shown[0], "older" in shown[1]] == [True, True]
    window.page.click("#alerts .in:nth-child(3) .kind button")
    window.see("dibs task move older planned", "#drawer")
    window.see("Evidence", "#drawer")
    window.page.keyboard.press("a")
    window.gone("task older failed", "#alerts")
    window.see("1 alert dismissed", "#foot")
    window.see("Dismissedby", "#drawer dl")
    window.page.keyboard.press("Escape")
    window.page.keyboard.press("a")
    window.gone("task newer failed", "#alerts")
    window.page.click("#foot button:has-text('2 alerts dismissed')")
    window.see("task newer failed", "#drawer")
    assert {one["state"] for one in workspace.alerts()["alerts"]} == {"acknowledged"}


def test_an_alert_has_one_button_a_menu_and_its_whole_command_and_all_of_a_kind_are_dismissed_at_once(
    opened: Opened, workspace: Any
) -> None:
    poisoned(workspace, "one")
    window = opened(permissions=["clipboard-read", "clipboard-write"])
    window.see("task one failed", "#alerts")
    assert window.page.locator("#alerts .act > .btn").all_inner_texts() == ["Requeue one…"]
    cut = "() => [...document.querySelectorAll('#alerts code')].filter((e) => e.scrollWidth > e.clientWidth).length"
    assert window.page.evaluate(cut) == 0
    window.page.click("#alerts button[aria-label^='Copy command']")
    window.see("Copied", "#toast")
    assert window.page.evaluate("navigator.clipboard.readText()") == "dibs task move one planned"
    window.page.click("#alerts button[aria-haspopup=menu]")
    assert window.page.locator(".menu:popover-open button").all_inner_texts() == ["Cancel one…", "Dismiss"]
    window.page.keyboard.press("Escape")
    poisoned(workspace, "two", "three")
    window.see("3 alerts", "#alerts .grp")
    window.page.click("#alerts button:has-text('Dismiss all')")
    window.see("Dismissed 3 alerts", "#toast")
    window.see("All well", "#verdict")


def test_worktrees_that_would_conflict_and_the_landing_queue_appear_and_a_branch_is_taken_out(
    opened: Opened, workspace: Any, tmp_path: Path
) -> None:
    window = opened()
    window.press("r", "worktrees")
    window.see("0 pairs", ".wtr")
    window.see("Nothing was queued yet", ".wtq")
    two_worktrees(tmp_path)
    subprocess.run([sys.executable, "-m", "dibs", "radar"], cwd=tmp_path, check=False, capture_output=True)
    window.see("list.txt", ".wtr")
    window.see("ann line 5, bob line 5", ".wtr")
    window.page.keyboard.press("j")
    window.page.keyboard.press("Enter")
    window.see("would conflict if merged now", "#drawer")
    window.see("conflict if they were merged", "#drawer ol")
    window.page.keyboard.press("Escape")
    workspace.claim("land:main", reason="release")
    window.see("keeps others from landing: release", ".wtq")
    workspace.land("ann")
    window.see("number 1", ".wtq")
    window.page.click("button:has-text('Take out…')")
    window.see("The branch and its worktree stay as they are", "dialog")
    window.page.click("dialog button:has-text('Take out')")
    window.see("is out of the queue, event", "#toast")
    window.see("cancelled", ".wtq")
    window.go("#/overview")
    window.see("ann and bob would conflict if merged now", "#coming")


def two_worktrees(folder: Path) -> None:
    """Ann and bob each change the same line, each in a worktree; bob has not committed it."""

    def git(*words: str, cwd: Path = folder) -> None:
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@x", *words], cwd=cwd, check=True)

    (folder / "list.txt").write_text("".join(f"{number}\n" for number in range(1, 10)))
    git("checkout", "-q", "-B", "main")
    git("add", "list.txt")
    git("commit", "-q", "-m", "a list")
    for name in ("ann", "bob"):
        tree = folder.parent / f"{folder.name}-{name}"
        git("worktree", "add", "-q", "-b", name, str(tree))
        (tree / "list.txt").write_text((folder / "list.txt").read_text().replace("5", name))
    git("commit", "-q", "-a", "-m", "five", cwd=folder.parent / f"{folder.name}-ann")


def test_health_shows_the_check_the_map_and_the_figures_and_looks_again(
    opened: Opened, workspace: Any, tmp_path: Path
) -> None:
    workspace.claim("src/a.py")
    with dibs.open(str(tmp_path), agent=f"bob{HOSTILE.replace(' ', '')}", timeout=10) as bob:
        bob.claim("src/b.py")
        window = opened()
        window.page.click("#tabs a[href='#/health']")
        window.see("no notification: an alert reaches only the inboxes of agents", ".chk[data-check=alerting]")
        window.see("src/b.py", ".matrix")
        window.see("Claims granted", ".plots")
        assert window.page.locator(".chk").count() == len(audit.CHECKS)
        bob.claim("src/c.py")
        window.page.click("#look:not([disabled])")
        window.see("src/c.py", ".matrix")


@pytest.mark.parametrize("width", [1_280, 412])
def test_a_name_of_dibs_own_length_is_read_whole_and_every_mark_of_a_legend_is_seen(
    opened: Opened, tmp_path: Path, width: int
) -> None:
    holder, waiter = "claude-otter", "codex-badger"
    with dibs.open(str(tmp_path), agent=holder, timeout=10) as other:
        other.claim("src/api.py")
        with waiting(tmp_path, waiter, "src/api.py"):
            window = opened(viewport={"width": width, "height": 844})
            window.see(holder, ".tr .by")
            window.see(waiter, ".wr")
            cut = "(of) => [...document.querySelectorAll(of)].filter((e) => e.scrollWidth > e.clientWidth).length"
            assert window.page.evaluate(cut, ".tr .by, .wr > b, .tr .nm .b, .tr .nm .p, .ag .nm, .ag .ty") == 0
            window.go("#/timeline")
            window.see("waiting", ".legend")
            flat = "() => [...document.querySelectorAll('.legend .sw')].filter((e) => e.offsetHeight < 8).length"
            assert window.page.evaluate(flat) == 0


def test_a_phone_shows_one_column_without_a_sideways_scroll(opened: Opened, workspace: Any) -> None:
    workspace.claim("src/a/very/long/path/that/does/not/fit/on/a/phone/at/all/index.py")
    window = opened(viewport={"width": 390, "height": 844}, has_touch=True)
    window.see("index.py", ".held")
    for view in ("overview", "timeline", "tasks", "waits", "log", "worktrees", "health"):
        window.page.click(f"#tabs a[href='#/{view}']")
        window.page.wait_for_function(VIEW, arg=view)
        assert window.page.evaluate("document.documentElement.scrollWidth") <= 390, view


@pytest.mark.parametrize("width", [768, 820, 1_000, 1_024])
def test_half_a_screen_shows_the_name_of_the_workspace_and_of_the_agent_at_each_task(
    opened: Opened, tmp_path: Path, width: int
) -> None:
    holder, waiter = "claude-otter", "codex-badger"
    with dibs.open(str(tmp_path), agent=holder, timeout=10) as other:
        other.claim("src/billing/invoice.py")
        with dibs.open(str(tmp_path), agent=waiter, timeout=10) as second:
            second.task_add("Refunds use the new amounts", id="refunds")
            second.task_claim("refunds")
        with waiting(tmp_path, waiter, "src/billing/invoice.py"):
            window = opened(viewport={"width": width, "height": 1_100})
            cut = """(of) => [...document.querySelectorAll(of)].filter((e) => e.offsetParent
                && (e.scrollWidth > e.clientWidth || e.clientWidth < 8)).map((e) => e.textContent)"""
            window.see("invoice.py", ".held")
            window.see(waiter, ".wr")
            assert window.page.evaluate(cut, ".brand, .v, .tr .by") == []
            for view in ("overview", "timeline", "tasks", "waits", "log", "worktrees", "health"):
                window.go(f"#/{view}")
                window.page.wait_for_function(VIEW, arg=view)
                assert window.page.evaluate("document.documentElement.scrollWidth") <= width, view
            window.go("#/tasks")
            window.see(waiter, "[data-task=refunds]")
            assert (
                window.page.evaluate(cut, "[data-task=refunds] .f, [data-task=refunds] .f b, [data-task=refunds] .t")
                == []
            )


def test_the_demo_shows_a_fleet_on_the_page_and_leaves_nothing_behind(chromium: Any, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dibs", "demo", "--serve", "--json", "--agents", "4", "--seconds", "60"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(tmp_path)})
    try:
        assert running.stdout is not None
        about = json.loads(running.stdout.readline())
        context = chromium.new_context()
        window = Window(context.new_page(), about["url"])
        window.page.goto(about["address"])
        window.see(" claimed ", ".recent")
        window.see("ada", ".agents")
        window.check()
        context.close()
    finally:
        running.terminate()
        running.communicate(timeout=60)
    assert list(tmp_path.glob("dibs-demo-*")) == []
