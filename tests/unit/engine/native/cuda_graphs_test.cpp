// Captured decode steps beside plain ones, on the host executor: the same bits, and an answer where a capture is
// refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compute/cuda/cuda_backend.h"
#include "compute/cuda/host_runtime.h"
#include "engine/native/native_engine.h"
#include "model/families/family.h"

namespace inferflux::engine {
namespace {

using compute::Cuda;

cuda::Runtime* device = nullptr;  // of the last engine

template <class B = Cuda, class Kv = compute::KvFp16>
std::unique_ptr<Engine> Open(const std::string& model, bool graphs, EngineOptions options = {}) {
  const auto path = std::filesystem::path(INFERFLUX_SOURCE_DIR) / "tests/data/models" / (model + ".gguf");
  const auto source = model::ModelSource::Open(path.string());
  EXPECT_TRUE(source) << source.error().message;
  auto context = Cuda::Context::Open(*cuda::HostRuntime::Open({.checked = false}));
  EXPECT_TRUE(context);
  device = (*context)->runtime.get();
  options.max_sequences = 12;
  options.block_size = 16;
  options.kv_bytes = 1 << 21;
  options.kv_dtype = Kv::kName;
  options.graphs = graphs;
  auto engine = NativeEngine<B, Kv>::Create(std::move(*context), *model::ReadModelConfig(**source), *source, options);
  EXPECT_TRUE(engine) << engine.error().message;
  return std::move(*engine);
}

// Sequences of different lengths, and steps of some of them.
class Sequences {
 public:
  explicit Sequences(Engine& engine, int32_t count) : engine_(engine) {
    for (int32_t i = 0; i < count; ++i) {
      const auto opened = engine_.Open({}, static_cast<uint64_t>(i));
      EXPECT_TRUE(opened) << opened.error().message;
      ids_.push_back(opened->sequence);
      BatchItem prompt{.sequence = ids_.back()};
      for (int32_t t = 0; t < 2 + 5 * i; ++t) prompt.tokens.push_back(3 + (7 * i + t) % 19);
      EXPECT_TRUE(engine_.Reserve(ids_.back(), static_cast<int32_t>(prompt.tokens.size()) + 30));
      EXPECT_TRUE(engine_.ExecuteUnifiedBatch({{prompt}}));
    }
  }

  // One token for each of the first `count` sequences. A step with two outputs each is no decode step.
  Result<std::vector<OutputResult>> Decode(int32_t count, OutputSpec::Kind kind, size_t outputs = 1) {
    UnifiedBatch batch;
    for (int32_t i = 0; i < count; ++i) {
      batch.items.push_back(
          {.sequence = ids_[i], .tokens = {4 + (i + steps_) % 13}, .first_position = *engine_.Length(ids_[i])});
      const OutputSpec output{.kind = kind, .sampling = {.seed = 5}, .draw = static_cast<uint64_t>(steps_)};
      batch.items.back().outputs.assign(outputs, output);
    }
    ++steps_;
    auto result = engine_.ExecuteUnifiedBatch(batch);
    if (!result) return Forward(result);
    std::vector<OutputResult> out;
    for (auto& item : result->items) out.push_back(std::move(item[0]));
    return out;
  }

  std::vector<std::vector<std::byte>> Saved() {
    std::vector<std::vector<std::byte>> out;
    for (const SequenceId id : ids_) {
      auto saved = engine_.Save(id);
      EXPECT_TRUE(saved) << saved.error().message;
      out.push_back(std::move(*saved));
    }
    return out;
  }

