"""One hook call, from the client's JSON to the answer that the client obeys.

Most clients let a write through if a hook fails. So everything that cannot be decided ends as a refusal in the client's
own dialect with exit code 2: bad JSON, an unknown event, a busy store, an error in dibs itself. Only the config can
change that (`on_doubt = "allow"`), and then it is logged.

A Read is answered from this file alone: what the agent sees is appended to the ledger, and nothing is read back.

`main` is the whole of a hook's process: it reads stdin and writes the answer. `answer` is what a server calls too, in
many threads at once: it reads and writes no stream, and asks machine/caller.py for whom it works.
"""

from __future__ import annotations

import os
import sys

from dibs import jsontext
from dibs.errors import DibsError, Killed
from dibs.guards import payload
from dibs.interfaces.agents import AFTER, BEFORE, BOOT, DEFAULT_CLIENT, DIED, PROMPT, READ, SHELL, STOP, dialect
from dibs.ledger import contents, ledger_files
from dibs.machine import caller
from dibs.workspace import location

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal  # the same functions, with types
    from typing import NoReturn

    from dibs.interfaces.agents.adapter import Dialect, HookAnswer
    from dibs.workspace.location import Place
else:
    import _signal  # `signal` itself imports enum

HOOK_STDIN_TIMEOUT_S = 3.0  # for the client's payload
MAX_PAYLOAD_BYTES = 16 * 1024 * 1024  # a model writes no file that long
MAX_PLAIN_LETTERS = 100  # of an agent's id that is the name of a mark as it is
ALLOW, DENY = 0, 2


def leave(code: int) -> NoReturn:
    """Exit at once: closing the database would only checkpoint its log, which other processes do."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        pass
    os._exit(code)


def main(arguments: list[str]) -> int:
    """One call of a hook; returns the exit code."""
    client = arguments[0] if arguments else ""
    if client == "git":
        from dibs.guards import git_hooks

        return git_hooks.main(arguments[1:])
    name = arguments[1] if len(arguments) > 1 else ""
    try:
        sent = _sent()
    except BaseException as error:  # noqa: BLE001 - as below: whatever happens, it is a refusal and not a traceback
        said = _failed(None, client, name, error)
    else:
        said = answer(client, name, sent)
    if said.out:
        sys.stdout.write(said.out)
    if said.err:
        sys.stderr.write(said.err)
    return said.code


class Answer:
    """A hook's exit code and what it prints."""

    __slots__ = ("code", "err", "out")

    def __init__(self, code: int, out: str = "", err: str = "") -> None:
        self.code, self.out, self.err = code, out, err


def answer(client: str, name: str, sent: bytes) -> Answer:
    """The answer to one call of a client's hook, by what it sent. Raises nothing but `Declined`, in a server."""
    event: payload.Event | None = None
    try:
        text = sent.decode("utf-8").strip()
        if not text:
            raise payload.Unreadable("the client sent nothing")  # noqa: TRY301 - one place for all refusals
        event = payload.read(client, name, jsontext.decode(text))
        return Answer(ALLOW) if event is None else _answer(event)
    except BaseException as error:  # noqa: BLE001 - a traceback would end with exit 1, and that lets the write through
        return _failed(event, client, name, error)


def _failed(event: payload.Event | None, client: str, name: str, error: BaseException) -> Answer:
    """The answer where an error came instead of one: a refusal that was decided, or a doubt."""
    other = caller.other()
    if other is not None and other.declines(error):
        from dibs.machine.other_caller import Declined

        raise Declined
    if isinstance(error, DibsError):
        if error.exit == 1 and event is not None:  # decided: refused
            return _refuse(event, error)
        return _doubt(event, client, name, error.message)
    if isinstance(error, KeyboardInterrupt):
        return _doubt(event, client, name, "it was interrupted")
    if isinstance(error, payload.Unreadable):
        return _doubt(event, client, name, str(error))
    return _doubt(event, client, name, _words(error))


def _words(error: BaseException) -> str:
    if os.environ.get("DIBS_TRACEBACK") and caller.other() is None:  # for developers of dibs
        import traceback

        traceback.print_exception(error)
    return f"{type(error).__name__}: {str(error)[:200]}"


def _sent() -> bytes:
    """The client's payload. One that never ends would keep the hook until the client lets the call through."""
    parts: list[bytes] = []
    size = 0
    _signal.signal(_signal.SIGALRM, _too_late)
    _signal.setitimer(_signal.ITIMER_REAL, HOOK_STDIN_TIMEOUT_S)
    try:
        while True:
            part = os.read(0, 1 << 16)
            if not part:
                break
            parts.append(part)
            size += len(part)
            if size > MAX_PAYLOAD_BYTES:
                raise payload.Unreadable(f"the payload is longer than {MAX_PAYLOAD_BYTES} bytes")
    finally:
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        _signal.signal(_signal.SIGALRM, _signal.SIG_DFL)
    return b"".join(parts)


