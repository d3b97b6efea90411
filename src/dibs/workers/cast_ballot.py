"""`python -m dibs.workers.cast_ballot VOTE CHOICE`: casts the choice that an elector's command printed.

For workers of a vote. It differs from `dibs vote cast` in two points: a choice may be JSON, `{"option": "yes"}`; and a
ballot after the outcome is not a failure of the elector: the task is done, and its result says that the ballot was
late.
"""

from __future__ import annotations

import json
import os
import sys

from dibs.errors import YES, Conflict, DibsError, Invalid

TYPE_CHECKING = False

REFUSED = 65  # EX_DATAERR: a retry would fail the same way


def main(words: list[str]) -> int:
    """Cast one ballot and print the answer as JSON."""
    from dibs.client.session import Session

    poll, said = words
    try:
        option = choice_of(said)
        session = Session(os.getcwd(), os.environ.get("DIBS_WORKSPACE"), short_lived=True)
        fields = {"id": poll, "option": option}
        answer = session.run(session.operation("vote cast"), session.identify(None), fields)
        result = {"option": option, "late": False, "vote": answer["vote"]["state"]}
    except Conflict as error:
        result = {"option": option, "late": True, "vote": error.fields.get("state"), "why": error.message}
    except DibsError as error:
        sys.stderr.write(f"dibs: {error.message}\n")
        return REFUSED if error.code in {"invalid", "forbidden", "not_found"} else error.exit
    sys.stdout.write(json.dumps(result) + "\n")
    return YES


def choice_of(said: str) -> str:
    """The option: the whole text, or the `option` of a JSON object."""
    text = said.strip()
    if not text.startswith("{"):
        return text
    try:
        found: object = json.loads(text).get("option")
    except ValueError:
        found = None
    if not isinstance(found, str):
        raise Invalid('the choice: an option as text, or {"option": "…"}', field="option")
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
