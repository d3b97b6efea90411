"""Writes that hide in a command: in programs of sed, awk, perl and Python, in scripts that it makes itself, in lists.

What was found by running some thousand commands for real and comparing (test_shell_oracle.py runs generated ones).
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from dibs import shell

FILES = {
    "a.py": "foo\n", "b.py": "", "c d.py": "", "src/x.js": "foo\n", "src/y.js": "", "src/deep/z.js": "",
    "list": "a.py\nb.py\n",
    "p.diff": "--- a/src/x.js\n+++ b/src/x.js\n@@ -1 +1 @@\n-foo\n+bar\n", "big": "x" * 3000, "what?": "",
}  # fmt: skip


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A directory with some files, an empty folder and a link to a folder."""
    top = Path(os.path.realpath(tmp_path_factory.mktemp("here")))
    for name, text in FILES.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    (top / "empty").mkdir()
    (top / "link").symlink_to("src")
    return str(top)


def named(here: str, command: str) -> list[str]:
    """The files that a command writes, as seen from the directory."""
    reading = shell.read(command, here, home="/home/me")
    assert not reading.unresolved, (command, reading.unresolved)
    assert not reading.broken, command
    return sorted({os.path.normpath(target.path).removeprefix(f"{here}/") for target in reading.writes})


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("sed -n 'w f' a.py", ["f"]), ("sed 's/a/b/w f' a.py", ["f"]), ("sed -n 's/a/b/gpw f' a.py", ["f"]),
        ("sed -e p -e '/x/w f' a.py", ["f"]), ("sed '/x/{w f\n}' a.py", ["f"]), ("sed '1e rm b.py' a.py", ["b.py"]),
        ("sed --expression='1,3w f' a.py", ["f"]), ("sed -i 's|a|b|w f' a.py", ["a.py", "f"]),
        ("sed 's/write/w f/' a.py", []), ("sed 's#a/w#b/w#g' a.py", []), ("sed '1a w f' a.py", []),
        ("sed -n /w/p a.py", []),
        ("sed ':w;N;$!bw' a.py", []), ("sed 'y/w/e/' a.py", []), ("sed '# w f' a.py", []),
        ("sed '\\,w f,d' a.py", []),
        ("awk '{print > \"f\"}' a.py", ["f"]), ("awk '{print $1 >> \"f\"}' a.py", ["f"]),
        ("awk -v o=f '{print > o}' a.py", ["f"]), ("awk '{print | \"tee f\"}' a.py", ["f"]),
        ("awk 'BEGIN{system(\"rm b.py\")}'", ["b.py"]), ("awk '{printf \"%s\", $1 > (\"f\")}' a.py", ["f"]),
        ("awk '{print > \"/dev/stderr\"}' a.py", []), ("awk '$1 > 3 {print \"a > b\"}' a.py", []),
        ("awk '/x > y/{print ($1 > 3)}' a.py", []), ("awk '{a[$1 > 2]++} END{print 1}' a.py", []),
        ("perl -e 'open(F, \">\", \"f\"); print F 1'", ["f"]), ("perl -e 'open F, \">>f\"'", ["f"]),
        ("perl -e 'unlink \"a.py\", \"b.py\"'", ["a.py", "b.py"]), ("perl -e 'open(F, \"<\", \"a.py\")'", []),
        ("perl -MFile::Copy -e 'copy(\"a.py\", \"f\")'", ["f"]), ("perl -e 'rename \"a.py\", \"f\"'", ["a.py", "f"]),
        ("printf '1d\\nw f\\nq\\n' | ed -s a.py", ["a.py", "f"]), ("ex -s -c 'w! f' -c q a.py", ["a.py", "f"]),
        ("vim -es +'w f' +q a.py", ["a.py", "f"]),
        ("python -c 'import os; os.system(\"rm a.py\")'", ["a.py"]),
        ("python -c 'import subprocess; subprocess.run([\"rm\", \"a.py\"], check=True)'", ["a.py"]),
        ("python -c 'import sys; open(sys.argv[1], \"w\")' f", ["f"]),
        ("python - f <<'E'\nimport sys\nopen(sys.argv[1], 'w')\nE", ["f"]),
        ("python -c 'from pathlib import Path; Path(\"src\", \"f\").write_text(\"\")'", ["src/f"]),
        ("python -c 'from pathlib import Path; (Path(\"src\") / \"f\").write_text(\"\")'", ["src/f"]),
        ("python -m json.tool a.json f", ["f"]), ("python3 -Imjson.tool a.json f", ["f"]),
        ("python -c 'open(\"app/[id]/page.tsx\", \"w\")'", ["app/[id]/page.tsx"]),
        ("node -e 'fs.writeFileSync(\"app/[...all]/page.tsx\", x)'", ["app/[...all]/page.tsx"]),
        ("python -c 'import os; os.remove(\"what?\")'", ["what?"]),
        ("perl -e 'unlink \"what?\"'", ["what?"]),
        ("node -e \"for (const p of ['f', 'g']) { fs.appendFileSync(p, '') }\"", ["f", "g"]),
        ("node -e \"require('fs').promises.writeFile('f', '')\"", ["f"]),
        ("uniq a.py f", ["f"]), ("sort a.py | uniq -c", []), ("xxd a.py f", ["f"]), ("xxd a.py", []),
        ("shuf a.py -o f", ["f"]),
        ("openssl rand -out f 4", ["f"]), ("git diff --output=f", ["f"]), ("git log -1 --output f", ["f"]),
        ("git archive -o f HEAD", ["f"]), ("cp -b a.py b.py", ["b.py", "b.py~"]), ("mv -S .o a.py b.py", ["a.py",
        "b.py", "b.py.o"]),
        ("patch -b -p1 < p.diff", ["src/x.js", "src/x.js.orig"]), ("cat p.diff | patch -p1", ["src/x.js"]),
    ],
)  # fmt: skip
def test_a_file_that_a_program_in_the_words_names_is_found(here: str, command: str, names: list[str]) -> None:
    assert named(here, command) == names


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("echo 'rm a.py' > /tmp/s.sh; sh /tmp/s.sh", ["/tmp/s.sh", "a.py"]),
        ("cat > s <<'E'\nrm \"$1\"\nE\nchmod +x s && ./s a.py", ["a.py", "s"]),
        ("cat > /tmp/f.py <<'E'\nopen('a.py', 'w')\nE\npython3 /tmp/f.py", ["/tmp/f.py", "a.py"]),
        ("bash -s a.py <<'E'\nrm $1\nE", ["a.py"]), ("bash <(echo rm a.py)", ["a.py"]),
        ("source <(echo rm a.py)", ["a.py"]),
        (". /dev/stdin <<< 'rm a.py'", ["a.py"]), ("bash -c 'rm $0' a.py", ["a.py"]),
        ("find src -name x.js -exec sh -c 'echo > $0' {} \\;", ["src/x.js"]),
        ("export F=a.py; sh -c 'rm $F'", ["a.py"]), ("F=a.py; export F; bash -c 'rm $F'", ["a.py"]),
        ("declare -x F=a.py; bash -c 'rm $F'", ["a.py"]),
        ("env -i PATH=$PATH rm a.py", ["a.py"]), ("flock l rm a.py", ["a.py"]), ("flock l -c 'rm a.py'", ["a.py"]),
        ("strace -o t rm a.py", ["a.py", "t"]), ("script -qc 'rm a.py' /dev/null", ["a.py"]),
        ("watch -n 1 rm a.py", ["a.py"]),
        ("unshare -r rm a.py", ["a.py"]), ("coproc X { rm a.py; }", ["a.py"]), ("echo > /proc/self/cwd/f", ["f"]),
        ("x[$(rm a.py)]=1", ["a.py"]), ("pushd -n src; rm a.py", ["a.py"]),
        ("echo a.py > l; xargs rm < l", ["a.py", "l"]), ("printf 'a.py\\0b.py' | xargs -0 rm", ["a.py", "b.py"]),
        ("ls *; find . -name x.js -delete", ["src/x.js"]),
        ("find link/ -name x.js -delete", ["link/x.js"]), ("find -H link -name x.js -delete", ["link/x.js"]),
        ("find -L . -name z.js -delete", ["link/deep/z.js", "src/deep/z.js"]),
        ("find src -name x.js -execdir mv {} n.js \\;", ["src/n.js", "src/x.js"]),
    ],
)  # fmt: skip
def test_a_command_is_followed_to_where_it_really_runs(here: str, command: str, names: list[str]) -> None:
    assert named(here, command) == names


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("IFS=:; f=a.py:b.py; for x in $f; do rm $x; done", ["a.py", "b.py"]),
        ("IFS=$'\\n'; for f in $(ls c\\ d.py); do rm $f; done", ["c d.py"]),
        ("read -r a b <<< 'a.py b.py'; rm $b", ["b.py"]), ("IFS=, read -r a b <<< a.py,b.py; rm $b", ["b.py"]),
        ("read -ra a <<< 'a.py b.py'; rm ${a[@]}", ["a.py", "b.py"]),
        ("printf -v f 'src/%s' x.js; rm $f", ["src/x.js"]),
        ("a=(a.py b.py); rm ${a[@]:1}", ["b.py"]), ("a=(a.py b.py); rm ${a[-1]}", ["b.py"]),
        ("a=(a b); rm ${a[@]/%/.py}", ["a.py", "b.py"]), ("a=(x.js); rm ${a[@]/#/src/}", ["src/x.js"]),
        ("a[0]=a.py; rm ${a[0]}", ["a.py"]), ("f=a.pyZ; rm ${f:0:4}", ["a.py"]), ("f=a.py; g=f; rm ${!g}", ["a.py"]),
        ("f=a.py; cp b.py ${f/%.py/.md}", ["a.md"]), ("f=src/x.js; cp a.py ${f/#src/lib}", ["lib/x.js"]),
        ("exec {fd}> f; echo >&$fd", ["f"]), ("cp -n a.py b.py", []), ("cp -n a.py f", ["f"]),
        ("mv -n a.py b.py", []),
        ("rmdir src", []), ("rmdir empty", ["empty"]), ("cp -rT src empty", ["empty/deep", "empty/x.js",
        "empty/y.js"]),
        ("find . -type d -empty -delete", []), ("find . -size +1k -delete", ["big"]),
        ("find . -size +1M -delete", []), ("find . -samefile a.py -delete", ["a.py"]),
        ("find src -mtime +3 -delete", []), ("find src -mmin +30 -delete", []), ("find empty -mtime -3 -delete", []),
        ("find src -name deep -delete", []), ("find . -name '*.orig' | xargs rm -f", []),
        ("tar cf t --remove-files a.py", ["a.py", "t"]),
    ],
)  # fmt: skip
def test_a_value_or_a_file_that_can_be_known_is_known(here: str, command: str, names: list[str]) -> None:
    assert named(here, command) == names


