"""The shell guard: may this command run while other agents hold files here? Internal, run before a shell call.

Doors read the command's words and git's state and bring plain facts; the files that a command names go to the edit
guard (edit_guard.py) like any other edit. This file decides about everything else that a command does:
- sweeps: what git would do to unnamed files, to the branch and to the stashes of a shared working tree; shared_tree.py
  decides it.
- targets that cannot be read from the words (`> $F`): refused while other agents hold claims in this working tree, or,
  if the words show the folder (`> build/$n`) or the name (`> $OUT/report.json`), while other agents hold something
  there, or of that name.
- files that a program may write, though it is not told to (a package manager's manifest and lock file): refused while
  other agents hold them or have unfinished work in them; held while the command runs, so that no other such program
  reads them in the meantime.
- git's index and HEAD belong to a working tree, the stashes to a repository: a command that touches them holds
  `git:index`, `git:head`, `git:stash` while it runs. The claim of an aborted command, whose end was not reported,
  passes to the next git command of the same agent, and lasts two minutes at most.
- dibs' own commands: an agent's shell acts for that agent only; speech.py decides it.
- deploys go through `dibs deploy`, which alone can hold the target, check for a stale copy, and verify.
"""

from __future__ import annotations

from dibs.error_subtypes import Transient
from dibs.errors import Conflict, DibsError, Forbidden, Held, quoted, say_blocked
from dibs.operations.agents import roles
from dibs.operations.agents.records import get_agent
from dibs.operations.claims import endings, grants, resources, views
from dibs.operations.claims import records as claim_records
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.core.policy import MINUTE
from dibs.operations.guards import audits, concerns, edit_guard, shared_tree
from dibs.operations.guards.concerns import HeldFiles
from dibs.operations.guards.edit_guard import IN_TREE, OWNERS, PATH, READ, SHELL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Required, TypedDict

    from dibs.operations.claims.answers import BlockerView
    from dibs.operations.claims.records import Claim
    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.call import Call
    from dibs.operations.guards.concerns import Concern, OwnedPath, UnfinishedWork, UnreadPath
    from dibs.operations.guards.requests import CommandRequest
    from dibs.operations.guards.shared_tree import TreeEffect
    from dibs.stores.seam import Transaction

    class OpenTarget(TypedDict, total=False):
        """A target that cannot be read from a command's words: the fields of `unresolved` in `COMMAND`."""

        words: Required[str]
        tree: str
        below: list[Resource] | None
        end: str
        paths: list[str]
        whole: bool
        without: list[str]
        exact: bool

    class Command(TypedDict):
        """A command that is about to run: the fields of `COMMAND`, where each is explained."""

        tree: str
        sweeps: Sequence[TreeEffect]
        unresolved: Sequence[OpenTarget]
        index: Sequence[Resource]
        acts: Sequence[str]
        deploys: Sequence[tuple[str, str, str]]
        client: str
        owned: Sequence[OwnedPath]
        loose: Sequence[UnreadPath]
        spoken: Sequence[tuple[str, str]]
        waits: bool

    class CommandAnswer(TypedDict):
        """Of `command`."""

        claims: list[str]  # those that end with it


# A git command takes seconds. A longer one continues without the claim; git itself lets no second one write its index
# meanwhile. The claim ends with the call, or with the process.
COMMAND_CLAIM_MS = 2 * MINUTE
RUNS = "a git command runs"
MAY_WRITE = "a command runs that may write it"
MAX_CLAIMS_SHOWN = 10  # claims named in a refusal
MAX_FILES_NAMED = 5  # files in the text of a refusal
MAX_COMMAND_CHARS = 120  # of a command, in the text of a refusal


