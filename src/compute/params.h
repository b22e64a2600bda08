// The parameter structs of the operations, and the geometry of a step. Plain data, shared by every backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/token_id.h"
#include "compute/kv_shape.h"
#include "formats/tensor_type.h"
#include "formats/weight_layout/weight_layout.h"

namespace inferflux::compute {

// A weight matrix as stored in a file: `rows` outputs of `cols` inputs each, row-major, in the file's own blocks. A
// matmul with it is y[m, rows] = x[m, cols] * W^T. The data is borrowed from a file, which must stay mapped while a
// backend uses it, or belongs to `owner`.
struct HostMatrix {
  std::string name;
  formats::TensorType type = formats::TensorType::kF32;
  int64_t rows = 0;
  int64_t cols = 0;
  std::span<const std::byte> data;
  std::shared_ptr<const void> owner;
  // The same weights in a layout that GGUF does not have; then `data` is empty. Only for backends with that layout
  // (OwnWeightLayouts).
  std::shared_ptr<const formats::WeightLayout> layout = nullptr;
};

// How the dimensions of a head pair up under a rotary embedding (RoFormer, arXiv:2104.09864).
enum class RopeStyle {
  kInterleaved,  // (0,1), (2,3), ...: the original pairing, which GGUF's Llama tensors are permuted for
  kHalves,       // (0,n/2), (1,n/2+1), ...: GPT-NeoX's pairing, Qwen's
};

// Chosen once, at load, from the configured context; never from the current length (shared keys must not depend on
// history).
struct RopeSpec {
  std::vector<float> inverse_frequencies;  // one per pair; only 2 * size() dimensions of each head are rotated
  float magnitude = 1.0f;                  // multiplies cos and sin (YaRN and LongRoPE)
};

struct RopeParams {
  int32_t heads = 0;
  int32_t head_dim = 0;
  RopeStyle style = RopeStyle::kHalves;
};

enum class Activation {
  kSilu,
  kGeluTanh,
  kGeluErf,
  kReluSquared,  // max(x, 0)^2 (arXiv:2109.08668)
  kSigmoid,
  kExpExcess,  // e^x - 1 - x for x < 0, otherwise 0: what xIELU has below zero (arXiv:2411.13010)
  // Gate only: g * sigmoid(1.702 g) * (u + 1), with g clamped to at most 7 and u to [-7, 7] (arXiv:2508.10925).
  kClampedSwiglu,
};

// How a router's logits become the scores of experts.
enum class ExpertScore {
  kSoftmax,  // over all experts
  kSigmoid,  // each by itself (arXiv:2412.19437)
  // SparseMixer (arXiv:2409.12136): choice by choice the softmax over the experts that are left and whose logit is
  // within RoutingParams::tolerance of the best one's. Knows no biases, groups or sums.
  kSparseMixer,
};

// An expert is chosen by its score plus its bias, and weighted by its score alone (arXiv:2408.15664).
struct RoutingParams {
  int32_t used = 0;        // experts per row
  bool normalise = false;  // the chosen experts' scores are scaled to sum to 1
  ExpertScore score = ExpertScore::kSoftmax;
  float scale = 1.0f;  // multiplies the weights
  // The experts are cut into `groups` runs, of which only the best `used_groups` are chosen from. A group is as good as
  // the sum of its best `group_scores` scores with biases: two (arXiv:2412.19437) or one (arXiv:2405.04434).
  int32_t groups = 1;
  int32_t used_groups = 1;
  int32_t group_scores = 2;
  // SparseMixer's: of two logits' difference, in proportion to the larger of the best logit and the other one's
  // absolute value.
  float tolerance = 0.0f;
};

inline constexpr float kLeastScoreSum = 1e-20f;  // divides scores that all underflow

inline constexpr float kLeastMeanSquare = 1e-5f;  // of a stream whose magnitude is changed (optional_ops.h)

// Gated DeltaNet (arXiv:2412.06464). Value head h reads key head h / (value_heads / key_heads).
struct DeltaNetParams {
  int32_t key_heads = 0;  // of queries and keys; divides value_heads
  int32_t value_heads = 0;
  int32_t key_dim = 0;
  int32_t value_dim = 0;
  bool keys_repeat = false;  // value head h reads key head h % key_heads instead

  int32_t KeyHead(int32_t value_head) const {
    return keys_repeat ? value_head % key_heads : value_head / (value_heads / key_heads);
  }
  int64_t keys() const { return int64_t{key_heads} * key_dim; }
  int64_t values() const { return int64_t{value_heads} * value_dim; }
};

// Mamba-2's state space (arXiv:2405.21060). Head h reads group h / (heads / groups) of the inputs and outputs of the
// states.
struct StateSpaceParams {
  int32_t heads = 0;
  int32_t head_dim = 0;
  int32_t groups = 1;  // divides heads
  int32_t state = 0;   // of each of a head's dimensions

  int64_t inner() const { return int64_t{heads} * head_dim; }
  int64_t width() const { return inner() + 2 * int64_t{groups} * state; }  // of the convolution before it
};

// Selects the tokens that attention reads (arXiv:2512.02556).
struct IndexParams {
  int32_t heads = 0;
  int32_t head_dim = 0;
  int32_t top = 0;  // the most tokens of a query
};

struct AttentionParams {
  int32_t heads = 0;
  int32_t kv_heads = 0;  // divides heads; head h reads KV head h / (heads / kv_heads)
  int32_t head_dim = 0;
  float scale = 1.0f;    // multiplies q.k
  int32_t window = 0;    // 0: a token sees all earlier ones; n: itself and the n-1 tokens before it
  float softcap = 0.0f;  // 0: none; c: scores become c * tanh(score / c)
  bool causal = true;    // false: a token sees its whole sequence, all of which is in the step
  bool chunked = false;  // causal only: the window is cut into chunks (KvGeometry::chunked)

  // The first position that a token at `position` sees.
  int32_t First(int32_t position) const {
    if (window <= 0) return 0;
    if (chunked) return position / window * window;
    return position >= window ? position - window + 1 : 0;
  }
};

// Where a sequence's recurrent state is read before its first row, and stored after its last one. States are replaced,
// never changed: a slot that several sequences or checkpoints share is only read.
struct StateSlots {
  int32_t from = kNoState;
  int32_t to = 0;

  static constexpr int32_t kNoState = -1;  // the sequence begins: all zeros
};

// After this row its sequence's state is also stored in this slot.
struct StateMark {
  int32_t row = 0;
  int32_t slot = 0;
};

// One step's rows: the new tokens of several sequences, one sequence after another. Any mix of prefill and decode.
struct StepGeometry {
  std::vector<TokenId> tokens;        // [rows]
  std::vector<int32_t> positions;     // [rows], ascending by one within a sequence
  std::vector<int32_t> query_starts;  // [sequences + 1]: the first row of each sequence, and the number of rows
  std::vector<int32_t> table_starts;  // [sequences + 1]: where each sequence's block table begins in block_tables
  std::vector<int32_t> block_tables;  // block of positions [i * block_size, (i + 1) * block_size) of a sequence
  int32_t block_size = 0;
  std::vector<StateSlots> states;      // [sequences]; empty if the model has no recurrent layers
  std::vector<StateMark> state_marks;  // ascending rows
  // No sequence will have more tokens in the steps for which kernels are chosen now (GraphCapture); 0: this step's.
  int32_t most_tokens = 0;

  int32_t rows() const { return static_cast<int32_t>(tokens.size()); }
  int32_t sequences() const { return static_cast<int32_t>(query_starts.size()) - 1; }
};

}  // namespace inferflux::compute
