"""Two processes under one agent id: one incarnation acts, the other is fenced."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from dibs.errors import DibsError, Fenced
from tests.faults.kit import World, size

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow


@pytest.fixture
def clients() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Two client processes that do nothing but live."""
    made = [subprocess.Popen(["/bin/sleep", "600"]) for _ in range(2)]
    yield made
    for process in made:
        process.kill()
        process.wait()


def test_of_two_boots_of_one_agent_at_once_one_incarnation_acts(world: World) -> None:
    world.actor("twin").kill()  # the agent is known
    for round_ in range(size(8, 200)):
        pair = [world.blank(), world.blank()]
        for actor in pair:
            actor.send("open", folder=str(world.folder), agent="twin", timeout=30)
        incarnations = [actor.receive()["incarnation"] for actor in pair]
        assert abs(incarnations[0] - incarnations[1]) == 1, incarnations
        current = pair[incarnations.index(max(incarnations))]
        fenced = pair[incarnations.index(min(incarnations))]
        for actor in pair:
            actor.start("claim", f"f{round_}.py")
        assert current.receive()["agent"] == "twin"
        with pytest.raises(Fenced) as caught:
            fenced.receive()
        assert caught.value.incarnation == max(incarnations)
        for method, given in (("renew", []), ("release", [f"f{round_}.py"]), ("leave", []), ("sweep", [])):
            with pytest.raises(Fenced):
                fenced.call(method, *given)
        current.call("release", f"f{round_}.py")
        for actor in pair:
            actor.close()
    world.check()


def test_two_first_boots_of_a_new_agent_at_once_leave_one_incarnation(world: World) -> None:
    for round_ in range(size(8, 200)):
        pair = [world.blank(), world.blank()]
        for actor in pair:
            actor.send("open", folder=str(world.folder), agent=f"new-{round_}", timeout=30)
        assert sorted(actor.receive()["incarnation"] for actor in pair) == [1, 2]
        acting = 0
        for actor in pair:
            try:
                actor.call("claim", f"{round_}.py")
                acting += 1
            except DibsError as error:
                assert error.code == "fenced"
        assert acting == 1
        for actor in pair:
            actor.close()
    world.check()


def test_a_boot_while_the_old_process_is_stopped_fences_it_and_its_tokens(world: World) -> None:
    old, other = world.actor("ann"), world.actor("bob")
    tokens = {name: old.call("claim", name)["token"] for name in ("a.py", "b.py")}
    old.stop()
    new = world.blank()
    briefing = new.do("open", folder=str(world.folder), agent="ann", timeout=5)
    assert briefing["incarnation"] == 2
    moved = {held["resources"][0]: held["token"] for held in briefing["held"]}
    assert moved.keys() == tokens.keys()
    assert all(moved[name] > tokens[name] for name in tokens)
    new.call("release", "b.py")
    other.call("claim", "b.py")
    old.go_on()
    for method, given, named in (
        ("renew", [], {}),
        ("claim", ["c.py"], {}),
        ("claim", ["a.py"], {}),
        ("release", ["a.py"], {"token": tokens["a.py"]}),
        ("release", [], {"all": True}),
        ("leave", [], {}),
    ):
        with pytest.raises(Fenced) as caught:
            old.call(method, *given, **named)
        assert caught.value.incarnation == 2
        assert "incarnation 2" in caught.value.message
    with pytest.raises(Fenced) as caught:
        old.call("confirm", "a.py", token=tokens["a.py"])
    assert (caught.value.holder, caught.value.token) == ("ann", moved["a.py"])
    with pytest.raises(Fenced) as caught:
        old.call("confirm", "b.py", token=tokens["b.py"])
    assert caught.value.holder == "bob"
    assert new.call("confirm", "a.py", token=moved["a.py"])["holder"] == "ann"
    with pytest.raises(Fenced):
        new.call("release", "a.py", token=tokens["a.py"])  # its own earlier token, in its own name: no longer live
    world.check()


def test_a_process_stopped_inside_its_boot_is_fenced_by_the_boot_that_overtook_it(world: World) -> None:
    """It boots again of itself when it goes on (nothing of it was committed), and so fences the other: one acts."""
    first = world.blank()
    first.do("arm", at=1, number=19, match="before gate enter")
    first.send("open", folder=str(world.folder), agent="ann", timeout=30)
    first.await_stop()
    second = world.actor("ann")
    second.call("claim", "a.py")
    first.go_on()
    assert first.receive()["incarnation"] == 2
    assert first.call("claim", "a.py")["token"] > 0
    with pytest.raises(Fenced):
        second.call("renew")
    world.check()


def test_two_boots_at_the_command_line_under_two_client_processes_leave_one_current(
    world: World, clients: list[subprocess.Popen[bytes]]
) -> None:
    boots = [
        subprocess.Popen(
            ["/bin/sh", "-c", 'read go; exec "$0" boot --pid "$1" --json', world.dibs, str(client.pid)],
            cwd=world.folder, env=world.environment("ann"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for client in clients
    ]  # fmt: skip
    said = [json.loads(boot.communicate("go\n", timeout=60)[0]) for boot in boots]
    assert sorted(answer["incarnation"] for answer in said) == [1, 2]
    [agent] = json.loads(world.run("agents", "--json").stdout)["agents"]
    last = max(range(2), key=lambda place: said[place]["incarnation"])
    assert agent["pid"] == clients[last].pid
    assert agent["incarnation"] == 2
    world.check()


def test_a_boot_from_the_same_process_keeps_the_incarnation_and_the_tokens(
    world: World, clients: list[subprocess.Popen[bytes]]
) -> None:
    pid = str(clients[0].pid)
    assert json.loads(world.run("boot", "--pid", pid, "--json", agent="ann").stdout)["incarnation"] == 1
    token = json.loads(world.run("claim", "a.py", "--json", agent="ann").stdout)["token"]
    again = json.loads(world.run("boot", "--pid", pid, "--json", agent="ann").stdout)
    assert again["incarnation"] == 1
    assert [held["token"] for held in again["held"]] == [token]
    resumed = json.loads(world.run("boot", "--pid", str(clients[1].pid), "--json", agent="ann").stdout)
    assert resumed["incarnation"] == 2
    assert [held["token"] > token for held in resumed["held"]] == [True]
    refused = world.run("confirm", "a.py", "--token", str(token), "--json")
    assert refused.returncode == 1
    assert json.loads(refused.stdout)["error"]["code"] == "fenced"
    world.check()
