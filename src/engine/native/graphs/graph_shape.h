// Decode steps in few shapes, so that few captured graphs serve all of them (compute::GraphCapture).
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "base/function_ref.h"
#include "compute/params.h"
#include "engine/unified_batch.h"

namespace inferflux::engine {

// Whether the item has one token and one output, which needs logits.
bool IsDecodeItem(const BatchItem& item);
// Whether every sequence has one token and one output, which needs logits.
bool IsDecodeStep(const UnifiedBatch& batch);

struct GraphShape {
  int32_t rows = 0;
  int32_t tokens = 0;  // the most that a sequence has after the step

  friend auto operator<=>(const GraphShape&, const GraphShape&) = default;
};

struct GraphLimits {
  int32_t sequences = 0;  // of the largest step
  int32_t context = 0;    // tokens of a sequence
  int32_t spare_block =
      0;  // a KV block that no sequence has: lines that fill up a step store their keys and values there
  // Whether a step may have more lines than its own. They would change which kernels multiply by experts, and several
  // would store their recurrent states in one place.
  bool pads = true;
  // Whether a step can be captured before there is one. Recurrent states are those of sequences.
  bool ahead = true;
};

// The shape of a decode step. `rows_of`: to how many rows a step of so many is padded; 0: it has no graph.
// The shape has no rows if the step has no graph.
GraphShape ShapeOf(const compute::StepGeometry& step, const GraphLimits& limits, FunctionRef<int32_t(int32_t)> rows_of);

// The shapes that the steps of short sequences will have, the smallest first; none if none can be captured ahead.
std::vector<GraphShape> ShapesAhead(const GraphLimits& limits, FunctionRef<int32_t(int32_t)> rows_of);

// The step in this shape: its own rows first. Each sequence has room for as many blocks as shape.tokens needs. Lines
// that are added have a position of their own in the spare block.
compute::StepGeometry InShape(const compute::StepGeometry& step, const GraphShape& shape, const GraphLimits& limits);

}  // namespace inferflux::engine
