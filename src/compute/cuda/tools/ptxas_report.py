#!/usr/bin/env python3
"""Keeps what ptxas says of each kernel, and makes a table of it.

usage: ptxas_report.py run LOG COMMAND...    runs nvcc (with -Xptxas -v) and keeps its messages; prints them where it fails, and
                                             fails where the host would run a function of the device
       ptxas_report.py table LOG...          a Markdown table: registers, stack, spills, shared memory of each kernel;
                                             fails where a kernel spills
"""

import re
import subprocess
import sys

ENTRY = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'")
STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")


def run(log, command):
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0 or "warning" in done.stderr:
        sys.stderr.write(done.stderr)
        return done.returncode or 1
    objects = [command[i + 1] for i, word in enumerate(command[:-1]) if word == "-o"]
    for path in calls_the_device(objects):
        sys.stderr.write(f"{path}: code of the host calls a __device__ function, which would end the program: declare it __host__ too\n")
        return 1
    with open(log, "w") as out:
        out.write(done.stderr)
    return 0


def calls_the_device(objects):
    """Those in which host code calls a __device__ function. nvcc says nothing of it in templates; it gives such a function a
    body for the host that ends the program with exit(1)."""
    undefined = {path: subprocess.run(["nm", "-u", path], stdout=subprocess.PIPE, text=True, check=True).stdout for path in objects}
    return [path for path, names in undefined.items() if "exit" in names.split()]


def kernels(log):
    """[(mangled name, architecture, registers, stack, spilled, static shared)]"""
    name = architecture = stack = spilled = None
    for line in open(log):
        if match := ENTRY.search(line):
            name, architecture = match.groups()
        elif match := STACK.search(line):
            stack, spilled = int(match[1]), int(match[2]) + int(match[3])
        elif (match := USED.search(line)) and name:
            shared = SHARED.search(line)
            yield name, architecture, int(match[1]), stack, spilled, int(shared[1]) if shared else 0
            name = None


def readable(names):
    text = subprocess.run(["c++filt"], input="\n".join(names), stdout=subprocess.PIPE, text=True, check=True).stdout
    short = []
    for line in text.splitlines():
        line = line.replace("(anonymous namespace)::", "").replace("inferflux::", "").replace("cuda::", "")
        depth, end = 0, len(line)
        for at, letter in enumerate(line):  # without the parameters
            depth += (letter == "<") - (letter == ">")
            if letter == "(" and depth == 0:
                end = at
                break
        line = line[:end].removeprefix("void ")
        short.append(re.sub(r"\((?:compute::)?(\w+)\)(\d+)", r"\1 \2", line))
    return short


def table(logs):
    rows = [row for log in logs for row in kernels(log)]
    architectures = sorted({row[1] for row in rows}, key=lambda a: (len(a.rstrip("af")), a))
    names = sorted({row[0] for row in rows})
    by_kernel = {(row[0], row[1]): row for row in rows}
    print("| kernel | " + " | ".join(architectures) + " |")
    print("|---|" + "---|" * len(architectures))
    spills = []
    lines = []
    for name, short in zip(names, readable(names)):
        cells = []
        for architecture in architectures:
            row = by_kernel.get((name, architecture))
            cell = "" if row is None else str(row[2])
            if row and row[3]:
                cell += f", stack {row[3]}"
            if row and row[4]:
                cell += f", spills {row[4]}"
                spills.append(f"{short} for {architecture}")
            cells.append(cell)
        lines.append(f"| {short} | " + " | ".join(cells) + " |")
    print("\n".join(sorted(lines)))
    if spills:
        sys.exit("kernels spill registers: " + "; ".join(spills))


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("run", "table"):
        sys.exit(__doc__)
    sys.exit(run(sys.argv[2], sys.argv[3:]) if sys.argv[1] == "run" else table(sys.argv[2:]))
