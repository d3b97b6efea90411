"""Names: a readable word for each agent, whose id may be thirty random letters.

A readable id (`ann`, `ci-bot`, `root@host`) is its own name. Any other (a UUID, a thread's id) gets the kind of its
client and an animal: `claude-otter`. A subagent's name is its parent's with a short one of its own:
`claude-otter/explore`, or a number if the client gives no type.

- given: at registration, in that transaction, and kept in the agent's record; `nm⇥NAME` says whose it is. The animal
  follows from the id, so that the same session gets the same one in an empty workspace; if it is taken, the next.
- unique: in a workspace, for as long as the agent is known; never another agent's id.
- retry: a name never changes, not even when the agent's type becomes known later.
"""

from __future__ import annotations

from itertools import count, pairwise

from dibs.errors import NotFound
from dibs.operations.agents.records import AGENT_KEYS, agent_key, get_agent, get_agents, name_key
from dibs.stores.seam import digest_of, prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dibs.operations.agents.records import Agent
    from dibs.stores.seam import Json, Transaction

ANIMALS = tuple(
    """
    adder albatross alpaca ant antelope aspen auk avocet badger bat bear beaver bee beetle bison bittern boar bobcat
    bream bunting buzzard camel canary caribou carp cat cedar chamois cheetah chough clam clover cobra cod condor coot
    coral cougar coyote crab crane cricket crow cuckoo curlew cygnet daisy deer dingo dipper dodo dolphin dormouse dove
    dragonfly duck dunlin eagle eel egret eider elk elm emu falcon fawn fern ferret finch firefly flamingo flounder fox
    frog gannet gazelle gecko gibbon giraffe gnu goat godwit goose gopher grebe grouse gull guppy haddock halibut
    hamster hare harrier hawk hazel hedgehog heron herring hippo hoopoe hornbill horse hyena ibex ibis iguana impala
    ivy jackal jackdaw jaguar jay kestrel kingfisher kite kiwi koala kudu ladybird lapwing lark lemming lemur leopard
    lily linnet lion lizard llama lobster lotus lynx macaw magpie mallard manatee mantis maple marlin marmot marten
    martin merlin mink minnow mole mongoose moorhen moose moth mouse mule muskox mussel newt nightjar numbat oak ocelot
    octopus okapi olive opossum orca oriole osprey ostrich otter owl oyster panda panther parrot partridge peacock
    pelican penguin perch petrel pheasant pigeon pika pike pine piranha platypus plover pony poppy porpoise possum
    puffin puma python quail rabbit raccoon raven redstart reindeer rhino robin rook rowan salmon sandpiper sardine
    seal serval shark sheep shrew shrike shrimp siskin skua skunk sloth snail snipe sparrow squid squirrel starling
    stoat stork sturgeon swallow swan swift tapir teal tern thrush tiger toad tortoise toucan trout tuna turtle viper
    vole walrus warbler wasp weasel whale willow wolf wombat wren yak zebra
    """.split()  # noqa: SIM905 - words are read as words
)
UNKNOWN_KIND = "agent"  # the kind of an agent whose client is not known
MAX_KIND_CHARS = 16  # of a type in a name
MAX_NAME_CHARS = 40  # of an id that is still readable
RANDOM_RUN_CHARS = 7  # a run of this many digits, or hexadecimal digits, is no word
MIXED_RUN_CHARS = 12  # a run of this length with letters and digits in turn is no word
MIXED_RUN_TURNS = 3  # changes between letters and digits that no word has (`gpt4o` has two)
NAMES_PER_TRIP = 8  # in the first trip; most names are free at once
HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
UUID_RUN_LENGTHS = [8, 4, 4, 4, 12]  # the lengths of a UUID's runs
# The field of an answer that has an agent's id, and the field for its name.
NAME_FIELDS = {
    "agent": "name", "holder": "holder_name", "from": "from_name", "to": "to_name", "changed_by": "changed_by_name",
    "note_by": "note_by_name", "finished_by": "finished_by_name", "by": "by_name", "ended_by": "ended_by_name",
    "coordinator": "coordinator_name", "electorate": "electorate_name", "who": "who_name", "agents": "agents_name",
    "holds_up": "holds_up_name",
}  # fmt: skip
LIST_FIELDS = frozenset({"to", "electorate", "agents", "holds_up"})  # those that may name several
CALLER = "incarnation"  # `whoami` has it; its `by` says how the caller was named (`user`, `process`), which is no agent
CALLER_VALUES = frozenset({"payload", "value", "result", "data", "spec"})  # the caller's own values: left alone


