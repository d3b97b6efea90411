"""What a git command would do, told from its words; options with values are never taken for paths."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs import shell
from dibs.git import effects
from dibs.git.effects import GitEffect, effect


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A directory like a working tree, with a file and a folder that may be named."""
    top = Path(os.path.realpath(tmp_path_factory.mktemp("tree")))
    (top / ".git").mkdir()
    (top / "src").mkdir()
    (top / "a.py").write_text("")
    (top / "p.diff").write_text(
        "diff --git a/src/x b/src/x\n--- a/src/x\n+++ b/src/x\n@@ -1 +1 @@\n-a\n+b\n"
        "diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n"
    )
    return str(top)


def told(found: GitEffect | None, here: str) -> str:
    """An effect in one line: kind, action, flags, then what it names."""
    if found is None:
        return "nothing"
    flags = [name for name in ("index", "head", "tree", "all", "force", "dry", "unknown") if getattr(found, name)]
    names = [path.removeprefix(here + "/") for path in found.paths]
    words = [found.kind, *([found.action] if found.action else []), *flags]
    for label, values in (("paths", names), ("to", [found.remote] if found.remote else []), ("refs", found.refspecs)):
        words += [f"{label}={','.join(values)}"] if values else []
    return " ".join(words)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("add a.py src", "add index paths=a.py,src"), ("add -A", "add index all"), ("add --all", "add index all"),
        ("add .", "add index paths=."),
        ("add -u", "add index all"), ("add -A src", "add index paths=src"), ("add -p", "add index all"),
        ("add -n a.py", "add index dry paths=a.py"),
        ("add --chmod +x a.py", "add index paths=a.py"), ("add --chmod=+x -- -x", "add index paths=-x"),
        ("add -f a.py", "add index force paths=a.py"),
        ("add --pathspec-from-file=l", "add index unknown"), ("stage a.py", "stage index paths=a.py"),
        ("commit -m msg", "commit index head"), ("commit -m msg a.py", "commit index head paths=a.py"),
        ("commit -am msg", "commit index head all"),
        ("commit --all --message msg", "commit index head all"),
        ("commit -F f -C HEAD --author me --date now -- a.py", "commit index head paths=a.py"),
        ("commit --amend --no-edit", "commit index head"),
        ("commit --fixup HEAD~1 --trailer k=v", "commit index head"), ("commit --dry-run", "commit index head dry"),
        ("commit -n -m msg", "commit index head"), ("commit -ma b", "commit index head paths=b"),
        ("commit -S -s -m x", "commit index head"), ("commit -o a.py -m x", "commit index head paths=a.py"),
        ("checkout main", "checkout index head tree all refs=main"), ("checkout .", "checkout index tree paths=."),
        ("checkout a.py", "checkout index tree paths=a.py"),
        ("checkout -- main", "checkout index tree paths=main"),
        ("checkout HEAD~1 -- x", "checkout index tree paths=x"),
        ("checkout HEAD a.py", "checkout index tree paths=a.py"),
        ("checkout -b new", "checkout create head refs=new"),
        ("checkout -b new main", "checkout create index head tree all refs=new,main"), ("checkout", "nothing"),
        ("checkout -f", "checkout index head tree all force"), ("checkout -p", "checkout index tree all"),
        ("checkout -f main", "checkout index head tree all force refs=main"),
        ("checkout --orphan new", "checkout create index head tree all refs=new"),
        ("checkout *.py", "checkout index tree paths=*.py"), ("checkout --theirs x y", "checkout index tree paths=y"),
        ("switch main", "switch index head tree all refs=main"), ("switch -c new", "switch create head refs=new"),
        ("switch --discard-changes main", "switch index head tree all force refs=main"),
        ("switch -", "switch index head tree all refs=-"),
        ("switch -C new main", "switch create index head tree all refs=new,main"),
        ("restore a.py", "restore tree paths=a.py"), ("restore --staged a.py", "restore index paths=a.py"),
        ("restore -SW .", "restore index tree paths=."), ("restore -s HEAD~1 x", "restore tree paths=x"),
        ("restore --source HEAD --staged --worktree x", "restore index tree paths=x"),
        ("stash", "stash push index tree all"), ("stash -u", "stash push index tree all"),
        ("stash push -m msg", "stash push index tree all"),
        ("stash push -m msg -- a.py", "stash push index tree paths=a.py"),
        ("stash push a.py", "stash push index tree paths=a.py"), ("stash -- a.py", "stash push index tree paths=a.py"),
        ("stash save words of it", "stash save index tree all"),
        ("stash pop", "stash pop index tree all"),
        ("stash apply stash@{1}", "stash apply index tree all refs=stash@{1}"), ("stash drop", "stash drop"),
        ("stash clear", "stash clear"),
        ("stash list", "nothing"), ("stash show -p", "nothing"),
        ("stash branch b", "stash branch index head tree all refs=b"),
        ("reset", "reset index all"), ("reset --hard", "reset index tree all force"),
        ("reset --hard HEAD~1", "reset index head tree all force refs=HEAD~1"),
        ("reset HEAD", "reset index all refs=HEAD"),
        ("reset --soft HEAD~1", "reset head refs=HEAD~1"),
        ("reset --keep main", "reset index head tree all refs=main"), ("reset a.py", "reset index paths=a.py"),
        ("reset HEAD a.py", "reset index paths=a.py refs=HEAD"),
        ("reset -- x", "reset index paths=x"), ("reset HEAD~1", "reset index head all refs=HEAD~1"),
        ("reset --merge", "reset index tree all"),
        ("clean -fd", "clean tree all force"), ("clean -n", "clean tree all dry"),
        ("clean -fdx -e keep src", "clean tree force paths=src"), ("clean -f --exclude=a", "clean tree all force"),
        ("pull", "pull index head tree all"),
        ("pull --rebase origin main", "pull index head tree all to=origin refs=main"),
        ("pull -s ours -X theirs origin", "pull index head tree all to=origin"),
        ("pull --depth 1", "pull index head tree all"), ("pull --dry-run", "pull index head tree all dry"),
        ("merge x", "merge index head tree all refs=x"), ("merge -m msg x", "merge index head tree all refs=x"),
        ("merge --abort", "merge abort index head tree all"), ("merge --squash x", "merge index tree all refs=x"),
        ("rebase main", "rebase index head tree all refs=main"),
        ("rebase --onto a b c", "rebase index head tree all refs=b,c"),
        ("rebase -i HEAD~3 -x make", "rebase index head tree all refs=HEAD~3"),
        ("rebase --continue", "rebase continue index head tree all"), ("rebase --quit", "rebase quit"),
        ("cherry-pick abc", "cherry-pick index head tree all refs=abc"),
        ("cherry-pick -n abc", "cherry-pick index tree all refs=abc"),
        ("cherry-pick -m 1 abc", "cherry-pick index head tree all refs=abc"),
        ("revert --no-commit HEAD", "revert index tree all refs=HEAD"),
        ("am x.mbox", "am index head tree all refs=x.mbox"), ("am --show-current-patch", "nothing"),
        ("apply p.diff", "apply tree paths=src/x,old,new"),
        ("apply --check p.diff", "apply tree dry paths=src/x,old,new"),
        ("apply --stat p.diff", "apply tree dry paths=src/x,old,new"),
        ("apply --cached p.diff", "apply index paths=src/x,old,new"),
        ("apply --index -p1 p.diff", "apply index tree paths=src/x,old,new"), ("apply", "apply input tree unknown"),
        ("apply none.diff", "apply tree unknown"),
        ("apply -p 2 --directory sub p.diff", "apply tree paths=sub/x,sub/a/old,sub/b/old,sub/a/new,sub/b/new"),
        ("rm a.py", "rm index tree paths=a.py"), ("rm -r --cached src", "rm index paths=src"),
        ("rm -n a.py", "rm index tree dry paths=a.py"), ("mv a.py b.py", "mv index tree paths=a.py,b.py"),
        ("mv -k a.py src", "mv index tree paths=a.py,src"),
        ("push", "push"), ("push origin main", "push to=origin refs=main"),
        ("push -u origin HEAD:main", "push to=origin refs=HEAD:main"), ("push --force", "push force"),
        ("push -f origin x", "push force to=origin refs=x"),
        ("push origin +main", "push force to=origin refs=+main"),
        ("push --force-with-lease origin x", "push force to=origin refs=x"),
        ("push origin --delete x", "push delete to=origin refs=x"),
        ("push origin :x", "push delete to=origin refs=:x"), ("push --dry-run origin", "push dry to=origin"),
        ("push --all", "push all"), ("push --mirror", "push all force"), ("push --tags origin", "push to=origin"),
        ("push -o ci.skip origin main", "push to=origin refs=main"), ("push --repo=r", "push to=r"),
        ("push --push-option x origin", "push to=origin"),
        ("worktree add ../w main", "worktree add paths=../w refs=main"),
        ("worktree add -b new ../w", "worktree add paths=../w"),
        ("worktree remove --force w", "worktree remove tree force paths=w"), ("worktree list", "nothing"),
        ("branch", "nothing"), ("branch -a", "nothing"), ("branch --list x", "nothing"),
        ("branch --contains HEAD", "nothing"), ("branch new", "branch create refs=new"),
        ("branch -D x y", "branch delete force refs=x,y"),
        ("branch -d x", "branch delete refs=x"), ("branch -f x HEAD~1", "branch create force refs=x,HEAD~1"),
        ("branch -m new", "branch move head refs=new"), ("branch -u origin/x", "nothing"),
        ("branch --sort name", "nothing"),
        ("branch --show-current", "nothing"), ("update-ref HEAD abc", "update-ref set head refs=HEAD,abc"),
        ("update-ref -d refs/heads/x", "update-ref delete refs=refs/heads/x"),
        ("update-ref --stdin", "update-ref set unknown"),
        ("symbolic-ref HEAD", "nothing"),
        ("symbolic-ref HEAD refs/heads/x", "symbolic-ref set head refs=HEAD,refs/heads/x"),
        ("filter-branch --tree-filter cmd HEAD", "filter-branch index head tree all force refs=HEAD"),
        ("submodule update --init", "submodule update tree all"), ("submodule status", "nothing"),
        ("bisect start", "bisect start index head tree all"), ("bisect log", "nothing"),
        ("read-tree -u -m HEAD", "read-tree index tree all refs=HEAD"),
        ("update-index --add a.py", "update-index index paths=a.py"), ("update-index --refresh", "nothing"),
        ("update-index --cacheinfo 100644,abc,a.py", "update-index index paths=a.py"),
        ("update-index --cacheinfo 100644 abc a.py", "update-index index paths=a.py"),
        ("update-index --index-info", "update-index index unknown"),
        ("replace", "nothing"), ("replace -l", "nothing"), ("replace abc def", "replace set refs=abc,def"),
        ("submodule foreach git clean -fd", "submodule foreach"),
        ("sparse-checkout set src", "sparse-checkout set index tree all refs=src"),
        ("checkout-index -a", "checkout-index tree all"),
        ("status", "nothing"), ("log --oneline -- a.py", "nothing"), ("diff HEAD", "nothing"), ("show", "nothing"),
        ("fetch origin main", "nothing"), ("ls-files", "nothing"), ("--version", "nothing"),
        ("blame a.py", "nothing"), ("rev-parse HEAD", "nothing"), ("config user.name x", "nothing"),
        ("tag v1", "nothing"), ("remote -v", "nothing"), ("commit --help", "nothing"), ("", "nothing"),
        ("co main", "unknown"), ("lfs pull", "unknown"),
    ],
)  # fmt: skip
def test_the_effect_is_told_from_the_words(here: str, command: str, expected: str) -> None:
    assert told(effect(["git", *command.split()], here), here) == expected


