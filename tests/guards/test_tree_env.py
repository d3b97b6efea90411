"""The environment of a working tree: `dibs env`, and what an agent's session start does of it. Real trees and ports."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.interfaces.repository import DIBS, PATIENCE, Repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONFIG = """
[pools]
port = {{ range = "{first}-{last}" }}
db = {{ names = "app_{{n}}", size = {size} }}
[env.vars]
PORT = "pool:port"
DATABASE_URL = "postgres://localhost/{{pool:db}}"
NAME = "{{repo}}-{{tree}}"
CACHE = "{{tree_path}}/.cache"
URL = "http://localhost:{{PORT}}"
"""


def free_ports(count: int) -> int:
    """The first of some free ports in a row: below those of outgoing connections, and other than another worker's."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 6
    begin = 20_000 + 2_000 * worker
    for first in range(begin + os.getpid() * 64 % 1_900, begin + 2_000 - count, count):
        opened = []
        try:
            for port in range(first, first + count):
                opened.append(socket.socket())
                opened[-1].bind(("", port))
        except OSError:
            continue
        finally:
            for one in opened:
                one.close()
        return first
    raise AssertionError("no ports are free")


def set_up(repo: Repository, ports: int = 8, size: int = 8) -> int:
    """The usual config, committed; the first port of its range."""
    first = free_ports(ports)
    config = repo.folder / ".dibs" / "config.toml"
    config.write_text(config.read_text() + CONFIG.format(first=first, last=first + ports - 1, size=size))
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "environments")
    return first


def run(repo: Repository, cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`dibs env` as a person types it in that tree."""
    return subprocess.run(
        [DIBS, "env", *words], cwd=cwd, env={**repo.env, "PATH": repo.path}, capture_output=True, text=True,
        check=False, stdin=subprocess.DEVNULL, timeout=PATIENCE,
    )  # fmt: skip


def env(repo: Repository, cwd: Path, *words: str) -> Any:
    """The same as JSON, in an agent's shell."""
    done = repo.person.client.run(DIBS, "env", *words, "--json", cwd=cwd, PATH=repo.path)
    assert "Traceback" not in done.err, done
    return json.loads(done.out)


@contextmanager
def listening(port: int, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    """A program somewhere that listens on a port."""
    code = f"import socket; s = socket.create_server(('127.0.0.1', {port})); print('ready', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        try:
            yield server
        finally:
            server.kill()


# --- the command


def test_each_tree_has_its_own_variables_and_the_same_ones_again(repo: Repository) -> None:
    first = set_up(repo)
    one, other = repo.worktree("w1"), repo.worktree("W.2")
    told = env(repo, one)
    assert told["vars"] == {
        "PORT": str(first), "DATABASE_URL": "postgres://localhost/app_0", "NAME": "repo-w1", "CACHE": f"{one}/.cache",
        "URL": f"http://localhost:{first}",
    }  # fmt: skip
    theirs = env(repo, other)
    assert theirs["vars"]["PORT"] == str(first + 1)
    assert theirs["vars"]["NAME"].startswith("repo-w-2-"), "another spelling has letters of its own"
    main = env(repo, repo.folder)
    assert main["vars"]["NAME"] == "repo-main"
    again = env(repo, one)
    assert (again["vars"], again["holder"], told["new"], again["new"]) == (
        told["vars"], told["holder"], ["DATABASE_URL", "PORT"], [],
    )  # fmt: skip
    assert {tuple(one["resources"]) for one in repo.person.dibs("status")["claims"]} == {
        (f"pool:port:{first + number}", f"pool:db:app_{number}") for number in range(3)
    }
    assert repo.person.dibs("verify")["ok"]


def test_what_it_prints_is_what_a_shell_takes_and_the_file_is_this_user_s_and_hidden_from_git(repo: Repository) -> None:
    set_up(repo)
    tree = repo.scratch / 'it\'s $HOME `x` "y" \\z'
    repo.git("worktree", "add", "-q", "--detach", str(tree))
    told = env(repo, tree)["vars"]
    lines = run(repo, tree).stdout
    script = lines + 'printf "%s\\n" "$PORT" "$NAME" "$CACHE"'
    printed = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True, env=repo.env).stdout
    assert printed.split("\n")[:3] == [told["PORT"], told["NAME"], told["CACHE"]]
    script = 'set -a; . ./.env.dibs; printf "%s\\n" "$CACHE"'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True, env=repo.env, cwd=tree)
    assert done.stdout == f"{told['CACHE']}\n"
    file = tree / ".env.dibs"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert repo.git("status", "--porcelain", cwd=tree) == ""
    assert run(repo, tree, "--format", "dotenv").stdout == file.read_text().partition("\n")[2]
    assert json.loads(run(repo, tree, "--format", "json").stdout) == told


