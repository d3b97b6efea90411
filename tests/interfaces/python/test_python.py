"""The Python API, on a real database."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.machine import clock
from tests.scratch import Shell
from tests.waiting import LIMIT_S, until


def test_a_claim_in_a_with_is_released_at_its_end(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ws:
        with ws.claim("x.py", "db:y", reason="r") as claim:
            claim.check()
            claim.renew()
            assert [c["agent"] for c in ws.status()["claims"]] == ["ann"]
        assert ws.status()["claims"] == []
        with pytest.raises(dibs.Fenced):
            claim.check()


def test_a_path_may_be_a_path_of_pathlib(shell: Shell) -> None:
    top = shell.folder
    assert dibs.init(top) == str(top)
    with dibs.open(top, agent="ann") as ws, ws.claim(top / "x.py", top / "src") as claim:
        assert sorted(claim.resources) == ["src", "x.py"]
        assert ws.confirm(top / "x.py", token=claim.token)["holder"] == "ann"
        (top / "x.py").write_text("new")
        assert ws.undo("ann", top / "x.py", dry_run=True)["files"][0]["path"] == "x.py"


def test_a_refusal_is_an_exception_with_fields(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ann, dibs.open(str(shell.folder), agent="bob") as bob:
        ann.claim("x.py")
        with pytest.raises(dibs.Held) as refused:
            bob.claim("x.py")
        assert refused.value.blockers[0]["agent"] == "ann"
        assert isinstance(refused.value, dibs.DibsError)
        with pytest.raises(AttributeError):
            _ = refused.value.nonsense


def test_an_inner_claim_shares_the_token_and_is_not_released_by_its_end(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ws, ws.claim("src/") as outer:
        with ws.claim("src/x.py") as inner:
            assert inner.token == outer.token
        outer.check()


def test_a_claim_lost_inside_a_with_is_raised_at_its_end(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ann, dibs.open(str(shell.folder), agent="bob") as bob:
        with pytest.raises(dibs.Fenced), ann.claim("x.py", ttl=0.05, auto_renew=False):
            bob.claim("x.py", wait=LIMIT_S)
        assert bob.status()["claims"][0]["agent"] == "bob"


def test_the_error_on_its_way_is_not_hidden_by_the_release(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ws:
        with pytest.raises(ZeroDivisionError), ws.claim("x.py"):
            _ = 1 / 0
        assert ws.status()["claims"] == []


def test_waiting_threads_are_served_one_after_the_other(shell: Shell) -> None:
    held: list[str] = []
    with dibs.open(str(shell.folder), agent="boss") as boss:
        first = boss.claim("x.py")
        opened = [dibs.open(str(shell.folder), agent=f"a{n}") for n in range(4)]

        def work(ws: dibs.Workspace, name: str) -> None:
            with ws.claim("x.py", wait=30):
                held.append(name)

        threads = [threading.Thread(target=work, args=(ws, f"a{n}")) for n, ws in enumerate(opened)]
        for thread in threads:
            thread.start()
        first.release()
        for thread in threads:
            thread.join(LIMIT_S)
        assert sorted(held) == ["a0", "a1", "a2", "a3"]
        for ws in opened:
            ws.close()


def test_the_process_that_opened_it_is_the_incarnation(shell: Shell) -> None:
    code = "import dibs,sys; ws=dibs.open(agent='ann'); print(ws.claim('x.py').token)"
    subprocess.run([sys.executable, "-c", code], cwd=shell.folder, check=True, capture_output=True)
    with dibs.open(str(shell.folder), agent="bob") as bob:
        bob.claim("x.py")  # ann's process is gone, so is its claim
    with dibs.open(str(shell.folder), agent="ann") as ann:
        assert ann.briefing["incarnation"] == 2
        assert ann.briefing["lost"][0]["holder"] == "bob"


def test_seconds_and_texts_are_durations_and_nonsense_is_invalid(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ws:
        ws.claim("a", ttl=90)
        ws.claim("b", ttl="90s")
        for ttl in (-1, "soon", float("nan"), True, 1e300):
            with pytest.raises(dibs.Invalid):
                ws.claim("c", ttl=ttl)
        with pytest.raises(dibs.Invalid):
            ws.claim()
        with pytest.raises(dibs.Invalid):
            ws.claim("c", mode="own")  # type: ignore[arg-type]


def test_a_folder_that_is_no_workspace_is_invalid(tmp_path: Path) -> None:
    with pytest.raises(dibs.Invalid):
        dibs.open(str(tmp_path), agent="ann")


def test_the_public_names_are_there() -> None:
    for name in dir(dibs):
        assert getattr(dibs, name) is not None
    with pytest.raises(AttributeError):
        _ = dibs.nonsense


def test_a_release_can_hand_over_and_record_a_commit(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ann, dibs.open(str(shell.folder), agent="bob") as bob:
        ann.claim("x.py").release(to="bob")
        ann.claim("y.py").release(commit=shell.commit())
        assert [c["agent"] for c in bob.status()["claims"]] == ["bob"]
        assert os.path.samefile(bob.root, shell.folder)


def test_the_times_of_a_thing_are_the_same_in_every_answer(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(shell.folder)
    with dibs.open(folder, agent="ann") as ann:
        ann.claim("x", ttl=600)
        ann.task_add("a task", id="t")
    noise = itertools.cycle((0, 1, 3, -2, 250))
    real = clock.wall
    monkeypatch.setattr(clock, "wall", lambda: real() + next(noise))
    seen = set()
    for _ in range(10):  # each as a command of its own sees it
        with dibs.open(folder) as viewer:
            (claim,) = viewer.status()["claims"]
            created = viewer.task_show("t")["task"]["created_at"]
            seen.add((claim["since"], claim["expires_at"], created))
    assert len(seen) == 1, seen


def test_a_wall_clock_that_was_set_is_followed(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(shell.folder)
    with dibs.open(folder, agent="ann") as ann:
        ann.claim("x", ttl=600)
        (before,) = ann.status()["claims"]
        real = clock.wall
        monkeypatch.setattr(clock, "wall", lambda: real() + 3_600_000)
        (after,) = ann.status()["claims"]
        assert after["expires_at"] > before["expires_at"]
        ann.claim("y", ttl=600)
        assert len({one["expires_at"] for one in ann.status()["claims"]}) == 2


def test_init_makes_a_workspace_and_running_it_again_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    root = dibs.init(str(folder))
    assert os.path.samefile(root, folder)
    config = (folder / ".dibs" / "config.toml").read_bytes()
    with dibs.open(root, agent="ann") as ws, ws.claim("x.py"):
        assert dibs.init(str(folder)) == root
        assert len(ws.status()["claims"]) == 1
    assert (folder / ".dibs" / "config.toml").read_bytes() == config
    assert not (folder / ".claude").exists()


def test_init_puts_in_the_hooks_of_the_clients_that_are_named(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    dibs.init(str(tmp_path), clients=["claude"])
    assert "dibs" in (tmp_path / ".claude" / "settings.json").read_text()
    wrongs: list[Any] = [["nobody"], [1], "claude,,x"]
    for wrong in wrongs:
        with pytest.raises(dibs.Invalid):
            dibs.init(str(tmp_path), clients=wrong)
    with pytest.raises(dibs.Invalid):
        dibs.init(str(tmp_path / "nothing"))


def test_durations_inside_a_list_of_tasks_are_seconds_or_texts(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ws:
        ws.run_start("r", id="r", tasks=[{"title": "x", "id": "x", "expect": 90}])
        ws.task_add("whole", id="w", priority=9)
        taken = ws.task_claim("w")
        parts: list[dict[str, Any]] = [
            {"title": "a", "id": "a", "expect": "30m"},
            {"title": "b", "id": "b", "expect": 1.5},
        ]
        ws.task_split("w", token=taken["token"], children=parts)
        assert parts[0]["expect"] == "30m"
        shown = [ws.task_show(name)["task"].get("expected") for name in ("x", "a", "b")]
        assert shown == [90, 1800, 1.5]
        taken = ws.task_claim("a")
        wrongs: list[Any] = ["soon", -1, True, [], 1e300]
        for wrong in wrongs:
            with pytest.raises(dibs.Invalid) as refused:
                ws.task_split("a", token=taken["token"], children=[{"title": "c"}, {"title": "d", "expect": wrong}])
            assert refused.value.field == "expect"
        token = str(taken["token"])
        children = '[{"title": "c", "id": "c", "expect": "2h"}]'
        shell.json("task", "split", "a", "--token", token, "--children", children, "--as", "ann", exit=0)
        assert ws.task_show("c")["task"]["expected"] == 7200


WAITER = """
import sys, dibs
ws = dibs.open(sys.argv[1], agent="bob")
ws.claim("free.py", wait=5)
print("never waited", flush=True)
sys.stdin.readline()
ws.claim("held.py", wait=60)
"""


def _pipes(folder: Path) -> list[str]:
    wakes = folder / ".dibs/local/wakes"
    return [one.name for one in wakes.iterdir() if not one.name.startswith("@")] if wakes.is_dir() else []


@pytest.mark.parametrize("clears", ["sweep", "boot"])
def test_a_process_listens_only_while_it_waits_and_a_killed_one_leaves_no_pipe_for_long(
    shell: Shell, clears: str
) -> None:
    shell.json("claim", "held.py", "--as", "ann", exit=0)
    waiter = subprocess.Popen(
        [sys.executable, "-c", WAITER, str(shell.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert waiter.stdin is not None
        assert waiter.stdout is not None
        assert waiter.stdout.readline() == "never waited\n"
        assert _pipes(shell.folder) == []
        waiter.stdin.write("go on\n")
        waiter.stdin.flush()
        until(lambda: _pipes(shell.folder))
        shell.json(clears, "--as", "carl", exit=0)
        assert _pipes(shell.folder), "it waits, and its pipe stays"
    finally:
        waiter.kill()
        waiter.communicate()
    assert _pipes(shell.folder)
    shell.json(clears, "--as", "carl", exit=0)
    assert _pipes(shell.folder) == []
