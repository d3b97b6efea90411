"""A fleet's month leaves a store of bounded size, and a call at its end costs what one at its beginning did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks import month
from dibs.operations.upkeep import log_retention

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_a_short_month_is_bounded_and_flat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_retention, "SEAL_EVENTS", 100)
    monkeypatch.setattr(month, "SWEEP_EVERY_MS", month.DAY // 6)
    monkeypatch.setattr(month, "SESSION_MS", month.DAY)
    lines: list[dict[str, int]] = []
    found = month.run(str(tmp_path / "place"), 12, 3, 2_400, lines.append, log={"events": 500})
    assert month.judged(found, limit=12_000_000) == []
    verified = found["verify"]
    assert verified["events"] == lines[-1]["events"] > 3 * 500, "archives and store together have every event"
    assert verified["archives"] > 10
    assert all(line["live_events"] <= 500 + 100 + 60 for line in lines)


def test_what_grows_is_named() -> None:
    line = {"bytes": 10, "claim_rows": 1, "status_rows": 100, "boot_rows": 5, "claim_steps": 200, "status_steps": 900,
            "boot_steps": 300}  # fmt: skip
    grown = {**line, "bytes": month.LIMIT_BYTES + 1, "claim_steps": 400, "status_rows": 200}
    days = [line] * 10 + [grown]
    wrong = month.judged({"days": days, "verify": {"findings": 0}})
    assert [one.split()[:2] for one in wrong] == [
        [str(month.LIMIT_BYTES + 1), "bytes"],
        ["a", "claim"],
        ["a", "status"],
    ]


@pytest.mark.torture
def test_a_month_of_fifty_agents(tmp_path: Path) -> None:
    found = month.run(str(tmp_path / "place"), 30, 50, 1_000_000, lambda _: None)
    assert month.judged(found) == []
    assert found["verify"]["events"] > 900_000
