"""Landing: changes a minute, compared with a plain script that merges and checks one branch after the other.

Both land the same branches of 5 and of 10 worktrees on the same main, with the same check, which only sleeps: what is
left is how often it runs. The script lands them all; of dibs each worktree runs its own `dibs land`, all at once.

Then what a look of the radar costs by the number of worktrees: the first one, one in which nothing has changed, and one
in which one file of one worktree has. Their 400,000 files are in memory where there is room: right after they were made
they would be in the page cache anyway, and to make them on a disk takes most of the time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks.figures import AT_LEAST, Comparison, Row, Target, median
from benchmarks.place import script
from dibs.client.session import Session
from dibs.land import radar

if TYPE_CHECKING:
    from benchmarks.place import Bench

GROUP = "land"
TARGETS = {5: Target(AT_LEAST, 1.3), 10: Target(AT_LEAST, 2.0)}  # of the script's rate, with a check of seconds
WHO = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
LOOKS = 5  # of each kind; the median counts
MEMORY, ROOM_BYTES = "/dev/shm", 6 << 30  # noqa: S108 - a folder of its own in it


def measure(bench: Bench) -> list[Row]:
    """The rows of this group."""
    seconds, sizes, samples = (0.3, (3,), 1) if bench.quick else (2.0, (5, 10), 2)
    rows = []
    for count in sizes:
        bench.say(f"land: {count} worktrees, a check of {seconds:g} s, by a script and by dibs")
        plain, ours = [], []
        for sample in range(samples):
            plain.append(_script(_repository(bench, f"land-script-{count}-{sample}", count), count, seconds))
            ours.append(_landed(_repository(bench, f"land-dibs-{count}-{sample}", count), count, seconds))
        note = f"a check of {seconds:g} s"
        name = f"{count} worktrees: "
        rows += [
            Row(GROUP, f"{name}a script, one after the other", 60 * count / median(plain), "a minute", note=note),
            Row(GROUP, f"{name}dibs land, batches of 8", 60 * count / median(ours), "a minute", note=note,
                target=TARGETS.get(count), beside=Comparison(ours, plain, "the script's rate", rates=True)),
        ]  # fmt: skip
    return [*rows, *_looks(bench)]


def _git(folder: str, *words: str, given: str = "") -> None:
    subprocess.run(["git", *WHO, *words], cwd=folder, check=True, capture_output=True, input=given.encode())


def _repository(bench: Bench, name: str, count: int) -> str:
    """A repository with that many worktrees, each on a branch with a file of its own."""
    folder = bench.sub(f"{name}/main")
    _git(folder, "init", "-q", "-b", "main")
    _git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    stream = []
    for number in range(count):
        stream += [f"commit refs/heads/b{number}", "committer bench <bench@localhost> 1700000000 +0000", "data 1", "x"]
        stream += ["from refs/heads/main^0", f"M 100644 inline f{number}.txt", "data 2", "1\n"]
    _git(folder, "fast-import", "--quiet", given="\n".join([*stream, "done", ""]))
    for number in range(count):
        _git(folder, "worktree", "add", "-q", f"../b{number}", f"b{number}")
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
    """An agent in each worktree lands its branch."""
    subprocess.run([script(), "init", folder], check=True, capture_output=True)
    with open(f"{folder}/.dibs/config.toml", "a", encoding="utf-8") as file:
        file.write(f'\n[land]\ncheck = "sleep {seconds}"\nbatch = 8\n')
    begun = perf_counter()
    agents = [
        subprocess.Popen([script(), "land", "--as", f"agent-{number}", "--workspace", folder],
                         cwd=f"{folder}/../b{number}", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for number in range(count)
    ]  # fmt: skip
    codes = [agent.wait() for agent in agents]
    taken = perf_counter() - begun
    assert codes == [0] * count, f"not all landed: {codes}"
    return taken


# --- the radar


def _looks(bench: Bench) -> list[Row]:
    if bench.quick or not os.path.isdir(MEMORY) or shutil.disk_usage(MEMORY).free < ROOM_BYTES:
        return _looks_in(bench, bench.sub("radar"))
    with tempfile.TemporaryDirectory(prefix="dibs-bench-", dir=MEMORY) as parent:
        return _looks_in(bench, parent)


def _looks_in(bench: Bench, parent: str) -> list[Row]:
    sizes, files = ((2, 3), 200) if bench.quick else ((5, 10, 20), 20_000)
    folder = f"{parent}/main"
    os.makedirs(folder)
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
                tree = f"{parent}/w{made}"
                _git(folder, "worktree", "add", "-q", "-b", f"w{made}", tree)
                with open(f"{tree}/d0/s0/f{made}.py", "a", encoding="utf-8") as file:
                    file.write("changed = True\n")
                _git(tree, "commit", "-q", "-a", "--no-verify", "-m", "changed")
                made += 1
            bench.say(f"radar: {size} worktrees of {files} files")
            rows += _rows(session, size, files, f"{parent}/w0/d0/s0/f{size + 20}.py")
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
