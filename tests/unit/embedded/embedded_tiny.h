// The bundled model, loaded into this process by the public headers.
#pragma once

#include <gtest/gtest.h>
#include <inferflux/engine.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "embedded/language_model.h"
#include "embedded/loaded_model_state.h"

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
  // The same model with another part.
  static Engine With(const std::function<void(serving::ServedModel&)>& change) {
    const auto& state = *engine->state();
    auto changed = std::make_shared<serving::ServedModel>(*state.model);
    change(*changed);
    return Engine(DescribeLoaded(state.runtime, std::move(changed), state.options));
  }

  static inline std::optional<Engine> engine;
};

inline GenerateOptions Greedy(int64_t max_tokens = 32) {
  return {.sampling = {.max_tokens = max_tokens, .temperature = 0.0}};
}

}  // namespace inferflux::embedded::testing
