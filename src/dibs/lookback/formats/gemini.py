"""Gemini CLI's sessions: `~/.gemini/tmp/PROJECT/chats/session-TIME-ID.jsonl`; before 0.39 one JSON file, `….json`.

Written for 0.8 to 0.61. The whole file is an object with `messages`; in the lines the first has the session, a later
one is a message, which is written again whenever it changes, or `{"$set": …}`, or `{"$rewindTo": ID}`. A message of
type `gemini` has `toolCalls` with `args`, `status` and `timestamp`. The folder is not in it: PROJECT is a digest of it,
or has a file `.project_root`; otherwise it is found by the digest among the folders of the paths that the calls name.
"""

from __future__ import annotations

import hashlib
import os

from dibs.lookback.formats.session import Session, list_of, ms_of, table_of, text_of, texts_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dibs.lookback.moments import Moment

NAME = "Gemini CLI"
FAILED = frozenset(("error", "cancelled"))
ENDED = frozenset(("success", *FAILED))
KINDS = frozenset(("user", "gemini", "info", "error", "warning"))
MAX_ROOT_BYTES = 4_096


def is_first(line: dict[str, object]) -> bool:
    """Is this the whole of such a file, or a line of it?"""
    return ("sessionId" in line and ("projectHash" in line or "startTime" in line)) or "$set" in line


def folders(home: str, environ: Mapping[str, str]) -> list[str]:
    """Where Gemini CLI keeps them."""
    return [f"{environ.get('GEMINI_CLI_HOME') or home}/.gemini/tmp"]


class Reader:
    """Reads one file."""

    def __init__(self, path: str) -> None:
        self.version = ""
        self._session = Session("gemini")
        self._session.session = path.rpartition("/")[2].partition(".")[0]
        self._session.cwd = _root_of(path)
        self._digest = ""
        self._told: set[str] = set()  # calls that were told, each once

    def read(self, line: dict[str, object]) -> Iterable[Moment] | None:
        """The moments of a line, or of the whole file."""
        session = self._session
        if "$rewindTo" in line:
            return ()
        if "$set" in line:
            line = table_of(line["$set"])
        elif text_of(line.get("type")):
            return self._message(line)
        elif "sessionId" not in line:
            return None
        session.session = text_of(line.get("sessionId")) or session.session
        session.at = ms_of(line.get("startTime")) or session.at
        self._digest = text_of(line.get("projectHash")) or self._digest
        roots = [text_of(one) for one in list_of(line.get("directories"))]
        session.cwd = session.cwd or (roots[0] if roots else "")
        found: list[Moment] = []
        for message in list_of(line.get("messages")):
            found += self._message(table_of(message)) or ()
        return found

    def _message(self, message: dict[str, object]) -> list[Moment] | None:
        kind, session = text_of(message.get("type")), self._session
        if kind not in KINDS:
            return None
        session.at = ms_of(message.get("timestamp")) or session.at
        own = text_of(message.get("id"))
        if kind == "user":
            key = f"prompt {own}"
            if own and key in self._told:
                return []
            self._told.add(key)
            text = texts_in(message.get("content"))
            return session.prompt(text) if text and not text.startswith("<") else []
        found: list[Moment] = []
        for call in [table_of(one) for one in list_of(message.get("toolCalls"))]:
            name = text_of(call.get("id")) or f"{own} {len(found)}"
            status = text_of(call.get("status"))
            if name in self._told or (status and status not in ENDED):
                continue
            self._told.add(name)
            given = table_of(call.get("args"))
            if not session.cwd:
                session.cwd = self._found(given)
            session.at = ms_of(call.get("timestamp")) or session.at
            made = session.call(text_of(call.get("name")), given, name)
            if made is not None:
                found += [*made, *session.result(name, done=status not in FAILED)]
        return found

    def _found(self, given: dict[str, object]) -> str:
        """The project's folder, if a path of a call lies in it: its digest says so."""
        paths = [value for value in given.values() if isinstance(value, str) and value.startswith("/")]
        for path in paths if self._digest else ():
            above = path[:MAX_ROOT_BYTES]
            while above != "/":
                if hashlib.sha256(above.encode("utf-8", "replace")).hexdigest() == self._digest:
                    return above
                above = os.path.dirname(above)
        return ""

    def end(self) -> Iterable[Moment]:
        """Nothing waits: each call comes with its outcome."""
        return self._session.end()


def _root_of(path: str) -> str:
    """The project's folder, where a newer version has noted it next to the chats."""
    folder = os.path.dirname(os.path.dirname(path))
    try:
        with open(f"{folder}/.project_root", encoding="utf-8", errors="replace") as file:
            return file.read(MAX_ROOT_BYTES).strip()
    except (OSError, ValueError):
        return ""
