"""`dibs check`: for each check a workspace that passes and one that fails; what is fixed or settled is green again."""

from __future__ import annotations

import contextlib
import io
import re
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

import dibs
from dibs.audit import check as audit
from dibs.client.session import Door, Session
from dibs.client.upkeep import rounds
from dibs.errors import DibsError, Invalid, Unavailable
from dibs.interfaces.cli.main import main
from dibs.operations.alerts import suspicions
from dibs.operations.oversight.trials import RECORD
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.scratch import Shell

DOCUMENT = Path(__file__).resolve().parent.parent.parent / "docs" / "guides" / "oversight.md"


class Place:
    """A workspace, and agents in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: dict[str, dibs.Workspace] = {}

    def as_(self, agent: str) -> dibs.Workspace:
        """The workspace, opened by this agent."""
        if agent not in self._open:
            self._open[agent] = dibs.open(str(self.folder), agent)
        return self._open[agent]

    def check(self, name: str) -> dict[str, Any]:
        """What one check says."""
        found = self.as_("ann").check(check=name)
        (line,) = found["checks"]
        assert line["ok"] is (line["check"] not in [*found["failed"], *found["unknown"]])
        assert bool(found["failed"]) is (line["status"] == "fail")
        assert found["severity"] == line["severity"]
        return dict(line)

    def configure(self, text: str) -> None:
        """Add to the config; agents that have the workspace open get it when they open it again."""
        path = self.folder / ".dibs" / "config.toml"
        title, _, lines = text.partition("\n")
        was = path.read_text()
        there = f"\n{title}\n" in was
        path.write_text(was.replace(f"\n{title}\n", f"\n{text}\n", 1) if there else f"{was}\n{text}\n")
        assert lines
        self.close()

    def append(self, kind: str, agent: str, subject: str, data: dict[str, Any]) -> None:
        """An event that somebody's door wrote."""
        self.as_("ann").session.store.run(lambda tx: tx.append(kind, agent, subject, data))

    def fleet(self) -> None:
        """Two agents at work."""
        for agent in ("ann", "bob"):
            self.as_(agent).claim(f"db:{agent}")

    def close(self) -> None:
        for one in self._open.values():
            one.close()
        self._open.clear()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["init", str(tmp_path), "--clients", "none", "--rules", "full"]) == 0
    made = Place(tmp_path)
    yield made
    made.close()


def failing(place: Place, name: str) -> Callable[[], dict[str, Any] | None]:
    def look() -> dict[str, Any] | None:
        line = place.check(name)
        return line if line["status"] == "fail" else None

    return look


# --- what is not there fails nothing


def test_a_fresh_workspace_and_one_with_one_agent_fail_nothing(place: Place) -> None:
    assert place.as_("ann").check()["failed"] == []
    place.as_("ann").boot()
    place.as_("ann").claim("src/a.py")
    found = place.as_("ann").check()
    assert (found["failed"], found["severity"], found["risk"]) == ([], "none", "")
    assert found["result"].startswith("no issues")
    assert [line["number"] for line in found["checks"]] == list(range(1, 23))
    assert {line["check"]: line["status"] for line in found["checks"] if line["status"] == "n/a"}.keys() == {
        "orchestrator", "events", "alerting", "tested", "idempotency", "guards", "deploys", "files", "runs",
        "registry",
    }  # fmt: skip


def test_a_subagent_and_a_person_make_no_fleet(place: Place) -> None:
    for agent in ("ann", "ann/child"):
        place.as_(agent).claim(f"db:{agent.replace('/', '-')}")
    assert place.check("orchestrator")["status"] == "n/a"


# --- the ten points


def test_1_a_call_that_no_guard_checked_leaves_a_writer_off_the_map(place: Place) -> None:
    place.fleet()
    place.as_("ann").state_set("stock", 5)
    line = place.check("1")
    assert line["message"] == "Shared resources mapped: 3 resources, 2 agents with write access"
    place.append("guard.doubted", "bob", "Bash", {"why": "the store was busy"})
    line = place.check("resources")
    assert (line["status"], line["severity"]) == ("fail", "medium")
    assert "bob used Bash unchecked (the store was busy)" in line["message"]
    assert line["findings"][0]["events"]


