#include "serving/generation/build_generation.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "serving/generation/tool_use.h"
#include "text/grammar/grammar_compiler.h"

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

GenerationStatus CheckSpeculation(const ServedModel& model, const GenerationSpec& spec) {
  const bool drafts = spec.speculation && spec.speculation->kind == scheduler::Speculation::Kind::kDraft;
  if (!drafts || !model.info.draft.empty()) return {};
  return Refuse(Field::kSpeculation, "is \"draft\", but the model '{}' has no draft model", model.id);
}

// The request's grammar over the model's tokens; null if it has none.
GenerationResult<std::shared_ptr<const text::TokenGrammar>> GrammarOf(const ServedModel& model,
                                                                      const GenerationSpec& spec) {
  if (!spec.grammar) return nullptr;
  auto compiled = model.grammars->Compile(*spec.grammar);
  if (compiled) return std::move(*compiled);
  const bool tools = spec.grammar->kind == text::GrammarSpec::Kind::kToolCalls;
  return Refuse(tools ? Field::kTools : Field::kGrammar, "cannot be used: {}", compiled.error().message);
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

// The choices of one prompt, numbered across all prompts.
GenerationStatus AddChoices(const ServedModel& model, const GenerationSpec& spec, const std::vector<TokenId>& prompt,
                            Requests& out) {
  if (auto room = CheckRoom(model, prompt.size()); !room) return room;
  if (auto speculation = CheckSpeculation(model, spec); !speculation) return speculation;
  const auto grammar = GrammarOf(model, spec);
  if (!grammar) return Forward(grammar);
  const auto now = std::chrono::steady_clock::now();
  for (int32_t i = 0; i < spec.choices; ++i) {
    auto sampling = SamplingOfChoice(spec.sampling, static_cast<int64_t>(out.size()), *model.tokenizer);
    if (!sampling) return Forward(sampling);
    scheduler::GenerationRequest& request = out.emplace_back();
    request.prompt = prompt;
    request.sampling = std::move(*sampling);
    request.max_tokens = spec.max_tokens;
    request.stop = spec.stop;
    request.grammar = *grammar;
    request.ignore_eos = spec.ignore_eos;
    request.top_logprobs = spec.top_logprobs;
    request.prompt_logprobs = spec.prompt_logprobs;
    request.speculation = spec.speculation;
    request.priority = spec.priority;
    if (spec.timeout > 0) {
      const std::chrono::duration<double> timeout(spec.timeout);
      request.deadline = now + std::chrono::duration_cast<std::chrono::nanoseconds>(timeout);
    }
    request.account = spec.account;
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
  if (auto resolved = ResolveTools(chat, spec); !resolved) return Forward(resolved);
  if (auto resolved = ResolveToolCallForm(model, chat, spec); !resolved) return Forward(resolved);
  const bool tools = !chat.tools.empty();
  Generation out;
  out.tool_calls = ToolCallParsers(model, chat, static_cast<size_t>(spec.choices));
  const auto prompt = ChatPrompt(model, std::move(chat));
  if (!prompt) return Forward(prompt);
  if (auto added = AddChoices(model, spec, *prompt, out.requests); !added) return Forward(added);
  if (tools && model.tool_calls) {
    for (auto& request : out.requests) request.shown_control = model.tool_calls->tokens.shown;
  }
  return out;
}

GenerationResult<Generation> BuildCompletion(const ServedModel& model, std::span<const RawPrompt> prompts,
                                             const GenerationSpec& spec) {
  Generation out;
  for (const RawPrompt& raw : prompts) {
    const auto prompt = RawPromptTokens(model, raw);
    if (!prompt) return Forward(prompt);
    if (auto added = AddChoices(model, spec, *prompt, out.requests); !added) return Forward(added);
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
