// config.json, key by key: each key, and each other name of it, is the value of its own field and of no other.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "formats/huggingface/hf_config.h"

namespace inferflux::formats {
namespace {

class FieldList {
 public:
  template <class T>
  void Add(const char* name, const T& value) {
    text_ += fmt::format("{}={} ", name, value);
  }
  template <class T>
  void Add(const char* name, const std::optional<T>& value) {
    if (value) Add(name, *value);
  }
  void Add(const char* name, const std::string& value) {
    if (!value.empty()) text_ += fmt::format("{}={} ", name, value);
  }
  template <class T>
  void Add(const char* name, const std::vector<T>& values) {
    if (!values.empty()) text_ += fmt::format("{}=[{}] ", name, fmt::join(values, ","));
  }
  std::string text() const { return text_.empty() ? "" : text_.substr(0, text_.size() - 1); }

 private:
  std::string text_;
};

std::string RopeText(const HfRopeScaling& rope) {
  FieldList out;
  out.Add("type", rope.type);
  out.Add("factor", rope.factor);
  out.Add("alpha", rope.alpha);
  out.Add("context", rope.original_context);
  out.Add("low", rope.low_freq_factor);
  out.Add("high", rope.high_freq_factor);
  out.Add("fast", rope.beta_fast);
  out.Add("slow", rope.beta_slow);
  out.Add("attention", rope.attention_factor);
  out.Add("mscale", rope.mscale);
  out.Add("all_dim", rope.mscale_all_dim);
  out.Add("truncate", rope.truncate);
  out.Add("short", rope.short_factor);
  out.Add("long", rope.long_factor);
  return out.text();
}

std::string QuantizationText(const HfQuantization& quantization) {
  FieldList out;
  out.Add("method", quantization.method);
  out.Add("bits", quantization.bits);
  out.Add("group", quantization.group_size);
  out.Add("desc_act", quantization.desc_act);
  out.Add("symmetric", quantization.symmetric);
  out.Add("zero_point", quantization.zero_point);
  out.Add("version", quantization.version);
  out.Add("checkpoint_format", quantization.checkpoint_format);
  out.Add("format", quantization.format);
  out.Add("algorithm", quantization.algorithm);
  out.Add("rotates", quantization.rotates_activations);
  out.Add("block", quantization.weight_block_size);
  for (const HfQuantGroup& group : quantization.groups) {
    out.Add("of", fmt::format("({} {} {} [{}])", group.format, group.type, group.bits, fmt::join(group.block, ",")));
  }
  out.Add("mlx", fmt::format("{}/{}", quantization.mlx.mode, quantization.mlx.group_size));
  for (const auto& [name, layout] : quantization.mlx_layers)
    out.Add(name.c_str(), fmt::format("{}/{}", layout.mode, layout.group_size));
  return out.text();
}

// What a file's own keys change; the shape that each of them needs is left out.
std::string FieldsOf(const HfConfig& config) {
  FieldList out;
  out.Add("architectures", config.architectures);
  out.Add("model_type", config.model_type);
  out.Add("dtype", config.torch_dtype);
  out.Add("vocab", config.vocab_size);
  out.Add("hidden", config.hidden_size);
  out.Add("layers", config.layers);
  out.Add("heads", config.heads);
  out.Add("kv_heads", config.kv_heads);
  out.Add("head_dim", config.head_dim);
  out.Add("intermediate", config.intermediate_size);
  out.Add("each", config.layer_feed_forward);
  out.Add("position", config.max_position);
  out.Add("rms", config.rms_norm_eps);
  out.Add("layer_norm", config.layer_norm_eps);
  out.Add("act", config.hidden_act);
  out.Add("theta", config.rope_theta);
  out.Add("rotary", config.partial_rotary_factor);
  out.Add("local", config.local_rope_theta);
  out.Add("rope", config.rope_scaling ? "(" + RopeText(*config.rope_scaling) + ")" : std::string());
  out.Add("window", config.sliding_window);
  out.Add("use_window", config.use_sliding_window);
  out.Add("types", config.layer_types);
  out.Add("tied", config.tie_word_embeddings);
  out.Add("attn_cap", config.attn_logit_softcap);
  out.Add("final_cap", config.final_logit_softcap);
  out.Add("query_scalar", config.query_pre_attn_scalar);
  out.Add("experts", config.experts);
  out.Add("used", config.experts_per_token);
  out.Add("expert_width", config.expert_intermediate_size);
  out.Add("shared_width", config.shared_expert_intermediate_size);
  out.Add("norm_topk", config.norm_topk_prob);
  out.Add("shared", config.shared_experts);
  out.Add("dense", config.leading_dense_layers);
  out.Add("groups", config.expert_groups);
  out.Add("groups_used", config.expert_groups_used);
  out.Add("scaling", config.routed_scaling);
  out.Add("parts", config.several_parts);
  out.Add("bos", config.bos);
  out.Add("pad", config.pad);
  out.Add("eos", config.eos);
  out.Add("quantization", config.quantization ? "(" + QuantizationText(*config.quantization) + ")" : std::string());
  return out.text();
}

std::string Parsed(const boost::json::object& object, bool attention = true) {
  const auto config = ParseHfConfig(*JsonObject::Parse(boost::json::serialize(object), "c"), attention);
  return config ? FieldsOf(*config) : config.error().message;
}

std::vector<std::string> WordsOf(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

// The words of a text that another lacks, or an error.
std::string Added(const std::string& before, const std::string& after) {
  if (after.starts_with("c: ")) return after;
  const auto known = WordsOf(before);
  std::string out;
  for (const std::string& word : WordsOf(after)) {
    if (std::ranges::find(known, word) == known.end()) out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

const boost::json::object kShape = {
    {"vocab_size", 90}, {"hidden_size", 60}, {"num_hidden_layers", 2}, {"num_attention_heads", 4}};

// What one more key changes in a small configuration.
std::string With(const std::string& key, const std::string& value) {
  static const std::string kBefore = Parsed(kShape);
  boost::json::object object = kShape;
  object[key] = boost::json::parse(value);
  return Added(kBefore, Parsed(object));
}

TEST(HfConfigFields, EachKeyIsItsField) {
  EXPECT_EQ(Parsed(kShape), "vocab=90 hidden=60 layers=2 heads=4 kv_heads=4 head_dim=15 tied=true parts=false");
  EXPECT_EQ(With("architectures", R"(["A","B"])"), "architectures=[A,B]");
  EXPECT_EQ(With("model_type", R"("m")"), "model_type=m");
  for (const char* key : {"dtype", "torch_dtype"}) EXPECT_EQ(With(key, R"("d")"), "dtype=d");
  EXPECT_EQ(With("num_key_value_heads", "2"), "kv_heads=2");
  for (const char* key : {"head_dim", "qk_rope_head_dim"}) EXPECT_EQ(With(key, "7"), "head_dim=7");
  for (const char* key : {"n_inner", "hidden_dim", "intermediate_size"}) EXPECT_EQ(With(key, "7"), "intermediate=7");
  EXPECT_EQ(With("intermediate_size", "[7,8]"), "intermediate=7 each=[7,8]");
  for (const char* key : {"max_position_embeddings", "n_positions", "n_ctx"}) EXPECT_EQ(With(key, "7"), "position=7");
  EXPECT_EQ(With("rms_norm_eps", "0.5"), "rms=0.5");
  for (const char* key : {"layer_norm_eps", "layer_norm_epsilon", "norm_epsilon"})
    EXPECT_EQ(With(key, "0.5"), "layer_norm=0.5");
  for (const char* key : {"hidden_activation", "hidden_act", "activation_function"})
    EXPECT_EQ(With(key, R"("a")"), "act=a");
  EXPECT_EQ(With("rope_theta", "7"), "theta=7");
  EXPECT_EQ(With("partial_rotary_factor", "0.5"), "rotary=0.5");
  EXPECT_EQ(With("rope_local_base_freq", "7"), "local=7");
  EXPECT_EQ(With("sliding_window", "7"), "window=7");
  EXPECT_EQ(With("use_sliding_window", "false"), "use_window=false");
  for (const char* key : {"layer_types", "layers_block_type"})
    EXPECT_EQ(With(key, R"(["x","y","z"])"), "types=[x,y,z]");
  EXPECT_EQ(With("tie_word_embeddings", "false"), "tied=false");
  EXPECT_EQ(With("attn_logit_softcapping", "7"), "attn_cap=7");
  EXPECT_EQ(With("final_logit_softcapping", "7"), "final_cap=7");
  EXPECT_EQ(With("query_pre_attn_scalar", "7"), "query_scalar=7");
  for (const char* key : {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"})
    EXPECT_EQ(With(key, "7"), "experts=7");
  for (const char* key : {"num_experts_per_tok", "moe_k", "moe_topk"}) EXPECT_EQ(With(key, "7"), "used=7");
  EXPECT_EQ(With("moe_intermediate_size", "7"), "expert_width=7");
  EXPECT_EQ(With("shared_expert_intermediate_size", "7"), "shared_width=7");
  EXPECT_EQ(With("norm_topk_prob", "true"), "norm_topk=true");
  for (const char* key : {"n_shared_experts", "moe_num_shared_experts"}) EXPECT_EQ(With(key, "7"), "shared=7");
  for (const char* key : {"first_k_dense_replace", "moe_layer_start_index"}) EXPECT_EQ(With(key, "7"), "dense=7");
  EXPECT_EQ(With("n_group", "7"), "groups=7");
  EXPECT_EQ(With("topk_group", "7"), "groups_used=7");
  EXPECT_EQ(With("routed_scaling_factor", "0.5"), "scaling=0.5");
  EXPECT_EQ(With("bos_token_id", "7"), "bos=7");
  EXPECT_EQ(With("pad_token_id", "7"), "pad=7");
  EXPECT_EQ(With("eos_token_id", "7"), "eos=[7]");
  EXPECT_EQ(With("eos_token_id", "[7,8]"), "eos=[7,8]");
}

TEST(HfConfigFields, TheShapeHasOtherNames) {
  const std::string read = "vocab=90 hidden=60 layers=2 heads=4 kv_heads=4 head_dim=15 tied=true parts=false";
  const std::vector<std::string> names[] = {{"hidden_size", "n_embd", "d_model", "dim"},
                                            {"num_hidden_layers", "n_layer", "n_layers"},
                                            {"num_attention_heads", "n_head", "n_heads"}};
  for (const auto& same : names) {
    for (const std::string& name : same) {
      boost::json::object object = kShape;
      const boost::json::value value = object[same[0]];
      object.erase(same[0]);
      object[name] = value;
      EXPECT_EQ(Parsed(object), read) << name;
      object[same[0]] = value;
      object[same.back()] = same[0] == name ? value : boost::json::value(61);
      EXPECT_EQ(Parsed(object), read) << "the first name that is there counts";
    }
  }
}

TEST(HfConfigFields, RopeScalingHasEachNumber) {
  const auto rope = [](const std::string& inner) { return With("rope_scaling", "{" + inner + "}"); };
  EXPECT_EQ(rope(""), "");
  EXPECT_EQ(rope(R"("factor":2)"), "") << "the default has no scaling";
  EXPECT_EQ(rope(R"("rope_type":"default","factor":2)"), "");
  EXPECT_EQ(rope(R"("type":"linear","factor":2)"), "rope=(type=linear factor=2 truncate=true)");
  EXPECT_EQ(rope(R"("rope_type":"yarn","type":"linear","factor":2,"alpha":3,"original_max_position_embeddings":4,
                     "low_freq_factor":5,"high_freq_factor":6,"beta_fast":7,"beta_slow":8,"attention_factor":9,
                     "mscale":10,"mscale_all_dim":11,"truncate":false,"short_factor":[1,2],"long_factor":[3,4])"),
            "rope=(type=yarn factor=2 alpha=3 context=4 low=5 high=6 fast=7 slow=8 attention=9 mscale=10 all_dim=11 "
            "truncate=false short=[1,2] long=[3,4])");
  EXPECT_EQ(With("rope_parameters", R"({"rope_theta":7,"partial_rotary_factor":0.5,"rope_type":"linear","factor":2})"),
            "theta=7 rotary=0.5 rope=(type=linear factor=2 truncate=true)");
  EXPECT_EQ(With("rope_parameters", R"({"full_attention":{"rope_theta":7,"rope_type":"yarn","truncate":false},
                                       "sliding_attention":{"rope_theta":8}})"),
            "theta=7 local=8 rope=(type=yarn truncate=true)");
  EXPECT_EQ(With("rope_parameters", R"({"sliding_attention":{"rope_theta":8},"rope_theta":9})"), "theta=9 local=8");
  boost::json::object both = kShape;
  both["rope_theta"] = 5;
  both["rope_scaling"] = {{"type", "linear"}, {"factor", 2}};
  both["rope_parameters"] = {{"type", "yarn"}, {"rope_theta", 6}};
  EXPECT_EQ(Added(Parsed(kShape), Parsed(both)), "theta=5 rope=(type=linear factor=2 truncate=true)");
  both["rope_scaling"] = boost::json::object();
  EXPECT_EQ(Added(Parsed(kShape), Parsed(both)), "theta=6 rope=(type=yarn truncate=true)")
      << "an empty one says nothing";
}

TEST(HfConfigFields, AQuantizationHasEachSetting) {
  const auto quantized = [](const std::string& inner) { return With("quantization_config", "{" + inner + "}"); };
  const std::string rest = "desc_act=false symmetric=true zero_point=false";
  EXPECT_EQ(quantized(""), "quantization=(bits=0 group=0 " + rest + " rotates=false mlx=affine/64)");
  EXPECT_EQ(quantized(R"("quant_method":"q","bits":4,"group_size":32,"desc_act":true,"sym":false,"zero_point":true,
                          "version":"v","checkpoint_format":"c","format":"f","quant_algo":"a","weight_block_size":[1,2])"),
            "quantization=(method=q bits=4 group=32 desc_act=true symmetric=false zero_point=true version=v "
            "checkpoint_format=c format=f algorithm=a rotates=false block=[1,2] mlx=affine/64)");
  EXPECT_EQ(quantized(R"("w_bit":4,"q_group_size":-1)"),
            "quantization=(bits=4 group=-1 " + rest + " rotates=false mlx=affine/64)");
  EXPECT_EQ(
      quantized(R"("config_groups":{"a":{"format":"f","weights":{"type":"int","num_bits":4,"block_structure":[1,2]}},
                                          "b":{"weights":{"block_structure":"1x2"}},"c":{}})"),
      "quantization=(bits=0 group=0 " + rest +
          " rotates=false of=(f int 4 [1,2]) of=( 0 []) of=( 0 []) mlx=affine/64)");
  const auto rotates = [&](const std::string& locations) {
    const std::string said =
        quantized(R"("transform_config":{"config_groups":{"a":{"apply":[)" + locations + R"(]},"b":{}}})");
    return said.starts_with("c: ") ? said : said.find("rotates=true") != std::string::npos ? "yes" : "no";
  };
  EXPECT_EQ(rotates(""), "no");
  EXPECT_EQ(rotates(R"({"location":"weight_input"})"), "no");
  EXPECT_EQ(rotates(R"({"location":"input"})"), "yes");
  EXPECT_EQ(rotates(R"({"location":"input"},{"location":"weight_output"})"), "yes");
  EXPECT_EQ(rotates(R"({})"), "yes");
  EXPECT_EQ(
      rotates(R"({"location":3})"),
      "c: quantization_config: transform_config: config_groups: a: apply[0]: location should be a string, but is a "
      "number");
  EXPECT_EQ(
      With("quantization", R"({"bits":6,"group_size":32,"mode":"m","x":{"group_size":128},"y":{"mode":"n"},"z":3})"),
      "quantization=(method=mlx bits=6 group=0 " + rest + " rotates=false mlx=m/32 x=affine/128 y=n/64)");
  EXPECT_EQ(With("quantization", R"({"x":{"group_size":"y"}})"),
            "c: quantization: x: group_size should be a whole number, but is a string");
  boost::json::object both = kShape;
  both["quantization"] = {{"bits", 3}};
  both["quantization_config"] = {{"bits", 4}, {"quant_method", "q"}};
  EXPECT_EQ(Added(Parsed(kShape), Parsed(both)).substr(0, 33), "quantization=(method=mlx bits=3 g");
}

TEST(HfConfigFields, ATextModelInsideAnotherIsRead) {
  boost::json::object inner = kShape;
  inner["model_type"] = "inner";
  boost::json::object outer = {
      {"text_config", inner}, {"architectures", {"A"}}, {"model_type", "outer"}, {"vocab_size", 5}};
  const std::string shape = "vocab=90 hidden=60 layers=2 heads=4 kv_heads=4 head_dim=15 ";
  EXPECT_EQ(Parsed(outer), "architectures=[A] model_type=inner " + shape + "tied=true parts=true");
  outer["tie_word_embeddings"] = false;
  EXPECT_EQ(Parsed(outer), "architectures=[A] model_type=inner " + shape + "tied=false parts=true");
  inner["tie_word_embeddings"] = true;
  outer["text_config"] = inner;
  EXPECT_EQ(Parsed(outer), "architectures=[A] model_type=inner " + shape + "tied=true parts=true");
  outer["quantization_config"] = {{"bits", 4}};
  EXPECT_NE(Parsed(outer).find("quantization=(bits=4"), std::string::npos) << "it is of the whole";
}

TEST(HfConfigFields, EachBoundIsAtItsEdge) {
  constexpr uint32_t kMost = 1u << 24;
  const auto most = [](const std::string& name) {
    return fmt::format("c: {} is 16777217; at most 16777216 is served", name);
  };
  const std::pair<const char*, const char*> keys[] = {{"head_dim", "head_dim"},
                                                      {"intermediate_size", "intermediate_size"},
                                                      {"num_experts", "num_experts"},
                                                      {"n_shared_experts", "n_shared_experts"},
                                                      {"moe_intermediate_size", "moe_intermediate_size"}};
  for (const auto& [key, name] : keys) {
    EXPECT_EQ(With(key, std::to_string(kMost)).substr(0, 3) == "c: ", false) << key;
    EXPECT_EQ(With(key, std::to_string(kMost + 1)), most(name));
  }
  boost::json::object heads = kShape;
  heads["head_dim"] = 1;
  heads["num_attention_heads"] = heads["num_key_value_heads"] = kMost;
  EXPECT_NE(Parsed(heads).find("heads=16777216 kv_heads=16777216"), std::string::npos);
  heads["num_attention_heads"] = kMost + 1;
  EXPECT_EQ(Parsed(heads), most("num_attention_heads"));
  heads["num_attention_heads"] = 4;
  heads["num_key_value_heads"] = kMost + 1;
  EXPECT_EQ(Parsed(heads), most("num_key_value_heads"));
  EXPECT_EQ(With("num_hidden_layers", "4096"), "layers=4096");
  EXPECT_EQ(With("num_hidden_layers", "4097"), "c: num_hidden_layers is 4097; at most 4096 are served");
  EXPECT_EQ(With("num_attention_heads", "7"),
            "c: hidden_size 60 is not a multiple of num_attention_heads 7, and there is no head_dim");
  EXPECT_EQ(With("num_key_value_heads", "3"), "c: num_attention_heads 4 is not a multiple of num_key_value_heads 3");
  EXPECT_EQ(With("intermediate_size", "[7]"), "c: intermediate_size has 1 entries for 2 layers");
  EXPECT_EQ(With("intermediate_size", "[7,16777216]"), "intermediate=7 each=[7,16777216]");
  EXPECT_EQ(With("intermediate_size", "[7,16777217]"), "c: intermediate_size has 16777217; at most 16777216 is served");
  EXPECT_EQ(With("moe_intermediate_size", "[5,5]"), "expert_width=5");
  EXPECT_EQ(With("moe_intermediate_size", "[]"), "");
  EXPECT_EQ(With("moe_topk", "[5,6]"), "c: moe_topk has 5 and 6; only the same number for all layers is supported");
  for (const char* name : {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads"})
    EXPECT_EQ(With(name, "0"), fmt::format("c: {} is missing or 0", name));
}

TEST(HfConfigFields, AModelWithoutAttentionHasNoHeads) {
  boost::json::object object = kShape;
  object["num_key_value_heads"] = 3;
  object["head_dim"] = 7;
  EXPECT_EQ(Parsed(object, false), "vocab=90 hidden=60 layers=2 heads=0 kv_heads=0 head_dim=0 tied=true parts=false");
  object["num_hidden_layers"] = 0;
  EXPECT_EQ(Parsed(object, false), "c: num_hidden_layers is missing or 0");
}

}  // namespace
}  // namespace inferflux::formats