# --- what an id says by itself


def is_readable(text: str) -> bool:
    """Can people read this id (or this part of one)? Not if half of it or more is random."""
    if "@" in text:
        return True
    if len(text) > MAX_NAME_CHARS:
        return False
    runs = _runs(text)
    if [len(run) for run in runs] == UUID_RUN_LENGTHS and HEX_DIGITS.issuperset("".join(runs)):
        return False
    return 2 * sum([len(run) for run in runs if _by_chance(run)]) < sum(map(len, runs)) if runs else False


def _runs(text: str) -> list[str]:
    """The runs of letters and digits in a text."""
    return "".join([letter if letter.isalnum() else " " for letter in text]).split()


def _by_chance(run: str) -> bool:
    """Is this run random: digits, hexadecimal digits, or letters and digits in turn?"""
    digits = sum([letter.isdigit() for letter in run])
    if len(run) >= RANDOM_RUN_CHARS and (digits == len(run) or (digits and HEX_DIGITS.issuperset(run))):
        return True
    turns = sum([one.isdigit() != other.isdigit() for one, other in pairwise(run)])
    if len(run) < MIXED_RUN_CHARS:
        return len(run) >= RANDOM_RUN_CHARS and turns >= 2 * MIXED_RUN_TURNS - 1
    return turns >= MIXED_RUN_TURNS


def computed(agent: str, kind: str = "") -> str:
    """The name that an id gets if it is free."""
    parent, slash, own = agent.rpartition("/")
    if not slash:
        return agent if is_readable(agent) else f"{_word(kind) or UNKNOWN_KIND}-{_animals(agent)[0]}"
    return f"{computed(parent)}/{own if is_readable(own) else _word(kind) or _animals(own)[0]}"


def _word(kind: str) -> str:
    """A type as part of a name: small letters, digits and dashes."""
    plain = "".join([letter if letter.isascii() and letter.isalnum() else " " for letter in kind.lower()])
    return "-".join(plain.split())[:MAX_KIND_CHARS].strip("-")


def _animals(agent: str) -> tuple[str, ...]:
    """All animals, beginning with this id's own."""
    first = int(digest_of(agent)[:8], 16) % len(ANIMALS)
    return ANIMALS[first:] + ANIMALS[:first]


# --- giving a name


def give(tx: Transaction, agent: Agent, kind: str = "") -> None:
    """Name an agent that has no name. The caller writes its record."""
    identifier = agent["agent"]
    kind = kind or agent.get("client_type") or agent["type"]
    for names in _batches(_candidates(tx, identifier, kind)):
        keys = [key for name in names for key in (name_key(name), agent_key(name))]
        taken = tx.get_many(keys)
        for name in names:
            owner = taken[name_key(name)]
            free = owner is None or owner["agent"] == identifier
            if free and (name == identifier or taken[agent_key(name)] is None):
                agent["name"] = name
                if name != identifier:
                    tx.put(name_key(name), {"agent": identifier})
                return


def _candidates(tx: Transaction, agent: str, kind: str) -> Iterator[str]:
    """The names that an agent may have, the best first; the list never ends."""
    parent, slash, own = agent.rpartition("/")
    word = _word(kind)
    above = f"{name_of(tx, parent)}/" if slash else ""
    stem = own if is_readable(own) else word
    if not slash and not is_readable(own):
        stem = f"{word or UNKNOWN_KIND}-{_animals(agent)[0]}"
        for animal in _animals(agent):
            yield f"{word or UNKNOWN_KIND}-{animal}"
    if stem:  # `explore`, `explore-2`; where no type is known 1, 2
        yield above + stem
    for number in count(2 if stem else 1):
        yield f"{above}{stem}-{number}" if stem else f"{above}{number}"


def _batches(names: Iterator[str]) -> Iterator[list[str]]:
    """Small batches at first, then larger ones: a late agent in a large fleet does not need one trip for each name."""
    size = NAMES_PER_TRIP
    while True:
        yield [next(names) for _ in range(size)]
        size *= 4


# --- finding


def name_of(tx: Transaction, agent: str, record: Agent | None = None) -> str:
    """The name of an agent; `record` is its record, if the caller has it."""
    if record is None:
        record = get_agent(tx, agent)
    return _told(agent, record)


