"""The strongest witness: generated commands are really run with bash, and every file that changed was foretold.

The commands are made of the table of writers, redirections and the shell's own grammar, and of names in a directory of
their own. What a reading foretells beyond what happens is fine (a branch that was not taken); what it misses is not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs import shell

FILES = ("a", "b.txt", "c d", "dir/e", "dir/f.txt", "dir/deep/g", "é.txt", "x'y", "-dash", "st*r")
NEW = ("n1", "n 2", "dir/n3", "dir/deep/n4", "n5.txt")
FOLDERS = ("dir", "dir/deep", "empty")


def quoted(name: str, style: int) -> str:
    """One of the ways to write a name."""
    plain = f"./{name}" if name.startswith("-") else name
    if style == 0 and "'" not in plain:
        return f"'{plain}'"
    if style == 1:
        return f'"{plain}"'
    if style == 2:
        escaped = plain.replace("'", "\\'")
        return f"$'{escaped}'"
    if style == 3 and len(plain) > 1 and plain[0].isalnum():
        return f'"{plain[0]}"' + "".join(c if c.isalnum() else "\\" + c for c in plain[1:])
    return "".join(c if c.isalnum() or c in "/._-" else "\\" + c for c in plain)


old = st.builds(quoted, st.sampled_from(FILES), st.integers(0, 4))
new = st.builds(quoted, st.sampled_from((*FILES, *NEW)), st.integers(0, 4))
folder = st.builds(quoted, st.sampled_from(FOLDERS), st.integers(0, 4))
anything = st.one_of(old, new, folder)
pattern = st.sampled_from(
    ("*", "*.txt", "dir/*", "d*/*", "?", "[ab]*", "{a,b.txt}", "dir/{e,f.txt}", "n{1..3}", "dir/*.txt")
)
several = st.lists(st.one_of(old, pattern), min_size=1, max_size=3).map(" ".join)


def phrase(text: str, **parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Commands made from a text with places for names."""
    return st.fixed_dictionaries(parts).map(lambda chosen: text.format(**chosen))