def _command(tx: Transaction, call: Call, request: CommandRequest) -> CommandAnswer | DibsError:
    """May it run? What it may write, and git's index, are held for it while it runs."""
    refusal = _forbidden(tx, call, request)
    if refusal is not None:
        return refusal
    tree, unresolved, index = request["tree"], request["unresolved"], request["index"]
    files = [(doubt.get("tree", tree), doubt.get("below") or ()) for doubt in unresolved if doubt.get("exact")]
    if request["sweeps"] or unresolved:
        refusal = _in_the_way(tx, call, request, exact=bool(files))
        if refusal is not None:
            return refusal
    taken = _hold_files(tx, call, files) if files else []
    if isinstance(taken, DibsError) or not index:
        return taken if isinstance(taken, DibsError) else {"claims": taken}
    held = _hold(tx, call, index, waits=request["waits"])
    return held if isinstance(held, DibsError) else {"claims": [*taken, *held["claims"]]}


def _forbidden(tx: Transaction, call: Call, command: Command) -> DibsError | None:
    """Refuse what the agent's role forbids, what speaks for another agent, and a deploy by its bare command."""
    agent, client, spoken = get_agent(tx, call.agent), command["client"], command["spoken"]
    for act in command["acts"]:
        refusal: DibsError | None = roles.refusal_to(call, agent, act, client)
        if refusal is not None:
            return _refuse(tx, call, act, refusal)
    if spoken:
        from dibs.operations.core import authority

        refusal = authority.refusal_to_speak(tx, call, spoken)
        if refusal is not None:
            return _refuse(tx, call, f"dibs {spoken[0][0]}", refusal)
    for words, target, against in command["deploys"]:
        refusal = roles.refusal_to(call, agent, "deploy", client) or _undeployed(call, words, target, against)
        return _refuse(tx, call, words, refusal)
    return None


def _in_the_way(tx: Transaction, call: Call, command: Command, *, exact: bool) -> DibsError | None:
    """Refuse a command that would take what others hold or have not finished. `exact`: it may write files it names."""
    tree, sweeps, unresolved = command["tree"], command["sweeps"], command["unresolved"]
    others = audits.others(tx, call, "")
    normal = resources.normal(command["index"]) if command["index"] else []
    busy = [one for one in others if one["by"] == SHELL and resources.any_overlap(one["resources"], normal)]
    if busy:  # what lies in git's index now is of a moment
        blockers = [views.blocker(tx, one, normal) for one in busy]
        return _command_runs(tx, blockers) if _running_commands(tx, call, normal) else Held(blockers=blockers)
    unfinished = concerns.unfinished_work(tx, call, command["owned"], others) if sweeps or exact else []
    concerned: list[Concern] = [*map(HeldFiles, others), *unfinished]
    concerned += concerns.unread_changes(command["loose"], concerned)
    dropped: list[str] = []
    for given in sweeps:
        sweep: TreeEffect = {"tree": tree, **given, "here": tree}
        counting = [concern for concern in concerned if concern.tree in {"", sweep["tree"]}]
        refusal = shared_tree.refusal(tx, call, sweep, counting)
        if refusal is not None:
            return _refuse(tx, call, sweep["what"], refusal)
        dropped += shared_tree.dropped(sweep, counting)
    doubt = _being_changed(tx, unresolved, unfinished, tree) or _unreadable(tx, unresolved, others, tree)
    if doubt is not None:
        return _refuse(tx, call, doubt.fields["words"][0], doubt)
    edit_guard.note_dropped(tx, call, list(dict.fromkeys(dropped)))
    return None


def _hold_files(tx: Transaction, call: Call, files: Sequence[tuple[str, Sequence[Resource]]]) -> list[str] | DibsError:
    """Hold what the command may write while it runs. What the agent holds anyway stays as it is."""
    taken: list[str] = []
    own = [one for one in claim_records.claims_of(tx, call.agent) if one["until"] > tx.now and not one["pending"]]
    for tree, paths in files:
        held = [resource for claim in own if claim["tree"] in {"", tree} for resource in claim["resources"]]
        wanted = [path for path in paths if not resources.all_covered(resources.normal([path])[:1], held)]
        if wanted:
            claim = grants.claim_at_once(
                tx, call, grants.CLAIM.request(resources=wanted, tree=tree, by=SHELL, reason=MAY_WRITE)
            )
            if isinstance(claim, DibsError):
                return claim
            taken.append(claim["claim"])
    return taken


