// Any text as the recipe of a model. What is read is written to a text that reads the same, and its file is beside it.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cpu_limit.h"
#include "serving/models/model_recipe.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const inferflux::fuzz::CpuLimit limit;
  using namespace inferflux::serving;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto recipe = ParseRecipe(text, "/tmp/a.inferflux.json");
  if (!recipe) {
    if (recipe.error().message.empty()) std::abort();
    return 0;
  }
  const std::string written = RecipeJson(*recipe);
  const auto again = ParseRecipe(written, "/tmp/a.inferflux.json");
  if (!again || RecipeJson(*again) != written) std::abort();
  const auto base = BaseOf("/tmp/a.inferflux.json", *recipe);
  if (base && base->find("/tmp/") != 0) std::abort();
  return 0;
}
