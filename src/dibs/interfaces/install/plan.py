"""The files that `dibs init` writes and `dibs init --uninstall` restores: planned as a whole, then done.

Install: the workspace's own files, the launcher, the settings of each client, the pages that models read, git's hooks.
A trial of one person (private.py) has the same without the pages, in files that no commit has.
Uninstall: a file that is still as it was written gets its earlier bytes back; from a file that was changed since, or in
a clone without a record, only our lines are removed.
"""

from __future__ import annotations

import os

from dibs.errors import Invalid
from dibs.interfaces import agents
from dibs.interfaces.agents.adapter import MADE
from dibs.interfaces.install import githooks, pointers, private, rules
from dibs.interfaces.install.files import Change, FileState, Record, look, put, text_of
from dibs.interfaces.install.settings import hold_of
from dibs.operations.core.policy import Policy
from dibs.workspace import config, launcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from dibs.interfaces.agents.adapter import Client
    from dibs.workspace.location import Place

IGNORE = "# made by dibs: what belongs to this machine only\n/local/\n"
LEGACY_SUFFIX = ".legacy"  # the pre-commit framework moves a hook that it found there, and calls it from its own


class Plan:
    """The planned changes, and the notes about what will not be done."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.base = base(place)
        self.record = Record(place.root, place.local, place.shared)
        self.first: list[Change] = []  # before all others: what keeps a trial out of git's sight
        self.own: list[Change] = []  # below .dibs/
        self.others: list[Change] = []  # files that belong to others, too
        self.notes: list[str] = []
        self.trial = False  # of one person
        self.was_trial = private.is_here(place)
        self.hold = _hold(self.base)  # seconds for which the guards may hold a call
        self.left_out: list[str] = []  # clients that a trial cannot guard

    def add(self, path: str, after: FileState | None) -> None:
        """Plan a file's new state; nothing if it has it already."""
        before = look(path)
        if before != after:
            inside = path.startswith(os.path.join(self.base, ".dibs") + "/")
            (self.own if inside else self.others).append(Change(path, before, after))

    @property
    def changes(self) -> list[Change]:
        """All of them, in the order in which they are made."""
        return [*self.first, *self.own, *self.others]

    def name(self, path: str) -> str:
        """A path as people read it."""
        top = self.base.rstrip("/") + "/"
        return path.removeprefix(top) if path.startswith(top) else self.record.name(path)

    def check(self) -> None:
        """Check all of it before anything is done."""
        tops = (self.place.root, self.place.top, *([self.place.common] if self.place.common else []))
        trees = tuple(trees_of(self.place)) if self.trial or self.was_trial else ()
        for change in self.changes:
            change.check((*tops, *trees))


def base(place: Place) -> str:
    """The working tree whose files are written: the main one; in a bare repository, the one in use."""
    return place.top if place.root == place.common else place.root


def _hold(top: str) -> int:
    """For how many seconds the config, if there is a valid one, lets guards hold a call."""
    try:
        return hold_of(Policy(**config.parse(f"{top}/.dibs/{config.NAME}")["policy"]))
    except Invalid:  # the next command says why
        return 0


def trees_of(place: Place) -> list[str]:
    """The working tree whose files are written, and the linked ones that are there."""
    found = [base(place)]
    listed = githooks.ask(place, "worktree", "list", "--porcelain") if place.common else ""
    for block in listed.split("\n\n"):
        lines = block.split("\n")
        tree = lines[0].removeprefix("worktree ")
        if lines[0].startswith("worktree ") and "bare" not in lines and os.path.isdir(tree):
            found.append(os.path.realpath(tree))
    return list(dict.fromkeys(found))


# --- install


def install(
    place: Place, chosen: list[str], config: str, *, mcp: bool = False, local: bool = False, full: bool = False
) -> Plan:
    """Everything that is missing; `config` is the text of a new config; `mcp`: with the entry for our MCP tools.

    `local`: a trial of one person; without it, a trial that is here becomes the team's. `full`: all seven rules.
    """
    plan = Plan(place)
    plan.trial = local
    home = os.path.join(plan.base, ".dibs")
    _rules(plan, os.path.join(home, "rules.md"), full=full)
    for name, text in (("config.toml", config), (".gitignore", IGNORE)):
        path = os.path.join(home, name)
        if not os.path.lexists(path):  # from then on it is the team's
            plan.add(path, FileState(text.encode()))
    for name, text in (("hook", launcher.hook_text()), ("dibs", launcher.COMMAND)):
        plan.add(os.path.join(home, name), FileState(text.encode(), 0o755))
    if local:
        _trial(plan, chosen, mcp=mcp)
    else:
        if plan.was_trial:
            _end_trial(plan)
        for client in map(agents.of, chosen):
            _settings(plan, client, plan.base, client.settings_file, mcp=mcp)
            _own_files(plan, client, plan.base)
        _servers(plan, chosen if mcp else [], plan.base)
        _pointers(plan, chosen)
    _hooks(plan, local=local)
    plan.check()
    return plan