def test_2_two_agents_without_a_coordinator_fail_and_a_run_or_a_leader_coordinates(place: Place) -> None:
    place.fleet()
    line = place.check("orchestrator")
    assert (line["status"], line["findings"][0]["id"]) == ("fail", "orchestrator:nobody")
    place.as_("boss").run_start("fix", id="r1")
    assert place.check("2")["message"] == "Orchestrator: boss coordinates run r1"
    place.as_("root").kill("boss", why="a trial")
    assert "boss, which coordinates run r1, is killed" in place.check("2")["message"]
    with place.as_("bob").claim("role:lead"):
        assert place.check("2")["message"] == "Orchestrator: bob leads (lead)"


def test_3_an_overdue_claim_and_too_long_a_life_fail_until_they_are_mended(place: Place) -> None:
    claim = place.as_("bob").claim("db:x", expect=0.01)
    line = until(failing(place, "deadlines"))
    assert line["message"].startswith("bob has held db:x for")
    assert len(line["findings"][0]["events"]) == 2  # the grant and the alert
    claim.release()
    assert place.check("deadlines")["message"] == "Deadlines on every claim: 30m by default, at most 8h00m"
    place.configure('[claims]\nmax_life = "72h"\nmax_ttl = "72h"')
    line = place.check("3")
    assert (line["severity"], line["findings"][0]["id"]) == ("low", "deadlines:long-life")


def test_4_an_unresolved_deadlock_fails_and_a_resolved_one_is_a_figure(place: Place) -> None:
    ann, bob = place.as_("ann"), place.as_("bob")
    mine, theirs = ann.claim("db:a"), bob.claim("db:b")
    waiting = threading.Thread(target=lambda: ann.claim("db:b", wait=60).release())
    waiting.start()
    until(lambda: place.as_("carl").status()["waiting"])
    with pytest.raises(DibsError):
        bob.claim("db:a", wait=60)
    line = place.as_("carl").check(check="ordering")["checks"][0]
    assert (line["status"], line["severity"]) == ("fail", "medium"), "one waits; no work is lost"
    assert (
        "deadlock prevented: bob's request was refused (bob wants db:a, held by ann; ann wants db:b, held by bob)"
        in line["message"]
    )
    theirs.release()
    waiting.join()
    mine.release()
    assert "1 deadlock refused so far (event " in place.check("ordering")["message"]
    place.configure('[claims]\nordering = "enforce"')
    assert place.check("4")["message"] == "Global order of claims enforced (by name)"


def test_5_an_event_that_nobody_gets_fails_until_somebody_subscribes(place: Place) -> None:
    place.as_("ann").emit("build.done", {"ok": True})
    line = place.check("events")
    assert "ann emits build.done (1 time) and no agent subscribes" in line["message"]
    place.as_("bob").subscribe("build.*")
    assert place.check("5")["message"] == "Event-driven sync: 2 channels, 1 agent subscribed: build.* (bob)"


def test_6_a_fleet_needs_a_sink_and_somebody_who_looks(place: Place) -> None:
    place.as_("ann").claim("db:a")
    assert place.check("alerting")["status"] == "n/a"
    place.fleet()
    line = place.check("6")
    assert {one["id"] for one in line["findings"]} == {"alerting:no-sink", "alerting:nobody-looks"}
    assert (line["status"], line["severity"]) == ("warn", "none"), "advice, while nothing was missed"
    place.configure('[alerts]\ncommand = "true"')
    assert [one["id"] for one in place.check("6")["findings"]] == ["alerting:nobody-looks"]
    rounds.step(place.as_("ann").session, "worker", "ann", every=0)  # as a worker does, and this process is alive
    assert (place.check("6")["status"], place.check("6")["findings"]) == ("ok", [])


def test_6_a_deadlock_that_nobody_was_notified_of_fails(place: Place) -> None:
    place.fleet()
    resource = [["name", "db:ann"]]
    data = {"code": "deadlock", "resources": resource, "mode": "write", "tree": "", "blockers": ["ann"]}
    place.append("claim.refused", "bob", "db:ann", data)
    assert (place.check("6")["status"], place.check("6")["severity"]) == ("fail", "medium")
    assert place.check("4")["status"] == "ok", "it was refused, and blocks nobody"


