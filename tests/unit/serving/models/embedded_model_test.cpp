// The bundled model, end to end below the server: our template, tokenizer and engines compared with transformers on the
// same weights (tools/golden_tiny.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "engine/engine.h"
#include "formats/gguf/gguf_file.h"
#include "formats/quantize/quantize_gguf.h"
#include "model/loading/vocab_from_gguf.h"
#include "serving/backends/built_in_engines.h"
#include "support/cpu_isas.h"
#include "text/chat_template.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::serving {
namespace {

namespace json = boost::json;

const std::string kRoot = INFERFLUX_SOURCE_DIR;
// |a - b| / |b| at every position, with F32 weights, and with the BF16 ones of the file, where the CPU also rounds the
// activations to BF16 (docs/parity.md).
constexpr double kBound = 1e-4;
constexpr double kBf16Bound = 1e-2;

// A backend and its forced instruction set.
struct Setting {
  Target target;
  CpuIsa isa;
};

struct Engine {
  ThreadPool pool{2};
  std::unique_ptr<engine::Engine> backend;
};

std::unique_ptr<Engine> Load(const Setting& setting, const std::shared_ptr<const model::ModelSource>& source) {
  const testing::ForcedIsa forced(setting.isa);
  auto out = std::make_unique<Engine>();
  for (const EngineEntry& entry : BuiltInEngines(out->pool)) {
    if (entry.target != setting.target || entry.provider != Provider::kNative) continue;
    auto made = entry.make({.source = source, .config = {.kv_dtype = "fp32", .kv_budget = 64 << 20}});
    EXPECT_TRUE(made) << made.error().message;
    if (made) out->backend = std::move(*made);
  }
  return out;
}

class EmbeddedModel : public ::testing::TestWithParam<Setting> {
 protected:
  static void SetUpTestSuite() {
    auto opened = model::ModelSource::Open(kRoot + "/models/tiny/inferflux-tiny.gguf");
    ASSERT_TRUE(opened) << opened.error().message;
    source = *opened;
    auto specs = model::VocabFromGguf(source->metadata());
    ASSERT_TRUE(specs) << specs.error().message;
    auto made = text::Tokenizer::Create(std::move(specs->vocab), std::move(specs->merges));
    ASSERT_TRUE(made) << made.error().message;
    tokenizer = *made;
    widened = Widen();
  }
  static void TearDownTestSuite() {
    source.reset();
    widened.reset();
    tokenizer.reset();
  }

  // The same model with its weights as F32, which holds BF16 exactly.
  static std::shared_ptr<const model::ModelSource> Widen() {
    const auto file = formats::GgufFile::Open(kRoot + "/models/tiny/inferflux-tiny.gguf");
    const auto f32 = formats::FindQuantMix("F32");
    if (!file || !f32) return nullptr;
    const std::string path = ::testing::TempDir() + "inferflux-tiny-f32.gguf";
    std::ofstream out(path, std::ios::binary);
    ThreadPool pool(2);
    const auto written =
        formats::QuantizeGguf(**file, out, {.mix = *f32}, pool, [](uint64_t, uint64_t, const auto&) {});
    EXPECT_TRUE(written) << written.error().message;
    out.close();
    auto opened = model::ModelSource::Open(path);
    std::filesystem::remove(path);  // the mapping remains valid
    return opened ? *opened : nullptr;
  }

  static void ExpectLogitsOfTransformers(const std::shared_ptr<const model::ModelSource>& weights, double bound);

