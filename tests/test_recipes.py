"""The recipes of docs/guides/recipes.md: each file is what its program reads, and its dibs commands are dibs' own."""

from __future__ import annotations

import configparser
import json
import re
import shlex
from typing import Any

import pytest
import yaml

from dibs.interfaces.cli import parse
from dibs.interfaces.cli.command import find, names
from tests.documents import TOP, blocks

PAGE = TOP / "docs" / "guides" / "recipes.md"
YAML: list[Any] = [yaml.load(text, Loader=yaml.BaseLoader) for text in blocks(PAGE, "yaml")]  # noqa: S506 - texts only
JSON: list[Any] = [json.loads(text) for text in blocks(PAGE, "json")]
COMMAND = re.compile(r"(?:^|/)dibs ([a-z].*)$")


def texts(value: Any) -> list[str]:
    """Every text in a document."""
    if isinstance(value, dict):
        return [text for one in value.values() for text in texts(one)]
    if isinstance(value, list):
        return [text for one in value for text in texts(one)]
    return [value] if isinstance(value, str) else []


def commands() -> list[str]:
    """The dibs commands that the files run."""
    lines = [line for text in texts([YAML, JSON]) for line in text.splitlines()]
    lines += [line.partition("=")[2] for text in blocks(PAGE, "ini") for line in text.splitlines() if "Exec" in line]
    lines += [line for text in blocks(PAGE, "text") for line in text.splitlines()]
    parts = [part.strip() for line in lines for part in re.split(r"&&|\s#\s", line)]
    return [found[1] for part in parts for found in [COMMAND.search(part)] if found]


@pytest.mark.parametrize("command", commands())
def test_a_dibs_command_of_a_recipe_is_accepted_as_it_is_written(command: str) -> None:
    """Names, options and the number of words, by the parser that reads them at run time."""
    words = shlex.split(command)
    name = next(name for name in (" ".join(words[:2]), words[0]) if name in names())
    found = find(name)
    parse.parse(name, found.fields, words[len(name.split()) :], rest=found.rest, short=found.short)


def test_the_files_are_what_their_programs_read() -> None:
    workflow, deploy, hooks, compose = YAML
    for one in (workflow, deploy):
        assert {"name", "on", "jobs"} <= set(one)
        for job in one["jobs"].values():
            assert {"runs-on", "steps"} <= set(job)
            assert all("run" in step or "uses" in step for step in job["steps"])
    for hook in hooks["repos"][0]["hooks"]:
        assert {"id", "name", "entry", "language"} <= set(hook)
    assert set(compose) <= {"services", "volumes"}
    assert all("image" in service or "build" in service for service in compose["services"].values())
    container, tasks = JSON
    assert {"name", "image", "postCreateCommand"} <= set(container)
    assert tasks["version"] == "2.0.0"
    assert all({"label", "type", "command"} <= set(task) for task in tasks["tasks"])
    for text in blocks(PAGE, "ini"):
        unit = configparser.ConfigParser(strict=False, interpolation=None)
        unit.read_string(text)
        assert unit.sections()[0] == "Unit"
    assert len(commands()) >= 15, commands()
