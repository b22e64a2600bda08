// What a model's file says about itself to the choice of types, and each named mix as a whole.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "formats/gguf/gguf_file.h"
#include "formats/gguf/gguf_writer.h"
#include "formats/quantize/importance_matrix.h"
#include "formats/quantize/quant_mix.h"

namespace inferflux::formats {
namespace {

std::string Described(const std::function<void(GgufWriter&)>& set, bool output = false) {
  std::ostringstream out;
  GgufWriter writer(out);
  set(writer);
  const std::vector<uint64_t> one{1};
  EXPECT_TRUE(writer.AddTensor(output ? "output.weight" : "other", TensorType::kF32, one));
  EXPECT_TRUE(writer.WriteHeader());
  EXPECT_TRUE(writer.WriteData(std::vector<std::byte>(4)));
  EXPECT_TRUE(writer.Finish());
  const std::string bytes = out.str();
  const auto file = *GgufFile::Parse(std::as_bytes(std::span(bytes)), "f");
  const auto model = DescribeForMix(*file);
  if (!model) return model.error().message;
  return fmt::format("{} layers {} experts {} shared{}{}", model->layers, model->experts, model->queries_per_value_head,
                     model->tied_embeddings ? " tied" : "", model->has_importance ? " importance" : "");
}

TEST(MixModel, IsWhatTheFileSays) {
  const auto base = [](GgufWriter& w) { w.Set("general.architecture", "x"); };
  EXPECT_EQ(Described([](GgufWriter&) {}), "f: metadata key 'general.architecture' is missing");
  EXPECT_EQ(Described(base), "0 layers 0 experts 1 shared tied");
  EXPECT_EQ(Described(base, true), "0 layers 0 experts 1 shared");
  const auto heads = [&](uint32_t queries, uint32_t values) {
    return Described([&](GgufWriter& w) {
      base(w);
      w.Set<uint32_t>("x.block_count", 5);
      w.Set<uint32_t>("x.expert_count", 8);
      w.Set("x.attention.head_count", queries);
      w.Set("x.attention.head_count_kv", values);
    });
  };
  EXPECT_EQ(heads(32, 8), "5 layers 8 experts 4 shared tied");
  EXPECT_EQ(heads(32, 1), "5 layers 8 experts 32 shared tied");
  EXPECT_EQ(heads(32, 0), "5 layers 8 experts 1 shared tied");
  EXPECT_EQ(Described([&](GgufWriter& w) {
              base(w);
              w.Set<uint32_t>("x.attention.head_count", 32);
            }),
            "0 layers 0 experts 1 shared tied")
      << "as many value heads";
  const std::vector<uint32_t> each{4, 2};
  EXPECT_EQ(Described([&](GgufWriter& w) {
              base(w);
              w.Set<uint32_t>("x.attention.head_count", 32);
              w.SetArray("x.attention.head_count_kv", std::span<const uint32_t>(each));
            }),
            "0 layers 0 experts 1 shared tied");
  for (const char* key : {"x.block_count", "x.expert_count"}) {
    EXPECT_NE(Described([&](GgufWriter& w) {
                base(w);
                w.Set(key, "many");
              }).find("should be uint32, but is string"),
              std::string::npos)
        << key;
  }
}

// The types in 24 layers, with the layer where another begins.
std::string AllLayers(const QuantMix& mix, const char* tensor, const MixModel& model) {
  std::string out, last;
  for (int layer = 0; layer < 24; ++layer) {
    const std::string name = fmt::format("blk.{}.{}.weight", layer, tensor);
    const GgufTensor matrix{.name = name, .type = TensorType::kF64, .dims = {256, 64, 1, 1}, .rank = 2};
    const std::string type(TensorTypeName(ChooseType(mix, model, matrix)));
    if (type != last) out += layer == 0 ? type : fmt::format(" {}:{}", layer, type);
    last = type;
  }
  return out;
}

TEST(QuantMixTable, IsThisOneInEachLayer) {
  std::string all;
  for (const QuantMix& mix : AllQuantMixes()) {
    const MixModel plain{.layers = 24};
    const std::string values = AllLayers(mix, "attn_v", plain), down = AllLayers(mix, "ffn_down", plain);
    all += fmt::format("{}: {}, {}, {}; ", mix.name, values, down == values ? "so" : down,
                       AllLayers(mix, "attn_output", plain));
    const std::string shared = AllLayers(mix, "attn_v", {.layers = 24, .queries_per_value_head = 4});
    const std::string important = AllLayers(mix, "ffn_down", {.layers = 24, .has_importance = true});
    all += fmt::format("{}, {}, {}\n", shared == values ? "so" : shared, important == down ? "so" : important,
                       AllLayers(mix, "attn_output", {.layers = 24, .experts = 8}));
  }
  EXPECT_EQ(all,
            "F32: F32, so, F32; so, so, F32\n"
            "F16: F16, so, F16; so, so, F16\n"
            "BF16: BF16, so, BF16; so, so, BF16\n"
            "Q4_0: Q4_0, so, Q4_0; so, Q4_1 3:Q4_0, Q4_0\n"
            "Q4_1: Q4_1, so, Q4_1; so, so, Q4_1\n"
            "Q5_0: Q5_0, so, Q5_0; so, Q5_1 3:Q5_0, Q5_0\n"
            "Q5_1: Q5_1, so, Q5_1; so, so, Q5_1\n"
            "Q8_0: Q8_0, so, Q8_0; so, so, Q8_0\n"
            "Q2_K: Q3_K, so, Q3_K; Q4_K, so, Q5_K\n"
            "Q2_K_S: Q2_K, Q4_K 3:Q2_K, Q2_K; Q4_K, so, Q2_K\n"
            "Q3_K_S: Q3_K, so, Q3_K; so, so, Q5_K\n"
            "Q3_K_M: Q5_K 2:Q4_K, Q5_K 1:Q4_K, Q4_K; so, so, Q5_K\n"
            "Q3_K_L: Q5_K, so, Q5_K; so, so, Q3_K\n"
            "Q4_K_S: Q5_K 4:Q4_K, Q5_K 3:Q4_K, Q4_K; so, so, Q5_K\n"
            "Q4_K_M: Q6_K 3:Q4_K 5:Q6_K 6:Q4_K 8:Q6_K 9:Q4_K 11:Q6_K 12:Q4_K 14:Q6_K 15:Q4_K 17:Q6_K 18:Q4_K 20:Q6_K, "
            "so, Q4_K; so, so, Q5_K\n"
            "Q5_K_S: Q5_K, so, Q5_K; so, so, Q5_K\n"
            "Q5_K_M: Q6_K 3:Q5_K 5:Q6_K 6:Q5_K 8:Q6_K 9:Q5_K 11:Q6_K 12:Q5_K 14:Q6_K 15:Q5_K 17:Q6_K 18:Q5_K 20:Q6_K, "
            "so, Q5_K; so, so, Q5_K\n"
            "Q6_K: Q6_K, so, Q6_K; so, so, Q6_K\n"
            "IQ4_NL: IQ4_NL, Q5_K 3:IQ4_NL, IQ4_NL; Q5_K, IQ4_NL, Q5_K\n"
            "IQ4_XS: IQ4_XS, Q5_K 3:IQ4_XS, IQ4_XS; Q5_K, IQ4_XS, Q5_K\n"
            "TQ1_0: TQ1_0, so, TQ1_0; so, so, TQ1_0\n"
            "TQ2_0: TQ2_0, so, TQ2_0; so, so, TQ2_0\n"
            "MXFP4: MXFP4, so, MXFP4; so, so, MXFP4\n"
            "MXFP4_MOE: Q8_0, so, Q8_0; so, so, Q8_0\n");
}

TEST(QuantMixTable, OneExpertIsNoStackAndOtherNamesHaveNoLayer) {
  const auto type = [](const char* mix, const char* name, uint64_t experts, uint32_t rank) {
    const GgufTensor tensor{.name = name, .type = TensorType::kF64, .dims = {256, 64, experts, 1}, .rank = rank};
    return TensorTypeName(ChooseType(**FindQuantMix(mix), {.layers = 24}, tensor));
  };
  EXPECT_EQ(type("MXFP4_MOE", "blk.0.ffn_up_exps.weight", 1, 3), "Q8_0");
  EXPECT_EQ(type("MXFP4_MOE", "blk.0.ffn_up_exps.weight", 2, 3), "MXFP4");
  EXPECT_EQ(type("Q4_K_S", "other.9.attn_v.weight", 1, 2), "Q5_K");
  EXPECT_EQ(type("Q4_K_S", "blk.9.attn_v.weight", 1, 2), "Q4_K");
  for (const char* kept :
       {"token_types.weight", "blk.0.ssm_conv1d.weight", "blk.0.shortconv.conv.weight", "v.patch_embd.weight",
        "blk.0.altup_proj.weight", "blk.0.laurel_l.weight", "blk.0.attn_rel_b.weight"}) {
    EXPECT_EQ(type("Q4_0", kept, 1, 2), "F64") << kept;
  }
  EXPECT_EQ(FindQuantMix("q9").error().message,
            "'q9' is not a supported quantisation; supported are F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, "
            "Q2_K_S, Q3_K_S, Q3_K_M, Q3_K_L, Q4_K_S, Q4_K_M, Q5_K_S, Q5_K_M, Q6_K, IQ4_NL, IQ4_XS, TQ1_0, TQ2_0, "
            "MXFP4, MXFP4_MOE");
}

TEST(ImportanceFile, OfTheOldFormatIsTold) {
  const std::string path = fmt::format("{}importance_old_{}.dat", ::testing::TempDir(), ::getpid());
  std::ofstream(path, std::ios::binary) << "\x04\x03\x02\x01 an old one";
  EXPECT_EQ(ImportanceMatrix::Open(path).error().message,
            path +
                ": not a GGUF file: it starts with 0x01020304, not with \"GGUF\" (an importance matrix in the old "
                ".dat format must be regenerated as GGUF)");
  EXPECT_EQ(ImportanceMatrix::Open(path + ".none").error().code, ErrorCode::kNotFound);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace inferflux::formats
