"""What the two agents of tests/guards/two_agents.py may do: drawn numbers, or a story, become their commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.guards.two_agents import MERGES, NAMES, WHOLE, Command

if TYPE_CHECKING:
    from tests.guards.two_agents import Player, World


def _shell(title: str, command: str, **more: Any) -> Command:
    return Command(title, "Bash", {"command": command}, command, **more)


def _commands(world: World, player: Player, path: str, other: str) -> list[Command]:
    """All that can be done now, with these two files."""
    mark = f"{player.session} {world.step}"
    text = f"{mark}\n"
    content = world.disk[path] or b""
    first = content.decode().partition("\n")[0]
    heredoc = f"cat > {path} <<'EOF'\n{text}EOF"
    return [
        Command(f"Read {path}", "Read", {"file_path": path}, shown=(path,)),
        _shell(f"cat {path}", f"cat {path}", shown=(path,)),
        _shell("ls", "ls"),
        Command(
            f"Edit {path}", "Edit", {"file_path": path, "old_string": first, "new_string": f"{first} {mark}"},
            edit=(path, first, f"{first} {mark}"), named={path: MERGES}, literal=True,
        ),
        Command(f"Write {path}", "Write", {"file_path": path, "content": text}, named={path: WHOLE}, literal=True),
        _shell(f"sed -i {path}", f"sed -i '1s/^/{mark} /' {path}", named={path: MERGES}),
        _shell(f">> {path}", f"echo {mark} >> {path}", named={path: MERGES}),
        _shell(f"heredoc {path}", heredoc, named={path: WHOLE}, literal=True),
        _shell(f"cp {other} {path}", f"cp {other} {path}", named={path: WHOLE}),
        _shell(f"mv {other} {path}", f"mv {other} {path}", named={path: WHOLE, other: "moved"}),
        _shell(f"rm {path}", f"rm {path}", named={path: WHOLE}),
        _shell(f"sh gen.sh (writes {path})", "sh gen.sh", plan=f"echo {mark} > {path}"),
        _shell(f"sh gen.sh (appends to {path})", "sh gen.sh", plan=f"echo {mark} >> {path}"),
        _shell(f"sh gen.sh (removes {path})", "sh gen.sh", plan=f"rm -f {path}"),
        _shell(f"sh gen.sh (writes {path} and {other})", "sh gen.sh", plan=f"echo {mark} | tee {path} > {other}"),
        _shell(f"git checkout {path}", f"git checkout -q -- {path}", named={path: "git"}),
        _shell("git checkout .", "git checkout -q .", sweeps=True),
        _shell("git stash", "git stash -q", sweeps=True),
        _shell("git stash pop", "git stash pop -q", sweeps=True),
        _shell("git commit -am", f"git commit -qam '{mark}'", sweeps=True, commits=True),
        _shell("git add -A && commit", f"git add -A && git commit -qm '{mark}'", sweeps=True, commits=True),
        _shell(f"git commit {path}", f"git commit -qm '{mark}' -- {path}", named={path: "git"}, commits=True),
        _shell("git reset --hard", "git reset -q --hard", sweeps=True),
        Command(
            f"Edit and format {path}", "Edit",
            {"file_path": path, "old_string": first, "new_string": f"{first} {mark}"},
            edit=(path, first, f"{first} {mark}"), named={path: MERGES}, literal=True, formats=True,
        ),
        Command(
            f"Write and format {path}", "Write", {"file_path": path, "content": text}, named={path: WHOLE},
            literal=True, formats=True,
        ),
    ]  # fmt: skip


MOMENTS = ("prompt", "stop", "boot", "end")
FAVOURED = (0, 3, 4, 5, 7, 11, 11, 12)  # what agents do most, and what does most harm


def play(world: World, steps: list[tuple[int, int, int, int]]) -> None:
    """Each step: which agent, what, and on which two files. An open call goes on; else something new begins."""
    for who, what, one, two in steps:
        world.step += 1
        player = world.players[who]
        path, other = NAMES[one], NAMES[(one + two) % len(NAMES)]
        if player.open is not None:
            if what % 16 == 15:
                world.break_off(player)
            elif what % 64 == 14:  # rarely: a new client's process takes a while
                world.kill(player)
            elif not player.open.ran:
                world.run(player)
            else:
                world.after(player)
            continue
        if what % 12 == 11:
            world.moment(player, MOMENTS[what // 12 % len(MOMENTS)])
            continue
        commands = _commands(world, player, path, other)
        chosen = FAVOURED[what // 3 % len(FAVOURED)] if what % 3 == 0 else what % len(commands)
        if commands[chosen].shell.startswith("git") and world.uses_git(world.players[1 - who]):
            chosen = 0  # its hook would wait for git's index, which the other one has, and nothing would come of it
        world.before(player, commands[chosen])
    world.finish()


def tell(world: World, story: str) -> None:
    """A story, a line a step: who (a or b), `do`, `before`, `run`, `after`, `break` or a moment, and the command."""
    for line in story.strip().splitlines():
        who, what, *title = line.split(None, 2)
        world.step += 1
        player = world.players["ab".index(who)]
        if what in {"do", "before"}:
            pairs = [(path, other) for path in NAMES for other in NAMES if path != other]
            found = (one for pair in pairs for one in _commands(world, player, *pair) if one.title == title[0])
            world.before(player, next(found))
        if what == "run" or (what == "do" and player.open is not None):
            world.run(player)
        if what == "after" or (what == "do" and player.open is not None):
            world.after(player)
        if what == "break":
            world.break_off(player)
        if what == "kill":
            world.kill(player)
        if what in MOMENTS:
            world.moment(player, what)
    world.finish()
