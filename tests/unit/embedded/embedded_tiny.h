// The bundled model, loaded into this process by the public headers.
#pragma once

#include <gtest/gtest.h>
#include <inferflux/engine.h>

#include <optional>
#include <string>

namespace inferflux::embedded::testing {

inline std::string TinyPath() { return std::string(INFERFLUX_SOURCE_DIR) + "/models/tiny/inferflux-tiny.gguf"; }

inline LoadOptions SmallLoad() { return {.threads = 2, .backend = "cpu", .kv_budget = 64 << 20}; }

class WithTiny : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto loaded = Engine::Load(TinyPath(), SmallLoad());
    ASSERT_TRUE(loaded) << loaded.error().message;
    engine.emplace(std::move(*loaded));
  }
  static void TearDownTestSuite() { engine.reset(); }

  static inline std::optional<Engine> engine;
};

inline GenerateOptions Greedy(int64_t max_tokens = 32) {
  return {.sampling = {.max_tokens = max_tokens, .temperature = 0.0}};
}

}  // namespace inferflux::embedded::testing