def _rules(plan: Plan, path: str, *, full: bool) -> None:
    """The rules, where there are none; all seven replace only the two that dibs wrote."""
    now = look(path)
    if now is None or (full and now.data == rules.TEXT.encode()):
        plan.add(path, FileState((rules.FULL if full else rules.TEXT).encode()))
    elif full and now.data != rules.FULL.encode():
        plan.notes.append(f"{plan.name(path)} was changed here: left as it is; `dibs rules` shows it")


def _trial(plan: Plan, chosen: list[str], *, mcp: bool) -> None:
    """The settings of a trial, in the main working tree and the one in use, and what keeps them out of git's sight."""
    names: dict[str, None] = {}
    for tree in dict.fromkeys((plan.base, plan.place.top)):
        servers = []
        for client in map(agents.of, chosen):
            files = client.private_files(mcp=mcp)
            taken = private.tracked(tree, files)
            if files[0] in taken:
                plan.left_out.append(client.name)
                plan.notes.append(
                    f"{client.title} gets no hooks in this trial: it reads them from {files[0]}, which is committed"
                )
                continue
            offered = mcp and client.mcp_file not in taken and tree == plan.base  # elsewhere is no .dibs/dibs
            if mcp and client.mcp_file in taken:
                plan.notes.append(f"{client.title} gets no dibs tools in this trial: {client.mcp_file} is committed")
            _settings(plan, client, tree, files[0], mcp=offered)
            _own_files(plan, client, tree, taken)
            servers += [client.name] if offered else []
            names |= dict.fromkeys(name for name in files if name not in taken)
        _servers(plan, servers, tree)
    path = private.exclude_file(plan.place)
    before = look(path)
    text = private.merged(text_of(before, path), names)
    if before is None or text.encode() != before.data:
        plan.first.append(Change(path, before, FileState(text.encode(), before.mode if before else 0o644)))


def _end_trial(plan: Plan) -> None:
    """Remove what only a trial has: git's list, and settings of one person or in linked working trees."""
    _take_out(plan, private.exclude_file(plan.place), private.cleaned)
    for tree in trees_of(plan.place):
        for client in agents.every():
            if client.private_file:
                path = os.path.realpath(os.path.join(tree, client.private_file))
                _take_out(plan, path, _cleaner(client.name, path))
            if tree != plan.base:
                _take_client_out(plan, client, tree, private.tracked(tree, client.private_files(mcp=True)))


def _settings(plan: Plan, adapter: Client, tree: str, relative: str, *, mcp: bool) -> None:
    path = os.path.realpath(os.path.join(tree, relative))
    before = look(path)
    text = adapter.settings_merged(text_of(before, path), path, mcp=mcp, hold=plan.hold)
    if mcp and adapter.mcp_file == adapter.settings_file:
        text = _with_server(plan, adapter, text, path) or text
    plan.add(path, FileState(text.encode(), before.mode if before else 0o644))


def _servers(plan: Plan, chosen: list[str], tree: str) -> None:
    """The entries of our MCP server; several clients may read one file."""
    done: set[str] = set()
    for adapter in map(agents.of, chosen):
        if adapter.mcp_file in {"", adapter.settings_file, *done}:
            continue
        done.add(adapter.mcp_file)
        path = os.path.realpath(os.path.join(tree, adapter.mcp_file))
        before = look(path)
        text = _with_server(plan, adapter, text_of(before, path), path)
        if text is not None:
            plan.add(path, FileState(text.encode(), before.mode if before else 0o644))


def _with_server(plan: Plan, adapter: Client, text: str | None, path: str) -> str | None:
    """A file with the entry of our MCP server; None, and a note, if another server has our name."""
    found = adapter.mcp_merged(text, path)
    if found is None:
        plan.notes.append(
            f"{plan.name(path)} has an MCP server called dibs that is not ours: left as it is, so {adapter.title} has "
            "no dibs tools"
        )
    return found


def _own_files(plan: Plan, client: Client, tree: str, taken: Collection[str] = ()) -> None:
    for relative, text in client.own_files().items():
        path = os.path.realpath(os.path.join(tree, relative))
        before = look(path)
        if relative in taken:
            continue
        if before is None or before.data.startswith(MADE.encode()):  # else it is a person's own
            plan.add(path, FileState(text.encode(), before.mode if before else 0o644))


