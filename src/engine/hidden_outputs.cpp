#include "engine/hidden_outputs.h"

namespace inferflux::engine {

OutputRows SplitOutputs(const UnifiedBatch& batch) {
  OutputRows rows;
  int32_t number = 0;
  for (const BatchItem& item : batch.items) {
    for (const OutputSpec& output : item.outputs) {
      (output.kind == OutputSpec::Kind::kHidden ? rows.hidden : rows.logits).push_back(number++);
    }
  }
  return rows;
}

Status CheckHiddenOnly(const UnifiedBatch& batch) {
  if (SplitOutputs(batch).logits.empty()) return {};
  return Fail(ErrorCode::kUnsupported,
              "this model is an encoder or a classifier: it has hidden states, and no logits to sample from");
}

void FillHidden(const UnifiedBatch& batch, std::span<const float> hidden, int32_t width, StepResult* result) {
  for (size_t i = 0; i < batch.items.size(); ++i) {
    for (size_t o = 0; o < batch.items[i].outputs.size(); ++o) {
      if (batch.items[i].outputs[o].kind != OutputSpec::Kind::kHidden) continue;
      const auto row = hidden.first(static_cast<size_t>(width));
      result->items[i][o].hidden.assign(row.begin(), row.end());
      hidden = hidden.subspan(row.size());
    }
  }
}

}  // namespace inferflux::engine
