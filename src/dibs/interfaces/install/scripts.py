"""The sh text of a client's hook command, which `dibs init` writes into its settings. `plan.py` puts it in place.

It runs on every machine that has a checkout, with any sh (dash, bash, busybox), and before dibs does: so it is plain
and names no machine. What it calls is the launcher (workspace/hook_script.py).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

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
