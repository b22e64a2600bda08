"""Builds a mutant beside a finished build, and runs test programs on it. Nothing in the build or in the tree changes.

A mutant costs one object: the sources that are compiled together with it, with -O1. Archives are made anew with that
object, and test programs are linked with those archives into a folder of the mutant's own.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

INCLUDE = re.compile(r'^#include "(/[^"]+)"', re.MULTILINE)
ARCHIVE = re.compile(r"\S+\.a$")


def run(command, cwd, seconds):
    """The exit status and the output; 124 if it takes longer. What it started ends with it."""
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                          errors="replace", shell=isinstance(command, str), start_new_session=True) as process:
        try:
            said, _ = process.communicate(timeout=seconds)
            return process.returncode, said
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return 124, ""


class Build:
    """A build folder that Ninja and CMake have configured: what each source becomes, and the test programs."""

    def __init__(self, folder: Path, seconds: int):
        self.folder, self.seconds = folder, seconds
        self._built = set()
        self._sound = {}  # by test: whether it passes without a mutant
        self._lock = threading.RLock()  # of Ninja, and of the two above
        # By source: the commands that compile it, with the file that is compiled and its text.
        self.compilations = {}
        for entry in json.loads((folder / "compile_commands.json").read_text()):
            text = Path(entry["file"]).read_text(errors="replace")
            sources = INCLUDE.findall(text) if "/Unity/" in entry["file"] else [entry["file"]]
            for source in sources:
                self.compilations.setdefault(str(Path(source)), []).append((entry["command"], entry["file"]))
        listed = json.loads(self._output("ctest", "--show-only=json-v1"))
        self.tests = {test["name"]: {p["name"]: p["value"] for p in test.get("properties", [])} for test in listed["tests"]}
        self.links = {name: self._output("ninja", "-t", "commands", "-s", f"tests/{name}") for name in self.tests}

    def _output(self, *command):
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=True).stdout

    def ensure(self, test):
        """The test program without a mutant is there, out of ccache where it has been built before."""
        with self._lock:
            if test in self._built:
                return
            code, said = run(["ninja", f"tests/{test}"], self.folder, 20 * self.seconds)
            if code:
                raise RuntimeError(f"{test} is not built: {said[-2000:]}")
            self._built.add(test)

    def inputs(self, archive):
        queried = self._output("ninja", "-t", "query", archive)
        return re.findall(r"^    (?!\|)(\S+\.o)$", queried.split("  outputs:")[0], re.MULTILINE)

    def archives_of(self, output):
        return [line.strip() for line in self._output("ninja", "-t", "query", output).split("  outputs:")[1].splitlines()
                if ARCHIVE.match(line.strip())]

    def surround(self, folder):
        """Lets test programs in the folder find beside them what they find in the build: programs that they start."""
        for entry in (self.folder / "tests").iterdir():
            link = folder / entry.name
            if entry.name not in self.tests and not entry.is_dir() and not link.exists():
                link.symlink_to(entry.resolve())

    def passes(self, test):
        """Whether the test passes without a mutant, where a mutant's program would be: if not, it kills none."""
        with self._lock:
            if test not in self._sound:
                with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                    self.surround(Path(folder))
                    program = Path(folder) / test
                    os.link(self.folder / "tests" / test, program)
                    self._sound[test] = self.run_test(test, program) == 0
            return self._sound[test]

    def run_test(self, test, program):
        cwd = self.tests[test].get("WORKING_DIRECTORY", str(self.folder))
        return run([str(program), "--gtest_fail_fast"], cwd, self.seconds)[0]


class Trial:
    """One mutant, in a folder that is removed afterwards. Use: compile, then try_tests."""

    def __init__(self, build: Build, mutant, tree: Path, folder: Path):
        self.build, self.mutant, self.folder = build, mutant, folder
        self.source = tree / mutant.path
        self.archives = {}  # the build's: the mutant's

    def __enter__(self):
        self.folder.mkdir(parents=True)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def compile(self):
        """None, or why there is no mutant to test."""
        copy = self.folder / self.source.name
        copy.write_text(self.mutant.apply(self.source.read_text()))
        compilations = self.build.compilations.get(str(self.source))
        if not compilations:
            return "is not built"
        for number, (command, file) in enumerate(compilations):
            compiled = copy
            if Path(file) != self.source:
                compiled = self.folder / f"together_{number}.cxx"
                compiled.write_text(Path(file).read_text().replace(f'"{self.source}"', f'"{copy}"'))
            words = shlex.split(command)
            words = words[next(i for i, word in enumerate(words) if re.search(r"(c\+\+|g\+\+|clang\+\+)[-\d.]*$", word)):]
            output = words[words.index("-o") + 1]
            made = self.folder / f"{number}.o"
            words[words.index("-o") + 1], words[words.index("-c") + 1] = str(made), str(compiled)
            code, said = run([*words, "-O1", "-w", "-iquote", str(self.source.parent)], self.build.folder, 4 * self.build.seconds)
            if code == 124:
                raise TimeoutError(f"{self.mutant.path}: compiling takes longer than {4 * self.build.seconds} s")
            if code:
                return "does not compile: " + next((line for line in said.splitlines() if "error:" in line), "").split("error:")[-1].strip()
            for archive in self.build.archives_of(output):
                objects = self.archives.setdefault(archive, self.build.inputs(archive))
                objects[objects.index(output)] = str(made)
        return None

    def _archive(self):
        for number, (archive, objects) in enumerate(self.archives.items()):
            made = self.folder / f"lib{number}.a"
            run(["ar", "qcsT", str(made), *(str(self.build.folder / each) for each in objects)], self.build.folder, self.build.seconds)
            self.archives[archive] = str(made)

    def try_tests(self, pattern):
        """'killed' and by which test, or 'survived' and how many test programs it passed."""
        self._archive()
        passed = 0
        for test, link in self.build.links.items():
            words = link.split(" ")
            if not re.search(pattern, test) or not set(words) & set(self.archives):
                continue
            self.build.ensure(test)
            program = self.folder / test
            words = [self.archives.get(word, word) for word in words]
            words[words.index("-o") + 1] = str(program)
            code, said = run(" ".join(words), self.build.folder, self.build.seconds)
            if code:
                raise RuntimeError(f"{test} does not link: {said[-1000:]}")
            self.build.surround(self.folder)
            if self.build.run_test(test, program) and self.build.passes(test):
                return "killed", test
            program.unlink()
            passed += 1
        return "survived", f"{passed} test programs"
