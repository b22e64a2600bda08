// How a specification becomes the scheduler's requests, and the edges of what is refused, on a vocabulary of bytes.
#include "serving/generation/build_generation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/scheduler_driver.h"
#include "serving/generation/chat_prompt.h"
#include "serving/generation/tool_use.h"
#include "text/grammar/grammar_compiler.h"

namespace inferflux::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Kind = scheduler::Speculation::Kind;

ServedModel Model(int32_t context) {
  ServedModel out;
  out.id = "m";
  out.info.context = context;
  out.tokenizer = scheduler::FakeTokenizer();
  out.grammars = std::make_shared<text::GrammarCompiler>(out.tokenizer);
  return out;
}

GenerationResult<Generation> Build(const ServedModel& model, const std::vector<size_t>& lengths, GenerationSpec spec) {
  std::vector<RawPrompt> prompts;
  for (const size_t length : lengths) prompts.emplace_back(std::vector<TokenId>(length, 65));
  return BuildCompletion(model, prompts, std::move(spec));
}

std::string Text(const GenerationResult<Generation>& built) { return built ? "built" : ToError(built.error()).message; }

TEST(BuildGeneration, ARequestHasAllThatWasAskedFor) {
  GenerationSpec spec{.max_tokens = 7,
                      .stop = {"x"},
                      .ignore_eos = true,
                      .top_logprobs = 2,
                      .prompt_logprobs = 3,
                      .speculation = scheduler::Speculation{.kind = Kind::kPromptLookup, .max_tokens = 5},
                      .session_id = "s",
                      .session_ttl = 60,
                      .choices = 2,
                      .priority = -4,
                      .timeout = 1.5f,
                      .request_id = "r",
                      .account = "a",
                      .account_limits = {.running = 8, .queued = 9},
                      .cache_salt = 11};
  spec.sampling.seed = 100;
  spec.sampling.params.temperature = 0.25f;
  spec.grammar = text::GrammarSpec{.kind = text::GrammarSpec::Kind::kChoice, .choices = {"yes"}};
  const auto before = std::chrono::steady_clock::now();
  const auto built = Build(Model(100), {3, 4}, spec);
  const auto after = std::chrono::steady_clock::now();
  ASSERT_TRUE(built) << Text(built);
  EXPECT_FALSE(built->capped_tokens);
  ASSERT_EQ(built->requests.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const scheduler::GenerationRequest& request = built->requests[i];
    EXPECT_EQ(request.prompt.size(), i < 2 ? 3u : 4u);
    EXPECT_EQ(request.sampling.seed, 100 + i) << "choices are numbered across all prompts";
    EXPECT_EQ(request.sampling.temperature, 0.25f);
    EXPECT_EQ(request.max_tokens, 7);
    EXPECT_EQ(request.stop, spec.stop);
    EXPECT_TRUE(request.ignore_eos);
    EXPECT_EQ(request.top_logprobs, 2);
    EXPECT_EQ(request.prompt_logprobs, 3);
    EXPECT_EQ(request.speculation->kind, Kind::kPromptLookup);
    EXPECT_EQ(request.session->id, "s");
    EXPECT_EQ(request.session->ttl, std::chrono::seconds(60));
    EXPECT_EQ(request.priority, -4);
    EXPECT_GE(*request.deadline, before + std::chrono::milliseconds(1500));
    EXPECT_LE(*request.deadline, after + std::chrono::milliseconds(1500));
    EXPECT_EQ(request.request_id, "r");
    EXPECT_EQ(request.account, "a");
    EXPECT_EQ(request.account_limits.running, 8);
    EXPECT_EQ(request.account_limits.queued, 9);
    EXPECT_EQ(request.cache_salt, 11u);
    EXPECT_NE(request.grammar, nullptr);
    EXPECT_EQ(*request.grammar_source, *spec.grammar);
    EXPECT_TRUE(request.continues_text);
  }
  const auto plain = Build(Model(100), {3}, {});
  ASSERT_TRUE(plain);
  const scheduler::GenerationRequest& request = plain->requests.at(0);
  EXPECT_FALSE(request.deadline);
  EXPECT_TRUE(Build(Model(100), {3}, {.timeout = 0.5f})->requests.at(0).deadline);
  EXPECT_FALSE(request.session);
  EXPECT_EQ(request.grammar, nullptr);
  EXPECT_EQ(request.grammar_source, nullptr);
  EXPECT_EQ(request.max_tokens, 0);
  EXPECT_NE(request.sampling.seed, Build(Model(100), {3}, {})->requests.at(0).sampling.seed) << "a random one";
  GenerationSpec kept{.session_id = "s"};
  EXPECT_EQ(Build(Model(100), {3}, kept)->requests.at(0).session->ttl, std::chrono::seconds(3600));
}

