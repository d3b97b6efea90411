"""The first `dibs land` of a workspace without a check, by a person at a terminal: asks once which command has to pass.

The answer is written into the config of the main working tree, for all who land from then on; no agent is asked.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib

from dibs.client.landing_settings import settings_of
from dibs.machine import atomic_write
from dibs.workspace import config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.client.session import Session
    from dibs.operations.core.call import Call
    from dibs.operations.core.policy import LandSettings

QUESTION = "which command has to pass before a branch lands, such as `make test`? (empty: land nothing) "
HEAD = re.compile(r"^\[land\][^\n]*\n", re.MULTILINE)


def asked(session: Session, call: Call, settings: LandSettings, say: Callable[[str], None]) -> LandSettings:
    """The settings, with the check that the person names, if there was none."""
    path = f"{session.place.root}/.dibs/{config.NAME}"
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        is_set = "check" in tomllib.loads(text).get("land", {})
    except (OSError, ValueError):  # whoever reads the config says what is wrong with it
        return settings
    if settings["check"] or is_set or call.client is not None:
        return settings
    sys.stderr.write(f"dibs: nothing lands without a check: {QUESTION}")
    sys.stderr.flush()
    command = sys.stdin.readline().strip()
    if not command:
        return settings
    atomic_write.replace(path, with_check(text, command))
    session.reread()
    say(f"wrote `check = {json.dumps(command)}` below [land] of {path}; commit it")
    return settings_of(session)


def with_check(text: str, command: str) -> str:
    """A config with this check in it."""
    line = f"check = {json.dumps(command)}\n"
    head = HEAD.search(text)
    text = text if head or text.endswith("\n") else f"{text}\n"
    written = f"{text[: head.end()]}{line}{text[head.end() :]}" if head else f"{text}\n[land]\n{line}"
    assert tomllib.loads(written)["land"]["check"] == command, "a text of JSON is one of TOML"
    return written
