"""The shell guard's decision: sweeps, targets nobody can read, git's index, deploys, and what a role forbids."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Fenced, Forbidden, Held, Killed
from dibs.operations.guards.audits import AUDIT
from dibs.operations.guards.shell_guard import COMMAND
from tests.operations.fleet import OTHER_TREE, TREE, Fleet, guards, resource

MINUTE = 60_000
INDEX, HEAD = ["name", "git:index", ""], ["name", "git:head", ""]


def run(fleet: Fleet, agent: str, *, tree: str = TREE, **facts: Any) -> Any:
    return fleet.internal(agent, COMMAND, tree=tree, **facts)


def sweep(*paths: str, safe: str = "git add", **more: str) -> list[dict[str, Any]]:
    """`git add -A` where these files differ."""
    return [{"what": "git add -A", "paths": list(paths), "does": "take in", "safe": safe, **more}]


EVERYTHING = [{"what": "git pull", "paths": None, "does": "change", "else": "Work elsewhere."}]  # nobody knows what


# --- sweeps


@pytest.mark.parametrize(("does", "passes"), [("take in", True), ("commit", True), ("write over", False)])
def test_what_an_agent_holds_and_has_read_it_may_take_in_and_not_throw_away(
    fleet: Fleet, does: str, passes: bool
) -> None:
    fleet.call("a", "boot")
    fleet.claim("b", "x.py")
    facts = [{"what": "git x", "paths": ["x.py"], "does": does}]
    with pytest.raises(Held):
        run(fleet, "b", sweeps=facts, owned=[[TREE, resource("x.py"), ["a"], False]])
    row = [TREE, resource("x.py"), ["a"], True]
    if passes:
        run(fleet, "b", sweeps=facts, owned=[row])
    else:
        with pytest.raises(Held):
            run(fleet, "b", sweeps=facts, owned=[row])


def test_a_sweep_over_work_that_may_be_the_callers_or_anothers_is_refused(fleet: Fleet) -> None:
    fleet.edit("a", "elsewhere.py")
    shared = [[TREE, resource("it's.py"), ["b", "a"], False], [TREE, resource("own.py"), ["b", "b/sub"], False]]
    with pytest.raises(Held) as refusal:
        run(fleet, "b", sweeps=sweep("it's.py", "own.py"), owned=shared)
    assert refusal.value.message == (
        "`git add -A` would take in files that others hold: it's.py (uncommitted work of a or of you; if it is yours, "
        "`dibs claim 'it'\\''s.py'`). Run `git add -- own.py` instead."
    )
    assert [blocker["agent"] for blocker in refusal.value.fields["blockers"]] == ["a"]


def test_a_sweep_over_files_of_others_is_refused_with_the_list_and_the_safe_command(fleet: Fleet) -> None:
    fleet.edit("a", "a.py")
    fleet.claim("c", "c.py", reason="hot fix")
    with pytest.raises(Held) as refusal:
        run(fleet, "b", sweeps=sweep("a.py", "b.py", "c.py", "d/e.py"))
    error = refusal.value
    assert error.message == (
        "`git add -A` would take in files that others hold: a.py (a, 30 min left; ends with its commit); "
        "c.py (c, 30 min left). "
        "Run `git add -- b.py d/e.py` instead."
    )
    assert (error.files, error.instead) == (["a.py", "c.py"], "Run `git add -- b.py d/e.py` instead.")
    assert [(one["agent"], one["resource"], one["reason"]) for one in error.blockers] == [
        ("a", "a.py", ""),
        ("c", "c.py", "hot fix"),
    ]
    event = fleet.events("command.refused")[-1]
    assert (event["agent"], event["subject"], event["data"]["code"]) == ("b", "git add -A", "held")


def test_a_sweep_that_meets_nobodys_files_passes(fleet: Fleet) -> None:
    fleet.edit("a", "a.py")
    fleet.edit("b", "b.py")
    assert run(fleet, "b", sweeps=sweep("b.py", "c.py")) == {"claims": []}
    assert fleet.events("command.refused") == []


def test_names_that_a_shell_would_break_are_quoted_in_the_safe_command(fleet: Fleet) -> None:
    fleet.edit("a", "a.py")
    with pytest.raises(Held) as refusal:
        run(
            fleet, "b", sweeps=sweep("a.py", "two words.py", "it's.py", "$HOME.py", "app/[id]/page.tsx", "plain-1_2.py")
        )
    listed = r"'two words.py' 'it'\''s.py' '$HOME.py' ':(literal)app/[id]/page.tsx' plain-1_2.py"
    assert refusal.value.instead == f"Run `git add -- {listed}` instead."


def test_where_no_file_is_free_the_advice_is_another_way(fleet: Fleet) -> None:
    fleet.edit("a", "a.py")
    with pytest.raises(Held) as refusal:
        run(fleet, "b", sweeps=sweep("a.py", **{"else": "Work in a tree of your own."}))
    assert refusal.value.instead == "Work in a tree of your own."
    with pytest.raises(Held, match="git worktree add"):
        run(fleet, "b", sweeps=sweep("a.py", "b.py", safe=""))


def test_a_long_list_is_cut_and_counted(fleet: Fleet) -> None:
    for number in range(12):
        fleet.edit("a", f"a{number:02}.py")
    swept = [f"{letter}{number:02}.py" for letter in "ab" for number in range(12)]
    with pytest.raises(Held, match="and 2 more") as refusal:
        run(fleet, "b", sweeps=sweep(*swept, wide="git add -A"))
    assert (len(refusal.value.files), len(refusal.value.blockers), refusal.value.more) == (10, 10, 2)
    excluded = " ".join(f"':!a{number:02}.py'" for number in range(12))
    assert refusal.value.instead == f"Run `git add -A -- . {excluded}` instead."


@pytest.mark.parametrize("wide", ["src/", "src/*.py", "**/x.py"])
def test_a_directory_and_a_glob_that_others_hold_are_swept_up_too(fleet: Fleet, wide: str) -> None:
    fleet.claim("a", wide)
    with pytest.raises(Held) as refusal:
        run(fleet, "b", sweeps=sweep("mine.py", "src/x.py"))
    assert (refusal.value.files, refusal.value.instead) == (["src/x.py"], "Run `git add -- mine.py` instead.")


def test_what_changes_nobody_knows_which_files_is_refused_while_others_hold_any(fleet: Fleet) -> None:
    fleet.claim("a", "db:main")  # a name is no file
    run(fleet, "b", sweeps=EVERYTHING)
    fleet.edit("a", "x.py")
    with pytest.raises(Held) as refusal:
        run(fleet, "b", sweeps=EVERYTHING)
    assert (refusal.value.files, refusal.value.instead) == (["x.py"], "Work elsewhere.")


def test_the_first_of_several_sweeps_that_meets_somebody_is_the_answer(fleet: Fleet) -> None:
    fleet.edit("a", "a.py")
    with pytest.raises(Held, match="`git pull`"):
        run(fleet, "b", sweeps=[*sweep("b.py"), *EVERYTHING])


# --- whose claims count


@pytest.mark.parametrize("facts", [{"sweeps": EVERYTHING}, {"unresolved": [{"words": "$F"}]}])
def test_ones_own_the_familys_readers_and_other_trees_claims_do_not_count(fleet: Fleet, facts: dict[str, Any]) -> None:
    fleet.edit("b", "mine.py")
    fleet.edit("b/child", "childs.py")
    fleet.claim("a", "read.py", mode="read")
    fleet.edit("a", "x.py", tree=OTHER_TREE)
    run(fleet, "b", **facts)
    run(fleet, "b/child", **facts)
    with pytest.raises(Held):
        run(fleet, "b/other", **facts)  # a sibling
    with pytest.raises(Held):
        run(fleet, "b", tree=OTHER_TREE, **facts)


@pytest.mark.parametrize("facts", [{"sweeps": EVERYTHING}, {"unresolved": [{"words": "$F"}]}])
def test_a_claim_by_hand_counts_in_every_tree(fleet: Fleet, facts: dict[str, Any]) -> None:
    fleet.claim("a", "x.py")
    for tree in (TREE, OTHER_TREE):
        with pytest.raises(Held):
            run(fleet, "b", tree=tree, **facts)


@pytest.mark.parametrize("facts", [{"sweeps": EVERYTHING}, {"unresolved": [{"words": "$F"}]}])
def test_the_dead_and_the_ended_hold_nothing(fleet: Fleet, facts: dict[str, Any]) -> None:
    fleet.edit("a", "x.py", process=10)
    fleet.claim("c", "y.py", ttl=MINUTE)
    fleet.now += MINUTE
    with pytest.raises(Held) as refusal:
        run(fleet, "b", **facts)
    assert [blocker["agent"] for blocker in refusal.value.blockers] == ["a"]
    fleet.kill9(10)
    run(fleet, "b", **facts)


# --- targets that cannot be read


def test_an_unreadable_target_is_refused_while_others_hold_files_here(fleet: Fleet) -> None:
    run(fleet, "b", unresolved=[{"words": "$F"}])
    fleet.edit("a", "x.py")
    with pytest.raises(Held, match=r"cannot be read from its words \(\$F, \$G\), and others hold files here: x\.py"):
        run(fleet, "b", unresolved=[{"words": "$F"}, {"words": "$G"}])
    event = fleet.events("command.refused")[-1]
    assert (event["subject"], event["data"]["code"]) == ("$F", "held")
    fleet.release("a")
    run(fleet, "b", unresolved=[{"words": "$F"}])


@pytest.mark.parametrize(
    ("below", "held"),
    [
        ([["tree", "src"]], True), ([["tree", ""]], True), ([["tree", "lib"], ["tree", "src/x.py"]], True),
        ([["glob", "src/x*"]], True), ([["tree", "lib"]], False), ([["tree", "sr"]], False),
        ([["glob", "src/gen_*"], ["glob", "src/gen_*/**"]], False),
    ],
)  # fmt: skip
def test_a_target_of_which_the_folder_is_known_is_refused_only_where_others_hold_something_there(
    fleet: Fleet, below: list[list[str]], held: bool
) -> None:
    fleet.edit("a", "src/x.py")
    doubt = {"words": "> $F", "tree": TREE, "below": below}
    if held:
        with pytest.raises(Held, match=r"\(> \$F\), and others hold files here: src/x\.py"):
            run(fleet, "b", unresolved=[doubt])
    else:
        run(fleet, "b", unresolved=[doubt])


@pytest.mark.parametrize(
    ("held", "refused"),
    [("lib/new.py/", False), ("lib/new.go/", True), ("lib/", True), (".github/", True), ("lib/v1.2/", True)],
)
def test_a_path_claimed_before_it_exists_is_a_file_if_it_is_named_like_one(
    fleet: Fleet, held: str, refused: bool
) -> None:
    fleet.claim("a", held)
    doubt = {"words": "go fmt ./...", "tree": TREE, "below": [["tree", ""]], "end": ".go"}
    if refused:
        with pytest.raises(Held):
            run(fleet, "b", unresolved=[doubt])
    else:
        run(fleet, "b", unresolved=[doubt])


def test_who_runs_what_takes_no_names_is_told_to_wait_and_not_to_write_names_out(fleet: Fleet) -> None:
    fleet.edit("a", "src/x.rs")
    doubt = {"words": "cargo clippy --fix", "tree": TREE, "below": [["tree", ""]], "end": ".rs", "whole": True}
    waits = r"`cargo clippy --fix` may write src/x\.rs: .* Wait: `dibs claim src/x\.rs --wait 60s`"
    with pytest.raises(Held, match=waits) as refusal:
        run(fleet, "b", unresolved=[doubt])
    assert refusal.value.wanted == ["src/x.rs"]
    with pytest.raises(Held, match="Write the names of your files out"):
        run(fleet, "b", unresolved=[doubt, {"words": "> $F"}])


@pytest.mark.parametrize("below", [None, [["file", "x.py"]]])
@pytest.mark.parametrize("words", ["python -c '\n" + "x = 1\n" * 10_000 + "'", "sed -i " + "x" * 60_000])
def test_a_refusal_repeats_no_more_of_a_command_than_its_beginning(fleet: Fleet, words: str, below: Any) -> None:
    fleet.edit("a", "x.py")
    with pytest.raises(Held) as refusal:
        run(fleet, "b", unresolved=[{"words": words, "tree": TREE, "below": below}])
    assert f"{words.partition(chr(10))[0][:100]}" in refusal.value.message
    assert "…" in refusal.value.message
    assert len(refusal.value.message) < 600


def test_a_file_that_a_command_may_write_is_refused_with_a_way_to_wait_for_it(fleet: Fleet) -> None:
    fleet.edit("a", "package.json")
    doubt = {"words": "npm version patch", "tree": TREE, "below": [["file", "lock.json"], ["file", "package.json"]]}
    waits = r"`npm version patch` may write package\.json: .* Wait: `dibs claim package\.json --wait 60s`"
    with pytest.raises(Held, match=waits) as refusal:
        run(fleet, "b", unresolved=[doubt])
    assert refusal.value.wanted == ["package.json"]
    with pytest.raises(Held, match=r"cannot be read from its words \(npm version patch, > \$F\)"):
        run(fleet, "b", unresolved=[doubt, {"words": "> $F"}])
    run(fleet, "b", unresolved=[{**doubt, "below": [["file", "lock.json"], ["file", "package.json.md"]]}])


def test_a_target_that_cannot_be_read_is_judged_by_the_claims_of_the_tree_where_the_command_is_run(
    fleet: Fleet,
) -> None:
    fleet.edit("a", "x.py", tree=OTHER_TREE)
    run(fleet, "b", unresolved=[{"words": "$F", "tree": TREE, "below": None}])
    with pytest.raises(Held):
        run(fleet, "b", unresolved=[{"words": "$F", "tree": OTHER_TREE, "below": None}])


# --- git's index


def test_a_command_that_touches_the_index_holds_it_until_the_audit_of_that_call(fleet: Fleet) -> None:
    taken = run(fleet, "a", index=[INDEX])["claims"]
    assert fleet.holders() == [("a", "git:index")]
    with pytest.raises(Held) as refusal:
        fleet.claim("b", "git:index")
    assert refusal.value.blockers[0]["reason"] == "a git command runs"
    fleet.internal("a", AUDIT)  # of another call
    fleet.internal("b", AUDIT, release=taken)  # of somebody else
    assert fleet.holders() == [("a", "git:index")]
    fleet.internal("a", AUDIT, release=taken)
    assert fleet.holders() == []
    fleet.claim("b", "git:index")


def test_a_held_index_ends_with_its_process_and_at_the_latest_after_two_minutes(fleet: Fleet) -> None:
    run(fleet, "a", index=[INDEX], process=10)
    fleet.kill9(10)
    fleet.claim("b", "git:index")
    fleet.release("b")
    run(fleet, "c", index=[INDEX])
    fleet.now += 2 * MINUTE - 1
    fleet.internal("c", AUDIT)  # activity does not make it longer
    with pytest.raises(Held):
        fleet.claim("b", "git:index")
    fleet.now += 1
    fleet.claim("b", "git:index")


def test_whoever_waits_for_the_index_gets_it_when_the_command_is_over(fleet: Fleet) -> None:
    taken = run(fleet, "a", index=[INDEX])["claims"]
    fleet.claim("b", "git:index", wait=MINUTE)
    fleet.internal("a", AUDIT, release=taken)
    assert fleet.holders() == [("b", "git:index")]


def test_each_working_tree_has_its_own_index(fleet: Fleet) -> None:
    run(fleet, "a", index=[INDEX])
    run(fleet, "b", tree=OTHER_TREE, index=[["name", f"git:index@{OTHER_TREE}", ""]])
    assert fleet.holders() == [("a", "git:index"), ("b", f"git:index@{OTHER_TREE}")]


def test_a_refused_command_does_not_hold_the_index(fleet: Fleet) -> None:
    fleet.edit("a", "a.py")
    with pytest.raises(Held):
        run(fleet, "b", sweeps=sweep("a.py"), index=[INDEX])
    assert fleet.holders() == [("a", "a.py")]


def test_an_audit_gives_back_only_what_was_claimed_for_a_command(fleet: Fleet) -> None:
    edit = fleet.edit("a", "x.py")["claims"][0]["claim"]
    hand = fleet.claim("a", "y.py")["claim"]
    fleet.internal("a", AUDIT, release=[edit, hand])
    assert fleet.holders() == [("a", "x.py"), ("a", "y.py")]


def test_an_agents_next_git_command_takes_over_what_one_held_that_was_broken_off(fleet: Fleet) -> None:
    first = run(fleet, "a", index=[INDEX])["claims"]
    second = run(fleet, "a", index=[INDEX])["claims"]
    fleet.internal("a", AUDIT, release=first)
    assert fleet.holders() == [("a", "git:index")], "the second one still runs"
    fleet.internal("a", AUDIT, release=second)
    assert fleet.holders() == []
    run(fleet, "a", index=[INDEX])
    both = run(fleet, "a", index=[INDEX, HEAD])["claims"]
    assert fleet.holders() == [("a", "git:head"), ("a", "git:index")], "one claim of both, and nothing beside it"
    fleet.internal("a", AUDIT, release=both)
    assert fleet.holders() == []


def test_whoever_waits_for_the_index_gets_it_before_another_command_of_the_agent_that_had_it(fleet: Fleet) -> None:
    run(fleet, "a", index=[INDEX])
    fleet.claim("b", "git:index", wait=MINUTE)
    with pytest.raises(Held):
        run(fleet, "a", index=[INDEX])
    assert fleet.holders() == [("b", "git:index")]


def test_a_git_command_waits_for_another_agents_before_what_is_staged_counts(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    taken = run(fleet, "a", index=[INDEX])["claims"]
    staged = [{"what": "git commit", "tree": TREE, "paths": ["x.py"], "does": "commit"}]
    with pytest.raises(Held, match="a git command of a runs in this repository") as refusal:
        run(fleet, "b", index=[INDEX], sweeps=staged)
    assert refusal.value.fields["transient"] is True
    fleet.internal("a", AUDIT, release=taken)
    with pytest.raises(Held, match="would commit files that others hold") as refusal:
        run(fleet, "b", index=[INDEX], sweeps=staged)
    assert "transient" not in refusal.value.fields


def test_a_git_command_in_the_way_is_for_a_moment_and_a_claim_by_hand_is_not(fleet: Fleet) -> None:
    taken = run(fleet, "a", index=[INDEX])["claims"]
    with pytest.raises(
        Held, match=r"a git command of a runs in this repository\. Try again in a few seconds\."
    ) as refusal:
        run(fleet, "b", index=[INDEX, HEAD])
    assert refusal.value.fields["transient"] is True
    fleet.internal("a", AUDIT, release=taken)
    fleet.claim("a", "git:head")
    with pytest.raises(Held, match="a holds git:head") as refusal:
        run(fleet, "b", index=[INDEX, HEAD])
    assert "transient" not in refusal.value.fields
    assert fleet.holders() == [("a", "git:head")]
    assert run(fleet, "a", index=[HEAD]) == {"claims": []}, "its own claim by hand is enough"


def test_who_asks_again_while_a_git_command_runs_is_in_the_log_only_when_it_gives_up(fleet: Fleet) -> None:
    taken = run(fleet, "a", index=[INDEX])["claims"]
    for _ in range(3):
        with pytest.raises(Held) as refusal:
            run(fleet, "b", index=[INDEX], waits=True)
        assert refusal.value.fields["transient"] is True
    assert not fleet.events("claim.refused")
    with pytest.raises(Held):
        run(fleet, "b", index=[INDEX])
    assert len(fleet.events("claim.refused")) == 1
    fleet.internal("a", AUDIT, release=taken)
    assert run(fleet, "b", index=[INDEX], waits=True)["claims"]


# --- HEAD


def switch(to: str = "new", tree: str = TREE, **more: Any) -> list[dict[str, Any]]:
    """`git switch -c new`."""
    return [{"what": "git switch -c new", "head": "switch", "to": to, "tree": tree, "else": "Go elsewhere.", **more}]


def test_another_branch_is_refused_while_others_hold_files_in_that_working_tree(fleet: Fleet) -> None:
    fleet.edit("a", "a.py")
    with pytest.raises(Held) as refusal:
        run(fleet, "b", sweeps=switch())
    assert refusal.value.message == (
        "`git switch -c new` would change the branch of this working tree, where others are at work: a.py (a, 30 min "
        "left; ends with its commit). Their next commit would land on new. Go elsewhere."
    )
    assert fleet.events("command.refused")[-1]["subject"] == "git switch -c new"
    run(fleet, "b", sweeps=switch(tree=OTHER_TREE))
    run(fleet, "a", sweeps=switch())
    run(fleet, "a/child", sweeps=switch())
    fleet.release("a")
    run(fleet, "b", sweeps=switch())


def test_a_claim_by_hand_is_at_work_in_the_main_working_tree_and_a_name_in_none(fleet: Fleet) -> None:
    fleet.claim("a", "db:main")
    run(fleet, "b", sweeps=switch(main=True))
    fleet.claim("a", "x.py")
    with pytest.raises(Held, match=r"x\.py"):
        run(fleet, "b", sweeps=switch(main=True))
    run(fleet, "b", tree=OTHER_TREE, sweeps=switch(tree=OTHER_TREE, main=False))


def test_commits_of_an_agent_at_work_stay_and_those_of_one_that_is_gone_do_not_matter(fleet: Fleet) -> None:
    amend = [{"what": "git commit --amend", "does": "rewrite", "makers": {"a": "0123456789abcdef"}, "tree": TREE}]
    run(fleet, "b", sweeps=amend)  # nobody knows a
    fleet.call("a", "boot", client=10)
    with pytest.raises(Forbidden, match="would rewrite 0123456789, a commit of a, who is at work") as refusal:
        run(fleet, "b", sweeps=amend)
    assert (refusal.value.agent, refusal.value.commit) == ("a", "0123456789abcdef")
    run(fleet, "a", sweeps=amend)
    run(fleet, "a/child", sweeps=amend)
    fleet.kill9(10)
    run(fleet, "b", sweeps=amend)
    fleet.call("a", "boot", client=11)
    fleet.call("a", "leave")
    run(fleet, "b", sweeps=amend)


# --- stashes


def stash(*there: str, takes: tuple[str, ...] = (), pushes: bool = False) -> list[dict[str, Any]]:
    """A command about stashes, the newest first."""
    return [{"what": "git stash", "stashes": list(there), "takes": list(takes), "pushes": pushes, "tree": TREE}]


def test_a_stash_belongs_to_whoever_was_let_make_it(fleet: Fleet) -> None:
    run(fleet, "a", sweeps=stash("old", pushes=True))
    with pytest.raises(Forbidden, match=r"would take away stash@\{0\}, which a made") as refusal:
        run(fleet, "b", sweeps=stash("s1", "old", takes=("s1",)))
    assert refusal.value.maker == "a"
    run(fleet, "b", sweeps=stash("s1", "old", takes=("old",)))  # nobody knows who made that
    run(fleet, "b", sweeps=stash("s1", pushes=True))
    with pytest.raises(Forbidden, match=r"stash@\{1\}, which a made"):
        run(fleet, "b", sweeps=stash("s2", "s1", takes=("s2", "s1")))
    with pytest.raises(Forbidden, match=r"stash@\{0\}, which b made"):
        run(fleet, "a", sweeps=stash("s2", "s1", takes=("s2",)))
    run(fleet, "a", sweeps=stash("s2", "s1", takes=("s1",)))
    run(fleet, "b", sweeps=stash("s2", takes=("s2",)))


def test_a_stash_that_was_not_made_after_all_gives_nobody_the_next_one_of_a_person(fleet: Fleet) -> None:
    run(fleet, "a", sweeps=stash("old", pushes=True))
    run(fleet, "b", sweeps=stash("old"))
    run(fleet, "b", sweeps=stash("new", "old", takes=("new",)))
    assert not fleet.events("call.refused")
    assert not fleet.record("gs")["makers"], "nobody is taken for the maker of either"


# --- what nobody may do


def test_dibs_own_record_is_not_taken_away_and_no_push_goes_past_the_hook(fleet: Fleet) -> None:
    with pytest.raises(Forbidden, match=r"Run `git clean -fdx -e \.dibs/local` instead"):
        run(fleet, "a", sweeps=[{"what": "git clean -fdx", "record": "git clean -fdx -e .dibs/local", "tree": TREE}])
    with pytest.raises(Forbidden, match=r"would push to main past git's own hook .* Leave --no-verify out"):
        run(fleet, "a", sweeps=[{"what": "git push", "past": "--no-verify", "protected": ["main"], "tree": TREE}])
    assert [event["data"]["code"] for event in fleet.events("command.refused")] == ["forbidden", "forbidden"]


# --- deploys and roles


def test_a_deploy_command_is_refused_with_the_line_to_run_instead(fleet: Fleet) -> None:
    with pytest.raises(
        Forbidden, match=r"Run it as `dibs deploy prod --verify CMD -- wrangler deploy --min`"
    ) as refusal:
        run(fleet, "a", deploys=[["wrangler deploy --min", "prod", ""]], index=[INDEX])
    assert (refusal.value.command, refusal.value.target) == ("wrangler deploy --min", "prod")
    assert fleet.holders() == []
    assert fleet.events("command.refused")[-1]["subject"] == "wrangler deploy --min"


def test_the_line_to_run_instead_of_a_deploy_runs_as_it_is(fleet: Fleet) -> None:
    with pytest.raises(Forbidden, match="`dibs deploy prod --verify CMD -- env A=1 fly deploy`"):
        run(fleet, "a", deploys=[["A=1 fly deploy", "prod", ""]])
    with pytest.raises(Forbidden, match="Put `dibs deploy prod --verify CMD --` before `kubectl apply -f -`"):
        run(fleet, "a", deploys=[["kubectl apply -f -", "prod", ""]])
    checked = guards()
    declared = Fleet(guards={**checked, "deploy": {**checked["deploy"], "targets": {"prod": {"verify": "true"}}}})
    with pytest.raises(Forbidden, match=r"`dibs deploy prod -- fly deploy`: .* and verifies the result"):
        run(declared, "a", deploys=[["fly deploy", "prod", ""]])
    declared.clean()


def test_what_speaks_against_a_deploy_right_now_is_said_with_it(fleet: Fleet) -> None:
    with pytest.raises(Forbidden, match=r"deploys to prod, and not now: main is 2 commits behind\. Run it as"):
        run(fleet, "a", deploys=[["wrangler deploy", "prod", "main is 2 commits behind."]])


def test_a_worker_may_neither_commit_nor_deploy_and_is_not_told_how() -> None:
    fleet = Fleet(guards=guards(roles={"default": "worker", "assign": [["lead", "orchestrator"]], "named": {}}))
    for act in ("commit", "deploy"):
        with pytest.raises(Forbidden, match=f"a is a worker and may not {act}") as refusal:
            run(fleet, "a", acts=[act], index=[INDEX])
        assert (refusal.value.role, refusal.value.act) == ("worker", act)
    with pytest.raises(Forbidden, match="may not deploy"):
        run(fleet, "a", deploys=[["wrangler deploy", "prod", ""]])
    assert fleet.holders() == []
    assert run(fleet, "lead", acts=["commit", "deploy"], index=[INDEX])["claims"]
    with pytest.raises(Forbidden, match="Run it as `dibs deploy prod"):
        run(fleet, "lead", deploys=[["wrangler deploy", "prod", ""]])
    fleet.clean()


# --- who may not act at all


def test_a_killed_agent_and_an_earlier_process_run_no_command(fleet: Fleet) -> None:
    fleet.call("a", "boot", client=10)
    fleet.call("a", "boot", client=11)
    with pytest.raises(Fenced):
        run(fleet, "a", index=[INDEX], process=10)
    fleet.call("boss", "kill", agent="a", why="runs wild")
    with pytest.raises(Killed):
        run(fleet, "a", index=[INDEX], process=11)
    assert fleet.holders() == []