redirection = st.one_of(
    *(phrase(f"{sign} {{to}}", to=new) for sign in (">", ">>", ">|", "&>", "2>", "1>", "&>>", "<>", "2>&1 >")),
    phrase(">{to}", to=new),
    phrase("> {to} 2>&1", to=new),
)
echo = st.one_of(
    phrase("echo word {redirection}", redirection=redirection),
    phrase("{redirection} echo word", redirection=redirection),
    phrase("echo {redirection} word", redirection=redirection),
    phrase("echo a {first} b {second}", first=redirection, second=redirection),
)
writer = st.one_of(
    echo,
    phrase("rm -f {names}", names=several),
    phrase("rm -rf {names}", names=st.one_of(folder, several)),
    phrase("unlink {name}", name=old),
    phrase("mv -f {one} {to}", one=old, to=anything),
    phrase("mv -f {names} {to}", names=several, to=folder),
    phrase("mv -f -t {to} {names}", names=several, to=folder),
    phrase("mv -fT {one} {to}", one=old, to=new),
    phrase("cp {one} {to}", one=old, to=anything),
    phrase("cp {names} {to}", names=several, to=folder),
    phrase("cp -r {names} {to}", names=folder, to=anything),
    phrase("cp -r {names}/. {to}", names=folder, to=folder),
    phrase("cp --target-directory={to} {names}", names=old, to=folder),
    phrase("cp --parents {one} {to}", one=old, to=folder),
    phrase("ln -sf {one} {to}", one=old, to=anything),
    phrase("ln -f {one} {to}", one=old, to=new),
    phrase("(cd {to} && ln -sf ../a)", to=folder),
    phrase("install {one} {to}", one=old, to=anything),
    phrase("install -D -m 600 {one} {to}", one=old, to=new),
    phrase("sed -i s/o/0/ {names}", names=several),
    phrase("sed -i.bak -e s/o/0/ {names}", names=several),
    phrase("sed -n -i -e s/o/0/p -- {names}", names=several),
    phrase("sed --in-place=.old s/o/0/ {names}", names=several),
    phrase("sed -Ei 's/(o)/0/' {names}", names=several),
    phrase("sed -ni p {names}", names=several),
    phrase("perl -pi -e s/o/0/ {names}", names=several),
    phrase("perl -i.bak -pe s/o/0/ {names}", names=several),
    phrase("perl -p -i -e 's/o/0/' -- {names}", names=several),
    phrase("echo x | tee {names}", names=several),
    phrase("echo x | tee -a {to} > {other}", to=new, other=new),
    phrase("touch {to}", to=new),
    phrase("touch -d 2001-01-01 {to}", to=new),
    phrase("truncate -s 1 {to}", to=new),
    phrase("truncate --size 2 {to}", to=new),
    phrase("dd if=a of={to} status=none", to=st.sampled_from((*NEW[2:], "b.txt"))),
    phrase("sort {one} -o {to}", one=old, to=new),
    phrase("sort --output={to} {one}", one=old, to=st.sampled_from(("n1", "b.txt"))),
    phrase("gzip -f {names}", names=old),
    phrase("gzip -kf {names}", names=old),
    phrase("gzip -f {one}; gunzip -f *.gz", one=old),
    phrase("bzip2 -f {names}", names=old),
    phrase("tar cf {to} {names}", to=new, names=several),
    phrase("tar -czf {to} -C dir e", to=new),
    phrase("rmdir {to}", to=folder),
    phrase("find . -name '*.txt' -delete", to=folder),
    phrase("find {to} -type f -exec rm -f {{}} \\;", to=folder),
    phrase("find . \\( -name a -o -name 'e*' \\) -exec sed -i s/o/0/ {{}} +", to=folder),
    phrase("find . -path ./dir -prune -o -type f -exec truncate -s 0 {{}} \\;", to=folder),
    phrase("find dir -maxdepth 1 -type f ! -name e -delete", to=folder),
    phrase("cat > {to} <<EOF\n$(rm -f {other})\nrm -rf .\nEOF", to=new, other=old),
    phrase("cat <<'EOF' > {to}\n$(rm -rf .)\nEOF", to=new),
    phrase("cat <<'EOF' | tee {to} > {other}\nrm -rf *\nEOF", to=new, other=new),
    phrase("cat <<'EOF' > {to}; rm -f {other}\nrm -rf *\nEOF", to=new, other=old),
    phrase("cat > {to} <<-EOF && rm -f {other}\n\tx\n\tEOF", to=new, other=old),
    phrase("patch -s -p1 <<'EOF'\n--- x/a\n+++ y/a\n@@ -1 +1 @@\n-one\n+two\nEOF", to=new),
    phrase("printf '%s' 'touch {to}' | cat > {to}", to=st.sampled_from(("n1", "b.txt"))),
    phrase("cat < {one} > {to}", one=old, to=new),
    phrase("bash -c 'echo x > {to}'", to=st.sampled_from(("n1", "b.txt", "dir/e"))),
    phrase('sh -c "rm -f {to} \\$1" _ b.txt', to=st.sampled_from(("n1", "a"))),
    phrase("eval 'rm -f {to}'", to=st.sampled_from(("n1", "a"))),
    phrase("bash <<'EOF'\nrm -f {to}\nEOF", to=old),
    phrase("env A=1 nice -n 1 timeout 5 rm -f {to}", to=old),
    phrase("command rm -f {to}; \\rm -f a; /bin/rm -f b.txt", to=old),
    phrase('X=a; Y=$X.new; echo > $Y; echo > "${{X}}2"; rm -f {to}', to=old),
    phrase('for f in {names}; do mv -f "$f" "$f.bak"; done', names=several),
    phrase('for f in *.txt dir/*.txt; do cp "$f" "${{f%.txt}}.md"; done; rm -f {to}', to=old),
    phrase("for f in dir/*; do echo > $(basename $f).new; echo > $(dirname $f)/up; done; touch {to}", to=new),
    phrase('f() {{ echo > "$1"; rm -f "$2"; }}; f {to} {other}', to=new, other=old),
    phrase("while read -r l; do echo > {to}; break; done < {one}", to=new, one=old),
    phrase("case x in a) rm -f {to};; x|y) rm -f {other};; esac", to=old, other=old),
    phrase("if [ -f a ]; then rm -f {to}; else rm -f {other}; fi", to=old, other=old),
    phrase('a=({names}); rm -f "${{a[@]}}"', names=several),
    phrase('set -- {names}; rm -f "$1" "$@"', names=several),
    phrase("[ a > {to} ]", to=st.sampled_from(("n1", "b.txt"))),
    phrase('echo "`rm -f {to}`" $(rm -f {other})', to=st.sampled_from(("a", "dir/e")), other=old),
    phrase("echo x > >(cat > {to})", to=new),
    phrase("echo x |& cat > {to}", to=new),
    phrase("mkdir -p made/in && cp {one} made/in && cp {one} made; mv -f a made", one=old),
    phrase("pushd dir >/dev/null; rm -f e; popd >/dev/null; rm -f {to}", to=old),
    # What the words leave open: where it lies has to be right.
    phrase("grep -rl one {to} | xargs sed -i s/o/0/", to=folder),
    phrase("sed -i s/o/0/ $(grep -rl one {to})", to=folder),
    phrase("for f in $(find {to} -type f); do cp $f $f.bak; mv $f ${{f%.txt}}.md; done", to=folder),
    phrase('find {to} -type f | while read -r f; do mv "$f" "$f.x"; touch "$(dirname "$f")/up"; done', to=folder),
    phrase("find {to} -type f -print0 | xargs -0 -I@ sh -c 'echo x > @.y'", to=folder),
    phrase('mapfile -t A < <(find {to} -type f); rm -f "${{A[@]}}"', to=folder),
    phrase("ls {to} | xargs -I@ touch {to}/@.z", to=folder),
    phrase("cd {to}; ls | head -2 | xargs rm -rf", to=folder),
    phrase("X=$(date +%s); echo > {to}/n_$X; echo > n_$$; touch {to}/$RANDOM", to=folder),
    phrase("i=0; while [ $i -lt 3 ]; do i=$((i+1)); echo > {to}/n$i; done", to=folder),
    phrase("for ((i=0;i<2;i++)); do touch {to}/c$i; done", to=folder),
    phrase('for f in $(ls {to}/*); do echo > "$f"; done', to=folder),
    phrase("tar cf /dev/null a; tar cf - dir | tar xf - -C {to}", to=folder),
    phrase("echo {one} b.txt | xargs touch", one=st.sampled_from(("a", "dir/e"))),
    phrase("split -b 1 a {to}/part_", to=folder),
    phrase("cd $(dirname dir/e) && touch {to}", to=new),
    phrase("basename {one} | xargs touch", one=old),
    phrase("echo 'rm -f a; touch n1' | sh; cat <<'E' | bash\nrm -f {to}\nE", to=old),
    phrase("python3 -c \"open('{to}', 'w')\"", to=st.sampled_from(("n1", "dir/e"))),
    # What hides in programs and lists.
    phrase("sed -n 's/o/0/w {to}' {one}", to=st.sampled_from(("n1", "b.txt", "dir/e")), one=old),
    phrase("awk '{{print > \"{to}\"}}' {one}", to=st.sampled_from(("n1", "b.txt", "dir/e")), one=old),
    phrase("uniq {one} {to}", one=old, to=new),
    phrase("cp -b {one} {to}", one=old, to=new),
    phrase("mv -n {one} {to}", one=old, to=new),
    phrase("cp -rT {one} {to}", one=folder, to=folder),
    phrase("find {to} -name '*.txt' | sort | while read -r f; do mv \"$f\" \"${{f%.txt}}.md\"; done", to=folder),
    phrase("find {to} -type f -size -1k -delete; find {to} -empty -delete", to=folder),
    phrase("find {to} -type f -newer a -exec rm -f {{}} +", to=folder),
    phrase("find {to} -type f -execdir mv {{}} moved \\;", to=folder),
    phrase("grep -rl 'on.' {to} | xargs -I@ cp @ @.bak; sed -i s/o/0/ $(grep -l one dir/*)", to=folder),
    phrase("find {to} -type f > l1; while read -r f; do echo > $f; done < l1; xargs rm -f < l1", to=folder),
    phrase("printf 'a\\nb.txt\\n' > l2; for f in $(cat l2); do rm -f $f; done; touch {to}", to=new),
    phrase("IFS=:; L=a:b.txt; for f in $L; do touch $f; done; rm -f {to}", to=old),
    phrase('declare -A m=([x]=a [y]=dir/e); rm -f "${{m[x]}}"; touch {to}', to=new),
    phrase('a=({names}); rm -f "${{a[@]:1}}"; touch "${{a[@]/%/.z}}"', names=several),
    phrase("echo 'rm -f \"$1\"' > s1; sh s1 {to}", to=old),
    phrase("export X=dir; bash -c 'touch $X/n9; rm -f \"$0\"' {to}", to=old),
    phrase("f=$(ls -t dir | head -1); rm -f dir/$f; T=$(mktemp -d); cp a $T; rm -rf $T {to}", to=old),
    # Other names for programs, files and places.
    phrase("$(which rm) -f {to}; env - rm -f a; $(command -v touch) n6", to=old),
    phrase("touch ${{NOT_SET:-dir}}/n7; : ${{NEVER_SET:=dir}}; touch $NEVER_SET/n8; rm -f {to}", to=old),
    phrase('cd nowhere; a=(*); rm -f "${{a[@]}}"; A=$PWD; touch $A/n9 {to}', to=new),
    phrase("echo 1 > n1; echo 2 > ./n1; echo 3 > dir/../n5.txt; ln -s n1 n6; echo 4 > {to}; echo 5 > n6", to=new),
)  # fmt: skip
place = st.one_of(
    phrase("cd {to}", to=folder),
    phrase("cd {to} && cd ..", to=folder),
    *(st.just(text) for text in ("cd nowhere", "true", "cd -")),
)  # fmt: skip
statement = st.one_of(
    writer,
    writer,
    phrase("{place} && {then}", place=place, then=writer),
    phrase("{place}; {then}", place=place, then=writer),
    phrase("{place} || {then}", place=place, then=writer),
    phrase("({place}; {then}\n)", place=place, then=writer),
    phrase("{{ {then}\n}} {redirection}", then=writer, redirection=redirection),
    phrase("if {place}; then {then}\nfi", place=place, then=writer),
    phrase("{then}\n! {place}", place=place, then=writer),
)

