"""Whose change it is: each rule by its smallest example, then the scenarios in which somebody's work was once lost.

Times are seconds. A has left c1 in x, and x was last looked at at 10, unless an example says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dibs.ledger.attribution import AFTER_NAMED_NS, FIRM_COMMAND_NS, FIRM_EDIT_NS, knowledge, same_words
from dibs.ledger.state import AFTER_OPEN_NS, MISSING, SECOND_NS
from tests.operations.ledger_book import Book

SURE, LIKELY = "sure", "likely"
NOBODY, OUTSIDE = ("unknown", "unknown"), ("outside", "outside")


@pytest.fixture
def book() -> Book:
    """A's unfinished work lies in x."""
    made = Book()
    made.change("a", "c1", 9)
    made.see("c1", 10, written=8)
    return made


def verdict(book: Book, after: str = "c2", written: float = 12, now: float = 13) -> tuple[str, str]:
    actor, grade, _ = book.judge(after, written, now)
    return actor, grade


# --- the first rule that fits


def test_a_call_that_expected_exactly_this_content_made_it_whoever_else_ran(book: Book) -> None:
    book.begin("b", 5)
    book.edit("a", 11, expected="c2")
    assert verdict(book) == ("a", SURE)


def test_a_content_that_a_call_announced_and_a_look_after_its_end_did_not_find_is_not_its_doing(book: Book) -> None:
    book.end(book.edit("b", 10.5, expected="c2"), 11)  # it failed
    book.see("c1", 11.5, written=8)
    book.begin("a", 11.7)
    assert verdict(book) == ("a", LIKELY)


def test_two_that_expected_the_same_content_leave_it_unknown(book: Book) -> None:
    book.edit("a", 11, expected="c2")
    book.edit("b", 11, expected="c2")
    assert verdict(book) == NOBODY


def test_no_call_that_could_have_done_it_means_outside(book: Book) -> None:
    assert verdict(book) == OUTSIDE
    book.end(book.begin("b", 1), 2)
    book.edit("b", 11, "another file")
    book.begin("b", 12.5)
    assert verdict(book) == OUTSIDE


def test_the_only_one_whose_call_names_the_path_and_ran_at_that_time_did_it(book: Book) -> None:
    book.edit("b", 11)
    assert verdict(book) == ("b", SURE)


def test_a_name_with_another_content_than_was_expected_is_no_proof_while_others_ran(book: Book) -> None:
    book.begin("b", 5)
    book.edit("a", 11, expected="e")
    assert verdict(book) == NOBODY


def test_a_name_with_another_content_than_was_expected_is_enough_where_nobody_else_ran(book: Book) -> None:
    book.edit("a", 11, expected="e")
    assert verdict(book) == ("a", SURE)


def test_a_name_without_an_expectation_is_likely_while_others_ran(book: Book) -> None:
    book.begin("b", 5)
    book.edit("a", 11)
    assert verdict(book) == ("a", LIKELY)


def test_two_running_calls_that_name_the_path_leave_it_unknown(book: Book) -> None:
    book.edit("a", 11)
    book.edit("b", 11)
    assert verdict(book) == NOBODY


def test_the_only_suspect_that_ran_at_that_time_did_it_without_a_name(book: Book) -> None:
    book.begin("b", 5)
    assert verdict(book) == ("b", SURE)


def test_of_several_the_only_one_that_ran_at_that_time_is_likely(book: Book) -> None:
    book.end(book.begin("b", 5), 11)
    book.begin("c", 11)
    assert verdict(book) == ("c", LIKELY)


@pytest.mark.parametrize("named", [False, True])
def test_the_owner_that_alone_runs_is_likely_while_anothers_program_ended_just_before(book: Book, named: bool) -> None:
    """That program may go on for a moment after its call: nothing is certain."""
    book.end(book.begin("b", 5), 9.5)
    if named:
        book.edit("a", 11)
    else:
        book.begin("a", 11)
    assert book.judge("c2", 12, 13) == ("a", LIKELY, ["a", "b"])
    other = Book()
    other.change("a", "c1", 9)
    other.see("c1", 10, written=8)
    other.end(other.begin("b", 5), 7.9)
    other.begin("a", 11)
    assert verdict(other) == ("a", SURE), "that was more than two seconds before the last look"


