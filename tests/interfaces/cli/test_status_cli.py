"""`dibs status` and `dibs alerts`: what needs attention first, and what to type next."""

from __future__ import annotations

import shlex
import subprocess

from tests.scratch import DIBS, Shell
from tests.waiting import until

MANY = 1_000


def test_a_thousand_claims_are_folded_below_what_needs_attention(shell: Shell) -> None:
    for start in range(0, MANY, 100):
        shell.json("claim", *[f"src/f{number}.py" for number in range(start, start + 100)], "--as", "ann", exit=0)
    shell.json("claim", "deploy:prod", "--as", "ann", exit=0)
    for _ in range(3):
        shell.json("claim", "deploy:prod", "--as", "bob", exit=1)
    lines = shell.run("status").stdout.splitlines()
    assert lines[1].startswith("! bob was refused 3 times on deploy:prod: ")
    assert lines[3].split()[:3] == ["RESOURCE", "HELD", "BY"]
    assert lines[-1] == f"and {MANY + 1 - 50} more: `dibs status --all`"
    assert len(lines) == 4 + 50 + 1
    assert len(shell.run("status", "--all").stdout.splitlines()) == 4 + MANY + 1


def commands(text: str) -> list[list[str]]:
    """The commands that a text names, as typed."""
    return [shlex.split(part)[1:] for part in text.split("`")[1::2]]


def test_blocked_the_status_names_the_holder_and_its_command_frees_it(shell: Shell) -> None:
    shell.json("claim", "src/api.py", "--as", "ann", "--reason", "new route", exit=0)
    waiter = subprocess.Popen([DIBS, "claim", "src/api.py", "--wait", "60s", "--as", "bob"], cwd=shell.folder)
    until(lambda: bool(shell.json("status")["waiting"]))
    told = shell.run("status").stdout  # 1
    assert "bob (" in next(line for line in told.splitlines() if line.startswith("src/api.py"))
    ask, release = commands(told.splitlines()[-1])
    assert shell.run(*ask).returncode == 0
    assert shell.run(*release).returncode == 0  # 2
    assert waiter.wait(timeout=60) == 0


def test_pools_the_status_says_how_many_units_are_taken_and_who_waits(shell: Shell) -> None:
    with (shell.folder / ".dibs" / "config.toml").open("a") as file:
        file.write("[pools]\nbuild = { size = 2 }\nport = { range = '3100-3199' }\nidle = { size = 1 }\n")
    shell.json("claim", "pool:build", "pool:port", "--as", "ann", exit=0)
    assert "pool:build: 1 of 2 units taken" in shell.run("status").stdout.splitlines()
    shell.json("claim", "pool:build", "--as", "bob", exit=0)
    waits = [DIBS, "claim", "pool:build", "--units", "2", "--wait", "60s", "--as", "cid"]
    waiter = subprocess.Popen(waits, cwd=shell.folder)
    until(lambda: bool(shell.json("status")["waiting"]))
    told = shell.run("status").stdout
    assert "\npool:build: 2 of 2 units taken; cid for 2 waits (" in told
    assert "\npool:port: 1 of 100 units taken\n" in told
    assert "idle" not in told
    assert "cid waits for" not in told, "the pool's line says it"
    shell.json("release", "--all", "--as", "ann", exit=0)
    shell.json("release", "--all", "--as", "bob", exit=0)
    assert waiter.wait(timeout=60) == 0


def test_deadlock_the_alerts_name_every_way_to_resolve_it_and_each_works_as_typed(shell: Shell) -> None:
    shell.json("claim", "a.py", "--as", "ann", exit=0)
    shell.json("claim", "b.py", "--as", "bob", exit=0)
    waiter = subprocess.Popen([DIBS, "claim", "b.py", "--wait", "60s", "--as", "ann"], cwd=shell.folder)
    until(lambda: bool(shell.json("status")["waiting"]))
    shell.json("claim", "a.py", "--wait", "60s", "--as", "bob", exit=1)
    assert shell.run("status").stdout.splitlines()[1].lower().startswith("! deadlock")  # 1
    told = shell.run("alerts").stdout.splitlines()  # 2
    ways = told[told.index("    how to resolve it, by any one of these:") + 1 :]
    assert [way.split(":")[0] for way in ways[:2]] == [
        "    - bob wants a.py, held by ann", "    - ann wants b.py, held by bob",
    ]  # fmt: skip
    ask, release = commands(ways[1])
    assert shell.run(*ask).returncode == 0
    assert shell.run(*release).returncode == 0  # 3
    assert waiter.wait(timeout=60) == 0


def test_explain_says_once_what_happened_twice_and_a_first_start_is_no_restart(shell: Shell) -> None:
    shell.json("boot", "--as", "bob", exit=0)
    shell.json("claim", "a.py", "--as", "ann", exit=0)
    for _ in range(2):
        shell.json("claim", "a.py", "--as", "bob", exit=1)
    assert "bob was refused a.py: ann held it. (2 times)" in shell.run("explain", "a.py").stdout
    assert len(shell.json("explain", "a.py")["steps"]) == 3
    assert "bob started." in shell.run("explain", "bob").stdout
