"""What a client can read without a tool: status, rules, memory files, log, tasks, run reports, the resource map.

Each is the answer of a declared operation or query, or a file that the config names. `dibs://map` puts two of them
together: who holds and awaits what (`status`), and who writes and reads it (`map`).
"""

from __future__ import annotations

import os

from dibs import jsontext
from dibs.client import memory_files
from dibs.errors import Invalid, NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from dibs.audit.answers import MapAnswer, MapUseView
    from dibs.interfaces.mcp.callers import Who
    from dibs.interfaces.mcp.calls import Asked
    from dibs.operations.claims.answers import StatusAnswer

    class MappedResource(TypedDict):
        """One resource of `dibs://map`."""

        holders: list[dict[str, str]]  # what people are told of each of their claims
        waiting: list[dict[str, str]]
        writers: list[dict[str, str]]  # `agent` and `at`, the latest first
        readers: list[dict[str, str]]


SCHEME = "dibs://"
STATUS, RULES, INBOX, MAP, LOG = (f"{SCHEME}{name}" for name in ("status", "rules", "inbox", "map", "log"))
JSON, MARKDOWN = "application/json", "text/markdown"
LOG_PAGE = 100  # events; `dibs://log/{from}` has the rest
MAP_RESOURCES = 500  # on the map; `dibs map` pages through all
MAP_WRITERS = 5  # agents that it names for one resource
MAX_URI = 1_000
FILES = ("state", "decisions", "lessons")  # `[files]` of the config

# uri → name, description, type
LISTED = {
    STATUS: ("status", "Which agent holds what, who waits, which tasks are at work", JSON),
    RULES: ("rules", "The rules of this workspace", MARKDOWN),
    INBOX: ("inbox", "Your messages that are not acknowledged", JSON),
    MAP: ("resource map", "Each resource with its holders, waiters and latest writers", JSON),
    LOG: ("log", f"The last {LOG_PAGE} events: what happened, when, by which agent", JSON),
}
# Those that are the answer of one operation, with its fields.
ANSWERS: dict[str, tuple[str, dict[str, object]]] = {
    STATUS: ("status", {}), INBOX: ("inbox", {}), LOG: ("log", {"limit": LOG_PAGE}),
}  # fmt: skip
TEMPLATES = {
    f"{LOG}/{{from}}": ("log from", f"{LOG_PAGE} events after the event of this number, oldest first", JSON),
    f"{SCHEME}task/{{id}}": ("task", "One task with all that belongs to it", JSON),
    f"{SCHEME}brief/{{agent}}": ("briefing", "An agent's work, for the agent that continues it", MARKDOWN),
    f"{SCHEME}run/{{id}}/report": ("run report", "What a run did: results, metrics, contention", MARKDOWN),
    f"{SCHEME}files/{{name}}": ("memory file", f"A memory file of the workspace: {', '.join(FILES)}", MARKDOWN),
}


def task_uri(task: str) -> str:
    """The resource of a task."""
    return f"{SCHEME}task/{task}"


def listed(asked: Asked) -> list[dict[str, str]]:
    """The resources, with the memory files that are there."""
    found = [_entry("uri", uri, *about) for uri, about in LISTED.items()]
    session = asked.host.session()
    for name, path in session.config.policy.guards["files"].items():
        if os.path.isfile(os.path.join(session.place.top, path)):
            found.append(_entry("uri", f"{SCHEME}files/{name}", f"{name} file", f"{path} of this repository", MARKDOWN))
    return found


def templates() -> list[dict[str, str]]:
    """The templates of resources."""
    return [_entry("uriTemplate", uri, *about) for uri, about in TEMPLATES.items()]


def _entry(key: str, uri: str, name: str, description: str, kind: str) -> dict[str, str]:
    return {key: uri, "name": name, "description": description, "mimeType": kind}


def is_known(uri: str) -> bool:
    """Could this be a resource of ours?"""
    return uri in LISTED or (len(uri) <= MAX_URI and _parts(uri)[0] in {"log", "task", "brief", "run", "files"})


