"""Real processes that claim, upgrade, wait and are interrupted; then every decision in the log is made again."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from dibs.workspace import config
from tests.faults.claim_model import Model
from tests.faults.kit import Dice, World, size
from tests.stores.redis_server import ALWAYS, Machine, running

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.stores.seam import LogEvent

pytestmark = pytest.mark.slow

AGENTS = 4


def play(world: World, dice: Dice) -> Counter[str]:
    """All at once, each in its own process; what they say that happened."""
    steps = size(20, 600)
    actors = [world.blank() for _ in range(AGENTS)]
    for number, actor in enumerate(actors):
        seed = dice.randrange(1 << 30)
        named = {"folder": str(world.folder), "agent": f"agent-{number}", "seed": seed, "steps": steps}
        actor.send("job", name="claim_at_random", **named)
    seen: Counter[str] = Counter()
    for actor in actors:
        seen.update(actor.receive(60.0 + steps * 4))
    return seen


def judge(events: list[LogEvent], seen: Counter[str]) -> None:
    """The log holds no decision that the model would not have made, and nothing is left."""
    model = Model(events)
    print(dict(seen), dict(model.seen))
    assert model.problems == []
    assert model.places == {}
    assert model.claims == {}
    assert seen["granted"]


def test_processes_on_sqlite_get_only_what_a_brute_force_model_of_the_log_allows(world: World, dice: Dice) -> None:
    seen = play(world, dice)
    judge(world.events(), seen)
    world.check()


def test_processes_on_redis_get_only_what_a_brute_force_model_of_the_log_allows(
    worlds: Callable[[], World], dice: Dice
) -> None:
    with running(**ALWAYS) as server:
        world = worlds()
        path = world.folder / ".dibs" / "config.toml"
        path.write_text(f'store = "{server.url}"\n' + path.read_text())
        for name in ("store", "dibs.db"):
            (world.local / name).unlink(missing_ok=True)
        seen = play(world, dice)
        found = config.load(str(path), str(world.local), str(world.folder))
        machine = Machine(server.url, workspace=found.id)
        judge(machine.events(), seen)
        machine.store.close()
        world.close()
