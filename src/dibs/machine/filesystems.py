"""The kind of filesystem that a folder is on. SQLite's shared memory and file locks do not work across a network."""

from __future__ import annotations

import os
import sys

from dibs.errors import Unavailable

NETWORK = frozenset(
    {
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "afpfs", "9p", "ceph", "glusterfs", "lustre", "beegfs", "gpfs",
        "davfs", "webdav", "coda", "ncpfs", "vboxsf", "prl_fs", "vmhgfs", "orangefs", "ocfs2", "gfs2", "virtiofs",
        "fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.glusterfs", "fuse.davfs2", "fuse.vmhgfs-fuse", "fuse.gcsfuse",
        "fuse.ceph", "fuse.cephfs", "fuse.moosefs", "fuse.juicefs", "fuse.goofys", "fuse.grpcfuse", "fuse.osxfs",
    }
)  # fmt: skip
MOUNT_POINT_FIELD = 4  # index of the mount point in a line of mountinfo


def kind_of(folder: str, mountinfo: str | None = None) -> str:
    """The type of the filesystem that a folder is on; "" if unknown."""
    folder = os.path.realpath(folder)
    if mountinfo is None:
        mountinfo = _mounts()
    best, kind = "", ""
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split(" ")
        if len(fields) <= MOUNT_POINT_FIELD or not right:
            continue
        point = (
            fields[MOUNT_POINT_FIELD]
            .replace("\\040", " ")
            .replace("\\011", "\t")
            .replace("\\012", "\n")
            .replace("\\134", "\\")
        )
        inside = folder == point or folder.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):  # of two mounts on one point, the later one hides the earlier
            best, kind = point, right.split(" ")[0]
    return kind


def refuse_network(folder: str, mountinfo: str | None = None) -> None:
    """Raise where SQLite would not be safe."""
    kind = kind_of(folder, mountinfo)
    if kind in NETWORK:
        message = (
            f"{folder} is on a network filesystem ({kind}), where SQLite's locks are not safe. "
            "Put the repository on a local disk, or set `store` to a server in .dibs/config.toml. Nothing was changed."
        )
        raise Unavailable(message, path=folder, filesystem=kind)


def _mounts() -> str:
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return _mounts_elsewhere() if sys.platform == "darwin" else ""


def _mounts_elsewhere() -> str:  # pragma: no cover - macOS
    """The output of `mount`, in the shape of Linux's mountinfo."""
    import subprocess

    lines = subprocess.run(["/sbin/mount"], capture_output=True, text=True, check=False, timeout=5).stdout.splitlines()
    parsed = []
    for line in lines:
        _, _, rest = line.partition(" on ")
        point, _, options = rest.rpartition(" (")
        parsed.append(f"0 0 0 / {point} rw - {options.split(',')[0].rstrip(')')} none")
    return "\n".join(parsed)
