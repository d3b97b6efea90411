"""An agent at its usage limit, as its client's hooks show it: it is limited, not idle, and what it holds stays."""

from __future__ import annotations

import datetime as dt
import json
import re
import time
from typing import TYPE_CHECKING, Any

import pytest

from dibs.guards import limits, payload
from tests.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interfaces.repository import Agent, Answer, Repository

SAID = "You've hit your session limit · resets in 2h"
HOUR_MS = 3_600_000


@pytest.fixture
def ada(repo: Repository) -> Agent:
    """Ada, in the middle of a turn."""
    agent = repo.agent("ada")
    agent.boot()
    agent.prompt("port the parser")
    return agent


def fails(agent: Agent, said: str = SAID, error: str = "rate_limit") -> Answer:
    """Claude Code's hook when an error ends the turn, as 2.1.325 sends it."""
    return agent.hook("StopFailure", error=error, last_assistant_message=said)


def state(repo: Repository, agent: str = "ada") -> dict[str, Any]:
    """The agent as people see it."""
    (found,) = [one for one in repo.person.dibs("agents")["agents"] if one["agent"] == agent]
    return dict(found)


def test_an_agent_at_its_limit_is_limited_until_the_time_that_its_client_names(ada: Agent, repo: Repository) -> None:
    assert fails(ada).silent
    seen = state(repo)
    assert seen["activity"] == "limited"
    assert seen["limited"]["what"].startswith("rate limit: You've hit your session limit")
    left = dt.datetime.fromisoformat(seen["limited"]["until"]) - dt.datetime.now(dt.UTC)
    assert dt.timedelta(hours=1, minutes=50) < left < dt.timedelta(hours=2)


@pytest.mark.parametrize("error", ["overloaded", "authentication_failed", "billing_error", "server_error", "unknown"])
def test_any_error_that_ends_a_turn_is_a_limit_without_a_time(ada: Agent, repo: Repository, error: str) -> None:
    fails(ada, "API Error: no", error)
    assert state(repo)["activity"] == "limited"
    assert "until" not in state(repo)["limited"]


def test_its_client_s_notification_does_not_end_it_and_its_next_prompt_does(ada: Agent, repo: Repository) -> None:
    fails(ada)
    ada.hook("Notification", message="Claude is waiting for your input", notification_type="idle_prompt")
    assert state(repo)["activity"] == "limited"
    ada.prompt("go on")
    assert state(repo)["activity"] == "working"


def test_its_next_call_ends_it_too(ada: Agent, repo: Repository) -> None:
    fails(ada)
    ada.edit("a.py", "ada's\n")
    assert state(repo)["activity"] != "limited"


def test_its_claims_and_its_task_stay_and_a_refusal_says_how_long(ada: Agent, repo: Repository) -> None:
    repo.config('[claims]\nttl = "1s"\n')
    repo.terminal("task", "add", "the work", "--id", "T")
    ada.dibs("task", "claim", "T")
    ada.edit("a.py", "ada's\n")
    fails(ada)
    until(lambda: repo.terminal("sweep") and len(repo.events("claim.renewed")) >= 4, "renewals")
    assert repo.claims() == {"ada": ["a.py", "task:T"]}
    bob = repo.agent("bob")
    bob.boot()
    assert re.search(r"limited for another 1[12]\d min \(rate limit", bob.may_write("a.py").refusal)


def test_the_claim_on_its_task_is_kept_past_its_deadline(ada: Agent, repo: Repository) -> None:
    repo.config('[claims]\nttl = "1s"\n')
    repo.terminal("task", "add", "the work", "--id", "T")
    claim = ada.dibs("task", "claim", "T")["claim"]
    fails(ada)

    def settled() -> bool:
        repo.person.dibs("sweep")
        events = [event for event in repo.events("claim.renewed", "claim.ended") if event["subject"] == claim]
        return any(event["kind"] == "claim.ended" or event["data"].get("why") == "alive" for event in events)

    until(settled, "its deadline")
    assert repo.events("claim.ended") == []
    assert repo.claims() == {"ada": ["task:T"]}


def test_its_task_is_offered_to_others_if_the_config_says_so_and_it_is_fenced(ada: Agent, repo: Repository) -> None:
    repo.config('[agents]\nlimited = "offer"\noffer_after = "1s"\n')
    repo.terminal("task", "add", "the work", "--id", "T")
    token = ada.dibs("task", "claim", "T")["token"]
    ada.edit("a.py", "ada's\n")
    fails(ada)
    bob = repo.agent("bob")
    bob.boot()
    assert bob.dibs("task", "next", "--wait", "60s")["task"]["id"] == "T"
    assert repo.claims()["ada"] == ["a.py"], "its unfinished file stays its own"
    assert [event["data"]["why"] for event in repo.events("claim.ended")] == ["limited"]
    late = ada.dibs("task", "done", "T", "--token", str(token))
    assert late["error"]["code"] == "fenced"
    assert late["error"]["holder"] == "bob"


