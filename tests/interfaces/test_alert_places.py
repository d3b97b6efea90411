"""Each kind of alert, planted by what really causes it: raised once, and seen in every place that it should reach.

One workspace a kind: a real store, git and its hooks, the commands, a server's application and the page's session, with
a clock that the test moves. What each kind decides is tested on all engines in tests/operations/alerts/.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import threading
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.client.upkeep import alert_delivery, rounds
from dibs.machine import clock
from dibs.operations.alerts import lifecycle
from dibs.operations.claims import grants
from dibs.operations.messages import mailbox
from dibs.operations.messages.records import messages_of
from tests.interfaces.http.web import Web
from tests.interfaces.local_server import Home, hide, socket_url
from tests.interfaces.page.test_sessions import signed_in
from tests.interfaces.repository import DIBS, HOOK, Client, made_earlier
from tests.stores.redis_server import EVERYSEC, NOTHING, running
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dibs.operations.messages.answers import MessageView

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
SINK = '\n[alerts]\ncommand = "cat >> got; echo >> got"\nmin_severity = "info"\n\n[deploy]\nprotected = ["main"]\n'
LOOKS = 3  # a cause that stays is looked at again and again


class Scene:
    """A workspace, its agents, who looks, and a clock that moves when it is told."""

    def __init__(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self.folder, self.patch = home, home.folder, monkeypatch
        self.config = self.folder / ".dibs" / "config.toml"
        self.config.write_text(self.config.read_text() + SINK)
        self.passed = 0
        since_boot, wall = clock.since_boot, clock.wall
        monkeypatch.setattr(clock, "since_boot", lambda: since_boot() + self.passed)
        monkeypatch.setattr(clock, "wall", lambda: wall() + self.passed)
        # One claim in 16, by the clock, sweeps first: it would raise an alert before its own agent is the coordinator.
        monkeypatch.setattr(grants, "SWEEP_ONE_IN", 1 << 60)
        self._agents: dict[str, Any] = {}
        self._clients: list[Client] = []
        self._threads: list[threading.Thread] = []
        self.web: Web | None = None

    def serve(self) -> None:
        """From now on a server answers the page, and looks."""
        self.web = Web(self.folder)
        self.page = signed_in(self.web, person="pat")

    def __getitem__(self, name: str) -> Any:
        """An agent of this workspace."""
        if name not in self._agents:
            self._agents[name] = dibs.open(str(self.folder), agent=name)
        return self._agents[name]

    def hold(self, agent: str, *names: str, ttl: str = "8h", **more: Any) -> Any:
        return self[agent].claim(*names, ttl=ttl, auto_renew=False, **more)

    def wait(self, agent: str, name: str) -> None:
        """An agent that waits for something, until it has it or is refused."""

        def waiting() -> None:
            try:
                self.hold(agent, name, wait="8h")
            except dibs.DibsError:
                pass

        thread = threading.Thread(target=waiting, daemon=True)
        thread.start()
        self._threads.append(thread)
        until(lambda: [one for one in self["boss"].status()["waiting"] if one["agent"] == agent])

    def client(self, agent: str) -> Client:
        """An agent's client, a process of its own; the agent boots."""
        made = Client(self.folder, "claude", self.home.environment)
        self._clients.append(made)
        self.typed(made, agent, "boot")
        return made

    def typed(self, client: Client, agent: str, *words: str) -> Any:
        """A command in the shell of an agent's client."""
        done = client.run(DIBS, *words, "--json", cwd=self.folder, CLAUDE_CODE_SESSION_ID=agent)
        assert done.code in {0, 1}, done  # 1: a boot that finds a claim lost
        return done.json

    def git(self, *words: str, agent: str = "") -> str:
        environment = {**self.home.environment, **({"DIBS_AGENT": agent} if agent else {})}
        done = subprocess.run(
            ["git", *words], cwd=self.folder, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def look(self) -> None:
        """A server's step."""
        assert self.web is not None
        for _ in range(LOOKS):
            rounds.step(self.web.host.session(), "server", "root", every=0, deliver=False)
            alert_delivery.deliver(self.web.host.session(), "root", 4)  # as the sweep does that it would start

    def close(self) -> None:
        for one in self._clients:
            one.kill()
        if any(thread.is_alive() for thread in self._threads):
            self.home.json("kill", "bob", "--why", "the test is over", "--as", "boss", exit=0)
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()
        for opened in self._agents.values():
            opened.close()
        if self.web is not None:
            self.web.close()


# --- how each kind is planted, and mended


def commit(scene: Scene, name: str, *words: str, agent: str = "") -> str:
    (scene.folder / name).write_text(f"{name} {agent}\n")
    scene.git("add", name)
    scene.git("-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "-m", name, *words, agent=agent)
    return scene.git("rev-parse", "HEAD")


def plant_hold(scene: Scene) -> None:
    scene.hold("ann", "x.py", expect="10s")
    scene.passed += 21 * SECOND


def plant_wait(scene: Scene) -> None:
    scene.hold("ann", "x.py", expect="20ms")
    scene.wait("bob", "x.py")  # ann's expected time is bob's
    until(lambda: raised(scene, "wait"))


def plant_deadlock(scene: Scene) -> None:
    scene.hold("ann", "x.py")
    scene.hold("bob", "y.py")
    scene.wait("bob", "x.py")
    with pytest.raises(dibs.Deadlock):
        scene.hold("ann", "y.py", wait="8h")


def plant_expired(scene: Scene) -> None:
    scene.typed(scene.client("ann"), "ann", "claim", "x.py", "--ttl", "60s")
    scene.passed += 2 * MINUTE


def plant_dead(scene: Scene) -> None:
    client = scene.client("ann")
    scene.typed(client, "ann", "claim", "x.py")
    client.kill()


def plant_dead_by_hand(scene: Scene) -> None:
    client = scene.client("ann")
    scene.typed(client, "ann", "claim", "x.py")
    scene.home.json("claim", "y.py", "--as", "ann", exit=0)  # from a terminal, not from ann's client
    client.kill()
    scene.look()
    (alert,) = scene["boss"].alerts(kind="dead")["alerts"]
    (left,) = [one for one in scene["boss"].status()["claims"] if one["agent"] == "ann"]
    assert left["resources"] == ["y.py"]
    assert (
        "It held x.py: released. It also holds y.py until the deadline: not tied to that process." in alert["text"]
    ), alert["text"]
    assert alert["remedy"] == f"dibs release y.py --force --why 'its agent is dead' --token {left['token']}"


def plant_silent(scene: Scene) -> None:
    scene.typed(scene.client("ann"), "ann", "claim", "x.py", "--ttl", "8h")
    scene.passed += 11 * MINUTE
    scene.wait("bob", "x.py")


def plant_asks(scene: Scene) -> None:
    """Ann's client asks her person, while bob waits."""
    ann = scene.client("ann")
    scene.typed(ann, "ann", "claim", "x.py", "--ttl", "8h")
    hook(scene, ann, "ann", "PermissionRequest", "Bash", command="git push")
    scene.wait("bob", "x.py")


def plant_violation(scene: Scene) -> None:
    """Bob's client starts a program that nobody can read, which changes what ann holds."""
    commit(scene, "x.py")
    ann, bob = scene.client("ann"), scene.client("bob")
    whole = {"file_path": str(scene.folder / "x.py"), "content": "ann's\n"}
    hook(scene, ann, "ann", "PreToolUse", "Write", **whole)
    (scene.folder / "x.py").write_text(whole["content"])
    hook(scene, ann, "ann", "PostToolUse", "Write", **whole)
    made_earlier(scene.folder / ".git" / "dibs" / "live", 60)
    hook(scene, bob, "bob", "PreToolUse", "Bash", command="./mystery")
    (scene.folder / "x.py").write_text("bob was here\n")
    hook(scene, bob, "bob", "PostToolUse", "Bash", command="./mystery")


def hook(scene: Scene, client: Client, session: str, event: str, tool: str, **given: str) -> None:
    payload = {
        "session_id": session, "transcript_path": "/nowhere", "cwd": str(scene.folder), "hook_event_name": event,
        "tool_name": tool, "tool_input": given, "tool_use_id": f"{session}-1", "tool_response": {},
    }  # fmt: skip
    done = client.run(*HOOK, "claude", cwd=scene.folder, given=json.dumps(payload).encode())
    assert done.code == 0, done


def plant_commit(scene: Scene) -> None:
    scene.hold("ann", "x.py")
    commit(scene, "x.py", "--no-verify", agent="bob")


def plant_push(scene: Scene) -> None:
    with_remote(scene)
    scene.look()  # what was before the first look is nobody's concern
    commit(scene, "b.py")
    scene.git("push", "-q", "--no-verify", "origin", "main")


def with_remote(scene: Scene) -> None:
    remote = scene.folder.parent / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(remote)], check=True)
    scene.git("checkout", "-q", "-B", "main")
    scene.git("remote", "add", "origin", str(remote))
    commit(scene, "a.py")
    scene.git("push", "-q", "-u", "origin", "main")