  static inline std::shared_ptr<const model::ModelSource> source;
  static inline std::shared_ptr<const model::ModelSource> widened;
  static inline std::shared_ptr<const text::Tokenizer> tokenizer;
};

std::vector<TokenId> Ids(const json::value& value) {
  std::vector<TokenId> out;
  for (const json::value& id : value.as_array()) out.push_back(static_cast<TokenId>(id.as_int64()));
  return out;
}

json::array GreedyGolden() {
  std::ifstream file(kRoot + "/tests/data/tiny/greedy.json");
  std::stringstream text;
  text << file.rdbuf();
  return json::parse(text.str()).as_array();
}

std::vector<TokenId> AnswerGreedily(engine::Engine& backend, const std::vector<TokenId>& prompt, size_t limit,
                                    TokenId end) {
  auto opened = backend.Open(prompt, 0);
  EXPECT_TRUE(opened);
  std::vector<TokenId> feed(prompt.begin() + opened->cached_tokens, prompt.end());
  std::vector<TokenId> answer;
  auto position = opened->cached_tokens;
  while (answer.size() < limit && (answer.empty() || answer.back() != end)) {
    EXPECT_TRUE(backend.Reserve(opened->sequence, position + static_cast<int32_t>(feed.size())));
    engine::OutputSpec output{.token_index = static_cast<int32_t>(feed.size()) - 1};
    output.sampling.temperature = 0.0f;
    const auto step = backend.ExecuteUnifiedBatch(
        {.items = {{.sequence = opened->sequence, .tokens = feed, .first_position = position, .outputs = {output}}}});
    if (!step) {
      ADD_FAILURE() << step.error().message;
      break;
    }
    position += static_cast<int32_t>(feed.size());
    answer.push_back(step->items[0][0].token);
    feed = {answer.back()};
  }
  EXPECT_TRUE(backend.Close(opened->sequence));
  return answer;
}

TEST_F(EmbeddedModel, PromptsAreRenderedAndTokenisedAsTransformersDoes) {
  const auto code = source->metadata().Get<std::string>("tokenizer.chat_template");
  ASSERT_TRUE(code);
  const auto chat = text::ChatTemplate::Compile(*code);
  ASSERT_TRUE(chat) << chat.error().message;
  for (const json::value& row : GreedyGolden()) {
    json::array messages;
    if (row.at("system").is_string()) messages.push_back({{"role", "system"}, {"content", row.at("system")}});
    messages.push_back({{"role", "user"}, {"content", row.at("user")}});
    const auto spans = chat->Render({{"messages", messages}, {"add_generation_prompt", true}});
    ASSERT_TRUE(spans) << spans.error().message;
    EXPECT_EQ(tokenizer->Encode(*spans), Ids(row.at("prompt"))) << row.at("user");
  }
}

TEST_P(EmbeddedModel, GreedyAnswersEqualTransformers) {
  const auto engine = Load(GetParam(), source);
  ASSERT_TRUE(engine->backend);
  const TokenId end = tokenizer->Find("<|im_end|>").value();
  const json::array rows = GreedyGolden();
  ASSERT_EQ(rows.size(), 50u);
  for (const json::value& row : rows) {
    const auto expected = Ids(row.at("answer"));
    const auto answer = AnswerGreedily(*engine->backend, Ids(row.at("prompt")), expected.size(), end);
    EXPECT_EQ(answer, expected) << row.at("user") << ": " << tokenizer->Decode(answer);
    EXPECT_EQ(tokenizer->Decode(answer), std::string(row.at("text").as_string())) << row.at("user");
  }
}

void EmbeddedModel::ExpectLogitsOfTransformers(const std::shared_ptr<const model::ModelSource>& weights, double bound) {
  const auto file = formats::GgufFile::Open(kRoot + "/tests/data/tiny/logits.golden.gguf");
  ASSERT_TRUE(file) << file.error().message;
  std::vector<TokenId> tokens((*file)->FindTensor("tokens")->elements());
  std::memcpy(tokens.data(), (*file)->FindTensor("tokens")->data.data(), tokens.size() * sizeof(TokenId));
  const auto* golden = (*file)->FindTensor("logits");
  const auto* expected = reinterpret_cast<const float*>(golden->data.data());

  const auto engine = Load(GetParam(), weights);
  ASSERT_TRUE(engine->backend);
  const auto opened = engine->backend->Open(tokens, 0);
  ASSERT_TRUE(opened);
  ASSERT_TRUE(engine->backend->Reserve(opened->sequence, static_cast<int32_t>(tokens.size())));
  engine::BatchItem item{.sequence = opened->sequence, .tokens = tokens};
  for (int32_t i = 0; i < static_cast<int32_t>(tokens.size()); ++i) {
    item.outputs.push_back({.token_index = i, .kind = engine::OutputSpec::Kind::kLogits});
  }
  const auto step = engine->backend->ExecuteUnifiedBatch({.items = {item}});
  ASSERT_TRUE(step) << step.error().message;
  const size_t vocab = golden->dims[0];
  for (size_t position = 0; position < tokens.size(); ++position) {
    const auto& logits = step->items[0][position].logits;
    double difference = 0.0, norm = 0.0;
    for (size_t i = 0; i < vocab; ++i) {
      const double want = expected[position * vocab + i];
      difference += (logits[i] - want) * (logits[i] - want);
      norm += want * want;
    }
    EXPECT_LT(std::sqrt(difference / norm), bound) << "position " << position;
  }
}

TEST_P(EmbeddedModel, LogitsEqualTransformers) {
  ASSERT_NE(widened, nullptr);
  ExpectLogitsOfTransformers(widened, kBound);
}

TEST_P(EmbeddedModel, LogitsOfTheFileAsItIsAreNearlyThose) {
  ExpectLogitsOfTransformers(source, GetParam().target == Target::kCpu ? kBf16Bound : kBound);
}

// Every native engine of this build, and for the CPU every instruction set.
std::vector<Setting> Settings() {
  ThreadPool pool(1);
  std::vector<Setting> out;
  for (const EngineEntry& entry : BuiltInEngines(pool)) {
    const bool native = entry.provider == Provider::kNative && entry.make;
    if (native && entry.target != Target::kCpu) out.push_back({entry.target, CpuIsa::kScalar});
  }
  for (const CpuIsa isa : testing::RunnableIsas()) out.push_back({Target::kCpu, isa});
  return out;
}

INSTANTIATE_TEST_SUITE_P(Backends, EmbeddedModel, ::testing::ValuesIn(Settings()), [](const auto& info) {
  std::string name(Traits(info.param.target).name);
  if (info.param.target == Target::kCpu) name += "_" + std::string(CpuIsaName(info.param.isa));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace inferflux::serving
