"""Who is who at the command line: names, whose shell it is, and what a wait and a commit do to a claim."""

from __future__ import annotations

import shlex
import subprocess
import time
from typing import TYPE_CHECKING, Any

from tests.scratch import DIBS, Shell
from tests.waiting import LIMIT_S

if TYPE_CHECKING:
    from tests.interfaces.repository import Repository

ADA = "d775fd74-bb09-45c2-8395-dc2308a6ed45"
CY = "5d0e2c11-3c0b-4d5e-9f10-1234567890ab"
BOB = "895f6e8c-57a4-47e9-8064-e40b8b35865b"


def test_a_session_goes_by_a_name_that_can_be_said(repo: Repository) -> None:
    ada, bob = repo.agent(ADA), repo.agent(BOB)
    name = ada.dibs("whoami")["name"]
    assert name.startswith("claude-")
    assert not any(agent["agent"] == ADA for agent in repo.terminal("agents")["agents"])
    ada.boot()
    assert (ada.dibs("whoami")["name"], ada.dibs("whoami")["known"]) == (name, True)
    ada.edit("a.py", "ada's\n")
    refusal = bob.may_edit("a.py").refusal
    wait = "Wait: `.dibs/dibs claim a.py"
    assert refusal.startswith(f"dibs: {name} holds a.py (29 min left; ends with its commit). {wait}")
    assert ADA not in refusal
    sent = bob.dibs("send", name, "hello")
    assert (sent["to"], sent["to_name"]) == ([ADA], [name])


def ids_without_a_name(answer: Any, above: str = "") -> list[str]:
    """The fields of an answer that have an agent's id, and no name next to it."""
    if isinstance(answer, list):
        return [place for one in answer for place in ids_without_a_name(one, above)]
    if not isinstance(answer, dict):
        return []
    found = []
    for field, value in answer.items():
        said = value if isinstance(value, list) else [value]
        called = "name" if field == "agent" else f"{field}_name"
        if any(agent in (ADA, BOB) for agent in said if isinstance(agent, str)):
            is_named = called in answer or field == "missing" or (field == "subject" and value == answer["agent"])
            found += [] if is_named else [f"{above}.{field}"]
        elif field != "data":
            found += ids_without_a_name(value, f"{above}.{field}")
    return found


def test_every_answer_that_names_an_agent_has_its_name_and_people_read_only_that(shell: Shell) -> None:
    for line in (
        f"task add t --id T --as {ADA}", f"task claim T --as {BOB}", f"task note T half --as {BOB}", "task show T",
        "task list", f"state set k 1 --as {ADA}", "state get k", "state list", f"state set k 2 --as {BOB}",
        f"vote open v --electorate {ADA},{BOB} --id V --as {ADA}", f"vote cast V yes --as {BOB}", "vote show V",
        f"run start r --id R --as {ADA}", f"run error boom --as {BOB}", "run show", "run progress", "run list",
        "run report", f"run end --as {ADA}", f"claim a.py --as {ADA}", f"ask a.py please --as {BOB}",
        f"kill {ADA} --why slow", "explain a.py", f"token new --agent {ADA}", "token list", "log",
    ):  # fmt: skip
        words = line.split()
        assert ids_without_a_name(shell.json(*words)) == [], line
        if words[0] in {"log", "explain"} or words[1] in {"show", "list", "get", "report", "progress"}:
            told = shell.run(*words).stdout
            assert ADA not in told
            assert BOB not in told
    told = shell.run("state", "set", "k", "2", "--as", BOB).stderr
    assert "written by agent-" in told


READ = (
    "", "status", "agents", "log", "alerts", "check", "map", "stats", "inbox", "restore", "radar", "landings",
    "top --once", "explain a.py", "explain b.py", "log a.py",
)  # fmt: skip


