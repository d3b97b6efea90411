"""What a client is to dibs: the contract that each folder beside this file fulfils.

`Dialect` is its hook.py: a client's payload becomes an Event (`doors/hooks/payload.py`), and dibs' answer the client's
own JSON. A hook loads that and nothing else, so it is a module of plain values and functions: to make a class costs as
much as to load ten functions. `Client` is in its install.py. Nothing is decided here.
"""

from __future__ import annotations

from dibs.doors.clients import BOOT, END, dialect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any, ClassVar, Protocol

    class Dialect(Protocol):
        """A client's hook.py."""

        @property
        def EVENTS(self) -> Mapping[str, str]:  # noqa: N802 - a module's constant, and so are the next
            """Its event → the moment."""

        @property
        def SILENT(self) -> Collection[str]:  # noqa: N802
            """Events that dibs has no business with; any other one is a doubt."""

        @property
        def TOOLS(self) -> Mapping[str, str]:  # noqa: N802
            """Its tool → what it does; any other one is judged by its input."""

        @property
        def HARMLESS(self) -> Collection[str]:  # noqa: N802
            """Tools that write no file: no suspects for what changes meanwhile."""

        @property
        def PROJECT_VARIABLE(self) -> str:  # noqa: N802
            """In which it tells hooks the project's folder, and then sh runs its commands; "" if it does not."""

        @property
        def YIELDS_AFTER_NS(self) -> int:  # noqa: N802
            """It tells of the end of a command that still runs after this; 0: it never does."""

        def deny(self, event: str, reason: str) -> dict[str, Any]:
            """A refusal in its own dialect."""

        def context(self, event: str, text: str) -> dict[str, Any]:
            """Something that the model should know."""


# Seconds. A guard answers in milliseconds. It waits for another agent's git command for ten seconds at most, and for a
# remote for five; the rest is for a machine that is on its knees.
HOOK_TIMEOUT_S = 20
END_TIMEOUT_S = 1  # what Codex gives a session's end; Claude Code gives all hooks together 1.5
COMMANDS = ("dibs", ".dibs/dibs")  # what models run; the second where the first is not on the PATH
MADE = "# made by `dibs init`"  # how a file begins that is ours alone
# Clients without a folder here: their processes are known as agents' clients all the same.
UNGUARDED = ("cursor-agent", "opencode")


class Client:
    """One client. What has no value here must be said; the rest is as most clients have it."""

    name: ClassVar[str]  # the word in `.dibs/hook NAME`; also the name of its folder

    # --- who it is, for every call (session/known_clients.py is made of these)

    session_variables: ClassVar[Sequence[str]] = ()  # in which its shell says which session runs it
    process_names: ClassVar[Sequence[str]] = ()  # under which it runs; not `node`, which is anybody
    strict: ClassVar[Sequence[str]] = ()  # its files that nobody edits without an explicit claim

    # --- for `dibs init`

    title: ClassVar[str]  # as people call it
    aliases: ClassVar[Sequence[str]] = ()  # what else `--clients` takes for it; hyphens, blanks, capitals do not matter
    in_repository: ClassVar[Sequence[str]] = ()  # what tells that it is in use: there,
    in_home: ClassVar[Sequence[str]] = ()  # in the user's home,
    program: ClassVar[str]  # and on the PATH
    settings_file: ClassVar[str]  # where its hooks are registered, from the repository's top
    settings_start: ClassVar[Mapping[str, Any]] = {}  # what a new one has beside the hooks
    names_event: ClassVar[bool] = False  # does its command name the event, because its payload does not?
    reads: ClassVar[Sequence[str]] = ()  # tools that pass where the launcher is missing: on a branch from before dibs
    pages: ClassVar[Sequence[str]]  # the instruction files that it reads; the first is made if none is there
    imports_pages: ClassVar[bool] = False  # does `@AGENTS.md` in its first page take that one in?
    note: ClassVar[str] = ""  # what init says about running `dibs` without asking

    def entries(self, tools: Sequence[str] = ()) -> dict[str, Any]:
        """The entry of each event in its settings; `tools`: those that the config keeps from roles."""
        raise NotImplementedError

    def merged(self, text: str) -> str:
        """Its settings with whatever else dibs puts in beside the hooks."""
        return text

    def cleaned(self, text: str) -> str:
        """Its settings without that again."""
        return text

    def own_files(self) -> dict[str, str]:
        """Files that are dibs' alone, with their text, which begins with MADE."""
        return {}

    def start_notice(self, text: str) -> dict[str, Any] | None:
        """What a session's start shows where dibs is not installed; None for a client that would show nothing."""
        return {"systemMessage": text, **self.hook.context(self.event_of(BOOT), text)}

    # --- for `dibs doctor`

    trust_order: ClassVar[str] = ""  # what a person does so that it runs the hooks of a folder
    advice: ClassVar[Sequence[tuple[str, str]]] = ()  # what cannot be seen from here: a check's name, and a sentence

    def switched_off(self, tree: str) -> list[str]:
        """Its settings that switch hooks off, here or for this user: a sentence each."""
        del tree
        return []

    def untrusted(self, tree: str) -> str:
        """Why it would not run the hooks of this folder before a person has said that it may; "" if one has."""
        del tree
        return ""

    def probe(self, session: str, folder: str, path: str) -> dict[str, Any]:
        """The payload that it sends before a session writes to a path in a folder."""
        raise NotImplementedError

    def denies(self, answer: Any) -> bool:
        """Would it take this answer for a refusal? May raise LookupError or TypeError for a no."""
        return bool(answer["hookSpecificOutput"]["permissionDecision"] == "deny")

    # --- what follows from the above

    @property
    def hook(self) -> Dialect:
        """Its hook.py."""
        return dialect(self.name)

    def event_of(self, moment: str) -> str:
        """The event of its settings that tells of a moment."""
        return next(event for event in self.entries() if self.hook.EVENTS[event] == moment)

    def handler(self, event: str, timeout: int | None = None) -> dict[str, Any]:
        """The usual shape of a handler in its settings."""
        from dibs.doors.install.launcher import command

        seconds = END_TIMEOUT_S if self.hook.EVENTS[event] == END else HOOK_TIMEOUT_S
        return {"type": "command", "command": command(self, event), "timeout": timeout or seconds}
