#include "formats/huggingface/hf_config.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <initializer_list>

namespace inferflux::formats {
namespace {

constexpr uint32_t kMaxDimension = 1u << 24;
constexpr uint32_t kMaxLayers = 4096;

// Collects the first failure of many reads, so that each read below is one line.
class FieldReader {
 public:
  explicit FieldReader(const JsonObject& object) : object_(object) {}

  // The first of `names` that the object contains.
  template <class T>
  void Read(std::initializer_list<std::string_view> names, std::optional<T>& out) {
    for (const std::string_view name : names) {
      if (failure_) return;
      auto found = object_.Find<T>(name);
      if (!found) {
        failure_ = std::move(found.error());
      } else if (*found) {
        out = std::move(**found);
        return;
      }
    }
  }

  template <class T>
  void Read(std::initializer_list<std::string_view> names, T& out) {
    std::optional<T> found;
    Read(names, found);
    if (found) out = std::move(*found);
  }

  Status status() const { return failure_ ? Status(tl::make_unexpected(*failure_)) : Status(); }

 private:
  const JsonObject& object_;
  std::optional<Error> failure_;
};

Result<HfRopeScaling> ReadRopeScaling(const JsonObject& object) {
  HfRopeScaling rope;
  FieldReader reader(object);
  reader.Read({"rope_type", "type"}, rope.type);
  reader.Read({"factor"}, rope.factor);
  reader.Read({"alpha"}, rope.alpha);
  reader.Read({"original_max_position_embeddings"}, rope.original_context);
  reader.Read({"low_freq_factor"}, rope.low_freq_factor);
  reader.Read({"high_freq_factor"}, rope.high_freq_factor);
  reader.Read({"beta_fast"}, rope.beta_fast);
  reader.Read({"beta_slow"}, rope.beta_slow);
  reader.Read({"attention_factor"}, rope.attention_factor);
  reader.Read({"mscale"}, rope.mscale);
  reader.Read({"mscale_all_dim"}, rope.mscale_all_dim);
  reader.Read({"truncate"}, rope.truncate);
  reader.Read({"short_factor"}, rope.short_factor);
  reader.Read({"long_factor"}, rope.long_factor);
  if (auto status = reader.status(); !status) return Forward(status);
  if (rope.type.empty()) rope.type = "default";
  return rope;
}

// compressed-tensors' config_groups, and the transform_config of such groups.
Status ReadQuantGroups(const JsonObject& object, HfQuantization& quantization) {
  const auto each = [](const JsonObject& from, const auto& read) -> Status {
    const auto groups = from.Find<JsonObject>("config_groups");
    if (!groups) return Forward(groups);
    if (!*groups) return {};
    for (const auto& [name, value] : (*groups)->raw()) {
      auto group = JsonAs<JsonObject>(value, (*groups)->source() + ": " + std::string(name));
      if (!group) return Forward(group);
      if (Status done = read(*group); !done) return done;
    }
    return {};
  };
  auto read = each(object, [&](const JsonObject& group) -> Status {
    HfQuantGroup out;
    FieldReader reader(group);
    reader.Read({"format"}, out.format);
    if (auto status = reader.status(); !status) return status;
    const auto weights = group.Find<JsonObject>("weights");
    if (!weights) return Forward(weights);
    if (*weights) {
      FieldReader of_weights(**weights);
      of_weights.Read({"type"}, out.type);
      of_weights.Read({"num_bits"}, out.bits);
      const auto* block = (*weights)->FindValue("block_structure");
      if (block != nullptr && block->is_array()) of_weights.Read({"block_structure"}, out.block);  // for each text once
      if (auto status = of_weights.status(); !status) return status;
    }
    quantization.groups.push_back(std::move(out));
    return {};
  });
  if (!read) return read;
  const auto transforms = object.Find<JsonObject>("transform_config");
  if (!transforms) return Forward(transforms);
  if (!*transforms) return {};
  return each(**transforms, [&](const JsonObject& group) -> Status {
    const auto apply = group.Find<std::vector<JsonObject>>("apply");
    if (!apply) return Forward(apply);
    if (!*apply) return {};
    for (const JsonObject& to : **apply) {
      const auto location = to.GetOr<std::string>("location", "");
      if (!location) return Forward(location);
      quantization.rotates_activations = quantization.rotates_activations || !location->starts_with("weight");
    }
    return {};
  });
}

Result<HfQuantization> ReadQuantization(const JsonObject& object) {
  HfQuantization quantization;
  FieldReader reader(object);
  reader.Read({"quant_method"}, quantization.method);
  reader.Read({"bits", "w_bit"}, quantization.bits);
  reader.Read({"group_size", "q_group_size"}, quantization.group_size);
  reader.Read({"desc_act"}, quantization.desc_act);
  reader.Read({"sym"}, quantization.symmetric);
  reader.Read({"zero_point"}, quantization.zero_point);
  reader.Read({"version"}, quantization.version);
  reader.Read({"checkpoint_format"}, quantization.checkpoint_format);
  reader.Read({"format"}, quantization.format);
  reader.Read({"quant_algo"}, quantization.algorithm);
  reader.Read({"weight_block_size"}, quantization.weight_block_size);
  if (auto status = reader.status(); !status) return Forward(status);
  if (auto read = ReadQuantGroups(object, quantization); !read) return Forward(read);
  return quantization;
}

// MLX's own key: the sizes for all weights, and objects of the same kind, by weight name, for exceptions. What such an
// object omits has MLX's default, not the value for all weights.
Result<HfQuantization> ReadMlxQuantization(const JsonObject& object) {
  HfQuantization quantization{.method = "mlx"};
  FieldReader reader(object);
  reader.Read({"bits"}, quantization.bits);
  reader.Read({"group_size"}, quantization.mlx.group_size);
  reader.Read({"mode"}, quantization.mlx.mode);
  if (auto status = reader.status(); !status) return Forward(status);
  for (const auto& [name, value] : object.raw()) {
    if (!value.is_object()) continue;
    const JsonObject own = JsonObject::Borrow(value.get_object(), object.source() + ": " + std::string(name));
    HfMlxLayout form;
    FieldReader own_reader(own);
    own_reader.Read({"group_size"}, form.group_size);
    own_reader.Read({"mode"}, form.mode);
    if (auto status = own_reader.status(); !status) return Forward(status);
    quantization.mlx_layers.emplace(name, std::move(form));
  }
  return quantization;
}

void ReadShape(FieldReader& reader, HfConfig& config) {
  reader.Read({"vocab_size"}, config.vocab_size);
  reader.Read({"hidden_size", "n_embd", "d_model", "dim"}, config.hidden_size);
  reader.Read({"num_hidden_layers", "n_layer", "n_layers"}, config.layers);
  reader.Read({"num_attention_heads", "n_head", "n_heads"}, config.heads);
  reader.Read({"num_key_value_heads"}, config.kv_heads);
  reader.Read({"head_dim", "qk_rope_head_dim"}, config.head_dim);
  reader.Read({"n_inner", "hidden_dim"}, config.intermediate_size);
  reader.Read({"max_position_embeddings", "n_positions", "n_ctx"}, config.max_position);
  reader.Read({"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"}, config.experts);
  reader.Read({"n_shared_experts", "moe_num_shared_experts"}, config.shared_experts);
  reader.Read({"first_k_dense_replace", "moe_layer_start_index"}, config.leading_dense_layers);
  reader.Read({"n_group"}, config.expert_groups);
  reader.Read({"topk_group"}, config.expert_groups_used);
  reader.Read({"shared_expert_intermediate_size"}, config.shared_expert_intermediate_size);
}

void ReadDetails(FieldReader& reader, HfConfig& config) {
  reader.Read({"rms_norm_eps"}, config.rms_norm_eps);
  reader.Read({"layer_norm_eps", "layer_norm_epsilon", "norm_epsilon"}, config.layer_norm_eps);
  reader.Read({"hidden_activation", "hidden_act", "activation_function"}, config.hidden_act);
  reader.Read({"rope_theta"}, config.rope_theta);
  reader.Read({"rope_local_base_freq"}, config.local_rope_theta);
  reader.Read({"partial_rotary_factor"}, config.partial_rotary_factor);
  reader.Read({"sliding_window"}, config.sliding_window);
  reader.Read({"use_sliding_window"}, config.use_sliding_window);
  reader.Read({"layer_types", "layers_block_type"}, config.layer_types);
  if (config.layers == 0)
    config.layers = static_cast<uint32_t>(std::min<size_t>(config.layer_types.size(), UINT32_MAX));
  reader.Read({"attn_logit_softcapping"}, config.attn_logit_softcap);
  reader.Read({"final_logit_softcapping"}, config.final_logit_softcap);
  reader.Read({"query_pre_attn_scalar"}, config.query_pre_attn_scalar);
  reader.Read({"norm_topk_prob"}, config.norm_topk_prob);
  reader.Read({"routed_scaling_factor"}, config.routed_scaling);
  reader.Read({"bos_token_id"}, config.bos);
  reader.Read({"pad_token_id"}, config.pad);
  reader.Read({"tie_word_embeddings"}, config.tie_word_embeddings);
}

// A number, or a list of one for each layer whose numbers are equal.
Status ReadPerLayer(const JsonObject& root, std::initializer_list<std::string_view> keys,
                    std::optional<uint32_t>& out) {
  for (const std::string_view key : keys) {
    const auto* value = root.FindValue(key);
    if (value == nullptr || !value->is_array()) {
      auto found = root.Find<uint32_t>(key);
      if (!found) return Forward(found);
      if (*found) out = **found;
    } else {
      const auto list = root.Get<std::vector<uint32_t>>(key);
      if (!list) return Forward(list);
      for (const uint32_t number : *list) {
        if (number == list->front()) continue;
        return Fail(ErrorCode::kUnsupported, "{}: {} has {} and {}; only the same number for all layers is supported",
                    root.source(), key, list->front(), number);
      }
      if (!list->empty()) out = list->front();
    }
    if (out) return {};
  }
  return {};
}

// A number, or a list of one for each layer; then intermediate_size is the first of them.
Status ReadFeedForward(const JsonObject& root, HfConfig& config) {
  constexpr const char* kKey = "intermediate_size";
  const auto* value = root.FindValue(kKey);
  if (value == nullptr || !value->is_array()) {
    const auto found = root.Find<uint32_t>(kKey);
    if (!found) return Forward(found);
    if (*found) config.intermediate_size = **found;
    return {};
  }
  auto list = root.Get<std::vector<uint32_t>>(kKey);
  if (!list) return Forward(list);
  if (list->size() != config.layers) {
    return Fail(ErrorCode::kDataLoss, "{}: {} has {} entries for {} layers", root.source(), kKey, list->size(),
                config.layers);
  }
  if (!list->empty()) config.intermediate_size = list->front();
  for (const uint32_t width : *list) {
    if (width <= kMaxDimension) continue;
    return Fail(ErrorCode::kDataLoss, "{}: {} has {}; at most {} is served", root.source(), kKey, width, kMaxDimension);
  }
  config.layer_feed_forward = std::move(*list);
  return {};
}

// RoPE's parameters: in "rope_scaling", or in "rope_parameters" in newer files. If a file has both, the former counts,
// as in transformers. What an object says precedes the keys beside it.
Status ReadRope(const JsonObject& root, HfConfig& config) {
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    const auto found = root.Find<JsonObject>(key);
    if (!found) return Forward(found);
    if (!*found || (*found)->raw().empty()) continue;
    // Models whose windowed layers use another RoPE have one object for each kind of layer.
    auto global = (*found)->Find<JsonObject>("full_attention"), local = (*found)->Find<JsonObject>("sliding_attention");
    for (const auto* part : {&global, &local}) {
      if (!*part) return Forward(*part);
    }
    if (*local) {
      FieldReader reader(**local);
      reader.Read({"rope_theta"}, config.local_rope_theta);
      if (auto status = reader.status(); !status) return status;
    }
    const JsonObject& object = *global ? **global : **found;
    FieldReader reader(object);
    reader.Read({"rope_theta"}, config.rope_theta);
    reader.Read({"partial_rotary_factor"}, config.partial_rotary_factor);
    if (auto status = reader.status(); !status) return status;
    auto rope = ReadRopeScaling(object);
    if (!rope) return Forward(rope);
    if (*global) rope->truncate = true;  // transformers looks for it in the outer object only
    if (rope->type != "default") config.rope_scaling = std::move(*rope);
    return {};
  }
  return {};
}

Status CheckShape(HfConfig& config, bool attention, const std::string& source) {
  const std::pair<const char*, uint32_t> required[] = {{"vocab_size", config.vocab_size},
                                                       {"hidden_size", config.hidden_size},
                                                       {"num_hidden_layers", config.layers},
                                                       {"num_attention_heads", config.heads}};
  for (const auto& [name, value] : required) {
    if (value == 0 && (attention || name != std::string_view("num_attention_heads")))
      return Fail(ErrorCode::kDataLoss, "{}: {} is missing or 0", source, name);
  }
  const std::pair<const char*, uint64_t> bounded[] = {
      {"vocab_size", config.vocab_size},
      {"hidden_size", config.hidden_size},
      {"num_attention_heads", config.heads},
      {"num_key_value_heads", config.kv_heads},
      {"head_dim", config.head_dim},
      {"intermediate_size", config.intermediate_size.value_or(0)},
      {"num_experts", config.experts.value_or(0)},
      {"n_shared_experts", config.shared_experts.value_or(0)},
      {"moe_intermediate_size", config.expert_intermediate_size.value_or(0)}};
  for (const auto& [name, value] : bounded) {
    if (value > kMaxDimension)
      return Fail(ErrorCode::kDataLoss, "{}: {} is {}; at most {} is served", source, name, value, kMaxDimension);
  }
  if (config.layers > kMaxLayers) {
    return Fail(ErrorCode::kDataLoss, "{}: num_hidden_layers is {}; at most {} are served", source, config.layers,
                kMaxLayers);
  }
  if (!attention) {
    config.heads = config.kv_heads = config.head_dim = 0;
    return {};
  }
  if (config.kv_heads == 0) config.kv_heads = config.heads;
  if (config.heads % config.kv_heads != 0) {
    return Fail(ErrorCode::kDataLoss, "{}: num_attention_heads {} is not a multiple of num_key_value_heads {}", source,
                config.heads, config.kv_heads);
  }
  if (config.head_dim == 0) {
    if (config.hidden_size % config.heads != 0) {
      return Fail(ErrorCode::kDataLoss,
                  "{}: hidden_size {} is not a multiple of num_attention_heads {}, and there is no head_dim", source,
                  config.hidden_size, config.heads);
    }
    config.head_dim = config.hidden_size / config.heads;
  }
  return {};
}

}  // namespace

