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
  std::shared_ptr<const formats::WeightLayout> form = nullptr;
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
  // Gate only: g * sigmoid(1.702 g) * (u + 1), with g clamped to at most 7 and u to [-7, 7] (arXiv:2508.10925).
  kClampedSwiglu,
};

struct RoutingParams {
  int32_t used = 0;        // experts per row
  bool normalise = false;  // the chosen experts' probabilities are scaled to sum to 1
};

struct AttentionParams {
  int32_t heads = 0;
  int32_t kv_heads = 0;  // divides heads; head h reads KV head h / (heads / kv_heads)
  int32_t head_dim = 0;
  float scale = 1.0f;    // multiplies q.k
  int32_t window = 0;    // 0: a token sees all earlier ones; n: itself and the n-1 tokens before it
  float softcap = 0.0f;  // 0: none; c: scores become c * tanh(score / c)
  bool causal = true;    // false: a token sees its whole sequence, all of which is in the step
};

// One step's rows: the new tokens of several sequences, one sequence after another. Any mix of prefill and decode.
struct StepGeometry {
  std::vector<TokenId> tokens;        // [rows]
  std::vector<int32_t> positions;     // [rows], ascending by one within a sequence
  std::vector<int32_t> query_starts;  // [sequences + 1]: the first row of each sequence, and the number of rows
  std::vector<int32_t> table_starts;  // [sequences + 1]: where each sequence's block table begins in block_tables
  std::vector<int32_t> block_tables;  // block of positions [i * block_size, (i + 1) * block_size) of a sequence
  int32_t block_size = 0;

  int32_t rows() const { return static_cast<int32_t>(tokens.size()); }
  int32_t sequences() const { return static_cast<int32_t>(query_starts.size()) - 1; }
};

}  // namespace inferflux::compute
