// Random strings, compared with Hugging Face's `tokenizers`; tools/tokenizer_golden.py makes the files.
// INFERFLUX_TOKENIZER_GOLDEN names another directory of such files, such as the long comparison's.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "text/tokenizer/vocabularies.h"

namespace inferflux::text {
namespace {

namespace fs = std::filesystem;

fs::path Directory() {
  if (const char* dir = std::getenv("INFERFLUX_TOKENIZER_GOLDEN")) return dir;
  return fs::path(INFERFLUX_SOURCE_DIR) / "tests" / "data" / "tokenizers";
}

std::vector<std::string> Lines(const fs::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string FromHex(std::string_view hex) {
  std::string text;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    text.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return text;
}

struct Files {
  VocabSpec vocab;
  MergeSpec merges;
};

Files ReadVocabulary(const fs::path& path) {
  Files files;
  for (const std::string& line : Lines(path)) {
    std::istringstream fields(line);
    std::string what, a, b, c;
    fields >> what >> a >> b >> c;
    if (what == "model") {
      files.vocab.model = a;
    } else if (what == "prefix") {
      files.vocab.space_prefix = a == "every" ? SpacePrefix::kEveryRun : SpacePrefix::kNever;
    } else if (what == "t") {
      testing::AddToken(files.vocab, FromHex(c), static_cast<TokenKind>(std::stoi(a)), std::stof(b));
    } else if (what == "m") {
      files.merges.merges.push_back(fmt::format("{} {}", FromHex(a), FromHex(b)));
    }
  }
  for (const char* unknown : {"<unk>", "[UNK]"}) {
    const auto& tokens = files.vocab.tokens;
    const auto at = std::find(tokens.begin(), tokens.end(), unknown);
    if (at != tokens.end()) files.vocab.unk = static_cast<TokenId>(at - tokens.begin());
  }
  return files;
}

// FNV-1a over little-endian 32-bit ids, folded to 24 bits.
std::string Digest(const std::vector<TokenId>& tokens) {
  uint32_t hash = 0x811C9DC5;
  for (const TokenId id : tokens) {
    for (int byte = 0; byte < 4; ++byte)
      hash = (hash ^ ((static_cast<uint32_t>(id) >> (8 * byte)) & 0xFF)) * 0x01000193;
  }
  return fmt::format("{:06x}", (hash >> 8) ^ (hash & 0xFF));
}

TEST(Golden, TokensAreThoseOfHuggingFace) {
  std::vector<std::string> strings;
  for (const std::string& line : Lines(Directory() / "strings.txt")) strings.push_back(FromHex(line));
  ASSERT_GE(strings.size(), 1000U);
  size_t sets = 0;
  for (const auto& entry : fs::directory_iterator(Directory())) {
    if (entry.path().extension() != ".ids") continue;
    ++sets;
    const std::string set = entry.path().stem().string();
    const auto lines = Lines(entry.path());
    ASSERT_EQ(lines.size(), strings.size() + 2) << set;
    Files files = ReadVocabulary(Directory() / (lines[0].substr(6) + ".vocab"));
    if (const auto* row = model::FindPreTokenizer(lines[1].substr(4))) files.vocab.pre_tokenizer = &row->rules;
    const auto tokenizer = Tokenizer::Create(std::move(files.vocab), std::move(files.merges));
    ASSERT_TRUE(tokenizer) << set << ": " << tokenizer.error().message;
    size_t different = 0;
    for (size_t i = 0; i < strings.size(); ++i) {
      const auto tokens = (*tokenizer)->Encode(strings[i]);
      const auto most = (*tokenizer)->MostBytes(static_cast<int64_t>(tokens.size()));
      EXPECT_LE(strings[i].size(), most.value_or(strings[i].size())) << set << ", string " << i;
      if (Digest(tokens) == lines[i + 2] || ++different > 5) continue;
      ADD_FAILURE() << set << ", string " << i << ": " << ::testing::PrintToString(strings[i]) << " became "
                    << ::testing::PrintToString(testing::Names(**tokenizer, tokens));
    }
    EXPECT_EQ(different, 0U) << set << ": of " << strings.size() << " strings";
  }
  EXPECT_GT(sets, 0U);
}

}  // namespace
}  // namespace inferflux::text
