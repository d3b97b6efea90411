"""The glob algebra against enumeration: a tiny alphabet, all short paths over it, and Python's `re` as the judge.

An overlap that exists shows itself in a path no longer than both globs together, so for globs this small the
enumeration is complete: it proves both answers, yes and no.
"""

from __future__ import annotations

import itertools
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.errors import Invalid
from dibs.operations.claims import globs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

SIGNS = "ab-]["  # what names are made of here: two letters, and what is special inside a class
NAMES = ["".join(name) for size in (1, 2, 3, 4) for name in itertools.product("abc", repeat=size)]
ODD_NAMES = ["".join(name) for size in (1, 2, 3) for name in itertools.product(SIGNS, repeat=size)]
FEW = ["a", "b", "ab", "ba", "c"]
PATHS = ["/".join(path) for depth in (1, 2, 3, 4) for path in itertools.product(FEW, repeat=depth)]

TOKEN = re.compile(r"\*+|\?|\[(?>[!^]?\]?)[^\]]*\]|.", re.DOTALL)
MEMBER = re.compile(r"(.)-(.)|(.)", re.DOTALL)


def class_as_expression(text: str) -> str:
    body = text[1:-1]
    negated = body[0] in "!^"
    members = set()
    for low, high, one in MEMBER.findall(body[1:] if negated else body):
        members |= {one} if one else {chr(code) for code in range(ord(low), ord(high) + 1)}
    if negated:
        return "[^/" + "".join(map(re.escape, sorted(members))) + "]"
    members.discard("/")
    return "[" + "".join(map(re.escape, sorted(members))) + "]" if members else "(?!)"


def component_as_expression(part: str) -> str:
    done = ""
    for token in TOKEN.findall(part):
        if token[0] == "*":
            done += "[^/]*"
        elif token == "?":
            done += "[^/]"
        elif len(token) > 1:
            done += class_as_expression(token)
        else:
            done += re.escape(token)
    return "(?=[^/])" + done  # a component is never empty


def as_expression(pattern: str) -> re.Pattern[str]:
    """The same glob for `re`, over paths that end with a slash, so that each component brings its own."""
    parts = ["(?:[^/]+/)*" if part == "**" else component_as_expression(part) + "/" for part in pattern.split("/")]
    return re.compile("".join(parts))


_matched: dict[tuple[str, int], frozenset[str]] = {}


def matched(pattern: str, among: list[str]) -> frozenset[str]:
    """All of the given paths that the glob matches, by `re`."""
    key = pattern, id(among)
    if key not in _matched:
        expression = as_expression(pattern)
        _matched[key] = frozenset(path for path in among if expression.fullmatch(path + "/"))
    return _matched[key]


def all_of(pieces: Iterable[str], longest: int, joint: str) -> list[str]:
    pieces = list(pieces)
    return [joint.join(some) for size in range(1, longest + 1) for some in itertools.product(pieces, repeat=size)]


def agree_on_every_pair(patterns: list[str], paths: list[str]) -> int:
    pairs = 0
    for a, b in itertools.combinations_with_replacement(patterns, 2):
        expected = not matched(a, paths).isdisjoint(matched(b, paths))
        assert globs.overlap(a, b) == expected, (a, b)
        assert globs.overlap(b, a) == expected, (b, a)
        pairs += 1
    return pairs


def test_overlap_is_exact_for_every_pair_of_small_components() -> None:
    pieces = ["a", "b", "*", "?", "[ab]", "[!a]", "[b-a]"]
    patterns = [pattern for pattern in all_of(pieces, 3, "") if pattern != "**"]  # that one is no component
    assert agree_on_every_pair(patterns, NAMES) > 75_000


def test_overlap_is_exact_for_every_pair_of_small_paths() -> None:
    patterns = all_of(["a", "b", "*", "**", "a*"], 3, "/")
    assert agree_on_every_pair(patterns, PATHS) > 10_000


WILD_TEXT = st.text(alphabet="ab*?[]!^-", min_size=1, max_size=6)
COMPONENTS = st.lists(st.sampled_from(["a", "b", "ab", "?", "*", "**", "a*", "*b", "[!a]", "[ab]?"]), max_size=4)
SMALL_GLOBS = COMPONENTS.filter(bool).map("/".join)


