"""`explain`: the story of a thing, compared with stories that were written by hand; and what a word is taken for."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dibs.audit import explain, sentences
from dibs.audit.checks.history import History
from dibs.audit.fold import Fold
from dibs.client import catalogue
from dibs.errors import DibsError, NotFound
from dibs.operations.core.call import Call
from dibs.operations.core.event_kinds import KINDS
from dibs.operations.core.policy import Policy
from dibs.operations.guards import commit_guard, restores, undo
from dibs.operations.guards.edit_guard import OLDER
from tests.operations.fleet import TREE, Fleet, change, item, known, resource
from tests.scratch import Shell

MINUTE = 60_000


class Door:
    """As much of a session as a story needs, on a fleet's store."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet, self.store, self.cwd = fleet, fleet.store, "/repo"
        self.place = SimpleNamespace(top="/repo", common="")
        self.paths = SimpleNamespace(resource=lambda word, _: (*resource(word), ""))

    def run(self, operation: Any, _: Any, fields: dict[str, Any]) -> Any:
        return self.fleet.internal("viewer", operation, **fields)

    def operation(self, name: str) -> Any:
        return catalogue.operation(name)


def answer(fleet: Fleet, what: str, **fields: Any) -> dict[str, Any]:
    door: Any = Door(fleet)
    query = explain.EXPLAIN
    found: dict[str, Any] = query.body(door, Call(Policy()), query.checked({"what": what, **fields}))
    return found


def story(fleet: Fleet, what: str, *, alerts: bool = False, **fields: Any) -> list[str]:
    """The sentences; those about alerts only where the story is about them."""
    steps = answer(fleet, what, **fields)["steps"]
    return [step["sentence"] for step in steps if alerts or not step["kind"].startswith("alert.")]


def refused(call: Any, *words: Any, **fields: Any) -> None:
    with pytest.raises(DibsError):
        call(*words, **fields)


# --- ten histories and their stories


def test_a_file_that_was_held_refused_and_released() -> None:
    fleet = Fleet()
    fleet.claim("ada", "src/api.py", reason="new route")
    fleet.now += 2 * MINUTE
    refused(fleet.claim, "ben", "src/api.py")
    fleet.now += MINUTE
    fleet.release("ada", "src/api.py")
    fleet.claim("ben", "src/api.py")
    assert story(fleet, "src/api.py") == [
        "ada claimed src/api.py (token 1): “new route”.",
        "ben was refused src/api.py: ada held it: “new route”.",
        "ada released src/api.py after 3m.",
        "ben claimed src/api.py (token 4).",
    ]
    assert answer(fleet, "src/api.py")["now"][0].startswith("ben holds src/api.py (write, held ")


def test_a_release_of_what_the_agent_did_not_hold() -> None:
    fleet = Fleet()
    refused(fleet.release, "ben", "src/api.py")
    assert story(fleet, "src/api.py") == ["ben could not give back or renew src/api.py: it did not hold it."]


def test_a_claim_on_the_folder_or_a_glob_belongs_to_the_file_s_story() -> None:
    fleet = Fleet()
    fleet.claim("ada", "src/")
    refused(fleet.claim, "ben", "src/*.py")
    fleet.claim("cy", "docs/")
    fleet.release("ada", "src/")
    fleet.claim("ben", "src/*.py", "docs.txt")
    assert story(fleet, "src/api.py") == [
        "ada claimed src (token 1).",
        "ben was refused src/*.py: ada held src.",
        "ada released src after 0s.",
        "ben claimed src/*.py and docs.txt (token 5).",
    ]


def test_a_queue_and_a_hand_over() -> None:
    fleet = Fleet()
    fleet.call("cy", "boot")
    fleet.claim("ada", "deploy:prod")
    fleet.claim("ben", "deploy:prod", wait=10 * MINUTE)
    fleet.now += 12_000
    fleet.release("ada", "deploy:prod")
    fleet.claim("ben", "deploy:prod", wait=10 * MINUTE)
    fleet.release("ben", "deploy:prod", to="cy")
    assert story(fleet, "deploy:prod") == [
        "ada claimed deploy:prod (token 2).",
        "ben started waiting for deploy:prod.",
        "ada released deploy:prod after 12s.",
        "ben got its turn for deploy:prod after 12s.",
        "ben got deploy:prod from the queue (token 4).",
        "ben handed deploy:prod over to cy after 0s.",
        "cy was handed deploy:prod (token 6).",
    ]


