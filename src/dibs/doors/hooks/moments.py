"""What happens at each moment of an agent's life that a client's hook tells of: facts are gathered, operations run.

Each function gets the event and the workspace's place, raises a DibsError to refuse, and returns what the model should
be told ("" for nothing).
"""

from __future__ import annotations

import os

from dibs.doors.hooks import clients, journal
from dibs.doors.session import Session
from dibs.errors import DibsError, Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.facts.workspace import Place
    from dibs.operations.call import Call

TIMEOUT = 3.0  # seconds for the store: well under the time limit that `init` gives the hooks
LARGEST_KEPT = 4 * 1024 * 1024  # bytes of a file whose content is kept for `dibs restore`
SHELLS = frozenset(
    {"sh", "dash", "bash", "zsh", "ksh", "fish", "busybox", "env", "timeout", "nice", "nohup", "uv", "direnv"}
)
WITHIN = 2_000  # files of a folder that is written as a whole which are looked at, one by one
RESTAMPED = 300  # files of an agent's journal that are looked at after a command of its own


def open_session(place: Place) -> Session:
    """The workspace, for one hook call."""
    return Session(place.top, place.root, timeout=TIMEOUT, short_lived=True, place=place, missing="refuse")


def identify(session: Session, event: clients.Event) -> Call:
    """Who calls, and from which client process: it started this hook, so it is the nearest one that is no shell."""
    client = next((process for process, name in session.chain() if name not in SHELLS), None)
    return session.identify(event.agent, client=client)


# --- before a call


def before(event: clients.Event, place: Place) -> str:
    """May the tool do that? Raises the refusal."""
    if event.kind == clients.OTHER:
        return _before_other(event, place)
    if event.kind == clients.SHELL:
        from dibs.doors.hooks import shells

        return shells.before(event, place)
    session = open_session(place)
    call = identify(session, event)
    allow_edits(session, call, event, _paths(event))
    return ""


def _paths(event: clients.Event) -> list[str]:
    """The files that an edit or a patch names."""
    if event.kind != clients.PATCH:
        return event.paths
    from dibs.facts import patches

    try:
        paths = [path for _, path in patches.paths(event.command)]
    except ValueError as error:
        raise Invalid(f"the patch cannot be read: {error}") from None
    if not paths:
        raise Invalid("the patch names no file that could be read.")
    return paths


def _before_other(event: clients.Event, place: Place) -> str:
    """A tool whose writes cannot be known beforehand: allowed, and audited afterwards."""
    journal.append(place.local, event.agent, [journal.line("O", event.call or event.tool)])
    return ""


def allow_edits(session: Session, call: Call, event: clients.Event, paths: list[str]) -> None:
    """Run the edit guard on these paths, and note what they hold before the agent writes."""
    from dibs.operations.edits import EDIT

    known = journal.Journal(session.place.local, call.agent)
    trees: dict[str, list[Any]] = {}
    lines = [journal.line("O", event.call or event.tool)]
    roles = session.config.policy.guards["roles"]
    for path in paths:
        real = event.real(path)
        try:
            kind, text, alias, top = session.paths.located(path, event.cwd or session.cwd, literal=True)
        except Invalid:
            if journal.inside(
                session.place, real
            ):  # a name that nobody can claim, a loop of links: where to is unknown
                raise
            if roles["default"] or roles["assign"]:  # whoever may write only here may not write elsewhere either
                trees.setdefault("", []).append([["file", real, ""], True, "", None, ()])
            continue
        from dibs.facts.ignored import is_ignored

        signature = journal.signature(real)
        blob = journal.blob_of(real) if signature != journal.MISSING else ""
        ignored = is_ignored(top, session.paths.common, text)
        inside = _within(real, top) if kind == "tree" and not ignored else ()
        item = [[kind, text, alias], ignored, blob, None, inside]
        seen = known.last(real)
        if seen is not None and signature not in {journal.MISSING, seen[0]} and not (blob and blob == seen[1]):
            item[3] = who_changed(session.place.local, call.agent, real, blob)
        trees.setdefault(top, []).append(item)
        lines.append(journal.line("W", real, signature, blob))
        if blob:
            keep(session.place.local, real, blob)
    if trees:
        first, *more = [
            {"items": items, "tree": top, "local": top == session.place.root} for top, items in trees.items()
        ]
        session.run(EDIT, call, {**first, "more": more, "client": event.client, "tool": event.tool})
    lines.append(journal.next_renewal())
    journal.append(session.place.local, call.agent, lines)


def _within(folder: str, top: str) -> list[str]:
    """The files in a folder, from the top of its working tree: what is strict may be among them."""
    found: list[str] = []
    for directory, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in {".git", "node_modules"}]
        found += [os.path.join(directory, name)[len(top) + 1 :] for name in files]
        if len(found) > WITHIN:
            break
    return found[:WITHIN]


