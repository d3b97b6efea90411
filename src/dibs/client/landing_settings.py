"""What landings go by: the settings of the workspace, and the branch that others are landed on.

The settings are those of the main working tree. Each other one has its own checkout of the config, and a branch must
not decide by which check it lands, or by which one another's lands.

The branch is the config's, else the usual one of the repository: main or master, whichever there is; else what the
remote's HEAD is, else what the main working tree has checked out (`trunk`, `develop`). Read from git's files, so that a
status costs no process.
"""

from __future__ import annotations

import os

from dibs.operations.landing.queue import DEFAULT_TARGET
from dibs.workspace import config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Session
    from dibs.operations.core.policy import LandSettings

USUAL = (DEFAULT_TARGET, "master")
REMOTE_HEAD = "refs/remotes/origin/HEAD"
BRANCHES = "refs/heads/"
MAX_BYTES = 4_096
HOME_LETTERS = 8  # of the digest of the machine's id and git's directory: two clones may have one name


def settings_of(session: Session) -> LandSettings:
    """What [land] says in the config of the main working tree, whichever one the caller is in."""
    place, read = session.place, session.config
    home = f"{place.root}/.dibs/{config.NAME}"
    if place.config != home:
        kept = f"{place.shared}/{config.NAME}"  # the main working tree is on a branch from before dibs
        found_at = next((path for path in (home, kept) if os.path.isfile(path)), "")
        read = config.load(found_at, place.local, place.root, place.shared) if found_at else read
    return read.policy.work["land"]


def target_of(session: Session) -> str:
    """The branch."""
    named = settings_of(session)["branch"]
    common = session.place.common
    if named or not common:
        return named or DEFAULT_TARGET
    for name in USUAL:
        if _exists(session, common, name):
            return name
    remote = _symbolic(f"{common}/{REMOTE_HEAD}").removeprefix("refs/remotes/origin/")
    if remote and _exists(session, common, remote):
        return remote
    here = _symbolic(f"{common}/HEAD").removeprefix(BRANCHES)
    return here if here and _exists(session, common, here) else DEFAULT_TARGET


def home_of(session: Session) -> str:
    """This clone, among all that share the store: machine and folder for people, and what tells two of one name apart.

    Others read it: where on this machine the folder is, is not in it.
    """
    from dibs.machine import processes
    from dibs.stores.seam import digest_of

    place = session.place
    if not place.common:
        return ""
    mark = digest_of(f"{processes.host()} {place.common}")[:HOME_LETTERS]
    folder = "-".join(os.path.basename(place.root).split())  # one word: it stands in sentences that others read
    return f"{os.uname().nodename}:{folder}({mark})"


def _exists(session: Session, common: str, name: str) -> bool:
    if os.path.isfile(f"{common}/{BRANCHES}{name}"):
        return True
    try:
        with open(f"{common}/packed-refs", encoding="utf-8", errors="surrogateescape") as file:
            if any(line.rstrip("\n").endswith(f" {BRANCHES}{name}") for line in file):
                return True
    except OSError:
        pass
    if not os.path.isdir(f"{common}/reftable"):
        return False
    from dibs.git import queries as git

    return bool(git.commit(session.place.top, f"{BRANCHES}{name}"))


def _symbolic(path: str) -> str:
    """What a ref means that names another one; "" for any other."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read(MAX_BYTES).strip()
    except OSError:
        return ""
    return text.removeprefix("ref: ") if text.startswith("ref: ") else ""