def test_a_limit_that_ends_before_keeps_the_task(ada: Agent, repo: Repository) -> None:
    repo.config('[agents]\nlimited = "offer"\noffer_after = "10m"\n')
    repo.terminal("task", "add", "the work", "--id", "T")
    ada.dibs("task", "claim", "T")
    fails(ada, "You've hit your limit · resets in 5m")
    assert repo.events("claim.renewed") == []


def test_who_waits_for_what_it_holds_is_told_once(ada: Agent, repo: Repository) -> None:
    ada.edit("a.py", "ada's\n")
    bob = repo.agent("bob")
    bob.boot()
    assert not bob.may_write("a.py").allowed
    fails(ada)
    fails(ada)
    told = [one["text"] for one in bob.dibs("inbox")["messages"] if "limited" in one["text"]]
    assert len(told) == 1
    assert "holds what you want, and is limited" in told[0]


def test_a_client_that_exits_is_gone_whatever_ended_its_turn(ada: Agent, repo: Repository) -> None:
    ada.edit("a.py", "ada's\n")
    fails(ada)
    ada.client.kill()
    assert repo.claims() == {}
    assert state(repo)["activity"] == "exited"


# --- words


NOW = dt.datetime(2026, 11, 18, 20, 0, tzinfo=dt.UTC).timestamp()
TIMES = [
    ("You've hit your limit · resets 11pm (UTC)", 3 * 3600),
    ("You've hit your session limit · resets 3:30pm (America/New_York)", 1800),
    ("5-hour limit reached · resets 9pm (Europe/Berlin)", 24 * 3600),
    ("You've hit your usage limit. Upgrade to Pro or try again at 10:18 PM (UTC)", 2 * 3600 + 18 * 60),
    ("try again in 2 days 3 hours", 51 * 3600), ("resets in 2h 5m", 2 * 3600 + 300),
    ("weekly limit · resets Nov 20, 8pm (UTC)", 48 * 3600), ("API Error: Overloaded", 0), ("resets soon", 0),
    ("in 5 files I found nothing", 0), ("", 0),
]  # fmt: skip


@pytest.mark.parametrize(("text", "seconds"), TIMES)
def test_the_end_of_a_limit_is_read_from_what_clients_say(text: str, seconds: int) -> None:
    found = limits._until(text, NOW)
    assert found - NOW == pytest.approx(seconds, abs=1) if seconds else found == 0


def test_a_transcript_names_the_end_where_the_message_does_not(tmp_path: Path) -> None:
    end = int(time.time()) + 7200
    transcript = tmp_path / "t.jsonl"
    row = {"type": "assistant", "isApiErrorMessage": True, "quotaLimits": {"resetsAt": end}}
    transcript.write_text('{"type":"user"}\n' + json.dumps(row, separators=(",", ":")) + "\n")
    event = payload.read("claude", "", {
        "hook_event_name": "StopFailure", "session_id": "s", "error": "rate_limit", "transcript_path": str(transcript),
        "last_assistant_message": "You've hit your limit",
    })  # fmt: skip
    assert event is not None
    what, ms = limits.of(event)
    assert what == "rate limit: You've hit your limit"
    assert 0 <= 2 * HOUR_MS - ms < 60_000


def test_copilot_s_error_is_one_unless_it_goes_on_by_itself(repo: Repository) -> None:
    agent = repo.agent("cop", client=repo.client("copilot"))

    def hook(event: str, **fields: Any) -> Answer:
        sent = {"sessionId": "cop", "cwd": str(agent.cwd), **fields}
        return agent.entry("copilot", event, given=json.dumps(sent).encode())

    hook("sessionStart")
    hook("userPromptSubmitted", prompt="port the parser")
    error = {"name": "RateLimitError", "message": "rate limited, try again in 2 hours"}
    assert hook("errorOccurred", error=error, errorContext="model_call", recoverable=True).silent
    assert state(repo, "cop")["activity"] == "working"
    assert hook("errorOccurred", error=error, errorContext="model_call", recoverable=False).silent
    assert state(repo, "cop")["activity"] == "limited"
