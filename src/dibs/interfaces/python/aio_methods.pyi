"""The types of aio_methods.py. Made by `make generate` from the declarations in operations/."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from dibs.audit.answers import (
    BriefAnswer,
    CheckAnswer,
    DiffAnswer,
    DoctorAnswer,
    ExplainAnswer,
    LogAnswer,
    MapAnswer,
    RestoreAnswer,
    StatsAnswer,
    TimelineAnswer,
)
from dibs.audit.report_answers import RunReportAnswer
from dibs.interfaces.python.aio import ClaimRequest
from dibs.interfaces.python.binder import Path
from dibs.operations.agents.answers import (
    AgentsAnswer,
    BootAnswer,
    KillAnswer,
    LeaveAnswer,
    ReviveAnswer,
    RulesAnswer,
    ScratchAnswer,
    TokenListAnswer,
    TokenNewAnswer,
    TokenRevokeAnswer,
    WhoamiAnswer,
)
from dibs.operations.alerts.answers import AlertAckAnswer, AlertsAnswer
from dibs.operations.claims.answers import AskAnswer, ConfirmAnswer, ReleaseAnswer, RenewAnswer, StatusAnswer
from dibs.operations.documents.answers import StateDeleteAnswer, StateGetAnswer, StateListAnswer, StateSetAnswer
from dibs.operations.handovers.answers import HandoverAnswer
from dibs.operations.landing.answers import LandAnswer, LandingCancelAnswer, LandingsAnswer, RadarAnswer
from dibs.operations.messages.answers import (
    AckAnswer,
    EmitAnswer,
    InboxAnswer,
    SendAnswer,
    SubscribeAnswer,
    SubscriptionsAnswer,
)
from dibs.operations.oversight.answers import CheckSettleAnswer
from dibs.operations.runs.answers import (
    RunEndAnswer,
    RunGatesAnswer,
    RunJoinAnswer,
    RunListAnswer,
    RunNoteAnswer,
    RunPhaseAnswer,
    RunProgressAnswer,
    RunPurgeAnswer,
    RunShowAnswer,
    RunStartAnswer,
)
from dibs.operations.tasks.answers import (
    TaskAddAnswer,
    TaskAnswer,
    TaskAssignAnswer,
    TaskBidAnswer,
    TaskCancelAnswer,
    TaskDoneAnswer,
    TaskInputsAnswer,
    TaskListAnswer,
    TaskMoveAnswer,
    TaskProgressAnswer,
    TaskShowAnswer,
    TaskSplitAnswer,
    TaskTakeAnswer,
    TaskTurnAnswer,
)
from dibs.operations.upkeep.answers import PruneAnswer, SealAnswer, SweepAnswer
from dibs.operations.votes.answers import VoteCastAnswer, VoteListAnswer, VoteOpenAnswer, VoteShowAnswer
from dibs.verify.answers import VerifyAnswer

_Kind: TypeAlias = Literal[
    "hold",
    "wait",
    "deadlock",
    "expired",
    "dead",
    "asks",
    "silent",
    "unfinished",
    "violation",
    "bypass",
    "removed",
    "deploy_stale",
    "deploy_unverified",
    "poison",
    "breaker",
    "store",
    "rules",
]
_State: TypeAlias = Literal[
    "discovery",
    "scoped",
    "planned",
    "executing",
    "complete",
    "failed",
    "quarantined",
    "cancelled",
]
_Strategy: TypeAlias = Literal[
    "priority",
    "round_robin",
    "load_balanced",
    "capability",
    "sticky",
    "auction",
    "preemptive",
]

class AsyncMethods:
    """One coroutine for each declared operation; durations are seconds or texts such as "30m"."""

    async def ack(self, message: str, *, request_id: str | None = None) -> AckAnswer:
        """Acknowledge a message, so that it is not shown again.

        Answers: message; sometimes path.
        Raises: NotFound, Invalid, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def agents(
        self,
        *,
        all: bool | None = None,
        type: str | None = None,
        state: Literal["alive", "gone", "unknown", "left", "killed"] | None = None,
        usage: bool | None = None,
        limit: int | None = None,
        after: str | None = None,
        request_id: str | None = None,
    ) -> AgentsAnswer:
        """List agents and people, present ones first.

        Answers: agents[], more, cursor; sometimes usage.
        Raises: Invalid, Busy, Unavailable.
        """

    async def alerts(
        self,
        *,
        state: Literal["open", "acknowledged", "cleared", "all"] | None = None,
        kind: _Kind | None = None,
        limit: int | None = None,
        after: str | None = None,
        request_id: str | None = None,
    ) -> AlertsAnswer:
        """Show what needs attention: open and acknowledged alerts, with evidence and a remedy.

        Answers: alerts[], groups[], not_kept, deliveries, more, cursor; sometimes looker.
        Raises: Invalid, Busy, Unavailable.
        """

    async def alerts_ack(
        self,
        id: str | None = None,
        *,
        kind: _Kind | None = None,
        why: str | None = None,
        request_id: str | None = None,
    ) -> AlertAckAnswer:
        """Dismiss an alert, all of a kind, or all: you have taken note.

        Answers: alerts[].
        Raises: NotFound, Invalid, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def ask(self, resource: Path, text: str, *, request_id: str | None = None) -> AskAnswer:
        """Ask the holder of a resource to release it.

        Answers: message, to[], resource; sometimes to_name[].
        Raises: NotFound, Quota, Invalid, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def boot(
        self,
        *,
        task: str | None = None,
        type: str | None = None,
        can: Sequence[str] | None = None,
        pid: int | None = None,
        request_id: str | None = None,
    ) -> BootAnswer:
        """Register, compare your claims with the live record, and get a briefing.

        Answers: agent, incarnation, role, held[], held_count, lost[], lost_count, others, task, messages[],
        more_messages, rules, alerts[]; sometimes name, files[], rival.
        Raises: Invalid, Busy, Unavailable, Killed, Forbidden.
        """

    async def brief(self, agent: str) -> BriefAnswer:
        """Show an agent's work to the agent that continues it: task, changes, what it read, what was refused.

        Answers: agent, name, text.
        Raises: NotFound, Forbidden, Invalid, Busy, Unavailable, Killed, Fenced.
        """

    async def check(self, *, check: str | None = None, since: float | str | None = None) -> CheckAnswer:
        """Audit the workspace in 22 checks: ten points of coordination, guards, rules, violations, deploys, the log.

        Answers: workspace, checks[], failed[], wrong[], unknown[], severity, risk, result.
        Raises: Invalid, Busy, Unavailable.
        """

    async def check_settle(
        self,
        what: str,
        *,
        why: str | None = None,
        undo: bool | None = None,
        request_id: str | None = None,
    ) -> CheckSettleAnswer:
        """Accept a finding of `dibs check`, with a reason; --undo takes that back.

        Answers: settled, undone; sometimes why.
        Raises: Invalid, NotFound, Quota, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    def claim(
        self,
        *resources: Path,
        mode: Literal["write", "read", "watch"] | None = None,
        ttl: float | str | None = None,
        wait: float | str | None = None,
        reason: str | None = None,
        task: str | None = None,
        expect: float | str | None = None,
        units: int | None = None,
        keep: bool | None = None,
        auto_renew: bool = True,
        request_id: str | None = None,
    ) -> ClaimRequest:
        """Claim resources, all of them or none.

        In a `with` it is renewed until the end of the block, unless `auto_renew` is False.

        Answers: claim, token, resources[], mode, expires_at, agent; sometimes name, ends, units[], unit, used_up[],
        renewed, watch[], note.
        Raises: Held, Deadlock, Order, NotFound, Quota, Fenced, Killed, Invalid, Busy, Unavailable, Forbidden.
        """

    async def confirm(self, resource: Path, *, token: int, request_id: str | None = None) -> ConfirmAnswer:
        """Check whether a token is still live for a resource.

        Answers: holder, token, expires_at; sometimes holder_name.
        Raises: Fenced, Invalid, Busy, Unavailable.
        """

    async def diff(
        self,
        agent: str | None = None,
        *paths: Path,
        at: str | None = None,
        stat: bool | None = None,
    ) -> DiffAnswer:
        """Show the work of an agent that no commit has, as a diff.

        Answers: agent, name, files[]; sometimes at.
        Raises: NotFound, Forbidden, Invalid, Busy, Unavailable, Killed, Fenced.
        """

    async def doctor(self) -> DoctorAnswer:
        """Check that dibs works here: the workspace, its folder, the store and its record.

        Answers: checks[], failed[]; sometimes sections[], guarded[], todo[].
        Raises: Invalid, Busy, Unavailable.
        """

    async def emit(self, kind: str, data: Any | None = None, *, request_id: str | None = None) -> EmitAnswer:
        """Publish an event to its subscribers.

        Answers: event.
        Raises: Invalid, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def explain(
        self,
        what: str,
        *,
        since: str | None = None,
        limit: int | None = None,
        after: int | None = None,
        archives: bool | None = None,
    ) -> ExplainAnswer:
        """Tell the story of a path, task, agent, claim or event in plain sentences, newest last.

        Answers: what, others[], steps[], now[], earlier, unread, missing[], more, cursor.
        Raises: NotFound, Invalid, Busy, Unavailable.
        """

    async def handover(
        self,
        agent: str,
        *,
        to: str | None = None,
        cancel: bool | None = None,
        note: str | None = None,
        dry_run: bool | None = None,
        request_id: str | None = None,
    ) -> HandoverAnswer:
        """Hand an agent's work over to another agent: claims, task, unfinished files and a briefing.

        Answers: handover, agent, state, own, to, claims[], tasks[], files[], left[], waiting[]; sometimes name,
        to_name, until, cancelled.
        Raises: NotFound, Invalid, Forbidden, Killed, Held, Deadlock, Quota, Busy, Unavailable, Fenced.
        """

    async def inbox(
        self,
        *,
        wait: float | str | None = None,
        new: bool | None = None,
        thread: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        request_id: str | None = None,
    ) -> InboxAnswer:
        """Show the messages you have not acknowledged.

        Answers: messages[], more, cursor.
        Raises: Invalid, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def kill(self, agent: str, *, why: str, request_id: str | None = None) -> KillAnswer:
        """Stop an agent, or all of them: void its claims, refuse its calls until `dibs revive`.

        Answers: agents[], killed, voided[], count, running[]; sometimes ended.
        Raises: NotFound, Invalid, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def land(
        self,
        branch: str | None = None,
        *,
        commit: str | None = None,
        onto: str | None = None,
        priority: int | None = None,
        again: bool | None = None,
        request_id: str | None = None,
    ) -> LandAnswer:
        """Queue a branch to land: it is merged, checked, and becomes a part of main, one at a time.

        Answers: landing; sometimes place, repeated, lands.
        Raises: Quota, Invalid, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def landings(
        self,
        *,
        onto: str | None = None,
        queue: bool | None = None,
        limit: int | None = None,
        after: str | None = None,
        request_id: str | None = None,
    ) -> LandingsAnswer:
        """List the landing queue, then what was decided lately.

        Answers: onto, queued, lander, last, stopped, landings[], more, cursor.
        Raises: Invalid, Busy, Unavailable.
        """

    async def landings_cancel(
        self,
        landing: str,
        *,
        onto: str | None = None,
        request_id: str | None = None,
    ) -> LandingCancelAnswer:
        """Take a branch out of the landing queue; the branch is untouched.

        Answers: landing.
        Raises: NotFound, Conflict, Invalid, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def leave(self, *, request_id: str | None = None) -> LeaveAnswer:
        """Sign off: your claims are released; a subagent's claims pass to its parent.

        Answers: released[], passed[], count, to; sometimes to_name.
        Raises: Invalid, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def log(
        self,
        *path: Path,
        limit: int | None = None,
        agent: str | None = None,
        kind: str | None = None,
        since: str | None = None,
        text: str | None = None,
        after: int | None = None,
        before: int | None = None,
        sentences: bool | None = None,
    ) -> LogAnswer:
        """Show the events of the log: what happened, when, and by which agent.

        Answers: events[], earlier, first, missing[], lost, more, cursor.
        Raises: Invalid, Busy, Unavailable.
        """

    async def map(
        self,
        *path: Path,
        since: str | None = None,
        depth: int | None = None,
        rows: int | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> MapAnswer:
        """Show which agent reads and writes which resource.

        Answers: resources[], agents[], totals, roles[], depth, more, cursor.
        Raises: Invalid, Busy, Unavailable.
        """

    async def prune(self, *, keep: float | str | None = None, request_id: str | None = None) -> PruneAnswer:
        """Move the events before the newest seal older than --keep into archives, which `verify` and `log` read.

        Answers: through, archives[].
        Raises: NotFound, Invalid, Conflict, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def radar(
        self,
        *,
        limit: int | None = None,
        after: str | None = None,
        request_id: str | None = None,
    ) -> RadarAnswer:
        """Show which worktrees and branches would conflict if they were merged now.

        Answers: conflicts[], looked_at, looked, more, cursor; sometimes pairs, merged, seconds.
        Raises: Invalid, Busy, Unavailable.
        """

    async def release(
        self,
        *resources: Path,
        all: bool | None = None,
        commit: str | None = None,
        to: str | None = None,
        token: int | None = None,
        force: bool | None = None,
        why: str | None = None,
        request_id: str | None = None,
    ) -> ReleaseAnswer:
        """Release claims, or hand them over to another agent.

        Answers: released[]; sometimes count, to, to_name, claims[], holders[], kept[].
        Raises: Fenced, NotFound, Held, Deadlock, Quota, Killed, Forbidden, Invalid, Busy, Unavailable.
        """

    async def renew(self, *resources: Path, request_id: str | None = None) -> RenewAnswer:
        """Extend the deadline of your claims.

        Answers: renewed[].
        Raises: Fenced, NotFound, Killed, Invalid, Busy, Unavailable, Forbidden.
        """

    async def restore(
        self,
        what: str | None = None,
        *,
        list: bool | None = None,
        tree: str | None = None,
        at: str | None = None,
        to: str | None = None,
        overwrite: bool | None = None,
        merge: bool | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> RestoreAnswer:
        """Restore a file that was overwritten while another agent held it; without a file, list what is kept.

        Answers: ; sometimes kept[], restored, id, undo, token, holders[], tree, to, at, head, branch, checkout,
        files[], count, missing[], notes[], more, cursor.
        Raises: Conflict, Held, Invalid, NotFound, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def revive(self, agent: str, *, request_id: str | None = None) -> ReviveAnswer:
        """Let a killed agent act again, or all that `dibs kill all` stopped.

        Answers: agents[], revived.
        Raises: NotFound, Invalid, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def rules(self, *, ack: bool | None = None, request_id: str | None = None) -> RulesAnswer:
        """Show the rules of the workspace, and whether you were shown this version.

        Answers: digest, acknowledged, current; sometimes text.
        Raises: Invalid, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def run_end(
        self,
        run: str | None = None,
        *,
        archive: bool | None = None,
        keep: float | str | None = None,
        force: bool | None = None,
        strict: bool | None = None,
        request_id: str | None = None,
    ) -> RunEndAnswer:
        """End a run.

        Answers: run, existing, cancelled[], released[]; sometimes count, gates[], failed, archive.
        Raises: NotFound, Conflict, Invalid, Killed, Busy, Unavailable, Fenced, Forbidden.
        """

    async def run_error(self, text: str, *, run: str | None = None, request_id: str | None = None) -> RunNoteAnswer:
        """Record an error in a run.

        Answers: run, noted.
        Raises: NotFound, Conflict, Invalid, Killed, Quota, Busy, Unavailable, Fenced, Forbidden.
        """

    async def run_gates(
        self,
        run: str | None = None,
        *,
        at: Literal["setup", "during", "cleanup"] | None = None,
        within: float | str | None = None,
        request_id: str | None = None,
    ) -> RunGatesAnswer:
        """Check a run against its quality gates; exit code 1 if one fails.

        Answers: run, gates[], failed.
        Raises: NotFound, Invalid, Busy, Unavailable.
        """

    async def run_handled(
        self,
        number: int,
        how: str,
        *,
        run: str | None = None,
        request_id: str | None = None,
    ) -> RunNoteAnswer:
        """Mark an error of a run as handled.

        Answers: run, noted.
        Raises: NotFound, Conflict, Invalid, Killed, Busy, Unavailable, Fenced, Forbidden.
        """

    async def run_join(
        self,
        *,
        run: str | None = None,
        type: str | None = None,
        can: Sequence[str] | None = None,
        request_id: str | None = None,
    ) -> RunJoinAnswer:
        """Take part in a run.

        Answers: run, agent.
        Raises: NotFound, Conflict, Invalid, Killed, Quota, Busy, Unavailable, Fenced, Forbidden.
        """

    async def run_list(
        self,
        *,
        limit: int | None = None,
        after: str | None = None,
        request_id: str | None = None,
    ) -> RunListAnswer:
        """List the runs.

        Answers: runs[], more, cursor.
        Raises: Invalid, Busy, Unavailable.
        """

    async def run_phase(
        self,
        phase: Literal["discovery", "analysis", "execution", "validation"],
        *,
        run: str | None = None,
        request_id: str | None = None,
    ) -> RunPhaseAnswer:
        """Set the phase of a run.

        Answers: run, before.
        Raises: NotFound, Conflict, Invalid, Killed, Busy, Unavailable, Fenced, Forbidden.
        """

    async def run_progress(self, run: str | None = None, *, request_id: str | None = None) -> RunProgressAnswer:
        """Show how far a run is.

        Answers: run.
        Raises: NotFound, Invalid, Busy, Unavailable.
        """

    async def run_purge(self, run: str, *, request_id: str | None = None) -> RunPurgeAnswer:
        """Drop an ended run and its tasks now; its archive stays.

        Answers: run, more.
        Raises: NotFound, Conflict, Invalid, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def run_report(
        self,
        run: str | None = None,
        *,
        format: Literal["json", "md", "html"] | None = None,
        out: str | None = None,
    ) -> RunReportAnswer:
        """Report what a run did: results, metrics, contention, which agent did what and when.

        Answers: run; sometimes summary, performance, by_agent, by_task, errors[], warnings[], phases[], contention[],
        timeline, gates[], notes[], format, text, file.
        Raises: NotFound, Invalid, Busy, Unavailable.
        """

    async def run_show(self, run: str | None = None, *, request_id: str | None = None) -> RunShowAnswer:
        """Show one run with its agents.

        Answers: run.
        Raises: NotFound, Invalid, Busy, Unavailable.
        """

    async def run_start(
        self,
        name: str,
        *,
        id: str | None = None,
        phase: Literal["discovery", "analysis", "execution", "validation"] | None = None,
        spec: str | None = None,
        tasks: Any | None = None,
        request_id: str | None = None,
    ) -> RunStartAnswer:
        """Start a run: one job of the whole fleet.

        Answers: run; sometimes tasks[].
        Raises: Invalid, Conflict, NotFound, Quota, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def run_warn(self, text: str, *, run: str | None = None, request_id: str | None = None) -> RunNoteAnswer:
        """Record a warning in a run.

        Answers: run, noted.
        Raises: NotFound, Conflict, Invalid, Killed, Quota, Busy, Unavailable, Fenced, Forbidden.
        """

    async def scratch(self, *, request_id: str | None = None) -> ScratchAnswer:
        """Print the path of your own scratch folder; creates it if needed.

        Answers: agent, scratch; sometimes name.
        Raises: Invalid, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def seal(self, *, request_id: str | None = None) -> SealAnswer:
        """Write a seal (the live claims at this point), up to which the log can be pruned.

        Answers: seq, link, claims.
        Raises: Invalid, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def send(
        self,
        to: str,
        text: str,
        *,
        type: str | None = None,
        ack: bool | None = None,
        later: bool | None = None,
        payload: Any | None = None,
        reply: str | None = None,
        expires: float | str | None = None,
        request_id: str | None = None,
    ) -> SendAnswer:
        """Send a message to an agent, to all agents of a type, or to all agents.

        Answers: message, to[], count, thread; sometimes to_name[], full[], later.
        Raises: NotFound, Forbidden, Quota, Invalid, Busy, Unavailable, Killed, Fenced.
        """

    async def state_delete(
        self,
        key: str,
        *,
        version: int | None = None,
        token: int | None = None,
        request_id: str | None = None,
    ) -> StateDeleteAnswer:
        """Delete a document; needs the version you read, or a token.

        Answers: key, version.
        Raises: NotFound, Conflict, Held, Fenced, Invalid, Busy, Unavailable, Killed, Forbidden.
        """

    async def state_get(self, key: str, *, request_id: str | None = None) -> StateGetAnswer:
        """Read a document and its version.

        Answers: key, value, version, by, at; sometimes by_name.
        Raises: NotFound, Invalid, Busy, Unavailable.
        """

    async def state_list(
        self,
        prefix: str | None = None,
        *,
        after: str | None = None,
        limit: int | None = None,
        request_id: str | None = None,
    ) -> StateListAnswer:
        """List the documents, without their values.

        Answers: documents[], more, cursor.
        Raises: Invalid, Busy, Unavailable.
        """

    async def state_set(
        self,
        key: str,
        value: Any,
        *,
        version: int | None = None,
        token: int | None = None,
        request_id: str | None = None,
    ) -> StateSetAnswer:
        """Write a document; an existing one needs the version you read, or a token.

        Answers: key, value, version.
        Raises: Conflict, Held, Fenced, Quota, Invalid, Busy, Unavailable, Killed, Forbidden.
        """

    async def stats(
        self,
        *,
        since: str | None = None,
        buckets: int | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> StatsAnswer:
        """Show metrics over time: work, success, waiting, refusals, contention, lost time, by agent and kind of task.

        Answers: from, to, seconds, events, totals, refusals, by_agent[], by_kind[], contention[], buckets[],
        bucket_seconds, more, cursor.
        Raises: Invalid, Busy, Unavailable.
        """

    async def status(
        self,
        *resources: Path,
        limit: int | None = None,
        after: str | None = None,
        request_id: str | None = None,
    ) -> StatusAnswer:
        """Show which agent holds what, and which agents wait.

        Answers: claims[], waiting[], agents[], tasks[], alerts[], alert_groups[], alert_count, more, cursor;
        sometimes pools[], undelivered[], warnings[].
        Raises: Invalid, Busy, Unavailable.
        """

    async def subscribe(self, what: str, *, off: bool | None = None, request_id: str | None = None) -> SubscribeAnswer:
        """Get events of a kind, or changes to a document, in your inbox.

        Answers: subscription, cursor; sometimes off.
        Raises: Invalid, NotFound, Quota, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def subscriptions(
        self,
        *,
        limit: int | None = None,
        after: str | None = None,
        request_id: str | None = None,
    ) -> SubscriptionsAnswer:
        """List your subscriptions.

        Answers: subscriptions[], through, more, cursor.
        Raises: Invalid, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def sweep(self, *, request_id: str | None = None) -> SweepAnswer:
        """End claims that expired or whose process died, raise alerts, and drop old events as the config says.

        Answers: swept, more; sometimes prune.
        Raises: Invalid, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def task_add(
        self,
        title: str,
        *,
        id: str | None = None,
        priority: int | None = None,
        needs: Sequence[str] | None = None,
        after: Sequence[str] | None = None,
        parent: str | None = None,
        for_: str | None = None,
        key: str | None = None,
        expect: float | str | None = None,
        state: Literal["discovery", "scoped", "planned"] | None = None,
        payload: Any | None = None,
        attempts: int | None = None,
        strategy: _Strategy | None = None,
        sticky: str | None = None,
        bid_window: float | str | None = None,
        race: str | None = None,
        require: Sequence[str] | None = None,
        run: str | None = None,
        request_id: str | None = None,
    ) -> TaskAddAnswer:
        """Add a task.

        Answers: task, existing.
        Raises: Invalid, NotFound, Conflict, Quota, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def task_assign(
        self,
        id: str,
        *,
        strategy: _Strategy | None = None,
        to: str | None = None,
        request_id: str | None = None,
    ) -> TaskAssignAnswer:
        """Assign a task to an agent, named or chosen by a strategy; the agent is notified.

        Answers: task, agent, queued; sometimes name, why.
        Raises: NotFound, Conflict, Forbidden, Invalid, Killed, Busy, Unavailable, Fenced.
        """

    async def task_bid(self, id: str, amount: int, *, request_id: str | None = None) -> TaskBidAnswer:
        """Bid for a task that is auctioned; the highest bid gets it.

        Answers: task, amount, bids, bids_until.
        Raises: NotFound, Conflict, Forbidden, Quota, Invalid, Killed, Busy, Unavailable, Fenced.
        """

    async def task_cancel(self, id: str, *, why: str | None = None, request_id: str | None = None) -> TaskCancelAnswer:
        """Cancel a task and its children.

        Answers: task, cancelled[], count.
        Raises: NotFound, Conflict, Invalid, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def task_claim(
        self,
        id: str,
        *,
        wait: float | str | None = None,
        request_id: str | None = None,
    ) -> TaskTakeAnswer:
        """Take a specific task.

        Answers: task, token, claim, expires_at; sometimes renewed.
        Raises: NotFound, Held, Conflict, Deadlock, Forbidden, Quota, Fenced, Killed, Invalid, Busy, Unavailable.
        """

    async def task_done(
        self,
        id: str,
        *,
        token: int | None = None,
        result: Any | None = None,
        next: bool | None = None,
        run: str | None = None,
        not_done: str | None = None,
        verify: str | None = None,
        request_id: str | None = None,
    ) -> TaskDoneAnswer:
        """Finish a task with its result.

        Answers: task; sometimes next, verified, unfinished[], check.
        Raises: NotFound, Fenced, Conflict, Invalid, Killed, Unverified, Busy, Unavailable, Forbidden.
        """

    async def task_edit(
        self,
        id: str,
        *,
        title: str | None = None,
        priority: int | None = None,
        request_id: str | None = None,
    ) -> TaskAnswer:
        """Change a task's title or priority.

        Answers: task.
        Raises: NotFound, Conflict, Invalid, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def task_fail(
        self,
        id: str,
        *,
        token: int | None = None,
        class_: Literal["transient", "permanent"],
        why: str,
        request_id: str | None = None,
    ) -> TaskAnswer:
        """Report that a task failed.

        Answers: task.
        Raises: NotFound, Fenced, Conflict, Invalid, Killed, Busy, Unavailable, Forbidden.
        """

    async def task_inputs(self, id: str, *, request_id: str | None = None) -> TaskInputsAnswer:
        """Show the results that a task builds on: of the tasks before it, and of its children.

        Answers: inputs.
        Raises: NotFound, Invalid, Busy, Unavailable.
        """

    async def task_list(
        self,
        *,
        state: _State | None = None,
        run: str | None = None,
        parent: str | None = None,
        agent: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        request_id: str | None = None,
    ) -> TaskListAnswer:
        """List tasks.

        Answers: tasks[], more, cursor.
        Raises: Invalid, NotFound, Busy, Unavailable.
        """

    async def task_move(self, id: str, state: _State, *, request_id: str | None = None) -> TaskMoveAnswer:
        """Move a task by hand to another state.

        Answers: task; sometimes cancelled[], count.
        Raises: NotFound, Conflict, Invalid, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def task_next(
        self,
        *,
        wait: float | str | None = None,
        run: str | None = None,
        request_id: str | None = None,
    ) -> TaskTakeAnswer:
        """Take the next task that is ready for you.

        Answers: task, token, claim, expires_at; sometimes renewed.
        Raises: NotFound, Quota, Forbidden, Fenced, Killed, Invalid, Busy, Unavailable.
        """

    async def task_note(self, id: str, text: str, *, request_id: str | None = None) -> TaskAnswer:
        """Leave a note on a task: where the work stands.

        Answers: task.
        Raises: NotFound, Invalid, Fenced, Killed, Busy, Unavailable, Forbidden.
        """

    async def task_progress(
        self,
        id: str,
        percent: int,
        *,
        token: int | None = None,
        note: str | None = None,
        request_id: str | None = None,
    ) -> TaskProgressAnswer:
        """Report progress on a task.

        Answers: task, expires_at.
        Raises: NotFound, Fenced, Conflict, Invalid, Killed, Busy, Unavailable, Forbidden.
        """

    async def task_release(
        self,
        id: str,
        *,
        token: int | None = None,
        note: str | None = None,
        request_id: str | None = None,
    ) -> TaskAnswer:
        """Return a task to the queue, unfinished.

        Answers: task.
        Raises: NotFound, Fenced, Conflict, Invalid, Killed, Busy, Unavailable, Forbidden.
        """

    async def task_show(self, id: str, *, request_id: str | None = None) -> TaskShowAnswer:
        """Show one task with all that belongs to it.

        Answers: task.
        Raises: NotFound, Invalid, Busy, Unavailable.
        """

    async def task_split(
        self,
        id: str,
        *,
        token: int | None = None,
        children: Any,
        request_id: str | None = None,
    ) -> TaskSplitAnswer:
        """Split a task: add its children; the task waits for them.

        Answers: task, tasks[].
        Raises: NotFound, Fenced, Conflict, Invalid, Killed, Busy, Unavailable, Forbidden.
        """

    async def task_turn(
        self,
        *,
        done: Any | None = None,
        take: int | None = None,
        run: str | None = None,
        request_id: str | None = None,
    ) -> TaskTurnAnswer:
        """Finish tasks and take the next ones, in one transaction.

        Answers: done[], refused[], tasks[].
        Raises: Invalid, Fenced, Killed, Busy, Unavailable, Forbidden.
        """

    async def timeline(self, what: str, *, limit: int | None = None) -> TimelineAnswer:
        """List the states of a file, an agent's files or a working tree: when, who and why.

        Answers: kind, name, states[], more.
        Raises: NotFound, Invalid, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def token_list(
        self,
        *,
        all: bool | None = None,
        limit: int | None = None,
        after: str | None = None,
        request_id: str | None = None,
    ) -> TokenListAnswer:
        """List the credentials; never their secrets.

        Answers: credentials[], more, cursor.
        Raises: Forbidden, Invalid, Busy, Unavailable.
        """

    async def token_new(
        self,
        *,
        agent: str | None = None,
        person: str | None = None,
        machine: str | None = None,
        role: str | None = None,
        expires: float | str | None = None,
        note: str | None = None,
        request_id: str | None = None,
    ) -> TokenNewAnswer:
        """Make a credential for a server's caller; its secret is shown once.

        Answers: credential; sometimes token, file.
        Raises: Invalid, Quota, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def token_revoke(self, id: str, *, request_id: str | None = None) -> TokenRevokeAnswer:
        """Revoke a credential: its next call is refused.

        Answers: credential.
        Raises: NotFound, Invalid, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def verify(self, *, head: str | None = None, live: bool | None = None) -> VerifyAnswer:
        """Check the log with independent code: one holder, rising tokens, legal steps, nothing edited or cut.

        Answers: found, events, granted, live, token, first, last, link, archives, elsewhere, settled, findings[].
        Raises: Invalid, Busy, Unavailable.
        """

    async def vote_cast(self, id: str, option: str, *, request_id: str | None = None) -> VoteCastAnswer:
        """Cast your ballot; it cannot be changed.

        Answers: vote, option; sometimes repeated.
        Raises: NotFound, Forbidden, Conflict, Invalid, Busy, Unavailable, Killed, Fenced.
        """

    async def vote_list(
        self,
        *,
        open: bool | None = None,
        limit: int | None = None,
        after: str | None = None,
        request_id: str | None = None,
    ) -> VoteListAnswer:
        """List votes, open ones first.

        Answers: votes[], more, cursor.
        Raises: Invalid, Busy, Unavailable.
        """

    async def vote_open(
        self,
        title: str,
        *,
        electorate: Sequence[str],
        options: Sequence[str] | None = None,
        deadline: float | str | None = None,
        id: str | None = None,
        key: str | None = None,
        request_id: str | None = None,
    ) -> VoteOpenAnswer:
        """Open a vote among named agents; more than half of them decide.

        Answers: vote; sometimes repeated.
        Raises: Conflict, Quota, Invalid, Busy, Unavailable, Killed, Fenced, Forbidden.
        """

    async def vote_show(self, id: str, *, request_id: str | None = None) -> VoteShowAnswer:
        """Show a vote: its outcome, its tally, and which agents have not voted.

        Answers: vote.
        Raises: NotFound, Invalid, Busy, Unavailable.
        """

    async def whoami(self, *, request_id: str | None = None) -> WhoamiAnswer:
        """Show which agent dibs takes you for, and why.

        Answers: agent, name, role, type, incarnation, known, held, by.
        Raises: Invalid, Busy, Unavailable.
        """
