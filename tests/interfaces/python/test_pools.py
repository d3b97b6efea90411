"""Units of pools in the Python API, on a real database."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

import dibs
from tests.waiting import LIMIT_S

if TYPE_CHECKING:
    from tests.scratch import Shell

POOLS = '[pools]\nport = { range = "3100-3102" }\nbuild = { size = 1 }\n'


@pytest.fixture
def shell(shell: Shell) -> Shell:
    """A repository whose config has pools."""
    config = shell.folder / ".dibs" / "config.toml"
    config.write_text(f"{config.read_text()}\n{POOLS}")
    return shell


def test_a_claim_of_a_pool_says_which_unit_it_got(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ws, ws.claim("pool:port") as claim:
        assert (claim.unit, claim.units, claim.resources) == ("3100", ["3100"], ["pool:port:3100"])
        claim.check()
        (port, build) = ws.status()["pools"]
        assert (port["name"], port["size"], port["free"]) == ("pool:port", 3, 2)
        assert [(one["unit"], one["agent"]) for one in port["taken"]] == [("3100", "ann")]
        assert build["taken"] == []


def test_a_claim_with_several_units_has_no_single_one(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ws, ws.claim("pool:port", "x.py", units=2) as claim:
        assert claim.units == ["3100", "3101"]
        with pytest.raises(dibs.Invalid):
            _ = claim.unit


def test_each_of_two_claims_on_a_pool_renews_and_releases_its_own_units(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ws:
        with ws.claim("pool:port") as one:
            with ws.claim("pool:port", units=2) as two:
                one.renew()
                two.renew_all()
                assert (one.units, two.units) == (["3100"], ["3101", "3102"])
            one.check()
            assert [unit["unit"] for unit in ws.status()["pools"][0]["taken"]] == ["3100"]
        assert ws.status()["claims"] == []


def test_threads_of_many_agents_take_turns_at_one_unit(shell: Shell) -> None:
    inside: list[str] = []
    most: list[int] = []

    def work(name: str) -> None:
        with dibs.open(str(shell.folder), agent=name) as ws, ws.claim("pool:build", wait=LIMIT_S) as claim:
            inside.append(name)
            most.append(len(inside))
            claim.check()
            inside.remove(name)

    threads = [threading.Thread(target=work, args=(f"a{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    assert most == [1] * 6


def test_an_unknown_pool_is_an_error_of_its_own(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ws, pytest.raises(dibs.NotFound):
        ws.claim("pool:gpu")
