#include "engine/native/step_plan.h"

#include <string>
#include <unordered_set>

namespace inferflux::engine {
namespace {

Status CheckIds(std::span<const TokenId> ids, const char* what, int32_t vocab_size) {
  for (const TokenId id : ids) {
    if (id < 0 || id >= vocab_size) {
      return Fail(ErrorCode::kInvalidArgument, "{} {}: the vocabulary ends at {}", what, id, vocab_size - 1);
    }
  }
  return {};
}

Status CheckOutput(const OutputSpec& output, const BatchItem& item, int32_t vocab_size) {
  if (output.token_index < 0 || static_cast<size_t>(output.token_index) >= item.tokens.size()) {
    return Fail(ErrorCode::kInvalidArgument, "an output after token {} of {}", output.token_index, item.tokens.size());
  }
  if (auto banned = CheckIds(output.banned, "banned token", vocab_size); !banned) return banned;
  for (const auto& [id, bias] : output.sampling.logit_bias) {
    if (auto biased = CheckIds(std::span(&id, 1), "logit_bias of token", vocab_size); !biased) return biased;
  }
  return {};
}

Status CheckItem(const KvStore& store, const BatchItem& item, int32_t vocab_size, int32_t context) {
  auto found = store.Find(item.sequence);
  if (!found) return Forward(found);
  const int32_t length = (*found)->length();
  if (item.tokens.empty()) return Fail(ErrorCode::kInvalidArgument, "no tokens");
  if (auto tokens = CheckIds(item.tokens, "token", vocab_size); !tokens) return tokens;
  if (item.first_position != length) {
    return Fail(ErrorCode::kInvalidArgument, "its first position is {} and the sequence has {} tokens",
                item.first_position, length);
  }
  if (item.tokens.size() > static_cast<size_t>(context - length)) {
    return Fail(ErrorCode::kInvalidArgument, "{} tokens after {} pass the context of {}", item.tokens.size(), length,
                context);
  }
  if (auto room = store.CheckWritable(item.sequence, static_cast<int32_t>(item.tokens.size())); !room) return room;
  for (const auto& output : item.outputs) {
    if (auto valid = CheckOutput(output, item, vocab_size); !valid) return valid;
  }
  return {};
}

}  // namespace

Result<StepPlan> PlanStep(const KvStore& store, const UnifiedBatch& batch, int32_t vocab_size, int32_t context) {
  if (batch.items.empty()) return Fail(ErrorCode::kInvalidArgument, "a step of no sequences");
  StepPlan plan;
  auto& geometry = plan.geometry;
  geometry.block_size = store.block_size();
  std::unordered_set<uint32_t> slots;
  for (size_t i = 0; i < batch.items.size(); ++i) {
    const BatchItem& item = batch.items[i];
    if (auto valid = CheckItem(store, item, vocab_size, context); !valid) {
      return Forward(valid, "item " + std::to_string(i) + " of the step");
    }
    if (!slots.insert(item.sequence.slot).second) {
      return Fail(ErrorCode::kInvalidArgument, "item {} of the step: its sequence is in the step already", i);
    }
    const int32_t first_row = geometry.rows();
    geometry.query_starts.push_back(first_row);
    geometry.table_starts.push_back(static_cast<int32_t>(geometry.block_tables.size()));
    geometry.tokens.insert(geometry.tokens.end(), item.tokens.begin(), item.tokens.end());
    for (size_t t = 0; t < item.tokens.size(); ++t) {
      geometry.positions.push_back(item.first_position + static_cast<int32_t>(t));
    }
    const auto& blocks = (*store.Find(item.sequence))->blocks;
    geometry.block_tables.insert(geometry.block_tables.end(), blocks.begin(), blocks.end());
    for (const auto& output : item.outputs) plan.output_rows.push_back(first_row + output.token_index);
  }
  geometry.query_starts.push_back(geometry.rows());
  geometry.table_starts.push_back(static_cast<int32_t>(geometry.block_tables.size()));
  return plan;
}

}  // namespace inferflux::engine
