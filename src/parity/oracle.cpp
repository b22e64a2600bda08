#include "parity/oracle.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <limits>
#include <string_view>
#include <utility>

#include "parity/feed.h"

namespace inferflux::parity {
namespace {

namespace json = boost::json;

constexpr size_t kTextTokens = 48;
constexpr size_t kLeastTextTokens = 16;  // to be split into chunks
constexpr size_t kAnswerTokens = 24;

constexpr std::string_view kText =
    "The old lighthouse stood at the end of the harbour, and every evening its keeper climbed the hundred steps with a "
    "lamp in one hand and a book in the other. \"Nobody reads by such a light,\" said the fishermen; but he did, and "
    "when a ship came home late he could tell its captain how the story went on.";

constexpr std::array<std::string_view, 12> kQuestions = {
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

// A tokenizer may know none of a text's characters.
Result<std::vector<TokenId>> Enough(std::vector<TokenId> tokens, size_t least, std::string_view text) {
  if (tokens.size() >= least) return tokens;
  return Fail(
      ErrorCode::kUnsupported,
      "the model's tokenizer makes {} tokens of '{}', and {} are needed: on texts that it does not know engines cannot "
      "be compared",
      tokens.size(), text, least);
}

Result<std::vector<TokenId>> PromptOf(std::string_view question, const serving::ModelText& text) {
  if (!text.chat_template) return Enough(text.tokenizer->WithSpecials(text.tokenizer->Encode(question)), 1, question);
  const json::object context = {
      {"messages", json::array{json::object{{"role", "user"}, {"content", json::string(question)}}}},
      {"add_generation_prompt", true}};
  auto spans = text.chat_template->Render(context);
  if (!spans) return Forward(spans, "the model's chat template");
  return Enough(text.tokenizer->Encode(*spans), 1, question);
}

float GapOf(std::span<const float> logits) {
  float best = -std::numeric_limits<float>::infinity(), second = best;
  for (const float logit : logits) {
    second = std::max(second, std::min(best, logit));
    best = std::max(best, logit);
  }
  return best - second;
}

Result<Answer> AnswerGreedily(engine::Engine& engine, std::vector<TokenId> prompt, const text::Tokenizer& tokenizer) {
  auto sequence = OpenEmpty(engine);
  if (!sequence) return Forward(sequence);
  Answer answer{.prompt = std::move(prompt), .tokens = {}, .gaps = {}};
  std::vector<TokenId> feed = answer.prompt;
  while (answer.tokens.size() < kAnswerTokens) {
    auto logits = Feed(engine, sequence->id(), feed, feed.size());
    if (!logits) return Forward(logits);
    const auto& last = logits->back();
    const auto best = static_cast<TokenId>(std::ranges::max_element(last) - last.begin());
    answer.tokens.push_back(best);
    answer.gaps.push_back(GapOf(last));
    if (tokenizer.IsEndOfGeneration(best)) break;
    feed = {best};
  }
  return answer;
}

}  // namespace

Result<Oracle> AskOracle(engine::Engine& reference, const serving::ModelText& text) {
  Oracle oracle;
  auto tokens = Enough(text.tokenizer->WithSpecials(text.tokenizer->Encode(kText)), kLeastTextTokens, kText);
  if (!tokens) return Forward(tokens);
  oracle.tokens = std::move(*tokens);
  oracle.tokens.resize(std::min(oracle.tokens.size(), kTextTokens));
  auto sequence = OpenEmpty(reference);
  if (!sequence) return Forward(sequence);
  auto logits = Feed(reference, sequence->id(), oracle.tokens, oracle.tokens.size());
  if (!logits) return Forward(logits);
  oracle.logits = std::move(*logits);
  for (const std::string_view question : kQuestions) {
    auto prompt = PromptOf(question, text);
    if (!prompt) return Forward(prompt);
    auto answer = AnswerGreedily(reference, std::move(*prompt), *text.tokenizer);
    if (!answer) return Forward(answer);
    oracle.answers.push_back(std::move(*answer));
  }
  return oracle;
}

}  // namespace inferflux::parity
