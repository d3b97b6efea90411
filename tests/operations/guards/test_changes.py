"""What a change of a file means for whoever held it or had work in it: who is told what, how often, and what is kept.

Whose a change is, the ledger says (test_attribution.py). A change here is what a hook brings to the store.
"""

from __future__ import annotations

import pytest

from dibs.errors import Conflict, Held, Killed, NotFound
from dibs.ledger.state import LIKELY, NOBODY, OUTSIDE, SURE
from dibs.operations.guards import changes
from dibs.operations.guards.audits import AUDIT
from dibs.operations.guards.commit_guard import CHECK
from dibs.operations.guards.edit_guard import NOTHING, SAME
from dibs.operations.guards.restores import RESTORABLE, RESTORE
from tests.operations.fleet import OTHER_TREE, TREE, Fleet, change, item, known

MINUTE, DAY = 60_000, 86_400_000


def kinds(fleet: Fleet) -> list[str]:
    """What the log says about changes."""
    return [event["kind"] for event in fleet.events("edit.")]


def commit(fleet: Fleet, agent: str, name: str = "x.py", tree: str = TREE) -> None:
    """Before a commit of that file; raises the refusal."""
    fleet.internal(agent, CHECK, paths=[["file", name, ""]], tree=tree)


# --- a violation


