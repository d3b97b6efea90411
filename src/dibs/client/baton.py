"""What an agent did, from facts, for whoever continues: another agent, or itself after its context was compacted.

The task and its last note, what it changed and did not commit, what it read that did not change, what was refused, the
last check. Made where it is read, of the record (operations/handovers/facts.py), the end of the log and this machine's
ledgers; an agent's own words are quoted. Short: a model reads it before it begins, so what is left out has a command.
"""

from __future__ import annotations

from dibs.errors import DibsError, counted, quoted
from dibs.ledger import contents, ledger_files, working_tree
from dibs.operations.core.call import within
from dibs.stores.seam import read_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.client.session import Session
    from dibs.operations.core.call import Call
    from dibs.operations.handovers.facts import TaskFacts, WorkFacts
    from dibs.stores.seam import LogEvent

MAX_CHARS = 2_000
EVENTS_READ = 600  # of the end of the log
FILES_SHOWN, READ_SHOWN, REFUSED_SHOWN = 8, 6, 3
QUOTED_CHARS = 300  # of a title or a note
MAX_READ = 200  # files that it saw, which are compared with what is there
REFUSALS = ("edit.refused", "command.refused", "commit.refused", "claim.refused", "deploy.refused")


def text(session: Session, call: Call, agent: str) -> str:
    """All of it, for another agent or a person."""
    from dibs.operations.handovers.facts import WORK_OF

    known: WorkFacts = session.run(WORK_OF, call, {"agent": agent})
    state = f", which is {known['limited']}" if known["limited"] else ""
    lines = [f"The work of {known['name']}{state}, from the record:"]
    for task in known["tasks"]:
        lines += _task(task)
    lines += [f"It holds {_some(known['held'])}."] if known["held"] else []
    lines += _changed(session, known["agent"], known["name"], mine=False)
    lines += _read(session, known["agent"]) + _from_log(session, known["agent"], mine=False)
    return fitted(lines if len(lines) > 1 else [f"{known['name']} has no claim, task or uncommitted work here."])


def own(session: Session, agent: str, name: str) -> list[str]:
    """For an agent that forgot: what it changed, what was refused to it, its last check."""
    return _changed(session, agent, name, mine=True) + _from_log(session, agent, mine=True)


def passed_on(session: Session, agent: str, name: str, others: Iterable[str]) -> list[str]:
    """For an agent that got others' work, whose unfinished files are its own by now."""
    lines = _changed(session, agent, name, mine=True)
    for other in others:
        lines += _read(session, other) + _from_log(session, other, mine=False)
    return lines


def fitted(lines: Iterable[str], most: int = MAX_CHARS) -> str:
    """As many of the lines as fit, whole."""
    found, left = [], most
    for line in lines:
        if len(line) + 1 > left:
            found.append("…")
            break
        found.append(line)
        left -= len(line) + 1
    return "\n".join(found)


def _some(texts: list[str], most: int = FILES_SHOWN) -> str:
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def _task(task: TaskFacts) -> list[str]:
    from dibs.client import quotes

    progress = f", {task['progress']} percent" if task["progress"] else ""
    lines = [f"Task {task['id']}{progress}:", *quotes.quoted(task["title"], QUOTED_CHARS)]
    if task["note"]:
        lines += ["Where it stands, by its last note:", *quotes.quoted(task["note"], QUOTED_CHARS)]
    proof = task.get("verified")
    if proof is not None:
        lines.append(f"Its last verification `{proof['command']}` ended with exit code {proof['exit']}.")
    return lines


def _changed(session: Session, agent: str, name: str, *, mine: bool) -> list[str]:
    """The files with its uncommitted work, with how many lines of each, and the command that shows all."""
    from dibs.client import unfinished

    pairs = unfinished.files(session, [agent])[agent]
    if not pairs:
        return []
    sizes: dict[tuple[str, str], str] = {}
    for top in dict.fromkeys(one for one, _ in pairs[:FILES_SHOWN]):
        sizes.update(_sizes(top, [path for one, path in pairs[:FILES_SHOWN] if one == top]))
    here = session.place.top
    shown = [f"{path if top == here else f'{top}/{path}'}{sizes.get((top, path), '')}" for top, path in pairs]
    files = f"{counted(len(pairs), 'file')} changed and not committed: {_some(shown)}"
    return [f"{'You have' if mine else 'It left'} {files}. `dibs diff {quoted(name)}` shows them."]


def _sizes(top: str, paths: list[str]) -> dict[tuple[str, str], str]:
    """How many lines were added and removed since HEAD, as git counts them; a new file has only its own."""
    from dibs.git import queries as git

    words = ("diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", "HEAD", "--")
    found = {(top, path): " (new)" for path in paths}
    try:
        rows = git.ask(top, *git.PLAIN, *words, *[f":(top,literal){path}" for path in paths]).out.split(b"\0")
    except DibsError:  # no git, or no commit
        return {}
    for row in rows:
        added, _, rest = row.decode(errors="surrogateescape").partition("\t")
        removed, _, path = rest.partition("\t")
        if path:
            found[top, path] = " (binary)" if added == "-" else f" (+{added} -{removed})"
    return found


def _read(session: Session, agent: str) -> list[str]:
    """What it read last that is as it was then: the places that it found worth a look."""
    tree = working_tree.of(session.place)
    owned = tree.state.owned()
    seen = list(ledger_files.Seen(tree.folder, agent).files().items())[-MAX_READ:]
    others = [(path, known) for path, known in reversed(seen) if path not in owned]
    same = [path for path, known in others if contents.read(f"{tree.top}/{path}")[0] == known]
    return [f"It read, and is unchanged since: {_some(same, READ_SHOWN)}."] if same else []


def _from_log(session: Session, agent: str, *, mine: bool) -> list[str]:
    """What was refused last, and how the last check ended."""
    refused: dict[str, None] = {}
    check = ""
    for event in _last_events(session):
        data, kind = event["data"], event["kind"]
        if not within(event["agent"], agent):
            continue
        if kind == "landing.refused":
            check = check or f"Its branch {data['branch']} did not land: {data['why'][:120]}."
        elif kind == "landing.landed":
            check = check or f"Its branch {data['branch']} landed."
        elif kind == "call.refused" and data["code"] == "unverified":
            command = data.get("command", "")[:80]
            check = check or f"The last check `{command}` failed with exit code {data.get('exit')}."
        elif kind in REFUSALS:
            refused.setdefault(f"{kind.partition('.')[0]} of {event['subject'][:60]} ({data['code']})")
    first = list(refused)[:REFUSED_SHOWN]
    lines = [f"{'You were' if mine else 'It was'} refused: {'; '.join(first)}."] if first else []
    return lines + ([check] if check else [])


def _last_events(session: Session) -> list[LogEvent]:
    """The end of the log, the latest first."""
    store = session.store
    head = store.head().seq
    return [read_event(event) for event in reversed(store.events(max(0, head - EVENTS_READ), EVENTS_READ))]
