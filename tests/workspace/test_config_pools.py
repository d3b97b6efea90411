"""What `.dibs/config.toml` says of pools: each form, every setting, and errors that name the setting."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dibs.errors import Invalid
from dibs.operations.pools.shapes import size_of, units_of
from dibs.workspace import config, config_pools
from dibs.workspace.config import load

if TYPE_CHECKING:
    from dibs.operations.pools.shapes import PoolSettings


def read(folder: Path, text: str) -> PoolSettings:
    """The pools of a config with this text."""
    path = folder / "config.toml"
    path.write_text(text)
    return config.parse(str(path))["policy"]["pools"]


def test_without_the_table_there_is_no_pool(tmp_path: Path) -> None:
    assert read(tmp_path, "") == {"named": {}, "use": []}


def test_each_form_of_a_pool_has_its_units(tmp_path: Path) -> None:
    named = read(
        tmp_path,
        """
        [pools]
        build = { size = 2 }
        port = { range = "3100-3102" }
        gpu = { units = ["b", "a"] }
        db = { names = "app_{n}", size = 2 }
        api = { rate = "30/min", burst = 5 }
        """,
    )["named"]
    assert {name: units_of(pool) for name, pool in named.items()} == {
        "build": ["0", "1"], "port": ["3100", "3101", "3102"], "gpu": ["b", "a"], "db": ["app_0", "app_1"], "api": [],
    }  # fmt: skip
    assert all(size_of(pool) == len(units_of(pool)) for pool in named.values())
    assert named["api"]["rate"] == {"count": 30, "per": 60_000, "burst": 5}
    assert (named["build"]["wait"], named["build"]["on_timeout"], named["build"]["scope"]) == (
        600_000, "refuse", "workspace",
    )  # fmt: skip


def test_every_setting_arrives_as_it_was_written(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """
        [pools]
        build = { size = 1, wait = "90s", on_timeout = "pass", scope = "machine", ttl = "5m", pressure = "io 40",
                  rate = "2/s" }
        [[pools.use]]
        match = ["pytest", "cargo *"]
        pool = "build"
        """.replace(",\n                 ", ","),
    )
    assert found["named"]["build"] == {
        "size": 1, "wait": 90_000, "on_timeout": "pass", "scope": "machine", "ttl": 300_000,
        "pressure": {"of": "io", "most": 40}, "rate": {"count": 2, "per": 1_000, "burst": 1},
    }  # fmt: skip
    assert found["use"] == [{"match": ["pytest", "cargo *"], "pool": "build", "units": 1}]


def test_a_share_of_the_processors_is_at_least_one(tmp_path: Path) -> None:
    named = read(tmp_path, '[pools]\na = {size = "cpus"}\nb = {size = "cpus/2"}\nc = {size = "cpus / 999"}')["named"]
    cpus = config_pools.processors()
    assert [size_of(pool) for pool in named.values()] == [cpus, max(1, cpus // 2), 1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pools = 3", "[pools] is a table"),
        ("[pools]\nbuild = 2", "pools.build is a table such as { size = 2 }"),
        ("[pools]\nbuild = {}", "pools.build says of no units: it needs one of size, range, units, names, or a rate"),
        ("[pools]\nbuild = {size = 2, range = '1-2'}", "pools.build has size and range; a pool has one of"),
        ("[pools]\nbuild = {size = 2, limit = 3}", "pools.build has no setting 'limit'; it has size, range"),
        ("[pools]\nbuild = {size = 0}", "pools.build.size is a whole number from 1"),
        ("[pools]\nbuild = {size = -1}", "pools.build.size is a whole number from 1"),
        ("[pools]\nbuild = {size = true}", "pools.build.size is a whole number from 1"),
        ("[pools]\nbuild = {size = 'cpus/0'}", "pools.build.size is a whole number from 1"),
        ("[pools]\nbuild = {size = 'cpu'}", "pools.build.size is a whole number from 1"),
        ("[pools]\nbuild = {size = 4097}", "pools.build has 4097 units; a pool has at most 4096"),
        ("[pools]\nport = {range = '3199-3100'}", "pools.port.range is empty: '3199-3100' ends before it begins"),
        ("[pools]\nport = {range = '3100'}", "pools.port.range is two ports"),
        ("[pools]\nport = {range = 3100}", "pools.port.range is two ports"),
        ("[pools]\nport = {range = '0-10'}", "pools.port.range is of ports from 1 to 65535"),
        ("[pools]\nport = {range = '65000-65536'}", "pools.port.range is of ports from 1 to 65535"),
        ("[pools]\nport = {range = '1000-9000'}", "pools.port has 8001 units; a pool has at most 4096"),
        ("[pools]\na = {range = '1-5'}\nb = {range = '5-9'}", "the ranges of pools.a and pools.b overlap at 5"),
        ("[pools]\ngpu = {units = []}", "pools.gpu.units is a list of names"),
        ("[pools]\ngpu = {units = ['a b']}", "pools.gpu.units is a list of names"),
        ("[pools]\ngpu = {units = [0]}", "pools.gpu.units is a list of names"),
        ("[pools]\ngpu = {units = ['a', 'b', 'a']}", "pools.gpu.units has 'a' twice"),
        ("[pools]\ndb = {names = 'app', size = 2}", "pools.db.names is a text with one {n}"),
        ("[pools]\ndb = {names = 'app_{n}'}", "pools.db.names is a text with one {n}"),
        ("[pools]\ndb = {names = 'a{n}b{n}', size = 2}", "pools.db.names is a text with one {n}"),
        ("[pools]\napi = {rate = '30'}", "pools.api.rate is a number for each s, min, h or day"),
        ("[pools]\napi = {rate = '0/min'}", "pools.api.rate is a number for each s, min, h or day"),
        ("[pools]\napi = {rate = '3/week'}", "pools.api.rate is a number for each s, min, h or day"),
        ("[pools]\napi = {rate = '3/min', burst = 0}", "pools.api.burst is a whole number from 1"),
        ("[pools]\napi = {size = 1, burst = 2}", "pools.api.burst belongs to a rate"),
        ("[pools]\nx = {size = 1, wait = 'long'}", "pools.x.wait: 'long' is not a duration"),
        ("[pools]\nx = {size = 1, wait = '2d'}", "pools.x.wait: a duration from 1ms to 1d"),
        ("[pools]\nx = {size = 1, on_timeout = 'hang'}", "pools.x.on_timeout is one of refuse, pass, not 'hang'"),
        ("[pools]\nx = {size = 1, scope = 'galaxy'}", "pools.x.scope is one of workspace, machine"),
        ("[pools]\nx = {size = 1, pressure = 'io'}", "pools.x.pressure is cpu, io or memory and a percentage"),
        ("[pools]\nx = {size = 1, pressure = 'disk 5'}", "pools.x.pressure is cpu, io or memory and a percentage"),
        ("[pools]\nx = {size = 1, pressure = 'io 101'}", "pools.x.pressure is cpu, io or memory and a percentage"),
        ("[pools]\n'a:b' = {size = 1}", "a pool's name has letters, digits"),
        ("[pools]\nuse = {size = 1}", "pools.use is a list of tables, `[[pools.use]]`; no pool can have this name"),
        ("[[pools.use]]\nmatch = ['x']\npool = 'none'", "pools.use[0].pool: there is no pool 'none'; there are: none"),
        ("[pools]\nb = {size = 1}\n[[pools.use]]\nmatch = 'x'\npool = 'b'", "pools.use[0].match is a list of commands"),
        ("[pools]\nb = {size = 1}\n[[pools.use]]\nmatch = []\npool = 'b'", "pools.use[0].match is a list of commands"),
        ("[pools]\nb = {size = 1}\n[[pools.use]]\nmatch = ['x']\npool = 'b'\nunits = 2",
         "pools.use[0].units is a whole number from 1 to 1: pool b has no more"),
        ("[pools]\nb = {size = 1}\n[[pools.use]]\nmatch = ['x']\npool = 'b'\nwait = 2",
         "pools.use[0] has no setting 'wait'; it has match, pool, units"),
    ],
)  # fmt: skip
def test_a_wrong_pool_is_refused_by_name(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        read(tmp_path, text)
    assert said in refused.value.message
    assert "config.toml" in refused.value.message


def test_while_the_pools_are_wrong_what_they_said_before_stays_in_force(tmp_path: Path) -> None:
    folder, local, shared = tmp_path / ".dibs", tmp_path / ".dibs/local", tmp_path / ".dibs/local/shared"
    shared.mkdir(parents=True)
    path = folder / "config.toml"
    path.write_text('[guards]\nstrict = ["deploy/"]\n[pools]\nbuild = {size = 2}')
    assert load(str(path), str(local), str(tmp_path), str(shared)).policy.pools["named"]["build"]["size"] == 2
    path.write_text("[pools]\nbuild = {size = 0}")
    read = load(str(path), str(local), str(tmp_path), str(shared))
    assert "pools.build.size is a whole number" in read.problem
    assert read.policy.pools["named"]["build"]["size"] == 2
    assert "deploy/" in read.policy.guards["strict"]
