// What config.json's settings become in GGUF's metadata, key by key.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf/gguf_metadata_builder.h"
#include "model/families/family.h"
#include "model/families/rope_scaling.h"
#include "model/huggingface/metadata.h"

namespace inferflux::model {
namespace {

using Written = std::map<std::string, std::string>;

Result<Written> WriteConfig(const std::string& more, const Checkpoint& checkpoint,
                            const std::function<void(formats::HfConfig&)>& change) {
  auto config = formats::ParseHfConfig(
      *formats::JsonObject::Parse(
          R"({"vocab_size":9,"hidden_size":16,"num_hidden_layers":2,"num_attention_heads":2,"max_position_embeddings":100)" +
              more + "}",
          "c"),
      checkpoint.attention);
  if (!config) return Forward(config);
  change(*config);
  formats::GgufMetadataBuilder builder;
  if (auto written = WriteHfMetadata(*config, {"a", checkpoint}, builder); !written) return Forward(written);
  const formats::GgufMetadata metadata = builder.Build("m");
  Written out;
  for (const formats::GgufEntry& entry : metadata.entries()) {
    std::string value = "?";
    const auto key = entry.key;
    if (const auto flag = metadata.Get<bool>(key)) value = *flag ? "true" : "false";
    if (const auto number = metadata.Get<double>(key)) value = fmt::format("{:.5g}", *number);
    if (const auto number = metadata.Get<int64_t>(key)) value = std::to_string(*number);
    if (const auto text = metadata.Get<std::string>(key)) value = *text;
    if (const auto flags = metadata.Get<std::vector<bool>>(key)) value = fmt::format("{}", fmt::join(*flags, " "));
    if (const auto list = metadata.Get<std::vector<float>>(key)) value = fmt::format("{}", fmt::join(*list, " "));
    if (const auto list = metadata.Get<std::vector<int64_t>>(key)) value = fmt::format("{}", fmt::join(*list, " "));
    out[std::string(key.starts_with("a.") ? key.substr(2) : key)] = value;
  }
  return out;
}

// The keys that differ from those of the plain configuration.
std::string Changes(
    const std::string& more, const std::function<void(formats::HfConfig&)>& change = [](auto&) {},
    const Checkpoint& checkpoint = {}) {
  const auto before = *WriteConfig("", {}, [](auto&) {});
  const auto after = WriteConfig(more.empty() ? "" : "," + more, checkpoint, change);
  if (!after) return after.error().message;
  std::string out;
  for (const auto& [key, value] : before) {
    if (!after->contains(key)) out += "no " + key + "; ";
  }
  for (const auto& [key, value] : *after) {
    const auto was = before.find(key);
    if (was == before.end() || was->second != value) out += key + "=" + value + "; ";
  }
  return out;
}

TEST(HfMetadata, APlainModelHasItsShape) {
  const auto plain = *WriteConfig("", {}, [](auto&) {});
  std::string all;
  for (const auto& [key, value] : plain) all += key + "=" + value + "; ";
  EXPECT_EQ(all,
            "attention.head_count=2; attention.head_count_kv=2; attention.key_length=8; attention.value_length=8; "
            "block_count=2; context_length=100; embedding_length=16; feed_forward_length=64; general.architecture=a; "
            "rope.dimension_count=8; vocab_size=9; ");
}

TEST(HfMetadata, EachSettingIsItsKey) {
  EXPECT_EQ(Changes(R"("intermediate_size":7)"), "feed_forward_length=7; ");
  EXPECT_EQ(Changes(R"("intermediate_size":[7,8])"), "feed_forward_length=7 8; ");
  EXPECT_EQ(Changes(R"("rms_norm_eps":0.5,"layer_norm_eps":0.25)"),
            "attention.layer_norm_epsilon=0.25; attention.layer_norm_rms_epsilon=0.5; ");
  EXPECT_EQ(Changes(R"("attn_logit_softcapping":3,"final_logit_softcapping":4,"query_pre_attn_scalar":16)"),
            "attention.scale=0.25; attn_logit_softcapping=3; final_logit_softcapping=4; ");
  EXPECT_EQ(Changes(R"("rope_theta":7,"rope_local_base_freq":8,"partial_rotary_factor":0.5)"),
            "rope.dimension_count=4; rope.freq_base=7; rope.freq_base_swa=8; ");
  EXPECT_EQ(Changes(R"("partial_rotary_factor":0)"), "c: partial_rotary_factor is 0, which is not between 0 and 1");
  EXPECT_EQ(Changes(R"("partial_rotary_factor":1.5)"), "c: partial_rotary_factor is 1.5, which is not between 0 and 1");
  EXPECT_EQ(Changes(R"("partial_rotary_factor":1)"), "");
  EXPECT_EQ(Changes(R"("matryoshka_dimensions":[4,8])"), "matryoshka_dimensions=4 8; ");
  const auto set = [](const auto& change) { return Changes("", change); };
  EXPECT_EQ(set([](auto& c) { c.layer_kv_heads = {1, 2}; }), "attention.head_count_kv=1 2; ");
  EXPECT_EQ(set([](auto& c) { c.parallel_residual = false; }), "use_parallel_residual=false; ");
  EXPECT_EQ(set([](auto& c) { c.recurrent_layers = {true, false}; }), "attention.recurrent_layers=true false; ");
  EXPECT_EQ(set([](auto& c) { c.ssm_inner_size = 5; }), "ssm.inner_size=5; ");
  EXPECT_EQ(set([](auto& c) { c.rope_sections = {1, 2, 3}; }), "rope.dimension_sections=1 2 3; ");
  EXPECT_EQ(set([](auto& c) {
              c.numbers["n"] = 0.5;
              c.counts["k"] = 3;
              c.flags["f"] = true;
              c.lists["l"] = {1, 2};
            }),
            "f=true; k=3; l=1 2; n=0.5; ");
  EXPECT_EQ(
      set([](auto& c) { c.latents = formats::HfLatents{.rank = 20, .plain_rows = 5, .value_rows = 7}; }),
      "attention.key_length=28; attention.key_length_mla=13; attention.kv_lora_rank=20; attention.value_length=20; "
      "attention.value_length_mla=7; ");
  EXPECT_EQ(Changes("", [](auto&) {}, {.causal = false}), "attention.causal=false; ");
  EXPECT_EQ(Changes("", [](auto&) {}, {.attention = false}),
            "no attention.head_count_kv; no attention.key_length; no attention.value_length; no rope.dimension_count; "
            "attention.head_count=0; feed_forward_length=0; ");
  const Checkpoint unused{.unused_positions = true};
  EXPECT_EQ(Changes(
                "", [](auto&) {}, unused),
            "context_length=98; ")
      << "the padding's id is 1";
  EXPECT_EQ(Changes(R"("pad_token_id":0)", [](auto&) {}, unused), "context_length=99; ");
  EXPECT_EQ(Changes(R"("pad_token_id":-5)", [](auto&) {}, unused), "context_length=99; ");
  EXPECT_EQ(Changes(R"("pad_token_id":99)", [](auto&) {}, unused), "context_length=0; ");
  EXPECT_EQ(Changes(R"("pad_token_id":100)", [](auto&) {}, unused), "context_length=0; ");
  const Checkpoint own{.numbers = {{"x", "a.number"}}, .counts = {{"y", "a.count"}}};
  EXPECT_EQ(Changes(R"("x":0.5,"y":3)", [](auto&) {}, own), "a.count=3; a.number=0.5; ");
  EXPECT_EQ(Changes(R"("y":0.5)", [](auto&) {}, own), "c: y is not a whole number in range");
}

// As the configuration classes of transformers have it: all layers behind the first ones, or every other of the first.
TEST(HfMetadata, EachQwenHasItsWindows) {
  const auto windows = [](std::string_view model_type) {
    auto config = formats::ParseHfConfig(
        *formats::JsonObject::Parse(
            R"({"vocab_size":9,"hidden_size":16,"num_hidden_layers":9,"num_attention_heads":2,"max_position_embeddings":100,
                "use_sliding_window":true,"sliding_window":7,"max_window_layers":5})",
            "c"),
        {});
    std::string out;
    for (const Family* family : Families()) {
      for (const Checkpoint& checkpoint : family->checkpoints) {
        if (!std::ranges::count(checkpoint.model_types, model_type)) continue;
        EXPECT_TRUE(checkpoint.prepare(*config));
      }
    }
    for (const std::string& type : config->layer_types) out += type == "sliding_attention" ? 'w' : '-';
    return out;
  };
  EXPECT_EQ(windows("qwen2"), "-----wwww");
  EXPECT_EQ(windows("qwen3"), "-----wwww");
  EXPECT_EQ(windows("qwen2_moe"), "w-w-w----");
}

