"""Hooks through a server: the same answers as directly, and nobody is let in who may not ask."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dibs.machine import socket_owner
from dibs.server.hook_port import bash_script
from tests.interfaces.repository import HOOK, PATIENCE, Repository
from tests.server.hook_server import Server, is_alone, through
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interfaces.repository import Agent, Answer

SAMPLES = sorted((Path(__file__).parents[2] / "interfaces" / "agents" / "samples").glob("*.json"))
CORPORA = Path(__file__).parents[2] / "corpora"
THERE = "/work-tree/repo"
EVERY = 6  # of the corpora's lines, one in so many
BROWSER = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.fixture
def server(repo: Repository) -> Iterator[Server]:
    made = Server(repo.folder)
    yield made
    made.end()


class Side:
    """A repository whose hooks go one way."""

    def __init__(self, folder: Path, *, serve: bool) -> None:
        folder.mkdir()
        self.repo = Repository(folder)
        for name in ("src/held.py", "src/other.py", "hello.py"):
            self.repo.write(name, f"{name}\n")
        self.repo.git("add", "-A")
        self.repo.git("commit", "-q", "-m", "more")
        self.repo.agent("holder").edit("src/held.py", "the holder's\n")
        self.client = self.repo.client()
        self.server = Server(self.repo.folder) if serve else None

    def answer(self, words: list[str], given: str) -> tuple[int, str, str]:
        """Code and texts, without what differs from one side to the other."""
        folder = self.repo.folder
        text = given.replace(THERE, str(folder)).replace("$REPO", str(folder)).encode()
        if self.server is not None:
            answer = through(self.client, folder, *words, given=text)
        else:
            answer = self.client.run(*HOOK, *words, cwd=folder, given=text, DIBS_TREE=str(folder))
        return answer.code, self._plain(answer.out), self._plain(answer.err)

    def _plain(self, text: str) -> str:
        text = text.replace(str(self.repo.scratch), "")
        return re.sub(r"[0-9a-f]{12,40}|\d+ (s|min)\b|\d+[smh]\b|\d{4}-\d\d-\d\dT[\d:.]+Z?", "#", text)

    def close(self) -> None:
        """End its processes."""
        if self.server is not None:
            self.server.end()
        self.repo.close()


@pytest.fixture
def sides(tmp_path: Path) -> Iterator[tuple[Side, Side]]:
    made = Side(tmp_path / "one", serve=False), Side(tmp_path / "two", serve=True)
    yield made
    for side in made:
        side.close()


def words_of(sample: Path) -> list[str]:
    """A sample's hook; Copilot's payloads do not say their event."""
    client, event = sample.stem.split("_")[0].split("-")[0], sample.stem.split("_")[1]
    return [client, event] if client == "copilot" and event != "PascalCase" else [client]


def test_every_sample_of_every_client_is_answered_as_directly(sides: tuple[Side, Side]) -> None:
    played = [sample for sample in SAMPLES if not sample.stem.startswith("opencode")]
    for sample in played:
        direct, served = (side.answer(words_of(sample), sample.read_text()) for side in sides)
        assert served == direct, sample.stem
    sides[1].close()
    assert sides[1].server is not None
    assert (sides[1].server.decided, sides[1].server.declined) == (len(played), 0)


@pytest.mark.parametrize("corpus", ["bypasses", "bypasses_git", "ordinary", "ordinary_git", "deploys"])
def test_commands_of_the_corpora_are_answered_as_directly(corpus: str, sides: tuple[Side, Side]) -> None:
    lines = [line for line in (CORPORA / f"{corpus}.txt").read_text().splitlines() if line and line[0] not in "#{"]
    codes = set()
    for number, line in enumerate(lines[::EVERY]):
        payload = {"session_id": "ben", "cwd": THERE, "hook_event_name": "PreToolUse", "tool_name": "Bash",
                   "tool_input": {"command": line}, "tool_use_id": f"call-{number}"}  # fmt: skip
        direct, served = (side.answer(["claude"], json.dumps(payload) + "\n") for side in sides)
        assert served == direct, line
        codes.add(served[0])
    sides[1].close()
    assert sides[1].server is not None
    assert sides[1].server.decided == len(lines[::EVERY])
    assert codes == {0, 2} or corpus.startswith(("ordinary", "deploys"))


# --- who may ask


def told(script: Path) -> tuple[int, str, str]:
    """Port, secret and proof of a script."""
    text = script.read_text()
    port, secret = re.search(r"/dev/tcp/127.0.0.1/(\d+)", text), re.search(r"printf '%s\\0' ([\w-]{22})2 ", text)
    proof = re.search(r'\[ "\$words" = ([\w-]{22}) \]', text)
    assert port
    assert secret
    assert proof
    return int(port[1]), secret[1], proof[1]


def connected(script: Path) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", told(script)[0]), PATIENCE)
    made.settimeout(PATIENCE)
    return made


def edit(folder: Path, name: str = "a.py", session: str = "ben") -> bytes:
    given = {"file_path": f"{folder}/{name}", "old_string": "a", "new_string": "b"}
    payload = {"session_id": session, "cwd": str(folder), "hook_event_name": "PreToolUse", "tool_name": "Edit",
               "tool_input": given, "tool_use_id": "toolu_1"}  # fmt: skip
    return json.dumps(payload).encode() + b"\n"


def is_shut(stranger: socket.socket) -> bool:
    """Was it sent away without a word?"""
    try:
        return stranger.recv(100) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("said", [BROWSER, b"x" * 46, b"\0" * 400, b"1"])
def test_without_the_secret_nothing_is_said(said: bytes, server: Server) -> None:
    with connected(server.script) as stranger:
        stranger.sendall(said)
        assert is_shut(stranger)


def test_a_secret_but_for_its_last_letter_is_none(server: Server) -> None:
    _, secret, _ = told(server.script)
    with connected(server.script) as stranger:
        stranger.sendall(secret[:-1].encode() + (b"0" if secret[-1] != "0" else b"1") + b"2\0001\0child\0")
        assert is_shut(stranger)


def test_silent_strangers_keep_no_hook_waiting(repo: Repository, server: Server) -> None:
    strangers = [connected(server.script) for _ in range(300)]
    _, secret, _ = told(server.script)
    for stranger in strangers[:100]:
        stranger.sendall(secret.encode()[:20])
    ben = repo.client()
    assert through(ben, repo.folder, "claude", given=edit(repo.folder)).silent
    for stranger in strangers:
        stranger.close()
    server.end()
    assert (server.decided, server.declined) == (1, 0)


def asked(script: Path, pid: int, sent: bytes, tree: Path) -> bytes:
    """Ask as the script does; everything that is answered."""
    _, secret, proof = told(script)
    with connected(script) as hook:
        hook.sendall(f"{secret}{bash_script.VERSION}\0{pid}\0read\0".encode())
        got = b""
        while len(got) < len(proof):
            got += hook.recv(100)
        assert got == proof.encode()
        hook.sendall(b"\0".join([b"claude", b"", str(tree).encode(), str(tree).encode(), b"", sent]) + b"\0")
        answer = b""
        while part := hook.recv(4096):
            answer += part
    return answer.removeprefix(b"+")


def test_a_process_that_has_not_the_connection_among_its_files_is_not_believed(
    repo: Repository, server: Server
) -> None:
    holder = repo.client()
    assert asked(server.script, holder.pid, edit(repo.folder), repo.folder) == b"?"
    assert asked(server.script, 0, edit(repo.folder), repo.folder) == b"?"
    assert asked(server.script, os.getpid(), edit(repo.folder), repo.folder) == b"0"
    server.end()
    assert (server.decided, server.declined) == (1, 2)


def test_the_socket_s_owner_is_found_by_the_kernels_answer_and_by_its_table() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with socket.create_connection(listener.getsockname()) as far, listener.accept()[0] as near:
            inode = os.fstat(far.fileno()).st_ino
            ends = near.getpeername(), near.getsockname()
            assert socket_owner._by_netlink(*ends) == (os.getuid(), inode)
            assert socket_owner._by_table(*ends) == (os.getuid(), inode)
            assert socket_owner.inode_of(*ends) == inode
            assert socket_owner.belongs_to(os.getpid(), near)
            assert not socket_owner.belongs_to(os.getppid(), near)
        assert socket_owner.inode_of(*ends) != inode


def test_another_workspace_or_store_is_the_hooks_own_affair(
    repo: Repository, server: Server, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = Repository(tmp_path_factory.mktemp("other"))
    ben = repo.client()
    elsewhere = through(ben, repo.folder, "claude", given=edit(other.folder), DIBS_WORKSPACE=str(other.folder))
    assert elsewhere.code in {0, 2}
    refused = through(ben, repo.folder, "claude", given=edit(repo.folder), DIBS_STORE="redis://127.0.0.1:1/0")
    assert "agents on two stores would not see each other" in refused.refusal
    server.end()
    assert (server.decided, server.declined) == (0, 2)
    other.close()


# --- the script's file


def test_the_script_is_its_owners_alone_and_goes_with_the_server(repo: Repository) -> None:
    server = Server(repo.folder)
    copy = repo.private / bash_script.NAME
    assert is_alone(server.script)
    assert is_alone(copy)
    assert server.script.stat().st_ino != copy.stat().st_ino
    server.end()
    assert not server.script.exists()
    assert not copy.exists()
    assert not list(server.script.parent.glob("serve*"))


def test_a_removed_script_is_put_back_and_that_of_a_later_server_stays(repo: Repository) -> None:
    first = Server(repo.folder)
    text = first.script.read_text()
    first.script.unlink()
    until(first.script.exists)
    assert first.script.read_text() == text
    first.signal(signal.SIGSTOP)
    second = Server(repo.folder)
    first.kill()
    assert second.script.read_text() != text
    second.end()


def test_from_a_linked_worktree_and_by_the_copy_below_gits_directory_the_server_is_asked(
    repo: Repository, server: Server
) -> None:
    tree = repo.worktree("side")
    ben = repo.client()
    assert through(ben, tree, "claude", given=edit(tree)).silent
    launcher = f"dibs_tree={repo.folder}; dibs_hook={repo.private}/hook; set -- claude; . $dibs_hook; exit 2"
    answer = ben.run("sh", "-c", launcher, cwd=repo.folder, given=edit(repo.folder, "b.py"))
    assert answer.silent
    server.end()
    assert (server.decided, server.declined) == (2, 0)


# --- the way of one request


class Stranger:
    """A program on the port, with a script that names it: what it gets, and what it says."""

    def __init__(self, repo: Repository, *says: bytes, echoes: bool = False) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.says, self.echoes = says, echoes
        self.got: list[bytes] = []
        self.segments = 0
        text = bash_script.text(self.listener.getsockname()[1], "s" * 32, "p" * 32, names=False)
        (repo.local / bash_script.NAME).write_text(text)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with contextlib.suppress(ConnectionError), self.listener, self.listener.accept()[0] as hook:
            hook.settimeout(PATIENCE)
            for word in self.says:
                self.got.append(hook.recv(1 << 20))
                hook.sendall(word)
            while part := hook.recv(1 << 20):
                self.got.append(part)
                if self.echoes:
                    hook.sendall(part)
            if sys.platform == "linux":  # tcpi_data_segs_in
                found = hook.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 160)
                self.segments = struct.unpack_from("=I", found, 152)[0]

    def end(self) -> None:
        """It has heard all."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


