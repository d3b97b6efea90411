"""The lookout's own decision on overlap, against examples read by eye and against brute force.

The brute force knows nothing of automata: a pattern is drawn as a structure, rendered as a text for `overlap`, and
matched as a structure, path by path, over every path that could be a shortest common one.
"""

from __future__ import annotations

import itertools
import time
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.verify import overlap as module
from dibs.verify.overlap import Near, overlap

# --- brute force: a component is a tuple of tokens or "**"; a token is a set of characters, or STAR

Token = frozenset[str]
Component = tuple[Token, ...] | str
Pattern = tuple[Component, ...]
STAR: Token = frozenset()
EXAMPLES = max(150, settings().max_examples)  # or as many as the torture has
LETTERS = "abc"  # `c` is in no pattern but through a wildcard: it stands for every other character

TEXTS = {
    frozenset("a"): "a",
    frozenset("b"): "b",
    frozenset("c"): "[!ab]",
    frozenset("ab"): "[a-b]",
    frozenset("bc"): "[^a]",
    frozenset("abc"): "?",
    STAR: "*",
}


def render(pattern: Pattern) -> str:
    """A pattern as the text that people write."""
    return "/".join(part if isinstance(part, str) else "".join(TEXTS[token] for token in part) for part in pattern)


def fits(tokens: tuple[Token, ...], text: str) -> bool:
    """Whether a component's tokens match one component of a path."""
    if not tokens:
        return not text
    if tokens[0] == STAR:
        return any(fits(tokens[1:], text[start:]) for start in range(len(text) + 1))
    return text[:1] in tokens[0] and text != "" and fits(tokens[1:], text[1:])


fits = cache(fits)


def matches(pattern: Pattern, path: tuple[str, ...]) -> bool:
    """Whether a pattern matches a path."""
    if not pattern:
        return not path
    if isinstance(pattern[0], str):
        return any(matches(pattern[1:], path[start:]) for start in range(len(path) + 1))
    return bool(path) and fits(pattern[0], path[0]) and matches(pattern[1:], path[1:])


@cache
def paths(length: int, depth: int) -> tuple[tuple[str, ...], ...]:
    """Every path of at most `depth` components of at most `length` characters."""
    components = ["".join(run) for size in range(1, length + 1) for run in itertools.product(LETTERS, repeat=size)]
    return tuple(path for size in range(1, depth + 1) for path in itertools.product(components, repeat=size))


@cache
def covered(pattern: Pattern, length: int, depth: int) -> frozenset[tuple[str, ...]]:
    """The paths that a pattern matches."""
    return frozenset(path for path in paths(length, depth) if matches(pattern, path))


TOKENS = st.sampled_from(list(TEXTS))


def patterns(*, tokens: int, components: int) -> st.SearchStrategy[Pattern]:
    """Patterns of bounded size. A component of two stars would read as `**`, so it is left out."""
    plain = st.lists(TOKENS, min_size=1, max_size=tokens).map(tuple).filter(lambda part: part != (STAR, STAR))
    return st.lists(st.one_of(st.just("**"), plain), min_size=1, max_size=components).map(tuple)


# A shortest common path of two globs is never longer than the characters (components) that both ask for together.


@settings(max_examples=EXAMPLES)
@given(patterns(tokens=4, components=1), patterns(tokens=4, components=1))
def test_globs_of_one_component_overlap_exactly_when_some_name_matches_both(left: Pattern, right: Pattern) -> None:
    found = bool(covered(left, 6, 1) & covered(right, 6, 1))
    assert overlap(("glob", render(left)), ("glob", render(right))) == found


@settings(max_examples=EXAMPLES)
@given(patterns(tokens=1, components=4), patterns(tokens=1, components=4))
def test_globs_of_many_components_overlap_exactly_when_some_path_matches_both(left: Pattern, right: Pattern) -> None:
    found = bool(covered(left, 1, 6) & covered(right, 1, 6))
    assert overlap(("glob", render(left)), ("glob", render(right))) == found


@settings(max_examples=EXAMPLES)
@given(patterns(tokens=2, components=2), patterns(tokens=2, components=2))
def test_small_globs_overlap_exactly_when_some_path_matches_both(left: Pattern, right: Pattern) -> None:
    found = bool(covered(left, 2, 2) & covered(right, 2, 2))
    assert overlap(("glob", render(left)), ("glob", render(right))) == found
    assert overlap(("glob", render(right)), ("glob", render(left))) == found


@settings(max_examples=EXAMPLES)
@given(patterns(tokens=2, components=3), st.sampled_from(paths(2, 2)))
def test_a_glob_overlaps_a_file_exactly_when_it_matches_it(pattern: Pattern, path: tuple[str, ...]) -> None:
    assert overlap(("glob", render(pattern)), ("file", "/".join(path))) == matches(pattern, path)
    assert overlap(("file", "/".join(path)), ("glob", render(pattern))) == matches(pattern, path)


