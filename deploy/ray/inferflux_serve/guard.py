"""Runs a program, and ends it when the process that started this one has ended, however it ended.

usage: python guard.py PROGRAM ARGUMENT...
Standard input is the end of a pipe that the parent holds open. A worker of Ray may be killed without a chance to stop what it
started. If this guard is killed itself, Linux ends the program. TERM is handed on; the exit status is the program's.
"""

import ctypes

import os
import signal
import subprocess
import sys
import threading


PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def die_with_parent() -> None:
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> None:
    program = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, preexec_fn=die_with_parent)
    signal.signal(signal.SIGTERM, lambda *_: program.terminate())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the parent decides

    def end_with_parent() -> None:
        sys.stdin.buffer.read()  # ends when the parent's end of the pipe is closed
        program.kill()

    threading.Thread(target=end_with_parent, daemon=True).start()
    os._exit(program.wait() & 0xFF)  # the thread above may still read


if __name__ == "__main__":
    main()
