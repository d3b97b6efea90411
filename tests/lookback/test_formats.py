"""What each client writes, in the forms of its versions, becomes the same moments; and no line ends the look."""

from __future__ import annotations

import gzip
import hashlib
import json
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.lookback import formats, session_files
from dibs.lookback.formats import claude, codex, copilot, gemini, recorded
from dibs.lookback.moments import ids_in
from tests.lookback.recorded import HOME, Claude, Codex, Copilot, Gemini, at

if TYPE_CHECKING:
    from dibs.lookback.formats import Format
    from dibs.lookback.moments import Moment

SESSION = {"sessionId": "ann", "cwd": HOME, "version": "2.1.30", "timestamp": at(5)}


def lines_of(format: Format, *lines: dict[str, Any], path: str = "/x/ann.jsonl") -> list[Moment]:
    """The moments of these lines."""
    reader = format.Reader(path)
    found = [moment for line in lines for moment in reader.read(line) or ()]
    return [*found, *reader.end()]


def told(moments: list[Moment]) -> list[tuple[str, str, str]]:
    """Kind, agent and what it is about."""
    return [
        (one.kind, one.agent, one.command or ",".join([*[change.path for change in one.changes], *one.reads, *one.ids]))
        for one in moments
    ]


def all_of(folder: Path) -> tuple[list[Moment], session_files.Unread]:
    """All moments of the sessions of this home, in order."""
    unread = session_files.Unread()
    named = [folder for _, folder in session_files.default_folders(str(folder), {})]
    files = session_files.find(named, unread, lambda _count: None)
    return list(session_files.merged(files, unread)), unread


def test_claude_code_1_had_no_ids_of_subagents() -> None:
    use = {"type": "tool_use", "id": "1", "name": "MultiEdit",
           "input": {"file_path": "a.py", "edits": [{"old_string": "one line", "new_string": "two"}]}}  # fmt: skip
    line = {**SESSION, "type": "assistant", "isSidechain": True, "message": {"content": [use]}, "version": "1.0.3"}
    found = lines_of(claude, line)
    assert told(found) == [("edit", "ann/side", f"{HOME}/a.py")]
    assert found[0].changes[0].before is not None
    assert len(found[0].changes[0].before) == 1


def test_claude_code_knows_what_a_person_typed() -> None:
    texts = ("<command-name>/clear</command-name> #1", "Caveat: #2", [{"type": "text", "text": "do #3"}], "and AB-4")
    lines: list[dict[str, Any]] = [
        {**SESSION, "type": "user", "message": {"role": "user", "content": text}} for text in texts
    ]
    lines += [
        {**lines[-1], "isMeta": True},
        {**lines[-1], "isCompactSummary": True},
        {**lines[-1], "isSidechain": True},
    ]
    assert [sorted(one.ids) for one in lines_of(claude, *lines)] == [["#3"], ["AB-4"]]


def test_a_call_that_a_person_rejected_was_not_made(tmp_path: Path) -> None:
    ann = Claude(tmp_path, "ann")
    ann.call(0, "Bash", command="rm -rf x", error="The user doesn't want to proceed with this tool use.")
    ann.call(1, "Bash", command="make test", error="Exit code 2")
    moments, _ = all_of(tmp_path)
    assert [(one.kind, one.command) for one in moments] == [("other", ""), ("command", "make test")]


def test_codex_of_all_three_forms() -> None:
    patch = "*** Begin Patch\n*** Add File: new.py\n+x = 1\n*** Delete File: old.py\n*** End Patch"
    old = lines_of(
        codex,
        {"id": "cid", "timestamp": at(1), "instructions": None, "git": {"branch": "main"}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "do #7"}]},
        {"type": "function_call", "name": "shell", "call_id": "1",
         "arguments": json.dumps({"command": ["apply_patch", patch], "workdir": HOME})},
        {"type": "function_call_output", "call_id": "1", "output": '{"output":"ok","metadata":{"exit_code":0}}'},
    )  # fmt: skip
    assert [one.kind for one in old] == ["prompt", "edit"]
    assert [(change.whole, change.goes) for change in old[1].changes] == [(True, False), (True, True)]
    failed = [
        {"timestamp": at(2), "type": "response_item", "payload": {
            "type": "custom_tool_call", "name": "apply_patch", "call_id": "2", "input": patch}},
        {"timestamp": at(3), "type": "response_item", "payload": {
            "type": "custom_tool_call_output", "call_id": "2", "output": "apply_patch verification failed: no"}},
    ]  # fmt: skip
    assert told(lines_of(codex, *failed)) == [("other", "ann", "")]
    newer = {"type": "function_call", "name": "exec_command", "call_id": "3",
             "arguments": json.dumps({"cmd": "ls src", "workdir": "/srv/x"})}  # fmt: skip
    local = {"type": "local_shell_call", "call_id": "4", "action": {"command": ["ls"], "working_directory": "/srv/y"}}
    found = lines_of(codex, *[{"timestamp": at(3), "type": "response_item", "payload": one} for one in (newer, local)])
    assert [(one.command, one.cwd) for one in found] == [("ls src", "/srv/x"), ("'ls'", "/srv/y")]


