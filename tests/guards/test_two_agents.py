"""Two agents with random real commands on real files: what tests/guards/two_agents.py asks for holds in every order."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.guards.two_agents import FILES, World
from tests.guards.two_agents_moves import play, tell
from tests.interfaces.quick import QuickClient, Scratch

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

TORTURE = bool(os.environ.get("DIBS_TORTURE"))
EXAMPLES, STEPS = (250, 40) if TORTURE else (16, 15)

Stage = tuple[Scratch, list[QuickClient]]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    scratch = Scratch(tmp_path_factory.mktemp("two"), FILES)
    processes = [scratch.process(), scratch.process()]
    scratch.keep()
    yield scratch, processes
    scratch.close()


def world(stage: Stage) -> World:
    stage[0].put_back()
    return World(*stage)


@pytest.mark.long
@settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
)
@given(
    steps=st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 191), st.integers(0, 2), st.integers(1, 2)),
        min_size=STEPS, max_size=STEPS,
    )
)  # fmt: skip
def test_nothing_of_an_agent_s_is_lost_or_taken_or_overwritten_unseen(
    stage: Stage, steps: list[tuple[int, int, int, int]]
) -> None:
    play(world(stage), steps)


# What the search found once, and what must never come back.
STORIES = {
    "what another added to the work of a session that has ended is not overwritten unread": """
        a do Edit b.txt
        b before sh gen.sh (appends to b.txt)
        b run
        a end
        a do heredoc b.txt
        b after
    """,
    "what another may have added to the work of a session that has ended is not overwritten unread": """
        a do Write c.txt
        a before sh gen.sh (writes a.txt)
        a run
        b before sh gen.sh (writes c.txt)
        b run
        a after
        a end
        a do Write c.txt
        b after
    """,
    "what an agent throws away as its own leaves a copy if it may be another's": """
        b do sh gen.sh (removes b.txt)
        b before sed -i a.txt
        a do sh gen.sh (writes c.txt)
        b run
        b after
        b before sh gen.sh (appends to a.txt)
        a do sh gen.sh (writes b.txt)
        b run
        b after
        b do Edit c.txt
        b do git stash
    """,
    "what git brought back is watched, so a script's work in it is known before another's script removes it": """
        a do git checkout c.txt
        b before sh gen.sh (writes c.txt)
        b run
        a before sh gen.sh (removes c.txt)
        a run
        b after
        a after
    """,
    "what its author has read after a script made it is still the author's": """
        a do sh gen.sh (writes c.txt)
        a do Read c.txt
        b do git reset --hard
    """,
    "what another reads while its author's program runs is still its author's": """
        a before sh gen.sh (writes c.txt)
        a run
        b do Read c.txt
        a after
        b do git commit -am
    """,
    "what another has read is still its author's": """
        a do sh gen.sh (writes c.txt)
        b do Read c.txt
        b do git commit -am
    """,
    "a whole write that was overtaken before its second hook gives no knowledge of what is there": """
        b before heredoc a.txt
        a before sh gen.sh (appends to a.txt)
        b run
        a run
        b after
        a after
        b do heredoc a.txt
    """,
    "the holder's own command does not make another's change its own": """
        a do Write a.txt
        b before sh gen.sh (writes a.txt)
        b run
        a do ls
        b after
    """,
    "the same again is told again": """
        a do Write a.txt
        b do sh gen.sh (removes a.txt)
        a do git checkout a.txt
        a do Write a.txt
        b do sh gen.sh (removes a.txt)
    """,
    "a call without an end switches nothing off": """
        a do Write a.txt
        a before Edit a.txt
        a break
        b do sh gen.sh (writes a.txt)
    """,
    "what a script made is kept from another's sweep": """
        a do sh gen.sh (writes a.txt and b.txt)
        b do git checkout .
        b do git stash
        b do git add -A && commit
    """,
    "what an ended session left is kept from another's sweep": """
        a do Write a.txt
        a end
        b do git reset --hard
    """,
    "what one of two may have made is not written over by the other without a word": """
        b before git checkout .
        b break
        a do sh gen.sh (appends to c.txt)
        b do Read c.txt
        b do Write c.txt
    """,
    "what one of two may have made is not thrown away by the other without a word": """
        b before git checkout .
        b break
        a do sh gen.sh (appends to c.txt)
        b do git checkout c.txt
    """,
    "what one of two may have made is kept from the other's sweep": """
        b before git checkout .
        b break
        a do sh gen.sh (appends to c.txt)
        b do git commit -am
        b do git stash
        b do git reset --hard
    """,
    "an edit of a missing file, which fails, gives no knowledge of what another makes there": """
        a do sh gen.sh (removes c.txt)
        a before Edit c.txt
        b do sh gen.sh (appends to c.txt)
        a run
        a after
        a do Write c.txt
    """,
    "what another's script makes where a command that was broken off found no file is not that command's": """
        a do sh gen.sh (removes c.txt)
        b before sed -i c.txt
        b break
        a do sh gen.sh (writes c.txt)
        b do git checkout .
    """,
    "the successor of an agent that was killed in the middle of a command is not accused": """
        a before sed -i a.txt
        a run
        a kill
        a do sh gen.sh (writes a.txt)
        a do Write and format a.txt
        a do git commit a.txt
    """,
    "a formatter is its client's while another's program runs": """
        b before sh gen.sh (writes b.txt)
        a do Write and format a.txt
        a do Edit and format a.txt
        a do Edit and format a.txt
        b run
        b after
        a do git commit a.txt
    """,
    "a quick program after a quick program is told": """
        a do sh gen.sh (writes a.txt)
        b do sh gen.sh (writes a.txt)
    """,
    "a command that runs when the claim is gone is noticed": """
        b before sh gen.sh (writes a.txt)
        a do Write a.txt
        a stop
        b run
        b after
    """,
}


@pytest.mark.parametrize("title", STORIES)
def test_once_found(stage: Stage, title: str) -> None:
    tell(world(stage), STORIES[title])