@pytest.mark.parametrize(
    ("command", "ways"),
    [
        ("find src -name 'x*' | xargs rm", ["src/x.js"]), ("rm $(find src -type f -name z.js)", ["src/deep/z.js"]),
        ("find src -maxdepth 1 -type f | while read f; do rm $f; done", ["src/x.js", "src/y.js"]),
        ("find . -name '*.py' | sort | head -9 | xargs sed -i s/a/b/", ["a.py", "b.py", "c", "d.py"]),
        ("find . -name '*.py' -print0 | xargs -0 rm", ["a.py", "b.py", "c d.py"]),
        ("find src -name x.js | while read f; do mv $f ${f%.js}.ts; done", ["src/x.js", "src/x.ts"]),
        ("cat list | xargs rm", ["a.py", "b.py"]), ("rm $(cat list)", ["a.py", "b.py"]),
        ("xargs -a list rm", ["a.py", "b.py"]),
        ("while read -r f; do rm $f; done < list", ["a.py", "b.py"]), ("mapfile -t m < list; rm ${m[@]}", ["a.py",
        "b.py"]),
        ("grep py list | xargs rm", ["a.py", "b.py"]),
        ("declare -A m=([x]=a.py [y]=b.py); rm ${m[x]}", ["a.py", "b.py"]),
        ("declare -A m; m[x]=a.py; rm ${m[x]}", ["a.py"]),
        ("parallel rm ::: a.py b.py", ["a.py", "b.py"]), ("parallel 'cp {} {.}.bak' ::: src/x.js", ["src/"]),
        ("fd -e js . src -x rm", ["src/"]), ("tar xf t.tar src/x.js", ["src/x.js"]),
        ("tar xf t.tar -C src x.js", ["src/x.js"]),
    ],
)  # fmt: skip
def test_what_a_list_leaves_open_is_one_of_its_names(here: str, command: str, ways: list[str]) -> None:
    reading = shell.read(command, here, home="/home/me")
    found = {way.removeprefix(f"{here}/") for doubt in reading.unresolved for way in doubt.below or ("anywhere",)}
    found |= {os.path.normpath(target.path).removeprefix(f"{here}/") for target in reading.writes}
    assert sorted(found) == ways


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A repository with a changed file and one that is not tracked."""
    top = Path(os.path.realpath(tmp_path_factory.mktemp("repository")))
    for name, text in {"a.py": "foo\n", "b.py": "x.Y_z\n", "lib/c.py": "FOO bar\n", "lib/d.md": "foo.bar\n"}.items():
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_text(text)
    subprocess.run(["git", "init", "-q", "."], cwd=top, check=True)
    subprocess.run(["git", "add", "-A"], cwd=top, check=True)
    (top / "b.py").write_text("x.Y_z and more\n")
    (top / "new.py").write_text("foo\n")
    return str(top)


@pytest.mark.parametrize(
    ("search", "names"),
    [
        ("grep -rl foo .", ["a.py", "lib/d.md", "new.py"]), ("grep -rl foo lib", ["lib/d.md"]),
        ("rg -l foo", ["a.py", "lib/d.md", "new.py"]),
        ("grep -ril foo lib", ["lib/c.py", "lib/d.md"]), ("grep -l foo *.py", ["a.py", "new.py"]),
        ("grep -rl --include='*.md' foo", ["lib/d.md"]), ("grep -rlF foo.bar .", ["lib/d.md"]),
        ("grep -rl --include='*\\.m\\d' foo", ["lib/d.md"]), ("grep -rl --include='\\*.md' foo", []),
        ("grep -rl 'foo\\.bar' .", ["lib/d.md"]), ("grep -rlw '\\bfoo\\b' lib", ["lib/d.md"]),
        ("grep -rl '^x.Y_z' .", ["b.py"]),
        ("grep -rl 'fo*' lib", ["lib/"]), ("grep -rl 'a|b' lib", ["lib/"]), ("grep -rL foo lib", ["lib/"]),
        ("grep -rlv foo lib", ["lib/"]), ("grep -rl $X lib", ["lib/"]), ("make; grep -rl foo lib", ["lib/"]),
        ("git ls-files", ["a.py", "b.py", "lib/c.py", "lib/d.md"]), ("git ls-files '*.md'", ["lib/d.md"]),
        ("git ls-files -m", ["b.py"]), ("git diff --name-only", ["b.py"]), ("git diff --name-only -- lib", []),
        ("git ls-files -o lib", []), ("cd lib; git ls-files", ["lib/c.py", "lib/d.md"]),
    ],
)  # fmt: skip
def test_the_files_that_a_search_finds_are_those_that_have_the_text(
    repository: str, search: str, names: list[str]
) -> None:
    reading = shell.read(f"{search} | xargs sed -i s/a/b/", repository, home="/home/me")
    found = {way.removeprefix(f"{repository}/") for doubt in reading.unresolved for way in doubt.below or ("anywhere",)}
    assert sorted(found) == names


def test_a_search_of_very_many_files_is_as_wide_as_its_folders(
    repository: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dibs.shell import find, searches

    monkeypatch.setattr(searches, "MAX_FILES", 1)
    monkeypatch.setattr(find, "MAX_LISTED_ENTRIES", 1)
    for search in ("grep -rl foo lib", "find lib -name '*.py'"):
        doubts = shell.read(f"{search} | xargs rm", repository, home="/home/me").unresolved
        assert [doubt.below for doubt in doubts] == [[f"{repository}/lib/"]], search


@pytest.mark.parametrize(
    "command",
    [
        "make; find . -name '*.py' | xargs rm", "make > list; cat list | xargs rm", "make; xargs rm < list",
        "CDPATH=src cd deep && rm z.js", "sed 's/.*/rm f/e' a.py", "awk '{print > $1}' a.py",
        "awk '{print | cmd}' a.py",
        "perl -MFile::Slurp -e 'x()'", "perl -e '`rm a.py`'", "awk -f x.awk a.py",
    ],
)  # fmt: skip
def test_what_cannot_be_known_is_not_taken_for_known(here: str, command: str) -> None:
    assert shell.read(command, here, home="/home/me").kind == "open", command


@pytest.mark.parametrize(
    ("command", "way"),
    [
        ("make; find . -name '*.py' | xargs rm", "/"), ("make; grep -rl foo . | xargs rm", "/"),
        ("make; git ls-files | xargs rm", "/"), ("make; cat list | xargs rm", None), ("make; xargs rm < list", None),
        ("make > list; rm $(cat list)", None),
    ],
)  # fmt: skip
def test_after_a_program_with_unknown_writes_a_list_may_have_any_name(here: str, command: str, way: str | None) -> None:
    doubts = shell.read(command, here, home="/home/me").unresolved
    assert [doubt.below for doubt in doubts] == [None if way is None else [f"{here}/"]]


def test_the_names_that_a_search_prints_are_looked_for_only_if_a_writer_gets_them(
    here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dibs.shell import find

    looked: list[str] = []
    monkeypatch.setattr(find, "listed", lambda call: looked.append(call.text))
    for command in (
        "find . | xargs grep x",
        "wc -l $(find . -name '*.py')",
        "find . | sort | head",
        "grep x $(find .)",
    ):
        shell.read(command, here)
    assert looked == []
    shell.read("find . | xargs rm", here)
    assert len(looked) == 1


def test_the_listing_of_what_the_shell_has_set_is_not_taken_for_an_empty_text(here: str) -> None:
    for command in ("set > f", "declare -p > f", "alias > f"):
        assert [target.text for target in shell.read(command, here).writes] == [None], command


def test_a_script_that_is_written_twice_with_the_same_text_is_read_each_time(here: str) -> None:
    once = "echo 'touch \"$1\"' > s1; sh s1"
    found = [target.path for target in shell.read(f"{once} n1\n{once} n2", here).writes]
    assert {f"{here}/n1", f"{here}/n2"} <= set(found)


def test_a_copy_with_a_backup_of_what_the_command_wrote_before_is_found(here: str) -> None:
    found = [target.path for target in shell.read("{ cp -b a.py n1\n} > n1", here).writes]
    assert f"{here}/n1~" in found


def test_a_file_that_the_command_removed_before_is_not_in_the_way_of_a_move(here: str) -> None:
    found = [target.path for target in shell.read("rm -f a.py; mv -n b.py a.py", here).writes]
    assert f"{here}/b.py" in found
