// NVIDIA GPUs as a compute backend (docs/cuda.md). In a build without CUDA it runs on the host executor, for tests.
//
// Activations are float matrices in device memory (docs/decisions/0021-float-activations-on-cuda.md); tensor cores get
// them rounded to the weights' type. All work of a context is on one stream. An operation that fails throws
// ThrownError, which the native engine turns into the step's error.
//
// A context belongs to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "collective/collective.h"
#include "compute/cuda/backend/copies/late_results.h"
#include "compute/cuda/backend/copies/staging.h"
#include "compute/cuda/backend/device_arena.h"
#include "compute/cuda/backend/device_bytes.h"
#include "compute/cuda/backend/graphs/recording.h"
#include "compute/cuda/backend/ranks/device_ranks.h"
#include "compute/cuda/kernels/attention/attention.h"
#include "compute/cuda/kernels/latents/latents.h"
#include "compute/cuda/kernels/products/products.h"
#include "compute/cuda/kernels/recurrent/recurrent.h"
#include "compute/cuda/nccl/nccl.h"
#include "compute/cuda/runtime.h"
#include "compute/device.h"
#include "compute/device_features.h"
#include "compute/kv_types.h"
#include "compute/optional_ops.h"
#include "compute/params.h"
#include "compute/recurrent_state.h"
#include "compute/sampling.h"

namespace inferflux::compute {

struct Cuda {
  static constexpr const char* kName = "cuda";

  // A step of so many tokens multiplies nearly as fast as any larger one. With eight billion weights it takes some 70
  // ms of an H200.
  static constexpr int32_t kStepTokens = 2048;

  // [rows, cols] of floats in device memory; row r begins at data + r * stride.
  struct View {
    const float* data = nullptr;
    int64_t rows = 0;
    int64_t cols = 0;
    int64_t stride = 0;
  };
  // A dense one, whose memory returns to the context's arena.
  struct Buffer {
    cuda::ArenaPiece memory;
    int64_t rows = 0;
    int64_t cols = 0;

    float* data() const { return static_cast<float*>(memory.get()); }
    operator View() const { return {data(), rows, cols, cols}; }  // NOLINT: a buffer is a view of itself
  };

  struct Context {
    // Takes over a runtime: a device's, or for tests a host executor of their own.
    static Result<std::unique_ptr<Context>> Open(std::unique_ptr<cuda::Runtime> runtime);
    ~Context();

    std::unique_ptr<cuda::Runtime> runtime;
    cuda::Stream stream;
    std::unique_ptr<cuda::DeviceArena> arena;
    std::unique_ptr<cuda::Staging> staging;
    std::unique_ptr<cuda::LateResults> late;
    std::unique_ptr<cuda::DeviceArena> graph_arena;  // of captured steps, which run one after the other
    // A second stream, with what belongs to a stream; null until it is used. While work is put on it, it is the first.
    struct Side {
      cuda::Stream stream;
      std::unique_ptr<cuda::DeviceArena> arena;
      std::unique_ptr<cuda::Staging> staging;
      cuda::Event forked, done;
    };
    std::unique_ptr<Side> side;
    cuda::Recording* recording = nullptr;     // of the step that is being captured
    collective::Collective* ranks = nullptr;  // RankCollectives
    cuda::NcclOpener open_nccl = cuda::OpenNccl;
    std::unique_ptr<cuda::DeviceRanks> devices;  // null: ranks exchange over the host
    int32_t multiprocessors = 1;
    int64_t weight_bytes = 0;  // of what LoadMatrix, LoadTable and LoadExperts hold
  };

  // A step's geometry in device memory.
  struct Batch {
    StepGeometry geometry;
    cuda::ArenaPiece memory;  // of all arrays
    size_t numbers = 0;       // in it
    cuda::StepArrays arrays;
    const int32_t* tokens = nullptr;
    const int32_t* slots = nullptr;  // [rows]: where each row's keys and values are stored
    cuda::StateArrays states;        // without slots if the model has no recurrent layers

    struct Tiles {
      cuda::ArenaPiece memory;
      int32_t count = 0;
      int32_t most_queries = 0;  // of any
    };
    mutable std::map<int32_t, Tiles> tiles;  // of attention, by the heads that share a KV head; made by the first layer
  };

  // Rows of one stored type, one after the other.
  struct WeightPart {
    int64_t first = 0;  // of the matrix's outputs
    cuda::WeightMatrix weights;
    cuda::DeviceBytes bytes;
  };
  struct Matrix {
    int64_t rows = 0;  // outputs
    int64_t cols = 0;  // inputs
    std::vector<WeightPart> parts;
    std::string description;
  };
  using Table = Matrix;

  // Each part has the rows of all experts, expert by expert; its `weights` are those of the first one.
  struct Experts {
    int32_t count = 0;
    int64_t rows = 0;  // outputs of one expert
    std::vector<WeightPart> parts;
    std::string description;
  };
  // Line l = row * used + choice.
  struct Routing {
    int32_t rows = 0;
    int32_t used = 0;
    cuda::ArenaPiece memory;           // of both
    const int32_t* experts = nullptr;  // [rows * used]
    const float* weights = nullptr;    // [rows * used]
    mutable cuda::ArenaPiece group_memory;
    mutable cuda::LineGroups groups;  // made by the first product of many lines
  };

