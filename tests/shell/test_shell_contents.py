"""Whether a write keeps what the file held, which content it leaves, and which contents the agent gets to see."""

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
    for name in ("f", "g", "n", "src/a.py", "src/b.py", "t.txt"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("")
    (top / "lnk").symlink_to("f")
    (top / "here").symlink_to(".")
    subprocess.run(["git", "init", "-q", "."], cwd=top, check=True)
    return str(top)


def of(here: str, command: str, name: str) -> list[shell.Target]:
    found = [one for one in shell.read(command, here).writes if one.path == f"{here}/{name}"]
    assert found, command
    return found


@pytest.mark.parametrize(
    "command",
    [
        "sed -i s/a/b/ f", "sed -i.bak s/a/b/ f", "perl -pi -e s/a/b/ f", "echo x >> f", "echo x | tee -a f",
        "sort -o f f", "sort f -o f", "ed f <<'E'\n1d\nw\nE", "ex -s f", "yq -i .a=1 f", "awk -i inplace 1 f",
        "v=$(cat f); echo $((v+1)) > f", "echo $(($(cat f) + 1)) > f", "jq . f > t && mv t f",
        "sort f | sponge f", "grep -v x f > f.tmp; mv f.tmp f", "sed s/a/b/ < f > t; cp t f",
        'x=$(<f); echo "$x" > f', "while read l; do echo $l; done < f > t; mv t f", "mv f g", "dos2unix f",
        "awk '{print}' f | tee f > /dev/null", "patch -p0 <<'E'\n--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\nE",
        "apply_patch <<'E'\n*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch\nE",
        "cp f t; sed -i s/a/b/ t; mv t f", "touch f", 'echo "$(head -1 f) more" > f', "sed -i s/a/b/ f; cat f",
        "cat f g > t && mv t f", "if x; then y=$(cat f); echo $y > f; fi",
    ],
)  # fmt: skip
def test_a_write_merges_where_the_command_reads_the_file_that_it_writes(here: str, command: str) -> None:
    assert all(target.merges for target in of(here, command, "f")), command


@pytest.mark.parametrize(
    "command",
    [
        "echo x > f", "cat > f <<'E'\nx\nE", "cp g f", "mv g f", "rm f", "> f", ": > f", "echo x | tee f",
        "cp f f.bak; make_it > f", "echo x > f; cat f", "make > f; grep x f", "sort g -o f", "curl -o f http://x",
        "echo x > f; sed -i s/x/y/ f; mv t f", "cat f; cat > f <<'E'\nx\nE", "sed s/a/b/ g > f", "truncate -s0 f",
        "apply_patch <<'E'\n*** Begin Patch\n*** Add File: f\n+b\n*** End Patch\nE", "ln -sf g f",
        "echo x > f; sed s/x/y/ f > t; mv t f", "sed -i s/a/b/ f; printf y > f", "git show HEAD:f > f", "ls f > f",
    ],
)  # fmt: skip
def test_a_write_is_whole_where_nothing_of_the_file_can_be_left(here: str, command: str) -> None:
    assert not all(target.merges for target in of(here, command, "f")), command


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("echo 'x y' > f", "x y\n"), ("echo -n x > f", "x"), ("echo -e 'a\\nb' > f", "a\nb\n"), ("echo > f", "\n"),
        ("printf 'a\\nb\\n' > f", "a\nb\n"), ("printf '%s=%d\\n' a 1 b 2 > f", "a=1\nb=2\n"), ("printf x > f", "x"),
        ("printf '100%%\\n' > f", "100%\n"),
        ("cat > f <<'EOF'\na $b `c` \\d\nEOF", "a $b `c` \\d\n"), ("cat <<EOF > f\nplain\ntext\nEOF", "plain\ntext\n"),
        ("cat <<-'E' > f\n\ta\n\tE", "a\n"), ("tee f <<'E'\na\nE", "a\n"), ("echo a | tee f", "a\n"),
        ("cat <<'E' | tee f > /dev/null\na\nE", "a\n"), (": > f", ""), ("> f", ""), ("true > f", ""),
        ("{ echo a; echo b; } > f", "a\nb\n"), ("(echo a; printf b) > f", "a\nb"), ("X=a; echo $X > f", "a\n"),
        ("for i in 1 2; do echo $i; done > f", "1\n2\n"), ("cat <<< 'a b' > f", "a b\n"), ("cat - > f <<'E'\na\nE",
        "a\n"),
        ("[ -f g ] && echo a > f", "a\n"), ("mkdir -p d && cat > f <<'E'\na\nE\ncat f", "a\n"),
        ("echo $(echo a) > f", "a\n"),
        ("bash -c 'echo a > f'", "a\n"), ("sudo tee f <<'E'\na\nE", "a\n"), ("echo a | cat > f", "a\n"),
        ("apply_patch <<'E'\n*** Begin Patch\n*** Add File: f\n+a\n+b\n*** End Patch\nE", "a\nb\n"),
        ("echo a > f; make; echo a > f", "a\n"), ("for i in 1 2; do echo a > f; done", "a\n"),
    ],
)  # fmt: skip
def test_the_content_is_known_where_the_words_say_it(here: str, command: str, text: str) -> None:
    assert [target.text for target in of(here, command, "f")] == [text]


