"""Giving tasks to agents, and bidding for them, as people and agents type it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import dibs
from dibs.errors import Conflict, Forbidden
from tests.waiting import until

if TYPE_CHECKING:
    from tests.scratch import Shell


def test_an_assigned_task_reaches_its_agent_with_a_message(shell: Shell) -> None:
    shell.json("boot", "--can", "py", "--as", "ann", exit=0)
    shell.json("task", "add", "write the parser", "--id", "parser", "--needs", "py", "--as", "boss", exit=0)
    said = shell.run("task", "assign", "parser", "--as", "boss")
    assert (said.returncode, said.stdout.startswith("parser waits for ann to pick it up, for 2m")) == (0, True), said
    assert "(for ann)" in shell.run("task", "list").stdout
    message = shell.json("inbox", "--as", "ann", exit=0)["messages"][0]
    assert (message["type"], message["payload"]["task"]) == ("task_assignment", "parser")
    assert shell.json("task", "next", "--as", "ann", exit=0)["task"]["id"] == "parser"
    refused = shell.json("task", "assign", "parser", "--to", "ann", "--as", "boss", exit=1)["error"]
    assert (refused["code"], refused["state"]) == ("conflict", "executing")
    assert shell.json("verify", exit=0)["ok"]


def test_nobody_who_fits_is_a_yes_that_says_so(shell: Shell) -> None:
    shell.json("task", "add", "x", "--id", "x", "--as", "boss", exit=0)
    answer = shell.json("task", "assign", "x", "--as", "boss", exit=0)
    assert (answer["agent"], answer["queued"]) == (None, True)
    assert "stays in the queue" in shell.run("task", "assign", "x", "--as", "boss").stdout
    assert shell.json("task", "assign", "x", "--to", "nobody", "--as", "boss", exit=1)["error"]["code"] == "not_found"
    assert (
        shell.json("task", "assign", "x", "--strategy", "luck", "--as", "boss", exit=64)["error"]["code"] == "invalid"
    )


def test_the_highest_bidder_has_it_when_the_window_is_over(shell: Shell) -> None:
    shell.json("task", "add", "x", "--id", "x", "--strategy", "auction", "--bid-window", "3s", "--as", "boss", exit=0)
    assert shell.json("task", "bid", "x", "5", "--as", "ann", exit=0)["bids"] == 1
    said = shell.run("task", "bid", "x", "7", "--as", "bob").stdout
    assert said.startswith("bid 7 for x, one of 2; decided in ")
    assert shell.json("task", "bid", "x", "-1", "--as", "ann", exit=64)["error"]["field"] == "amount"
    assert shell.json("task", "bid", "nothing", "1", "--as", "ann", exit=1)["error"]["code"] == "not_found"
    with dibs.open(str(shell.folder), agent="bob") as bob:

        def is_decided() -> bool:
            bob.sweep()
            return "bids_until" not in bob.task_show("x")["task"]

        until(is_decided, "the end of the auction")
        assert bob.task_show("x")["task"]["assigned"]["agent"] == "bob"
        with pytest.raises(Conflict):
            bob.task_bid("x", 9)
        assert bob.task_next()["task"]["id"] == "x"


def test_the_same_from_python(shell: Shell) -> None:
    shell.json("boot", "--as", "ann", exit=0)
    with dibs.open(str(shell.folder), agent="boss") as boss:
        boss.task_add("x", id="x", needs=["py"])
        with pytest.raises(Forbidden) as refused:
            boss.task_assign("x", to="ann")
        assert refused.value.needs == ["py"]
        boss.task_add("y", id="y")
        assert boss.task_assign("y", strategy="round_robin")["agent"] == "ann"
        shown = {agent["agent"]: agent["breaker"] for agent in boss.agents()["agents"]}
        assert shown["ann"] == "closed"


def test_an_auction_that_is_opened_by_hand_says_how_to_bid(shell: Shell) -> None:
    shell.json("task", "add", "x", "--id", "x", "--as", "boss", exit=0)
    said = shell.run("task", "assign", "x", "--strategy", "auction", "--as", "boss").stdout
    assert "dibs task bid x AMOUNT" in said
