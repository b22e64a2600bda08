// POST /infill and the suffix of completions, on a vocabulary with marks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "server/fake_model.h"

namespace inferflux::testing {
namespace {

using ::testing::HasSubstr;

// The 256 bytes, and the marks as tokens 256 to 258.
std::shared_ptr<const text::Tokenizer> MarkedTokenizer() {
  text::VocabSpec vocab;
  vocab.model = "gpt2";
  vocab.pre_tokenizer = &model::FindPreTokenizer("gpt-2")->rules;
  for (int byte = 0; byte < 256; ++byte) {
    std::string letter;
    unicode::AppendUtf8(text::ByteToAlphabet(static_cast<uint8_t>(byte)), letter);
    vocab.tokens.push_back(letter);
  }
  vocab.kinds.assign(256, text::TokenKind::kNormal);
  for (const char* mark : {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|end|>"}) {
    vocab.tokens.push_back(mark);
    vocab.kinds.push_back(text::TokenKind::kControl);
  }
  vocab.eos = 259;
  auto tokenizer = text::Tokenizer::Create(std::move(vocab), {});
  EXPECT_TRUE(tokenizer.has_value());
  return *tokenizer;
}

void SayMiddle(const GenerationRequest&, TokenStream& stream) {
  stream.Push(Piece("mid"));
  stream.Push(Piece("dle"));
  stream.Push(End(FinishReason::kStop, 5, 2));
}

class InfillTest : public ::testing::Test {
 protected:
  FakeServer fake_{SayMiddle, {}, [](serving::ServedModel& model) { model.tokenizer = MarkedTokenizer(); }};
  std::vector<TokenId> Prompt() { return fake_.scheduler->requests().back().prompt; }
  const std::vector<TokenId> wanted_ = {256, 'a', 'b', 257, 'c', 258};
};

TEST_F(InfillTest, ThePromptIsPrefixSuffixMiddle) {
  const auto answer =
      fake_.PostJson("/infill", R"({"input_prefix":"a","prompt":"b","input_suffix":"c","n_predict":9})");
  EXPECT_EQ(answer.at("content"), "middle") << boost::json::serialize(answer);
  EXPECT_EQ(answer.at("stop"), true);
  EXPECT_EQ(answer.at("stop_type"), "eos");
  EXPECT_EQ(Prompt(), wanted_);
  EXPECT_EQ(fake_.scheduler->requests().back().max_tokens, 9);
  const std::string stream = fake_.Post("/infill", R"({"input_prefix":"ab","input_suffix":"c","stream":true})").body;
  EXPECT_THAT(stream, HasSubstr(R"({"content":"mid","stop":false})"));
  EXPECT_THAT(stream, HasSubstr(R"({"content":"","stop":true)"));
}

TEST_F(InfillTest, ASuffixOfACompletionIsTheSame) {
  EXPECT_EQ(fake_.PostJson("/v1/completions", R"({"prompt":"ab","suffix":"c"})").at("choices").at(0).at("text"),
            "middle");
  EXPECT_EQ(Prompt(), wanted_);
  EXPECT_EQ(
      fake_.PostJson("/api/generate", R"({"model":"fake","prompt":"ab","suffix":"c","stream":false})").at("response"),
      "middle");
  EXPECT_EQ(Prompt(), wanted_);
  EXPECT_EQ(fake_.Post("/v1/completions", R"({"prompt":[97],"suffix":"c"})").status, 400);
}

TEST_F(InfillTest, OtherFilesComeFirst) {
  fake_.PostJson("/infill", R"({"input_prefix":"a","input_suffix":"c","input_extra":[{"filename":"f","text":"xy"}]})");
  EXPECT_EQ(Prompt(), (std::vector<TokenId>{'x', 'y', '\n', 256, 'a', 257, 'c', 258}));
}

}  // namespace
}  // namespace inferflux::testing
