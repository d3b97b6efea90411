"""The reference is complete: each key of the config, each variable, each refusal and each check of doctor is in it."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dibs.workspace import config
from dibs.workspace.known_clients import NAMES
from tests.documents import TOP
from tools import reference
from tools.troubleshooting import DOCTOR

VARIABLE = re.compile(r"\bDIBS_[A-Z_]*[A-Z]\b")


def test_every_key_of_the_config_is_in_the_template_with_its_default() -> None:
    """A key that the parser knows and the template does not could not be found by anybody."""
    listed = {(setting.table, setting.key) for setting in reference.settings()}
    known = {(table, key) for table, keys in reference.defaults().items() for key in keys}
    assert known - listed == {("deploy", "targets")}, "which has tables of its own"
    assert [setting for setting in reference.settings() if not setting.meaning] == []


@pytest.mark.parametrize("setting", reference.settings(), ids=lambda one: f"{one.table}.{one.key}")
def test_a_value_of_the_template_is_the_default_or_a_valid_example(setting: reference.Setting, tmp_path: Path) -> None:
    table = setting.table.replace("NAME", "custom")
    head = f"[[{table}]]\n" if table in reference.LISTS else f"[{table}]\n" if table else ""
    needed = {"match": "['x']", "pool": "'build'"} if table == "pools.use" else {"match": "'x'"}
    match = "".join(f"{key} = {said}\n" for key, said in needed.items() if key != setting.key)
    match = match if table in reference.LISTS else ""
    head = f"[pools]\nbuild = {{size = 1}}\n{head}" if table == "pools.use" else head
    value = setting.value.replace("https://…", "https://example.org")
    (tmp_path / "config.toml").write_text(f"{head}{match}{setting.key} = {value}\n")
    config.parse(str(tmp_path / "config.toml"))
    default = reference.default_of(setting)
    if default and "[" not in default and default != "those that dibs knows":
        tomllib.loads(f"x = {default}")


def test_every_variable_that_the_sources_read_or_set_is_in_the_reference() -> None:
    page = (TOP / "docs" / "reference" / "environment.md").read_text()
    used: set[str] = set()
    for path in (TOP / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                used |= set(VARIABLE.findall(node.value))
    assert used == set(VARIABLE.findall(page))


def test_every_check_that_the_sources_of_doctor_name_is_in_the_troubleshooting_page() -> None:
    """Those that only a broken workspace shows, too."""
    named = re.compile(r"(?:_check|note)\(\s*f?\"([^\"]+)\"|yield f?\"([a-z {}]+)\", (?:True|False|not |ok)")
    places = ("interfaces/cli/doctor/*.py", "interfaces/cli/commands/doctor.py", "audit/doctor.py", "stores/*/*.py")
    texts = [path.read_text() for place in places for path in (TOP / "src" / "dibs").glob(place)]
    found = {(one or other).replace("{client}", "CLIENT") for text in texts for one, other in named.findall(text)}
    assert {"launcher", "persistence", "undo"} <= found
    assert found - set(DOCTOR) == set(), "tools/troubleshooting.py needs a row"


def test_every_check_of_doctor_is_in_the_troubleshooting_page(tmp_path: Path) -> None:
    """Of a workspace with every client, as doctor names them; a client's own checks stand under CLIENT."""
    dibs = [sys.executable, "-m", "dibs"]
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run([*dibs, "init", "--clients", "all"], cwd=tmp_path, check=True, capture_output=True)
    said = subprocess.run([*dibs, "doctor", "--json"], cwd=tmp_path, check=False, capture_output=True, text=True)
    clients = "|".join(NAMES)
    found = {re.sub(rf"^({clients}) ", "CLIENT ", one["check"]) for one in json.loads(said.stdout)["checks"]}
    assert found
    assert found - set(DOCTOR) == set(), "tools/troubleshooting.py needs a row"
