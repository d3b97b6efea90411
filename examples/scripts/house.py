"""A planner that breaks a task down, what its parts do, and how it is finished; for plan.toml."""

# ruff: noqa: INP001, T201 - a script that prints its result

from __future__ import annotations

import json
import sys


def plan(parts: list[str]) -> dict[str, object]:
    """A task for each part. They may wait for each other: the roof is put on the walls."""
    tasks = []
    for part in parts:
        task = {"id": f"{part}-{ROOT}", "title": f"build the {part}", "for": "worker"}
        task["payload"] = {"step": "build", "item": part}
        if part == "roof":
            task["after"] = [f"walls-{ROOT}"]
        tasks.append(task)
    return {"tasks": tasks}


def finish(results: list[dict[str, str]]) -> dict[str, object]:
    """All parts are there."""
    return {"built": sorted(result["part"] for result in results)}


if __name__ == "__main__":
    given = json.load(sys.stdin)
    ROOT = given["task"]["id"].replace("/", "-")
    if sys.argv[1] == "plan":
        print(json.dumps(plan(given["payload"]["item"])))
    elif sys.argv[1] == "finish":
        print(json.dumps(finish(list(given["inputs"].values()))))
    else:
        print(json.dumps({"part": given["payload"]["item"]}))
