"""The launcher `.dibs/hook`: what client settings and git hooks call, and what a tool finds where dibs is missing.

It runs on every machine that has a checkout, with any sh (dash, bash, busybox), and before dibs does: so it is plain
and names no machine. What it says in a client's dialect is in hook_dialects.py, which `make generate` makes from the
folders in interfaces/agents. `launcher.py` and `dibs init` put it in place; no hook loads this once it is there.
"""

from __future__ import annotations

from dibs.workspace.hook_dialects import DIALECTS
from dibs.workspace.launcher import ALLOWED, FAILED, REFUSED

_HOOK = r"""#!/bin/sh
# dibs: the command that client settings and git hooks call. Made by `dibs init`. Commit it: it names no machine.
#   .dibs/hook CLIENT [EVENT]     a client's hook; its JSON comes on stdin
#   .dibs/hook git NAME [WORD…]   a git hook
#   .dibs/hook cli [WORD…]        the command `dibs` (what .dibs/dibs calls)
# Where dibs is installed, it decides. Where it is not, nothing is guarded, and a session's start says how to get it.
# Up to dibs only the shell's own commands are used: a hook has milliseconds.

# A client's command reads this file in its own shell, and says in dibs_hook where it lies.
read_in=
case $0 in */hook | hook) h=$0 ;; *) read_in=1 h=$dibs_hook ;; esac
case $h in */*) home=${h%/*} ;; *) home=. ;; esac
# The same text lies below git's directory, for a branch or a sparse checkout without this file.
case $home in */.dibs | .dibs | .) tree=$home/.. ;; *) tree=${dibs_tree:-$PWD} ;; esac
case $tree in /*) ;; *) tree=$PWD/$tree ;; esac

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

no_answer() { # Codex takes an exit code for a refusal only with a word on stderr
    echo "dibs: $h did not answer" >&2
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
                @FAILED@) [ -n "$read_in" ] && no_answer && return 1; exit 1 ;;
            esac # any other: it was not asked, or cut off, and the interpreter says what is missing
        fi
        [ -n "$read_in" ] || exec "$python" -I -S -X utf8 "$entry" "$@"
        # read by a client's command, which says what any other end means: before a tool call, a refusal
        "$python" -I -S -X utf8 "$entry" "$@"
        code=$?
        case $code in 0 | 2) exit $code ;; esac
        no_answer && return 1
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
    [ -n "$read_in" ] || exit $code
    case $code in 0 | 2) exit $code ;; esac
    no_answer && return 1
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


def text() -> str:
    """The launcher, with the dialects of all clients."""
    parts = {
        **DIALECTS,
        "ALLOWED": str(ALLOWED),
        "FAILED": str(FAILED),
        "REFUSED": str(REFUSED),
        "SERVER": "".join(f"    {line}\n" for line in SERVER.splitlines()).rstrip("\n"),
    }
    script = _HOOK
    for name, part in parts.items():
        script = script.replace(f"@{name}@", part)
    return script