Result<std::vector<TokenId>> ReadTokenIds(const JsonObject& object, std::string_view key) {
  const boost::json::value* value = object.FindValue(key);
  if (value == nullptr) return std::vector<TokenId>{};
  if (value->is_array()) return object.Get<std::vector<TokenId>>(key);
  return object.Get<TokenId>(key).map([](TokenId id) { return std::vector<TokenId>{id}; });
}

Result<HfConfig> ParseHfConfig(JsonObject root, bool attention) {
  std::vector<std::string> architectures;
  FieldReader outer(root);
  outer.Read({"architectures"}, architectures);
  if (auto status = outer.status(); !status) return Forward(status);
  auto text_config = root.Find<JsonObject>("text_config");
  if (!text_config) return Forward(text_config);
  HfConfig config{.several_parts = text_config->has_value(), .raw = *text_config ? **text_config : root};
  const JsonObject& object = config.raw;
  config.architectures = std::move(architectures);
  FieldReader reader(object);
  reader.Read({"model_type"}, config.model_type);
  reader.Read({"dtype", "torch_dtype"}, config.torch_dtype);
  ReadShape(reader, config);
  ReadDetails(reader, config);
  if (auto status = reader.status(); !status) return Forward(status);
  if (auto read = ReadFeedForward(object, config); !read) return Forward(read);
  if (auto read = ReadPerLayer(object, {"moe_intermediate_size"}, config.expert_intermediate_size); !read)
    return Forward(read);
  if (auto read = ReadPerLayer(object, {"num_experts_per_tok", "moe_k", "moe_topk"}, config.experts_per_token); !read)
    return Forward(read);
  if (auto rope = ReadRope(object, config); !rope) return Forward(rope);
  if (object.FindValue("tie_word_embeddings") == nullptr) {  // a multimodal model's own key
    outer.Read({"tie_word_embeddings"}, config.tie_word_embeddings);
    if (auto status = outer.status(); !status) return Forward(status);
  }
  auto eos = ReadTokenIds(object, "eos_token_id");
  if (!eos) return Forward(eos);
  config.eos = std::move(*eos);
  const auto mlx = root.Find<JsonObject>("quantization");
  if (!mlx) return Forward(mlx);
  const auto quantization = root.Find<JsonObject>("quantization_config");
  if (!quantization) return Forward(quantization);
  if (*mlx || *quantization) {  // MLX's tools write the same object under both keys
    auto read = *mlx ? ReadMlxQuantization(**mlx) : ReadQuantization(**quantization);
    if (!read) return Forward(read);
    config.quantization = std::move(*read);
  }
  if (auto checked = CheckShape(config, attention, object.source()); !checked) return Forward(checked);
  return config;
}

Result<HfConfig> ReadHfConfig(const std::string& directory) {
  auto root = JsonObject::ReadFile((std::filesystem::path(directory) / "config.json").string());
  if (!root) return Forward(root);
  return ParseHfConfig(std::move(*root));
}

}  // namespace inferflux::formats
