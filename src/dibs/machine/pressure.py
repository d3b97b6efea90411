"""How much the machine's work waits for its processors, disks or memory: Linux' pressure stall information (PSI)."""

from __future__ import annotations

FOLDER = "/proc/pressure"


def now(of: str) -> float | None:
    """The percentage of the last 10 seconds in which some task waited for it; None where that is not known."""
    try:
        with open(f"{FOLDER}/{of}", encoding="ascii") as file:
            words = file.readline().split()
        return float(words[1].removeprefix("avg10="))
    except (OSError, ValueError, IndexError):
        return None
