"""`dibs init`: makes a folder a workspace and puts the guards in; `--uninstall` takes all of it out again.

Plans everything first and refuses before anything is changed. Never overwrites what is not its own; running it twice
changes nothing.
"""

from __future__ import annotations

import os
import sys

from dibs import jsontext
from dibs.client.upkeep import push_look
from dibs.errors import YES, Forbidden, Invalid, Unavailable
from dibs.interfaces import agents
from dibs.interfaces.cli.command import Command
from dibs.interfaces.install import detection, mcp_entries, plan, remove
from dibs.machine import clock
from dibs.operations.core.declare import Field
from dibs.stores.engines import database_of
from dibs.stores.opening import configured_url, open_store, read_pin
from dibs.workspace import config, launcher, location
from dibs.workspace.known_clients import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.parse import Words

FIELDS = (
    Field("folder", "text", "the project's top directory (default: the repository or folder you are in)",
          positional=True, metavar="DIR"),
    Field("clients", "words", f"whose settings get the hooks: {', '.join(NAMES)}; all or none (default: those "
          "in use here)", metavar="C,…"),
    Field("no_mcp", "flag", "no entry for the tools of `dibs mcp`", default=False),
    Field("dry_run", "flag", "change nothing; show the changes as a diff", default=False),
    Field("uninstall", "flag", "remove everything dibs added, and .dibs/ with its log", default=False),
    Field("temporary", "flag", "also from a temporary installation (uvx, pipx run)", default=False),
    Field("yes", "flag", "with --uninstall: also while other agents hold claims", default=False),
)  # fmt: skip


def run(words: Words) -> int:
    """Make the workspace's files and its store, or take them away."""
    folder = words.fields.get("folder") or words.common.get("workspace") or os.environ.get("DIBS_WORKSPACE")
    place = place_of(folder)
    try:
        if words.fields.get("uninstall"):
            if not words.fields.get("dry_run"):
                _ask_leave(place, words)
            return _uninstall(place, words)
        return _install(place, words)
    except OSError as error:
        where = error.filename or place.root
        raise Unavailable(f"{where} cannot be made: {error.strerror}", path=place.root) from None


def _ask_leave(place: location.Place, words: Words) -> None:
    """Taking dibs out is not an agent's to do. Where the store does not answer, nobody can tell, and it passes."""
    from dibs.client.session import Session
    from dibs.operations.core import authority

    if not place.exists:
        return
    try:
        session = Session(place.top, place.root, short_lived=True)
        session.run(authority.MAY, session.identify(words.common.get("as")), {"act": "init --uninstall"})
    except (Unavailable, Invalid):
        pass


def place_of(folder: str | None) -> location.Place:
    """Where the workspace will be: the repository's main worktree, else the folder itself."""
    if folder is not None and not os.path.isdir(folder):
        meant = f"; for its hooks: `dibs init --clients {folder}`" if folder in NAMES else ""
        raise Invalid(f"{folder} is not a folder{meant}", path=folder)
    return location.find(os.getcwd(), folder or os.getcwd())


def _install(place: location.Place, words: Words) -> int:
    given = words.fields.get("clients")
    chosen = detection.detected(plan.base(place)) if given is None else detection.named(given)
    dry = bool(words.fields.get("dry_run"))
    mcp = not words.fields.get("no_mcp") and bool(chosen)
    made, changes = install(
        place, chosen, temporary=bool(words.fields.get("temporary")), dry=dry, mcp=mcp and mcp_entries.is_offered()
    )
    if mcp and changes and not mcp_entries.is_offered():
        made.notes.append(
            "the clients have no tools of dibs: those need its extra `mcp` (`uv tool install 'FOLDER[mcp]'`), then "
            "`dibs init` again"
        )
    if words.json:
        answer: dict[str, object] = {
            "workspace": place.root, "clients": chosen, "changes": changes, "notes": made.notes,
        }  # fmt: skip
        if dry:
            answer["diff"] = _diff(made)
        sys.stdout.write(jsontext.encode({"ok": True, **answer}) + "\n")
        return YES
    if dry:
        sys.stdout.write(_diff(made))
    _say(place, changes, dry)
    allowed = [note for name in chosen if (note := agents.of(name).note)] if changes else []
    for note in [*made.notes, *_about_clients(chosen, named=given is not None), *allowed]:
        sys.stdout.write(f"note: {note}\n")
    return YES


def install(
    place: location.Place, chosen: list[str], *, temporary: bool = False, dry: bool = False, mcp: bool = False
) -> tuple[plan.Plan, list[str]]:
    """Make a workspace there with hooks for these clients; what was planned, and the names of what changed."""
    passing = _passing(allowed=temporary)
    made = plan.install(place, chosen, _config(place), mcp=mcp)
    if passing:
        made.notes.append(
            f"the hooks will run {sys.executable}, which may soon be gone; every guarded call is refused then, unless "
            "another dibs is on the PATH. Run `dibs init` again from a permanent installation"
        )
    changes = [made.name(change.path) for change in made.own]
    changes += _local(place, dry=True)
    changes += [made.name(change.path) for change in made.others]
    if not dry:
        plan.apply(made) if place.exists else _first(place, made)
        _local(place, dry=False)
    return made, changes