def test_a_change_of_what_another_holds_is_a_violation_kept_logged_and_told_to_both(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    (found,) = fleet.overwrite("b", change("b", id="77"))
    assert found.pop("text").startswith(
        "your command changed x.py, which a holds. What was there is kept, and a is told"
    )
    assert found == {"violation": "v77", "path": "x.py", "blob": "old", "tree": TREE, "how": "violated"}
    kept = fleet.record("v\tv77")
    assert (kept["path"], kept["tree"], kept["holder"], kept["by"]) == ("x.py", TREE, "a", "b")
    assert (kept["blob"], kept["overwritten"], kept["at"]) == ("old", "new", fleet.now)
    (event,) = fleet.events("edit.")
    assert (event["kind"], event["agent"], event["subject"]) == ("edit.violated", "b", "x.py")
    assert event["data"] == {
        "id": "v77", "holder": "a", "tree": TREE, "was": "old", "now": "new", "grade": "sure", "suspects": [],
        "tool": "Bash",
    }  # fmt: skip
    ((kind, text),) = fleet.told("a")
    assert kind == "violation"
    assert text.startswith("b changed x.py, which you hold, by a command.")
    assert "`dibs restore v77`" in text
    assert fleet.told("b") == []  # its own answer says it
    assert fleet.holders() == [("a", "x.py")]


def test_unfinished_work_that_no_claim_covers_is_violated_like_a_claim(fleet: Fleet) -> None:
    (found,) = fleet.overwrite("b", change("b", owners=["a"]))
    assert found["how"] == "violated"
    assert [kind for kind, _ in fleet.told("a")] == ["violation"]


def test_the_holder_of_a_claim_is_told_and_so_is_who_has_work_there(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    fleet.overwrite("b", change("b", owners=["c", "b", "a"]))
    assert (len(fleet.told("a")), len(fleet.told("c")), fleet.told("b")) == (1, 1, [])


def test_whoever_finds_a_change_plays_no_part_in_what_it_means(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    for finder in ("a", "b", "c"):
        (found,) = fleet.overwrite(finder, change("b"))
        assert found["how"] == "violated"
    assert [event["agent"] for event in fleet.events("edit.violated")] == ["b", "b", "b"]
    assert len(fleet.told("a")) == 2
    assert len(fleet.told("b")) == 2
    assert fleet.told("c") == []


def test_a_change_is_told_once_by_its_id_whoever_tells_it_again(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    one = change("b")
    assert len(fleet.overwrite("b", one)) == 1
    for agent in ("b", "c", "a"):
        assert fleet.overwrite(agent, one) == []
    assert (len(fleet.told("a")), kinds(fleet)) == (1, ["edit.violated"])


def test_the_same_content_a_second_time_is_a_second_violation(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    assert len(fleet.overwrite("b", change("b"))) == 1
    assert len(fleet.overwrite("b", change("b"))) == 1
    assert len(fleet.told("a")) == 2
    assert len(fleet.internal("a", RESTORABLE)["kept"]) == 2


def test_two_files_of_one_claim_are_two_violations(fleet: Fleet) -> None:
    fleet.edit("a", "x.py", "y.py")
    assert [one["path"] for one in fleet.overwrite("b", change("b"), change("b", "y.py"))] == ["x.py", "y.py"]


def test_what_was_given_back_or_ended_meanwhile_is_nobodys_and_no_violation(fleet: Fleet) -> None:
    fleet.edit("a", "x.py", "y.py")
    fleet.release("a", "x.py")
    assert fleet.overwrite("b", change("b")) == []
    fleet.now += 30 * MINUTE
    assert fleet.overwrite("b", change("b", "y.py")) == []
    assert fleet.events("edit.") == []


def test_a_claim_in_another_working_tree_and_one_for_reading_are_not_violated(fleet: Fleet) -> None:
    fleet.edit("a", "x.py", tree=OTHER_TREE)
    fleet.claim("a", "y.py", mode="read")
    assert fleet.overwrite("b", change("b"), change("b", "y.py")) == []


def test_a_folder_that_is_held_covers_the_files_in_it(fleet: Fleet) -> None:
    fleet.claim("a", "src/")
    (found,) = fleet.overwrite("b", change("b", "src/x.py"))
    assert (found["how"], found["path"]) == ("violated", "src/x.py")


def test_a_file_that_was_not_there_before_has_nothing_to_be_brought_back(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    fleet.overwrite("b", change("b", was="-"))
    ((_, text),) = fleet.told("a")
    assert "brings back" not in text
    assert fleet.internal("a", RESTORABLE)["kept"] == []


def test_of_very_many_overwritten_contents_each_is_found_and_the_newest_are_listed_first(fleet: Fleet) -> None:
    names = [f"src/f{number:04d}.py" for number in range(1_200)]
    fleet.claim("a", "src/")
    for start in range(0, len(names), 100):
        fleet.now += 1
        fleet.overwrite("b", *[change("b", name) for name in names[start : start + 100]])
    for name in (names[0], names[600], names[-1]):
        (found,) = fleet.internal("a", RESTORABLE, path=name)["kept"]
        assert found["path"] == name
        assert fleet.internal("a", RESTORABLE, ids=[found["id"], "v0"])["kept"] == [found]
    listed: list[str] = []
    after = ""
    while True:
        page = fleet.internal("a", RESTORABLE, limit=500, after=after)
        listed += [one["path"] for one in page["kept"]]
        assert page["more"] is (len(listed) < len(names))
        if not page["more"]:
            break
        after = page["cursor"]
    assert sorted(listed) == names
    assert [name[5:7] for name in listed] == [name[5:7] for name in names[::-1]], "a hundred at a time"


def test_what_was_overwritten_can_be_listed_for_a_month(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    (found,) = fleet.overwrite("b", change("b"))
    (kept,) = fleet.internal("a", RESTORABLE)["kept"]
    assert (kept["id"], kept["blob"], kept["by"]) == (found["violation"], "old", "b")
    fleet.now += 30 * DAY - 1
    assert len(fleet.internal("a", RESTORABLE)["kept"]) == 1
    fleet.now += 1
    assert fleet.internal("a", RESTORABLE)["kept"] == []
    fleet.call("a", "sweep")
    assert fleet.record(f"v\t{found['violation']}") is None
    assert fleet.record(f"vu\t{TREE}\tx.py") is None


@pytest.mark.parametrize("how", ["restored", "accepted", "edited", "put back"])
def test_the_alert_of_a_change_ends_in_the_transaction_that_settles_it(fleet: Fleet, how: str) -> None:
    fleet.edit("a", "x.py", "y.py")
    (found, _) = fleet.overwrite("b", change("b"), change("b", "y.py"))
    assert len(fleet.call("a", "status")["alerts"]) == 2
    if how == "restored":
        fleet.internal("a", RESTORE, kept=found["violation"], resource=["file", "x.py", ""], tree=TREE, now="new")
    elif how == "accepted":
        fleet.call("a", "ack", message=found["violation"])
    elif how == "edited":
        fleet.edit("a", item("x.py", facts=known(SAME, disputed=True)))
    else:
        fleet.overwrite("b", change("b", was="new", now="old"))
    assert [alert["subject"] for alert in fleet.call("a", "status")["alerts"]] == [f"{TREE}/y.py"]
    (event,) = fleet.events("alert.cleared")
    assert event["data"] == {"what": "violation", "why": "the change is settled"}
    fleet.clean()


# --- nobody certain


def test_a_change_that_several_may_have_made_accuses_nobody_and_is_told_to_all_of_them(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    (found,) = fleet.overwrite("b", change("unknown", grade=NOBODY, suspects=["b", "c"]))
    assert found["how"] == "unattributed"
    assert found["text"].startswith("your command may have changed x.py, which a holds.")
    assert fleet.record(f"v\t{found['violation']}")["by"] == ""
    ((kind, text),) = fleet.told("a")
    assert kind == "violation"
    assert "who did it is not known" in text
    assert "b changed" not in text
    assert len(fleet.told("c")) == 1


def test_the_holder_is_not_told_of_what_it_alone_may_have_made_where_nobody_had_work(fleet: Fleet) -> None:
    """A cherry-pick that stops on a conflict brings a file that no look has seen before."""
    fleet.edit("a", "x.py")
    assert fleet.overwrite("a", change("a", grade=LIKELY, suspects=["a"])) == []
    (found,) = fleet.overwrite("a", change("a", grade=LIKELY, suspects=["a", "b"]))
    assert found["how"] == "doubted"
    (found,) = fleet.overwrite("a", change("a", grade=LIKELY, suspects=["a"], owners=["a"]))
    assert found["how"] == "doubted"


def test_one_that_may_have_made_a_change_is_not_told_its_own_name(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    fleet.edit("b", "y.py")
    suspects = ["a", "b"]
    found = fleet.overwrite(
        "c", change("unknown", grade=NOBODY, suspects=suspects),
        change("unknown", "y.py", grade=NOBODY, suspects=suspects),
    )  # fmt: skip
    assert [one["how"] for one in found] == ["unattributed", "unattributed"]
    for agent, other, name in (("a", "b", "x.py"), ("b", "a", "y.py")):
        (text,) = [text for _, text in fleet.told(agent) if text.startswith(name)]
        assert f"who did it is not known: it may have been you or {other}." in text
        with pytest.raises(Conflict, match=f"who did it is not known: it may have been you or {other}, and it is not"):
            commit(fleet, agent, name)
    fleet.edit("a", "z.py")
    fleet.overwrite("c", change("unknown", "z.py", grade=NOBODY, suspects=["a"]))
    (text,) = [text for _, text in fleet.told("a") if text.startswith("z.py")]
    assert "who did it is not known: it may have been you." in text


def test_a_likely_actor_is_named_as_that_and_not_as_certain(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    (found,) = fleet.overwrite("b", change("b", grade=LIKELY, suspects=["b", "c"]))
    assert found["how"] == "unattributed"
    assert found["text"].startswith("your command probably changed x.py")
    ((_, text),) = fleet.told("a")
    assert "probably b did it" in text
    assert fleet.record(f"v\t{found['violation']}")["by"] == ""


def test_a_change_from_outside_is_told_to_the_owner_and_to_nobody_else(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    (found,) = fleet.overwrite("b", change(OUTSIDE, grade=OUTSIDE, heard=["a", "b"]))
    assert (found["how"], found["text"]) == ("unattributed", None)
    ((_, text),) = fleet.told("a")
    assert "no agent did it: a person, or a program that runs in the background" in text


def test_a_change_from_outside_is_the_own_work_of_a_holder_that_runs_no_hooks(fleet: Fleet) -> None:
    """A person with an editor, a script: nobody tells of its calls."""
    fleet.claim("me@here", "x.py")
    assert fleet.overwrite("b", change(OUTSIDE, grade=OUTSIDE, heard=["b"])) == []
    assert fleet.told("me@here") == []
    commit(fleet, "me@here")
    assert len(fleet.overwrite("b", change("b", heard=["b"]))) == 1


def test_of_many_suspects_five_are_told(fleet: Fleet) -> None:
    names = [f"s{number}" for number in range(9)]
    fleet.overwrite("a", change("unknown", grade=NOBODY, owners=["a"], suspects=names))
    assert [len(fleet.told(name)) for name in names] == [1] * changes.MAX_SUSPECTS_TOLD + [0] * (
        9 - changes.MAX_SUSPECTS_TOLD
    )


def test_every_one_of_several_owners_is_told(fleet: Fleet) -> None:
    fleet.overwrite("c", change("c", owners=["a", "b"]))
    assert (len(fleet.told("a")), len(fleet.told("b"))) == (1, 1)


def test_an_owner_that_is_a_suspect_too_is_told_once(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    fleet.overwrite("b", change("unknown", grade=NOBODY, suspects=["a", "b"]))
    ((_, text),) = fleet.told("a")
    assert "which you hold" in text


# --- one's own, and what was taken over


@pytest.mark.parametrize(("grade", "named"), [("sure", False), ("sure", True), ("likely", True)])
def test_what_the_owner_changed_itself_is_told_to_nobody(fleet: Fleet, grade: str, named: bool) -> None:
    fleet.edit("a", "x.py")
    assert fleet.overwrite("b", change("a", grade=grade, named=named, owners=["a"], suspects=["a", "b"])) == []
    assert fleet.overwrite("b", change("a", "y.py", grade=grade, named=named, owners=["a"], suspects=["a", "b"])) == []
    assert (fleet.events("edit."), fleet.told("a"), fleet.told("b")) == ([], [], [])


def test_what_the_owner_probably_changed_without_naming_it_is_told_to_it_in_one_line_and_kept(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    (found,) = fleet.overwrite("a", change("a", grade=LIKELY, owners=["a"], suspects=["a", "b"]))
    assert found["how"] == "doubted"
    assert found["text"].startswith("x.py changed while your command ran, and b was at work too. `dibs restore v")
    assert kinds(fleet) == ["edit.doubted"]
    assert fleet.told("b") == []
    assert len(fleet.internal("a", RESTORABLE)["kept"]) == 1
    commit(fleet, "a")


def test_an_agent_and_those_above_and_below_it_count_as_one_and_siblings_do_not(fleet: Fleet) -> None:
    fleet.edit("p/one", "x.py")
    assert fleet.overwrite("p", change("p", owners=["p/one"])) == []
    assert fleet.overwrite("p", change("p/one/deep", owners=["p/one"])) == []
    (found,) = fleet.overwrite("p/two", change("p/two", owners=["p/one"]))
    assert found["how"] == "violated"


def test_work_that_a_call_let_pass_by_the_edit_guard_went_on_with_is_taken_over_and_its_owner_told_once(
    fleet: Fleet,
) -> None:
    fleet.edit("b", "x.py")
    (found,) = fleet.overwrite("b", change("b", owners=["a"], named=True))
    assert (found["how"], found["text"]) == ("taken", None)
    ((_, text),) = fleet.told("a")
    assert text.startswith("b continued x.py, in which you have uncommitted work. ")
    assert f"`dibs restore {found['violation']}`" in text
    assert kinds(fleet) == ["edit.taken"]
    commit(fleet, "b")


@pytest.mark.parametrize("held", [True, False])
def test_what_one_of_several_owners_certainly_changed_is_told_to_the_others(fleet: Fleet, held: bool) -> None:
    if held:
        fleet.edit("b", "x.py")
    (found,) = fleet.overwrite("b", change("b", owners=["a", "b"]))
    assert (found["how"], found["text"]) == ("taken", None)
    ((_, text),) = fleet.told("a")
    assert text.startswith("b continued x.py, in which you have uncommitted work. ")
    assert f"`dibs restore {found['violation']}`" in text
    assert len(fleet.internal("a", RESTORABLE)["kept"]) == 1
    commit(fleet, "b")


def test_what_one_of_several_owners_changed_in_a_file_that_another_holds_is_a_violation(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    (found,) = fleet.overwrite("b", change("b", owners=["a", "b"]))
    assert found["how"] == "violated"


def test_work_of_a_relative_that_is_thrown_away_does_not_hide_it_from_the_holder(fleet: Fleet) -> None:
    fleet.edit("p", "y.py")
    fleet.edit("x", "x.py")
    (found,) = fleet.overwrite("p/c", change("p/c", owners=["p"], drops=True))
    assert found["how"] == "violated"
    assert [kind for kind, _ in fleet.told("x")] == [kind for kind, _ in fleet.told("p")] == ["violation"]


def test_of_several_owners_whose_work_is_thrown_away_relatives_and_others_are_told(fleet: Fleet) -> None:
    fleet.edit("p", "y.py")
    (found,) = fleet.overwrite("p/c", change("p/c", owners=["a", "p"], drops=True))
    assert found["how"] == "taken"
    ((_, text),) = fleet.told("a")
    assert text.startswith("p/c continued x.py, in which you have uncommitted work.")
    ((_, text),) = fleet.told("p")
    assert text.startswith("p/c took away what you had not committed in x.py.")


def test_a_name_does_not_excuse_what_was_done_to_a_file_that_another_holds(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    (found,) = fleet.overwrite("b", change("b", owners=["a"], named=True))
    assert found["how"] == "violated"


def test_a_change_that_concerns_nobody_is_nothing(fleet: Fleet) -> None:
    for grade in ("sure", LIKELY, NOBODY, OUTSIDE):
        assert fleet.overwrite("b", change("b", grade=grade)) == []
    assert fleet.events("edit.") == []


# --- unsettled


def test_a_violated_path_is_committed_by_nobody_until_it_is_settled(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    (found,) = fleet.overwrite("b", change("b"))
    with pytest.raises(Conflict, match=rf"`dibs restore {found['violation']}`.*`dibs ack {found['violation']}`"):
        commit(fleet, "a")
    fleet.release("a")
    with pytest.raises(Conflict, match="it is not settled what it should contain") as refusal:
        commit(fleet, "c")
    assert (refusal.value.path, refusal.value.violations) == ("x.py", [found["violation"]])
    commit(fleet, "a", "y.py")
    commit(fleet, "a", "x.py", OTHER_TREE)


def test_an_unattributed_change_is_unsettled_too(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    fleet.overwrite("b", change("unknown", grade=NOBODY, suspects=["b", "c"]))
    with pytest.raises(Conflict):
        commit(fleet, "a")


def test_a_path_among_very_many_is_found_unsettled(fleet: Fleet) -> None:
    fleet.overwrite("b", change("b", "f150.py", owners=["a"]))
    paths = [["file", f"f{number}.py", ""] for number in range(200)]
    with pytest.raises(Conflict, match=r"f150\.py"):
        fleet.internal("a", CHECK, paths=paths, tree=TREE)


def test_ack_of_the_change_settles_it_and_is_logged(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    (found,) = fleet.overwrite("b", change("b"))
    fleet.call("a", "ack", message=found["violation"])
    commit(fleet, "a")
    (event,) = fleet.events("edit.accepted")
    assert (event["agent"], event["subject"], event["data"]["id"]) == ("a", "x.py", found["violation"])


def test_ack_of_a_change_that_nobody_knows_is_not_found(fleet: Fleet) -> None:
    with pytest.raises(NotFound, match="v123456789abc"):
        fleet.call("a", "ack", message="v123456789abc")


def test_an_edit_settles_it_once_what_is_there_was_read(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    fleet.overwrite("b", change("b"))
    fleet.edit("a", item("x.py", facts=known(NOTHING, merges=True)))
    with pytest.raises(Conflict):
        commit(fleet, "a")
    fleet.edit("a", item("x.py", facts=known(SAME, disputed=True)))
    commit(fleet, "a")


def test_a_restore_settles_it(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    (found,) = fleet.overwrite("b", change("b"))
    fleet.internal("a", RESTORE, kept=found["violation"], resource=["file", "x.py", ""], tree=TREE, now="new")
    commit(fleet, "a")
    assert not fleet.events("commit.refused")
    assert fleet.events("commit.checked")


def test_a_restore_leaves_the_reason_that_the_agent_gave(fleet: Fleet) -> None:
    fleet.call("a", "claim", resources=["x.py"], reason="new checkout route")
    (found,) = fleet.overwrite("b", change("b"))
    fleet.internal("a", RESTORE, kept=found["violation"], resource=["file", "x.py", ""], tree=TREE, now="new")
    assert [claim["reason"] for claim in fleet.call("a", "status")["claims"]] == ["new checkout route"]
    fleet.call("a", "claim", resources=["x.py"], reason="another one")
    assert [claim["reason"] for claim in fleet.call("a", "status")["claims"]] == ["another one"]


@pytest.mark.parametrize("grade", [SURE, LIKELY, OUTSIDE])
def test_what_was_put_back_by_another_one_is_settled_and_told_without_a_remedy(fleet: Fleet, grade: str) -> None:
    fleet.edit("a", "x.py")
    (first,) = fleet.overwrite("b", change("b", was="old", now="new"))
    back = change("" if grade == OUTSIDE else "b", was="new", now="old", grade=grade, heard=["a"])
    (found,) = fleet.overwrite("b", back)
    assert found["text"] is None
    assert kinds(fleet) == ["edit.violated", "edit.restored"]
    assert fleet.told("a")[-1] == ("violation", f"x.py is again as it was before change {first['violation']}.")
    assert len(fleet.internal("a", RESTORABLE)["kept"]) == 2
    commit(fleet, "a")


def test_what_was_put_back_settles_no_earlier_change(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    (first,) = fleet.overwrite("b", change("b", was="old", now="new"))
    fleet.overwrite("c", change("c", was="new", now="newer"))
    fleet.overwrite("c", change("c", was="newer", now="new"))
    with pytest.raises(Conflict, match=f"`dibs restore {first['violation']}`"):
        commit(fleet, "a")


@pytest.mark.parametrize("how", ["left", "dead"])
@pytest.mark.parametrize("grade", [SURE, LIKELY, NOBODY, OUTSIDE])
def test_the_work_of_an_agent_that_is_gone_is_kept_and_nobody_has_to_settle_it(
    fleet: Fleet, grade: str, how: str
) -> None:
    fleet.call("a", "boot", client=11)
    fleet.edit("a", "x.py", process=11)
    if how == "left":
        fleet.call("a", "leave", client=11)
    else:
        fleet.kill9(11)
    actor = "b" if grade in {SURE, LIKELY} else ""
    (found,) = fleet.overwrite("b", change(actor, grade=grade, owners=["a"], suspects=["b"], heard=["a", "b"]))
    assert found["blob"] == "old"
    assert kinds(fleet) == ["edit.taken" if actor else "edit.unattributed"]
    assert (found["text"] or "").startswith("your command changed x.py, in which a, which has ended" if actor else "")
    commit(fleet, "b")


@pytest.mark.parametrize("grade", [SURE, LIKELY, NOBODY])
def test_a_remedy_is_told_only_to_an_agent_to_which_it_is_granted(fleet: Fleet, grade: str) -> None:
    fleet.edit("a", "x.py")
    actor = "b" if grade != NOBODY else ""
    (held,) = fleet.overwrite("b", change(actor, grade=grade, suspects=["b"]))
    assert "dibs restore" not in held["text"]
    assert "leave that file alone" in held["text"]
    (left,) = fleet.overwrite("b", change(actor, "y.py", grade=grade, suspects=["b"], owners=["a"]))
    assert f"`dibs restore {left['violation']}`" in left["text"]
    assert "y.py, in which a has uncommitted work" in left["text"]
    for _, text in fleet.told("a"):
        assert "dibs restore" in text
    fleet.internal("b", RESTORE, kept=left["violation"], resource=["file", "y.py", ""], tree=TREE)
    fleet.overwrite("b", change(actor, grade=grade, suspects=["b"], owners=["c"]))
    ((_, text),) = fleet.told("c")
    assert "x.py, in which you have uncommitted work" in text
    assert "when a has released the file" in text


def test_another_content_than_the_one_that_was_taken_away_puts_nothing_back(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    fleet.overwrite("b", change("b", was="old", now="new"))
    fleet.overwrite("b", change("b", was="new", now="other"))
    with pytest.raises(Conflict):
        commit(fleet, "a")


def test_after_a_second_violation_the_commit_names_the_last_one(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    fleet.overwrite("b", change("b"))
    (second,) = fleet.overwrite("b", change("b", was="new", now="newer"))
    with pytest.raises(Conflict, match=f"`dibs restore {second['violation']}`"):
        commit(fleet, "a")


def test_many_violations_of_one_path_do_not_make_its_record_grow_without_end(fleet: Fleet) -> None:
    for number in range(30):
        fleet.overwrite("b", change("b", was=f"w{number}", now=f"n{number}", owners=["a"]))
    assert len(fleet.record(f"vu\t{TREE}\tx.py")["ids"]) == 8


def test_a_change_is_told_in_the_transaction_that_keeps_it_or_not_at_all(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    fleet.call("b", "boot")
    fleet.call("boss", "kill", agent="b", why="runs wild")
    before = fleet.store.head().seq
    with pytest.raises(Killed, match="runs wild"):
        fleet.internal("b", AUDIT, found=[change("b", id="5")])
    assert fleet.record("v\tv5") is None
    assert [event["kind"] for event in fleet.events() if event["seq"] > before] == ["call.refused"]
    assert len(fleet.overwrite("a", change("b", id="5"))) == 1


# --- unfinished work in a commit


def take_in(fleet: Fleet, agent: str, *owners: str, read: bool = False) -> None:
    """Before a commit of a file with unfinished work of these agents; raises the refusal."""
    path = ["file", "x.py", ""]
    fleet.internal(agent, CHECK, paths=[path], tree=TREE, owned=[[path, list(owners), read]])


def test_a_commit_does_not_take_in_unfinished_work_of_an_agent_that_is_there(fleet: Fleet) -> None:
    fleet.call("a", "boot")
    with pytest.raises(Held) as refusal:
        take_in(fleet, "b", "a")
    (blocker,) = refusal.value.blockers
    assert (blocker["agent"], blocker["resource"], blocker["reason"]) == ("a", "x.py", "its uncommitted work")


def test_a_commit_takes_in_unfinished_work_of_another_that_the_agent_holds_and_has_read(fleet: Fleet) -> None:
    fleet.call("a", "boot")
    with pytest.raises(Held):
        take_in(fleet, "b", "a", read=True)
    fleet.claim("b", "x.py")
    with pytest.raises(Held):
        take_in(fleet, "b", "a")
    take_in(fleet, "b", "a", read=True)


def test_of_several_owners_one_that_is_there_is_enough(fleet: Fleet) -> None:
    for agent in ("a", "c"):
        fleet.call(agent, "boot")
    fleet.call("a", "leave")
    with pytest.raises(Held) as refusal:
        take_in(fleet, "b", "a", "c")
    assert [blocker["agent"] for blocker in refusal.value.blockers] == ["c"]


def test_one_that_owns_it_too_may_commit_it_and_so_may_the_family(fleet: Fleet) -> None:
    for agent in ("a", "c", "b/child"):
        fleet.call(agent, "boot")
    take_in(fleet, "b", "a", "b")
    take_in(fleet, "b", "b/child")
    with pytest.raises(Held):
        take_in(fleet, "b/two", "b/child")


def test_what_an_ended_agent_left_may_be_committed_and_a_person_may_commit_anything(fleet: Fleet) -> None:
    fleet.call("a", "boot")
    take_in(fleet, "me@here", "a")
    fleet.call("a", "leave")
    take_in(fleet, "b", "a")
    fleet.call("c", "boot", client=10)
    fleet.kill9(10)
    take_in(fleet, "b", "c")
    assert not fleet.events("commit.refused")
    fleet.call("d", "boot", client=11)
    with pytest.raises(Held):  # one that is at work keeps its own
        take_in(fleet, "b", "d")


@pytest.mark.parametrize(
    ("grade", "actor", "said"),
    [
        (SURE, "b", "b did it"),
        (LIKELY, "b", "probably b did it"),
        (NOBODY, "", "who did it is not known: b or c"),
        (OUTSIDE, "", "no agent did it: a person"),
    ],
)
def test_a_refused_commit_says_who_changed_the_file_as_far_as_is_known(
    fleet: Fleet, grade: str, actor: str, said: str
) -> None:
    fleet.edit("a", "x.py")
    fleet.overwrite("b", change(actor, grade=grade, suspects=["b", "c"], heard=["a"]))
    with pytest.raises(Conflict, match=f"x.py was changed; {said}"):
        commit(fleet, "a")
