#include "serving/models/load_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "engine/native/kv_budget.h"
#include "metrics/model_metrics.h"
#include "scheduler/scheduler_thread.h"
#include "serving/backends/backend_table.h"
#include "serving/backends/device_choice.h"
#include "serving/backends/gpu_layers.h"
#include "serving/models/load_text.h"
#include "serving/models/model_fingerprint.h"
#include "serving/models/model_recipe.h"
#include "text/grammar/grammar_compiler.h"

namespace inferflux::serving {
namespace {

// Whether both models have the same vocabulary: draft tokens are passed as ids.
Status CheckSameTokens(const text::Tokenizer& model, const text::Tokenizer& draft) {
  if (draft.size() != model.size()) {
    return Fail(ErrorCode::kInvalidArgument, "it has {} tokens and the model {}; a draft needs the model's own",
                draft.size(), model.size());
  }
  for (TokenId id = 0; id < model.size(); ++id) {
    if (model.Text(id) == draft.Text(id) && model.IsControl(id) == draft.IsControl(id)) continue;
    return Fail(ErrorCode::kInvalidArgument, "its token {} is '{}' and the model's '{}'; a draft needs the model's own",
                id, draft.Text(id), model.Text(id));
  }
  return {};
}

Result<std::shared_ptr<const model::ModelSource>> OpenDraft(const std::string& path, const text::Tokenizer& tokenizer) {
  auto source = model::ModelSource::Open(path);
  if (!source) return Forward(source, "the draft model");
  auto text = LoadText(**source);
  if (!text) return Forward(text, "the draft model");
  if (Status same = CheckSameTokens(tokenizer, *text->tokenizer); !same)
    return Forward(same, "the draft model " + path);
  return std::shared_ptr<const model::ModelSource>(std::move(*source));
}

// A draft model's KV is small. Sequences that do not fit in it get no draft tokens.
BackendConfig DraftConfig(BackendConfig config) {
  const int64_t budget = config.kv_budget.value_or(0);
  config.kv_budget = DraftKv(budget > 0 ? budget : engine::AvailableMemory() / 2);
  config.tensor_parallel = config.pipeline_parallel = 1;  // a small model gains nothing from more ranks
  return config;
}

scheduler::Speculation DefaultSpeculation(const LoadRequest& request) {
  using Kind = scheduler::Speculation::Kind;
  const std::string& word = request.speculation;
  const bool by_model = word == "draft" || (word == "auto" && !request.draft.empty());
  return {.kind = by_model                  ? Kind::kDraft
                  : word == "prompt_lookup" ? Kind::kPromptLookup
                                            : Kind::kNone,
          .max_tokens = request.max_draft_tokens};
}

scheduler::EngineFactory FactoryOf(const EngineMaker& make, EngineRequest engine_request) {
  return [make, engine_request = std::move(engine_request)](std::stop_token stop) {
    EngineRequest stoppable = engine_request;
    stoppable.stop = std::move(stop);
    return make(stoppable);
  };
}

std::shared_ptr<scheduler::SchedulerThread> StartLoop(const EngineMaker& make, EngineRequest engine_request,
                                                      const std::shared_ptr<const model::ModelSource>& draft,
                                                      const LoadRequest& request,
                                                      std::shared_ptr<const text::Tokenizer> tokenizer) {
  scheduler::SchedulerOptions options;
  options.policy.goal = request.goal;
  options.sessions = request.sessions;
  options.sessions.model = ModelFingerprint(*engine_request.source);
  options.policy.speculation = DefaultSpeculation(request);
  if (draft) {
    options.draft = FactoryOf(make, {.source = draft, .config = DraftConfig(engine_request.config)});
  }
  options.model_files = {engine_request.source->path()};
  if (draft) options.model_files.push_back(draft->path());
  options.policy.max_batch_tokens = request.max_batch_tokens;
  options.policy.max_running = request.max_running;
  if (request.max_queued > 0) options.max_queued = request.max_queued;
  scheduler::MetricsFactory metrics;
  if (request.metrics != nullptr) {
    metrics = [registry = request.metrics, id = request.id](const engine::EngineInfo& info) {
      return metrics::ModelMetrics(*registry, id, info.backend);
    };
  }
  return std::make_shared<scheduler::SchedulerThread>(FactoryOf(make, std::move(engine_request)), std::move(tokenizer),
                                                      std::move(options), std::move(metrics));
}

int32_t Dimensions(const engine::EngineInfo& engine) {
  if (!engine.pooling.type || engine.pooling.scores()) return 0;
  return engine.head_outputs > 0 ? engine.head_outputs : engine.hidden;
}

ModelInfo Describe(const model::ModelSource& source, const engine::EngineInfo& engine) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {.path = source.path(),
          .format = source.format(),
          .architecture = source.metadata().GetOr<std::string>("general.architecture", "").value_or(""),
          .quantization = source.commonest_type(),
          .parameters = source.parameters(),
          .context = engine.context,
          .vocab_size = engine.vocab_size,
          .kv_dtype = engine.kv_dtype,
          .kv_tokens = engine.kv_tokens,
          .embedding = {.dimensions = Dimensions(engine),
                        .shorter = engine.pooling.lengths,
                        .normalised = engine.pooling.normalise},
          .memory = engine.memory,
          .notes = engine.notes,
          .created = std::chrono::duration_cast<std::chrono::seconds>(now).count()};
}

// The settings with which the engine is tried, with the layers on a GPU chosen.
BackendConfig ConfigOn(const EngineEntry& engine, const model::ModelSource& source, const LoadRequest& request) {
  BackendConfig out = ConfigFor(request.config, request.rules, request.shared, engine.target, engine.provider);
  ChooseGpuLayers(engine, source, out);
  return out;
}

// Asks for the memory that the model needs on this engine, and sets its KV budget.
Status Reserve(const EngineEntry& engine, const model::ModelSource& source, const model::ModelSource* draft,
               const LoadRequest& request, BackendConfig& config) {
  if (!request.reserve) return {};
  const auto kv_bytes = request.reserve(NeedOf(engine, config, source, draft));
  if (!kv_bytes) return Forward(kv_bytes);
  if (*kv_bytes > 0) config.kv_budget = *kv_bytes;
  return {};
}

// A running scheduler with its engine, or the reason why this engine does not serve the model.
Result<StartedEngine> TryEngine(const EngineEntry& engine, EngineRequest engine_request,
                                const std::shared_ptr<const model::ModelSource>& draft, const LoadRequest& request,
                                std::shared_ptr<const text::Tokenizer> tokenizer) {
  const auto device = ChooseDevice(engine, engine_request.config.device.value_or(""));
  if (!device) return Forward(device);
  // A worker process may number its devices otherwise.
  const auto devices = engine.devices && *device >= 0 ? engine.devices() : std::vector<compute::Device>();
  engine_request.config.device = StableDeviceWord(devices, *device);
  if (request.start) return request.start(engine, engine_request, request);
  auto loop = StartLoop(engine.make, std::move(engine_request), draft, request, std::move(tokenizer));
  const std::stop_callback call_off(request.stop, [&] { loop->Stop(); });
  if (Status ready = loop->ready().get(); !ready) return Forward(ready);
  return StartedEngine{.scheduler = loop, .info = loop->engine_info()};
}

// What the engine reports about the model.
void DescribeEngine(const engine::EngineInfo& engine, const model::ModelSource& source, const LoadRequest& request,
                    ServedModel& served) {
  served.info = Describe(source, engine);
  served.engine = engine;
  served.info.draft = request.draft;
  served.capabilities = CapabilitiesOf(engine, served.chat_template != nullptr);
}

// Settings that this engine does not read and that were not set for exactly this engine.
void NoteUnusedSettings(const EngineEntry& engine, const LoadRequest& request, ServedModel& served) {
  const BackendConfig set =
      ConfigFor(request.config, request.rules, request.shared_changes, engine.target, engine.provider);
  for (const std::string_view name : UnusedSettings(set, {engine.target, engine.provider})) {
    std::string note = fmt::format("the setting {} has no effect: {} ({}) cannot use it", name,
                                   Traits(engine.target).name, ProviderName(engine.provider));
    log::Warning("{}: {}", served.id, note);
    served.info.notes.push_back(std::move(note));
  }
}

// A limit that the engine has anyway.
void NoteLimit(const LoadRequest& request, ServedModel& served) {
  if (request.max_running <= served.engine.max_sequences) return;
  std::string note = fmt::format("{} requests run at once, not the {} of runtime.max_running: its engine has no more",
                                 served.engine.max_sequences, request.max_running);
  log::Warning("{}: {}", served.id, note);
  served.info.notes.push_back(std::move(note));
}

void LogReady(const ServedModel& served, const engine::EngineInfo& engine, std::chrono::duration<double> took) {
  for (const std::string& note : engine.notes) log::Info("{}: {}", served.id, note);
  for (const std::string& line : engine.plan) log::Debug("{}: {}", served.id, line);
  log::Info("{} is ready on {} ({}) after {:.2f} s: {}, {} weights, {} parameters, context {}, {} tokens of {} KV",
            served.id, served.exposure.exposed_backend, served.exposure.provider, took.count(),
            served.info.architecture, served.info.quantization, served.info.parameters, engine.context,
            engine.kv_tokens, engine.kv_dtype);
}

// Whether the model at the path has the configured format.
Status CheckFormat(const model::ModelSource& source, const std::string& wanted) {
  if (wanted.empty() || wanted == "auto" || wanted == source.format()) return {};
  return Fail(ErrorCode::kInvalidArgument, "{} is of the format '{}', and its settings say '{}'", source.path(),
              source.format(), wanted);
}

// The distinct targets of the candidates, in order.
std::vector<std::string> TargetNames(std::span<const Candidate> candidates) {
  std::vector<std::string> out;
  for (const Candidate& candidate : candidates) {
    std::string name(Traits(candidate.target).name);
    if (std::ranges::find(out, name) == out.end()) out.push_back(std::move(name));
  }
  return out;
}

// How to add the engines that this build lacks, where one of those that it has does not support the model.
std::string HowToAdd(std::span<const Candidate> candidates, const model::ModelSource& source) {
  std::vector<std::string_view> words;
  for (const Candidate& candidate : candidates) {
    const BackendRow* row = FindBackendRow(candidate.target, candidate.provider);
    const bool reads = row != nullptr && (row->facts.huggingface || source.format() == "gguf");
    if (candidate.skip == Skip::kAbsent && reads && !row->run_word.empty()) words.push_back(row->run_word);
  }
  if (words.empty()) return {};
  return fmt::format("; an engine that this build lacks may run it: './run --with {}' adds it", fmt::join(words, ","));
}

}  // namespace