def _too_late(_: int, __: object) -> NoReturn:
    raise payload.Unreadable(f"the client did not finish sending its JSON within {HOOK_STDIN_TIMEOUT_S} s.")


# --- answers


def _answer(event: payload.Event) -> Answer:
    place = _place(event)
    if place is None or not place.exists:
        return Answer(ALLOW)  # hooks in a user's own settings run everywhere; here is no workspace
    if event.own and _calls_us(f"{place.top}/{event.own}"):
        return Answer(ALLOW)  # this client runs another one's hooks as well; its own guard, and once is enough
    if event.moment == BEFORE:
        if _may_be_killed(event, place):
            from dibs.guards import tool_call

            tool_call.refuse_killed(event, place)
        if _bans_tools(place):
            from dibs.guards import tool_call

            tool_call.use(event, place)
    if event.kind == READ:
        return _read(event, place) if event.moment == BEFORE else Answer(ALLOW)
    if event.moment in {BEFORE, AFTER}:
        from dibs.guards import tool_call

        told = (tool_call.before if event.moment == BEFORE else tool_call.after)(event, place)
    else:
        from dibs.guards import lifecycle

        told = lifecycle.HANDLERS[event.moment](event, place)
    if told and event.moment in {STOP, DIED}:
        return _ended(event, _spelled(event, place, told), is_sent_back=lifecycle.is_sent_back(told))
    return _told(event, _spelled(event, place, told)) if told else Answer(ALLOW)


def _may_be_killed(event: payload.Event, place: Place) -> bool:
    """Has the store to say whether the agent was killed? A Read's own heartbeat asks that, too."""
    if is_stop_marked(place.local, event.agent):
        return True
    return event.kind != READ and ledger_files.is_due_far(place.local, event.agent)


def is_stop_marked(local: str, agent: str) -> bool:
    """Is there a mark of a kill (workspace/stop_marks.py), for this agent or for one above it?

    A plain id is the name of its mark as it is: then nothing is loaded.
    """
    if len(agent) > MAX_PLAIN_LETTERS or not agent.isascii() or not agent.replace("-", "").replace("_", "").isalnum():
        from dibs.workspace import stop_marks

        return stop_marks.is_left(local, agent)
    try:
        os.stat(f"{local}/wakes/@!{agent}")
    except OSError:
        return False
    return True


def _calls_us(settings: str) -> bool:
    """Do these settings call the launcher?"""
    try:
        with open(settings, "rb") as file:
            return b".dibs/hook" in file.read()
    except OSError:
        return False


def _bans_tools(place: Place) -> bool:
    """Does the config ban tools for some role? Most do not, and then no store is opened for it."""
    for path in (place.config, f"{place.shared}/config.toml"):  # on a branch from before dibs: its last copy
        try:
            with open(path, "rb", 0) as file:
                text = file.read()
        except OSError:
            continue
        at = text.find(b"tools")
        while at >= 0:
            if b"#" not in text[text.rfind(b"\n", 0, at) + 1 : at]:
                return True
            at = text.find(b"tools", at + 1)
        return False
    return False


def _spelled(event: payload.Event, place: Place, text: str) -> str:
    """The text with its advised commands as they can be run here: dibs may not be on the client's PATH."""
    if "`dibs " not in text:
        return text
    from dibs.errors import spelled
    from dibs.workspace import launcher

    here = os.path.realpath(event.cwd) if event.cwd else place.top
    if here.startswith(f"{place.top}/") and location.tree_of(place, f"{here}/.") == place.top:
        from dibs.guards import advised

        text = advised.from_folder(text, place.top, here)
    return spelled(text, launcher.command_name(place, event.cwd))


def _place(event: payload.Event) -> Place | None:
    """The workspace: the launcher's own working tree, wherever the agent has gone; else the agent's."""
    environ = caller.environ()
    start = environ.get("DIBS_TREE") or environ.get(event.dialect.PROJECT_VARIABLE) or event.where
    if not start.startswith("/"):
        start = os.path.join(caller.cwd(), start)
    try:
        return location.find(start, environ.get("DIBS_WORKSPACE"))
    except DibsError:
        if location.nearest(start) is not None or environ.get("DIBS_WORKSPACE"):
            raise
    for path in event.paths:  # without the launcher's variable: the file may be in a workspace, wherever the agent is
        above = location.nearest(os.path.dirname(path)) if path.startswith("/") else None
        if above is not None:
            return location.find(_existing(os.path.dirname(path)), None)
    if not os.path.isdir(start):
        raise payload.Unreadable(f"the agent's directory {start[:200]!r} is not there")
    return None


def _existing(directory: str) -> str:
    """The nearest existing directory upward."""
    while not os.path.isdir(directory):
        directory = os.path.dirname(directory)
    return directory