def deploy(scene: Scene, *words: str) -> int:
    return scene.home.run("deploy", "prod", "--dirty", *words, "--as", "ann", "--", "true").returncode


def plant_stale(scene: Scene) -> None:
    with_remote(scene)
    assert deploy(scene, "--unsynced", "--verify", "true") == 0


def plant_unverified(scene: Scene) -> None:
    with_remote(scene)
    assert deploy(scene, "--verify", "false", "--verify-timeout", "0s") == 1


def mend_deploy(scene: Scene) -> None:
    assert deploy(scene, "--verify", "true") == 0


def fail(scene: Scene, agent: str, task: str, attempts: int) -> None:
    scene["carl"].task_add("to do", id=task, attempts=attempts)
    token = scene[agent].task_claim(task)["token"]
    scene[agent].task_fail(task, token=token, class_="transient", why="no")


def plant_poison(scene: Scene) -> None:
    fail(scene, "ann", "t", 1)


def plant_breaker(scene: Scene) -> None:
    for number in range(5):
        fail(scene, "ann", f"t{number}", 9)


def plant_rules(scene: Scene) -> None:
    client = scene.client("ann")
    (scene.folder / ".dibs" / "rules.md").write_text("1. Be kind.\n")
    scene.look()
    scene.passed += 5 * MINUTE
    scene.page.post("send", {"to": "ann", "text": "five minutes later"})  # a command of a client sees the store's time
    scene.typed(client, "ann", "claim", "x.py")
    scene.passed += 6 * MINUTE


