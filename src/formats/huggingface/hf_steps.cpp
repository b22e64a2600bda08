#include "formats/huggingface/hf_steps.h"

#include <algorithm>
#include <string>

namespace inferflux::formats {
namespace {

constexpr int kMaxDepth = 4;

Status CollectSteps(const JsonObject& step, std::string_view list_key, std::vector<JsonObject>& steps, int depth) {
  const auto type = step.GetOr<std::string>("type", "");
  if (!type) return Forward(type);
  if (*type != "Sequence" || depth == kMaxDepth) {
    steps.push_back(step);
    return {};
  }
  const auto parts = step.Get<std::vector<JsonObject>>(list_key);
  if (!parts) return Forward(parts);
  for (const JsonObject& part : *parts) {
    if (auto collected = CollectSteps(part, list_key, steps, depth + 1); !collected) return collected;
  }
  return {};
}

}  // namespace

Result<std::vector<JsonObject>> ReadHfSteps(const JsonObject& tokenizer, std::string_view key,
                                            std::string_view list_key) {
  std::vector<JsonObject> steps;
  const auto found = tokenizer.Find<JsonObject>(key);
  if (!found) return Forward(found);
  if (*found) {
    if (auto collected = CollectSteps(**found, list_key, steps, 0); !collected) return Forward(collected);
  }
  return steps;
}

bool HasHfStep(const std::vector<JsonObject>& steps, std::string_view type) {
  return std::any_of(steps.begin(), steps.end(),
                     [&](const JsonObject& step) { return step.GetOr<std::string>("type", "") == std::string(type); });
}

}  // namespace inferflux::formats
