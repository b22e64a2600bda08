// Converts tokens to text as they arrive, without ever splitting a character.
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
  // The tokens begin a text (a chat's answer), so the space that the tokenizer prepends to every text is removed. False
  // if they continue a text (a raw completion).
  bool starts_text = true;
  // Control tokens that are written by name; the others are omitted.
  std::vector<TokenId> shown_control = {};
};

// One for each stream; not thread-safe.
class Detokenizer {
 public:
  explicit Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, DetokenizerOptions options = {})
      : tokenizer_(std::move(tokenizer)),
        options_(std::move(options)),
        drop_space_(options_.starts_text && tokenizer_->adds_space_prefix()) {}

  // The text that `id` completes: valid UTF-8, possibly empty. Holds back at most three bytes of an unfinished
  // character. Bytes that can never become UTF-8 become U+FFFD, as with Python's errors="replace".
  std::string Push(TokenId id);

  // The rest at the end: U+FFFD for an unfinished character, otherwise nothing.
  std::string Finish();

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  DetokenizerOptions options_;
  bool drop_space_;
  std::string held_;  // the bytes of an unfinished character
};

}  // namespace inferflux::text