def again(scene: Scene, *words: str) -> None:
    """The agent's own client says something."""
    scene.typed(scene._clients[-1], "ann", *words)


def mend_breaker(scene: Scene) -> None:
    scene.passed += 3 * MINUTE
    scene["carl"].task_add("to do", id="good")
    scene["ann"].task_done("good", token=scene["ann"].task_claim("good")["token"])


def a_day_later(scene: Scene) -> None:
    scene.passed += DAY


Mend = Any  # a function of the scene; None where the remedy itself takes the cause away
# kind, what is planted → severity; who is told by the alert, from dibs; who by another message of dibs; plant; mend
PLANTS: dict[str, tuple[str, str, list[str], list[str], Callable[[Scene], None], Mend]] = {
    "hold": ("hold", "info", ["ann", "boss"], [], plant_hold, lambda scene: scene["ann"].release(all=True)),
    "wait": ("wait", "warning", ["ann", "bob", "boss"], [], plant_wait, lambda scene: scene["ann"].release(all=True)),
    "deadlock": (
        "deadlock", "error", ["bob", "boss"], [], plant_deadlock, lambda scene: scene["ann"].release(all=True)
    ),
    "expired": ("expired", "info", ["ann", "boss"], [], plant_expired, lambda scene: again(scene, "claim", "x.py")),
    "dead": ("dead", "error", ["boss"], [], plant_dead, lambda scene: scene.client("ann")),
    "dead, with a claim of no process": (
        "dead", "error", ["boss"], [], plant_dead_by_hand, lambda scene: scene.client("ann")
    ),
    "asks": ("asks", "error", ["boss"], [], plant_asks, lambda scene: again(scene, "renew")),
    "silent": ("silent", "error", ["ann", "bob", "boss"], [], plant_silent, lambda scene: again(scene, "renew")),
    "violation": ("violation", "error", ["boss"], ["ann"], plant_violation, None),
    "commit": ("bypass", "error", ["boss"], ["ann"], plant_commit, a_day_later),
    "push": ("bypass", "error", ["boss"], [], plant_push, a_day_later),
    "stale deploy": ("deploy_stale", "warning", ["boss"], [], plant_stale, mend_deploy),
    "unverified deploy": ("deploy_unverified", "error", ["boss"], [], plant_unverified, mend_deploy),
    "poison": (
        "poison", "error", ["boss"], ["carl"], plant_poison, None
    ),
    "breaker": ("breaker", "warning", ["ann", "boss"], [], plant_breaker, mend_breaker),
    "rules": ("rules", "info", ["ann", "boss"], [], plant_rules, lambda scene: again(scene, "rules", "--ack")),
}  # fmt: skip


# --- where an alert is seen


