"""What `.dibs/config.toml` says about environments of working trees: each mistake is named, with its setting."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Invalid
from dibs.workspace import config, config_env

if TYPE_CHECKING:
    from pathlib import Path

POOLS = """
[pools]
port = { range = "3100-3199" }
db = { names = "app_{n}", size = 4 }
api = { rate = "30/min" }
"""


def read(text: str) -> Any:
    return config_env.read(tomllib.loads(POOLS + text), "config.toml")


def parts(value: str) -> list[tuple[str, str, int]]:
    """The parts of a variable with this text, after PORT and a block PORTS."""
    text = f'[env.vars]\nPORT = "pool:port"\nPORTS = "pool:port*4"\nX = "{value}"\n'
    (*_, found) = read(text)["vars"]
    return [(part["kind"], part["what"], part["count"]) for part in found["parts"]]


def test_without_the_table_no_tree_leases_anything() -> None:
    assert read("") == {"idle": 7 * 86_400_000, "vars": []}
    assert read('[env]\nidle = "2h"\n') == {"idle": 7_200_000, "vars": []}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", []),
        ("plain", [("text", "plain", 0)]),
        ("pool:port", [("pool", "port", 1)]),
        ("pool:port*4", [("pool", "port", 4)]),
        ("postgres://{pool:db}/", [("text", "postgres://", 0), ("pool", "db", 1), ("text", "/", 0)]),
        ("{repo}-{tree}", [("fact", "repo", 0), ("text", "-", 0), ("fact", "tree", 0)]),
        ("{tree_path}{tree_id}", [("fact", "tree_path", 0), ("fact", "tree_id", 0)]),
        (":{PORT}", [("text", ":", 0), ("variable", "PORT", -1)]),
        ("{PORTS.3}", [("variable", "PORTS", 3)]),
        ("{PORT.0}", [("variable", "PORT", 0)]),
        ("a{{b}}", [("text", "a", 0), ("text", "{", 0), ("text", "b", 0), ("text", "}", 0)]),
    ],
)
def test_a_text_is_taken_apart(value: str, expected: list[Any]) -> None:
    assert parts(value) == expected


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("pool:prot", "names an unknown pool 'prot'; there are port, db, api; did you mean 'port'?"),
        ("{pool:prot}", "names an unknown pool 'prot'"),
        ("pool:use", "names an unknown pool 'use'"),
        ("pool:api", "takes a unit of 'api', which has a rate"),
        ("pool:port*0", "takes from 1 to 256 units of a pool, not '0'"),
        ("pool:port*", "takes from 1 to 256 units of a pool, not ''"),
        ("pool:port*257", "takes from 1 to 256 units of a pool, not '257'"),
        ("pool:port*x", "takes from 1 to 256 units of a pool, not 'x'"),
        ("{treee}", "refers to {treee}; there are repo, tree, tree_path, tree_id, PORT, PORTS"),
        ("{X}", "refers to {X}; there are"),
        ("{PORTS.4}", "refers to {PORTS.4}; PORTS has 4 units, counted from 0"),
        ("{PORTS.-1}", "refers to {PORTS.-1}; PORTS has 4 units"),
        ("{", "has a brace without the other one"),
        ("}", "has a brace without the other one"),
        ("a}b", "has a brace without the other one"),
        ("{a{b}", "has a brace without the other one"),
        ("{}", "refers to {}; there are"),
    ],
)
def test_a_reference_that_means_nothing_is_refused_by_its_variable(value: str, why: str) -> None:
    with pytest.raises(Invalid) as refused:
        parts(value)
    assert f"env.vars.X {why}" in refused.value.message


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("env = 3\n", "[env] is a table"),
        ("[env]\nvar = 3\n", "there is no env.var; there are idle, vars"),
        ('[env]\nidle = "1s"\n', "env.idle: a duration from"),
        ('[env]\nidle = "often"\n', "env.idle"),
        ("[env]\nvars = 3\n", "[env.vars] is a table"),
        ("[env.vars]\nPORT = 3\n", "env.vars.PORT is a text of at most"),
        ('[env.vars]\nPORT = "a\\nb"\n', "env.vars.PORT is a text of at most"),
        ('[env.vars]\nP-1 = "x"\n', "env.vars.P-1 is no name of a variable"),
        ('[env.vars]\n1P = "x"\n', "env.vars.1P is no name of a variable"),
        ('[env.vars]\nDIBS_AGENT = "x"\n', "env.vars.DIBS_AGENT is dibs' own"),
        ("[env.vars]\n" + "".join(f'V{n} = ""\n' for n in range(65)), "env.vars has 65 variables, at most 64"),
    ],
)
def test_a_setting_that_means_nothing_is_refused_by_name(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(Invalid) as refused:
        config.parse(str(path))
    assert why in refused.value.message
