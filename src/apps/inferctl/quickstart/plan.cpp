#include "apps/inferctl/quickstart/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "model/families/family.h"
#include "model/loading/model_source.h"
#include "serving/backends/backend_table.h"
#include "serving/backends/gpu_layers.h"
#include "serving/models/load_model.h"

namespace inferflux::apps {
namespace {

constexpr int64_t kLeastKv = 64 * kMiB;
constexpr int32_t kWorthwhileSequences = 8;  // of full length: below that, smaller KV types are better
constexpr int64_t kMostContext = 8192;       // of such sequences

int64_t MemoryOn(const serving::EngineEntry& engine, const QuickstartModel& model) {
  return serving::MemoryFor(model.weight_bytes - (engine.weight_layouts.fp8 ? model.fp8_saves : 0) -
                            (engine.weight_layouts.affine ? model.affine_saves : 0) -
                            (engine.weight_layouts.ordered ? model.ordered_saves : 0));
}

double GiB(int64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(1024 * kMiB); }

std::string WhyNotOn(const serving::Candidate& candidate, const QuickstartModel& model) {
  if (candidate.engine == nullptr) return candidate.reason;
  const serving::BackendRow* row = serving::FindBackendRow(candidate.target, candidate.provider);
  if (model.format == "huggingface" && row != nullptr && !row->facts.huggingface) {
    return "it reads GGUF files, and this is a directory: inferflux-convert makes one of it";
  }
  return candidate.provider == serving::Provider::kNative ? model.native_error : "";
}

// "cpu, llama_cpp_cpu, mlx".
std::string WordsHere(std::span<const serving::EngineEntry> engines) {
  std::vector<std::string> words;
  for (const serving::EngineEntry& engine : engines) {
    if (!engine.make || engine.target == serving::Target::kReference) continue;
    const std::string name(serving::Traits(engine.target).name);
    words.push_back(engine.provider == serving::Provider::kNative ? name : "llama_cpp_" + name);
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string KvType(const serving::BackendRow& row, const QuickstartModel& model, int64_t budget) {
  const bool int8 = std::ranges::find(row.kv_dtypes, "int8") != row.kv_dtypes.end();
  const int64_t wanted = std::min<int64_t>(model.context, kMostContext) * kWorthwhileSequences;
  return int8 && model.kv_token_values * 2 * wanted > budget ? "int8" : "fp16";
}

}  // namespace

Result<QuickstartModel> ReadQuickstartModel(const std::string& path) {
  const auto source = model::ModelSource::Open(path);
  if (!source) return Forward(source);
  QuickstartModel out{.path = path, .format = (*source)->format(), .weight_bytes = (*source)->WeightBytes()};
  out.fp8_saves = out.weight_bytes - (*source)->WeightBytes({.fp8 = true});
  out.affine_saves = out.weight_bytes - (*source)->WeightBytes({.affine = true});
  out.ordered_saves = out.weight_bytes - (*source)->WeightBytes({.ordered = true});
  const auto config = model::ReadModelConfig(**source);
  if (!config) {
    out.native_error = config.error().message;
    return out;
  }
  out.layers = config->layers;
  out.context = config->context;
  for (const compute::KvGeometry& layer : KvLayers(*config)) {
    if (config->causal) out.kv_token_values += int64_t{layer.heads} * (layer.first_row() + layer.second_row());
  }
  return out;
}

Result<QuickstartPlan> MakePlan(const std::string& word, std::span<const serving::EngineEntry> engines,
                                const QuickstartModel& model) {
  const auto hint = serving::ParseTarget(word);
  if (!hint) return Forward(hint);
  const std::string backend = serving::HintName(*hint);
  const serving::BackendFactory factory({engines.begin(), engines.end()}, {});
  const auto candidates = factory.Candidates(backend);
  if (!candidates) return Forward(candidates);

  std::vector<serving::BackendAttempt> refused;
  for (const serving::Candidate& candidate : *candidates) {
    const std::string reason = WhyNotOn(candidate, model);
    if (!reason.empty()) {
      refused.push_back({.backend = std::string(serving::Traits(candidate.target).name),
                         .provider = std::string(serving::ProviderName(candidate.provider)),
                         .reason = reason});
      continue;
    }
    QuickstartPlan plan{.backend = backend, .target = candidate.target, .provider = candidate.provider};
    const auto devices = candidate.engine->devices();
    if (!devices.empty()) plan.device = devices.front();
    const int64_t free = plan.device.free_bytes;
    if (serving::SplitsLayers(*candidate.engine)) {
      plan.gpu_layers = serving::GpuLayersThatFit(model.weight_bytes, model.layers, free);
      return plan;
    }
    if (free == 0) return plan;
    const int64_t needed = MemoryOn(*candidate.engine, model), left = free - needed;
    if (left < kLeastKv) {
      return Fail(ErrorCode::kResourceExhausted,
                  "{} needs about {:.1f} GiB, and {:.1f} GiB are free on {}: free some, or take a smaller model or "
                  "quantisation (inferflux-quantize makes one)",
                  model.path, GiB(needed + kLeastKv), GiB(free), plan.device.name);
    }
    plan.kv_budget = left / 2 / kMiB * kMiB;
    plan.kv_dtype = KvType(*serving::FindBackendRow(candidate.target, candidate.provider), model, plan.kv_budget);
    return plan;
  }
  return Fail(ErrorCode::kUnsupported, "--backend {} cannot serve {} here: {}; what this build has here: {}", word,
              model.path, serving::JoinReasons(refused), WordsHere(engines));
}

}  // namespace inferflux::apps