def _pointers(plan: Plan, chosen: list[str]) -> None:
    done = set()
    for name in pointers.targets(chosen, lambda name: _page(plan, name)):
        path = pointers.real_name(plan.base, name)
        if path in done:
            continue
        done.add(path)
        before = look(path)
        text = pointers.merged(text_of(before, path))
        plan.add(path, FileState(text.encode(), before.mode if before else 0o644))


def _page(plan: Plan, name: str) -> str | None:
    path = pointers.real_name(plan.base, name)
    return text_of(look(path), path)


def _hooks(plan: Plan, *, local: bool) -> None:
    hooks = githooks.folder(plan.place)
    if not hooks:
        if plan.place.common:
            plan.notes.append("git could not be asked for its hooks, so commits and pushes are not guarded")
        return
    if not githooks.is_ours_to_write(hooks, plan.place):
        plan.notes.append(
            f"git takes its hooks from {hooks} (core.hooksPath), which is not this repository's: left as it is, so "
            'commits and pushes are not guarded. To guard them, let those hooks call: .dibs/hook git NAME "$@"'
        )
        return
    if local and not hooks.startswith(plan.place.common.rstrip("/") + "/"):
        plan.notes.append(
            f"git takes its hooks from {plan.name(hooks)}, which is the team's: left as it is. In this trial commits "
            "and pushes from a terminal are not guarded; those of guarded agents are"
        )
        return
    root = os.path.relpath(plan.place.root, hooks)
    for name in githooks.NAMES:
        _hook(plan, hooks, name, root)


def _hook(plan: Plan, hooks: str, name: str, root: str) -> None:
    path = os.path.join(hooks, name)
    before = look(path)
    legacy = look(path + LEGACY_SUFFIX)
    if before is None:
        plan.add(path, FileState(githooks.whole(name, root).encode(), 0o755))
    elif githooks.is_frameworks(before.data):
        _beside_framework(plan, path, before, legacy, root)
    elif legacy is not None and githooks.has_block(legacy.data) and not githooks.has_block(before.data):
        return  # the framework that moved ours there calls it
    elif not before.link and githooks.is_sh(before.data) and (before.mode & 0o111 or githooks.is_husky(hooks)):
        plan.add(path, FileState(githooks.merged(before.data, name, root), before.mode))
    else:  # another language, a link, or a hook that is switched off (not executable)
        kept = before
        if before.link:
            kept = FileState(
                link=os.path.relpath(os.path.join(hooks, before.link), os.path.join(hooks, githooks.KEPT_FOLDER))
            )
        plan.add(os.path.join(hooks, githooks.KEPT_FOLDER, name), kept)
        plan.add(path, FileState(githooks.whole(name, root, kept=True).encode(), 0o755))


def _beside_framework(plan: Plan, path: str, before: FileState, legacy: FileState | None, root: str) -> None:
    """The pre-commit framework writes its file anew at each `pre-commit install`; what lies next to it, it calls."""
    name, own = os.path.basename(path), githooks.cleaned(before.data) or before.data
    if legacy is None:
        plan.add(path + LEGACY_SUFFIX, FileState(githooks.whole(name, root).encode(), 0o755))
    elif githooks.is_sh(legacy.data) and legacy.mode & 0o111:
        plan.add(path + LEGACY_SUFFIX, FileState(githooks.merged(legacy.data, name, root), legacy.mode))
    else:  # a person's, in another language: then ours goes into the framework's file
        own = githooks.merged(before.data, name, root)
    plan.add(path, FileState(own, before.mode))


def apply(plan: Plan) -> None:
    """Apply the plan: first the files that others will call, then the record, then the files that call them.

    Of a trial, git's list comes before: interrupted at any moment, it leaves nothing that git lists.
    """
    if plan.first:
        _note(plan, plan.first)
    for change in plan.own:
        put(change.path, change.after)
    _note(plan, plan.others)
    if plan.was_trial and not plan.trial:
        _remove_folders(os.path.join(plan.place.root, name) for name in plan.record.folders)


def _note(plan: Plan, changes: list[Change]) -> None:
    """Record changes of files that belong to others, too, then make them."""
    for change in changes:
        plan.record.note(change)
    if changes:
        plan.record.save()
    for change in changes:
        put(change.path, change.after)


# --- uninstall


def uninstall(place: Place) -> Plan:
    """Remove our parts from all other files. `.dibs/` itself goes afterwards."""
    plan = Plan(place)
    if plan.was_trial:
        _end_trial(plan)
    for client in agents.every():
        _take_client_out(plan, client, plan.base)
    for path in sorted({pointers.real_name(plan.base, name) for name in pointers.names()}):
        _take_out(plan, path, pointers.cleaned)
    for hooks in _hook_folders(plan):
        for name in githooks.NAMES:
            _take_hook_out(plan, hooks, name)
    plan.check()
    return plan


