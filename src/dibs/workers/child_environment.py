"""What a command under a claim finds in its environment: the claim's token, and the credential of a far store.

Both are called DIBS_TOKEN where people set them: a credential for `DIBS_STORE=https://…`, the number of a claim in a
command that dibs runs. There the credential moves to DIBS_CREDENTIAL, where stores/far/connection.py looks for it,
so that what such a command asks of dibs is answered.
"""

from __future__ import annotations

import os

TOKEN, CREDENTIAL = "DIBS_TOKEN", "DIBS_CREDENTIAL"


def with_token(token: int) -> dict[str, str]:
    """The variables for a command under a claim with this token."""
    credential = os.environ.get(TOKEN, "").strip()
    kept = {CREDENTIAL: credential} if credential and not credential.isdecimal() else {}
    return {**kept, TOKEN: str(token)}
