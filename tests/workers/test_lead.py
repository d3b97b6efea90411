"""`dibs lead` as real processes: one leader at a time, and the next one when it is gone, silent or told to stop."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.worker_processes import Place, Running, alive, number_in, place
from tests.waiting import in_time, until

__all__ = ["place"]  # a fixture


def candidate(place: Place, name: str, *words: str, command: str = "") -> Running:
    """One who wants to lead: what it runs writes its pid to NAME.pid."""
    run = command or f"echo $$ > {name}.pid; exec sleep 600"
    return place.start("lead", "--as", name, *words, "--", "sh", "-c", run)


def leads(place: Place, name: str) -> int:
    """Wait until a candidate's command runs; its pid."""
    found: int = until(lambda: number_in(place.folder / f"{name}.pid"), f"{name} leading")
    return found


def waits(running: Running, leader: str) -> None:
    until(lambda: any(f"{leader} leads" in line for line in running.errors), f"waiting for {leader}")


def holder(place: Place, name: str = "orchestrator") -> str:
    claims: list[dict[str, Any]] = place.json("status", f"role:{name}", exit=0)["claims"]
    return str(claims[0]["agent"]) if claims else ""


def test_the_command_runs_under_the_claim_and_its_exit_code_is_the_answer(place: Place) -> None:
    command = "dibs confirm role:orchestrator --token $DIBS_LEADER_TOKEN >&2 && echo $DIBS_AGENT && exit 7"
    done = place.run("lead", "--as", "ann", "--", "sh", "-c", command)
    assert (done.returncode, done.stdout) == (7, "ann\n")
    assert "live: ann" in done.stderr
    assert holder(place) == ""
    place.clean()


def test_json_tells_who_led_under_which_token_and_how_it_ended(place: Place) -> None:
    done = place.run("lead", "--name", "builds", "--as", "ann", "--json", "--", "sh", "-c", "echo $DIBS_LEADER_TOKEN")
    token, told = done.stdout.splitlines()
    assert json.loads(told) == {"ok": True, "name": "builds", "agent": "ann", "token": int(token), "exit": 0}


def test_the_second_candidate_waits_and_leads_when_the_first_ends(place: Place) -> None:
    first = candidate(place, "ann", command="echo $$ > ann.pid; read x < go")
    os.mkfifo(place.folder / "go")
    leads(place, "ann")
    second = candidate(place, "bob", command="echo ok")
    waits(second, "ann")
    assert holder(place) == "ann"
    (place.folder / "go").write_text("\n")
    assert (first.end(), second.end()) == (0, 0)
    assert second.out == ["ok\n"]
    place.clean()


def test_when_the_leader_is_killed_its_command_dies_and_the_next_one_leads(place: Place) -> None:
    first = candidate(place, "ann", "--ttl", "10m")
    pid = leads(place, "ann")
    second = candidate(place, "bob")
    waits(second, "ann")
    os.kill(first.pid, signal.SIGKILL)
    leads(place, "bob")  # long before the deadline
    until(lambda: not alive(pid), "the end of the first command")
    assert holder(place) == "bob"
    place.clean()


@pytest.mark.slow
def test_a_stopped_leader_is_replaced_at_its_deadline_and_refused_when_it_comes_back(place: Place) -> None:
    first = candidate(place, "ann", "--ttl", "4s")
    pid = leads(place, "ann")
    second = candidate(place, "bob")
    waits(second, "ann")
    first.signal(signal.SIGSTOP)
    leads(place, "bob")
    until(lambda: not alive(pid), "the keeper ending the first command while its leader stands still")
    first.signal(signal.SIGCONT)
    assert first.end() == 1
    assert any("no longer live" in line for line in first.errors), first.errors
    assert holder(place) == "bob"
    assert second.process.poll() is None
    place.clean()


