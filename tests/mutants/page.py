"""What keeps the page's sessions: function, change, the test that fails then."""

from __future__ import annotations

FILES = "tests/interfaces/page/test_files.py"
SESSIONS = "tests/interfaces/page/test_sessions.py"

OWN_PAGE = f"{SESSIONS}::test_a_change_by_cookie_needs_the_own_origin_and_the_header"
NOWHERE_ELSE = f"{SESSIONS}::test_a_cookie_counts_nowhere_but_below_its_own_session"
ONCE = f"{SESSIONS}::test_a_code_counts_once_and_for_a_minute"

ROWS = (
    ("check_own_page", "drop operand #1", OWN_PAGE),
    ("check_own_page", "drop operand HEADER", OWN_PAGE),
    ("Sessions.enter", "drop operand hash_of", NOWHERE_ELSE),
    ("Sessions.enter", "never if BELOW", NOWHERE_ELSE),
    ("redeem", "replace call pop -> $0.0.get($1)", ONCE),
    ("_drop_codes", "never filter beneath comprehension _codes", ONCE),
    ("Sessions.enter", "never if wall", f"{SESSIONS}::test_a_session_ends_after_a_week"),
    ("_cookie", "text '; HttpOnly; SameSite=Strict' -> ''",
     f"{SESSIONS}::test_a_token_begins_a_session_whose_cookie_no_script_reads_and_no_other_path_gets"),
    ("Door._session", "drop call check_own_page",
     f"{SESSIONS}::test_a_code_is_not_given_to_a_session_and_signing_in_needs_the_own_page"),
    ("files.POLICY", 'text "require-trusted-types-for \'script\'; " -> \'\'',
     f"{FILES}::test_every_file_has_the_strict_policy_and_no_inline_script_or_style"),
)  # fmt: skip
