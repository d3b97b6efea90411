"""The baton: another agent continues, or the same one after a compaction, from facts and in few letters."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from dibs.client import baton

if TYPE_CHECKING:
    from tests.interfaces.repository import Agent, Repository

STEPS = 20
MOST = 2_000  # letters of a briefing


@pytest.fixture
def ada(repo: Repository) -> Agent:
    """Ada at work on a task, with some reads, edits and refusals behind her."""
    repo.write("big.py", "".join(f"line {number}\n" for number in range(50)))
    repo.git("add", "-A")
    repo.git("commit", "-qm", "big")
    repo.terminal("task", "add", "port the parser to the new lexer", "--id", "parser")
    agent, bob = repo.agent("ada"), repo.agent("bob")
    agent.boot()
    bob.boot()
    bob.edit("c.py", "bob's\n")
    agent.prompt("port the parser")
    agent.dibs("task", "claim", "parser")
    agent.read("b.py")
    agent.read("big.py")
    agent.edit("a.py", "ada's\nand more\n")
    agent.edit("new.py", "ada's\n")
    assert not agent.may_write("c.py").allowed
    agent.dibs("task", "note", "parser", "the lexer is done, the parser is next")
    done = agent.dibs("task", "done", "parser", "--verify", "exit 3")
    assert done["error"]["code"] == "unverified"
    return agent


def brief(repo: Repository, agent: str) -> str:
    """As anybody reads it."""
    return str(repo.person.dibs("brief", agent)["text"])


def test_the_briefing_has_task_note_changes_reads_refusals_and_the_last_check(ada: Agent, repo: Repository) -> None:
    ada.client.kill()
    text = brief(repo, "ada")
    assert "Task parser" in text
    assert "> port the parser to the new lexer" in text
    assert "> the lexer is done, the parser is next" in text
    assert "2 files changed and not committed: a.py (+2 -1), new.py (new). `dibs diff ada` shows them." in text
    assert "It read, and is unchanged since: big.py, b.py." in text
    assert "refused: claim of c.py (held)" in text
    assert "The last check `exit 3` failed with exit code 3." in text
    assert len(text) < MOST


def test_who_gets_the_work_is_briefed_at_its_start_and_the_first_one_writes_nothing(
    ada: Agent, repo: Repository
) -> None:
    answer = repo.terminal("handover", "ada", "--to", "NEXT", "--note", "the tests are red", "--yes")
    assert answer["ok"]
    eve = repo.agent("eve")
    told = eve.boot()
    for words in (
        "the tests are red", "parser", "the lexer is done, the parser is next",
        "You have 2 files changed and not committed: a.py (+2 -1), new.py (new)",
        "It read, and is unchanged since: big.py",
        "The last check `exit 3` failed",
    ):  # fmt: skip
        assert words in told, told
    assert len(told) < MOST, len(told)
    refusal = ada.may_write("a.py").refusal
    assert "eve" in refusal
    assert (repo.folder / "a.py").read_text() == "ada's\nand more\n"
    assert ada.dibs("task", "done", "parser")["error"]["code"] == "fenced"
    eve.read("a.py")
    eve.edit("a.py", "eve's\n")
    assert eve.dibs("task", "done", "parser")["ok"]


def test_after_a_compaction_an_agent_knows_its_own_work_in_few_letters(ada: Agent, repo: Repository) -> None:
    repo.terminal("send", "ada", "mind the old API")
    told = ada.boot("compact")
    for words in (
        "You hold a.py", "Your task is parser", "the lexer is done, the parser is next", "mind the old API",
        "You have 2 files changed and not committed: a.py (+2 -1), new.py (new). `dibs diff ada` shows them.",
        "You were refused: claim of c.py (held)", "The last check `exit 3` failed with exit code 3.",
    ):  # fmt: skip
        assert words.replace("`dibs ", "`") in told.replace("`.dibs/dibs ", "`").replace("`dibs ", "`"), told
    assert len(told) < MOST, len(told)


def test_a_briefing_stays_short_whatever_there_is_to_tell(repo: Repository) -> None:
    repo.terminal("task", "add", "x" * 3_000, "--id", "much")
    ada = repo.agent("ada")
    ada.boot()
    ada.dibs("task", "claim", "much")
    ada.dibs("task", "note", "much", "y" * 3_000)
    for number in range(30):
        ada.edit(f"some/rather/long/folder/file-{number}.py", "x\n")
    text = brief(repo, "ada")
    assert len(text) <= MOST
    assert "30 files changed" in text
    assert "22 more" in text


def test_what_does_not_fit_is_left_out_line_by_line() -> None:
    assert baton.fitted(["a" * 900, "b" * 900, "c" * 900]) == "\n".join(["a" * 900, "b" * 900, "…"])


def test_whoever_has_nothing_has_a_briefing_that_says_so(repo: Repository) -> None:
    repo.agent("ada").boot()
    assert brief(repo, "ada") == "ada has no claim, task or uncommitted work here."
    assert repo.person.dibs("brief", "nobody")["error"]["code"] == "not_found"


# --- a task that is said to be done


def test_a_task_that_is_done_with_uncommitted_files_says_so(ada: Agent) -> None:
    answer = ada.dibs("task", "done", "parser")
    assert answer["ok"]
    assert answer["unfinished"] == ["a.py", "new.py"]


def test_where_the_config_refuses_that_the_task_stays_until_they_are_committed(ada: Agent, repo: Repository) -> None:
    repo.config('[tasks]\nunfinished = "refuse"\n')
    answer = ada.dibs("task", "done", "parser")
    assert answer["error"]["code"] == "conflict"
    assert answer["error"]["paths"] == ["a.py", "new.py"]
    assert "uncommitted work in a.py, new.py" in answer["error"]["message"]
    done, _ = ada.bash("git add a.py new.py && git commit -qm work")
    assert done.code == 0, done
    answer = ada.dibs("task", "done", "parser")
    assert answer["ok"]
    assert "unfinished" not in answer


def test_the_project_s_check_is_offered_where_a_task_was_not_verified(ada: Agent, repo: Repository) -> None:
    repo.config('[land]\ncheck = "make test"\n')
    assert ada.dibs("task", "done", "parser")["check"] == "make test"


# --- a job of twenty steps, whose agent is killed at some step


def work(agent: Agent, repo: Repository, task: str, *, dies_at: int, rng: random.Random) -> int:
    """A model that goes by the files: it continues after the last step that they show. The steps that it did."""
    done = 0
    while True:
        log = repo.folder / "steps.txt"
        lines = log.read_text().splitlines() if log.exists() else []
        if len(lines) == STEPS:
            assert agent.bash("git add -A && git commit -qm steps")[0].code == 0
            assert agent.dibs("task", "done", task)["ok"]
            return done
        agent.read("steps.txt")
        text = "\n".join([*lines, f"step {len(lines) + 1}"]) + "\n"
        call = f"{agent.session}-{len(lines)}"
        before = agent.may("Write", call, file_path=str(log), content=text)
        assert before.silent, before
        moment = rng.randrange(3) if done == dies_at else -1
        if moment == 0:  # before the tool wrote
            return done
        log.write_text(text)
        done += 1
        if moment == 1:  # before the hook after it
            return done
        agent.did("Write", call, file_path=str(log), content=text)
        if moment == 2:
            return done
        if rng.random() < 0.3:
            agent.dibs("task", "note", task, f"{len(lines) + 1} of {STEPS} are done")


@pytest.mark.parametrize("seed", [0, 1, *[pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 20)]])
def test_a_job_of_twenty_steps_is_finished_by_another_agent_whenever_the_first_is_killed(
    repo: Repository, seed: int
) -> None:
    rng = random.Random(seed)
    repo.terminal("task", "add", "write twenty steps, a line each, into steps.txt", "--id", "job")
    names, done, claimed = iter(range(100)), 0, False
    for dies_at in [rng.randrange(STEPS // 2), rng.randrange(STEPS // 4), STEPS]:
        client = repo.client(rng.choice(["claude", "codex"]))
        agent = repo.agent(f"agent-{next(names)}", client=client)
        told = agent.boot()
        if claimed:
            assert "job" in told, told
        else:
            assert agent.dibs("task", "claim", "job")["ok"]
        agent.prompt("do the job")
        done += work(agent, repo, "job", dies_at=dies_at, rng=rng)
        claimed = True
        if dies_at == STEPS:
            break
        agent.client.kill()
        answer: dict[str, Any] = repo.terminal("handover", agent.id, "--to", "NEXT", "--yes")
        assert answer["ok"], answer
    assert (repo.folder / "steps.txt").read_text() == "".join(f"step {number + 1}\n" for number in range(STEPS))
    assert done == STEPS, "no step twice, none lost"
    assert repo.git("status", "--porcelain", "steps.txt") == ""
    assert repo.person.dibs("task", "show", "job")["task"]["state"] == "complete"