TEST(BuildGeneration, APromptLeavesRoomForAnAnswer) {
  EXPECT_EQ(Text(Build(Model(10), {9}, {})), "built");
  EXPECT_EQ(Text(Build(Model(10), {10}, {})),
            "the prompt has 10 tokens, but the model's context of 10 leaves no room for an answer");
  const auto capped = [](int32_t asked, int64_t kv_tokens, const std::vector<size_t>& prompts = {4}) {
    ServedModel model = Model(10);
    model.info.kv_tokens = kv_tokens;
    const auto built = Build(model, prompts, {.max_tokens = asked});
    if (!built) return Text(built);
    return std::to_string(built->requests.at(0).max_tokens) + " " + std::to_string(built->capped_tokens.value_or(-1));
  };
  EXPECT_EQ(capped(6, 0), "6 -1");
  EXPECT_EQ(capped(7, 0), "0 6");
  EXPECT_EQ(capped(5, 8), "5 -1") << "the last token needs no KV";
  EXPECT_EQ(capped(6, 8), "0 5");
  EXPECT_EQ(capped(6, 20), "6 -1");
  EXPECT_EQ(capped(1, 2), "0 0");
  EXPECT_EQ(capped(2, 1, {1}), "0 1");
  EXPECT_EQ(capped(7, 0, {4, 6, 5}), "0 4") << "the fewest of all prompts";
}

