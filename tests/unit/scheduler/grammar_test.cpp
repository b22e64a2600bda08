// Generations under a grammar, on a model that may output any allowed token.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/scheduler_driver.h"
#include "text/grammar/automaton/pushdown.h"
#include "text/grammar/grammar_compiler.h"

namespace inferflux::scheduler {
namespace {

using ::testing::HasSubstr;
using text::GrammarSpec;

const std::vector<std::string> kWords = {"\"name\"", "\": ", "true", "aaaa", "[[", "}", "ab", "\", \""};

const GrammarSpec kPerson = {.kind = GrammarSpec::Kind::kJsonSchema,
                             .source = R"({"type":"object","properties":{"name":{"type":"string","maxLength":12},
                                 "on":{"type":"array","items":{"type":"boolean"},"maxItems":3}},"required":["name"]})"};
const GrammarSpec kWordsOnly = {.kind = GrammarSpec::Kind::kRegex, .source = "(ab|aaaa){4,40}"};

// Some allowed token, chosen by all tokens before it.
TokenId SayAnything(FakeEngine::History history, const engine::OutputSpec& spec) {
  uint64_t hash = 1469598103934665603ULL;
  for (const TokenId token : history) hash = (hash ^ static_cast<uint64_t>(token)) * 1099511628211ULL;
  hash ^= hash >> 29;
  const auto limit = static_cast<TokenId>(257 + kWords.size());
  for (TokenId tried = 0; tried < limit; ++tried) {
    const auto token = static_cast<TokenId>((hash + static_cast<uint64_t>(tried)) % static_cast<uint64_t>(limit));
    const bool banned = std::ranges::count(spec.banned, token) > 0;
    if (!banned && (!spec.mask || spec.mask->Allows(token))) return token;
  }
  return engine::kNoToken;
}

class GrammarTest : public ::testing::Test {
 protected:
  std::shared_ptr<const text::Tokenizer> tokenizer_ = FakeTokenizer(kWords);
  text::GrammarCompiler compiler_{tokenizer_};

  GenerationRequest Ask(std::string_view prompt, const GrammarSpec& spec) {
    auto grammar = compiler_.Compile(spec);
    EXPECT_TRUE(grammar) << grammar.error().message;
    return {.prompt = Bytes(prompt), .grammar = *grammar};
  }
  bool IsWhole(const GenerationRequest& request, std::string_view text) {
    text::Pushdown run(request.grammar->grammar());
    text::ConfigId at = run.Start();
    for (const char c : text) at = run.Next(at, static_cast<uint8_t>(c));
    return run.CanEnd(at);
  }
  std::unique_ptr<SchedulerDriver> Driver(const FakeEngineOptions& options = {.blocks = 2000, .context = 4000},
                                          const StepPolicy& policy = {}) {
    return std::make_unique<SchedulerDriver>(SayAnything, options, policy, tokenizer_);
  }
};

TEST_F(GrammarTest, TheTextMatchesAndEndsWhereItIsWhole) {
  for (int i = 0; i < 30; ++i) {
    auto request = Ask(fmt::format("question {}", i), kPerson);
    const auto received = Driver()->Generate(request);
    ASSERT_TRUE(received.done());
    EXPECT_EQ(received.finish->reason, FinishReason::kStop) << received.finish->error.message;
    EXPECT_TRUE(IsWhole(request, received.text)) << received.text;
    request.ignore_eos = true;  // a complete text that nothing can follow still ends
    const auto ignoring = Driver()->Generate(request);
    EXPECT_EQ(ignoring.finish->reason, FinishReason::kStop);
    EXPECT_TRUE(IsWhole(request, ignoring.text)) << ignoring.text;
  }
}

TEST_F(GrammarTest, LimitsAndStopStringsEndItEarly) {
  auto request = Ask("q", kWordsOnly);
  request.max_tokens = 3;
  EXPECT_EQ(Driver()->Generate(request).finish->reason, FinishReason::kLength);
  request = Ask("q", kWordsOnly);
  request.stop = {"b"};
  const auto stopped = Driver()->Generate(request);
  EXPECT_EQ(stopped.finish->reason, FinishReason::kStop);
  EXPECT_EQ(stopped.text.find('b'), std::string::npos);
}

TEST_F(GrammarTest, DraftTokensChangeNothing) {
  for (int i = 0; i < 20; ++i) {
    auto request = Ask(fmt::format("ab aaaa {} \"name\": true abab", i), i % 2 == 0 ? kPerson : kWordsOnly);
    const auto plain = Driver()->Generate(request);
    request.speculation = Speculation{.kind = Speculation::Kind::kPromptLookup, .max_tokens = 8};
    const auto looked_up = Driver()->Generate(request);
    EXPECT_EQ(looked_up.text, plain.text);

    FakeEngine target({.blocks = 2000, .context = 4000}, SayAnything);
    BackendDriver drafting(
        target, {}, tokenizer_,
        {.draft = std::make_unique<FakeEngine>(FakeEngineOptions{.blocks = 2000, .context = 4000}, SayAnything)});
    request.speculation = Speculation{.kind = Speculation::Kind::kDraft, .max_tokens = 4};
    const auto drafted = drafting.Generate(request);
    EXPECT_EQ(drafted.text, plain.text);
    if (drafted.finish->usage.drafted_tokens > 0) {
      EXPECT_EQ(drafted.finish->usage.accepted_tokens, drafted.finish->usage.drafted_tokens)
          << "the draft keeps to it too";
    }
  }
}

TEST_F(GrammarTest, ManyAtOnceAndPreemptedSayWhatEachSaysAlone) {
  const auto crowd = Driver({.blocks = 14, .block_size = 4, .max_sequences = 6, .context = 56});
  std::vector<std::shared_ptr<TokenStream>> streams;
  std::vector<std::string> alone;
  for (int i = 0; i < 6; ++i) {
    auto request = Ask(fmt::format("p{}", i), kWordsOnly);
    request.max_tokens = 30;
    alone.push_back(Driver()->Generate(request).text);
    streams.push_back(crowd->Submit(request));
  }
  crowd->Drain();
  for (size_t i = 0; i < streams.size(); ++i) {
    Received received;
    Read(*streams[i], received);
    ASSERT_TRUE(received.done());
    EXPECT_EQ(received.text, alone[i]);
  }
  EXPECT_GT(crowd->core.stats().preemptions, 0);
}

TEST_F(GrammarTest, AGrammarThatIsTooAmbiguousEndsItsOwnRequestAlone) {
  const auto prefers_x = [](FakeEngine::History history, const engine::OutputSpec& spec) {
    return spec.mask->Allows('x') ? 'x' : SayAnything(history, spec);
  };
  const auto driver = std::make_unique<SchedulerDriver>(prefers_x, FakeEngineOptions{}, StepPolicy{}, tokenizer_);
  const GrammarSpec ambiguous = {
      .kind = GrammarSpec::Kind::kGbnf,
      .source = "root ::= a | b\na ::= \"x\" root \"1\" | \"x\"\nb ::= \"x\" root \"2\" | \"x\""};
  const auto bad = driver->Submit(Ask("q", ambiguous));
  const auto good = driver->Submit(Ask("q", kWordsOnly));
  driver->Drain();
  Received first, second;
  Read(*bad, first);
  Read(*good, second);
  ASSERT_TRUE(first.done() && second.done());
  EXPECT_EQ(first.finish->reason, FinishReason::kError);
  EXPECT_THAT(first.finish->error.message, HasSubstr("ambiguous"));
  EXPECT_EQ(second.finish->reason, FinishReason::kStop);
}

}  // namespace
}  // namespace inferflux::scheduler
