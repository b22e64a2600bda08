// Splits text at the matches of one regular expression (PCRE2, compiled to machine code where the platform allows).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inferflux::text {

class RegexSplitter {
 public:
  // The pattern is UTF-8 with Unicode properties; \s and \S mean White_Space. `.` and ^ $ ignore lines.
  static Result<RegexSplitter> Compile(std::string_view pattern);

  RegexSplitter(RegexSplitter&&) noexcept;
  RegexSplitter& operator=(RegexSplitter&&) noexcept;
  ~RegexSplitter();

  // Appends the end of each piece of `text`, valid UTF-8, as an offset plus `base`: the matches and the text between
  // them, in order. Pieces are not empty, and the last one ends at the text's end. Thread-safe.
  void Split(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) const;

 private:
  struct Impl;
  explicit RegexSplitter(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace inferflux::text
