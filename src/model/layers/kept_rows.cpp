#include "model/layers/kept_rows.h"

#include <algorithm>

namespace inferflux::model {
namespace {

void AddSequence(const compute::StepGeometry& step, int32_t sequence, std::span<const int32_t> rows,
                 compute::StepGeometry& to) {
  for (const int32_t row : rows) {
    to.tokens.push_back(step.tokens[row]);
    to.positions.push_back(step.positions[row]);
  }
  const auto table = std::span(step.block_tables)
                         .subspan(step.table_starts[sequence],
                                  static_cast<size_t>(step.table_starts[sequence + 1] - step.table_starts[sequence]));
  to.block_tables.insert(to.block_tables.end(), table.begin(), table.end());
  to.query_starts.push_back(to.rows());
  to.table_starts.push_back(static_cast<int32_t>(to.block_tables.size()));
}

}  // namespace

KeptRows KeepRows(const compute::StepGeometry& step, std::span<const int32_t> output_rows) {
  KeptRows out;
  out.rows.assign(output_rows.begin(), output_rows.end());
  std::sort(out.rows.begin(), out.rows.end());
  out.rows.erase(std::unique(out.rows.begin(), out.rows.end()), out.rows.end());
  for (const int32_t row : output_rows) {
    out.output_row.push_back(
        static_cast<int32_t>(std::lower_bound(out.rows.begin(), out.rows.end(), row) - out.rows.begin()));
  }

  out.geometry.block_size = step.block_size;
  out.geometry.query_starts = out.geometry.table_starts = {0};
  int32_t sequence = 0;
  for (size_t first = 0; first < out.rows.size();) {
    while (step.query_starts[sequence + 1] <= out.rows[first]) ++sequence;
    size_t end = first + 1;
    while (end < out.rows.size() && out.rows[end] == out.rows[end - 1] + 1 &&
           out.rows[end] < step.query_starts[sequence + 1]) {
      ++end;
    }
    AddSequence(step, sequence, std::span(out.rows).subspan(first, end - first), out.geometry);
    first = end;
  }
  return out;
}

}  // namespace inferflux::model
