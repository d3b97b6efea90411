"""Malformed hook input: no traceback, no wrong allow, an answer in time.

The oracle. Every base is a real client's payload that would write a file which another agent holds, so it is refused.
What is done to it either leaves the write as forbidden as it was, or makes it no payload at all: both have to end with
exit 2. Where bytes change at random, the text is read once more here, by `json` and by hand: only what is well formed
and names no held file may pass.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.faults.kit import Dice, size
from tests.interfaces.repository import ENTRY, LIMIT, PATIENCE, Repository, is_gone

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).parents[1] / "interfaces" / "agents" / "samples"
WORKER = Path(__file__).with_name("hook_worker.py")
THERE = "/work-tree/repo"
HELD = ("hello.py", "claimed.py", "sub.py")
SLOW = 0.2  # seconds within which a hook answers: the processor's, since others use the machine as well
TOTAL = size(500, 90_000)  # inputs spoiled at random; the other tests bring as many again and more
# Half of what `dibs init` gives a client's hook; a machine with other work may take longer.
IN_TIME_S = LIMIT * size(6, 1) / 2
OF_A_KIND = size(40, 1_000)  # inputs of one sample with fields of the wrong type

# sample → the words of its hook
BASES = {
    "claude-2.1.325_PreToolUse_Edit": ["claude"],
    "claude-2.1.325_PreToolUse_Write": ["claude"],
    "claude-2.1.325_PreToolUse_Write_in_subagent": ["claude"],
    "claude-2.1.325_PreToolUse_Bash": ["claude"],
    "codex-0.166.0_PreToolUse_apply_patch": ["codex"],
    "codex-0.166.0_PreToolUse_Bash": ["codex"],
    "gemini-0.61.0_BeforeTool_write_file": ["gemini"],
    "gemini-0.61.0_BeforeTool_replace": ["gemini"],
    "gemini-0.61.0_BeforeTool_run_shell_command": ["gemini"],
    "copilot-1.0.102_preToolUse_create": ["copilot", "preToolUse"],
    "copilot-1.0.102_preToolUse_edit": ["copilot", "preToolUse"],
    "copilot-1.0.102_preToolUse_bash": ["copilot", "preToolUse"],
    "copilot-1.0.102_PascalCase_PreToolUse": ["copilot"],
}
PATHS = ("file_path", "path")
NAMES = ("filepath", "path", "file")  # what is left of them, without case and underscores
EDITS = frozenset(("Edit", "Write", "MultiEdit", "NotebookEdit", "write_file", "replace", "edit", "create", "write"))


def input_of(payload: dict[str, Any]) -> dict[str, Any]:
    """What a payload gives to the tool."""
    found: dict[str, Any] = payload["tool_input"] if "tool_input" in payload else payload["toolArgs"]
    return found


class Hooks:
    """The worker's process, and the repository that its hooks guard."""

    def __init__(self, folder: Path) -> None:
        self.repo = Repository(folder)
        holder = self.repo.agent("holder")
        for name in HELD:
            holder.edit(name, "the holder's\n")
        self.folder = str(self.repo.folder)
        self.used: list[float] = []
        self.longest = 0.0
        self.env = {**self.repo.env, "DIBS_TREE": f"{self.folder}/.dibs/.."}  # as the launcher says it
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(WORKER)], cwd=self.folder, env=self.env, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )  # fmt: skip
        assert self._process.stdout is not None
        self._pid = int(self._process.stdout.readline())
        self._process.wait(PATIENCE)

    def base(self, name: str) -> dict[str, Any]:
        """A payload that is refused."""
        found: dict[str, Any] = json.loads((SAMPLES / f"{name}.json").read_text().replace(THERE, self.folder))
        given = input_of(found)
        if "command" in given and "***" not in given["command"]:
            given["command"] = "echo more >> hello.py"
        return found

    def answer(self, words: list[str], given: bytes) -> int:
        """The exit code of a hook that was given this, once its answer was found to be one that the client obeys."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([words, len(given)]).encode() + b"\n" + given)
        self._process.stdin.flush()
        found = json.loads(self._process.stdout.readline())
        self.used.append(found["used"])
        self.longest = max(self.longest, found["took"])
        obeyed(words, found["code"], found["out"], found["err"], given)
        return int(found["code"])

    def in_time(self) -> None:
        """The hooks answered fast, and each long before a client would give up."""
        used = sorted(self.used)
        rarest = used[min(len(used) - 1, len(used) * 99 // 100)]
        print(f"{len(used)} inputs: p50 {used[len(used) // 2]:.4f} s, p99 {rarest:.4f} s, longest {self.longest:.4f} s")
        assert rarest < SLOW
        assert self.longest < IN_TIME_S

    def close(self) -> None:
        """The holder still holds what it held; then end all processes."""
        held = self.repo.claims().get("holder")
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        self.repo.close()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        assert held == sorted(HELD)


def obeyed(words: list[str], code: int, out: str, err: str, given: bytes) -> None:
    """An answer that this client understands, and nothing of Python's."""
    shown = (words, given[:2000], code, out[:2000], err[:2000])
    assert code in {0, 2}, shown
    assert "Traceback" not in out + err, shown
    if code == 0:
        assert "deny" not in out, shown
        assert out == "" or "additionalContext" in out, shown
        return
    refusal = json.loads(out)
    if words[:1] == ["gemini"]:
        assert set(refusal) == {"decision", "reason"}, shown
        decision, reason = refusal["decision"], refusal["reason"]
    else:
        if "hookSpecificOutput" in refusal:
            assert set(refusal) == {"hookSpecificOutput"}, shown
            refusal = refusal["hookSpecificOutput"]
            assert isinstance(refusal.pop("hookEventName"), str), shown
        assert set(refusal) == {"permissionDecision", "permissionDecisionReason"}, shown
        decision, reason = refusal["permissionDecision"], refusal["permissionDecisionReason"]
    assert decision == "deny", shown
    assert reason.startswith("dibs: "), shown
    assert err, shown


