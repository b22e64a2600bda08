// Compares llama.cpp's hidden states with our reference engine's, on the same small random files.
#include <gtest/gtest.h>
#include <llama.h>

#include <cmath>
#include <functional>
#include <random>

#include "engine/llama_cpp/create_llama_engine.h"
#include "engine/native/native_backends.h"
#include "model/families/family.h"
#include "model/loading/edited_gguf.h"
#include "support/sampler_checklist.h"

namespace inferflux::engine {
namespace {

using EnginePtr = std::unique_ptr<Engine>;
using Kind = OutputSpec::Kind;

std::string Architecture(const std::string& name) {
  const auto file = formats::GgufFile::Open(model::testing::ModelPath(name + ".gguf"));
  if (!file) throw std::runtime_error(file.error().message);
  return *(*file)->metadata().Get<std::string>("general.architecture");
}

// The model's file, with the vocabulary sizes that the library requires.
std::shared_ptr<const model::ModelSource> Source(const std::string& name, int32_t vocab) {
  const auto path = model::testing::EditedModel(name, [&](formats::GgufWriter& writer) {
    writer.Set("tokenizer.ggml.model", "no_vocab");
    writer.Set(Architecture(name) + ".vocab_size", static_cast<uint32_t>(vocab));
    writer.Set("tokenizer.ggml.token_type_count", name == "roberta" ? 1u : 2u);
  });
  auto source = model::ModelSource::Open(path);
  if (!source) throw std::runtime_error(source.error().message);
  return *source;
}

struct Pair {
  EnginePtr llama;
  EnginePtr reference;
};
Pair Engines(const std::string& name, int32_t vocab, const std::string& target) {
  const auto source = Source(name, vocab);
  auto llama =
      CreateLlamaEngine(*source, {.target = target, .kv_bytes = 1 << 20, .kv_dtype = "fp32", .micro_batch = 16});
  auto config = model::ReadModelConfig(*source);
  if (!llama || !config) throw std::runtime_error(llama ? config.error().message : llama.error().message);
  auto reference = CreateEngine("reference", std::move(*config), source, {.kv_bytes = 1 << 20, .kv_dtype = "fp32"});
  if (!reference) throw std::runtime_error(reference.error().message);
  return {std::move(*llama), std::move(*reference)};
}

std::vector<TokenId> RandomTokens(size_t count, int32_t vocab, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<TokenId> tokens(count);
  for (TokenId& token : tokens) token = static_cast<TokenId>(2 + random() % static_cast<uint32_t>(vocab - 2));
  return tokens;
}

BatchItem Item(Engine& engine, const std::vector<TokenId>& tokens, Kind kind) {
  const auto opened = engine.Open({}, 0);
  if (!opened) throw std::runtime_error(opened.error().message);
  EXPECT_TRUE(engine.Reserve(opened->sequence, static_cast<int32_t>(tokens.size())));
  BatchItem item{.sequence = opened->sequence, .tokens = tokens};
  for (int32_t i = 0; i < static_cast<int32_t>(tokens.size()); ++i)
    item.outputs.push_back({.token_index = i, .kind = kind});
  return item;
}

// All texts in one step; closes their sequences afterwards.
StepResult Compute(Engine& engine, const std::vector<std::pair<std::vector<TokenId>, Kind>>& texts) {
  UnifiedBatch batch;
  for (const auto& [tokens, kind] : texts) batch.items.push_back(Item(engine, tokens, kind));
  auto result = engine.ExecuteUnifiedBatch(batch);
  EXPECT_TRUE(result) << result.error().message;
  for (const BatchItem& item : batch.items) EXPECT_TRUE(engine.Close(item.sequence));
  return result ? std::move(*result) : StepResult();
}

// Each name, on each kind of device that the library has here.
void ForEach(const std::vector<std::string>& names,
             const std::function<void(const std::string&, const std::string&)>& test) {
  for (const std::string& target : LlamaTargets()) {
    for (const std::string& name : names) {
      SCOPED_TRACE(name + " on " + target);
      test(name, target);
    }
  }
}

template <class Params>
constexpr bool IsNewer() {
  return requires(Params params) { params.flash_attn_type; };
}

double Cosine(std::span<const float> a, std::span<const float> b) {
  double product = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    product += double{a[i]} * b[i];
    aa += double{a[i]} * a[i];
    bb += double{b[i]} * b[i];
  }
  return product / std::sqrt(aa * bb);
}

void ExpectSameStates(const StepResult& ours, const StepResult& theirs, int32_t width) {
  ASSERT_EQ(ours.items.size(), theirs.items.size());
  for (size_t i = 0; i < ours.items.size(); ++i) {
    ASSERT_EQ(ours.items[i].size(), theirs.items[i].size());
    for (size_t o = 0; o < ours.items[i].size(); ++o) {
      const auto &a = theirs.items[i][o].hidden, &b = ours.items[i][o].hidden;
      ASSERT_EQ(a.size(), b.size());
      if (b.empty()) continue;
      ASSERT_EQ(static_cast<int32_t>(b.size()), width);
      EXPECT_GT(Cosine(a, b), 0.9999) << "text " << i << ", token " << o;
      EXPECT_LT(model::testing::RelativeError(a, b), 1e-2) << "text " << i << ", token " << o;
    }
  }
}

TEST(LlamaEngine, EncodersGiveTheStatesThatOurOwnGive) {
  constexpr int32_t kVocab = 64;
  // The older of the tested versions does not read this nomic-bert: it requires a tensor that the file lacks.
  std::vector<std::string> names = {"bert", "roberta"};
  if (IsNewer<llama_context_params>()) names.push_back("nomic_bert");
  ForEach(names, [&](const std::string& name, const std::string& target) {
    if (target == "vulkan") {
      const auto refused = CreateLlamaEngine(*Source(name, kVocab), {.target = target, .kv_bytes = 1 << 20});
      ASSERT_FALSE(refused);
      EXPECT_NE(refused.error().message.find("is an encoder"), std::string::npos) << refused.error().message;
      return;
    }
    const Pair engines = Engines(name, kVocab, target);
    const EngineInfo& info = engines.llama->info();
    EXPECT_FALSE(info.causal);
    EXPECT_FALSE(info.capabilities.kv_save_restore);
    EXPECT_EQ(info.hidden, engines.reference->info().hidden);
    EXPECT_EQ(info.pooling.type, engines.reference->info().pooling.type);
    std::vector<std::pair<std::vector<TokenId>, Kind>> texts;
    for (const size_t length : {1, 7, 40, 46, 3}) {  // more than fit into one call
      texts.emplace_back(RandomTokens(length, kVocab, static_cast<uint32_t>(length)), Kind::kHidden);
    }
    ExpectSameStates(Compute(*engines.reference, texts), Compute(*engines.llama, texts), info.hidden);
    EXPECT_EQ(engines.llama->usage().blocks_used, 0);
    // No state of a text remains: the next one of the same sequence begins at 0.
    const BatchItem again = Item(*engines.llama, texts[1].first, Kind::kHidden);
    ASSERT_TRUE(engines.llama->ExecuteUnifiedBatch({{again}}));
    EXPECT_EQ(engines.llama->Length(again.sequence), 0);
    EXPECT_TRUE(engines.llama->ExecuteUnifiedBatch({{again}}));
    EXPECT_FALSE(engines.llama->ExecuteUnifiedBatch({{Item(*engines.llama, texts[1].first, Kind::kLogits)}}))
        << "an encoder has no logits";
  });
}

TEST(LlamaEngine, DecodersGiveTheStatesThatOurOwnGiveBesideOthersLogits) {
  constexpr int32_t kVocab = 96;
  ForEach({"llama3", "qwen3", "gemma3"}, [&](const std::string& name, const std::string& target) {
    const Pair engines = Engines(name, kVocab, target);
    const std::vector<std::pair<std::vector<TokenId>, Kind>> texts = {{RandomTokens(30, kVocab, 1), Kind::kHidden},
                                                                      {RandomTokens(9, kVocab, 2), Kind::kLogits},
                                                                      {RandomTokens(1, kVocab, 3), Kind::kHidden}};
    const StepResult ours = Compute(*engines.reference, texts), theirs = Compute(*engines.llama, texts);
    ExpectSameStates(ours, theirs, engines.reference->info().hidden);
    for (size_t o = 0; o < 9; ++o) {
      EXPECT_LT(model::testing::RelativeError(theirs.items[1][o].logits, ours.items[1][o].logits), 1e-2) << o;
    }
    // A later step without hidden states works as before.
    const StepResult alone = Compute(*engines.llama, {texts[1]});
    for (size_t o = 0; o < 9; ++o) {
      EXPECT_LT(model::testing::RelativeError(alone.items[0][o].logits, ours.items[1][o].logits), 1e-2) << o;
    }
  });
}

// Our files have llama.cpp's keys and tensor names: it computes the same from them.
void ExpectOurLogits(const std::string& name, const std::string& target) {
  constexpr int32_t kVocab = 41, kTokens = 30;
  if (target != "cpu") return;
  try {
    const Pair engines = Engines(name, kVocab, target);
    const std::vector<std::pair<std::vector<TokenId>, Kind>> texts = {
        {RandomTokens(kTokens, kVocab, 1), Kind::kLogits}};
    const StepResult ours = Compute(*engines.reference, texts), theirs = Compute(*engines.llama, texts);
    double worst = 0.0;
    for (size_t o = 0; o < kTokens; ++o) {
      worst = std::max(worst, model::testing::RelativeError(theirs.items[0][o].logits, ours.items[0][o].logits));
    }
    // Its KV is FP16, and one row of latents serves all heads.
    EXPECT_LT(worst, name == "deepseek_v3" ? 2e-2 : 1e-2) << name;
  } catch (const std::exception& error) {  // a file that it does not load: the others are tested all the same
    ADD_FAILURE() << error.what();
  }
}

// Left out are models with settings that its graphs do not know: biases of ERNIE 4.5, AFM, Seed-OSS, Hunyuan and Falcon
// 40B, ERNIE 4.5's interval of layers with experts, heads of OLMoE that share keys, heads of EXAONE 4 and LFM2 that do
// not divide the width, GPT-NeoX without biases, PhiMoE's LayerNorm and SparseMixer, short chunks of Llama 4.
TEST(LlamaEngine, NewerFamiliesGiveTheLogitsThatOurOwnGive) {
  if (!IsNewer<llama_context_params>()) GTEST_SKIP() << "the older of the tested versions lacks some of them";
  ForEach({"glm4",
           "glm4_moe",
           "cohere",
           "cohere2",
           "gemma",
           "stablelm",
           "stablelm_parallel",
           "phi",
           "hunyuan_dense",
           "falcon",
           "gpt_neox",
           "minimax_m2",
           "lfm2_moe",
           "qwen3_next",
           "qwen3_5_moe",
           "mamba2",
           "nemotron_h",
           "granite_hybrid_moe",
           "falcon_h1",
           "gemma3_vision",
           "qwen2_5_vl",
           "qwen3_vl",
           "qwen3_vl_moe",
           "glm4v",
           "glm4v_moe",
           "gemma4_moe",
           "ministral3",
           "apertus_unscaled",
           "llama4",
           "gemma3n_usual"},
          ExpectOurLogits);
}

// Its graph has RMSNorm and a softmax over the two experts, so that only the file is tested.
TEST(LlamaEngine, PhiMoeLoads) {
  if (!IsNewer<llama_context_params>()) GTEST_SKIP() << "the older of the tested versions lacks it";
  ForEach({"phimoe"}, [](const std::string& name, const std::string& target) {
    const auto engine = CreateLlamaEngine(*Source(name, 41), {.target = target, .kv_bytes = 1 << 20});
    ASSERT_TRUE(engine) << engine.error().message;
    const auto logits = Compute(**engine, {{RandomTokens(20, 41, 4), Kind::kLogits}}).items[0].back().logits;
    EXPECT_TRUE(std::ranges::all_of(logits, [](float value) { return std::isfinite(value); }));
  });
}

// Left out: V2, whose groups of experts it scores as V3's.
TEST(LlamaEngine, LatentsGiveTheLogitsThatOurOwnGive) {
  if (!IsNewer<llama_context_params>()) GTEST_SKIP() << "the older of the tested versions lacks some of them";
  ForEach({"deepseek_v3", "kimi_k2", "glm4_moe_lite"}, ExpectOurLogits);
}

TEST(LlamaEngine, ABatchOfOneTokenIsEnough) {
  const auto source = Source("llama3", 96);
  const auto engine = CreateLlamaEngine(*source, {.kv_bytes = 1 << 20, .batch = 1, .micro_batch = 1});
  ASSERT_TRUE(engine) << engine.error().message;
  const auto tokens = RandomTokens(20, 96, 4);
  EXPECT_EQ(Compute(**engine, {{tokens, Kind::kLogits}}).items[0].size(), tokens.size());
}

TEST(LlamaEngine, ADeviceThatIsNotThereIsNamed) {
  for (const std::string& target : LlamaTargets()) {
    const auto engine = CreateLlamaEngine(*Source("llama3", 96), {.target = target, .device = 7, .kv_bytes = 1 << 20});
    ASSERT_FALSE(engine);
    EXPECT_NE(engine.error().message.find("llama.cpp on " + target + " has no device '7': it has 0 ("),
              std::string::npos)
        << engine.error().message;
  }
}

TEST(LlamaEngine, BytesThatAreNoSavedSequenceAreNamed) {
  const auto engine = CreateLlamaEngine(*Source("llama3", 96), {.target = "cpu", .kv_bytes = 1 << 20});
  ASSERT_TRUE(engine) << engine.error().message;
  const std::vector<TokenId> tokens{1};
  const auto restore = [&](std::vector<std::byte> saved) {
    const auto restored = (*engine)->Restore(tokens, 0, saved);
    return restored ? "restored" : restored.error().message;
  };
  const std::byte one{1}, zero{0};
  EXPECT_EQ(restore({}), "0 bytes that are no saved sequence of llama.cpp's");
  EXPECT_EQ(restore({one, zero, zero, zero}), "4 bytes that are no saved sequence of llama.cpp's")
      << "no state follows";
  EXPECT_EQ(restore({zero, zero, zero, zero, one}), "5 bytes that are no saved sequence of llama.cpp's");
  EXPECT_EQ((*engine)->usage().blocks_used, 0);
}

TEST(LlamaEngine, ADeviceTestsItself) {
  for (const std::string& target : LlamaTargets()) {
    EXPECT_TRUE(LlamaSelfTest(target, -1)) << "the first one";
    EXPECT_TRUE(LlamaSelfTest(target, 0));
    EXPECT_EQ(LlamaSelfTest(target, 7).error().message, "libllama has no device 7 of " + target);
  }
}

TEST(LlamaEngine, KeepsTheSamplersChecklist) {
  ForEach({"llama3"}, [&](const std::string& name, const std::string& target) {
    const auto engine = CreateLlamaEngine(*Source(name, 96), {.target = target, .kv_bytes = 1 << 20});
    ASSERT_TRUE(engine) << engine.error().message;
    testing::CheckSampler(**engine);
  });
}

}  // namespace
}  // namespace inferflux::engine