@given(WILD_TEXT)
def test_matches_reads_every_component_as_the_reference_does(pattern: str) -> None:
    if pattern == "**":
        return
    expected = matched(pattern, ODD_NAMES)
    assert {name for name in ODD_NAMES if globs.matches(pattern, name)} == expected


@given(WILD_TEXT)
def test_a_text_is_wild_exactly_if_it_does_not_match_only_itself(pattern: str) -> None:
    literal = re.escape(pattern) == component_as_expression(pattern).removeprefix("(?=[^/])")
    assert globs.is_wild(pattern) is not literal


@given(SMALL_GLOBS, st.sampled_from(PATHS))
def test_matches_agrees_with_the_reference(pattern: str, path: str) -> None:
    assert globs.matches(pattern, path) == (path in matched(pattern, PATHS))


@given(SMALL_GLOBS, SMALL_GLOBS)
def test_overlap_is_symmetric_and_every_common_path_proves_it(a: str, b: str) -> None:
    answer = globs.overlap(a, b)
    assert globs.overlap(b, a) == answer
    if not matched(a, PATHS).isdisjoint(matched(b, PATHS)):
        assert answer


@given(SMALL_GLOBS, st.sampled_from(["", *(path for path in PATHS if path.count("/") < 2)]))
def test_meets_tree_is_overlap_with_everything_at_and_below_it(pattern: str, tree: str) -> None:
    assert globs.meets_tree(pattern, tree) == globs.overlap(pattern, f"{tree}/**" if tree else "**")
    inside = {path for path in PATHS if not tree or path == tree or path.startswith(f"{tree}/")}
    if matched(pattern, PATHS) & inside:
        assert globs.meets_tree(pattern, tree)


@given(SMALL_GLOBS, st.lists(st.sampled_from(FEW), max_size=2).map("/".join))
def test_meets_tree_says_no_only_where_no_path_is(pattern: str, tree: str) -> None:
    if pattern.count("/") > 1:
        return  # a witness must fit into the enumeration
    inside = {path for path in PATHS if not tree or path == tree or path.startswith(f"{tree}/")}
    assert globs.meets_tree(pattern, tree) == bool(matched(pattern, PATHS) & inside)


@given(SMALL_GLOBS)
def test_simplify_changes_the_form_and_never_the_meaning(pattern: str) -> None:
    kind, text = globs.simplify(pattern)
    if kind == "tree":
        assert not globs.is_wild(text)
        text = f"{text}/**" if text else "**"
    assert matched(text, PATHS) == matched(pattern, PATHS)
    assert globs.simplify(text)[0] == kind
    assert "**/**" not in text


@given(SMALL_GLOBS)
def test_every_match_lies_below_the_literal_prefix_and_ends_with_the_literal_last(pattern: str) -> None:
    prefix, last = globs.literal_prefix(pattern), globs.literal_last(pattern)
    for path in matched(pattern, PATHS):
        assert not prefix or path == prefix or path.startswith(f"{prefix}/")
        assert not last or path.split("/")[-1] == last


@pytest.mark.parametrize(
    ("pattern", "prefix", "last"),
    [
        ("src/**/*.py", "src", ""),
        ("src/**/test.py", "src", "test.py"),
        ("**/test.py", "", "test.py"),
        ("*", "", ""),
        ("**", "", ""),
        ("src/a.py", "src/a.py", ""),
        ("a.py", "a.py", ""),
        ("src/a[b/c]/d", "src/a[b/c]/d", ""),
        ("a/b/[c]/d/e[", "a/b", "e["),
        ("a/b?", "a", ""),
    ],
)
def test_the_literal_ends_of_a_glob_are_its_components_before_and_behind_the_wildcards(
    pattern: str, prefix: str, last: str
) -> None:
    assert (globs.literal_prefix(pattern), globs.literal_last(pattern)) == (prefix, last)


