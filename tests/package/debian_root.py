"""A clean Debian 12 in a folder: commands in it, and a list of all that it contains."""

import hashlib
import os
import signal
import stat
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
               "DEBIAN_FRONTEND": "noninteractive"}
APT = ("apt-get", "-y", "-qq", "--no-install-recommends", "-o", "Dpkg::Use-Pty=0", "-o", "Dpkg::Options::=--force-confdef", "-o",
       "Dpkg::Options::=--force-confold", "-o", f"DPkg::Path={ENVIRONMENT['PATH']}")  # of maintainer scripts
# What apt, dpkg and the tools that make users write for themselves, whatever is installed.
BOOKS = ("var/lib/dpkg/", "var/lib/apt/", "var/cache/", "var/log/", "packages/", "proc/", "run/", "tmp/", "etc/passwd-", "etc/group-",
         "etc/shadow-", "etc/gshadow-", "etc/subuid-", "etc/subgid-", "etc/.pwd.lock")


class DebianRoot:
    def __init__(self, folder: Path):
        self.path = folder
        subprocess.run([ROOT / "scripts/debian-base", folder, "systemd,adduser"], check=True, timeout=900)
        (folder / "packages").mkdir()
        self.apt("update")

    def start(self, *command: str, user: str = "root", **options) -> subprocess.Popen:
        """In a mount and process namespace of its own, so that nothing is left mounted or running."""
        enter = 'mount -t proc proc "$0/proc" && exec chroot --userspec="$1" "$0" env -i "${@:2}"'
        return subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", enter, str(self.path), user,
                                 *(f"{name}={value}" for name, value in ENVIRONMENT.items()), *command],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                                start_new_session=True, **options)

    @staticmethod
    def stop(process: subprocess.Popen) -> None:
        """With what it has started: a change of the user clears the signal that a child gets when its parent dies."""
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def run(self, *command: str, user: str = "root", fails: bool = False, seconds: float = 600) -> str:
        process = self.start(*command, user=user)
        output, _ = process.communicate(timeout=seconds)
        assert (process.returncode != 0) == fails, f"{command}: {process.returncode}\n{output}"
        return output

    def apt(self, *words: str) -> str:
        return self.run(*APT, *words)

    def contents(self) -> dict[str, tuple]:
        """Every path with its kind, mode, owner and content; not the books that apt and dpkg keep."""
        found = {}
        for folder, folders, files in os.walk(self.path):
            for name in folders + files:
                path = Path(folder, name)
                relative = str(path.relative_to(self.path))
                status = path.lstat()
                kind = stat.S_IFMT(status.st_mode)
                if f"{relative}/".startswith(BOOKS) or relative in BOOKS:
                    continue
                what = ""
                if stat.S_ISLNK(kind):
                    what = os.readlink(path)
                elif stat.S_ISREG(kind):
                    what = hashlib.sha256(path.read_bytes()).hexdigest()
                found[relative] = (oct(status.st_mode), status.st_uid, status.st_gid, what)
        return found
