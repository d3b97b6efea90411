"""Names: by which word people and models speak of an agent, whose id may be thirty letters of chance.

An id that can be read (`ann`, `ci-bot`, `root@host`) is its own name. One that cannot (a UUID, a thread's id) gets the
kind of its client and an animal: `claude-otter`. A subagent goes by its parent's name and a short one of its own:
`claude-otter/explore`, or a number where the client tells no type.

What happens, in short:
- given: at registration, in that transaction, and kept in the agent's record; `nm⇥NAME` says whose it is. The animal
  follows from the id, so that the same session gets the same one in an empty workspace; if it is taken, the next.
- unique: in a workspace, for as long as the agent is known; never somebody else's id.
- older records have none: they get one when they are next written, and are read by the one that they would get.
- again: a name never changes, also when the agent's type becomes known later.
"""

from __future__ import annotations

from itertools import count, pairwise

from dibs.errors import NotFound
from dibs.stores.seam import digest_of, prefix_range, values_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from dibs.operations.core.call import Record
    from dibs.stores.seam import Transaction

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
UNKNOWN = "agent"  # the kind of one whose client nobody knows
LONGEST_KIND = 16  # letters of a type in a name
LONGEST = 40  # letters of an id that somebody still reads as a name
CHANCE = 7  # letters of a run of hexadecimal digits, or of digits alone, from which on it is nobody's word
MIXED = 12  # letters of a run in which letters and digits alternate, from which on it is none
TURNS = 3  # changes between letters and digits that a word does not have (`gpt4o` has two)
FEW = 8  # names asked for in the first trip; most are free at once
HEX = frozenset("0123456789abcdefABCDEF")
UUID = [8, 4, 4, 4, 12]  # the lengths of its runs
# Which field of an answer names an agent, and where its name stands beside it.
BESIDE = {
    "agent": "name", "holder": "holder_name", "from": "from_name", "to": "to_name", "changed_by": "changed_by_name",
    "note_by": "note_by_name", "finished_by": "finished_by_name",
}  # fmt: skip
THEIRS = frozenset({"payload", "value", "result", "data", "spec"})  # somebody's own values: left alone


# --- what an id says by itself


def is_readable(text: str) -> bool:
    """Can people speak of an agent by this id (or this part of one)? Not if half of it or more is chance."""
    if "@" in text:
        return True
    if len(text) > LONGEST:
        return False
    runs = _runs(text)
    if [len(run) for run in runs] == UUID and HEX.issuperset("".join(runs)):
        return False
    return 2 * sum([len(run) for run in runs if _by_chance(run)]) < sum(map(len, runs)) if runs else False


def _runs(text: str) -> list[str]:
    """The runs of letters and digits in a text."""
    return "".join([letter if letter.isalnum() else " " for letter in text]).split()


def _by_chance(run: str) -> bool:
    """Is this no word: digits, hexadecimal digits, or letters and digits in turn?"""
    digits = sum([letter.isdigit() for letter in run])
    if len(run) >= CHANCE and (digits == len(run) or (digits and HEX.issuperset(run))):
        return True
    turns = sum([one.isdigit() != other.isdigit() for one, other in pairwise(run)])
    if len(run) < MIXED:
        return len(run) >= CHANCE and turns >= 2 * TURNS - 1
    return turns >= TURNS


def computed(agent: str, kind: str = "") -> str:
    """The name that an id gets if nobody has it yet."""
    parent, slash, own = agent.rpartition("/")
    if not slash:
        return agent if is_readable(agent) else f"{_word(kind) or UNKNOWN}-{_animals(agent)[0]}"
    return f"{computed(parent)}/{own if is_readable(own) else _word(kind) or _animals(own)[0]}"


def _word(kind: str) -> str:
    """A type as part of a name: small letters, digits and dashes."""
    plain = "".join([letter if letter.isascii() and letter.isalnum() else " " for letter in kind.lower()])
    return "-".join(plain.split())[:LONGEST_KIND].strip("-")


def _animals(agent: str) -> tuple[str, ...]:
    """All animals, beginning with the one that this id leads to."""
    first = int(digest_of(agent)[:8], 16) % len(ANIMALS)
    return ANIMALS[first:] + ANIMALS[:first]


# --- giving a name


def give(tx: Transaction, agent: Record, kind: str = "") -> None:
    """Name an agent that has none. The caller writes its record."""
    identifier = agent["agent"]
    kind = kind or agent.get("client_type") or agent["type"]
    for names in _batches(_candidates(tx, identifier, kind)):
        keys = [key for name in names for key in (f"nm\t{name}", f"a\t{name}")]
        taken = values_of(tx, keys)
        for name in names:
            owner = taken[f"nm\t{name}"]
            free = owner is None or owner["agent"] == identifier
            if free and (name == identifier or taken[f"a\t{name}"] is None):
                agent["name"] = name
                if name != identifier:
                    tx.put(f"nm\t{name}", {"agent": identifier})
                return


