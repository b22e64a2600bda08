// The tokens that a model sees for a text with a hole.
#include "serving/generation/infill_prompt.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "serving/generation/marked_model.h"

namespace inferflux::serving {
namespace {

using testing::kMarkedEnd;
using testing::MarkedModel;
using Ids = std::vector<TokenId>;

constexpr TokenId kPrefix = kMarkedEnd + 1, kSuffix = kMarkedEnd + 2, kMiddle = kMarkedEnd + 3, kFile = kMarkedEnd + 4;
const std::vector<std::string> kMarks = {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"};
const InfillText kText{.prefix = "ab", .suffix = "c", .files = {{"n", "d"}, {"m", "e"}}};

TEST(InfillPromptTest, FilesComeFirstAndTheMiddleLast) {
  const ServedModel plain = MarkedModel(kMarks);
  EXPECT_EQ(InfillPrompt(plain, {.prefix = "ab", .suffix = "c"}).value(),
            (Ids{kPrefix, 'a', 'b', kSuffix, 'c', kMiddle}));
  EXPECT_EQ(InfillPrompt(plain, kText).value(), (Ids{'d', '\n', 'e', '\n', kPrefix, 'a', 'b', kSuffix, 'c', kMiddle}));
  EXPECT_EQ(InfillPrompt(plain, {.prefix = "", .suffix = ""}).value(), (Ids{kPrefix, kSuffix, kMiddle}));
}

TEST(InfillPromptTest, AFileHasItsNameWhereTheModelHasAMarkForIt) {
  std::vector<std::string> marks = kMarks;
  marks.push_back("<|file_sep|>");
  EXPECT_EQ(InfillPrompt(MarkedModel(marks), kText).value(),
            (Ids{kFile, 'n', '\n', 'd', kFile, 'm', '\n', 'e', kPrefix, 'a', 'b', kSuffix, 'c', kMiddle}));
}

TEST(InfillPromptTest, TheFirstTokenIsThatWhichTheFileAsksFor) {
  ServedModel model = MarkedModel(kMarks);
  const auto first = [&](bool has, bool adds) {
    model.tokenizer = testing::MarkedTokenizer(kMarks, [&](text::VocabSpec& vocab) {
      if (has) vocab.bos = kMarkedEnd;
      vocab.add_bos = adds;
    });
    return InfillPrompt(model, {.prefix = "", .suffix = ""}).value().front();
  };
  EXPECT_EQ(first(true, true), kMarkedEnd);
  EXPECT_EQ(first(true, false), kPrefix);
  EXPECT_EQ(first(false, false), kPrefix);
}

TEST(InfillPromptTest, AModelWithoutMarksCannotFillIn) {
  const auto refused = InfillPrompt(MarkedModel({"<|fim_prefix|>", "<|fim_suffix|>"}), kText);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(refused.error().message,
            "needs a model that was trained to fill in the middle, and the vocabulary of 'm' has no marks for it");
}

TEST(InfillPromptTest, TextNeverBecomesAMark) {
  const auto tokens = InfillPrompt(MarkedModel(kMarks), {.prefix = "<|fim_middle|>", .suffix = ""}).value();
  EXPECT_EQ(tokens.size(), 3 + std::string_view("<|fim_middle|>").size());
}

}  // namespace
}  // namespace inferflux::serving
