#include "parity/feed.h"

#include <algorithm>
#include <utility>

namespace inferflux::parity {

Result<OwnSequence> OpenEmpty(engine::Engine& engine, uint64_t salt) {
  auto opened = engine.Open({}, salt);
  if (!opened) return Forward(opened);
  return OwnSequence(engine, opened->sequence);
}

engine::BatchItem ItemOf(engine::SequenceId sequence, std::span<const TokenId> tokens, int32_t first_position) {
  engine::BatchItem item{.sequence = sequence, .tokens = {tokens.begin(), tokens.end()}};
  item.first_position = first_position;
  for (size_t i = 0; i < tokens.size(); ++i) {
    item.outputs.push_back({.token_index = static_cast<int32_t>(i), .kind = engine::OutputSpec::Kind::kLogits});
  }
  return item;
}

Result<engine::StepResult> RunStep(engine::Engine& engine, const std::vector<engine::BatchItem>& items) {
  for (const auto& item : items) {
    const auto end = item.first_position + static_cast<int32_t>(item.tokens.size());
    if (auto room = engine.Reserve(item.sequence, end); !room) return Forward(room);
  }
  return engine.ExecuteUnifiedBatch({.items = items});
}

Result<std::vector<std::vector<float>>> Feed(engine::Engine& engine, engine::SequenceId sequence,
                                             std::span<const TokenId> tokens, size_t chunk) {
  auto length = engine.Length(sequence);
  if (!length) return Forward(length);
  std::vector<std::vector<float>> logits;
  for (size_t at = 0; at < tokens.size(); at += chunk) {
    const auto piece = tokens.subspan(at, std::min(chunk, tokens.size() - at));
    auto step = RunStep(engine, {ItemOf(sequence, piece, *length + static_cast<int32_t>(at))});
    if (!step) return Forward(step);
    for (auto& output : step->items[0]) logits.push_back(std::move(output.logits));
  }
  return logits;
}

}  // namespace inferflux::parity