TEST(HfMetadata, WindowsAreAPeriodOrAList) {
  EXPECT_EQ(Changes(R"("sliding_window":7)"), "attention.sliding_window=7; ");
  EXPECT_EQ(Changes(R"("sliding_window":7,"sliding_window_pattern":3)"),
            "attention.sliding_window=7; attention.sliding_window_pattern=3; ");
  EXPECT_EQ(Changes(R"("sliding_window":7,"use_sliding_window":false)"), "");
  EXPECT_EQ(Changes(R"("sliding_window":7,"use_sliding_window":true)"), "attention.sliding_window=7; ");
  EXPECT_EQ(Changes(R"("layer_types":["full_attention","other"])"), "") << "no window";
  EXPECT_EQ(Changes(R"("sliding_window":7,"layer_types":["full_attention","sliding_attention"])"),
            "attention.sliding_window=7; attention.sliding_window_pattern=false true; ");
  EXPECT_EQ(Changes(R"("sliding_window":7,"layer_types":["full_attention"])"),
            "c: layer_types has 1 entries for 2 layers");
  EXPECT_EQ(Changes(R"("sliding_window":7,"layer_types":["full_attention","x"])"),
            "c: layer_types has 'x'; supported are sliding_attention and full_attention");
}

TEST(HfMetadata, ExpertsHaveEachNumber) {
  EXPECT_EQ(Changes(R"("num_experts_per_tok":2,"n_group":3)"), "") << "without experts";
  EXPECT_EQ(Changes(R"("num_experts":0,"num_experts_per_tok":2)"), "");
  EXPECT_EQ(Changes(R"("num_experts":4,"num_experts_per_tok":2,"intermediate_size":7)"),
            "expert_count=4; expert_feed_forward_length=7; expert_used_count=2; feed_forward_length=7; ");
  EXPECT_EQ(
      Changes(R"("num_experts":4,"num_experts_per_tok":2,"moe_intermediate_size":5,"n_shared_experts":1,
                        "shared_expert_intermediate_size":6,"first_k_dense_replace":8,"routed_scaling_factor":0.5,
                        "n_group":9,"topk_group":3,"norm_topk_prob":true)",
              [](auto& c) { c.expert_gating = formats::HfExpertGating::kSigmoid; }),
      "expert_count=4; expert_feed_forward_length=5; expert_gating_func=2; expert_group_count=9; "
      "expert_group_used_count=3; expert_shared_count=1; expert_shared_feed_forward_length=6; expert_used_count=2; "
      "expert_weights_norm=true; expert_weights_scale=0.5; leading_dense_block_count=8; ");
}