@settings(max_examples=EXAMPLES)
@given(patterns(tokens=2, components=3), st.sampled_from([(), *paths(1, 2)]))
def test_a_glob_overlaps_a_tree_exactly_when_it_matches_the_directory_or_something_below(
    pattern: Pattern, directory: tuple[str, ...]
) -> None:
    tails = [(), *paths(2, 3)]  # what is left of the pattern asks for three components of two characters at most
    found = any(directory + tail and matches(pattern, directory + tail) for tail in tails)
    assert overlap(("glob", render(pattern)), ("tree", "/".join(directory))) == found
    assert overlap(("tree", "/".join(directory)), ("glob", render(pattern))) == found


LITERALS = st.tuples(st.sampled_from(["file", "tree"]), st.sampled_from(["a", "a/b", "a/bb", "ab", "a/b/c", "b/a"]))
ANY = st.one_of(
    LITERALS,
    st.just(("tree", "")),
    st.tuples(st.sampled_from(["name", "inode"]), st.sampled_from(["a", "a/b", "1:2"])),
    st.tuples(st.just("glob"), patterns(tokens=2, components=3).map(render)),
)


@given(ANY, ANY)
def test_overlap_is_the_same_from_both_sides(left: tuple[str, str], right: tuple[str, str]) -> None:
    assert overlap(left, right) == overlap(right, left)


@given(st.lists(ANY, max_size=12), ANY)
def test_nothing_that_overlaps_is_missing_among_the_candidates(
    kept: list[tuple[str, str]], asked: tuple[str, str]
) -> None:
    near = Near()
    for number, resource in enumerate(kept):
        near.add(str(number), resource)
    found = {owner for owner, resource in near.candidates(asked) if overlap(asked, resource)}
    assert found == {str(number) for number, resource in enumerate(kept) if overlap(asked, resource)}
    for number, resource in enumerate(kept):
        near.remove(str(number), resource)
        left = {owner for owner, other in near.candidates(asked) if overlap(asked, other)}
        assert left == {owner for owner in found if int(owner) > number}
    near.remove("nobody", asked)
    assert not list(near.candidates(asked))
    assert near._at == {}
    assert near._below == {}


def test_what_lies_elsewhere_is_not_among_the_candidates() -> None:
    near = Near()
    for resource in (("file", "docs/a"), ("tree", "test"), ("glob", "docs/*.md"), ("name", "src"), ("inode", "src/a")):
        near.add("x", resource)
    for asked in (("file", "src/a"), ("tree", "src"), ("glob", "src/*"), ("name", "docs"), ("inode", "src")):
        assert list(near.candidates(asked)) == []


# --- by eye


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (("file", "a"), ("file", "a"), True),
        (("file", "a"), ("file", "b"), False),
        (("file", "a"), ("file", "a/b"), True),
        (("file", "a"), ("file", "ab"), False),
        (("file", "a/b"), ("tree", "a"), True),
        (("tree", "a/b"), ("tree", "a"), True),
        (("tree", "a/b"), ("file", "a"), True),
        (("tree", "a"), ("tree", "ab"), False),
        (("tree", ""), ("file", "x/y"), True),
        (("tree", ""), ("tree", ""), True),
        (("tree", ""), ("glob", "*.py"), True),
        (("name", "deploy:prod"), ("name", "deploy:prod"), True),
        (("name", "deploy:prod"), ("name", "deploy:test"), False),
        (("name", "a"), ("file", "a"), False),
        (("name", "a"), ("tree", ""), False),
        (("name", "a"), ("glob", "**"), False),
        (("name", "1:2"), ("inode", "1:2"), False),
        (("inode", "1:2"), ("inode", "1:2"), True),
        (("inode", "1:2"), ("inode", "1:3"), False),
    ],
)
def test_literals_and_names_overlap_as_written(left: tuple[str, str], right: tuple[str, str], expected: bool) -> None:
    assert overlap(left, right) is expected
    assert overlap(right, left) is expected


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/.py", True),
        ("src/*.py", "src/a/b.py", False),
        ("src/*.py", "src/a.py/b", False),
        ("src", "src", True),
        ("src", "src/a", False),
        ("*", "a", True),
        ("*", "a/b", False),
        ("***", "abc", True),
        ("***", "a/b", False),
        ("**", "a", True),
        ("**", "a/b/c", True),
        ("a/**", "a", True),
        ("a/**", "a/b/c", True),
        ("a/**", "ab", False),
        ("a/*", "a", False),
        ("a/*", "a/", False),
        ("**/a", "a", True),
        ("**/a", "b/c/a", True),
        ("**/a", "ba", False),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**/b", "ab", False),
        ("a/**/**/b", "a/b", True),
        ("a**b", "a1b", True),
        ("a**b", "a/b", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("a?c", "ac", False),
        ("[abc]", "b", True),
        ("[abc]", "d", False),
        ("[a-c]x", "bx", True),
        ("[!a]", "a", False),
        ("[!a]", "b", True),
        ("[^a]", "b", True),
        ("[^a]", "^", True),
        ("[a^]", "^", True),
        ("[a!]", "!", True),
        ("a[!b]c", "a/c", False),
        ("a[+-9]c", "a/c", False),
        ("a[+-9]c", "a.c", True),
        ("[]]", "]", True),
        ("[]a]", "a", True),
        ("[!]a]", "]", False),
        ("[!]a]", "b", True),
        ("[]-a]", "^", True),
        ("[a-]", "-", True),
        ("[-a]", "-", True),
        ("[a-c-e]", "-", True),
        ("[a-c-e]", "d", False),
        ("[z-a]", "m", False),
        ("[!z-a]", "m", True),
        ("[", "[", True),
        ("[]", "[]", True),
        ("[!]", "[!]", True),
        ("[a", "[a", True),
        ("[a", "a", False),
        ("x[*", "x[yz", True),
        ("[a/b]", "[a/b]", True),
        ("[a/b]", "a", False),
        ("\\*", "\\x", True),
        ("\\*", "*", False),
        ("app/[id]/page.tsx", "app/i/page.tsx", True),
        ("app/[id]/page.tsx", "app/[id]/page.tsx", False),
        ("*.é?", "x.éñ", True),
        ("?", "\U0001f600", True),
        ("a.c", "abc", False),
        ("a//b", "a//b", False),
        ("", "", False),
        ("**", "", False),
        ("**/", "a", False),
    ],
)
def test_a_glob_matches_as_written(glob: str, path: str, expected: bool) -> None:
    assert overlap(("glob", glob), ("file", path)) is expected