@pytest.mark.parametrize(
    ("pattern", "kind", "text"),
    [
        ("**", "tree", ""),
        ("**/**/**", "tree", ""),
        ("src/**", "tree", "src"),
        ("src/lib/**/**", "tree", "src/lib"),
        ("src[/**", "tree", "src["),
        ("src/**/**/x", "glob", "src/**/x"),
        ("src/*/**", "glob", "src/*/**"),
        ("**/src/**", "glob", "**/src/**"),
        ("src/***", "glob", "src/***"),
        ("src/a**", "glob", "src/a**"),
        ("src/a.py", "glob", "src/a.py"),
        ("src/*", "glob", "src/*"),
    ],
)
def test_a_glob_that_means_a_whole_directory_is_a_tree(pattern: str, kind: str, text: str) -> None:
    assert globs.simplify(pattern) == (kind, text)


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "/",
        "/src/*",
        "src/*/",
        "src//*",
        "./*",
        "src/./*",
        "../*",
        "src/*/../x",
        "*/..",
        "a\tb*",
        "a\n*",
        "a\0*",
        "a\x7f*",
        "a\udc80*",
        "*" * 4097,
        "é" * 2049,
        "/".join(["*"] * 65),
    ],
)
def test_what_is_no_canonical_glob_is_refused_with_the_resource(pattern: str) -> None:
    with pytest.raises(Invalid) as refused:
        globs.simplify(pattern)
    assert "resource" in refused.value.fields
    refused.value.message.encode()
    refused.value.resource.encode()


def test_the_longest_and_the_deepest_allowed_globs_are_taken() -> None:
    assert globs.simplify("*" * 4096)[0] == "glob"
    assert globs.simplify("/".join(["*"] * 64))[0] == "glob"


@pytest.mark.parametrize(
    ("text", "wild"),
    [
        ("a*b", True),
        ("a?b", True),
        ("a/[b]/c", True),
        ("[]]", True),
        ("[!]]", True),
        ("[^]]", True),
        ("[", False),
        ("[]", False),
        ("[!]", False),
        ("[^]", False),
        ("a]b", False),
        ("a[b/c]d", False),
        ("[[]", True),
        ("[x[y]", True),
        ("plain/path.py", False),
        ("", False),
    ],
)
def test_a_bracket_is_a_wildcard_only_if_it_is_closed_in_its_component(text: str, wild: bool) -> None:
    assert globs.is_wild(text) is wild


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("[!a]", "/", False),
        ("[--0]", "-", True),
        ("[--0]", ".", True),
        ("a[.-0]b", "a/b", False),
        ("[]-a]", "^", True),
        ("[a-]", "-", True),
        ("[-a]", "-", True),
        ("[^a]", "^", True),
        ("[^a]", "a", False),
        ("[^a]", "b", True),
        ("[a^]", "^", True),
        ("[!!]", "!", False),
        ("[*]", "*", True),
        ("[*]", "a", False),
        ("[[]id]", "[id]", True),
        ("[z-a]", "m", False),
        ("?", "é", True),
        ("[à-ü]", "é", True),
        ("*", ".hidden", True),
        ("*", "", False),
        ("**", "", True),
        ("a/**", "a", True),
        ("a/**", "ab", False),
        ("**/a", "a", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "ab", False),
        ("a**b", "axxb", True),
        ("a**b", "ax/xb", False),
        ("***", "a", True),
        ("***", "a/b", False),
        ("a\\*", "a*", False),
        ("src", "src/a", False),
    ],
)
def test_matches_follows_the_stated_rules(pattern: str, path: str, expected: bool) -> None:
    assert globs.matches(pattern, path) is expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("src/**/*.py", "src/*/test_*", True),
        ("src/**/*.py", "**/conftest.py", True),
        ("src/*.py", "src/*.pyi", False),
        ("src/*", "src/*/*", False),
        ("src/**", "src2/**", False),
        ("[a-m]*", "[n-z]*", False),
        ("[a-n]*", "[n-z]*", True),
        ("[!a]", "[!b]", True),
        ("[!\0-m]", "[!n-\U0010ffff]", False),
        ("[.-0]", "[!.0]", False),
        ("[!\0-.0-\U0010ffff]", "[!\0-.0-\U0010ffff]", False),
        ("*[0-4]", "*[5-9]", False),
        ("*a", "b*", True),
        ("?", "??", False),
        ("[z-a]", "[z-a]", False),
        ("[z-a]", "**", False),
        ("**/[z-a]", "**/**", False),
        ("**", "**", True),
        ("a*b*c", "a*c*b*c", True),
        ("**/a/**", "b/**/c", True),
        ("**/a", "**/b", False),
    ],
)
def test_overlap_follows_the_stated_rules(a: str, b: str, expected: bool) -> None:
    assert globs.overlap(a, b) is expected
    assert globs.overlap(b, a) is expected


