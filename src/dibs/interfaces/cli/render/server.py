"""Answers of the `token` commands as text for people."""

from __future__ import annotations

from dibs.errors import named
from dibs.interfaces.cli.render import continued, times
from dibs.interfaces.cli.terminal import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.render import Items
    from dibs.operations.agents.answers import CredentialView, TokenListAnswer, TokenNewAnswer, TokenRevokeAnswer


def _for(credential: CredentialView) -> str:
    role = f" as {credential['role']}" if credential["role"] else ""
    return f"{credential['kind']} {named(credential, 'who')}{role}"


def _new(result: TokenNewAnswer) -> Items:
    credential = result["credential"]
    lines = [f"credential {credential['id']} for {_for(credential)}, valid until {credential['until'][:10]}"]
    if "file" in result:
        return [*lines, f"wrote it to {result['file']}"]
    if "token" in result:
        return [*lines, "it is shown this once:", result["token"]]
    return [*lines, "its token was in the first answer; it cannot be shown again"]


def _list(result: TokenListAnswer) -> Items:
    rows = [
        (entry["id"], _for(entry), entry["state"], named(entry, "by"), f"{times.ago(entry['since'])} ago",
         entry["until"][:10], entry["note"])
        for entry in result["credentials"]
    ]  # fmt: skip
    head = ("ID", "FOR", "STATE", "BY", "MADE", "UNTIL", "NOTE")
    return [Table(head, rows) if rows else "no credentials", *continued(result)]


def _revoke(result: TokenRevokeAnswer) -> Items:
    credential = result["credential"]
    return [f"revoked credential {credential['id']} for {_for(credential)}"]


RENDERERS = {"token new": _new, "token list": _list, "token revoke": _revoke}
