// Compares the table of engine features with the engines of this build.
#include "serving/backends/backend_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/thread_pool.h"
#include "compute/kv_types.h"
#include "model/loading/edited_gguf.h"
#include "serving/backends/built_in_engines.h"

namespace inferflux::serving {
namespace {

const std::string kRoot = INFERFLUX_SOURCE_DIR;
const std::string kGguf = kRoot + "/models/tiny/inferflux-tiny.gguf";

Result<std::unique_ptr<engine::Engine>> Load(const EngineEntry& entry, const std::string& path,
                                             std::optional<std::string> kv_dtype = {}) {
  auto source = model::ModelSource::Open(path);
  if (!source) return Forward(source);
  return entry.make({.source = std::move(*source), .config = {.kv_dtype = kv_dtype, .kv_budget = 16 << 20}});
}

// Includes the vocabulary's sizes, which llama.cpp requires.
std::string Encoder() {
  return model::testing::EditedModel("bert", [](formats::GgufWriter& writer) {
    writer.Set("tokenizer.ggml.model", "no_vocab");
    writer.Set("tokenizer.ggml.token_type_count", uint32_t{2});
    writer.Set("bert.vocab_size", uint32_t{64});
  });
}

// For a sequence with a few tokens.
bool Saves(engine::Engine& engine) {
  const std::vector<TokenId> tokens = {5, 6, 7};
  const auto opened = engine.Open({}, 0);
  EXPECT_TRUE(opened);
  EXPECT_TRUE(engine.Reserve(opened->sequence, 3));
  EXPECT_TRUE(engine.ExecuteUnifiedBatch({{{.sequence = opened->sequence, .tokens = tokens, .outputs = {{}}}}}));
  const auto saved = engine.Save(opened->sequence);
  EXPECT_TRUE(saved || saved.error().code == ErrorCode::kUnsupported);
  EXPECT_TRUE(engine.Close(opened->sequence));
  return saved.has_value();
}

TEST(BackendTable, EveryEngineIsInItOnce) {
  ThreadPool pool(1);
  for (const EngineEntry& entry : BuiltInEngines(pool)) {
    ASSERT_NE(FindBackendRow(entry.target, entry.provider), nullptr)
        << Traits(entry.target).name << ", " << ProviderName(entry.provider);
    EXPECT_TRUE(!entry.make || !entry.devices().empty()) << Traits(entry.target).name;
  }
  std::set<std::pair<Target, Provider>> seen;
  for (const BackendRow& row : BackendTable()) {
    EXPECT_TRUE(seen.insert({row.target, row.provider}).second) << Traits(row.target).name;
    EXPECT_FALSE(row.switched_on_by.empty());
    EXPECT_EQ(row.written, !row.kv_dtypes.empty());
  }
}

TEST(BackendTable, SaysWhatTheEnginesOfThisBuildDo) {
  ThreadPool pool(1);
  for (const EngineEntry& entry : BuiltInEngines(pool)) {
    if (!entry.make) continue;
    const BackendRow& row = *FindBackendRow(entry.target, entry.provider);
    SCOPED_TRACE(std::string(Traits(row.target).name) + ", " + std::string(ProviderName(row.provider)));
    compute::ForEachKvType([&](auto type) {
      const bool listed = std::ranges::find(row.kv_dtypes, type.kName) != row.kv_dtypes.end();
      const auto loaded = Load(entry, kGguf, type.kName);
      EXPECT_EQ(loaded.has_value(), listed) << type.kName << (loaded ? "" : ": " + loaded.error().message);
    });
    const auto engine = Load(entry, kGguf);
    ASSERT_TRUE(engine) << engine.error().message;
    const engine::EngineInfo& info = (*engine)->info();
    EXPECT_EQ(info.capabilities.batch_invariant, row.facts.batch_invariant);
    EXPECT_EQ(info.hidden > 0 && info.capabilities.embeddings, row.facts.embeddings);
    EXPECT_EQ(info.capabilities.kv_save_restore, row.facts.sessions);
    EXPECT_EQ(Saves(**engine), row.facts.sessions);
    const auto directory = Load(entry, kRoot + "/tests/data/models/llama3-hf");
    EXPECT_EQ(directory.has_value(), row.facts.huggingface) << (directory ? "" : directory.error().message);
    const auto encoder = Load(entry, Encoder());
    EXPECT_EQ(encoder && !(*encoder)->info().causal, row.facts.encoders) << (encoder ? "" : encoder.error().message);
  }
}

}  // namespace
}  // namespace inferflux::serving
