"""The mutants that tools/mutation/mutate.py draws."""

import random

from mutants import draw, mutants_of, mutations

SOURCE = """#include <x>
constexpr int kTop = 3;
int f(int a, int b) {
  // if (a < b) return 7;
  if (a < b && ready(a, b)) return a + 1;
  log("a < b");
  ++count_;
  for (size_t i = 0; i < 10; ++i) {
  }
  const auto x = g(a);
  return b;
}
"""


def changed(kind):
    return [mutant.after.strip() for mutant in mutants_of("src/base/f.cpp", SOURCE) if mutant.kind == kind]


def test_each_kind_is_found_and_comments_and_strings_are_left_alone():
    assert changed("comparison") == ["if (a <= b && ready(a, b)) return a + 1;", "for (size_t i = 0; i <= 10; ++i) {"]
    assert changed("logic") == ["if (a < b || ready(a, b)) return a + 1;"]
    assert changed("arithmetic") == ["if (a < b && ready(a, b)) return a - 1;"]
    assert changed("swapped arguments") == ["if (a < b && ready(b, a)) return a + 1;"]
    assert changed("dropped statement") == [";", ";"], "the call and the increment, no declaration and no return"
    assert "for (size_t i = 1; i < 10; ++i) {" in changed("constant")


def test_a_mutant_changes_one_line():
    for mutant in mutants_of("src/base/f.cpp", SOURCE):
        before, after = SOURCE.split("\n"), mutant.apply(SOURCE).split("\n")
        assert len(before) == len(after) and sum(a != b for a, b in zip(before, after)) == 1


def test_a_conditions_negation_keeps_its_body():
    assert ("condition", "  if (!(a < b)) return;") in list(mutations("  if (a < b) return;")) or (
        "condition", "  if (!(a < b)) {") in list(mutations("  if (a < b) {"))


def test_a_seed_draws_the_same_mutants_from_every_floor():
    sources = {"src/base/f.cpp": SOURCE * 5, "src/net/g.cpp": SOURCE}
    first = draw(random.Random(7), sources, 10)
    assert first == draw(random.Random(7), dict(reversed(sources.items())), 10)
    assert first != draw(random.Random(8), sources, 10)
    assert len(first) == 10 == len(set(first))
    assert {mutant.path for mutant in first} == set(sources)
    assert sum(mutant.path == "src/net/g.cpp" for mutant in first) == 5, "each floor has its turn"
