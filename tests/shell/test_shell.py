"""Commands as agents type them: what they would write is found from their words, and what cannot be found is said.

A real directory with some files, because patterns, `cd` and copies into directories depend on what is there. Whether
the reading is right about bash itself is proved in test_shell_oracle.py, where the commands are run.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dibs import shell
from dibs.shell import globs as shell_globs


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A directory with files to be found by patterns."""
    top = Path(os.path.realpath(tmp_path_factory.mktemp("here")))
    for name in ("a.py", "b.py", "c d.py", "src/x.js", "src/y.js", "src/deep/z.js", ".hidden.py", "p.diff"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("")
    (top / "p.diff").write_text("--- a/src/x.js\n+++ b/src/x.js\n@@ -1 +1 @@\n-a\n+b\n")
    (top / "empty").mkdir()
    return str(top)


def written(reading: shell.Reading, here: str) -> list[str]:
    """The targets as they look from the directory, with how they are written where it is not plain writing."""
    found = []
    for target in reading.writes:
        path = target.path.removeprefix(here + "/")
        found.append(path if target.how == "write" else f"{target.how} {path}")
    return found + [f"delete {path.removeprefix(here + '/')}" for path in dict.fromkeys(reading.absent)]


def check(here: str, command: str, *targets: str) -> shell.Reading:
    reading = shell.read(command, here, home="/home/me")
    assert sorted(written(reading, here)) == sorted(targets), command
    assert reading.unresolved == [], command
    assert reading.broken is False, command
    return reading


@pytest.mark.parametrize(
    ("command", "targets"),
    [
        ("echo x > f", ["f"]), ("echo x >> f", ["append f"]), ("echo x >| f", ["f"]), ("make &> f", ["f"]),
        ("make &>> f", ["append f"]), ("exec 3<> f", ["f"]), ("make 2> err > out", ["err", "out"]),
        ("make >& f", ["f"]),
        ("make 2>&1", []), ("make >&2", []), ("exec 3>&-", []), ("make > /dev/null 2>/dev/stderr", []), ("cat < f", []),
        ("> f", ["f"]), (">f cat g", ["f"]), ("echo a > f b c", ["f"]), ("echo x>f", ["f"]),
        ("make 2>&1 | tee log", ["log"]),
        ("{ a; b; } > f", ["f"]), ("(a; b) > f", ["f"]), ("if a; then b; fi > f", ["f"]),
        ("for i in 1; do a; done > f", ["f"]),
        ("a && b > f", ["f"]), ("a | b > f", ["f"]), ("! a > f", ["f"]), ("A=1 > f", ["f"]), ("[[ a > b ]]", []),
        ("[ a > f ]", ["f"]), ("(( a > b ))", []), ("echo 'a > b' \"c > d\" e\\>f", []),
        ("echo x > /tmp/y", ["/tmp/y"]),
        ("a > >(tee f)", ["f"]), ("diff <(tee f) g", ["f"]), ("echo a;> f", ["f"]), ("a & b > f", ["f"]),
    ],
)  # fmt: skip
def test_redirections_write_what_they_name(here: str, command: str, targets: list[str]) -> None:
    check(here, command, *targets)


@pytest.mark.parametrize(
    ("command", "targets"),
    [
        ("touch 'a b' \"c d\" e\\ f", ["touch a b", "touch c d", "touch e f"]),
        ('touch a"b"\\ c', ["touch ab c"]), ("touch \\ a", ["touch  a"]), ("touch 'it'\\''s'", ["touch it's"]),
        ("touch $'a\\tb\\x41\\101'", ["touch a\tbAA"]), ('touch "a\\"b"', ['touch a"b']),
        ("touch a\\\nb", ["touch ab"]),
        ("touch ~/x ~", ["touch /home/me/x", "touch /home/me"]), ('touch "~"', ["touch ~"]),
        ('touch $HOME/x "${HOME}"', ["touch /home/me/x", "touch /home/me"]), ("touch $PWD/x", ["touch x"]),
        ("touch {a,b}.{c,d}", ["touch a.c", "touch a.d", "touch b.c", "touch b.d"]), ("touch {x}", ["touch {x}"]),
        ("touch '{a,b}'", ["touch {a,b}"]),
        ("touch f{1..3} f{08..10}", [f"touch f{n}" for n in ("1", "2", "3", "08", "09", "10")]),
        ("rm *.py", ["delete a.py", "delete b.py", "delete c d.py"]), ("rm ?.py", ["delete a.py", "delete b.py"]),
        ("rm [!a].py", ["delete b.py"]), ("rm '*.py'", ["delete *.py"]), ("rm \\*.py", ["delete *.py"]),
        ("rm .h*", ["delete .hidden.py"]), ("rm */*.js", ["delete src/x.js", "delete src/y.js"]),
        ("rm none*", ["delete none*"]),
        ("rm src/**/*.js", ["delete src/x.js", "delete src/y.js", "delete src/deep/z.js"]),
        ("touch new.py; rm n*.py", ["touch new.py", "delete new.py"]),
        ('F=a.txt; echo > $F; echo > "${F}2"', ["a.txt", "a.txt2"]), ("F=a; F+=b; echo > $F", ["ab"]),
        ("F='a b'; touch $F", ["touch a", "touch b"]), ("F='a b'; touch \"$F\"", ["touch a b"]),
        ("export F=a; echo > $F", ["a"]), ('F=(a b); touch "${F[@]}"', ["touch a", "touch b"]),
        ("set -- a b; touch $2", ["touch b"]),
        ("f=x/a.js; touch ${f%.js}.ts ${f##*/} ${f/x/y}", ["touch x/a.ts", "touch a.js", "touch y/a.js"]),
        ("f=x; touch ${f:-z} ${f:+y} ${f^^} ${#f}", ["touch x", "touch y", "touch X", "touch 1"]),
        ("touch $(basename a/b.c .c) $(dirname a/b) `pwd`/x", ["touch b", "touch a", "touch x"]),
        ("F=$(echo a)b; touch $F", ["touch ab"]), ("touch a=b", ["touch a=b"]), ("touch a#b # c > d", ["touch a#b"]),
        ("touch é 'ü x'; rm ö", ["touch é", "touch ü x", "delete ö"]),
    ],
)  # fmt: skip
def test_words_become_what_the_shell_makes_of_them(here: str, command: str, targets: list[str]) -> None:
    check(here, command, *targets)


@pytest.mark.parametrize(
    ("command", "targets"),
    [
        ("cd src && rm x", ["delete src/x"]), ("cd src; rm x; cd ..; rm y", ["delete src/x", "delete y"]),
        ("(cd src; rm x); rm y", ["delete src/x", "delete y"]), ("cd src && cd deep && rm x", ["delete src/deep/x"]),
        ("cd src; cd -; rm x", ["delete x"]), ("pushd src; rm x; popd; rm y", ["delete src/x", "delete y"]),
        ("cd; rm x", ["delete /home/me/x", "delete x"]), ("cd src | rm x", ["delete x"]),
        ("cd src & rm x", ["delete x"]),
        ("cd nowhere && rm x", ["delete nowhere/x"]), ("cd nowhere; rm x", ["delete nowhere/x", "delete x"]),
        ("cd nowhere || exit 1; rm x", ["delete nowhere/x"]), ("mkdir -p n/m; cd n/m; touch x", ["touch n/m/x"]),
        ("cd src && make 2>&1 | tee log; rm x", ["src/log", "delete src/x"]),
        ("{ cd src; ls; } > f; rm x", ["f", "delete src/x"]),
        ("a | tee f 2>&1 && cd src && rm x > y", ["f", "delete src/x", "src/y"]),
        ("ln -s a.py l; echo > l; rm l", ["symlink l", "l", "a.py", "delete l"]),
        ("ln a.py l; sed -i s/a/b/ l", ["link l", "l", "a.py"]),
        ("ln -s src l; touch l/x", ["symlink l", "touch l/x", "touch src/x"]),
        ("{ cd nowhere; }; rm x", ["delete nowhere/x", "delete x"]), ("! cd src || rm x", ["delete src/x"]),
        ("cd src && cat > f <<E && rm y\nx\nE\nrm z", ["src/f", "delete src/y", "delete src/z"]),
        ("if a; then cd src; else cd empty; fi; touch x", ["touch src/x", "touch empty/x"]),
        ("if a; then rm x; elif b; then rm y; else rm z; fi", ["delete x", "delete y", "delete z"]),
        ('for f in ?.py; do mv "$f" "${f%.py}.txt"; done', ["move a.py", "a.txt", "move b.py", "b.txt"]),
        ("for i in {1..2} $(seq 3 4); do touch $i; done", ["touch 1", "touch 2", "touch 3", "touch 4"]),
        ("while a; do rm x; done; until b; do rm y; done", ["delete x", "delete y"]),
        ("case $x in a|b) rm x;; *) rm y;; esac", ["delete x", "delete y"]),
        ('f() { rm "$1"; }; f a; f b', ["delete a", "delete b"]), ("f() { rm a; }", ["delete a"]),
        ("bash -c 'cd src; rm x'; rm y", ["delete src/x", "delete y"]), ("bash -c 'rm \"$1\"' _ a", ["delete a"]),
        ("bash -lc 'rm a'", ["delete a"]), ("sh -c \"bash -c 'rm a'\"", ["delete a"]),
        ("eval 'cd src'; rm x", ["delete src/x"]),
        ("bash <<'E'\nrm a\nE", ["delete a"]), ("trap 'rm a' EXIT", ["delete a"]),
        ('echo $(rm a) `rm b` "$(rm c)"', ["delete a", "delete b", "delete c"]),
        ("echo ${x:-$(rm a)} ${y:-`rm b`} $((1 + $(rm c)))", ["delete a", "delete b", "delete c"]),
        ("time { rm a; }", ["delete a"]),
        ("cat <<E\n$(rm a) `rm b` ${x:-$(rm c)} \\$(rm d)\nE", ["delete a", "delete b", "delete c"]),
        ("cat <<'E'\n$(rm a)\nE", []),
        ("cat > f <<'E'\nrm -rf *\necho > g\nE", ["f"]), ("cat <<E | tee f\nx\nE", ["f"]),
        ("cat <<E > f; rm g\nx\nE", ["f", "delete g"]),
    ],
)  # fmt: skip
def test_the_shell_is_followed_through_its_statements(here: str, command: str, targets: list[str]) -> None:
    check(here, command, *targets)


@pytest.mark.parametrize(
    ("command", "targets"),
    [
        ("sed -i s/a/b/ f g", ["f", "g"]), ("sed -i.bak s/a/b/ f", ["f", "f.bak"]), ("sed -i '' s/a/b/ f", ["f"]),
        ("sed -i '' -e s/a/b/ f", ["f"]), ("sed -e s/a/b/ -i f", ["f"]), ("sed -Ei 's/a/b/' f", ["f"]),
        ("sed s/a/b/ f", []),
        ("sed --in-place=.o s/a/b/ d/f", ["d/f", "d/f.o"]), ("sed -n p f", []), ("sed -e i f", []),
        ("sed -i .bak s/a/b/ f", ["f", "f.bak"]),
        ("perl -pi -e s/a/b/ f", ["f"]), ("perl -i.b -pe s/a/b/ f", ["f", "f.b"]), ("perl -e 'print 1' f", []),
        ("perl -i x.pl f", ["f"]),
        ("tee f g", ["f", "g"]), ("tee -a f", ["append f"]), ("mv a b", ["move a", "b"]),
        ("mv a b src", ["move a", "move b", "src/a", "src/b"]),
        ("mv -t src a", ["move a", "src/a"]), ("mv -T a src", ["move a", "src"]), ("cp a b", ["b"]),
        ("cp a src", ["src/a"]), ("cp a new/", ["new/a"]),
        ("cp -r src/. empty", ["empty/deep", "empty/x.js", "empty/y.js"]),
        ("cp --target-dir=src a b", ["src/a", "src/b"]),
        ("cp -S .b a b", ["b"]), ("rm -rf a -- -b", ["delete a", "delete -b"]), ("rmdir a", ["delete a"]),
        ("unlink a", ["delete a"]),
        ("dd if=a of=b bs=1", ["b"]), ("install -m 755 a b", ["b"]), ("install -d a", []), ("ln -s a b", ["symlink b"]),
        ("ln -s ../a", ["symlink ./a"]),
        ("ln -s a src", ["symlink src/a"]), ("touch -d now a", ["touch a"]), ("truncate -s 0 a", ["a"]),
        ("mkdir -p a/b", []), ("chmod +x a", []),
        ("chown me a", []), ("sort -o a b", ["a"]), ("sort b", []), ("gzip a", ["delete a", "a.gz"]),
        ("gunzip a.gz", ["delete a.gz", "a"]), ("gzip -c a", []),
        ("xz -k a", ["a.xz"]), ("tar czf a.tgz src", ["a.tgz"]), ("tar -cf a.tar src", ["a.tar"]),
        ("tar tf a.tar", []), ("zip a.zip b", ["a.zip"]), ("unzip -l a", []),
        ("rsync -a src/ empty/", ["empty/deep", "empty/x.js", "empty/y.js"]), ("rsync -a src empty", ["empty/src"]),
        ("rsync a host:b", []), ("rsync -n a b", []),
        ("rsync --delete src/ empty", ["empty"]), ("curl -o f http://x/y", ["f"]),
        ("curl -sSLO http://x/y.tgz", ["y.tgz"]), ("curl http://x", []),
        ("curl -X POST -d @f http://x", []), ("wget http://x/y", ["y"]), ("wget -O f http://x/y", ["f"]),
        ("wget -qO- http://x", []),
        ("awk -i inplace '{print}' f", ["f"]), ("awk '{print}' f", []), ("yq -i .a=1 f", ["f"]), ("ed -s f", ["f"]),
        ("sponge f", ["f"]),
        ("patch f p.diff", ["f"]), ("patch -p1 < p.diff", ["src/x.js"]), ("patch -p1 -i p.diff", ["src/x.js"]),
        ("patch --dry-run -p1 < p.diff", []),
        ("patch -p0 -d src <<E\n--- x.js\n+++ x.js\n@@ -1 +1 @@\n-a\n+b\nE", ["src/x.js"]), ("scp h:a b", ["b"]),
        ("scp a h:b", []), ("shred -u a", ["delete a"]),
        ("find . -name '*.js' -delete", ["delete ./src/x.js", "delete ./src/y.js", "delete ./src/deep/z.js"]),
        ("find . -name x", []),
        ("find src -maxdepth 1 -type f -exec rm {} \\;", ["delete src/x.js", "delete src/y.js"]),
        ("find . -name x -exec grep y {} +", []),
        ("find . -path ./src -prune -o -name '?.*' -exec sed -i s/a/b/ {} +", ["./a.py", "./b.py", "./p.diff"]),
        ("find src \\( -name x.js -o -name z.js \\) -not -path '*deep*' -delete", ["delete src/x.js"]),
        ("find . -fprint f", ["f"]),
        ("apply_patch <<'E'\n*** Begin Patch\n*** Update File: a b\n*** Move to: c\n*** End Patch\nE", ["a b", "c"]),
        ("apply_patch '*** Begin Patch\n*** Delete File: d\n*** End Patch'", ["delete d"]),
        ("python -c 'open(\"f\", \"w\")'", ["f"]), ("make install", []), ("node x.js > f", ["f"]),
        ("git checkout .", []),
    ],
)  # fmt: skip
def test_commands_of_the_table_write_what_they_name(here: str, command: str, targets: list[str]) -> None:
    check(here, command, *targets)


@pytest.mark.parametrize(
    "wrapper",
    [
        "sudo", "sudo -u me", "sudo -E --user me", "env", "env A=1 B=2", "env -u A -i", "command", "nohup", "time -p",
        "nice -n 5", "nice",
        "timeout 5", "timeout -s KILL -k 1 5", "exec", "builtin", "doas -u me", "stdbuf -oL", "setsid", "ionice -c 3",
        "A=1", "A=1 B='c d' sudo env C=1",
        "/usr/bin/env", "\\command",
    ],
)  # fmt: skip
def test_a_command_is_found_behind_its_wrappers(here: str, wrapper: str) -> None:
    reading = check(here, f"{wrapper} rm -f 'x y'", "delete x y")
    assert [simple.words for simple in reading.commands] == [["rm", "-f", "x y"]]
    git = check(here, f"{wrapper} /usr/bin/git -C src add 'x y'").git
    assert [(simple.words, simple.cwd) for simple in git] == [(["git", "-C", "src", "add", "x y"], here)]


@pytest.mark.parametrize(
    "command",
    [
        "echo > $F", 'echo >> "$(mktemp x.XXX)"', 'tee "$(mktemp -p .)"', 'cp a "$X"', "cp $X src", "mv a $X",
        "rm $(cat list)", "rm ~other/x", "ls | xargs rm",
        "ls | xargs -I{} mv {} {}.bak", "grep -l x . | xargs -0 sed -i s/a/b/", "ls | xargs -I{} sh -c 'rm {}'",
        "tar xzf $A", "tar -xf $A -C src", "unzip $A",
        "patch -p1", "git diff | patch -p1", "patch -p1 < nowhere.diff", "cd $X; rm a", "cd $X && echo > a",
        "f() { echo > $1; }", 'while read f; do rm "$f"; done',
        'eval "rm $x"', 'bash -c "rm $x"', "split a", "rename y/a/b/ *.none", "sed -i s/a/b/ $FILES",
        "apply_patch <<'E'\n*** Begin Patch\nE", "read F; echo > $F",
        "if a; then F=x; else F=y; fi; echo > $F", "i=1; ((i++)); echo > f$i", "for f in $X; do rm $f; done",
        "F=a; F=$G; echo > $F", "for i in 1 2; do echo > $F; F=x; done",
    ],
)  # fmt: skip
def test_a_target_that_cannot_be_known_is_said(here: str, command: str) -> None:
    reading = shell.read(command, here, home="/home/me")
    assert reading.unresolved, command
    assert reading.broken is False


@pytest.mark.parametrize(
    "command",
    [
        "ls\necho 'x > y",
        "rm x )",
        "if a; then rm b",
        "cat <<A <<B > f\nA\nB",
        "rm x\0y",
        "for > f",
        "rm ((" * 500,
        'a=b"c"\\ d rm x',
        "cat > f <<é\nü\né",
        '> "b"\\.txt echo x',
    ],
)
def test_what_does_not_parse_is_said_and_is_a_doubt_where_it_shows_signs_of_writing(here: str, command: str) -> None:
    reading = shell.read(command, here)
    assert reading.broken is True
    assert reading.unresolved


def test_what_does_not_parse_and_shows_no_sign_of_writing_is_no_doubt(here: str) -> None:
    reading = shell.read("if grep x", here)
    assert reading.broken is True
    assert reading.unresolved == []


def test_a_known_target_is_found_beside_one_that_is_not(here: str) -> None:
    reading = shell.read("echo > $F; rm a", here)
    assert written(reading, here) == ["delete a"]
    assert [doubt.words for doubt in reading.unresolved] == ["> $F"]


def test_every_command_is_listed_with_where_it_runs_and_how_it_was_typed(here: str) -> None:
    reading = shell.read("cd src && A=1 npm run 'x y' 2>/dev/null | head -n $N; kubectl apply -f k.yml", here)
    assert [(simple.words, simple.cwd) for simple in reading.commands] == [
        (["cd", "src"], here),
        (["npm", "run", "x y"], f"{here}/src"),
        (["head", "-n", None], f"{here}/src"),
        (["kubectl", "apply", "-f", "k.yml"], f"{here}/src"),
    ]
    assert reading.commands[1].text == "A=1 npm run 'x y' 2>/dev/null"
    assert reading.commands[1].assignments == {"A": "1"}
    assert shell.read("cd $X; ls", here).commands[-1].cwd is None


@pytest.mark.parametrize(
    "command", ["git switch - 2>&1", "git switch - > /dev/null", "cd . && git switch - 2>&1 | cat", "git 2>&1 switch -"]
)
def test_a_word_that_the_grammar_leaves_out_is_found_again(here: str, command: str) -> None:
    assert check(here, command).git[0].words == ["git", "switch", "-"]


def test_git_is_found_wherever_it_runs(here: str) -> None:
    reading = shell.read(
        "(cd src && git add -A); cat $L | xargs git rm; bash -c 'git push'; echo git commit; [ \"$(git status)\" ]",
        here,
    )
    assert [(simple.words, simple.cwd) for simple in reading.git] == [
        (["git", "add", "-A"], f"{here}/src"),
        (["git", "rm", None], here),
        (["git", "push"], here),
        (["git", "status"], here),
    ]


def test_too_many_entries_are_not_looked_at_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_globs, "MAX_ENTRIES", 60)
    for n in range(4):
        (tmp_path / f"d{n}").mkdir()
        for m in range(20):
            (tmp_path / f"d{n}/{m}").touch()
    assert [doubt.words for doubt in shell.read("rm */*", str(tmp_path)).unresolved] == ["rm */*"]
    found = shell.read("find . -name '*9' -delete", str(tmp_path))
    assert {target.path.rpartition("/")[2] for target in found.writes} == {"9", "19"}
    assert [doubt.below for doubt in found.unresolved] == [[f"{tmp_path}/d2/", f"{tmp_path}/d3/"]], "what was not seen"


