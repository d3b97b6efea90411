"""The secrets of credentials: made on the caller's machine, shown once. The store gets a hash (credentials.py).

A token is `dibs_ID_SECRET`: the credential's id, by which its record is found, and 256 random bits.
"""

from __future__ import annotations

import os
from hashlib import sha256

from dibs.errors import Unauthorized
from dibs.machine import atomic_write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Session
    from dibs.operations.agents.answers import TokenNewAnswer

MARK = "dibs"  # what a token begins with, so that scanners for leaked secrets find it
SECRET_BYTES = 32
MAX_TOKEN_CHARS = 200
FINGERPRINT_CHARS = 16
PARTS = 3
MAX_WAITING = 64  # secrets that wait for their answer in one session


def new(session: Session) -> str:
    """Make a secret; returns its hash. It waits in the session for the answer that names the credential."""
    secret = os.urandom(SECRET_BYTES).hex()
    digest = hash_of(secret)
    while len(session.secrets) >= MAX_WAITING:  # of calls that were refused
        session.secrets.pop(next(iter(session.secrets)), None)
    session.secrets[digest[:FINGERPRINT_CHARS]] = secret
    return digest


def shown(session: Session, result: TokenNewAnswer) -> TokenNewAnswer:
    """The answer with the token, if this session made its secret: not in the first answer again, to a retry."""
    made = result["credential"]
    secret = session.secrets.pop(made["fingerprint"], "")
    return {**result, "token": f"{MARK}_{made['id']}_{secret}"} if secret else result


def hash_of(secret: str) -> str:
    """What the store knows of a secret. It has 256 random bits: no slow hash would make it harder to guess."""
    return sha256(secret.encode()).hexdigest()


def opened(token: str) -> tuple[str, str]:
    """A presented token as the credential's id and the hash of its secret; `Unauthorized` if it is no token at all."""
    parts = token.split("_")
    plain = len(token) <= MAX_TOKEN_CHARS and token.isascii() and token.isprintable()
    if not plain or len(parts) != PARTS or parts[0] != MARK or not all(parts):
        raise Unauthorized(why="unknown")
    return parts[1], hash_of(parts[2])


def write(path: str, token: str) -> None:
    """Write a token to a file that its owner alone may read, in one step."""
    atomic_write.replace(path, f"{token}\n", mode=atomic_write.PRIVATE_MODE)
