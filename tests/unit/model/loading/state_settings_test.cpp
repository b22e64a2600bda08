// Settings of layers with recurrent states, some of them together: what changes in the configuration, or why the model
// is refused.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "model/loading/edited_gguf.h"
#include "model/loading/setting_bounds.h"
#include "model/loading/setting_effects.h"

namespace inferflux::model {
namespace {

using StateEdits = std::vector<std::pair<const char*, boost::json::value>>;

// Of a GGUF file; a key without a value is removed, and a list is one of booleans.
std::string InFile(const std::string& model, const std::string& prefix, const StateEdits& edits) {
  const auto before = testing::Reading(testing::EditedModel(model, [](formats::GgufWriter&) {}));
  return testing::Effect(before, testing::Reading(testing::EditedModel(model, [&](formats::GgufWriter& w) {
                           for (const auto& [key, value] : edits) {
                             const std::string full = prefix + "." + key;
                             if (value.is_null()) {
                               w.Remove(full);
                             } else if (value.is_array()) {
                               std::vector<uint8_t> listed;
                               for (const auto& each : value.as_array()) listed.push_back(each.as_bool());
                               const auto flags = std::make_unique<bool[]>(listed.size());
                               std::copy(listed.begin(), listed.end(), flags.get());
                               w.SetArray(full, std::span<const bool>(flags.get(), listed.size()));
                             } else {
                               testing::SetMetadata(w, full, value);
                             }
                           }
                         })));
}

// Of a directory's config.json; "missing" removes a key.
std::string InConfig(const std::string& model, const StateEdits& edits) {
  const testing::EditedDirectory directory("models", model);
  const auto before = testing::Reading(directory.Write(directory.config()));
  boost::json::object changed = directory.config().as_object();
  for (const auto& [key, value] : edits) {
    if (value == "missing") {
      changed.erase(key);
    } else {
      changed[key] = value;
    }
  }
  return testing::Effect(before, testing::Reading(directory.Write(changed)));
}

TEST(StateSettings, OfStateSpacesInFiles) {
  const auto mamba = [](const StateEdits& edits) { return InFile("mamba2", "mamba2", edits); };
  std::string all;
  for (const StateEdits& edits : std::vector<StateEdits>{
           {{"ssm.conv_kernel", 1}},
           {{"ssm.conv_kernel", 2}},
           {{"ssm.conv_kernel", 1024}},
           {{"ssm.conv_kernel", 1025}},
           {{"ssm.conv_kernel", nullptr}},
           {{"ssm.inner_size", 0}},
           {{"ssm.inner_size", 31}},
           {{"ssm.inner_size", 36}},
           {{"ssm.inner_size", 1048576}, {"ssm.time_step_rank", 1}, {"ssm.group_count", 1}},
           {{"ssm.inner_size", 1048562}, {"ssm.time_step_rank", 1}, {"ssm.group_count", 1}},
           {{"ssm.inner_size", 1048563}, {"ssm.time_step_rank", 1}, {"ssm.group_count", 1}},
           {{"ssm.inner_size", 1048577}},
           {{"ssm.inner_size", 65536}, {"ssm.time_step_rank", 1}, {"ssm.group_count", 1}, {"ssm.state_size", 65536}},
           {{"ssm.inner_size", 65537}, {"ssm.time_step_rank", 1}, {"ssm.group_count", 1}, {"ssm.state_size", 65536}},
           {{"ssm.inner_size", nullptr}},
           {{"ssm.time_step_rank", 5}},
           {{"ssm.time_step_rank", 15}},
           {{"ssm.time_step_rank", 65537}},
           {{"ssm.time_step_rank", nullptr}},
           {{"ssm.group_count", 2}},
           {{"ssm.group_count", 4}},
           {{"ssm.group_count", nullptr}},
           {{"ssm.group_count", 65537}},
           {{"ssm.state_size", 8}},
           {{"ssm.state_size", 65537}},
           {{"ssm.state_size", nullptr}}}) {
    all += mamba(edits) + "\n";
  }
  EXPECT_EQ(all,
            "PATH: mamba2.ssm.conv_kernel is 1; at least 2 is supported\n"
            "'mamba2.ssm.conv_kernel': 3 > 2; taps: 3 > 2\n"
            "'mamba2.ssm.conv_kernel': 3 > 1024; taps: 3 > 1024\n"
            "PATH: mamba2.ssm.conv_kernel is 1025, which is not between 1 and 1024\n"
            "PATH: metadata key 'mamba2.ssm.conv_kernel' is missing\n"
            "PATH: mamba2.ssm.inner_size is 0, which is not between 1 and 1048576\n"
            "PATH: 31 values in 6 heads cannot share 3 groups evenly\n"
            "'mamba2.ssm.inner_size': 30 > 36; space: 6 5 3 7 > 6 6 3 7\n"
            "PATH: a state of 1048576 values in 1 groups of 7 is too large\n"
            "'mamba2.ssm.group_count': 3 > 1; 'mamba2.ssm.inner_size': 30 > 1048562; 'mamba2.ssm.time_step_rank': 6 > "
            "1; space: 6 5 3 7 > 1 1048562 1 7\n"
            "PATH: a state of 1048563 values in 1 groups of 7 is too large\n"
            "PATH: mamba2.ssm.inner_size is 1048577, which is not between 1 and 1048576\n"
            "'mamba2.ssm.group_count': 3 > 1; 'mamba2.ssm.inner_size': 30 > 65536; 'mamba2.ssm.state_size': 7 > 65536; "
            "'mamba2.ssm.time_step_rank': 6 > 1; space: 6 5 3 7 > 1 65536 1 65536\n"
            "PATH: a state of 65537 values in 1 groups of 65536 is too large\n"
            "PATH: metadata key 'mamba2.ssm.inner_size' is missing\n"
            "PATH: 30 values in 5 heads cannot share 3 groups evenly\n"
            "'mamba2.ssm.time_step_rank': 6 > 15; space: 6 5 3 7 > 15 2 3 7\n"
            "PATH: mamba2.ssm.time_step_rank is 65537, which is not between 1 and 65536\n"
            "PATH: metadata key 'mamba2.ssm.time_step_rank' is missing\n"
            "'mamba2.ssm.group_count': 3 > 2; space: 6 5 3 7 > 6 5 2 7\n"
            "PATH: 30 values in 6 heads cannot share 4 groups evenly\n"
            "'mamba2.ssm.group_count': 3 > none; space: 6 5 3 7 > 6 5 1 7\n"
            "PATH: mamba2.ssm.group_count is 65537, which is not between 1 and 65536\n"
            "'mamba2.ssm.state_size': 7 > 8; space: 6 5 3 7 > 6 5 3 8\n"
            "PATH: mamba2.ssm.state_size is 65537, which is not between 1 and 65536\n"
            "PATH: metadata key 'mamba2.ssm.state_size' is missing\n");
}

TEST(StateSettings, OfDeltaNetsInFiles) {
  const auto delta = [](const StateEdits& edits) { return InFile("qwen3_next", "qwen3next", edits); };
  std::string all;
  for (const StateEdits& edits :
       std::vector<StateEdits>{{{"ssm.conv_kernel", 1}},
                               {{"ssm.conv_kernel", 2}},
                               {{"ssm.conv_kernel", 1024}},
                               {{"ssm.conv_kernel", 1025}},
                               {{"ssm.group_count", 3}},
                               {{"ssm.group_count", 4}},
                               {{"ssm.group_count", 65537}},
                               {{"ssm.time_step_rank", 65537}},
                               {{"ssm.state_size", 4096}},
                               {{"ssm.state_size", 4097}},
                               {{"ssm.inner_size", 25}},
                               {{"ssm.inner_size", 16384}},
                               {{"ssm.inner_size", 16388}},
                               {{"ssm.inner_size", 16777217}},
                               {{"attention.recurrent_layers", nullptr}},
                               {{"attention.recurrent_layers", nullptr}, {"full_attention_interval", 2}},
                               {{"attention.recurrent_layers", nullptr}, {"full_attention_interval", 1}},
                               {{"full_attention_interval", 0}},
                               {{"full_attention_interval", 4097}},
                               {{"attention.recurrent_layers", {true, false, true}}},
                               {{"attention.recurrent_layers", {false, true, true, true, true}}}}) {
    all += delta(edits) + "\n";
  }
  EXPECT_EQ(all,
            "PATH: qwen3next.ssm.conv_kernel is 1; at least 2 is supported\n"
            "'qwen3next.ssm.conv_kernel': 3 > 2; taps: 3 > 2\n"
            "'qwen3next.ssm.conv_kernel': 3 > 1024; taps: 3 > 1024\n"
            "PATH: qwen3next.ssm.conv_kernel is 1025, which is not between 1 and 1024\n"
            "PATH: 24 values in 4 heads cannot share 3 key heads evenly\n"
            "'qwen3next.ssm.group_count': 2 > 4; delta: 2 4 6 6 false > 4 4 6 6 false\n"
            "PATH: qwen3next.ssm.group_count is 65537, which is not between 1 and 65536\n"
            "PATH: qwen3next.ssm.time_step_rank is 65537, which is not between 1 and 65536\n"
            "'qwen3next.ssm.state_size': 6 > 4096; delta: 2 4 6 6 false > 2 4 4096 6 false\n"
            "PATH: qwen3next.ssm.state_size is 4097, which is not between 1 and 4096\n"
            "PATH: 25 values in 4 heads cannot share 2 key heads evenly\n"
            "'qwen3next.ssm.inner_size': 24 > 16384; delta: 2 4 6 6 false > 2 4 6 4096 false\n"
            "PATH: value heads of 4097 dimensions; at most 4096 are served\n"
            "PATH: qwen3next.ssm.inner_size is 16777217, which is not between 1 and 16777216\n"
            "'qwen3next.attention.recurrent_layers': true false true true > none; layer 01: 1x12 window 0 rope 0 width "
            "20 > 0x12 window 0 rope 0 recurrent width 20; layer 03: 0x12 window 0 rope 0 recurrent width 20 > 1x12 "
            "window 0 rope 0 width 20\n"
            "'qwen3next.attention.recurrent_layers': true false true true > none; 'qwen3next.full_attention_interval': "
            "none > 2; layer 03: 0x12 window 0 rope 0 recurrent width 20 > 1x12 window 0 rope 0 width 20\n"
            "'qwen3next.attention.recurrent_layers': true false true true > none; 'qwen3next.full_attention_interval': "
            "none > 1; layer 00 of 3: 0x12 window 0 rope 0 recurrent width 20 > 1x12 window 0 rope 0 width 20\n"
            "PATH: qwen3next.full_attention_interval is 0, which is not between 1 and 4096\n"
            "PATH: qwen3next.full_attention_interval is 4097, which is not between 1 and 4096\n"
            "PATH: qwen3next.attention.recurrent_layers has 3 entries for 4 layers\n"
            "'qwen3next.attention.recurrent_layers': true false true true > false true true true true; layer 00: 0x12 "
            "window 0 rope 0 recurrent width 20 > 1x12 window 0 rope 0 width 20; layer 01: 1x12 window 0 rope 0 width "
            "20 > 0x12 window 0 rope 0 recurrent width 20\n");
}

TEST(StateSettings, OfGraniteInFiles) {
  std::string all;
  for (const StateEdits& edits : std::vector<StateEdits>{{{"logit_scale", nullptr}},
                                                         {{"logit_scale", 0.5}},
                                                         {{"logit_scale", 0.0}},
                                                         {{"rope.scaling.finetuned", false}},
                                                         {{"rope.scaling.finetuned", nullptr}}}) {
    all += InFile("granite_hybrid", "granitehybrid", edits) + "\n";
  }
  for (const StateEdits& edits : std::vector<StateEdits>{{{"shortconv.l_cache", 1}},
                                                         {{"shortconv.l_cache", 2}},
                                                         {{"shortconv.l_cache", 1024}},
                                                         {{"shortconv.l_cache", 1025}}}) {
    all += InFile("lfm2", "lfm2", edits) + "\n";
  }
  EXPECT_EQ(all,
            "'granitehybrid.logit_scale': 2 > none; scales: 3 0.6 0.5 0 > 3 0.6 1 0\n"
            "'granitehybrid.logit_scale': 2 > 0.5; scales: 3 0.6 0.5 0 > 3 0.6 2 0\n"
            "PATH: granitehybrid.logit_scale is 0, which is not between 1e-06 and 1000000\n"
            "'granitehybrid.rope.scaling.finetuned': true > false; layer 00 of 2: 0x6 window 0 rope 0 recurrent width "
            "20 > 0x6 window 0 rope -1 recurrent width 20; layer 01: 1x6 window 0 rope 0 width 20 > 1x6 window 0 rope "
            "-1 width 20\n"
            "'granitehybrid.rope.scaling.finetuned': true > none\n"
            "PATH: lfm2.shortconv.l_cache is 1; at least 2 is supported\n"
            "'lfm2.shortconv.l_cache': 4 > 2; taps: 4 > 2\n"
            "'lfm2.shortconv.l_cache': 4 > 1024; taps: 4 > 1024\n"
            "PATH: lfm2.shortconv.l_cache is 1025, which is not between 1 and 1024\n");
}

TEST(StateSettings, OfStateSpacesInConfigurations) {
  std::string all;
  using boost::json::array;
  const boost::json::value endless{{"__float__", "Infinity"}};
  for (const StateEdits& edits : std::vector<StateEdits>{{{"expand", 0}},
                                                         {{"expand", 1}},
                                                         {{"expand", 3}, {"head_dim", "missing"}},
                                                         {{"expand", 3}, {"num_heads", 9}},
                                                         {{"expand", 69906}},
                                                         {{"num_heads", 0}},
                                                         {{"num_heads", 65537}},
                                                         {{"n_groups", 0}},
                                                         {{"n_groups", 4}},
                                                         {{"n_groups", 6}},
                                                         {{"state_size", 0}},
                                                         {{"state_size", 65536}},
                                                         {{"state_size", 65537}},
                                                         {{"conv_kernel", 0}},
                                                         {{"conv_kernel", 1024}},
                                                         {{"conv_kernel", 1025}},
                                                         {{"time_step_limit", "missing"}},
                                                         {{"time_step_limit", array{0.0, nullptr}}},
                                                         {{"time_step_limit", array{0, 2e30}}},
                                                         {{"time_step_limit", array{0.0, 1e30}}},
                                                         {{"time_step_limit", array{0.1, endless}}},
                                                         {{"time_step_limit", array{nullptr, endless}}},
                                                         {{"time_step_limit", array{0.0}}},
                                                         {{"time_step_limit", 0.0}}}) {
    all += InConfig("mamba2", edits) + "\n";
  }
  for (const StateEdits& edits :
       std::vector<StateEdits>{{{"mamba_d_head", "auto"}},
                               {{"mamba_d_head", "auto"}, {"mamba_n_heads", 12}},
                               {{"mamba_d_head", "auto"}, {"mamba_n_heads", 5}},
                               {{"mamba_d_head", "wide"}},
                               {{"mamba_n_heads", "auto"}},
                               {{"position_embedding_type", "nope"}},
                               {{"position_embedding_type", "missing"}},
                               {{"layer_types", "missing"}},
                               {{"layer_types", array{"mamba", "full_attention", "linear_attention"}}},
                               {{"layer_types", array{"mamba"}}},
                               {{"num_local_experts", "missing"}},
                               {{"shared_intermediate_size", 21}}}) {
    all += InConfig("granite_hybrid", edits) + "\n";
  }
  EXPECT_EQ(all,
            "PATH/config.json: expand is 0, which makes 0 values; at most 1048576 are served\n"
            "PATH/config.json: 6 heads of 5 in 3 groups do not make 15 values\n"
            "PATH/config.json: 6 heads of 64 in 3 groups do not make 45 values\n"
            "'mamba2.ssm.inner_size': 30 > 45; 'mamba2.ssm.time_step_rank': 6 > 9; space: 6 5 3 7 > 9 5 3 7\n"
            "PATH/config.json: expand is 69906, which makes 1048590 values; at most 1048576 are served\n"
            "PATH/config.json: num_heads is 0, which is not between 1 and 65536\n"
            "PATH/config.json: num_heads is 65537, which is not between 1 and 65536\n"
            "PATH/config.json: n_groups is 0, which is not between 1 and 65536\n"
            "PATH/config.json: 6 heads of 5 in 4 groups do not make 30 values\n"
            "'mamba2.ssm.group_count': 3 > 6; space: 6 5 3 7 > 6 5 6 7\n"
            "PATH/config.json: state_size is 0, which is not between 1 and 65536\n"
            "'mamba2.ssm.state_size': 7 > 65536; space: 6 5 3 7 > 6 5 3 65536\n"
            "PATH/config.json: state_size is 65537, which is not between 1 and 65536\n"
            "PATH/config.json: conv_kernel is 0, which is not between 1 and 1024\n"
            "'mamba2.ssm.conv_kernel': 3 > 1024; taps: 3 > 1024\n"
            "PATH/config.json: conv_kernel is 1025, which is not between 1 and 1024\n"
            "\n"
            "\n"
            "\n"
            "PATH/config.json: time_step_limit sets bounds; only 0 to Infinity is supported\n"
            "PATH/config.json: time_step_limit sets bounds; only 0 to Infinity is supported\n"
            "PATH/config.json: time_step_limit sets bounds; only 0 to Infinity is supported\n"
            "PATH/config.json: time_step_limit sets bounds; only 0 to Infinity is supported\n"
            "PATH/config.json: time_step_limit sets bounds; only 0 to Infinity is supported\n"
            "\n"
            "'granitehybrid.ssm.time_step_rank': 6 > 12; space: 6 6 3 7 > 12 3 3 7\n"
            "PATH/config.json: 5 heads of 7 in 3 groups do not make 36 values\n"
            "PATH/config.json: mamba_d_head should be a whole number, but is a string\n"
            "PATH/config.json: mamba_n_heads is 0, which is not between 1 and 65536\n"
            "'granitehybrid.rope.scaling.finetuned': true > false; layer 00 of 2: 0x6 window 0 rope 0 recurrent width "
            "20 > 0x6 window 0 rope -1 recurrent width 20; layer 01: 1x6 window 0 rope 0 width 20 > 1x6 window 0 rope "
            "-1 width 20\n"
            "'granitehybrid.rope.scaling.finetuned': true > false; layer 00 of 2: 0x6 window 0 rope 0 recurrent width "
            "20 > 0x6 window 0 rope -1 recurrent width 20; layer 01: 1x6 window 0 rope 0 width 20 > 1x6 window 0 rope "
            "-1 width 20\n"
            "'granitehybrid.attention.head_count_kv': 0 1 0 > 0 0 0; layer 01: 1x6 window 0 rope 0 width 20 > 0x6 "
            "window 0 rope 0 recurrent width 20\n"
            "\n"
            "PATH/config.json: layer_types has 1 entries for 3 layers\n"
            "'granitehybrid.expert_count': none > 8; 'granitehybrid.expert_feed_forward_length': none > 20; "
            "'granitehybrid.expert_shared_feed_forward_length': none > 20; 'granitehybrid.expert_used_count': none > "
            "2; experts: 0 0 0 false 0 false false > 8 20 20 false 0 false false; routing: 0 true 0 1 1 1 2 0 > 2 true "
            "0 1 1 1 2 0\n"
            "'granitehybrid.feed_forward_length': 20 > 21; layer 00 of 2: 0x6 window 0 rope 0 recurrent width 20 > 0x6 "
            "window 0 rope 0 recurrent width 21; layer 01: 1x6 window 0 rope 0 width 20 > 1x6 window 0 rope 0 width "
            "21; sizes: 41 18 3 3 6 20 128 > 41 18 3 3 6 21 128\n");
}

TEST(StateSettings, OfDeltaNetsInConfigurations) {
  std::string all;
  using boost::json::array;
  for (const StateEdits& edits : std::vector<StateEdits>{
           {{"linear_num_value_heads", 0}},
           {{"linear_num_value_heads", 65537}},
           {{"linear_value_head_dim", 0}},
           {{"linear_value_head_dim", 4097}},
           {{"linear_num_key_heads", 65537}},
           {{"linear_key_head_dim", 4097}},
           {{"linear_conv_kernel_dim", 0}},
           {{"linear_conv_kernel_dim", 1025}},
           {{"linear_conv_kernel_dim", 1024}},
           {{"layer_types", "missing"}},
           {{"layer_types", array{"full_attention", "full_attention"}}},
           {{"layer_types",
             array{"full_attention", "full_attention", "linear_attention", "linear_attention", "linear_attention"}}},
           {{"layer_types", array{"full_attention", "x", "linear_attention", "linear_attention"}}}}) {
    all += InConfig("qwen3_next", edits) + "\n";
  }
  for (const StateEdits& edits : std::vector<StateEdits>{{{"layer_types", "missing"}, {"full_attn_idxs", array{1, 4}}},
                                                         {{"layer_types", "missing"}},
                                                         {{"layer_types", array{"conv"}}},
                                                         {{"layer_types", array{"conv", "conv", "conv", "conv", "x"}}},
                                                         {{"block_auto_adjust_ff_dim", false}},
                                                         {{"block_ff_dim", 40}},
                                                         {{"block_ffn_dim_multiplier", 0.05}},
                                                         {{"block_ffn_dim_multiplier", 0.08}},
                                                         {{"block_multiple_of", 0}},
                                                         {{"block_multiple_of", 16777217}},
                                                         {{"tie_embedding", true}},
                                                         {{"norm_eps", 0.5}}}) {
    all += InConfig("lfm2", edits) + "\n";
  }
  EXPECT_EQ(
      all,
      "PATH/config.json: linear_num_value_heads is 0, which is not between 1 and 65536\n"
      "PATH/config.json: linear_num_value_heads is 65537, which is not between 1 and 65536\n"
      "PATH/config.json: linear_value_head_dim is 0, which is not between 1 and 4096\n"
      "PATH/config.json: linear_value_head_dim is 4097, which is not between 1 and 4096\n"
      "PATH/config.json: linear_num_key_heads is 65537, which is not between 1 and 65536\n"
      "PATH/config.json: linear_key_head_dim is 4097, which is not between 1 and 4096\n"
      "PATH/config.json: linear_conv_kernel_dim is 0, which is not between 1 and 1024\n"
      "PATH/config.json: linear_conv_kernel_dim is 1025, which is not between 1 and 1024\n"
      "'qwen3next.ssm.conv_kernel': 3 > 1024; taps: 3 > 1024\n"
      "'qwen3next.attention.recurrent_layers': true false true true > true true true false; layer 01: 1x12 window 0 "
      "rope 0 width 20 > 0x12 window 0 rope 0 recurrent width 20; layer 03: 0x12 window 0 rope 0 recurrent width 20 > "
      "1x12 window 0 rope 0 width 20\n"
      "'qwen3next.attention.recurrent_layers': true false true true > false false true false; layer 00 of 2: 0x12 "
      "window 0 rope 0 recurrent width 20 > 1x12 window 0 rope 0 width 20\n"
      "PATH/config.json: layer_types has 5 entries for 4 layers\n"
      "PATH/config.json: layer_types has 'x'; supported are linear_attention and full_attention\n"
      "'lfm2.attention.head_count_kv': 0 1 0 1 0 > 0 1 0 0 1; layer 03: 1x20 window 0 rope 0 width 20 > 0x20 window 0 "
      "rope 0 recurrent width 20; layer 04: 0x20 window 0 rope 0 recurrent width 20 > 1x20 window 0 rope 0 width 20\n"
      "'lfm2.attention.head_count_kv': 0 1 0 1 0 > 1 1 1 1 1; layer 00 of 3: 0x20 window 0 rope 0 recurrent width 20 > "
      "1x20 window 0 rope 0 width 20\n"
      "PATH/config.json: layer_types has 1 entries for 5 layers\n"
      "PATH/config.json: layer_types has 'x'; supported are conv and full_attention\n"
      "\n"
      "'lfm2.feed_forward_length': 20 > 35; layer 00 of 3: 0x20 window 0 rope 0 recurrent width 20 > 0x20 window 0 "
      "rope 0 recurrent width 35; layer 01 of 2: 1x20 window 0 rope 0 width 20 > 1x20 window 0 rope 0 width 35; sizes: "
      "41 18 5 3 20 20 128 > 41 18 5 3 20 35 128\n"
      "PATH/config.json: block_ffn_dim_multiplier 0.05 and block_multiple_of 5 make no width\n"
      "'lfm2.feed_forward_length': 20 > 5; layer 00 of 3: 0x20 window 0 rope 0 recurrent width 20 > 0x20 window 0 rope "
      "0 recurrent width 5; layer 01 of 2: 1x20 window 0 rope 0 width 20 > 1x20 window 0 rope 0 width 5; sizes: 41 18 "
      "5 3 20 20 128 > 41 18 5 3 20 5 128\n"
      "PATH/config.json: block_ffn_dim_multiplier 1.3 and block_multiple_of 0 make no width\n"
      "PATH/config.json: block_ffn_dim_multiplier 1.3 and block_multiple_of 16777217 make no width\n"
      "\n"
      "'lfm2.attention.layer_norm_rms_epsilon': 1e-05 > 0.5; norms: 1e-05 false true true true false false false true "
      "token_embd_norm attn_norm ffn_norm 1 false false false > 0.5 false true true true false false false true "
      "token_embd_norm attn_norm ffn_norm 1 false false false\n");
}

}  // namespace
}  // namespace inferflux::model