def test_a_request_with_a_newline_at_its_end_is_sent_in_two_packets_and_no_more(repo: Repository) -> None:
    stranger = Stranger(repo, b"p" * 32, b"0")
    ours, its = socket.socketpair()
    sent = edit(repo.folder)
    assert sent.endswith(b"\n")
    ours.sendall(sent)
    ours.shutdown(socket.SHUT_WR)
    command = f"dibs_tree={repo.folder}; dibs_hook=$dibs_tree/.dibs/hook; set -- claude; . $dibs_hook; exit 2"
    done = subprocess.run(
        ["sh", "-c", command], stdin=its.fileno(), capture_output=True, env=repo.env, cwd=repo.folder, check=False,
        timeout=PATIENCE,
    )  # fmt: skip
    for one in (ours, its):
        one.close()
    stranger.end()
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert stranger.got[1].split(b"\0")[-2] == sent[:-1]
    assert stranger.segments == 2


def test_what_is_sent_before_the_proof_tells_nothing_of_the_call(repo: Repository) -> None:
    stranger = Stranger(repo)
    ben = repo.client()
    assert through(ben, repo.folder, "claude", given=edit(repo.folder)).silent
    stranger.end()
    assert len(stranger.got) == 1
    assert re.fullmatch(rb"s{32}2\0\d+\0child\0", stranger.got[0])


