"""The launcher `.dibs/hook`: the one command that all client settings and git hooks call.

It is committed and names no machine. Which interpreter and which file run here stands in `.dibs/local/run`, which
`dibs init` writes, and the first call in a fresh clone. This file holds the launcher's text, writes `run`, and makes
the command that a client's settings get. It is imported by the first hook of a clone, so it imports next to nothing.
"""

from __future__ import annotations

import os
import sys

# Before a tool call every failure is a refusal: a launcher that is missing must not be an open door, and only exit 2 is
# taken for a refusal by every client. At other moments exit 2 would keep back a person's words, or send the model back
# to work.
BEFORE = frozenset({"PreToolUse", "BeforeTool", "preToolUse"})
# The launcher is read by the shell that is running already, which saves the start of another one.
READ_IT = '[ -r "$dibs_hook" ] && . "$dibs_hook"; {otherwise}'
CLAUDE = f"dibs_hook=$CLAUDE_PROJECT_DIR/.dibs/hook; set -- claude; {READ_IT}"
# The other clients name no project folder: the way goes up from the folder the session runs in. Codex gives the text
# to the user's own shell, which may be one that cannot read it, so sh reads it.
OTHERS = (
    'sh -c \'d=$PWD; until [ -f "$d/.dibs/hook" ] || [ -z "$d" ]; do d=${{d%/*}}; done; '
    f"dibs_hook=$d/.dibs/hook; set -- {{words}}; {READ_IT}' || exit {{code}}"
)
# Codex takes exit 2 for a refusal only if something stands on stderr.
REFUSE = 'echo "dibs: $dibs_hook did not answer" >&2; exit 2'
MARK = ".dibs/hook"  # by this an entry in somebody's settings is recognised as ours

TEXT = r"""#!/bin/sh
# dibs: the command that client settings and git hooks call. Made by `dibs init`. Commit it: it names no machine.
#   .dibs/hook CLIENT [EVENT]     a client's hook; its JSON comes on stdin
#   .dibs/hook git NAME [WORD…]   a git hook
# Where dibs is installed, it decides. Where it is not, nothing is guarded, and a session's start says how to get it.
# Up to dibs only the shell's own commands are used: a hook has milliseconds.

case ${dibs_hook:-$0} in */*) home=${dibs_hook:-$0} home=${home%/*} ;; *) home=. ;; esac

# Which interpreter runs dibs on this machine: it stands beside this file, or in the main worktree.
find_run() {
    run=$home/local/run
    [ ! -f "$run" ] || return 0
    if [ -n "$DIBS_WORKSPACE" ]; then
        run=$DIBS_WORKSPACE/.dibs/local/run
        [ ! -f "$run" ] || return 0
    fi
    [ -f "$home/../.git" ] || return 1
    line= common=
    IFS= read -r line <"$home/../.git" || [ -n "$line" ] || return 1
    git=${line#gitdir: }
    case $git in /*) ;; *) git=$home/../$git ;; esac
    [ -f "$git/commondir" ] || return 1
    IFS= read -r common <"$git/commondir" || [ -n "$common" ] || return 1
    case $common in /*) ;; *) common=$git/$common ;; esac
    for run in "$common/.dibs/local/run" "$common/../.dibs/local/run"; do
        [ ! -f "$run" ] || return 0
    done
    return 1
}

if [ "$1" != git ]; then # whose working tree this is, wherever the agent has gone meanwhile
    DIBS_TREE=$home/..
    export DIBS_TREE
fi
if find_run; then
    python= entry=
    . "$run"
    if [ -x "$python" ] && [ -r "$entry" ]; then
        [ -n "$dibs_hook" ] || exec "$python" -I -S -X utf8 "$entry" "$@"
        # read by a client's command, which says what any other end means: before a tool call, a refusal
        "$python" -I -S -X utf8 "$entry" "$@"
        code=$?
        case $code in 0 | 2) exit $code ;; esac
        return 1
    fi
    found=gone
elif command -v dibs >/dev/null 2>&1; then
    case $1 in
        git) shift; exec dibs git-hook "$@" ;;
        *) exec dibs hook "$@" ;;
    esac
else
    found=none
fi

# From here on dibs cannot be asked. The client's text is read to its end all the same (a client may stumble over a
# hook that does not), and it says what is about to happen.
said=
if [ "$1" != git ] && [ ! -t 0 ]; then
    said=$(cat)
elif [ "$2" = pre-push ] && [ ! -t 0 ]; then
    cat >/dev/null
fi
case $1:$2 in
    git:* | *:preToolUse) moment=before ;;
    *:sessionStart) moment=start ;;
    *:?*) moment=other ;;
    *)
        case $said in
            *'"PreToolUse"'* | *'"BeforeTool"'*) moment=before ;;
            *'"hook_event_name":"SessionStart"'* | *'"hook_event_name": "SessionStart"'*) moment=start ;;
            *'"hook_event_name":"'* | *'"hook_event_name": "'*) moment=other ;;
            *) moment=before ;; # not understood, so it may be a write
        esac
        ;;
esac

tell() { # in a form that the client shows, or its model hears; Copilot shows nothing at a start
    case $1 in
        claude | codex)
            printf '{"systemMessage":"%s","hookSpecificOutput":{"hookEventName":"SessionStart",' "$2"
            printf '"additionalContext":"%s"}}\n' "$2"
            ;;
        gemini) printf '{"systemMessage":"%s"}\n' "$2" ;;
    esac
}

deny() { # in the client's own dialect: not every model hears what is said on stderr
    case $1 in
        claude | codex)
            printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",'
            printf '"permissionDecisionReason":"%s"}}\n' "$2"
            ;;
        gemini) printf '{"decision":"deny","reason":"%s"}\n' "$2" ;;
        copilot) printf '{"permissionDecision":"deny","permissionDecisionReason":"%s"}\n' "$2" ;;
    esac
}

if [ $found = none ]; then
    message='This repository is guarded by dibs, which is not installed here. To get it:'
    [ $moment != start ] || tell "$1" "$message pip install dibs, then: dibs init"
    exit 0
fi
message='dibs was moved or removed from this machine; run `dibs init` again, or `dibs init --uninstall`'
[ $moment != start ] || tell "$1" "$message"
printf '%s\n' "$message" >&2
[ $moment = before ] || exit 0
deny "$1" "dibs: $message"
exit 2
"""


