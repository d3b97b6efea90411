r"""The bash text by which `.dibs/hook` asks a running server, without starting Python: `.dibs/local/serve.bash`.

The server writes it anew at each start, with its port and two secrets, so it fits the server that reads its words. Who
can read the file may ask. It works like this:

1. Connect (bash's /dev/tcp) and show SECRET, with the version, the pid and how the script was started; a NUL after each
   field, here as below. While the server looks at that, read what the client sends.
2. The server shows PROOF. Only then the request follows: what stands on the port may be another program.
3. The request: client, event, directory, DIBS_TREE, the environment where a server cannot read that of a process, and
   last what the client sent.
4. The answer is one letter: `0` allows without a word, `?` says: ask the store yourself, `+` says that the server is
   still at work, and another letter follows. After `=` follow three fields: for stdout, for stderr, and the exit code;
   the code last, so that a cut answer is none.

No answer in time, a wrong proof, an end of file: the launcher's own way with the client's text, which was kept. Then
the file is removed, so that the next hooks do not wait as well; a server that is alive puts it back.

Words that bash prints or reads are bytes (LC_ALL=C). `read -d` costs four system calls a byte, so what most hooks
read is read by its length (`-N`). The server is the clock of the one read without `-t`: see port.py.
"""

from __future__ import annotations

from dibs.workspace.launcher import ALLOWED, FAILED, REFUSED, entry_path, quoted

NAME = "serve.bash"
LOCALE = "DIBS_LC_ALL"  # the caller's own LC_ALL, which the launcher replaces: bash starts sooner in the plain one
VERSION = "2"  # of the request and its answer
SECRET_BYTES = 16
# Longer payloads go the launcher's own way: bash is slow with long texts.
MAX_SENT_BYTES = 256 * 1024

# Where the script is run by a bash of its own, all that a hook needs stands before the functions, and in none of them:
# bash reads command by command, so it never comes to the rest, and a function is copied once more before it runs.
_TEXT = r"""# made by `dibs serve`, for .dibs/hook; it is removed when the server ends
# PYTHON ENTRY CLIENT [EVENT]
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    IFS= dibs_how=child dibs_python=$1 dibs_entry=$2 dibs_read= dibs_said= dibs_out= dibs_err= dibs_code=
    shift 2
@ASK:exit@
fi

dibs_own() { # CLIENT [EVENT]: the launcher's own way, with what was read
    case $dibs_code in
        '?') ;;
        *) rm -f -- "${BASH_SOURCE[0]}" ;;
    esac
    if [ "$dibs_how" = child ]; then
        unset LC_ALL
        [ -z "${DIBS_LC_ALL+x}" ] || { export LC_ALL="$DIBS_LC_ALL" && unset DIBS_LC_ALL; }
    fi
    case $dibs_read in
        all) printf '%s' "$dibs_said" | "$dibs_python" -I -S -X utf8 "$dibs_entry" "$@" ;;
        part) { printf '%s' "$dibs_said"; cat; } | "$dibs_python" -I -S -X utf8 "$dibs_entry" "$@" ;;
        *) "$dibs_python" -I -S -X utf8 "$dibs_entry" "$@" ;;
    esac
    case $? in
        0) return @ALLOWED@ ;;
        2) return @REFUSED@ ;;
    esac
    return @FAILED@
}

if [ "${dibs_how-}" = child ]; then
    dibs_own "$@"
    exit
fi

dibs_serve() { # PYTHON ENTRY CLIENT [EVENT]
    local dibs_how=read dibs_python=$1 dibs_entry=$2 dibs_read= dibs_said= dibs_out= dibs_err= dibs_code=
    shift 2
    dibs_try() {
        local LC_ALL=C IFS= limit count beats words more name
@ASK:return@
        return 1
    }
    dibs_try "$@"
    case $? in @ALLOWED@) return @ALLOWED@ ;; @REFUSED@) return @REFUSED@ ;; esac
    dibs_own "$@"
}
"""

