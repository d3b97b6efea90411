"""The text of `.dibs/rules.md`: what every agent is told at its boot. `dibs init` makes it; then it is the team's."""

from __future__ import annotations

TEXT = """\
# Rules for every agent in this repository

Delivered at each start and again when this file changes. Each was paid for once; keep them few and plain.

1. **Done means seen working.** A task is finished when you have looked at the result where its users will: the page,
   the command, the test that failed before. A status code or a clean build is not that.
   *dibs: `dibs deploy` runs the check that the target declares; without one, the record says unverified.*
2. **Report what is so.** Say what you did, what you left out and what you did not check. "Should work" is no result.
   *dibs: the log says who claimed, changed and released what, and `dibs log` shows it to anybody.*
3. **Nothing unfinished goes live.** No TODO, TBD or "coming soon" in what ships. Leave it out rather than ship it.
   *dibs: a deploy that would ship such words is refused, with the places.*
4. **Read before you act.** Start with what dibs tells you at boot, and with the files for state, decisions and
   lessons. What you remember from before a compaction or a restart may be out of date.
   *dibs: every start, resume and compaction checks what you believe you hold against the record.*
5. **Claim before you change.** What others may touch is claimed before it is opened for editing. If the claim is
   refused, take other work, wait or ask; do not edit around it.
   *dibs: an edit claims its file or is refused with the holder's name; `dibs claim` takes several at once.*
6. **Sync before you deploy.** Deploy only from a copy that is not behind. If it is: pull, look again, then deploy.
   *dibs: `dibs sync-check`, and the same check before each deploy and each push to a protected branch.*
7. **An interruption is not an end.** After a new order, a compaction or a restart: save where you are, deal with it,
   and come back to what you had begun.
   *dibs: claims outlive a compaction, and at boot you are told what you still hold and what you lost.*

## Ours

8. (yours: what went wrong here once, and the one sentence that would have prevented it)
9. (yours)
10. (yours)
"""