std::string JoinReasons(std::span<const BackendAttempt> attempts) {
  std::string out;
  for (const BackendAttempt& attempt : attempts) {
    out += (out.empty() ? "" : "; ") + attempt.backend + " (" + attempt.provider + "): " + attempt.reason;
  }
  return out;
}

namespace {

// Loads the model of a file or directory; `recipe`: what it is changed by; null: nothing.
Result<std::shared_ptr<const ServedModel>> LoadFile(const BackendFactory& factory, const LoadRequest& request,
                                                    const std::shared_ptr<const ModelRecipe>& recipe,
                                                    const std::string& shown_path) {
  const auto began = std::chrono::steady_clock::now();
  auto source = model::ModelSource::Open(request.path);
  if (!source) return Forward(source);
  if (Status expected = CheckFormat(**source, request.format); !expected) return Forward(expected);
  auto text = LoadText(**source);
  if (!text) return Forward(text);
  if (recipe && !recipe->chat_template.empty()) {
    auto compiled = text::ChatTemplate::Compile(recipe->chat_template);
    if (!compiled) return Forward(compiled, shown_path + ": its template");
    text->chat_template = std::make_shared<const text::ChatTemplate>(std::move(*compiled));
  }

  std::shared_ptr<const model::ModelSource> draft;
  if (!request.draft.empty()) {
    auto opened = OpenDraft(request.draft, *text->tokenizer);
    if (!opened) return Forward(opened);
    draft = std::move(*opened);
  } else if (request.speculation == "draft") {
    return Fail(ErrorCode::kInvalidArgument,
                "runtime.speculation is 'draft', but the model '{}' has no draft; set models.draft", request.id);
  }

  const auto chain = ParseChain(request.requested_backend);
  if (!chain) return Forward(chain);
  if (chain->size() == 1) {
    if (Status usable = CheckSettings(request.config, chain->front()); !usable) return Forward(usable);
  }
  auto candidates = factory.Candidates(request.requested_backend);
  if (!candidates) return Forward(candidates);

  auto served = std::make_shared<ServedModel>();
  served->id = request.id;
  served->recipe = recipe;
  if (request.metrics != nullptr) served->metric_series = request.metrics->Hold("model", request.id);
  served->tokenizer = text->tokenizer;
  served->grammars = std::make_shared<text::GrammarCompiler>(text->tokenizer);
  served->chat_template = text->chat_template;
  served->rerank_template = text->rerank_template;
  served->pair_separators = text->pair_separators;
  if (served->chat_template) {
    served->tool_calls = text::ToolCallDialectOf(*served->chat_template, *served->tokenizer);
    served->reasoning = text::ReasoningDialectOf(*served->chat_template, *served->tokenizer);
  }
  BackendExposure& exposure = served->exposure;
  exposure.requested_backend = request.requested_backend;
  exposure.normalised_request = ChainName(*chain);
  exposure.chain = TargetNames(*candidates);

  std::vector<BackendAttempt> missed;   // preferred to the engine that runs
  std::vector<BackendAttempt> refused;  // reasons on which a user can act
  bool unsupported = std::ranges::none_of(*candidates, [](const Candidate& each) { return each.engine != nullptr; });
  for (const Candidate& candidate : *candidates) {
    BackendAttempt attempt{.backend = std::string(Traits(candidate.target).name),
                           .provider = std::string(ProviderName(candidate.provider)),
                           .outcome = "skipped",
                           .reason = candidate.reason};
    if (candidate.engine != nullptr) {
      if (request.progress) request.progress->Try(attempt.backend, attempt.provider, *source);
      BackendConfig config = ConfigOn(*candidate.engine, **source, request);
      if (Status room = Reserve(*candidate.engine, **source, draft.get(), request, config); !room) return Forward(room);
      auto started = TryEngine(*candidate.engine,
                               {.source = *source,
                                .context = request.context,
                                .config = std::move(config),
                                .stop = {},
                                .rank_job = request.rank_job},
                               draft, request, text->tokenizer);
      attempt.outcome = started ? "loaded" : "failed";
      if (started) {
        attempt.workers = started->workers;
        if (!started->workers.empty()) served->grammars.reset();
        exposure.fallback = !missed.empty();
        exposure.fallback_reason = JoinReasons(missed);
        exposure.exposed_backend = attempt.backend;
        exposure.provider = attempt.provider;
        exposure.attempts.push_back(std::move(attempt));
        DescribeEngine(started->info, **source, request, *served);
        if (recipe) served->info.path = shown_path;
        NoteUnusedSettings(*candidate.engine, request, *served);
        NoteLimit(request, *served);
        LogReady(*served, started->info, std::chrono::steady_clock::now() - began);
        served->scheduler = std::move(started->scheduler);
        return std::shared_ptr<const ServedModel>(std::move(served));
      }
      if (started.error().code == ErrorCode::kCancelled) return Forward(started);
      attempt.reason = started.error().message;
      unsupported = unsupported || started.error().code == ErrorCode::kUnsupported;
    }
    const bool unnamed = candidate.skip == Skip::kUnnamed;
    log::Write(unnamed ? log::Level::kDebug : log::Level::kWarning,
               fmt::format("{}: not on {} ({}): {}", request.id, attempt.backend, attempt.provider, attempt.reason));
    if (!unnamed) refused.push_back(attempt);
    if (!unnamed && candidate.skip != Skip::kForbidden) missed.push_back(attempt);
    exposure.attempts.push_back(std::move(attempt));
  }
  return Fail(ErrorCode::kUnsupported, "no backend could load {}: {}{}", request.path,
              JoinReasons(refused.empty() ? exposure.attempts : refused),
              unsupported ? HowToAdd(*candidates, **source) : "");
}

}  // namespace

Result<std::shared_ptr<const ServedModel>> LoadModel(const BackendFactory& factory, const LoadRequest& request) {
  if (!IsRecipe(request.path)) return LoadFile(factory, request, nullptr, request.path);
  auto recipe = ReadRecipe(request.path);
  if (!recipe) return Forward(recipe);
  auto base = BaseOf(request.path, *recipe);
  if (!base) return Forward(base);
  LoadRequest of_base = request;
  of_base.path = std::move(*base);
  // The server's own limit holds also for recipes.
  if (recipe->context > 0) {
    of_base.context = request.context > 0 ? std::min(request.context, recipe->context) : recipe->context;
  }
  return LoadFile(factory, of_base, std::make_shared<const ModelRecipe>(std::move(*recipe)), request.path);
}

}  // namespace inferflux::serving
