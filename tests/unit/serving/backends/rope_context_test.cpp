// rope_context: whether RoPE that depends on the configured context is scaled for it, or left as trained.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/thread_pool.h"
#include "engine/engine.h"
#include "model/families/rope_scaling.h"
#include "serving/backends/built_in_engines.h"

namespace inferflux::serving {
namespace {

std::shared_ptr<const model::ModelSource> Open(const std::string& name) {
  const auto source = model::ModelSource::Open(std::string(INFERFLUX_SOURCE_DIR) + "/tests/data/models/" + name);
  EXPECT_TRUE(source) << source.error().message;
  return *source;
}

// The context of the model on the CPU.
int32_t ContextOf(const std::string& name, int32_t context, std::optional<std::string> rope_context) {
  ThreadPool pool{1};
  for (const EngineEntry& entry : BuiltInEngines(pool)) {
    if (entry.target != Target::kCpu || entry.provider != Provider::kNative) continue;
    BackendConfig config{.kv_budget = 8 << 20};
    config.rope_context = std::move(rope_context);
    const auto made = entry.make({.source = Open(name), .context = context, .config = config});
    EXPECT_TRUE(made) << made.error().message;
    return made ? (*made)->info().context : 0;
  }
  ADD_FAILURE() << "no native cpu engine";
  return 0;
}

TEST(RopeContext, OriginalLimitsTheContext) {
  EXPECT_EQ(ContextOf("phi3_long.gguf", 0, std::nullopt), 256);
  EXPECT_EQ(ContextOf("phi3_long.gguf", 0, "configured"), 256);
  EXPECT_EQ(ContextOf("phi3_long.gguf", 0, "original"), 16);
  EXPECT_EQ(ContextOf("phi3_long-hf", 100, "original"), 16);
  EXPECT_EQ(ContextOf("phi3_long-hf", 9, "original"), 9);
  EXPECT_EQ(ContextOf("llama_dynamic.gguf", 56, "configured"), 56);
  EXPECT_EQ(ContextOf("llama_dynamic.gguf", 56, "original"), 20);
  EXPECT_EQ(ContextOf("llama3.gguf", 0, "original"), 128) << "its RoPE is the same for all lengths";
}

TEST(RopeContext, TheSwitchIsTheOriginalContext) {
  const auto switch_of = [](const std::string& name) { return model::RopeSwitch(*Open(name)).value(); };
  EXPECT_EQ(switch_of("phi3_long.gguf"), 16);
  EXPECT_EQ(switch_of("phi3.gguf"), 64);
  EXPECT_EQ(switch_of("llama_dynamic.gguf"), 20);
  EXPECT_EQ(switch_of("qwen2_yarn.gguf"), std::nullopt);
  EXPECT_EQ(switch_of("llama3.gguf"), std::nullopt);
}

}  // namespace
}  // namespace inferflux::serving
