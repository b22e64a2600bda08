#include "routing/load_model.h"

#include <chrono>
#include <utility>

#include "base/log.h"
#include "metrics/model_metrics.h"
#include "routing/load_text.h"
#include "scheduler/step_loop.h"

namespace inferflux::routing {
namespace {

std::shared_ptr<scheduler::StepLoop> StartLoop(const EngineMaker& make, EngineRequest engine_request,
                                               const LoadRequest& request,
                                               std::shared_ptr<const text::Tokenizer> tokenizer) {
  scheduler::StepLoopOptions options;
  if (request.max_batch_tokens > 0) options.policy.max_batch_tokens = request.max_batch_tokens;
  if (request.max_queued > 0) options.max_queued = request.max_queued;
  scheduler::MetricsFactory metrics;
  if (request.metrics != nullptr) {
    metrics = [registry = request.metrics, id = request.id](const engine::EngineInfo& info) {
      return metrics::ModelMetrics(*registry, id, info.backend);
    };
  }
  return std::make_shared<scheduler::StepLoop>(
      [make, engine_request = std::move(engine_request)] { return make(engine_request); }, std::move(tokenizer),
      options, std::move(metrics));
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
          .embedding = {.dimensions = engine.pooling.type ? engine.hidden : 0,
                        .shorter = engine.pooling.lengths,
                        .normalised = engine.pooling.normalise},
          .created = std::chrono::duration_cast<std::chrono::seconds>(now).count()};
}

std::string Reasons(const std::vector<BackendAttempt>& attempts) {
  std::string out;
  for (const BackendAttempt& attempt : attempts) {
    if (attempt.reason.empty()) continue;
    out += (out.empty() ? "" : "; ") + attempt.backend + " (" + attempt.provider + "): " + attempt.reason;
  }
  return out;
}

}  // namespace

Result<std::shared_ptr<const ServedModel>> LoadModel(const BackendFactory& factory, const LoadRequest& request) {
  const auto began = std::chrono::steady_clock::now();
  auto source = model::ModelSource::Open(request.path);
  if (!source) return Forward(source);
  auto text = LoadText(**source);
  if (!text) return Forward(text);

  const std::vector<std::string> words =
      request.backends.empty() ? std::vector{request.requested_backend} : request.backends;
  auto candidates = factory.Candidates(words);
  if (!candidates) return Forward(candidates);

  auto served = std::make_shared<ServedModel>();
  served->id = request.id;
  served->tokenizer = text->tokenizer;
  served->chat_template = text->chat_template;
  BackendExposure& exposure = served->exposure;
  exposure.requested_backend = request.requested_backend;

  for (const Candidate& candidate : *candidates) {
    BackendAttempt attempt{.backend = std::string(Traits(candidate.target).name),
                           .provider = std::string(ProviderName(candidate.provider)),
                           .outcome = "skipped",
                           .reason = candidate.reason};
    if (candidate.engine != nullptr) {
      if (request.progress) request.progress->Try(attempt.backend, attempt.provider, *source);
      auto loop = StartLoop(
          candidate.engine->make,
          {.source = *source,
           .context = request.context,
           .kv_dtype = request.kv_dtype,
           .kv_bytes = request.kv_bytes,
           .llama = request.llama},
          request, text->tokenizer);
      const Status ready = loop->ready().get();
      attempt.outcome = ready ? "loaded" : "failed";
      if (!ready) attempt.reason = ready.error().message;
      if (ready) {
        exposure.fallback = !exposure.attempts.empty();  // somebody who was preferred did not serve
        exposure.fallback_reason = Reasons(exposure.attempts);
        exposure.exposed_backend = attempt.backend;
        exposure.provider = attempt.provider;
        exposure.attempts.push_back(std::move(attempt));
        const engine::EngineInfo& engine = loop->engine_info();
        served->info = Describe(**source, engine);
        served->capabilities.chat = engine.causal && served->chat_template != nullptr;
        served->capabilities.embeddings = served->info.embedding.dimensions > 0;
        if (!engine.causal) {
          served->capabilities.completions = served->capabilities.logprobs = served->capabilities.streaming = false;
          served->capabilities.speculative_decoding = served->capabilities.kv_prefix_copy = false;
        }
        served->capabilities.batch_invariant = engine.batch_invariant;
        for (const std::string& line : engine.plan) log::Debug("{}: {}", request.id, line);
        log::Info(
            "{} is ready on {} ({}) after {:.2f} s: {}, {} weights, {} parameters, context {}, {} tokens of {} KV",
            request.id, exposure.exposed_backend, exposure.provider,
            std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(), served->info.architecture,
            served->info.quantization, served->info.parameters, engine.context, engine.kv_tokens, engine.kv_dtype);
        served->scheduler = std::move(loop);
        return std::shared_ptr<const ServedModel>(std::move(served));
      }
    }
    log::Warning("{}: not on {} ({}): {}", request.id, attempt.backend, attempt.provider, attempt.reason);
    exposure.attempts.push_back(std::move(attempt));
  }
  return Fail(ErrorCode::kUnsupported, "no backend could load {}: {}", request.path, Reasons(exposure.attempts));
}

}  // namespace inferflux::routing