def _being_changed(
    tx: Transaction, unresolved: Sequence[OpenTarget], unfinished: Sequence[UnfinishedWork], tree: str
) -> Held | None:
    """Refuse a command that may write a file in which another agent that is there has unfinished work."""
    for doubt in unresolved if unfinished else ():
        for work in unfinished:
            name = resources.show(work.resources[0])
            below = doubt.get("below") or () if doubt.get("exact") and work.tree == doubt.get("tree", tree) else ()
            if any(resources.show(one) == name for one in below) and work.is_present and not work.is_known:
                instead = f"Wait until that is committed; or `dibs claim {quoted(name)}`, read it, and run it again."
                return Held(
                    f"`{_short(doubt['words'])}` may write {name} ({work.who(tx)}). {instead}", words=[doubt["words"]],
                    blockers=[work.blocker(tx, [["file", name]])], more=0, instead=instead,
                )  # fmt: skip
    return None


def _hold(tx: Transaction, call: Call, wanted: Sequence[Resource], *, waits: bool) -> CommandAnswer | DibsError:
    """Hold git's index and the like while the command runs. What the agent holds anyway stays as it is.

    `waits`: the caller asks again while another agent's git command runs. That is no refusal yet: the log has none.
    """
    normal = resources.normal(wanted)
    own = [
        claim for claim in claim_records.claims_of(tx, call.agent) if claim["until"] > tx.now and not claim["pending"]
    ]
    if any(claim["by"] != SHELL and resources.all_covered(normal, claim["resources"]) for claim in own):
        return {"claims": []}
    if waits:
        running = _running_commands(tx, call, normal)
        if running:
            return _command_runs(tx, [views.blocker(tx, record, normal) for record in running[:MAX_CLAIMS_SHOWN]])
    # From a command that runs in parallel, or was aborted: this one takes the claim over, and its end ends both.
    freed: list[Resource] = []
    for claim in own:
        if claim["by"] == SHELL and all(
            resource[0] == "name" and not resources.pool_of(resource) for resource in claim["resources"]
        ):
            freed += claim["resources"]
            endings.give_back(tx, claim, claim["resources"], "released")
    both = [*wanted, *[[*one, ""] for one in freed if one not in normal]]
    ttl = min(COMMAND_CLAIM_MS, call.policy.lifetime(normal, None)[0])
    held = grants.claim_at_once(tx, call, grants.CLAIM.request(resources=both, by=SHELL, ttl=ttl, reason=RUNS))
    if not isinstance(held, DibsError):
        return {"claims": [held["claim"]]}
    endings.serve(tx, freed)
    if isinstance(held, Held) and _running_commands(tx, call, normal):
        return _command_runs(tx, held.fields["blockers"], held.fields.get("more", 0))
    return held


def _running_commands(tx: Transaction, call: Call, wanted: Sequence[Resource]) -> list[Claim]:
    """The claims of other agents' git commands, if nothing else is in the way: these end within moments."""
    running: list[Claim] = []
    for record in claim_records.overlapping(tx, wanted, ""):
        if claim_records.is_waiter(record):
            return []
        if (
            claim_records.is_claim(record)
            and record["until"] > tx.now
            and endings.blocks(record, resources.WRITE, call.agent)
        ):
            if record["by"] != SHELL:
                return []
            running.append(record)
    return running


def _command_runs(tx: Transaction, blockers: Sequence[BlockerView], more: int = 0) -> Transient:
    """Other agents' git commands end within moments: the door waits for them, and nobody need claim by hand."""
    from dibs.operations.agents import names

    known = names.names_of(tx, [blocker["agent"] for blocker in blockers])
    return Transient(
        f"a git command of {', '.join(known.values())} runs in this repository. Try again in a few seconds.",
        blockers=blockers, more=more,
    )  # fmt: skip


