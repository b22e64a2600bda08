// Each limit of a request at its edge, with the whole message.
#include <gtest/gtest.h>

#include "scheduler/fake_engine.h"
#include "scheduler/queue/admission.h"
#include "text/grammar/grammar_spec.h"
#include "text/reasoning/output_matcher.h"

namespace inferflux::scheduler {
namespace {

using Tokens = std::vector<TokenId>;

engine::EngineInfo Engine() { return {.vocab_size = 300, .context = 100, .kv_tokens = 80}; }

std::string Said(const GenerationRequest& request, const engine::EngineInfo& engine = Engine()) {
  const auto checked = CheckRequest(request, engine);
  return checked ? std::to_string(*checked) : checked.error().message;
}

TEST(AdmissionLimits, PromptAndOutputShareTheRoom) {
  EXPECT_EQ(Said({.prompt = Tokens(80, 1)}), "1") << "the last token needs no KV";
  EXPECT_EQ(Said({.prompt = Tokens(81, 1)}),
            "the prompt has 81 tokens, and at most 81 tokens of prompt and output together fit; shorten it");
  EXPECT_EQ(Said({.prompt = Tokens(50, 1), .max_tokens = 31}), "31");
  EXPECT_EQ(Said({.prompt = Tokens(50, 1), .max_tokens = 32}),
            "50 tokens of prompt and 32 of output are 82, and at most 81 fit; shorten the prompt or ask for at most 31 "
            "tokens");
  auto engine = Engine();
  engine.kv_tokens = 200;
  EXPECT_EQ(Said({.prompt = Tokens(50, 1)}, engine), "50") << "the context is the limit";
  EXPECT_EQ(Said({.prompt = Tokens(1, 1), .max_tokens = 1}), "1");
  EXPECT_EQ(Said({.prompt = Tokens(1, 1), .max_tokens = -1}), "max_tokens is -1; it must not be negative");
}

TEST(AdmissionLimits, TokensAreThoseOfTheModel) {
  EXPECT_EQ(Said({.prompt = {0, 299}, .max_tokens = 3}), "3");
  EXPECT_EQ(Said({.prompt = {300}}), "prompt token 300: this model's tokens are 0 to 299");
  EXPECT_EQ(Said({.prompt = {-1}}), "prompt token -1: this model's tokens are 0 to 299");
  EXPECT_EQ(Said({.prompt = {1}, .sampling = {.logit_bias = {{0, 1.0f}, {299, 1.0f}}}, .max_tokens = 3}), "3");
  EXPECT_EQ(Said({.prompt = {1}, .sampling = {.logit_bias = {{1, 1.0f}, {-1, 1.0f}}}}),
            "logit_bias of token -1: this model's tokens are 0 to 299");
}

TEST(AdmissionLimits, EachCountHasItsRange) {
  const auto with = [](auto change) {
    GenerationRequest request{.prompt = {1, 2, 3}, .max_tokens = 7};
    change(request);
    return Said(request);
  };
  const auto top = [&](int32_t n) { return with([n](auto& r) { r.top_logprobs = n; }); };
  EXPECT_EQ(top(0), "7");
  EXPECT_EQ(top(20), "7");
  EXPECT_EQ(top(-1), "top_logprobs is -1; it must be 0 to 20");
  EXPECT_EQ(top(21), "top_logprobs is 21; it must be 0 to 20");
  const auto prompt = [&](int32_t n) { return with([n](auto& r) { r.prompt_logprobs = n; }); };
  EXPECT_EQ(prompt(0), "7");
  EXPECT_EQ(prompt(20), "7");
  EXPECT_EQ(prompt(-1), "prompt_logprobs is -1; it must be 0 to 20");
  EXPECT_EQ(prompt(21), "prompt_logprobs is 21; it must be 0 to 20");
  const auto drafts = [&](int32_t n) { return with([n](auto& r) { r.speculation = Speculation{.max_tokens = n}; }); };
  EXPECT_EQ(drafts(0), "7");
  EXPECT_EQ(drafts(16), "7");
  EXPECT_EQ(drafts(-1), "-1 draft tokens; it must be 0 to 16");
  EXPECT_EQ(drafts(17), "17 draft tokens; it must be 0 to 16");
  const auto next = [&](int32_t output, int32_t top) {
    return with([=](auto& r) { r.next_tokens = NextTokensQuery{.output_tokens = output, .top = top}; });
  };
  EXPECT_EQ(next(0, 1), "7");
  EXPECT_EQ(next(3, 20), "7");
  EXPECT_EQ(next(-1, 1), "next_tokens has -1 tokens of output in a prompt of 3");
  EXPECT_EQ(next(4, 1), "next_tokens has 4 tokens of output in a prompt of 3");
  EXPECT_EQ(next(0, 0), "next_tokens asks for 0 tokens; it must be 1 to 20");
  EXPECT_EQ(next(0, 21), "next_tokens asks for 21 tokens; it must be 1 to 20");
  const std::string alone = "next_tokens goes with neither a session nor prompt_logprobs";
  EXPECT_EQ(with([](auto& r) { r.next_tokens.emplace(), r.session = SessionUse{.id = "s"}; }), alone);
  EXPECT_EQ(with([](auto& r) { r.next_tokens.emplace(), r.prompt_logprobs = 0; }), alone);
  const std::string stop = "a stop string must be UTF-8 text and not empty";
  EXPECT_EQ(with([](auto& r) { r.stop = {"a", "\xC3\xA9"}; }), "7");
  EXPECT_EQ(with([](auto& r) { r.stop = {"a", ""}; }), stop);
  EXPECT_EQ(with([](auto& r) { r.stop = {"a", "\xC3"}; }), stop);
}

TEST(AdmissionLimits, TheModelMustBeAbleToGenerate) {
  auto engine = Engine();
  const GenerationRequest plain{.prompt = {1}, .max_tokens = 2};
  GenerationRequest grammar = plain, reasoning = plain;
  grammar.grammar_source = std::make_shared<text::GrammarSpec>();
  reasoning.reasoning = std::make_shared<text::ReasoningLimits>();
  const std::string refused = "this model's engine cannot keep an output to a grammar or to a budget of reasoning";
  EXPECT_EQ(Said(plain, engine), "2");
  EXPECT_EQ(Said(grammar, engine), refused);
  EXPECT_EQ(Said(reasoning, engine), refused);
  engine.capabilities.structured_output = true;
  EXPECT_EQ(Said(grammar, engine), "2");
  EXPECT_EQ(Said(reasoning, engine), "2");
  engine.causal = false;
  EXPECT_EQ(Said(plain, engine), "this model is an encoder: it embeds texts, and generates none");
}

TEST(AdmissionLimits, ATextToEmbedOrToScoreMustFit) {
  auto engine = Engine();
  const auto embed = [&](Tokens prompt, int32_t second = 0) {
    return Said({.prompt = std::move(prompt), .embed = true, .second_text = second}, engine);
  };
  const std::string none = "this model makes no embeddings as it runs here";
  EXPECT_EQ(embed({1}), none);
  engine.hidden = 8;
  EXPECT_EQ(embed({1}), none) << "it has no pooling";
  engine.pooling.type = model::Pooling::kMean;
  EXPECT_EQ(embed({1}), "0");
  engine.hidden = 0;
  EXPECT_EQ(embed({1}), none) << "it has no hidden states";
  engine.hidden = 8;
  EXPECT_EQ(embed(Tokens(80, 1)), "0");
  EXPECT_EQ(embed(Tokens(81, 1)), "the text has 81 tokens, and this model takes at most 80; shorten it");
  engine.kv_tokens = 200;
  EXPECT_EQ(embed(Tokens(100, 1)), "0");
  EXPECT_EQ(embed(Tokens(101, 1)), "the text has 101 tokens, and this model takes at most 100; shorten it");
  EXPECT_EQ(embed({0, 299}, 2), "0");
  EXPECT_EQ(embed({1, 2}, -1), "the second text begins at token -1 of 2");
  EXPECT_EQ(embed({1, 2}, 3), "the second text begins at token 3 of 2");
  EXPECT_EQ(embed({1, 300}), "prompt token 300: this model's tokens are 0 to 299");
  const GenerationRequest score{.prompt = {1}, .score = true};
  EXPECT_EQ(Said(score, engine), "this model has no classification head, so it scores no texts");
  engine.capabilities.scores = true;
  EXPECT_EQ(Said(score, engine), "0");
}

}  // namespace
}  // namespace inferflux::scheduler
