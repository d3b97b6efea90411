"""The text of `.dibs/rules.md`, shown to every agent at its boot. `dibs init` writes it; then it is the team's.

Two rules about coordination; `dibs init --rules full` writes seven, which are about the work itself, too.
"""

from __future__ import annotations

HEAD = """\
<!-- Told to every agent at each start, and again when this file changes; comments like this one are not told.
     It is yours: add what went wrong here once, and the one sentence that would have prevented it. Keep it short. -->
"""
TEXT = (
    HEAD
    + """\
1. **Read before you act**: what dibs tells you at a start counts, not what you remember or a summary says.
2. **Claim before you change**: an edit claims its file, `dibs claim` several. Refused: wait, ask or do other work.
"""
)
FULL = (
    HEAD
    + """\
1. **Done means seen working**: look at the result where its users will. A status code or a clean build is not that.
2. **Report accurately**: what you did, what you left out, what you did not check.
3. **Nothing unfinished goes live**: no TODO, TBD or "coming soon" in what ships.
4. **Read before you act**: what dibs tells you at a start counts, not what you remember or a summary says.
5. **Claim before you change**: an edit claims its file, `dibs claim` several. Refused: wait, ask or do other work.
6. **Sync before you deploy**: never from a copy that is behind (`dibs sync-check`); deploy with `dibs deploy`.
7. **Resume after an interruption**: save where you are, deal with it, then go back to what you had begun.
"""
)
