// Directories that cannot be served: the error names the problem and the supported values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "compute/reference/reference_backend.h"
#include "model/families/golden.h"
#include "model/families/load_runner.h"
#include "model/loading/model_source.h"

namespace inferflux::model {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ReadText(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The error of opening a copy of a directory in whose `file` `from` is replaced by `to`; empty if it opens.
std::string RefusalOf(const std::filesystem::path& original, const char* file, const std::string& from,
                      const std::string& to) {
  const std::filesystem::path copy =
      std::filesystem::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::filesystem::remove_all(copy);
  std::filesystem::copy(original, copy);
  std::string text = ReadText(copy / file);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  std::ofstream(copy / file, std::ios::binary) << text.replace(at, from.size(), to);
  const auto source = ModelSource::Open(copy.string());
  return source ? "" : source.error().message;
}

// The same for NAME-hf with an edited config.json.
std::string Refusal(const std::string& name, const std::string& from, const std::string& to) {
  return RefusalOf(testing::ModelPath(name + "-hf"), "config.json", from, to);
}

TEST(HfDirectory, ACopyOpens) { EXPECT_EQ(Refusal("gpt2", "gpt2", "gpt2"), ""); }

TEST(HfDirectory, UnknownModelTypesAreNamedWithTheKnownOnes) {
  EXPECT_THAT(Refusal("llama3", R"("model_type": "llama")", R"("model_type": "frobnicate")"),
              AllOf(HasSubstr("'frobnicate'"), HasSubstr("qwen3_moe"), HasSubstr("config.json")));
}

TEST(HfDirectory, AnUnknownModelTypeIsRefusedBeforeAnythingElse) {
  EXPECT_THAT(Refusal("llama3", R"("model_type": "llama")", R"("num_attention_heads": 0, "model_type": "mamba")"),
              AllOf(HasSubstr("model_type 'mamba' is not supported"), HasSubstr("llama.cpp runs a GGUF file of it")));
  EXPECT_THAT(Refusal("llama3", R"("model_type": "llama")", R"("model_type": "frobnicate")"),
              HasSubstr("llama.cpp does not run it either"));
}

TEST(HfDirectory, AModelOfSeveralPartsIsNamedUnlessItsTextRunsAlone) {
  constexpr const char* kType = R"("model_type": "mistral3")";
  EXPECT_THAT(Refusal("mistral3", kType, R"("model_type": "mllama")"),
              AllOf(HasSubstr("model_type 'mllama' is not supported; of models with a text_config, supported are: "),
                    HasSubstr("gemma3, "), HasSubstr("mistral3"), HasSubstr("llama.cpp does not run it either")));
  EXPECT_EQ(Refusal("mistral3", kType, R"("model_type": "llava")"), "") << "the text is the same";
  EXPECT_EQ(Refusal("mistral3", R"("model_type": "mistral",)", ""), "") << "the default of its text_config";
  EXPECT_THAT(Refusal("mistral3", R"("model_type": "mistral")", R"("model_type": "mamba")"),
              HasSubstr("model_type 'mamba' is not supported"));
}

TEST(HfDirectory, SettingsThatAreNotComputedAreNamed) {
  const std::tuple<const char*, const char*, const char*, const char*> cases[] = {
      {"cohere", R"("use_qk_norm": false)", R"("use_qk_norm": true)", "use_qk_norm is true"},
      {"stablelm", R"("qk_layernorm": false)", R"("qk_layernorm": true)", "qk_layernorm is true"},
      {"falcon", R"("alibi": false)", R"("alibi": true)", "alibi is true"},
      {"falcon", R"("parallel_attn": true)", R"("parallel_attn": false)", "parallel_attn is false"},
      {"falcon_grouped", R"("num_kv_heads": 2)", R"("num_kv_heads": 4)", "not a multiple of num_kv_heads 4"},
      {"olmoe", R"("clip_qkv": null)", R"("clip_qkv": 8.0)", "clip_qkv is 8"},
      {"ernie4_5_moe", R"("moe_layer_end_index": 3)", R"("moe_layer_end_index": 2)",
       "moe_layer_end_index is 2; only the last layer, 3, is supported"},
      {"hunyuan_moe", R"("moe_topk": 2)", R"("moe_topk": [2, 1])", "moe_topk has 2 and 1"},
      {"mamba2", R"("time_step_limit": [)", R"("time_step_limit": [0.1, 2.0], "_other": [)",
       "time_step_limit sets bounds"},
      {"mamba2", R"("num_heads": 6)", R"("num_heads": 5)", "5 heads of 5 in 3 groups do not make 30 values"},
      {"nemotron_h", "M-*M-", "M-*ME", "layers with experts and layers with one network"},
      {"nemotron_h", "M-*M-", "M-*MX", "a layer of the kind 'X'"},
      {"nemotron_h", R"("relu2")", R"("silu")", "mlp_hidden_act is 'silu'"},
      {"granite_hybrid", R"("mamba",)", R"("sliding",)", "layer_types has 'sliding'"},
      {"falcon_h1", R"("mamba_norm_before_gate")", R"("mamba_rms_norm": true, "mamba_norm_before_gate")",
       "only a norm after the gate"},
      {"falcon_h1", R"("projectors_bias": false)", R"("projectors_bias": true)", "projectors_bias is true"},
      {"deepseek_v2", R"("group_limited_greedy")", R"("noaux_tc")", "topk_method is 'noaux_tc'"},
      {"deepseek_v2", R"("norm_topk_prob": false)", R"("norm_topk_prob": true)", "norm_topk_prob is true"},
      {"deepseek_v2_lite", R"("attention_bias": true)", R"("attention_bias": false)",
       "kv_a_proj_with_mqa.bias' is there"},
      {"deepseek_v3", R"("rope_interleave": true)", R"("rope_interleave": false)", "rope_interleave is false"},
      {"deepseek_v3", R"("rope_type": "yarn")", R"("rope_type": "linear")",
       "mscale_all_dim with RoPE scaling 'linear'"},
      {"deepseek_v3", R"("num_key_value_heads": 3)", R"("num_key_value_heads": 1)", "num_key_value_heads is 1"},
      {"deepseek_v3", R"("v_head_dim": 7)", R"("v_head_dim": 8)", "3 heads of 18 rows make it [54, 20]"},
      {"deepseek_v3", R"("kv_lora_rank": 20)", R"("kv_lora_rank": 0)", "kv_lora_rank is 0"},
      {"deepseek_v3", R"("kv_lora_rank")", R"("moe_layer_freq": 2, "kv_lora_rank")", "moe_layer_freq is 2"},
      {"glm4_moe_lite", R"("dense",)", R"("dense", "dense", "dense", "dense",)", "mlp_layer_types has"},
      {"qwen3_5", R"("linear_num_value_heads": 6)", R"("linear_num_value_heads": 5)",
       "5 value heads cannot share 2 key"},
      {"qwen3_5", R"("hidden_act")", R"("output_gate_type": "sigmoid", "hidden_act")", "output_gate_type is 'sigmoid'"},
      {"qwen3_5", R"("mrope_section")", R"("mrope_sektion")", "rope_parameters.mrope_sektion"},
      {"granite_hybrid", R"("mamba_d_state")", R"("mamba_d_states")", "did you mean 'mamba_d_state'"},
      {"gemma4", R"("use_bidirectional_attention": null)", R"("use_bidirectional_attention": "all")",
       "use_bidirectional_attention is 'all'"},
      {"gemma4", R"("num_kv_shared_layers": 2)", R"("num_kv_shared_layers": 5)",
       "num_kv_shared_layers is 5 of 5 layers"},
      {"gemma4", R"("vocab_size_per_layer_input": 41)", R"("vocab_size_per_layer_input": 40)",
       "vocab_size_per_layer_input is 40 and vocab_size 41"},
      {"gemma4", R"("1": {)", R"("0": {)", "per_layer_config has heads of layer"},
      {"gemma4", R"("rope_type": "proportional")", R"("rope_type": "yarn")", "the rope_type 'yarn'"},
      {"ministral3", R"("llama_4_scaling_beta": 0.3,)", "", "needs the rope_type yarn, llama_4_scaling_beta"},
      {"ministral3", R"("rope_type": "yarn")", R"("rope_type": "linear")", "needs the rope_type yarn"},
      {"apertus", R"("hidden_act": "xielu")", R"("hidden_act": "silu")", "'silu'"},
      {"apertus", R"("hidden_act")", R"("qk_norm": false, "hidden_act")", "qk_norm is false"},
      {"phimoe", R"("num_experts_per_tok": 2)", R"("num_experts_per_tok": 3)", "num_experts_per_tok is 3"},
      {"phimoe", R"("short_mscale": 1.2)", R"("short_mscale": 1.3)", "a short_mscale and an equal long_mscale"},
      {"phimoe", R"("short_mscale": 1.2)", R"("short_mscale": null)", "a short_mscale and an equal long_mscale"},
      {"phimoe", R"("rope_type": "longrope")", R"("rope_type": "yarn")", "RoPE scaling 'yarn' is not supported"},
      {"phimoe", R"("lm_head_bias": true)", R"("lm_head_bias": false)", "lm_head_bias is false"},
      {"llama4", R"("num_experts_per_tok": 1)", R"("num_experts_per_tok": 2)", "num_experts_per_tok is 2"},
      {"llama4", R"("interleave_moe_layer_step": 1)", R"("interleave_moe_layer_step": 2)",
       "moe_layers has other layers"},
      {"llama4", R"("no_rope_layers": [)", R"("no_rope_layers": [1, 1, 0, 1, 1], "_other": [)",
       "every 4th does not rotate"},
      {"llama4", R"("no_rope_layers": [)", R"("no_rope_layers": [1, 1], "_other": [)",
       "no_rope_layers has 2 entries for 5 layers"},
      {"llama4", R"("chunked_attention",)", R"("sliding_attention",)", "every 4th does not rotate"},
      {"llama4", R"("chunked_attention",)", "", "layer_types has 4 entries for 5 layers"},
      {"llama4_chunks", R"("attention_chunk_size": 7)", R"("attention_chunk_size": null)", "every 4th does not rotate"},
      {"gemma3n", R"("rope_scaling": null)", R"("rope_scaling": {"type": "linear", "factor": 2.0})",
       "rope_scaling is {"},
      {"gemma3n", R"("altup_correct_scale": true)", R"("altup_correct_scale": false)", "altup_correct_scale is false"},
      {"gemma3n", R"("intermediate_size": [)", R"("intermediate_size": [3, 4], "_other": [)",
       "intermediate_size has 2 entries for 5 layers"},
      {"gemma3n", R"("activation_sparsity_pattern": [)", R"("activation_sparsity_pattern": [0.1], "_other": [)",
       "activation_sparsity_pattern has 1 entries for 5 layers"},
      {"gemma3n", R"("activation_sparsity_pattern": [)",
       R"("activation_sparsity_pattern": [0.1, 0, 1.0, 0, 0], "_other": [)", "which is not between 0 and 1"},
      {"gemma3n", R"("altup_num_inputs": 3)", R"("altup_num_inputs": 2)", "altup_projections.1.weight"},
      {"gemma3n", R"("altup_num_inputs": 3)", R"("altup_num_inputs": 4)", "matrix 2 of 'altup_proj.weight' is missing"},
      {"gemma3n", R"("vocab_size": 41)", R"("vocab_size": 36)", "has 37 rows for 36 tokens"},
      {"qwen3_5_moe", R"("attention_bias": false)", R"("norm_topk_prob": false)", "norm_topk_prob is false"},
      {"qwen3_5_moe", R"("num_experts": 3)", R"("num_experts": 4)", "has 3 experts"}};
  for (const auto& [name, from, to, why] : cases) EXPECT_THAT(Refusal(name, from, to), HasSubstr(why));
}

TEST(HfDirectory, AHeadThatIsNotThereIsNamed) {
  EXPECT_THAT(Refusal("llama3", R"("tie_word_embeddings": true)", R"("tie_word_embeddings": false)"),
              AllOf(HasSubstr("tie_word_embeddings is false"), HasSubstr("no head (lm_head.weight)")));
}

TEST(HfDirectory, BiasesAreThereAsConfigJsonSays) {
  EXPECT_THAT(Refusal("llama3", R"("attention_bias": false)", R"("attention_bias": true)"),
              AllOf(HasSubstr("attention_bias is true, but"), HasSubstr("blk.0.attn_q has no bias")));
  EXPECT_THAT(Refusal("arcee", R"("mlp_bias": true)", R"("mlp_bias": false)"),
              AllOf(HasSubstr("mlp_bias is false, but"), HasSubstr("up_proj.bias' is there")));
  EXPECT_THAT(Refusal("mamba2", R"("use_bias": false)", R"("use_bias": true)"),
              AllOf(HasSubstr("use_bias is true, but"), HasSubstr("blk.0.ssm_in has no bias")));
  EXPECT_THAT(Refusal("falcon_h1", R"("mamba_conv_bias": true)", R"("mamba_conv_bias": false)"),
              AllOf(HasSubstr("mamba_conv_bias is false, but"), HasSubstr("conv1d.bias' is there")));
}

// Errors that are found in the metadata made from config.json name its keys, not GGUF's.
TEST(HfDirectory, ErrorsSpeakOfConfigJson) {
  const auto config = [](const char* name, const std::string& from, const std::string& to) -> std::string {
    const std::filesystem::path copy = std::filesystem::path(::testing::TempDir()) / "speaks_of_config_json";
    std::filesystem::remove_all(copy);
    std::filesystem::copy(testing::ModelPath(std::string(name) + "-hf"), copy);
    std::string text = ReadText(copy / "config.json");
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    std::ofstream(copy / "config.json", std::ios::binary) << text.replace(at, from.size(), to);
    const auto source = ModelSource::Open(copy.string());
    if (!source) return source.error().message;
    const auto read = ReadModelConfig(**source);
    return read ? "" : read.error().message;
  };
  EXPECT_THAT(config("qwen2_moe", R"("num_experts_per_tok": 2)", R"("num_experts_per_tok": 9)"),
              AllOf(HasSubstr("num_experts_per_tok is 9, but num_experts is 4"), Not(HasSubstr("expert_used_count"))));
  EXPECT_THAT(config("llama3", R"("rms_norm_eps": 1e-06)", R"("rms_norm_eps": 2.0)"),
              AllOf(HasSubstr("rms_norm_eps is 2"), Not(HasSubstr("llama."))));
}

// How far an edited directory's logits are from transformers', after 16 tokens.
double ErrorOf(const std::string& name, const std::vector<std::pair<std::string, std::string>>& edits) {
  const std::filesystem::path copy = std::filesystem::path(::testing::TempDir()) / ("spelling_of_" + name);
  std::filesystem::remove_all(copy);
  std::filesystem::copy(testing::ModelPath(name + "-hf"), copy);
  std::string text = ReadText(copy / "config.json");
  for (const auto& [from, to] : edits) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  }
  std::ofstream(copy / "config.json", std::ios::binary) << text;
  compute::Reference::Context context;
  auto runner = testing::LoadRunner<compute::Reference>(context, copy.string());
  if (!runner) throw std::runtime_error(runner.error().message);
  const auto golden = testing::ReadGolden(testing::ModelPath(name + ".golden.gguf"));
  constexpr int32_t kTokens = 16;  // one block
  const auto step = testing::OneSequence(golden.tokens, 0, kTokens, kTokens);
  const std::vector<int32_t> last{kTokens - 1};
  const auto logits = runner->Read(runner->Logits(runner->Step(step, last)));
  return testing::RelativeError(logits, golden.row(kTokens - 1));
}

// Older files name values otherwise, list one number for each layer, and leave out what transformers knows.
TEST(HfDirectory, OldSpellingsAndKeysLeftOutAreRead) {
  using Edits = std::vector<std::pair<std::string, std::string>>;
  const std::pair<const char*, Edits> cases[] = {
      {"hunyuan_moe", {{R"("moe_topk": 2)", R"("moe_topk": [2, 2], "moe_intermediate_size": [20, 20])"}}},
      {"hunyuan_dense",
       {{"\"rope_parameters\": {", R"("rope_scaling": {)"}, {R"("rope_type": "dynamic")", R"("type": "dynamic")"}}},
      {"gpt_neox",
       {{R"("partial_rotary_factor": 0.7,)", ""}, {R"("model_type")", R"("rotary_pct": 0.7, "model_type")"}}},
      {"minimax_m2", {{R"("partial_rotary_factor": 0.4,)", ""}}},
      {"ernie4_5", {{R"("rope_theta": 500000.0,)", ""}}},
      {"cohere2", {{R"("layer_norm_eps": 1e-05,)", ""}}},
      {"gemma", {{R"("hidden_act": "gelu_pytorch_tanh")", R"("hidden_act": "gelu")"}}},
      {"falcon", {{R"("max_position_embeddings": 2048,)", ""}}},
      {"mamba2", {{R"("n_groups": 3)", R"("n_groups": 3, "rms_norm": true, "norm_before_gate": true)"}}},
      {"nemotron_h",
       {{R"("n_groups")", R"("mamba_n_groups")"},
        {R"("conv_kernel")", R"("mamba_d_conv")"},
        {R"("time_step_limit")", R"("mamba_dt_limit")"},
        {R"("layer_norm_epsilon": 1e-05,)", R"("norm_eps": 0.5,)"}}},
      {"granite_hybrid", {{R"("layer_types")", R"("normalization_function": "rmsnorm", "layers_block_type")"}}},
      {"llama4",
       {{R"("attn_temperature_tuning": true)", R"("attn_temperature_tuning": 4, "for_llm_compressor": false)"},
        {R"("layer_types")", R"("_layer_types")"},
        {R"("moe_layers")", R"("_moe_layers")"},
        {R"("no_rope_layers": [)", R"("no_rope_layers": [], "_no_rope_layers": [)"}}},
      {"llama4_chunks", {{R"("attn_temperature_tuning": true,)", ""}, {R"("use_qk_norm": true,)", ""}}},
      {"apertus", {{R"("attention_bias")", R"("qk_norm": true, "post_norm": false, "attention_bias")"}}},
      {"phimoe_long",
       {{"\"rope_parameters\": {", R"("rope_scaling": {)"}, {R"("rope_type": "longrope")", R"("type": "longrope")"}}},
      {"falcon_h1", {{R"("rms_norm_eps": 1e-05,)", R"("attn_layer_indices": null, "mamba_use_mlp": true,)"}}},
      {"qwen3_5",
       {{R"("mrope_section")", R"("mrope_interleaved": true, "mrope_section")"},
        {R"("hidden_act")", R"("attn_output_gate": true, "mtp_num_hidden_layers": 1, "hidden_act")"}}},
  };
  for (const auto& [name, edits] : cases) EXPECT_LT(ErrorOf(name, edits), 1e-4) << name;
}

TEST(HfDirectory, ActivationsThatGgufCannotSay) {
  EXPECT_THAT(Refusal("llama3", R"("hidden_act": "silu")", R"("hidden_act": "relu")"),
              AllOf(HasSubstr("'relu'"), HasSubstr("'silu'")));
}

TEST(HfDirectory, QuantisedCheckpointsAreNamed) {
  EXPECT_THAT(
      Refusal("llama3", R"("hidden_size")", R"("quantization_config": {"quant_method": "exl2"}, "hidden_size")"),
      HasSubstr("'exl2'"));
}

TEST(HfDirectory, FormsOfQuantisationThatAreNotReadAreNamed) {
  const auto refusal = [](const std::string& quantization) {
    return Refusal("llama3", R"("hidden_size")", R"("quantization_config": )" + quantization + R"(, "hidden_size")");
  };
  EXPECT_THAT(refusal(R"({"quant_method": "awq", "version": "gemv"})"), AllOf(HasSubstr("'gemv'"), HasSubstr("gemm")));
  EXPECT_THAT(refusal(R"({"quant_method": "gptq", "checkpoint_format": "marlin"})"),
              AllOf(HasSubstr("'marlin'"), HasSubstr("gptq_v2")));
  const auto compressed = [&](const std::string& rest) {
    return refusal(R"({"quant_method": "compressed-tensors", "format": )" + rest + "}");
  };
  EXPECT_THAT(compressed(R"("marlin-24")"),
              AllOf(HasSubstr("'marlin-24'"), HasSubstr("pack-quantized"), HasSubstr("GGUF")));
  const auto group = [](const char* format, const char* weights) {
    return fmt::format(R"("mixed-precision", "config_groups": {{"group_0": {{"format": "{}", "weights": {}}}}})",
                       format, weights);
  };
  EXPECT_EQ(compressed(group("int-quantized", R"({"type": "int", "num_bits": 8})")), "");
  EXPECT_THAT(compressed(group("mxfp8-quantized", R"({"type": "float", "num_bits": 8})")),
              HasSubstr("'mxfp8-quantized'"));
  EXPECT_EQ(compressed(group("mxfp8-quantized", "null")), "") << "weights are as they were";
  EXPECT_THAT(compressed(group("pack-quantized", R"({"type": "int", "num_bits": 3})")),
              AllOf(HasSubstr("num_bits '3'"), HasSubstr("2, 4 or 8")));
  EXPECT_EQ(refusal(R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"})"), "");
  EXPECT_THAT(refusal(R"({"quant_method": "modelopt", "quant_algo": "NVFP4_AWQ"})"),
              AllOf(HasSubstr("'NVFP4_AWQ'"), HasSubstr("NVFP4, ")));
  const auto transform = [](const char* location) {
    return fmt::format(
        R"("pack-quantized", "transform_config": {{"config_groups": {{"R": {{"apply": [{{"location": "{}"}}]}}}}}})",
        location);
  };
  EXPECT_EQ(compressed(transform("weight_output")), "");
  EXPECT_THAT(compressed(transform("input")), HasSubstr("transform_config"));
  EXPECT_EQ(refusal(R"({"quant_method": "gptq", "bits": 4})"), "")
      << "a checkpoint may have left all layers as they were";
}

// The same for a quantised checkpoint with an edited header; `to` has the same length.
std::string CheckpointRefusal(const std::string& name, const std::string& from, const std::string& to) {
  EXPECT_EQ(from.size(), to.size()) << to;
  return RefusalOf(testing::DataPath("checkpoints/" + name + "-hf"), "model.safetensors", from, to);
}

TEST(HfDirectory, FormsOfMlxsQuantisationThatAreNotReadAreNamed) {
  const auto refusal = [](const std::string& quantization) {
    return Refusal("llama3", R"("hidden_size")", R"("quantization": )" + quantization + R"(, "hidden_size")");
  };
  EXPECT_EQ(refusal(R"({"group_size": 64, "bits": 4, "model.layers.0.mlp.down_proj": {"group_size": 32, "bits": 8}})"),
            "");
  EXPECT_THAT(refusal(R"({"group_size": 32, "bits": 8, "mode": "mxfp8"})"),
              AllOf(HasSubstr("'mxfp8'"), HasSubstr("affine or mxfp4")));
  EXPECT_THAT(refusal(R"({"group_size": 64, "bits": 4, "lm_head": {"mode": "nvfp4"}})"), HasSubstr("nvfp4"));
}

TEST(HfDirectory, TensorsOfAnotherFamilyAreRefused) {
  EXPECT_THAT(RefusalOf(testing::ModelPath("llama3-hf"), "model.safetensors", "layers.0.self_attn.q_proj",
                        "layers.0.self_attn.z_proj"),
              AllOf(HasSubstr("is unknown for model_type 'llama'"), HasSubstr("layers.0.")));
  EXPECT_THAT(CheckpointRefusal("gptq", "model.layers.0.input_layernorm", "model.layers.*.input_layernorm"),
              HasSubstr("'model.layers.*.input_layernorm.weight' is unknown"));
}

TEST(HfDirectory, QuantisedWeightsThatLackATensorAreNamed) {
  EXPECT_THAT(CheckpointRefusal("mlx_4", "q_proj.biases", "q_proj.biasex"),
              AllOf(HasSubstr("q_proj.weight"), HasSubstr("q_proj.biases")));
  EXPECT_EQ(CheckpointRefusal("gptq", "q_proj.qzeros", "q_proj.qzeros"), "");
  EXPECT_THAT(CheckpointRefusal("gptq", "q_proj.qzeros", "q_proj.qzerox"),
              AllOf(HasSubstr("q_proj.qweight"), HasSubstr("q_proj.qzeros")));
  EXPECT_THAT(CheckpointRefusal("awq", "q_proj.scales", "q_proj.scalex"), HasSubstr("q_proj.scales"));
  for (const std::string part : {"weight_scale", "weight_shape"}) {
    const std::string name = "up_proj." + part;
    EXPECT_THAT(CheckpointRefusal("ct_ints", name, name.substr(0, name.size() - 1) + "x"),
                AllOf(HasSubstr("up_proj.weight_packed' has no"), HasSubstr("up_proj." + part + "' beside it")));
  }
  EXPECT_THAT(CheckpointRefusal("ct_nvfp4", "q_proj.weight_global_scale", "q_proj.weight_global_scalx"),
              AllOf(HasSubstr("q_proj.weight_packed' has no"), HasSubstr("q_proj.weight_global_scale' beside it")));
  EXPECT_THAT(CheckpointRefusal("modelopt_moe", "experts.1.up_proj.weight_scale\"", "experts.1.up_proj.weight_scalx\""),
              AllOf(HasSubstr("experts.1.up_proj.weight' has no"), HasSubstr("weight_scale' beside it")));
  EXPECT_THAT(CheckpointRefusal("ct_ints", "q_proj.weight_scale", "q_proj.weight_scalx"),
              AllOf(HasSubstr("q_proj.weight' has no"), HasSubstr("q_proj.weight_scale' beside it")));
  EXPECT_THAT(CheckpointRefusal("fp8", "up_proj.weight_scale_inv", "up_proj.weight_scale_xxx"),
              AllOf(HasSubstr("up_proj.weight'"), HasSubstr("up_proj.weight_scale")));
}

std::string AllReplaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// The same weights as another tool's checkpoint with blocks.
TEST(HfDirectory, BlocksOfCompressedTensorsAreThoseOfItsGroups) {
  const std::filesystem::path original = testing::DataPath("checkpoints/fp8-hf");
  const std::filesystem::path copy = std::filesystem::path(::testing::TempDir()) / "fp8_of_groups";
  std::filesystem::create_directories(copy);
  const std::string tensors = ReadText(original / "model.safetensors"), config = ReadText(original / "config.json");
  std::ofstream(copy / "model.safetensors", std::ios::binary)
      << AllReplaced(tensors, R"(.weight_scale_inv":)", R"(.weight_scale"    :)");
  const auto ask = [&](const std::string& block) {
    const std::string groups = R"("quant_method": "compressed-tensors", "format": "float-quantized", "config_groups": {
      "a": {"weights": {"type": "float", "num_bits": 8}},
      "b": {"weights": {"type": "float", "num_bits": 8, "block_structure": )" +
                               block + "}}}";
    std::ofstream(copy / "config.json", std::ios::binary)
        << AllReplaced(AllReplaced(config, R"("quant_method": "fp8")", groups), "weight_block_size", "nothing");
    return ModelSource::Open(copy.string());
  };
  const auto grouped = ask("[32, 32]"), plain = ModelSource::Open(original.string());
  ASSERT_TRUE(grouped) << grouped.error().message;
  const auto ours = (*grouped)->Matrix("blk.0.ffn_down.weight", 64, 128);
  const auto wanted = (*plain)->Matrix("blk.0.ffn_down.weight", 64, 128);
  ASSERT_TRUE(ours && wanted);
  EXPECT_TRUE(std::ranges::equal(ours->data, wanted->data));
  EXPECT_THAT(ask("[64, 32]").error().message, AllOf(HasSubstr("weight_scale' is ["), HasSubstr("_proj.weight'")));
}

// Tied embeddings have no per-tensor scale, even if the checkpoint contains one.
TEST(HfDirectory, AHeadThatIsTiedIsLeftOutWithItsFactor) {
  const std::filesystem::path original = testing::DataPath("checkpoints/ct_nvfp4-hf");
  const std::filesystem::path copy = std::filesystem::path(::testing::TempDir()) / "tied_nvfp4";
  std::filesystem::remove_all(copy);
  std::filesystem::copy(original, copy);
  std::string tensors = ReadText(original / "model.safetensors");
  const std::string from = "\"model.layers.0.self_attn.q_proj.", to = "\"lm_head.";
  for (const std::string part : {"weight_packed", "weight_scale", "weight_global_scale", "input_global_scale"})
    tensors = AllReplaced(tensors, from + part + "\"", to + part + "\"" + std::string(from.size() - to.size(), ' '));
  std::ofstream(copy / "model.safetensors", std::ios::binary) << tensors;
  const auto source = ModelSource::Open(copy.string());
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->Find("blk.0.attn_q.scale"), nullptr);
  EXPECT_NE((*source)->Find("blk.0.attn_k.scale"), nullptr);
  EXPECT_EQ((*source)->Find("output.weight"), nullptr);
  EXPECT_EQ((*source)->Find("output.scale"), nullptr);
}

TEST(HfDirectory, FusedExpertsThatContradictTheConfigurationAreNamed) {
  EXPECT_THAT(Refusal("gpt_oss", R"("num_local_experts": 4)", R"("num_local_experts": 8)"),
              AllOf(HasSubstr("_proj_blocks"), HasSubstr("4 experts"), HasSubstr("has 8")));
  EXPECT_THAT(Refusal("gpt_oss", R"("swiglu_limit": 7.0)", R"("swiglu_limit": 5.0)"), HasSubstr("swiglu_limit is 5"));
}

TEST(HfDirectory, StackedExpertsThatContradictTheConfigurationAreNamed) {
  const auto refusal = [](const char* name, const char* from, const char* to) {
    return RefusalOf(testing::DataPath("checkpoints/") + name + "-hf", "config.json", from, to);
  };
  for (const char* name : {"mlx_mixtral", "mlx_plain_moe"}) {
    const char* known =
        name == std::string_view("mlx_mixtral") ? R"("num_local_experts": 4)" : R"("num_local_experts": 3)";
    EXPECT_THAT(refusal(name, known, R"("num_local_experts": 16)"),
                AllOf(HasSubstr("switch_mlp."), HasSubstr("_proj.weight' has "), HasSubstr("config.json has 16"),
                      HasSubstr("anew")));
  }
  EXPECT_THAT(refusal("mlx_qwen3_moe", R"("group_size": 64)", R"("group_size": 32)"), HasSubstr("mlp.gate.weight"))
      << "the router's own groups count";
  EXPECT_THAT(refusal("mlx_qwen3_moe", R"("mode": "affine")", R"("mode": "mxfp4")"),
              AllOf(HasSubstr(".scales' is BF16"), HasSubstr("should be U8")));
  EXPECT_THAT(refusal("mlx_gpt_oss", R"("mode": "mxfp4")", R"("mode": "affine")"),
              AllOf(HasSubstr(".weight' has no '"), HasSubstr(".biases' beside it")));
}

TEST(HfDirectory, StackedExpertsThatContradictThemselvesAreNamed) {
  const std::string mlp = "\"model.layers.0.mlp.";
  const std::string scales = mlp + R"(switch_mlp.down_proj.scales":{"dtype":"BF16","shape":)";
  EXPECT_EQ(CheckpointRefusal("mlx_qwen3_moe", scales + "[4,64,1]", scales + "[4,64,1]"), "");
  EXPECT_THAT(CheckpointRefusal("mlx_qwen3_moe", scales + "[4,64,1]", scales + "[4,32,2]"),
              AllOf(HasSubstr("down_proj.scales' is [4, 32, 2]"), HasSubstr("down_proj.weight' of [4, 64, 4]")));
  EXPECT_THAT(CheckpointRefusal("mlx_qwen3_moe", scales + "[4,64,1]", scales + "[2,64,2]"), HasSubstr("is [2, 64, 2]"));
  EXPECT_THAT(CheckpointRefusal("mlx_qwen3_moe", scales + "[4,64,1]", scales + "[256,1 ]"),
              AllOf(HasSubstr("down_proj.scales' is BF16 [256, 1]"), HasSubstr("3 dimensions")));
  EXPECT_THAT(CheckpointRefusal("mlx_mixtral", "switch_mlp.up_proj.scales", "switch_mlp.up_proj.scalex"),
              AllOf(HasSubstr("up_proj.weight' has no"), HasSubstr("up_proj.scales' beside it"), HasSubstr("anew")));
  EXPECT_THAT(CheckpointRefusal("mlx_plain_moe", R"("model.layers.0.post_attention_layernorm.weight":)",
                                mlp + R"(experts.2.up_proj.weight"   :)"),
              AllOf(HasSubstr("switch_mlp.up_proj.weight'"), HasSubstr("experts.2.up_proj.weight'"),
                    HasSubstr("both hold expert 2")));
}

TEST(HfDirectory, MissingExpertsAreNamed) {
  EXPECT_THAT(Refusal("qwen2_moe", R"("num_experts": 4)", R"("num_experts": 5)"),
              AllOf(HasSubstr("expert 4 of 'blk."), HasSubstr("is missing")));
}

TEST(HfDirectory, TensorsThatNoFamilyHasAreNamed) {
  EXPECT_THAT(Refusal("qwen2_moe", R"("num_experts": 4)", R"("num_experts": 3)"),
              AllOf(HasSubstr("experts.3."), HasSubstr("qwen2_moe")));
}

TEST(HfDirectory, UnknownRopeScalingIsNamed) {
  EXPECT_THAT(Refusal("llama3", R"("rope_type": "llama3")", R"("rope_type": "spiral")"), HasSubstr("'spiral'"));
}

TEST(HfDirectory, MetadataHasGgufsKeys) {
  const auto source = ModelSource::Open(testing::ModelPath("olmo3-hf"));
  ASSERT_TRUE(source) << source.error().message;
  const auto& metadata = (*source)->metadata();
  EXPECT_EQ(*metadata.Get<std::string>("general.architecture"), "olmo2");
  EXPECT_EQ(*metadata.Get<int32_t>("olmo2.attention.sliding_window"), 16);
  EXPECT_EQ(*metadata.Get<std::vector<bool>>("olmo2.attention.sliding_window_pattern"),
            (std::vector<bool>{true, false}));
  EXPECT_EQ(*metadata.Get<std::string>("olmo2.rope.scaling.type"), "yarn");
}

}  // namespace
}  // namespace inferflux::model