def test_two_that_ran_at_that_time_without_a_name_leave_it_unknown(book: Book) -> None:
    book.begin("a", 11)
    book.begin("b", 5)
    assert verdict(book) == NOBODY


def test_a_name_counts_only_while_the_call_that_gave_it_runs(book: Book) -> None:
    book.end(book.edit("a", 10.5), 11)
    book.begin("a", 11)
    book.begin("b", 11)
    assert verdict(book) == NOBODY


def test_the_owners_formatter_after_its_edit_is_likely_where_nobody_else_ran(book: Book) -> None:
    book.end(book.edit("a", 8), 9.5)
    assert verdict(book) == ("a", LIKELY)


def test_a_formatter_is_done_within_seconds_after_the_edit_also_if_a_look_came_in_between(book: Book) -> None:
    book.end(book.edit("a", 8), 9.5)
    assert verdict(book, written=19, now=20) == ("a", LIKELY)
    assert verdict(book, written=70, now=71) == OUTSIDE


def test_a_formatter_makes_no_file_where_there_is_none(book: Book) -> None:
    call = book.edit("a", 10.5)
    book.find(MISSING, 11, 11.2)
    book.end(call, 11.1)
    assert book.owners() == ["a"]
    assert verdict(book) == NOBODY


def test_an_owner_that_is_known_to_format_after_its_edits_is_likely_in_spite_of_others(book: Book) -> None:
    book.end(book.edit("a", 8), 9.5)
    book.begin("b", 5)
    assert verdict(book) == ("b", LIKELY)
    book.state.formats.add("a")
    assert verdict(book) == ("a", LIKELY)


def test_seconds_after_the_end_of_anothers_call_prove_nothing(book: Book) -> None:
    book.end(book.begin("b", 5), 11)
    assert verdict(book) == NOBODY


def test_who_is_above_another_suspect_explains_nothing_more(book: Book) -> None:
    """A parent's call runs for as long as its subagent works."""
    book.begin("p", 1)
    book.begin("p/child", 5)
    assert verdict(book) == ("p/child", SURE)
    book.begin("p/two", 5)
    assert verdict(book) == NOBODY


def test_a_parent_that_names_the_path_is_a_suspect_beside_its_child(book: Book) -> None:
    book.edit("p", 11)
    book.begin("p/child", 5)
    assert verdict(book) == ("p", LIKELY)


def test_a_path_that_was_never_looked_at_is_at_best_likely_without_a_name(book: Book) -> None:
    book.begin("b", 5)
    assert book.judge("new", 12, 13, "y")[:2] == ("b", LIKELY)
    book.edit("b", 11, "y")
    assert book.judge("new", 12, 13, "y")[:2] == ("b", SURE)


def test_a_path_that_was_never_looked_at_may_have_changed_since_the_last_look_at_the_whole_tree(book: Book) -> None:
    book.end(book.begin("b", 5), 6)
    book.begin("c", 11)
    assert book.judge("new", 12, 13, "y")[2] == ["b", "c"]
    book.write(("F", "1000011000000000:0", "1"))
    assert book.judge("new", 12, 13, "y")[2] == ["c"]


def test_a_look_at_all_that_is_watched_leaves_out_whoever_was_done_by_then(book: Book) -> None:
    book.end(book.edit("a", 10.1, "other"), 10.2)
    book.end(book.begin("c", 10.1), 10.2)
    book.survey(30)
    book.begin("b", 31)
    assert book.judge("c2", 40, 41) == ("b", SURE, ["b"])


def test_a_file_whose_time_is_from_before_its_last_look_may_have_been_written_at_any_time_up_to_now(
    book: Book,
) -> None:
    book.begin("b", 11)
    assert book.judge("c2", 3, 13) == ("b", SURE, ["b"])
    assert book.judge("c2", 99, 13) == ("b", SURE, ["b"])


def test_after_the_clock_was_set_the_time_of_the_file_proves_nothing(book: Book) -> None:
    book.end(book.begin("c", 10.5), 11)
    book.begin("b", 11.5)
    assert book.judge("c2", 10.7, 13)[:2] == ("c", SURE)
    assert book.judge("c2", 10.7, 13, offset=60)[2] == ["b", "c"]


# --- when a call counts


