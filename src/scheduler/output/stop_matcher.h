// Finds stop strings in the text of a generation as it arrives. Text that may begin a stop string is held back until
// that is decided, so no part of a stop string is ever sent. The result does not depend on how the text was split: of
// several stop strings, the one that is complete first ends the text; of those, the one that begins first.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inferflux::scheduler {

class StopMatcher {
 public:
  // Stop strings must be non-empty, valid UTF-8, so that released text never ends inside a character.
  explicit StopMatcher(const std::vector<std::string>& stops);

  // Takes the next piece and returns the text that certainly precedes any stop string. Once matched, returns nothing
  // more.
  std::string Push(std::string_view text);

  // The generation ended otherwise: returns the held-back text.
  std::string Finish();

  bool matched() const { return matched_.has_value(); }
  // The stop string that ended the text.
  const std::optional<std::string>& match() const { return matched_; }

 private:
  // The automaton of Knuth, Morris and Pratt (SIAM J. Comput. 6(2), 1977).
  struct Automaton {
    std::string stop;
    std::vector<size_t> fallback;  // [i]: the longest proper prefix of stop[0..i] that is also its suffix
    size_t seen = 0;               // length of the prefix of `stop` that the text so far ends with

    void Take(char byte);
  };

  std::vector<Automaton> automata_;
  std::string held_;
  std::optional<std::string> matched_;
};

}  // namespace inferflux::scheduler
