"""The keys of each answer, for help and docstrings. Made by `make generate` from answers, whose import is dear."""

KEYS = {
    "AckAnswer": "message; sometimes path",
    "AgentsAnswer": "agents[], more, cursor; sometimes usage",
    "AlertAckAnswer": "alerts[]",
    "AlertsAnswer": "alerts[], groups[], not_kept, deliveries, more, cursor; sometimes looker",
    "AskAnswer": "message, to[], resource; sometimes to_name[]",
    "BootAnswer": (
        "agent, incarnation, role, held[], held_count, lost[], lost_count, others, task, messages[], more_messages, "
        "rules, alerts[]; sometimes name, files[], rival"
    ),
    "BriefAnswer": "agent, name, text",
    "CheckAnswer": "workspace, checks[], failed[], wrong[], unknown[], severity, risk, result",
    "CheckSettleAnswer": "settled, undone; sometimes why",
    "ClaimAnswer": (
        "claim, token, resources[], mode, expires_at, agent; sometimes name, ends, units[], unit, used_up[], renewed, "
        "watch[], note"
    ),
    "ConfirmAnswer": "holder, token, expires_at; sometimes holder_name",
    "DiffAnswer": "agent, name, files[]; sometimes at",
    "DoctorAnswer": "checks[], failed[]; sometimes sections[], guarded[], todo[]",
    "EmitAnswer": "event",
    "ExplainAnswer": "what, others[], steps[], now[], earlier, unread, missing[], more, cursor",
    "HandoverAnswer": (
        "handover, agent, state, own, to, claims[], tasks[], files[], left[], waiting[]; sometimes name, to_name, "
        "until, cancelled"
    ),
    "InboxAnswer": "messages[], more, cursor",
    "KillAnswer": "agents[], killed, voided[], count, running[]; sometimes ended",
    "LandAnswer": "landing; sometimes place, repeated, lands",
    "LandingCancelAnswer": "landing",
    "LandingsAnswer": "onto, queued, lander, last, stopped, landings[], more, cursor",
    "LeaveAnswer": "released[], passed[], count, to; sometimes to_name",
    "LogAnswer": "events[], earlier, first, missing[], lost, more, cursor",
    "MapAnswer": "resources[], agents[], totals, roles[], depth, more, cursor",
    "PruneAnswer": "through, archives[]",
    "RadarAnswer": "conflicts[], looked_at, looked, more, cursor; sometimes pairs, merged, seconds",
    "ReleaseAnswer": "released[]; sometimes count, to, to_name, claims[], holders[], kept[]",
    "RenewAnswer": "renewed[]",
    "RestoreAnswer": (
        "; sometimes kept[], restored, id, undo, token, holders[], tree, to, at, head, branch, checkout, files[], "
        "count, missing[], notes[], more, cursor"
    ),
    "ReviveAnswer": "agents[], revived",
    "RulesAnswer": "digest, acknowledged, current; sometimes text",
    "RunEndAnswer": "run, existing, cancelled[], released[]; sometimes count, gates[], failed, archive",
    "RunGatesAnswer": "run, gates[], failed",
    "RunJoinAnswer": "run, agent",
    "RunListAnswer": "runs[], more, cursor",
    "RunNoteAnswer": "run, noted",
    "RunPhaseAnswer": "run, before",
    "RunProgressAnswer": "run",
    "RunPurgeAnswer": "run, more",
    "RunReportAnswer": (
        "run; sometimes summary, performance, by_agent, by_task, errors[], warnings[], phases[], contention[], "
        "timeline, gates[], notes[], format, text, file"
    ),
    "RunShowAnswer": "run",
    "RunStartAnswer": "run; sometimes tasks[]",
    "ScratchAnswer": "agent, scratch; sometimes name",
    "SealAnswer": "seq, link, claims",
    "SendAnswer": "message, to[], count, thread; sometimes to_name[], full[], later",
    "StateDeleteAnswer": "key, version",
    "StateGetAnswer": "key, value, version, by, at; sometimes by_name",
    "StateListAnswer": "documents[], more, cursor",
    "StateSetAnswer": "key, value, version",
    "StatsAnswer": (
        "from, to, seconds, events, totals, refusals, by_agent[], by_kind[], contention[], buckets[], bucket_seconds, "
        "more, cursor"
    ),
    "StatusAnswer": (
        "claims[], waiting[], agents[], tasks[], alerts[], alert_groups[], alert_count, more, cursor; sometimes "
        "pools[], undelivered[], warnings[]"
    ),
    "SubscribeAnswer": "subscription, cursor; sometimes off",
    "SubscriptionsAnswer": "subscriptions[], through, more, cursor",
    "SweepAnswer": "swept, more; sometimes prune",
    "TaskAddAnswer": "task, existing",
    "TaskAnswer": "task",
    "TaskAssignAnswer": "task, agent, queued; sometimes name, why",
    "TaskBidAnswer": "task, amount, bids, bids_until",
    "TaskCancelAnswer": "task, cancelled[], count",
    "TaskDoneAnswer": "task; sometimes next, verified, unfinished[], check",
    "TaskInputsAnswer": "inputs",
    "TaskListAnswer": "tasks[], more, cursor",
    "TaskMoveAnswer": "task; sometimes cancelled[], count",
    "TaskProgressAnswer": "task, expires_at",
    "TaskShowAnswer": "task",
    "TaskSplitAnswer": "task, tasks[]",
    "TaskTakeAnswer": "task, token, claim, expires_at; sometimes renewed",
    "TaskTurnAnswer": "done[], refused[], tasks[]",
    "TimelineAnswer": "kind, name, states[], more",
    "TokenListAnswer": "credentials[], more, cursor",
    "TokenNewAnswer": "credential; sometimes token, file",
    "TokenRevokeAnswer": "credential",
    "VerifyAnswer": "found, events, granted, live, token, first, last, link, archives, elsewhere, settled, findings[]",
    "VoteCastAnswer": "vote, option; sometimes repeated",
    "VoteListAnswer": "votes[], more, cursor",
    "VoteOpenAnswer": "vote; sometimes repeated",
    "VoteShowAnswer": "vote",
    "WhoamiAnswer": "agent, name, role, type, incarnation, known, held, by",
}
