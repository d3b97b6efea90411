"""What `dibs init` and `--uninstall` say of their changes: what each file is for, what to commit, what comes next.

Facts and texts; the command prints them.
"""

from __future__ import annotations

import os

from dibs.errors import quoted
from dibs.git import queries as git
from dibs.interfaces import agents
from dibs.interfaces.install import githooks, plan, pointers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.install.files import Change
    from dibs.workspace.location import Place

COMMIT_MESSAGE = "Guard this repository with dibs"
LOCAL = ".dibs/local/"
OWN = (".gitignore", "config.toml", "dibs", "hook", "rules.md")
PURPOSES = {
    ".dibs/config.toml": "settings of the workspace", ".dibs/rules.md": "told to every agent at its start",
    ".dibs/.gitignore": f"keeps {LOCAL} out of commits", ".dibs/hook": "what all hooks run",
    ".dibs/dibs": "the command, where `dibs` is not on the PATH", LOCAL: "what belongs to this machine",
    f"{LOCAL}run": "the Python that runs dibs", f"{LOCAL}dibs.db": "claims, tasks, messages and the log",
    f"{LOCAL}store": "which store is used", ".git/info/exclude": "keeps all this out of `git status`",
    ".dibs/": "the workspace, with its log", "refs/dibs/": "contents that were kept for `dibs restore`",
}  # fmt: skip


def purpose(name: str) -> str:
    """What a file is for, by its name."""
    if name in PURPOSES:
        return PURPOSES[name]
    for client in agents.every():
        for ours, what in (
            (client.settings_file, f"hooks for {client.title}"),
            (client.private_file or client.settings_file, f"hooks for {client.title}"),
            (client.mcp_file, "the tools of `dibs mcp`"),
            *[(own, f"what {client.title} runs without asking") for own in client.own_files()],
        ):
            if ours and (name == ours or name.endswith(f"/{ours}")):
                return what
    if name in pointers.names():
        return "tells models about dibs"
    folder, base = os.path.split(name)
    if base.removesuffix(plan.LEGACY_SUFFIX) in githooks.NAMES:
        return "your own hook, which ours calls" if folder.endswith(githooks.KEPT_FOLDER) else "git runs dibs"
    return ""


def act(change: Change, *, taken_out: bool = False) -> str:
    """What is done to a file, in one word."""
    if change.after is None:
        return "remove"
    if taken_out:
        return "restore"
    return "create" if change.before is None else "change"


def to_commit(made: plan.Plan, changes: list[str], *, dry: bool) -> tuple[list[str], list[str]]:
    """Which of these a commit should have, and which of them git ignores. A trial has written some before."""
    place = made.place
    if not place.common or place.top == place.common or made.trial:
        return [], []
    top = made.base.rstrip("/") + "/"
    removed = {made.name(change.path) for change in made.changes if change.after is None}
    before = [f".dibs/{name}" for name in OWN] + list(made.record.files) if made.was_trial else []
    inside = [name for name in dict.fromkeys([*changes, *before]) if not name.startswith((LOCAL, ".git/", "/"))]
    inside = [
        name for name in inside
        if name not in removed and not os.path.join(top, name).startswith(place.common.rstrip("/") + "/")
        and (name in changes or os.path.lexists(os.path.join(top, name)))
    ]  # fmt: skip
    excluded = dry and made.was_trial  # git's list still has them
    ignored = git.is_ignored(made.base, inside) if inside and not excluded else set()
    return [name for name in inside if name not in ignored], [name for name in inside if name in ignored]


def commit_command(names: list[str]) -> str:
    """One line that commits these."""
    words = dict.fromkeys(".dibs" if name.startswith(".dibs/") else name for name in names)
    return f"git add {' '.join(map(quoted, words))} && git commit -m '{COMMIT_MESSAGE}'"


def folded(names: list[str]) -> list[tuple[str, str]]:
    """Names with their purposes; git's hooks are one row."""
    rows: dict[str, str] = {}
    for name in names:
        folder, base = os.path.split(name)
        hook = base in githooks.NAMES and "/" in name
        rows[f"{folder}/" if hook else name] = "git runs dibs at commits and pushes" if hook else purpose(name)
    return list(rows.items())


def warnings(place: Place) -> list[str]:
    """Places that are hardly meant."""
    base = plan.base(place)
    if place.common and place.top == place.common:
        message = (
            f"{place.root} is a bare repository: it has no files to guard. Run `dibs init` in a working tree of it "
            "(`git worktree add ../work`)"
        )
        return [message]
    if base in {"/", os.path.realpath(os.path.expanduser("~"))}:
        what = "the root of the file system" if base == "/" else "your home folder"
        message = (
            f"{base} is {what}: every folder below it that is in no repository belongs to this workspace now. If you "
            "meant a project: `dibs init --uninstall`, then `dibs init` there"
        )
        return [message]
    return []


def next_steps(chosen: list[str], known: tuple[str, ...], *, local: bool) -> list[str]:
    """What a person does then."""
    again = "`dibs init --local --clients …`" if local else "`dibs init --clients …`"
    steps = [] if chosen else [f"choose your clients: {again} ({', '.join(known)})"]
    orders = {agents.of(name).title: order for name in chosen if (order := agents.of(name).trust_order)}
    if len(orders) == 1:
        steps += orders.values()
    elif orders:
        steps.append(f"start {', '.join(orders)} here and let each trust the folder and its hooks (in Codex: /hooks)")
    steps.append("run `dibs doctor`: it tries a forbidden write with each client's own hook")
    steps.append(
        "end the trial with `dibs init --uninstall`, or `dibs init` for the whole team" if local
        else "start a second agent; `dibs top` or `dibs status` shows who has what"
    )  # fmt: skip
    steps.append(
        "many agents, one machine? `[pools]` and `[[pools.use]]` in .dibs/config.toml, off until you uncomment them, "
        "let no more test suites run at once than they say (`dibs demo --machine` shows it)" + again_for(chosen)
    )
    return steps


def again_for(chosen: list[str]) -> str:
    """Clients that hold a call for their hook give it the time for that by `dibs init`."""
    return "; then `dibs init` again, for hooks that wait" if any(agents.of(one).hook.HOLDS for one in chosen) else ""


def left_in_trees(place: Place) -> list[tuple[str, list[str]]]:
    """Linked working trees that still have files of dibs, by their branches' commits, with the names of these files."""
    found = []
    for tree in plan.trees_of(place)[1:]:
        names = [".dibs/"] if os.path.isdir(f"{tree}/.dibs") else []
        names += [client.settings_file for client in agents.every() if _calls(client.name, tree)]
        if names:
            found.append((tree, names))
    return found


def _calls(client: str, tree: str) -> bool:
    from dibs.errors import DibsError

    adapter = agents.of(client)
    path = f"{tree}/{adapter.settings_file}"
    try:
        with open(path, encoding="utf-8") as file:
            return bool(adapter.settings_commands(file.read(), path))
    except (OSError, ValueError, DibsError):
        return False