TEST(HfMetadata, EachRopeScalingHasItsKeys) {
  const auto rope = [](const std::string& inner, const std::string& more = "") {
    return Changes(R"("rope_scaling":{)" + inner + "}" + more);
  };
  EXPECT_EQ(rope(R"("type":"linear","factor":4)"), "rope.scaling.factor=4; rope.scaling.type=linear; ");
  EXPECT_EQ(rope(R"("type":"linear")"), "rope.scaling.factor=1; rope.scaling.type=linear; ");
  EXPECT_EQ(rope(R"("type":"linear","original_max_position_embeddings":50)"),
            "rope.scaling.factor=2; rope.scaling.type=linear; ");
  EXPECT_EQ(
      rope(R"("type":"linear","original_max_position_embeddings":50)", R"(,"original_max_position_embeddings":25)"),
      "rope.scaling.factor=4; rope.scaling.type=linear; ")
      << "the key of its own precedes";
  EXPECT_EQ(rope(R"("type":"linear","original_max_position_embeddings":0)"),
            "rope.scaling.factor=1; rope.scaling.type=linear; ");
  EXPECT_EQ(rope(R"("type":"dynamic","factor":3)"), "rope.scaling.dynamic_factor=3; ");
  EXPECT_EQ(rope(R"("type":"llama3","factor":3)"), "");
  EXPECT_EQ(rope(R"("type":"spiral")"),
            "c: RoPE scaling 'spiral' is not supported; supported are linear, dynamic, yarn, longrope and llama3");
  const std::string yarn = R"("type":"yarn","factor":4,"original_max_position_embeddings":25)";
  const std::string usual = "rope.scaling.factor=4; rope.scaling.original_context_length=25; rope.scaling.type=yarn; ";
  EXPECT_EQ(rope(yarn), std::string(kYarnTruncateKey) + "=true; " + usual);
  EXPECT_EQ(rope(yarn + R"(,"beta_fast":5,"beta_slow":6,"truncate":false,"attention_factor":7)"),
            std::string(kYarnTruncateKey) + "=false; " + usual +
                "rope.scaling.yarn_attn_factor=7; rope.scaling.yarn_beta_fast=5; rope.scaling.yarn_beta_slow=6; ");
  const auto magnitude = [&](const std::string& more) {
    const std::string said = rope(yarn + more), key = "rope.scaling.yarn_attn_factor=";
    const size_t at = said.find(key);
    return at == said.npos ? "none" : said.substr(at + key.size(), said.find(';', at) - at - key.size());
  };
  EXPECT_EQ(magnitude(R"(,"mscale":2,"mscale_all_dim":1)"),
            fmt::format("{:.5g}", (0.2 * std::log(4.0) + 1) / (0.1 * std::log(4.0) + 1)));
  EXPECT_EQ(magnitude(R"(,"mscale":2,"mscale_all_dim":0)"), "none");
  EXPECT_EQ(magnitude(R"(,"mscale":0,"mscale_all_dim":1)"), "none");
  EXPECT_EQ(magnitude(R"(,"mscale":2)"), "none");
  EXPECT_EQ(magnitude(R"(,"mscale":2,"mscale_all_dim":1,"attention_factor":3)"), "3");
  EXPECT_EQ(magnitude(R"(,"factor":1,"mscale":2,"mscale_all_dim":1)"), "1");
  const auto latent = [&](const std::string& more) {
    const std::string said =
        Changes(R"("rope_scaling":{)" + yarn + more + "}", [](auto& c) { c.latents = formats::HfLatents{.rank = 20}; });
    return said.substr(said.find("rope.scaling.type=yarn; ") + 24);
  };
  EXPECT_EQ(latent(""), "");
  EXPECT_EQ(latent(R"(,"mscale_all_dim":2)"),
            fmt::format("rope.scaling.yarn_attn_factor={:.5g}; rope.scaling.yarn_log_multiplier=0.2; ",
                        0.1 * std::log(4.0) + 1));
  EXPECT_EQ(latent(R"(,"mscale_all_dim":2,"mscale":2)"),
            "rope.scaling.yarn_attn_factor=1; rope.scaling.yarn_log_multiplier=0.2; ");
  EXPECT_EQ(latent(R"(,"mscale_all_dim":0)"), "");
  EXPECT_EQ(latent(R"(,"factor":0.5,"mscale_all_dim":2)"),
            "rope.scaling.yarn_attn_factor=1; rope.scaling.yarn_log_multiplier=0.2; ");
}

