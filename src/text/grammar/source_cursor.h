// A place in the source of a grammar, for the parsers of notations that people write by hand: blanks and comments
// between words, and errors that name the line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace inferflux::text {

class SourceCursor {
 protected:
  // `comment` begins a comment that ends with its line, as '#' always does; empty: only '#'.
  explicit SourceCursor(std::string_view source, std::string_view comment = {}) : source_(source), comment_(comment) {}

  std::ptrdiff_t Line() const { return 1 + std::ranges::count(source_.substr(0, at_), '\n'); }

  template <class... Args>
  tl::unexpected<Error> Wrong(fmt::format_string<Args...> format, Args&&... args) const {
    return Fail(ErrorCode::kInvalidArgument, "line {}: {}", Line(), fmt::format(format, std::forward<Args>(args)...));
  }

  bool Next(std::string_view text) const { return source_.substr(at_).starts_with(text); }
  bool Take(std::string_view text) {
    if (!Next(text)) return false;
    at_ += text.size();
    return true;
  }

  // Skips comments too. `lines`: and line ends.
  void SkipSpace(bool lines) {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (c == '#' || (!comment_.empty() && Next(comment_))) {
        at_ = std::min(source_.find('\n', at_), source_.size());
      } else if (c == ' ' || c == '\t' || c == '\r' || (lines && c == '\n')) {
        ++at_;
      } else {
        return;
      }
    }
  }

  const std::string_view source_;
  size_t at_ = 0;

 private:
  const std::string_view comment_;
};

}  // namespace inferflux::text
