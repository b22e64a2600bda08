// The rows of a step whose hidden states are requested. All rows need keys and values. In the last layer, the other
// rows stop after their keys and values are written; only the requested rows continue.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compute/params.h"

namespace inferflux::model {

struct KeptRows {
  std::vector<int32_t> rows;        // of the step, ascending and unique
  compute::StepGeometry geometry;   // these rows as a step; each run of neighbouring rows is a sequence
  std::vector<int32_t> output_row;  // for output i, its index in `rows`
};

// output_rows: rows of `step`, in any order, with repetitions allowed.
KeptRows KeepRows(const compute::StepGeometry& step, std::span<const int32_t> output_rows);

}  // namespace inferflux::model
