"""`dibs deploy TARGET -- CMD`: deploy/course.py at the command line. A refusal, or whatever goes wrong, ends with 1."""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.deploy.course import Deploy, DeployRequest
from dibs.errors import YES, Invalid
from dibs.interfaces.cli import parse
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import open_session
from dibs.operations.core.declare import Field

FIELDS = (
    Field("target", "text", "what is deployed: any name; `[deploy.targets.NAME]` in the config describes it",
          positional=True, required=True, metavar="TARGET"),
    Field("verify", "text", "a shell command that proves that the deploy works, as its users see it", default="",
          metavar="CMD"),
    Field("unverified", "flag", "deploy without a verification; recorded in the log", default=False),
    Field("verify_timeout", "duration", "how long to retry the verification (default: the config's, 2m)",
          metavar="D"),
    Field("dirty", "flag", "deploy although there are uncommitted changes", default=False),
    Field("unsynced", "flag", "deploy although HEAD cannot be compared with the remote; recorded", default=False),
    Field("rollback", "flag", "deploy older content on purpose; recorded in the log", default=False),
)  # fmt: skip


def run(words: parse.Words) -> int:
    """One deploy."""
    if not words.rest:
        raise Invalid("deploy: name the command after `--`", usage=f"usage: {parse.usage('deploy', FIELDS, 'CMD…')}")
    session = open_session(words)
    request = DeployRequest(words.fields["target"], words.rest, words.fields, quiet=bool(words.json))
    shown = Deploy(session, session.identify(words.common.get("as")), request).run()
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": True, **shown}) + "\n")
    else:
        how = "verified" if shown["verified"] else "not verified, as requested"
        how += ", as a rollback" if shown.get("rollback") else ""
        how += ", without a comparison with the remote" if shown.get("unsynced") else ""
        sys.stdout.write(f"deployed {shown['target']} ({shown['commit'][:12] or 'no commit'}), {how}\n")
    return YES


COMMAND = Command(
    "deploy",
    "Deploy: claim the target, refuse if behind, run the command after `--`, verify, record.",
    run=run,
    group="guards",
    fields=FIELDS,
    rest="CMD…",
    examples=(
        ("dibs deploy prod --verify 'curl -fsS https://example.org/health' -- make release", "deploy and verify"),
        ("dibs deploy prod --unverified -- make release", "no verification; the log says so"),
    ),
    notes=(
        (
            "Placeholders (TODO, TBD, coming soon; `[deploy] placeholders`) are not shipped: dibs searches the files "
            "of the target's `ships`, or else the lines added since its last good deploy."
        ),
        "The command's environment has DIBS_DEPLOY (the target), DIBS_TOKEN and DIBS_COMMIT.",
        (
            "HEAD must contain the remote's default branch (or the target's `branch`), whatever is checked out, and "
            "the target's last good deploy. If they cannot be compared (no remote, no answer, a shallow clone), the "
            "deploy is refused with exit code 2."
        ),
    ),
    json="target, commit, behind, token, verified, and unsynced or rollback if that was given",
    refusals=("held", "behind", "conflict", "forbidden", "unverified", "failed", "fenced", "unavailable"),
)
