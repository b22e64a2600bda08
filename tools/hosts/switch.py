"""A network switch in user space, for hosts that are network namespaces: it forwards frames after a delay, loses some, and cuts
hosts off. For kernels without netem. tools/hosts/hosts.py starts it.

usage: switch.py NAMESPACE...    (as root)

Each namespace gets the interface `net0` (a TAP device) with the MAC address 02:00:00:00:00:NN, NN = 1, 2, ... in the order of the words.
It prints `ready`, then obeys lines on its standard input, and prints `ok` for each:

    delay SECONDS    frames arrive so much later, in one direction
    loss SHARE       of frames never arrive (0 to 1; a seeded generator draws them)
    cut N            no frame goes to or from host N
    mend N           they do again
"""

import ctypes
import fcntl
import heapq
import os
import random
import selectors
import struct
import sys
import time

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA  # linux/if_tun.h
IFF_TAP, IFF_NO_PI = 2, 0x1000
BROADCAST = 1  # the bit of a MAC address's first byte that means a group


def open_tap(namespace: str, number: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/run/netns/{namespace}") as place:
        if libc.setns(place.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter the network namespace {namespace}")
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", b"net0", IFF_TAP | IFF_NO_PI))
    os.system(f"ip link set net0 address 02:00:00:00:00:{number:02x}")
    return tap


class Switch:
    def __init__(self, namespaces: list[str]):
        self._ports = {number: open_tap(name, number) for number, name in enumerate(namespaces, 1)}
        self._delay, self._loss, self._cut = 0.0, 0.0, set()
        self._random = random.Random(1)
        self._waiting = []  # (when it is due, order, port, frame)
        self._order = 0
        self._poll = selectors.SelectSelector()  # waits to the microsecond; epoll to the millisecond
        for number, tap in self._ports.items():
            self._poll.register(tap, selectors.EVENT_READ, number)
        self._poll.register(sys.stdin.fileno(), selectors.EVENT_READ, None)
        self._commands = b""

    def run(self) -> None:
        print("ready", flush=True)
        while True:
            for key, _ in self._poll.select(self._until_due()):
                if key.data is None:
                    if not self._read_commands():
                        return
                else:
                    self._take(key.data)
            self._deliver()

    def _until_due(self) -> float | None:
        return max(0.0, self._waiting[0][0] - time.monotonic()) if self._waiting else None

    def _take(self, source: int) -> None:
        for _ in range(64):  # then the others get their turn
            try:
                frame = os.read(self._ports[source], 65536)
            except BlockingIOError:
                return
            due = time.monotonic() + self._delay
            targets = [n for n in self._ports if n != source] if frame[0] & BROADCAST else [frame[5]]
            for target in targets:
                if target in self._ports and not {source, target} & self._cut and self._random.random() >= self._loss:
                    self._order += 1
                    heapq.heappush(self._waiting, (due, self._order, target, frame))

    def _deliver(self) -> None:
        now = time.monotonic()
        while self._waiting and self._waiting[0][0] <= now:
            _, _, target, frame = heapq.heappop(self._waiting)
            try:
                os.write(self._ports[target], frame)
            except (BlockingIOError, OSError):
                pass  # a full or closed interface loses it, as hardware does

    def _read_commands(self) -> bool:
        read = os.read(sys.stdin.fileno(), 4096)
        self._commands += read
        *lines, self._commands = self._commands.split(b"\n")
        for line in lines:
            word, value = line.decode().split()
            if word == "delay":
                self._delay = float(value)
            elif word == "loss":
                self._loss = float(value)
            elif word == "cut":
                self._cut.add(int(value))
            elif word == "mend":
                self._cut.discard(int(value))
            else:
                sys.exit(f"switch.py: no such command: {word}")
            print("ok", flush=True)
        return bool(read)


if __name__ == "__main__":
    Switch(sys.argv[1:]).run()
