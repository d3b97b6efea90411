"""Landing where there is more than one of something: clones that share a store, target branches, uncommitted work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.client import landing_settings
from dibs.client.session import Session
from dibs.errors import Failed
from dibs.server.host import Host
from dibs.server.land_loop import LandLoop
from dibs.workspace import location
from tests.land.landing_repo import LandingRepo
from tests.scratch import Shell

if TYPE_CHECKING:
    from pathlib import Path


def queued_elsewhere(repo: LandingRepo, branch: str, commit: str, home: str = "") -> None:
    """As another clone of the repository queues it, on the same store."""
    session = Session(str(repo.folder), None)
    fields = {"branch": branch, "commit": commit, "onto": "main", "home": home or "far:clone(12345678)"}
    session.run(session.operation("land"), session.identify(f"ag-{branch}"), fields)
    session.close()


def test_a_commit_that_only_another_clone_has_is_left_to_that_clone(tmp_path: Path) -> None:
    repo = LandingRepo(tmp_path / "repo")
    queued_elsewhere(repo, "far", "1" * 40)
    repo.change("a", a="1\n")
    repo.land("a")
    assert repo.states() == {"a": "landed", "far": "queued"}
    assert repo.told("ag-far") == []
    said = repo.land("--all", exit=1)["error"]["message"]
    assert "far was queued in far:clone(12345678)" in said
    assert "stays queued" in said
    repo.clean()


def test_a_commit_that_its_own_clone_has_lost_is_refused(tmp_path: Path) -> None:
    repo = LandingRepo(tmp_path / "repo")
    session = Session(str(repo.folder), None)
    home = landing_settings.home_of(session)
    session.close()
    queued_elsewhere(repo, "gone", "1" * 40, home)
    repo.land("--all")
    assert repo.states() == {"gone": "refused"}
    assert "is not in this repository. The branch is untouched. Then run" in repo.told("ag-gone")[0]


def test_a_branch_that_another_clone_pushed_is_fetched_and_lands(tmp_path: Path) -> None:
    repo = LandingRepo(tmp_path / "repo", 'remote = "origin"')
    repo.git("init", "-q", "--bare", "-b", "main", str(tmp_path / "there.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "there.git"))
    repo.git("push", "-q", "origin", "main")
    other = tmp_path / "other"
    repo.git("clone", "-q", str(tmp_path / "there.git"), str(other))
    repo.git("checkout", "-q", "-b", "far", cwd=other)
    commit = repo.commit_files("far", {"far.txt": "1\n"}, other)
    queued_elsewhere(repo, "far", commit)
    assert "push the branch to origin" in repo.land("--all", exit=1)["error"]["message"]
    repo.git("push", "-q", "origin", "far", cwd=other)
    repo.land("--all")
    assert repo.states() == {"far": "landed"}
    assert repo.git("show", "main:far.txt") == "1"
    repo.clean()


def test_the_queue_says_in_which_clone_a_landing_was_queued(tmp_path: Path) -> None:
    repo = LandingRepo(tmp_path / "repo")
    repo.change("a", a="1\n")
    found = repo.land("a", "--wait", "0")["landing"]
    assert ":repo(" in found["home"]
    assert str(tmp_path) not in found["home"], "others read it"


def test_a_server_lands_on_every_branch_that_has_a_queue(tmp_path: Path) -> None:
    repo = LandingRepo(tmp_path / "repo", check="! test -e bad.txt")
    repo.git("branch", "release")
    repo.git("branch", "broken")
    repo.commit_files("red", {"bad.txt": "1\n"}, repo.tree("other"))
    repo.git("branch", "-f", "broken", "other")
    for branch, onto in (("a", "main"), ("b", "release"), ("c", "broken")):
        repo.change(branch, **{branch: "1\n"})
        repo.land(branch, "--onto", onto, "--wait", "0")
    host = Host(location.find(str(repo.folder), None))
    try:
        loop = LandLoop(host)
        with pytest.raises(Failed, match="broken itself fails"):
            loop.take_step(host.session(asked=False))
        assert repo.git("show", "release:b.txt") == "1", "what stops one does not stop the others"
        loop.take_step(host.session(asked=False))  # it is not tried again at once
    finally:
        host.close()

    def state(onto: str) -> Any:
        return [one["state"] for one in repo.json("landings", "--onto", onto, exit=0)["landings"]]

    assert (state("main"), state("release"), state("broken")) == (["landed"], ["landed"], ["queued"])


def test_uncommitted_work_that_is_in_the_way_is_named_with_its_agent(tmp_path: Path) -> None:
    repo = LandingRepo(tmp_path / "repo")
    repo.line("a", 5, "five")
    repo.json("claim", "base.txt", "--as", "bob", exit=0)
    (repo.folder / "base.txt").write_text("bob's\n")
    found = repo.land("a", agent="ann", exit=1)["landing"]
    assert found["code"] == "tree"
    assert f"main is checked out in {repo.folder}, which cannot follow: uncommitted changes of bob in" in found["why"]
    assert "no repair; commit or stash what is there, or ask first (`dibs send bob TEXT`)." in found["why"]
    assert "Repair it" not in repo.told("ann")[0]
    assert (repo.folder / "base.txt").read_text() == "bob's\n"


def test_a_lander_that_watches_takes_the_settings_of_the_moment(tmp_path: Path) -> None:
    repo = LandingRepo(tmp_path / "repo")
    session = Session(str(repo.folder), None)
    config = repo.folder / ".dibs" / "config.toml"
    config.write_text(config.read_text().replace("\n[land]\n", '\n[land]\nmethod = "squash"\n'))
    assert session.reread() == ""
    assert landing_settings.settings_of(session)["method"] == "squash"
    config.write_text("[land\n")
    assert "config.toml" in session.reread()
    assert landing_settings.settings_of(session)["method"] == "squash"
    session.close()
    found = Shell(repo.folder).run("status")
    assert (found.returncode, "What it said before stays in force" in found.stderr) == (0, True)
