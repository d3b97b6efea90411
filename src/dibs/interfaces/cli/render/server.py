"""Answers of the `token` commands as text for people."""

from __future__ import annotations

from dibs.errors import named
from dibs.interfaces.cli.render import continued, times
from dibs.interfaces.cli.terminal import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.render import Items
    from dibs.operations.agents.answers import CredentialView, TokenListAnswer, TokenNewAnswer, TokenRevokeAnswer


def _for(made: CredentialView) -> str:
    role = f" as {made['role']}" if made["role"] else ""
    return f"{made['kind']} {named(made, 'who')}{role}"


def _new(result: TokenNewAnswer) -> Items:
    made = result["credential"]
    lines = [f"credential {made['id']} for {_for(made)}, valid until {made['until'][:10]}"]
    if "file" in result:
        return [*lines, f"wrote it to {result['file']}"]
    if "token" in result:
        return [*lines, "it is shown this once:", result["token"]]
    return [*lines, "its token was in the first answer; it cannot be shown again"]


def _list(result: TokenListAnswer) -> Items:
    rows = [
        (one["id"], _for(one), one["state"], named(one, "by"), f"{times.ago(one['since'])} ago", one["until"][:10],
         one["note"])
        for one in result["credentials"]
    ]  # fmt: skip
    head = ("ID", "FOR", "STATE", "BY", "MADE", "UNTIL", "NOTE")
    return [Table(head, rows) if rows else "no credentials", *continued(result)]


def _revoke(result: TokenRevokeAnswer) -> Items:
    made = result["credential"]
    return [f"revoked credential {made['id']} for {_for(made)}"]


RENDERERS = {"token new": _new, "token list": _list, "token revoke": _revoke}
