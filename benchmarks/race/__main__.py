"""`python -m benchmarks.race`, which is `make race`: the same accidents for dibs, its peers and the plain ways.

Prints the table, and writes it into docs/internals/comparison.md with `--write`. Servers run on loopback; all processes
end with the race. Exit code 1 if dibs itself granted twice, lost an update, or failed a scene.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.race import scenes
from benchmarks.race.contestants import Contestant, Left, everyone

if TYPE_CHECKING:
    from collections.abc import Callable

ATTEMPTS = 2  # at a scene: on a busy machine a peer's agents may stumble over each other when they start
ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENT = ROOT / "docs" / "internals" / "comparison.md"
BEGIN, END = "<!-- race: made by `make race ARGS=--write` -->", "<!-- end of race -->"
HEAD = (
    "", "one free path", "16 takers: grants in 5 rounds", "median, longest", "expired and asked for again",
    "late holder", "2 readers, upgrade", "same file, other words", "kill -9 of the holder", "80 edits by 8 editors",
)  # fmt: skip


def race(who: Contestant, folder: str) -> dict[str, Any]:
    """All scenes of one contestant; one that fails is played once more, and says why if it fails again."""
    found: dict[str, Any] = {}
    url = who.start(f"{folder}/{who.name}")
    try:
        for name, scene in scenes.SCENES.items():
            for attempt in range(1, ATTEMPTS + 1):
                found[name] = played(who, scene, f"{folder}/{who.name}-{name}-{attempt}", url)
                sys.stderr.write(f"{who.name}: {name}: {json.dumps(found[name])}\n")
                if "error" not in found[name]:
                    break
    finally:
        who.stop()
    return found


def played(who: Contestant, scene: Callable[[scenes.Crew], dict[str, Any]], place: str, url: str) -> dict[str, Any]:
    """One scene in a repository of its own; or why it failed."""
    scenes.repository(place)
    who.prepare(place)
    crew = scenes.Crew(who, place, url)
    try:
        return scene(crew)
    except (scenes.Failed, AssertionError) as error:
        return {"error": str(error) or type(error).__name__}
    finally:
        crew.end()


def row(who: Contestant, found: dict[str, Any]) -> list[str]:
    """A contestant's line."""

    def cell(name: str, text: Any) -> str:
        one = found[name]
        return f"failed: {one['error'][:60]}" if "error" in one else text(one)

    title = f"{who.title} {who.version}".strip()
    return [
        title,
        cell("uncontended", lambda one: f"{one['median_ms']:.1f} ms"),
        cell("sixteen", lambda one: f"{one['granted']}" + (f", **{one['double']} double**" if one["double"] else "")
             + (f", nobody in {one['none']}" if one["none"] else "")),
        cell("sixteen", lambda one: f"{one['median_ms']:.0f} ms, {one['max_ms']:.0f} ms"),
        cell("expired", lambda one: "never expires" if not one["regained"]
             else "granted to the next" + (", **and to both**" if one["double"] else "")),
        cell("expired", lambda one: {True: "is told", False: "**is not told**", None: "cannot ask"}[one["told"]]
             if one["regained"] else "does not apply"),
        cell("readers", lambda one: "no readers" if not one["both"] else
             ("**granted beside a reader**" if one["double"] else
              "refused, then granted" if one["upgraded"] else "refused, not granted after")),
        cell("overlaps", lambda one: f"{one['double']} of {one['pairs']} granted twice"
             + (f", {one['refused']} wrong refusals" if one["refused"] else "")),
        cell("killed", lambda one: f"free after {one['seconds']:.1f} s" if one["seconds"] is not None
             else f"not free in {scenes.FREE_S:.0f} s"),
        cell("fleet", lambda one: f"{one['done']} done" + (f" in the {scenes.FLEET_S:.0f} s that there are, "
             if one["done"] < one["wanted"] else ", ") + (f"**{one['lost']} lost**" if one["lost"] else "none lost")
             + f", {one['seconds']:.0f} s"),
    ]  # fmt: skip


def main(arguments: list[str]) -> int:
    """Race, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.race", description="The race with the peers.")
    parser.add_argument("--only", default="", metavar="NAME[,NAME]", help="only these contestants")
    parser.add_argument("--write", action="store_true", help="write the table into docs/internals/comparison.md")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    words = parser.parse_args(arguments)
    known = {who.name: who for who in everyone()}
    wanted = [name.strip() for name in words.only.split(",") if name.strip()] or list(known)
    if unknown := [name for name in wanted if name not in known]:
        parser.error(f"--only: there is no {', '.join(unknown)}; there are {', '.join(known)}")
    chosen = [who for name, who in known.items() if name in wanted]
    folder = tempfile.mkdtemp(prefix="dibs-race-")
    rows, results, left = [], {}, []
    try:
        for who in chosen:
            try:
                sys.stderr.write(f"{who.name}: installing, unless it is there\n")
                who.install(ROOT / ".clients" / "race")
                results[who.name] = race(who, folder)
            except (Left, OSError) as error:
                left.append(f"{who.title}: {error}")
                continue
            rows.append(row(who, results[who.name]))
        place = f"{folder}/worktrees"
        scenes.repository(place)
        results["worktrees"] = trees = scenes.worktrees(place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    text = table(rows, trees, left)
    if words.json:
        print(json.dumps({"results": results, "left": left}))
    else:
        print(text)
    if words.write:
        whole = DOCUMENT.read_text(encoding="utf-8")
        before, _, rest = whole.partition(BEGIN)
        after = rest.partition(END)[2]
        DOCUMENT.write_text(f"{before}{BEGIN}\n{text}{END}{after}", encoding="utf-8")
    own = results.get("dibs", {})
    lost = any("error" in one or one.get("double") or one.get("lost") for one in own.values())
    return 1 if lost else 0


def table(rows: list[list[str]], trees: dict[str, Any], left: list[str]) -> str:
    """The table, the line about worktrees, and who did not take part."""
    lines = ["| " + " | ".join(HEAD) + " |", "|" + " --- |" * len(HEAD)]
    lines += ["| " + " | ".join(cells) + " |" for cells in rows]
    merged = f"{trees['conflicts']} of {trees['merges']} merges ended in a conflict; {trees['unmerged']} of"
    told = f"git worktrees ({scenes.EDITORS} editors, the same edits, merged one after the other): {merged}"
    lines += ["", f"{told} {trees['wanted']} edits wait in branches for somebody to merge them by hand."]
    lines += [f"Did not take part: {one}" for one in left]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