def test_expiry_a_dead_process_and_a_claim_taken_away() -> None:
    fleet = Fleet()
    fleet.claim("ada", "a.py", ttl=MINUTE)
    fleet.now += 2 * MINUTE
    fleet.claim("ben", "a.py", client=7)
    fleet.kill9(7)
    fleet.now += MINUTE
    fleet.claim("cy", "a.py")
    fleet.call("me@here", "release", resources=["a.py"], force=True, why="it hangs")
    assert story(fleet, "a.py") == [
        "ada claimed a.py (token 1).",
        "ada's claim on a.py expired: it was not renewed.",
        "ben claimed a.py (token 2).",
        "ben's process exited: its claim on a.py ended after 1m.",
        "cy claimed a.py (token 3).",
        "me@here took a.py away from cy after 0s: “it hangs”.",
    ]


def test_a_violation_says_who_overwrote_what_and_the_command_that_brings_it_back() -> None:
    fleet = Fleet()
    fleet.edit("ada", "x.py")
    (told,) = fleet.overwrite("ben", change("ben", owners=["ada"]))
    found = story(fleet, "x.py")
    assert found == [
        "ada claimed x.py to change it (token 1).",
        (
            "ben changed x.py although ada held it or had unfinished work in it. "
            f"`dibs restore {told['violation']}` brings back what was there."
        ),
    ]
    assert story(fleet, told["violation"]) == found[1:]
    fields: dict[str, Any] = {"kept": told["violation"], "resource": resource("x.py"), "tree": TREE, "now": "mess"}
    back = fleet.internal("ada", restores.RESTORE, **fields)["undo"]
    assert story(fleet, "x.py")[-1] == (
        f"ada restored x.py as it was before change {told['violation']}. `dibs restore {back}` brings back what was "
        "there."
    )
    fleet.now += 31 * 86_400_000
    assert story(fleet, "x.py")[1].endswith("What was there is no longer kept.")


def test_an_edit_that_is_refused_and_a_change_that_nobody_owns_up_to() -> None:
    fleet = Fleet()
    fleet.edit("ada", "x.py")
    refused(fleet.edit, "ben", "x.py")
    refused(fleet.edit, "ada", item("x.py", facts=known(OLDER, "cy")))
    change_id = "00000000cafe"
    fleet.overwrite("ada", change("", owners=["ada"], grade="unknown", suspects=["ben", "cy"], id=change_id))
    fleet.call("ada", "ack", message=f"v{change_id}")
    assert story(fleet, "x.py") == [
        "ada claimed x.py to change it (token 1).",
        "ben was refused x.py: ada held it.",
        "ada was refused an edit of x.py: it had not seen what is in the file now, or the file is not settled.",
        (
            "x.py, which ada held or had unfinished work in, was changed; who did it is not known: ben or cy. "
            f"`dibs restore v{change_id}` brings back what was there."
        ),
        f"ada accepted what is in x.py now (change v{change_id}).",
    ]


def test_commits_checked_refused_and_past_the_guard() -> None:
    fleet = Fleet()
    fleet.edit("ada", "x.py")
    refused(fleet.internal, "ben", commit_guard.CHECK, paths=[resource("x.py")], tree=TREE)
    past: dict[str, Any] = {"commit": "b" * 40, "tree": TREE, "items": [[resource("x.py"), False]], "how": "past"}
    fleet.internal("ben", commit_guard.COMMITTED, **past)
    fleet.internal("ada", commit_guard.CHECK, paths=[resource("x.py")], tree=TREE)
    done: dict[str, Any] = {"commit": "a" * 40, "tree": TREE, "items": [[resource("x.py"), True]]}
    fleet.internal("ada", commit_guard.COMMITTED, **done)
    assert story(fleet, "x.py") == [
        "ada claimed x.py to change it (token 1).",
        "ben was refused a commit of x.py: another agent holds it.",
        "ben committed bbbbbbbb past the guard (`--no-verify`), with x.py, which ada held.",
        "ada committed x.py (aaaaaaaa), which ended its claim after 0s.",
    ]


