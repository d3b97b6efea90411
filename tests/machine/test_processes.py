"""Processes: named so that no other is taken for them, and seen to be dead when they are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from dibs.machine import processes
from tests.waiting import until


def test_this_process_is_alive_and_named_by_its_start() -> None:
    this = processes.this()
    assert this[3] == os.getpid()
    assert processes.alive(this) is True


def test_the_same_pid_with_another_start_is_another_process() -> None:
    this = processes.this()
    assert processes.alive([*this[:4], this[4] + 1]) is False


def test_another_boot_of_this_host_is_over_and_another_host_cannot_be_seen() -> None:
    host, boot, namespace, pid, start = processes.this()
    assert processes.alive([host, "another-boot", namespace, pid, start]) is False
    assert processes.alive(["another-host", boot, namespace, pid, start]) is None
    assert processes.alive([host, boot, "another-namespace", pid, start]) is None


def test_a_killed_child_is_dead_even_while_it_is_a_zombie() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    process = processes.of(child.pid)
    assert process is not None
    assert processes.alive(process) is True
    child.kill()
    until(lambda: processes.alive(process) is False, "its death")
    child.wait()
    assert processes.of(child.pid) is None


def test_a_stopped_process_is_alive_and_seen_to_be_stopped() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        os.kill(child.pid, signal.SIGSTOP)
        until(lambda: processes.stopped(child.pid), "its stop")
        process = processes.of(child.pid)
        assert process is not None
        assert processes.alive(process) is True
    finally:
        child.kill()
        child.wait()


def test_the_ancestors_begin_with_the_parent_and_name_each() -> None:
    chain = processes.ancestors()
    assert chain[0][0][3] == os.getppid()
    assert all(name for _, name in chain)


def test_a_client_is_recognised_by_its_name() -> None:
    one, two = processes.this(), [*processes.this()[:4], 5]
    assert processes.client_among([(one, "bash"), (two, "claude"), (one, "codex")], ("codex", "claude")) == two
    assert processes.client_among([(one, "bash")], ("codex", "claude")) is None


def test_names_with_blanks_and_parentheses_are_read() -> None:
    code = (
        "import ctypes,sys; ctypes.CDLL(None).prctl(15, b'a) (b 1', 0, 0, 0); "
        "sys.stdout.write('x'); sys.stdout.flush(); sys.stdin.read()"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        child.stdout.read(1)
        stat = processes._stat(child.pid)
        assert stat is not None
        assert (stat[0], stat[3]) == (os.getpid(), "a) (b 1")
    finally:
        child.kill()
        child.communicate()
