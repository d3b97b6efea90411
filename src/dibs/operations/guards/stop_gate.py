"""The gate at the end of a turn: an agent with unfinished work of this turn is told what is missing, from facts.

- what counts: files that the agent named in this turn and that are not committed; with `land` and `verify` more
  (below); and, if the turn changed something, its tasks that are not finished.
- `off`: nothing. `remind` (the default): the person is told in one line, once for the same list; it costs no turn.
- `commit`, `land`, `verify: COMMAND`: the agent is sent back, MAX_SENT_BACK times in a turn. Then one quiet alert.
  `land` asks in addition that the branch's commits of this turn are landed or queued, `verify` that the command
  succeeded on this state of the tree (guards/verification.py runs it in the background; no result yet: no question).
- never: a turn that changed nothing, or of which the beginning is not known; one that ended with a question to the
  person, in plan mode, with something that still runs, after a permission that was not given; a turn whose prompt asked
  to stop early or not to commit; a client that cannot be sent back, or does not show what the agent said last.
- a far caller sends facts about itself alone; they can hold up nobody else.
- crash, race: the count is in the agent's record, in the transaction that decides; no store, no question.

The person's words and the agent's are read in the hook's process (`asks_person`, `leaves_open`): only the answer is
sent.
"""

from __future__ import annotations

from dibs.errors import counted, quoted
from dibs.operations.agents.names import name_of
from dibs.operations.agents.records import put_agent, registered_agent
from dibs.operations.claims import endings
from dibs.operations.claims import records as claim_records
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.landing import records as landings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from dibs.operations.agents.records import Agent, Gate
    from dibs.operations.core.call import Call
    from dibs.operations.guards.requests import GateRequest
    from dibs.stores.seam import Transaction

    class GateAnswer(TypedDict):
        """Of `gate`: both texts are "" where nothing is to be said."""

        block: str  # for the agent, which continues
        tell: str  # for the person


MAX_SENT_BACK = 2  # in one turn: a model that stops a third time has a reason, or will not be moved
MAX_SHOWN = 6  # files that are named
MAX_LANDINGS_READ = 50  # decided landings, for the last one of a branch
MAX_FAILURE_CHARS = 300
OFF, REMIND, COMMIT_LEVEL, LAND = "off", "remind", "commit", "land"
VERIFY = "verify:"
MARK = "dibs: this turn is not done"  # how a text begins that sends an agent back: some clients make it a prompt


# --- words: read where they were typed

_ASKING = (
    "let me know", "please confirm", "please tell me", "please advise", "please choose", "please decide",
    "tell me which", "tell me whether", "tell me if", "your call", "up to you", "waiting for you", "wait for your",
    "awaiting your", "await your", "need your", "need you to", "before i continue", "before i proceed",
    "before proceeding", "if you'd like", "if you want", "if you prefer", "which option", "which do you prefer",
    "i could not", "i couldn't", "i cannot", "i can't", "i was not able", "unable to", "permission", "you asked",
    "you told me", "you said", "you wanted", "as requested", "as asked", "as instructed", "per your",
    "at your request", "asked me", "told me", "deliberately", "on purpose", "intentionally",
)  # fmt: skip
_POLITE = (
    "anything else", "something else", "any other", "let me know if you need",
    "let me know if you'd like me to adjust", "let me know if you have", "how can i help", "what next",
    "what's next",
)  # fmt: skip
_OPEN_ENDED = (
    "don't commit", "dont commit", "do not commit", "not commit", "no commit", "without commit", "uncommitted",
    "before commit", "i'll commit", "i will commit", "i commit", "let me commit", "commit it myself",
    "not yet commit", "don't land", "do not land", "not land", "then stop", "and stop", "stop after", "stop there",
    "stop here", "stop before", "stop once", "stop when", "then pause", "and pause", "then wait", "and wait",
    "wait for me", "wait for my", "before you continue", "before going", "come back to me", "report back",
    "check with me", "ask me", "show me", "let me see", "let me look", "let me review", "let me check", "for review",
    "for my review", "i'll review", "i will review", "i want to review", "i want to see", "i'd like to see",
    "i'll take", "i will take", "take over", "draft", "sketch", "prototype", "experiment", "spike", "wip",
    "work in progress", "scratch", "throwaway", "try out", "just try", "only the first", "just the first",
    "only step", "just step", "first step", "step 1", "step one", "only part", "first part", "part 1", "half of",
    "start with", "begin with", "for now", "leave it", "leave the", "leave them", "not finish", "don't finish",
    "only look", "just look", "read only", "read-only", "dry run",
)  # fmt: skip
_STOPPING = ("stop", "halt", "wait", "pause", "hold on", "enough", "cancel", "abort")
MAX_END_CHARS = 600  # of a message: where a question to the person stands