def test_7_a_fleet_needs_a_test_with_ten_agents_that_lost_nothing(place: Place) -> None:
    place.fleet()
    line = place.check("tested")
    assert (line["findings"][0]["id"], line["status"]) == ("tested:never", "warn")
    session = place.as_("ann").session
    test = {"what": "demo", "agents": 4, "edits": 40, "lost": 0, "clean": True, "seconds": 3.2, "version": "1",
            "store": "sqlite"}  # fmt: skip
    session.run(RECORD, session.identify("ann"), test)
    assert place.check("7")["findings"][0]["id"] == "tested:small"
    session.run(RECORD, session.identify("ann"), {**test, "agents": 12, "edits": 240})
    assert re.match(r"Tested: demo, \d+s ago: 12 agents, 240 edits, 0 lost, log clean", place.check("7")["message"])
    session.run(RECORD, session.identify("ann"), test)  # a small one does not hide a large one
    assert place.check("7")["status"] == "ok"
    session.run(RECORD, session.identify("ann"), {**test, "agents": 12, "lost": 1})
    assert place.check("7")["severity"] == "high"


def test_7_ten_agents_at_work_at_once_are_a_test(place: Place) -> None:
    for number in range(10):
        assert number == 9 or place.check("tested")["status"] == ("n/a" if number < 2 else "warn")
        with place.as_(f"w{number}").claim(f"db:{number}"):
            pass
    assert re.match(r"Tested: 1[01] agents were at work here at once$", place.check("tested")["message"])
    session = place.as_("ann").session
    test = {"what": "demo", "agents": 12, "edits": 40, "lost": 2, "clean": True, "seconds": 3.2, "version": "1",
            "store": "sqlite"}  # fmt: skip
    session.run(RECORD, session.identify("ann"), test)
    assert place.check("tested")["severity"] == "high", "a test that lost something counts all the same"


def test_8_what_is_done_again_without_a_key_is_named_with_its_agent(place: Place) -> None:
    ann = place.as_("ann")
    ann.task_add("keyed", id="k", key="k1")
    for _ in range(2):
        ann.task_claim("k")
        ann.task_release("k")
    assert place.check("idempotency")["status"] == "ok"
    ann.task_add("plain", id="p")
    ann.task_claim("p")
    ann.task_release("p")
    assert place.check("idempotency")["status"] == "ok"
    place.as_("bob").task_claim("p")
    line = place.check("8")
    assert "bob did task p again (attempt 2), and it has no idempotency key" in line["message"]
    ann.task_add("plain", id="q")
    assert "ann added the task “plain” twice (p, q), without a key" in place.check("8")["message"]


def test_9_a_resource_that_many_are_refused_is_a_bottleneck_with_a_suggestion(place: Place) -> None:
    place.as_("ann").claim("src/app.py")
    for number in range(10):
        line = place.check("contention")
        assert line["status"] == "ok", line
        with pytest.raises(DibsError):
            place.as_("bob" if number % 2 else "carl").claim("src/app.py")
    line = place.check("9")
    assert line["message"].startswith("src/app.py is a bottleneck: 10 refusals, 0 waits, longest 0s, 2 agents")
    assert line["remedy"] == "split the file, or hand its changes out as tasks to one agent"


def test_10_the_kill_switch_is_tried_and_nothing_is_kept_of_it(place: Place) -> None:
    place.fleet()
    store = place.as_("ann").session.store
    until(lambda: place.check("contention"))  # whatever was to be swept is swept
    before, held = store.head().seq, place.as_("ann").status()["claims"]
    line = place.check("kill-switch")
    assert line["message"].startswith("Kill switch proven by a dry run: 2 agents, 2 claims; by ")
    assert store.head().seq == before
    assert place.as_("ann").status()["claims"] == held
    assert "dibs-check-probe" not in str(place.as_("ann").agents(all=True))

    def half_killed(tx: Any) -> None:
        record = tx.get("a\tbob")
        tx.put("a\tbob", {**record, "killed": {"by": "x", "why": "y", "at": tx.now}})

    store.run(half_killed)
    assert "bob was killed and still holds db:bob" in place.check("10")["message"]


# --- the rest; rules, bypasses: tests/interfaces/cli/test_cli.py


