"""`dibs bench`: a very small run from end to end, and the arithmetic behind its figures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dibs.bench import contention, figures, plot, table
from dibs.bench.environment import Environment
from dibs.bench.figures import AT_LEAST, AT_MOST, Beside, Row, Target
from dibs.bench.place import Bench
from dibs.doors.cli import bench as command
from dibs.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Callable

MACHINE = {
    "dibs": "0", "python": "3", "sqlite": "3", "cpus": 2, "load": 0.5, "filesystem": "ext4", "fsync_us": 300.0,
    "at": "2026-01-01T00:00:00Z",
}  # fmt: skip


def dibs_bench(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    script = Path(sys.executable).with_name("dibs")
    return subprocess.run(
        [script, "bench", "--quick", "--no-peers", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_quick_run_prints_one_object_and_writes_json_and_svg(tmp_path: Path) -> None:
    done = dibs_bench(tmp_path, "--only", "claims", "--json")
    assert done.returncode in {0, 1}, done.stderr  # a target may be missed on a busy machine, and the run says so
    printed = json.loads(done.stdout)
    assert printed["ok"] is (done.returncode == 0) is (not printed["missed"])
    written = json.loads((tmp_path / "dibs-bench" / "bench.json").read_text())
    assert written["rows"] == printed["rows"]
    rows: dict[str, dict[str, Any]] = {row["name"]: row for row in written["rows"]}
    assert set(rows) == {"bare apsw transaction", "claim operation", "Python API claim"}
    operation = rows["claim operation"]
    assert operation["unit"] == "µs"
    assert operation["value"] > 0
    assert operation["target"] == {"kind": "at least", "limit": 0.5, "of": "ratio"}
    assert operation["met"] is (operation["ratio"] >= 0.5)
    assert {"cpus", "python", "sqlite", "filesystem"} <= set(written["machine"])
    assert ET.parse(tmp_path / "dibs-bench" / "bench.svg").getroot().tag.endswith("svg")  # noqa: S314 - our own
    assert not list(tmp_path.glob(".dibs-bench-*")), "the scratch folder is gone"


def test_words_that_are_off_are_refused_before_anything_is_measured(tmp_path: Path) -> None:
    for words in (["--only", "speed"], ["--seconds", "0"], ["--seconds", "soon"], ["--dir", str(tmp_path / "none")]):
        done = dibs_bench(tmp_path, *words, "--json")
        assert done.returncode == 64, words
        assert json.loads(done.stdout)["error"]["code"] == "invalid"


def test_the_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(["--help"]) == 0
    shown = capsys.readouterr().out
    for option in ("--quick", "--only", "--no-peers", "--out", "--env", "--dir", "--seconds", "--json"):
        assert option in shown


def test_contending_processes_never_hold_one_path_together(tmp_path: Path) -> None:
    with Bench(str(tmp_path), quick=True) as bench:
        outcome = contention.contend(bench, "path", 2, 0.5)
    assert outcome.errors == []
    assert sum(outcome.counts) > 0
    assert 0 < outcome.p50 <= outcome.p99 <= outcome.longest


def test_without_a_registry_the_peers_are_not_there_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dibs.bench.environment._run", _no_registry)
    environment = Environment(str(tmp_path / "env"))
    with Bench(str(tmp_path), quick=True) as bench:
        environment.prepare(bench)
    assert environment.versions == {}
    assert environment.absent == "not installed: ERROR: no such host"


def _no_registry(command: list[str], _timeout: float) -> str:
    raise subprocess.CalledProcessError(1, command, stderr="a warning\nERROR: no such host\n")


def test_the_bench_leaves_the_environment_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIBS_AGENT", "somebody")
    with Bench(str(tmp_path), quick=True) as bench:
        assert "DIBS_AGENT" not in os.environ
        folder = Path(bench.folder)
        assert folder.is_dir()
    assert os.environ["DIBS_AGENT"] == "somebody"
    assert not folder.exists()


# --- the arithmetic


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([3.0], 0.5, 3.0),
        ([1.0, 2.0], 0.5, 1.5),
        ([5.0, 1.0, 3.0], 0.5, 3.0),
        ([1.0, 2.0, 3.0, 4.0], 0.0, 1.0),
        ([1.0, 2.0, 3.0, 4.0], 1.0, 4.0),
        ([float(n) for n in range(101)], 0.99, 99.0),
    ],
)
def test_a_quantile_lies_between_its_neighbours(values: list[float], share: float, expected: float) -> None:
    assert figures.quantile(values, share) == pytest.approx(expected)


def test_a_quantile_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="no values"):
        figures.median([])


def test_the_slowest_share_is_one_when_all_got_the_same() -> None:
    assert figures.slowest_share([4, 4, 4]) == 1.0
    assert figures.slowest_share([1, 5]) == pytest.approx(1 / 3)
    assert figures.slowest_share([0, 0]) == 0.0
    assert figures.slowest_share([]) == 0.0


def test_the_sides_take_turns_and_the_first_place_moves_on() -> None:
    order: list[str] = []

    def side(name: str) -> Callable[[int], list[float]]:
        def burst(times: int) -> list[float]:
            order.append(name)
            return [float(times)] * times

        return burst

    taken = figures.alternate({"a": side("a"), "b": side("b")}, rounds=2, burst=3)
    assert order == ["a", "b", "a", "b", "b", "a"]  # a round that is thrown away, then two that begin in turn
    assert {name: len(times) for name, times in taken.items()} == {"a": 6, "b": 6}


def test_a_ratio_of_rates_is_turned_round() -> None:
    assert Beside([2.0, 4.0, 9.0], [1.0, 2.0, 3.0], "it").ratio == 2.0
    beside = Beside([2.0, 4.0, 9.0], [1.0, 2.0, 3.0], "it", rates=True)
    assert (beside.ratio, beside.least) == (0.5, 0.5)


def test_a_target_is_met_at_its_limit() -> None:
    assert Target(AT_MOST, 3.0).met_by(3.0)
    assert not Target(AT_MOST, 3.0).met_by(3.1)
    assert Target(AT_LEAST, 0.5).met_by(0.5)
    assert not Target(AT_LEAST, 0.5).met_by(0.4)
    assert Target(AT_LEAST, 0.5).used(0.25) == 2.0
    assert Target(AT_MOST, 500, "value").used(100) == 0.2
    assert Target(AT_MOST, 0, "value").used(0) == 0.0


def test_a_row_without_a_figure_misses_its_target() -> None:
    assert Row("g", "n", None, "ms", target=Target(AT_MOST, 1.0)).met is False
    assert Row("g", "n", 2.0, "ms").met is None
    assert Row("g", "n", 2.0, "ms", target=Target(AT_MOST, 2.0, "value")).met is True


def test_missed_targets_are_named_and_drawn() -> None:
    rows = [
        Row("cold", "dibs <claim>", 40.0, "ms", beside=Beside([4.0], [1.0], "the floor"), target=Target(AT_MOST, 3.0),
            more={"min": 30.0}),
        Row("claims", "bare", 300.0, "µs", more={"min": 200.0}),
        Row("claims", "a peer", None, "", note="not installed"),
    ]  # fmt: skip
    assert table.missed(rows) == ["cold: dibs <claim>"]
    assert table.verdict(rows) == "1 of 1 targets missed: cold: dibs <claim>"
    drawn = ET.fromstring(plot.svg(MACHINE, rows))  # noqa: S314 - our own
    words = [element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert "cold: dibs <claim>" in words
    assert any(word and "4.00x" in word for word in words)
    assert rows[2].as_json()["value"] is None


def test_the_table_shows_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    contended = {"processes": 2.0, "p50_ms": 1.0, "p99_ms": 2.0, "longest_ms": 3.0, "slowest": 0.9, "errors": 0.0}
    rows = [
        Row("claims", "claim operation", 300.0, "µs", more={"min": 200.0}),
        Row("contention", "2 processes, one path", 500.0, "/s", more=contended),
    ]
    table.show(MACHINE, rows)
    shown = capsys.readouterr().out
    assert "claims: claim operation" in shown
    assert "2 processes, one path" in shown
    assert "all 0 targets met" in shown


def test_an_unknown_folder_is_refused() -> None:
    with pytest.raises(Invalid):
        Bench("/nowhere/at/all", quick=True)
