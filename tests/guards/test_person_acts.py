"""A person decides while agents are at work: restore, undo and commit act, and the agents are told.

Each story is played as it happens: agents by the hooks of their client, the person at a terminal.
"""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from dibs.client.session import Session
from dibs.errors import Conflict
from dibs.undo import apply
from dibs.undo.undo import Undo
from tests import warm

if TYPE_CHECKING:
    from tests.interfaces.repository import Agent, Repository


@pytest.fixture
def ada(repo: Repository) -> Agent:
    made = repo.agent("ada")
    made.boot()
    return made


@pytest.fixture
def eve(repo: Repository) -> Agent:
    made = repo.agent("eve")
    made.boot()
    return made


def terminal(repo: Repository, *words: str) -> Any:
    """The command line, as a person types it, with no client above."""
    done = warm.dibs([*words, "--json"], repo.folder, {**repo.env, "PATH": repo.path})
    return json.loads(done.stdout)


def prompted(agent: Agent) -> str:
    """What the agent is told when a person writes to it."""
    answer = agent.hook("UserPromptSubmit", prompt="go on")
    assert answer.code == 0, answer
    return answer.told


def overwritten(repo: Repository, ada: Agent, eve: Agent) -> str:
    """Ada's file, which a program of eve's replaces; the id of that change."""
    ada.edit("a.py", "of ada\n")
    repo.later()
    repo.write("tool.py", "open('a.py', 'w').write('of eve')\n")
    eve.bash("python3 tool.py")
    (event,) = repo.events("edit.violated")
    return str(event["data"]["id"])


# --- restore


def test_a_person_restores_what_was_overwritten_and_the_holder_keeps_it_and_is_told(
    repo: Repository, ada: Agent, eve: Agent
) -> None:
    change = overwritten(repo, ada, eve)
    ada.read("a.py")  # it looks at what eve made of it
    (alert,) = [one for one in terminal(repo, "alerts")["alerts"] if one["kind"] == "violation"]
    assert alert["remedy"] == f"dibs restore {change}"
    answer = terminal(repo, "restore", change)
    assert [one["name"] for one in answer["holders"]] == ["ada"]
    assert (repo.folder / "a.py").read_text() == "of ada\n"
    assert repo.claims() == {"ada": ["a.py"]}
    stale = ada.may_write("a.py", "made from what eve left\n")
    assert "changed a.py since you last read or wrote it" in stale.refusal
    told = prompted(ada)
    assert f"brought back a.py as it was before change {change}. You still hold it: read it again" in told
    ada.read("a.py")
    ada.edit("a.py", "of ada, again\n")
    assert terminal(repo, "restore", answer["undo"])["ok"]  # and it can be taken back, while ada holds it
    assert (repo.folder / "a.py").read_text() == "of eve"
    assert terminal(repo, "verify")["ok"]


def test_what_nobody_holds_is_free_again_after_a_person_restored_it(repo: Repository, ada: Agent, eve: Agent) -> None:
    change = overwritten(repo, ada, eve)
    ada.dibs("ack", change)
    ada.dibs("release", "a.py")
    assert terminal(repo, "restore", change)["holders"] == []
    assert (repo.folder / "a.py").read_text() == "of ada\n"
    assert repo.claims() == {}


@pytest.mark.parametrize("words", [("--as", "bob"), ("--as", "eve")])
def test_nobody_else_restores_or_undoes_past_a_holder(
    repo: Repository, ada: Agent, eve: Agent, words: tuple[str, ...]
) -> None:
    change = overwritten(repo, ada, eve)
    terminal(repo, "boot", *words)
    for command in (("restore", change), ("undo", "eve", "--yes")):
        refused = terminal(repo, *command, *words)["error"]
        assert (refused["code"], refused["blockers"][0]["agent"]) == ("held", "ada")
    assert eve.dibs("restore", change)["error"]["code"] == "held"
    assert (repo.folder / "a.py").read_text() == "of eve"


