"""trial.py on a small project: a library of two sources that are compiled as one, and a test program that links it, and needs a file
beside itself."""

import subprocess

import pytest

from mutants import mutants_of
from trial import Build, Trial

FILES = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.20)
project(small CXX)
enable_testing()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_UNITY_BUILD ON)
add_library(f STATIC src/base/f.cpp src/base/g.cpp)
add_executable(f_test test.cpp)
set_target_properties(f_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_link_libraries(f_test f)
add_custom_command(TARGET f_test POST_BUILD COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/tests/neighbour)
add_test(NAME f_test COMMAND f_test)
""",
    "src/base/f.cpp": "bool Less(int a, int b) {\n  if (a < b) {\n    return true;\n  }\n  return false;\n}\n",
    "src/base/g.cpp": "int Twice(int a) {\n  return a + a;\n}\n",
    "test.cpp": """#include <filesystem>
bool Less(int, int);
int main() {
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return Less(1, 2) && !Less(2, 1) && std::filesystem::exists(here / "neighbour") ? 0 : 1;
}
""",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    tree = tmp_path_factory.mktemp("tree")
    for name, text in FILES.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    subprocess.run(["cmake", "-S", tree, "-B", tree / "build", "-G", "Ninja"], check=True, capture_output=True, timeout=300)
    return tree


def verdict(tree, path, after):
    build = Build(tree / "build", 300)
    mutant = next(m for m in mutants_of(path, FILES[path]) if m.after.strip() == after)
    with Trial(build, mutant, tree, tree / "mutants" / "one") as trial:
        return trial.compile() or trial.try_tests("")


def test_a_mutant_is_killed_by_the_program_that_links_it_or_survives(tree):
    assert verdict(tree, "src/base/f.cpp", "if (!(a < b)) {") == ("killed", "f_test")
    assert verdict(tree, "src/base/f.cpp", "if (a <= b) {") == ("survived", "1 test programs")
    assert verdict(tree, "src/base/g.cpp", "return a - a;") == ("survived", "1 test programs")
    assert not list((tree / "mutants").iterdir())
    assert {name: (tree / name).read_text() for name in FILES} == FILES, "the tree is as it was"


def test_what_does_not_compile_or_is_not_built_is_no_mutant(tree):
    build = Build(tree / "build", 300)
    wrong = next(mutants_of("src/base/f.cpp", FILES["src/base/f.cpp"]))
    for path, after, why in (("src/base/f.cpp", "  if (a ! b) {", "does not compile"), ("test.h", wrong.after, "is not built")):
        (tree / "test.h").write_text(FILES["src/base/f.cpp"])
        mutant = type(wrong)(path, wrong.line, wrong.kind, wrong.before, after)
        with Trial(build, mutant, tree, tree / "mutants" / "two") as trial:
            assert trial.compile().startswith(why)


def test_a_test_that_fails_without_a_mutant_kills_none(tree):
    build = Build(tree / "build", 300)
    build._sound["f_test"] = False
    mutant = next(m for m in mutants_of("src/base/f.cpp", FILES["src/base/f.cpp"]) if m.kind == "condition")
    with Trial(build, mutant, tree, tree / "mutants" / "three") as trial:
        assert trial.compile() is None and trial.try_tests("")[0] == "survived"
