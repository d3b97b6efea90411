"""How an elector of vote.toml chooses. What it prints is its ballot, which the worker casts in its name."""

# ruff: noqa: INP001, T201 - a script that prints its result

from __future__ import annotations

import json
import sys

CHOICES = {"careful": "no", "bold": "yes", "tired": "no"}

if __name__ == "__main__":
    given = json.load(sys.stdin)
    print(CHOICES[given["payload"]["elector"]])