def test_an_agent_that_codex_spawned_is_a_child_of_its_session() -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "lead", "depth": 1}}}
    meta = {"timestamp": at(0), "type": "session_meta", "payload": {"id": "child", "cwd": HOME, "source": source}}
    typed = {"timestamp": at(0), "type": "event_msg", "payload": {"type": "user_message", "message": "go"}}
    assert [(one.session, one.agent) for one in lines_of(codex, meta, typed)] == [("lead", "lead/child")]


def test_copilot_in_a_folder_and_in_one_file(tmp_path: Path) -> None:
    dan = Copilot(tmp_path, "dan")
    dan.prompt(1, "fix #5")
    dan.call(2, "str_replace_editor", command="view", path=f"{HOME}/a.py")
    dan.call(3, "str_replace_editor", command="str_replace", path=f"{HOME}/a.py", old_str="x", new_str="y")
    dan.call(4, "create", success=False, path=f"{HOME}/b.py", file_text="")
    flat = tmp_path / ".copilot" / "session-state" / "eve.jsonl"
    flat.write_text(dan.path.read_text().replace("dan", "eve"))
    moments, unread = all_of(tmp_path)
    expected = [("prompt", "#5"), ("read", f"{HOME}/a.py"), ("edit", f"{HOME}/a.py"), ("other", "")]
    for name in ("dan", "eve"):
        assert [(kind, what) for kind, agent, what in told(moments) if agent == name] == expected
    assert unread.as_json() == {"lines": {}, "files": {}}


def test_gemini_in_one_json_text_and_its_folder_by_its_digest(tmp_path: Path) -> None:
    digest = hashlib.sha256(HOME.encode()).hexdigest()
    calls = [{"id": "1", "name": "read_file", "args": {"absolute_path": f"{HOME}/src/a.py"}, "status": "success"},
             {"id": "2", "name": "run_shell_command", "args": {"command": "ls"}, "status": "success"},
             {"id": "3", "name": "write_file", "args": {"file_path": "b"}, "status": "cancelled"}]  # fmt: skip
    messages = [{"id": "m1", "timestamp": at(1), "type": "user", "content": "see #9"},
                {"id": "m2", "timestamp": at(2), "type": "gemini", "content": "", "toolCalls": calls}]  # fmt: skip
    path = tmp_path / ".gemini" / "tmp" / digest / "chats" / "session-2025-12-01T10-00-abc.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"sessionId": "gem", "projectHash": digest, "startTime": at(0), "messages": messages}))
    (path.parent / "other.json").write_text("[]")
    moments, unread = all_of(tmp_path)
    assert told(moments) == [
        ("prompt", "gem", "#9"), ("read", "gem", f"{HOME}/src/a.py"), ("command", "gem", "ls"), ("other", "gem", "")
    ]  # fmt: skip
    assert [one.cwd for one in moments] == ["", HOME, HOME, HOME]
    assert unread.as_json() == {"lines": {}, "files": {}}


def test_gemini_writes_a_message_again_when_it_changes(tmp_path: Path) -> None:
    bob = Gemini(tmp_path, "bob")
    bob.call(1, "replace", file_path="a.py", old_string="x", new_string="y")
    bob.line(**{"$set": {"lastUpdated": at(2)}})
    bob.line(**{"$rewindTo": "m1"})
    moments, unread = all_of(tmp_path)
    assert told(moments) == [("edit", "bob", f"{HOME}/a.py")]
    assert unread.as_json() == {"lines": {}, "files": {}}


def test_what_no_format_knows_is_counted_by_its_version(tmp_path: Path) -> None:
    ann = Claude(tmp_path, "ann")
    ann.prompt(0, "go")
    ann.line(type="hologram", version="9.9.9", sessionId="ann", timestamp=at(1))
    with ann.path.open("a") as file:
        file.write('[1, 2]\n{"type": "user", "mess')  # a line of another kind, and a torn one
    moments, unread = all_of(tmp_path)
    assert len(moments) == 1
    assert unread.as_json() == {"lines": {"Claude Code 9.9.9": 3}, "files": {}}


def test_files_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "projects" / "x"
    folder.mkdir(parents=True)
    (folder / "broken.jsonl.gz").write_bytes(b"no gzip at all")
    whole = gzip.compress(json.dumps({**SESSION, "type": "user", "message": {"content": "go"}}).encode() * 9999)
    (folder / "cut.jsonl.gz").write_bytes(whole[:-20])
    (folder / "binary.jsonl").write_bytes(b"\x00\xff\n" * 50)
    (folder / "dangling.jsonl").symlink_to(folder / "gone.jsonl")
    (folder / "notes.json").write_text("{}")
    moments, unread = all_of(tmp_path)
    assert moments == []
    assert sum(unread.as_json()["files"].values()) == 2


