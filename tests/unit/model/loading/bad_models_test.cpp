// Files whose metadata and tensors contradict each other: each is refused, and the error names both.
#include <gmock/gmock.h>

#include <limits>

#include "compute/reference/reference_backend.h"
#include "model/families/load_runner.h"
#include "model/loading/edited_gguf.h"

namespace inferflux::model {

extern template class ModelRunner<compute::Reference, compute::KvFp32>;

namespace {

using formats::GgufWriter;
using ::testing::AllOf;
using testing::EditedModel;
using ::testing::HasSubstr;

// Why the model at `path` cannot run; empty if it can.
template <class B = compute::Reference>
std::string Refusal(const std::string& path) {
  typename B::Context context;
  const auto runner = testing::LoadRunner<B>(context, path);
  return runner ? "" : runner.error().message;
}

TEST(BadModels, AnUneditedCopyRuns) {
  EXPECT_EQ(Refusal(EditedModel("llama", [](GgufWriter&) {})), "");
}

TEST(BadModels, UnknownArchitecturesAreNamedWithTheKnownOnes) {
  const auto path = EditedModel("llama", [](GgufWriter& w) { w.Set("general.architecture", "frobnicate"); });
  EXPECT_THAT(Refusal(path), AllOf(HasSubstr("'frobnicate'"), HasSubstr("llama"), HasSubstr("gemma3"),
                                   HasSubstr("gpt-oss"), HasSubstr(path)));
}

// Before any other check: neither its sizes nor its tensors are those of a model.
TEST(BadModels, AnUnknownArchitectureIsRefusedByItsNameFirst) {
  const auto path = [](const char* name) {
    return EditedModel("llama", [&](GgufWriter& w) {
      w.Set("general.architecture", name);
      w.Set("llama.block_count", 0);
    });
  };
  EXPECT_THAT(Refusal(path("mamba")), AllOf(HasSubstr("architecture 'mamba' is not supported"),
                                            HasSubstr("llama.cpp runs it"), HasSubstr("provider llama_cpp")));
  EXPECT_THAT(Refusal(path("frobnicate")), HasSubstr("llama.cpp does not run it either"));
}

TEST(BadModels, HeadCountsThatContradictTensors) {
  EXPECT_THAT(Refusal(EditedModel("llama", [](GgufWriter& w) { w.Set("llama.attention.head_count_kv", 4); })),
              AllOf(HasSubstr("'blk.0.attn_k.weight'"), HasSubstr("[16, 32]"), HasSubstr("[32, 32]")));
  EXPECT_THAT(Refusal(EditedModel("llama", [](GgufWriter& w) { w.Set("llama.attention.head_count_kv", 3); })),
              HasSubstr("4 query heads cannot share 3 KV heads"));
}

TEST(BadModels, SizesThatAreMissingZeroOrAbsurd) {
  EXPECT_THAT(Refusal(EditedModel("llama", [](GgufWriter& w) { w.Remove("llama.context_length"); })),
              HasSubstr("llama.context_length"));
  EXPECT_THAT(Refusal(EditedModel("llama", [](GgufWriter& w) { w.Set("llama.embedding_length", 0); })),
              HasSubstr("llama.embedding_length is 0"));
  EXPECT_THAT(Refusal(EditedModel("llama", [](GgufWriter& w) { w.Set("llama.block_count", uint32_t{1} << 31); })),
              AllOf(HasSubstr("llama.block_count"), HasSubstr("4096")));
  EXPECT_THAT(Refusal(EditedModel("llama", [](GgufWriter& w) { w.Set("llama.attention.head_count", 1 << 20); })),
              AllOf(HasSubstr("'blk.0.attn_q.weight'"), HasSubstr("[8388608, 32]")));
  EXPECT_THAT(Refusal(EditedModel("llama",
                                  [](GgufWriter& w) {
                                    w.Set("llama.attention.layer_norm_rms_epsilon",
                                          std::numeric_limits<float>::quiet_NaN());
                                  })),
              HasSubstr("layer_norm_rms_epsilon is nan"));
}

TEST(BadModels, TensorsThatTheMetadataNeedsAreNamed) {
  EXPECT_THAT(Refusal(EditedModel("llama", [](GgufWriter&) {}, {"blk.1.ffn_down.weight"})),
              HasSubstr("tensor 'blk.1.ffn_down.weight' is missing"));
  EXPECT_THAT(Refusal(EditedModel("llama", [](GgufWriter& w) { w.Set("llama.block_count", 3); })),
              HasSubstr("tensor 'blk.2.attn_norm.weight' is missing"));
  EXPECT_THAT(Refusal(EditedModel("llama", [](GgufWriter&) {}, {"token_embd.weight"})),
              HasSubstr("tensor 'token_embd.weight' is missing"));
  EXPECT_THAT(Refusal(EditedModel("llama", [](GgufWriter& w) { w.Set("llama.feed_forward_length", 48); })),
              AllOf(HasSubstr("'blk.0.ffn_gate.weight'"), HasSubstr("[64, 32]"), HasSubstr("[48, 32]")));
}

TEST(BadModels, TensorsThatNothingUsesAreListed) {
  const auto source = ModelSource::Open(testing::ModelPath("llama.gguf"));
  ASSERT_TRUE(source);
  EXPECT_THAT(
      (*source)->UnusedTensors({"token_embd.weight"}),
      AllOf(::testing::Contains("blk.0.attn_q.weight"), ::testing::Not(::testing::Contains("token_embd.weight"))));
  const auto rotated = ModelSource::Open(testing::ModelPath("llama3.gguf"));
  EXPECT_THAT((*rotated)->UnusedTensors({}), ::testing::Not(::testing::Contains("rope_freqs.weight")));
}

TEST(BadModels, WhatNoFamilyUsesIsWarnedOf) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Refusal(EditedModel("llama", [](GgufWriter& w) { w.Set("llama.block_count", 1); })), "");
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(
      said, AllOf(HasSubstr("9 tensors"), HasSubstr("'llama'"), HasSubstr("blk.1.attn_k.weight"), HasSubstr(", ...")));
}

