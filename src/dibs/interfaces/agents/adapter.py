"""The contract between dibs and a client, which each folder next to this file fulfils.

`Dialect` is its hook.py: it turns a client's payload into an Event (`guards/payload.py`), and dibs' answer into
the client's own JSON. A hook loads that and nothing else, so it is a module of plain values and functions: making a
class costs as much as loading ten functions. `Client` is in its install.py. Nothing is decided here.
"""

from __future__ import annotations

from dibs.interfaces.agents import BEFORE, BOOT, END, FAIL, NOTE, dialect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any, ClassVar, Protocol, TypedDict

    class HookHandler(TypedDict, total=False):
        """A command of dibs in a client's settings, with the fields that this client reads."""

        type: str
        command: str
        name: str  # for Gemini
        bash: str  # the command, for Copilot
        timeout: int  # seconds
        timeoutSec: int  # the same, for Copilot
        onFailure: str  # what a hook that fails does to its call, for Claude Code
        failClosed: bool  # the same, for Cursor
        statusMessage: str  # what a person sees while it runs, for Claude Code and Codex

    class HookEntry(HookHandler, total=False):
        """The entry of one event: a handler, or a group of them with the tools that it is for."""

        matcher: str
        hooks: list[HookHandler]

    class HookOutput(TypedDict, total=False):
        """The part of an answer in Claude Code's dialect that is about its event."""

        hookEventName: str
        permissionDecision: str
        permissionDecisionReason: str
        additionalContext: str  # for the model

    class HookAnswer(TypedDict, total=False):
        """What a client reads from its hook: a refusal or a text for the model, in the fields of its own dialect."""

        hookSpecificOutput: HookOutput  # Claude Code, Codex, Gemini
        systemMessage: str  # the same, for the person
        permissionDecision: str  # Copilot
        permissionDecisionReason: str
        additionalContext: str
        permission: str  # Cursor
        user_message: str
        agent_message: str
        additional_context: str
        decision: str  # Gemini
        reason: str
        deny: str  # dibs' own plugin for OpenCode
        context: str

    class Dialect(Protocol):
        """A client's hook.py."""

        @property
        def EVENTS(self) -> Mapping[str, str]:  # noqa: N802 - a module's constant, and so are the next
            """Its event → the moment; any other event is ignored."""

        @property
        def TOOLS(self) -> Mapping[str, str]:  # noqa: N802
            """Its tool → what it does; any other tool is judged by its input."""

        @property
        def HARMLESS(self) -> Collection[str]:  # noqa: N802
            """Tools that write no file: never suspects for a change."""

        @property
        def PROJECT_VARIABLE(self) -> str:  # noqa: N802
            """The variable with the project's folder for its hooks (then sh runs its commands); "" if none."""

        @property
        def YIELDS_AFTER_NS(self) -> int:  # noqa: N802
            """After this time it reports the end of a command that still runs; 0: never."""

        @property
        def RUNS_GIT_HOOKS(self) -> bool:  # noqa: N802
            """Does git run its hooks in this client's shell?"""

        @property
        def HOLDS(self) -> Mapping[str, int]:  # noqa: N802
            """Its settings in which a hook may be given minutes, for a call that it holds → timeouts in a second.

            {} for a client in which that was not seen to work.
            """

        @property
        def NAMELESS(self) -> Sequence[tuple[str, str]]:  # noqa: N802
            """A field of a tool's input → the tool, the first that fits, for payloads that name none; () if all do."""

        @property
        def ENDS(self) -> str:  # noqa: N802
            """The decision by which its hook at the end of a turn sends the agent back; "" if it cannot."""

        def deny(self, event: str, reason: str) -> HookAnswer:
            """A refusal in its own dialect."""

        def context(self, event: str, text: str) -> HookAnswer:
            """Something that the model should know."""


