"""What is known of each program, one row for each: how it runs others, what it writes, reads and prints.

This file has the shell's own commands and those that every system has; tools.py has the tools of development, and is
loaded only for a name that is not here. A name is in one row of the two, and in no other place of this folder
(tests/shell/test_programs.py). Programs with the same row share it: their names are separated by blanks. So are
the words of every list in a row; they are split where they are used, because a row is loaded far more often than used.

A row names the functions that read a program's words: `copies.cp` is `cp` in copies.py, loaded when it is called. The
values after the name are its arguments. rows.py says what each fact means. A program without a row may write anything.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.shell.rows import Program

GIT = "git"  # more than a program here: the reading lists its commands
SHELL_TEXT = ("sh", "-c")  # the words before a text that some program gives to a shell
_SHELLS = "ash bash dash ksh sh zsh"

_ROWS: dict[str, Program] = {
    (
        "apropos b3sum base32 bind blkid bzcat caller clear compgen complete compopt diff3 diffstat dig dircolors "
        "dirs dmesg dmidecode dnsdomainname dpkg-query enable envsubst fc fg finger free fuser fzf getent getfacl "
        "getopt gls hash help history host hostnamectl htop ifconfig info iostat ip ipcs killall last lastlog ldd "
        "locale locate logger look lsattr lsb_release lsblk lscpu lshw lsmod lsns lspci lsusb man mdls mount "
        "mountpoint mpstat namei nc netcat netstat nm nslookup ntpq objdump otool pathchk pbcopy ping pkill pmap pr "
        "pstree pwdx readelf reset ripgrep route sdiff sha224sum sha384sum size ss ssh ssh-add stty suspend sw_vers "
        "sync sysctl tempfile times tload tmutil top tput tracepath traceroute tsort unexpand users vmstat w whatis "
        "whence whereis who whois xclip xdg-open xsel xzcat yes zcat zdiff zgrep zipinfo zless zmore"
    ): {"harmless": True},
    (
        "arch b2sum bc cal cksum dc df expr factor getconf groups hostid jobs logname lsof md5 nproc numfmt pgrep "
        "pidof sha1sum sha256sum sha512sum shasum sum tty uptime uuidgen"
    ): {"harmless": True, "prints": "plain"},
    ": bg break chgrp chmod chown continue exit false kill return unalias": {"silent": True, "harmless": True},
    ". source": {"builtin": "builtin.source", "rule": ("harmless.source",)},
    "7z": {"writes": ("archives.seven",)},
    "[ sleep true": {"silent": True, "look": True},
    "ack": {"harmless": True, "reads": ("ABCgm", "", 1), "passes": True, "search": "perl", "prints": "outputs.search"},
    "ag": {"harmless": True, "reads": ("ABCGm", "", 1), "passes": True, "search": "perl", "prints": "outputs.search"},
    "alias": {"builtin": "builtin.alias", "silent": True, "lists": True, "harmless": True},
    "apt apt-get": {"verbs": "list search show policy depends"},
    "apt-cache": {"verbs": "search show policy depends madison"},
    _SHELLS: {"shell": True},
    "at batch daemon daemonize start-stop-daemon systemd-run": {"leaves": ("", "")},
    "awk gawk": {"writes": ("writers.awk",), "reads": ("fFv", "file field-separator assign", 1), "prints": "fields"},
    "base64": {"harmless": True, "reads": ("w", "wrap", 0)},
    "basename": {"look": True, "prints": "outputs.basename"},
    "bat batcat": {
        "harmless": True, "reads": ("lrHm", "language line-range highlight-line style theme color paging", 0),
        "shows": True,
    },
    "bsdtar gtar tar": {"writes": ("archives.tar",)},
    "builtin busybox cross-env nocorrect noglob unbuffer": {"wraps": {}},
    "bunzip2": {"writes": ("archives.unpack", ".bz2")},
    "bzip2": {"writes": ("archives.pack", ".bz2 .bz")},
    "caffeinate": {"wraps": {"short": "tw"}},
    "cat": {"look": True, "reads": ("", "", 0), "shows": True, "prints": "copy"},
    "cd chdir": {"builtin": "builtin.cd", "silent": True},
    "chroot": {"wraps": {"long": "userspec groups", "operands": 1}},
    "chrt": {"wraps": {"short": "TPD", "operands": 1}},
    "cmp file printenv tree": {"look": True},
    "column": {
        "harmless": True, "reads": ("cdsoN", "separator output-separator", 0), "passes": True, "prints": "changed",
    },
    "comm": {"harmless": True, "reads": ("", "", 0)},
    "command": {"wraps": {"locates": "v V"}},
    "coproc": {"wraps": {"detaches": True, "named": True}},
    "cp": {"silent": True, "writes": ("copies.cp",)},
    "cpio": {"writes": ("archives.cpio",)},
    "crontab": {"unless": "-e -r -"},
    "csplit": {"writes": ("archives.csplit",)},
    "curl": {"writes": ("downloads.curl",), "downloads": True},
    "cut": {
        "look": True, "reads": ("bcdf", "bytes characters delimiter fields output-delimiter", 0), "prints": "columns",
    },
    "date du hostname id md5sum ps stat uname whoami": {"look": True, "prints": "plain"},
    "dd": {"writes": ("writers.dd",)},
    "declare export typeset": {"builtin": "builtin.declare", "silent": True, "lists": True},
    "dibs": {"rule": ("harmless.unless_verb", "restore init worker lead deploy up undo import land demo doctor")},
    "diff": {"look": True, "reads": ("CUIxXL", "label unified context", 0)},
    "dirname": {"look": True, "prints": "outputs.dirname"},
    "disown": {"builtin": "builtin.disown", "silent": True, "leaves": ("", "")},
    "doas": {"wraps": {"short": "uC"}},
    "dos2unix unix2dos": {"writes": ("writers.operands", "write", "", "", "merges")},
    "dpkg": {"unless": "-i --install -r -P -x --extract --unpack -b"},
    "echo": {"look": True, "prints": "outputs.echo", "exec_names": True},
    "ed": {"writes": ("writers.ed",)},
    "egrep": {
        "look": True, "reads": ("efmABCdD", "regexp file max-count include exclude exclude-dir color", 1),
        "passes": True, "search": "extended", "prints": "outputs.search",
    },
    "env": {"wraps": {
        "short": "uCS", "long": "unset chdir split-string", "dash": True, "folder": "C chdir",
        "splits": "S split-string",
    }},
    "eval": {"builtin": "builtin.evaluate", "silent": True},
    "ex nvim vi vim": {"writes": ("writers.vi",)},
    "exec": {"wraps": {"short": "a"}},
    "expand": {"harmless": True, "reads": ("t", "tabs", 0), "passes": True},
    "fallocate": {"writes": ("writers.operands", "write", "loi", "length offset", "merges")},
    "fd fdfind": {"unless": "-x -X --exec --exec-batch", "acts": "runners.for_each_name", "prints": "outputs.fd"},
    "fgrep": {
        "harmless": True, "reads": ("efmABCdD", "regexp file max-count include exclude exclude-dir color", 1),
        "passes": True, "search": "fixed", "prints": "outputs.search",
    },
    "find": {"look": True, "acts": "find.find", "prints": "outputs.find"},
    "flock": {"wraps": {"short": "wE", "long": "timeout wait conflict-exit-code", "operands": 1, "text": "-c"}},
    "fmt": {"harmless": True, "reads": ("wpg", "width", 0), "passes": True, "prints": "changed"},
    "fold": {"harmless": True, "reads": ("w", "width", 0), "passes": True, "prints": "changed"},
    "gcp": {"writes": ("copies.cp",)},
    "getopts local unset": {"builtin": "builtin.declare", "silent": True},
    "git": {
        "rule": ("harmless.git",), "quick_verbs": "status log diff show rev-parse ls-files blame fetch",
        "acts": "flows.git_output", "prints": "git_outputs.text",
    },
    "gmv": {"writes": ("copies.mv",)},
    "grep": {
        "look": True, "reads": ("efmABCdD", "regexp file max-count include exclude exclude-dir color", 1),
        "passes": True, "search": "basic", "prints": "outputs.search", "exec_names": True,
    },
    "grm srm trash trash-put": {"writes": ("writers.operands", "delete")},
    "gsed sed": {
        "writes": ("writers.sed",), "in_place": True, "reads": ("efl", "expression file line-length", 1), "shows": True,
        "prints": "edited",
    },
    "gunzip": {"writes": ("archives.unpack", ".gz .z .Z")},
    "gzip": {"writes": ("archives.pack", ".gz .z .Z")},
    "head": {"look": True, "reads": ("nc", "lines bytes", 0), "shows": True, "prints": "lines"},
    "hexdump": {"harmless": True, "reads": ("efns", "", 0), "shows": True},
    "iconv": {"writes": ("writers.output", "o", "output", "ft"), "reads": ("fto", "from-code to-code output", 0)},
    "install": {"silent": True, "writes": ("copies.install",)},
    "ionice": {"wraps": {"short": "cnpPu", "long": "class classdata"}},
    "join": {"harmless": True, "reads": ("12taeo", "", 0)},
    "jot pwgen": {"prints": "plain"},
    "journalctl": {"unless": "--rotate --vacuum-time --vacuum-size"},
    "jq": {"look": True, "reads": ("fL", "from-file indent", 1)},
    "less": {"look": True, "reads": ("bhjkoOpPtTxyz", "", 0), "shows": True, "prints": "lines"},
    "let": {"builtin": "builtin.declare", "harmless": True},
    "link": {"writes": ("copies.link",)},
    "ln": {"silent": True, "writes": ("copies.ln",)},
    "ls": {"look": True, "prints": "outputs.ls", "exec_names": True},
    "lzma": {"writes": ("archives.pack", ".lzma")},
    "mapfile readarray": {"builtin": "builtin.mapfile", "silent": True},
    "mkdir": {"builtin": "builtin.mkdir", "silent": True, "harmless": True},
    "mkfifo": {"silent": True, "writes": ("writers.operands", "write", "m", "mode")},
    "mktemp": {"harmless": True, "prints": "outputs.mktemp"},
    "more": {"harmless": True, "reads": ("n", "", 0), "shows": True, "prints": "lines"},
    "mv": {"silent": True, "writes": ("copies.mv",)},
    "nice": {"wraps": {"short": "n", "long": "adjustment"}},
    "nl": {"look": True, "reads": ("bdfhilnsvw", "", 0), "shows": True, "prints": "changed"},
    "nohup setsid": {"wraps": {"detaches": True}},
    "od": {"look": True, "reads": ("AjNStw", "", 0), "shows": True},
    "openssl": {"writes": ("writers.openssl",), "prints": "plain"},
    "parallel": {"runs": ("runners.parallel",)},
    "paste": {"harmless": True, "reads": ("d", "delimiters", 0), "prints": "changed"},
    "patch": {"writes": ("archives.patch",)},
    "perl": {
        "rule": ("harmless.perl",), "writes": ("writers.perl",), "in_place": True, "reads": ("eEIMm", "", 1),
        "prints": "changed",
    },
    "pigz": {"writes": ("archives.pack", ".gz")},
    "popd": {"builtin": "builtin.popd", "harmless": True},
    "printf": {"builtin": "builtin.printf", "harmless": True, "prints": "outputs.printf"},
    "pushd": {"builtin": "builtin.pushd", "harmless": True},
    "pwd": {"look": True, "prints": "outputs.pwd"},
    "read": {"builtin": "builtin.read", "silent": True},
    "readlink": {"harmless": True, "prints": "outputs.readlink"},
    "readonly shopt ulimit umask": {"silent": True, "lists": True, "harmless": True},
    "realpath": {"look": True, "prints": "outputs.realpath"},
    "rename": {"writes": ("writers.rename",)},
    "rev": {"harmless": True, "reads": ("", "", 0), "prints": "changed"},
    "rg": {
        "rule": ("harmless.rg",),
        "reads": ("efgmABCtTrEMdj", "regexp file glob max-count type type-not replace max-depth context sort color", 1),
        "passes": True, "search": "perl", "prints": "outputs.search", "exec_names": True,
    },
    "rm unlink": {"silent": True, "writes": ("writers.operands", "delete")},
    "rmdir": {"silent": True, "writes": ("writers.rmdir",)},
    "rsync": {"writes": ("copies.rsync",)},
    "scp": {"writes": ("copies.scp",)},
    "script": {"runs": ("runners.script",)},
    "seq": {"look": True, "prints": "outputs.seq"},
    "set": {"builtin": "builtin.set_parameters", "silent": True, "lists": True},
    "shift": {"builtin": "builtin.shift", "silent": True},
    "shred": {"writes": ("writers.operands", "delete", "ns", "iterations size random-source")},
    "shuf": {"writes": ("writers.output", "o", "output", "in"), "prints": "lines"},
    "sort": {
        "writes": ("writers.sort",),
        "reads": ("ktSTo", "key field-separator buffer-size temporary-directory output parallel", 0), "passes": True,
        "prints": "lines",
    },
    "split": {"writes": ("archives.split",)},
    "sponge": {"writes": ("writers.tee",), "prints": "lines"},
    "ssh-keygen": {"unless": "-f -t", "outputs": ("-f", "")},
    "stdbuf": {"wraps": {"short": "ioe", "long": "input output error"}},
    "strace": {"wraps": {"short": "aeEIoOpPsSuUX", "long": "output trace user", "output": "o output"}},
    "strings": {"harmless": True, "reads": ("ne", "", 0), "shows": True},
    "sudo": {"wraps": {
        "short": "ughpCDrtTUR",
        "long": "user group host prompt chdir close-from role type command-timeout other-user chroot",
        "folder": "D chdir",
    }},
    "systemctl": {"verbs": "status is-active is-enabled list-units show cat restart start stop"},
    "tac": {"look": True, "reads": ("s", "separator", 0), "shows": True, "prints": "lines"},
    "tail": {"look": True, "reads": ("ncs", "lines bytes sleep-interval pid", 0), "shows": True, "prints": "lines"},
    "taskset": {"wraps": {"operands": 1}},
    "tee": {"writes": ("writers.tee",), "passes": True, "prints": "copy"},
    "test": {"silent": True, "look": True, "exec_names": True},
    "time": {"wraps": {"short": "fo", "long": "format output", "output": "o output"}},
    "timeout": {"wraps": {"short": "sk", "long": "signal kill-after", "operands": 1}},
    "touch": {"silent": True, "writes": ("writers.operands", "touch", "drt", "date reference time")},
    "tr": {"look": True, "prints": "changed"},
    "trap": {"builtin": "builtin.trap", "silent": True},
    "truncate": {"silent": True, "writes": ("writers.operands", "write", "srS", "size reference")},
    "type": {"harmless": True, "prints": "outputs.type_path"},
    "uniq": {
        "look": True, "writes": ("writers.second", "fsw"), "operands": 2, "reads": ("fsw", "", 0), "passes": True,
        "prints": "lines",
    },
    "unshare": {"wraps": {"short": "RwSGl", "long": "root wd setuid setgid propagation setgroups map-user map-group"}},
    "unxz": {"writes": ("archives.unpack", ".xz .lzma")},
    "unzip": {"writes": ("archives.unzip",)},
    "unzstd": {"writes": ("archives.unpack", ".zst", "keeps")},
    "wait": {"builtin": "builtin.wait", "silent": True, "harmless": True},
    "watch": {"wraps": {"short": "n", "long": "interval", "text": "*"}},
    "wc": {"look": True, "prints": "plain", "exec_names": True},
    "wget": {"writes": ("downloads.wget",), "downloads": True},
    "which": {"look": True, "prints": "outputs.which"},
    "xargs": {"wraps": {
        "short": "adEILnPs", "long": "arg-file delimiter max-lines max-args max-procs max-chars process-slot-var",
        "default": "echo",
    }},
    "xmllint": {"unless": "-o --output", "reads": ("o", "xpath output encode", 0)},
    "xxd": {"writes": ("writers.second", "clos"), "operands": 2, "reads": ("clos", "", 0), "shows": True},
    "xz": {"writes": ("archives.pack", ".xz .lzma")},
    "zip": {"writes": ("archives.zip_archive",)},
    "zstd": {"writes": ("archives.pack", ".zst", "keeps")},
}  # fmt: skip
SHELLS = frozenset(_SHELLS.split())
_UNKNOWN: Program = {}


class _Table(dict):  # type: ignore[type-arg] # its type is that of PROGRAMS
    """The rows by their names. A name that is not here is looked up among the tools, which are loaded for it."""

    def __missing__(self, name: str) -> Program:
        from dibs.shell.tools import TOOLS

        return TOOLS.get(name, _UNKNOWN)


PROGRAMS: dict[str, Program] = _Table({name: row for names, row in _ROWS.items() for name in names.split()})


def function(name: str) -> Callable[..., Any]:
    """The function that a row names."""
    module, _, attribute = name.partition(".")
    reader: Any = __import__(f"dibs.shell.{module}", fromlist=(attribute,))
    implementation: Callable[..., Any] = getattr(reader, attribute)
    return implementation