def test_11_guards_that_let_a_forbidden_write_pass_fail(shell: Shell) -> None:
    assert shell.json("check", "--check", "guards", exit=0)["checks"][0]["status"] == "n/a"
    shell.json("init", "--clients", "claude", exit=0)
    (line,) = shell.json("check", "--check", "11", exit=0)["checks"]
    assert "a forbidden write, and a killed agent's call, is refused by claude" in line["message"]
    with dibs.open(str(shell.folder), "ann") as ws:  # what cannot try them has the last proof
        assert "refused by claude" in ws.check(check="guards")["checks"][0]["message"]
    hook = shell.folder / ".dibs" / "hook"
    kept = hook.read_text()
    hook.write_text("exit 0\n")
    found = shell.json("check", "--check", "11", exit=1)
    assert (found["severity"], found["risk"]) == ("low", "time is lost, or a proof is missing"), "no agent works here"
    assert "claude guard" in found["checks"][0]["message"]
    shell.json("claim", "db:x", "--as", "ann", exit=0)
    assert shell.json("check", "--check", "11", exit=1)["severity"] == "high"
    hook.write_text(kept)
    shell.json("check", "--check", "11", exit=0)


def test_13_a_killed_agent_is_named_until_it_is_revived_or_settled(place: Place) -> None:
    place.as_("bob").claim("db:x")
    place.as_("root").kill("bob", why="it ran wild")
    whole = place.as_("root").check(check="agents")
    assert (whole["severity"], whole["risk"]) == ("low", "time is lost, or a proof is missing")
    line = place.check("agents")
    assert "bob was killed (it ran wild) and is refused everything (event " in line["message"]
    (event,) = line["findings"][0]["events"]
    assert place.as_("root").check_settle(str(event), why="it stays off")["settled"] == str(event)
    line = place.check("agents")
    assert (line["status"], line["message"]) == ("ok", f"Agents: 1 finding settled (event {event})")
    assert line["findings"][0]["settled"]["why"] == "it stays off"
    place.as_("root").check_settle(str(event), undo=True)
    assert place.check("agents")["status"] == "fail"
    place.as_("root").revive("bob")
    assert place.check("agents")["status"] == "ok"


@pytest.mark.parametrize(
    ("how", "grade", "by", "suspects", "said", "severity"),
    [
        ("violated", "sure", "bob", [], "bob did it, against rule 5", "high"),
        ("unattributed", "likely", "", ["bob"], "probably bob did it", "medium"),
        ("unattributed", "unknown", "", ["bob", "ann"], "who did it is not known: bob or ann", "medium"),
        ("unattributed", "outside", "", [], "no agent did it: a person, or a program that runs in the background",
         "medium"),
    ],
)  # fmt: skip
def test_14_a_change_under_the_holder_is_named_until_the_path_is_settled(
    place: Place, how: str, grade: str, by: str, suspects: list[str], said: str, severity: str
) -> None:
    place.as_("ann").claim("a.py")

    def violate(tx: Any) -> None:
        until = tx.now + 10**9
        tx.put("v\tv1", {"violation": "v1", "path": "a.py", "tree": "", "holder": "ann", "by": by, "at": tx.now,
                         "blob": "b", "overwritten": "c", "until": until, "how": how, "grade": grade,
                         "suspects": suspects})  # fmt: skip
        tx.put("vu\t\ta.py", {"ids": ["v1"], "until": until})
        tx.append(f"edit.{how}", by or "ann", "a.py", {"id": "v1", "holder": "ann", "tree": ""})

    store = place.as_("ann").session.store
    store.run(violate)
    line = place.check("violations")
    assert (line["severity"], line["remedy"]) == (severity, "dibs restore v1")
    changed = "a.py, which ann held or had unfinished work in, was changed"
    assert re.match(rf"{changed}; {said} \(event \d+\)$", line["message"])
    store.run(lambda tx: tx.delete("vu\t\ta.py"))
    assert place.check("14")["message"].endswith("; 1 earlier, all settled")


