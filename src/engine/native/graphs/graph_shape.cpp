#include "engine/native/graphs/graph_shape.h"

#include <algorithm>
#include <span>

namespace inferflux::engine {
namespace {

// Most sequences are shorter, and the attention kernels divide longer ones. Each further shape doubles this.
constexpr int32_t kLeastTokens = 1024;

int32_t BlocksOf(const GraphShape& shape, int32_t block_size) { return (shape.tokens + block_size - 1) / block_size; }

}  // namespace

bool IsDecodeItem(const BatchItem& item) {
  return item.tokens.size() == 1 && item.outputs.size() == 1 && item.second_text == 0 &&
         item.outputs[0].kind != OutputSpec::Kind::kHidden;
}

bool IsDecodeStep(const UnifiedBatch& batch) {
  return !batch.items.empty() && std::ranges::all_of(batch.items, IsDecodeItem);
}

GraphShape ShapeOf(const compute::StepGeometry& step, const GraphLimits& limits,
                   FunctionRef<int32_t(int32_t)> rows_of) {
  const int32_t rows = step.rows();
  const int32_t longest = *std::ranges::max_element(step.positions) + 1;
  GraphShape shape{.rows = rows_of(rows), .tokens = std::min(kLeastTokens, limits.context)};
  if (shape.rows == 0) return {};
  shape.rows = limits.pads ? std::min(shape.rows, std::max(rows, limits.sequences)) : rows;
  while (shape.tokens < longest) {
    shape.tokens = shape.tokens > limits.context / 2 ? limits.context : shape.tokens * 2;
    if (shape.tokens == limits.context) break;
  }
  if (shape.tokens < longest || shape.rows - rows > std::min(step.block_size, limits.context)) return {};
  return shape;
}

std::vector<GraphShape> ShapesAhead(const GraphLimits& limits, FunctionRef<int32_t(int32_t)> rows_of) {
  std::vector<GraphShape> out;
  if (!limits.ahead) return out;
  for (int32_t rows = 1; rows <= limits.sequences; ++rows) {
    const int32_t padded = std::min(rows_of(rows), limits.sequences);
    if (padded == 0) break;  // of larger steps nothing is captured
    const bool is_new = out.empty() || out.back().rows < padded;
    if (is_new && (limits.pads || padded == rows)) out.push_back({padded, std::min(kLeastTokens, limits.context)});
  }
  return out;
}

compute::StepGeometry InShape(const compute::StepGeometry& step, const GraphShape& shape, const GraphLimits& limits) {
  compute::StepGeometry out = step;
  const int32_t blocks = BlocksOf(shape, step.block_size);
  out.most_tokens = shape.tokens;
  out.query_starts.clear();
  out.table_starts.clear();
  out.block_tables.assign(static_cast<size_t>(shape.rows) * static_cast<size_t>(blocks), limits.spare_block);
  for (int32_t row = 0; row <= shape.rows; ++row) {
    out.query_starts.push_back(row);
    out.table_starts.push_back(row * blocks);
  }
  for (int32_t row = 0; row < step.rows(); ++row) {
    const auto table = std::span(step.block_tables)
                           .subspan(static_cast<size_t>(step.table_starts[row]),
                                    static_cast<size_t>(step.table_starts[row + 1] - step.table_starts[row]));
    std::ranges::copy(table.first(std::min(table.size(), static_cast<size_t>(blocks))),
                      out.block_tables.begin() + int64_t{row} * blocks);
  }
  for (int32_t row = step.rows(); row < shape.rows; ++row) {
    out.tokens.push_back(0);
    out.positions.push_back(row - step.rows());
  }
  return out;
}

}  // namespace inferflux::engine
