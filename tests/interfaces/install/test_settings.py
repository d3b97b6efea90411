"""Merging into people's JSON: whatever it looks like, what is theirs stays byte for byte, and ours can be taken out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.errors import Invalid
from dibs.interfaces import agents
from dibs.interfaces.agents import BEFORE
from dibs.interfaces.agents.claude.install import ALLOWED
from dibs.interfaces.install import jsonc, pointers, settings
from dibs.workspace.known_clients import NAMES

PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=6)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
GROUPS = st.fixed_dictionaries(
    {"hooks": st.lists(st.fixed_dictionaries({"type": st.just("command"), "command": st.text(max_size=5)}), max_size=2)}
)
DOCUMENTS = st.fixed_dictionaries(
    {"model": VALUES},
    optional={
        "hooks": st.dictionaries(
            st.sampled_from(["PreToolUse", "Stop", "Mine"]), st.lists(GROUPS, min_size=1, max_size=2), min_size=1
        ),
        "env": VALUES,
        "permissions": st.fixed_dictionaries(
            {"deny": st.lists(st.text(max_size=5), max_size=2)},
            optional={"allow": st.lists(st.text(max_size=5), min_size=1, max_size=2)},
        ),
    },
)
GAPS = st.sampled_from(["", " ", "\n", "\n  ", "\n\t\t", " /* note */ ", "\n  // note, with ] and }\n", "\r\n"])


def rendered(value: Any, draw: Any) -> str:
    """A value as some person or editor may have written it."""
    if not isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    start, end = ("{", "}") if isinstance(value, dict) else ("[", "]")
    parts = []
    for item in value.items() if isinstance(value, dict) else value:
        key, inner = item if isinstance(value, dict) else ("", item)
        name = f"{json.dumps(key)}{draw(GAPS)}:{draw(GAPS)}" if isinstance(value, dict) else ""
        parts.append(f"{draw(GAPS)}{name}{rendered(inner, draw)}{draw(GAPS)}")
    trailing = "," + draw(GAPS) if parts and draw(st.booleans()) else ""
    return start + (",".join(parts) or draw(GAPS)) + trailing + end


@st.composite
def texts(draw: Any) -> tuple[Any, str]:
    value = draw(DOCUMENTS)
    return value, draw(GAPS) + rendered(value, draw) + draw(GAPS)


@given(texts())
def test_a_text_is_read_as_what_it_says(made: tuple[Any, str]) -> None:
    value, text = made
    assert jsonc.read(text).plain() == value


@given(texts(), st.sampled_from(["claude", "codex", "gemini"]))
def test_ours_go_in_once_and_come_out_again_and_what_is_theirs_stays(made: tuple[Any, str], client: str) -> None:
    value, text = made
    merged = settings.merged(text, client, "x")
    assert settings.merged(merged, client, "x") == merged
    now: Any = jsonc.read(merged).plain()
    for event, entry in agents.of(client).entries().items():
        assert now["hooks"][event] == [*value.get("hooks", {}).get(event, []), entry]
    if client == "claude":
        allowed = value.get("permissions", {}).get("allow", [])
        assert now["permissions"]["allow"] == [*allowed, *ALLOWED]
        assert now["permissions"].get("deny") == value.get("permissions", {}).get("deny")
    assert settings.cleaned(merged, client, "x") == text
    assert settings.commands(merged, "x").keys() == agents.of(client).entries().keys()


@given(st.text(alphabet='{}[]":,/*\\ \n0a', max_size=30))
def test_what_is_not_json_is_told_and_never_a_surprise(text: str) -> None:
    try:
        node = jsonc.read(text)
    except ValueError as error:
        assert str(error).startswith("line ")
    else:
        node.plain()


def test_a_thousand_brackets_are_told_too() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        jsonc.read("[" * 100_000)


@pytest.mark.parametrize("text", [
    '{\n  "a": 1\n}\n',
    '{\n\t"a": [\n\t\t1,\n\t\t2\n\t]\n}',
    '{\r\n    "a": 1\r\n}\r\n',
    '{"a": 1}',
    '{\n  "a": 1, // one\n  /* end */\n}\n',
    '\ufeff{\n  "hooks": {\n    "Stop": [\n      {"hooks": []},\n    ],\n  },\n}\n',
    "{\n  // nothing yet\n}\n",
    '{"hooks": {"Stop": [{"hooks": []}, ], }, }',
])  # fmt: skip
def test_in_the_usual_styles_not_one_byte_differs_afterwards(text: str) -> None:
    merged = settings.merged(text, "claude", "x")
    assert settings.cleaned(merged, "claude", "x") == text


def test_new_entries_are_written_in_the_style_of_the_file() -> None:
    merged = settings.merged('{\r\n\t"a": 1\r\n}\r\n', "claude", "x")
    assert '\r\n\t"hooks": {\r\n\t\t"SessionStart": [\r\n\t\t\t{\r\n' in merged
    assert "\n" not in merged.replace("\r\n", "")
    assert "  " not in merged


def test_an_entry_of_an_older_dibs_is_replaced_and_one_among_others_is_left() -> None:
    old = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x/.dibs/hook claude --old"}]}]}}
    merged = json.loads(settings.merged(json.dumps(old), "claude", "x"))
    assert merged["hooks"]["Stop"] == [agents.of("claude").entries()["Stop"]]
    old["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "theirs"})
    merged = json.loads(settings.merged(json.dumps(old), "claude", "x"))
    assert merged["hooks"]["Stop"] == old["hooks"]["Stop"]
    left = settings.cleaned(json.dumps(merged), "claude", "x")
    assert left is not None
    assert json.loads(left) == {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "theirs"}]}]}}


def test_a_file_that_held_only_ours_is_not_left_behind_empty() -> None:
    for client in NAMES:
        assert settings.cleaned(settings.merged(None, client, "x"), client, "x") is None
        assert settings.cleaned(settings.merged(" \n", client, "x"), client, "x") is None
    assert settings.cleaned("{}", "claude", "x") == "{}", "but one in which we never were is not ours to remove"


def test_settings_of_the_wrong_shape_are_refused() -> None:
    for text in (
        "[]",
        "5",
        '{"hooks": []}',
        '{"hooks": {"Stop": 1}}',
        '{"a": }',
        '{"a": 1} x',
        "{'a': 1}",
        '{"a" 1}',
        "{/*",
    ):
        with pytest.raises(Invalid):
            settings.merged(text, "claude", "x")


@given(st.text(alphabet="ab\n<!-", max_size=20), st.sampled_from(["\n", "\r\n"]))
def test_a_page_gets_the_block_once_and_is_the_same_without_it(text: str, end: str) -> None:
    page = text.replace("\n", end)
    merged = pointers.merged(page)
    assert pointers.merged(merged) == merged
    assert merged.startswith(page)
    left = pointers.cleaned(merged)
    assert (left or "").rstrip("\r\n") == (page if page.strip() else "").rstrip("\r\n")


def test_permissions_of_another_shape_and_leave_that_somebody_gave_themselves_stay() -> None:
    for text in ('{"permissions": 5}', '{"permissions": {"allow": "all"}}'):
        assert settings.cleaned(settings.merged(text, "claude", "x"), "claude", "x") == text
    own = '{"permissions": {"allow": ["Bash(dibs claim:*)"]}}'
    assert json.loads(settings.merged(own, "claude", "x"))["permissions"]["allow"] == [
        "Bash(dibs claim:*)", *[one for one in ALLOWED if one != "Bash(dibs claim:*)"]
    ]  # fmt: skip
    assert settings.cleaned(own, "claude", "x") == own, "where we never were, it is not ours"


@pytest.mark.parametrize(("client", "timeout", "status"), [
    ("claude", 900, "dibs: in line"), ("codex", 900, "dibs: in line"), ("gemini", 900_000, None),
    ("copilot", None, None), ("cursor", 20, None),
])  # fmt: skip
def test_a_guard_that_waits_has_the_time_where_that_was_seen_to_work(
    client: str, timeout: int | None, status: str | None
) -> None:
    adapter = agents.of(client)
    theirs = '{\n  "a": 1\n}\n'
    short = settings.merged(theirs, client, "x")
    long = settings.merged(short, client, "x", hold=900)
    assert settings.merged(long, client, "x", hold=900) == long
    assert settings.merged(long, client, "x") == short, "also back, when the config waits no longer"
    assert settings.cleaned(long, client, "x") == theirs
    event = adapter.event_of(BEFORE)
    [entry] = json.loads(long)["hooks"][event]
    [handler] = entry.get("hooks", [entry])
    assert (handler.get("timeout"), handler.get("statusMessage")) == (timeout, status)
    others = {name: value for name, value in json.loads(long)["hooks"].items() if name != event}
    assert others == {name: value for name, value in json.loads(short)["hooks"].items() if name != event}
