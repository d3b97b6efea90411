"""Landing: changes a minute, compared with a plain script that merges and checks one branch after the other.

Both land the same branches on the same main, with the same check, which only sleeps: what is left is how often it runs.
Then what a look of the radar costs by the number of worktrees: the first one, one in which nothing has changed, and one
in which one file of one worktree has.
"""

from __future__ import annotations

import os
import subprocess
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks.figures import AT_LEAST, Comparison, Row, Target, median
from benchmarks.place import script
from dibs.running import landing_wait, radar
from dibs.session.session import Session

if TYPE_CHECKING:
    from benchmarks.place import Bench

GROUP = "land"
PLAIN, BATCHES = "a script, one after the other", "dibs land, batches of 8"
TARGET = Target(AT_LEAST, 2.0)  # with a check of seconds, eight together are to be twice as fast at least
WHO = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
LOOKS = 5  # of each kind; the median counts


def measure(bench: Bench) -> list[Row]:
    """The rows of this group."""
    seconds, count = (0.3, 4) if bench.quick else (2.0, 16)
    bench.say(f"land: {count} branches, a check of {seconds:g} s, by a script and by dibs")
    plain = _script(_repository(bench, "land-script", count), count, seconds)
    ours = _landed(_repository(bench, "land-dibs", count), count, seconds)
    note = f"a check of {seconds:g} s"
    rows = [
        Row(GROUP, PLAIN, 60 * count / plain, "a minute", note=note),
        Row(GROUP, BATCHES, 60 * count / ours, "a minute", note=note, target=TARGET,
            beside=Comparison([ours], [plain], "the script's rate", rates=True)),
    ]  # fmt: skip
    return [*rows, *_looks(bench)]


def _git(folder: str, *words: str, given: str = "") -> None:
    subprocess.run(["git", *WHO, *words], cwd=folder, check=True, capture_output=True, input=given.encode())


def _repository(bench: Bench, name: str, count: int) -> str:
    """A repository with that many branches, each with a file of its own."""
    folder = bench.sub(name)
    _git(folder, "init", "-q", "-b", "main")
    _git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    stream = []
    for number in range(count):
        stream += [f"commit refs/heads/b{number}", "committer bench <bench@localhost> 1700000000 +0000", "data 1", "x"]
        stream += ["from refs/heads/main^0", f"M 100644 inline f{number}.txt", "data 2", "1\n"]
    _git(folder, "fast-import", "--quiet", given="\n".join([*stream, "done", ""]))
    return folder


def _script(folder: str, count: int, seconds: float) -> float:
    """What people write: merge in a clean worktree, run the check, move main."""
    text = f"""set -e
git worktree add -q --detach ../script-tree main
cd ../script-tree
for n in $(seq 0 {count - 1}); do
    git checkout -q --detach main
    git {" ".join(WHO)} merge -q --no-ff -m "Land b$n" "b$n"
    sleep {seconds}
    git update-ref refs/heads/main HEAD main
done
"""
    begun = perf_counter()
    subprocess.run(["sh", "-c", text], cwd=folder, check=True, capture_output=True)
    return perf_counter() - begun


def _landed(folder: str, count: int, seconds: float) -> float:
    subprocess.run([script(), "init", folder], check=True, capture_output=True)
    with open(f"{folder}/.dibs/config.toml", "a", encoding="utf-8") as file:
        file.write(f'\n[land]\ncheck = "sleep {seconds}"\nbatch = 8\n')
    session = Session(folder, None)
    try:
        begun = perf_counter()
        for number in range(count):
            fields = {"branch": f"b{number}", "onto": "main"}
            session.run(session.operation("land"), session.identify(f"agent-{number}"), fields)
        landed = landing_wait.land_all(session, session.identify("lander"))
        taken = perf_counter() - begun
    finally:
        session.close()
    assert landed == count, f"{landed} of {count} landed"
    return taken


# --- the radar


def _looks(bench: Bench) -> list[Row]:
    sizes, files = ((2, 3), 200) if bench.quick else ((5, 10, 20), 20_000)
    folder = bench.sub("radar/main")
    _git(folder, "init", "-q", "-b", "main")
    for number in range(files):
        path = f"{folder}/d{number // 400}/s{number // 40 % 10}"
        os.makedirs(path, exist_ok=True)
        with open(f"{path}/f{number}.py", "w", encoding="utf-8") as file:
            file.write(f"# {number}\n" + "x = 1\n" * 20)
    subprocess.run([script(), "init", folder], check=True, capture_output=True)
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "--no-verify", "-m", "first")
    session = Session(folder, None)
    rows = []
    made = 0
    try:
        for size in sizes:
            while made < size - 1:  # main's own worktree is one of them
                tree = f"{bench.folder}/radar/w{made}"
                _git(folder, "worktree", "add", "-q", "-b", f"w{made}", tree)
                with open(f"{tree}/d0/s0/f{made}.py", "a", encoding="utf-8") as file:
                    file.write("changed = True\n")
                _git(tree, "commit", "-q", "-a", "--no-verify", "-m", "changed")
                made += 1
            bench.say(f"radar: {size} worktrees of {files} files")
            rows += _rows(session, size, files, f"{bench.folder}/radar/w0/d0/s0/f{size + 20}.py")
    finally:
        session.close()
    return rows


def _rows(session: Session, size: int, files: int, changed: str) -> list[Row]:
    call = session.identify("looker")
    note = f"{files} files each"
    first = radar.look(session, call).seconds
    same = median([radar.look(session, call).seconds for _ in range(LOOKS)])
    times = []
    for number in range(LOOKS):
        with open(changed, "a", encoding="utf-8") as file:
            file.write(f"look = {number}\n")
        times.append(radar.look(session, call).seconds)
    return [
        Row(GROUP, f"radar, {size} worktrees, first look", first, "s", note=note),
        Row(GROUP, f"radar, {size} worktrees, nothing changed", same, "s", note=note),
        Row(GROUP, f"radar, {size} worktrees, one file changed", median(times), "s", note=note),
    ]