def read(asked: Asked, who: Who, uri: str) -> tuple[str, str]:
    """The type and the text of a resource. NotFound if there is none."""
    if uri == RULES:
        return MARKDOWN, _answer(asked, who, "rules", {}).get("text", "")
    if uri == MAP:
        return JSON, jsontext.encode(_map(asked, who))
    if uri in ANSWERS:
        return JSON, jsontext.encode(_answer(asked, who, *ANSWERS[uri]))
    kind, *rest = _parts(uri)
    match kind, rest:
        case "log", [after] if after.isascii() and after.isdigit():
            return JSON, jsontext.encode(_answer(asked, who, "log", {"after": int(after[:18]), "limit": LOG_PAGE}))
        case "task", [task] if task:
            return JSON, jsontext.encode(_answer(asked, who, "task show", {"id": task}))
        case "brief", [agent] if agent:
            return MARKDOWN, _answer(asked, who, "brief", {"agent": agent})["text"]
        case "run", [run, "report"] if run:
            return MARKDOWN, _answer(asked, who, "run report", {"run": run, "format": "md"})["text"]
        case "files", [name]:
            return MARKDOWN, _file(asked, name)
    raise NotFound(f"there is no resource {uri[:MAX_URI]}", what=uri[:MAX_URI])


def _parts(uri: str) -> list[str]:
    from urllib.parse import unquote

    if not uri.startswith(SCHEME) or len(uri) > MAX_URI:
        return [""]
    return [unquote(part) for part in uri.removeprefix(SCHEME).split("/")]


def _answer(asked: Asked, who: Who, name: str, given: dict[str, object]) -> Any:
    return asked.requests.answer(who.identity, name, given, agent=who.agent)


def _file(asked: Asked, name: str) -> str:
    """A memory file as it is now."""
    session = asked.host.session()
    path = session.config.policy.guards["files"].get(name, "")
    text = memory_files.content(os.path.join(session.place.top, path)) if path else None
    if text is None:
        raise NotFound(
            f"there is no memory file {name[:40]!r}: [files] in .dibs/config.toml names them", what=name[:40]
        )
    return text


def _map(asked: Asked, who: Who) -> dict[str, object]:
    """Resource → who holds it, who waits for it, who wrote and read it, the latest first."""
    status: StatusAnswer = _answer(asked, who, "status", {})
    resources: dict[str, MappedResource] = {}

    def at(resource: str) -> MappedResource:
        return resources.setdefault(resource, {"holders": [], "waiting": [], "writers": [], "readers": []})

    for claim in status["claims"]:
        shown = {key: claim[key] for key in ("agent", "name", "mode", "since", "left", "reason") if claim.get(key)}
        for resource in claim["resources"]:
            at(resource)["holders"].append(shown)
    for waiter in status["waiting"]:
        shown = {key: waiter[key] for key in ("agent", "name", "since") if key in waiter}
        for resource in waiter["resources"]:
            at(resource)["waiting"].append(shown)
    learned: MapAnswer = _answer(asked, who, "map", {"limit": MAP_RESOURCES})
    for used in learned["resources"]:
        uses = sorted(used["agents"], key=lambda use: (use["at"], use["event"]), reverse=True)
        at(used["resource"])["writers"] = _agents([use for use in uses if use["writes"]])
        at(used["resource"])["readers"] = _agents([use for use in uses if use["reads"]])
    more = status["more"] or learned["more"]
    return {"ok": True, "resources": dict(sorted(resources.items())), "totals": learned["totals"], "more": more}


def _agents(uses: list[MapUseView]) -> list[dict[str, str]]:
    return [{"agent": use["name"], "at": use["at"]} for use in uses[:MAP_WRITERS]]


def check(uri: object) -> str:
    """A URI from outside, if it is one of ours."""
    text = str(uri)
    if not is_known(text):
        raise Invalid(f"there is no resource {text[:MAX_URI]}", field="uri")
    return text
