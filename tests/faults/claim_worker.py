"""One agent that claims, upgrades, waits, is interrupted and releases at random, in a process of its own.

After every call it compares what the store says of it with what it was told: a call that was refused or interrupted
has left nothing behind, neither a place in a queue nor a claim.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Mapping
from random import Random
from types import FrameType
from typing import Any

import dibs

NAMES = ("n:1", "n:2", "src", "src/a.py")
# What an interrupt may break inside an engine is tested with the engines; here it meets what stands above them.
ENGINES = ("stores/sqlite/gate.py", "stores/sqlite/store.py")


class Interrupter:
    """Interrupts the main thread once, some time after a call began, unless the call is over by then."""

    def __init__(self) -> None:
        self._armed = False
        signal.signal(signal.SIGINT, self._ring)

    def arm(self, seconds: float) -> threading.Thread:
        """Ring after this time, again and again until it is heard."""
        self._armed = True
        thread = threading.Thread(target=self._insist, args=(seconds,), daemon=True)
        thread.start()
        return thread

    def disarm(self) -> None:
        """The call is over."""
        self._armed = False

    def _insist(self, seconds: float) -> None:
        time.sleep(seconds)
        while self._armed:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.0005)

    def _ring(self, _number: int, frame: FrameType | None) -> None:
        waits = False
        while frame is not None:
            if frame.f_code.co_filename.endswith(ENGINES) and frame.f_code.co_name != "wait":
                return
            if frame.f_code.co_name == "run_waiting":  # and no interrupt of a call that has its answer already
                waits = not frame.f_locals.get("answered", True)
            frame = frame.f_back
        if self._armed and waits:
            self._armed = False
            raise KeyboardInterrupt


class Worker:
    """The agent, and what it was told that it holds: claim id → resources, mode, token."""

    def __init__(self, folder: str, agent: str, seed: int) -> None:
        self.dice = Random(seed)
        self.agent = agent
        self.workspace = dibs.open(folder, agent, timeout=30)
        self.held: dict[str, tuple[list[str], str, int]] = {}
        self.interrupter = Interrupter()
        self.seen: Counter[str] = Counter()

    def step(self) -> None:
        """One thing or another."""
        readers = [names for names, mode, _ in self.held.values() if mode == "read"]
        chance = self.dice.random()
        if self.held and chance < 0.35:
            self.release(self.dice.choice(sorted(self.held)))
        elif readers and chance < 0.65:
            self.claim(self.dice.choice(readers), "write")
        else:
            names = self.dice.sample(NAMES, self.dice.choice((1, 1, 2)))
            self.claim(names, self.dice.choice(("read", "read", "write")))

    def claim(self, names: list[str], mode: Any) -> None:
        """Ask; wait or not; be interrupted or not."""
        wait = self.dice.choice((0, 0.02, 0.1, 0.4))
        thread = None
        if wait and self.dice.random() < 0.4:
            thread = self.interrupter.arm(self.dice.random() ** 3 * wait)
        try:
            answer = self.workspace.claim(*names, mode=mode, wait=wait, ttl=120).answer
            self.interrupter.disarm()
        except KeyboardInterrupt:
            self.seen["interrupted"] += 1
            self.take_note(names)
        except (dibs.Held, dibs.Deadlock) as refused:
            self.seen[refused.code] += 1
        else:
            self.seen["granted"] += 1
            if not answer.get("renewed"):
                self.grow(answer)
        finally:
            self.interrupter.disarm()
            if thread is not None:
                thread.join()
        self.compare()

    def take_note(self, names: list[str]) -> None:
        """An upgrade that was granted in the moment of the interrupt stays, in the place of what was held before."""
        for one in self.workspace.status()["claims"]:
            if one["agent"] == self.agent and one["claim"] not in self.held:
                assert one["mode"] == "write"
                assert any(mode == "read" and {*mine} & {*names} for mine, mode, _ in self.held.values())
                self.seen["upgraded in the moment of an interrupt"] += 1
                self.grow(one)

    def grow(self, answer: Mapping[str, Any]) -> None:
        """A new claim; what was weaker on the very same is part of it now."""
        for claim, (mine, weaker, token) in list(self.held.items()):
            left = [name for name in mine if name not in answer["resources"]]
            if answer["mode"] == "write" and weaker == "read" and left != mine:
                self.held[claim] = (left, weaker, token)
                if not left:
                    del self.held[claim]
        self.held[answer["claim"]] = (answer["resources"], answer["mode"], answer["token"])

    def release(self, claim: str) -> None:
        """Give one back."""
        names, _, token = self.held.pop(claim)
        self.workspace.release(*names, token=token)

    def compare(self) -> None:
        """The store says of this agent what it was told, and no more."""
        status = self.workspace.status()
        mine = {
            one["claim"]: (one["resources"], one["mode"], one["token"])
            for one in status["claims"] if one["agent"] == self.agent
        }  # fmt: skip
        assert mine == self.held, (mine, self.held)
        assert [one for one in status["waiting"] if one["agent"] == self.agent] == []


def work(folder: str, agent: str, seed: int, steps: int) -> dict[str, Any]:
    """So many steps; then everything is given back."""
    worker = Worker(folder, agent, seed)
    for _ in range(steps):
        worker.step()
    for claim in sorted(worker.held):
        worker.release(claim)
    worker.compare()
    worker.workspace.close()
    return worker.seen
