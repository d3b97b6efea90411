"""Documents and votes as people and programs meet them: the command line, Python, and the example."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.interfaces.python import update_loop
from dibs.machine import clock
from tests.scratch import Shell

TOP = Path(__file__).resolve().parents[3]


# --- state


def test_a_document_is_set_read_listed_and_deleted(shell: Shell) -> None:
    assert shell.json("state", "set", "stock", '{"n": -5}', "--as", "ann", exit=0) == {
        "ok": True, "key": "stock", "value": {"n": -5}, "version": 1,
    }  # fmt: skip
    found = shell.json("state", "get", "stock", exit=0)
    assert (found["value"], found["version"], found["by"]) == ({"n": -5}, 1, "ann")
    shell.json("state", "set", "stock", "-1", "--version", "1", "--as", "bob", exit=0)
    [document] = shell.json("state", "list", "st", exit=0)["documents"]
    assert (document["key"], document["version"], document["by"]) == ("stock", 2, "bob")
    assert shell.json("state", "list", "x", exit=0)["documents"] == []
    assert shell.json("state", "delete", "stock", "--version", "2", exit=0)["version"] == 3
    assert shell.json("state", "get", "stock", exit=1)["error"]["code"] == "not_found"
    assert shell.json("verify", exit=0)["ok"]


def test_people_get_words(shell: Shell) -> None:
    assert shell.run("state", "list").stdout == "no documents\n"
    assert shell.run("state", "set", "k", '["é"]', "--as", "ann").stdout == "k is now at version 1\n"
    said = shell.run("state", "get", "k")
    assert said.stdout == '["\\u00e9"]\n'  # the value alone, for `| jq`
    assert said.stderr.startswith("(version 1, ann ")
    assert shell.run("state", "list").stdout.splitlines()[1].split()[:3] == ["k", "1", "ann"]
    refused = shell.run("state", "set", "k", "1", "--as", "bob")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "k is at version 1, written by ann " in refused.stderr
    shell.run("state", "set", "l", "1")
    assert "--after k" in shell.run("state", "list", "--limit", "1").stdout
    assert shell.run("state", "delete", "k", "--version", "1").stdout == "deleted k (version 2)\n"


def test_null_false_and_a_file_are_values(shell: Shell) -> None:
    (shell.folder / "doc.json").write_text('{"from": "a file"}')
    for key, text, value in (("n", "null", None), ("f", "false", False), ("d", "@doc.json", {"from": "a file"})):
        assert shell.json("state", "set", key, text, exit=0)["value"] == value
        assert shell.json("state", "get", key, exit=0)["value"] == value


def test_a_conflict_is_an_error_with_fields(shell: Shell) -> None:
    shell.json("state", "set", "k", "1", "--as", "ann", exit=0)
    for words in ((), ("--version", "0"), ("--version", "7")):
        error = shell.json("state", "set", "k", "2", *words, "--as", "bob", exit=1)["error"]
        assert (error["code"], error["key"], error["version"], error["by"]) == ("conflict", "k", 1, "ann")


def test_a_claim_by_hand_keeps_others_from_writing_and_its_token_writes(shell: Shell) -> None:
    shell.json("state", "set", "k", "1", "--as", "bob", exit=0)
    token = str(shell.json("claim", "state:k", "--as", "ann", exit=0)["token"])
    error = shell.json("state", "set", "k", "2", "--version", "1", "--as", "bob", exit=1)["error"]
    assert (error["code"], error["blockers"][0]["agent"]) == ("held", "ann")
    assert shell.json("state", "set", "k", "2", "--token", token, "--as", "ann", exit=0)["version"] == 2
    shell.json("release", "state:k", "--as", "ann", exit=0)
    error = shell.json("state", "set", "k", "3", "--token", token, "--as", "ann", exit=1)["error"]
    assert (error["code"], error["resource"], error["given"]) == ("fenced", "state:k", int(token))


def test_a_request_id_makes_a_retry_harmless(shell: Shell) -> None:
    words = ("state", "set", "k", "1", "--version", "0", "--request-id", "r1")
    assert shell.json(*words, exit=0) == shell.json(*words, exit=0)


@pytest.mark.parametrize(
    "words",
    [
        ("set", "k"),
        ("set", "k", "{"),
        ("set", "k", "word"),
        ("set", "k", "NaN"),
        ("set", "k", "1", "2"),
        ("set", "a b", "1"),
        ("set", "k", "1", "--version", "-1"),
        ("set", "k", "1", "--version", "x"),
        ("set", "k", "@missing.json"),
        ("set", "k", '{"a": 1, "a": 2}'),
        ("get",),
        ("get", "x" * 201),
        ("list", "--limit", "0"),
        ("delete",),
    ],
)
def test_what_makes_no_sense_is_refused_with_64(shell: Shell, words: tuple[str, ...]) -> None:
    assert shell.json("state", *words, exit=64)["error"]["code"] == "invalid"
    assert shell.json("state", "list", exit=0)["documents"] == []


# --- update


def test_update_starts_from_the_default_and_gives_the_answer_of_its_write(shell: Shell) -> None:
    default: dict[str, Any] = {"seen": []}
    with dibs.open(str(shell.folder), agent="ann") as ws:

        def add(value: dict[str, Any]) -> dict[str, Any]:
            value["seen"].append("ann")
            return value

        assert ws.update("doc", add, default)["value"] == {"seen": ["ann"]}
        assert ws.update("doc", add, default) == {"key": "doc", "value": {"seen": ["ann", "ann"]}, "version": 2}
        assert default == {"seen": []}


def test_update_reads_again_after_a_conflict(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ann, dibs.open(str(shell.folder), agent="bob") as bob:
        ann.state_set("n", 10)
        read = []

        def change(value: int) -> int:
            read.append(value)
            if len(read) == 1:  # somebody else is faster
                bob.state_set("n", 20, version=1)
            return value + 1

        assert ann.update("n", change)["value"] == 21
        assert read == [10, 20]


def test_update_gives_up_after_its_attempts_with_the_conflict(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(clock, "sleep", pauses.append)
    with dibs.open(str(shell.folder), agent="ann") as ann, dibs.open(str(shell.folder), agent="bob") as bob:
        calls = []

        def change(value: int) -> int:
            bob.update("n", lambda other: other + 1, 0)
            calls.append(value)
            return value

        with pytest.raises(dibs.Conflict) as error:
            ann.update("n", change, 0, attempts=3)
        assert (error.value.by, error.value.version, calls) == ("bob", 3, [0, 1, 2])
        assert len(pauses) == 2
        assert all(0 <= pause <= update_loop.LONGEST for pause in pauses)
        with pytest.raises(dibs.Invalid):
            ann.update("n", change, 0, attempts=0)


def test_update_of_a_deleted_document_makes_it_anew(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ws:
        ws.state_set("n", 1)
        ws.state_delete("n", version=1)
        assert ws.update("n", lambda value: value + 1, 5) == {"key": "n", "value": 6, "version": 3}


def test_a_function_that_forgets_to_return_wipes_nothing(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ws:
        ws.state_set("doc", {"a": 1})
        with pytest.raises(dibs.Invalid):
            ws.update("doc", lambda value: value.update(a=2))
        assert ws.state_get("doc")["value"] == {"a": 1}
        assert ws.state_set("doc", None, version=1)["value"] is None
        with pytest.raises(dibs.Invalid):
            ws.update("doc", lambda _: {1, 2})
        with pytest.raises(dibs.Invalid):
            ws.update("doc", lambda value: value, {1, 2})


def test_update_does_not_wait_for_somebody_elses_claim(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ann, dibs.open(str(shell.folder), agent="bob") as bob:
        with bob.claim("state:n"), pytest.raises(dibs.Held):
            ann.update("n", lambda value: value + 1, 0)
        assert ann.update("n", lambda value: value + 1, 0)["value"] == 1


def test_threads_that_update_at_once_lose_nothing(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ws:

        def work() -> None:
            for _ in range(10):
                ws.update("n", lambda value: value + 1, 0)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert ws.state_get("n")["value"] == 40


def test_the_story_of_the_lost_update_ends_well() -> None:
    """Five in stock, one sells 3, one takes 1 away: 1 is left, never 4 or 2."""
    done = subprocess.run(
        [sys.executable, str(TOP / "examples" / "stock.py")], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "Both read 5 (version 1)."
    assert "Refused: stock is at version 2, written by till " in lines[2]
    assert lines[3] == "It reads 2 and writes 1: version 3."
    assert lines[4].endswith("at the same moment: [1].")
    assert lines[5] == "Nothing was lost: 5 - 3 - 1 = 1."


# --- votes


def test_a_vote_from_its_opening_to_its_outcome(shell: Shell) -> None:
    words = ("vote", "open", "Adopt tabs?", "--electorate", "ann,bob,cid", "--options", "tabs,blanks", "--key", "k")
    vote = shell.json(*words, "--as", "boss", exit=0)["vote"]
    assert shell.json(*words, "--as", "boss", exit=0)["vote"]["id"] == vote["id"]
    [asked] = shell.json("inbox", "--as", "ann", exit=0)["messages"]
    assert (asked["from"], asked["type"], asked["vote"]) == ("boss", "vote", vote["id"])
    assert shell.json("vote", "cast", vote["id"], "tabs", "--as", "ann", exit=0)["option"] == "tabs"
    for agent, option, code, number in (
        ("boss", "tabs", "forbidden", 1), ("ann", "blanks", "conflict", 1), ("bob", "both", "invalid", 64),
    ):  # fmt: skip
        error = shell.json("vote", "cast", vote["id"], option, "--as", agent, exit=number)["error"]
        assert error["code"] == code
    assert shell.json("vote", "show", vote["id"], exit=0)["vote"]["missing"] == ["bob", "cid"]
    assert shell.json("vote", "cast", vote["id"], "tabs", "--as", "cid", exit=0)["vote"]["state"] == "decided"
    error = shell.json("vote", "cast", vote["id"], "blanks", "--as", "bob", exit=1)["error"]
    assert (error["code"], error["state"], error["option"]) == ("conflict", "decided", "tabs")
    assert shell.json("vote", "list", "--open", exit=0)["votes"] == []
    [listed] = shell.json("vote", "list", exit=0)["votes"]
    assert (listed["state"], listed["option"], listed["tally"]) == ("decided", "tabs", {"tabs": 2, "blanks": 0})
    told = shell.json("inbox", "--as", "boss", exit=0)["messages"]
    assert [message["outcome"] for message in told] == ["decided"]
    assert shell.json("verify", exit=0)["ok"]


def test_people_get_words_about_votes(shell: Shell) -> None:
    assert shell.run("vote", "list").stdout == "no votes\n"
    said = shell.run(
        "vote", "open", "Adopt tabs?", "--electorate", "ann,bob", "--id", "tabs", "--deadline", "1h"
    ).stdout
    assert said.startswith("vote tabs is open for 1h; 2 may vote: ann, bob")
    assert shell.run("vote", "cast", "tabs", "yes", "--as", "ann").stdout.startswith(
        "your ballot is yes; vote tabs is open"
    )
    said = shell.run("vote", "show", "tabs").stdout
    assert "yes 1, no 0" in said
    assert "not voted: bob" in said
    assert "decided: yes" in shell.run("vote", "cast", "tabs", "yes", "--as", "bob").stdout
    assert shell.run("vote", "list").stdout.splitlines()[1].startswith("tabs  decided: yes")
    assert shell.run("vote", "show", "none").returncode == 1
    again = shell.run("vote", "open", "Again?", "--electorate", "ann", "--id", "tabs")
    assert (again.returncode, "decided" in again.stderr) == (1, True)


def test_python_votes_too(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ann:
        vote = ann.vote_open("Adopt tabs?", electorate=["ann"], deadline=60)["vote"]
        assert ann.vote_cast(vote["id"], "yes")["vote"]["option"] == "yes"
        assert ann.vote_show(vote["id"])["vote"]["state"] == "decided"
        assert len(ann.vote_list()["votes"]) == 1