TEST(BadModels, ABiasOfOneOfThreeProducts) {
  EXPECT_THAT(Refusal(EditedModel("qwen2", [](GgufWriter&) {}, {"blk.0.attn_k.bias"})),
              HasSubstr("tensor 'blk.0.attn_k.bias' is missing"));
}

TEST(BadModels, RopeThatMakesNoSense) {
  EXPECT_THAT(Refusal(EditedModel("llama", [](GgufWriter& w) { w.Set("llama.rope.scaling.type", "spiral"); })),
              AllOf(HasSubstr("'spiral'"), HasSubstr("yarn")));
  EXPECT_THAT(Refusal(EditedModel("llama", [](GgufWriter& w) { w.Set("llama.rope.freq_base", 0.0f); })),
              HasSubstr("llama.rope.freq_base is 0"));
  EXPECT_THAT(Refusal(EditedModel("llama", [](GgufWriter& w) { w.Set("llama.rope.dimension_count", 7); })),
              HasSubstr("llama.rope.dimension_count is 7"));
  EXPECT_THAT(Refusal(EditedModel("llama3", [](GgufWriter& w) { w.Set("llama.rope.dimension_count", 8); })),
              AllOf(HasSubstr("'rope_freqs.weight'"), HasSubstr("[1, 8]"), HasSubstr("[1, 4]")));
  EXPECT_THAT(Refusal(EditedModel("phi3_long", [](GgufWriter& w) { w.Set("phi3.rope.scaling.type", "longrope"); },
                                  {"rope_factors_long.weight"})),
              HasSubstr("tensor 'rope_factors_long.weight' is missing"));
}

TEST(BadModels, CoefficientsOfXieluThatMakeNoSense) {
  const auto refused = [](const char* key, std::vector<float> values) {
    return Refusal(EditedModel("apertus", [&](GgufWriter& w) { w.SetArray(key, std::span<const float>(values)); }));
  };
  EXPECT_THAT(refused("xielu.alpha_p", {1.0f, 2.0f}), HasSubstr("xielu.alpha_p has 2 entries for 3 layers"));
  EXPECT_THAT(refused("xielu.beta", {1.0f, 2.0f, std::numeric_limits<float>::quiet_NaN()}),
              HasSubstr("xielu.beta has nan"));
  EXPECT_THAT(refused("xielu.eps", {0.0f, -1e-6f, -0.1f}), HasSubstr("xielu.eps of layer 2 is -0.1"));
  EXPECT_THAT(Refusal(EditedModel("apertus", [](GgufWriter& w) { w.Remove("xielu.alpha_n"); })),
              HasSubstr("xielu.alpha_n"));
  EXPECT_EQ(refused("xielu.eps", {0.0f, 0.0f, 0.0f}), "");
}

TEST(BadModels, LayersHaveTheirOwnKeysWhereNothingIsSaidOfSharedOnes) {
  const auto path = EditedModel("gemma3n", [](GgufWriter& w) { w.Remove("gemma3n.attention.shared_kv_layers"); });
  const auto source = ModelSource::Open(path);
  ASSERT_TRUE(source) << source.error().message;
  const auto config = ReadModelConfig(**source);
  ASSERT_TRUE(config) << config.error().message;
  for (const LayerKind& kind : config->layer_kinds) EXPECT_EQ(kind.kv_layer, kOwnKv);
}

