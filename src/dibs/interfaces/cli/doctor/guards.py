"""What `dibs doctor` says about the guards: are the hooks in place, do they refuse, would each client run them at all.

Proves rather than looks: from the main and every linked working tree, the exact command of each client's settings is
run with a forbidden write, in a scratch workspace. Beside that it says what only the client knows: trust, switches,
worktrees without settings.
"""

from __future__ import annotations

import os

from dibs.errors import DibsError, quoted
from dibs.git import queries as git
from dibs.interfaces import agents
from dibs.interfaces.agents import BEFORE
from dibs.interfaces.agents.adapter import MADE
from dibs.interfaces.cli.doctor import committed
from dibs.interfaces.install import githooks, mcp_probe, plan, private, probe
from dibs.interfaces.install.settings import hold_of
from dibs.workspace import launcher
from dibs.workspace.known_clients import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from dibs.audit.answers import CheckView
    from dibs.client.session import Session

    Severity = Literal["error", "warning", "advice"]  # of a check

ERROR: Severity = "error"
WARNING: Severity = "warning"
ADVICE: Severity = "advice"
SHOWN = 3  # names in a message; its command has all
MISSING_RUN = "{path} is missing; `dibs init` makes it (a hook finds dibs on the PATH meanwhile)"


def examine(session: Session) -> Iterator[CheckView]:
    """Every check on the guards, one by one."""
    for check in _examined(session):
        if private.is_here(session.place):  # without the option `dibs init` would make it the team's
            check["message"] = check["message"].replace("`dibs init", "`dibs init --local")
        yield check
    if private.is_here(session.place):
        message = "a trial for you alone: nothing is committed. `dibs init` makes it the team's"
        yield _check("set-up", True, message, ADVICE)


def _examined(session: Session) -> Iterator[CheckView]:
    base = plan.base(session.place)
    if not os.path.exists(f"{base}/.dibs/hook"):
        yield _check("launcher", False, f"{base}/.dibs/hook is missing: no guard works; `dibs init` makes it", WARNING)
        return
    yield _launcher(session)
    yield from _scripts(base)
    yield from _clients(session, base)
    yield from _git_hooks(session)


def proofs(session: Session) -> Iterator[CheckView]:
    """What `dibs check` asks for: does each client's hook refuse, would the client run it, are git's hooks there."""
    base = plan.base(session.place)
    if not os.path.exists(f"{base}/.dibs/hook"):
        yield _check("launcher", False, f"{base}/.dibs/hook is missing: no guard works; `dibs init` makes it", ERROR)
        return
    trees = plan.trees_of(session.place)
    used = [client for client in NAMES if any(_commands(client, tree) for tree in trees)]
    if used:
        yield _launcher(session)
        yield from _proven(session, used, trees)
        for client in used:
            yield from _trusted(client, trees)
    yield from _git_hooks(session)


def _check(name: str, ok: bool, message: str, severity: Severity = ERROR, command: str = "") -> CheckView:
    found: CheckView = {"check": name, "ok": ok, "message": message, "severity": severity}
    if command:
        found["command"] = command
    return found


def _launcher(session: Session) -> CheckView:
    """Does the launcher find an interpreter and dibs?"""
    path = f"{session.place.local}/run"
    if launcher.is_current(session.place.local):
        if launcher.is_put(session.place):
            was = f" (it named {session.replaced}; it was rewritten just now)" if session.replaced else ""
            return _check("launcher", True, f"{path} starts this dibs{was}")
        message = f"the copies in {session.place.shared} are missing or old; `dibs init` makes them"
        return _check("launcher", False, message, WARNING)
    named = launcher.read_run(session.place.local)
    if named is None:
        return _check("launcher", False, MISSING_RUN.format(path=path), WARNING)
    gone = [one for one in named if not os.path.exists(one)]
    if gone:
        message = (
            f"{path} names {gone[0]}, which is not there: every guarded call is refused, or decided by another dibs on "
            "the PATH. Run `dibs init` again"
        )
        return _check("launcher", False, message)
    return _check(
        "launcher", True, f"hooks are run by {named[0]}, not by the Python of this dibs; `dibs init` changes it"
    )


def _scripts(base: str) -> Iterator[CheckView]:
    """Are the launcher and the command, which are committed, as this dibs writes them?"""
    for name, text in (("hook", launcher.hook_text()), ("dibs", launcher.COMMAND)):
        path = f"{base}/.dibs/{name}"
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                old = file.read() != text
        except OSError:
            old = True
        if old:
            message = (
                f"{path} is missing, changed, or another version's; `dibs init` writes this one's, to be committed"
            )
            yield _check("launcher", False, message, WARNING)


# --- clients


def _clients(session: Session, base: str) -> Iterator[CheckView]:
    trees = plan.trees_of(session.place)
    used = [client for client in NAMES if any(_commands(client, tree) for tree in trees)]
    if not used:
        yield _check("clients", False, "no client's settings call dibs; `dibs init --clients …` puts it in", WARNING)
        return
    yield from _proven(session, used, trees)
    for client in used:
        yield from _current(client, base, hold_of(session.config.policy), local=private.is_here(session.place))
        yield from _allowed(client, trees)
        yield from _trusted(client, trees)
    yield from _servers(used, trees)
    yield from _uncommitted(session, base, used, linked=len(trees) > 1)
    for client in used:
        for name, message in agents.of(client).advice:
            yield _check(name, True, message, ADVICE)


