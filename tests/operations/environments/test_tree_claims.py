"""What a working tree has: the same units again, never another tree's, in one claim, ended in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Fenced, Held, Invalid, NotFound
from dibs.operations.environments.records import id_of_tree
from dibs.operations.environments.tree_claims import LIST, RELEASE, TAKE
from dibs.operations.guards.removed_trees import REMOVED
from dibs.workspace import config_env
from tests.operations.engines import OnEngine
from tests.operations.fleet import Fleet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.operations.pools.shapes import Pool

DAY = 86_400_000


def pool(**said: Any) -> Pool:
    return {"wait": 600_000, "on_timeout": "refuse", "scope": "workspace", **said}  # type: ignore[typeddict-item]


POOLS: dict[str, Pool] = {
    "port": pool(range=[3100, 3109]),
    "db": pool(names=["app_", ""], size=3),
    "gpu": pool(units=["a", "b", "c", "d"]),
}


class Trees(Fleet):
    """A fleet in working trees whose config says something about environments."""

    def __init__(self, variables: dict[str, str], idle: str = "7d", **policy: Any) -> None:
        super().__init__(pools={"named": dict(POOLS), "use": []}, **policy)
        self.set_up(variables, idle)

    def set_up(self, variables: dict[str, str], idle: str = "7d") -> None:
        """Another config from now on."""
        text = {"pools": {name: {"size": 1} for name in POOLS}, "env": {"idle": idle, "vars": variables}}
        self.policy.env = config_env.read(text, "config.toml")

    def take(self, tree: str, unusable: Any = (), agent: str = "ann") -> dict[str, list[str]]:
        """What this tree has after it asked: `PORT` → units."""
        fields: dict[str, Any] = {"tree": f"/{tree}", "name": f"{tree}-0123", "unusable": list(unusable)}
        answer = self.internal(agent, TAKE, **fields)
        found: dict[str, list[str]] = {}
        for one in answer["units"]:
            found.setdefault(one["variable"], []).extend(one["units"])
        return found

    def trees(self) -> dict[str, list[str]]:
        """What all trees have."""
        return {
            one["tree"]: sorted(unit for had in one["units"] for unit in had["units"])
            for one in self.internal("ann", LIST)["trees"]
        }


@pytest.fixture
def trees() -> Iterator[Trees]:
    made = Trees({"PORT": "pool:port", "URL": "postgres://{pool:db}"})
    yield made
    made.clean()


def test_a_tree_gets_its_units_in_one_claim_of_its_own_and_the_same_ones_again(trees: Trees) -> None:
    assert trees.take("w1") == {"PORT": ["3100"], "URL": ["app_0"]}
    assert trees.take("w2", agent="bob") == {"PORT": ["3101"], "URL": ["app_1"]}
    assert trees.take("w1", agent="bob") == {"PORT": ["3100"], "URL": ["app_0"]}
    assert trees.holders() == [
        ("tree:w1@0123", "pool:db:app_0"), ("tree:w1@0123", "pool:port:3100"),
        ("tree:w2@0123", "pool:db:app_1"), ("tree:w2@0123", "pool:port:3101"),
    ]  # fmt: skip
    assert [event["data"]["pools"] for event in trees.events("claim.granted")] == [{"pool:port": 10, "pool:db": 3}] * 2
    assert trees.trees() == {"/w1": ["3100", "app_0"], "/w2": ["3101", "app_1"]}


def test_without_variables_there_is_nothing_to_take(trees: Trees) -> None:
    trees.set_up({})
    with pytest.raises(NotFound, match="names no variables"):
        trees.take("w1")


def test_an_agent_that_holds_a_unit_and_a_tree_never_share_it(trees: Trees) -> None:
    trees.claim("cyd", "pool:port:3100")
    assert trees.take("w1")["PORT"] == ["3101"]
    with pytest.raises(Held) as refused:
        trees.claim("dan", "pool:port:3101")
    assert refused.value.blockers[0]["agent"] == "tree:w1@0123"
    with pytest.raises(Fenced):
        trees.release("ann", "pool:port:3101")
    assert trees.claim("dan", "pool:port")["unit"] == "3102"


def test_a_new_variable_is_claimed_and_the_others_stay(trees: Trees) -> None:
    trees.take("w1")
    trees.take("w2")
    trees.set_up({"PORT": "pool:port", "GPU": "pool:gpu", "URL": "postgres://{pool:db}"})
    assert trees.take("w1") == {"PORT": ["3100"], "URL": ["app_0"], "GPU": ["a"]}
    assert len(trees.events("claim.granted")) == 3
    trees.internal("ann", RELEASE, name="w1-0123")
    assert trees.take("w2") == {"PORT": ["3101"], "URL": ["app_1"], "GPU": ["a"]}, "also where others are free again"


def test_what_the_config_no_longer_asks_for_is_given_back(trees: Trees) -> None:
    trees.take("w1")
    trees.set_up({"PORT": "pool:port"})
    assert trees.take("w1") == {"PORT": ["3100"]}
    trees.set_up({"OTHER": "pool:port"})
    assert trees.take("w1") == {"OTHER": ["3100"]}, "another variable's, after the first one's was given back"
    trees.set_up({"OTHER": "plain"})
    assert trees.take("w1") == {}
    assert trees.holders() == []


def test_a_unit_that_its_pool_no_longer_has_is_replaced(trees: Trees) -> None:
    trees.take("w1")
    trees.policy.pools["named"]["port"] = pool(range=[3105, 3109])
    assert trees.take("w1") == {"PORT": ["3105"], "URL": ["app_0"]}


def test_a_block_of_ports_is_in_a_row_or_refused_and_of_another_pool_the_first_free_ones(trees: Trees) -> None:
    trees.set_up({"PORTS": "pool:port*3"})
    trees.claim("cyd", "pool:port:3101", "pool:port:3105")
    assert trees.take("w1") == {"PORTS": ["3102", "3103", "3104"]}
    assert trees.take("w2") == {"PORTS": ["3106", "3107", "3108"]}
    trees.release("cyd", "pool:port:3105")
    with pytest.raises(Held) as refused:
        trees.take("w3")
    assert "pool:port has 10 units, 3 free, but not 3 in a row" in refused.value.message
    trees.set_up({"GPUS": "pool:gpu*2"})
    trees.claim("cyd", "pool:gpu:b")
    assert trees.take("w4") == {"GPUS": ["a", "c"]}


def test_a_block_comes_first_where_the_order_of_the_variables_leaves_none() -> None:
    trees = Trees({"ONE": "pool:port", "PORTS": "pool:port*3"})
    trees.claim("cyd", "pool:port:3103", "pool:port:3105", "pool:port:3107", "pool:port:3109")
    assert trees.take("w1") == {"ONE": ["3104"], "PORTS": ["3100", "3101", "3102"]}
    trees.clean()


def test_a_larger_block_is_claimed_anew(trees: Trees) -> None:
    trees.set_up({"PORTS": "pool:port*2"})
    trees.take("w1")
    trees.set_up({"PORTS": "pool:port*4"})
    assert trees.take("w1") == {"PORTS": ["3100", "3101", "3102", "3103"]}


def test_all_new_variables_get_units_or_none_does(trees: Trees) -> None:
    for number in range(3):
        trees.take(f"w{number}")
    with pytest.raises(Held) as refused:
        trees.take("w3")
    assert "pool:db has 3 units, none free; this working tree needs 1 for URL" in refused.value.message
    assert "`dibs env --list`" in refused.value.message
    assert [blocker["agent"] for blocker in refused.value.blockers] == [f"tree:w{n}@0123" for n in range(3)]
    assert ("/w3" in trees.trees()) is False
    assert trees.events("claim.refused")[-1]["data"]["resources"] == [["name", "pool:db"]]
    trees.internal("bob", RELEASE, name="w1-0123")
    assert trees.take("w3") == {"PORT": ["3101"], "URL": ["app_1"]}


def test_a_port_that_is_listened_on_is_not_given_out_and_a_tree_s_own_stays(trees: Trees) -> None:
    assert trees.take("w1", unusable=["3100", "3101"])["PORT"] == ["3102"]
    assert trees.take("w1", unusable=["3100", "3101", "3102"])["PORT"] == ["3102"]
    with pytest.raises(Held):
        trees.take("w2", unusable=[str(port) for port in range(3100, 3110)])


def test_earlier_waiters_come_first(trees: Trees) -> None:
    trees.set_up({"GPU": "pool:gpu"})
    trees.claim("cyd", "pool:gpu:a", "pool:gpu:b", "pool:gpu:c")
    trees.call("dan", "claim", resources=[_name("pool:gpu")], units=2, wait=60_000)
    with pytest.raises(Held, match="pool:gpu has 4 units, none free"):
        trees.take("w1")
    trees.release("cyd", "pool:gpu:a")
    trees.release("cyd", "pool:gpu:b")
    assert trees.take("w1") == {"GPU": ["b"]}


def _name(text: str) -> Any:
    from tests.operations.fleet import resource

    return resource(text)


def test_a_tree_that_nobody_uses_loses_its_units_in_order_and_each_use_counts(trees: Trees) -> None:
    trees.take("w1")
    trees.take("w2")
    trees.now += 6 * DAY
    trees.take("w1")
    trees.now += 2 * DAY
    trees.call("cyd", "sweep")
    assert trees.trees() == {"/w1": ["3100", "app_0"]}
    assert [event["data"]["why"] for event in trees.events("claim.ended")] == ["expired"]
    assert trees.take("w3") == {"PORT": ["3101"], "URL": ["app_1"]}
    assert trees.call("cyd", "alerts")["alerts"] == []


def test_the_units_of_an_expired_claim_are_free_without_a_sweep(trees: Trees) -> None:
    trees.take("w1")
    trees.now += 8 * DAY
    assert trees.take("w2") == {"PORT": ["3100"], "URL": ["app_0"]}
    trees.clean()


def test_asking_again_at_once_writes_no_event_and_another_idle_time_counts_at_once(trees: Trees) -> None:
    trees.take("w1")
    count = len(trees.events())
    trees.now += 60_000
    trees.take("w1")
    assert len(trees.events()) == count
    trees.set_up({"PORT": "pool:port", "URL": "postgres://{pool:db}"}, idle="1h")
    trees.take("w1")
    trees.now += 3_700_000
    trees.call("cyd", "sweep")
    assert trees.trees() == {}


def test_a_tree_s_claim_outlives_every_limit_of_an_agents_claims_while_it_is_used(trees: Trees) -> None:
    for _ in range(80):
        assert trees.take("w1")["PORT"] == ["3100"]
        trees.now += 5 * DAY
    assert len(trees.events("claim.granted")) == 1


def test_a_removed_tree_loses_its_units_at_once_and_the_next_waiter_has_them(trees: Trees) -> None:
    trees.set_up({"GPU": "pool:gpu*4"})
    trees.take("w1")
    trees.call("dan", "claim", resources=[_name("pool:gpu")], wait=60_000)
    trees.internal("ann", REMOVED, tree="/w1", name="w1-0123", work=[])
    assert trees.holders() == [("dan", "pool:gpu:a")]
    assert trees.events("claim.ended")[-1]["data"]["why"] == "removed"
    assert trees.internal("ann", REMOVED, tree="/w1", name="w1-0123", work=[])["ended"] == []


def test_units_of_a_dead_holder_count_once_the_free_ones_do_not_suffice(trees: Trees) -> None:
    trees.set_up({"GPU": "pool:gpu*2"})
    trees.call("cyd", "claim", resources=[_name(f"pool:gpu:{one}") for one in "abc"], client=7)
    trees.kill9(7)
    assert trees.take("w1") == {"GPU": ["a", "b"]}


def test_a_moved_tree_keeps_its_units_under_its_new_path(trees: Trees) -> None:
    trees.take("w1")
    trees.internal("ann", TAKE, tree="/elsewhere/w1", name="w1-0123", unusable=[])
    assert trees.trees() == {"/elsewhere/w1": ["3100", "app_0"]}


def test_ordering_does_not_apply_to_a_tree_which_never_waits() -> None:
    trees = Trees({"PORT": "pool:port"}, ordering="enforce")
    trees.take("w1")
    trees.set_up({"PORT": "pool:port", "URL": "{pool:db}"})
    assert trees.take("w1") == {"PORT": ["3100"], "URL": ["app_0"]}
    trees.clean()


def test_no_agent_can_call_itself_a_tree(trees: Trees) -> None:
    trees.take("w1")
    with pytest.raises(Invalid, match="that means a working tree"):
        trees.release("tree:w1@0123", "pool:port:3100")


def test_a_tree_cannot_be_asked_and_the_refusal_says_what_gives_it_back(trees: Trees) -> None:
    trees.take("w1")
    with pytest.raises(NotFound, match=r"is a working tree's \(tree:w1@0123\).*`dibs env --release` there"):
        trees.call("cyd", "ask", resource="pool:port:3100", text="please")


def test_a_person_takes_a_unit_away_and_the_tree_gets_another(trees: Trees) -> None:
    trees.set_up({"PORT": "pool:port"})
    trees.take("w1")
    trees.release("cyd", "pool:port:3100", force=True, why="stuck")
    trees.claim("cyd", "pool:port:3100")
    assert trees.take("w1") == {"PORT": ["3101"]}


def test_the_same_on_every_engine(on_engine: OnEngine) -> None:
    trees = on_engine(Trees({"PORTS": "pool:port*2", "URL": "{pool:db}"}))
    assert trees.take("w1") == {"PORTS": ["3100", "3101"], "URL": ["app_0"]}
    assert trees.take("w2") == {"PORTS": ["3102", "3103"], "URL": ["app_1"]}
    trees.internal("ann", RELEASE, name="w1-0123")
    assert trees.take("w3") == {"PORTS": ["3100", "3101"], "URL": ["app_0"]}
    assert trees.take("w2") == {"PORTS": ["3102", "3103"], "URL": ["app_1"]}
    assert trees.trees() == {"/w2": ["3102", "3103", "app_1"], "/w3": ["3100", "3101", "app_0"]}
    trees.clean()


def test_of_a_pool_of_each_machine_a_tree_has_its_own_machine_s_units(trees: Trees) -> None:
    trees.policy.pools["named"]["port"] = pool(range=[3100, 3109], scope="machine")
    trees.set_up({"PORT": "pool:port"})
    fields: dict[str, Any] = {"unusable": ["3101"]}
    for number, machine in enumerate(["one", "two", "one"]):
        trees.internal("ann", TAKE, tree=f"/w{number}", name=f"w{number}-0123", machine=machine, **fields)
    assert [text for _, text in trees.holders()] == [
        "pool:port@one:3100", "pool:port@two:3100", "pool:port@one:3102",
    ]  # fmt: skip
    again = trees.internal("ann", TAKE, tree="/w0", name="w0-0123", machine="one", **fields)
    assert [(one["pool"], one["units"]) for one in again["units"]] == [("port", ["3100"])]
    with pytest.raises(Invalid, match="it is not known on which one"):
        trees.internal("ann", TAKE, tree="/w3", name="w3-0123")


def test_who_waits_for_a_unit_that_is_given_back_has_it(trees: Trees) -> None:
    trees.set_up({"GPU": "pool:gpu*4"})
    trees.take("w1")
    trees.call("dan", "claim", resources=[_name("pool:gpu")], wait=60_000)
    trees.set_up({"PORT": "pool:port"})
    trees.take("w1")
    assert trees.holders() == [("dan", "pool:gpu:a"), ("tree:w1@0123", "pool:port:3100")]


def test_a_caller_from_afar_names_no_tree_but_those_of_its_own_credential() -> None:
    assert id_of_tree("w1-0123", "") == "tree:w1@0123"
    assert id_of_tree("w1-0123", "laptop") == "tree:w1@laptop.0123"
    assert id_of_tree("w1-0123", "ann/sub") == "tree:w1@ann|sub.0123", "of no other agent's family"
    assert id_of_tree("a b/c-0123", "") == "tree:a-b-c@0123"
