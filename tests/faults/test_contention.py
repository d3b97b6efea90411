from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faults.kit import World, size, soon

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def test_many_processes_contend_for_one_path_and_never_two_hold_it_and_each_wins(world: World, tmp_path: Path) -> None:
    processes, seconds = size(24, 100), size(4, 30)
    actors = [world.blank() for _ in range(processes)]
    until = soon(seconds * 1000 + 500)
    for number, actor in enumerate(actors):
        named = {"marker": str(tmp_path / "held"), "until": until}
        actor.send("job", name="contend", folder=str(world.folder), agent=f"agent-{number}", **named)
    reports = [actor.receive(seconds + 120.0) for actor in actors]
    assert all(report["wins"] >= 1 for report in reports)
    tokens = [int(token) for token in (tmp_path / "held.token").read_text().split()]
    assert tokens == sorted(set(tokens))
    assert len(tokens) == sum(report["wins"] for report in reports)
    waited = sorted(ms for report in reports for ms in report["waited"])
    print(
        f"{processes} processes, {len(tokens)} wins in {seconds} s, waits: median {waited[len(waited) // 2]} ms, "
        f"99% {waited[len(waited) * 99 // 100]} ms, longest {waited[-1]} ms, "
        f"wins from {min(report['wins'] for report in reports)} to {max(report['wins'] for report in reports)}"
    )
    assert waited[-1] < size(60_000, 10_000), "each wins within 10 s"
    world.check()