def _undeployed(call: Call, command: str, target: str, against: str) -> Forbidden:
    """Refuse a deploy by its bare command: it would not hold the target, check for a stale copy, or verify."""
    now = f", and not now: {against}" if against else "."
    checked = call.policy.guards["deploy"].get("targets", {}).get(target, {}).get("verify")
    begin = f"dibs deploy {quoted(target)} {'' if checked else '--verify CMD '}--"
    first, *more = command.split() or [""]
    if more and more[-1] in {"-", "-f", "-k"}:  # what it reads comes from the rest of the line
        way = f"Put `{begin}` before `{command}`"
    else:
        way = f"Run it as `{begin} {'env ' if '=' in first else ''}{command}`"
    result = (
        ", and verifies the result"
        if checked
        else ", and lets CMD prove the result, such as a request to what was deployed (`--unverified` instead of "
        "`--verify CMD` goes without, and is recorded and reported)"
    )
    return Forbidden(
        f"`{command}` deploys to {target}{now} {way}: that holds deploy:{target}, fetches, refuses a stale copy"
        f"{result}.",
        command=command,
        target=target,
    )


def _unreadable(tx: Transaction, unresolved: Sequence[OpenTarget], others: Sequence[Claim], tree: str) -> Held | None:
    """The refusal of a command whose target may be another agent's file; None if it certainly is not."""
    matches: list[tuple[str, Claim, list[Resource]]] = []
    for doubt in unresolved:
        where, end = doubt.get("tree", tree), doubt.get("end", "")
        for record in others:
            if record["tree"] in {"", where}:
                hits = [
                    resource
                    for resource in record["resources"]
                    if _may_be(doubt, resource)
                    and _may_end(f"{where}/", resource, end)
                    and not any(_leaves_out(one, resource) for one in doubt.get("without", ()))
                ]
                matches += [(doubt["words"], record, hits)] if hits else []
    if not matches:
        return None
    words = list(dict.fromkeys([words for words, _, _ in matches]))
    blockers = {record["claim"]: views.blocker(tx, record, hits) for _, record, hits in matches}
    shown, more_claims = list(blockers.values())[:MAX_CLAIMS_SHOWN], max(0, len(blockers) - MAX_CLAIMS_SHOWN)
    wanted = _files_of(unresolved, matches)
    if wanted:
        waits = say_blocked({"blockers": shown, "more": more_claims, "wanted": wanted})
        message = f"`{_short(words[0])}` may write {', '.join(wanted[:MAX_FILES_NAMED])}: {waits}"
        return Held(message, blockers=shown, more=more_claims, wanted=wanted, words=words)
    held = {resources.show(hit): record for _, record, hits in matches for hit in hits}
    names = [f"{name} ({HeldFiles(record).who(tx)})" for name, record in list(held.items())[:MAX_FILES_NAMED]]
    more = f" and {len(held) - len(names)} more" if len(held) > len(names) else ""
    return Held(
        f"which file this command would write cannot be read from its words ({', '.join(map(_short, words[:3]))}), and "
        f"others hold files here: {'; '.join(names)}{more}. Write the names of your files out.",
        blockers=shown,
        more=more_claims,
        words=words,
    )


def _files_of(unresolved: Sequence[OpenTarget], matches: list[tuple[str, Claim, list[Resource]]]) -> list[str]:
    """The held files that the commands may write, if the words leave only that open, or no words could name others."""
    hits = [hit for _, _, resources_hit in matches for hit in resources_hit]
    whole = {doubt["words"] for doubt in unresolved if doubt.get("whole")}
    refused = {words for words, _, _ in matches} - whole
    listed = {doubt["words"] for doubt in unresolved if doubt.get("paths") and not doubt.get("below")}
    whole |= listed
    refused -= listed
    below = [one for doubt in unresolved if doubt["words"] in refused for one in doubt.get("below") or [("tree", "")]]
    if any(one[0] != "file" for one in below):
        return []
    wanted = [one for one in below if any(resources.overlap(one, hit) for hit in hits)]
    wanted += [hit for words, _, resources_hit in matches if words in whole for hit in resources_hit]
    return list(dict.fromkeys(resources.shown(wanted)))


def _short(words: str) -> str:
    """A command in the text of a refusal: the beginning of its first line."""
    first = words.strip().partition("\n")[0]
    return words if first == words and len(words) <= MAX_COMMAND_CHARS else f"{first[: MAX_COMMAND_CHARS - 1]}…"


