"""Hosts of a test on one machine: network namespaces, joined by a switch that delays, loses and cuts (switch.py). Linux, as root."""

import contextlib
import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

CLONE_NEWNET = 0x40000000
MTU = 9000  # as networks between servers have it


class Hosts:
    """`count` hosts, numbered from 1, with the addresses 10.77.0.1, 10.77.0.2, ...

    Each has its own loopback interface, ports and connections; files and processes are those of the machine.
    """

    def __init__(self, count: int):
        self.names = [f"inferflux-{os.getpid()}-{number}" for number in range(1, count + 1)]
        self.addresses = [f"10.77.0.{number}" for number in range(1, count + 1)]
        try:
            for name in self.names:
                subprocess.run(["ip", "netns", "add", name], check=True, timeout=20)
            switch = Path(__file__).with_name("switch.py")
            self._switch = subprocess.Popen([sys.executable, str(switch), *self.names], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert self._switch.stdout.readline() == "ready\n", "the switch did not start"
            for name, address in zip(self.names, self.addresses):
                for words in (f"link set net0 mtu {MTU} up", f"address add {address}/24 dev net0", "link set lo up"):
                    subprocess.run(["ip", "-n", name, *words.split()], check=True, timeout=20)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def missing() -> str:
        """Why there can be no hosts here; empty if there can."""
        if os.geteuid() != 0:
            return "network namespaces need root"
        if shutil.which("ip") is None:
            return "there is no `ip` (Debian: iproute2)"
        if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
            return "there is no /dev/net/tun"
        return ""

    @contextlib.contextmanager
    def on(self, host: int):
        """What this thread does inside, and the threads and processes that it starts there, is on the host."""
        libc = ctypes.CDLL(None, use_errno=True)
        def enter(place) -> None:
            if libc.setns(place.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), f"cannot enter the network namespace {place.name}")

        with open("/proc/thread-self/ns/net") as before, open(f"/run/netns/{self.names[host - 1]}") as there:
            enter(there)
            try:
                yield
            finally:
                enter(before)

    def remote_shell(self, folder: Path) -> Path:
        """A program that runs `HOST WORDS...` there, as `ssh` does; HOST is an address. Each host has a name of its own."""
        program = folder / "on-host"
        prefix = self.names[0].rsplit("-", 1)[0]
        program.write_text("#!/bin/sh\n" "number=${1##*.}\n" "shift\n"
                           f'exec ip netns exec {prefix}-$number unshare --uts sh -c "hostname host-$number; $*"\n')
        program.chmod(0o755)
        return program

    def delay(self, seconds: float) -> None:
        """Of each frame, in one direction. A round trip has it twice, and what the switch itself takes (about 0.1 ms)."""
        self._tell(f"delay {seconds}")

    def lose(self, share: float) -> None:
        self._tell(f"loss {share}")

    def cut(self, host: int) -> None:
        """No frame goes to or from the host; its connections stay open, as when a cable is pulled."""
        self._tell(f"cut {host}")

    def mend(self, host: int) -> None:
        self._tell(f"mend {host}")

    def round_trip(self, pings: int = 50) -> float:
        """The average of pings between the first two hosts, in seconds."""
        with self.on(1):
            done = subprocess.run(["ping", "-q", "-i", "0.02", "-c", str(pings), self.addresses[1]], capture_output=True, text=True,
                                  timeout=60, check=True)
        return float(done.stdout.rsplit("=", 1)[1].split("/")[1]) / 1000  # rtt min/avg/max/mdev

    def close(self) -> None:
        switch = getattr(self, "_switch", None)
        if switch is not None:
            switch.stdin.close()
            switch.wait(20)
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], check=False, timeout=20, stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _tell(self, line: str) -> None:
        self._switch.stdin.write(line + "\n")
        self._switch.stdin.flush()
        assert self._switch.stdout.readline() == "ok\n", f"the switch did not obey: {line}"
