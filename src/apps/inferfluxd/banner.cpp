#include "apps/inferfluxd/banner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace inferflux::apps {
namespace {

constexpr size_t kMaxModelLines = 8;

std::string Line(const char* name, const std::string& value) { return fmt::format("  {:8} {}\n", name, value); }

std::string Describe(const BannerModel& model, bool one_of_many) {
  return fmt::format("{} on {} ({}), {}, context {}{}", model.id, model.backend, model.provider, model.weights,
                     model.context, one_of_many && model.is_default ? ", the default" : "");
}

}  // namespace

Banner BannerOf(const serving::ModelPool& pool, std::string url, bool page, bool needs_key) {
  Banner out{.url = std::move(url), .page = page, .needs_key = needs_key};
  const std::string chosen = pool.registry().default_id();
  for (const auto& model : pool.List()) {
    out.models.push_back({.id = model->id,
                          .backend = model->exposure.exposed_backend,
                          .provider = model->exposure.provider,
                          .weights = model->info.quantization,
                          .context = model->info.context,
                          .is_default = model->id == chosen});
  }
  std::ranges::stable_partition(out.models, [](const BannerModel& model) { return model.is_default; });
  for (const auto& model : pool.Unloaded()) {
    if (model.state == serving::UnloadedModel::State::kUnloaded) ++out.loadable;
  }
  return out;
}

std::string BannerText(const Banner& banner) {
  std::string out = "InferFlux is ready.\n";
  out += Line("API", banner.url + "/v1 (OpenAI's and Anthropic's clients), " + banner.url + " (Ollama's)");
  if (banner.page) out += Line("page", banner.url + "/");
  const size_t shown = std::min(banner.models.size(), kMaxModelLines);
  for (size_t i = 0; i < shown; ++i) out += Line("model", Describe(banner.models[i], banner.models.size() > 1));
  if (shown < banner.models.size()) {
    out += Line("", fmt::format("and {} more; inferctl list shows all", banner.models.size() - shown));
  }
  if (banner.loadable > 0) {
    out += Line("more", fmt::format("{} {} when first used", banner.loadable,
                                    banner.loadable == 1 ? "model, which is loaded" : "models, which are loaded"));
  }
  out += Line("key", banner.needs_key ? "each request needs one: Authorization: Bearer KEY" : "none is needed");
  return out + Line("stop", "Ctrl-C");
}

std::vector<log::Field> BannerFields(const Banner& banner) {
  std::vector<log::Field> out{{"url", banner.url}};
  if (banner.page) out.push_back({"page", banner.url + "/"});
  if (!banner.models.empty()) {
    const BannerModel& first = banner.models.front();
    out.push_back({"model", first.id});
    out.push_back({"backend", first.backend});
    out.push_back({"provider", first.provider});
    out.push_back({"context", std::to_string(first.context), true});
  }
  out.push_back({"models", std::to_string(banner.models.size()), true});
  if (banner.loadable > 0) out.push_back({"loadable", std::to_string(banner.loadable), true});
  out.push_back({"needs_key", banner.needs_key ? "true" : "false", true});
  return out;
}

}  // namespace inferflux::apps