def _may_be(doubt: OpenTarget, resource: Resource) -> bool:
    """Can a target below these folders, or one of these paths, be this resource? Without either it may be anything."""
    below, paths = doubt.get("below"), doubt.get("paths")
    if not concerns.is_file(resource):
        return False
    if paths and (resource[1] in paths if resource[0] == "file" else _is_in(paths, resource)):
        return True
    return not paths if below is None else any(resources.overlap(one, resource) for one in below)


def _is_in(paths: Sequence[str], resource: Resource) -> bool:
    return any(resources.overlap(["file", path], resource) for path in paths)


def _may_end(top: str, resource: Resource, end: str) -> bool:
    """Can a target whose path ends so be this resource, or a folder that it lies in?"""
    if not end or (resource[0] != "file" and not (resource[0] == "tree" and _has_suffix(resource[1]))):
        return True
    path, name = f"{top}{resource[1]}/".casefold(), f"{end}/".casefold()  # some filesystems ignore the case
    return name in path


def _leaves_out(without: str, resource: Resource) -> bool:
    """Is this resource, as a whole, what a command says that it leaves out?"""
    if resource[0] == "glob":
        return False
    if without.startswith("**/"):
        return without[3:] in resource[1].split("/")
    return f"{resource[1]}/".startswith(f"{without}/")


def _has_suffix(path: str) -> bool:
    """Is this the name of a file? A claim of a path that does not exist yet is one of a folder, too: `lib/new.py`.

    A folder with such a name (`next.js`) is taken for a file; what a formatter does there, the audit finds.
    """
    stem, _, suffix = path.rpartition("/")[2].rpartition(".")
    return bool(stem.strip(".")) and suffix.isalnum() and not suffix[0].isdigit()


def _refuse(tx: Transaction, call: Call, what: str, error: DibsError) -> DibsError:
    tx.append("command.refused", call.agent, what[:200], {"code": error.code})
    return error


_WORDS = Field("words", "raw", "the words that leave it open", required=True)
COMMAND = Operation(
    "command", _command, "May this command run now?", sent_by=ANYWHERE,
    fields=(
        Field("tree", "tree", "the top of the working tree", required=True),
        Field("sweeps", "json", "what git would do (shared_tree.py)", default=(), items=shared_tree.FACTS),
        Field("unresolved", "json", "targets that cannot be read from the words", default=(),
              items=(
                  _WORDS,
                  Field("tree", "tree", "the working tree; the command's own, if nothing is said"),
                  Field("below", "resources", "where it is; anywhere, if nothing is said"),
                  Field("end", "raw", "how its path ends; unknown, if nothing is said"),
                  Field("paths", "raws", "whole paths, of which it may be any"),
                  Field("whole", "flag", "it takes no names of files: it writes those that it finds"),
                  Field("without", "raws", "what it leaves out: paths, and `**/NAME` for a name in any folder"),
                  Field("exact", "flag", "it may write these very files"),
              )),
        Field("index", "resources", "what of git's it touches", default=()),
        Field("waits", "flag", "the caller asks again while another agent's git command runs", default=False),
        Field("acts", "words", "the acts that a role may forbid", default=(), choices=("commit", "deploy")),
        Field("deploys", "rows", "deploys by their bare command", default=(),
              items=(
                  Field("command", "raw", "the command", required=True),
                  Field("target", "text", "its target", required=True, longest=0),
                  Field("against", "text", "why it would be refused now; empty if not", required=True, longest=0),
              )),
        Field("client", "text", "the client", default=""),
        Field("owned", "rows", "unfinished work", default=(), items=(IN_TREE, PATH, OWNERS, READ)),
        Field("loose", "rows", "uncommitted changes of no agent that the caller has not read", default=(),
              items=(IN_TREE, PATH, Field("later", "flag", "made since the caller began", required=True))),
        Field("spoken", "rows", "the dibs commands that it would run", default=(),
              items=(
                  Field("command", "raw", "the command", required=True),
                  Field("agent", "raw", "as which agent; empty for the caller", required=True),
              )),
    ),
    errors=(Conflict, Forbidden, Held), takes=True,
)  # fmt: skip

INTERNAL = (COMMAND,)
