"""The sh texts that `dibs init` writes: the launcher `.dibs/hook`, the command `.dibs/dibs`, a client's hook command.

They run on every machine that has a checkout, with any sh (dash, bash, busybox), and before dibs does: so they are
plain and name no machine. Their answers in a client's dialect come from its file in doors/clients. `launcher.py` puts
them in place.
"""

from __future__ import annotations

from dibs.session.launcher import ALLOWED, COMMAND, FAILED, REFUSED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from dibs.doors.clients.adapter import Client

__all__ = ["COMMAND", "FIND", "PASS", "PROJECT", "SERVER", "UPWARD", "hook", "refuse"]

_HOOK = r"""#!/bin/sh
# dibs: the command that client settings and git hooks call. Made by `dibs init`. Commit it: it names no machine.
#   .dibs/hook CLIENT [EVENT]     a client's hook; its JSON comes on stdin
#   .dibs/hook git NAME [WORD…]   a git hook
#   .dibs/hook cli [WORD…]        the command `dibs` (what .dibs/dibs calls)
# Where dibs is installed, it decides. Where it is not, nothing is guarded, and a session's start says how to get it.
# Up to dibs only the shell's own commands are used: a hook has milliseconds.

case ${dibs_hook:-$0} in */*) home=${dibs_hook:-$0} home=${home%/*} ;; *) home=. ;; esac
# The same text lies below git's directory, for a branch or a sparse checkout without this file.
case $home in */.dibs | .dibs | .) tree=$home/.. ;; *) tree=${dibs_tree:-$PWD} ;; esac

# Which interpreter runs dibs on this machine: it is next to this file, below git's directory (which no `git clean`
# reaches), or in the main worktree.
find_run() {
    run=$home/local/run
    [ ! -f "$run" ] || return 0
    if [ -n "$DIBS_WORKSPACE" ]; then
        run=$DIBS_WORKSPACE/.dibs/local/run
        [ ! -f "$run" ] || return 0
    fi
    case $home in
        */.dibs | .dibs | .) run=$home/../.git/dibs/run ;;
        *) run=$home/run ;;
    esac
    [ ! -f "$run" ] || return 0
    [ -f "$home/../.git" ] || return 1
    line= common=
    IFS= read -r line <"$home/../.git" || [ -n "$line" ] || return 1
    git=${line#gitdir: }
    case $git in /*) ;; *) git=$home/../$git ;; esac
    common=$git # a submodule, or a repository whose git directory is kept elsewhere
    if [ -f "$git/commondir" ]; then
        IFS= read -r common <"$git/commondir" || [ -n "$common" ] || return 1
        case $common in /*) ;; *) common=$git/$common ;; esac
    fi
    for run in "$common/.dibs/local/run" "$common/../.dibs/local/run" "$common/dibs/run"; do
        [ ! -f "$run" ] || return 0
    done
    return 1
}

# Ask the server by its own script. A shell that is bash reads it, which saves the start of another one.
ask() {
    if [ -n "$BASH_VERSION" ]; then
        unset -f dibs_serve read printf compgen head rm
        command . "$serve"
        dibs_serve "$python" "$entry" "$@"
        return
    fi
    for bash in /bin/bash /usr/bin/bash /usr/local/bin/bash /run/current-system/sw/bin/bash; do
        if [ -x "$bash" ]; then
            if [ -n "${LC_ALL+x}" ]; then # it starts sooner in the plain locale; the server knows
                DIBS_LC_ALL=$LC_ALL LC_ALL=C "$bash" -p "$serve" "$python" "$entry" "$@"
            else
                LC_ALL=C "$bash" -p "$serve" "$python" "$entry" "$@"
            fi
            return
        fi
    done
    return 1
}

if [ "$1" != git ]; then # whose working tree this is, wherever the agent has gone meanwhile
    DIBS_TREE=$tree
    export DIBS_TREE
fi
found=none
if find_run; then
    python= entry=
    . "$run"
    if [ -x "$python" ] && [ -r "$entry" ]; then
        [ "$1" != cli ] || { shift && unset DIBS_TREE && exec "$python" -I -X utf8 -m dibs "$@"; }
        # `dibs serve` runs: bash asks it, which is sooner than to start an interpreter
        serve=${run%run}serve.bash
        if [ -r "$serve" ] && [ "$1" != git ] && [ -z "$DIBS_TRACEBACK" ]; then
            ask "$@"
            case $? in
                @ALLOWED@) exit 0 ;;
                @REFUSED@) exit 2 ;;
                @FAILED@) [ -n "$dibs_hook" ] && return 1; exit 1 ;;
            esac # any other: it was not asked, or cut off, and the interpreter says what is missing
        fi
        [ -n "$dibs_hook" ] || exec "$python" -I -S -X utf8 "$entry" "$@"
        # read by a client's command, which says what any other end means: before a tool call, a refusal
        "$python" -I -S -X utf8 "$entry" "$@"
        code=$?
        case $code in 0 | 2) exit $code ;; esac
        return 1
    fi
    found=gone
    # An upgrade may have moved the file. Then this interpreter still has dibs, which writes the name anew when it runs.
    if [ -x "$python" ] && "$python" -I -c 'import dibs' 2>/dev/null; then
        dibs() { "$python" -I -X utf8 -m dibs "$@"; }
    fi
fi
if command -v dibs >/dev/null 2>&1; then
    case $1 in
        git) shift; dibs git-hook "$@"; exit $? ;;
        cli) shift; unset DIBS_TREE; dibs "$@"; exit $? ;;
    esac
    dibs hook "$@"
    code=$?
    [ -n "$dibs_hook" ] || exit $code
    case $code in 0 | 2) exit $code ;; esac
    return 1
fi
if [ "$1:$2" = cli:mcp ]; then # a client may need its servers to start: this one says what is missing
    why='dibs is not installed here, or was moved: uv tool install FOLDER (a clone of dibs), then: dibs init'
@SERVER@
    exit 0
fi
if [ "$1" = cli ]; then
    echo "dibs is not installed here, or was moved: uv tool install FOLDER (a clone of dibs), then: dibs init" >&2
    exit 127
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
    git:*@NAMED_BEFORE@) moment=before ;;
    @NAMED_START@) moment=start ;;
    *:?*) moment=other ;;
    *)
        case $said in
            @SAID_BEFORE@) moment=before ;;
            @SAID_START@) moment=start ;;
            *'"hook_event_name":"'* | *'"hook_event_name": "'*) moment=other ;;
            *) moment=before ;; # not understood, so it may be a write
        esac
        ;;
esac

tell() { # in a form that the client shows, or its model reads
    case $1 in
@TELL@
    esac
}

deny() { # in the client's own dialect: not every model reads stderr
    case $1 in
@DENY@
    esac
}

if [ $found = none ]; then
    message='This repository is guarded by dibs, which is not installed here. To get it:'
    [ $moment != start ] || tell "$1" "$message uv tool install FOLDER (a clone of dibs), then: dibs init"
    exit 0
fi
message='dibs was moved or removed from this machine; run `dibs init` again, or `dibs init --uninstall`'
[ $moment != start ] || tell "$1" "$message"
printf '%s\n' "$message" >&2
[ $moment = before ] || exit 0
deny "$1" "dibs: $message"
exit 2
"""

