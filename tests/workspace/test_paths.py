"""FAULTS row 15: one file, many spellings, one canonical text; and nothing outside the root.

A real directory tree with links of every sort. The spellings are made by combining targets with ways to write them.
"""

# Paths as texts are the subject here; pathlib would tidy them up on the way.

from __future__ import annotations

import os
import subprocess
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dibs.errors import Invalid
from dibs.operations.claims import globs
from dibs.workspace import paths
from dibs.workspace.paths import Paths, folds_case
from tests.plain_git import git

if TYPE_CHECKING:
    from collections.abc import Callable

    Way = Callable[[str, str], tuple[str, str] | None]  # (root, canonical) → (cwd, text)

NFC, NFD = (unicodedata.normalize(form, "é") for form in ("NFC", "NFD"))

FILES = [
    "a.py",
    "src/a.py",
    "src/deep/er/c.py",
    "src/with space.py",
    "src/ leading",
    "src/trailing ",
    "src/trailing",
    "src/dot.",
    "src/dot",
    "src/..hidden",
    "src/...",
    f"src/caf{NFC}.py",
    "app/[id]/page.tsx",
    "app/i/page.tsx",
    "src/star*",
    "src/what?",
    "src/db:migrations",
    "src2/a.py",
    "srcs",
]
DIRECTORIES = ["src", "src/deep", "src/deep/er", "app", "app/[id]", "src2"]
NOT_THERE = ["new.py", "src/new", "src/new/dir/x.py", "app/[id]/new.tsx", "src/deep/er/n w"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The working tree, with an outside beside it."""
    around = Path(os.path.realpath(tmp_path_factory.mktemp("around")))
    top = around / "repo"
    for name in FILES:
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (around / "repo2").mkdir()
    (around / "repo2" / "a.py").write_text("outside")
    (around / "alias").symlink_to("repo")  # the root itself under another name
    links = {
        "lib": "src",
        "lib2": "lib",
        "src/deep/back": "../..",
        "er": "src/deep/er",
        "absolute": str(top / "src"),
        "round": "../alias/src",
        "link.py": "src/a.py",
        "link2.py": "lib/../link.py",
        "dangling": "src/new",
        "loop": "loop",
        "loop1": "loop2",
        "loop2": "./loop1/x",
        "out": "..",
        "out.py": "../repo2/a.py",
        "dangling_out": "../nothing",
        "slash": "/",
        "src/star-link*": "a.py",
    }
    for name, target in links.items():
        (top / name).symlink_to(target)
    os.link(top / "src2/a.py", top / "src2/hard.py")
    return str(top)


@pytest.fixture(scope="module")
def here(root: str) -> Paths:
    return Paths(root)


def through(link: str, target: str) -> Way:
    """Write the path through a symbolic link that stands for a directory."""

    def way(root: str, text: str) -> tuple[str, str] | None:
        if not target:
            return root, f"{link}/{text}"
        return (root, link + text[len(target) :]) if text.startswith(f"{target}/") or text == target else None

    return way


WAYS: dict[str, Way] = {
    "plain": lambda root, text: (root, text),
    "dot": lambda root, text: (root, f"./{text}"),
    "dots and slashes": lambda root, text: (root, f".//././{text}"),
    "doubled slashes": lambda root, text: (root, text.replace("/", "//")),
    "dots between": lambda root, text: (root, text.replace("/", "/./")),
    "down and up": lambda root, text: (root, f"src/deep/../../{text}"),
    "up through what is missing": lambda root, text: (root, f"nothing/at/all/../../../{text}"),
    "up through a file": lambda root, text: (root, f"a.py/../{text}"),
    "out and in again": lambda root, text: (root, f"../repo/{text}"),
    "absolute": lambda root, text: (root, f"{root}/{text}"),
    "absolute from elsewhere": lambda root, text: ("/", f"{root}/{text}"),
    "absolute with slashes": lambda root, text: (root, f"//{root}//{text}"),
    "relative from the top of everything": lambda root, text: ("/", f"{root}/{text}"[1:]),
    "from a directory": lambda root, text: (f"{root}/src/deep", f"../../{text}"),
    "from a linked directory": lambda root, text: (f"{root}/er", f"../../../{text}"),
    "from the other name of the root": lambda root, text: (f"{root}/../alias", text),
    "absolute by the other name": lambda root, text: (root, f"{os.path.dirname(root)}/alias/{text}"),
    "path:": lambda root, text: (root, f"path:{text}"),
    "path: absolute": lambda root, text: (root, f"path:{root}/./{text}"),
    "link": through("lib", "src"),
    "link to a link": through("lib2", "src"),
    "absolute link": through("absolute", "src"),
    "link by the other name": through("round", "src"),
    "link into the depth": through("er", "src/deep/er"),
    "link back": through("src/deep/back", ""),
    "up behind a link": through("er/../../..", ""),
    "up behind a linked file": lambda root, text: (root, f"link.py/../../{text}"),
}


def spellings(texts: list[str]) -> list[Any]:
    found = []
    for text in texts:
        for name, way in WAYS.items():
            if way("/r", text) is not None:
                found.append(pytest.param(way, text, id=f"{text} {name}"))
    return found


SPELLED_FILES, SPELLED_DIRECTORIES, SPELLED_NEW = map(spellings, (FILES, DIRECTORIES, NOT_THERE))


def test_there_are_over_two_hundred_alias_pairs() -> None:
    assert len(SPELLED_FILES) > 400
    assert len(SPELLED_DIRECTORIES) > 100
    assert len(SPELLED_NEW) > 100


@pytest.mark.parametrize(("way", "text"), SPELLED_FILES)
def test_every_spelling_of_a_file_is_one_resource(here: Paths, root: str, way: Way, text: str) -> None:
    spelled = way(root, text)
    assert spelled is not None
    cwd, written = spelled
    assert here.resource(written, cwd)[:2] == ("file", text)
    if not written.startswith("path:"):
        assert here.resource(written, cwd, literal=True)[:2] == ("file", text)


@pytest.mark.parametrize(("way", "text"), SPELLED_DIRECTORIES)
def test_every_spelling_of_a_directory_is_one_resource(here: Paths, root: str, way: Way, text: str) -> None:
    spelled = way(root, text)
    assert spelled is not None
    cwd, written = spelled
    for end in ("", "/", "//", "/.", "/./"):
        assert here.resource(written + end, cwd) == ("tree", text, "")


@pytest.mark.parametrize(("way", "text"), SPELLED_NEW)
def test_every_spelling_of_what_is_not_there_yet_is_one_resource(here: Paths, root: str, way: Way, text: str) -> None:
    spelled = way(root, text)
    assert spelled is not None
    cwd, written = spelled
    assert here.resource(written, cwd) == ("tree", text, "")
    if not written.startswith("path:"):
        assert here.resource(written, cwd, literal=True) == ("file", text, "")
        assert here.resource(f"{written}/", cwd, literal=True) == ("tree", text, "")


@pytest.mark.parametrize(
    ("written", "kind", "text"),
    [
        (".", "tree", ""),
        ("./", "tree", ""),
        ("src/..", "tree", ""),
        ("lib/..", "tree", ""),
        ("er/../../..", "tree", ""),
        ("../alias", "tree", ""),
        ("src/deep/back", "tree", ""),
        ("out/repo", "tree", ""),
        ("link.py", "file", "src/a.py"),
        ("link2.py", "file", "src/a.py"),
        ("link.py/", "file", "src/a.py"),
        ("dangling", "tree", "src/new"),
        ("dangling/x", "tree", "src/new/x"),
        ("lib", "tree", "src"),
        ("er/..", "tree", "src/deep"),
        ("er/../x", "tree", "src/deep/x"),
        ("nothing/../lib/a.py", "file", "src/a.py"),
        ("a.py/x", "tree", "a.py/x"),
        ("src/star*", "file", "src/star*"),
        ("src/star-link*", "file", "src/a.py"),
        ("src/what?", "file", "src/what?"),
        ("app/[id]", "tree", "app/[id]"),
        ("app/[id]/page.tsx", "file", "app/[id]/page.tsx"),
        ("app/[id]/new/x.tsx", "tree", "app/[id]/new/x.tsx"),
        ("src/db:migrations", "file", "src/db:migrations"),
        ("~/x", "tree", "~/x"),
        ("a\\b", "tree", "a\\b"),
        ("c:x", "tree", "c:x"),
        ("db:", "tree", "db:"),
        ("DB:x", "tree", "DB:x"),
        ("x/db:y", "tree", "x/db:y"),
        ("9p:x", "tree", "9p:x"),
        ("path:new*", "tree", "new*"),
        ("path:db:x", "tree", "db:x"),
        ("path:glob:x", "tree", "glob:x"),
    ],
)
def test_what_was_written_is_read_as_the_kernel_would(
    here: Paths, root: str, written: str, kind: str, text: str
) -> None:
    assert here.resource(written, root)[:2] == (kind, text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("src", "src2"),
        ("src", "srcs"),
        ("src/a.py", "src2/a.py"),
        ("src/dot", "src/dot."),
        ("src/trailing", "src/trailing "),
        ("src/leading", "src/ leading"),
        ("src/new", "src/new "),
        ("src/new", "src/new."),
        ("src/...", "src"),
        ("src/..hidden", "hidden"),
        ("app/[id]/page.tsx", "app/i/page.tsx"),
        ("src/A.py", "src/a.py"),
        ("src/star*", "src/star"),
        ("er/..", "."),
        ("er/../a.py", "a.py"),
        ("path:db:x", "db:x"),
        ("path:new*", "new*"),
        ("glob:src/a.py", "src/a.py"),
    ],
)
def test_what_only_looks_alike_stays_apart(here: Paths, root: str, one: str, other: str) -> None:
    assert here.resource(one, root) != here.resource(other, root)


@pytest.mark.parametrize("stem", ["caf{}.py", "{}", "new-{}", "{}/x", "db:{}", "glob:*{}", "glob:{}/*", "glob:[{}]"])
def test_composed_and_decomposed_letters_are_one_resource(here: Paths, root: str, stem: str) -> None:
    composed, decomposed = stem.format(NFC), stem.format(NFD)
    assert composed != decomposed
    one, other = (here.resource(text, f"{root}/src")[1] for text in (composed, decomposed))
    assert one == other
    assert unicodedata.is_normalized("NFC", one)


@given(st.lists(st.sampled_from(sorted({"..", ".", "", "x", "src", "deep", "er", "lib", "back", "a.py", "out", "repo",
                                        "link.py", "dangling", "round", "alias", "app", "[id]", "absolute"})),
                min_size=1, max_size=7))  # fmt: skip
def test_any_walk_ends_where_the_system_says_or_is_refused(here: Paths, root: str, parts: list[str]) -> None:
    written = "/".join(parts)
    assume(written and not written.startswith("/"))
    real = os.path.realpath(os.path.join(root, written))
    if real != root and not real.startswith(f"{root}/"):
        with pytest.raises(Invalid):
            here.resource(written, root, literal=True)
        return
    kind, text, _ = here.resource(written, root, literal=True)
    assert text == real[len(root) + 1 :]
    assert os.path.isdir(real) == (kind == "tree") or written.endswith("/")
    assert here.resource(text or ".", root, literal=True)[1] == text  # the canonical text is its own canonical text


OUTSIDE = [
    "..",
    "../",
    "../..",
    "../repo2",
    "../repo2/a.py",
    "../rep",
    "../repo/../repo2/a.py",
    "src/../../x",
    "nothing/../../x",
    "a.py/../../x",
    "/",
    "//",
    "/etc/passwd",
    "/nothing/there",
    "/etc/../etc/passwd",
    "../../../../../../../../etc/passwd",
    "out",
    "out/x",
    "out/repo2/a.py",
    "out.py",
    "dangling_out",
    "slash",
    "slash/etc/passwd",
    "er/../../../..",
    "src/deep/back/..",
    "lib/../../x",
    "../alias/..",
    "path:../x",
    "path:/etc",
    "glob:../*",
    "../*",
    "/*",
    "/etc/*",
    "/**",
    "glob:/etc/*.conf",
    "out/*",
    "slash/**",
    "er/../../../../*",
    "src/../../*.py",
]


@pytest.mark.parametrize("written", OUTSIDE)
def test_what_ends_outside_the_root_is_refused_with_the_resource(here: Paths, root: str, written: str) -> None:
    with pytest.raises(Invalid, match="outside") as refused:
        here.resource(written, root)
    assert refused.value.resource == written


def test_the_neighbour_whose_name_begins_like_the_root_is_outside(here: Paths, root: str) -> None:
    for written in (f"{root}2/a.py", f"{root}2", f"{root}-x"):
        with pytest.raises(Invalid, match="outside"):
            here.resource(written, root)


@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "a path may not be empty"),
        ("a\nb", "a path may not contain a newline"),
        ("src/\n", "a path may not contain a newline"),
        ("a\r\n", "a path may not contain a newline"),
        ("a\0b", "a path may not contain a NUL character"),
        ("a\tb", "a path may not contain control characters"),
        ("a\x1bb", "a path may not contain control characters"),
        ("é\x7f", "a path may not contain control characters"),
        ("db:a\tb", "a path may not contain control characters"),
        ("a\udcffb", "not UTF-8"),
        ("\ud800", "not UTF-8"),
        ("a/" * 2048 + "b", "at most 4096 bytes"),
        ("é/" * 1400, "at most 4096 bytes"),
        ("x" * 256, "at most 255 bytes"),
        ("src/" + "x" * 256 + "/y", "at most 255 bytes"),
        ("nothing/" + "é" * 128, "at most 255 bytes"),
        ("loop", "loop of symbolic links"),
        ("loop/x", "loop of symbolic links"),
        ("loop1", "loop of symbolic links"),
        ("loop/../a.py", "loop of symbolic links"),
    ],
)
def test_what_cannot_be_a_path_is_refused_and_told_why(
    here: Paths, root: str, written: str, message: str, literal: bool
) -> None:
    with pytest.raises(Invalid, match=message) as refused:
        here.resource(written, root, literal)
    refused.value.message.encode()
    refused.value.resource.encode()


@pytest.mark.parametrize("written", ["path:", "glob:", "file:x", "tree:x", "inode:1:2", "name:x"])
def test_reserved_schemes_are_no_names(here: Paths, root: str, written: str) -> None:
    with pytest.raises(Invalid):
        here.resource(written, root)


def test_the_greatest_length_of_a_name_is_taken(here: Paths, root: str) -> None:
    assert here.resource("x" * 255, root)[1] == "x" * 255
    assert here.resource("é" * 127, root)[1] == "é" * 127


@pytest.mark.parametrize("name", ["db:migrations", "deploy:prod", "port:8080", "git:index", "a-b_c9:x/y/../z", "qu:*"])
def test_a_name_is_taken_as_it_is_given(here: Paths, root: str, name: str) -> None:
    assert here.resource(name, root) == ("name", name, "")


def test_a_name_that_exists_as_a_path_is_that_path(here: Paths, root: str) -> None:
    assert here.resource("db:migrations", f"{root}/src") == ("file", "src/db:migrations", "")
    assert here.resource("db:migrations", root)[0] == "name"


def test_a_guard_means_a_path_whatever_it_looks_like(here: Paths, root: str) -> None:
    for written in ("db:new", "glob:x", "path:x", "*.py", "[a]", "**"):
        assert here.resource(written, root, literal=True) == ("file", written, "")


def test_hard_links_share_an_alias_and_single_files_have_none(here: Paths, root: str) -> None:
    one, other = here.resource("src2/a.py", root), here.resource("src2/hard.py", root)
    assert one[1] != other[1]
    assert one[2] == other[2] != ""
    status = os.stat(f"{root}/src2/a.py")
    assert one[2] == f"{status.st_dev}:{status.st_ino}"
    assert here.resource("src/a.py", root)[2] == ""
    assert here.resource("src", root)[2] == ""


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("src/*.py", "src/*.py"),
        ("src/./**//x", "src/**/x"),
        (".//src/*", "src/*"),
        ("lib/*.py", "src/*.py"),
        ("er/../*.py", "src/deep/*.py"),
        ("src/deep/../*", "src/*"),
        ("nothing/../*", "*"),
        ("new/*/x", "new/*/x"),
        ("../alias/src/**", "src/**"),
        ("**", "**"),
        ("**/", "**/**"),
        ("src/*/", "src/*/**"),
        ("src/*/.", "src/*"),
        ("glob:src", "src"),
        ("glob:lib/a.py", "src/a.py"),
        ("glob:src/", "src/**"),
        ("glob:src/star*", "src/star*"),
        ("glob:app/[id]/page.tsx", "app/[id]/page.tsx"),
        ("app/[id]/*.tsx", "app/[[]id]/*.tsx"),
        ("app/[id]/[x]/y", "app/[[]id]/[x]/y"),
        ("app/[ij]/page.tsx", "app/[ij]/page.tsx"),
        ("glob:db:*", "db:*"),
        ("src/*[", "src/*["),
    ],
)
def test_a_glob_is_put_in_order_and_its_literal_part_is_a_path(here: Paths, root: str, written: str, text: str) -> None:
    assert here.resource(written, root) == ("glob", text, "")
    globs.simplify(text)


def test_a_glob_is_relative_to_where_it_was_written(here: Paths, root: str) -> None:
    assert here.resource("*.py", f"{root}/src") == ("glob", "src/*.py", "")
    assert here.resource("*.py", f"{root}/lib") == ("glob", "src/*.py", "")
    assert here.resource("../*.py", f"{root}/er") == ("glob", "src/deep/*.py", "")
    assert here.resource(f"{root}/src/*.py", "/") == ("glob", "src/*.py", "")
    text = here.resource("*.tsx", f"{root}/app/[id]")[1]
    assert globs.matches(text, "app/[id]/page.tsx")
    assert not globs.matches(text, "app/i/page.tsx")


@pytest.mark.parametrize("written", ["src/*/../x", "*/..", "**/../*", "glob:*/../*"])
def test_nothing_goes_up_behind_a_wildcard(here: Paths, root: str, written: str) -> None:
    with pytest.raises(Invalid, match="after a wildcard"):
        here.resource(written, root)


@given(st.text(alphabet="ab*?[]!^-", max_size=8))
def test_both_floors_agree_on_what_is_wild(part: str) -> None:
    assert paths.is_wild(part) == globs.is_wild(part)
    if part:
        assert globs.matches(paths.escaped(part), part)
        assert not globs.matches(paths.escaped(part), f"{part}x")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SRC/NEW", "src/new"),
        ("src/New.py", "src/nEW.PY"),
        ("Caf" + NFC.upper(), "cAF" + NFD),
        ("STRASSE", "straße"),
        ("ΣΑΣ", "σας"),
        ("glob:SRC/*.PY", "glob:src/*.py"),
        ("glob:[A-Z]*", "glob:[a-z]*"),
        ("glob:X[ABC]", "glob:x[abc]"),
    ],
)
def test_case_makes_no_difference_where_the_file_system_folds_it(root: str, one: str, other: str) -> None:
    folding, exact = Paths(root, fold=True), Paths(root, fold=False)
    assert folding.resource(one, root) == folding.resource(other, root)
    assert exact.resource(one, root) != exact.resource(other, root)


@given(
    st.text(alphabet="abzABZ_^09", min_size=1, max_size=2),
    st.sampled_from(
        ["[A-_]", "[A-z]", "[0-Z]", "[+-^]", "[A-Z]", "[a-z]", "[!A-Z]", "[^0-9]", "[Zz]", "[B]", "[!b]", "?"]
    ),
)
def test_a_folded_glob_misses_no_name_that_the_written_one_matches_in_every_case(name: str, members: str) -> None:
    pattern = f"{members}*"
    cases = {name, name.lower(), name.upper(), name.swapcase()}
    if all(globs.matches(pattern, case) for case in cases):
        assert globs.matches(paths._folded_wild(pattern), paths._folded(name))


def test_a_letter_that_folds_to_two_widens_its_class(root: str) -> None:
    assert globs.matches(Paths(root, fold=True).resource("glob:stra[ß]e", root)[1], "strasse")


def test_names_keep_their_case_where_the_file_system_folds_it(root: str) -> None:
    assert Paths(root, fold=True).resource("deploy:Prod", root) == ("name", "deploy:Prod", "")


def test_case_folding_is_seen_by_looking_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = tmp_path / "top"
    (top / ".git").mkdir(parents=True)
    (top / "1").mkdir()
    assert not folds_case(str(top))
    real = os.lstat
    asked = []

    def folding(path: str) -> os.stat_result:
        asked.append(path)
        head, tail = os.path.split(path)
        return real(os.path.join(head, tail.lower()))

    monkeypatch.setattr(os, "lstat", folding)
    assert folds_case(str(top))
    assert len(asked) <= 3  # `.dibs`, `.git` and `.GIT`
    assert folds_case(str(top / "1")) is False  # no letter anywhere
    (top / "1" / "name").mkdir()
    assert folds_case(str(top / "1"))
    assert folds_case(str(top / "1" / "name"))  # empty, so its own name is asked for
    monkeypatch.setattr(os, "lstat", real)
    assert sorted(os.listdir(top)) == [".git", "1"]
    assert os.listdir(top / "1") == ["name"]


def test_two_links_that_differ_in_case_alone_do_not_look_like_folding(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    os.link(tmp_path / "a", tmp_path / "A")
    assert not folds_case(str(tmp_path))
    other = tmp_path / "other"
    other.mkdir()
    (other / "B").write_text("")
    (other / "b").symlink_to("B")
    assert not folds_case(str(other))


def test_a_root_given_by_another_name_is_the_real_one(root: str) -> None:
    assert Paths(os.path.join(os.path.dirname(root), "alias")).root == root


def test_the_root_is_known_by_its_inode_where_its_text_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = Path(os.path.realpath(tmp_path)) / "repo"
    top.mkdir()
    (top / "a.py").write_text("")
    folding = Paths(str(top), fold=True)
    real = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path: real(path.replace("REPO", "repo").replace("A.PY", "a.py")))
    assert folding.resource("../REPO/A.PY", str(top)) == ("file", "a.py", "")


def test_what_links_or_the_directory_bring_in_is_checked_too(tmp_path: Path) -> None:
    top = tmp_path / "repo"
    (top / "bad\ttab").mkdir(parents=True)
    (top / "link").symlink_to("bad\ttab/x")
    (top / os.fsdecode(b"bad\xff")).mkdir()
    here = Paths(str(top))
    for written, cwd in (
        ("link", top),
        ("x", top / "bad\ttab"),
        ("x", top / os.fsdecode(b"bad\xff")),
        ("*", top / "link"),
    ):
        with pytest.raises(Invalid) as refused:
            here.resource(written, str(cwd))
        assert refused.value.resource == written
        refused.value.message.encode()


def test_as_many_links_are_followed_as_the_kernel_follows(tmp_path: Path) -> None:
    (tmp_path / "0").write_text("")
    for number in range(1, 42):
        (tmp_path / f"{number}").symlink_to(f"{number - 1}")
    here = Paths(str(tmp_path))
    assert (tmp_path / "40").stat()
    assert here.resource("40", str(tmp_path)) == ("file", "0", "")
    with pytest.raises(OSError, match="Too many levels"):
        (tmp_path / "41").stat()
    with pytest.raises(Invalid, match="loop of symbolic links"):
        here.resource("41", str(tmp_path))


def test_what_may_not_be_looked_at_is_refused(here: Paths, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> os.stat_result:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "lstat", refuse)
    with pytest.raises(Invalid, match=r"src/a\.py cannot be looked at: Permission denied"):
        here.resource("src/a.py", root)


def test_a_plain_path_costs_one_look_for_each_component(
    here: Paths, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    real = os.lstat

    def counted(path: str) -> os.stat_result:
        looks.append(path)
        return real(path)

    monkeypatch.setattr(os, "lstat", counted)
    assert here.resource("src/deep/er/c.py", root)[0] == "file"
    assert len(looks) == 4


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A repository with a worktree beside it and one inside it, and another repository inside and beside it."""
    around = os.path.realpath(tmp_path_factory.mktemp("trees"))
    main = f"{around}/main"
    git(around, "init", main)
    Path(main, "src").mkdir()
    Path(main, "src/a.py").write_text("")
    git(main, "add", ".")
    git(main, "commit", "-m", "x")
    git(main, "worktree", "add", f"{around}/beside")
    git(main, "worktree", "add", f"{main}/.trees/inside")
    git(around, "init", f"{main}/vendor")
    git(around, "init", f"{around}/other")
    return {"main": main, "beside": f"{around}/beside", "inside": f"{main}/.trees/inside", "other": f"{around}/other"}


@pytest.mark.parametrize("used", ["main", "beside", "inside"])
@pytest.mark.parametrize("written_in", ["main", "beside", "inside"])
def test_a_file_has_one_text_whichever_worktree_it_is_named_from(
    trees: dict[str, str], used: str, written_in: str
) -> None:
    here, there = Paths(trees[used]), trees[written_in]
    for text in ("src/a.py", "new/x", "src"):
        for written in (f"{there}/{text}", os.path.relpath(f"{there}/{text}", trees[used])):
            kind, canonical, _, top = here.located(written, trees[used])
            assert (canonical, top) == (text, there)
            assert kind == ("file" if text.endswith(".py") else "tree")
    assert here.located(f"{there}/src/*.py", "/") == ("glob", "src/*.py", "", there)
    assert here.located(there, "/") == ("tree", "", "", there)


def test_another_repository_inside_is_part_of_the_tree_and_one_beside_is_not(trees: dict[str, str]) -> None:
    here = Paths(trees["main"])
    assert here.resource("vendor/x", trees["main"]) == ("tree", "vendor/x", "")
    for written in ("../other/x", "../other", f"{trees['other']}/x", "../other/*"):
        with pytest.raises(Invalid, match="outside"):
            here.resource(written, trees["main"])


def test_gits_index_and_head_are_each_working_trees_own_and_its_stash_is_not(tmp_path: Path) -> None:
    main, linked = tmp_path / "main", tmp_path / "linked"
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-C", str(main)]
    subprocess.run(["git", "init", "-q", str(main)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(linked)], check=True)
    for name, shared in (("git:index", False), ("git:head", False), ("git:stash", True), ("db:index", True)):
        here = Paths(str(main)).resource(name, str(main))
        there = Paths(str(linked)).resource(name, str(linked))
        assert here[:2] == ("name", name)
        assert (here == there) is shared, name
