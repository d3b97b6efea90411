"""The command in a client's settings, one short line for each event. What it reads, `.dibs/hook`, has all the rest.

It runs on every machine that has a checkout, with any sh (dash, bash, busybox), and before dibs does: so it names no
machine. The running shell reads the launcher (workspace/hook_script.py), which saves the start of another shell. A
working tree without it (a branch from before dibs, a sparse checkout, a trial by `dibs init --local`) has a copy below
git's directory. Before a tool call whatever fails is a refusal, also a launcher that is nowhere: only exit 2 is one for
every client. At other events exit 2 would hold back a person's prompt, or send the model back to work.
"""

from __future__ import annotations

from dibs.interfaces.agents import BEFORE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.agents.adapter import Client

MARK = ".dibs/hook"  # an entry in a client's settings with this is ours
COPY = "$(git rev-parse --git-common-dir)/dibs/hook"
# `command`: a file that `.` cannot read would end some shells at once, with an exit code that is no refusal.
PROJECT = 'set -- {words}; cd "${variable}"; h=.dibs/hook; [ -f $h ] || h={copy}; command . "$h" || exit {code}'
# Most clients name no project folder: the search goes up from the session's folder. Codex gives the line to the user's
# own shell, which may be fish, so sh reads it: no single quotes inside.
UPWARD = (
    'sh -c \'d={start}; until [ -f "$d/.dibs/hook" ] || [ -z "$d" ]; do d=${{d%/*}}; done; h=$d/.dibs/hook; '
    '[ "$d" ] || h={copy}; . "$h"\' sh {words} || exit {code}'
)


def command(client: Client, event: str) -> str:
    """The command for one event in a client's settings."""
    words = f"{client.name} {event}" if client.names_event else client.name
    code = 2 if client.hook.EVENTS[event] == BEFORE else 0
    variable = client.hook.PROJECT_VARIABLE
    if variable:
        return PROJECT.format(words=words, variable=variable, copy=COPY, code=code)
    start = f"${{{client.starts_at}:-$PWD}}" if client.starts_at else "$PWD"
    return UPWARD.format(start=start, words=words, copy=COPY, code=code)