def asks_person(said: str) -> bool:
    """Does an agent's last message leave it to the person: a question, a choice, something that it could not do?"""
    text = " ".join(said[-MAX_END_CHARS:].lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").split())
    for polite in _POLITE:
        at = text.find(polite)
        if at >= 0:
            end = min([place for place in (text.find(sign, at) for sign in ".?!") if place >= 0], default=len(text))
            text = text[:at] + text[end + 1 :]
    return "?" in text or "\N{FULLWIDTH QUESTION MARK}" in text or any(words in text for words in _ASKING)


def leaves_open(prompt: str) -> bool:
    """Does a person's prompt ask for a part of the work, for a stop, or for work that is not committed?"""
    text = " ".join(prompt.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").split())
    return text.strip(" .!") in _STOPPING or any(words in text for words in _OPEN_ENDED)


# --- the decision


def level_and_command(setting: str) -> tuple[str, str]:
    """The level that the config asks for, and the command of a verification."""
    if setting.startswith(VERIFY):
        return VERIFY, setting.removeprefix(VERIFY).strip()
    return setting, ""


def _gate(tx: Transaction, call: Call, request: GateRequest) -> GateAnswer:
    """The agent's turn ends with this: is it sent back, is the person told, or neither?"""
    level, command = level_and_command(call.policy.work["gates"]["stop"])
    agent = registered_agent(tx, call.agent)
    missing = _missing(tx, call, request, level, command) if level != OFF else []
    if not missing:
        if "gate" in agent or "reminded" in agent:
            agent.pop("gate", None)
            agent.pop("reminded", None)
            put_agent(tx, agent)
        return {"block": "", "tell": ""}
    if request["excused"] or agent.get("open_end") or not _has_turn(tx, call, agent):
        return {"block": "", "tell": ""}
    known = _gate_of(agent)
    if level != REMIND and request["answerable"] and known["sent"] < MAX_SENT_BACK:
        agent["gate"] = {"sent": known["sent"] + 1, "missing": missing}
        put_agent(tx, agent)
        tx.append("call.refused", call.agent, "stop", {"code": "conflict"})
        return {"block": _to_agent(missing, request["files"], level), "tell": ""}
    text = _to_person(tx, call, agent, missing, quiet=level == REMIND)
    if text and not request["shown"]:  # the agent hears of it with its next prompt
        from dibs.operations.messages import mailbox

        mailbox.post(tx, call.agent, "dibs", "gate", text.removeprefix("dibs: "))
        text = ""
    return {"block": "", "tell": text}


def _gate_of(agent: Agent) -> Gate:
    """What the gate said in this turn."""
    return agent.get("gate") or {"sent": 0, "missing": []}


def _has_turn(tx: Transaction, call: Call, agent: Agent) -> bool:
    """Is a turn of it open, as far as is known? A subagent's is its whole life; without a task, its parent's counts."""
    return bool(tasks_of(tx, call.agent)) if "/" in call.agent else "turn" in agent


def _to_person(tx: Transaction, call: Call, agent: Agent, missing: list[str], *, quiet: bool) -> str:
    """One line for the person, once for the same list; and one quiet alert where the agent was sent back in vain."""
    known = _gate_of(agent)
    if agent.get("reminded") == missing:
        return ""
    if not quiet and known["sent"] >= MAX_SENT_BACK:
        from dibs.operations.alerts import suspicions

        suspicions.put(tx, "unfinished", call.agent, call.agent, event="", missing=missing, sent=known["sent"])
    agent["gate"], agent["reminded"] = {**known, "missing": missing}, missing
    put_agent(tx, agent)
    return f"dibs: {name_of(tx, call.agent, agent)} stopped: {'; '.join(missing)}."


def _missing(tx: Transaction, call: Call, request: GateRequest, level: str, command: str) -> list[str]:
    """What is missing, in words; nothing for a turn that changed nothing."""
    found = []
    files = request["files"]
    if files:
        found.append(f"{counted(len(files), 'file')} not committed: {listed(files)}")
    if level == LAND and request["unlanded"]:
        why = _not_landed(tx, request)
        found += [why] if why else []
    if level == VERIFY and request["failed"]:
        found.append(f"`{command}` fails on this state: {request['failed'][:MAX_FAILURE_CHARS]}")
    if files or request["commits"]:
        found += [f"task {task} not finished" for task in tasks_of(tx, call.agent)]
    return found


def tasks_of(tx: Transaction, agent: str) -> list[str]:
    """The tasks that the agent works on."""
    claims = claim_records.claims_of(tx, agent)
    return [claim["task"] for claim in claims if claim["by"] == endings.BY_TASK and claim["until"] > tx.now]


def _not_landed(tx: Transaction, request: GateRequest) -> str:
    """Why the branch's commits are not on the target; "" where they are, or are in the queue."""
    target, branch = request["target"], request["branch"]
    waiting = landings.landing_of(tx, target, branch)
    if waiting is not None and waiting["state"] == landings.QUEUED:
        return ""
    for _, _, landing in tx.scan(1, landings.decided_on(target), MAX_LANDINGS_READ).rows:
        if landing["branch"] != branch:
            continue
        if landing["commit"] == request["head"]:
            if landing["state"] == "landed":
                return ""
            return f"branch {branch} not landed: {landing['state']}, {landing.get('why') or 'without a reason'}"
        break
    return f"branch {branch} not landed: {counted(request['unlanded'], 'commit')} not on {target}"


def listed(files: Sequence[str]) -> str:
    """The first ones, and how many more."""
    more = f" and {len(files) - MAX_SHOWN} more" if len(files) > MAX_SHOWN else ""
    return ", ".join(files[:MAX_SHOWN]) + more


def _to_agent(missing: Sequence[str], files: Sequence[str], level: str) -> str:
    """What sends it back: what is missing, how it is done, and the way out."""
    ways = []
    if files:
        ways.append(f"`git add {' '.join([quoted(path) for path in files[:MAX_SHOWN]])}` and `git commit`")
    if level == LAND and any(" not landed" in one for one in missing):
        ways.append("`dibs land`")
    if any(one.startswith("task ") for one in missing):
        ways.append("`dibs task done ID --token N --result JSON`, or `dibs task release ID --token N`")
    how = f" To do: {'; '.join(ways)}." if ways else ""
    return (
        f"{MARK}: {'; '.join(missing)}.{how} If the person wants it left like this, or you need an answer first, say "
        "so in one sentence and stop."
    )


GATE = Operation(
    "gate", _gate, "What is missing at the end of the agent's turn?", sent_by=ANYWHERE,
    fields=(
        Field("files", "raws", "files that it named in this turn and that are not committed", default=()),
        Field("commits", "integer", "its commits in this turn", default=0),
        Field("unlanded", "integer", "those of them that are not on the target", default=0),
        Field("branch", "raw", "of its working tree", default=""),
        Field("target", "raw", "the branch that others are landed on", default=""),
        Field("head", "raw", "the branch's last commit", default=""),
        Field("failed", "raw", "how the verification of this state failed; empty: it did not", default=""),
        Field("excused", "flag", "it ended with a question, in plan mode, or left something running", default=False),
        Field("shown", "flag", "its client shows its person what a hook says then", default=False),
        Field("answerable", "flag", "its client can be told to continue", default=False),
    ),
)  # fmt: skip

INTERNAL = (GATE,)
