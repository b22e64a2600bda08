#include "apps/inferctl/quickstart/server_yaml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>

#include "config/model_setting.h"
#include "serving/backends/backend_table.h"

namespace inferflux::apps {
namespace {

// Any text as a YAML scalar: JSON strings are valid YAML.
std::string Quoted(const std::string& text) { return boost::json::serialize(boost::json::string(text)); }

std::string Line(const std::string& setting, const std::string& why) {
  return fmt::format("{:<28} # {}\n", setting, why);
}

std::string Models(const std::string& serves) {
  if (serves.empty()) {
    return "# Without a list of models the one that ships is served.\n"
           "# models:\n"
           "# - path: model.gguf        # a GGUF file or a Hugging Face directory, relative to this file\n";
  }
  return fmt::format(
      "models:                      # the first is the default one\n"
      "- path: {}\n"
      "  id: {}\n",
      Quoted(serves), Quoted(config::ModelIdOf(serves)));
}

}  // namespace

std::string ServerYaml(const QuickstartPlan& plan, const std::string& serves) {
  const serving::BackendRow& row = *serving::FindBackendRow(plan.target, plan.provider);
  const std::string runs =
      fmt::format("{} ({})", serving::Traits(plan.target).name, serving::ProviderName(plan.provider));
  std::string out = fmt::format(
      "# Settings for this machine, by: inferctl quickstart --backend {}\n"
      "# Found: {} on {}{}.\n"
      "# config/server.yaml has every setting; inferfluxd --config THIS --print-config shows what each resolves "
      "to.\n\n",
      plan.backend, runs, plan.device.name.empty() ? "this machine" : plan.device.name,
      plan.device.free_bytes > 0
          ? fmt::format(", {:.1f} GiB of memory free", static_cast<double>(plan.device.free_bytes) / (1024.0 * kMiB))
          : "");
  out += "server:\n";
  out += Line("  host: 127.0.0.1", "this machine alone; any other address needs server.api_keys_file");
  out += Line("  port: 8080", "0 takes any free one");
  out += "\nruntime:\n";
  out += Line("  backend: " + plan.backend, fmt::format("comes to {} here", runs));
  out += Line("  threads: 0", "one a usable core");
  out += Line("  kv_dtype: " + plan.kv_dtype,
              fmt::format("of keys and values; here also {}", fmt::join(row.kv_dtypes, ", ")));
  if (plan.kv_budget > 0) {
    out += Line(fmt::format("  kv_budget: {}MiB", plan.kv_budget / kMiB), "half of what the weights leave free");
  } else {
    out += Line("  kv_budget: 0", "memory for keys and values; 0: from what is free");
  }
  if (plan.provider == serving::Provider::kLlamaCpp) {
    out += "  llama_cpp:\n";
    out += Line(fmt::format("    gpu_layers: {}", plan.gpu_layers),
                "layers on the GPU, by its free memory; -1: at each load");
  }
  out += "\n" + Models(serves);
  return out;
}

}  // namespace inferflux::apps
