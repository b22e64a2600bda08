#include "embedded/load_request.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "compute/kv_types.h"
#include "serving/backends/backend_rules.h"
#include "serving/backends/target.h"

namespace inferflux::embedded {
namespace {

constexpr int64_t kMaxTokens = 1 << 30;
constexpr int64_t kMaxLayers = 1 << 20;

Status InRange(std::string_view name, const std::optional<int64_t>& value, int64_t low, int64_t high) {
  if (!value || (*value >= low && *value <= high)) return {};
  return FailAt(name, Error::kNoPosition, "{} is {}; it must be from {} to {}", name, *value, low, high);
}

Status CheckKvDtype(const std::optional<std::string>& asked) {
  if (!asked) return {};
  std::vector<std::string_view> known;
  compute::ForEachKvType([&](auto type) { known.push_back(decltype(type)::kName); });
  if (std::ranges::find(known, *asked) != known.end()) return {};
  return FailAt("kv_dtype", Error::kNoPosition, "kv_dtype is '{}'; it must be one of {}", *asked,
                fmt::join(known, ", "));
}

// The backends of the chain, and that one that is named alone can use what is set for it.
Status CheckBackend(const std::string& backend, const config::BackendConfig& config) {
  auto chain = serving::ParseChain(backend);
  const auto usable =
      chain && chain->size() == 1 ? serving::CheckSettings(config, chain->front()) : inferflux::Status();
  if (chain && usable) return {};
  return FailAt("backend", Error::kNoPosition, "{}", chain ? usable.error().message : chain.error().message);
}

}  // namespace

Result<serving::LoadRequest> ToLoadRequest(std::string id, std::string path, const LoadOptions& options) {
  for (const auto& checked :
       {InRange("context", options.context, 1, kMaxTokens), InRange("batch", options.batch, 1, kMaxTokens),
        InRange("gpu_layers", options.gpu_layers, -1, kMaxLayers),
        InRange("kv_budget", options.kv_budget, 0, std::numeric_limits<int64_t>::max()),
        CheckKvDtype(options.kv_dtype)}) {
    if (!checked) return tl::make_unexpected(checked.error());
  }
  serving::LoadRequest out{.id = std::move(id), .path = std::move(path)};
  out.requested_backend = options.backend;
  out.context = static_cast<int32_t>(options.context.value_or(0));
  out.max_batch_tokens = static_cast<int32_t>(options.batch.value_or(0));
  out.config.kv_dtype = options.kv_dtype;
  out.config.kv_budget = options.kv_budget;
  if (options.gpu_layers) out.config.gpu_layers = static_cast<int32_t>(*options.gpu_layers);
  out.draft = options.draft;
  if (auto usable = CheckBackend(options.backend, out.config); !usable) return Forward(usable);
  return out;
}

Status CheckSameLoad(const std::string& name, const LoadOptions& asked, const LoadOptions& loaded) {
  const auto differs = [&](std::string_view option) {
    return FailAt(option, Error::kNoPosition,
                  "the model '{}' is loaded with another {}; unload it first, or leave the option out", name, option);
  };
  const auto contradicts = [](const auto& a, const auto& b) { return a && a != b; };
  if (contradicts(asked.context, loaded.context)) return differs("context");
  if (contradicts(asked.batch, loaded.batch)) return differs("batch");
  if (contradicts(asked.gpu_layers, loaded.gpu_layers)) return differs("gpu_layers");
  if (contradicts(asked.kv_dtype, loaded.kv_dtype)) return differs("kv_dtype");
  if (contradicts(asked.kv_budget, loaded.kv_budget)) return differs("kv_budget");
  if (asked.backend != LoadOptions().backend && asked.backend != loaded.backend) return differs("backend");
  if (!asked.draft.empty() && asked.draft != loaded.draft) return differs("draft");
  return {};
}

Error OfLoad(const inferflux::Error& error) { return dspy::FromEngine(Stage::kLoad, error); }

}  // namespace inferflux::embedded
