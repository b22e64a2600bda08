#include "text/tokenizer/algorithms/greedy_matcher.h"

#include <cctype>

#include "base/work_budget/work_budget.h"

namespace inferflux::text {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const int lower = std::tolower(static_cast<unsigned char>(c));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

std::string UnescapeGreedyToken(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out.push_back(text[i]);
      continue;
    }
    const char escaped = text[++i];
    if (escaped == 'n') {
      out.push_back('\n');
    } else if (escaped == 't') {
      out.push_back('\t');
    } else if (escaped == 'r') {
      out.push_back('\r');
    } else if (escaped == 'x' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 && HexDigit(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(escaped);
    }
  }
  return out;
}

GreedyMatcher::GreedyMatcher(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const std::string_view bytes = vocabulary.Bytes(id);
    if (!bytes.empty() && !vocabulary.IsControl(id)) tokens_.SetValue(tokens_.Insert(bytes), id);
  }
}

void GreedyMatcher::Encode(std::string_view run, bool /*first*/, std::vector<TokenId>& out) const {
  for (size_t at = 0; at < run.size() && !WorkBudget::Spent();) {
    ByteTrie::Node node = ByteTrie::kRoot;
    TokenId longest = kNoToken;
    size_t longest_end = at + 1;
    for (size_t end = at; end < run.size();) {
      node = tokens_.Step(node, run[end++]);
      if (node == ByteTrie::kNone) break;
      if (tokens_.ValueAt(node) == ByteTrie::kNoValue) continue;
      longest = tokens_.ValueAt(node);
      longest_end = end;
    }
    if (longest == kNoToken && vocabulary_.spec().unk) longest = *vocabulary_.spec().unk;
    if (longest != kNoToken) out.push_back(longest);
    at = longest_end;
  }
}

}  // namespace inferflux::text
