"""Targets that the words do not say: where they lie is told as far as it is certain, and they are told as doubts."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from dibs import shell


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A repository with some files."""
    top = Path(os.path.realpath(tmp_path_factory.mktemp("here")))
    for name in ("lib/a.py", "lib/b.py", "src/x.py", "tests/t.py", "a.py"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("foo\n")
    subprocess.run(["git", "init", "-q", "."], cwd=top, check=True)
    subprocess.run(["git", "add", "-A"], cwd=top, check=True)
    for name in ("lib/a.py", "lib/b.py", "tests/t.py", "a.tgz", "a.tar", "a.zip"):  # the last three are no archives
        (top / name).write_text("foo, changed\n")
    return str(top)


def below(here: str, command: str) -> list[str] | None:
    """Where the doubts of a command lie, as seen from the directory."""
    doubts = shell.read(command, here, home="/home/me").unresolved
    assert doubts, command
    if any(doubt.below is None for doubt in doubts):
        return None
    return sorted({way.removeprefix(f"{here}/") for doubt in doubts for way in doubt.below or ()})


@pytest.mark.parametrize(
    ("command", "ways"),
    [
        ("echo > build/$n.txt", ["build/"]), ("echo > build/out_$n.txt", ["build/out_"]), ("echo > out$n", ["out"]),
        ("echo > /opt/x_$(date +%s).txt", ["/opt/x_"]), ("make > /opt/out_$$.log 2>&1", ["/opt/out_"]),
        ("F=build/$n; echo > $F", ["build/"]), ("f=lib/$n; cp a.py ${f%.py}.bak", ["lib/"]), ("echo > $RANDOM", [""]),
        ("for i in $(seq $N); do touch lib/f_$i; done", ["lib/f_"]),
        ("for ((i=0;i<9;i++)); do touch lib/f$i; done", ["lib/f"]),
        ("i=0; while a; do i=$((i+1)); touch lib/f$i; done", ["lib/f"]), ("touch ~/x_$n", ["/home/me/x_"]),
        ("if a; then F=src; else F=lib; fi; touch $F/x", ["lib", "src"]), ("cd lib && touch x_$(date +%F)", ["lib/x_"]),
        ("T=$(basename $X); touch lib/$T", ["lib/"]), ("cp $X lib/", ["lib/"]), ("cp -t lib $X", ["lib/"]),
        ("cp a.py lib/$n", ["lib/"]), ("touch 'lib'/\"$n\"", ["lib/"]),
        ("B=$(git rev-parse --short HEAD); touch out-$B", ["out-"]),
        ("D=lib/$n; mkdir -p $D; touch $D/x", ["lib/"]), ("touch lib/$n/*.txt", ["lib/"]),
        ("V=$(jq .v p.json); touch dist/a-$V", ["dist/a-"]),
        ("for f in lib/$n tests/$n; do rm $f; done", ["lib/", "tests/"]),
        ('A=(lib/$n src/x.py); rm "${A[@]}"', ["lib/"]),
        ("dd if=a.py of=lib/$n", ["lib/"]), ("curl -o lib/$n http://x", ["lib/"]), ("wget -P lib $URL", ["lib/"]),
        ("trap 'rm -rf lib/$T' EXIT; T=$(uuidgen)", ["lib/"]), ("f() { touch lib/$1; }", ["lib/"]),
    ],
)  # fmt: skip
def test_a_target_behind_a_known_beginning_lies_there(here: str, command: str, ways: list[str]) -> None:
    assert below(here, command) == ways


@pytest.mark.parametrize(
    ("command", "end"),
    [
        ("echo > $D/x.json", "/x.json"), ('cp a.py "$D"/lib/', "/lib"), ("rm -f ${D}${E}/man/a.1", "/man/a.1"),
        ("F=$D/x.txt; echo > $F", "/x.txt"), ("F=$D/x; echo > $F.bak", ".bak"), ("mv a.py $X.old", ".old"),
        ("rsync -a lib/ $D/dist/", "/dist"), ("echo > $D/$E", ""), ('echo > "$D/a_$E.txt"', ".txt"),
        ("rm $D/.env", "/.env"), ("rm $D/a_$E.txt", ""), ("rm $D/*.py", ".py"),
        ("rm $D/lib/../a.py", ""), ("split a.py $D/part_", ""), ("echo > $F", ""), ("cd $D && rm a.py", ""),
        ("rm $D/a[1]", ""), ("for f in $(cat l); do rm $f.pyc; done", ".pyc"),
    ],
)  # fmt: skip
def test_the_known_end_of_a_target_is_told(here: str, command: str, end: str) -> None:
    assert [doubt.end for doubt in shell.read(command, here, home="/home/me").unresolved] == [end]


@pytest.mark.parametrize(
    ("command", "ways"),
    [
        ("grep -rl foo lib | xargs sed -i s/a/b/", ["lib/"]), ('sed -i "s/a/$B/" $(grep -rl foo lib)', ["lib/"]),
        ("sed -i s/a/b/ `grep -rl foo lib tests`", ["lib/", "tests/"]),
        ("rg -l foo lib | xargs -r sed -i s/a/b/", ["lib/"]),
        ("rg -l foo | xargs sed -i s/a/b/", [""]), ("grep -rl foo --include='*.py' . | xargs sed -i s/a/b/", [""]),
        ("for f in $(git ls-files lib); do sed -i s/a/b/ $f; done", ["lib/"]),
        ("git ls-files | xargs sed -i s/a/b/", [""]),
        ("git grep -l foo -- lib | xargs sed -i s/a/b/", ["lib/"]),
        ("git diff --name-only -- lib | xargs rm", ["lib/"]),
        ("git diff --name-only | xargs sed -i s/a/b/", [""]), ("cd lib && git ls-files | xargs rm", ["lib/"]),
        ("find lib -name '*.py' | xargs sed -i s/a/b/", ["lib/a.py", "lib/b.py"]),
        ("find lib -print0 | xargs -0 rm", ["lib/"]),
        ("find lib tests -type f | head -3 | sort | xargs rm", ["lib/a.py", "lib/b.py", "tests/t.py"]),
        ("find . | xargs rm", [""]),
        ('find lib | while read -r f; do mv "$f" "$f.bak"; done', ["lib/"]),
        ('while IFS= read -r f; do rm "$f"; done < <(find lib)', ["lib/"]),
        ('mapfile -t A < <(rg -l foo lib); sed -i s/a/b/ "${A[@]}"', ["lib/"]), ("fd -e py . lib | xargs rm", ["lib/"]),
        ("find lib | xargs grep -l foo | xargs sed -i s/a/b/", ["lib/"]), ("X=$(find lib); rm $X", ["lib/"]),
        ("find lib | xargs -I{} sh -c 'sed -i s/a/b/ {}'", ["lib/"]), ("find lib | xargs -I{} mv {} {}.bak", ["lib/"]),
        ("ls lib | xargs -I{} rm lib/{}", ["lib/"]), ("cd lib; ls -t | tail -n +3 | xargs rm", ["lib/"]),
        ("grep -rn foo lib | cut -d: -f1 | sort -u | xargs sed -i s/a/b/", ["lib/"]),
        ("for f in $(find lib -type f); do d=$(dirname $f); touch $d/x; done", ["lib/"]),
        ("find lib | sed s/x/y/ | xargs rm", [""]), ("rm $(find lib || find tests)", ["lib/", "tests/"]),
        ("F=$(ls -t lib/*.py | head -1); rm $F", ["lib/a.py", "lib/b.py"]),
        ("rm $(git ls-files lib | grep -v x)", ["lib/"]),
    ],
)  # fmt: skip
def test_names_that_a_search_finds_lie_where_it_searched(here: str, command: str, ways: list[str]) -> None:
    found = below(here, command)
    assert found
    assert all(name.startswith(tuple(ways)) for name in found), found


@pytest.mark.parametrize(
    ("command", "ways"),
    [
        ("tar xzf a.tgz -C /opt/x", ["/opt/x/"]), ("curl -L http://x | tar xz -C lib", ["lib/"]),
        ("tar xf a.tar", [""]),
        ("unzip -o a.zip -d lib", ["lib/"]), ("unzip a.zip", [""]), ("7z x a.7z -olib", ["lib/"]),
        ("cpio -idm < a", [""]),
        ("split -l 5 a.py lib/part_", ["lib/part_"]), ("csplit -f lib/p a.py 5", ["lib/p"]), ("split a.py", ["x"]),
        ("rename y/a/b/ lib/*.py", ["lib/"]), ("cd lib && tar xf ../a.tar", ["lib/"]),
        ("patch -d lib -p1 < x", ["lib/"]),
    ],
)  # fmt: skip
def test_what_an_archive_brings_lies_where_it_is_unpacked(here: str, command: str, ways: list[str]) -> None:
    assert below(here, command) == ways


@pytest.mark.parametrize(
    "command",
    [
        "echo > $F", "rm -f $X", "cd /tmp && rm -f $X", "rm $(cat list)", "cd $X && rm a", "rm $D/x",
        "cat l | xargs rm",
        "find $X | xargs rm", "echo > ${F%.py}.x", "rm $(curl http://x)", "F=$G/x; rm $F", "read F; rm $F",
        "rm lib/$n/../../x",
        "find lib | xargs cat | xargs rm", "rm $(python -c 'print(1)')", "dd of=$X", 'eval "rm $X"', "cp a.py $X",
        "rm ${1}",
    ],
)  # fmt: skip
def test_a_target_of_which_nothing_is_known_may_be_anywhere(here: str, command: str) -> None:
    assert below(here, command) is None


@pytest.mark.parametrize(
    "command",
    [
        'rm -rf "$TMPDIR/x"', "T=$(mktemp /tmp/t.XXXXXX); echo > $T", "T=$(mktemp -t x.XXX); rm $T", "mktemp",
        "T=$(mktemp -d --suffix=.d); cp a.py $T", "echo > ${TMPDIR:-/tmp}/x", "T=$(mktemp --tmpdir x.XXX); rm $T",
        "trap 'rm -rf \"$T\"' EXIT; T=$(mktemp -d)", "echo > /dev/tcp/$H/80",
    ],
)  # fmt: skip
def test_what_is_made_among_temporary_files_is_no_doubt(
    here: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    reading = shell.read(command, here)
    assert reading.unresolved == []
    assert all(target.path.startswith("/tmp/") for target in reading.writes)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("echo a.py lib/b.py | xargs rm", ["a.py", "lib/b.py"]), ("printf '%s\\n' a.py | xargs -I{} rm {}", ["a.py"]),
        ("rm $(ls lib/*.py)", ["lib/a.py", "lib/b.py"]), ("echo 'rm a.py' | sh", ["a.py"]),
        ("printf 'rm %s' a.py | bash -s", ["a.py"]),
        ("rm $(cd lib && pwd)/a.py", ["lib/a.py"]), ("cat <<'E' | bash\nrm a.py\nE", ["a.py"]),
        ("for f in $(echo a.py); do rm $f; done", ["a.py"]),
        ("ls *.py | while read f; do echo $f; done; rm a.py", ["a.py"]),
    ],
)  # fmt: skip
def test_what_the_words_say_by_way_of_another_command_is_known(here: str, command: str, names: list[str]) -> None:
    reading = shell.read(command, here)
    assert reading.unresolved == []
    assert sorted(target.path.removeprefix(f"{here}/") for target in reading.writes) == names


