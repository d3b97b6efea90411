"""The command in a client's settings, one short line for each event. What it reads, `.dibs/hook`, has all the rest.

It runs on every machine that has a checkout, with any sh (dash, bash, busybox), and before dibs does: so it names no
machine. The running shell reads the launcher (workspace/hook_script.py), which saves the start of another shell. A
working tree without it (a branch from before dibs, a sparse checkout, a trial by `dibs init --local`) has a copy below
git's directory. Before a tool call whatever fails is a refusal: only exit 2 is one for every client. At other events
exit 2 would hold back a person's prompt, or send the model back to work. A launcher that is nowhere is a refusal as
well, unless git says that no dibs was ever at work in this clone: a colleague who checks out a part of the repository,
on a machine without dibs, is not locked out (docs/guides/clients.md has the table). A launcher of another version, on
another branch, finds itself by `dibs_hook` as well.
"""

from __future__ import annotations

from dibs.interfaces.agents import BEFORE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.agents.adapter import Client

MARK = ".dibs/hook"  # an entry in a client's settings with this is ours
# `dibs init` and each start of a session leave this copy; where its folder is not there, neither of them was.
COPY = 'dibs_hook=$(git rev-parse --git-common-dir)/dibs/hook && [ ! -d "${dibs_hook%/*}" ] && exit 0'
# `command`: a file that `.` cannot read would end some shells at once, with an exit code that is no refusal.
PROJECT = (
    'set -- {words}; cd "${variable}"; dibs_hook=.dibs/hook; [ -f $dibs_hook ] || {copy}; '
    'command . "$dibs_hook" || exit {code}'
)
# Most clients name no project folder: the search goes up from the session's folder. Codex gives the line to the user's
# own shell, which may be fish, so sh reads it: no single quotes inside.
UPWARD = (
    'sh -c \'d={start}; until [ -f "$d/.dibs/hook" ] || [ -z "$d" ]; do d=${{d%/*}}; done; dibs_hook=$d/.dibs/hook; '
    '[ "$d" ] || {copy}; . "$dibs_hook"\' sh {words} || exit {code}'
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
