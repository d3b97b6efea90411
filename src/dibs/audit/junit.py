"""The result of `dibs check` as JUnit XML: one test case for each check, as CI systems show it."""

from __future__ import annotations

from dibs.audit.html_text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.answers import AuditCheckView, AuditFindingView, CheckAnswer

LONG = 2_000  # letters of a message


def render(answer: CheckAnswer) -> str:
    """The text of the file."""
    checks = answer["checks"]
    count = {status: sum(1 for one in checks if one["status"] == status) for status in ("fail", "unknown", "n/a")}
    head = (
        f'<testsuite name="dibs check" tests="{len(checks)}" failures="{count["fail"]}" errors="{count["unknown"]}" '
        f'skipped="{count["n/a"]}">'
    )
    cases = "\n".join(_case(answer["workspace"], one) for one in checks)
    end = f"<system-out>{safe(answer['result'], LONG)}</system-out>"
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n{head}\n{cases}\n{end}\n</testsuite>\n</testsuites>\n'
    )


def _case(workspace: str, one: AuditCheckView) -> str:
    name = safe(f"{one['number']} {one['title']}")
    begin = f'<testcase classname="dibs.check.{safe(workspace)}" name="{name}">'
    message = safe(one["message"], LONG)
    if one["status"] == "fail":
        told = "\n".join(_finding(each) for each in one["findings"] if "settled" not in each)
        inner = f'<failure type="{one["severity"]}" message="{message}">{told}</failure>'
    elif one["status"] == "unknown":
        inner = f'<error message="{message}"/>'
    elif one["status"] == "n/a":
        inner = f'<skipped message="{message}"/>'
    else:
        inner = f"<system-out>{message}</system-out>"
    return f"{begin}{inner}</testcase>"


def _finding(one: AuditFindingView) -> str:
    events = f" (events {', '.join(map(str, one['events']))})" if one["events"] else ""
    return safe(f"{one['severity']}: {one['text']}{events}. To do: {one['remedy']}", LONG)
