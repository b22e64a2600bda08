// Text with its origin: the output of a chat template, and the input of the tokenizer.
#pragma once

#include <string>

namespace inferflux::text {

// A piece of UTF-8 text of one origin. `trusted` text came from the template itself (or from the bos/eos variables of
// the model's own files); only such text may match control tokens. Everything from a request is untrusted, whatever was
// done to it in between. A character never spans two pieces.
struct TextSpan {
  std::string text;
  bool trusted = false;

  friend bool operator==(const TextSpan&, const TextSpan&) = default;
};

}  // namespace inferflux::text
