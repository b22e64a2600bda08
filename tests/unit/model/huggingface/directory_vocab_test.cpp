// Vocabularies of Hugging Face directories, compared with the libraries that made them (tools/sentencepiece_golden.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "formats/json/json_object.h"
#include "model/families/golden.h"
#include "model/loading/read_vocab.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::model {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::string ReadText(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::shared_ptr<const text::Tokenizer> Load(const std::string& directory) {
  auto specs = ReadVocab(directory);
  EXPECT_TRUE(specs) << specs.error().message;
  if (!specs) return nullptr;
  auto tokenizer = text::Tokenizer::Create(std::move(specs->vocab), std::move(specs->merges));
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return tokenizer ? *tokenizer : nullptr;
}

class SentencePieceDirectory : public ::testing::TestWithParam<const char*> {};

TEST_P(SentencePieceDirectory, TokenisesAsItsMakerDoes) {
  const std::string directory = testing::DataPath("sentencepiece/") + GetParam();
  const auto tokenizer = Load(directory);
  ASSERT_NE(tokenizer, nullptr);
  const auto golden = formats::ParseJson(ReadText(directory + "/golden.json"), "golden.json");
  ASSERT_TRUE(golden) << golden.error().message;
  ASSERT_GE(golden->as_array().size(), 200u);
  for (const auto& entry : golden->as_array()) {
    const auto text = formats::JsonAs<std::string>(entry.at(0), "text");
    const auto ids = formats::JsonAs<std::vector<int32_t>>(entry.at(1), "ids");
    EXPECT_EQ(tokenizer->Encode(*text), *ids) << *text;
  }
}

INSTANTIATE_TEST_SUITE_P(All, SentencePieceDirectory,
                         ::testing::Values("unigram-model", "unigram-json", "unigram_plain-json", "unigram_bytes-model",
                                           "bpe-model", "bpe-json"),
                         [](const auto& info) {
                           std::string name = info.param;
                           name[name.find('-')] = '_';
                           return name;
                         });

// A copy of the BPE ".model" directory with additional files.
class ModelFile : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(directory_);
    fs::copy(testing::DataPath("sentencepiece/bpe-model"), directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }
  void Write(const char* name, const std::string& text) { std::ofstream(directory_ / name, std::ios::binary) << text; }
  std::string Refusal() {
    const auto specs = ReadVocab(directory_.string());
    return specs ? "" : specs.error().message;
  }

  fs::path directory_;
};

TEST_F(ModelFile, AddedTokensComeFromBothFiles) {
  Write("config.json",
        R"({"model_type":"llama","vocab_size":425,"hidden_size":8,"num_hidden_layers":1,"num_attention_heads":1})");
  Write("added_tokens.json", R"({"<tool>": 420, "<|end|>": 421})");
  Write(
      "tokenizer_config.json",
      R"({"eos_token":"<|end|>","legacy":false,"added_tokens_decoder":{"421":{"content":"<|end|>","special":true,"rstrip":true}}})");
  Write("generation_config.json", R"({"eos_token_id":[421,2,3,4]})");
  const auto specs = ReadVocab(directory_.string());
  ASSERT_TRUE(specs) << specs.error().message;
  EXPECT_EQ(specs->vocab.tokens[420], "<tool>");
  EXPECT_EQ(specs->vocab.kinds[420], text::TokenKind::kUserDefined);
  EXPECT_EQ(specs->vocab.kinds[421], text::TokenKind::kControl);
  EXPECT_EQ(specs->vocab.kinds[424], text::TokenKind::kUnused) << "rows that no token has";
  EXPECT_EQ(specs->vocab.eos, 421);
  EXPECT_EQ(specs->vocab.bos, 1);
  EXPECT_TRUE(specs->vocab.add_bos) << "what Llama's tokenizers do where nothing is said";
  EXPECT_THAT(specs->vocab.end_of_generation, ::testing::IsSupersetOf({2, 3, 4, 421}));
  EXPECT_EQ(specs->vocab.strips_right, std::vector<TokenId>{421});
  EXPECT_EQ(specs->vocab.space_prefix, text::SpacePrefix::kFirstRun);
}

TEST_F(ModelFile, ThatContradictsItsDirectoryIsRefused) {
  Write("added_tokens.json", R"({"<tool>": 5})");
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("'<tool>'"), HasSubstr("id 5"), HasSubstr("tokenizer.model")));
  Write("added_tokens.json", R"({"<tool>": -1})");
  EXPECT_THAT(Refusal(), HasSubstr("id -1"));
  Write("added_tokens.json", R"({"<tool>": 420})");
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("421 tokens"), HasSubstr("vocab_size is 420")));
}

TEST_F(ModelFile, ThatIsCutShortIsRefusedAtEveryByte) {
  const std::string whole = ReadText(directory_ / "tokenizer.model");
  int refused = 0;
  for (size_t size = 0; size < whole.size(); size += 37) {
    Write("tokenizer.model", whole.substr(0, size));
    refused += Refusal().find("tokenizer.model") != std::string::npos;
  }
  EXPECT_GT(refused, 100) << "a cut between two fields leaves a smaller model";
  Write("tokenizer.model", "IQ== 0\nIg== 1\n");
  EXPECT_THAT(Refusal(), HasSubstr("tokenizer.model"));
}

TEST(UnigramJson, StepsWithoutCounterpartAreNamed) {
  const fs::path directory = fs::path(::testing::TempDir()) / "UnigramJson";
  fs::remove_all(directory);
  fs::create_directories(directory);
  fs::copy(testing::DataPath("sentencepiece/unigram-json/config.json"), directory / "config.json");
  const auto refusal = [&](const std::string& normalizer, const std::string& pre, const std::string& more = "") {
    std::ofstream(directory / "tokenizer.json")
        << R"({"normalizer":)" << normalizer << R"(,"pre_tokenizer":)" << pre
        << R"(,"model":{"type":"Unigram","vocab":[["<unk>",0],["a",-1]])" << more << "}}";
    const auto specs = ReadVocab(directory.string());
    return specs ? "" : specs.error().message;
  };
  EXPECT_EQ(refusal("null", R"({"type":"Metaspace"})", R"(,"unk_id":0)"), "");
  EXPECT_THAT(refusal(R"({"type":"Lowercase"})", "null"), HasSubstr("'Lowercase'"));
  EXPECT_THAT(refusal("null", R"({"type":"Digits"})"), HasSubstr("'Digits'"));
  EXPECT_THAT(refusal(R"({"type":"Precompiled","precompiled_charsmap":"=!"})", "null"), HasSubstr("base64"));
  EXPECT_THAT(refusal("null", "null", R"(,"unk_id":2)"), HasSubstr("unk_id is 2"));
  fs::remove_all(directory);
}

}  // namespace
}  // namespace inferflux::model
