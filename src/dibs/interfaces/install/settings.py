"""How dibs' entries (a client's file in interfaces/agents has them) are merged into that client's settings.

Pure functions from text to text; `plan.py` reads and writes the files. The launcher in its command marks an entry as
ours. Other entries, comments and order stay as they are.
"""

from __future__ import annotations

from dibs.errors import Invalid
from dibs.interfaces import agents
from dibs.interfaces.agents import BEFORE
from dibs.interfaces.agents.adapter import HOLD_TIMEOUT_S, HOOK_TIMEOUT_S
from dibs.interfaces.install import jsonc
from dibs.interfaces.install.hook_command import MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.interfaces.agents.adapter import HookEntry
    from dibs.operations.core.policy import Policy

STATUS = "dibs: in line"  # what a person sees while a guard waits

# --- merge and removal


def hold_of(policy: Policy) -> int:
    """For how many seconds a client has to let a guard run, because the config lets it wait in line; 0: it does not."""
    wait = max([policy.guards["wait"], *[policy.pools["named"][use["pool"]]["wait"] for use in policy.pools["use"]]])
    return max(HOLD_TIMEOUT_S, HOOK_TIMEOUT_S + -(-wait // 1000)) if wait else 0


def merged(text: str | None, client: str, path: str, *, mcp: bool = False, hold: int = 0) -> str:
    """A client's settings with our entries; `text` is None if the file is missing; `mcp`: with our MCP tools.

    `hold`: for so many seconds it lets a guard run, if that was seen to work there.
    """
    adapter = agents.of(client)
    entries = adapter.entries()
    a_second = adapter.hook.HOLDS.get(adapter.settings_file)
    if hold and a_second:
        for handler in entries[adapter.event_of(BEFORE)]["hooks"]:
            handler["timeout"] = hold * a_second
            handler.update({"statusMessage": STATUS} if adapter.shows_status else {})
    if text is None or not text.strip("\ufeff" + jsonc.SPACE):
        hooks = {event: [entry] for event, entry in entries.items()}
        return adapter.merged(jsonc.dump({**adapter.settings_start, "hooks": hooks}), mcp=mcp)
    document = jsonc.document(text, path)
    if document.get("hooks") is None:
        text = jsonc.insert(text, document, {event: [entry] for event, entry in entries.items()}, "hooks")
    else:
        for event, entry in entries.items():
            text = _one(text, event, entry, path)
    return adapter.merged(text, mcp=mcp)


def _one(text: str, event: str, entry: HookEntry, path: str) -> str:
    """The text with one event's entry as it should be."""
    hooks = _hooks(text, path)
    known = hooks.get(event)
    if known is None:
        return jsonc.insert(text, hooks, [entry], event)
    if known.kind != "array":
        raise Invalid(f"{path}: hooks.{event} is not a list; nothing was changed", path=path)
    ours = [group for group in known.items if _is_ours(group)]
    if not ours:
        return jsonc.insert(text, known, entry)
    if ours[0].plain() == entry:
        return text
    if len(_handlers(ours[0])) == 1:  # an older dibs wrote it in another form
        return jsonc.replace(text, ours[0], entry)
    return text  # a person put it among their own


def cleaned(text: str, client: str, path: str) -> str | None:
    """A client's settings without our entries; None if nothing else is left."""
    before, adapter = text, agents.of(client)
    if next(_ours(text, path), None) is not None:
        text = adapter.cleaned(text)  # the last insertion is removed first
    while True:
        found = next(_ours(text, path), None)
        if found is None:
            break
        text = _without(text, found)
    left = jsonc.document(text, path).members()
    for name in adapter.settings_start:
        left.pop(name, None)
    commented = "//" in text or "/*" in text
    return None if text != before and left in ({}, {"hooks": {}}) and not commented else text


def commands(text: str, path: str) -> dict[str, str]:
    """Our command for each event, exactly as in the settings. For doctor."""
    found: dict[str, str] = {}
    for _, event, group, place in _ours(text, path):
        found.setdefault(event, _command(_handlers(group)[place]))
    return found


def _ours(text: str, path: str) -> Iterator[tuple[jsonc.Node, str, jsonc.Node, int]]:
    """Our handlers in a text: all hooks, the event, its group (or the handler itself), the place in the group."""
    hooks = jsonc.document(text, path).get("hooks")
    if hooks is None or hooks.kind != "object":
        return
    for (event, _), groups in zip(hooks.keys, hooks.items, strict=True):
        for group in groups.items if groups.kind == "array" else ():
            for place, handler in enumerate(_handlers(group)):
                if _runs_us(handler):
                    yield hooks, event, group, place


def _without(text: str, found: tuple[jsonc.Node, str, jsonc.Node, int]) -> str:
    """The text without one handler, and without the lists that become empty."""
    hooks, event, group, place = found
    inner = group.get("hooks") if group.kind == "object" else None
    if inner is not None and len(inner.items) > 1:
        return jsonc.remove(text, inner, place)
    groups = hooks.get(event)
    assert groups is not None
    if len(groups.items) > 1:
        return jsonc.remove(text, groups, next(i for i, one in enumerate(groups.items) if one is group))
    place = next(i for i, item in enumerate(hooks.items) if item is groups)
    if len(hooks.items) > 1:
        return jsonc.remove(text, hooks, place)
    document = jsonc.read(text)
    place = [name for name, _ in document.keys].index("hooks")
    return jsonc.remove(text, document, place)


def _handlers(group: jsonc.Node) -> list[jsonc.Node]:
    """The handlers of a group; Copilot has them without groups."""
    inner = group.get("hooks") if group.kind == "object" else None
    if inner is not None:
        return inner.items if inner.kind == "array" else []
    return [group]


def _is_ours(group: jsonc.Node) -> bool:
    return any(_runs_us(handler) for handler in _handlers(group))


def _runs_us(handler: jsonc.Node) -> bool:
    return bool(_command(handler))


def _command(handler: jsonc.Node) -> str:
    """Our command in a handler, under its client's key; "" if the handler is not ours."""
    values = [item.value for item in handler.items] if handler.kind == "object" else []
    return next((value for value in values if isinstance(value, str) and MARK in value), "")


def _hooks(text: str, path: str) -> jsonc.Node:
    hooks = jsonc.document(text, path).get("hooks")
    if hooks is None or hooks.kind != "object":
        raise Invalid(f"{path}: hooks is not an object; nothing was changed", path=path)
    return hooks
