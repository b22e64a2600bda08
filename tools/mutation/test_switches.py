"""switches.py and trial.py on a small project: a library with a mutant of each kind, and a test program that notices some."""

import pytest

from mutants import mutants_of
from switches import forms, switched
from trial import Build, Switches

SOURCE = """#include <string>
#include <vector>
namespace small {
constexpr int kMost = 7;
bool Less(int a, int b) {
  if (a < b && a != b) {
    return true;
  }
  return false;
}
int Sum(const std::vector<int>& of) {
  int sum = 0;
  for (size_t i = 0; i < of.size(); ++i) {
    sum += of.at(i) + 1 - 1;
  }
  return sum > kMost ? kMost : sum;
}
int Minus(int a, int b) { return a - b; }
int Difference(int a, int b) {
  const int out = Minus(a, b);
  return out;
}
std::string Name(const std::string& a) {
  switch (a.size()) {
    case 0: return "none";
    default: return a + "!";
  }
}
}  // namespace small
"""
FILES = {
    "scripts/build": "#!/bin/sh\n[ -f build/build.ninja ] || cmake -S . -B build -G Ninja >/dev/null || exit 1\nshift 2\nexec ninja -C build \"$@\"\n",
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.20)
project(small CXX)
enable_testing()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_UNITY_BUILD ON)
add_library(f STATIC src/base/f.cpp src/base/g.cpp)
add_executable(f_test test.cpp)
target_link_libraries(f_test f)
add_test(NAME f_test COMMAND f_test)
""",
    "src/base/f.cpp": SOURCE,
    "src/base/g.cpp": "int Twice(int a) {\n  return a + a;\n}\n",
    "test.cpp": """#include <string>
#include <vector>
namespace small { bool Less(int, int); int Sum(const std::vector<int>&); int Difference(int, int); std::string Name(const std::string&); }
int main() {
  using namespace small;
  return Less(1, 2) && !Less(2, 1) && Sum({1, 2}) == 3 && Sum({9}) == 7 && Difference(3, 1) == 2 && Name("a") == "a!" ? 0 : 1;
}
""",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    tree = tmp_path_factory.mktemp("tree")
    for name, text in FILES.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    (tree / "scripts" / "build").chmod(0o755)
    return tree


def drawn():
    """One mutant of a statement, so that all have a switch at once."""
    seen, out = set(), []
    for path in ("src/base/f.cpp", "src/base/g.cpp"):
        for mutant in mutants_of(path, FILES[path]):
            if (path, mutant.line) not in seen:
                seen.add((path, mutant.line))
                out.append(mutant)
    return out


@pytest.fixture(scope="module")
def built(tree):
    mutants = drawn()
    switches, build = Switches(tree, mutants), Build(tree, 60)
    build.compile(switches)
    tests = list(build.unit_tests())
    for test in tests:
        build.measure(test)
    return mutants, switches, build, tests


def verdict(built, before, after):
    mutants, switches, build, tests = built
    number = next(n for n, m in enumerate(mutants) if before in m.before and after in m.after and n in switches.chosen)
    return build.try_tests(number, tests, "f_test")


@pytest.mark.parametrize(("before", "after"), [
    ("kMost = 7", "kMost = 8"), ("i < of.size()", "i <= of.size()"), ("return a - b", "return a + b"), ("Minus(a, b)", "Minus(b, a)"),
])
def test_a_mutant_that_a_test_notices_is_killed(built, before, after):
    assert verdict(built, before, after) == ("killed", "f_test")


def test_a_mutant_that_changes_no_result_survives(built):
    assert verdict(built, "sum > kMost", "sum >= kMost") == ("survived", "1 tests come to it")


def test_what_does_not_compile_is_left_out(built):
    mutants, switches, _, _ = built
    number = next(n for n, m in enumerate(mutants) if 'a - "!"' in m.after)
    assert switches.left_out[number] == "does not compile"


def test_a_mutant_that_no_test_comes_to_survives(built):
    assert verdict(built, "a + a", "a - a") == ("survived", "0 tests come to it")


def test_without_a_mutant_the_tests_pass(built):
    assert all(reached for reached, _ in built[2].reach.values())


def test_a_case_label_has_no_switch(built):
    mutants, switches, _, _ = built
    number = next(n for n, m in enumerate(mutants) if "case 1:" in m.after)
    assert switches.left_out[number] == "does not compile"


def test_no_line_moves():
    mutants = [m for m in mutants_of("src/base/f.cpp", SOURCE)]
    for number, mutant in enumerate(mutants):
        for edit in forms(number, mutant, SOURCE):
            text = switched(SOURCE, [edit], "/switch.h").split("\n")[2:]
            assert len(text) == len(SOURCE.split("\n"))
            assert text[edit.last:] == SOURCE.split("\n")[edit.last:]


def test_an_object_that_lives_to_the_end_of_its_block_is_not_put_into_one_of_its_own():
    source = "void F(int a, int b) {\n  std::scoped_lock lock(a, b);\n}\n"
    for number, mutant in enumerate(mutants_of("src/base/f.cpp", source)):
        assert not any("else" in edit.text for edit in forms(number, mutant, source))


def test_both_branches_of_a_condition_keep_what_it_declares():
    source = "void F(int a, int b) {\n  if (const auto c = G(a, b); c < 1) {\n  }\n}\n"
    swapped = next(m for m in mutants_of("src/base/f.cpp", source) if m.kind == "swapped arguments" and "G(b, a)" in m.after)
    edit = forms(3, swapped, source)[0]
    assert edit.text == "  if (const auto c = (mutation::On(3) ? (G(b, a)) : (G(a, b))); c < 1) {"


