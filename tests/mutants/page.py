"""What keeps the page's sessions: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

FILES = "tests/doors/page/test_files.py"
SESSIONS = "tests/doors/page/test_sessions.py"

OWN_PAGE = f"{SESSIONS}::test_a_change_by_cookie_needs_the_own_origin_and_the_header"
NOWHERE_ELSE = f"{SESSIONS}::test_a_cookie_counts_nowhere_but_below_its_own_session"
ONCE = f"{SESSIONS}::test_a_code_counts_once_and_for_a_minute"

ROWS = (
    ("doors/http/sessions.py", 'b"origin" not in headers or ', "", OWN_PAGE),
    ("doors/http/sessions.py", ' or headers.get(HEADER) != b"1"', "", OWN_PAGE),
    ("doors/http/sessions.py", " or found.digest != secrets.hash_of(_secret(headers))", "", NOWHERE_ELSE),
    ("doors/http/sessions.py", "if not (path.startswith(BELOW[0]) or path in BELOW[1:]):", "if False:", NOWHERE_ELSE),
    ("doors/http/sessions.py", "self._codes.pop(secrets.hash_of(code), None)", "self._codes.get(secrets.hash_of(code))",
     ONCE),
    ("doors/http/sessions.py", "if until <= now]", "if False]", ONCE),
    ("doors/http/sessions.py", "        if found.until <= clock.wall():\n", "        if False:\n",
     f"{SESSIONS}::test_a_session_ends_after_a_week"),
    ("doors/http/sessions.py", "; HttpOnly; SameSite=Strict", "",
     f"{SESSIONS}::test_a_token_begins_a_session_whose_cookie_no_script_reads_and_no_other_path_gets"),
    ("doors/page/mount.py", '        check_own_page(scope, scope["headers_by_name"])\n', "",
     f"{SESSIONS}::test_a_code_is_not_given_to_a_session_and_signing_in_needs_the_own_page"),
    ("doors/page/files.py", "; require-trusted-types-for 'script'", "",
     f"{FILES}::test_every_file_has_the_strict_policy_and_no_inline_script_or_style"),
)  # fmt: skip