def shown(scene: Scene, kind: str, state: str) -> dict[str, Any]:
    """The one alert, the same wherever somebody looks."""
    found = scene["boss"].alerts(kind=kind)["alerts"]
    assert len(found) == 1, [(one["agent"], one["text"]) for one in found]
    alert: dict[str, Any] = found[0]
    top = scene.home.json("top", "--once", exit=0)
    assert alert["state"] == state
    assert state == "open" or top["acknowledged"] == 1, top
    for where, answer in (
        ("status", scene["boss"].status()),
        ("top", top if state == "open" else {"alerts": [alert]}),
        ("the page", scene.page.post("alerts", {"limit": 200}).json),
        ("the page's status", scene.page.post("status").json),
    ):
        found = [one for one in answer["alerts"] if one["kind"] == kind]
        assert [one["id"] for one in found] == [alert["id"]], where
        assert found[0]["text"] == alert["text"], where
        assert found[0]["remedy"] == alert["remedy"], where
    return alert


def hold_evidence(scene: Scene, alert: dict[str, Any], *, own_only: bool) -> None:
    """Every number is that of an event, and one of them is not the alert's own."""
    log = {event["seq"]: event for event in scene["boss"].log(limit=0)["events"]}
    kinds_found = [log[number]["kind"] for number in alert["evidence"]]
    assert "alert.raised" in kinds_found
    assert own_only or set(kinds_found) - {"alert.raised"}, kinds_found


def hold_remedy(scene: Scene, alert: dict[str, Any]) -> None:
    """The remedy is a command that can be typed as it stands."""
    words = shlex.split(alert["remedy"])
    if words[0] == "git":
        scene.git(*words[1:])
        return
    assert words[0] == "dibs", words
    by = "ann" if alert["kind"] == "violation" else "boss"  # the holder of what was changed; a person may do it as well
    done = scene.home.run(*words[1:], *(() if "--as" in words else ("--as", by)))
    assert done.returncode == 0, (alert["remedy"], done.stdout, done.stderr)


def hold_inboxes(scene: Scene, alert: dict[str, Any], told: list[str], otherwise: list[str]) -> None:
    for name in told:
        found = [one for one in inbox(scene, name) if one.get("alert") == alert["id"]]
        assert [one["from"] for one in found] == ["dibs"], (name, found)
        assert alert["remedy"] in found[0]["text"]
    for name in otherwise:
        found = [one for one in inbox(scene, name) if one["from"] == "dibs"]
        assert len(found) == 1, (name, found)


def inbox(scene: Scene, agent: str) -> list[MessageView]:
    """What is in an agent's inbox. The agent does not read it: that would be a sign of life."""
    assert scene.web is not None

    def read(tx: Any) -> list[MessageView]:
        return [mailbox.shown(tx, message) for message in messages_of(tx, agent, 100)]

    return scene.web.host.session().store.look(read)


def delivered(scene: Scene, kind: str) -> list[dict[str, Any]]:
    path = scene.folder / "got"
    lines = path.read_text().splitlines() if path.exists() else []
    return [found for found in (json.loads(line)["alert"] for line in lines) if found["kind"] == kind]


def raised(scene: Scene, kind: str) -> list[dict[str, Any]]:
    events = scene["boss"].log(kind="alert.raised", limit=0)["events"]
    return [event for event in events if event["data"]["what"] == kind]


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    made = Scene(Home(tmp_path / "repo"), monkeypatch)
    yield made
    made.close()


def begin(scene: Scene) -> None:
    """A coordinator, and a person who looks at the page."""
    scene.serve()
    scene.hold("boss", "role:lead", ttl="8h")
    scene.page.post("status")


def hold_everywhere(
    scene: Scene, kind: str, severity: str, told: list[str], otherwise: list[str], mend: Mend,
    *, own_only: bool = False,
) -> None:  # fmt: skip
    """One alert, in all places, once; acknowledged, it stays so; and it clears by itself when its cause is gone."""
    scene.look()
    alert = shown(scene, kind, "open")
    assert (alert["severity"], alert["repeats"]) == (severity, 0)
    hold_evidence(scene, alert, own_only=own_only)
    hold_inboxes(scene, alert, told, otherwise)
    (sent,) = until(lambda: delivered(scene, kind), f"the delivery of {kind}")
    assert (sent["id"], sent["evidence"], sent["remedy"]) == (alert["id"], alert["evidence"], alert["remedy"])
    scene["boss"].alerts_ack(alert["id"], why="seen")
    scene.passed += 5 * SECOND
    scene.look()
    shown(scene, kind, "acknowledged")
    assert len(raised(scene, kind)) == len(delivered(scene, kind)) == 1
    hold_inboxes(scene, alert, told, otherwise)
    hold_remedy(scene, alert)
    if mend is not None:
        mend(scene)
    scene.look()
    assert scene["boss"].alerts(kind=kind)["alerts"] == []
    (over,) = scene["boss"].alerts(kind=kind, state="cleared")["alerts"]
    assert (over["id"], over["acknowledged"]["agent"]) == (alert["id"], "boss")
    assert len(raised(scene, kind)) == len(delivered(scene, kind)) == 1


