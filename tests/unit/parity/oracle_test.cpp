// What the reference engine is asked, and what it must be able to read.
#include "parity/oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "parity/toy_engine.h"
#include "unicode/utf8.h"

namespace inferflux::parity {
namespace {

// As the toy's tokenizer writes it: bytes, and a mark for each space.
std::vector<TokenId> TokensOf(const std::string& text) {
  return scheduler::Bytes(unicode::ReplaceAll(text, " ", unicode::kSpaceMarkUtf8));
}

const std::vector<std::string> kQuestions = {
    "What is the capital of France?",
    "What is 2+2?",
    "Who are you?",
    "Name three colours.",
    "What is the opposite of hot?",
    "Write one sentence about the sea.",
    "How many days has a week?",
    "Translate 'good morning' into French.",
    "Repeat after me: one two three.",
    "Is the sun a star?",
    "Sort these words: pear, apple, fig.",
    "Give me a short greeting.",
};

TEST(Oracle, KnowsTheLogitsOfATextAndTheGreedyAnswers) {
  const Oracle& oracle = ToyOracle();
  std::vector<TokenId> text = TokensOf("The old lighthouse stood at the end of the harbour, ");
  text.resize(48);
  EXPECT_EQ(oracle.tokens, text);
  ASSERT_EQ(oracle.logits.size(), 48u);
  for (size_t i = 0; i < 48; ++i) EXPECT_EQ(oracle.logits[i], ToyLogits(std::span(oracle.tokens).first(i + 1))) << i;

  ASSERT_EQ(oracle.answers.size(), kQuestions.size());
  size_t ended = 0;
  for (size_t i = 0; i < kQuestions.size(); ++i) {
    const Answer& answer = oracle.answers[i];
    EXPECT_EQ(answer.prompt, TokensOf(kQuestions[i]));
    std::vector<TokenId> all = answer.prompt, tokens;
    std::vector<float> gaps;
    while (tokens.size() < 24 && (tokens.empty() || tokens.back() != scheduler::kEnd)) {
      auto logits = ToyLogits(all);
      tokens.push_back(static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin()));
      all.push_back(tokens.back());
      std::ranges::sort(logits, std::greater{});
      gaps.push_back(logits[0] - logits[1]);
    }
    EXPECT_EQ(answer.tokens, tokens) << kQuestions[i];
    EXPECT_EQ(answer.gaps, gaps) << kQuestions[i];
    ended += tokens.back() == scheduler::kEnd ? 1 : 0;
  }
  EXPECT_GT(ended, 0u);
  EXPECT_LT(ended, kQuestions.size());
}

TEST(Oracle, TiedLogitsHaveNoGap) {
  struct Tied : ToyEngine {
    void Change(size_t, size_t, engine::OutputResult& output) override {
      output.logits.assign(300, -1.0f);
      output.logits[7] = output.logits[8] = 3.0f;
    }
  } tied;
  const auto oracle = AskOracle(tied, ToyText());
  ASSERT_TRUE(oracle);
  EXPECT_EQ(oracle->answers[0].tokens, std::vector<TokenId>(24, 7));
  EXPECT_EQ(oracle->answers[0].gaps, std::vector<float>(24, 0.0f));
}

TEST(Oracle, AsksInTheModelsChatTemplate) {
  ToyEngine engine;
  auto text = ToyText();
  text.chat_template = std::make_shared<const text::ChatTemplate>(
      text::ChatTemplate::Compile("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
                                  "{% if add_generation_prompt %}A:{% endif %}")
          .value());
  const auto oracle = AskOracle(engine, text);
  ASSERT_TRUE(oracle);
  for (size_t i = 0; i < kQuestions.size(); ++i) {
    EXPECT_EQ(oracle->answers[i].prompt, TokensOf("<user>" + kQuestions[i] + "A:"));
  }
  text.chat_template = std::make_shared<const text::ChatTemplate>(
      text::ChatTemplate::Compile("{{ raise_exception('no users') }}").value());
  const auto failed = AskOracle(engine, text);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message.find("the model's chat template: "), 0u) << failed.error().message;
  text.chat_template = std::make_shared<const text::ChatTemplate>(text::ChatTemplate::Compile("").value());
  const auto empty = AskOracle(engine, text);
  ASSERT_FALSE(empty);
  EXPECT_EQ(
      empty.error().message,
      "the model's tokenizer makes 0 tokens of 'What is the capital of France?', and 1 are needed: on texts that it "
      "does not know engines cannot be compared");
}

}  // namespace
}  // namespace inferflux::parity
