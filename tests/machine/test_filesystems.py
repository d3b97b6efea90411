"""Network filesystems are told from the table of mounts, and refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from dibs.errors import Unavailable
from dibs.machine import filesystems

MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:40 / /srv/share rw - nfs4 server:/export rw
31 22 0:41 / /srv/share/inner rw - xfs /dev/vdb rw
32 22 0:42 / /mnt/with\\040blank rw - cifs //server/x rw
33 22 0:43 / /home/me/remote rw - fuse.sshfs me@there: rw
34 22 0:44 / /mnt/over rw - ext4 /dev/vdc rw
35 22 0:45 / /mnt/over rw - 9p host rw
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/", "ext4"), ("/srv", "ext4"), ("/srv/share", "nfs4"), ("/srv/share/a/b", "nfs4"), ("/srv/shared", "ext4"),
        ("/srv/share/inner/x", "xfs"), ("/mnt/with blank/x", "cifs"), ("/home/me/remote/repo", "fuse.sshfs"),
        ("/mnt/over/x", "9p"),
    ],
)  # fmt: skip
def test_the_deepest_mount_decides(folder: str, kind: str) -> None:
    assert filesystems.kind_of(folder, MOUNTS) == kind


@pytest.mark.parametrize("folder", ["/srv/share/repo", "/mnt/with blank", "/home/me/remote", "/mnt/over"])
def test_a_network_filesystem_is_refused_with_its_kind(folder: str) -> None:
    with pytest.raises(Unavailable, match="network filesystem") as refused:
        filesystems.refuse_network(folder, MOUNTS)
    assert refused.value.filesystem in filesystems.NETWORK


def test_a_local_filesystem_passes(tmp_path: Path) -> None:
    filesystems.refuse_network("/srv/share/inner", MOUNTS)
    filesystems.refuse_network(str(tmp_path))
    assert filesystems.kind_of(str(tmp_path))


def test_lines_that_make_no_sense_are_passed_over() -> None:
    assert filesystems.kind_of("/x", "garbage\n\n1 2 3\n" + MOUNTS) == "ext4"
