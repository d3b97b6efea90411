"""Where `dibs` begins and ends: arguments in, text or one JSON object out, an exit code. Never a traceback.

This file is on the hot path of every `dibs claim` that an agent types: it imports next to nothing. What only people
need (help, tables, the demo) is loaded when it is asked for.
"""

from __future__ import annotations

import os
import sys

from dibs.errors import CANNOT_DECIDE, USAGE, YES, DibsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


NO_SPACE = 28  # errno.ENOSPC, on Linux and macOS
REFUSED_FILE = (1, 13, 28, 30)  # EPERM, EACCES, ENOSPC, EROFS: the same on both


def entry() -> NoReturn:
    """Run the command and exit at once: closing the database would only fold its log (0.8 ms), which others do."""
    if sys.stdout is None or sys.stderr is None:
        _open_closed()
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # what a terminal cannot show
    if (sys.stdout.isatty() or sys.stderr.isatty()) and "--json" not in sys.argv:
        from dibs.interfaces.cli import wrap

        wrap.install()
    code = YES
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError as error:  # the reader of our output has closed it, or it is full
        code = code or CANNOT_DECIDE
        if error.errno == NO_SPACE:
            _say_full(error)
    os._exit(code)


def _say_full(error: OSError) -> None:
    try:
        sys.stderr.write(f"dibs: the output cannot be written: {error.strerror}\n")
        sys.stderr.flush()
    except OSError:  # that one is full, too
        pass


def _open_closed() -> None:
    """Started with a closed output (`>&-`): print to nowhere, and let no file of ours get that number."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            fd = os.open(os.devnull, os.O_WRONLY)
            if fd != number:
                os.dup2(fd, number)
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115 - until the end


def main(arguments: list[str]) -> int:
    """Run one command; returns the exit code."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments  # after it comes another program
    json = "--json" in own
    try:
        from dibs.interfaces.cli import dispatch

        return dispatch.run(arguments)
    except DibsError as error:
        return _say(error, json)
    except KeyboardInterrupt:
        sys.stderr.write("dibs: interrupted\n")
        return 130
    except SystemExit as ended:  # a signal that ends a wait
        sys.stderr.write("dibs: interrupted\n")
        return ended.code if isinstance(ended.code, int) else CANNOT_DECIDE
    except BrokenPipeError:
        return CANNOT_DECIDE
    except Exception as error:  # noqa: BLE001 - the last line of defence: an agent gets a sentence, not a traceback
        if isinstance(error, OSError) and error.errno == NO_SPACE and error.filename is None:  # not one of our files
            _say_full(error)
            return CANNOT_DECIDE
        return _say(_machine_error(error) or _unexpected(error), json)


def _has_current_folder() -> bool:
    """Does the current folder exist? A worktree may be removed while a shell is in it."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _machine_error(error: Exception) -> DibsError | None:
    """The error for what the machine refuses: a full disk, a read-only folder, a removed folder."""
    from dibs.errors import Unavailable

    if isinstance(error, FileNotFoundError) and not _has_current_folder():
        return Unavailable("the current folder was removed; go to another one (`cd`), then call again")
    if isinstance(error, OSError) and error.errno in REFUSED_FILE and isinstance(error.filename, str):
        message = f"{error.filename} cannot be used: {error.strerror}. Fix that, then run the command again."
        return Unavailable(message, path=error.filename)
    return None


def _say(error: DibsError, json: bool) -> int:
    if _is_closed_pipe(error):
        return CANNOT_DECIDE
    if json:
        from dibs import jsontext

        sys.stdout.write(jsontext.encode(error.as_json()) + "\n")
    else:
        from dibs.interfaces.cli import terminal

        terminal.complain(error.message)
        if error.exit == USAGE and "usage" in error.fields:
            sys.stderr.write(f"{error.fields['usage']}\n")
    return error.exit


def _is_closed_pipe(error: BaseException | None) -> bool:
    """Has the reader of our output closed it (`dibs … | head`)? Then the command ends quietly."""
    while error is not None and not isinstance(error, BrokenPipeError):
        error = error.__context__
    if error is None:
        return False
    import select

    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(found & select.POLLERR for _, found in poll.poll(0))


def _unexpected(error: Exception) -> DibsError:
    from dibs.errors import Unavailable

    if os.environ.get("DIBS_TRACEBACK"):  # for developers of dibs
        import traceback

        traceback.print_exc()
    message = (
        f"internal error: {type(error).__name__}: {error}. The operation may or may not have completed. "
        "Please report it, with what `DIBS_TRACEBACK=1` prints."
    )
    return Unavailable(message, internal=True)
