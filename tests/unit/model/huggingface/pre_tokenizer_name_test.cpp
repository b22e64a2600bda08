// A byte-level tokenizer's rule gets its GGUF name, or an error that contains the rule.
#include "model/huggingface/pre_tokenizer_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace inferflux::model {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string PreOf(const std::string& normalizer, const std::string& splits) {
  const std::string text =
      fmt::format(R"({{"normalizer":{},"pre_tokenizer":{},"model":{{"type":"BPE","vocab":{{"a":0}},"merges":[]}}}})",
                  normalizer, splits);
  const auto name =
      FindPreTokenizerName(*formats::ParseHfTokenizer(*formats::JsonObject::Parse(text, "tokenizer.json")));
  return name ? *name : name.error().message;
}

TEST(PreTokenizerName, IsFoundByTheRuleAlone) {
  const std::string qwen =
      R"({"type":"Sequence","pretokenizers":[{"type":"Split","behavior":"Isolated","pattern":{"Regex":
      "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
      {"type":"ByteLevel","use_regex":false}]})";
  EXPECT_EQ(PreOf(R"({"type":"NFC"})", qwen), "qwen2");
  EXPECT_EQ(PreOf("null", qwen), "deepseek-r1-qwen") << "the same pattern without normalising";
  EXPECT_EQ(PreOf("null", R"({"type":"ByteLevel"})"), "gpt-2");
  EXPECT_EQ(
      PreOf("null",
            R"({"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},{"type":"ByteLevel"}]})"),
      "starcoder");
  EXPECT_THAT(PreOf("null", R"({"type":"Split","pattern":{"Regex":"x+"}})"),
              AllOf(HasSubstr("[x+]"), HasSubstr("--pre")))
      << "never a near miss";
}

}  // namespace
}  // namespace inferflux::model
