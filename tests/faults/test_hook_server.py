"""A server that dies or stands still while hooks ask it: each is answered by the store, and nothing is done twice."""

from __future__ import annotations

import json
import signal
import time
from typing import TYPE_CHECKING

import pytest

from dibs.server.hook_port import bash_script
from tests.faults.kit import SOON, size
from tests.interfaces.repository import HOOK, Repository
from tests.server.hook_server import Server, through
from tests.waiting import until

if TYPE_CHECKING:
    from tests.interfaces.repository import Answer, Client

pytestmark = pytest.mark.slow

# Seconds after which a silent server is given up; by a bash before 4 in the second. Only the torture has the machine to
# itself and takes the true ones: elsewhere a server that is well may take longer to answer.
MUTE_S, MUTE_OLD_S = size(30, 5) / 10, size(30, 10) / 10
BUSY_S = size(60, 1)


def edit(repo: Repository, client: Client, name: str = "a.py", session: str = "ben") -> Answer:
    given = {"file_path": f"{repo.folder}/{name}", "old_string": "a", "new_string": "b"}
    payload = {"session_id": session, "cwd": str(repo.folder), "hook_event_name": "PreToolUse", "tool_name": "Edit",
               "tool_input": given, "tool_use_id": "toolu_1"}  # fmt: skip
    return through(client, repo.folder, "claude", given=json.dumps(payload).encode() + b"\n")


def granted(repo: Repository) -> list[list[str]]:
    return [[resource[1] for resource in event["data"]["resources"]] for event in repo.events("claim.granted")]


def calls(repo: Repository) -> set[tuple[str, ...]]:
    """The calls in the ledger, by what names them."""
    rows = [line.split("\t") for line in repo.ledger.read_text().splitlines()]
    return {(row[2], row[3], row[4]) for row in rows if row[0] == "O"}


def test_a_server_that_is_gone_costs_one_hook_a_look_and_the_next_ones_nothing(repo: Repository) -> None:
    server = Server(repo.folder)
    server.kill()
    assert server.script.exists()
    ben = repo.client()
    assert edit(repo, ben).silent
    assert not server.script.exists()
    assert edit(repo, ben, "b.py").silent
    assert repo.claims() == {"ben": ["a.py", "b.py"]}


@pytest.mark.parametrize("when", ["kill-before", "kill-after"])
def test_a_server_killed_around_its_decision_leaves_one_claim_and_one_call(when: str, repo: Repository) -> None:
    server = Server(repo.folder, when)
    ben = repo.client()
    assert edit(repo, ben).silent
    server.kill()
    assert repo.claims() == {"ben": ["a.py"]}
    assert granted(repo) == [["a.py"]]
    assert calls(repo) == {("ben toolu_1", "ben", "closed")}
    assert repo.terminal("verify")["ok"] is True


def test_a_refusal_whose_answer_was_lost_is_a_refusal_again(repo: Repository) -> None:
    repo.agent("holder").edit("a.py", "the holder's\n")
    server = Server(repo.folder, "kill-after")
    assert "holder holds a.py" in edit(repo, repo.client()).refusal
    server.kill()


@pytest.mark.parametrize(("words", "limit"), [([], MUTE_S), (["old-bash"], MUTE_OLD_S)])
def test_a_stopped_server_is_given_up_in_time_and_comes_back_when_it_goes_on(
    words: list[str], limit: float, repo: Repository
) -> None:
    server = Server(repo.folder, f"limit={limit}", *words)
    ben = repo.client()
    assert edit(repo, ben, "b.py").silent
    direct = min(ben.run(*HOOK, "claude", cwd=repo.folder, given=b"{").took for _ in range(3))
    server.signal(signal.SIGSTOP)
    answer = edit(repo, ben)
    assert answer.silent
    assert answer.took < limit + 0.2 + 3 * direct + BUSY_S
    assert not server.script.exists()  # so the next one does not wait
    assert edit(repo, ben, "c.py").silent
    server.signal(signal.SIGCONT)
    until(server.script.exists)
    assert edit(repo, ben, "d.py").silent
    server.end()
    assert (server.decided, server.declined) == (2, 0)
    assert repo.claims() == {"ben": ["a.py", "b.py", "c.py", "d.py"]}


def test_a_server_that_goes_on_decides_nothing_for_a_hook_that_has_gone(repo: Repository) -> None:
    server = Server(repo.folder, "stop-at", "limit=0.5")
    ben = repo.client()
    assert edit(repo, ben).silent
    until(server.is_stopped)
    ben.kill()
    server.signal(signal.SIGCONT)
    until(server.script.exists)
    server.end()
    assert (server.decided, server.declined) == (0, 0)
    assert granted(repo) == [["a.py"]]


def test_an_empty_or_senseless_script_lets_nothing_pass(repo: Repository) -> None:
    repo.agent("holder").edit("a.py", "the holder's\n")
    script, ben = repo.local / bash_script.NAME, repo.client()
    for text in (
        "",
        "exit 0\n",
        "exec cat >/dev/null\n",
        "read -r line\nexit 0\n",
        "}{\n",
        "kill -9 $$\n",
        "exit 101\n",
    ):
        script.write_text(text)
        answer = edit(repo, ben)
        assert answer.code == 2, text
    script.chmod(0)
    assert edit(repo, ben).code == 2


def test_an_interpreter_that_fails_after_the_server_did_is_no_yes(repo: Repository) -> None:
    server = Server(repo.folder, "kill-before")
    run = repo.local / "run"
    broken = repo.scratch / "python"
    broken.write_text("#!/bin/sh\ncat >/dev/null\nexit 1\n")
    broken.chmod(0o755)
    lines = [line if not line.startswith("python=") else f"python='{broken}'" for line in run.read_text().splitlines()]
    run.write_text("\n".join(lines) + "\n")
    answer = edit(repo, repo.client())
    server.kill()
    assert answer.code == 2
    assert answer.err.strip().endswith("no answer")


def test_a_server_answers_a_hook_from_the_database_that_replaced_its_own(repo: Repository) -> None:
    server = Server(repo.folder)
    ben = repo.client()
    assert edit(repo, ben).silent
    path = repo.local / "dibs.db"
    data = path.read_bytes()
    for name in ("dibs.db-wal", "dibs.db-shm"):
        (repo.local / name).unlink(missing_ok=True)
    path.rename(repo.local / "old.db")
    path.write_bytes(data)
    first = edit(repo, ben, "b.py")
    again = edit(repo, ben, "b.py")
    server.end()
    assert server.declined == 0, "it decides in the new one, as a process of its own would"
    assert (first.code, first.out) == (again.code, again.out)


def test_kill_9_under_hooks_that_keep_coming_loses_nothing_that_was_answered(repo: Repository) -> None:
    ben = repo.client()
    held = []
    for number in range(12):
        server = Server(repo.folder, *(["kill-after"] if number % 3 == 2 else []))
        for part in range(2):
            name = f"n{number}_{part}.py"
            began = time.monotonic()
            assert edit(repo, ben, name).silent
            assert time.monotonic() - began < SOON
            held.append(name)
        server.kill()
    assert repo.claims() == {"ben": sorted(held)}
    assert sorted(one[0] for one in granted(repo)) == sorted(held)
    assert repo.terminal("verify")["ok"] is True
