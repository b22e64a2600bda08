// Which type each tensor gets in each named quantisation.
#include "formats/quantize/quant_mix.h"

#include <gtest/gtest.h>

namespace inferflux::formats {
namespace {

std::string_view TypeOf(std::string_view mix, const MixModel& model, std::string_view name, uint64_t columns = 256,
                        uint64_t experts = 1) {
  const GgufTensor tensor{
      .name = name, .type = TensorType::kF64, .dims = {columns, 64, experts, 1}, .rank = experts > 1 ? 3u : 2u};
  return TensorTypeName(ChooseType(**FindQuantMix(mix), model, tensor));
}

// The layers, of 32, in which a tensor has another type than in most.
std::string Layers(std::string_view mix, const std::string& tensor, const MixModel& model = {.layers = 32}) {
  std::string out;
  std::string_view last;
  for (int layer = 0; layer < 32; ++layer) {
    const auto type = TypeOf(mix, model, fmt::format("blk.{}.{}.weight", layer, tensor));
    if (type != last) out += fmt::format("{}:{} ", layer, type);
    last = type;
  }
  return out;
}

TEST(QuantMixes, TheLayersOfEachTensor) {
  const std::string third =
      "0:Q6_K 4:Q5_K 6:Q6_K 7:Q5_K 9:Q6_K 10:Q5_K 12:Q6_K 13:Q5_K 15:Q6_K 16:Q5_K 18:Q6_K 19:Q5_K 21:Q6_K 22:Q5_K "
      "24:Q6_K "
      "25:Q5_K 27:Q6_K ";
  EXPECT_EQ(Layers("Q5_K_M", "attn_v"), third);
  EXPECT_EQ(Layers("Q5_K_M", "attn_qkv"), third);
  EXPECT_EQ(Layers("Q5_K_M", "ffn_down"), third);
  EXPECT_EQ(Layers("Q5_K_M", "attn_output"), "0:Q5_K ");
  EXPECT_EQ(Layers("Q4_K_S", "attn_v"), "0:Q5_K 4:Q4_K ");
  EXPECT_EQ(Layers("Q4_K_S", "ffn_down"), "0:Q5_K 4:Q4_K ");
  EXPECT_EQ(Layers("Q3_K_M", "attn_v"), "0:Q5_K 2:Q4_K ");
  EXPECT_EQ(Layers("Q3_K_M", "ffn_down"), "0:Q5_K 2:Q4_K ");
  EXPECT_EQ(Layers("Q3_K_M", "attn_output"), "0:Q4_K ");
  EXPECT_EQ(Layers("Q3_K_L", "attn_kv_b"), "0:Q5_K ");
  EXPECT_EQ(Layers("Q3_K_S", "attn_v"), "0:Q3_K ");
  EXPECT_EQ(Layers("Q2_K_S", "ffn_down"), "0:Q4_K 4:Q2_K ");
  EXPECT_EQ(Layers("IQ4_XS", "ffn_down"), "0:Q5_K 4:IQ4_XS ");
  EXPECT_EQ(Layers("IQ4_XS", "ffn_down", {.layers = 32, .has_importance = true}), "0:IQ4_XS ");
  EXPECT_EQ(Layers("Q4_0", "ffn_down", {.layers = 32, .has_importance = true}), "0:Q4_1 4:Q4_0 ");
  EXPECT_EQ(Layers("Q5_0", "ffn_down", {.layers = 32, .has_importance = true}), "0:Q5_1 4:Q5_0 ");
  EXPECT_EQ(Layers("Q4_0", "ffn_down"), "0:Q4_0 ");
  EXPECT_EQ(Layers("Q4_K_M", "attn_q"), "0:Q4_K ");
}

TEST(QuantMixes, SharedValuesAndEightExperts) {
  EXPECT_EQ(Layers("Q2_K", "attn_v", {.layers = 32, .queries_per_value_head = 3}), "0:Q3_K ");
  EXPECT_EQ(Layers("Q2_K", "attn_v", {.layers = 32, .queries_per_value_head = 4}), "0:Q4_K ");
  EXPECT_EQ(Layers("Q2_K_S", "attn_v", {.layers = 32, .queries_per_value_head = 4}), "0:Q4_K ");
  EXPECT_EQ(Layers("IQ4_NL", "attn_v", {.layers = 32, .queries_per_value_head = 4}), "0:Q5_K ");
  EXPECT_EQ(Layers("Q4_K_M", "attn_v", {.layers = 32, .experts = 8}), "0:Q8_0 ");
  EXPECT_EQ(Layers("Q4_K_M", "attn_k", {.layers = 32, .experts = 8}), "0:Q8_0 ");
  EXPECT_EQ(Layers("Q4_K_M", "attn_k", {.layers = 32, .experts = 7}), "0:Q4_K ");
  EXPECT_EQ(Layers("Q4_K_M", "attn_output", {.layers = 32, .experts = 8}), "0:Q5_K ");
  EXPECT_EQ(Layers("Q5_K_M", "attn_output", {.layers = 32, .experts = 8}), "0:Q5_K ");
  EXPECT_EQ(Layers("Q6_K", "attn_output", {.layers = 32, .experts = 8}), "0:Q6_K ");
  EXPECT_EQ(Layers("Q3_K_M", "attn_output", {.layers = 32, .experts = 8}), "0:Q5_K ");
  EXPECT_EQ(Layers("Q3_K_L", "attn_output", {.layers = 32, .experts = 8}), "0:Q3_K ");
}

TEST(QuantMixes, EmbeddingsAndExperts) {
  const MixModel plain{.layers = 32}, tied{.layers = 32, .tied_embeddings = true};
  EXPECT_EQ(TypeOf("Q4_K_M", plain, "output.weight"), "Q6_K");
  EXPECT_EQ(TypeOf("Q4_K_M", plain, "output.weight", 32), "Q8_0");
  EXPECT_EQ(TypeOf("Q8_0", plain, "output.weight"), "Q8_0");
  EXPECT_EQ(TypeOf("MXFP4", plain, "output.weight"), "Q8_0");
  EXPECT_EQ(TypeOf("Q4_K_M", plain, "token_embd.weight"), "Q4_K");
  EXPECT_EQ(TypeOf("Q4_K_M", tied, "token_embd.weight"), "Q6_K");
  EXPECT_EQ(TypeOf("TQ1_0", plain, "token_embd.weight"), "Q4_K");
  EXPECT_EQ(TypeOf("TQ2_0", plain, "token_embd.weight"), "Q4_K");
  EXPECT_EQ(TypeOf("MXFP4_MOE", plain, "blk.0.ffn_up_exps.weight", 256, 2), "MXFP4");
  EXPECT_EQ(TypeOf("MXFP4_MOE", plain, "blk.0.ffn_up.weight"), "Q8_0");
  EXPECT_EQ(TypeOf("F16", plain, "output.weight"), "F16");
  for (const char* kept :
       {"blk.0.attn_norm.weight", "blk.0.ffn_gate_inp.weight", "position_embd.weight", "blk.0.attn_q.bias"}) {
    EXPECT_EQ(TypeOf("Q4_K_M", plain, kept), "F64") << kept;
  }
  const GgufTensor vector{.name = "blk.0.weight", .type = TensorType::kF64, .dims = {256, 1, 1, 1}, .rank = 1};
  EXPECT_EQ(ChooseType(**FindQuantMix("Q4_0"), plain, vector), TensorType::kF64);
}

TEST(QuantMixes, ShortRowsGetATypeOfSmallerBlocks) {
  const auto types = [](uint64_t columns) {
    std::string out;
    for (const char* mix :
         {"IQ4_XS", "Q2_K", "Q3_K_S", "TQ1_0", "TQ2_0", "Q4_K_S", "Q5_K_S", "Q6_K", "Q4_0", "MXFP4"}) {
      out += fmt::format("{} ", TypeOf(mix, {.layers = 32}, "blk.9.attn_q.weight", columns));
    }
    return out;
  };
  EXPECT_EQ(types(512), "IQ4_XS Q2_K Q3_K TQ1_0 TQ2_0 Q4_K Q5_K Q6_K Q4_0 MXFP4 ");
  EXPECT_EQ(types(96), "IQ4_NL Q4_0 Q4_0 Q4_0 Q4_0 Q5_0 Q5_1 Q8_0 Q4_0 MXFP4 ");
  EXPECT_EQ(types(40), "F16 F16 F16 F16 F16 F16 F16 F16 F16 F16 ");
}

TEST(QuantMixes, HaveTheNamesAndNumbersOfTheFormat) {
  std::string all;
  for (const QuantMix& mix : AllQuantMixes())
    all += fmt::format("{}={}/{} ", mix.name, mix.file_type, TensorTypeName(mix.base));
  EXPECT_EQ(
      all,
      "F32=0/F32 F16=1/F16 BF16=32/BF16 Q4_0=2/Q4_0 Q4_1=3/Q4_1 Q5_0=8/Q5_0 Q5_1=9/Q5_1 Q8_0=7/Q8_0 Q2_K=10/Q2_K "
      "Q2_K_S=21/Q2_K Q3_K_S=11/Q3_K Q3_K_M=12/Q3_K Q3_K_L=13/Q3_K Q4_K_S=14/Q4_K Q4_K_M=15/Q4_K Q5_K_S=16/Q5_K "
      "Q5_K_M=17/Q5_K Q6_K=18/Q6_K IQ4_NL=25/IQ4_NL IQ4_XS=30/IQ4_XS TQ1_0=36/TQ1_0 TQ2_0=37/TQ2_0 MXFP4=38/MXFP4 "
      "MXFP4_MOE=38/MXFP4 ");
  EXPECT_EQ((*FindQuantMix("q3_k"))->name, "Q3_K_M");
  EXPECT_EQ((*FindQuantMix("Q4_K"))->name, "Q4_K_M");
  EXPECT_EQ((*FindQuantMix("Q5_K"))->name, "Q5_K_M");
}

}  // namespace
}  // namespace inferflux::formats