 private:
  Engine& engine_;
  std::vector<SequenceId> ids_;
  int32_t steps_ = 0;
};

// Steps of these sizes on both engines, with equal results.
void ExpectEqual(Engine& captured, Engine& plain, const std::vector<int32_t>& sizes, int32_t sequences = 9) {
  Sequences ours(captured, sequences), theirs(plain, sequences);
  for (size_t step = 0; step < sizes.size(); ++step) {
    SCOPED_TRACE("step " + std::to_string(step) + " of " + std::to_string(sizes[step]));
    const auto kind = step % 3 == 1 ? OutputSpec::Kind::kSample : OutputSpec::Kind::kLogits;
    const auto a = ours.Decode(sizes[step], kind), b = theirs.Decode(sizes[step], kind);
    ASSERT_TRUE(a) << a.error().message;
    ASSERT_TRUE(b) << b.error().message;
    for (size_t i = 0; i < a->size(); ++i) {
      EXPECT_EQ((*a)[i].token, (*b)[i].token) << i;
      ASSERT_EQ((*a)[i].logits, (*b)[i].logits) << i;
    }
  }
  EXPECT_EQ(ours.Saved(), theirs.Saved()) << "a line that filled up a step was stored in a sequence";
}

const std::vector<int32_t> kSizes = {1, 3, 3, 5, 9, 7, 1, 4, 2, 9, 6};

TEST(CudaGraphs, ReplayedStepsHaveThePlainStepsBits) {
  for (const std::string model : {"mistral", "gemma3", "gemma3n", "gpt2"}) {
    SCOPED_TRACE(model);
    const auto captured = Open(model, true), plain = Open(model, false);
    EXPECT_TRUE(captured->info().capabilities.graph_capture);
    EXPECT_FALSE(plain->info().capabilities.graph_capture);
    EXPECT_EQ(captured->info().kv_tokens, plain->info().kv_tokens) << "the spare block is no sequence's";
    ExpectEqual(*captured, *plain, kSizes);
    const GraphUsage usage = captured->graphs();
    EXPECT_EQ(usage.graphs, 5) << "of 1, 2, 4, 8 and, as there are 12 sequences, 12 lines";
    EXPECT_EQ(usage.replays, std::ssize(kSizes));
    EXPECT_EQ(usage.refusals, 0);
    EXPECT_EQ(plain->graphs().graphs, 0);
  }
}

TEST(CudaGraphs, ExpertsLatentsAndRecurrentStatesHaveGraphsOfTheirOwnSize) {
  for (const std::string model : {"llama4", "qwen2_moe", "deepseek_v3", "deepseek_v32", "glm_moe_dsa", "lfm2"}) {
    SCOPED_TRACE(model);
    const auto captured = Open(model, true), plain = Open(model, false);
    ExpectEqual(*captured, *plain, kSizes);
    EXPECT_EQ(captured->graphs().graphs, 8);
    EXPECT_EQ(captured->graphs().replays, std::ssize(kSizes));
  }
}

// An engine that has nothing to do captures what steps will need, and the first steps replay it.
TEST(CudaGraphs, StepsAreCapturedAheadAndThenReplayedWithThePlainStepsBits) {
  for (const auto& [model, graphs] : std::map<std::string, int>{{"mistral", 5}, {"qwen2_moe", 5}, {"lfm2", 0}}) {
    SCOPED_TRACE(model);
    const auto captured = Open(model, true), plain = Open(model, false);
    while (captured->PrepareAhead()) continue;
    EXPECT_FALSE(plain->PrepareAhead());
    EXPECT_EQ(captured->graphs().graphs, graphs) << "of 1, 2, 4, 8 and 12 lines";
    EXPECT_EQ(captured->graphs().replays, 0);
    ExpectEqual(*captured, *plain, kSizes);
    EXPECT_EQ(captured->graphs().replays, std::ssize(kSizes));
    if (model == "mistral") {
      EXPECT_EQ(captured->graphs().graphs, graphs) << "each was there";
    }
  }
}

TEST(CudaGraphs, OtherKvTypesAreCapturedToo) {
  const auto captured = Open<Cuda, compute::KvInt8>("mistral", true),
             plain = Open<Cuda, compute::KvInt8>("mistral", false);
  ExpectEqual(*captured, *plain, {3, 3, 5, 1, 5});
  EXPECT_EQ(captured->graphs().replays, 5);
}

// Waits for the device in the middle of a step, which no capture may.
struct WaitingCuda : Cuda {
  static Buffer Gate(Context& context, View gate, View up, compute::Activation activation) {
    if (auto waited = context.runtime->Synchronize(context.stream); !waited) throw ThrownError(waited.error());
    return Cuda::Gate(context, gate, up, activation);
  }
  static Buffer GateMatMul(Context& context, View gate, View up, compute::Activation activation, const Matrix& matrix) {
    return MatMul(context, Gate(context, gate, up, activation), matrix);
  }
};

TEST(CudaGraphs, ARefusedCaptureIsCountedAndTheStepAnswers) {
  const auto refused = Open<WaitingCuda>("mistral", true), plain = Open("mistral", false);
  testing::internal::CaptureStderr();
  ExpectEqual(*refused, *plain, {3, 3, 5, 1, 5});
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(refused->graphs().graphs, 0);
  EXPECT_EQ(refused->graphs().replays, 0);
  EXPECT_EQ(refused->graphs().refusals, 3) << "of 4, 8 and 1 lines";
  const auto first = log.find("no graph of a decode step of 4 rows");
  ASSERT_NE(first, std::string::npos) << log;
  EXPECT_NE(log.find("the host waits for a stream that captures"), std::string::npos) << log;
  EXPECT_EQ(log.find("no graph of a decode step", first + 1), std::string::npos) << log;
}

// A device whose memory holds the activations of a step, and no second set of them.
TEST(CudaGraphs, WithoutMemoryForAGraphTheStepGoesOnWithout) {
  const auto plain = Open("mistral", false), captured = Open("mistral", true);
  Sequences ours(*captured, 9), theirs(*plain, 9);
  for (Sequences* each : {&ours, &theirs}) EXPECT_TRUE(each->Decode(9, OutputSpec::Kind::kLogits, 2));
  EXPECT_EQ(captured->graphs().graphs, 0);
  constexpr int64_t kLeft = 1 << 10;
  const auto taken = device->Allocate(static_cast<size_t>(device->Properties()->free_bytes - kLeft));
  ASSERT_TRUE(taken) << taken.error().message;
  for (const int32_t size : {9, 1, 9}) {
    const auto a = ours.Decode(size, OutputSpec::Kind::kLogits), b = theirs.Decode(size, OutputSpec::Kind::kLogits);
    ASSERT_TRUE(a) << a.error().message;
    for (size_t i = 0; i < a->size(); ++i) ASSERT_EQ((*a)[i].logits, (*b)[i].logits);
  }
  EXPECT_EQ(captured->graphs().refusals, 2);
  EXPECT_TRUE(device->Free(*taken));
  EXPECT_EQ(ours.Saved(), theirs.Saved());
}

}  // namespace
}  // namespace inferflux::engine
