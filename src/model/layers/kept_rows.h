// The rows of a step whose hidden states are asked for. Keys and values are wanted of every row, and nothing else of
// the others once the last layer has them: it goes on with these alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compute/params.h"

namespace inferflux::model {

struct KeptRows {
  std::vector<int32_t> rows;        // of the step, ascending, each once
  compute::StepGeometry geometry;   // they as a step of their own, in which what lies side by side is a sequence
  std::vector<int32_t> output_row;  // which of `rows` output i is
};

// output_rows: of `step`, in any order, also more than once.
KeptRows KeepRows(const compute::StepGeometry& step, std::span<const int32_t> output_rows);

}  // namespace inferflux::model