TEST(BuildGeneration, LogProbabilitiesHaveTheirLimits) {
  const ServedModel model = Model(100'000);
  GenerationSpec spec{.max_tokens = 1, .prompt_logprobs = 1, .choices = 32};
  EXPECT_EQ(Text(Build(model, {4096}, spec)), "built");
  EXPECT_THAT(Text(Build(model, {4097}, spec)), StartsWith("prompt_logprobs asks for 262208 log probabilities (4097 "
                                                           "tokens, 32 choices, 1 alternatives), and the limit of a "
                                                           "prompt is 262144;"));
  EXPECT_EQ(Text(Build(model, {4096, 4096, 4096, 4096}, spec)), "built");
  EXPECT_THAT(Text(Build(model, {4096, 4096, 4096, 4096, 1}, spec)),
              StartsWith("prompt_logprobs asks for more than 1048576 log probabilities of all prompts together;"));
  GenerationSpec answer{.max_tokens = 1 << 15, .top_logprobs = 1, .choices = 64};
  EXPECT_EQ(Text(Build(model, {1}, answer)), "built");
  answer.max_tokens = (1 << 15) + 1;
  EXPECT_THAT(
      Text(Build(model, {1}, answer)),
      StartsWith(
          "the number of log probabilities asks for up to 4194432 log probabilities (64 choices of 32769 tokens with 1 "
          "alternatives), and the limit of a request is 4194304;"));
  EXPECT_EQ(Text(Build(model, {1}, {.max_tokens = 1, .top_logprobs = 1, .choices = 64})), "built");
  answer.max_tokens = 1 << 14;
  EXPECT_EQ(Text(Build(model, {1, 1}, answer)), "built");
  EXPECT_THAT(Text(Build(model, {1, 1, 1}, answer)), HasSubstr("asks for up to 6291456 log probabilities"))
      << "of all prompts together";
  // Without a number of tokens, as many as fit.
  EXPECT_EQ(Text(Build(Model(32'769), {1}, {.top_logprobs = 1, .choices = 64})), "built");
  EXPECT_THAT(Text(Build(Model(32'770), {1}, {.top_logprobs = 1, .choices = 64})),
              HasSubstr("64 choices of 32769 tokens"));
  EXPECT_EQ(Text(Build(Model(1000), {1}, {.max_tokens = 90'000, .top_logprobs = 1, .choices = 64})), "built");
}

TEST(BuildGeneration, ADraftNeedsItsModel) {
  ServedModel model = Model(100);
  const GenerationSpec draft{.speculation = scheduler::Speculation{.kind = Kind::kDraft}};
  EXPECT_EQ(Text(Build(model, {3}, draft)),
            "the kind of speculation is \"draft\", but the model 'm' has no draft model");
  EXPECT_EQ(Text(Build(model, {3}, {.speculation = scheduler::Speculation{.kind = Kind::kPromptLookup}})), "built");
  model.info.draft = "d.gguf";
  EXPECT_EQ(Text(Build(model, {3}, draft)), "built");
}

TEST(BuildGeneration, AGrammarOfLarkMayLimitTheTokens) {
  const auto tokens = [](int32_t asked, text::GrammarSpec grammar) {
    const auto built = Build(Model(100), {3}, {.max_tokens = asked, .grammar = std::move(grammar)});
    EXPECT_TRUE(built) << Text(built);
    return built ? built->requests.at(0).max_tokens : -1;
  };
  const text::GrammarSpec limited{.kind = text::GrammarSpec::Kind::kLark,
                                  .source = "%llguidance {}\nstart: x\nx[capture, max_tokens=5]: X\nX: /(?s:.*)/\n"};
  EXPECT_EQ(tokens(0, limited), 5);
  EXPECT_EQ(tokens(4, limited), 4);
  EXPECT_EQ(tokens(6, limited), 5);
  EXPECT_EQ(tokens(6, {.kind = text::GrammarSpec::Kind::kLark, .source = "start: /[a-z]+/"}), 6);
  EXPECT_EQ(tokens(6, {.kind = text::GrammarSpec::Kind::kRegex, .source = "[a-z]+"}), 6);
}

TEST(BuildGeneration, AGrammarIsCheckedAlsoWhereAWorkerCompilesIt) {
  ServedModel model = Model(100);
  GenerationSpec spec;
  spec.grammar = text::GrammarSpec{.kind = text::GrammarSpec::Kind::kRegex, .source = "("};
  EXPECT_THAT(Text(Build(model, {3}, spec)), StartsWith("the grammar cannot be used: "));
  model.grammars = nullptr;
  EXPECT_THAT(Text(Build(model, {3}, spec)), StartsWith("the grammar cannot be used: "));
  spec.grammar->source = "a";
  const auto built = Build(model, {3}, spec);
  ASSERT_TRUE(built) << Text(built);
  EXPECT_EQ(built->requests.at(0).grammar, nullptr);
  EXPECT_EQ(built->requests.at(0).grammar_source->source, "a");
}

TEST(BuildGeneration, PromptsOfTokensAreThoseOfTheModel) {
  const ServedModel model = Model(100);
  const int32_t size = model.tokenizer->size();
  const auto read = [&](std::vector<TokenId> ids) {
    const auto tokens = RawPromptTokens(model, RawPrompt(std::move(ids)));
    return tokens ? "read" : ToError(tokens.error()).message;
  };
  EXPECT_EQ(read({0, size - 1}), "read");
  const std::string end = ", but the model's ids end at " + std::to_string(size - 1);
  EXPECT_EQ(read({0, size}), "the prompt holds the token id " + std::to_string(size) + end);
  EXPECT_EQ(read({-1}), "the prompt holds the token id -1" + end);
  EXPECT_EQ(read({}), "the prompt is empty, and the model has no token to begin with");
  const auto most = static_cast<size_t>(*model.tokenizer->MostBytes(100));
  EXPECT_TRUE(RawPromptTokens(model, RawPrompt(std::string(most, 'a'))));
  const auto refused = RawPromptTokens(model, RawPrompt(std::string(most + 1, 'a')));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, GenerationError::Kind::kContextLength);
  EXPECT_EQ(refused.error().message, "the prompt has " + std::to_string(most + 1) +
                                         " bytes, and the context of 100 tokens holds no text of more than " +
                                         std::to_string(most) + " bytes");
  EXPECT_TRUE(RawPromptTokens(Model(0), RawPrompt(std::string(5000, 'a')))) << "a context that nobody knows";
}

TEST(BuildGeneration, SamplingNamesTokensOfTheModel) {
  const auto tokenizer = scheduler::FakeTokenizer();
  SamplingSpec spec;
  spec.seed = -1;
  spec.params.logit_bias = {{tokenizer->size() - 1, 1.0f}};
  const auto sampling = SamplingOfChoice(spec, 3, *tokenizer);
  ASSERT_TRUE(sampling);
  EXPECT_EQ(sampling->seed, 2u);
  EXPECT_TRUE(sampling->dry_breakers.empty());
  spec.params.logit_bias = {{tokenizer->size(), 1.0f}};
  EXPECT_EQ(ToError(SamplingOfChoice(spec, 0, *tokenizer).error()).message,
            "logit_bias names the token " + std::to_string(tokenizer->size()) + ", but the model's ids end at " +
                std::to_string(tokenizer->size() - 1));
  spec.params.logit_bias.clear();
  spec.params.dry_multiplier = 0.5f;
  spec.dry_sequence_breakers = {"\n", "x:", ":", "*"};
  EXPECT_THAT(SamplingOfChoice(spec, 0, *tokenizer)->dry_breakers, ElementsAre('\n', ':', '*'))
      << "the last token of each, once";
}

TEST(BuildGeneration, NeedsOfARequest) {
  EXPECT_THAT(Needs(Feature::kChat, {}, false), ElementsAre(Feature::kChat));
  GenerationSpec spec{.top_logprobs = 0, .prompt_logprobs = 0};
  spec.grammar.emplace();
  EXPECT_THAT(Needs(Feature::kCompletions, spec, true),
              ElementsAre(Feature::kCompletions, Feature::kLogprobs, Feature::kPromptLogprobs, Feature::kStreaming,
                          Feature::kStructuredOutput));
}

TEST(GenerationErrors, EachFieldHasWordsAndEachKindItsCode) {
  using Error = GenerationError;
  using Field = GenerationError::Field;
  std::vector<std::string> words;
  for (int field = 0; field <= static_cast<int>(Field::kReasoning); ++field) {
    words.push_back(ToError(Error{.field = static_cast<Field>(field), .message = "x", .index = 3}).message);
  }
  EXPECT_THAT(words,
              ElementsAre("the model x", "the prompt x", "the grammar x", "the kind of speculation x", "logit_bias x",
                          "prompt_logprobs x", "the number of log probabilities x", "the list of tools x",
                          "the tool choice x", "a single tool call x", "the strict tool 3 x", "reasoning x"));
  const std::vector<std::pair<Error::Kind, ErrorCode>> codes = {
      {Error::Kind::kInvalid, ErrorCode::kInvalidArgument},
      {Error::Kind::kUnsupported, ErrorCode::kUnsupported},
      {Error::Kind::kTemplate, ErrorCode::kInvalidArgument},
      {Error::Kind::kNoChatTemplate, ErrorCode::kUnsupported},
      {Error::Kind::kContextLength, ErrorCode::kInvalidArgument}};
  for (const auto& [kind, code] : codes) EXPECT_EQ(ToError(Error{.kind = kind}).code, code);
  EXPECT_EQ(ToError(Error{.kind = Error::Kind::kTemplate, .message = "A sentence."}).message, "A sentence.");
}

// --- tools ---

Chat WithTools(ToolChoice::Kind kind, bool strict = false, bool parallel = true) {
  Chat out;
  for (const char* name : {"f", "g"}) {
    out.tools.push_back(boost::json::object{{"type", "function"}});
    out.functions.push_back(
        {.name = name, .parameters = std::string("{\"title\":\"") + name + "\"}", .strict = strict && name[0] == 'g'});
  }
  out.functions[1].parameters = strict ? "" : out.functions[1].parameters;
  out.tool_choice = {.kind = kind, .function = "g"};
  out.parallel_tool_calls = parallel;
  return out;
}

TEST(ToolUse, WhatAnAnswerIsHeldToByItsTools) {
  using Choice = ToolChoice::Kind;
  using Field = GenerationError::Field;
  const auto resolve = [](Chat chat) {
    GenerationSpec spec;
    const auto done = ResolveTools(chat, spec);
    if (!done) return ToError(done.error()).message;
    if (!chat.held_by) return std::string(spec.grammar ? "a grammar" : "free ") + std::to_string(chat.tools.size());
    std::string out =
        "held by " + std::to_string(static_cast<int>(chat.held_by->field)) + "." + std::to_string(chat.held_by->index);
    const text::ToolCallSpec& calls = spec.grammar->tool_calls;
    out += std::string(calls.forced ? " forced" : "") + (calls.several ? " several" : "");
    for (const auto& tool : calls.tools) out += " " + tool.name + ":" + tool.parameters;
    return out;
  };
  const auto held = [](Field field, int index) {
    return "held by " + std::to_string(static_cast<int>(field)) + "." + std::to_string(index);
  };
  const std::string nothing = R"({"type":"object","properties":{},"additionalProperties":false})";
  EXPECT_EQ(resolve(WithTools(Choice::kAuto)), "free 2");
  EXPECT_EQ(resolve(WithTools(Choice::kNone, true)), "free 0");
  EXPECT_EQ(resolve(WithTools(Choice::kRequired)),
            held(Field::kToolChoice, 0) + R"( forced several f:{"title":"f"} g:{"title":"g"})");
  EXPECT_EQ(resolve(WithTools(Choice::kFunction)), held(Field::kToolChoice, 0) + R"( forced g:{"title":"g"})");
  EXPECT_EQ(resolve(WithTools(Choice::kAuto, true)), held(Field::kStrictTool, 1) + " several f: g:" + nothing);
  EXPECT_EQ(resolve(WithTools(Choice::kAuto, false, false)), held(Field::kParallelCalls, 0) + " f: g:");
  EXPECT_EQ(resolve(WithTools(Choice::kRequired, false, false)),
            held(Field::kToolChoice, 0) + R"( forced f:{"title":"f"} g:{"title":"g"})");
  Chat unknown = WithTools(Choice::kFunction);
  unknown.tool_choice.function = "h";
  EXPECT_EQ(resolve(unknown), "the tool choice names 'h', which is not among the tools");
  for (const Choice forced : {Choice::kRequired, Choice::kFunction}) {
    EXPECT_EQ(resolve({.tool_choice = {.kind = forced}}), "the tool choice forces a call, but there are no 'tools'");
  }
  EXPECT_EQ(resolve({}), "free 0");
  Chat custom = WithTools(Choice::kRequired);
  custom.functions[1].lark = "start: \"a\"";
  GenerationSpec of_custom;
  ASSERT_TRUE(ResolveTools(custom, of_custom));
  EXPECT_EQ(of_custom.grammar->tool_calls.tools.at(0).lark, "");
  EXPECT_EQ(of_custom.grammar->tool_calls.tools.at(1).lark, "start: \"a\"");
  Chat both = WithTools(Choice::kAuto, true);
  both.functions[0].strict = true;
  EXPECT_EQ(resolve(both), held(Field::kStrictTool, 0) + R"( several f:{"title":"f"} g:)" + nothing) << "the first";
  Chat chat = WithTools(Choice::kAuto);
  GenerationSpec grammar;
  grammar.grammar.emplace();
  EXPECT_EQ(ToError(ResolveTools(chat, grammar).error()).message,
            "the grammar leaves no room for the call of a tool; set 'tool_choice' to \"none\"");
}

TEST(ToolUse, AModelWithoutAKnownSyntaxCannotBeHeld) {
  ServedModel model = Model(100);
  Chat chat = WithTools(ToolChoice::Kind::kAuto, true);
  GenerationSpec spec;
  ASSERT_TRUE(ResolveTools(chat, spec));
  EXPECT_TRUE(ResolveToolCallSyntax(model, chat, spec)) << "that it has no template is said elsewhere";
  auto compiled = text::ChatTemplate::Compile("{{ messages[0].content }}");
  ASSERT_TRUE(compiled);
  model.chat_template = std::make_shared<const text::ChatTemplate>(std::move(*compiled));
  EXPECT_TRUE(ResolveToolCallSyntax(model, {}, spec)) << "nothing is held";
  const auto refused = ResolveToolCallSyntax(model, chat, spec);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, GenerationError::Kind::kUnsupported);
  EXPECT_THAT(ToError(refused.error()).message,
              StartsWith("the strict tool 1 needs a model whose chat template shows how it calls tools, and "
                         "the template of 'm' shows no known syntax"));
}

}  // namespace
}  // namespace inferflux::serving
