"""JSON that a caller wrote, on a command line or in a file: `{"a": 1}`, or `@result.json`.

A file that is no JSON, or too long for the store, is kept as a file: it is copied to `.dibs/local/results/` under the
digest of its content, and the value says where. What is copied for a call that is then refused stays there, named by
nothing; `dibs run end` and the sweep take such files away.
"""

from __future__ import annotations

import json
import os

from dibs.errors import Invalid, Unavailable
from dibs.machine import atomic_write
from dibs.operations.core.declare import MAX_JSON_CHARS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.client.session import Session

MAX_FILE_BYTES = 64 * 1024 * 1024  # bytes of a file that is kept next to the store
FOLDER = "results"  # below .dibs/local/


def read(session: Session, name: str, text: str) -> Any:
    """The value of `text`, or of the file that it names behind an `@`."""
    if not text.startswith("@"):
        return parse(text, name)
    path = os.path.join(session.cwd, text[1:])
    content = _content(path, name)
    if len(content) <= MAX_JSON_CHARS:
        try:
            return parse(content.decode(), name)
        except (Invalid, UnicodeDecodeError):
            pass
    return keep(session, os.path.basename(path), content)


def parse(text: str, name: str) -> Any:
    """The value of a JSON text; says where it is wrong."""
    try:
        return json.loads(text, parse_constant=no_constant, object_pairs_hook=no_repeated_names)
    except RecursionError:
        raise Invalid(f"{name}: nested too deeply", field=name) from None
    except ValueError as error:
        hint = f'; a text is written "{text}"' if text.isalnum() else ""
        raise Invalid(f"{name}: not JSON ({error}){hint}", field=name) from None


def no_constant(word: str) -> Any:
    """For a JSON decoder: NaN and Infinity are not JSON."""
    message = f"{word} is not JSON"
    raise ValueError(message)


def no_repeated_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For a JSON decoder: a name occurs once in an object; otherwise readers would disagree about its value."""
    found = dict(pairs)
    if len(found) != len(pairs):
        message = "a name occurs twice in one object"
        raise ValueError(message)
    return found


def _content(path: str, name: str) -> bytes:
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise Invalid(f"{name}: {path} cannot be read: {error.strerror}", field=name, path=path) from None
    if len(content) > MAX_FILE_BYTES:
        raise Invalid(f"{name}: {path} is larger than {MAX_FILE_BYTES // 1024 // 1024} MiB", field=name, path=path)
    return content


def keep(session: Session, name: str, content: bytes) -> dict[str, Any]:
    """Keep content as a file next to the store, named by its digest."""
    from hashlib import sha256

    digest = sha256(content).hexdigest()
    folder = os.path.join(session.place.local, FOLDER)
    kept = os.path.join(folder, digest)
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        if os.path.exists(kept):
            os.utime(kept)  # young again, so that it is not taken away as a leftover while it is named anew
        else:
            atomic_write.replace(kept, content, sync=True)
    except OSError as error:
        raise Unavailable(f"{kept} cannot be written: {error.strerror}. Nothing was changed.", path=kept) from None
    return {"file": name, "size": len(content), "sha256": digest, "kept": f"{FOLDER}/{digest}"}
