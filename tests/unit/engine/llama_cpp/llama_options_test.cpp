// What the options of the llama.cpp engine may be, and what becomes of them.
#include <gtest/gtest.h>
#include <llama.h>

#include <filesystem>

#include "engine/llama_cpp/create_llama_engine.h"
#include "model/loading/edited_gguf.h"

namespace inferflux::engine {
namespace {

// The model's file, with the size of its vocabulary, which the library requires.
std::shared_ptr<const model::ModelSource> PlainSource(const std::string& name, const std::string& architecture,
                                                      uint32_t vocab = 96) {
  const auto path = model::testing::EditedModel(name,
                                                {.metadata =
                                                     [&](formats::GgufWriter& writer) {
                                                       writer.Set("tokenizer.ggml.model", "no_vocab");
                                                       writer.Set(architecture + ".vocab_size", vocab);
                                                       writer.Set("tokenizer.ggml.token_type_count", 2u);
                                                     }},
                                                name + "-options");
  auto source = model::ModelSource::Open(path);
  if (!source) throw std::runtime_error(source.error().message);
  return *source;
}

// "context C, room for N", or the error.
std::string Made(const model::ModelSource& source, const LlamaOptions& options) {
  const auto engine = CreateLlamaEngine(source, options);
  if (!engine) return engine.error().message;
  const EngineInfo& info = (*engine)->info();
  return fmt::format("context {}, room for {}", info.context, info.kv_tokens);
}

TEST(LlamaOptions, EachHasItsRange) {
  const auto source = PlainSource("llama3", "llama");
  const auto made = [&](const LlamaOptions& options) { return Made(*source, options); };
  const std::string usual = "context 128, room for 2048";  // 16 sequences of full length
  EXPECT_EQ(made({}), usual);
  EXPECT_EQ(made({.batch = 1, .micro_batch = 1}), usual);
  EXPECT_EQ(made({.batch = 0}), "batches of 0 and 512 tokens: they must be 1 to 65536");
  EXPECT_EQ(made({.micro_batch = 0}), "batches of 2048 and 0 tokens: they must be 1 to 65536");
  EXPECT_EQ(made({.batch = 65537}), "batches of 65537 and 512 tokens: they must be 1 to 65536");
  EXPECT_EQ(made({.micro_batch = 65537}), "batches of 2048 and 65537 tokens: they must be 1 to 65536");
  EXPECT_EQ(made({.micro_batch = 65536}), usual);
  EXPECT_EQ(made({.context = -1}), "a negative context (-1), KV budget (0) or number of layers (-1)");
  EXPECT_EQ(made({.kv_bytes = -1}), "a negative context (0), KV budget (-1) or number of layers (-1)");
  EXPECT_EQ(made({.gpu_layers = -2}), "a negative context (0), KV budget (0) or number of layers (-2)");
  EXPECT_EQ(made({.gpu_layers = 0}), usual);
  EXPECT_EQ(made({.context = 128}), usual);
  EXPECT_EQ(made({.context = 129}), "a context of 129 tokens: this model was trained for 128");
  EXPECT_EQ(made({.context = 64}), "context 64, room for 1024");
  EXPECT_EQ(made({.kv_dtype = "q8_0"}), "no KV type 'q8_0' on llama.cpp: it has fp32, fp16, bf16");
  EXPECT_EQ(made({.device = -1}), usual);
  const auto directory =
      model::ModelSource::Open((std::filesystem::path(INFERFLUX_SOURCE_DIR) / "tests/data/models/arcee-hf").string());
  ASSERT_TRUE(directory) << directory.error().message;
  EXPECT_EQ(Made(**directory, {}),
            "llama.cpp reads GGUF files, and " + (*directory)->path() + " is none: inferflux-convert makes one of it");
}

// A token of llama3 has 2 layers of 2 heads of 16 + 16 numbers. Newer versions of the library round the number
// of tokens up to a multiple of 256.
TEST(LlamaOptions, ABudgetHoldsAsManyTokensAsItHasRoomFor) {
  const auto source = PlainSource("llama3", "llama");
  const auto room = [](const model::ModelSource& model, int64_t bytes, const std::string& type) {
    const auto engine = CreateLlamaEngine(model, {.kv_bytes = bytes, .kv_dtype = type});
    return engine ? std::to_string(((*engine)->info().kv_tokens + 255) / 256 * 256) : engine.error().message;
  };
  EXPECT_EQ(room(*source, 512 * 256, "fp16"), "512");
  EXPECT_EQ(room(*source, 512 * 256 + 255, "fp16"), "512");
  EXPECT_EQ(room(*source, 513 * 256, "fp16"), "768");
  EXPECT_EQ(room(*source, 513 * 256 - 1, "bf16"), "512");
  EXPECT_EQ(room(*source, 513 * 256, "bf16"), "768");
  EXPECT_EQ(room(*source, 513 * 512 - 1, "fp32"), "512");
  EXPECT_EQ(room(*source, 513 * 512, "fp32"), "768");
  EXPECT_EQ(room(*source, 255, "fp16"), "255 bytes for KV do not hold one token");
  EXPECT_EQ(room(*source, 1 << 30, "fp16"), "2048") << "no more than 16 sequences of full length";
  // Without lengths of their own, keys and values have the hidden size divided by the heads: 8.
  const auto derived = PlainSource("qwen2", "qwen2");
  EXPECT_EQ(room(*derived, 513 * 128 - 1, "fp16"), "512");
  EXPECT_EQ(room(*derived, 513 * 128, "fp16"), "768");
}

TEST(LlamaOptions, ABudgetOfFewTokensHoldsFewSequences) {
  const auto source = PlainSource("llama3", "llama");
  for (const int64_t tokens : {1, 2, 7, 100}) {
    const auto engine = CreateLlamaEngine(*source, {.kv_bytes = tokens * 256});
    ASSERT_TRUE(engine) << engine.error().message;
    EXPECT_EQ((*engine)->info().max_sequences, (tokens + 1) / 2);
  }
}

TEST(LlamaOptions, TheEngineSaysWhatItIs) {
  float progress = -1;
  const auto engine =
      CreateLlamaEngine(*PlainSource("llama3", "llama"), {.kv_bytes = 1 << 20,
                                                          .kv_dtype = "bf16",
                                                          .batch = 512,
                                                          .micro_batch = 32,
                                                          .threads = 3,
                                                          .gpu_layers = 1,
                                                          .on_progress = [&](float part) { progress = part; }});
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_EQ(progress, 1.0f);
  const EngineInfo& info = (*engine)->info();
  const auto ids = static_cast<int32_t>(llama_max_parallel_sequences());
  EXPECT_EQ(fmt::format("{} {} {} vocabulary {} block {} sequences {} hidden {} causal {} steps {}", info.backend,
                        info.provider, info.kv_dtype, info.vocab_size, info.block_size, info.max_sequences, info.hidden,
                        info.causal, info.async_steps),
            fmt::format("cpu llama_cpp bf16 vocabulary 96 block 1 sequences {} hidden 32 causal true steps false",
                        (ids + 1) / 2));
  ASSERT_EQ(info.memory.size(), 1u);
  EXPECT_EQ(info.memory[0].device, "cpu");
  EXPECT_GT(info.memory[0].weight_bytes, 0);
  EXPECT_EQ(info.plan, (std::vector<std::string>{fmt::format(
                           "llama.cpp on cpu: 3 threads, batches of {} tokens, {} sequence ids", 512, ids)}));
  EXPECT_TRUE(info.capabilities.generation);
  EXPECT_TRUE(info.capabilities.kv_save_restore);
  EXPECT_TRUE(info.capabilities.speculative_verification);
}

TEST(LlamaOptions, ARecurrentModelHas32StatesAndAnEncoderTakesWhatABatchHolds) {
  const auto recurrent = CreateLlamaEngine(*PlainSource("mamba2", "mamba2", 41), {.kv_bytes = 1 << 20});
  ASSERT_TRUE(recurrent) << recurrent.error().message;
  EXPECT_EQ((*recurrent)->info().max_sequences, 16);
  EXPECT_FALSE((*recurrent)->info().capabilities.speculative_verification);
  const auto source = PlainSource("bert", "bert", 64);
  const auto encoder = CreateLlamaEngine(*source, {.batch = 20, .micro_batch = 10});
  ASSERT_TRUE(encoder) << encoder.error().message;
  EXPECT_FALSE((*encoder)->info().causal);
  EXPECT_EQ((*encoder)->info().context, 20);
  EXPECT_FALSE((*encoder)->info().capabilities.generation);
  const auto whole = CreateLlamaEngine(*source, {});
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ((*whole)->info().context, 48);
  const std::string refused = Made(*PlainSource("bert_scores", "bert", 41), {});
  EXPECT_NE(refused.find("has a head for pooled states ("), std::string::npos) << refused;
  EXPECT_NE(refused.find("), which the llama.cpp engine does not compute; ask for cpu"), std::string::npos) << refused;
}

TEST(LlamaOptions, ASavedSequenceIsRestoredAsFarAsItIsWanted) {
  const auto engine = CreateLlamaEngine(*PlainSource("llama3", "llama"), {.kv_bytes = 1 << 20, .kv_dtype = "fp32"});
  ASSERT_TRUE(engine) << engine.error().message;
  Engine& llama = **engine;
  const std::vector<TokenId> tokens{5, 6, 7, 8, 9};
  const auto logits_after = [&](SequenceId sequence, TokenId token) {
    const auto result = llama.Prefill(sequence, std::vector<TokenId>{token}, {.kind = OutputSpec::Kind::kLogits});
    return result ? result->logits : std::vector<float>();
  };
  const SequenceId first = llama.Open({}, 1)->sequence;
  ASSERT_TRUE(llama.Prefill(first, tokens, {}));
  const auto saved = *llama.Save(first);
  ASSERT_TRUE(llama.Truncate(first, 3));
  const auto expected = logits_after(first, 11);
  ASSERT_TRUE(llama.Close(first));

  const auto restore = [&](std::span<const TokenId> wanted) -> std::string {
    const auto restored = llama.Restore(wanted, 2, saved);
    if (!restored) return restored.error().message;
    const std::string out = fmt::format("{} tokens, {} used", *llama.Length(*restored), llama.usage().blocks_used);
    if (wanted.size() == 3) {
      EXPECT_EQ(logits_after(*restored, 11), expected);
    }
    EXPECT_TRUE(llama.Close(*restored));
    return out;
  };
  EXPECT_EQ(restore(tokens), "5 tokens, 5 used");
  EXPECT_EQ(restore(std::span(tokens).first(3)).substr(0, 8), "3 tokens");
  EXPECT_EQ(restore(std::vector<TokenId>{5, 6, 7, 8, 9, 10}), "a saved sequence of 5 tokens for one of 6");
  EXPECT_EQ(llama.usage().blocks_used, 0);
  auto long_one = saved;
  const int32_t length = 129;
  std::memcpy(long_one.data(), &length, sizeof length);
  const auto refused = llama.Restore(tokens, 2, long_one);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "a saved sequence of 129 tokens for one of 5");
  EXPECT_EQ(llama.usage().blocks_used, 0);
}

}  // namespace
}  // namespace inferflux::engine
