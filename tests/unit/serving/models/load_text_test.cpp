// The text settings of a model's file, and what of them is refused.
#include "serving/models/load_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/gguf/gguf_metadata_builder.h"
#include "model/loading/model_source.h"

namespace inferflux::serving {
namespace {

using ::testing::StartsWith;
using Builder = formats::GgufMetadataBuilder;

// A model of three tokens.
std::unique_ptr<model::ModelSource> SourceOf(const std::function<void(Builder&)>& edit, int64_t embedding_rows = 0,
                                             const std::string& format = "gguf") {
  Builder builder;
  builder.Set("general.architecture", "llama");
  builder.Set("tokenizer.ggml.model", "gpt2");
  builder.Set("tokenizer.ggml.pre", "gpt-2");
  builder.SetArray("tokenizer.ggml.tokens", std::span<const std::string>(std::vector<std::string>{"a", "b", "<s>"}));
  builder.SetArray("tokenizer.ggml.token_type", std::span<const int32_t>(std::vector<int32_t>{1, 1, 3}));
  builder.SetArray("tokenizer.ggml.merges", std::span<const std::string>());
  edit(builder);
  std::vector<model::ModelSource::Tensor> tensors;
  if (embedding_rows > 0) {
    tensors.push_back(
        {.matrix = {.name = "token_embd.weight", .rows = embedding_rows, .cols = 1, .data = {}, .owner = {}},
         .make = {}});
  }
  return std::make_unique<model::ModelSource>("/m", format, builder.Build("/m"), std::move(tensors), nullptr);
}

std::string ErrorOf(const std::function<void(Builder&)>& edit) {
  const auto text = LoadText(*SourceOf(edit));
  return text ? "" : text.error().message;
}

TEST(LoadText, AModelMayHaveNoTemplate) {
  const auto text = LoadText(*SourceOf([](Builder&) {}));
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(text->tokenizer->size(), 3);
  EXPECT_EQ(text->chat_template, nullptr);
  EXPECT_EQ(text->rerank_template, "");
  EXPECT_EQ(text->pair_separators, 1);
}

TEST(LoadText, TemplatesAreThoseOfTheFile) {
  const auto text = LoadText(*SourceOf([](Builder& file) {
    file.Set("tokenizer.chat_template", "{{ messages }}");
    file.Set("tokenizer.chat_template.rerank", "{query} {document}");
  }));
  ASSERT_TRUE(text) << text.error().message;
  ASSERT_NE(text->chat_template, nullptr);
  EXPECT_EQ(text->chat_template->source(), "{{ messages }}");
  EXPECT_EQ(text->rerank_template, "{query} {document}");
  EXPECT_THAT(ErrorOf([](Builder& file) { file.Set("tokenizer.chat_template", "{{"); }),
              StartsWith("/m: its chat template: "));
}

TEST(LoadText, AVocabularyIsNeeded) {
  const auto none = [](Builder& file) { file.Remove("tokenizer.ggml.model"); };
  const auto file = LoadText(*SourceOf(none));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(file.error().message, "/m: no vocabulary: a GGUF file of a model has one under tokenizer.ggml.*");
  EXPECT_EQ(LoadText(*SourceOf(none, 0, "huggingface")).error().message,
            "/m: no vocabulary: a directory has it in tokenizer.json or tokenizer.model");
}

TEST(LoadText, EachTokenHasARowOfTheEmbedding) {
  EXPECT_TRUE(LoadText(*SourceOf([](Builder&) {}, 3)));
  EXPECT_TRUE(LoadText(*SourceOf([](Builder&) {}, 4)));
  const auto fewer = LoadText(*SourceOf([](Builder&) {}, 2));
  ASSERT_FALSE(fewer);
  EXPECT_EQ(fewer.error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(fewer.error().message, "/m: tokenizer.ggml.tokens has 3 tokens, but token_embd.weight only 2 rows");
}

TEST(LoadText, TheSeparatorsOfAPairFollowFromTheVocabulary) {
  struct Case {
    const char* model;
    std::optional<bool> separator, begin;
    int32_t separators;
  };
  for (const Case& each : {Case{"gpt2", {}, {}, 1}, Case{"gpt2", true, {}, 2}, Case{"gpt2", false, true, 1},
                           Case{"gpt2", {}, true, 1}, Case{"t5", {}, true, 2}, Case{"t5", {}, false, 1},
                           Case{"t5", true, false, 2}, Case{"bert", true, {}, 1}, Case{"bert", true, true, 1}}) {
    const auto text = LoadText(*SourceOf([&](Builder& file) {
      file.Set("tokenizer.ggml.model", each.model);
      if (std::string_view(each.model) != "gpt2") {
        file.SetArray("tokenizer.ggml.scores", std::span<const float>(std::vector<float>{0, 0, 0}));
        file.SetArray("tokenizer.ggml.token_type", std::span<const int32_t>(std::vector<int32_t>{1, 1, 2}));
        file.Set("tokenizer.ggml.unknown_token_id", uint32_t{2});
      }
      if (each.separator) file.Set("tokenizer.ggml.add_sep_token", *each.separator);
      if (each.begin) file.Set("tokenizer.ggml.add_bos_token", *each.begin);
      if (each.begin) file.Set("tokenizer.ggml.bos_token_id", uint32_t{0});
    }));
    ASSERT_TRUE(text) << each.model << ": " << text.error().message;
    EXPECT_EQ(text->pair_separators, each.separators) << each.model;
  }
}

TEST(LoadText, AFileMaySayHowManySeparatorsAPairHas) {
  const auto with = [](int64_t count) {
    const auto text = LoadText(*SourceOf([&](Builder& file) {
      file.Set("inferflux.tokenizer.pair_separators", count);
      file.Set("tokenizer.ggml.add_sep_token", true);
    }));
    return text ? std::to_string(text->pair_separators) : text.error().message;
  };
  EXPECT_EQ(with(0), "0");
  EXPECT_EQ(with(8), "8");
  for (const int64_t wrong : {-1, 9}) {
    EXPECT_EQ(with(wrong),
              "/m: inferflux.tokenizer.pair_separators is " + std::to_string(wrong) + ", which is not between 0 and 8");
  }
}

TEST(LoadText, AValueOfAnotherTypeIsNamed) {
  for (const char* key : {"tokenizer.ggml.add_sep_token", "tokenizer.ggml.add_bos_token",
                          "inferflux.tokenizer.pair_separators", "tokenizer.chat_template.rerank"}) {
    const bool text = std::string_view(key).ends_with("rerank");
    const std::string why = ErrorOf([&](Builder& file) { text ? file.Set(key, true) : file.Set(key, "x"); });
    EXPECT_NE(why.find(key), std::string::npos) << key << ": " << why;
  }
}

}  // namespace
}  // namespace inferflux::serving