def _read(event: payload.Event, place: Place) -> Answer:
    """The agent reads a file: record what it sees. Recorded before it reads, so that it never knows too much."""
    real = event.real(event.paths[0])
    top = location.tree_of(place, real) or (place.top if real.startswith(f"{place.top}/") else "")
    if not top:
        return Answer(ALLOW)
    agent, path = event.agent, real[len(top) + 1 :]
    folder = place.private if top == place.top else location.private_of(top)
    ledger_files.settle(folder, top)
    now, offset = ledger_files.now()
    signature = contents.signature(real)
    content = contents.read(real)[0] if signature != contents.MISSING else contents.MISSING
    git_dir = folder.removesuffix(f"/{location.DIBS_FOLDER}") if folder.endswith(f"/{location.DIBS_FOLDER}") else ""
    if content == contents.Index(git_dir).blob(path):  # else it is somebody's work, and whose is found at a look
        ledger_files.note_look(folder, (now, offset), content, signature, path)
    ledger_files.saw(folder, agent, [(path, content, now)])
    if ledger_files.is_due(place.local, agent) or ledger_files.is_due_far(place.local, agent):
        from dibs.guards import lifecycle

        told = lifecycle.sign_of_life(event, place)
        if told:
            return _told(event, told)
    return Answer(ALLOW)


def _refuse(event: payload.Event, error: DibsError) -> Answer:
    """A refusal. It can be enforced only before a call; otherwise the agent is told."""
    reason = error.message
    try:
        place = _place(event)
        if place is not None:
            reason = _spelled(event, place, reason)
            if isinstance(error, Killed):
                from dibs.workspace import stop_marks

                stop_marks.put(place.local, event.agent)
    except Exception:  # noqa: BLE001, S110 - it is refused all the same
        pass
    if event.moment == BEFORE:
        return _deny(event.client, event.name, reason)
    said = _told(event, f"dibs: {reason}") if event.moment in {BOOT, PROMPT} else Answer(ALLOW)
    said.err = f"dibs: {reason}\n"
    return said


def _deny(client: str, name: str, reason: str) -> Answer:
    text = f"dibs: {reason}"
    said = Answer(DENY, err=text.encode("utf-8", "backslashreplace").decode() + "\n")
    try:
        said.out = jsontext.encode(_dialect(client).deny(name, text)) + "\n"
    except Exception:  # noqa: BLE001, S110 - the exit code alone still refuses
        pass
    return said


def _dialect(client: str) -> Dialect:
    try:
        return dialect(client)
    except ImportError:  # unknown: then the dialect that most clients read
        return dialect(DEFAULT_CLIENT)


def _doubt(event: payload.Event | None, client: str, name: str, why: str) -> Answer:
    """The call could not be checked. It is refused, with the way past it, unless the config says otherwise.

    A Read passes: to look at a file harms nobody.
    """
    if event is not None and event.kind == READ:
        return Answer(ALLOW)
    if event is not None and event.moment != BEFORE:
        text = f"dibs could not check what you hold ({why}). Do not assume that you hold anything: run `dibs boot`."
        said = _told(event, text) if event.moment == BOOT else Answer(ALLOW)
        said.err = f"dibs: {why}\n"
        return said
    if event is not None and (_allowed_in_doubt(event, why) or _makes_room(event)):
        return Answer(ALLOW)
    reason = (
        f"blocked: dibs could not check this call: {why.rstrip('.')}. Try again; `dibs doctor` shows what is wrong. "
        'A person can let unchecked calls pass with `on_doubt = "allow"` under [guards] in .dibs/config.toml.'
    )
    return _deny(client, event.name if event is not None else name, reason)


def _allowed_in_doubt(event: payload.Event, why: str) -> bool:
    try:
        from dibs.guards import tool_call

        place = _place(event)
        return place is not None and tool_call.allowed_in_doubt(event, place, why)
    except BaseException:  # noqa: BLE001 - then that cannot be known either
        return False


def _makes_room(event: payload.Event) -> bool:
    """Is the disk full, and is that why the call could not be checked? Then a command that only makes room passes."""
    if event.kind != SHELL:
        return False
    try:
        from dibs.guards import full_disk

        place = _place(event)
        return place is not None and full_disk.only_frees(event, place)
    except BaseException:  # noqa: BLE001 - then that cannot be known either
        return False


def _ended(event: payload.Event, text: str, *, is_sent_back: bool) -> Answer:
    """At the end of a turn: the agent is sent back, or the person is told. Exit 2 would say the first in any case."""
    said: HookAnswer = {"decision": event.dialect.ENDS, "reason": text} if is_sent_back else {"systemMessage": text}
    return Answer(ALLOW, jsontext.encode(said) + "\n")


def _told(event: payload.Event, text: str) -> Answer:
    """No objection, and a text for the model."""
    return Answer(ALLOW, jsontext.encode(event.dialect.context(event.name, text)) + "\n")