def test_15_a_commit_and_a_push_past_the_guard_are_named_until_they_are_settled(place: Place) -> None:
    assert place.check("bypasses")["message"] == "Bypasses: no commit and no push past the guard"
    place.append(
        "commit.unverified", "bob", "a" * 40, {"tree": "", "how": "past", "paths": ["x.py"], "holders": ["ann"]}
    )
    place.append("push.unverified", "dibs", "b" * 40, {"remote": "origin", "branch": "main", "by": "eve <e@x>"})
    line = place.check("15")
    assert (line["status"], line["severity"]) == ("fail", "high")
    assert "bob committed aaaaaaaaaaaa past the guard with x.py, held by ann, against rule 5 (event " in line["message"]
    assert "a push of bbbbbbbbbbbb to origin/main bypassed the guard, by eve <e@x> (event " in line["message"]
    for finding in line["findings"]:
        place.as_("root").check_settle(finding["id"], why="seen")
    assert place.check("commits")["message"].startswith("Bypasses: 2 findings settled (events ")


def test_15_a_bypass_whose_event_was_archived_is_named_by_its_alert(place: Place) -> None:
    facts: Any = {"push": {"remote": "origin", "branch": "main", "by": ""}, "commit": "c" * 40}
    store = place.as_("ann").session.store
    store.run(lambda tx: suspicions.put(tx, "bypass", "c" * 40, "ann", event="", **facts))
    line = place.check("15")
    assert "a push to origin/main (cccccccccccc) bypassed the guard" in line["message"]
    assert len(line["findings"]) == 1


def test_16_an_unverified_deploy_is_named_until_a_later_one_is_good(place: Place) -> None:
    assert place.check("deploys")["status"] == "n/a"
    for result, more, severity in (
        ("unverified", {}, "high"), ("unchecked", {}, "medium"), ("ok", {"unsynced": True}, "medium"),
        ("interrupted", {}, "high"), ("ok", {"fenced": True}, "high"),
    ):  # fmt: skip
        place.append("deploy.finished", "ann", "prod", {"commit": "abc", "result": result, "token": 1, **more})
        line = place.check("16")
        assert line["severity"] == severity, result
        assert ("against rule" in line["message"]) is (result != "interrupted" and "fenced" not in more)
    place.append("deploy.finished", "ann", "prod", {"commit": "abc", "result": "ok", "token": 1})
    assert place.check("16")["status"] == "ok"


def test_17_a_memory_file_that_is_missing_fails_until_it_is_written(place: Place) -> None:
    place.configure('[files]\nstate = "STATE.md"')
    assert place.check("files")["findings"][0]["id"] == "files:state"
    (place.folder / "STATE.md").write_text("x")
    assert place.check("17")["status"] == "ok"


def test_18_a_store_that_stands_in_for_another_fails(place: Place) -> None:
    assert place.check("store")["message"].startswith("Store: sqlite, ")
    store = place.as_("ann").session.store
    store.run(lambda tx: suspicions.put(tx, "store", "fallback", "ann", event="", left="redis://x", lasts="fallback"))
    assert "SQLite replaces redis://x, which did not start" in place.check("18")["message"]


def test_19_a_quarantined_task_and_an_open_breaker_are_named_until_they_are_mended(place: Place) -> None:
    place.configure("[tasks]\nbreaker_failures = 2")
    ann = place.as_("ann")
    assert place.check("tasks")["status"] == "ok"
    for number in range(2):
        ann.task_add(f"t{number}", id=f"t{number}", attempts=1, key=f"k{number}")
        token = ann.task_claim(f"t{number}")["token"]
        ann.task_fail(f"t{number}", token=token, class_="transient", why="no such table")
    said = place.check("19")["message"]
    assert "task t0 failed or was lost 1 time and is quarantined (event " in said
    assert "ann failed 2 times in a row and gets no work (breaker open) (events " in said
    for number in range(2):
        place.as_("root").task_move(f"t{number}", "cancelled")
    assert "quarantined" not in place.check("19")["message"]


def test_19_a_failed_task_in_the_way_of_others_is_named_and_one_that_is_not_is_a_figure(place: Place) -> None:
    ann = place.as_("ann")
    ann.task_add("build", id="build", key="b")
    token = ann.task_claim("build")["token"]
    ann.task_fail("build", token=token, class_="permanent", why="no compiler")
    assert place.check("19")["message"] == "Tasks: none quarantined, no breaker open; 1 failed, none waits for it"
    ann.task_add("ship", id="ship", after=["build"], key="s")
    line = place.check("tasks")
    assert (line["status"], line["severity"]) == ("fail", "medium")
    assert re.match(r"task build failed, and 1 task after it cannot begin \(ship\) \(event \d+\)$", line["message"])
    ann.task_cancel("ship")
    assert place.check("tasks")["status"] == "ok"


