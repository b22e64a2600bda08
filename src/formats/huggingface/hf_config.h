// A Hugging Face model's config.json, for decoder and encoder text models.
//
// Families name the same value differently (n_embd, hidden_size); the struct has one name. Other values are in `raw`.
// If a multimodal model keeps its language model in "text_config", that is read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"
#include "formats/json/json_object.h"

namespace inferflux::formats {

// How a router scores experts, numbered as GGUF's expert_gating_func.
enum class HfExpertGating : uint32_t { kSoftmax = 1, kSigmoid = 2 };

// How a stack of fused experts holds the matrix of one.
enum class HfExpertStack {
  kRows,     // [outputs, inputs]
  kColumns,  // [inputs, outputs]
  kEither,   // the shape says which
};

struct HfRopeScaling {
  std::string type;  // "linear", "dynamic", "yarn", "llama3", "longrope" (once "su"), "default"
  std::optional<double> factor, alpha;
  std::optional<uint32_t> original_context;
  std::optional<double> low_freq_factor, high_freq_factor;       // llama3
  std::optional<double> beta_fast, beta_slow, attention_factor;  // yarn
  std::optional<double> mscale, mscale_all_dim;                  // yarn, DeepSeek's way
  bool truncate = true;                                          // yarn: the ramp begins and ends at integer pairs
  std::vector<float> short_factor, long_factor;                  // longrope: one a pair of dimensions
};

// How MLX's tools quantise a weight.
struct HfMlxLayout {
  std::string mode = "affine";  // or "mxfp4", ...
  int32_t group_size = 64;
};

// How one of compressed-tensors' config_groups quantises its weights.
struct HfQuantGroup {
  std::string format;  // "pack-quantized", ...; empty: the format of the whole
  std::string type;    // "int" or "float"; empty: weights are not quantised
  uint32_t bits = 0;
  std::vector<uint32_t> block;  // FP8: outputs and inputs that share a scale; or empty
};

struct HfQuantization {
  std::string method;  // "gptq", "awq", "fp8", "mxfp4", "mlx", ...
  uint32_t bits = 0;
  int32_t group_size = 0;  // -1: one group for each column
  bool desc_act = false;
  bool symmetric = true;
  bool zero_point = false;           // AWQ
  std::string version;               // AWQ: "gemm", "gemv"
  std::string checkpoint_format;     // GPTQ: "gptq", "gptq_v2", ...
  std::string format;                // compressed-tensors: "float-quantized", ...
  std::vector<HfQuantGroup> groups;  // compressed-tensors
  std::string algorithm;             // ModelOpt's quant_algo: "NVFP4", "FP8", ...
  bool rotates_activations = false;  // compressed-tensors: has a transform of something other than weights
  HfMlxLayout mlx;                   // MLX: exceptions, by weight name
  std::map<std::string, HfMlxLayout, std::less<>> mlx_layers;
  std::vector<uint32_t> weight_block_size;  // FP8: outputs and inputs that share a scale; or empty
};

// Multiplies the next `rows` rows of a tensor; 0: all that are left.
struct HfRowFactor {
  uint32_t rows = 0;
  double factor = 1.0;
};

// Gated DeltaNet's value heads. The checkpoint has all heads of one key head together; GGUF has the first head of each
// key head, then the second of each.
struct HfValueHeads {
  uint32_t heads = 0;
  uint32_t key_heads = 0;  // divides heads
  uint32_t key_rows = 0;   // of q and k, before v's rows in a tensor of all three
};

// Attention over latents (MLA). A head of kv_b_proj has the plain rows of its key, then the rows of its value.
struct HfLatents {
  uint32_t rank = 0;
  uint32_t plain_rows = 0;
  uint32_t value_rows = 0;
};

struct HfConfig {
  std::vector<std::string> architectures;  // "LlamaForCausalLM"
  std::string model_type;                  // "llama"
  std::optional<std::string> torch_dtype;

  uint32_t vocab_size = 0;
  uint32_t hidden_size = 0;
  uint32_t layers = 0;
  uint32_t heads = 0;
  uint32_t kv_heads = 0;  // equals heads if the file has none
  uint32_t head_dim = 0;  // hidden_size / heads if the file has none
  std::optional<uint32_t> intermediate_size;
  std::optional<uint32_t> max_position;
  std::optional<double> rms_norm_eps, layer_norm_eps;
  std::optional<std::string> hidden_act;
  std::optional<double> rope_theta, partial_rotary_factor, local_rope_theta;
  std::optional<HfRopeScaling> rope_scaling;
  std::optional<uint32_t> sliding_window;
  std::optional<bool> use_sliding_window;
  std::vector<std::string> layer_types;  // "full_attention", "sliding_attention"
  bool tie_word_embeddings = true;       // transformers' default; families with another default set it in the converter
  std::optional<double> attn_logit_softcap, final_logit_softcap, query_pre_attn_scalar;

  std::optional<uint32_t> experts, experts_per_token, expert_intermediate_size, shared_expert_intermediate_size;
  std::optional<bool> norm_topk_prob;
  std::optional<uint32_t> shared_experts, leading_dense_layers, expert_groups, expert_groups_used;
  std::optional<double> routed_scaling;
  std::optional<HfExpertGating> expert_gating;        // set by families
  HfExpertStack expert_stack = HfExpertStack::kRows;  // set by families
  std::optional<bool> parallel_residual;              // set by families
  std::vector<uint32_t> layer_kv_heads;               // set by families whose layers differ
  std::optional<uint32_t> ssm_inner_size;             // set by families with state space layers
  std::vector<bool> recurrent_layers;                 // set by families that list them
  // From a list in the file, or set by families whose layers differ; 0: none.
  std::vector<uint32_t> layer_feed_forward;
  uint32_t norm_groups = 1;                            // set by families with norms on groups, which share no weights
  std::optional<HfValueHeads> value_heads;             // set by families whose GGUF files have another order
  std::optional<HfLatents> latents;                    // set by families; head_dim is then that of the rotated part
  std::vector<int32_t> rope_sections;                  // set by families; text needs none
  std::vector<float> rope_factors;                     // set by families: the divisor of each frequency
  std::map<std::string, double, std::less<>> numbers;  // set by families: GGUF keys without the architecture
  // Set by families: GGUF keys without the architecture.
  std::map<std::string, uint32_t, std::less<>> counts;
  std::map<std::string, bool, std::less<>> flags;
  std::map<std::string, std::vector<float>, std::less<>> lists;  // one number for each layer
  uint32_t stacked = 0;  // set by families: the matrices of what a checkpoint numbers and GGUF stacks
  // Set by families: what multiplies a tensor's rows, by its GGUF name with a star for the layer.
  std::map<std::string, std::vector<HfRowFactor>, std::less<>> tensor_factors;

  bool several_parts = false;  // beside the text model there is one that sees or hears

  std::optional<TokenId> bos, pad;
  std::vector<TokenId> eos;  // one or several

  std::optional<HfQuantization> quantization;
  JsonObject raw;  // the object that all values were read from
};

// Checks ranges: dimensions above 2^24 and layers above 4096 are errors, as are head counts that do not divide.
// `attention`: whether the model has it; without it there are no heads.
Result<HfConfig> ParseHfConfig(JsonObject root, bool attention = true);
Result<HfConfig> ReadHfConfig(const std::string& directory);

// One id or a list of ids, as files write end-of-sequence tokens; empty if `key` is absent.
Result<std::vector<TokenId>> ReadTokenIds(const JsonObject& object, std::string_view key);

}  // namespace inferflux::formats
