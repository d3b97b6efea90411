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
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.command import Command
from dibs.interfaces.install import detection, mcp_entries, plan, private, remove, summary
from dibs.machine import clock, extras
from dibs.operations.core.declare import Field
from dibs.stores.engines import database_of
from dibs.stores.opening import configured_url, open_store, read_pin
from dibs.workspace import config, launcher, location
from dibs.workspace.known_clients import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.parse import Words
    from dibs.interfaces.install.files import Change

FIELDS = (
    Field("folder", "text", "the project's top directory (default: the repository or folder you are in)",
          positional=True, metavar="DIR"),
    Field("clients", "words", f"whose settings get the hooks: {', '.join(NAMES)}; all or none (default: those "
          "in use here)", metavar="C,…"),
    Field("local", "flag", "a trial for you alone: nothing to commit, `git status` stays clean", default=False),
    Field("rules", "text", "the rules in .dibs/rules.md: two about coordination (short), or seven (full)",
          choices=("short", "full"), default="short", metavar="SET"),
    Field("no_mcp", "flag", "no entry for the tools of `dibs mcp`", default=False),
    Field("dry_run", "flag", "change nothing; list what would change", default=False),
    Field("diff", "flag", "change nothing; show what would change as a diff", default=False),
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
            if not _is_dry(words):
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
    given, local = words.fields.get("clients"), bool(words.fields.get("local"))
    chosen = detection.detected(plan.base(place)) if given is None else detection.named(given)
    dry = _is_dry(words)
    mcp = not words.fields.get("no_mcp") and bool(chosen)
    made, changes = install(
        place, chosen, temporary=bool(words.fields.get("temporary")), dry=dry, mcp=mcp and mcp_entries.is_offered(),
        local=local, full=words.fields.get("rules") == "full",
    )  # fmt: skip
    chosen = [name for name in chosen if name not in made.left_out]
    commit, ignored = summary.to_commit(made, changes, dry=dry)
    made.notes[:0] = summary.warnings(place)
    if ignored:
        made.notes.append(f"git ignores {', '.join(ignored)}: `git add -f` commits it, for teammates and new worktrees")
    if mcp and changes and not mcp_entries.is_offered():
        made.notes.append(f"MCP tools are not installed: {extras.advice('mcp')}, then `dibs init` again")
    if words.json:
        answer: dict[str, object] = {
            "workspace": place.root, "local": local, "clients": chosen, "changes": changes, "commit": commit,
            "notes": made.notes,
        }  # fmt: skip
        if dry:
            answer["diff"] = _diff(made)
        sys.stdout.write(jsontext.encode({"ok": True, **answer}) + "\n")
        return YES
    if words.fields.get("diff"):
        sys.stdout.write(_colored_diff(_diff(made)))
    elif dry:
        _table(made, changes)
    else:
        _say(place, changes, commit, chosen, local=local, was_trial=made.was_trial)
    allowed = [note for name in chosen if (note := agents.of(name).note)] if changes else []
    for note in [*made.notes, *_about_clients(chosen, named=given is not None, local=local), *allowed]:
        sys.stdout.write(f"{terminal.styled('note:', 'yellow', sys.stdout)} {note}\n")
    return YES


def _is_dry(words: Words) -> bool:
    return bool(words.fields.get("dry_run") or words.fields.get("diff"))


def install(
    place: location.Place, chosen: list[str], *, temporary: bool = False, dry: bool = False, mcp: bool = False,
    local: bool = False, full: bool = False,
) -> tuple[plan.Plan, list[str]]:  # fmt: skip
    """Make a workspace there with hooks for these clients; what was planned, and the names of what changed."""
    if local:
        private.refuse(place, plan.base(place))
    passing = _passing(allowed=temporary)
    made = plan.install(place, chosen, _config(place), mcp=mcp, local=local, full=full)
    if passing:
        made.notes.append(
            f"the hooks will run {sys.executable}, which may soon be gone; every guarded call is refused then, unless "
            "another dibs is on the PATH. Run `dibs init` again from a permanent installation"
        )
    changes = [made.name(change.path) for change in [*made.first, *made.own]]
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


def _say(
    place: location.Place, changes: list[str], commit: list[str], chosen: list[str], *, local: bool, was_trial: bool
) -> None:
    """What was done, in groups: to commit, on this machine, and what comes next."""
    kind = "a trial for you alone" if local else "the team's now, no longer a trial" if was_trial else "a workspace"
    if not changes:
        sys.stdout.write(f"{place.root} is a workspace already; nothing to do\n")
        return
    sys.stdout.write(f"{place.root} is {kind}.\n")
    if commit:
        _group("Commit these, for worktrees and teammates:", commit)
        sys.stdout.write(f"  {terminal.styled(summary.commit_command(commit), 'cyan', sys.stdout)}\n")
    here = [name for name in changes if name not in commit]
    if here:
        title = "On this machine; git lists none of it:" if local else "On this machine:"
        _group(title, here)
    sys.stdout.write(f"{terminal.styled('Next:', 'bold', sys.stdout)}\n")
    for number, step in enumerate(summary.next_steps(chosen, NAMES, local=local), 1):
        sys.stdout.write(f"  {number}. {step}\n")


def _group(title: str, names: list[str]) -> None:
    rows = summary.folded(names)
    wide = max(len(name) for name, _ in rows)
    sys.stdout.write(f"{terminal.styled(title, 'bold', sys.stdout)}\n")
    for name, purpose in rows:
        sys.stdout.write(f"  {name.ljust(wide)}  {terminal.styled(purpose, 'dim', sys.stdout)}".rstrip() + "\n")


def _table(made: plan.Plan, changes: list[str], *, taken_out: bool = False) -> None:
    """What would be done, a row for each file."""
    acts = {made.name(change.path): summary.act(change, taken_out=taken_out) for change in made.changes}
    rest = "remove" if taken_out else "create"
    rows = [(acts.get(name, rest), name, summary.purpose(name)) for name in changes]
    terminal.write([terminal.Table(("WOULD", "FILE", "WHAT FOR"), rows)] if rows else ["nothing would change"])


def _about_clients(chosen: list[str], *, named: bool, local: bool) -> list[str]:
    others = [client for client in NAMES if client not in chosen]
    if named or not others:
        return []
    found = f"hooks for {', '.join(chosen)}; for others" if chosen else "no coding client detected; to choose"
    return [f"{found}: dibs init{' --local' * local} --clients {','.join([*chosen, *others])}"]


def _first(place: location.Place, made: plan.Plan) -> None:
    """The first time: the folder for this machine comes before anything that would be recorded in it."""
    os.makedirs(os.path.dirname(place.local), 0o775, exist_ok=True)  # not for all, whatever the umask
    os.makedirs(place.local, 0o700, exist_ok=True)
    with open(f"{place.local}/.gitignore", "w", encoding="ascii") as file:
        file.write(launcher.IGNORE)  # before anything else: an interruption leaves nothing here that git lists
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
    return "".join(change.diff(made.name(change.path)) for change in made.changes)


def _colored_diff(text: str) -> str:
    styles = {"+++": "bold", "---": "bold", "+": "green", "-": "red", "@": "cyan"}
    return "".join(
        terminal.styled(line, styles.get(line[:3], styles.get(line[:1], "")), sys.stdout) + "\n"
        for line in text.splitlines()
    )


# --- taking out


def _uninstall(place: location.Place, words: Words) -> int:
    if not place.exists and not os.path.lexists(os.path.join(place.top, ".dibs")):
        raise Invalid(f"{place.root} is not a workspace; there is nothing to take out", path=place.root)
    found = plan.uninstall(place)
    dry = _is_dry(words)
    changes = [found.name(change.path) for change in found.others]
    changes += remove.names(place)
    left = [] if private.is_here(place) else summary.left_in_trees(place)
    if not dry:
        remove.allow(place, words.common.get("as"), yes=bool(words.fields.get("yes")))
        plan.take_back(found)
        remove.everything(place)
    if words.json:
        trees = [{"tree": tree, "files": names} for tree, names in left]
        answer = {"workspace": place.root, "changes": changes, "left": trees}
        sys.stdout.write(jsontext.encode({"ok": True, **answer}) + "\n")
        return YES
    if words.fields.get("diff"):
        sys.stdout.write(_colored_diff(_diff(found)))
    elif dry:
        _table(found, changes, taken_out=True)
    else:
        _say_taken(found.others, found, changes)
    for tree, names in left:
        sys.stdout.write(
            f"{terminal.styled('note:', 'yellow', sys.stdout)} {tree} still has {', '.join(names)}: its branch has "
            "them committed. Merge the commit that removes them, or remove them there\n"
        )
    return YES


def _say_taken(others: list[Change], found: plan.Plan, changes: list[str]) -> None:
    acts = {found.name(change.path): f"{summary.act(change, taken_out=True)}d" for change in others}
    for name in changes:
        sys.stdout.write(f"{acts.get(name, 'removed').ljust(8)} {name}\n")


COMMAND = Command(
    "init",
    "Make a repository or folder a workspace, with hooks for its clients and for git.",
    run=run,
    group="setup",
    fields=FIELDS,
    examples=(
        ("dibs init", "hooks for the clients that are used here"),
        ("dibs init --clients claude,codex", "hooks for these two"),
        ("dibs init --local", "try it alone in a team's repository: nothing to commit"),
        ("dibs init --dry-run", "list every change, with --diff as a diff; change nothing"),
        ("dibs init --uninstall", "remove everything dibs added"),
    ),
    json="workspace, local, clients[], changes[], commit[], notes[]",
)
