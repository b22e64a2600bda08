#include "embedded/embed.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "embedded/call_events.h"
#include "serving/generation/chat_prompt.h"

namespace inferflux::embedded {
namespace {

// Texts that the scheduler holds at once: enough to fill its steps, but few enough that a long list does not fill its
// queue.
constexpr size_t kWave = 64;

Result<std::vector<scheduler::GenerationRequest>> Prepare(const LoadedModelState& state,
                                                          std::span<const std::string> texts) {
  std::vector<scheduler::GenerationRequest> out;
  for (size_t i = 0; i < texts.size(); ++i) {
    auto prompt = texts[i].empty() ? serving::Refuse(serving::GenerationError::Field::kPrompt, "is empty")
                                   : serving::RawPromptTokens(*state.model, texts[i]);
    if (!prompt) {
      Error error = OfGeneration(prompt.error());
      error.message = fmt::format("text {}: {}", i, error.message);
      return Refuse(std::move(error));
    }
    out.push_back({.prompt = std::move(*prompt), .embed = true});
  }
  return out;
}

}  // namespace

Result<std::vector<std::vector<float>>> EmbedTexts(const LoadedModelState& state, std::span<const std::string> texts,
                                                   const GenerateOptions& options) {
  if (state.info.dimensions == 0) {
    return FailAt("model", Error::kNoPosition, "the model '{}' makes no embeddings on {} ({})", state.info.name,
                  state.info.backend, state.info.provider);
  }
  const CallLimits limits = LimitsOf(options);
  std::vector<std::vector<float>> out(texts.size());
  for (size_t first = 0; first < texts.size(); first += kWave) {
    auto requests = Prepare(state, texts.subspan(first, std::min(kWave, texts.size() - first)));
    if (!requests) return Forward(requests);
    auto events = CallEvents::Submit(*state.model, std::move(*requests), limits);
    if (!events) return Forward(events);
    while (!events->finished()) {
      const auto take = [&](size_t index, scheduler::StreamEvent event) {
        if (event.finish) out[first + index] = std::move(event.embedding);
      };
      if (auto next = events->Next(take); !next) return Forward(next);
    }
  }
  return out;
}

}  // namespace inferflux::embedded