@pytest.mark.parametrize(
    "says", [[], [b"0"], [b"0" * 40], [b"allow\0\0\0000\0"], [b"s" * 32 + b"0"], [b"p" * 31 + b"\n0"],
             [b"p" * 31 + b"\0000"], [b"p" * 32], [b"p" * 32, b"+"], [b"p" * 32, b"9"], [b"p" * 32, b"="],
             [b"p" * 32, b"=\0\0"], [b"p" * 32, b"=\0\0009\0"]],
)  # fmt: skip
def test_a_program_that_came_to_the_port_is_never_believed(says: list[bytes], repo: Repository) -> None:
    holder, ben = repo.agent("holder"), repo.client()
    holder.edit("a.py", "the holder's\n")
    stranger = Stranger(repo, *says, echoes=not says)
    answer = through(ben, repo.folder, "claude", given=edit(repo.folder))
    stranger.end()
    assert "holder holds a.py" in answer.refusal
    assert not (repo.local / bash_script.NAME).exists()  # the next hook does not meet it again


def hooks_at_once(repo: Repository, count: int) -> list[Answer]:
    agents = [repo.agent(f"a{n}") for n in range(count)]
    answers: list[Answer] = []

    def ask(agent: Agent) -> None:
        given = edit(repo.folder, f"{agent.session}.py", agent.session)
        answers.append(through(agent.client, repo.folder, "claude", given=given))

    threads = [threading.Thread(target=ask, args=(agent,)) for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_32_hooks_at_once_are_answered_and_each_holds_its_file(repo: Repository, server: Server) -> None:
    answers = hooks_at_once(repo, 32)
    assert [answer for answer in answers if not answer.silent] == []
    assert repo.claims() == {f"a{n}": [f"a{n}.py"] for n in range(32)}
    server.end()
    assert server.decided + server.declined == 32
    assert server.decided > 16


def test_a_slow_request_is_not_done_twice(repo: Repository) -> None:
    server = Server(repo.folder, "slow", "limit=1")
    ben = repo.client()
    assert through(ben, repo.folder, "claude", given=edit(repo.folder)).silent
    server.end()
    assert (server.decided, server.declined) == (1, 0)
    assert len([line for line in repo.ledger.read_text().splitlines() if line.startswith("O\t")]) == 1


def test_more_slow_requests_than_threads_are_declined_and_done_at_once(repo: Repository) -> None:
    server = Server(repo.folder, "full=4")
    answers = hooks_at_once(repo, 12)
    assert [answer for answer in answers if not answer.silent] == []
    server.end()
    assert server.decided == 8
    assert server.declined == 4
    assert repo.claims() == {f"a{n}": [f"a{n}.py"] for n in range(12)}


@pytest.mark.parametrize("spoiled", [b"", b"\n", b"{", b'{"a": \xff}', b"[]", b'{"session_id": "\xc3\x28"}'])
def test_what_is_no_payload_is_refused_in_the_same_words(spoiled: bytes, repo: Repository, server: Server) -> None:
    ben = repo.client()
    direct = ben.run(*HOOK, "claude", cwd=repo.folder, given=spoiled)
    served = through(ben, repo.folder, "claude", given=spoiled)
    assert (served.code, served.out, served.err) == (direct.code, direct.out, direct.err)
    assert served.code == 2
    server.end()
    assert server.decided == 1


def test_a_zero_byte_in_a_payload_does_not_hide_what_it_names(repo: Repository, server: Server) -> None:
    repo.agent("holder").edit("a.py", "the holder's\n")
    ben = repo.client()
    spoiled = edit(repo.folder).replace(b"Edit", b"Ed\0it")
    assert through(ben, repo.folder, "claude", given=spoiled).code == 2
    server.end()


@pytest.mark.parametrize(
    ("size", "decided"), [(200_000, 1), (262_143, 1), (262_144, 0), (300_000, 0), (15 << 20, 0), (20 << 20, 0)]
)
def test_a_payload_of_any_size_is_answered_as_directly(
    size: int, decided: int, repo: Repository, server: Server
) -> None:
    given = {"file_path": f"{repo.folder}/a.py", "content": ""}
    payload: dict[str, Any] = {"session_id": "ben", "cwd": str(repo.folder), "hook_event_name": "PreToolUse",
               "tool_name": "Write", "tool_input": given, "tool_use_id": "1"}  # fmt: skip
    given["content"] = "x" * (size - len(json.dumps(payload)))
    text = json.dumps(payload).encode()
    ben = repo.client()
    served = through(ben, repo.folder, "claude", given=text)
    direct = ben.run(*HOOK, "claude", cwd=repo.folder, given=text)
    assert (served.code, served.out, served.err) == (direct.code, direct.out, direct.err)
    assert served.code == (2 if size > 16 << 20 else 0)
    server.end()
    assert server.decided == decided


@pytest.mark.parametrize("words", [[], ["old-bash"]])
def test_where_sh_is_bash_it_reads_the_script_itself(words: list[str], repo: Repository) -> None:
    sh = repo.scratch / "sh"
    sh.symlink_to("/bin/bash")
    repo.agent("holder").edit("b.py", "the holder's\n")
    server = Server(repo.folder, *words)
    ben = repo.client()
    for _ in range(2):
        assert through(ben, repo.folder, "claude", given=edit(repo.folder), sh=str(sh)).silent
    assert (
        "holder holds b.py" in through(ben, repo.folder, "claude", given=edit(repo.folder, "b.py"), sh=str(sh)).refusal
    )
    server.end()
    assert (server.decided, server.declined) == (3, 0)
    assert through(ben, repo.folder, "claude", given=edit(repo.folder), sh=str(sh)).silent


def test_as_on_a_bash_before_4_1_the_answers_are_the_same(repo: Repository) -> None:
    repo.agent("holder").edit("b.py", "the holder's\n")
    server = Server(repo.folder, "old-bash")
    ben = repo.client()
    assert through(ben, repo.folder, "claude", given=edit(repo.folder)).silent
    assert "holder holds b.py" in through(ben, repo.folder, "claude", given=edit(repo.folder, "b.py")).refusal
    server.end()
    assert (server.decided, server.declined) == (2, 0)


def test_what_the_agents_shell_exports_is_not_run(repo: Repository, server: Server) -> None:
    startup = repo.scratch / "startup"
    startup.write_text("exit 0\n")
    repo.agent("holder").edit("a.py", "the holder's\n")
    ben = repo.client()
    env = {"BASH_ENV": str(startup), "ENV": str(startup), "BASH_FUNC_read%%": "() { exit 0; }", "LC_ALL": "C.UTF-8"}
    words = [f"{name}={value}" for name, value in env.items()]
    command = f"dibs_hook={repo.folder}/.dibs/hook; set -- claude; . $dibs_hook; exit 2"
    answer = ben.run("env", *words, "sh", "-c", command, cwd=repo.folder, given=edit(repo.folder))
    assert "holder holds a.py" in answer.refusal
    server.end()
    assert server.decided == 1


@pytest.mark.slow
def test_a_text_that_never_ends_is_refused(repo: Repository, server: Server) -> None:
    ours, its = socket.socketpair()
    ours.sendall(edit(repo.folder)[:-20])
    command = f"dibs_hook={repo.folder}/.dibs/hook; set -- claude; . $dibs_hook; exit 2"
    began = time.monotonic()
    done = subprocess.run(
        ["sh", "-c", command], stdin=its.fileno(), capture_output=True, env=repo.env, cwd=repo.folder, check=False,
        timeout=PATIENCE,
    )  # fmt: skip
    for one in (ours, its):
        one.close()
    assert done.returncode == 2
    assert b"did not finish sending" in done.stderr
    assert time.monotonic() - began < PATIENCE / 2
    server.end()


def test_a_script_of_another_dibs_than_the_launchers_is_not_asked(
    repo: Repository, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        other = tmp_path_factory.mktemp("it's another") / "entry.py"
        other.write_text("")
        text = bash_script.text(listener.getsockname()[1], "s" * 32, "p" * 32, names=False, entry=str(other))
        (repo.local / bash_script.NAME).write_text(text)
        assert through(repo.client(), repo.folder, "claude", given=edit(repo.folder)).silent
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert (repo.local / bash_script.NAME).exists()