def names_of(tx: Transaction, agents: Iterable[str]) -> dict[str, str]:
    """The names of many agents, in one trip."""
    known = sorted(set(agents))
    return {agent: _told(agent, record) for agent, record in get_agents(tx, known).items()}


def _told(agent: str, record: Agent | None) -> str:
    return computed(agent) if record is None else record["name"]


def found(tx: Transaction, word: str) -> str:
    """The id of the agent that this word means: an id, or a name. An unknown word is returned as it is."""
    record, named = tx.get_many([agent_key(word), name_key(word)]).values()
    if record is not None:
        return str(record.get("same", word))  # an alias, see aliases.py
    return word if named is None else str(named["agent"])


MAX_AGENTS_READ = 1_000  # in the search for a misspelling
MIN_SLIP_CHARS = 4  # shorter names have no misspellings: `ann` and `anne` are two agents


def unknown(tx: Transaction, word: str) -> NotFound:
    """The refusal of an unknown agent, with the one that may be meant."""
    from difflib import get_close_matches

    close = get_close_matches(word, _words(tx), 1, 0.7)
    hint = f"did you mean {close[0]}?" if close else "`dibs agents` lists them."
    return NotFound(f"no agent {word} is known here; {hint}", agent=word, **({"near": close[0]} if close else {}))


def slip(tx: Transaction, word: str) -> str:
    """The known agent that this word most likely misspells; "" if there is none."""
    return next((known for known in _words(tx) if _is_slip(word, known)), "")


def _words(tx: Transaction) -> list[str]:
    """The ids and names of agents."""
    records = [record for _, record in tx.fetch([prefix_range(AGENT_KEYS)], MAX_AGENTS_READ).rows if not record["left"]]
    return list(dict.fromkeys(word for record in records for word in (_told(record["agent"], record), record["agent"])))


def _is_slip(word: str, known: str) -> bool:
    """One letter too many, too few, wrong or swapped with the next; or another case.

    Not a digit, and not a letter that stands alone or ends the name: `w1` and `w2`, `agent-a` and `agent-b` are two.
    """
    if word == known or min(len(word), len(known)) < MIN_SLIP_CHARS:
        return False
    one, other = word.casefold(), known.casefold()
    if one == other:
        return True
    start = next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    if len(one) != len(other):
        longer, shorter = sorted((one, other), key=len, reverse=True)
        return longer[start].isalpha() and longer[start + 1 :] == shorter[start:]
    if one[start:][:2] == other[start:][:2][::-1] and one[start + 2 :] == other[start + 2 :]:
        return one[start:][:2].isalpha()
    inside = 0 < start < len(one) - 1 and one[start - 1 : start + 2].isalpha() and other[start].isalpha()
    return inside and one[start + 1 :] == other[start + 1 :]


# --- answers


def tell(tx: Transaction, answer: Json, known: dict[str, str]) -> None:
    """Add the name next to each agent's id in an answer; `known` has names that need no read."""
    places: list[tuple[dict[str, Json], str]] = []
    _collect(answer, places, known)
    if not places:
        return
    wanted: set[str] = set()
    for place, field in places:
        value = place[field]
        wanted.update([value] if isinstance(value, str) else value)
    missing = [agent for agent in wanted if agent not in known]
    if missing:
        for agent, record in get_agents(tx, sorted(missing)).items():
            if record is not None:
                known[agent] = _told(agent, record)
    for place, field in places:
        value = place[field]
        if isinstance(value, list):
            if all(agent in known for agent in value):
                place[NAME_FIELDS[field]] = [known[agent] for agent in value]
        elif value in known:
            place[NAME_FIELDS[field]] = known[value]


def _collect(value: Json, places: list[tuple[dict[str, Json], str]], known: dict[str, str]) -> None:
    """The places in an answer that name an agent; names that are there already go into `known`."""
    if isinstance(value, dict):
        for field, inner in value.items():
            if isinstance(inner, str):
                if inner and field in NAME_FIELDS and not (field == "by" and CALLER in value):
                    if NAME_FIELDS[field] not in value:
                        places.append((value, field))
                    elif field == "agent":
                        known.setdefault(inner, value["name"])
            elif isinstance(inner, (dict, list)) and inner and field not in CALLER_VALUES:
                if field in LIST_FIELDS and isinstance(inner, list) and all(isinstance(one, str) for one in inner):
                    places.append((value, field))
                else:
                    _collect(inner, places, known)
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, (dict, list)):
                _collect(inner, places, known)
