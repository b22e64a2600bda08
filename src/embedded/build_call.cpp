#include "embedded/build_call.h"

#include <boost/json/object.hpp>
#include <string>
#include <utility>

#include "dspy/adapters/llama_cpp_config.h"
#include "unicode/utf8.h"

namespace inferflux::embedded {
namespace {

text::GrammarSpec ToGrammar(const Constraint& constraint) {
  using Kind = text::GrammarSpec::Kind;
  const Kind kind = constraint.kind == Constraint::Kind::kJsonSchema ? Kind::kJsonSchema
                    : constraint.kind == Constraint::Kind::kRegex    ? Kind::kRegex
                                                                     : Kind::kGbnf;
  return {.kind = kind, .source = constraint.source};
}

template <class To, class From>
void Set(const std::optional<From>& from, To& to) {
  if (from) to = static_cast<To>(*from);
}

serving::GenerationSpec ToSpec(const GenerateOptions& options) {
  serving::GenerationSpec out;
  const Sampling& sampling = options.sampling;
  Set(sampling.max_tokens, out.max_tokens);
  Set(sampling.temperature, out.sampling.params.temperature);
  Set(sampling.top_p, out.sampling.params.top_p);
  Set(sampling.top_k, out.sampling.params.top_k);
  Set(sampling.min_p, out.sampling.params.min_p);
  Set(sampling.repeat_penalty, out.sampling.params.repetition_penalty);
  if (sampling.seed) out.sampling.seed = static_cast<int64_t>(*sampling.seed);
  out.stop = sampling.stop;
  out.ignore_eos = options.ignore_eos;
  if (options.constraint) out.grammar = ToGrammar(*options.constraint);
  return out;
}

Status CheckGenerates(const LoadedModelState& state) {
  if (state.info.generates) return {};
  return FailAt("model", Error::kNoPosition, "the model '{}' is an encoder: it embeds texts, and generates none",
                state.info.name);
}

}  // namespace

Status CheckOptions(const GenerateOptions& options, const LoadOptions& load) {
  const dspy::CallSettings settings{.sampling = options.sampling, .timeout = options.timeout};
  if (auto checked = dspy::Check(settings); !checked) return Forward(checked);
  for (const std::string& stop : options.sampling.stop) {
    if (!unicode::IsValidUtf8(stop)) return FailAt("stop", Error::kNoPosition, "a stop string is not UTF-8 text");
  }
  return dspy::CheckAgainst(settings, load);
}

serving::Chat ToChat(std::span<const Message> messages) {
  serving::Chat out;
  for (const Message& message : messages) {
    out.messages.push_back(boost::json::object{{"role", message.role}, {"content", message.content}});
  }
  return out;
}

Result<serving::Generation> BuildCall(const LoadedModelState& state, serving::Chat chat,
                                      const GenerateOptions& options) {
  if (auto generates = CheckGenerates(state); !generates) return Forward(generates);
  if (chat.messages.empty()) return FailAt("messages", Error::kNoPosition, "there are no messages to answer");
  auto built = serving::BuildChat(*state.model, std::move(chat), ToSpec(options));
  if (!built) return Refuse(OfGeneration(built.error()));
  return std::move(*built);
}

Result<serving::Generation> BuildCall(const LoadedModelState& state, serving::RawPrompt prompt,
                                      const GenerateOptions& options) {
  if (auto generates = CheckGenerates(state); !generates) return Forward(generates);
  const serving::RawPrompt prompts[] = {std::move(prompt)};
  auto built = serving::BuildCompletion(*state.model, prompts, ToSpec(options));
  if (!built) return Refuse(OfGeneration(built.error()));
  return std::move(*built);
}

}  // namespace inferflux::embedded