def test_a_task_from_its_beginning_to_its_end() -> None:
    fleet = Fleet()
    fleet.call("boss", "task add", title="fix the parser", id="T1")
    fleet.call("ada", "task claim", id="T1", client=7)
    refused(fleet.call, "ben", "task claim", id="T1")
    fleet.call("ada", "task note", id="T1", text="half way", client=7)
    fleet.kill9(7)
    fleet.now += 5 * MINUTE
    fleet.call("viewer", "sweep")
    token = fleet.call("ben", "task claim", id="T1")["token"]
    fleet.now += MINUTE
    fleet.call("ben", "task done", id="T1", token=token)
    assert story(fleet, "T1") == story(fleet, "task:T1") == [
        "boss added task T1: “fix the parser”.",
        "ada began task T1 (token 2).",
        "ben was refused task:T1: ada held it: “fix the parser”.",
        "ada noted on task T1: “half way”.",
        "ada's process exited: its claim on task:T1 ended after 5m.",
        "ada lost task T1 after 5m (gone): it is planned again.",
        "ben began task T1 (token 6).",
        "ben completed task T1 after 1m.",
    ]  # fmt: skip


def test_an_agent_that_was_in_the_way_and_was_killed() -> None:
    fleet = Fleet()
    fleet.claim("ada", "a.py")
    refused(fleet.claim, "ben", "a.py")
    fleet.call("ben", "ask", resource="a.py", text="are you done?")
    fleet.call("me@here", "kill", agent="ada", why="runs in circles")
    fleet.call("me@here", "revive", agent="ada")
    assert story(fleet, "ada") == [
        "ada joined.",
        "ada claimed a.py (token 1).",
        "ben was refused a.py: ada held it.",
        "ben asked ada to release a.py: “are you done?”.",
        "me@here killed ada: “runs in circles”.",
        "ada was killed: its claim on a.py ended after 0s.",
        "me@here revived ada.",
    ]


def test_a_deadlock_and_the_story_around_one_event() -> None:
    fleet = Fleet()
    fleet.claim("ada", "a.py")
    fleet.claim("ben", "b.py")
    fleet.claim("ada", "b.py", wait=10 * MINUTE)
    refused(fleet.claim, "ben", "a.py", wait=10 * MINUTE)
    seq = fleet.events("claim.refused")[0]["seq"]
    found = answer(fleet, f"#{seq}")
    assert found["what"] == {"kind": "event", "id": str(seq), "name": str(seq)}
    alert = fleet.events("alert.raised")[0]["subject"]
    assert [(step["sentence"], step.get("asked", False)) for step in found["steps"]] == [
        ("ada claimed a.py (token 1).", False),
        ("ben was refused a.py: it would cause a deadlock (ben → ada → ben).", True),
        (f"dibs raised alert {alert} for ben: deadlock (error), about a.py and b.py.", False),
    ]
    fleet.call("ada", "alerts ack", id=alert, why="seen")
    assert story(fleet, alert, alerts=True) == [
        f"dibs raised alert {alert} for ben: deadlock (error), about a.py and b.py.",
        f"ada acknowledged alert {alert}: “seen”.",
    ]


def test_a_deploy_that_was_refused_interrupted_and_verified_at_last() -> None:
    fleet = Fleet()
    fleet.claim("ada", "deploy:prod")
    began = {"commit": "a" * 40, "token": 1, "command": "make ship"}
    ended = {"commit": "a" * 40, "token": 1, "seconds": 4.2, "exit": 0}

    def told(kind: str, agent: str, data: dict[str, Any]) -> None:
        fleet.store.run(lambda tx: tx.append(f"deploy.{kind}", agent, "prod", data))

    told("started", "ada", began)
    told("finished", "ada", {**ended, "result": "unverified", "exit": 1})
    told("refused", "ben", {"code": "behind"})
    told("started", "ada", {**began, "rollback": True})
    told("finished", "ada", {**ended, "result": "ok"})
    fleet.release("ada", "deploy:prod")
    told("started", "ben", began)
    told("finished", "ben", {**ended, "result": "interrupted", "fenced": True})
    assert story(fleet, "deploy:prod") == [
        "ada claimed deploy:prod (token 1).",
        "ada began to deploy aaaaaaaa to prod.",
        "ada deployed aaaaaaaa to prod, and its verification failed.",
        "ben was refused a deploy to prod: the working tree was behind.",
        "ada began to deploy aaaaaaaa to prod, as a rollback.",
        "ada deployed aaaaaaaa to prod, and its verification passed.",
        "ada released deploy:prod after 0s.",
        "ben began to deploy aaaaaaaa to prod.",
        "ben deployed aaaaaaaa to prod, and was interrupted. Its claim was lost meanwhile.",
    ]