@pytest.mark.parametrize(
    "command",
    [
        "make > f", "echo $X > f", "cat g > f", "echo a > f; echo b > f", "echo a >> f", "echo a > f; echo b >> f",
        "cat > f <<E\n$X\nE", "cat > f <<E\n$(date)\nE", "echo 'a\\nb' > f", "{ echo a; make; } > f", "echo a 2> f",
        "if x; then echo a > f; else echo b > f; fi", "{ a || echo b; } > f", "printf '%5.2f' 1 > f", "exec > f",
        "sed -i s/a/b/ f", "while a; do echo b; done > f", "echo a &> f", "rm f", "echo a > f; sed -i s/a/b/ f",
        "for i in 1 2; do echo $i > f; done", "date > f", "echo a | sort > f", "cat <<'E' > f; rm g\nx\nE",
        "echo a |& tee f", "cd nowhere 2>&1 | tee f", "python3 - > f <<'E'\nprint(1)\nE",
        "cd - > f", "cd - | tee f", "CDPATH=.. cd src > f",
        "echo a > f; echo b > $X", "echo a > f; find . -name f | xargs sed -i s/a/b/",
        # written again under another name, or with the folder that it lies in
        "echo x > f; find . -type f -exec truncate -s 0 {} \\;", "echo x > f; echo y > ./f", "echo x > f; rm -rf .",
        "echo x > f; echo y > $PWD/src/../f", "echo x > f; truncate -s 0 lnk",
        "echo x > f; sed -i s/x/y/ f; echo x > f", "{ echo x > f; } > f", "echo x > f; tee f < g",
        "echo x > f; echo y > here/f", "echo x > f; cd here; echo y > $X",
    ],
)  # fmt: skip
def test_no_content_is_told_that_is_not_certain(here: str, command: str) -> None:
    assert {target.text for target in of(here, command, "f")} == {None}


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("cat f", ["f"]), ("cat f g", ["f", "g"]), ("nl -ba f", ["f"]), ("head -20 f", ["f"]), ("tail -n 5 f", ["f"]),
        ("sed -n '1,20p' f", ["f"]), ("sed -n 1,20p f | head", ["f"]), ("cat f | grep x", ["f"]), ("less f", ["f"]),
        ("cat f | head -5 | nl", ["f"]), ("cat < f", ["f"]), ("xxd f", ["f"]), ("cat src/*.py", ["src/a.py",
        "src/b.py"]),
        ("for f in src/*.py; do cat $f; done", ["src/a.py", "src/b.py"]), ("cd src && cat a.py", ["src/a.py"]),
        ("cat f 2>/dev/null", ["f"]), ("cat f 2>&1 | tail -3", ["f"]), ("ls; cat f; make", ["f"]), ("bat -p f", ["f"]),
        ("bash -lc 'cat f'", ["f"]), ("cat f g | sed s/a/b/", ["f", "g"]), ("{ cat f; cat g; }", ["f", "g"]),
        ("find src -name a.py -exec cat {} +", ["src/a.py"]), ("cat f | tee /tmp/x", ["f"]), ("tac f", ["f"]),
        ("echo x > g; cat g", ["g"]), ("diff <(cat f) g", []), ("awk 'NR<5' f", []), ("head -5 < f | cat -A", ["f"]),
        ("cat f >&2", ["f"]), ("timeout 5 cat f", ["f"]), ("F=f; cat $F", ["f"]),
        ("cat f; cat nowhere || true", ["f", "nowhere"]),
    ],
)  # fmt: skip
def test_what_a_command_shows_is_told(here: str, command: str, names: list[str]) -> None:
    assert shell.read(command, here).shown == [f"{here}/{name}" for name in names]


@pytest.mark.parametrize(
    "command",
    [
        "cat f > /dev/null", "cat f > g", "cat f | wc -l", "x=$(cat f)", "cat f | python3 x.py", "cat f | grep -q x",
        "cat f | grep -c x", "wc -l f", "cat f &> log", "{ cat f; } > log", "grep -l x f", "a || cat f", "ls f",
        "if false; then cat f; fi", "show() { cat f; }", "sed -i s/a/b/ f", "echo f", "(cat f) | md5sum", "cat $F",
        "while false; do cat f; done", "case x in y) cat f;; esac", "cat f >> log", "md5sum f", "bash x.sh f",
    ],
)  # fmt: skip
def test_nothing_is_told_as_shown_that_the_agent_does_not_see(here: str, command: str) -> None:
    reading = shell.read(command, here)
    assert reading.shown == []
    assert reading.git_shown == []


@pytest.mark.parametrize(
    ("command", "facts"),
    [
        ("git diff f", [("f", "diff")]), ("git diff HEAD -- f g", [("f", "diff"), ("g", "diff")]),
        ("git show HEAD:src/a.py", [("src/a.py", "show")]), ("cd src && git show HEAD~1:./a.py", [("src/a.py",
        "show")]),
        ("cd src && git show HEAD:src/a.py | head", [("src/a.py", "show")]), ("git -C src diff a.py", [("src/a.py",
        "diff")]),
        ("git diff --stat f", []), ("git diff --cached f", []), ("git show HEAD", []), ("git show HEAD:f > t", []),
        ("git diff", []), ("git --no-pager diff f | cat", [("f", "diff")]),
    ],
)  # fmt: skip
def test_what_git_shows_of_a_file_is_told_apart(here: str, command: str, facts: list[tuple[str, str]]) -> None:
    assert shell.read(command, here).git_shown == [(f"{here}/{name}", how) for name, how in facts]