TEST(BadModels, StreamsThatMakeNoSense) {
  const auto refused = [](const char* key, auto value) {
    return Refusal(EditedModel("gemma3n", [&](GgufWriter& w) { w.Set(key, value); }));
  };
  EXPECT_THAT(refused("gemma3n.altup.active_idx", 3), HasSubstr("gemma3n.altup.active_idx is 3 of 3 streams"));
  EXPECT_THAT(refused("gemma3n.altup.num_inputs", 1), HasSubstr("of 1 streams, of which there must be two"));
  EXPECT_THAT(refused("gemma3n.altup.num_inputs", 65), HasSubstr("gemma3n.altup.num_inputs"));
  EXPECT_THAT(refused("gemma3n.altup.num_inputs", 2), HasSubstr("altup_proj.weight"));
  EXPECT_THAT(refused("gemma3n.attention.shared_kv_layers", 5), HasSubstr("shared_kv_layers is 5 of 5 layers"));
  EXPECT_THAT(refused("gemma3n.embedding_length_per_layer_input", 0), HasSubstr("embedding_length_per_layer_input"));
  const auto cut = [](std::vector<float> cuts) {
    return Refusal(EditedModel("gemma3n", [&](GgufWriter& w) {
      w.SetArray("gemma3n.activation_sparsity_scale", std::span<const float>(cuts));
    }));
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(cut({1.0f, 0.0f, kInfinity, 0.0f, 0.0f}), HasSubstr("of layer 2 is inf, which cuts all"));
  EXPECT_THAT(cut({1.0f, 0.0f, 0.0f, 0.0f, 40.5f}), HasSubstr("of layer 4 is 40.5, which cuts all"));
  EXPECT_THAT(cut({std::numeric_limits<float>::quiet_NaN(), 0.0f, 0.0f, 0.0f, 0.0f}),
              HasSubstr("of layer 0 is nan, which cuts all"));
  EXPECT_EQ(cut({40.0f, -kInfinity, -41.0f, 0.0f, 0.0f}), "");
  EXPECT_THAT(cut({0.0f, 0.0f, 0.0f, 0.0f}), HasSubstr("gemma3n.activation_sparsity_scale has 4 entries for 5 layers"));
  EXPECT_EQ(cut({0.0f, 0.0f, 0.0f, 0.0f, 0.0f, kInfinity}), "") << "a sixth entry is of no layer";
  EXPECT_THAT(Refusal(EditedModel("gemma3n", [](GgufWriter&) {}, {"blk.0.laurel_l.weight"})), HasSubstr("laurel_l"));
}

TEST(BadModels, RoutingThatOneExpertOrTwoAreFor) {
  EXPECT_THAT(Refusal(EditedModel("phimoe", [](GgufWriter& w) { w.Set("phimoe.expert_used_count", 3); })),
              HasSubstr("SparseMixer takes 2 experts"));
  EXPECT_THAT(Refusal(EditedModel("llama4", [](GgufWriter& w) { w.Set("llama4.expert_used_count", 2); })),
              HasSubstr("llama4.expert_used_count is 2; only 1"));
  EXPECT_THAT(Refusal(EditedModel("llama4", [](GgufWriter& w) { w.Set("llama4.attention.sliding_window", -1); })),
              HasSubstr("llama4.attention.sliding_window is -1"));
  EXPECT_THAT(Refusal(EditedModel("llama4", [](GgufWriter& w) { w.Set("llama4.attention.temperature_length", 0); })),
              HasSubstr("llama4.attention.temperature_length"));
}

TEST(BadModels, ExpertsThatContradictEachOther) {
  EXPECT_THAT(Refusal(EditedModel("mixtral", [](GgufWriter& w) { w.Set("llama.expert_used_count", 9); })),
              AllOf(HasSubstr("llama.expert_used_count is 9"), HasSubstr("llama.expert_count is 4")));
  EXPECT_EQ(Refusal(EditedModel("mixtral", [](GgufWriter& w) { w.Set("llama.expert_used_count", 4); })), "")
      << "all experts may be used";
  EXPECT_THAT(Refusal(EditedModel("glm4_moe", [](GgufWriter& w) { w.Set("glm4moe.expert_group_count", 4); })),
              HasSubstr("6 experts cannot be in 4 groups"));
  EXPECT_THAT(Refusal(EditedModel("glm4_moe", [](GgufWriter& w) { w.Set("glm4moe.expert_used_count", 5); })),
              AllOf(HasSubstr("expert_used_count is 5"), HasSubstr("4 experts to choose from")));
  EXPECT_THAT(Refusal(EditedModel("glm4_moe", [](GgufWriter& w) { w.Set("glm4moe.expert_gating_func", 3); })),
              AllOf(HasSubstr("expert_gating_func is 3"), HasSubstr("sigmoid")));
  EXPECT_THAT(Refusal(EditedModel("glm4_moe", [](GgufWriter& w) { w.Set("glm4moe.leading_dense_block_count", 9); })),
              HasSubstr("leading_dense_block_count is 9 of 3 layers"));
  EXPECT_THAT(Refusal(EditedModel("glm4_moe", [](GgufWriter& w) { w.Set("glm4moe.nextn_predict_layers", 3); })),
              HasSubstr("nextn_predict_layers is 3 of 3 layers"));
  EXPECT_THAT(Refusal(EditedModel("mixtral", [](GgufWriter& w) { w.Set("llama.expert_count", 8); })),
              AllOf(HasSubstr("'blk.0.ffn_gate_inp.weight'"), HasSubstr("[4, 32]"), HasSubstr("[8, 32]")));
}

TEST(BadModels, AWindowPatternShorterThanTheModel) {
  const bool one[] = {true};
  EXPECT_THAT(Refusal(EditedModel("olmo3",
                                  [&](GgufWriter& w) {
                                    w.SetArray("olmo2.attention.sliding_window_pattern", std::span<const bool>(one));
                                  })),
              AllOf(HasSubstr("sliding_window_pattern"), HasSubstr("1 entries for 2 layers")));
}

TEST(BadModels, LatentsThatContradictEachOther) {
  const auto refusal = [](const char* model, auto edit) { return Refusal(EditedModel(model, edit)); };
  EXPECT_THAT(refusal("deepseek_v3", [](GgufWriter& w) { w.Remove("deepseek2.attention.key_length_mla"); }),
              AllOf(HasSubstr("attention.key_length_mla' is missing"), HasSubstr("convert the model again")));
  EXPECT_THAT(refusal("deepseek_v3", [](GgufWriter& w) { w.Set("deepseek2.rope.dimension_count", 16); }),
              AllOf(HasSubstr("rope.dimension_count is 16"), HasSubstr("key_length_mla is 16")));
  EXPECT_THAT(refusal("deepseek_v3", [](GgufWriter& w) { w.Set("deepseek2.attention.key_length", 27); }),
              AllOf(HasSubstr("attention.key_length is 27"), HasSubstr("make 26")));
  EXPECT_THAT(refusal("deepseek_v3", [](GgufWriter& w) { w.Set("deepseek2.attention.kv_lora_rank", 1 << 20); }),
              HasSubstr("attention.kv_lora_rank"));
  EXPECT_THAT(refusal("deepseek_v3", [](GgufWriter& w) { w.Set("deepseek2.attention.value_length_mla", 9); }),
              AllOf(HasSubstr("'blk.0.attn_v_b.weight'"), HasSubstr("[21, 20]"), HasSubstr("[27, 20]")));
  EXPECT_THAT(refusal("deepseek_v32", [](GgufWriter& w) { w.Set("deepseek32.attention.indexer.top_k", 0); }),
              HasSubstr("attention.indexer.top_k is 0"));
  EXPECT_THAT(refusal("deepseek_v32", [](GgufWriter& w) { w.Set("deepseek32.attention.indexer.key_length", 4); }),
              HasSubstr("narrower than the rotated part, 6"));
  EXPECT_THAT(Refusal(EditedModel("glm_moe_dsa", [](GgufWriter&) {}, {"blk.0.indexer.attn_k.weight"})),
              HasSubstr("'blk.0.indexer.attn_k.weight' is missing"));
}

// A minimal backend: it lacks the operations that only some models need.
struct Bare : compute::Reference {
  static void LayerNorm() = delete;
  static void SoftCap() = delete;
  static void Route() = delete;
  template <class E>
  static void AttendWithSinks() = delete;
};

TEST(BadModels, WhatTheBackendLacksIsNamed) {
  const auto refusal = [](const char* name) { return Refusal<Bare>(testing::ModelPath(name)); };
  EXPECT_EQ(refusal("llama.gguf"), "");
  EXPECT_EQ(refusal("gpt2.gguf"), "architecture 'gpt2' needs LayerNorms, which the reference backend does not have");
  EXPECT_THAT(refusal("gemma2.gguf"), HasSubstr("needs SoftCaps"));
  EXPECT_THAT(refusal("mixtral.gguf"), HasSubstr("needs MoeRouting"));
  EXPECT_THAT(refusal("gpt_oss.gguf"), HasSubstr("needs AttentionSinks"));
  EXPECT_THAT(refusal("deepseek_v3.gguf"), HasSubstr("needs LatentKv"));
}

}  // namespace
}  // namespace inferflux::model
