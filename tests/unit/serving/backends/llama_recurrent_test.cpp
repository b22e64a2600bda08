// A model with a recurrent state (a small random Mamba, arXiv:2312.00752), which cannot be truncated: tokens that
// should have been removed are recomputed, and the answer equals that of a new sequence.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "base/thread_pool.h"
#include "formats/gguf/gguf_file.h"
#include "formats/gguf/gguf_writer.h"
#include "serving/backends/built_in_engines.h"
#include "serving/models/load_model.h"

namespace inferflux::serving {
namespace {

constexpr uint64_t kWidth = 32, kInner = 64, kState = 16, kConv = 4, kRank = 4;
constexpr uint32_t kLayers = 2;

// Has the vocabulary of the bundled model.
std::string WriteMamba() {
  const auto file = formats::GgufFile::Open(std::string(INFERFLUX_SOURCE_DIR) + "/models/tiny/inferflux-tiny.gguf");
  EXPECT_TRUE(file) << file.error().message;
  const uint64_t vocab = (*file)->FindTensor("token_embd.weight")->dims[1];
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("inferflux_mamba_{}.gguf", ::getpid())).string();
  std::ofstream out(path, std::ios::binary);
  formats::GgufWriter writer(out);
  for (const formats::GgufEntry& entry : (*file)->metadata().entries()) {
    if (entry.key.starts_with("tokenizer.")) writer.Copy(entry);
  }
  writer.Set("general.architecture", "mamba");
  const std::pair<const char*, uint64_t> numbers[] = {
      {"context_length", 512},     {"embedding_length", kWidth}, {"feed_forward_length", 0},
      {"attention.head_count", 0}, {"block_count", kLayers},     {"ssm.conv_kernel", kConv},
      {"ssm.inner_size", kInner},  {"ssm.state_size", kState},   {"ssm.time_step_rank", kRank}};
  for (const auto& [key, value] : numbers) writer.Set(std::string("mamba.") + key, static_cast<uint32_t>(value));
  writer.Set("mamba.attention.layer_norm_rms_epsilon", 1e-5f);

  std::vector<std::pair<std::string, std::vector<uint64_t>>> tensors = {
      {"token_embd.weight", {kWidth, vocab}}, {"output_norm.weight", {kWidth}}, {"output.weight", {kWidth, vocab}}};
  for (uint32_t layer = 0; layer < kLayers; ++layer) {
    const std::pair<const char*, std::vector<uint64_t>> parts[] = {{"attn_norm.weight", {kWidth}},
                                                                   {"ssm_in.weight", {kWidth, 2 * kInner}},
                                                                   {"ssm_conv1d.weight", {kConv, kInner}},
                                                                   {"ssm_conv1d.bias", {kInner}},
                                                                   {"ssm_x.weight", {kInner, kRank + 2 * kState}},
                                                                   {"ssm_dt.weight", {kRank, kInner}},
                                                                   {"ssm_dt.bias", {kInner}},
                                                                   {"ssm_a", {kState, kInner}},
                                                                   {"ssm_d", {kInner}},
                                                                   {"ssm_out.weight", {kInner, kWidth}}};
    for (const auto& [name, dims] : parts) tensors.emplace_back(fmt::format("blk.{}.{}", layer, name), dims);
  }
  std::mt19937 random(20);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> values;
  for (const auto& [name, dims] : tensors) {
    EXPECT_TRUE(writer.AddTensor(name, formats::TensorType::kF32, dims));
    uint64_t count = 1;
    for (const uint64_t n : dims) count *= n;
    auto& tensor = values.emplace_back(count);
    const float scale = dims.size() == 1 ? 0.2f : 1.0f / std::sqrt(static_cast<float>(dims[0]));
    for (float& value : tensor) value = normal(random) * scale;
    for (float& value : tensor) {
      if (name.ends_with("norm.weight")) value += 1.0f;
      if (name.ends_with("ssm_a")) value = -0.2f - std::abs(value);  // makes the state decay
    }
  }
  EXPECT_TRUE(writer.WriteHeader());
  for (const auto& tensor : values) EXPECT_TRUE(writer.WriteData(std::as_bytes(std::span(tensor))));
  EXPECT_TRUE(writer.Finish());
  return path;
}

class LlamaRecurrent : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { path = WriteMamba(); }
  static void TearDownTestSuite() { std::filesystem::remove(path); }
  static inline std::string path;
  ThreadPool pool_{2};
};

std::vector<TokenId> SomeTokens(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<TokenId> tokens(count);
  for (TokenId& token : tokens) token = static_cast<TokenId>(300 + random() % 500);
  return tokens;
}

std::vector<float> LogitsAfter(engine::Engine& engine, engine::SequenceId sequence, int32_t first,
                               std::span<const TokenId> tokens) {
  const auto count = static_cast<int32_t>(tokens.size());
  EXPECT_TRUE(engine.Reserve(sequence, first + count));
  engine::BatchItem item{.sequence = sequence, .tokens = {tokens.begin(), tokens.end()}, .first_position = first};
  item.outputs.push_back({.token_index = count - 1, .kind = engine::OutputSpec::Kind::kLogits});
  auto result = engine.ExecuteUnifiedBatch({{item}});
  EXPECT_TRUE(result) << result.error().message;
  return result ? result->items[0][0].logits : std::vector<float>();
}