@pytest.mark.parametrize(
    ("glob", "tree", "expected"),
    [
        ("src/**/*.py", "src", True),
        ("src/**/*.py", "src/a/b", True),
        ("src/**/*.py", "docs", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/a", False),
        ("src/*.py", "", True),
        ("*/b", "a", True),
        ("*/b", "a/c", False),
        ("a", "a", True),
        ("a", "a/b", False),
        ("a/[z-a]", "a", False),
        ("[z-a]/**", "", False),
        ("a//b", "", False),
        ("**", "", True),
    ],
)
def test_a_glob_meets_a_tree_as_written(glob: str, tree: str, expected: bool) -> None:
    assert overlap(("glob", glob), ("tree", tree)) is expected


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("src/**", "**/*.py", True),
        ("*.py", "*.txt", False),
        ("*.py", "test_*", True),
        ("src/*.py", "src/*/*.py", False),
        ("a/**/z", "**/b/**", True),
        ("[a-m]*", "[n-z]*", False),
        ("[a-m]*", "[m-z]*", True),
        ("[!a]", "a", False),
        ("[!a]", "[!b]", True),
        ("a?", "?b", True),
        ("a?", "a??", False),
        ("**/x", "x/**", True),
        ("**/x/**", "**/y", True),
        ("*/x", "x", False),
        ("a/**", "a", True),
        ("a/*", "a/**/b/**", True),
        ("*", "**/a/b", False),
        ("[\u0400-\u04ff]*", "[\u0100-\u0400]", True),
        ("[\u0401-\u04ff]*", "[\u0100-\u0400]", False),
        ("x[z-a]", "x*", False),
        ("**", "**", True),
        ("a//b", "a//b", False),
    ],
)
def test_two_globs_overlap_as_written(left: str, right: str, expected: bool) -> None:
    assert overlap(("glob", left), ("glob", right)) is expected
    assert overlap(("glob", right), ("glob", left)) is expected


def test_an_unknown_kind_is_refused_and_not_taken_for_a_glob() -> None:
    with pytest.raises(ValueError, match="regex"):
        overlap(("regex", "a"), ("file", "a"))
    with pytest.raises(ValueError, match="regex"):
        overlap(("glob", "a"), ("regex", "a"))


def test_globs_that_backtracking_would_never_finish_are_decided_at_once() -> None:
    start = time.process_time()
    assert not overlap(("glob", "*a" * 30 + "b"), ("glob", "*a" * 30 + "c"))
    assert overlap(("glob", "**/a/" * 15 + "**/x"), ("glob", "**/b/" * 15 + "**/x"))
    assert not overlap(("glob", "**/a/" * 15 + "x"), ("glob", "**/b/" * 15 + "x"))
    assert not overlap(("glob", "*a" * 40 + "b"), ("file", "a" * 400))
    assert time.process_time() - start < 5


def test_an_automaton_forgets_before_what_it_remembers_grows_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_STATE_SETS", 5)
    monkeypatch.setattr(module, "MAX_STEPS", 7)
    module._automaton.cache_clear()
    glob = "src/**/[!x]*.[ch]"
    for number in range(50):
        assert overlap(("glob", glob), ("file", f"src/x{chr(200 + number)}/m{number}.c"))
        assert not overlap(("glob", glob), ("file", f"src/x{chr(200 + number)}/x{number}.c"))
        kept = module._automaton(glob).kept
        assert len(kept) <= 5
        assert all(len(reached) <= 7 for reached in kept.values())
    module._automaton.cache_clear()