def test_a_path_and_a_tree_are_literal_whatever_they_look_like() -> None:
    assert globs.matches("app/*/page.tsx", "app/[id]/page.tsx")
    assert not globs.matches("app/i/page.tsx", "app/[id]/page.tsx")
    assert globs.meets_tree("app/*/page.tsx", "app/[id]")
    assert not globs.meets_tree("app/i/page.tsx", "app/[id]")
    assert not globs.matches("app/[id]/page.tsx", "app/[id]/page.tsx")


def steps(function: Callable[..., object], *arguments: str) -> int:
    """How many lines of the glob algebra a call runs: a measure of work that no busy machine disturbs."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if frame.f_code.co_filename != globs.__file__:
            return None
        count += event == "line"
        return trace

    globs.remembered.clear()
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function(*arguments)
    finally:
        sys.settrace(before)
    return count


WORST: list[tuple[str, Callable[[int], str], Callable[[int], str]]] = [
    ("globstars", lambda n: "/".join(["**", "a"] * (n // 2)), lambda n: "/".join(["**", "a"] * (n // 2 - 1) + ["b"])),
    ("bare globstars", lambda n: "/".join(["**"] * n), lambda n: "/".join(["**"] * n + ["a"])),
    ("stars", lambda n: "*a" * n, lambda n: "*a" * n + "b"),
    ("stars and marks", lambda n: "*?" * n, lambda n: "?*" * n + "b"),
    ("stars against a name", lambda n: "*a" * n + "*b", lambda n: "a" * 2 * n),
    ("stars in components", lambda n: "/".join(["*a*a*a*b"] * n), lambda n: "/".join(["**", "*a*a*a*c"] * (n // 2))),
    (
        "classes",
        lambda n: "*".join(f"[{chr(200 + i)}-{chr(300 + i)}]" for i in range(n)),
        lambda n: "*".join(f"[{chr(150 + i)}-{chr(201 + i)}]" for i in range(n)) + "x",
    ),
]


@pytest.mark.parametrize(("a", "b"), [case[1:] for case in WORST], ids=[case[0] for case in WORST])
def test_the_work_grows_with_the_product_of_the_lengths_at_most(
    a: Callable[[int], str], b: Callable[[int], str]
) -> None:
    small, large = steps(globs.overlap, a(16), b(16)), steps(globs.overlap, a(64), b(64))
    assert large <= 16 * small + 1_000  # four times as long on both sides
    assert large <= 40 * len(a(64)) * len(b(64)) + 1_000
    assert large < 100_000


def test_a_glob_of_the_greatest_length_is_compared_in_a_bounded_number_of_steps() -> None:
    assert steps(globs.overlap, "*a" * 2_048, "*a" * 2_047 + "b") < 200_000
    assert steps(globs.matches, "*a" * 2_047 + "*b", "a" * 4_096) < 200_000


def test_the_same_two_components_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    real = globs._components_meet

    def counted(a: Any, b: Any) -> bool:
        compared.append((a, b))
        return real(a, b)

    monkeypatch.setattr(globs, "_components_meet", counted)
    assert globs.overlap("/".join(["*a*", "**"] * 32), "/".join(["**", "*a*"] * 31 + ["b"]))
    assert len(compared) == len(set(compared)) == 2


def test_only_so_many_parsed_globs_are_remembered() -> None:
    for number in range(globs.MAX_CACHED_GLOBS + 10):
        globs.matches(f"{number}*", "x")
        assert len(globs.remembered) <= globs.MAX_CACHED_GLOBS
    assert globs.matches("1*", "12")