short = st.one_of(
    place,
    phrase("cd {to}", to=folder),
    phrase("echo x {redirection}", redirection=redirection),
    phrase("echo x 2>&1", to=new),
    phrase("tee {to}", to=new),
    phrase("rm -f {to} 2> {other}", to=old, other=new),
    phrase("{{ cd {where}; echo x; }} > {to}", where=folder, to=new),
    phrase("(cd {where}; echo x > {other}) > {to}", where=folder, to=new, other=new),
    phrase("F={to}", to=st.sampled_from(("n1", "dir/e"))),
    st.just('echo > "$F"'),
    *(st.just(text) for text in ("true", "false", "! cd dir", "cat", "! false", "exit 1")),
)
joint = st.sampled_from((" && ", " || ", " | ", " |& ", "; ", "\n", " & ", "\n\\\n", " && \\\n\\\n"))
chain = st.lists(st.tuples(short, joint), min_size=2, max_size=6).map(
    lambda parts: "".join(text + by for text, by in parts[:-1]) + parts[-1][0]
)


def snapshot(top: Path) -> dict[str, tuple[object, ...]]:
    """All files and links below a directory, with what they hold and when they were written."""
    found: dict[str, tuple[object, ...]] = {}
    for where, folders, files in os.walk(top):
        for name in (*files, *(one for one in folders if os.path.islink(os.path.join(where, one)))):
            path = os.path.join(where, name)
            status = os.lstat(path)
            content = os.readlink(path) if os.path.islink(path) else Path(path).read_bytes()
            found[path] = (content, status.st_mtime_ns, status.st_mode)
    return found