def test_a_call_counts_from_its_beginning_to_its_end_and_weakly_some_seconds_more(book: Book) -> None:
    book.end(book.begin("b", 11), 20)
    assert verdict(book, written=10.9, now=21) == OUTSIDE
    assert verdict(book, written=11, now=21) == ("b", SURE)
    assert verdict(book, written=20, now=21) == ("b", SURE)
    assert verdict(book, written=20.1, now=21) == NOBODY


@pytest.mark.parametrize(
    ("named", "seconds"), [(False, AFTER_OPEN_NS // SECOND_NS), (True, AFTER_NAMED_NS // SECOND_NS)]
)
def test_after_its_end_a_call_is_suspected_for_some_seconds_longer_if_it_named_the_path(
    book: Book, named: bool, seconds: int
) -> None:
    book.see("c1", 11, written=8)
    book.end(book.edit("b", 8) if named else book.begin("b", 8), 9)
    assert verdict(book, written=12, now=13) == (NOBODY if 9 + seconds >= 12 else OUTSIDE)
    book.see("c1", 9 + seconds + 0.5, written=8)
    assert verdict(book, written=9 + seconds + 1, now=40) == OUTSIDE


@pytest.mark.parametrize("said", ["by its words", "by its end"])
def test_what_a_call_left_running_is_suspected_for_hours(book: Book, said: str) -> None:
    call = book.begin("b", 8, left=said == "by its words")
    book.end(call, 9, left=said == "by its end")
    book.see("c1", 100, written=8)
    assert verdict(book, written=3600, now=3700) == NOBODY
    book.see("c1", 9 * 3600, written=8)
    assert verdict(book, written=9 * 3600 + 1, now=9 * 3600 + 2) == OUTSIDE


@pytest.mark.parametrize(
    ("is_open", "seconds"), [(True, FIRM_COMMAND_NS // SECOND_NS), (False, FIRM_EDIT_NS // SECOND_NS)]
)
def test_a_call_without_an_end_counts_for_some_minutes_and_then_only_weakly(
    book: Book, is_open: bool, seconds: int
) -> None:
    call = book.begin("b", 11, is_open=is_open)
    book.name(call)
    assert verdict(book, written=11 + seconds, now=2000) == ("b", SURE)
    assert verdict(book, written=12 + seconds, now=2000) == NOBODY


def test_a_shell_command_that_names_all_it_writes_counts_as_long_as_other_commands(book: Book) -> None:
    call = book.begin("b", 11, is_open=False, diary=40)
    book.name(call)
    assert verdict(book, written=11 + FIRM_COMMAND_NS // SECOND_NS, now=2000) == ("b", SURE)


def test_a_call_that_a_prompt_ended_may_never_have_run_and_counts_weakly_up_to_the_prompt(book: Book) -> None:
    book.edit("b", 11)
    book.step("b", 20)
    assert verdict(book, now=21) == NOBODY
    book.see("c1", 20.5, written=8)
    assert verdict(book, written=21, now=22) == OUTSIDE


# --- one change a name


def test_an_expectation_explains_one_change_and_a_second_is_judged_without_it(book: Book) -> None:
    book.begin("b", 5)
    book.edit("a", 10.5, expected="c2")
    assert book.find("c2", 11, 11.5) is not None
    assert verdict(book, after="c3") == NOBODY
    book.state.heads["x"].content = "c3"
    assert verdict(book, after="c2") == NOBODY


def test_a_name_that_says_nothing_of_the_content_explains_more_changes_while_its_call_runs(book: Book) -> None:
    book.begin("b", 5)
    call = book.edit("a", 10.5)
    first = book.find("c2", 11, 11.5)
    assert first is not None
    assert (first.actor, first.flags) == ("a", "nw")
    assert verdict(book, after="c3", written=12, now=12.5) == ("a", LIKELY)
    book.end(call, 13)
    assert verdict(book, after="c3", written=14, now=15) == ("b", LIKELY)


# --- what the actor knows then


@pytest.mark.parametrize(
    ("how", "sure", "before", "after", "knows"),
    [
        ("w", False, False, False, True),
        ("m", False, True, False, True),
        ("m", True, False, False, False),
        ("m", False, False, True, True),
        ("", True, True, False, True),
        ("", True, False, False, False),
        ("", True, False, True, True),
        ("", False, True, True, False),
    ],
)
def test_an_actor_knows_what_it_brought_whole_or_made_from_what_it_knew(
    how: str, sure: bool, before: bool, after: bool, knows: bool
) -> None:
    assert knowledge(how, sure=sure, before_known=before, after_seen=after) is knows


@pytest.mark.parametrize(
    ("how", "sure", "seen", "knows"),
    [
        ("w", True, False, False),
        ("m", True, False, False),
        ("", True, False, False),
        ("w", True, True, True),
        ("", True, True, True),
        ("", False, True, False),
    ],
)
def test_an_actor_knows_a_content_that_it_did_not_bring_itself_only_if_it_has_seen_it(
    how: str, sure: bool, seen: bool, knows: bool
) -> None:
    """A pull, a checkout: what it knew of the file before is no help."""
    assert knowledge(how, sure=sure, before_known=True, after_seen=seen, foreign=True) is knows


# --- scenarios: what each look finds, one after the other


def s1_anothers_formatter(book: Book) -> None:
    book.begin("b", 5)
    book.find("c2", 12, 13)


def s2_the_owner_reads_first(book: Book) -> None:
    call = book.begin("b", 5)
    book.see("c2", 13, written=12)  # a Read reads nothing back: it says what it saw, and moves no head
    book.end(call, 14)
    book.find("c2", 12, 14)


def s3_both_run_a_command(book: Book) -> None:
    book.begin("b", 5)
    book.begin("a", 11)
    book.find("c2", 12, 13)


def s4_the_owner_names_it_while_anothers_make_runs(book: Book) -> None:
    book.begin("b", 5)
    book.edit("a", 11)
    book.find("c2", 11.1, 11.2)


def s5_a_script_overwrites_an_edit_before_its_end(book: Book) -> None:
    book.begin("b", 5)
    book.edit("a", 10.9, expected="e")
    book.find("c2", 11.01, 11.02)


def s6_reset_restored_and_reset_again(book: Book) -> None:
    book.end(book.begin("b", 11), 13)
    book.find("h", 12, 13, gitted=True)
    book.change("a", "c1", 20, flags="n")
    book.end(book.begin("b", 30), 32)
    book.find("h", 31, 32, gitted=True)


def s11_a_declined_edit_and_anothers_script(book: Book) -> None:
    book.edit("a", 10, expected="e")
    book.begin("b", 50)
    book.find("c2", 60, 61)


def s11_the_same_after_a_prompt(book: Book) -> None:
    book.edit("a", 10, expected="e")
    book.step("a", 40)
    book.begin("b", 50)
    book.find("c2", 60, 61)


def s12_a_killed_command_that_named_it_counts_for_minutes(book: Book) -> None:
    book.begin("a", 10, "killed", is_open=False, diary=1)
    book.name("killed")
    book.begin("b", 290)
    book.find("c2", 300, 301)


def s12_and_not_after_a_prompt(book: Book) -> None:
    s12 = book.begin("a", 10, "killed", is_open=False, diary=1)
    book.name(s12)
    book.step("a", 200)
    book.begin("b", 290)
    book.find("c2", 300, 301)


def s14_work_of_an_ended_agent_is_gone_on_with(book: Book) -> None:
    book.leave("a", 11)
    book.end(book.edit("b", 60, expected="c2"), 62)
    book.find("c2", 61, 62)


def s15_stash_and_pop(book: Book) -> None:
    book.end(book.begin("a", 20), 21)
    book.find("h", 20.5, 21, gitted=True)
    book.end(book.begin("a", 40), 41)
    book.find("c1", 40.5, 41)


def s17_a_person_saves_it(book: Book) -> None:
    book.find("p", 50, 60)


def s18_a_person_saves_it_while_the_owners_own_command_runs(book: Book) -> None:
    book.begin("a", 11)
    book.find("p", 12, 13)


def s19_a_program_left_running(book: Book) -> None:
    book.end(book.begin("b", 5, left=True), 6)
    book.find("c2", 50, 51)


def s19_while_the_owners_make_runs(book: Book) -> None:
    book.end(book.begin("b", 5, left=True), 6)
    book.begin("a", 40)
    book.find("c2", 50, 51)


def s20_two_hooks_find_it(book: Book) -> None:
    book.begin("b", 5)
    book.find("c2", 12, 13)
    book.change("a", "c2", 13.5, before="c1", grade="sure")


def s21_a_slow_look(book: Book) -> None:
    book.begin("b", 5)
    book.find("c2", 12, 13)
    book.change("b", "c1", 11, before="c2", grade="sure")


def s25_a_sibling(book: Book) -> None:
    book.write(("P", "p/one", "x"))
    book.begin("p/two", 11)
    book.find("h", 12, 13, gitted=True)


def s26_a_formatter_after_the_end(book: Book) -> None:
    book.end(book.edit("a", 20, expected="c2"), 22)
    book.find("c2", 21, 22)
    book.find("c3", 23, 30)


A_OWNS, B_OWNS = ["a"], ["b"]
SCENARIOS = [
    # actor and grade of each change that counts · owners in the end · is the last one still to be told?
    (s1_anothers_formatter, [("b", SURE)], A_OWNS, True),
    (s2_the_owner_reads_first, [("b", SURE)], A_OWNS, True),
    (s3_both_run_a_command, [NOBODY], A_OWNS, True),
    (s4_the_owner_names_it_while_anothers_make_runs, [("a", LIKELY)], A_OWNS, False),
    (s5_a_script_overwrites_an_edit_before_its_end, [NOBODY], A_OWNS, True),
    (s6_reset_restored_and_reset_again, [("b", SURE), ("a", SURE), ("b", SURE)], A_OWNS, True),
    (s11_a_declined_edit_and_anothers_script, [NOBODY], A_OWNS, True),
    (s11_the_same_after_a_prompt, [("b", LIKELY)], A_OWNS, True),
    (s12_a_killed_command_that_named_it_counts_for_minutes, [("a", LIKELY)], A_OWNS, False),
    (s12_and_not_after_a_prompt, [("b", LIKELY)], A_OWNS, True),
    (s14_work_of_an_ended_agent_is_gone_on_with, [("b", SURE)], B_OWNS, True),
    (s15_stash_and_pop, [("a", SURE), ("a", SURE)], A_OWNS, True),
    (s17_a_person_saves_it, [OUTSIDE], A_OWNS, True),
    (s18_a_person_saves_it_while_the_owners_own_command_runs, [("a", SURE)], A_OWNS, False),
    (s19_a_program_left_running, [NOBODY], A_OWNS, True),
    (s19_while_the_owners_make_runs, [("a", LIKELY)], A_OWNS, True),
    (s20_two_hooks_find_it, [("b", SURE)], A_OWNS, True),
    (s21_a_slow_look, [("b", SURE)], A_OWNS, True),
    (s25_a_sibling, [("p/two", SURE)], ["p/one"], True),
    (s26_a_formatter_after_the_end, [("a", SURE), ("a", LIKELY)], A_OWNS, True),
]


@pytest.mark.parametrize(("play", "found", "owners", "told"), SCENARIOS, ids=lambda one: getattr(one, "__name__", ""))
def test_the_scenario_ends_as_it_should(
    book: Book, play: Callable[[Book], None], found: list[tuple[str, str]], owners: list[str], told: bool
) -> None:
    before = len(book.counted)
    play(book)
    assert [(change.actor, change.grade) for change in book.counted[before:]] == found
    assert book.owners() == owners
    change = book.head().change
    assert change is not None
    assert (change.id in book.state.untold) is told


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        (b"x = { 'a':1 }", b'x = {"a": 1}\n', True),
        (b"import b, a\n", b"import a\nimport b\n", True),
        (b"X = 0XFF\n", b"x = 0xff\n", True),
        ("größe=1".encode(), "größe = 1\n".encode(), True),
        (b"a b c", b"a b c d", False),
        (b"a b c", b"a b", False),
        (b" ".join(b"w%d" % one for one in range(40)), b" ".join(b"w%d" % one for one in range(38)), True),
        (b"of ada", b"of bob", False),
        (b"ada 1, bob 1, eve 2", b"ada 2, bob 1, eve 2", False),
        (b"words", b"", False),
    ],
)
def test_a_formatter_brings_no_words_and_drops_hardly_any(before: bytes, after: bytes, same: bool) -> None:
    assert same_words(before, after) is same
