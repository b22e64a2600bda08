// Wrong changes that are chosen at run time: switches.py writes them into a copy of the sources, MUTANT_NUMBER=N turns one on.
// The variable's name does not begin with INFERFLUX_, because programs refuse unknown variables that do.
// With MUTANTS_REACHED=FOLDER, a file N in that folder says that a program came to the place of mutant N.
#pragma once

#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <utility>

namespace mutation {

inline constexpr int kMost = 8192;

inline int Chosen() {
  static const int chosen = [] {
    const char* text = std::getenv("MUTANT_NUMBER");
    return text == nullptr ? -1 : std::atoi(text);
  }();
  return chosen;
}

inline const char* Folder() {
  static const char* const folder = std::getenv("MUTANTS_REACHED");
  return folder;
}

// Whether mutant `number` is the one that runs.
inline bool On(int number) {
  if (Folder() != nullptr) {
    static std::atomic<bool> reached[kMost];
    if (!reached[number].exchange(true)) {
      const int file = ::open((std::string(Folder()) + "/" + std::to_string(number)).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
      if (file >= 0) {
        ::close(file);
      }
    }
  }
  return Chosen() == number;
}

// A number for places that allow no narrowing, as {5} in an array of bytes.
struct Constant {
  int number, right, wrong;
  template <class T>
  operator T() const {
    return On(number) ? static_cast<T>(wrong) : static_cast<T>(right);
  }
};

// Stands between the operands: a < b becomes a < Operator{N} < b, which binds as before.
struct Operator {
  int number;
};

template <class Left>
struct Half {
  const Left& left;
  bool on;
};

#define MUTATION_OPERATOR(right, wrong)                                                  \
  template <class Left>                                                                  \
  Half<Left> operator right(const Left& left, Operator chosen) {                         \
    return {left, On(chosen.number)};                                                    \
  }                                                                                      \
  template <class Left, class Right>                                                     \
  auto operator right(Half<Left> half, const Right& other) {                             \
    return half.on ? half.left wrong other : half.left right other;                      \
  }

MUTATION_OPERATOR(<, <=)
MUTATION_OPERATOR(<=, <)
MUTATION_OPERATOR(>, >=)
MUTATION_OPERATOR(>=, >)
MUTATION_OPERATOR(==, !=)
MUTATION_OPERATOR(!=, ==)
MUTATION_OPERATOR(+, -)
MUTATION_OPERATOR(-, +)
#undef MUTATION_OPERATOR

}  // namespace mutation