def test_an_undo_says_whose_work_it_took_back_and_how_that_is_undone() -> None:
    fleet = Fleet()
    fleet.edit("ada", "x.py")
    fleet.release("ada", "x.py")
    asked: dict[str, Any] = {"undo": "u1", "of": ["ada"], "what": "agent ada", "tree": TREE}
    taken = fleet.internal("me@here", undo.TAKE, **asked, paths=[resource("x.py")], count=1)
    fields = {**asked, "paths": ["x.py"], "restored": 1, "claim": taken["claim"], "release": True, "commit": "c" * 40}
    fleet.internal("me@here", undo.DONE, **fields)
    assert story(fleet, "x.py") == [
        "ada claimed x.py to change it (token 1).",
        "ada released x.py after 0s.",
        "me@here claimed x.py to change it (token 3).",
        "me@here began to undo what ada changed in x.py.",
        "me@here released x.py after 0s.",
        "me@here undid what ada changed in 1 file, in commit cccccccc. `dibs undo u1` takes that back.",
    ]
    assert story(fleet, "u1") == story(fleet, "x.py")[3:4] + story(fleet, "x.py")[5:]
    assert [message["undo"] for message in fleet.call("ada", "inbox")["messages"]] == ["u1"]


def test_a_claim_s_story_has_what_others_tried_while_it_lived() -> None:
    fleet = Fleet()
    refused(fleet.call, "ben", "release", resources=["a.py"])
    held = fleet.claim("ada", "a.py", "b.py", task="")["claim"]
    refused(fleet.claim, "ben", "b.py")
    fleet.release("ada", "a.py")
    fleet.claim("ben", "a.py")
    refused(fleet.claim, "ben", "b.py")
    fleet.release("ada")
    refused(fleet.claim, "cy", "a.py")
    assert story(fleet, held) == [
        "ada claimed a.py and b.py (token 2).",
        "ben was refused b.py: ada held it.",
        "ada released a.py after 0s. It still holds b.py.",
        "ben was refused b.py: ada held it.",
        "ada released b.py after 0s.",
    ]


# --- the words


def test_every_kind_of_event_has_a_sentence() -> None:
    assert set(KINDS) == set(sentences.SENTENCES)


def test_each_function_that_reads_an_event_s_data_expects_the_type_of_its_kind() -> None:
    for readers in (sentences.SENTENCES, Fold()._readers, History(0)._readers):
        for kind, reader in readers.items():
            data = next(type_ for name, type_ in reader.__annotations__.items() if name in {"d", "data", "_"})
            assert data == "Json" or "".join(map(str.capitalize, kind.split("."))) in data.split(" | "), kind


def test_what_agents_wrote_cannot_leave_its_quotation_marks_or_move_the_cursor() -> None:
    teller = sentences.Teller({"x": "ev\x1b[2Jil\nada"})
    data = {"why": "a\nb\x1b]0;owned\x07" * 50}
    event: Any = {"kind": "agent.killed", "agent": "x", "subject": "y\u202e", "now": 0, "data": data}
    text = teller.tell(event)
    assert text.isprintable()
    assert "\\u001b[2Jil\\u000aada killed y\\u202e: “a b\\u001b]0;owned\\u0007" in text
    assert text.endswith("…”.")


def test_an_event_of_an_unknown_kind_is_told_all_the_same() -> None:
    event: Any = {"kind": "new.kind", "agent": "x", "subject": "y", "now": 0, "data": {}}
    assert sentences.Teller({}).tell(event) == "x: new.kind y."


# --- what a word is taken for, and pages