@pytest.mark.parametrize(
    ("options", "cwd"),
    [
        ("-C src", "src"), ("-C src -C deep", "src/deep"), ("-C /else", "/else"), ("-c a.b=c", ""),
        ("--no-pager -c x=y -C src", "src"), ("--git-dir=.git", ""),
        ("--git-dir .git --work-tree src", "src"), ("--work-tree=src", "src"), ("-P --literal-pathspecs", ""),
        ("--namespace x", ""),
    ],
)  # fmt: skip
def test_options_before_the_subcommand_are_passed_over_and_lead_elsewhere(here: str, options: str, cwd: str) -> None:
    found = effect(["git", *options.split(), "add", "x"], here)
    assert found is not None
    assert (found.kind, found.paths, found.cwd) == ("add", ["x"], os.path.join(here, cwd) if cwd else here)


def test_what_cannot_be_known_is_said(here: str) -> None:
    for words in (
        ["add", None],
        ["commit", "-m", "x", None],
        ["checkout", "--", None],
        ["rm", None, "a"],
        ["stash", None],
        [None],
    ):
        found = effect(["git", *words], here)
        assert found is not None
        assert found.unknown, words
    message = effect(["git", "commit", "-m", None], here)
    assert message is not None
    assert not message.unknown  # the message may be anything
    elsewhere = effect(["git", "-C", None, "add", "a"], here)
    assert elsewhere is not None
    assert elsewhere.cwd is None


def test_a_command_as_typed_leads_to_its_effect(here: str) -> None:
    reading = shell.read("cd src && sudo git -C .. commit -am \"$(cat <<'E'\na message\nE\n)\" && git push", here)
    commit, push = (effect(simple.words, simple.cwd) for simple in reading.git)
    assert commit is not None
    assert (commit.kind, commit.all, commit.cwd) == ("commit", True, f"{here}/src/..")
    assert push is not None
    assert push.kind == "push"


WORDS = st.one_of(
    st.none(),
    st.text(max_size=6),
    st.sampled_from(sorted(effects._HARMLESS)[:5]),
    st.sampled_from(
        (
            "-",
            "--",
            "-m",
            "-C",
            "--all",
            "-a",
            "HEAD",
            ".",
            "commit",
            "checkout",
            "stash",
            "push",
            "reset",
            "apply",
            "-p",
            "--directory",
        )
    ),
)


@given(st.lists(WORDS, max_size=8), st.one_of(st.none(), st.just("/nowhere")))
def test_no_words_make_it_fail(words: list[str | None], cwd: str | None) -> None:
    found = effect(["git", *words], cwd)
    assert found is None or found.kind