def _candidates(tx: Transaction, agent: str, kind: str) -> Iterator[str]:
    """The names that an agent may have, the best first; there is no end to them."""
    parent, slash, own = agent.rpartition("/")
    word = _word(kind)
    above = f"{name_of(tx, parent)}/" if slash else ""
    stem = own if is_readable(own) else word
    if not slash and not is_readable(own):
        stem = f"{word or UNKNOWN}-{_animals(agent)[0]}"
        for animal in _animals(agent):
            yield f"{word or UNKNOWN}-{animal}"
    if stem:  # `explore`, `explore-2`; where no type is known 1, 2
        yield above + stem
    for number in count(2 if stem else 1):
        yield f"{above}{stem}-{number}" if stem else f"{above}{number}"


def _batches(names: Iterator[str]) -> Iterator[list[str]]:
    """A few at first, then more and more: who is late in a large fleet does not ask once for each."""
    size = FEW
    while True:
        yield [next(names) for _ in range(size)]
        size *= 4


# --- finding


def name_of(tx: Transaction, agent: str, record: Record | None = None) -> str:
    """The name of an agent; `record` is its record, if the caller has it."""
    if record is None:
        record = tx.fetch([f"a\t{agent}"]).values[f"a\t{agent}"]
    return _told(agent, record)


def names_of(tx: Transaction, agents: Iterable[str]) -> dict[str, str]:
    """The names of many, in one trip."""
    known = sorted(set(agents))
    records = values_of(tx, [f"a\t{agent}" for agent in known])
    return {agent: _told(agent, records[f"a\t{agent}"]) for agent in known}


def _told(agent: str, record: Record | None) -> str:
    if record is None:
        return computed(agent)
    name: str = record.get("name") or computed(agent, record.get("client_type") or record["type"])
    return name


def found(tx: Transaction, word: str) -> str:
    """The id of the agent that this word means: an id, or a name. A word that means nobody is given back."""
    got = tx.fetch([f"a\t{word}", f"nm\t{word}"]).values
    if got[f"a\t{word}"] is not None:
        return str(got[f"a\t{word}"].get("same", word))  # another id of one agent, see aliases.py
    if got[f"nm\t{word}"] is not None:
        identifier: str = got[f"nm\t{word}"]["agent"]
        return identifier
    return word


LOOKED_AT = 1_000  # agents that a word is compared with
SHORTEST = 4  # letters of a name in which one that is off may be a slip; `ann` and `anne` are two


def unknown(tx: Transaction, word: str) -> NotFound:
    """The refusal where an agent is spoken of that nobody knows, with the one that may be meant."""
    from difflib import get_close_matches

    close = get_close_matches(word, _words(tx), 1, 0.7)
    hint = f"did you mean {close[0]}?" if close else "`dibs agents` lists them."
    return NotFound(f"no agent {word} is known here; {hint}", agent=word, **({"near": close[0]} if close else {}))


def slip(tx: Transaction, word: str) -> str:
    """A known agent of which this word is most likely a misspelling; "" if there is none."""
    return next((known for known in _words(tx) if _is_slip(word, known)), "")


def _words(tx: Transaction) -> list[str]:
    """The ids and names of agents."""
    found = [record for _, record in tx.fetch((), [prefix_range("a\t")], LOOKED_AT).rows if not record["left"]]
    return list(dict.fromkeys(word for record in found for word in (_told(record["agent"], record), record["agent"])))


def _is_slip(word: str, known: str) -> bool:
    """One letter too many, too few, wrong or exchanged with the next; or another case.

    Not a digit, and not a letter that stands alone or ends the name: `w1` and `w2`, `agent-a` and `agent-b` are two.
    """
    if word == known or min(len(word), len(known)) < SHORTEST:
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


def tell(tx: Transaction, answer: Any, known: dict[str, str]) -> None:
    """Put the name beside each agent's id in an answer, wherever it is; `known` are names that need no look."""
    places: list[tuple[dict[str, Any], str]] = []
    _collect(answer, places, known)
    if not places:
        return
    wanted: set[str] = set()
    for place, field in places:
        value = place[field]
        wanted.update([value] if isinstance(value, str) else value)
    missing = [agent for agent in wanted if agent not in known]
    if missing:
        records = values_of(tx, [f"a\t{agent}" for agent in sorted(missing)])
        for agent in missing:
            record = records[f"a\t{agent}"]
            if record is not None:
                known[agent] = _told(agent, record)
    for place, field in places:
        value = place[field]
        if isinstance(value, list):
            if all(agent in known for agent in value):
                place[BESIDE[field]] = [known[agent] for agent in value]
        elif value in known:
            place[BESIDE[field]] = known[value]


def _collect(value: Any, places: list[tuple[dict[str, Any], str]], known: dict[str, str]) -> None:
    """Where in an answer an agent is named; names that stand there already are known from then on."""
    if isinstance(value, dict):
        for field, inner in value.items():
            if isinstance(inner, str):
                if inner and field in BESIDE:
                    if BESIDE[field] not in value:
                        places.append((value, field))
                    elif field == "agent":
                        known.setdefault(inner, value["name"])
            elif isinstance(inner, (dict, list)) and inner and field not in THEIRS:
                if field == "to" and isinstance(inner, list) and all(isinstance(one, str) for one in inner):
                    places.append((value, field))
                else:
                    _collect(inner, places, known)
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, (dict, list)):
                _collect(inner, places, known)