def _take_client_out(plan: Plan, client: Client, tree: str, taken: Collection[str] = ()) -> None:
    """Our parts out of all files of a client in a working tree, but for those in `taken`."""
    cleaners: dict[str, Callable[[str], str | None]] = {}
    if client.mcp_file:
        cleaners[client.mcp_file] = _server_cleaner(client, os.path.realpath(os.path.join(tree, client.mcp_file)))
    path = os.path.realpath(os.path.join(tree, client.settings_file))
    cleaners[client.settings_file] = _cleaner(client.name, path)
    cleaners |= dict.fromkeys(client.own_files(), lambda text: None if text.startswith(MADE) else text)
    for relative, clean in cleaners.items():
        path = os.path.realpath(os.path.join(tree, relative))
        if relative not in taken and not any(change.path == path for change in plan.others):
            _take_out(plan, path, clean)


def _cleaner(client: str, path: str) -> Callable[[str], str | None]:
    """Our parts out of a client's settings; the last insertion is removed first."""
    adapter = agents.of(client)

    def clean(text: str) -> str | None:
        left = adapter.mcp_cleaned(text, path) if adapter.mcp_file == adapter.settings_file else text
        return None if left is None else adapter.settings_cleaned(left, path)

    return clean


def _server_cleaner(client: Client, path: str) -> Callable[[str], str | None]:
    return lambda text: client.mcp_cleaned(text, path)


def _hook_folders(plan: Plan) -> list[str]:
    """Where our hooks may be: where git looks now, and where it looked at the installation."""
    found = {githooks.folder(plan.place), *([f"{plan.place.common}/hooks"] if plan.place.common else [])}
    for name in plan.record.files:
        folder, base = os.path.split(os.path.join(plan.place.root, name))
        if base in githooks.NAMES and os.path.basename(folder) != githooks.KEPT_FOLDER:
            found.add(folder)
    return sorted(folder for folder in found if folder and githooks.is_ours_to_write(folder, plan.place))


def _take_out(plan: Plan, path: str, clean: Callable[[str], str | None]) -> None:
    now = look(path)
    exact, before = plan.record.original(path, now)
    if exact:
        plan.add(path, before)
        return
    text = text_of(now, path)
    if text is not None and now is not None:
        left = clean(text)
        if left != text:
            plan.add(path, None if left is None else FileState(left.encode(), now.mode))


def _take_hook_out(plan: Plan, hooks: str, name: str) -> None:
    path, aside = os.path.join(hooks, name), os.path.join(hooks, githooks.KEPT_FOLDER, name)
    now, kept = look(path), look(aside)
    exact, before = plan.record.original(path, now)
    if exact:
        plan.add(path, before)
        if kept is not None:
            plan.add(aside, None)
    elif now is not None and githooks.has_block(now.data):
        left = githooks.cleaned(now.data)
        if left is not None:
            plan.add(path, FileState(left, now.mode))
        elif kept is not None:
            if kept.link:
                kept = FileState(
                    link=os.path.relpath(os.path.join(hooks, githooks.KEPT_FOLDER, kept.link), hooks), mode=0
                )
            plan.add(path, kept)
            plan.add(aside, None)
        else:
            plan.add(path, None)
    legacy = look(path + LEGACY_SUFFIX)
    if legacy is not None and githooks.has_block(legacy.data):
        left = githooks.cleaned(legacy.data)
        plan.add(path + LEGACY_SUFFIX, None if left is None else FileState(left, legacy.mode))


def take_back(plan: Plan) -> None:
    """Apply it: first the files that call us, then the folders that are empty now."""
    for change in plan.others:
        put(change.path, change.after)
    emptied = {os.path.dirname(change.path) for change in plan.others if change.after is None}
    made = {os.path.join(plan.place.root, name) for name in plan.record.folders}
    if not plan.record.files:  # no record: git keeps no empty folders, so these can go
        made = {os.path.join(plan.base, name) for client in agents.every() for name in _folders(client)}
        made |= {folder for folder in emptied if os.path.basename(folder) == githooks.KEPT_FOLDER}
    _remove_folders(made)


def _remove_folders(made: Iterable[str]) -> None:
    """Those that dibs made and that are empty."""
    for folder in sorted(made, key=len, reverse=True):
        try:
            os.rmdir(folder)
        except OSError:
            pass  # it is not empty any more, or gone already


def _folders(client: Client) -> set[str]:
    """The folders that a client's files lie in, from the repository's top."""
    found = set()
    for name in (client.settings_file, client.mcp_file, *client.own_files()):
        while name := os.path.dirname(name):
            found.add(name)
    return found
