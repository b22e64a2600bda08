// Where the tensors of a checkpoint go in GGUF, by the rules of a made-up family, and what is said of those that go
// nowhere.
#include "model/huggingface/tensor_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "model/huggingface/made_checkpoint.h"

namespace inferflux::model {
namespace {

using testing::MadeTensor;

const Checkpoint kToy{.own_tensors = {{"layers.*.qk", "blk.*.attn_q", TensorChange::kInterleaveRows},
                                      {"layers.*.k", "blk.*.attn_k", TensorChange::kInterleaveRows},
                                      {"layers.*.conv", "blk.*.conv", TensorChange::kTranspose},
                                      {"layers.*.raw", "blk.*.raw.bias", TensorChange::kNone, true, true},
                                      {"layers.*.experts.*.up", "blk.*.ffn_up_exps"},
                                      {"stack.*.m", "stack", TensorChange::kNone, false, false, true}}};

using ConfigChange = std::function<void(formats::HfConfig&)>;

std::string Planned(
    std::vector<MadeTensor> tensors, const std::string& config = "", const ConfigChange& change = [](auto&) {},
    const Checkpoint& checkpoint = kToy) {
  const testing::MadeCheckpoint made(std::move(tensors));
  formats::HfConfig parsed = testing::MadeConfig(config);
  change(parsed);
  const auto plan = PlanTensors(parsed, {"a", checkpoint}, made.model());
  if (!plan) return plan.error().message;
  std::string out;
  for (const TensorRecipe& recipe : *plan) {
    out += fmt::format("{}{}", out.empty() ? "" : "; ", recipe.name);
    if (recipe.change != TensorChange::kNone)
      out += fmt::format(" change {} heads {}", static_cast<int>(recipe.change), recipe.heads);
    if (recipe.per_expert) out += fmt::format(" {} experts", recipe.parts.size());
    for (const auto& factor : recipe.factors) out += fmt::format(" x{}", factor.factor);
  }
  return out;
}

MadeTensor One(const std::string& name, std::vector<uint64_t> shape = {2, 2}) {
  return {name, "F32", std::move(shape)};
}

TEST(TensorPlan, NamesArePlacedByTheFamilysRules) {
  EXPECT_EQ(Planned({One("model.layers.1.qk.weight", {4, 8}), One("layers.0.k.weight", {4, 8})},
                    R"(,"num_key_value_heads":1)"),
            "blk.1.attn_q.weight change 1 heads 2; blk.0.attn_k.weight change 1 heads 1");
  EXPECT_EQ(Planned({One("layers.0.raw"), One("layers.0.conv.weight"), One("layers.0.conv.bias", {2})}),
            "blk.0.raw.bias; blk.0.conv.weight change 11 heads 2; blk.0.conv.bias");
  EXPECT_EQ(Planned({One("norm.gamma", {2}), One("norm.beta", {2})}), "output_norm.weight; output_norm.bias");
  EXPECT_EQ(Planned({One("rotary_emb.inv_freq", {2}), One("x.rotary_emb.inv_freq", {2})}).substr(0, 67),
            "config.json: tensor 'rotary_emb.inv_freq' is unknown for model_type")
      << "only as a part of a name";
  EXPECT_EQ(Planned({One("a.rotary_emb.inv_freq", {2}), One("norm.weight", {2})}), "output_norm.weight");
  const std::string unknown = "' is unknown for model_type 'toy'";
  for (const char* name :
       {"layers.0.other.weight", "weight", "layers.*.qk.weight", "layers.x.qk.weight", "layers.0.1.qk.weight"})
    EXPECT_EQ(Planned({One(name)}), "config.json: tensor '" + std::string(name) + unknown);
  EXPECT_EQ(
      Planned({One("layers.0.qk.weight", {4, 8}), One("model.layers.0.qk.weight", {4, 8})}),
      "config.json: 'layers.0.qk.weight' and 'model.layers.0.qk.weight' are the same tensor; fetch the checkpoint or "
      "convert it anew");
}

TEST(TensorPlan, ExpertsAndStacksAreComplete) {
  const auto expert = [](int e) { return One(fmt::format("layers.0.experts.{}.up.weight", e)); };
  const std::string two = R"(,"num_experts":2)";
  EXPECT_EQ(Planned({expert(1), expert(0)}, two), "blk.0.ffn_up_exps.weight 2 experts");
  EXPECT_EQ(Planned({expert(1)}, two), "config.json: expert 0 of 'blk.0.ffn_up_exps.weight' is missing");
  EXPECT_EQ(Planned({expert(0)}, two), "config.json: expert 1 of 'blk.0.ffn_up_exps.weight' is missing");
  EXPECT_EQ(Planned({expert(0), expert(1), expert(2)}, two),
            "config.json: tensor 'layers.0.experts.2.up.weight' is unknown for model_type 'toy'");
  EXPECT_EQ(Planned({expert(0)}), "config.json: tensor 'layers.0.experts.0.up.weight' is unknown for model_type 'toy'");
  const auto stacked = [](uint32_t count) { return [=](formats::HfConfig& c) { c.stacked = count; }; };
  EXPECT_EQ(Planned({One("stack.0.m.weight"), One("stack.1.m.weight")}, "", stacked(2)), "stack.weight 2 experts");
  EXPECT_EQ(Planned({One("stack.0.m.weight")}, "", stacked(2)), "config.json: matrix 1 of 'stack.weight' is missing");
  EXPECT_EQ(Planned({One("stack.2.m.weight")}, "", stacked(2)),
            "config.json: tensor 'stack.2.m.weight' is unknown for model_type 'toy'");
  EXPECT_EQ(
      Planned({expert(0), One("model.layers.0.experts.0.up.weight")}, R"(,"num_experts":1)"),
      "config.json: 'layers.0.experts.0.up.weight' and 'model.layers.0.experts.0.up.weight' both hold expert 0; fetch "
      "the checkpoint or convert it anew");
}

TEST(TensorPlan, LayersBehindTheLastPredict) {
  Checkpoint predicts = kToy;
  predicts.predicting_layers = true;
  EXPECT_EQ(Planned(
                {One("layers.1.conv.weight"), One("layers.2.conv.weight"), One("layers.2.eh.weight")}, "", [](auto&) {},
                predicts),
            "blk.1.conv.weight change 11 heads 2");
  EXPECT_EQ(Planned({One("layers.2.conv.weight")}), "blk.2.conv.weight change 11 heads 2");
}

TEST(TensorPlan, AHeadIsTheEmbeddingOrItsOwn) {
  const MadeTensor embedding{"embed_tokens.weight", "F32", {4, 2}, testing::BytesOfFloats({1, 2, 3, 4, 5, 6, 7, 8})};
  const MadeTensor same{"lm_head.weight", "F32", {4, 2}, testing::BytesOfFloats({1, 2, 3, 4, 5, 6, 7, 8})};
  MadeTensor other = same, half{"lm_head.weight", "F16", {4, 4}}, flat = same;
  other.bytes.back() ^= 1;
  flat.shape = {2, 4};
  const std::string tied = R"(,"tie_word_embeddings":true)", apart = R"(,"tie_word_embeddings":false)";
  EXPECT_EQ(Planned({embedding, same}, tied), "token_embd.weight");
  EXPECT_EQ(Planned({embedding, other}, tied), "token_embd.weight; output.weight");
  EXPECT_EQ(Planned({embedding, flat}, tied), "token_embd.weight; output.weight");
  EXPECT_EQ(Planned({embedding, half}, tied), "token_embd.weight; output.weight");
  EXPECT_EQ(Planned({embedding, same}, apart), "token_embd.weight; output.weight");
  EXPECT_EQ(Planned({embedding}, apart), "token_embd.weight") << "not a model that generates text";
  const std::string generates = R"(,"architectures":["XModel","XForCausalLM"])";
  EXPECT_EQ(Planned({embedding}, apart + generates),
            "config.json: tie_word_embeddings is false, but the checkpoint has no head (lm_head.weight); if the model "
            "predicts tokens by its embedding, set it to true, otherwise fetch the checkpoint anew");
  EXPECT_EQ(Planned({embedding}, apart + R"(,"architectures":["GPT2LMHeadModel"])").substr(0, 46),
            "config.json: tie_word_embeddings is false, but");
  EXPECT_EQ(Planned({embedding}, tied + generates), "token_embd.weight");
  Checkpoint encoder = kToy;
  encoder.causal = false;
  EXPECT_EQ(Planned(
                {embedding}, apart + generates, [](auto&) {}, encoder),
            "token_embd.weight");
  EXPECT_EQ(Planned({embedding, One("lm_head.bias", {4})}, tied),
            "config.json: tie_word_embeddings is true, and the head has a bias; a bias is supported only of a head of "
            "its own");
}

TEST(TensorPlan, FactorsMakeAHeadOfATiedEmbedding) {
  const ConfigChange factors = [](formats::HfConfig& c) {
    c.tensor_factors["token_embd"] = {{.rows = 0, .factor = 2.0}};
    c.tensor_factors["output"] = {{.rows = 0, .factor = 3.0}};
  };
  const auto embedding = One("embed_tokens.weight", {4, 2});
  EXPECT_EQ(Planned({embedding}, "", factors), "token_embd.weight x2; output.weight x3");
  EXPECT_EQ(Planned({embedding, One("lm_head.weight", {2, 4})}, "", factors), "token_embd.weight x2; output.weight x3");
  EXPECT_EQ(Planned({One("norm.weight", {2})}, "", factors), "output_norm.weight");
  EXPECT_EQ(Planned({embedding}, "", [](auto& c) { c.tensor_factors["token_embd"] = {{.rows = 0, .factor = 2.0}}; }),
            "token_embd.weight x2");
}

TEST(TensorPlan, BiasesAreAsTheConfigurationSays) {
  const auto weight = One("layers.0.qk.weight", {4, 8}), bias = One("layers.0.qk.bias", {4});
  const std::string both = "blk.0.attn_q.weight change 1 heads 2; blk.0.attn_q.bias change 1 heads 2";
  for (const std::string key : {"attention_bias", "qkv_bias", "use_qkv_bias"}) {
    const auto says = [&](const char* value) { return R"(,")" + key + R"(":)" + value; };
    EXPECT_EQ(Planned({weight, bias}, says("true")), both);
    EXPECT_EQ(Planned({weight}, says("false")), "blk.0.attn_q.weight change 1 heads 2");
    EXPECT_EQ(Planned({weight, bias}, says("false")),
              "config.json: " + key +
                  " is false, but tensor 'layers.0.qk.bias' is there; correct the key, or fetch the checkpoint anew");
    EXPECT_EQ(
        Planned({weight}, says("true")),
        "config.json: " + key +
            " is true, but the tensor of blk.0.attn_q has no bias; correct the key, or fetch the checkpoint anew");
    EXPECT_EQ(Planned({weight, bias}, says("false") + R"(,"quantization_config":{})"), both)
        << "some tools write zeros";
    EXPECT_EQ(Planned({weight, bias}), both);
    EXPECT_EQ(Planned({One("norm.weight", {2})}, says("true")), "output_norm.weight") << "there is no such weight";
  }
}

TEST(TensorPlan, RopesFactorsAreTensors) {
  const testing::MadeCheckpoint made({One("norm.weight", {2})});
  const auto factors = [&](
                           const std::string& config, const ConfigChange& change = [](auto&) {}) {
    formats::HfConfig parsed = testing::MadeConfig(config);
    change(parsed);
    const auto plan = PlanTensors(parsed, {"a", kToy}, made.model());
    std::string out;
    for (const TensorRecipe& recipe : *plan) {
      if (recipe.parts.empty()) out += fmt::format("{}: {:.4g}; ", recipe.name, fmt::join(recipe.computed, " "));
    }
    return out;
  };
  EXPECT_EQ(factors(""), "");
  EXPECT_EQ(factors("", [](auto& c) { c.rope_factors = {1, 2}; }), "rope_freqs.weight: 1 2; ");
  EXPECT_EQ(factors(R"(,"rope_scaling":{"type":"longrope","short_factor":[1,2],"long_factor":[3,4]})"),
            "rope_factors_long.weight: 3 4; rope_factors_short.weight: 1 2; ");
  // Two pairs of a head of 4: wavelengths of 2 pi and of 2 pi times the root of the base.
  const auto divisor = [](double wavelength, double factor, double slow, double fast, double original) {
    const double share = std::clamp((original / wavelength - slow) / (fast - slow), 0.0, 1.0);
    return 1.0 / ((1.0 - share) / factor + share);
  };
  const auto llama3 = [&](const std::string& numbers, const std::string& more = "") {
    return factors(R"(,"rope_scaling":{"type":"llama3")" + numbers + "}" + more);
  };
  const auto wanted = [&](double base, double factor, double slow, double fast, double original) {
    return fmt::format("rope_freqs.weight: {:.4g} {:.4g}; ",
                       divisor(2 * std::numbers::pi, factor, slow, fast, original),
                       divisor(2 * std::numbers::pi * std::sqrt(base), factor, slow, fast, original));
  };
  EXPECT_EQ(llama3(R"(,"factor":4,"low_freq_factor":2,"high_freq_factor":6,"original_max_position_embeddings":200)",
                   R"(,"rope_theta":100)"),
            wanted(100, 4, 2, 6, 200));
  EXPECT_EQ(llama3(R"(,"original_max_position_embeddings":1500)"), wanted(10000, 8, 1, 4, 1500));
  EXPECT_EQ(llama3("", R"(,"max_position_embeddings":1600)"), wanted(10000, 8, 1, 4, 1600));
  EXPECT_EQ(llama3("", R"(,"rope_theta":1e6)"), wanted(1e6, 8, 1, 4, 8192));
  EXPECT_EQ(llama3("", R"(,"partial_rotary_factor":0.5)"), "rope_freqs.weight: 1; ");
}

}  // namespace
}  // namespace inferflux::model