def test_20_a_log_that_cannot_have_happened_fails(place: Place) -> None:
    ann = place.as_("ann")
    claim = ann.claim("db:x")
    assert place.check("log")["message"].startswith("Log: intact, ")
    assert place.check("record")["number"] == 20  # its name before
    data = {"resources": [["name", "db:x"]], "mode": "write", "tree": "", "until": 10**9, "token": claim.token + 9}
    place.append("claim.granted", "bob", "c999", {**data, "via": "request"})
    line = place.check("20")
    assert (line["status"], line["severity"]) == ("fail", "high")
    assert "two_holders" in line["message"]


def test_21_an_active_run_that_fails_a_gate_is_named_until_it_passes_or_ends(place: Place) -> None:
    ann = place.as_("ann")
    assert place.check("runs")["message"] == "Runs: none is active"
    ann.run_start("fix the tests", id="r1")
    assert place.check("runs")["message"].startswith("Runs: 1 run active, all gates passed: r1 (")
    ann.run_error("the database is gone")
    line = place.check("gates")
    assert (line["status"], line["severity"]) == ("fail", "medium")
    assert line["message"].startswith("run r1 fails the gate “errors are handled”: 1 error not handled")
    assert line["findings"][0]["id"] == "runs:r1-errors-are-handled"
    ann.run_handled(1, "restarted it")
    assert place.check("21")["status"] == "ok"
    ann.run_error("again")
    assert place.check("21")["status"] == "fail"
    ann.run_end()
    assert place.check("21")["status"] == "n/a"


def test_22_files_of_a_registry_that_say_other_than_the_queue_are_named_until_they_agree(shell: Shell) -> None:
    def line(exit: int) -> dict[str, Any]:
        (found,) = shell.json("check", "--check", "registry", exit=exit)["checks"]
        return dict(found)

    assert line(0)["status"] == "n/a"
    registry = shell.folder / ".agent" / "registry"
    for state in ("scoped", "claimed", "complete"):
        (registry / state).mkdir(parents=True)
    (registry / "scoped" / "T1").write_text("the first\n")
    assert line(1)["findings"][0]["id"] == "registry:not-taken-over"
    shell.json("import", exit=0)
    assert line(0)["message"] == "Registry: 1 file of .agent/registry, the same as in the queue"

    shell.json("task", "move", "T1", "planned", exit=0)
    token = shell.json("task", "claim", "T1", "--as", "ann", exit=0)["token"]
    found = line(1)
    assert (found["severity"], found["message"]) == ("low", "ann has T1 in the queue, and its file is in scoped/")
    (registry / "scoped" / "T1").rename(registry / "claimed" / "T1")
    (registry / "claimed" / "T1").write_text(f"bob:{int(time.time())}\n")
    found = line(1)
    assert (found["severity"], found["message"]) == ("high", "two agents for T1: bob by its file, ann in the queue")
    shell.json("task", "done", "T1", "--token", str(token), "--as", "ann", exit=0)
    assert "the file of T1 says that bob has it" in line(1)["message"]
    (registry / "claimed" / "T1").write_text(f"bob:{int(time.time()) - 7200}\n")
    assert line(1)["message"] == "the file of T1 says that bob has it, but its claim ended"
    (registry / "complete" / "T1").write_text("the first\n")
    assert "its files lie in claimed and complete" in line(1)["message"]
    (registry / "claimed" / "T1").unlink()
    assert line(0)["status"] == "ok"
    (registry / "scoped" / "T2").write_text("new\n")
    assert line(1)["message"] == "T2 (scoped) is not in the queue"
    shell.json("check", "--settle", "registry:unknown-t2", "--why", "a note, no task", exit=0)
    assert line(0)["findings"][0]["settled"]["why"] == "a note, no task"


# --- the answer