  template <class E>
  struct KvCache {
    struct Layer {
      cuda::DeviceBytes keys, values, key_scales, value_scales;

      cuda::KvPointers<typename E::Storage> pointers() const {
        return {keys.as<typename E::Storage>(), values.as<typename E::Storage>(), key_scales.as<float>(),
                value_scales.as<float>()};
      }
    };
    Context* context = nullptr;
    KvShape shape;
    std::vector<Layer> layers;
  };

  struct States {
    struct Part {
      int64_t size = 0;  // values of a slot
      cuda::DeviceBytes values;
    };
    Context* context = nullptr;
    std::vector<Part> parts;
  };

  // Types that are stored as they are. Any other that formats/ can decode is stored as FP16.
  static consteval bool SupportsWeights(formats::TensorType type) {
    using enum formats::TensorType;
    return type == kF32 || type == kF16 || type == kBf16 || type == kQ8_0 || type == kQ4_0 || type == kQ4_K ||
           type == kQ5_K || type == kQ6_K || type == kMxfp4 || type == kNvfp4;
  }

  static std::string BuildNote();       // how ranks of a model would exchange data
  static std::string WhyUnavailable();  // why there is no device here; empty: there may be one
  static std::vector<Device> Devices(const ContextOptions& options);
  static Result<std::unique_ptr<Context>> CreateContext(const ContextOptions& options);
  static MemoryInfo Memory(const Context& context);
  // An event on the context's stream.
  struct TimeMark {
    cuda::Runtime* runtime = nullptr;
    std::shared_ptr<const cuda::Event> event;
  };
  static TimeMark MarkTime(Context& context);
  static double SecondsBetween(const TimeMark& from, const TimeMark& to);

  static Result<DeviceRates> MeasureRates(Context& context, double seconds);

  static Buffer LoadVector(Context& context, std::span<const float> values);
  static Result<Matrix> LoadMatrix(Context& context, std::span<const HostMatrix> parts);
  static Result<Table> LoadTable(Context& context, const HostMatrix& table);
  static std::string Describe(const Matrix& matrix) { return matrix.description; }

  // Captured steps (compute/device_features.h). A graph ends before its context.
  struct Graph {
    std::unique_ptr<cuda::Graph, cuda::GraphRelease> recorded;
    std::vector<cuda::Constant> constants;  // which the recorded operations read
    View result;                            // in the context's graph arena
  };
  static int32_t GraphRows(int32_t rows);
  static void Reload(Context& context, Batch& batch, const StepGeometry& geometry);
  static Result<Graph> Capture(Context& context, FunctionRef<Buffer()> step);
  static View Replay(Context& context, const Graph& graph);

  static Batch LoadBatch(Context& context, const StepGeometry& geometry);
  static View Columns(View x, int64_t first, int64_t count);
  static Buffer Embed(Context& context, const Table& table, const Batch& batch);
  static Buffer GatherRows(Context& context, View x, std::span<const int32_t> rows);
  static Buffer Scale(Context& context, View x, float factor);
  static Buffer Add(Context& context, View a, View b);
  static Buffer AddBias(Context& context, View x, View bias);
  static Buffer RmsNorm(Context& context, View x, View weight, float epsilon);
  static Buffer MatMul(Context& context, View x, const Matrix& matrix);
  static Buffer Gate(Context& context, View gate, View up, Activation activation);
  static Buffer RopeAngles(Context& context, const Batch& batch, const RopeSpec& spec);
  static Buffer Rope(Context& context, View x, View angles, const RopeParams& params);
  static std::vector<float> Read(Context& context, View x);

  // Optional operations (compute/optional_ops.h).
  static SumAndNorm<Buffer> AddRmsNorm(Context& context, View a, View b, View weight, float epsilon);
  static Buffer GateMatMul(Context& context, View gate, View up, Activation activation, const Matrix& matrix);
  static Buffer LayerNorm(Context& context, View x, View weight, View bias, float epsilon);
  static Buffer Activate(Context& context, View x, Activation activation);
  static Buffer SoftCap(Context& context, View x, float cap);
  static Buffer ScaleColumns(Context& context, View x, View scales);
  static Buffer MixStreams(Context& context, View x, View factors, int32_t inputs);
  static Buffer MatchMagnitudes(Context& context, View x, View like);
  static Buffer CutRows(Context& context, View x, float deviations);
  static Buffer GatherColumns(Context& context, View x, std::span<const int32_t> columns);
  static Result<Experts> LoadExperts(Context& context, std::span<const std::vector<HostMatrix>> parts);
  static std::string DescribeExperts(const Experts& experts) { return experts.description; }
  static Routing Route(Context& context, View logits, const RoutingParams& params, const View* biases = nullptr);
  static Buffer ExpertMatMul(Context& context, View x, const Experts& experts, const Routing& routing);
  static Buffer AddExpertBias(Context& context, View x, View biases, const Routing& routing);
  static Buffer ScaleExpertColumns(Context& context, View x, View scales, const Routing& routing);
  static Buffer Combine(Context& context, View x, const Routing& routing);
  static Buffer GateRows(Context& context, View x, View logits);

