#include "engine/native/step_plan.h"

#include "engine/step_check.h"

namespace inferflux::engine {

Result<StepPlan> PlanStep(const BlockManager& store, const UnifiedBatch& batch, int32_t vocab_size, int32_t context) {
  const auto length = [&](SequenceId id, int32_t count) -> Result<int32_t> {
    if (auto room = store.CheckWritable(id, count); !room) return Forward(room);
    return (*store.Find(id))->length();
  };
  if (auto valid = CheckStep(batch, length, vocab_size, context); !valid) return Forward(valid);
  StepPlan plan;
  auto& geometry = plan.geometry;
  geometry.block_size = store.block_size();
  for (const BatchItem& item : batch.items) {
    const int32_t first_row = geometry.rows();
    geometry.query_starts.push_back(first_row);
    geometry.table_starts.push_back(static_cast<int32_t>(geometry.block_tables.size()));
    geometry.tokens.insert(geometry.tokens.end(), item.tokens.begin(), item.tokens.end());
    for (size_t t = 0; t < item.tokens.size(); ++t) {
      geometry.positions.push_back(item.first_position + static_cast<int32_t>(t));
    }
    if (item.second_text > 0) {
      plan.token_types.resize(geometry.tokens.size());
      for (size_t row = static_cast<size_t>(first_row); row < plan.token_types.size(); ++row) {
        plan.token_types[row] = geometry.positions[row] >= item.second_text ? 1 : 0;
      }
    }
    const auto& blocks = (*store.Find(item.sequence))->blocks;
    geometry.block_tables.insert(geometry.block_tables.end(), blocks.begin(), blocks.end());
    for (const auto& output : item.outputs) plan.output_rows.push_back(first_row + output.token_index);
  }
  if (!plan.token_types.empty()) plan.token_types.resize(geometry.tokens.size());
  geometry.query_starts.push_back(geometry.rows());
  geometry.table_starts.push_back(static_cast<int32_t>(geometry.block_tables.size()));
  return plan;
}

}  // namespace inferflux::engine
