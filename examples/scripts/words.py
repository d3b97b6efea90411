"""The two steps of map_reduce.toml: count the words of one text, and add up the counts of all."""

# ruff: noqa: INP001, T201 - a script that prints its result

from __future__ import annotations

import collections
import json
import re
import sys
from pathlib import Path


def count(item: str) -> dict[str, object]:
    """The words of one text, with how often they occur."""
    words = re.findall(r"[a-z']+", Path(item).read_text(encoding="utf-8").lower())
    return {"counts": collections.Counter(words)}


def add_up(results: list[dict[str, dict[str, int]]]) -> dict[str, object]:
    """All of them together. It can be given its own results again, so it also works in layers."""
    total: collections.Counter[str] = collections.Counter()
    for result in results:
        total.update(result["counts"])
    most = sorted(total.items(), key=lambda pair: (-pair[1], pair[0]))[:5]
    return {"counts": total, "words": sum(total.values()), "most": most}


if __name__ == "__main__":
    given = json.load(sys.stdin)
    step = sys.argv[1]
    print(json.dumps(count(given["payload"]["item"]) if step == "count" else add_up(list(given["inputs"].values()))))