def test_a_line_that_is_too_long_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_files, "MAX_LINE_BYTES", 2_000)
    monkeypatch.setattr(session_files, "PIECE_BYTES", 500)
    ann = Claude(tmp_path, "ann")
    ann.prompt(0, "before #1")
    ann.prompt(1, "x" * 9_000)
    ann.prompt(2, "after #2")
    moments, unread = all_of(tmp_path)
    assert [sorted(one.ids) for one in moments] == [["#1"], ["#2"]]
    assert unread.as_json()["lines"] == {"Claude Code 2.1.30": 1}


def test_sessions_are_merged_by_time(tmp_path: Path) -> None:
    ann, cid, dan = Claude(tmp_path, "ann"), Codex(tmp_path, "cid"), Copilot(tmp_path, "dan")
    for second in range(0, 30, 3):
        ann.prompt(second, "go")
        cid.prompt(second + 1, "go")
        dan.prompt(second + 2, "go")
    moments, _ = all_of(tmp_path)
    assert [one.session for one in moments] == ["ann", "cid", "dan"] * 10


@pytest.mark.slow
def test_memory_stays_flat_however_long_a_session_is(tmp_path: Path) -> None:
    ann = Claude(tmp_path, "ann")
    ann.call(0, "Write", file_path="a.py", content="some text\n" * 1_000)
    text = ann.path.read_text()

    def peak(times: int) -> int:
        with ann.path.open("w") as file:
            for number in range(times):
                file.write(text.replace("ann-1", f"call-{number}"))
        unread = session_files.Unread()
        files = session_files.find([str(tmp_path)], unread, lambda _count: None)
        tracemalloc.start()
        assert sum(1 for _ in session_files.merged(files, unread)) == times
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(20)
    assert peak(1_000) < 2 * peak(100) + 500_000


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("fix TASK-103, #88 and (AB2-7)", ["#88", "AB2-7", "TASK-103"]),
        ("UTF-8, SHA-256, GPT-4, ISO-8601, &#39; a#3 /x#4 e-mail A-1 x-TASK-1 #abc 2024-05", []),
    ],
)  # fmt: skip
def test_ids_are_those_of_issues(text: str, ids: list[str]) -> None:
    assert sorted(ids_in(text)) == ids


FORMATS = (claude, codex, copilot, gemini, recorded)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["user", "assistant", "tool_use", "Edit", "Bash", "/a/b.py", "~x", "\x00", "\ud800", at(1)]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["type", "message", "content", "input", "command", "file_path", "old_string", "text", "id", "name", "args"]
    ), inner, max_size=4), max_leaves=12,
)  # fmt: skip
NAMES = st.sampled_from([
    "type", "message", "payload", "data", "timestamp", "sessionId", "cwd", "$set", "$rewindTo", "messages", "toolCalls",
    "id", "startTime", "session", "kind", "text", "t", "cmd", "role", "arguments", "call_id", "version", "record_type",
    "name", "content", "input", "action", "output", "directories", "projectHash", "isSidechain", "agentId",
])  # fmt: skip
KINDS = st.sampled_from([
    "user", "assistant", "session_meta", "turn_context", "response_item", "event_msg", "function_call", "message",
    "custom_tool_call", "local_shell_call", "tool.execution_start", "session.start", "gemini", "user.message",
])  # fmt: skip


@given(st.lists(st.dictionaries(NAMES, VALUES | KINDS, max_size=8), max_size=6))
def test_no_line_makes_a_reader_raise(lines: list[dict[str, Any]]) -> None:
    for one in FORMATS:
        lines_of(one, *lines)
        for line in lines:
            one.is_first(line)


SHAPES = (
    lambda tool, value: (claude, {**SESSION, "type": "assistant", "message": {"content": [
        {"type": "tool_use", "id": "1", "name": tool, "input": value}]}}),
    lambda tool, value: (codex, {"type": "response_item", "payload": {
        "type": "function_call", "name": tool, "arguments": value, "call_id": "1"}}),
    lambda tool, value: (copilot, {"type": "tool.execution_start", "data": {
        "toolCallId": "1", "toolName": tool, "arguments": value}}),
    lambda tool, value: (gemini, {"type": "gemini", "id": "m", "toolCalls": [
        {"id": "1", "name": tool, "args": value, "status": "success"}]}),
)  # fmt: skip


@given(st.sampled_from(["Edit", "Bash", "apply_patch", "shell", "edit", "write_file", "mcp__x__write"]), VALUES)
def test_no_input_of_a_tool_makes_a_reader_raise(tool: str, value: object) -> None:
    for shape in SHAPES:
        lines_of(*shape(tool, value))


@given(st.binary(max_size=400))
def test_no_bytes_make_the_look_fail(data: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.jsonl").write_bytes(b'{"type": "user", "sessionId": "x", "message": {}}\n' + data)
        unread = session_files.Unread()
        list(session_files.merged(session_files.find([folder], unread, lambda _count: None), unread))


def test_each_format_says_where_its_client_keeps_sessions() -> None:
    environ = {"CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x", "COPILOT_HOME": "/p", "GEMINI_CLI_HOME": "/g"}
    assert [one.folders("/home/ann", environ) for one in formats.every()] == [
        ["/c/projects"], ["/x/sessions", "/x/archived_sessions"], ["/p/session-state"], ["/g/.gemini/tmp"], []
    ]  # fmt: skip
