"""A lunch break, as a client's hooks show it: three edits, a ttl of seconds, nobody acts, and the process lives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.waiting import until

if TYPE_CHECKING:
    from tests.interfaces.repository import Repository

FILES = ["new/a.py", "new/b.py", "new/c.py"]


def test_the_claims_of_an_idle_agent_stay_need_nobody_and_end_with_its_process(repo: Repository) -> None:
    repo.config('[claims]\nttl = "1s"\n')
    ada = repo.agent("ada")
    ada.boot()
    (repo.folder / "new").mkdir()
    for name in FILES:
        ada.edit(name, "hers\n")
    ada.stop()
    until(
        lambda: repo.terminal("sweep") and len(repo.events("claim.renewed")) >= 2 * len(FILES), "two renewals of each"
    )
    assert repo.claims() == {"ada": FILES}
    shown = repo.person.dibs("status")
    assert shown["alert_groups"] == []
    assert [agent["activity"] for agent in shown["agents"] if agent["agent"] == "ada"] == ["idle"]
    assert not repo.agent("bob").may_write("new/a.py").allowed
    assert ada.dibs("inbox")["messages"] == []
    ada.client.kill()
    assert repo.claims() == {}
    repo.terminal("sweep")
    assert {event["data"]["why"] for event in repo.events("claim.ended")} == {"gone"}


@pytest.mark.parametrize("event", ["PermissionRequest", "Notification"])
def test_a_question_to_a_person_is_a_state_until_the_next_hook_of_any_kind(repo: Repository, event: str) -> None:
    ada = repo.agent("ada")
    ada.boot()
    assert ada.hook("UserPromptSubmit", prompt="port the API to v2").silent
    asked = ada.hook(event, tool_name="Bash", message="needs you", notification_type="permission_prompt")
    assert asked.silent, "the client asks its person as always"

    def state() -> tuple[str, str]:
        (agent,) = [one for one in repo.person.dibs("agents")["agents"] if one["agent"] == "ada"]
        return agent["activity"], agent["doing"]

    assert state() == ("waits for a person", "port the API to v2")
    assert ada.hook("Notification", message="signed in", notification_type="auth_success").silent
    assert state()[0] == "waits for a person", "a notification about something else"
    assert ada.read("b.py").allowed, "a hook that opens no store otherwise"
    assert state()[0] == "working"
    ada.hook("Notification", message="Claude is waiting for your input", notification_type="idle_prompt")
    assert state()[0] == "idle", "a turn that was interrupted has no Stop"


def test_a_notification_that_cannot_be_told_never_blocks_its_client(repo: Repository) -> None:
    ada = repo.agent("ada")
    ada.boot()
    (repo.folder / ".dibs" / "config.toml").write_text("this is no config")
    assert ada.hook("PermissionRequest", tool_name="Bash").code == 0
    assert ada.hook("Notification", notification_type="permission_prompt").out == ""
