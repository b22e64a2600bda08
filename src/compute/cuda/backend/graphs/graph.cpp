#include <algorithm>

#include "compute/cuda/backend/narrowed.h"
#include "compute/cuda/backend/operation.h"

namespace inferflux::compute {
namespace {

// A context whose steps are recorded: their memory is that of graphs.
class CapturedContext {
 public:
  CapturedContext(Cuda::Context& context, cuda::Recording& recording) : context_(context) {
    std::swap(context_.arena, context_.graph_arena);
    context_.recording = &recording;
  }
  CapturedContext(const CapturedContext&) = delete;
  CapturedContext& operator=(const CapturedContext&) = delete;
  ~CapturedContext() {
    context_.recording = nullptr;
    std::swap(context_.arena, context_.graph_arena);
  }

 private:
  Cuda::Context& context_;
};

// The step's result. Its memory returns to the graph arena, which allocates nothing until the next capture.
Result<Cuda::View> Run(FunctionRef<Cuda::Buffer()> step) {
  return WithoutExceptions("a step that is captured", [&]() -> Result<Cuda::View> {
    const Cuda::Buffer result = step();
    return Cuda::View(result);
  });
}

Result<Cuda::Graph> Record(Cuda::Context& context, cuda::Recording& recording, FunctionRef<Cuda::Buffer()> step) {
  const CapturedContext captured(context, recording);
  if (auto first = Run(step); !first) return Forward(first);
  recording.BeginSecondRun();
  cuda::Runtime& runtime = *context.runtime;
  if (auto begun = runtime.BeginCapture(context.stream); !begun) return Forward(begun);
  const auto second = Run(step);
  const auto ended = runtime.EndCapture(context.stream);  // in any case: until then the stream does nothing
  Cuda::Graph out;
  if (ended) {
    out.recorded = {new cuda::Graph(*ended), cuda::GraphRelease{&runtime, context.stream}};
  }
  if (!second) return Forward(second);
  if (!ended) return Forward(ended);
  out.result = *second;
  return out;
}

}  // namespace

int32_t Cuda::GraphRows(int32_t rows) {
  // Products change their kernels after these many rows, and the library its algorithms at ColumnsOfAlgorithm; with
  // them the last bits change.
  static_assert(cuda_ops::kFewRows == 4 && cuda::kThinRows == 32);
  constexpr int32_t kMost = 512;  // more rows keep the device busy while the host launches
  if (rows == 3) return 4;
  return rows > kMost ? 0 : static_cast<int32_t>(cuda::ColumnsOfAlgorithm(rows));
}

Result<Cuda::Graph> Cuda::Capture(Context& context, FunctionRef<Buffer()> step) {
  const size_t before = context.graph_arena->pieces();
  cuda::Recording recording(*context.arena, *context.staging);
  auto graph = Record(context, recording, step);
  if (!graph) {  // what the step needs without a graph may be just this memory
    context.graph_arena->FreeAfter(before);
    return graph;
  }
  graph->constants = recording.TakeConstants();
  return graph;
}

Cuda::View Cuda::Replay(Context& context, const Graph& graph) {
  cuda_ops::Must(context.runtime->Replay(*graph.recorded, context.stream));
  return graph.result;
}

}  // namespace inferflux::compute