def _passing(*, allowed: bool) -> str:
    """Why the hooks' interpreter may soon be gone, "" if it stays. One in a runner's cache is refused."""
    passing = launcher.why_temporary(sys.executable)
    if passing == "cache" and not allowed:
        message = (
            f"{sys.executable} lies in a runner's cache (uvx, pipx run), which may be emptied at any time; every "
            "guarded call would be refused then. Install dibs to stay (`uv tool install FOLDER`, a clone of dibs), "
            "then run `dibs init`; or say `--temporary`. Nothing was changed."
        )
        raise Forbidden(message, path=sys.executable)
    return passing


def _say(place: location.Place, changes: list[str], dry: bool) -> None:
    if not changes:
        sys.stdout.write(f"{place.root} is a workspace already; nothing to do\n")
        return
    would = "would write" if dry else "wrote"
    sys.stdout.write("".join(f"{would} {change}\n" for change in changes))
    if not dry:
        first = "Commit what was written, for worktrees and teammates, then let" if place.common else "Let"
        sys.stdout.write(f"{place.root} is a workspace. {first} `dibs doctor` prove the guards.\n")


def _about_clients(chosen: list[str], *, named: bool) -> list[str]:
    others = [client for client in NAMES if client not in chosen]
    if named or not others:
        return []
    using = f"hooks for {', '.join(chosen)}" if chosen else "no client was found, so no client has hooks"
    return [f"{using}; for others: dibs init --clients {','.join([*chosen, *others])}"]


def _first(place: location.Place, made: plan.Plan) -> None:
    """The first time: the folder for this machine comes before anything that would be recorded in it."""
    os.makedirs(os.path.dirname(place.local), 0o775, exist_ok=True)  # not for all, whatever the umask
    os.makedirs(place.local, 0o700, exist_ok=True)
    plan.apply(made)


def _config(place: location.Place) -> str:
    """The text of a new config; that of the repository itself where there is one (a bare one's worktree).

    If it was swept away, what it last said: the workspace's id is to stay what it was.
    """
    for folder in (f"{place.root}/.dibs", place.shared):
        try:
            with open(f"{folder}/{config.NAME}", encoding="utf-8") as file:
                return file.read()
        except OSError:
            continue
    return config.TEMPLATE.format(id=f"{clock.random_id()}{clock.random_id()}")


def _local(place: location.Place, *, dry: bool) -> list[str]:
    """What belongs to this machine: its folder, the database, which interpreter runs the hooks."""
    changes: list[str] = []
    home, local = os.path.dirname(place.local), place.local
    if not os.path.isdir(local):
        changes.append(".dibs/local/")
        if not dry:
            os.makedirs(home, exist_ok=True)
            os.mkdir(local, 0o700)
    if not launcher.is_put(place):
        changes.append(".dibs/local/run")
        if not dry:
            launcher.put(place)
    if not os.path.exists(f"{local}/store"):
        url = configured_url(config.parse(f"{home}/config.toml")["store"])
        changes.append(".dibs/local/dibs.db" if url == "sqlite:" else ".dibs/local/store")
        if not dry:
            read = config.load(f"{home}/config.toml", local, place.top, place.shared)
            open_store(local, read.store, read.id, 5.0, shared=place.shared).close()
    elif not dry:
        _refuse_missing(local)
    if not dry:
        push_look.begin(place)
    return changes


def _refuse_missing(local: str) -> None:
    """Raise if this workspace is pinned to a file that no longer exists."""
    url = read_pin(local).url
    database = database_of(url)
    if database is not None:
        database.refuse_missing(database.path_of(local, url))


def _diff(made: plan.Plan) -> str:
    return "".join(change.diff(made.name(change.path)) for change in [*made.own, *made.others])


# --- taking out


def _uninstall(place: location.Place, words: Words) -> int:
    if not place.exists and not os.path.lexists(os.path.join(place.top, ".dibs")):
        raise Invalid(f"{place.root} is not a workspace; there is nothing to take out", path=place.root)
    found = plan.uninstall(place)
    dry = bool(words.fields.get("dry_run"))
    changes = [found.name(change.path) for change in found.others]
    changes += remove.names(place)
    if not dry:
        remove.allow(place, words.common.get("as"), yes=bool(words.fields.get("yes")))
        plan.take_back(found)
        remove.everything(place)
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": True, "workspace": place.root, "changes": changes}) + "\n")
        return YES
    if dry:
        sys.stdout.write(_diff(found))
    verb = "would restore or remove" if dry else "restored or removed"
    sys.stdout.write("".join(f"{verb} {change}\n" for change in changes))
    return YES


COMMAND = Command(
    "init",
    "Make a repository or folder a workspace, with hooks for its clients and for git.",
    run=run,
    group="setup",
    fields=FIELDS,
    examples=(
        ("dibs init", "hooks for the clients that are used here"),
        ("dibs init --clients claude,codex", "hooks for these two"),
        ("dibs init --dry-run", "show every change as a diff; change nothing"),
        ("dibs init --uninstall", "remove everything dibs added"),
    ),
    json="workspace, clients[], changes[], notes[]",
)
