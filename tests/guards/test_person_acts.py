"""A person decides while agents are at work: restore, undo and commit act, and the agents are told.

Each story is played as it happens: agents by the hooks of their client, the person at a terminal.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from dibs.client.session import Session
from dibs.errors import Conflict
from dibs.undo import apply
from dibs.undo.undo import Undo

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
    (alert,) = [one for one in repo.terminal("alerts")["alerts"] if one["kind"] == "violation"]
    assert alert["remedy"] == f"dibs restore {change}"
    answer = repo.terminal("restore", change)
    assert [one["name"] for one in answer["holders"]] == ["ada"]
    assert (repo.folder / "a.py").read_text() == "of ada\n"
    assert repo.claims() == {"ada": ["a.py"]}
    stale = ada.may_write("a.py", "made from what eve left\n")
    assert "changed a.py since you last read or wrote it" in stale.refusal
    told = prompted(ada)
    assert f"brought back a.py as it was before change {change}. You still hold it: read it again" in told
    ada.read("a.py")
    ada.edit("a.py", "of ada, again\n")
    assert repo.terminal("restore", answer["undo"])["ok"]  # and it can be taken back, while ada holds it
    assert (repo.folder / "a.py").read_text() == "of eve"
    assert repo.terminal("verify")["ok"]


def test_what_nobody_holds_is_free_again_after_a_person_restored_it(repo: Repository, ada: Agent, eve: Agent) -> None:
    change = overwritten(repo, ada, eve)
    ada.dibs("release", "a.py")
    assert repo.terminal("restore", change)["holders"] == []
    assert (repo.folder / "a.py").read_text() == "of ada\n"
    assert repo.claims() == {}


@pytest.mark.parametrize("words", [("--as", "bob"), ("--as", "eve")])
def test_nobody_else_restores_or_undoes_past_a_holder(
    repo: Repository, ada: Agent, eve: Agent, words: tuple[str, ...]
) -> None:
    change = overwritten(repo, ada, eve)
    repo.terminal("boot", *words)
    for command in (("restore", change), ("undo", "eve", "--yes")):
        refused = repo.terminal(*command, *words)["error"]
        assert (refused["code"], refused["blockers"][0]["agent"]) == ("held", "ada")
    assert eve.dibs("restore", change)["error"]["code"] == "held"
    assert (repo.folder / "a.py").read_text() == "of eve"


def test_an_agents_shell_with_a_persons_credential_restores_nothing_past_a_holder(
    repo: Repository, ada: Agent, eve: Agent
) -> None:
    change = overwritten(repo, ada, eve)
    token = repo.terminal("token", "new", "--person", "me")["token"]
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
    repo.terminal("restore", answer["undo"])
    assert (repo.folder / "a.py").read_text() == "written by ada at that moment"
    session.close()


# --- undo


def test_a_person_undoes_an_agent_at_work_which_loses_the_files_and_is_told(repo: Repository, ada: Agent) -> None:
    ada.edit("a.py", "of ada\n")
    ada.edit("new.py", "of ada\n")
    plan = repo.terminal("undo", "ada", "--dry-run")
    assert plan["notes"] == [
        "ada is still at work on a.py, new.py: it loses them, and is notified why.",
    ]
    (holder,) = plan["holders"]
    assert (holder["name"], sorted(holder["files"]), holder["loses"]) == ("ada", ["a.py", "new.py"], True)
    assert repo.claims() == {"ada": ["a.py", "new.py"]}
    assert repo.terminal("undo", "ada", "--yes")["done"]
    assert (repo.folder / "a.py").read_text() == "a.py at first\n"
    assert not (repo.folder / "new.py").exists()
    assert repo.claims() == {}
    told = prompted(ada)
    assert "undid what you changed in a.py, new.py. Your claim ended with it" in told
    assert "ead it again" in ada.may_write("a.py", "as if nothing happened\n").refusal
    assert repo.terminal("verify")["ok"]


def test_a_bystander_keeps_the_file_in_which_another_agents_work_is_undone(
    repo: Repository, ada: Agent, eve: Agent
) -> None:
    overwritten(repo, ada, eve)
    (note,) = repo.terminal("undo", "eve", "a.py", "--dry-run")["notes"]
    assert note == "ada is at work on a.py: it keeps it, and is told to read it again."
    assert repo.terminal("undo", "eve", "a.py", "--yes")["done"]
    assert (repo.folder / "a.py").read_text() == "of ada\n"
    assert repo.claims() == {"ada": ["a.py"]}
    told = prompted(ada)
    assert "undid what eve changed in a.py. You still hold it: read it again" in told
    assert len(repo.events("edit.violated", "edit.unattributed", "edit.taken")) == 1  # eve's own alone
    assert repo.terminal("verify")["ok"]


def test_an_agent_that_waits_does_not_get_the_file_before_it_is_undone(repo: Repository, ada: Agent) -> None:
    ada.edit("a.py", "of ada\n")
    waiter = subprocess.Popen(
        ["dibs", "claim", "a.py", "--wait", "30s", "--as", "bob", "--json"], cwd=repo.folder,
        env={**repo.env, "PATH": repo.path}, stdout=subprocess.PIPE,
    )  # fmt: skip
    while not repo.terminal("status")["waiting"]:
        pass
    assert repo.terminal("undo", "ada", "--yes")["done"]
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
    assert repo.terminal("verify")["ok"]


def test_a_holder_that_died_is_undone_as_if_it_held_nothing(repo: Repository, ada: Agent) -> None:
    ada.edit("a.py", "of ada\n")
    ada.client.kill()
    assert repo.terminal("undo", "ada", "--dry-run")["notes"] == []
    assert repo.terminal("undo", "ada", "--yes")["done"]
    assert repo.claims() == {}
