// Text with its provenance: what a chat template renders, and what the tokeniser takes.
#pragma once

#include <string>

namespace inferflux::text {

// A piece of UTF-8 text of one origin. `trusted` text came from the template itself (or from the bos/eos variables
// that the model's own files set); only such text may match control tokens. Everything a request supplied is not
// trusted, whatever was done to it in between. A character never straddles two spans.
struct TextSpan {
  std::string text;
  bool trusted = false;

  friend bool operator==(const TextSpan&, const TextSpan&) = default;
};

}  // namespace inferflux::text