def test_a_file_that_git_tracks_is_not_written(repo: Repository) -> None:
    set_up(repo)
    repo.write(".env.dibs", "OURS=1\n")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "its own file of that name")
    done = run(repo, repo.folder)
    assert (done.returncode, ".env.dibs is tracked by git" in done.stderr) == (2, True), done
    assert (repo.folder / ".env.dibs").read_text() == "OURS=1\n"


def test_a_link_of_that_name_is_replaced_and_not_followed(repo: Repository) -> None:
    set_up(repo)
    target = repo.scratch / "precious"
    target.write_text("precious\n")
    (repo.folder / ".env.dibs").symlink_to(target)
    env(repo, repo.folder)
    assert target.read_text() == "precious\n"
    assert not (repo.folder / ".env.dibs").is_symlink()


def test_a_command_gets_the_variables_and_its_exit_code_and_signals_are_its_own(repo: Repository) -> None:
    first = set_up(repo)
    done = run(repo, repo.folder, "--run", "sh", "-c", 'echo "$PORT $DIBS_AGENT"; exit 7')
    assert (done.returncode, done.stdout) == (7, f"{first} \n")
    assert run(repo, repo.folder, "--run", "--", "sh", "-c", "exit 3").returncode == 3
    assert run(repo, repo.folder, "--run", "no-such-program").returncode == 127
    assert run(repo, repo.folder, "--run", "/").returncode == 126
    command = [
        DIBS,
        "env",
        "--run",
        "sh",
        "-c",
        'trap "echo got; exit 5" TERM; echo ready; while :; do sleep 0.05; done',
    ]
    with subprocess.Popen(
        command, cwd=repo.folder, env=repo.env, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGTERM)
        assert (child.stdout.readline(), child.wait(PATIENCE)) == ("got\n", 5)


def test_released_units_are_free_and_the_file_is_gone(repo: Repository) -> None:
    first = set_up(repo)
    env(repo, repo.folder)
    assert env(repo, repo.folder, "--release")["released"] == [f"pool:port:{first}", "pool:db:app_0"]
    assert not (repo.folder / ".env.dibs").exists()
    assert env(repo, repo.folder, "--list")["trees"] == []
    assert env(repo, repo.folder, "--release")["released"] == []
    assert run(repo, repo.folder, "--list").stdout == "no working tree has anything of its own\n"


@pytest.mark.parametrize(
    "words", [("--list", "--release"), ("--format", "json", "--list"), ("--run",), ("--", "x"), ("--format", "x")]
)
def test_what_makes_no_sense_is_a_usage_error(words: tuple[str, ...], repo: Repository) -> None:
    set_up(repo)
    done = run(repo, repo.folder, *words)
    assert done.returncode == 64, done
    assert "Traceback" not in done.stderr


def test_without_a_config_it_says_what_to_do(repo: Repository) -> None:
    done = run(repo, repo.folder)
    assert (done.returncode, "names no variables" in done.stderr) == (1, True), done


# --- the tree


@pytest.mark.parametrize("how", ["remove", "delete", "prune"])
def test_a_removed_tree_s_units_are_free_when_the_next_tree_asks(how: str, repo: Repository) -> None:
    first = set_up(repo, ports=1)
    tree, other = repo.worktree("w1"), repo.worktree("w2")
    env(repo, tree)
    assert run(repo, other).returncode == 1
    if how == "remove":
        repo.git("worktree", "remove", "--force", str(tree))
    else:
        shutil.rmtree(tree)
    if how == "prune":
        repo.git("worktree", "prune")
    assert env(repo, other)["vars"]["PORT"] == str(first)
    assert repo.events("claim.ended")[-1]["data"]["why"] == "removed"
    again = repo.scratch / "w1"
    repo.git("worktree", "prune")
    repo.git("worktree", "add", "-q", "--force", str(again), "w1")
    assert run(repo, again).returncode == 1, "a tree in the place of another has nothing of it"
    assert repo.person.dibs("verify")["ok"]