def prepare(top: Path) -> None:
    for name in FOLDERS:
        (top / name).mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (top / name).write_text("one\n")
        os.utime(top / name, (1, 1))


def really_run(command: str, top: Path) -> None:
    """Run it to the end, that of what it left in the background too: all of them hold the pipe open.

    No program ends by a pipe whose reader ended first: chance would decide how much it has written by then.
    """
    end, held = os.pipe()
    try:
        subprocess.run(
            ["bash", "-c", command],
            cwd=top,
            env={"PATH": os.environ["PATH"], "HOME": str(top), "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=60,
            pass_fds=[held],
            restore_signals=False,  # Python ignores SIGPIPE, and so does what it starts
        )
    finally:
        os.close(held)
        os.read(end, 1)
        os.close(end)


def covered(path: str, reading: shell.Reading) -> bool:
    """Was this path foretold, or a directory above it?"""
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    for target in reading.writes:
        head, tail = os.path.split(
            os.path.normpath(target.path) if ".." not in target.path else target.path.rstrip("/")
        )
        foretold = {os.path.join(os.path.realpath(head), tail), os.path.realpath(target.path)}
        if any(real == one or real.startswith(one + "/") for one in foretold):
            return True
    doubts = [doubt.below for doubt in reading.unresolved if any(f"{doubt.end}/" in f"{one}/" for one in (path, real))]
    return any(below is None or any(lies_below(path, real, way) for way in below) for below in doubts)


def lies_below(path: str, real: str, way: str) -> bool:
    """Does a path begin as the doubt says? A slash at the end stands for a folder, itself included."""
    head, tail = os.path.split(way)
    ways = (way, f"{os.path.realpath(head)}/{tail}")
    return any(f"{one}/".startswith(ways) for one in (path, real))


commands = st.one_of(chain, st.lists(statement, min_size=1, max_size=3).map("\n".join))


@settings(max_examples=150)
@given(commands)
def test_whatever_a_generated_command_changes_on_disk_was_foretold(command: str) -> None:
    foretold(command)


def test_chance_does_not_decide_what_a_program_writes_before_a_pipe_that_nobody_reads() -> None:
    for _ in range(20):
        foretold("echo x | tee n1 | cd dir")


@pytest.mark.torture
@settings(max_examples=5_000)
@given(commands)
def test_whatever_thousands_of_generated_commands_change_on_disk_was_foretold(command: str) -> None:
    foretold(command)


def foretold(command: str) -> None:
    """Run a command, and compare what it changed with what was read from its words."""
    top = Path(os.path.realpath(tempfile.mkdtemp()))
    try:
        prepare(top)
        before = snapshot(top)
        reading = shell.read(command, str(top), home=str(top))
        really_run(command, top)
        after = snapshot(top)
        changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        changed = {path for path in changed if not path.endswith((".rej", ".orig"))}  # what patch leaves where it fails
        # A pattern stays as it is where the command failed to make the files it was for; nobody has such a file.
        changed = {path for path in changed if path in before or not any(mark in path for mark in "*?[{")}
        missed = {path for path in changed if not covered(path, reading)}
        if reading.unresolved:  # what comes of files that an unknown target made has a new name, and is nobody's
            missed &= before.keys()
        assert not missed or reading.broken or (reading.kind == "open" and "python3" in command), (
            f"{sorted(missed)} of {reading.writes} and {reading.unresolved}"
        )
        assert not changed or reading.kind != "harmless"
        for target in reading.writes:
            if target.text is not None and target.path in changed and os.path.isfile(target.path):
                assert Path(target.path).read_bytes() == target.text.encode(), target
    finally:
        shutil.rmtree(top)
