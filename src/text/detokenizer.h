// Tokens to text, as they come: never half a character.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/token_id.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::text {

struct DetokenizerOptions {
  // The tokens start a text of their own (a chat's answer), so the space that the tokeniser puts in front of every text
  // is taken away. False where they go on with a text (a raw completion).
  bool starts_text = true;
  // Control tokens that are written by their names; the others are left out.
  std::vector<TokenId> shown_control = {};
};

// One for each stream; not thread-safe.
class Detokenizer {
 public:
  explicit Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, DetokenizerOptions options = {})
      : tokenizer_(std::move(tokenizer)),
        options_(std::move(options)),
        drop_space_(options_.starts_text && tokenizer_->adds_space_prefix()) {}

  // The text that `id` completes: valid UTF-8, possibly empty. At most three bytes of an unfinished character are held
  // back. Bytes that can never become UTF-8 are U+FFFD, as Python's errors="replace" writes them.
  std::string Push(TokenId id);

  // What is left at the end: U+FFFD for an unfinished character, else nothing.
  std::string Finish();

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  DetokenizerOptions options_;
  bool drop_space_;
  std::string held_;  // the bytes of an unfinished character
};

}  // namespace inferflux::text