def test_folders_that_an_expression_leaves_out_are_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell_globs, "MAX_ENTRIES", 20)
    for name in ("src/a.ts", *(f"node_modules/{n}/{m}.ts" for n in range(5) for m in range(9))):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for leaves_out in ("-not -path './node_modules/*'", "! -path '*/node_modules/*'", "-name node_modules -prune -o"):
        found = shell.read(f"find . {leaves_out} -name '*.ts' -exec sed -i s/a/b/ {{}} +", str(tmp_path))
        assert [target.path for target in found.writes] == [f"{tmp_path}/./src/a.ts"]
        assert found.unresolved == []


def test_looking_for_files_ends_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_globs, "TIMEOUT_MS", -1)
    (tmp_path / "a").touch()
    for command in ("find . -delete", "rm *"):
        assert [doubt.below for doubt in shell.read(command, str(tmp_path)).unresolved] == [[f"{tmp_path}/"]]


def test_a_file_of_mktemp_is_nobodys_and_what_is_made_of_it_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    found = shell.read('T=$(mktemp) && echo x > "$T" && mv "$T" a.py; cp a.py "$(mktemp -d)/"', "/repo")
    assert found.unresolved == []
    assert {target.path for target in found.writes if not target.path.startswith("/tmp/tmp.")} == {"/repo/a.py"}
    monkeypatch.setenv("TMPDIR", "/repo/tmp")
    assert shell.read('echo > "$(mktemp)"', "/repo").writes[0].path.startswith("/repo/tmp/")