def test_a_moved_tree_keeps_its_units(repo: Repository) -> None:
    set_up(repo)
    tree = repo.worktree("w1")
    before = env(repo, tree)
    moved = repo.scratch / "elsewhere"
    repo.git("worktree", "move", str(tree), str(moved))
    after = env(repo, moved)
    assert (after["vars"]["PORT"], after["holder"]) == (before["vars"]["PORT"], before["holder"])
    assert after["vars"]["CACHE"] == f"{moved}/.cache"
    assert [one["tree"] for one in env(repo, moved, "--list")["trees"]] == [str(moved)]


# --- ports


def test_a_port_in_use_is_not_handed_out_and_a_tree_s_own_that_another_program_took_is_said(repo: Repository) -> None:
    first = set_up(repo)
    tree, home = repo.worktree("w1"), repo.scratch / "home"
    with listening(first, home):
        assert env(repo, tree)["vars"]["PORT"] == str(first + 1)
    with listening(first + 1, tree):
        assert env(repo, tree)["warnings"] == [], "its own server"
    with listening(first + 1, home) as server:
        (warning,) = env(repo, tree)["warnings"]
        assert f"port {first + 1} (PORT) is this working tree's" in warning
        assert f"(pid {server.pid}, in {home})" in warning
        assert warning in run(repo, tree).stderr
        checks = repo.agent("doc", cwd=tree).dibs("doctor")["checks"]
        assert [check["message"] for check in checks if check["check"] == "env" and not check["ok"]] == [warning]
        env(repo, tree, "--release")
        assert env(repo, tree)["vars"]["PORT"] == str(first)
    checks = repo.agent("doc", cwd=tree).dibs("doctor")["checks"]
    assert [check["ok"] for check in checks if check["check"] == "env"] == [True]


def test_a_claim_of_a_port_is_not_given_one_that_is_listened_on(repo: Repository) -> None:
    first = set_up(repo)
    with listening(first, repo.folder), listening(first + 2, repo.folder):
        assert repo.person.dibs("claim", "pool:port", "--units", "2")["units"] == [str(first + 1), str(first + 3)]
    assert repo.agent("bob").dibs("claim", "pool:port")["unit"] == str(first)


# --- an agent's session


def test_a_session_start_takes_the_environment_writes_it_and_says_so(repo: Repository) -> None:
    first = set_up(repo)
    tree = repo.worktree("w1")
    ada, file = repo.agent("ada", cwd=tree), repo.scratch / "session.sh"
    file.write_text("export OTHER=1")
    answer = ada.hook("SessionStart", source="startup", env={"CLAUDE_ENV_FILE": str(file)})
    assert f"This working tree has its own PORT={first}, DATABASE_URL=postgres://localhost/app_0, " in answer.told
    assert "(in .env.dibs); `.dibs/dibs env --run CMD` runs a command with them." in answer.told
    for _ in range(3):
        ada.hook("SessionStart", source="compact", env={"CLAUDE_ENV_FILE": str(file)})
    text = file.read_text()
    assert text.startswith("export OTHER=1\n")
    assert text.count(f"export PORT={first}\n") == 1
    assert f"PORT={first}\n" in (tree / ".env.dibs").read_text()
    bob = repo.agent("bob", cwd=tree)
    assert f"PORT={first}," in bob.boot(), "another session in that tree has the same"
    assert f"PORT={first + 1}," in repo.agent("cyd").boot()
    ada.end()
    ada.client.kill()
    assert len(env(repo, tree, "--list")["trees"]) == 2, "no session's end is the tree's"
    assert repo.person.dibs("agents")["agents"] != []
    assert not any(one["agent"].startswith("tree:") for one in repo.person.dibs("agents")["agents"])


