"""One build that holds every mutant behind a switch, and the tests that come to its place.

The reach of each test is measured once, without a mutant; a mutant then meets only the tests that come to its place, first those
of its floor.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from switches import forms, overlap, switched

HEADER = Path(__file__).resolve().parent / "switch.h"
PLACE = re.compile(r"^(?:In file included from |\s+from )?([^\s:]+):(\d+)[:,]", re.MULTILINE)
NO_TESTS = 5  # pytest's exit status
STOP = re.compile(r"^(?=FAILED: )", re.MULTILINE)


def run(command, cwd, seconds, **environment):
    """The exit status and the output; 124 if it takes longer. What it started ends with it."""
    with subprocess.Popen([str(word) for word in command], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, text=True, errors="replace", start_new_session=True,
                          env={**os.environ, **environment}) as process:
        try:
            said, _ = process.communicate(timeout=seconds)
            return process.returncode, said
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return 124, ""


class Switches:
    """Which form of each mutant is in the tree. `left_out` says why there is none."""

    def __init__(self, tree: Path, mutants):
        self.tree, self.mutants = tree, mutants
        self.texts = {m.path: (tree / m.path).read_text() for m in mutants}
        self.open = {n: forms(n, m, self.texts[m.path]) for n, m in enumerate(mutants)}
        self.chosen, self.left_out = {}, {}
        for number in range(len(mutants)):
            self._next(number, "has no form that can be switched")

    def _next(self, number, why):
        self.chosen.pop(number, None)
        while self.open[number]:
            edit = self.open[number].pop(0)
            path = self.mutants[number].path
            if not any(overlap(edit, other) for n, other in self.chosen.items() if self.mutants[n].path == path):
                self.chosen[number] = edit
                return
            why = "shares a statement with another"
        self.left_out[number] = why

    def write(self):
        edits = defaultdict(list)
        for number, edit in self.chosen.items():
            edits[self.mutants[number].path].append(edit)
        for path, text in self.texts.items():
            # Absolute, because the header is not on the compiler's path.
            text = switched(text, edits[path], HEADER) if path in edits else text
            if (self.tree / path).read_text() != text:
                (self.tree / path).write_text(text)

    def reject(self, said):
        """Takes the next form of those whose lines an error names; if it names none, of all in the files that it names.
        False if there is none."""
        # A compiler names a file as it was asked for it: from the build's folder, or from the root.
        places = {(os.path.relpath(self.tree / "build" / path, self.tree), int(line)) for path, line in PLACE.findall(said)}
        named = [n for n, e in self.chosen.items() if any((self.mutants[n].path, line) in places for line in range(e.first, e.last + 1))]
        files = {path for path, _ in places}
        rejected = named or [n for n in self.chosen if self.mutants[n].path in files]
        for number in rejected:
            self._next(number, "does not compile")
        return bool(rejected)


class Build:
    """The copy of the tree, its build and its tests."""

    def __init__(self, tree: Path, seconds: int):
        self.tree, self.folder, self.seconds = tree, tree / "build", seconds
        self.reach = {}  # by test: the numbers of the mutants that it comes to, and its seconds

    def compile(self, switches):
        for _ in range(12):
            switches.write()
            done = subprocess.run(["scripts/build", "build", "--", "-k", "0"], cwd=self.tree, capture_output=True, text=True,
                                  errors="replace", check=False)
            if done.returncode == 0:
                return
            said = done.stdout + done.stderr
            failures = [re.split(r"^\[\d+/\d+ ", part, flags=re.MULTILINE)[0] for part in STOP.split(said)[1:]]
            print(f"{len(failures)} objects do not compile, of {len(switches.chosen)} mutants", file=sys.stderr, flush=True)
            rejected = [switches.reject(failure) for failure in failures]
            if not any(rejected):
                break
        raise RuntimeError(f"the sources with mutants do not compile: {said[-3000:]}")

    def unit_tests(self):
        listed = subprocess.run(["ctest", "--show-only=json-v1"], cwd=self.folder, capture_output=True, text=True, check=True).stdout
        for test in json.loads(listed)["tests"]:
            properties = {p["name"]: p["value"] for p in test.get("properties", [])}
            yield test["name"], [*test["command"], "--gtest_fail_fast"], properties.get("WORKING_DIRECTORY", str(self.folder))

    def end_to_end_tests(self, python):
        for file in sorted((self.tree / "tests" / "e2e").rglob("test_*.py")):
            name = str(file.relative_to(self.tree))
            yield name, [python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", name], str(self.tree)

    def measure(self, test):
        """Runs a test without a mutant. It kills none if it fails."""
        name, command, cwd = test
        noted = self.tree / "mutants" / "reached" / name.replace("/", ".")
        shutil.rmtree(noted, ignore_errors=True)
        noted.mkdir(parents=True)
        began = time.monotonic()
        code, said = run(command, cwd, self.seconds, MUTANTS_REACHED=str(noted))
        if code not in (0, NO_TESTS):
            print(f"{name} fails without a mutant, and is left out: {said[-1500:]}", file=sys.stderr, flush=True)
            self.reach[name] = set(), 0.0
            return
        self.reach[name] = {int(file.name) for file in noted.iterdir()}, time.monotonic() - began

    def _fails(self, number, test):
        name, command, cwd = test
        with tempfile.TemporaryDirectory() as own:  # the same program may run for another mutant
            code, _ = run(command, cwd, 20 + 6 * self.reach[name][1], MUTANT_NUMBER=str(number), TMPDIR=own, TEST_TMPDIR=own)
        return code not in (0, NO_TESTS)

    def try_tests(self, number, tests, own):
        """'killed' and by which test, or 'survived' and how many it passed."""
        tests = [test for test in tests if number in self.reach[test[0]][0]]
        tests.sort(key=lambda test: (not re.search(own, test[0]), self.reach[test[0]][1]))
        for test in tests:
            # Twice, for a test may also fail because the machine is busy.
            if self._fails(number, test) and self._fails(number, test):
                return "killed", test[0]
        return "survived", f"{len(tests)} tests come to it"
