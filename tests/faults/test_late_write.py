"""SIGSTOP of a tool between its hook and its write, past the deadline of its agent's claim; then it goes on.

Meanwhile another agent has taken the file and written it. The late write cannot be kept from the disk. It is told to
both, what it overwrote comes back with one command, and a commit of it is refused.
"""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.faults.kit import size
from tests.interfaces.repository import Repository
from tests.waiting import until

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.slow

LATE, TAKEN = "late\n", "the taker's\n"
PLAYS, ROUNDS, FILES = size(1, 20), size(1, 5), size(4, 10)  # all writers of a round stand still at the same time


def stopped_writer(repo: Repository, name: str) -> subprocess.Popen[bytes]:
    """A tool that stands still right before its write."""
    command = f"kill -STOP $$; printf '{LATE[:-1]}\\n' > {name}"
    made = subprocess.Popen(["sh", "-c", command], cwd=repo.folder)
    until(lambda: os.waitid(os.P_PID, made.pid, os.WSTOPPED | os.WNOWAIT | os.WNOHANG))
    return made


@pytest.mark.parametrize("_", range(PLAYS))
def test_a_write_that_comes_after_its_claim_s_deadline_is_told_restorable_and_not_committed(
    repo: Repository, _: int
) -> None:
    for turn in range(ROUNDS):
        names = [f"f{turn}-{number}.py" for number in range(FILES)]
        for name in names:
            repo.write(name, "at first\n")
        repo.git("add", "-A")
        repo.git("commit", "-q", "-m", "more")
        late, taker = repo.agent(f"late-{turn}"), repo.agent(f"taker-{turn}")
        late.boot()
        taker.boot()
        writers = []
        for name in names:
            late.read(name)
            assert late.dibs("claim", name, "--ttl", "1s")["ok"]
            assert late.may("Write", name, file_path=str(repo.folder / name), content=LATE).silent
            writers.append(stopped_writer(repo, name))
        for name in names:
            assert taker.dibs("claim", name, "--wait", "60s")["ok"]
            taker.read(name)
            taker.edit(name, TAKEN)
        for name, writer in zip(names, writers, strict=True):
            writer.send_signal(signal.SIGCONT)
            assert writer.wait() == 0
            assert (repo.folder / name).read_text() == LATE, "nothing keeps it from the disk"
            told = late.did("Write", name, file_path=str(repo.folder / name), content=LATE).told
            assert name in told, told
            assert f"taker-{turn} holds" in told, told
        git = ("git", "commit", "-q", "-m", "late", "--", *names)
        assert f"taker-{turn}" in late.may_run(" ".join(git)).refusal
        refused = late.client.run(*git, cwd=repo.folder, CLAUDE_CODE_SESSION_ID=late.session)  # past the first guard
        assert refused.code != 0
        assert f"taker-{turn}" in refused.err
        seen = taker.hook("UserPromptSubmit", prompt="go on").told
        for name in names:
            assert name in seen, seen
            answer = taker.dibs("restore", name)
            assert answer.get("restored") == name, (turn, answer)
            assert (repo.folder / name).read_text() == TAKEN
        taker.dibs("release", "--all")
        taker.end()
        late.end()
