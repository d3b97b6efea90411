"""A state machine against a tiny independent model of who may hold what.

The model knows four files, who claimed which of them in which mode and until when; nothing of dibs. Without waiting,
every answer is determined: what the model allows must be granted, and what it forbids must be refused.
"""

from __future__ import annotations

from typing import cast

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dibs.errors import DibsError, Fenced, Held, Killed
from tests.operations.fleet import Fleet

FILES = ("src/a.py", "src/b.py", "src/sub/a.py", "top.md")
# What can be asked for, and which of the files it covers. Written down by hand, on purpose.
COVERS = {
    "src/a.py": {"src/a.py"},
    "src/b.py": {"src/b.py"},
    "src/sub/a.py": {"src/sub/a.py"},
    "top.md": {"top.md"},
    "src/": {"src/a.py", "src/b.py", "src/sub/a.py"},
    "src/sub/": {"src/sub/a.py"},
    "src/*.py": {"src/a.py", "src/b.py"},
    "**/a.py": {"src/a.py", "src/sub/a.py"},
    "*.md": {"top.md"},
    "src/**/[ab].py": {"src/a.py", "src/b.py", "src/sub/a.py"},
}
AGENTS = ("a", "b", "a/x", "a/y")
TTLS = (1_000, 10_000, 100_000)


def kin(one: str, other: str) -> bool:
    return one == other or one.startswith(other + "/") or other.startswith(one + "/")


class Claims(RuleBasedStateMachine):
    """Random calls, checked one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.fleet = Fleet()
        self.live: list[dict[str, object]] = []  # agent, name, mode, ttl, until, token
        self.killed: set[str] = set()
        self.tokens: list[tuple[str, str, int]] = []

    def alive(self) -> list[dict[str, object]]:
        return [hold for hold in self.live if hold["until"] > self.fleet.now]  # type: ignore[operator]

    def is_killed(self, agent: str) -> bool:
        return any(agent == k or agent.startswith(k + "/") for k in self.killed)

    @rule(agent=st.sampled_from(AGENTS), name=st.sampled_from(sorted(COVERS)), mode=st.sampled_from(("write", "read")),
          ttl=st.sampled_from(TTLS))  # fmt: skip
    def claim(self, agent: str, name: str, mode: str, ttl: int) -> None:
        """Granted exactly when nobody unrelated holds a file of it in a conflicting mode."""
        in_the_way = [
            hold
            for hold in self.alive()
            if COVERS[str(hold["name"])] & COVERS[name]
            and "write" in (mode, hold["mode"])
            and not kin(agent, str(hold["agent"]))
        ]
        try:
            answer = self.fleet.claim(agent, name, mode=mode, ttl=ttl)
        except Killed:
            assert self.is_killed(agent)
            return
        except Held as refused:
            assert in_the_way, f"refused for no reason: {refused.blockers}"
            assert {b["agent"] for b in refused.blockers} == {h["agent"] for h in in_the_way}
            return
        assert not self.is_killed(agent)
        assert not in_the_way, f"granted in spite of {in_the_way}"
        mine = [h for h in self.alive() if h["agent"] == agent and h["token"] == answer["token"]]
        if answer.get("renewed"):  # a shorter one does not shorten what is held
            (hold,) = mine
            longest = max(ttl, cast("int", hold["ttl"]))
            hold.update(ttl=longest, until=self.fleet.now + longest)
        else:
            assert all(answer["token"] > h["token"] for h in self.live)
            weaker = [h for h in self.alive() if h["agent"] == agent and h["name"] == name and h["mode"] == "read"]
            longest = max([ttl, *[cast("int", h["ttl"]) for h in weaker]])
            self.live = [h for h in self.live if h not in weaker]  # an upgrade takes their place, and lasts as long
            until = self.fleet.now + longest
            self.live.append(
                {"agent": agent, "name": name, "mode": mode, "ttl": longest, "until": until, "token": answer["token"]}
            )
        self.tokens.append((agent, name, answer["token"]))

    @precondition(lambda self: self.tokens)
    @rule(data=st.data())
    def confirm(self, data: st.DataObject) -> None:
        """A token is live exactly as long as the model says."""
        agent, name, token = data.draw(st.sampled_from(self.tokens[-20:]))
        live = any(h["token"] == token for h in self.alive())
        try:
            self.fleet.call(agent, "confirm", resource=name, token=token)
        except Fenced:
            assert not live
        else:
            assert live

    @precondition(lambda self: self.tokens)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        """A live token releases its claim, a stale one nothing."""
        agent, _, token = data.draw(st.sampled_from(self.tokens[-20:]))
        found = [h for h in self.alive() if h["token"] == token]
        name = str(found[0]["name"]) if found else "top.md"
        try:
            self.fleet.release(agent, name, token=token)
        except Killed:
            assert self.is_killed(agent)
        except DibsError:
            assert not found
        else:
            assert found
            self.live.remove(found[0])

    @rule(agent=st.sampled_from(AGENTS))
    def release_all(self, agent: str) -> None:
        """Everything of the agent and its descendants."""
        try:
            self.fleet.release(agent)
        except Killed:
            assert self.is_killed(agent)
            return
        self.live = [h for h in self.live if h["agent"] != agent and not str(h["agent"]).startswith(agent + "/")]

    @rule(ms=st.sampled_from((1, 999, 1_000, 5_000, 20_000)))
    def time_passes(self, ms: int) -> None:
        """Deadlines come."""
        self.fleet.now += ms

    @rule(agent=st.sampled_from(AGENTS))
    def kill_or_revive(self, agent: str) -> None:
        """The kill switch voids at once; reviving gives nothing back."""
        if agent in self.killed:
            self.fleet.call("boss", "revive", agent=agent)
            self.killed.discard(agent)
            return
        try:
            self.fleet.call("boss", "kill", agent=agent, why="test")
        except DibsError:
            return  # not seen yet
        self.killed.add(agent)
        self.live = [h for h in self.live if h["agent"] != agent and not str(h["agent"]).startswith(agent + "/")]

    @rule()
    def sweep(self) -> None:
        """Sweeping changes nothing that anybody can see."""
        self.fleet.call("boss", "sweep")

    @invariant()
    def status_shows_what_the_model_knows(self) -> None:
        """Exactly the live claims, and nothing else."""
        shown = sorted((c["agent"], c["token"]) for c in self.fleet.call("v", "status")["claims"])
        assert shown == sorted((h["agent"], h["token"]) for h in self.alive())

    def teardown(self) -> None:
        """The log is clean."""
        self.fleet.clean()


Claims.TestCase.settings = settings(
    settings.get_profile(settings._current_profile or "default"), stateful_step_count=40
)
TestClaims = Claims.TestCase