def test_a_leader_whose_agent_is_killed_has_its_command_ended(place: Place) -> None:
    first = candidate(place, "ann")
    pid = leads(place, "ann")
    place.json("kill", "ann", "--why", "enough", "--as", "boss", exit=0)
    assert first.end() == 1
    assert not alive(pid)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_command_and_gives_the_claim_back(place: Place, number: int, code: int) -> None:
    first = candidate(place, "ann")
    pid = leads(place, "ann")
    first.signal(number)
    assert first.end() == code
    assert not alive(pid)
    assert holder(place) == ""


def test_a_signal_while_it_waits_leaves_the_line(place: Place) -> None:
    candidate(place, "ann")
    leads(place, "ann")
    second = candidate(place, "bob")
    waits(second, "ann")
    second.signal(signal.SIGTERM)
    assert second.end() == 143
    assert place.json("status", exit=0)["waiting"] == []
    assert not (place.folder / "bob.pid").exists()


def test_who_does_not_become_the_leader_in_time_is_refused(place: Place) -> None:
    candidate(place, "ann")
    leads(place, "ann")
    for wait in ("0s", "200ms"):
        done = place.run("lead", "--as", "bob", "--wait", wait, "--json", "--", "touch", "ran")
        assert done.returncode == 1
        assert json.loads(done.stdout)["error"]["code"] == "held"
    assert not (place.folder / "ran").exists()


def test_two_roles_have_two_leaders(place: Place) -> None:
    candidate(place, "ann")
    leads(place, "ann")
    assert place.run("lead", "--name", "builds", "--as", "bob", "--", "true").returncode == 0


def test_the_claim_is_kept_for_as_long_as_the_command_takes(place: Place) -> None:
    def play(ttl: float) -> None:
        ann, bob = f"ann{ttl}", f"bob{ttl}"
        first = candidate(place, ann, "--ttl", f"{ttl}s")
        leads(place, ann)
        second = candidate(place, bob)
        try:
            waits(second, ann)
            renewals = ("log", "--kind", "claim.renewed", "--agent", ann)  # each after a quarter of the claim's life
            until(lambda: first.process.poll() is not None or len(place.json(*renewals, exit=0)["events"]) >= 6)
            assert first.process.poll() is None
            assert holder(place) == ann
            assert not (place.folder / f"{bob}.pid").exists()
        finally:
            for one in (second, first):
                one.signal(signal.SIGTERM)
                one.end()

    in_time(play, life=1.0)


def test_a_store_that_is_gone_ends_the_command_when_the_claim_is_over_and_not_before(place: Place) -> None:
    first = candidate(place, "ann", "--ttl", "3s")
    pid = leads(place, "ann")
    local = place.folder / ".dibs" / "local"
    moved = Path(f"{local}-away")
    local.rename(moved)
    assert alive(pid)
    until(lambda: not alive(pid), "the end at the deadline")
    assert first.end() in {1, 2}
    moved.rename(local)
    place.clean()


def test_a_leader_without_a_name_has_one_of_its_own(place: Place) -> None:
    done = place.run("lead", "--", "sh", "-c", "echo $DIBS_AGENT")
    assert done.stdout.startswith("lead-")


@pytest.mark.parametrize(
    "words", [(), ("--ttl", "soon", "--", "true"), ("--wait", "x", "--", "true"), ("--ttl", "99d", "--", "true")]
)
def test_words_that_make_no_sense_start_nothing(place: Place, words: tuple[str, ...]) -> None:
    done = place.run("lead", *words)
    assert done.returncode == 64, done.stderr
    assert holder(place) == ""


def test_a_command_that_is_not_there_ends_like_in_a_shell(place: Place) -> None:
    done = place.run("lead", "--as", "ann", "--", "no-such-command-here")
    assert done.returncode == 127
    assert done.stderr.splitlines()[-1].startswith("dibs: ")
    assert "no-such-command-here: not found" in done.stderr


def test_death_of_the_command_by_a_signal_is_told_like_in_a_shell(place: Place) -> None:
    assert place.run("lead", "--as", "ann", "--", "sh", "-c", "kill -TERM $$").returncode == 143