def _proven(session: Session, used: list[str], trees: list[str]) -> Iterator[CheckView]:
    """A forbidden write, tried with each client's own command in each working tree."""
    try:
        roles = session.config.policy.guards["roles"]
        given = roles["default"] or roles["assign"]  # then the trial's agents might not write at all
        with probe.Scratch("" if given else session.place.config) as scratch:
            for client in used:
                for tree in trees:
                    yield _proof(client, tree, scratch.folder, local=private.is_here(session.place))
    except (DibsError, OSError) as error:
        yield _check("guards", False, f"they could not be tried: {getattr(error, 'message', error)}")


def _current(client: str, base: str, hold: int, *, local: bool) -> Iterator[CheckView]:
    """Are the settings as this dibs would write them, for guards that hold a call for `hold` seconds?"""
    adapter = agents.of(client)
    message = "{path} was written by an older dibs, or changed; `dibs init --clients {client}` brings it up to date"
    path = f"{base}/{(local and adapter.private_file) or adapter.settings_file}"
    try:
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
        if not agents.of(client).settings_commands(text, path):
            return  # a plugin guards
        mcp = bool(_server(client, f"{base}/{agents.of(client).mcp_file}"))
        if adapter.settings_merged(text, path, mcp=mcp, hold=hold) == text and not _old_files(client, base):
            return
        if hold and adapter.settings_merged(text, path, mcp=mcp) == text:
            message = (
                "the config lets guards wait in line, and {path} gives them no time for it: they refuse at once; "
                "`dibs init --clients {client}` gives it"
            )
    except (OSError, ValueError, DibsError):
        return  # what is wrong with it was said already
    yield _check(f"{client} settings", False, message.format(path=path, client=client), WARNING)


def _old_files(client: str, base: str) -> list[str]:
    """The files that are only ours, and that this dibs would write otherwise."""
    found = []
    for name, text in agents.of(client).own_files().items():
        try:
            with open(f"{base}/{name}", encoding="utf-8") as file:
                there = file.read()
        except OSError:
            continue
        if there != text and there.startswith(MADE):
            found.append(name)
    return found


def _allowed(client: str, trees: list[str]) -> Iterator[CheckView]:
    """May its model run every command of dibs without a person being asked? Some of them run any program."""
    for entry in dict.fromkeys(entry for tree in trees for entry in agents.of(client).allows_all(tree)):
        message = (
            f"{entry} lets {agents.of(client).title} run every command of dibs without asking, and so any program "
            f"(`dibs deploy … -- COMMAND`). `dibs init --clients {client}` writes a list of safe ones; take this entry "
            "out where it stays"
        )
        yield _check(f"{client} permissions", False, message, WARNING)


def _servers(used: list[str], trees: list[str]) -> Iterator[CheckView]:
    """Does our MCP entry start in every working tree, and list tools? What several clients would run is run once."""
    known: dict[tuple[str, ...], tuple[int, str]] = {}
    for client in used:
        for tree in trees:
            path = f"{tree}/{agents.of(client).mcp_file}"
            command = _server(client, path)
            if not command:
                continue
            if (tree, *command) not in known:
                known[tree, *command] = mcp_probe.attempt(command, tree)
            tools, wrong = known[tree, *command]
            if wrong:
                yield _check(f"{client} tools", False, f"the entry dibs of {path} does not work: {wrong}", WARNING)
            else:
                yield _check(f"{client} tools", True, f"the entry dibs of {path} starts and lists {tools} tools")


def _server(client: str, path: str) -> list[str]:
    """Our command in a client's list of MCP servers; [] if it has none of ours."""
    try:
        with open(path, encoding="utf-8") as file:
            return agents.of(client).mcp_command(file.read(), path)
    except (OSError, ValueError, DibsError):
        return []


def _proof(client: str, tree: str, scratch: str, *, local: bool) -> CheckView:
    name = f"{client} guard"
    commands = _commands(client, tree)
    if commands is None:
        what = f"{tree}/{agents.of(client).settings_file}"
        state = "has no hooks of dibs" if os.path.exists(what) else "is not there"
        message = f"{client} is not guarded in {tree}: {what} {state}. Commit it, and merge it into the branch there"
        if local:
            message = f"{client} is not guarded in {tree}: run `dibs init` in {tree}"
            return _check(name, False, message, command=f"dibs init {quoted(tree)}")
        return _check(name, False, message, command=f"git -C {quoted(tree)} merge {quoted(_branch(tree))}")
    event = agents.of(client).event_of(BEFORE)
    command = commands.get(event)
    if not command:
        message = f"{tree}/{agents.of(client).settings_file} has no {event} hook of dibs; `dibs init` puts it in"
        return _check(name, False, message)
    wrong = probe.attempt(client, command, tree, scratch)
    if wrong:
        return _check(name, False, f"{client} in {tree}: {wrong}")
    return _check(name, True, f"a forbidden write, and every call of a killed agent, is refused in {tree}")


