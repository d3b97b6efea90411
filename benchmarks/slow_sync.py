"""A disk whose fsync takes a millisecond longer: a small library that stands before the C library's own function.

What a group of claims gains is the fsyncs that it saves, so it depends on the disk: a server's disk with a battery
answers in 0.1 ms, that of a laptop in one to ten. With this both kinds can be measured on one machine.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.place import Bench

LONGER_MS = 1
_SOURCE = f"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
static void wait_longer(void) {{ struct timespec t = {{0, {LONGER_MS}000000}}; nanosleep(&t, 0); }}
int fsync(int fd) {{ wait_longer(); return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd); }}
int fdatasync(int fd) {{ wait_longer(); return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd); }}
"""


def environment(bench: Bench) -> dict[str, str] | str:
    """What a process has to be started with; a text says why there is no such disk here."""
    if sys.platform != "linux":
        return "on Linux alone"
    path = f"{bench.sub('slow-sync')}/slow_sync.so"
    words = ["cc", "-shared", "-fPIC", "-O2", "-x", "c", "-", "-o", path, "-ldl"]
    try:
        done = subprocess.run(words, input=_SOURCE, capture_output=True, text=True, check=False, timeout=60)
    except OSError:
        return "no C compiler"
    return {"LD_PRELOAD": path} if done.returncode == 0 else f"cc: {done.stderr.strip()[:100]}"
