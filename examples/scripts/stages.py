"""The four stages of pipeline.toml. Each reads one JSON object and prints one: that is all that a worker's command is.

The input has the task, its payload ({"step", "item"}) and, by the ids of the tasks before it, their results. A stage
takes as long as SECONDS says, so that there is something to see. Exit code 65 means: this can never work.
"""

# ruff: noqa: INP001, T201 - a script that prints its result

from __future__ import annotations

import collections
import json
import os
import re
import sys
import time
from pathlib import Path

SECONDS = float(os.environ.get("STAGE_SECONDS", "0.2"))
FOR_GOOD = 65


def main() -> int:
    """One stage of one item."""
    given = json.load(sys.stdin)
    stage = STAGES[sys.argv[1]]
    for percent in (25, 50, 75):
        time.sleep(SECONDS / 4)
        print(f"dibs: progress {percent} {sys.argv[1]}", file=sys.stderr)
    time.sleep(SECONDS / 4)
    print(json.dumps(stage(given["payload"].get("item"), list(given["inputs"].values()))))
    return 0


def discovery(item: str, _: list[dict[str, object]]) -> dict[str, object]:
    """How large the text is."""
    path = Path(item)
    if not path.is_file():
        print(f"there is no {item}", file=sys.stderr)
        sys.exit(FOR_GOOD)
    text = path.read_text(encoding="utf-8")
    return {"path": item, "lines": len(text.splitlines()), "letters": len(text)}


def analysis(item: str, before: list[dict[str, object]]) -> dict[str, object]:
    """Its most frequent words of more than three letters."""
    words = re.findall(r"[a-z']{4,}", Path(item).read_text(encoding="utf-8").lower())
    common = collections.Counter(words).most_common()
    best = sorted(common, key=lambda pair: (-pair[1], pair[0]))[:3]
    return {**before[0], "words": [word for word, _ in best]}


def transformation(_: str, before: list[dict[str, object]]) -> dict[str, object]:
    """A line about it."""
    found = before[0]
    words = found["words"]
    return {**found, "summary": f"{found['path']}: {found['lines']} lines about {words}"}


def validation(_: None, before: list[dict[str, object]]) -> dict[str, object]:
    """Every text has a summary, and none has two."""
    paths = [found["path"] for found in before]
    if len(set(paths)) != len(paths) or not all(found.get("summary") for found in before):
        print("a text is missing, or there twice", file=sys.stderr)
        sys.exit(FOR_GOOD)
    return {"checked": len(before), "summaries": [found["summary"] for found in before]}


STAGES = {
    "discovery": discovery,
    "analysis": analysis,
    "transformation": transformation,
    "validation": validation,
}

if __name__ == "__main__":
    sys.exit(main())