@pytest.mark.parametrize("planted", PLANTS)
def test_each_kind_is_raised_once_is_seen_in_every_place_and_clears_by_itself(scene: Scene, planted: str) -> None:
    kind, severity, told, otherwise, plant, mend = PLANTS[planted]
    begin(scene)
    plant(scene)
    hold_everywhere(scene, kind, severity, told, otherwise, mend)


# --- the store


def store_alert(scene: Scene, subject: str, severity: str, mend: Mend, **more: Any) -> None:
    hold_everywhere(scene, "store", severity, more.pop("told", ["boss"]), [], mend, **more)
    (alert,) = scene["boss"].alerts(kind="store", state="cleared")["alerts"]
    assert alert["subject"].startswith(subject)


def test_a_replaced_database_is_an_alert_in_every_place(scene: Scene) -> None:
    (scene.folder / ".dibs" / "local" / "dibs.db").write_bytes(b"not a database" * 1000)
    scene.home.json("doctor", "--recover", "--yes", exit=0)
    begin(scene)
    store_alert(scene, "recovered", "error", a_day_later, told=[])  # no coordinator was known to the new one


def test_sqlite_in_the_place_of_a_server_is_an_alert_in_every_place_until_the_server_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path / "repo", socket_url(tmp_path))
    scene = Scene(home, monkeypatch)
    monkeypatch.setenv("HOME", home.environment["HOME"])
    try:
        home.json("up", "--allow-fallback", exit=0, **hide(tmp_path))
        begin(scene)
        store_alert(scene, "fallback", "error", comes_back)
    finally:
        scene.close()
        home.clean()


def comes_back(scene: Scene) -> None:
    """The remedy has started the server: all open the store again."""
    scene.close()
    scene.serve()
    scene.passed += MINUTE


@pytest.mark.parametrize(
    ("persistence", "subject", "severity"), [(EVERYSEC, "epoch", "error"), (NOTHING, "warning:", "warning")]
)
def test_a_server_that_lost_commits_or_keeps_none_is_an_alert_in_every_place(
    persistence: dict[str, str], subject: str, severity: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mend(scene: Scene) -> None:
        server.ask("CONFIG", "SET", "appendonly", "yes")
        monkeypatch.setattr(lifecycle, "SETTLED_MS", 0)  # the clock of the server is not ours to move
        scene.passed += MINUTE  # until somebody looks at the store again

    with running(**persistence) as server:
        scene = Scene(Home(tmp_path / "repo", server.url), monkeypatch)
        try:
            begin(scene)
            scene.hold("ann", "x.py")
            if subject == "epoch":
                server.restart()
                scene.hold("boss", "role:lead")  # its claim ended with the old epoch
            store_alert(scene, subject, severity, mend, own_only=subject == "warning:")
        finally:
            scene.close()


# --- who looks


def test_where_nobody_else_looks_the_hook_of_any_agent_does_and_leaves_the_delivery_to_others(scene: Scene) -> None:
    ann, bob = scene.client("ann"), scene.client("bob")
    scene.typed(ann, "ann", "claim", "x.py")
    ann.kill()
    hook(scene, bob, "bob", "PreToolUse", "Bash", command="ls")
    hook(scene, bob, "bob", "PostToolUse", "Bash", command="ls")
    log = scene.home.json("log", "--kind", "alert.raised", exit=0)["events"]
    assert [(event["data"]["what"], event["agent"]) for event in log] == [("dead", "ann")]
    looker = rounds.last(str(scene.folder / ".dibs" / "local"))
    assert looker is not None
    assert (looker["by"], looker["lasting"]) == ("hook", False)
    assert delivered(scene, "dead") == []
    line = scene.home.json("check", "--check", "alerting", exit=1)["checks"][0]
    assert [one["id"] for one in line["findings"]] == ["alerting:nobody-delivers"]
    scene.home.json("sweep", exit=0)
    assert len(delivered(scene, "dead")) == 1
    scene.home.json("check", "--check", "alerting", exit=0)
