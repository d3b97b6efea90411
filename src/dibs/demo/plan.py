"""The plan of all edits, the same in both rounds: the parent and every agent compute it from a seed.

Four agents have a part, each at one of its edits, so that nothing in the demo depends on chance:

- `dies`      has read the file and is about to write it when it is killed with SIGKILL.
- `inherits`  waits and takes the same file as soon as the other one is dead.
- `pauses`    has read the file and is about to write it when it is stopped, beyond its deadline.
- `overtakes` takes the same file meanwhile, and has it when the paused one continues.

The two files differ, so the stories do not interfere. All other agents only edit.
"""

from __future__ import annotations

from random import Random

DIES, INHERITS, PAUSES, OVERTAKES = "dies", "inherits", "pauses", "overtakes"
PARTS = {DIES: 1, INHERITS: 0, PAUSES: 2, OVERTAKES: 3}  # which agent of the fleet has which part

MIN_AGENTS = len(PARTS)
MAX_AGENTS = 64  # real processes, each an interpreter of some 20 MB
MIN_EDITS = 2  # one of them is the killed agent's last
MAX_EDITS = 500
AGENTS, EDITS, SEED = 12, 20, 1  # some twenty seconds on two cores

FILES = ("CHANGELOG.txt", "config/flags.txt", "docs/index.txt", "src/api/routes.txt", "src/models/version.txt")
THINK_MS = (30, 130)  # between reading and writing: a model takes far longer, and so loses far more
TRY_FIRST = 3  # every third claim is first tried without waiting, to get a refusal

TTL_S = 30.0  # an edit takes a tenth of a second
SHORT_TTL_S = 2.0  # of the claim that is paused: short, so that its deadline passes while people watch
PAUSE_S = 2.6  # longer than that claim lasts
WAIT_S = 60.0  # in the queue, before an agent asks again

CUE_MARKERS = {DIES: "dying", PAUSES: "pausing"}  # the agent touches it when the parent should act


class Step:
    """One edit of one agent."""

    __slots__ = ("file", "id", "part", "think", "try_first")

    def __init__(self, name: str, file: str, think: float, *, try_first: bool, part: str = "") -> None:
        self.id = name
        self.file = file
        self.think = think  # seconds
        self.try_first = try_first
        self.part = part


class Size:
    """The size of the fleet, and the seed of its plan."""

    __slots__ = ("agents", "edits", "seed")

    def __init__(self, agents: int = AGENTS, edits: int = EDITS, seed: int = SEED) -> None:
        self.agents, self.edits, self.seed = agents, edits, seed

    @property
    def names(self) -> list[str]:
        """The agents' ids."""
        return [name_of(index) for index in range(self.agents)]

    @property
    def planned(self) -> int:
        """The number of edits in one round, without those of the killed agent after its death."""
        return self.agents * self.edits - (self.edits - self.edits // 2)


def name_of(index: int) -> str:
    """An agent's id."""
    return f"agent-{index + 1:02d}"


def agent_with(part: str) -> str:
    """The id of the agent that has this part."""
    return name_of(PARTS[part])


def file_of(size: Size, part: str) -> str:
    """The file of a part: one for the killed agent and its heir, another for the paused one and its overtaker."""
    first, second = Random(f"{size.seed}:files").sample(FILES, 2)  # noqa: S311 - a plan that can be repeated
    return first if part in {DIES, INHERITS} else second


def steps(size: Size, index: int) -> list[Step]:
    """All edits of one agent, in order."""
    dice = Random(f"{size.seed}:{index}")  # noqa: S311 - a plan that can be repeated
    found = []
    for number in range(size.edits):
        file, think, tried = dice.choice(FILES), dice.randint(*THINK_MS) / 1000, dice.randrange(TRY_FIRST) == 0
        found.append(Step(f"{name_of(index)}.{number + 1}", file, think, try_first=tried))
    for part, whose in PARTS.items():
        if whose == index:
            step = found[size.edits // 2 if part in {DIES, INHERITS} else size.edits // 3]
            step.part, step.file, step.try_first = part, file_of(size, part), part == OVERTAKES
    return found