def command(client: str, event: str) -> str:
    """The command for one event in a client's settings; Copilot's payload does not say which event it is."""
    before = event in BEFORE
    otherwise = REFUSE if before else "exit 0"
    if client == "claude":
        return CLAUDE.format(otherwise=otherwise)
    words = f"{client} {event}" if client == "copilot" else client
    return OTHERS.format(words=words, otherwise=otherwise, code=2 if before else 0)


def entry_path() -> str:
    """The file that answers a hook."""
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "hooks", "entry.py")


def run_text() -> str:
    """What `.dibs/local/run` says on this machine: the interpreter as it was called, which may be a link in a venv."""
    python = os.path.abspath(sys.executable) if sys.executable else ""
    return (
        "# made by dibs: what .dibs/hook starts on this machine\n"
        f"python={quoted(python)}\n"
        f"entry={quoted(entry_path())}\n"
    )


def is_current(local: str) -> bool:
    """Does `.dibs/local/run` name the interpreter and the file of this very dibs?"""
    try:
        with open(f"{local}/run", encoding="utf-8", errors="surrogateescape") as file:
            return file.read() == run_text()
    except OSError:
        return False


def read_run(local: str) -> tuple[str, str] | None:
    """The interpreter and the file that `.dibs/local/run` names; None if there is no such file."""
    import shlex

    try:
        with open(f"{local}/run", encoding="utf-8", errors="surrogateescape") as file:
            words = shlex.split(file.read(), comments=True)
    except (OSError, ValueError):
        return None
    named = dict(word.split("=", 1) for word in words if "=" in word)
    return named.get("python", ""), named.get("entry", "")


def write_run(local: str) -> None:
    """Write `.dibs/local/run`. Never raises: where it cannot be written, the next call goes by the PATH again."""
    path = f"{local}/run"
    making = f"{path}.{os.getpid()}"
    try:
        with open(making, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(run_text())
        os.replace(making, path)
    except OSError:
        pass


def quoted(text: str) -> str:
    """A word for sh."""
    return "'" + text.replace("'", "'\\''") + "'"
