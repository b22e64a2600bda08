#include "engine/engine.h"

#include <utility>

namespace inferflux::engine {
namespace {

Result<BatchItem> ItemAfter(Engine& engine, SequenceId sequence, std::span<const TokenId> tokens, OutputSpec output) {
  const auto length = engine.Length(sequence);
  if (!length) return Forward(length);
  const auto count = static_cast<int32_t>(tokens.size());
  if (auto room = engine.Reserve(sequence, *length + count); !room) return Forward(room);
  output.token_index = count - 1;
  return BatchItem{.sequence = sequence,
                   .tokens = {tokens.begin(), tokens.end()},
                   .first_position = *length,
                   .outputs = {std::move(output)}};
}

}  // namespace

Status Engine::Submit(UnifiedBatch batch) {
  if (submitted_) return Fail(ErrorCode::kInvalidArgument, "a step is under way; collect it before the next");
  submitted_ = ExecuteUnifiedBatch(batch);
  return {};
}

Result<StepResult> Engine::Collect() {
  if (!submitted_) return Fail(ErrorCode::kInvalidArgument, "no step was submitted");
  return *std::exchange(submitted_, std::nullopt);
}

Result<OutputResult> Engine::Prefill(SequenceId sequence, std::span<const TokenId> tokens, OutputSpec output) {
  auto item = ItemAfter(*this, sequence, tokens, std::move(output));
  if (!item) return Forward(item);
  auto result = ExecuteUnifiedBatch({.items = {std::move(*item)}});
  if (!result) return Forward(result);
  return std::move(result->items[0][0]);
}

Result<std::vector<OutputResult>> Engine::Decode(std::span<const NextToken> next) {
  UnifiedBatch batch;
  for (const NextToken& each : next) {
    auto item = ItemAfter(*this, each.sequence, std::span(&each.token, 1), each.output);
    if (!item) return Forward(item);
    batch.items.push_back(std::move(*item));
  }
  auto result = ExecuteUnifiedBatch(batch);
  if (!result) return Forward(result);
  std::vector<OutputResult> out;
  for (auto& outputs : result->items) out.push_back(std::move(outputs[0]));
  return out;
}

}  // namespace inferflux::engine