def who_changed(local: str, agent: str, real: str, blob: str) -> str:
    """Which other agent's journal says that it left the file so; "" if none does."""
    own = journal.name_of(agent)
    for name in journal.agents(local):
        if name != own and blob:
            seen = journal.Journal(local, name=name).files(b"W").get(real)
            if seen is not None and seen[1] == blob:
                return journal.agent_named(name)
    return ""


def keep(local: str, real: str, blob: str) -> None:
    """Keep a content, so that it can be brought back. In dibs' own folder: it becomes git's when it is needed."""
    folder = f"{local}/objects"
    try:
        os.utime(f"{folder}/{blob[:2]}/{blob[2:]}")  # it is there: needed from now on, see tidying.py
    except OSError:
        pass
    else:
        return
    from dibs.facts import objects

    try:
        with open(real, "rb") as file:
            content = file.read(LARGEST_KEPT + 1)
        if len(content) <= LARGEST_KEPT:
            objects.keep(folder, content, sync=False)
    except OSError:
        pass


# --- after a call


def after(event: clients.Event, place: Place) -> str:
    """Note what the agent left in its files; after a command, look at everybody else's."""
    agent = event.agent
    if event.kind in {clients.EDIT, clients.PATCH}:
        lines = [journal.line("C", event.call or event.tool)]
        for path in _paths(event):
            real = event.real(path)
            if journal.inside(place, real):
                lines.append(left_behind(place.local, real))
        journal.append(place.local, agent, lines)
        journal.compact(place.local, agent)
        return ""
    from dibs.doors.hooks import auditing

    return auditing.after(event, place)


def left_behind(local: str, real: str) -> str:
    """The journal's line about a file as it is now; its content is kept."""
    signature = journal.signature(real)
    blob = journal.blob_of(real) if signature != journal.MISSING else ""
    if blob:
        keep(local, real, blob)
    return journal.line("W", real, signature, blob)


# --- the rest of an agent's life


def boot(event: clients.Event, place: Place) -> str:
    """The agent begins, or begins again: register it and tell it what is true."""
    from dibs.doors.hooks import briefing, tidying

    tidying.tidy(place.local)
    session = open_session(place)
    call = identify(session, event)
    journal.compact(place.local, call.agent)
    fields = {"client_type": event.type or event.client}
    result = session.run(session.operation("boot"), call, fields)
    journal.append(place.local, call.agent, [journal.next_renewal()])
    return briefing.text(session, result, source=event.source)


def prompt(event: clients.Event, place: Place) -> str:
    """A person spoke: a good moment for news."""
    return sign_of_life(event, place)


def sign_of_life(event: clients.Event, place: Place) -> str:
    """The store hears that the agent is active, which renews its claims, and the agent hears what is new."""
    from dibs.doors.hooks import briefing
    from dibs.operations.audits import ACTIVITY

    session = open_session(place)
    call = identify(session, event)
    news = session.run(ACTIVITY, call, {})
    journal.append(place.local, call.agent, [journal.next_renewal()])
    return briefing.news(session, news)


def stop(event: clients.Event, place: Place) -> str:
    """The agent's turn is over: what it holds and did not change is free again."""
    from dibs.operations.audits import IDLE, MINE

    session = open_session(place)
    call = identify(session, event)
    now: dict[str, str] = {}
    mine = session.run(MINE, call, {})["claims"]
    for claim, tree, texts in mine:
        for text in texts:
            real = f"{tree}/{text}"
            now[f"{claim}\t{text}"] = journal.blob_of(real) if os.path.isfile(real) else ""
    if mine:
        session.run(IDLE, call, {"now": now})
    return ""


def end(event: clients.Event, place: Place) -> str:
    """The agent ends: what it holds is free, or passes to its parent."""
    from dibs.operations.audits import KNOWN

    session = open_session(place)
    call = identify(session, event)
    if session.run(KNOWN, call, {})["known"]:  # compaction tells of the end of subagents that never began
        session.run(session.operation("leave"), call, {})
    return ""


def allowed_in_doubt(event: clients.Event, place: Place, why: str) -> bool:
    """Does the config let pass what cannot be decided? Then the log has it, if that can be had."""
    session = open_session(place)
    if session.config.policy.guards["on_doubt"] != "allow":
        return False
    from dibs.operations.audits import DOUBT

    try:
        session.run(DOUBT, identify(session, event), {"why": why, "tool": event.tool})
    except DibsError:
        pass
    return True


MOMENTS = {
    clients.BOOT: boot, clients.BEFORE: before, clients.AFTER: after, clients.PROMPT: prompt, clients.STOP: stop,
    clients.END: end, clients.BORN: boot, clients.DIED: end,
}  # fmt: skip