def test_an_ambiguous_word_says_what_it_was_taken_for_and_how_to_say_the_other() -> None:
    fleet = Fleet()
    fleet.call("boss", "task add", title="t", id="lead")
    fleet.claim("lead", "a.py")
    found = answer(fleet, "lead")
    assert (found["what"]["kind"], found["others"]) == ("task", ["agent:lead"])
    assert answer(fleet, "agent:lead")["steps"][0]["sentence"] == "lead joined."
    assert answer(fleet, "path:lead")["steps"] == []
    fleet.call("boss", "task add", title="t", id="2")
    assert answer(fleet, "2")["others"] == ["task:2"]
    for word in ("nothing", "task:none", "event:99", "agent:nobody", "claim:c1"):
        with pytest.raises(NotFound):
            answer(fleet, word)


def test_pages_of_a_story_are_the_story() -> None:
    fleet = Fleet()
    for _ in range(5):
        fleet.claim("ada", "a.py")
        fleet.now += MINUTE
        fleet.release("ada", "a.py")
    whole = answer(fleet, "a.py")
    assert len(whole["steps"]) == 10
    assert not whole["more"]
    assert not whole["earlier"]
    last = answer(fleet, "a.py", limit=3)
    assert (last["steps"], last["earlier"]) == (whole["steps"][-3:], True)
    found: list[Any] = []
    cursor, more = 0, True
    while more:
        page = answer(fleet, "a.py", after=cursor, limit=3)
        found += page["steps"]
        cursor, more = page["cursor"], page["more"]
    assert found == whole["steps"]
    assert answer(fleet, "a.py", after=cursor)["steps"] == []
    assert answer(fleet, "a.py", since=str(whole["steps"][7]["seq"]))["steps"] == whole["steps"][8:]


def test_the_story_around_an_old_event_has_that_event_and_what_came_right_before_and_after_it() -> None:
    fleet = Fleet()
    fleet.claim("ada", "a.py")
    for _ in range(40):
        refused(fleet.claim, "ben", "a.py")
    whole = answer(fleet, "a.py", limit=1000)["steps"]
    for place in (1, 2, 20, 39, 40):
        seq = whole[place]["seq"]
        found = answer(fleet, f"#{seq}", limit=5)
        assert [step["seq"] for step in found["steps"] if step.get("asked")] == [seq]
        seqs = [step["seq"] for step in found["steps"]]
        first = [step["seq"] for step in whole].index(seqs[0])
        assert seqs == [step["seq"] for step in whole[first : first + len(seqs)]]
        assert (found["earlier"], found["more"]) == (first > 0, first + len(seqs) < len(whole))
        assert len(seqs) == (5 if 2 <= place <= 38 else len(seqs))
        if found["more"]:
            after = answer(fleet, "a.py", after=found["cursor"], limit=1)["steps"]
            assert after == [whole[first + len(seqs)]]


def test_the_command_tells_git_s_renames_and_prints_ages_but_json_has_iso_times(shell: Shell) -> None:
    def git(*words: str, at: str = "2001-01-01T00:00:00Z") -> None:
        who = ("-c", "user.name=eve", "-c", "user.email=e@x", "-c", "core.hooksPath=/dev/null")
        subprocess.run(["git", *who, *words], cwd=shell.folder, check=True, stdout=subprocess.DEVNULL,
                       env={**shell.environment, "GIT_COMMITTER_DATE": at})  # fmt: skip

    Path(shell.folder, "old name.py").write_text("x = 1\n" * 9)
    git("add", "old name.py")
    git("commit", "-qm", "first\x1b[2J")
    shell.run("claim", "old name.py", "--as", "ada")
    shell.run("release", "old name.py", "--as", "ada")
    git("mv", "old name.py", "new.py")
    git("commit", "-qm", "rename", at="2091-01-01T00:00:00Z")
    found = shell.json("explain", "new.py", exit=0)
    said = [step["sentence"] for step in found["steps"]]
    assert "ada claimed old name.py" in said[1]
    assert said[-1].startswith("eve renamed old name.py to new.py (")
    assert found["steps"][1]["at"].endswith("Z")
    text = shell.run("explain", "new.py").stdout
    assert " ago  ada claimed old name.py" in text
    assert "\x1b" not in text
    assert shell.run("explain", "nowhere.py").returncode == 1