# A server of the Model Context Protocol without tools, for where a client needs one to start: it says why in `$why`.
SERVER = r"""while IFS= read -r line; do
    case $line in *'"id":'*) ;; *) continue ;; esac
    id=${line#*'"id":'} id=${id%%[,\}]*}
    case $line in
        *'"initialize"'*)
            said='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"dibs",'
            said="\"result\":$said\"version\":\"0\"},\"instructions\":\"$why\"}"
            ;;
        *'"tools/list"'*) said='"result":{"tools":[]}' ;;
        *) said="\"error\":{\"code\":-32601,\"message\":\"$why\"}" ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$said"
done
"""

# A client's command for one event. The running shell reads the launcher, which saves the start of another shell. If
# this working tree has none (a branch from before dibs, a sparse checkout), the copy below git's directory is used.
FIND = (
    '[ -r "$dibs_hook" ] || dibs_hook=$(cd "$dibs_tree" && d=$(git rev-parse --git-common-dir 2>/dev/null) && '
    'cd "$d" && pwd)/dibs/hook; '
)
PROJECT = "dibs_tree=${variable}; dibs_hook=$dibs_tree/.dibs/hook; set -- {words}; "
# Most clients name no project folder: the search goes up from the session's folder. Codex gives the text to the user's
# own shell, which may not be able to read it, so sh reads it: no single quotes in what follows.
UPWARD = (
    'd={start}; until [ -f "$d/.dibs/hook" ] || [ -z "$d" ]; do d=${{d%/*}}; done; '
    "dibs_tree=${{d:-$PWD}}; dibs_hook=$d/.dibs/hook; set -- "
)
PASS = '[ -r "$dibs_hook" ] && . "$dibs_hook"; exit 0'
# Before a tool call every failure is a refusal: a missing launcher must not let writes pass, and only exit 2 is a
# refusal for every client; Codex wants a text on stderr with it. But on a branch without dibs, an agent must be able to
# look around and to go back: reading passes, and so does a switch to another branch.
REFUSE = (
    'if [ -r "$dibs_hook" ]; then . "$dibs_hook"; echo "dibs: $dibs_hook did not answer" >&2; exit 2; fi; said=$(cat); '
)
TOOL = (
    'case $said in *\\"tool_name\\":*) t=${said#*\\"tool_name\\":};; *) t=${said#*\\"toolName\\":};; esac; '
    't=${t# }; t=${t#\\"}; t=${t%%\\"*}; '
)
# Three words at most, none with a meaning for the shell: no option that discards changes fits next to a branch.
GO_BACK = (
    'c=${said#*\\"command\\":}; c=${c# }; c=${c#\\"}; c=${c%%\\"*}; '
    "case $c in *[!A-Za-z0-9_./\\ -]*|*\\ *\\ *\\ *) ;; "
    '"git switch "*|"git status"|"git branch"|"git log"|ls|"ls "*|"cat "*|pwd) exit 0;; '
    '"git checkout "*) git show-ref -q --verify "refs/heads/${c#git checkout }" && exit 0;; esac; '
    'echo "dibs: this working tree has no .dibs/hook (a branch from before dibs, or a sparse checkout), so it cannot '
    'be told whether this call is safe. Reading passes. Go back with: git switch BRANCH; or a person runs: dibs init" '
    ">&2; "
    "exit 2"
)


