// Every id of the published tokenizer conformance sets, through the GGUF reader and the loader.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "formats/gguf/gguf_file.h"
#include "model/loading/vocab_from_gguf.h"
#include "support/conformance.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kSeparator = "\n__ggml_vocab_test__\n";

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> Texts(const std::filesystem::path& path) {
  const std::string all = ReadAll(path);
  std::vector<std::string> texts;
  size_t at = 0;
  for (size_t end = all.find(kSeparator); end != std::string::npos; end = all.find(kSeparator, at)) {
    texts.push_back(all.substr(at, end - at));
    at = end + kSeparator.size();
  }
  return texts;
}

std::vector<std::vector<TokenId>> Expected(const std::filesystem::path& path) {
  std::vector<std::vector<TokenId>> lines;
  std::istringstream all(ReadAll(path));
  for (std::string line; std::getline(all, line);) {
    std::istringstream ids(line);
    lines.emplace_back(std::istream_iterator<TokenId>(ids), std::istream_iterator<TokenId>());
  }
  return lines;
}

class TokenizerConformance : public ::testing::TestWithParam<std::string> {};

TEST_P(TokenizerConformance, AllIdsAreEqual) {
  const std::string set = "tokenizers/ggml-vocab-" + GetParam() + ".gguf";
  INFERFLUX_REQUIRE_CONFORMANCE(set);
  const std::string path = (testing::ConformanceDir() / set).string();
  auto file = formats::GgufFile::Open(path);
  ASSERT_TRUE(file) << file.error().message;
  auto specs = VocabFromGguf((*file)->metadata());
  ASSERT_TRUE(specs) << specs.error().message;
  auto tokenizer = text::Tokenizer::Create(std::move(specs->vocab), std::move(specs->merges));
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;

  const auto texts = Texts(path + ".inp");
  const auto expected = Expected(path + ".out");
  ASSERT_EQ(texts.size(), 46U);
  ASSERT_EQ(expected.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ((*tokenizer)->Encode(texts[i]), expected[i]) << "text " << i << ": '" << texts[i] << "'";
  }
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, TokenizerConformance,
                         ::testing::Values("gpt-2", "llama-spm", "phi-3", "deepseek-llm", "falcon", "bert-bge"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace inferflux::model
