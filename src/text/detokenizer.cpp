#include "text/detokenizer.h"

#include <algorithm>

#include "unicode/utf8.h"

namespace inferflux::text {

std::string Detokenizer::Push(TokenId id) {
  const bool shown = std::ranges::find(options_.shown_control, id) != options_.shown_control.end();
  std::string_view bytes = tokenizer_->Bytes(id, shown);
  if (bytes.empty()) return {};
  if (drop_space_) {
    drop_space_ = false;
    if (bytes.front() == ' ') bytes.remove_prefix(1);
  }
  held_ += bytes;
  std::string out;
  size_t at = 0;
  while (at < held_.size()) {
    const unicode::Utf8Char c = unicode::DecodeUtf8(held_, at);
    if (c.truncated) break;
    if (c.valid) {
      out.append(held_, at, c.size);
    } else {
      out.append(unicode::kReplacementUtf8);
    }
    at += c.size;
  }
  held_.erase(0, at);
  return out;
}

std::string Detokenizer::Finish() {
  std::string out;
  if (!held_.empty()) out = unicode::kReplacementUtf8;
  held_.clear();
  return out;
}

}  // namespace inferflux::text
