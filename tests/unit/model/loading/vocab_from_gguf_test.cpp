#include "model/loading/vocab_from_gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "formats/gguf/gguf_file.h"
#include "formats/gguf/gguf_writer.h"
#include "model/families/tokenizers/tokenizer_traits.h"

namespace inferflux::model {
namespace {

using formats::GgufWriter;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using text::SpacePrefix;
using text::TokenKind;

// The specs of a file with the given keys.
Result<VocabSpecs> Load(const std::function<void(GgufWriter&)>& fill) {
  std::ostringstream out(std::ios::binary);
  GgufWriter writer(out);
  fill(writer);
  EXPECT_TRUE(writer.WriteHeader());
  EXPECT_TRUE(writer.Finish());
  const std::string bytes = out.str();
  std::vector<uint64_t> aligned((bytes.size() + 7) / 8);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  auto file = formats::GgufFile::Parse(std::as_bytes(std::span(aligned)).first(bytes.size()));
  if (!file) return Forward(file);
  return VocabFromGguf((*file)->metadata());
}

struct Token {
  std::string text;
  int32_t kind;
};

void SetTokens(GgufWriter& writer, const std::string& model, const std::vector<Token>& tokens) {
  std::vector<std::string> texts;
  std::vector<int32_t> kinds;
  for (const Token& token : tokens) {
    texts.push_back(token.text);
    kinds.push_back(token.kind);
  }
  writer.Set("tokenizer.ggml.model", model);
  if (model == "gpt2") writer.Set("tokenizer.ggml.pre", "gpt-2");
  writer.SetArray("tokenizer.ggml.tokens", std::span<const std::string>(texts));
  writer.SetArray("tokenizer.ggml.token_type", std::span<const int32_t>(kinds));
}

TEST(VocabFromGguf, TakesWhatTheFileSays) {
  const auto specs = Load([](GgufWriter& writer) {
    SetTokens(writer, "gpt2", {{"a", 1}, {"b", 1}, {"ab", 1}, {"<|im_end|>", 3}, {"<|endoftext|>", 3}});
    const std::vector<std::string> merges = {"a b"};
    writer.SetArray("tokenizer.ggml.merges", std::span<const std::string>(merges));
    writer.Set("tokenizer.ggml.pre", "qwen2");
    writer.Set("tokenizer.ggml.bos_token_id", uint32_t{4});
    writer.Set("tokenizer.ggml.eos_token_id", uint32_t{3});
    writer.Set("tokenizer.ggml.padding_token_id", uint32_t{99});  // out of range: ignored
    writer.Set("tokenizer.ggml.add_bos_token", true);
  });
  ASSERT_TRUE(specs) << specs.error().message;
  const text::VocabSpec& vocab = specs->vocab;
  EXPECT_EQ(vocab.pre_tokenizer, &FindPreTokenizer("qwen2")->rules);
  EXPECT_THAT(vocab.tokens, ElementsAre("a", "b", "ab", "<|im_end|>", "<|endoftext|>"));
  EXPECT_THAT(specs->merges.merges, ElementsAre("a b"));
  EXPECT_EQ(vocab.bos, 4);
  EXPECT_EQ(vocab.eos, 3);
  EXPECT_EQ(vocab.pad, std::nullopt);
  EXPECT_TRUE(vocab.add_bos);
  EXPECT_FALSE(vocab.add_eos);
  EXPECT_THAT(vocab.end_of_generation, ElementsAre(3, 4));
}

TEST(VocabFromGguf, SentencePieceStartsTextsWithBosAndASpaceUnlessTheFileSaysOtherwise) {
  const std::vector<Token> tokens = {{"<unk>", 2}, {"<s>", 3}, {"</s>", 3}, {"a", 1}};
  const auto silent = Load([&](GgufWriter& writer) { SetTokens(writer, "llama", tokens); });
  ASSERT_TRUE(silent) << silent.error().message;
  EXPECT_EQ(silent->vocab.space_prefix, SpacePrefix::kEveryRun);
  EXPECT_TRUE(silent->vocab.add_bos);
  EXPECT_EQ(silent->vocab.bos, 1);
  EXPECT_EQ(silent->vocab.unk, 0);
  EXPECT_THAT(silent->vocab.end_of_generation, ElementsAre(2));
  const auto gemma = Load([&](GgufWriter& writer) {
    SetTokens(writer, "llama", tokens);
    writer.Set("tokenizer.ggml.add_space_prefix", false);
    writer.Set("tokenizer.ggml.add_bos_token", false);
  });
  ASSERT_TRUE(gemma) << gemma.error().message;
  EXPECT_EQ(gemma->vocab.space_prefix, SpacePrefix::kNever);
  EXPECT_FALSE(gemma->vocab.add_bos);
}

// Some files mark turn markers as user-defined or normal. A user could then write one.
TEST(VocabFromGguf, TurnMarkersAreControlTokensWhateverTheFileCallsThem) {
  const auto specs = Load([](GgufWriter& writer) {
    SetTokens(writer, "gpt2", {{"<|im_start|>", 4}, {"<|im_end|>", 1}, {"<tool_call>", 4}, {"stop", 1}, {"a", 1}});
    writer.Set("tokenizer.ggml.eos_token_id", uint32_t{3});
  });
  ASSERT_TRUE(specs) << specs.error().message;
  EXPECT_THAT(specs->vocab.kinds, ElementsAre(TokenKind::kControl, TokenKind::kControl, TokenKind::kUserDefined,
                                              TokenKind::kControl, TokenKind::kNormal));
  EXPECT_THAT(specs->vocab.end_of_generation, ElementsAre(1, 3));
}

TEST(VocabFromGguf, WhatEndsAMessageAmongSeveralDoesNotEndTheGeneration) {
  const auto phi = Load([](GgufWriter& writer) { SetTokens(writer, "gpt2", {{"a", 1}, {"<|end|>", 3}}); });
  ASSERT_TRUE(phi) << phi.error().message;
  EXPECT_THAT(phi->vocab.end_of_generation, ElementsAre(1));
  const auto harmony = Load([](GgufWriter& writer) {
    SetTokens(writer, "gpt2", {{"a", 1}, {"<|end|>", 3}, {"<|return|>", 3}, {"<|call|>", 3}});
  });
  ASSERT_TRUE(harmony) << harmony.error().message;
  EXPECT_THAT(harmony->vocab.end_of_generation, ElementsAre(2, 3));
}

TEST(VocabFromGguf, AFileWithoutAVocabularyIsAnErrorThatNamesTheKey) {
  const auto no_model = Load([](GgufWriter& writer) { writer.Set("general.architecture", "llama"); });
  ASSERT_FALSE(no_model);
  EXPECT_THAT(no_model.error().message, HasSubstr("tokenizer.ggml.model"));
  const auto no_tokens = Load([](GgufWriter& writer) { writer.Set("tokenizer.ggml.model", "llama"); });
  ASSERT_FALSE(no_tokens);
  EXPECT_THAT(no_tokens.error().message, HasSubstr("tokenizer.ggml.tokens"));
  const auto wrong_kinds = Load([](GgufWriter& writer) {
    SetTokens(writer, "gpt2", {{"a", 1}, {"b", 1}});
    const std::vector<int32_t> kinds = {1};
    writer.SetArray("tokenizer.ggml.token_type", std::span<const int32_t>(kinds));
  });
  ASSERT_FALSE(wrong_kinds);
  EXPECT_THAT(wrong_kinds.error().message, HasSubstr("2 tokens, but 1 token types"));
}

TEST(VocabFromGguf, AnUnknownPreTokenizerIsAnErrorThatNamesItAndTheWayOut) {
  const auto load = [](const std::string& pre) {
    return Load([&](GgufWriter& writer) {
      SetTokens(writer, "gpt2", {{"a", 1}});
      writer.Set("tokenizer.ggml.pre", pre);
    });
  };
  const auto unknown = load("nonesuch");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(unknown.error().message, HasSubstr("'nonesuch'"));
  EXPECT_THAT(unknown.error().message, HasSubstr("llama-bpe"));
  EXPECT_THAT(load("").error().message, HasSubstr("tokenizer.ggml.pre"));
}

// If a file does not say, the family's tokenizer decides.
TEST(VocabFromGguf, BosComesFirstWhereTheFamilyHasItSo) {
  for (const auto& [pre, wanted] :
       {std::pair{"llama-bpe", true}, {"tekken", true}, {"qwen2", false}, {"lfm2", false}}) {
    const auto specs = Load([pre = pre](GgufWriter& writer) {
      SetTokens(writer, "gpt2", {{"a", 1}, {"<bos>", 3}});
      writer.Set("tokenizer.ggml.pre", pre);
      writer.Set("tokenizer.ggml.bos_token_id", uint32_t{1});
    });
    ASSERT_TRUE(specs) << specs.error().message;
    EXPECT_EQ(specs->vocab.add_bos, wanted) << pre;
  }
}

TEST(VocabFromGguf, ReadsKeysOfOurOwn) {
  const auto with = [](const std::vector<int32_t>& ends) {
    return Load([&](GgufWriter& writer) {
      SetTokens(writer, "llama", {{"<unk>", 2}, {"<s>", 3}, {"</s>", 3}, {"a", 1}, {"b", 1}});
      writer.Set("inferflux.tokenizer.space_prefix", "first");
      writer.SetArray("inferflux.tokenizer.end_of_generation", std::span<const int32_t>(ends));
      const std::vector<int32_t> strips = {3};
      writer.SetArray("inferflux.tokenizer.strips_left", std::span<const int32_t>(strips));
      writer.SetArray("inferflux.tokenizer.strips_right", std::span<const int32_t>(strips));
    });
  };
  const auto specs = with({4, 2, 3});
  ASSERT_TRUE(specs) << specs.error().message;
  EXPECT_EQ(specs->vocab.space_prefix, SpacePrefix::kFirstRun);
  EXPECT_THAT(specs->vocab.end_of_generation, ElementsAre(2, 3, 4));
  EXPECT_EQ(specs->vocab.kinds[4], TokenKind::kNormal) << "an end that is text stays text";
  EXPECT_THAT(specs->vocab.strips_left, ElementsAre(3));
  EXPECT_THAT(specs->vocab.strips_right, ElementsAre(3));
  EXPECT_THAT(with({5}).error().message, HasSubstr("names token 5, but there are 5 tokens"));
}

}  // namespace
}  // namespace inferflux::model