def refuse(tools: Iterable[str]) -> str:
    """The end of a command that runs before a tool call; the tools in `tools` only read."""
    reads = "|".join(tools)
    return REFUSE + (f"{TOOL}case $t in {reads}) exit 0;; esac; " if reads else "") + GO_BACK


def hook(every: Sequence[Client] = ()) -> str:
    """The launcher, with the dialects of these clients, or of all (for session/hook_script.py, which is made of it)."""
    from dibs.doors import clients
    from dibs.doors.clients import BEFORE, BOOT

    every = every or clients.every()
    named = {moment: _events([one for one in every if one.names_event], moment) for moment in (BEFORE, BOOT)}
    said = {moment: _events(every, moment) for moment in (BEFORE, BOOT)}
    keys = ('"hook_event_name":', '"hook_event_name": ')
    texts = {
        "NAMED_BEFORE": "".join(f" | *:{event}" for event in named[BEFORE]),
        "NAMED_START": " | ".join(f"*:{event}" for event in named[BOOT]),
        "SAID_BEFORE": " | ".join(f"*'\"{event}\"'*" for event in said[BEFORE]),
        "SAID_START": " | ".join(f"*'{key}\"{event}\"'*" for event in said[BOOT] for key in keys),
        "TELL": _cases([(one.name, one.start_notice("%s")) for one in every]),
        "DENY": _cases([(one.name, one.hook.deny(one.event_of(BEFORE), "%s")) for one in every]),
        "ALLOWED": str(ALLOWED),
        "FAILED": str(FAILED),
        "REFUSED": str(REFUSED),
        "SERVER": "".join(f"    {line}\n" for line in SERVER.splitlines()).rstrip("\n"),
    }
    text = _HOOK
    for name, part in texts.items():
        text = text.replace(f"@{name}@", part)
    return text


def _events(clients: Sequence[Client], moment: str) -> list[str]:
    """These clients' names for a moment."""
    return sorted({event for client in clients for event, meant in client.hook.EVENTS.items() if meant == moment})


def _cases(said: Iterable[tuple[str, dict[str, Any] | None]]) -> str:
    """The lines of a `case` on a client's name that print its JSON; `%s` in it stands for the text."""
    from dibs import jsontext

    names: dict[str, list[str]] = {}
    for name, answer in said:
        if answer is not None:
            names.setdefault(jsontext.encode(answer), []).append(name)
    lines = []
    for text, group in names.items():
        arguments = ' "$2"' * text.count("%s")
        lines.append(f"        {' | '.join(group)}) printf '{text}\\n'{arguments} ;;")
    return "\n".join(lines)
