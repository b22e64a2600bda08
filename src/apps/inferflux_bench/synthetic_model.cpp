#include "apps/inferflux_bench/synthetic_model.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <utility>
#include <vector>

#include "formats/gguf/gguf_writer.h"
#include "formats/quant/quantize.h"
#include "formats/quantize/quant_mix.h"

namespace inferflux::apps {
namespace {

struct Shape {
  std::string_view name;
  std::string_view architecture;
  uint64_t hidden, layers, heads, kv_heads, head_dim, feed_forward, vocab;
  bool tied;
  float rope_base;
  uint32_t context;
};

constexpr Shape kShapes[] = {
    {"tiny", "llama", 256, 4, 8, 4, 32, 768, 2048, true, 1e4f, 8192},
    {"qwen2.5-0.5b", "qwen2", 896, 24, 14, 2, 64, 4864, 151936, true, 1e6f, 32768},
    {"llama3.2-1b", "llama", 2048, 16, 32, 8, 64, 8192, 128256, true, 5e5f, 131072},
    {"llama3.1-8b", "llama", 4096, 32, 32, 8, 128, 14336, 128256, false, 5e5f, 131072},
};

struct Tensor {
  std::string name;
  uint64_t inputs;
  uint64_t outputs;  // 0: a vector of `inputs` values
};

std::vector<Tensor> TensorsOf(const Shape& s) {
  std::vector<Tensor> out{{"token_embd.weight", s.hidden, s.vocab}, {"output_norm.weight", s.hidden, 0}};
  if (!s.tied) out.push_back({"output.weight", s.hidden, s.vocab});
  const uint64_t q = s.heads * s.head_dim;
  const uint64_t kv = s.kv_heads * s.head_dim;
  for (uint64_t i = 0; i < s.layers; ++i) {
    const std::string p = fmt::format("blk.{}.", i);
    for (const auto& [name, inputs, outputs] :
         std::initializer_list<std::tuple<const char*, uint64_t, uint64_t>>{{"attn_norm", s.hidden, 0},
                                                                            {"ffn_norm", s.hidden, 0},
                                                                            {"attn_q", s.hidden, q},
                                                                            {"attn_k", s.hidden, kv},
                                                                            {"attn_v", s.hidden, kv},
                                                                            {"attn_output", q, s.hidden},
                                                                            {"ffn_gate", s.hidden, s.feed_forward},
                                                                            {"ffn_up", s.hidden, s.feed_forward},
                                                                            {"ffn_down", s.feed_forward, s.hidden}}) {
      out.push_back({p + name + ".weight", inputs, outputs});
    }
    if (s.architecture == "qwen2") {
      out.push_back({p + "attn_q.bias", q, 0});
      out.push_back({p + "attn_k.bias", kv, 0});
      out.push_back({p + "attn_v.bias", kv, 0});
    }
  }
  return out;
}

void SetMetadata(formats::GgufWriter& writer, const Shape& s) {
  const auto set = [&](const char* key, auto value) { writer.Set(fmt::format("{}.{}", s.architecture, key), value); };
  const auto number = [](uint64_t value) { return static_cast<uint32_t>(value); };
  writer.Set("general.architecture", s.architecture);
  writer.Set("general.name", fmt::format("synthetic {}", s.name));
  set("context_length", s.context);
  set("embedding_length", number(s.hidden));
  set("block_count", number(s.layers));
  set("feed_forward_length", number(s.feed_forward));
  set("attention.head_count", number(s.heads));
  set("attention.head_count_kv", number(s.kv_heads));
  set("attention.key_length", number(s.head_dim));
  set("attention.value_length", number(s.head_dim));
  set("attention.layer_norm_rms_epsilon", 1e-5f);
  set("rope.dimension_count", number(s.head_dim));
  set("rope.freq_base", s.rope_base);
}

// The quantised rows of a tensor: repeats a few random ones, because only the number of rows costs time.
Status WriteRows(formats::GgufWriter& writer, const Tensor& tensor, formats::TensorType type, std::mt19937& random) {
  const uint64_t rows = std::max<uint64_t>(1, tensor.outputs);
  const uint64_t distinct = std::min<uint64_t>(rows, 16);
  const auto row_bytes = formats::RowBytes(type, tensor.inputs);
  if (!row_bytes) return Forward(row_bytes);
  std::normal_distribution<float> normal(0.0f, 1.0f / std::sqrt(static_cast<float>(tensor.inputs)));
  std::vector<float> values(tensor.inputs);
  std::vector<std::byte> block(*row_bytes * distinct);
  for (uint64_t r = 0; r < distinct; ++r) {
    const bool norm = tensor.outputs == 0;
    for (float& value : values) value = norm ? 1.0f : normal(random);
    formats::QuantizeRow(type, values.data(), nullptr, block.data() + r * *row_bytes,
                         static_cast<int64_t>(tensor.inputs));
  }
  for (uint64_t r = 0; r < rows; r += distinct) {
    const uint64_t count = std::min(distinct, rows - r);
    if (auto written = writer.WriteData({block.data(), count * *row_bytes}); !written) return written;
  }
  return {};
}

}  // namespace

Result<SyntheticModel> SyntheticModel::Make(const std::string& shape, const std::string& type) {
  const auto found =
      std::find_if(std::begin(kShapes), std::end(kShapes), [&](const Shape& s) { return s.name == shape; });
  if (found == std::end(kShapes)) {
    return Fail(ErrorCode::kInvalidArgument, "no shape '{}': there are {}", shape, ShapeNames());
  }
  const auto plain = formats::TensorTypeFromName(type);
  const auto mix = formats::FindQuantMix(type);
  if (!mix && !(plain && formats::CanQuantize(*plain))) return Forward(mix);
  const formats::MixModel model{.layers = static_cast<uint32_t>(found->layers),
                                .queries_per_value_head = static_cast<uint32_t>(found->heads / found->kv_heads),
                                .tied_embeddings = found->tied};

  const int descriptor = ::memfd_create("synthetic", MFD_CLOEXEC);
  if (descriptor < 0) return Fail(ErrorCode::kIo, "no memory file for the synthetic model");
  SyntheticModel out(descriptor);
  std::ofstream stream(out.path(), std::ios::binary);
  formats::GgufWriter writer(stream);
  SetMetadata(writer, *found);
  const auto tensors = TensorsOf(*found);
  std::vector<formats::TensorType> types;
  for (const Tensor& tensor : tensors) {
    formats::GgufTensor described{.name = tensor.name, .type = formats::TensorType::kF32, .rank = 1};
    described.dims[0] = tensor.inputs;
    if (tensor.outputs > 0) {
      described.dims[1] = tensor.outputs;
      described.rank = 2;
    }
    auto chosen = formats::TensorType::kF32;
    if (tensor.outputs > 0) chosen = mix ? formats::ChooseType(**mix, model, described) : *plain;
    types.push_back(chosen);
    if (auto added = writer.AddTensor(tensor.name, chosen, described.shape()); !added) return Forward(added);
  }
  if (auto header = writer.WriteHeader(); !header) return Forward(header);
  std::mt19937 random(1);
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (auto written = WriteRows(writer, tensors[i], types[i], random); !written) return Forward(written);
  }
  if (auto finished = writer.Finish(); !finished) return Forward(finished);
  return out;
}

std::string SyntheticModel::path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

SyntheticModel::SyntheticModel(SyntheticModel&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

SyntheticModel::~SyntheticModel() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string ShapeNames() {
  std::string out;
  for (const Shape& shape : kShapes) out += fmt::format("{}{}", out.empty() ? "" : ", ", shape.name);
  return out;
}

}  // namespace inferflux::apps
