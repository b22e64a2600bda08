#include "text/grammar/tokens/spelling.h"

#include "text/grammar/control_literal.h"

namespace inferflux::text {

Spelling::Spelling(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
  for (TokenId id = 0; id < tokenizer.size(); ++id) {
    if (tokenizer.IsControl(id) && !tokenizer.IsEndOfGeneration(id) && !tokenizer.Text(id).empty()) {
      control_.emplace(id, ControlSpelling(tokenizer.Text(id)));
    }
  }
}

std::string_view Spelling::Of(TokenId token) const {
  if (tokenizer_.IsEndOfGeneration(token)) return {};
  if (const auto found = control_.find(token); found != control_.end()) return found->second;
  const std::string_view bytes = tokenizer_.Bytes(token);
  return bytes.find(kControlByte) == std::string_view::npos ? bytes : std::string_view();
}

}  // namespace inferflux::text