@pytest.mark.parametrize(
    ("command", "ways"),
    [
        ("echo > $PLACE/x", ["/elsewhere/of"]), ('echo > "${PLACE}"', ["/elsewhere/of"]), ("rm $INSIDE/x", ["lib"]),
        ("cp a.py $PLACE/x; echo $PLACE", ["/elsewhere/of"]), ("bash -c 'echo > $PLACE/x'", ["/elsewhere/of"]),
        ("F=$PLACE/x; echo > $F", ["/elsewhere/of"]), ("rm ${PLACE:-src}/x", ["/elsewhere/of"]),
        ("rm -rf ${UNSET_HERE:-lib}", ["lib"]), ("rm -rf ${UNSET_HERE:-$HOME/x}", ["/home/me/x"]),
        (": ${UNSET_HERE:=lib}; rm -rf $UNSET_HERE/x", ["lib"]), ("rm ${UNSET_HERE:-${PLACE}}", ["/elsewhere/of"]),
    ],
)  # fmt: skip
def test_a_variable_that_the_command_only_uses_begins_as_in_the_environment(
    here: str, monkeypatch: pytest.MonkeyPatch, command: str, ways: list[str]
) -> None:
    monkeypatch.setenv("PLACE", "/elsewhere/of")
    monkeypatch.setenv("INSIDE", f"{here}/lib")
    assert below(here, command) == ways