  // Tokens are sampled on the device (compute/device_features.h), but for what few requests ask for: log probabilities,
  // mirostat, dry, top_n_sigma, typical_p and xtc.
  static bool CanSample(const SampleRow& row);
  static Result<std::vector<SampledToken>> Sample(Context& context, View logits, std::span<const SampleRow> rows);

  // Results that the host takes later (compute/device_features.h), through pinned memory.
  using LateRead = cuda::LateCopy;
  using LateTokens = cuda::LateCopy;
  static LateRead BeginRead(Context& context, View x);
  static std::vector<float> FinishRead(Context& context, LateRead read);
  static Result<LateTokens> BeginSample(Context& context, View logits, std::span<const SampleRow> rows);
  static Result<std::vector<SampledToken>> FinishSample(Context& context, LateTokens tokens);

  // Parts of a step side by side (compute/device_features.h).
  static Status Fork(Context& context);
  static void SwapStreams(Context& context);
  static Status Join(Context& context);

  // A model that several ranks share (compute/rank_collectives.h).
  static Result<std::string> JoinRanks(Context& context, const std::shared_ptr<collective::Collective>& ranks,
                                       const std::string& wanted);
  static Buffer SumOverRanks(Context& context, Buffer x);
  static Buffer GatherOverRanks(Context& context, View x, std::span<const int64_t> columns);
  static void SendRows(Context& context, View x, int32_t to);
  static Buffer ReceiveRows(Context& context, int64_t rows, int64_t columns, int32_t from);

  // Recurrent layers (compute/recurrent_state.h).
  static Result<States> CreateStates(Context& context, const StateShape& shape);
  static void VisitState(States& states, int32_t slot, FunctionRef<void(std::span<std::byte>)> visit);
  static Buffer Multiply(Context& context, View a, View b);
  static Buffer ShortConv(Context& context, View x, View taps, States& states, int32_t layer, const Batch& batch);
  static Buffer GatedDelta(Context& context, View qkv, View b, View a, View steps, View coefficients, States& states,
                           int32_t layer, const Batch& batch, const DeltaNetParams& params);
  static Buffer SelectiveScan(Context& context, View xbc, View dt, View steps, View coefficients, View skips,
                              States& states, int32_t layer, const Batch& batch, const StateSpaceParams& params);

  // Attention over latents (compute/latent_kv.h).
  struct Selection {
    cuda::ArenaPiece memory;  // none where every row reads all positions
    int32_t top = 0;
  };
  static Buffer HeadMatMul(Context& context, View x, const Experts& heads);
  template <class E>
  static void AppendLatents(Context& context, KvCache<E>& cache, int32_t layer, View latents, View rotated,
                            const Batch& batch);
  template <class E>
  static Buffer AttendLatents(Context& context, View q, View rotated, const KvCache<E>& cache, int32_t layer,
                              const Batch& batch, const AttentionParams& params, const Selection* selected);
  template <class E>
  static void AppendIndex(Context& context, KvCache<E>& cache, int32_t layer, View k, const Batch& batch);
  template <class E>
  static Selection SelectPositions(Context& context, View q, View weights, const KvCache<E>& cache, int32_t layer,
                                   const Batch& batch, const IndexParams& params);

  template <class E>
  static Result<KvCache<E>> CreateKvCache(Context& context, const KvShape& shape);
  template <class E>
  static void Append(Context& context, KvCache<E>& cache, int32_t layer, View k, View v, const Batch& batch);
  template <class E>
  static Buffer Attend(Context& context, View q, const KvCache<E>& cache, int32_t layer, const Batch& batch,
                       const AttentionParams& params) {
    return AttendWith<E>(context, q, cache, layer, batch, params, View{}, View{});
  }
  template <class E>
  static Buffer AttendWithSinks(Context& context, View q, const KvCache<E>& cache, int32_t layer, const Batch& batch,
                                const AttentionParams& params, View sinks) {
    return AttendWith<E>(context, q, cache, layer, batch, params, sinks, View{});
  }
  template <class E>
  static Buffer AttendWithBiases(Context& context, View q, const KvCache<E>& cache, int32_t layer, const Batch& batch,
                                 const AttentionParams& params, View biases) {
    return AttendWith<E>(context, q, cache, layer, batch, params, View{}, biases);
  }
  template <class E>
  static void CopyBlock(Context& context, KvCache<E>& cache, int32_t from, int32_t to);
  // Copies the block to the host for the visitor, and back where the visitor has changed it.
  template <class E>
  static void VisitKvBlock(KvCache<E>& cache, int32_t block, FunctionRef<void(std::span<std::byte>)> visit);

 private:
  // A view is empty if there are no sinks or no biases.
  template <class E>
  static Buffer AttendWith(Context& context, View q, const KvCache<E>& cache, int32_t layer, const Batch& batch,
                           const AttentionParams& params, View sinks, View biases);
};

}  // namespace inferflux::compute
