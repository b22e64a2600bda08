// Passes JSON on as it arrives, without the white space between its tokens.
#pragma once

#include <string>
#include <utility>

namespace inferflux::text {

// A character, an escape and a surrogate pair are passed on only whole, so no piece ends inside one.
class CompactJson {
 public:
  void Push(char c);
  // What is whole since the last call.
  std::string Take() { return std::exchange(ready_, {}); }
  // The beginning of what is not whole yet.
  const std::string& held() const { return held_; }

 private:
  std::string ready_;
  std::string held_;  // of a string
  bool in_string_ = false;
};

}  // namespace inferflux::text
