#include "text/tokenizer/algorithms/charsmap.h"

#include <cstring>

#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

// Darts-clone packs a unit's label, its leaf mark and the offset of its children into 32 bits.
bool HasLeaf(uint32_t unit) { return ((unit >> 8) & 1) != 0; }
uint32_t Value(uint32_t unit) { return unit & 0x7FFFFFFF; }
uint32_t Label(uint32_t unit) { return unit & 0x800000FF; }
uint32_t Offset(uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }

}  // namespace

Result<Charsmap> Charsmap::Parse(std::string_view bytes) {
  Charsmap map;
  if (bytes.empty()) return map;
  uint32_t trie_bytes = 0;
  if (bytes.size() < sizeof(trie_bytes)) {
    return Fail(ErrorCode::kDataLoss, "the normaliser's character map has {} bytes, too few for its header",
                bytes.size());
  }
  std::memcpy(&trie_bytes, bytes.data(), sizeof(trie_bytes));
  bytes.remove_prefix(sizeof(trie_bytes));
  if (trie_bytes > bytes.size() || trie_bytes % sizeof(uint32_t) != 0) {
    return Fail(ErrorCode::kDataLoss, "the normaliser's character map says its trie has {} bytes, but {} follow",
                trie_bytes, bytes.size());
  }
  map.units_.resize(trie_bytes / sizeof(uint32_t));
  if (trie_bytes > 0) std::memcpy(map.units_.data(), bytes.data(), trie_bytes);
  map.replacements_ = bytes.substr(trie_bytes);
  return map;
}

Charsmap::Match Charsmap::LongestMatch(std::string_view text) const {
  Match match;
  if (units_.empty()) return match;
  uint32_t node = Offset(units_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    node ^= byte;
    if (byte == 0 || node >= units_.size() || Label(units_[node]) != byte) break;
    const uint32_t unit = units_[node];
    node ^= Offset(unit);
    if (node >= units_.size()) break;
    if (!HasLeaf(unit)) continue;
    const uint32_t begin = Value(units_[node]);
    if (begin >= replacements_.size()) continue;
    const size_t end = replacements_.find('\0', begin);
    if (end == std::string::npos) continue;
    match = {i + 1, std::string_view(replacements_).substr(begin, end - begin)};
  }
  return match;
}

std::string Charsmap::Apply(std::string_view text) const {
  if (units_.empty()) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Match match = LongestMatch(text.substr(at));
    if (match.size > 0) {
      out.append(match.replacement);
      at += match.size;
      continue;
    }
    const unicode::Utf8Char c = unicode::DecodeUtf8(text, at);
    out.append(text.substr(at, c.size));
    at += c.size;
  }
  return out;
}

}  // namespace inferflux::text