def test_no_text_for_people_has_a_session_s_id_and_what_it_names_is_accepted_as_typed(repo: Repository) -> None:
    ada, bob = repo.agent(ADA), repo.agent(BOB, client=repo.client())
    name, other = ada.boot() and ada.dibs("whoami")["name"], bob.boot() and bob.dibs("whoami")["name"]
    ada.edit("a.py", "ada's\n")
    bob.edit("b.py", "bob's\n")
    assert bob.may_edit("a.py").refusal
    repo.write("gen.py", "open('a' + '.py', 'w').write('mess')\n")
    bob.bash("python3 gen.py")  # a violation
    ada.dibs("send", other, "hello")
    tree = repo.worktree("side")
    side = repo.agent(CY, client=repo.client(), cwd=tree)
    side.boot()
    side.edit("b.py", "cy's\n")
    side.client.kill()  # an agent that exits without a word
    shell = Shell(repo.folder)
    shell.run("sweep")
    told = {line: shell.run(*line.split()) for line in READ}
    for word in (name, other):
        for line in (f"explain {word}", f"log --agent {word}", f"undo {word} --dry-run", f"stats --agent {word}"):
            told[line] = shell.run(*line.split())
    for line, done in told.items():
        for session in (ADA, BOB, CY):
            assert session[:8] not in done.stdout + done.stderr, (line, done.stdout, done.stderr)
    assert f"agent {name}, 1 file changed by {name}" in told[f"undo {name} --dry-run"].stdout
    for line in told["alerts"].stdout.splitlines():
        for command in line.split("`")[1::2]:
            done = shell.run(*shlex.split(command)[1:])
            assert done.returncode in {0, 1}, (command, done.stderr)
            assert "is known here" not in done.stderr, command


def test_an_agents_shell_speaks_for_itself_alone(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.boot()
    bob.boot()
    ada.edit("a.py", "ada's\n")
    for words in (
        ("release", "a.py", "--as", "ada"), ("release", "--all", "--as", "ada"), ("leave", "--as", "ada"),
        ("kill", "ada", "--why", "slow"), ("revive", "ada"), ("store", "move", "sqlite:"),
    ):  # fmt: skip
        refused = bob.dibs(*words)
        assert refused["error"]["code"] == "forbidden", words
    done = bob.client.run(DIBS, "release", "a.py", "--json", cwd=bob.cwd, DIBS_AGENT="ada")
    assert (done.code, '"forbidden"' in done.out) == (1, True)
    assert repo.claims() == {"ada": ["a.py"]}
    assert repo.terminal("release", "a.py", "--as", "ada")["released"] == ["a.py"]


def test_the_name_that_a_client_was_started_with_is_its_own(repo: Repository) -> None:
    lead = repo.client()
    lead.env = {**lead.env, "DIBS_AGENT": "lead"}
    done = lead.run(DIBS, "claim", "a.py", "--json", cwd=repo.folder, DIBS_AGENT="lead", CLAUDE_CODE_SESSION_ID=ADA)
    assert done.code == 1, "nobody knows that client as lead"
    ada = repo.agent(ADA, client=lead)
    ada.boot()  # its hooks have that variable, too
    done = lead.run(DIBS, "claim", "a.py", "--json", cwd=repo.folder, DIBS_AGENT="lead", CLAUDE_CODE_SESSION_ID=ADA)
    assert done.code == 0, done


def test_the_advised_wait_takes_a_claim_that_ends_with_the_commit(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.edit("a.py", "ada's\n")
    assert "dibs claim a.py --wait 60s" in bob.may_edit("a.py").refusal
    repo.terminal("release", "a.py", "--as", "ada")
    claimed = bob.dibs("claim", "a.py", "--wait", "60s")
    assert claimed["ends"] == "commit"
    bob.read("a.py")
    bob.edit("a.py", "bob's\n")
    bob.bash("git add a.py && git commit -q -m bob a.py")
    assert repo.claims() == {}


def test_who_waits_is_told_once_and_again_when_it_changes(shell: Shell) -> None:
    shell.json("claim", "x.py", "--as", "ann", exit=0)
    waiting = subprocess.Popen(
        [DIBS, "claim", "x.py", "--as", "bob", "--wait", "3s"], cwd=shell.folder, env=shell.environment, text=True,
        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    said = waiting.communicate(timeout=LIMIT_S)[1].splitlines()
    assert [line for line in said if "waiting:" in line] == ["dibs: waiting: ann holds x.py (29 min left)"]


def test_a_time_of_the_store_is_the_same_at_every_look(shell: Shell) -> None:
    shell.json("claim", "x.py", "--as", "ann", exit=0)
    seen = set()
    for _ in range(12):
        seen.add(shell.json("claim", "x.py", "--as", "bob", exit=1)["error"]["blockers"][0]["since"])
        time.sleep(0.003)
    assert len(seen) == 1, seen


def test_a_stand_in_that_is_gone_is_not_killed_again_by_its_number(repo: Repository) -> None:
    client = repo.client()
    client.kill()
    innocent = subprocess.Popen(["sleep", "60"])
    client.pid = innocent.pid  # as if the number had been given away
    client.kill()
    assert innocent.poll() is None
    innocent.kill()
    innocent.wait()
