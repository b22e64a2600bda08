// Which tensors of a checkpoint make one weight, and what is said where one is missing or cannot be.
#include "model/huggingface/stored_weight.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/huggingface/made_checkpoint.h"

namespace inferflux::model {
namespace {

using testing::MadeTensor;

// "name type[shape] bytes@expert" of each weight.
std::string Collected(const std::vector<MadeTensor>& tensors, const std::string& config = "",
                      formats::HfExpertStack stack = formats::HfExpertStack::kRows) {
  const testing::MadeCheckpoint made(tensors);
  formats::HfConfig parsed = testing::MadeConfig(config);
  parsed.expert_stack = stack;
  const auto weights = CollectWeights(parsed, made.model());
  if (!weights) return weights.error().message;
  std::string out;
  for (const auto& weight : *weights) {
    out +=
        fmt::format("{}{} {}[{}] {}", out.empty() ? "" : "; ", weight->name(), formats::TensorTypeName(weight->type()),
                    fmt::join(weight->shape(), ","), weight->stored_bytes());
    if (weight->expert()) out += fmt::format("@{}", *weight->expert());
  }
  return out;
}

TEST(CollectedWeights, PlainTensorsAreTheirOwn) {
  EXPECT_EQ(Collected({{"a.weight", "F32", {2, 3}}, {"b.bias", "BF16", {4}}, {"c", "I32", {1}}}),
            "a.weight F32[2,3] 24; b.bias BF16[4] 8; c I32[1] 4");
  EXPECT_EQ(Collected({{"a.weight", "U8", {2}}}), "config.json: tensor 'a.weight' holds U8, which no GGUF file can");
  std::vector<MadeTensor> of_activations{{"a.weight", "F32", {1}}};
  for (const char* end : {"input_scale", "input_zero_point", "input_global_scale", "output_scale", "output_zero_point",
                          "q_scale", "k_scale", "v_scale", "q_zero_point", "k_zero_point", "v_zero_point"}) {
    of_activations.push_back({std::string("a.") + end, "U8", {1}});
  }
  EXPECT_EQ(Collected(of_activations), "a.weight F32[1] 4");
}

TEST(CollectedWeights, EightBitIntegersHaveScales) {
  const MadeTensor weight{"a.weight", "I8", {2, 3}},
      scale{"a.weight_scale", "F32", {2, 1}, testing::BytesOfFloats({1, 1})};
  const std::string compressed = R"(,"quantization_config":{"quant_method":"compressed-tensors"})";
  EXPECT_EQ(Collected({weight}), "a.weight I8[2,3] 6");
  EXPECT_EQ(Collected({weight, scale}), "a.weight F32[2,3] 14");
  EXPECT_EQ(Collected({weight, scale}, compressed), "a.weight F32[2,3] 14");
  EXPECT_EQ(
      Collected({weight}, compressed),
      "config.json: tensor 'a.weight' has no 'a.weight_scale' beside it: the checkpoint is incomplete; fetch it or "
      "convert it anew");
  EXPECT_EQ(Collected({{"a.other", "I8", {2}}, {"a.other_scale", "F32", {2}}}),
            "a.other I8[2] 2; a.other_scale F32[2] 8");
  const MadeTensor zeros{"a.weight_zero_point", "I8", {2, 1}};
  EXPECT_EQ(Collected({weight, scale, zeros}), "a.weight F32[2,3] 16");
}

TEST(CollectedWeights, PackedIntegersHaveAFormat) {
  const std::vector<MadeTensor> gptq{
      {"a.qweight", "I32", {4, 8}}, {"a.qzeros", "I32", {1, 1}}, {"a.scales", "F16", {1, 8}}, {"a.g_idx", "I32", {32}}};
  const auto with = [&](const std::string& method) {
    return Collected(gptq, R"(,"quantization_config":{"bits":4,"group_size":32,"quant_method":")" + method + "\"}");
  };
  EXPECT_EQ(with("gptq"), "a.weight Q8_0[8,32] 148");
  EXPECT_EQ(with("fp8"),
            "config.json: tensor 'a.qweight' is packed, but quantization_config names neither gptq nor awq");
  EXPECT_EQ(Collected(gptq),
            "config.json: tensor 'a.qweight' is packed, but quantization_config names neither gptq nor awq");
  const auto lacks = [&](size_t left_out) {
    std::vector<MadeTensor> some = gptq;
    some.erase(some.begin() + static_cast<std::ptrdiff_t>(left_out));
    const std::string said =
        Collected(some, R"(,"quantization_config":{"bits":4,"group_size":32,"quant_method":"gptq"})");
    return said.substr(0, said.find(" beside it"));
  };
  EXPECT_EQ(lacks(1), "config.json: tensor 'a.qweight' has no 'a.qzeros'");
  EXPECT_EQ(lacks(2), "config.json: tensor 'a.qweight' has no 'a.scales'");
  EXPECT_EQ(lacks(3).substr(0, 8), "a.weight");
}

TEST(CollectedWeights, EightBitFloatsHaveOneKindOfScales) {
  const MadeTensor weight{"a.weight", "F8_E4M3", {4, 8}};
  const MadeTensor one{"a.weight_scale", "F32", {1}, testing::BytesOfFloats({1.1f})};
  const MadeTensor blocks{"a.weight_scale_inv", "F32", {2, 1}, testing::BytesOfFloats({1.1f, 1.1f})};
  const auto block = [](const std::string& sizes) {
    return R"(,"quantization_config":{"quant_method":"fp8","weight_block_size":)" + sizes + "}";
  };
  EXPECT_EQ(Collected({weight, one}), "a.weight F32[4,8] 36");
  EXPECT_EQ(Collected({weight, blocks}, block("[2,8]")), "a.weight F32[4,8] 40");
  EXPECT_EQ(Collected({weight, one, blocks}, block("[2,8]")),
            "config.json: tensors 'a.weight_scale' and 'a.weight_scale_inv' both scale 'a.weight'");
  EXPECT_EQ(Collected({weight, blocks}, block("[2,8,1]")), "config.json: weight_block_size should be two sizes");
  EXPECT_EQ(Collected({weight, blocks}, block("[]")).substr(0, 40), "config.json: tensor 'a.weight_scale_inv'");
  EXPECT_EQ(
      Collected({weight}),
      "config.json: tensor 'a.weight' has no 'a.weight_scale' beside it: the checkpoint is incomplete; fetch it or "
      "convert it anew");
  const auto groups = [](const std::string& sizes) {
    return R"(,"quantization_config":{"quant_method":"compressed-tensors","format":"float-quantized","config_groups":{
        "a":{"weights":{"type":"float","num_bits":8,"block_structure":[0,8]}},
        "b":{"weights":{"type":"float","num_bits":8,"block_structure":[2,0]}},
        "c":{"weights":{"type":"float","num_bits":8,"block_structure":)" +
           sizes + "}}}}";
  };
  const MadeTensor of_group{"a.weight_scale", "F32", {2, 1}, testing::BytesOfFloats({1.1f, 1.1f})};
  EXPECT_EQ(Collected({weight, of_group}, groups("[3,9]")), "a.weight F32[4,8] 40")
      << "the last of each may be shorter";
  EXPECT_EQ(Collected({weight, of_group}, groups("[2,4]")).substr(0, 37), "config.json: tensor 'a.weight_scale' ");
  EXPECT_EQ(Collected({weight, of_group}, groups("[2]")).substr(0, 37), "config.json: tensor 'a.weight_scale' ");
}

TEST(CollectedWeights, StacksAndFusedMatricesAreExperts) {
  const std::string two = R"(,"num_experts":2)";
  EXPECT_EQ(Collected({{"m.switch_mlp.up_proj.weight", "F32", {2, 3, 4}}}, two),
            "m.switch_mlp.up_proj.weight F32[3,4] 48@0; m.switch_mlp.up_proj.weight F32[3,4] 48@1");
  EXPECT_EQ(Collected({{"m.experts.up_proj.weight", "F16", {2, 3, 4}}}, two),
            "m.experts.up_proj.weight F16[3,4] 24@0; m.experts.up_proj.weight F16[3,4] 24@1");
  EXPECT_EQ(Collected({{"m.other.up_proj.weight", "F32", {2, 3, 4}}}, two), "m.other.up_proj.weight F32[2,3,4] 96");
  const std::string count =
      " experts, but config.json has 2: different models; fetch the checkpoint or convert it anew";
  EXPECT_EQ(Collected({{"m.experts.up_proj.weight", "F32", {3, 3, 4}}}, two),
            "config.json: tensor 'm.experts.up_proj.weight' has 3" + count);
  const MadeTensor gate_up{"m.experts.gate_up_proj", "F32", {2, 6, 8}}, down{"m.experts.down_proj", "F32", {2, 8, 3}};
  EXPECT_EQ(Collected({gate_up}, two),
            "m.experts.gate_up_proj.gate.weight F32[3,8] 96@0; m.experts.gate_up_proj.up.weight F32[3,8] 96@0; "
            "m.experts.gate_up_proj.gate.weight F32[3,8] 96@1; m.experts.gate_up_proj.up.weight F32[3,8] 96@1");
  EXPECT_EQ(Collected({down}, two),
            "m.experts.down_proj.stack.weight F32[8,3] 96@0; m.experts.down_proj.stack.weight F32[8,3] 96@1");
  EXPECT_EQ(Collected({{"m.input_linear.weight", "F32", {4, 8}}}),
            "m.input_linear.gate.weight F32[2,8] 64; m.input_linear.up.weight F32[2,8] 64");
  EXPECT_EQ(Collected({{"m.output_linear.weight", "F32", {4, 8}}}), "m.output_linear.weight F32[4,8] 128");
  EXPECT_EQ(Collected({{"m.output_linear.weight", "F32", {2, 4, 8}}}, two),
            "m.output_linear.stack.weight F32[4,8] 128@0; m.output_linear.stack.weight F32[4,8] 128@1");
  EXPECT_EQ(Collected({{"m.experts.gate_up_proj", "F32", {2, 5, 8}}}, two),
            "config.json: tensor 'm.experts.gate_up_proj' should hold as many rows of a gate as of its values");
  EXPECT_EQ(Collected({{"m.experts.gate_up_proj", "F32", {1, 6, 8}}}, two),
            "config.json: tensor 'm.experts.gate_up_proj' has 1" + count);
}

TEST(CollectedWeights, FusedMatricesMayBeTransposed) {
  const std::string one = R"(,"num_experts":1)";
  using Stack = formats::HfExpertStack;
  const auto names = [&](const char* name, std::vector<uint64_t> shape, Stack stack) {
    const std::string said = Collected({{name, "F32", std::move(shape)}}, one, stack);
    return said.find("_columns") != said.npos ? "columns" : said.starts_with("config") ? said : "rows";
  };
  const char *up = "m.experts.gate_up_proj", *down = "m.experts.down_proj";  // a state has 8 values
  EXPECT_EQ(names(up, {1, 8, 6}, Stack::kRows), "rows");
  EXPECT_EQ(names(up, {1, 6, 8}, Stack::kColumns), "columns");
  EXPECT_EQ(names(up, {1, 8, 6}, Stack::kEither), "columns");
  EXPECT_EQ(names(up, {1, 6, 8}, Stack::kEither), "rows");
  EXPECT_EQ(names(up, {1, 8, 8}, Stack::kEither), "rows");
  EXPECT_EQ(names(up, {1, 6, 6}, Stack::kEither), "rows");
  EXPECT_EQ(names(down, {1, 6, 8}, Stack::kEither), "columns");
  EXPECT_EQ(names(down, {1, 8, 6}, Stack::kEither), "rows");
  EXPECT_EQ(names(down, {1, 8, 8}, Stack::kEither), "rows");
  EXPECT_EQ(names(down, {1, 6, 6}, Stack::kEither), "rows");
  EXPECT_EQ(Collected({{up, "F32", {1, 6, 8}}}, one, Stack::kColumns),
            "m.experts.gate_up_proj.gate_columns.weight F32[6,8] 192@0; m.experts.gate_up_proj.up_columns.weight "
            "F32[6,8] 192@0");
  EXPECT_EQ(Collected({{down, "F32", {1, 6, 8}}}, one, Stack::kColumns),
            "m.experts.down_proj.stack_columns.weight F32[6,8] 192@0");
}

TEST(CollectedWeights, BlocksOfFusedExpertsAreInTurns) {
  const std::string two = R"(,"num_experts":2)";
  const MadeTensor blocks{"m.gate_up_proj_blocks", "U8", {2, 4, 1, 16}},
      scales{"m.gate_up_proj_scales", "U8", {2, 4, 1}};
  const MadeTensor bias{"m.gate_up_proj_bias", "F32", {2, 4}};
  EXPECT_EQ(Collected({blocks, scales, bias}, two),
            "m.0.gate_proj.weight MXFP4[2,32] 34; m.1.gate_proj.weight MXFP4[2,32] 34; m.gate_proj.bias F32[2,2] 16; "
            "m.0.up_proj.weight MXFP4[2,32] 34; m.1.up_proj.weight MXFP4[2,32] 34; m.up_proj.bias F32[2,2] 16");
  EXPECT_EQ(Collected({{"m.down_proj_blocks", "U8", {2, 4, 1, 16}}, {"m.down_proj_scales", "U8", {2, 4, 1}}}, two),
            "m.0.down_proj.weight MXFP4[4,32] 68; m.1.down_proj.weight MXFP4[4,32] 68");
  EXPECT_EQ(Collected({blocks}, two).substr(0, 79),
            "config.json: tensor 'm.gate_up_proj_blocks' has no 'm.gate_up_proj_scales' besi");
  EXPECT_EQ(
      Collected({blocks, scales}, R"(,"num_experts":3)"),
      "config.json: tensor 'm.gate_up_proj_blocks' has 2 experts, but config.json has 3: different models; fetch the "
      "checkpoint or convert it anew");
}

TEST(CollectedWeights, GroupsOfMlxHaveTheirOwnLayouts) {
  const MadeTensor words{"a.weight", "U32", {2, 8}}, scales{"a.scales", "F16", {2, 1}},
      biases{"a.biases", "F16", {2, 1}};
  const std::string four = R"(,"quantization":{"bits":4,"group_size":64})";
  EXPECT_EQ(Collected({words, scales, biases}, four), "a.weight Q4_1[2,64] 72");
  EXPECT_EQ(Collected({words, scales, biases}, R"(,"quantization":{"bits":4,"group_size":64,"a":{"group_size":32}})"),
            "a.weight F32[2,32] 72");
  EXPECT_EQ(Collected({words, scales, biases}, R"(,"quantization":{"bits":4,"group_size":64,"b":{"group_size":32}})"),
            "a.weight Q4_1[2,64] 72");
  EXPECT_EQ(Collected({words, scales, biases}), "config.json: tensor 'a.weight' holds U32, which no GGUF file can");
  EXPECT_EQ(Collected({words, scales}, four).substr(0, 54), "config.json: tensor 'a.weight' has no 'a.biases' besid");
  EXPECT_EQ(Collected({words, biases}, four).substr(0, 54), "config.json: tensor 'a.weight' has no 'a.scales' besid");
  EXPECT_EQ(Collected({{"a.other", "U32", {2}}}, four),
            "config.json: tensor 'a.other' holds U32, which no GGUF file can");
  EXPECT_EQ(Collected({words, {"a.scales", "U8", {2, 2}}}, R"(,"quantization":{"mode":"mxfp4"})"),
            "a.weight MXFP4[2,64] 68");
  EXPECT_EQ(Collected({{"m.experts.up_proj.weight", "U32", {2, 3, 8}}, {"m.experts.up_proj.scales", "U8", {2, 3, 2}}},
                      R"(,"num_experts":2,"quantization":{"mode":"mxfp4"})"),
            "m.experts.up_proj.weight MXFP4[3,64] 102@0; m.experts.up_proj.weight MXFP4[3,64] 102@1");
}

}  // namespace
}  // namespace inferflux::model