@pytest.fixture
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hooks]:
    made = Hooks(tmp_path_factory.mktemp("hooks"))
    yield made
    made.close()


# --- what may be done to a payload so that it must still be refused


def fields_of(value: Any, way: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The way to every field."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield (*way, name)
            yield from fields_of(inner, (*way, name))


def changed(payload: dict[str, Any], way: tuple[str, ...], value: Any, *, gone: bool = False) -> dict[str, Any]:
    """A copy in which one field is another value, or gone."""
    copy: dict[str, Any] = json.loads(json.dumps(payload))
    inner = copy
    for name in way[:-1]:
        inner = inner[name]
    if gone:
        del inner[way[-1]]
    else:
        inner[way[-1]] = value
    return copy


WRONG: list[Any] = [None, True, False, 0, -1, 1.5, 10**400, [], {}, [[]], {"a": {}}, [None], ["a", "b"]]


def is_another_call(payload: dict[str, Any], way: tuple[str, ...], value: Any) -> bool:
    """Would this value make it another call that is well formed: a command or patch as words, or as a text?"""
    command = "command" in input_of(payload)
    if way[-1] == "command":
        return isinstance(value, list)
    return command and way[-1] == "cwd" and isinstance(value, str)


def wrong_types(payload: dict[str, Any]) -> Iterator[bytes]:
    """Each field of each wrong type, and gone."""
    for way in fields_of(payload):
        for value in WRONG:
            if not is_another_call(payload, way, value):
                yield json.dumps(changed(payload, way, value)).encode()
        yield json.dumps(changed(payload, way, None, gone=True)).encode()


def odd_texts(payload: dict[str, Any]) -> Iterator[bytes]:
    """Texts that no client sends, where they cannot make it another call."""
    texts = ["", "\0", "\ud800", "\udcff\udcff", "x" * 100_000, "../" * 2000, "\x1b[2J", "\u202e", "a\nb\tc"]
    for way in fields_of(payload):
        harmless = {"tool_name", "toolName", "command", "cwd", "tool_input", "toolArgs", *PATHS}
        for text in texts if way[-1] not in harmless else ["", "\0"] if way[-1] in PATHS else []:
            yield json.dumps(changed(payload, way, text)).encode()


def odd_bytes(text: bytes) -> Iterator[bytes]:
    """Not JSON, not UTF-8, not one value."""
    yield from (b"", b" ", b"\n\n", b"\0", b"null", b"true", b"1", b'"x"', b"[]", b"{}", b"[" + text + b"]")
    yield from (b"\xef\xbb\xbf" + text, text.decode().encode("utf-16"), text.decode().encode("utf-32"))
    yield from (text + text, text + b"\0", text + b"}", b"\0" + text, text[1:], text[:-1] + b",}", b"data: " + text)
    yield from (text.replace(b'"', b"'"), text.replace(b":", b"="), text.replace(b'"', b'"\xff', 1), b"\xff" + text)
    yield from (
        text[:-1] + more + b"}" for more in (b',"x":NaN', b',"x":-Infinity', b',"x":01', b',"x":"\t"', b',"x":+1')
    )
    yield from (
        text[:-1] + b',"x":' + deep + b"}" for deep in (b"[" * 200 + b"]" * 200, b"[" * 100_000 + b"]" * 100_000)
    )
    yield from (opening * times for opening in (b"[", b'{"a":', b'[{"a":') for times in (1_000, 200_000))
    yield text[:-1] + b',"x":' + b"9" * 5_000 + b"}"
    names = (
        [b"tool_input", b"tool_name", b"session_id"]
        if b'"session_id"' in text
        else [b"toolArgs", b"toolName", b"sessionId"]
    )
    yield b'{"%b":{"file_path":"free.py"},"%b":"Read","%b":"holder",' % tuple(names) + text[1:]  # the last counts
    yield text[:-1] + b',"' + b"k" * 1_000_000 + b'":1}'


def other_words(words: list[str]) -> Iterator[list[str]]:
    """Another client's name, or none, or another client's event."""
    yield from ([], [""], ["emacs"], ["CLAUDE"], ["claude "], ["\0"], ["x" * 10_000], ["-h"], ["--help"])
    yield [*words[:1], "BeforeTool"] if len(words) > 1 else ["gemini" if words[0] != "gemini" else "claude"]


# --- the tests


def test_a_payload_cut_off_at_any_byte_is_refused(hooks: Hooks) -> None:
    names = list(BASES) if size(0, 1) else ["claude-2.1.325_PreToolUse_Edit"]
    for name in names:
        text = json.dumps(hooks.base(name), indent=1).encode()
        for end in range(len(text) + 1):
            assert hooks.answer(BASES[name], text[:end]) == 2, text[:end]
    hooks.in_time()


@pytest.mark.parametrize("name", BASES)
def test_a_forbidden_write_with_any_field_of_the_wrong_type_is_refused(hooks: Hooks, dice: Dice, name: str) -> None:
    payload = hooks.base(name)
    every = [*wrong_types(payload), *odd_texts(payload)]
    for given in dice.sample(every, min(len(every), OF_A_KIND)):
        assert hooks.answer(BASES[name], given) == 2, given[:2000]
    hooks.in_time()


@pytest.mark.parametrize("name", BASES)
def test_what_is_no_payload_at_all_is_refused(hooks: Hooks, name: str) -> None:
    text = json.dumps(hooks.base(name)).encode()
    for given in odd_bytes(text):
        assert hooks.answer(BASES[name], given) == 2, given[:2000]
    for words in other_words(BASES[name]):
        if "hook_event_name" not in hooks.base(name) or len(words) < 2:
            assert hooks.answer(words, text) == 2, words
    hooks.in_time()


def test_a_newer_version_that_sends_more_fields_is_guarded_as_before(hooks: Hooks) -> None:
    more: dict[str, Any] = {
        "version": 99,
        "hook": None,
        "agent": {"id": 1},
        "tools": [{"tool_name": "Read"}],
        "é": "\ud800",
    }
    for name, words in BASES.items():
        assert hooks.answer(words, json.dumps({**more, **hooks.base(name), "zz": more}).encode()) == 2
        assert hooks.answer(words, json.dumps(hooks.base(name), ensure_ascii=False).encode()) == 2


def forbidden(hooks: Hooks, words: list[str], given: bytes) -> bool:
    """Must this be refused? It is no payload, or one that by its words writes a held file before it is allowed to."""
    try:
        sent = json.loads(given.decode())
    except (ValueError, RecursionError):
        return True
    if not isinstance(sent, dict):
        return True
    event = sent.get("hook_event_name") or (words[1] if len(words) > 1 else "")
    if event not in {"PreToolUse", "BeforeTool", "preToolUse"}:
        return not isinstance(event, str) or not event
    tool = sent.get("tool_name") or sent.get("toolName")
    given_to = sent.get("tool_input", sent.get("toolArgs"))
    if tool not in EDITS or not isinstance(given_to, dict):
        return not tool or not isinstance(tool, str)
    # A field is meant however its name is spelled.
    paths = [value for name, value in given_to.items() if name.lower().replace("_", "") in NAMES and value is not None]
    if not paths or not all(isinstance(path, str) and path and "\0" not in path for path in paths):
        return True
    with contextlib.suppress(ValueError):
        held = {f"{hooks.folder}/{name}" for name in HELD}
        return any(os.path.realpath(os.path.join(hooks.folder, path)) in held for path in paths)
    return True


def spoiled(dice: Dice, text: bytes) -> bytes:
    """Some bytes changed, added, doubled or taken away."""
    data = bytearray(text)
    for _ in range(dice.choice((1, 1, 1, 2, 4, 16))):
        place = dice.randrange(len(data) or 1)
        other = dice.randrange(len(data) or 1)
        how = dice.randrange(6)
        if how == 0 and data:
            data[place] ^= 1 << dice.randrange(8)
        elif how == 1:
            data[place:place] = bytes([dice.choice(b'"{}[]:,\\\0\x80\xff 0e-\n')])
        elif how == 2:
            del data[min(place, other) : max(place, other)][: dice.randrange(1, 9)]
        elif how == 3:
            data[place:place] = data[other : other + dice.randrange(1, 40)]
        elif how == 4 and data:
            data[place] = dice.randrange(256)
        else:
            del data[place : place + dice.randrange(1, 9)]
    return bytes(data)


def test_bytes_changed_at_random_never_let_a_forbidden_write_pass(hooks: Hooks, dice: Dice) -> None:
    texts = [(words, json.dumps(hooks.base(name)).encode()) for name, words in BASES.items()]
    passed = 0
    for words, text in itertools.islice(itertools.cycle(texts), TOTAL):
        given = spoiled(dice, text)
        code = hooks.answer(words, given)
        assert code == 2 or not forbidden(hooks, words, given), given
        passed += code == 0
    hooks.in_time()
    assert passed < TOTAL // 2, "most of it is no payload, or still forbidden"


# --- the same with the real entry

HUGE = 50 * 1024 * 1024


def real(hooks: Hooks, words: list[str], given: bytes) -> tuple[int, float]:
    """The exit code and the time of a hook's own process."""
    python = [sys.executable, "-I", "-S", "-X", "utf8", ENTRY]
    answer = hooks.repo.person.client.run(
        *python, *words, cwd=hooks.repo.folder, given=given, DIBS_TREE=hooks.env["DIBS_TREE"]
    )
    obeyed(words, answer.code, answer.out, answer.err, given)
    return answer.code, answer.took


def test_the_real_process_refuses_the_odd_ones_in_time(hooks: Hooks, dice: Dice) -> None:
    name = "claude-2.1.325_PreToolUse_Write"
    payload = hooks.base(name)
    text = json.dumps(payload).encode()
    some = [*wrong_types(payload), *odd_texts(payload)]
    every = [text, *odd_bytes(text), *dice.sample(some, min(len(some), size(20, 500)))]
    for given in every:
        code, took = real(hooks, ["claude"], given)
        assert code == 2, given[:2000]
        assert took < IN_TIME_S


@pytest.mark.parametrize("what", ["content", "blanks", "list", "nul"])
def test_fifty_megabytes_are_refused_in_time(hooks: Hooks, what: str) -> None:
    payload = hooks.base("claude-2.1.325_PreToolUse_Write")
    if what == "content":
        payload["tool_input"]["content"] = "x" * HUGE
        given = json.dumps(payload).encode()
    elif what == "blanks":
        given = b" " * HUGE + json.dumps(payload).encode()
    else:
        given = (b"[" if what == "list" else b"\0") * HUGE
    code, took = real(hooks, ["claude"], given)
    assert code == 2
    assert took < IN_TIME_S


def test_a_large_content_of_an_ordinary_write_is_read_and_decided(hooks: Hooks) -> None:
    payload = hooks.base("claude-2.1.325_PreToolUse_Write")
    payload["tool_input"]["content"] = "line of it\n" * 400_000
    assert real(hooks, ["claude"], json.dumps(payload).encode())[0] == 2
    payload["tool_input"]["file_path"] = f"{hooks.folder}/free.py"
    code, took = real(hooks, ["claude"], json.dumps(payload).encode())
    assert code == 0
    assert took < IN_TIME_S


def test_a_client_that_never_ends_its_input_gets_an_answer(hooks: Hooks) -> None:
    """A hook that waits for ever is one that the client gives up on, and then lets the write through."""
    text = json.dumps(hooks.base("claude-2.1.325_PreToolUse_Write")).encode()
    started = []
    for given in (b"", text[:100], text):  # at once: each takes as long as a hook waits
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-X", "utf8", ENTRY, "claude"], cwd=hooks.folder, env=hooks.env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(given)
        process.stdin.flush()
        started.append(process)
    try:
        assert [process.wait(PATIENCE) for process in started] == [2, 2, 2]
    finally:
        for process in started:
            process.kill()
            process.communicate()
            assert is_gone(process.pid)