# A guard answers in milliseconds. It waits up to ten seconds for another agent's git command, and five for a remote;
# the rest is for an overloaded machine.
HOOK_TIMEOUT_S = 20
HOLD_TIMEOUT_S = 900  # at least, where the config lets a guard hold a call: a longer wait later changes no settings
END_TIMEOUT_S = 1  # Codex gives a session's end one second; Claude Code gives all hooks together 1.5
NOTE_TIMEOUT_S = 5  # that an agent waits for a person is told in passing: it holds up no question
COMMANDS = ("dibs", ".dibs/dibs")  # the commands that models run; the second if the first is not on the PATH
MADE = "# made by `dibs init`"  # the first words of a file that is only ours


class Client:
    """One client. Fields without a value here are required; the others have the usual values."""

    name: ClassVar[str]  # the word in `.dibs/hook NAME`; also the name of its folder

    # --- identity, for every call (workspace/known_clients.py is made of these)

    session_variables: ClassVar[Sequence[str]] = ()  # in which its shell has the session id
    process_names: ClassVar[Sequence[str]] = ()  # its processes' names; not `node`, which many programs have
    strict: ClassVar[Sequence[str]] = ()  # its files that need an explicit claim
    # A field that only its payloads have, next to conversation_id: by it, it is known when it runs another client's
    # hooks. Then its own settings guard, if they call dibs, and no call is guarded twice.
    mark: ClassVar[str] = ""

    # --- for `dibs init`

    title: ClassVar[str]  # its product name
    aliases: ClassVar[Sequence[str]] = ()  # further names for `--clients`; hyphens, blanks, capitals do not matter
    in_repository: ClassVar[Sequence[str]] = ()  # signs that it is in use: in the repository,
    in_home: ClassVar[Sequence[str]] = ()  # in the user's home,
    program: ClassVar[str]  # and on the PATH
    settings_file: ClassVar[str]  # where its hooks are registered, from the repository's top
    private_file: ClassVar[str] = ""  # the same for one person, in a file that no commit has; "" if it reads none
    settings_start: ClassVar[Mapping[str, Any]] = {}  # further content of a new one
    shows_status: ClassVar[bool] = False  # does it show a person the `statusMessage` of a hook that runs?
    names_event: ClassVar[bool] = False  # does its command name the event, because its payload does not?
    starts_at: ClassVar[str] = ""  # a variable that may have the project's folder, for a client that promises none
    pages: ClassVar[Sequence[str]]  # the instruction files that it reads; the first is created if none exists
    imports_pages: ClassVar[bool] = False  # does `@AGENTS.md` in its first page import that one?
    note: ClassVar[str] = ""  # what init says about running `dibs` without asking

    def entries(self) -> dict[str, HookEntry]:
        """The entry of each event in its settings."""
        raise NotImplementedError

    def merged(self, text: str, *, mcp: bool = False) -> str:
        """Its settings with everything else that dibs adds next to the hooks; `mcp`: what our tools need, too."""
        del mcp
        return text

    def cleaned(self, text: str) -> str:
        """Its settings without those additions."""
        return text

    def private_files(self, *, mcp: bool) -> list[str]:
        """The files of a person's own trial (`dibs init --local`), the one with the hooks first."""
        servers = [self.mcp_file] if mcp and self.mcp_file else []
        return list(dict.fromkeys([self.private_file or self.settings_file, *self.own_files(), *servers]))

    # Its settings are a JSON file with a list of handlers for each event, unless it says otherwise with these three.

    def settings_merged(self, text: str | None, path: str, *, mcp: bool = False, hold: int = 0) -> str:
        """Its settings (None if the file is missing) with our entries; a guard may hold a call for `hold` seconds."""
        from dibs.interfaces.install import settings

        return settings.merged(text, self.name, path, mcp=mcp, hold=hold)

    def settings_cleaned(self, text: str, path: str) -> str | None:
        """Its settings without our entries; None if nothing else is left."""
        from dibs.interfaces.install import settings

        return settings.cleaned(text, self.name, path)

    def settings_commands(self, text: str, path: str) -> dict[str, str]:
        """Our command for each event, exactly as in its settings."""
        from dibs.interfaces.install import settings

        return settings.commands(text, path)

    def plugin_commands(self) -> dict[str, str]:
        """Our command for each event in a plugin that this user has installed; {} without one."""
        return {}

    def own_files(self) -> dict[str, str]:
        """Files that are only dibs', with their text, which begins with MADE."""
        return {}

    # --- its MCP servers, for `dibs init` and `dibs doctor`

    mcp_file: ClassVar[str] = ""  # where a project lists them, from the repository's top; "" if it cannot

    def mcp_entry(self) -> dict[str, object]:
        """The entry that starts `dibs mcp`."""
        from dibs.interfaces.install.mcp_entries import COMMAND

        return {"command": COMMAND[0], "args": list(COMMAND[1:])}

    def mcp_merged(self, text: str | None, path: str) -> str | None:
        """That file (None if it is missing) with our entry; None if a server of our name is not ours."""
        from dibs.interfaces.install import mcp_entries

        return mcp_entries.merged(text, self.mcp_entry(), path)

    def mcp_cleaned(self, text: str, path: str) -> str | None:
        """That file without our entry; None if nothing else is left."""
        from dibs.interfaces.install import mcp_entries

        return mcp_entries.cleaned(text, path)

    def mcp_command(self, text: str, path: str) -> list[str]:
        """Our command in that file; [] if it has none of ours."""
        from dibs.interfaces.install import mcp_entries

        return mcp_entries.command(text, path)

    def start_notice(self, text: str) -> HookAnswer | None:
        """What a session's start shows if dibs is not installed; None for a client that would show nothing."""
        return {"systemMessage": text, **self.hook.context(self.event_of(BOOT), text)}

    # --- for `dibs doctor`

    trust_order: ClassVar[str] = ""  # what a person does so that it runs the hooks of a folder
    shows_trust: ClassVar[bool] = True  # can it be seen from here whether it runs them? If not, its advice says so
    writer: ClassVar[str] = "Write"  # its tool that writes a whole file
    advice: ClassVar[Sequence[tuple[str, str]]] = ()  # what dibs cannot see: a check's name, and a sentence

    def switched_off(self, tree: str) -> list[str]:
        """Its settings that switch hooks off, here or for this user: a sentence each."""
        del tree
        return []

    def allows_all(self, tree: str) -> list[str]:
        """Its settings that let it run every command of dibs without asking: the entry and its file, for each."""
        del tree
        return []

    def untrusted(self, tree: str) -> str:
        """Why it would not run the hooks of this folder before a person has trusted it; "" if one has."""
        del tree
        return ""

    def probe(self, session: str, folder: str, path: str) -> dict[str, object]:
        """Its payload before a session writes to a path in a folder."""
        return {
            "session_id": session, "transcript_path": "", "cwd": folder, "hook_event_name": self.event_of(BEFORE),
            "tool_name": self.writer, "tool_input": {"file_path": f"{folder}/{path}", "content": "x\n"},
        }  # fmt: skip

    def denies(self, answer: HookAnswer) -> bool:
        """Would it take this answer for a refusal? May raise LookupError or TypeError for a no."""
        return bool(answer["hookSpecificOutput"]["permissionDecision"] == "deny")

    # --- derived

    @property
    def hook(self) -> Dialect:
        """Its hook.py."""
        return dialect(self.name)

    def event_of(self, moment: str) -> str:
        """The event of its settings for a moment."""
        return next(event for event in self.entries() if self.hook.EVENTS[event] == moment)

    def handler(self, event: str, timeout: int | None = None) -> HookHandler:
        """The usual form of a handler in its settings."""
        from dibs.interfaces.install.hook_command import command

        seconds = {END: END_TIMEOUT_S, NOTE: NOTE_TIMEOUT_S, FAIL: NOTE_TIMEOUT_S}.get(
            self.hook.EVENTS[event], HOOK_TIMEOUT_S
        )
        return {"type": "command", "command": command(self, event), "timeout": timeout or seconds}