# Ask the server, and end with its answer if there is one; else dibs_said and dibs_read have what the client sent.
# `break` gives up.
_ASK = r"""    if [ "$dibs_entry" -ef @ENTRY@ ]; then
        trap '' PIPE
        while :; do
            printf '%s\0' @SECRET@@VERSION@ "${BASHPID:-$$}" "$dibs_how" >&3
            limit=0.5 count=-N beats=0 words= more=
            if @OLD@; then # a bash before 4.1, as on macOS
                limit=1 count=-n
                dibs_said=$(head -c @MOST@; printf x)
                dibs_said=${dibs_said:0:${#dibs_said}-1}
            else
                read -r -t 3 -N 1 dibs_said
                [ $? -le 128 ] || { dibs_code=?; break; }
                read -r -N @REST@ more
                dibs_said=$dibs_said$more
            fi
            dibs_read=all
            if [ ${#dibs_said} -ge @MOST@ ]; then
                dibs_read=part dibs_code=?
                break
            fi
            # without its last newline: bash would send what follows it in a packet of its own, 40 ms later
            [ "${dibs_said: -1}" != $'\n' ] || dibs_said=${dibs_said:0:${#dibs_said}-1}
            read -r -t $limit $count @LENGTH@ -u 3 words || break
            [ "$words" = @PROOF@ ] || break
@NAMES@            printf '%s\0' "$1" "${2-}" "$PWD" "${DIBS_TREE-}" "$words" "$dibs_said" >&3
            while read -r -t $limit $count 1 -u 3 dibs_code && [ "$dibs_code" = + ]; do
                [ $((beats += 1)) -lt @BEATS@ ] || break 2
            done
            if [ "$dibs_code" = = ]; then
                dibs_code=
                read -r -t $limit -d '' -u 3 dibs_out && read -r -t $limit -d '' -u 3 dibs_err &&
                    read -r -t $limit -d '' -u 3 dibs_code
            fi
            break
        done 2>/dev/null 3<>/dev/tcp/127.0.0.1/@PORT@
        trap - PIPE
    else
        dibs_code=? # another dibs answers the hooks here
    fi
    case $dibs_code in
        0 | 2)
            [ -z "$dibs_out" ] || printf '%s' "$dibs_out"
            [ -z "$dibs_err" ] || printf '%s' "$dibs_err" >&2
            @END@ $((@ALLOWED@ + dibs_code))
            ;;
    esac
"""

_NAMES = r"""            words= IFS=$'\n'
            for name in $(compgen -e); do words=$words$name=${!name}$'\1'; done
            IFS=
"""

# `read -N` came with bash 4.1, and a `read -t` below a second with 4.0.
_OLD = '[ "${BASH_VERSINFO[0]}" -lt 4 ] || [ "${BASH_VERSINFO[0]}.${BASH_VERSINFO[1]}" = 4.0 ]'
MAX_BEATS = 300  # a minute: longer than a client waits for a hook


def text(port: int, secret: str, proof: str, *, names: bool, old: bool = False, entry: str = "") -> str:
    """The script for one server; `names`: it sends the environment.

    For tests: `old`, as on an old bash; `entry`, the file that answers hooks in another dibs.
    """
    values = {
        "ENTRY": quoted(entry or entry_path()),
        "SECRET": secret, "PROOF": proof, "LENGTH": str(len(proof)), "PORT": str(port), "VERSION": VERSION,
        "OLD": "true" if old else _OLD,
        "NAMES": _NAMES if names else "", "MOST": str(MAX_SENT_BYTES), "REST": str(MAX_SENT_BYTES - 1),
        "BEATS": str(MAX_BEATS), "ALLOWED": str(ALLOWED), "REFUSED": str(REFUSED), "FAILED": str(FAILED),
    }  # fmt: skip
    found = _TEXT
    found = found.replace("@ASK:exit@\n", _bare(_ASK).replace("@END@", "exit"))
    found = found.replace("@ASK:return@\n", _ASK.replace("@END@", "return"))
    for name, value in values.items():
        found = found.replace(f"@{name}@", value)
    return found


def _bare(script: str) -> str:
    """Without its comments and blanks at the start of lines: every hook's bash reads it letter by letter."""
    lines = [line.strip() for line in script.splitlines()]
    return "".join([f"{line}\n" for line in lines if line and not line.startswith("#")])
