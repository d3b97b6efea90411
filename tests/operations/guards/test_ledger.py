"""The ledger's lines: what each means, in whatever order hooks append them, and after the ledger was cut down."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import dibs
from dibs.ledger import compaction, ledger_files
from dibs.ledger import state as ledger
from dibs.ledger.compaction import HISTORY_NS
from dibs.ledger.state import (
    MAX_AUTHORS,
    MAX_OBSOLETE_LINES,
    MAX_PATHS_WATCHED,
    SECOND_NS,
    WATCH_NS,
    State,
    moment,
    owners_after,
    passes_to,
)
from tests.operations.ledger_book import Book, ns, signed, stamp


@pytest.fixture
def book() -> Book:
    return Book()


def summary(state: State) -> object:
    """What a ledger says, as far as decisions rest on it."""
    return (
        {
            path: (head.content, head.signature, head.owners, head.authors, head.named,
                   (head.change.actor, head.change.grade, head.change.looked, head.change.id) if head.change else None)
            for path, head in state.heads.items()
        },
        {
            call.id: (call.agent, call.is_open, call.left, call.claims, call.opened, call.closed, call.ended,
                      call.named)
            for call in state.calls.values()
        },
        state.began, state.ended, state.full, state.cost, state.moves, state.formats,
        {
            change.id: (change.path, change.before, change.after, change.actor, change.grade, change.suspects,
                        change.flags, change.was_owned)
            for change in state.untold.values()
        },
    )  # fmt: skip


# --- who makes lines


def letters(source: str) -> list[str]:
    """The letters with which a source makes lines of a ledger by itself."""
    tuples = [node.elts for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Tuple) and node.elts]
    firsts = [(getattr(parts[0], "value", ""), len(parts)) for parts in tuples]
    return [first for first, size in firsts if isinstance(first, str) and ledger.FIELDS.get(first) == size]


def test_no_other_file_makes_a_line_by_its_letter() -> None:
    assert letters("tree.add(('K', content, path), ('K', path), (1, 2, 3))") == ["K"]
    own = {Path(ledger.__file__), Path(ledger_files.__file__)}
    texts = {path: path.read_text() for path in Path(dibs.__file__).parent.rglob("*.py") if path not in own}
    assert {path.name: found for path, text in texts.items() if "ledger" in text and (found := letters(text))} == {}


# --- which lines count


def test_a_line_with_a_wrong_number_of_fields_is_void(book: Book) -> None:
    book.see("c1", 1)
    before = summary(book.state)
    for line in list(book.lines):
        for size in range(len(line)):
            book.write(line[:size] or [""])
        book.write([*line, "more"])
    book.write(["T", "id", stamp(2), "c1", "c2"], ["?"], ["", ""], ["\0"])
    book.write(["T", "id", stamp(2), "c1", "c2", "s", "a", "sure", "", "", "x", "more"])
    assert summary(book.state) == before


@pytest.mark.parametrize(
    "line",
    [
        ("O", stamp(1), "call", "a", "open", "", "x", ""),
        ("L", stamp(1), "many"),
        ("G", "many"),
        ("H", stamp(1), "c", "s", "", "", "too few", "0", "y"),
        ("H", stamp(1), "c", "s", "", "", "", "long ago", "y"),
        ("T", "id", stamp(2), "c1", "c2", "s", "a", "open", "", "", "x"),
        ("T", "id", stamp(2), "-", "c2", "s", "a", "sure", "", "", ""),
    ],
)
def test_a_line_whose_fields_make_no_sense_is_void_and_the_next_one_counts(book: Book, line: tuple[str, ...]) -> None:
    book.see("c1", 1)
    before = summary(book.state)
    assert book.write(line) == []
    assert summary(book.state) == before
    assert len(book.change("a", "c2", 3)) == 1


def test_a_change_counts_only_if_it_begins_where_the_lines_before_it_ended(book: Book) -> None:
    book.see("c1", 1)
    assert book.change("a", "c3", 2, before="c2") == []
    assert book.head().content == "c1"
    assert len(book.change("a", "c2", 3)) == 1
    assert book.head().content == "c2"


def test_two_hooks_that_find_the_same_change_leave_one(book: Book) -> None:
    book.see("c1", 1)
    first = book.change("b", "c2", 3, before="c1", id="one")
    second = book.change("b", "c2", 4, before="c1", id="two")
    assert ([change.id for change in first], second) == (["one"], [])
    assert list(book.state.untold) == ["one"]


def test_a_look_that_is_older_than_the_heads_and_is_told_late_is_void(book: Book) -> None:
    book.see("c1", 10)
    book.change("b", "c2", 13)
    assert book.change("b", "c1", 11, before="c2") == []
    assert book.change("b", "c1", 13, before="c2") == []
    book.see("c2", 11, written=5)
    assert (book.head().content, book.head().looked) == ("c2", ns(13))
    assert len(book.change("b", "c1", 14)) == 1


def test_of_two_looks_at_once_the_one_that_came_before_the_last_write_is_void(book: Book) -> None:
    """A look takes its time: what it saw may be newer than what another one saw that began after it."""
    book.see("c1", 1)
    book.write(("T", "slow", stamp(10), "c1", "c3", signed("c3", 15), "b", "sure", "b", "", "x"))
    assert book.change("b", "c2", 12, before="c3") == []
    assert book.head().content == "c3"
    assert len(book.change("b", "c2", 16)) == 1


def test_a_look_that_found_what_is_known_moves_the_time_and_the_signature_and_no_other_does(book: Book) -> None:
    book.see("c1", 1)
    book.see("c1", 5, written=4)
    assert (book.head().looked, book.head().signature) == (ns(5), signed("c1", 4))
    book.see("c2", 6)
    assert (book.head().content, book.head().looked) == ("c1", ns(5))


def test_a_path_that_is_seen_first_has_no_owner(book: Book) -> None:
    book.see("c1", 1)
    assert (book.owners(), book.head().author, book.state.untold) == ([], "git", {})


def test_a_change_is_owed_until_it_was_told_and_a_line_about_that_may_come_first(book: Book) -> None:
    book.change("a", "c1", 1)
    book.change("b", "c2", 2, id="late")
    assert list(book.state.untold)[-1] == "late"
    book.write(("D", "late"))
    assert "late" not in book.state.untold
    book.write(("D", "early"))
    book.change("a", "c3", 3, id="early")
    assert "early" not in book.state.untold


@pytest.mark.parametrize(
    ("owners", "actor", "grade", "named", "told"),
    [
        ([], "a", "sure", True, False),
        ([], "a", "likely", True, False),
        ([], "a", "sure", False, True),  # nobody's work, but perhaps somebody's claim
        ([], "outside", "outside", False, True),
        (["a"], "a", "sure", False, False),
        (["a"], "a", "likely", True, False),
        (["a"], "a", "likely", False, True),
        (["a"], "a/child", "sure", False, False),
        (["a"], "b", "sure", True, True),
        (["a"], "b", "sure", False, True),
        (["a"], "unknown", "unknown", False, True),
        (["a/one"], "a/two", "sure", False, True),
        (["a", "b"], "a", "sure", True, True),  # it may have been the work of the other one
        (["a", "b"], "a", "sure", False, True),
        (["a", "a/child"], "a", "sure", False, False),
    ],
)
def test_what_is_plainly_its_owners_own_work_is_told_to_nobody(
    book: Book, owners: list[str], actor: str, grade: str, named: bool, told: bool
) -> None:
    book.see("c1", 1)
    book.head().owners = owners
    book.change(actor, "c2", 2, grade=grade, flags="nw" if named else "")
    assert bool(book.state.untold) is told


# --- whose unfinished work it is


@pytest.mark.parametrize(
    ("owners", "actor", "grade", "flags", "suspects", "after"),
    [
        ([], "a", "sure", "", ["a"], ["a"]),
        ([], "a", "likely", "", ["a", "b"], ["a"]),
        ([], "unknown", "unknown", "", ["a", "b"], ["a", "b"]),
        ([], "outside", "outside", "", [], []),
        ([], "a", "sure", "g", ["a"], []),
        (["a"], "a", "sure", "", ["a"], ["a"]),
        (["a"], "a", "sure", "g", ["a"], []),
        (["a"], "a/child", "sure", "", ["a/child"], ["a"]),
        (["a"], "b", "sure", "", ["b"], ["a"]),
        (["a"], "b", "likely", "", ["a", "b"], ["a"]),
        (["a"], "b", "sure", "nw", ["b"], ["b"]),
        (["a"], "b", "sure", "g", ["b"], ["a"]),
        (["a"], "b", "sure", "nwg", ["b"], ["b"]),
        (["a"], "unknown", "unknown", "", ["a", "b"], ["a"]),
        (["a"], "outside", "outside", "", [], ["a"]),
        (["a", "b"], "a", "sure", "nw", ["a"], ["a"]),
        (["a", "b"], "a", "sure", "", ["a"], ["a"]),
        (["a", "b"], "a", "likely", "", ["a"], ["a", "b"]),
        (["a", "b"], "c", "sure", "nw", ["c"], ["c"]),
    ],
)
def test_owners_after_each_kind_of_change(
    book: Book, owners: list[str], actor: str, grade: str, flags: str, suspects: list[str], after: list[str]
) -> None:
    (change,) = book.change(actor, "c", 1, grade=grade, flags=flags, suspects=suspects or [""])
    change.suspects = suspects
    assert owners_after(owners, change) == after


def test_a_change_remembers_whose_work_was_there_before(book: Book) -> None:
    book.change("a", "c1", 1)
    (change,) = book.change("b", "c2", 2)
    assert (change.was_owned, book.owners()) == (["a"], ["a"])


def test_a_commit_of_what_is_there_ends_ownership_and_one_of_something_else_does_not(book: Book) -> None:
    book.change("a", "c1", 1)
    book.write(("K", "c0", "x"))
    assert book.owners() == ["a"]
    book.write(("K", "c1", "x"))
    assert (book.owners(), book.head().author) == ([], "a")


def test_the_author_of_a_content_is_who_made_it_first_whoever_brings_it_back(book: Book) -> None:
    book.change("a", "c1", 1)
    book.change("b", "c2", 2)
    book.change("c", "c1", 3)
    assert book.head().author == "a"
    change = book.head().change
    assert change is not None
    assert change.actor == "c"


def test_what_git_has_is_gits(book: Book) -> None:
    book.change("a", "c1", 1, flags="g")
    assert book.head().author == "git"


def test_only_some_authors_of_a_path_are_remembered_the_latest_ones(book: Book) -> None:
    for number in range(MAX_AUTHORS + 3):
        book.change("a", f"c{number}", number + 1)
    assert list(book.head().authors) == [f"c{number}" for number in range(3, MAX_AUTHORS + 3)]


def test_work_passes_by_a_line(book: Book) -> None:
    book.change("a", "c1", 1)
    book.write(("P", "b", "x"))
    assert book.owners() == ["b"]
    book.write(("P", "", "x"))
    assert book.owners() == []


@pytest.mark.parametrize(
    ("owners", "there", "passes"),
    [
        (["a"], ["a"], False),
        (["a"], [], True),
        (["b"], [], False),
        ([], [], False),
        (["a", "c"], ["a", "c"], True),
    ],
)
def test_work_passes_to_whoever_claims_what_an_ended_agent_or_one_of_several_left(
    owners: list[str], there: list[str], passes: bool
) -> None:
    assert passes_to(owners, "b", there) is passes


def test_others_unfinished_work_leaves_out_ones_own_and_the_familys(book: Book) -> None:
    book.change("a", "c", 1, "mine")
    book.change("a/child", "c", 1, "childs")
    book.change("b", "c", 1, "bobs")
    assert list(book.state.owned("a")) == ["bobs"]
    assert list(book.state.owned("a/two")) == ["childs", "bobs"]
    assert list(book.state.owned()) == ["mine", "childs", "bobs"]


# --- calls


def test_a_name_that_was_spent_is_marked_and_only_the_actors(book: Book) -> None:
    mine, other = book.edit("a", 1, expected="c1"), book.edit("b", 1, expected="c2")
    book.change("a", "c1", 2, flags="nw")
    assert book.state.calls[mine].named["x"][0] == "W"
    assert book.state.calls[other].named["x"][0] == "w"


def test_the_latest_of_an_agents_calls_is_spent(book: Book) -> None:
    first, second = book.edit("a", 1, expected="c0"), book.edit("a", 2, expected="c1")
    book.change("a", "c1", 3, flags="nw")
    assert [book.state.calls[call].named["x"][0] for call in (first, second)] == ["w", "W"]


def test_the_end_of_a_call_counts_once_and_of_an_unknown_one_not_at_all(book: Book) -> None:
    call = book.begin("a", 1)
    book.end(call, 3)
    book.end(call, 9, left=True)
    book.end("never", 4)
    assert (book.state.calls[call].closed, book.state.calls[call].left) == (ns(3), False)
    assert list(book.state.calls) == [call]


def test_a_hook_that_a_client_runs_twice_does_not_forget_the_names_of_its_call(book: Book) -> None:
    book.begin("a", 1, "call")
    book.name("call", "x")
    book.begin("a", 2, "call")
    assert "x" in book.state.calls["call"].named
    book.end("call", 3)
    book.begin("a", 4, "call")
    assert book.state.calls["call"].named == {}


def test_a_prompt_ends_the_agents_own_open_calls_and_leaves_those_of_others_and_of_its_children(book: Book) -> None:
    calls = [book.begin(agent, 1) for agent in ("a", "a/child", "b")]
    done = book.begin("a", 1)
    book.end(done, 2)
    book.step("a", 5)
    assert [book.state.calls[call].ended for call in (*calls, done)] == [ns(5), 0, 0, ns(5)]
    assert book.state.calls[done].closed == ns(2)
    book.step("a", 9)
    assert book.state.calls[calls[0]].ended == ns(5)


def test_a_session_is_over_until_it_begins_again_or_a_call_of_its_begins(book: Book) -> None:
    book.leave("a", 1)
    assert book.state.ended == {"a": ns(1)}
    book.write(("B", stamp(2), "a"))
    assert book.state.ended == {}
    book.leave("a", 3)
    book.begin("a", 4)
    assert (book.state.ended, book.state.began) == ({}, {"a": ns(2)})


def test_an_agent_is_first_heard_of_with_its_first_line_whatever_comes_later(book: Book) -> None:
    book.begin("a", 3)
    book.write(("B", stamp(9), "a"))
    assert book.state.began == {"a": ns(3)}


def test_an_agent_whose_file_changed_by_itself_after_its_edit_with_nobody_else_there_is_known_to_format(
    book: Book,
) -> None:
    book.change("a", "c1", 1, flags="nw")
    book.change("a", "c2", 2, grade="likely", suspects=["a", "b"])
    assert book.state.formats == set()
    book.change("a", "c3", 3, grade="likely")
    assert book.state.formats == {"a"}


def test_what_changes_long_after_an_edit_is_no_formatter_s() -> None:
    """Another's program ran each time: twice within seconds of the owner's edits is its formatter."""
    for pause, formats in ((30, set()), (2, {"a"})):
        book = Book()
        for turn in range(2):
            at = 100 * turn + 1
            book.change("a", f"c{turn}", at, flags="nw")
            assert book.state.formats == set()
            book.change("b", f"d{turn}", at + pause, grade="likely", suspects=["b"])
        assert book.state.formats == formats


# --- what is looked at


def test_unfinished_work_and_what_was_named_of_late_is_watched(book: Book) -> None:
    book.see("c", 1, "read")
    book.see("c", 1, "named")
    book.edit("b", 2, "named")
    book.change("a", "c", 3, "owned")
    book.see("c", 1, "claimed")
    book.write(("W", stamp(4), "claimed"))
    assert set(book.state.watched(ns(5))) == {"named", "owned", "claimed"}
    assert book.state.watched(ns(5) + WATCH_NS) == ["owned"]
    book.write(("K", "c", "owned"))
    assert book.state.watched(ns(5) + WATCH_NS) == []


def test_of_very_many_watched_paths_the_latest_are_looked_at_and_the_rest_in_turn(book: Book) -> None:
    many = MAX_PATHS_WATCHED * 2
    for number in range(many):
        book.change("a", "c", number + 1, f"f{number}")
    first = book.state.watched(ns(many))
    assert len(first) == MAX_PATHS_WATCHED
    assert set(first[: MAX_PATHS_WATCHED // 2]) == {
        f"f{number}" for number in range(many - MAX_PATHS_WATCHED // 2, many)
    }
    seen = set(first)
    for turn in range(1, 8):
        for path in book.state.watched(ns(many)):
            seen.add(path)
            book.see("c", many + turn, path)
    assert len(seen) == many


def test_a_look_at_all_that_is_watched_counts_for_each_of_them(book: Book) -> None:
    book.change("a", "c1", 1)
    book.see("c1", 1, "read")
    book.survey(9)
    assert book.state.last_look(book.head(), ns(10)) == ns(9)
    assert book.state.last_look(book.head("read"), ns(10)) == ns(1)


def test_such_a_look_does_not_count_for_what_its_hook_had_not_read_of(book: Book) -> None:
    book.change("a", "c1", 1)
    book.change("a", "c1", 1, "y")
    read = str(book.state.moves)
    book.change("a", "c2", 2)
    book.change("a", "c1", 2, "new")
    book.write(("L", stamp(5), read))
    assert book.state.last_look(book.head(), ns(6)) == ns(2)
    assert book.state.last_look(book.head("new"), ns(6)) == ns(2)
    assert book.state.last_look(book.head("y"), ns(6)) == ns(5)


def test_a_change_that_was_seen_before_such_a_look_and_is_told_after_it_is_void(book: Book) -> None:
    book.change("a", "c1", 1)
    book.survey(9)
    assert book.change("b", "c2", 8) == []
    assert len(book.change("b", "c2", 10)) == 1


def test_what_is_thrown_away_may_be_the_work_of_any_that_may_have_made_it(book: Book) -> None:
    book.change("unknown", "c1", 1, grade="unknown", suspects=["a", "b"])
    book.write(("P", "a", "x"))
    (dropped,) = book.change("a", "c0", 2, flags="g")
    assert dropped.was_owned == ["a", "b"]


def test_a_look_at_the_whole_tree_is_owed_by_an_open_call_that_took_long_enough(book: Book) -> None:
    book.write(("F", stamp(1), str(SECOND_NS)))
    long, short = book.begin("a", 10), book.begin("a", 25)
    closed = book.begin("a", 10, is_open=False)
    calls = [book.state.calls[call] for call in (long, short, closed)]
    assert [book.state.owes(call, ns(40), accompanied=False) for call in calls] == [True, False, False]


def test_such_a_look_is_owed_by_every_open_call_while_a_program_of_another_agent_runs(book: Book) -> None:
    """Later it could not be told which of the two wrote what, or it is overwritten by then."""
    book.write(("F", stamp(1), str(SECOND_NS)))
    calls = [book.state.calls[one] for one in (book.begin("a", 39), book.begin("a", 25, is_open=False))]
    assert [book.state.owes(call, ns(40), accompanied=True) for call in calls] == [True, False]


def test_a_program_runs_until_its_call_ends_and_may_run_on_for_a_moment_or_for_hours_if_it_was_left(book: Book) -> None:
    calls = {agent: book.begin(agent, 1) for agent in ("a", "a/child", "ends", "stops", "leaves", "runs", "gone")}
    book.begin("edits", 1, is_open=False)
    book.write(("C", stamp(2), calls["ends"], ""), ("C", stamp(2), calls["leaves"], "1"), ("E", stamp(2), "stops"))
    book.leave("gone", 2)
    assert book.state.alongside("a", ns(3)) == ["ends", "leaves", "runs"]
    assert book.state.alongside("a", ns(60)) == ["leaves", "runs"]


@pytest.mark.parametrize(
    ("looked", "now", "behind"), [(2, 9, True), (4, 9, False), (20, 9, True)], ids=["before", "after", "clock set back"]
)
def test_a_look_is_due_before_a_command_if_another_agents_program_ended_since_the_last_one(
    looked: int, now: int, behind: bool, book: Book
) -> None:
    book.write(("F", stamp(looked), "1"), ("C", stamp(3), book.begin("a", 1), ""))
    book.begin("c", 1)
    assert [book.state.is_behind(one, ns(now)) for one in ("a", "a/child", "b")] == [False, False, behind]


def test_such_a_look_is_due_also_if_nobody_told_of_the_programs_end_and_not_for_what_names_all_its_paths(
    book: Book,
) -> None:
    book.write(("F", stamp(8), "1"), ("C", stamp(9), book.begin("a", 8, is_open=False), ""))
    book.begin("a", 1)
    assert not book.state.is_behind("b", ns(30))
    book.write(("E", stamp(31), "a"))
    assert book.state.is_behind("b", ns(32))


def test_the_others_are_the_agents_outside_the_family_whose_sessions_have_not_ended(book: Book) -> None:
    for agent in ("a", "a/child", "b", "c", "d"):
        book.begin(agent, 1)
    book.leave("c", 2)
    book.write(("Z", stamp(2), "d"))
    assert book.state.others("a") == ["b"]
    assert book.state.at_work() == ["a", "a/child", "b"]


def test_the_calls_of_an_agent_whose_process_is_gone_ended_with_it(book: Book) -> None:
    call, done = book.begin("a", 1), book.begin("a", 1)
    book.end(done, 2)
    book.write(("Z", stamp(5), "a"))
    calls = book.state.calls
    assert [(calls[one].closed, calls[one].ended) for one in (call, done)] == [(ns(5), ns(5)), (ns(2), ns(5))]
    assert book.state.ended == {"a": ns(5)}
    again = State(compaction.compacted(book.state, ns(6)))
    assert [(again.calls[one].closed, again.calls[one].ended) for one in (call, done)] == [
        (ns(5), ns(5)),
        (ns(2), ns(5)),
    ]


# --- cutting it down


def a_busy_day(book: Book) -> None:
    """A ledger with a line of every kind."""
    book.write(("B", stamp(1), "a"), ("B", stamp(1), "b"), ("F", stamp(2), "1000"))
    call = book.edit("a", 3, "x", expected="c1")
    book.find("c1", 4, 5)
    book.end(call, 5)
    book.begin("b", 6, "long", left=True, diary=40)
    book.find("c2", 7, 8)
    book.write(("D", "told"))
    book.see("r", 8, "read")
    book.change("unknown", "j", 9, "joint", grade="unknown", suspects=["a", "b"])
    book.edit("a", 8, "committed")
    book.change("a", "k", 9, "committed", flags="nw")
    book.write(("K", "k", "committed"), ("W", stamp(9), "read"), ("P", "b", "joint"))
    book.begin("c", 10)
    book.step("c", 11)
    book.leave("b", 12)
    book.survey(13)
    book.change("c", "gone", 13, "gone")
    book.change("c", "-", 14, "gone")


def test_a_ledger_that_was_cut_down_says_the_same(book: Book) -> None:
    a_busy_day(book)
    again = State(compaction.compacted(book.state, ns(20)))
    assert summary(again) == summary(book.state)
    assert summary(State(compaction.compacted(again, ns(20)))) == summary(book.state)
    for path, head in book.state.heads.items():
        assert again.heads[path].looked == book.state.last_look(head, ns(20))


def test_a_change_that_is_still_to_be_told_survives_with_whose_work_it_took_away(book: Book) -> None:
    a_busy_day(book)
    owed = {change.id: change.was_owned for change in book.state.untold.values()}
    assert owed
    again = State(compaction.compacted(book.state, ns(20)))
    assert {change.id: change.was_owned for change in again.untold.values()} == owed
    again.add([("D", next(iter(owed)))])
    assert len(again.untold) == len(owed) - 1


def test_what_happened_long_ago_and_concerns_nobody_is_left_out_and_unfinished_work_is_not(book: Book) -> None:
    a_busy_day(book)
    later = ns(20) + HISTORY_NS + WATCH_NS  # a program that a call left running counts for a working day
    again = State(compaction.compacted(book.state, later))
    assert set(again.heads) == {path for path, head in book.state.heads.items() if head.owners}
    assert again.calls == {}
    assert set(again.untold) == set(book.state.untold)
    assert "b" not in again.began
    assert "a" in again.began


def test_a_look_by_a_hook_that_read_before_the_cut_does_not_count_for_what_moved_since(book: Book) -> None:
    book.change("a", "c1", 1)
    read = str(book.state.moves)
    book.change("a", "c2", 2)
    again = State(compaction.compacted(book.state, ns(3)))
    again.add([("L", stamp(5), read)])
    assert again.last_look(again.heads["x"], ns(6)) == ns(2)
    again.add([("L", stamp(7), str(again.moves))])
    assert again.last_look(again.heads["x"], ns(8)) == ns(7)


def test_a_call_that_runs_across_the_cut_is_closed_and_spent_as_before(book: Book) -> None:
    call = book.edit("a", 1, expected="c1")
    again = State(compaction.compacted(book.state, ns(2)))
    again.add([("C", stamp(3), call, "")])
    assert again.calls[call].closed == ns(3)
    assert again.calls[call].named == {"x": ["w", "c1"]}


def test_a_ledger_without_the_lines_that_say_nothing_more_says_the_same_and_of_every_path(book: Book) -> None:
    a_busy_day(book)
    book.see("c", 15, "only looked at")
    book.change("a", "f", 16, "read", grade="likely", before="r")
    again = State(compaction.without_obsolete(book.state, ns(20)))
    assert summary(again) == summary(book.state)
    assert again.heads["only looked at"].looked == ns(15)
    assert again.left == book.state.left
    assert again.spare == 0


def test_lines_are_spare_that_a_later_one_says_anew(book: Book) -> None:
    book.see("c1", 1)
    book.edit("a", 1, "x")
    assert book.state.spare == 0
    for number in range(MAX_OBSOLETE_LINES // 3):
        assert not book.state.is_wordy
        book.see("c1", 2 + number)
        book.survey(2 + number)
        book.begin("a", 2 + number, "a-1")
    book.survey(MAX_OBSOLETE_LINES)
    book.survey(MAX_OBSOLETE_LINES + 1)
    assert book.state.is_wordy
    assert not State(compaction.without_obsolete(book.state, ns(9))).is_wordy


def test_a_call_that_began_again_after_a_prompt_is_not_over_in_a_ledger_that_is_written_anew(book: Book) -> None:
    book.begin("a", 1, "a Bash")
    book.begin("a", 2, "a Edit")
    book.step("a", 3)
    book.begin("a", 4, "a Bash")
    again = State(compaction.without_obsolete(book.state, ns(5)))
    assert [(call.id, call.ended) for call in again.calls.values()] == [("a Edit", ns(3)), ("a Bash", 0)]


def test_an_agent_that_is_known_to_format_is_so_after_the_cut(book: Book) -> None:
    book.change("a", "c1", 1, flags="nw")
    book.change("a", "c2", 2, grade="likely", suspects=["a"])
    assert State(compaction.compacted(book.state, ns(3))).formats == book.state.formats == {"a"}


@pytest.mark.parametrize(("text", "found"), [("12:3", (12, 3)), ("12:-3", (12, -3))])
def test_a_time_is_nanoseconds_and_how_far_the_wall_clock_is_ahead(text: str, found: tuple[int, int]) -> None:
    assert moment(text) == found


@pytest.mark.parametrize("time", ["12", "", "x:y", "12:"])
def test_a_line_whose_time_was_torn_is_void(time: str) -> None:
    state = State([("B", time, "a"), ("S", time, "c1", "1:1:1:1", "x"), ("F", time, "5")])
    assert (state.began, state.heads, state.full) == ({}, {}, 0)