def _commands(client: str, tree: str) -> dict[str, str] | None:
    """Our commands in a client's settings of a working tree, or in a plugin of this user; None without any."""
    adapter = agents.of(client)
    for name in filter(None, (adapter.settings_file, adapter.private_file)):
        path = f"{tree}/{name}"
        try:
            with open(path, encoding="utf-8") as file:
                found = adapter.settings_commands(file.read(), path)
        except (OSError, ValueError, DibsError):
            continue
        if found:
            return found
    return adapter.plugin_commands() or None


def _branch(tree: str) -> str:
    """The branch of the main working tree, which has what `init` wrote; a commit if it is on none."""
    main = git.ask(tree, "worktree", "list", "--porcelain").out.decode("utf-8", "surrogateescape").split("\n\n")[0]
    lines = main.split("\n")
    branch = next((line for line in lines if line.startswith("branch ")), "").removeprefix("branch refs/heads/")
    return branch or next((line[5:] for line in lines if line.startswith("HEAD ")), "HEAD")


def has_hooks(client: str, tree: str) -> bool:
    """Do a client's settings in this working tree call dibs?"""
    return _commands(client, tree) is not None


def _trusted(client: str, trees: list[str]) -> Iterator[CheckView]:
    name = f"{client} trust"
    for tree in trees:
        off = agents.of(client).switched_off(tree)
        for message in off:
            yield _check(name, False, message)
        why = agents.of(client).untrusted(tree)
        if why:
            yield _check(name, False, why, WARNING)
        elif not off and agents.of(client).shows_trust:
            yield _check(name, True, f"{client} runs the hooks of {tree}")


def _uncommitted(session: Session, base: str, used: list[str], *, linked: bool) -> Iterator[CheckView]:
    """What a new worktree, or a teammate, would not have."""
    if not session.place.common or private.is_here(session.place):
        return
    try:
        missing = committed.missing(session, base, used)
        ignored = git.is_ignored(base, missing) if missing else set()
    except DibsError as error:
        yield _check("committed", False, error.message, WARNING)
        return
    if not missing:
        yield _check("committed", True, "new worktrees and clones have the hooks")
        return
    hidden = [name for name in missing if name in ignored]
    more = f"; git ignores {', '.join(hidden)}" if hidden else ""
    where = "the linked worktrees and every new one" if linked else "a new worktree"
    named = f"{', '.join(missing[:SHOWN])}{f' and {len(missing) - SHOWN} more' if missing[SHOWN:] else ''}"
    message = f"not committed: {named}{more}; {where} would not have it, and may be unguarded"
    yield _check("committed", False, message, WARNING, _commit(session, base, missing, forced=bool(hidden)))


def _commit(session: Session, base: str, missing: list[str], *, forced: bool) -> str:
    """One line that commits these files, and nothing that is staged besides."""
    inside = [name for name in missing if name.startswith(".dibs/")]
    folder = [".dibs"] if inside[1:] and not forced else inside  # its .gitignore keeps what is this machine's out
    names = " ".join(quoted(name) for name in [*folder, *(name for name in missing if name not in inside)])
    staged = git.ask(base, "diff", "--cached", "--name-only", "-z").out.decode("utf-8", "surrogateescape").split("\0")
    only = f" -- {names}" if set(staged) - {"", *missing} else ""
    there = "" if os.path.realpath(session.cwd) == os.path.realpath(base) else f"cd {quoted(base)} && "
    return f"{there}git add{' -f' if forced else ''} {names} && git commit -m 'Guard this repository with dibs'{only}"


# --- git


def _git_hooks(session: Session) -> Iterator[CheckView]:
    place = session.place
    if not place.common:
        return
    hooks = githooks.folder(place)
    if not hooks:
        yield _check("git hooks", False, "git could not be asked for its hooks", WARNING)
        return
    if not githooks.is_ours_to_write(hooks, place):
        message = f"git takes its hooks from {hooks} (core.hooksPath), outside this repository: commits are not guarded"
        yield _check("git hooks", False, message, WARNING)
        return
    if private.is_here(place) and not hooks.startswith(f"{place.common}/"):
        message = f"git takes its hooks from {hooks}, which is the team's: a trial leaves it alone"
        yield _check("git hooks", True, message, ADVICE)
        return
    missing = [name for name in githooks.NAMES if not _has_hook(hooks, name)]
    if missing:
        message = (
            f"{hooks} does not call dibs in {', '.join(missing)} (another tool may have rewritten it); run `dibs init`"
        )
        yield _check("git hooks", False, message)
    else:
        yield _check("git hooks", True, f"commits and pushes go through {hooks}")


def _has_hook(hooks: str, name: str) -> bool:
    for path in (f"{hooks}/{name}", f"{hooks}/{name}{plan.LEGACY_SUFFIX}"):
        try:
            with open(path, "rb") as file:
                if githooks.has_block(file.read()) and (os.access(path, os.X_OK) or githooks.is_husky(hooks)):
                    return True
        except OSError:
            pass
    return False