TEST(HfMetadata, LongRopeHasAMagnitude) {
  const auto magnitude = [](const std::string& inner, const char* type = "longrope") {
    return Changes(fmt::format(R"("rope_scaling":{{"type":"{}"{}}})", type, inner));
  };
  const auto said = [](double factor, int original) {
    return fmt::format(
        "rope.scaling.attn_factor={:.5g}; rope.scaling.original_context_length={}; rope.scaling.type=longrope; ",
        factor, original);
  };
  EXPECT_EQ(magnitude(R"(,"original_max_position_embeddings":25)"),
            said(std::sqrt(1 + std::log(4.0) / std::log(25.0)), 25));
  EXPECT_EQ(magnitude(R"(,"original_max_position_embeddings":25)", "su"),
            said(std::sqrt(1 + std::log(4.0) / std::log(25.0)), 25));
  EXPECT_EQ(magnitude(R"(,"original_max_position_embeddings":25,"factor":2)"),
            said(std::sqrt(1 + std::log(2.0) / std::log(25.0)), 25));
  EXPECT_EQ(magnitude(R"(,"original_max_position_embeddings":100)"), said(1, 100));
  EXPECT_EQ(magnitude(R"(,"original_max_position_embeddings":1)"), said(1, 1));
  EXPECT_EQ(magnitude(R"(,"original_max_position_embeddings":2)"),
            said(std::sqrt(1 + std::log(50.0) / std::log(2.0)), 2));
  EXPECT_EQ(magnitude(R"(,"original_max_position_embeddings":25,"attention_factor":7)"), said(7, 25));
  EXPECT_EQ(magnitude(""), said(1, 100));
}

}  // namespace
}  // namespace inferflux::model
