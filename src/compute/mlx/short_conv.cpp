#include <mlx/ops.h>
#include <mlx/transforms.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "compute/mlx/arrays.h"
#include "compute/mlx/mlx_backend.h"

namespace inferflux::compute {

Result<Mlx::States> Mlx::CreateStates(Context&, const StateShape& shape) {
  if (shape.slots < 1 || StateBytes(shape.layers) < 0) {
    return Fail(ErrorCode::kInvalidArgument, "{} recurrent states of {} bytes each", shape.slots,
                StateBytes(shape.layers));
  }
  States out;
  for (const int64_t size : shape.layers) {
    std::vector<mx::array> slots;
    if (size > 0) {
      if (size > std::numeric_limits<int32_t>::max()) {
        return Fail(ErrorCode::kResourceExhausted, "no array of {} values for a recurrent state", size);
      }
      slots.assign(static_cast<size_t>(shape.slots), mx::zeros({1, Int(size)}, mx::float32));
    }
    out.layers.push_back(std::move(slots));
  }
  return out;
}

// A part is copied first: slots may share an array, and the visitor may write.
void Mlx::VisitState(States& states, int32_t slot, FunctionRef<void(std::span<std::byte>)> visit) {
  for (auto& layer : states.layers) {
    if (layer.empty()) continue;
    mx::array& part = layer[static_cast<size_t>(slot)];
    part = mx::contiguous(part);
    part.eval();
    const auto count = static_cast<size_t>(part.size());
    const float* values = part.data<float>();
    part = MakeArray<float>({1, part.shape(1)}, mx::float32, [&](float* to) {
      std::copy_n(values, count, to);
      visit(std::as_writable_bytes(std::span(to, count)));
    });
  }
}

Mlx::Buffer Mlx::ShortConv(Context&, View x, View taps, States& states, int32_t layer, const Batch& batch) {
  const StepGeometry& geometry = batch.geometry;
  const int cols = Int(x.cols()), count = Int(taps.cols()) / cols, before = count - 1;
  const mx::array weights = mx::reshape(taps.values, {count, cols});
  auto& slots = states.layers[static_cast<size_t>(layer)];
  std::vector<mx::array> results, stored;
  size_t mark = 0;
  for (size_t s = 0; s + 1 < geometry.query_starts.size(); ++s) {
    const int first = geometry.query_starts[s], end = geometry.query_starts[s + 1];
    const StateSlots& where = geometry.states[s];
    const mx::array earlier = where.from == StateSlots::kNoState
                                  ? mx::zeros({before, cols}, mx::float32)
                                  : mx::reshape(slots[static_cast<size_t>(where.from)], {before, cols});
    const mx::array rows = mx::concatenate({earlier, mx::slice(x.values, {first, 0}, {end, cols})}, 0);
    mx::array sum = mx::zeros({end - first, cols}, mx::float32);
    for (int t = 0; t < count; ++t) {
      sum = sum + mx::slice(rows, {t, 0}, {t + end - first, cols}) * mx::slice(weights, {t, 0}, {t + 1, cols});
    }
    results.push_back(sum);
    const auto store = [&](int last, int32_t slot) {  // a copy, so that the step's rows are not kept alive
      const int begin = last - first + 1;
      mx::array part =
          mx::contiguous(mx::reshape(mx::slice(rows, {begin, 0}, {begin + before, cols}), {1, before * cols}));
      slots[static_cast<size_t>(slot)] = part;
      stored.push_back(std::move(part));
    };
    for (; mark < geometry.state_marks.size() && geometry.state_marks[mark].row < end; ++mark) {
      store(geometry.state_marks[mark].row, geometry.state_marks[mark].slot);
    }
    store(end - 1, where.to);
  }
  mx::async_eval(stored);  // no output may need them: their graphs would grow from step to step
  return {results.size() == 1 ? results.front() : mx::concatenate(std::move(results), 0)};
}

Mlx::Buffer Mlx::Multiply(Context&, View a, View b) { return {a.values * b.values}; }

}  // namespace inferflux::compute