def test_the_gravest_failure_names_the_severity_and_the_result_says_what_to_fix(place: Place) -> None:
    place.fleet()
    place.append(
        "commit.unverified", "bob", "a" * 40, {"tree": "", "how": "past", "paths": ["x.py"], "holders": ["ann"]}
    )
    found = place.as_("ann").check()
    assert found["severity"] == "high"
    assert found["risk"] == "data loss under concurrent load"
    assert found["failed"] == ["orchestrator", "bypasses"]
    assert found["result"] == "2 issues — review what bypassed the guards and name a coordinator"


def test_a_check_that_cannot_look_is_unknown_and_not_green(place: Place) -> None:
    class FullDoor(Door):
        def prove_guards(self, _: Session, /) -> list[Any]:
            raise Unavailable("no room for a trial")

    ann = place.as_("ann")
    ann.session.door = FullDoor()
    found = ann.check(check="guards")
    assert (found["failed"], found["unknown"], found["checks"][0]["ok"]) == ([], ["guards"], False)
    assert "could not look: no room for a trial" in found["checks"][0]["message"]
    with pytest.raises(Invalid, match="there is no check 'nonsense'; there are 1 resources"):
        ann.check(check="nonsense")


def test_the_command_prints_lines_writes_junit_and_settles(shell: Shell) -> None:
    for agent in ("ann", "bob"):
        shell.json("boot", "--as", agent, exit=0)
        shell.json("claim", f"db:{agent}", "--as", agent, exit=0)
    done = shell.run("check", "--junit", "check.xml")
    assert done.returncode == 0, "two agents and a person at the terminal: there is advice, and nothing is wrong"
    assert "(person, at this terminal)" in done.stdout
    lines = done.stdout.splitlines()
    assert lines[0] == "  CHECK — Multi-Agent Coordination of repo"
    assert [line[2:4].strip() for line in lines[2:] if re.match(r"  [ \d]\d ", line)] == [str(n) for n in range(1, 23)]
    assert lines[-1] == "  Severity: none"
    suite = ET.parse(shell.folder / "check.xml").getroot()[0]  # noqa: S314 our own
    assert (suite.get("tests"), suite.get("failures")) == ("22", str(len(suite.findall("testcase/failure"))))
    one = shell.run("check", "--check", "6", "--verbose").stdout
    assert one.startswith("  CHECK 6 — Alerting of repo\n")
    assert "or accept it: dibs check --settle alerting:no-sink --why T" in one
    for what in ("no-sink", "nobody-looks"):
        shell.json("check", "--settle", f"alerting:{what}", "--why", "two scripts", exit=0)
    done = shell.run("check", "--check", "alerting", "--verbose")
    assert done.returncode == 0
    assert "two scripts" in done.stdout
    assert shell.run("check", "--why", "x").returncode == 64


def test_the_report_of_the_document_names_each_planted_fault_and_nothing_else() -> None:
    """The block is what `dibs check` printed (tests/test_docs.py runs it); here it is compared with the script."""
    text = re.findall(r"\$ dibs check  # exit 1\n(.*?)\n\n  Result", DOCUMENT.read_text(), re.DOTALL)[0]
    lines = {int(found[1]): found[2] for found in re.finditer(r"^  ([ \d]\d) ✗ FAIL: (.*)$", text, re.MULTILINE)}
    planted = {
        3: "slow has held db:invoices", 4: "deadlock prevented: bert's request was refused",
        5: "alice emits stock.changed",
        8: "data_enricher did task enrich again", 9: "api/stock.py is a bottleneck",
        12: "dora acts on old rules", 13: "ghost", 14: "was changed; bob did it, against rule 5",
        15: "bert committed", 21: "run spring fails the gate “errors are handled”", 22: "two agents for TASK-103",
        16: "to prod by nina was not verified, against rule 1", 17: "docs/STATE.md", 19: "task migrate",
    }  # fmt: skip
    assert lines.keys() == planted.keys()
    assert all(planted[number] in lines[number] for number in planted)
    assert "rogue was killed" in lines[13]
    assert "clumsy failed 2 times in a row" in lines[19]
    assert "a push of" in lines[15]
    assert sum(line.count("(event") for line in lines.values()) == 14, "each fault once"


def test_every_check_has_a_name_of_its_own_and_a_place_in_the_order() -> None:
    assert [one.number for one in audit.CHECKS] == list(range(1, 23))
    assert sorted(audit.GRAVITY) == sorted(one.name for one in audit.CHECKS)