void ExpectNear(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    norm += double{b[i]} * b[i];
  }
  EXPECT_LT(std::sqrt(difference / norm), 1e-4);
}

TEST_F(LlamaRecurrent, ARefusedCutChangesNothingAndFreshSequencesAnswer) {
  const auto source = model::ModelSource::Open(path);
  ASSERT_TRUE(source) << source.error().message;
  const auto engines = BuiltInEngines(pool_);
  const auto entry = std::ranges::find_if(
      engines, [](const auto& e) { return e.target == Target::kCpu && e.provider == Provider::kLlamaCpp; });
  auto made = entry->make({.source = *source, .config = {.kv_budget = 1 << 20}});
  ASSERT_TRUE(made) << made.error().message;
  engine::Engine& engine = **made;
  EXPECT_FALSE(engine.info().capabilities.speculative_verification);
  const auto text = SomeTokens(40, 1), other = SomeTokens(40, 2);
  const std::span<const TokenId> tokens = text;

  const auto plain = engine.Open({}, 0)->sequence;
  const auto expected = LogitsAfter(engine, plain, 0, tokens);
  ASSERT_TRUE(engine.Close(plain));

  const auto sequence = engine.Open({}, 1)->sequence;
  LogitsAfter(engine, sequence, 0, tokens.first(20));
  LogitsAfter(engine, sequence, 20, std::span(other).first(5));
  const auto cut = engine.Truncate(sequence, 20);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, ErrorCode::kUnsupported) << cut.error().message;
  EXPECT_EQ(engine.Length(sequence), 25);
  const auto saved = engine.Save(sequence);
  ASSERT_TRUE(saved) << saved.error().message;
  const auto part = engine.Restore(tokens.first(20), 1, *saved);
  ASSERT_FALSE(part) << "a state has no beginnings";
  EXPECT_EQ(part.error().code, ErrorCode::kUnsupported);

  ASSERT_TRUE(engine.Close(sequence));
  const auto again = engine.Open(tokens, 1);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->cached_tokens, 0) << "what it shares with the closed sequence is not a whole one";
  ExpectNear(LogitsAfter(engine, again->sequence, 0, tokens), expected);

  // Saves and restores whole states.
  const auto whole = engine.Open({}, 2)->sequence;
  LogitsAfter(engine, whole, 0, tokens.first(30));
  const auto kept = engine.Save(whole);
  ASSERT_TRUE(kept);
  ASSERT_TRUE(engine.Close(whole));
  const auto back = engine.Restore(tokens.first(30), 3, *kept);
  ASSERT_TRUE(back) << back.error().message;
  ExpectNear(LogitsAfter(engine, *back, 30, tokens.subspan(30)), expected);
}

TEST_F(LlamaRecurrent, AConversationThatTurnsIsComputedAgain) {
  const BackendFactory factory(BuiltInEngines(pool_), {});
  const auto model = LoadModel(factory, {.id = "m", .path = path, .config = {.kv_budget = 1 << 20}});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->exposure.provider, "llama_cpp");
  EXPECT_TRUE((*model)->capabilities.kv_save_restore);
  EXPECT_FALSE((*model)->capabilities.speculative_decoding) << "a wrong guess could not be taken back";
  const auto answer = [&](const std::vector<TokenId>& prompt, const std::string& session, uint64_t salt) {
    scheduler::GenerationRequest request{
        .prompt = prompt, .sampling = {.temperature = 0.0f}, .max_tokens = 12, .ignore_eos = true};
    request.speculation = scheduler::Speculation{.kind = scheduler::Speculation::Kind::kPromptLookup};
    request.cache_salt = salt;
    if (!session.empty()) request.session = scheduler::SessionUse{.id = session};
    const auto stream = (*model)->scheduler->Submit(request);
    EXPECT_TRUE(stream) << stream.error().message;
    std::string text;
    for (int wait = 0; wait < 60000; ++wait) {
      while (auto event = (*stream)->TryPop()) {
        text += event->text;
        if (event->finish) {
          EXPECT_EQ(event->finish->reason, scheduler::FinishReason::kLength) << event->finish->error.message;
          return text;
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return text + " ... and no end";
  };
  const auto first = SomeTokens(40, 1);
  auto turned = first;
  const auto other = SomeTokens(10, 3);
  std::copy(other.begin(), other.end(), turned.begin() + 25);
  const std::string expected = answer(turned, "", 1), before = answer(first, "", 2);
  EXPECT_NE(expected, before);
  EXPECT_EQ(answer(first, "chat", 3), before);
  EXPECT_EQ(answer(turned, "chat", 3), expected) << "the session's sequence cannot be cut to what is shared";
  EXPECT_EQ(answer(turned, "chat", 3), expected);
}

}  // namespace
}  // namespace inferflux::serving
