#include "serving/generation/build_generation.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "serving/generation/recipe_defaults.h"
#include "serving/generation/tool_use.h"
#include "text/grammar/grammar_compiler.h"
#include "text/grammar/lark_parser.h"
#include "text/reasoning/output_matcher.h"

namespace inferflux::serving {
namespace {

using Field = GenerationError::Field;
using Requests = std::vector<scheduler::GenerationRequest>;

GenerationStatus CheckRoom(const ServedModel& model, size_t prompt_tokens) {
  const auto context = static_cast<size_t>(model.info.context);
  if (prompt_tokens < context) return {};
  return tl::make_unexpected(GenerationError{
      GenerationError::Kind::kContextLength, Field::kPrompt,
      fmt::format("the prompt has {} tokens, but the model's context of {} leaves no room for an answer", prompt_tokens,
                  context)});
}

// Log probabilities are what a request costs beyond its tokens: those of a prompt are made and sent for each choice,
// and those of an answer that is not streamed are kept until its end.
struct LogprobCount {
  size_t of_prompts = 0;
  size_t of_answers = 0;
};

GenerationStatus CheckLogprobs(const GenerationSpec& spec, size_t prompt_tokens, int32_t room, LogprobCount& count) {
  constexpr size_t kMostOfPrompt = 1 << 18;
  constexpr size_t kMostOfPrompts = 1 << 20;
  constexpr size_t kMostOfAnswers = 1 << 22;
  const auto choices = static_cast<size_t>(spec.choices);
  if (spec.prompt_logprobs) {
    const size_t entries = prompt_tokens * choices * (static_cast<size_t>(*spec.prompt_logprobs) + 1);
    count.of_prompts += entries;
    if (entries > kMostOfPrompt) {
      return Refuse(
          Field::kPromptLogprobs,
          "asks for {} log probabilities ({} tokens, {} choices, {} alternatives), and the limit of a prompt is {}; "
          "ask for fewer choices or alternatives",
          entries, prompt_tokens, spec.choices, *spec.prompt_logprobs, kMostOfPrompt);
    }
    if (count.of_prompts > kMostOfPrompts) {
      return Refuse(Field::kPromptLogprobs,
                    "asks for more than {} log probabilities of all prompts together; ask for fewer alternatives, or "
                    "send fewer prompts at once",
                    kMostOfPrompts);
    }
  }
  if (spec.top_logprobs) {
    const int32_t tokens = spec.max_tokens > 0 ? std::min(spec.max_tokens, room) : room;
    count.of_answers += static_cast<size_t>(tokens) * choices * (static_cast<size_t>(*spec.top_logprobs) + 1);
    if (count.of_answers > kMostOfAnswers) {
      return Refuse(Field::kLogprobs,
                    "asks for up to {} log probabilities ({} choices of {} tokens with {} alternatives), and the limit "
                    "of a request is {}; ask for fewer tokens, choices or alternatives",
                    count.of_answers, spec.choices, tokens, *spec.top_logprobs, kMostOfAnswers);
    }
  }
  return {};
}

// The tokens that fit behind a prompt. The last one needs no KV.
int32_t RoomFor(const ServedModel& model, size_t prompt_tokens) {
  int64_t room = model.info.context;
  if (model.info.kv_tokens > 0) room = std::min(room, model.info.kv_tokens + 1);
  return static_cast<int32_t>(std::max<int64_t>(room - static_cast<int64_t>(prompt_tokens), 0));
}

GenerationStatus CheckSpeculation(const ServedModel& model, const GenerationSpec& spec) {
  const bool drafts = spec.speculation && spec.speculation->kind == scheduler::Speculation::Kind::kDraft;
  if (!drafts || !model.info.draft.empty()) return {};
  return Refuse(Field::kSpeculation, "is \"draft\", but the model '{}' has no draft model", model.id);
}

// 0: no limit. A grammar may state one itself.
int32_t TokensAsked(const GenerationSpec& spec) {
  if (!spec.grammar || spec.grammar->kind != text::GrammarSpec::Kind::kLark) return spec.max_tokens;
  const auto limit = text::TokenLimitOfLark(spec.grammar->source);
  if (!limit) return spec.max_tokens;
  const auto tokens = static_cast<int32_t>(*limit);
  return spec.max_tokens == 0 ? tokens : std::min(spec.max_tokens, tokens);
}

// The request's grammar over the model's tokens; null if it has none, or if another process compiles it.
GenerationResult<std::shared_ptr<const text::TokenGrammar>> GrammarOf(const ServedModel& model,
                                                                      const GenerationSpec& spec) {
  if (!spec.grammar) return nullptr;
  const auto refuse = [&](const Error& error) {
    const bool tools = spec.grammar->kind == text::GrammarSpec::Kind::kToolCalls;
    return Refuse(tools ? Field::kTools : Field::kGrammar, "cannot be used: {}", error.message);
  };
  if (!model.grammars) {  // its worker compiles it for the tokens; errors are found here
    if (const auto valid = text::CompileGrammar(*spec.grammar); !valid) return refuse(valid.error());
    return nullptr;
  }
  auto compiled = model.grammars->Compile(*spec.grammar);
  if (!compiled) return refuse(compiled.error());
  return std::move(*compiled);
}

std::vector<TokenId> DryBreakers(const SamplingSpec& spec, const text::Tokenizer& tokenizer) {
  std::vector<TokenId> out;
  if (spec.params.dry_multiplier <= 0) return out;
  for (const std::string& breaker : spec.dry_sequence_breakers) {
    const std::vector<TokenId> ids = tokenizer.Encode("a" + breaker);
    if (!ids.empty() && std::ranges::count(out, ids.back()) == 0) out.push_back(ids.back());
  }
  return out;
}

// What lies behind the end of the context is of no use.
std::vector<TokenId> PredictionOf(const ServedModel& model, const GenerationSpec& spec) {
  if (spec.prediction.empty()) return {};
  std::vector<TokenId> out = model.tokenizer->Encode(spec.prediction);
  out.resize(std::min(out.size(), static_cast<size_t>(std::max(model.info.context, 0))));
  return out;
}

// The choices of one prompt, numbered across all prompts.
GenerationStatus AddChoices(const ServedModel& model, const GenerationSpec& spec, const std::vector<TokenId>& prompt,
                            LogprobCount& logprobs, Generation& generation) {
  Requests& out = generation.requests;
  if (auto room = CheckRoom(model, prompt.size()); !room) return room;
  if (auto speculation = CheckSpeculation(model, spec); !speculation) return speculation;
  const int32_t room = RoomFor(model, prompt.size());
  if (auto few = CheckLogprobs(spec, prompt.size(), room, logprobs); !few) return few;
  const auto grammar = GrammarOf(model, spec);
  if (!grammar) return Forward(grammar);
  const auto source = spec.grammar ? std::make_shared<const text::GrammarSpec>(*spec.grammar) : nullptr;
  const auto now = std::chrono::steady_clock::now();
  const int32_t asked = TokensAsked(spec);
  const bool capped = asked > room;
  if (capped) generation.capped_tokens = std::min(room, generation.capped_tokens.value_or(room));
  for (int32_t i = 0; i < spec.choices; ++i) {
    auto sampling = SamplingOfChoice(spec.sampling, static_cast<int64_t>(out.size()), *model.tokenizer);
    if (!sampling) return Forward(sampling);
    scheduler::GenerationRequest& request = out.emplace_back();
    request.prompt = prompt;
    request.sampling = std::move(*sampling);
    request.max_tokens = capped ? 0 : asked;
    request.stop = spec.stop;
    request.grammar = *grammar;
    request.grammar_source = source;
    request.ignore_eos = spec.ignore_eos;
    request.top_logprobs = spec.top_logprobs;
    request.prompt_logprobs = spec.prompt_logprobs;
    request.speculation = spec.speculation;
    request.priority = spec.priority;
    if (spec.timeout > 0) {
      const std::chrono::duration<double> timeout(spec.timeout);
      request.deadline = now + std::chrono::duration_cast<std::chrono::nanoseconds>(timeout);
    }
    request.request_id = spec.request_id;
    request.account = spec.account;
    request.account_limits = spec.account_limits;
    request.cache_salt = spec.cache_salt;
    if (!spec.session_id.empty()) {
      scheduler::SessionUse& session = request.session.emplace();
      session.id = spec.session_id;
      if (spec.session_ttl) session.ttl = std::chrono::seconds(*spec.session_ttl);
    }
  }
  return {};
}

}  // namespace

std::vector<Feature> Needs(Feature endpoint, const GenerationSpec& spec, bool stream) {
  std::vector<Feature> out = {endpoint};
  if (spec.top_logprobs) out.push_back(Feature::kLogprobs);
  if (spec.prompt_logprobs) out.push_back(Feature::kPromptLogprobs);
  if (stream) out.push_back(Feature::kStreaming);
  if (spec.grammar) out.push_back(Feature::kStructuredOutput);
  return out;
}

GenerationResult<Generation> BuildChat(const ServedModel& model, Chat chat, GenerationSpec spec) {
  if (auto applied = ApplyRecipe(model, spec); !applied) return Forward(applied);
  if (auto resolved = ResolveTools(chat, spec); !resolved) return Forward(resolved);
  if (auto resolved = ResolveToolCallSyntax(model, chat, spec); !resolved) return Forward(resolved);
  const bool tools = !chat.tools.empty();
  const ReasoningSpec reasoning = chat.reasoning;
  Generation out;
  auto calls = ToolCallParsers(model, chat, static_cast<size_t>(spec.choices));
  const auto spans = RenderChat(model, std::move(chat));
  if (!spans) return Forward(spans);
  const bool inside = model.reasoning && text::BeginsInside(*model.reasoning->reasoning.form, *spans);
  for (size_t i = 0; i < static_cast<size_t>(spec.choices); ++i) {
    out.answers.emplace_back(model, inside, calls.empty() ? nullptr : std::move(calls[i]));
  }
  LogprobCount logprobs;
  if (auto added = AddChoices(model, spec, model.tokenizer->Encode(*spans), logprobs, out); !added) {
    return Forward(added);
  }
  const std::vector<TokenId> prediction = PredictionOf(model, spec);
  for (auto& request : out.requests) {
    request.prediction = prediction;
    if (tools && model.tool_calls) request.shown_control = model.tool_calls->tokens.shown;
    if (!model.reasoning) continue;
    const auto& shown = model.reasoning->shown;
    request.shown_control.insert(request.shown_control.end(), shown.begin(), shown.end());
    if (request.grammar || request.grammar_source || reasoning.budget) {
      request.reasoning = std::make_shared<const text::ReasoningLimits>(
          text::ReasoningLimits{.dialect = model.reasoning, .inside = inside, .budget = reasoning.budget});
    }
  }
  return out;
}

GenerationResult<Generation> BuildCompletion(const ServedModel& model, std::span<const RawPrompt> prompts,
                                             GenerationSpec spec) {
  if (auto applied = ApplyRecipe(model, spec); !applied) return Forward(applied);
  Generation out;
  LogprobCount logprobs;
  for (const RawPrompt& raw : prompts) {
    const auto prompt = RawPromptTokens(model, raw);
    if (!prompt) return Forward(prompt);
    if (auto added = AddChoices(model, spec, *prompt, logprobs, out); !added) return Forward(added);
  }
  for (auto& request : out.requests) request.continues_text = true;
  return out;
}

GenerationResult<engine::SamplingParams> SamplingOfChoice(const SamplingSpec& spec, int64_t choice,
                                                          const text::Tokenizer& tokenizer) {
  for (const auto& [id, bias] : spec.params.logit_bias) {
    if (id >= tokenizer.size()) {
      return Refuse(Field::kLogitBias, "names the token {}, but the model's ids end at {}", id, tokenizer.size() - 1);
    }
  }
  engine::SamplingParams out = spec.params;
  out.dry_breakers = DryBreakers(spec, tokenizer);
  if (spec.seed) {
    out.seed = static_cast<uint64_t>(*spec.seed) + static_cast<uint64_t>(choice);
  } else {
    std::random_device random;
    out.seed = (static_cast<uint64_t>(random()) << 32) | random();
  }
  return out;
}

}  // namespace inferflux::serving
