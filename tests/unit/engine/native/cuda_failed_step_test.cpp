// Steps in which the device fails: one sentence with the reason, and no sequence has changed.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "compute/cuda/cuda_backend.h"
#include "compute/cuda/device/thread.h"
#include "compute/cuda/host_runtime.h"
#include "compute/cuda/launch.h"
#include "engine/native/native_engine.h"
#include "model/families/family.h"

namespace inferflux::engine {
namespace {

using compute::Cuda;

// Waits at a barrier that a thread of its warp has left.
__global__ void LeavesABarrierKernel() {
  if (cuda::ThreadIndex().x != 0) cuda::SyncThreads();
}

int gates_left = 0;  // until a kernel fails: operations are static. Below 0: none does

// Its kernels fail in the middle of a step.
struct FailingCuda : Cuda {
  static Buffer Gate(Context& context, View gate, View up, compute::Activation activation) {
    if (gates_left-- == 0) {
      EXPECT_TRUE(cuda::Launch(LeavesABarrierKernel, {1}, {32}, 0, context.stream));
    }
    return Cuda::Gate(context, gate, up, activation);
  }
  static Buffer GateMatMul(Context& context, View gate, View up, compute::Activation activation, const Matrix& matrix) {
    return MatMul(context, Gate(context, gate, up, activation), matrix);
  }
};

cuda::Runtime* runtime = nullptr;  // of the last engine

std::unique_ptr<Engine> MakeEngine() {
  const auto path = std::filesystem::path(INFERFLUX_SOURCE_DIR) / "tests/data/models/mistral.gguf";
  const auto source = model::ModelSource::Open(path.string());
  EXPECT_TRUE(source) << source.error().message;
  auto context = Cuda::Context::Open(*cuda::HostRuntime::Open({.checked = false}));
  EXPECT_TRUE(context);
  runtime = (*context)->runtime.get();
  auto engine = NativeEngine<FailingCuda, compute::KvFp16>::Create(
      std::move(*context), *model::ReadModelConfig(**source), *source,
      {.max_sequences = 4, .block_size = 16, .kv_bytes = 1 << 18});
  EXPECT_TRUE(engine) << engine.error().message;
  return std::move(*engine);
}

UnifiedBatch StepOf(const std::vector<SequenceId>& sequences, const std::vector<int32_t>& lengths, int32_t tokens) {
  UnifiedBatch batch;
  for (size_t i = 0; i < sequences.size(); ++i) {
    BatchItem item{.sequence = sequences[i], .first_position = lengths[i]};
    for (int32_t t = 0; t < tokens; ++t) item.tokens.push_back(3 + t % 17);
    item.outputs.push_back({.token_index = tokens - 1, .kind = OutputSpec::Kind::kLogits});
    batch.items.push_back(std::move(item));
  }
  return batch;
}

TEST(CudaFailedStep, AKernelThatFailsIsTheStepsErrorAndNoSequenceChanges) {
  gates_left = -1;
  const auto engine = MakeEngine();
  const SequenceId a = engine->Open({}, 1)->sequence, b = engine->Open({}, 2)->sequence;
  ASSERT_TRUE(engine->Reserve(a, 30));
  ASSERT_TRUE(engine->Reserve(b, 30));
  ASSERT_TRUE(engine->ExecuteUnifiedBatch(StepOf({a}, {0}, 5)));
  const KvUsage before = engine->usage();

  gates_left = 1;  // the second layer's
  const auto failed = engine->ExecuteUnifiedBatch(StepOf({a, b}, {5, 0}, 3));
  ASSERT_FALSE(failed);
  const std::string& message = failed.error().message;
  EXPECT_NE(message.find("LeavesABarrierKernel"), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_EQ(*engine->Length(a), 5);
  EXPECT_EQ(*engine->Length(b), 0);
  EXPECT_EQ(engine->usage().blocks_used, before.blocks_used);

  // A device that has failed stays so: every later step says the same, and sequences can still be closed.
  const auto later = engine->ExecuteUnifiedBatch(StepOf({a}, {5}, 1));
  ASSERT_FALSE(later);
  EXPECT_NE(later.error().message.find("LeavesABarrierKernel"), std::string::npos) << later.error().message;
  EXPECT_EQ(*engine->Length(a), 5);
  EXPECT_TRUE(engine->Close(a));
  EXPECT_TRUE(engine->Close(b));
}

TEST(CudaFailedStep, AKernelThatFailsAfterSubmitIsCollectsErrorAndNoSequenceChanges) {
  gates_left = -1;
  const auto engine = MakeEngine();
  const SequenceId a = engine->Open({}, 1)->sequence, b = engine->Open({}, 2)->sequence;
  ASSERT_TRUE(engine->Reserve(a, 30));
  ASSERT_TRUE(engine->Reserve(b, 30));
  ASSERT_TRUE(engine->Submit(StepOf({a}, {0}, 5)));
  ASSERT_TRUE(engine->Collect());

  gates_left = 1;
  ASSERT_TRUE(engine->Submit(StepOf({a, b}, {5, 0}, 3)));
  const auto failed = engine->Collect();
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("LeavesABarrierKernel"), std::string::npos) << failed.error().message;
  EXPECT_EQ(*engine->Length(a), 5);
  EXPECT_EQ(*engine->Length(b), 0);
  EXPECT_FALSE(engine->Collect()) << "the step is over";
  ASSERT_TRUE(engine->Submit(StepOf({a}, {5}, 1)));
  EXPECT_FALSE(engine->Collect());
  EXPECT_TRUE(engine->Close(a));
  EXPECT_TRUE(engine->Close(b));
}

TEST(CudaFailedStep, AStepWithoutMemoryForItFailsAndTheNextOneGoesOn) {
  gates_left = -1;
  const auto roomy = MakeEngine();
  const auto small = MakeEngine();
  const SequenceId id = small->Open({}, 1)->sequence, other = roomy->Open({}, 1)->sequence;
  for (const auto& [engine, sequence] : {std::pair(small.get(), id), std::pair(roomy.get(), other)}) {
    ASSERT_TRUE(engine->Reserve(sequence, 128));
    ASSERT_TRUE(engine->ExecuteUnifiedBatch(StepOf({sequence}, {0}, 4)));
  }
  constexpr int64_t kLeft = 64 << 10;
  const auto taken = runtime->Allocate(static_cast<size_t>(runtime->Properties()->free_bytes - kLeft));
  ASSERT_TRUE(taken) << taken.error().message;
  const auto failed = small->ExecuteUnifiedBatch(StepOf({id}, {4}, 120));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kResourceExhausted) << failed.error().message;
  EXPECT_NE(failed.error().message.find("bytes of device memory, of which"), std::string::npos)
      << failed.error().message;
  EXPECT_EQ(*small->Length(id), 4);
  const auto ours = small->ExecuteUnifiedBatch(StepOf({id}, {4}, 2));
  const auto theirs = roomy->ExecuteUnifiedBatch(StepOf({other}, {4}, 2));
  ASSERT_TRUE(ours) << ours.error().message;
  EXPECT_EQ(ours->items[0][0].logits, theirs->items[0][0].logits) << "the failed step has left something";
  EXPECT_TRUE(runtime->Free(*taken));
}

}  // namespace
}  // namespace inferflux::engine