def test_an_agents_shell_with_a_persons_credential_restores_nothing_past_a_holder(
    repo: Repository, ada: Agent, eve: Agent
) -> None:
    change = overwritten(repo, ada, eve)
    token = terminal(repo, "token", "new", "--person", "me")["token"]
    done = eve.client.run(
        "dibs", "restore", change, "--json", cwd=repo.folder, CLAUDE_CODE_SESSION_ID="eve", PATH=repo.path,
        DIBS_TOKEN=token,
    )  # fmt: skip
    assert '"held"' in done.out
    assert (repo.folder / "a.py").read_text() == "of eve"


def test_a_holder_that_writes_while_a_person_restores_loses_nothing(
    repo: Repository, ada: Agent, eve: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = overwritten(repo, ada, eve)
    session = Session(str(repo.folder), None)
    run, late = session.run, [b"written by ada at that moment"]

    def run_and_write(operation: Any, *args: Any) -> Any:
        answer = run(operation, *args)
        if operation.name == "restore-take" and late:
            (repo.folder / "a.py").write_bytes(late.pop())
        return answer

    monkeypatch.setattr(session, "run", run_and_write)
    answer = session.answer(session.operation("restore"), session.identify(None), {"what": change})
    assert (repo.folder / "a.py").read_text() == "of ada\n"
    terminal(repo, "restore", answer["undo"])
    assert (repo.folder / "a.py").read_text() == "written by ada at that moment"
    session.close()


# --- undo


def test_a_person_undoes_an_agent_at_work_which_loses_the_files_and_is_told(repo: Repository, ada: Agent) -> None:
    ada.edit("a.py", "of ada\n")
    ada.edit("new.py", "of ada\n")
    plan = terminal(repo, "undo", "ada", "--dry-run")
    assert plan["notes"] == [
        "ada is still at work on a.py, new.py: it loses them, and is notified why.",
    ]
    (holder,) = plan["holders"]
    assert (holder["name"], sorted(holder["files"]), holder["loses"]) == ("ada", ["a.py", "new.py"], True)
    assert repo.claims() == {"ada": ["a.py", "new.py"]}
    assert terminal(repo, "undo", "ada", "--yes")["done"]
    assert (repo.folder / "a.py").read_text() == "a.py at first\n"
    assert not (repo.folder / "new.py").exists()
    assert repo.claims() == {}
    told = prompted(ada)
    assert "undid what you changed in a.py, new.py. Your claim ended with it" in told
    assert "ead it again" in ada.may_write("a.py", "as if nothing happened\n").refusal
    assert terminal(repo, "verify")["ok"]


def test_a_bystander_keeps_the_file_in_which_another_agents_work_is_undone(
    repo: Repository, ada: Agent, eve: Agent
) -> None:
    overwritten(repo, ada, eve)
    (note,) = terminal(repo, "undo", "eve", "a.py", "--dry-run")["notes"]
    assert note == "ada is at work on a.py: it keeps it, and is told to read it again."
    assert terminal(repo, "undo", "eve", "a.py", "--yes")["done"]
    assert (repo.folder / "a.py").read_text() == "of ada\n"
    assert repo.claims() == {"ada": ["a.py"]}
    told = prompted(ada)
    assert "undid what eve changed in a.py. You still hold it: read it again" in told
    assert len(repo.events("edit.violated", "edit.unattributed", "edit.taken")) == 1  # eve's own alone
    assert terminal(repo, "verify")["ok"]


def test_an_agent_that_waits_does_not_get_the_file_before_it_is_undone(repo: Repository, ada: Agent) -> None:
    ada.edit("a.py", "of ada\n")
    waiter = subprocess.Popen(
        ["dibs", "claim", "a.py", "--wait", "30s", "--as", "bob", "--json"], cwd=repo.folder,
        env={**repo.env, "PATH": repo.path}, stdout=subprocess.PIPE,
    )  # fmt: skip
    while not terminal(repo, "status")["waiting"]:
        pass
    assert terminal(repo, "undo", "ada", "--yes")["done"]
    out, _ = waiter.communicate(timeout=30)
    assert waiter.returncode == 0, out
    kinds = [event["kind"] for event in repo.events("undo.started", "claim.released", "claim.granted")]
    assert kinds[-3:] == ["undo.started", "claim.released", "claim.granted"]


@pytest.mark.parametrize("what", [KeyboardInterrupt, Conflict])
def test_an_undo_that_is_given_up_gives_back_what_it_took(
    repo: Repository, ada: Agent, monkeypatch: pytest.MonkeyPatch, what: type[BaseException]
) -> None:
    ada.edit("a.py", "of ada\n")
    session = Session(str(repo.folder), None)

    def present(*_: object) -> tuple[str, str]:
        if what is KeyboardInterrupt:
            raise KeyboardInterrupt
        return "changed meanwhile", ""

    monkeypatch.setattr(apply.Worker, "_present", present)
    with pytest.raises(what):
        Undo(session, session.identify(None)).run("ada")
    session.close()
    assert repo.claims() == {"ada": ["a.py"]}
    ada.edit("a.py", "of ada, which noticed nothing\n")
    assert ada.bash("git add a.py && git commit -qm work")[0].code == 0  # no loss is in its way
    assert terminal(repo, "verify")["ok"]


def test_a_holder_that_died_is_undone_as_if_it_held_nothing(repo: Repository, ada: Agent) -> None:
    ada.edit("a.py", "of ada\n")
    ada.client.kill()
    assert terminal(repo, "undo", "ada", "--dry-run")["notes"] == []
    assert terminal(repo, "undo", "ada", "--yes")["done"]
    assert repo.claims() == {}


# --- commit


def typed(repo: Repository, command: str, cwd: str = "") -> subprocess.CompletedProcess[str]:
    """What a person types at a terminal."""
    return subprocess.run(
        ["sh", "-c", command], cwd=repo.folder / cwd, env={**repo.env, "PATH": repo.path}, text=True,
        capture_output=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_a_person_commits_what_an_agent_at_rest_finished_and_the_agent_is_told(repo: Repository, ada: Agent) -> None:
    ada.edit("a.py", "of ada\n")
    ada.dibs("claim", "b.py", "--reason", "next")
    ada.stop()
    done = typed(repo, "git commit -qam 'what ada finished'")
    assert done.returncode == 0, done
    assert "ada had finished its turn: its claim on a.py ended with this commit" in done.stderr
    assert repo.claims() == {"ada": ["b.py"]}
    told = prompted(ada)
    commit = repo.git("rev-parse", "HEAD")[:12]
    assert f"committed a.py, which you held, in {commit}; your claim on it ended." in told
    said = [one["text"] for one in terminal(repo, "log", "--kind", "claim.released", "--sentences")["events"]]
    assert f"committed a.py ({commit[:8]}), which ended ada's claim" in said[0]
    assert not said[0].startswith("ada ")
    assert repo.events("commit.unverified", "commit.refused", "edit.violated", "edit.unattributed") == []
    assert [one for one in terminal(repo, "alerts")["alerts"] if one["kind"] == "bypass"] == []
    assert terminal(repo, "check", "--check", "bypasses")["checks"][0]["status"] == "ok"
    ada.edit("a.py", "of ada, again\n")
    assert terminal(repo, "verify")["ok"]


def test_while_a_turn_runs_a_person_is_refused_with_the_one_command_that_overrides(
    repo: Repository, ada: Agent
) -> None:
    ada.edit("src/it's a.py", "of ada\n")
    ada.stop()
    prompted(ada)  # the next turn
    repo.git("add", "-A")
    refused = typed(repo, "git commit -qm 'a person'\\''s'", "src")
    assert refused.returncode == 1
    assert "Once the turn of ada has ended, this commit passes." in refused.stderr
    assert "--no-verify" not in refused.stderr
    assert "other work" not in refused.stderr
    (order,) = [line.strip() for line in refused.stderr.splitlines() if line.startswith("  dibs release ")]
    done = typed(repo, order, "src")
    assert done.returncode == 0, (order, done)
    assert repo.git("log", "-1", "--format=%s").strip() == "a person's"
    assert "took src/it's a.py away from you: a person commits it" in prompted(ada)


@pytest.mark.parametrize(
    ("tasks", "passes"),
    [
        ([{"id": "b1", "type": "shell", "status": "running"}], False),
        ([{"id": "b1", "type": "shell", "status": "completed"}], True),
        (["something new"], False),
    ],
)
def test_an_agent_that_left_something_running_is_not_at_rest(
    repo: Repository, ada: Agent, tasks: list[Any], passes: bool
) -> None:
    ada.edit("a.py", "of ada\n")
    assert ada.hook("Stop", stop_hook_active=False, background_tasks=tasks).code == 0
    assert (typed(repo, "git commit -qam x").returncode == 0) is passes


def test_another_agent_does_not_commit_what_an_agent_at_rest_finished(repo: Repository, ada: Agent, eve: Agent) -> None:
    ada.edit("a.py", "of ada\n")
    ada.stop()
    repo.git("add", "a.py")
    token = terminal(repo, "token", "new", "--person", "me")["token"]
    done = eve.client.run(
        "git", "commit", "-qm", "x", cwd=repo.folder, CLAUDE_CODE_SESSION_ID="eve", PATH=repo.path, DIBS_TOKEN=token
    )
    assert done.code == 1
    assert "ada holds it" in done.err


def test_what_a_commit_has_only_in_part_stays_claimed_and_the_agent_is_told(repo: Repository, ada: Agent) -> None:
    ada.edit("a.py", "a first part\n")
    repo.git("add", "a.py")
    ada.edit("a.py", "a first part\nand a second\n")
    ada.edit("b.py", "of ada\n")
    ada.stop()
    assert typed(repo, "git commit -qm part").returncode == 0
    assert repo.claims() == {"ada": ["a.py", "b.py"]}
    assert "your claim on it stays: read it again" in prompted(ada)


def test_past_the_guard_a_person_takes_from_an_agent_at_rest_nothing_that_is_worth_an_alert(
    repo: Repository, ada: Agent
) -> None:
    ada.edit("a.py", "of ada\n")
    ada.stop()
    assert typed(repo, "git commit -qam x --no-verify").returncode == 0
    assert repo.claims() == {}
    assert [event["data"]["holders"] for event in repo.events("commit.unverified")] in ([], [[]])
    assert "past the guard" not in prompted(ada)


# --- refusals


@pytest.mark.parametrize(
    "words",
    [
        ("claim", "a.py"), ("release", "a.py"), ("renew", "a.py"), ("confirm", "a.py", "--token", "1"),
        ("task", "claim", "t"),
    ],
)  # fmt: skip
def test_what_a_refusal_advises_a_person_works_as_typed(repo: Repository, ada: Agent, words: tuple[str, ...]) -> None:
    ada.edit("a.py", "of ada\n")
    terminal(repo, "task", "add", "something", "--id", "t")
    ada.dibs("task", "claim", "t")
    refused = terminal(repo, *words)["error"]["message"]
    assert "other work" not in refused
    assert "Stop working" not in refused
    orders = [order for order in re.findall(r"`(dibs .+?)`", refused) if "--force" in order]
    assert len(orders) == 1, refused
    assert typed(repo, orders[0]).returncode == 0, orders
    assert "took" in prompted(ada)


def test_a_persons_stash_of_what_a_dead_agent_left_alarms_nobody(repo: Repository, ada: Agent, eve: Agent) -> None:
    ada.edit("a.py", "of ada\n")
    ada.client.kill()
    repo.later()
    repo.git("stash", "-u")
    assert "a.py" not in prompted(eve)
    assert [one["kind"] for one in terminal(repo, "alerts")["alerts"] if one["kind"] == "violation"] == []