def test_a_subagent_is_not_told_and_takes_nothing(repo: Repository) -> None:
    set_up(repo)
    ada = repo.agent("ada")
    child = ada.born("explorer")
    assert "its own" not in child.hook("SubagentStart").told
    assert env(repo, repo.folder, "--list")["trees"] == []


def test_an_exhausted_pool_is_said_and_the_session_starts(repo: Repository) -> None:
    set_up(repo, ports=1)
    env(repo, repo.folder)
    told = repo.agent("ada", cwd=repo.worktree("w1")).boot()
    assert "You are ada" in told
    assert "This working tree has no environment of its own now: pool:port has 1 unit, none free" in told
    assert "`.dibs/dibs env --list` shows which trees have them" in told
    assert "holds pool:port" not in told, "a tree is no agent at work"


def test_a_session_starts_where_the_environment_cannot_be_written(repo: Repository) -> None:
    set_up(repo)
    repo.write(".env.dibs", "OURS=1\n")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "its own file of that name")
    told = repo.agent("ada").boot()
    assert "This working tree has its own PORT=" in told
    assert "Note: .env.dibs is tracked by git" in told


def test_a_prompt_renews_what_was_long_ago_and_no_other_hook_asks(repo: Repository) -> None:
    set_up(repo)
    config = repo.folder / ".dibs" / "config.toml"
    config.write_text(config.read_text().replace("\n[env.vars]", '\n[env]\nidle = "1m"\n[env.vars]'))
    ada = repo.agent("ada")
    ada.boot()
    renewals = len(repo.events("claim.renewed"))
    ada.hook("UserPromptSubmit", prompt="go on")
    assert len(repo.events("claim.renewed")) == renewals
    stamp = repo.private / "env"
    os.utime(stamp, (0, 0))
    ada.edit("new.py", "x\n")
    assert stamp.stat().st_mtime == 0
    assert "its own PORT" not in ada.hook("UserPromptSubmit", prompt="go on").told
    assert stamp.stat().st_mtime > 0
    env(repo, repo.folder, "--release")
    first = int(env(repo, repo.worktree("w1"))["vars"]["PORT"])
    os.utime(stamp, (0, 0))
    told = ada.hook("UserPromptSubmit", prompt="go on").told
    assert f"This working tree has its own PORT={first + 1}," in told, "it had lost it meanwhile"
    assert f"PORT={first + 1}\n" in (repo.folder / ".env.dibs").read_text()


# --- fifty at once

SERVER = (
    "import os, socket; s = socket.create_server(('127.0.0.1', int(os.environ['PORT'])));"
    "print(os.environ['PORT'], os.environ['DATABASE_URL'], flush=True); input()"
)


@pytest.mark.long
@pytest.mark.slow
def test_fifty_trees_that_start_at_once_share_no_port_and_take_none_that_is_in_use(repo: Repository) -> None:
    count, taken = 50, 9
    first = set_up(repo, ports=count + taken, size=count)
    trees = [repo.worktree(f"w{number}") for number in range(count)]
    used = {first + number * 6 for number in range(taken)}
    others = [socket.create_server(("127.0.0.1", port)) for port in sorted(used)]
    servers = [
        subprocess.Popen(
            [DIBS, "env", "--run", sys.executable, "-c", SERVER], cwd=tree, env=repo.env, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for tree in trees
    ]  # fmt: skip
    try:
        told = []
        for server in servers:
            assert server.stdout is not None
            line = server.stdout.readline()
            assert line, server.communicate()[1]
            told.append(line.split())
        ports = {int(port) for port, _ in told}
        assert len(ports) == count, "each has its own, and listens on it"
        assert not ports & used
        assert len({url for _, url in told}) == count
        again = [int(env(repo, tree)["vars"]["PORT"]) for tree in trees[:3]]
        assert again == [int(port) for port, _ in told[:3]], "the same ones again, with its own server on it"
    finally:
        for server in servers:
            server.kill()
            server.communicate()
        for other in others:
            other.close()
    assert len(env(repo, repo.folder, "--list")["trees"]) == count
    assert repo.person.dibs("verify")["ok"]
    for tree in trees:
        shutil.rmtree(tree)
    assert env(repo, repo.folder)["vars"]["PORT"] == str(first)
    assert len(env(repo, repo.folder, "--list")["trees"]) == 1