def test_a_file_that_was_renamed_or_deleted_has_the_story_of_all_its_names(shell: Shell) -> None:
    def git(*words: str) -> None:
        named = {"DIBS_AGENT": "ann", "GIT_AUTHOR_NAME": "ann", "GIT_AUTHOR_EMAIL": "a@x"}
        named |= {"GIT_COMMITTER_NAME": "ann", "GIT_COMMITTER_EMAIL": "a@x"}
        subprocess.run(["git", *words], cwd=shell.folder, env={**shell.environment, **named}, check=True)

    def told(what: str) -> list[str]:
        return [step["sentence"] for step in shell.json("explain", what, exit=0)["steps"]]

    (shell.folder / "old.py").write_text("1\n2\n3\n")
    git("add", "old.py")
    git("commit", "-q", "-m", "first")
    shell.json("claim", "old.py", "--as", "ann", exit=0)
    (shell.folder / "old.py").write_text("1\n2\n3\n4\n")
    git("commit", "-q", "-a", "-m", "more")
    git("mv", "old.py", "new.py")
    git("commit", "-q", "-m", "another name")
    shell.json("release", "--all", "--as", "ann", exit=0)
    old, new = told("old.py"), told("new.py")
    (renamed,) = [number for number, text in enumerate(new) if text.startswith("ann renamed old.py to new.py (")]
    assert "committed old.py" in new[renamed - 1]
    assert sum("committed it" in text for text in new) == 1, "what the log has is not told twice"
    assert [text for text in old if "`dibs explain new.py` continues" in text]
    git("rm", "-q", "new.py")
    git("commit", "-q", "-m", "no longer needed")
    after = told("new.py")
    (deleted,) = [number for number, text in enumerate(after) if text.startswith("ann deleted it (")]
    assert deleted > renamed
    assert after.pop(deleted).endswith("^:new.py'` has it.")
    assert after == new


def test_a_run_is_found_by_its_name_and_a_channel_as_the_map_writes_it(shell: Shell) -> None:
    shell.json("run", "start", "spring", "--as", "boss", exit=0)
    last = shell.json("run", "start", "spring", "--as", "boss", exit=0)["run"]
    assert shell.json("explain", "spring", exit=0)["what"]["id"] == last["id"]
    shell.json("emit", "stock.changed", "{}", "--as", "ann", exit=0)
    shell.json("subscribe", "stock.*", "--as", "bob", exit=0)
    found = [step["sentence"] for step in shell.json("explain", "event:stock.changed", exit=0)["steps"]]
    assert found == ["ann emitted stock.changed.", "bob subscribed to stock.*."]
    assert "no agent emitted" in shell.json("explain", "event:nothing.such", exit=1)["error"]["message"]
    assert shell.json("explain", " ", exit=64)["error"]["code"] == "invalid"


def test_a_branch_that_is_queued_without_a_commit_leaves_no_empty_brackets() -> None:
    event: Any = {"seq": 1, "at": 0, "kind": "landing.queued", "agent": "ada", "subject": "l1"}
    told = sentences.Teller({}).tell(event | {"data": {"branch": "amounts", "target": "main"}})
    assert told == "ada queued amounts to land on main."
    commit = "7292e6016f4d" + "0" * 28
    told = sentences.Teller({}).tell(event | {"data": {"branch": "amounts", "target": "main", "commit": commit}})
    assert told == "ada queued amounts to land on main (7292e601)."


def test_empty_brackets_in_what_agents_wrote_stay() -> None:
    event: Any = {"seq": 1, "at": 0, "kind": "claim.asked", "agent": "ada", "subject": "bob"}
    told = sentences.Teller({}).tell(event | {"data": {"resource": "a.py", "text": "call f () first"}})
    assert told == "ada asked bob to release a.py: “call f () first”."


def test_a_refused_deploy_is_not_told_as_a_refused_edit() -> None:
    event: Any = {"seq": 1, "at": 0, "kind": "deploy.refused", "agent": "ada", "subject": "prod"}
    told = [sentences.Teller({}).tell(event | {"data": {"code": code}}) for code in ("forbidden", "conflict", "behind")]
    assert told == [
        "ada was refused a deploy to prod: a placeholder text would have shipped, or its role does not deploy.",
        "ada was refused a deploy to prod: files were changed and not committed.",
        "ada was refused a deploy to prod: the working tree was behind.",
    ]