@pytest.mark.parametrize(
    "command",
    [
        "PLACE=$(a); echo > $PLACE/x", "read PLACE; echo > $PLACE/x", "for PLACE in $(a); do echo > $PLACE/x; done",
        "if a; then PLACE=src; fi; rm $PLACE/x", ". ./env.sh; rm $PLACE/x", 'eval "$(a)"; rm $PLACE/x', "rm $WILD",
        "export $(cat .env); rm $PLACE/x", "printf -v PLACE %s $(a); rm $PLACE/x",
        "f() { PLACE=$1; }; f $(a); rm $PLACE",
        "while a; do rm $PLACE/x; PLACE=$(b); done", "rm $_", "unset PLACE; rm $PLACE/x", "rm $UNSET_HERE",
        "mapfile PLACE < <(a); rm $PLACE", "let PLACE=1; rm $PLACE/x", "source <(a); rm ${UNSET_HERE:-lib}",
        "rm $(./echo lib)", "rm $($D/basename lib)",
        "rm ${1:-lib}", "rm ${@:-lib}", "read; rm ${REPLY:-lib}", "getopts a: o; rm ${OPTARG:-lib}",
        "[[ $X =~ (.*) ]]; rm ${BASH_REMATCH:-lib}", "rm ${WILD:-lib}", "rm ${OLDPWD:-lib}", "IFS=:; rm $PLACE",
        "read -r $V; rm ${UNSET_HERE:-lib}", "read -ra $V; rm ${UNSET_HERE:-lib}", "mapfile $V; rm ${UNSET_HERE:-lib}",
        'printf -v "$V" x; rm ${UNSET_HERE:-lib}', 'while a; do rm ${UNSET_HERE:-lib}; eval "$X"; done',
    ],
)  # fmt: skip
def test_a_variable_that_the_command_may_set_is_not_looked_up(
    here: str, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("PLACE", "/elsewhere/of")
    monkeypatch.setenv("WILD", "src/*")
    assert below(here, command) is None


@pytest.mark.parametrize("given", [None, ""])
@pytest.mark.parametrize(
    ("command", "unset", "empty"),
    [
        (': "${RUNNER_TEMP:=lib}"; echo > "$RUNNER_TEMP"', ["lib"], ["lib"]),
        ("rm ${RUNNER_TEMP:-a.py}", ["a.py"], ["a.py"]),
        ("rm ${RUNNER_TEMP-a.py}", ["a.py"], []), ("rm ${RUNNER_TEMP+a.py}", [], ["a.py"]),
        ("rm ${RUNNER_TEMP:+a.py}", [], []),
    ],
)  # fmt: skip
def test_the_default_of_a_variable_without_a_value_is_its_value(
    here: str, monkeypatch: pytest.MonkeyPatch, command: str, unset: list[str], empty: list[str], given: str | None
) -> None:
    monkeypatch.delenv("RUNNER_TEMP", raising=False)
    if given is not None:
        monkeypatch.setenv("RUNNER_TEMP", given)
    found = [target.path.removeprefix(f"{here}/") for target in shell.read(command, here).writes]
    assert found == (unset if given is None else empty)


@pytest.mark.parametrize("given", ["", "/elsewhere/of"])
@pytest.mark.parametrize(
    "command",
    [
        "echo x >> $GITHUB_ENV", 'echo x >> "$GITHUB_OUTPUT"', '{ a; b; } >> "${GITHUB_STEP_SUMMARY}"',
        "a | tee -a $GITHUB_PATH", 'echo x > "$RUNNER_TEMP/x"', 'tar xf a.tgz -C "$RUNNER_TEMP"',
        'cp *.py "$RUNNER_TEMP/"',
        'unzip a.zip -d "$RUNNER_TEMP"', "echo x >> $BASH_ENV", 'rsync -a ./ "$RUNNER_TEMP/src/"',
    ],
)  # fmt: skip
def test_variables_that_lead_out_of_the_tree_by_convention_are_no_doubt_in_it(
    here: str, monkeypatch: pytest.MonkeyPatch, command: str, given: str
) -> None:
    for name in ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY", "RUNNER_TEMP", "BASH_ENV"):
        monkeypatch.setenv(name, given)
    reading = shell.read(command, here, home="/home/me")
    assert not [target for target in reading.writes if target.path.startswith(here)]
    assert all(way.startswith("/elsewhere/of") for doubt in reading.unresolved for way in doubt.below or [here])


def test_a_folder_variable_that_is_empty_leaves_the_command_where_it_is(
    here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RUNNER_TEMP", raising=False)
    reading = shell.read('cd "$RUNNER_TEMP" && rm a.py', here, home="/home/me")
    assert [os.path.normpath(target.path) for target in reading.writes] == [f"{here}/a.py"]
    reading = shell.read('rm -rf "$RUNNER_TEMP"/*', here, home="/home/me")
    assert {os.path.dirname(target.path) for target in reading.writes} == {"/"}


@pytest.mark.parametrize(
    "command", ["a=(*); rm ${a[@]}", "a=$(ls); rm $a", "export A=$PWD; rm $A/a.py", "a=(lib/*); rm $a"]
)
def test_a_value_that_depends_on_one_of_several_directories_is_not_certain(here: str, command: str) -> None:
    reading = shell.read(f"cd nowhere; cd lib; {command}", here)
    assert reading.unresolved
    assert not reading.writes


@pytest.mark.parametrize("command", ["curl -LO https://x/$(v)/bin/tool", "wget https://x/$V/tool", "curl -O $U/tool#x"])
def test_a_download_is_named_by_the_end_of_its_url(here: str, command: str) -> None:
    reading = shell.read(command, here)
    assert [target.path for target in reading.writes] == [f"{here}/tool"]
    assert not reading.unresolved
