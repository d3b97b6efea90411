"""What the agents of tests/guards/fleet.py may do: drawn numbers become their commands."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.guards.fleet import FOLDER, GIT, MERGES, WHOLE, Command, World

if TYPE_CHECKING:
    from tests.guards.fleet import Player
    from tests.interfaces.repository import Answer

Step = tuple[int, int, int, int]

FILES: dict[str, bytes] = {
    "a.txt": b"a one\na two\n",
    "b.txt": b"b one\nb two\n",
    "dir/c.py": b"c = 1\n",
    "dir/d.py": b"d = 1\n",
    "sp ace.txt": b"space\n",
    "\u00fcn\u00ef.txt": b"unicode\n",
    "crlf.txt": b"one\r\ntwo\r\n",
    "bin.dat": bytes(range(256)) * 8 + b"\n",
    "empty.txt": b"",
    "big.dat": b"0123456789abcdef" * 90_000 + b"\n",
    "huge.dat": b"0123456789abcdef" * 300_000 + b"\n",
    "link.txt": b"->a.txt",
    "note.ipynb": b'{"cells": []}\n',
    "quo'te.txt": b"quote\n",
    "[x].txt": b"glob\n",
}
NEW = ("new.txt", "dir/new.py", "n/e/w.txt", "out.tmp", "Case.txt")


def _shell(title: str, command: str, **more: Any) -> Command:
    return Command(title, "Bash", {"command": command}, command, **more)


def _written(path: str, content: bytes) -> Any:
    def act(tree: Path) -> None:
        try:
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(content)
        except OSError:
            pass

    return act


def _replaced(path: str, old: str, new: str) -> Any:
    def act(tree: Path) -> None:
        try:
            content = (tree / path).read_bytes()
        except OSError:
            return
        if old.encode() in content:
            (tree / path).write_bytes(content.replace(old.encode(), new.encode(), 1))

    return act


def commands(world: World, player: Player, path: str, other: str) -> list[Command]:
    """All that can be done now, with these two files."""
    mark = world.mark(player.id).decode()
    tree = player.tree
    p, o = shlex.quote(path), shlex.quote(other)
    content = world.disk.get((tree, path), b"")
    lines = content[:4000].decode("utf-8", "replace").replace("\ufffd", "").splitlines() or [""]
    first = lines[-1] if len(lines) < 50 else "one"
    full = str(tree / path)
    real = os.path.realpath(tree / path)
    target = real[len(str(tree)) + 1 :] if real.startswith(f"{tree}/") else path
    text = f"{mark}\n"
    edit = {"file_path": full, "old_string": first, "new_string": f"{first} {mark}"}
    patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-{first}\n+{first} {mark}\n*** End Patch"
    added = f"*** Begin Patch\n*** Add File: {path}\n+{mark}\n*** End Patch"
    reads = [
        Command(f"Read {path}", "Read", {"file_path": full}, shown=(path,)),
        _shell(f"cat {path}", f"cat {p}", shown=(path,)),
        _shell("ls", "ls"),
        _shell(f"git diff {path}", f"git diff -- {p}", shown=(path,)),
    ]
    edits = [
        Command(f"Edit {path}", "Edit", edit, act=_replaced(path, first, f"{first} {mark}"), named={target: MERGES}),
        Command(
            f"MultiEdit {path}",
            "MultiEdit",
            {"file_path": full, "edits": [{"old_string": first, "new_string": f"{first} {mark}"}]},
            act=_replaced(path, first, f"{first} {mark}"),
            named={target: MERGES},
        ),
        Command(
            f"Write {path}",
            "Write",
            {"file_path": full, "content": text},
            act=_written(path, text.encode()),
            named={target: WHOLE},
        ),
        Command(
            f"Write {path}",
            "Write",
            {"file_path": full, "content": text},
            act=_written(path, text.encode()),
            named={target: WHOLE},
        ),
        Command(
            f"NotebookEdit {path}",
            "NotebookEdit",
            {"notebook_path": full, "new_source": mark},
            act=_replaced(path, first, f"{first} {mark}"),
            named={target: MERGES},
        ),
    ]
    if player.client == "codex":
        edits = [
            Command(
                f"patch {path}",
                "apply_patch",
                {"command": patch},
                act=_replaced(path, first, f"{first} {mark}"),
                named={target: MERGES},
            ),
            Command(
                f"Add File {path}",
                "apply_patch",
                {"command": added},
                act=_written(path, text.encode()),
                named={target: WHOLE},
            ),
        ]
    both = {path: WHOLE, f"{path}/in": WHOLE}
    shells = [
        _shell(f"sed -i {path}", f"sed -i '1s/^/{mark} /' {p}", named={path: MERGES}),
        _shell(f">> {path}", f"echo {mark} >> {p}", named={target: MERGES}),
        _shell(f"heredoc {path}", f"cat > {p} <<'EOF'\n{text}EOF", named={target: WHOLE}),
        _shell(f"tee {path}", f"echo {mark} | tee {p} >/dev/null", named={target: WHOLE}),
        _shell(f"tee -a {path}", f"echo {mark} | tee -a {p} >/dev/null", named={target: MERGES}),
        _shell(f"cp {other} {path}", f"cp {o} {p}", named={target: WHOLE}),
        _shell(f"mv {other} {path}", f"mv {o} {p}", named={path: WHOLE, other: "moved"}),
        _shell(f"rm {path}", f"rm -f {p}", named={path: WHOLE}),
        _shell(f"python -c {path}", f"python3 -c 'open({json.dumps(path)},\"a\").write(\"{mark}\\n\")'",
               named={target: MERGES}) if "'" not in path else reads[2],
        _shell(f"mv away and back {path}", f"mv {p} x.tmp && echo {mark} >> x.tmp && mv x.tmp {p}",
               named={path: MERGES}),
        _shell(f"{path} becomes a folder", f"rm -f {p} && mkdir {p} && echo {mark} > {p}/in", named=both)
        if target == path else reads[2],  # a link that is swapped between check and write is not seen
        _shell(f"{path} becomes a file again", f"rm -rf {p} && echo {mark} > {p}", named=both),
        _shell("rm -rf dir", "rm -rf dir", named=dict.fromkeys(("dir/c.py", "dir/d.py", "dir/new.py"), FOLDER)),
        _shell(f"empty {path}", f": > {p}", named={target: WHOLE}),
        _shell(f"ln -sf {other} {path}", f"ln -sfn {o} {p}", named={path: WHOLE}) if path != other else reads[2],
        _shell(f"sort {path}", f"sort -o {p} {p}", named={target: MERGES}),
        _shell("case rename", "mv a.txt A.txt && mv A.txt a.txt", named={"a.txt": MERGES}),
    ]  # fmt: skip
    scripts = [
        _shell(f"gen writes {path}", "sh gen.sh", plan=f"echo {mark} > {p}"),
        _shell(f"gen appends to {path}", "sh gen.sh", plan=f"echo {mark} >> {p}"),
        _shell(f"gen removes {path}", "sh gen.sh", plan=f"rm -f {p}"),
        _shell(f"gen writes {path} and {other}", "sh gen.sh", plan=f"echo {mark} | tee {p} > {o}"),
        _shell("gen formats all", "sh gen.sh",
               plan=f"for f in *.txt dir/*.py; do [ -f \"$f\" ] && sed -i '1s/^/{mark} /' \"$f\"; done"),
        _shell(f"gen moves {path} to {other}", "sh gen.sh", plan=f"mv {p} {o}"),
        _shell(f"gen stages {path}", "sh gen.sh", plan=f"echo {mark} >> {p}; git add -- {p}"),
        _shell(f"writes and stages {path}", f"echo {mark} >> {p} && git add -- {p}", named={target: MERGES}, git=True),
        _shell(f"background {path}", "sh gen.sh &", late=f"echo {mark} >> {p}"),
        Command(f"run_in_background {path}", "Bash", {"command": "make watch", "run_in_background": True}, "true",
                late=f"echo {mark} > {p}"),
    ]  # fmt: skip
    moved = f"moved-{world.step}.txt"
    gits = [
        _shell(f"git checkout {path}", f"git checkout -q -- {p}", named={path: GIT}, git=True),
        _shell(f"git restore {path}", f"git restore -- {p}", named={path: GIT}, git=True),
        _shell("git checkout .", "git checkout -q .", git=True),
        _shell("git stash", "git stash -q", git=True),
        _shell("git stash -u", "git stash -qu", git=True),
        _shell("git stash pop", "git stash pop -q", git=True),
        _shell(f"git stash {path}", f"git stash push -q -- {p}", named={path: GIT}, git=True),
        _shell("git commit -am", f"git commit -qam '{mark}'", git=True),
        _shell("git add -A && commit", f"git add -A && git commit -qm '{mark}'", git=True),
        _shell(f"git commit {path}", f"git add -- {p} && git commit -qm '{mark}' -- {p}", named={path: GIT}, git=True),
        _shell(f"git commit {path}", f"git add -- {p} && git commit -qm '{mark}' -- {p}", named={path: GIT}, git=True),
        _shell("git reset --hard", "git reset -q --hard", git=True),
        _shell("git reset --hard HEAD~1", "git reset -q --hard HEAD~1", git=True),
        _shell("git clean -fd", "git clean -qfd", git=True),
        _shell("git merge topic", "git merge -q topic -m m", git=True),
        _shell("git switch -c", f"git switch -qc b{world.step}", git=True),
        _shell("git checkout topic", "git checkout -q topic", git=True),
        _shell("git checkout main", "git checkout -q main", git=True),
        _shell("git rebase topic", "git rebase -q topic", git=True),
        _shell("git cherry-pick", "git cherry-pick topic", git=True),
        _shell("git revert", "git revert --no-edit HEAD", git=True),
        _shell(f"git mv {path}", f"git mv {p} {moved}", named={path: "moved", moved: WHOLE}, git=True),
        _shell("git merge --abort", "git merge --abort; git rebase --abort; git cherry-pick --abort", git=True),
        _shell(f"git checkout HEAD~1 {path}", f"git checkout -q HEAD~1 -- {p}", named={path: GIT}, git=True),
        _shell(f"git rm {path}", f"git rm -qf -- {p}", named={path: WHOLE}, git=True),
    ]  # fmt: skip
    return [*reads, *reads, *reads, *edits, *edits, *edits, *shells, *shells, *scripts, *scripts, *gits]


# what git and the commit guard say of their own; in the middle of a merge git commits no single files
FINE = (
    "nothing to commit", "nothing added to commit", "no changes added to commit", "commit refused", "checked out",
    "partial commit during", "Directory not empty",
)  # fmt: skip
MOMENTS = ("prompt", "stop", "compact", "end", "sub", "resume", "prompt", "stop")


def play(world: World, steps: list[Step], names: list[str]) -> list[str]:
    """Each step: which agent, what, and on which two files."""
    for who, what, one, two in steps:
        world.step += 1
        player = world.players[who % len(world.players)]
        _step(world, player, what, names[one % len(names)], names[two % len(names)], two)
    return world.finish()


def _step(world: World, player: Player, what: int, path: str, other: str, more: int) -> None:
    kind, rest = what % 100, what // 100
    if player.open and kind < 60:
        one = player.open[rest % len(player.open)]
        if kind < 5:
            world.break_off(player, one)
        elif not one.ran:
            world.run(player, one)
        else:
            world.after(player, one)
        return
    if kind < 68 and player.open:
        return
    if kind < 6:
        world.moment(player, MOMENTS[rest % len(MOMENTS)])
    elif kind < 9:
        world.person(player.tree, path, ("append", "write", "append", "remove")[rest % 4])
    elif kind < 11:
        world.later((60, 700, 5)[rest % 3])
    elif kind < 12 and world.real:
        world.serve()
    elif kind < 13:
        world.run_late()
    elif kind < 14 and len(world.trees) > 1 and not player.open:
        player.tree = world.trees[rest % len(world.trees)]
        world.say(player.id, f"goes to {player.tree.name}")
    elif kind < 15:
        world.say("person", f"releases {path} by force")
        world.scratch.person.dibs("release", path, "--force", "--why", "so")
    else:
        _command(world, player, rest, path, other, more)


def _command(world: World, player: Player, rest: int, path: str, other: str, more: int) -> None:
    found = commands(world, player, path, other)
    command = found[rest % len(found)]
    if command.git and any(one.command.git for each in world.players for one in [*each.open, *each.broken]):
        command = found[0]  # its hook would wait for git's index, which the other one has
    whole = (rest // len(found)) % 3  # most calls are not interleaved
    if command.title.startswith("ln"):  # a link that is swapped between check and write is not seen
        whole = 1
        if any(each.open or each.late for each in world.players):
            return
    answer = world.before(player, command)
    if answer.code:
        if more % 3:
            follow(world, player, command, answer)
        return
    if whole and player.open and command.tool != "Read":
        one = player.open[-1]
        world.run(player, one)
        world.after(player, one)


def follow(world: World, player: Player, command: Command, answer: Answer, depth: int = 0) -> None:
    """The agent does what the refusal says, to the letter, while nobody else does anything."""
    reason = answer.err
    told = re.findall(r"`([^`]+)`", reason)
    instead = re.search(r"Run `(.+?)` instead", reason, re.DOTALL)
    again = ("read it" in reason or "read each of them" in reason) and "files that others hold" not in reason
    taken = re.search(r"To take it over.*?`(dibs claim [^`]+)`", reason)
    if depth > 3:
        world.wrongs.append(f"step {world.step}: circle: {player.id} {command.title}: {reason.strip()[:300]}")
        return
    if again and not (instead and _takes_the_safe_one(world)):
        changed = re.findall(r"changed (.+?)(?:, and you|,? since| and you)", reason)
        listed = re.search(r"not read(?: what is there now)?: (.+?)\. (?:You|Run|If)", reason)
        every = [re.sub(r" \([^()]*\)$", "", one) for one in listed[1].split(", ")] if listed else []
        for path in dict.fromkeys([*command.named, *([] if every else changed), *every]):
            world.before(player, Command(f"Read {path}", "Read", {"file_path": str(player.tree / path)}, shown=(path,)))
        _retry(world, player, command, depth)
    elif taken:
        _do(world, player, taken[1])
        _retry(world, player, command, depth)
    elif instead:
        text = instead[1]
        safe = Command(f"advised: {text}", "Bash", {"command": text}, text, git=True, plan=command.plan)
        second = world.before(player, safe)
        if "in a few seconds" in second.err:
            return
        if second.code:
            world.wrongs.append(f"step {world.step}: bad advice: {instead[1]!r} is refused: {second.err.strip()[:300]}")
            return
        _finish(world, player, text)
    elif not told and "dibs" not in reason:
        world.wrongs.append(f"step {world.step}: no advice: {reason[:300]}")


def _takes_the_safe_one(world: World) -> bool:
    """Where a refusal offers a safe command as well, every second agent takes that."""
    return bool(world.step % 2)


def _retry(world: World, player: Player, command: Command, depth: int) -> None:
    second = world.before(player, command)
    if second.code:
        follow(world, player, command, second, depth + 1)
    elif command.tool != "Read":
        one = player.open[-1]
        world.run(player, one)
        world.after(player, one)


def _do(world: World, player: Player, text: str) -> None:
    answer = world.before(player, Command(f"advised: {text}", "Bash", {"command": text}, text))
    if answer.code:
        world.wrongs.append(f"step {world.step}: bad advice: {text!r} is refused: {answer.err.strip()[:300]}")
        return
    _finish(world, player, text)


def _finish(world: World, player: Player, advised: str) -> None:
    """The advised command is run, and has to succeed."""
    one = player.open[-1]
    world.run(player, one)
    world.after(player, one)
    if one.failed and not any(fine in one.failed for fine in FINE):
        world.wrongs.append(f"step {world.step}: advice that fails: {advised!r}: {one.failed}")
