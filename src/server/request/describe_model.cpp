#include "server/request/describe_model.h"

#include <boost/json/array.hpp>
#include <utility>

namespace inferflux::server {
namespace json = boost::json;
namespace {

json::object DescribeExposure(const serving::BackendExposure& exposure) {
  json::array attempts;
  for (const serving::BackendAttempt& attempt : exposure.attempts) {
    json::object entry{{"backend", attempt.backend},
                       {"provider", attempt.provider},
                       {"outcome", attempt.outcome},
                       {"reason", attempt.reason}};
    if (!attempt.workers.empty()) entry["workers"] = json::array(attempt.workers.begin(), attempt.workers.end());
    attempts.push_back(std::move(entry));
  }
  json::object out;
  out["requested_backend"] = exposure.requested_backend;
  out["chain"] = json::array(exposure.chain.begin(), exposure.chain.end());
  out["exposed_backend"] = exposure.exposed_backend;
  out["provider"] = exposure.provider;
  out["fallback"] = exposure.fallback;
  out["fallback_reason"] = exposure.fallback_reason;
  out["attempts"] = std::move(attempts);
  return out;
}

json::object DescribeCapabilities(const serving::Capabilities& capabilities) {
  return {{"completions", capabilities.completions},
          {"chat", capabilities.chat},
          {"embeddings", capabilities.embeddings},
          {"scores", capabilities.scores},
          {"logprobs", capabilities.logprobs},
          {"prompt_logprobs", capabilities.prompt_logprobs},
          {"streaming", capabilities.streaming},
          {"supports_speculative_decoding", capabilities.speculative_decoding},
          {"supports_kv_prefix_copy", capabilities.kv_prefix_copy},
          {"supports_kv_save_restore", capabilities.kv_save_restore},
          {"supports_structured_output", capabilities.structured_output},
          {"supports_multimodal", capabilities.multimodal},
          {"unified_batch", capabilities.unified_batch},
          {"phased_execution", capabilities.phased_execution},
          {"device_sampling", capabilities.device_sampling},
          {"graph_capture", capabilities.graph_capture},
          {"batch_invariant", capabilities.batch_invariant}};
}

}  // namespace

json::object DescribeServed(const serving::ServedModel& model, ModelView view) {
  json::object details;
  details["architecture"] = model.info.architecture;
  details["quantization"] = model.info.quantization;
  details["parameters"] = model.info.parameters;
  details["context"] = model.info.context;
  details["vocab_size"] = model.info.vocab_size;
  details["draft"] = !model.info.draft.empty();
  details["kv_dtype"] = model.info.kv_dtype;
  details["kv_tokens"] = model.info.kv_tokens;
  if (model.capabilities.embeddings) details["embedding_dimensions"] = model.info.embedding.dimensions;
  if (model.capabilities.scores) {
    const auto& labels = model.engine.pooling.labels;
    details["labels"] = json::array(labels.begin(), labels.end());
  }
  json::object memory;
  for (const auto& device : model.info.memory) {
    json::object held{{"weight_bytes", device.weight_bytes}};
    if (device.kv_bytes > 0) held["kv_bytes"] = device.kv_bytes;
    memory[device.device] = std::move(held);
  }
  details["memory"] = std::move(memory);
  details["notes"] = json::array(model.info.notes.begin(), model.info.notes.end());
  json::object out;
  out["id"] = model.id;
  out["object"] = "model";
  out["created"] = model.info.created;
  out["owned_by"] = "inferflux";
  out["ready"] = true;  // every model in the registry is ready
  out["status"] = {{"value", "loaded"}};
  if (view == ModelView::kOperator) out["path"] = model.info.path;
  out["format"] = model.info.format;
  out["capabilities"] = DescribeCapabilities(model.capabilities);
  out["details"] = std::move(details);
  out["backend_exposure"] = DescribeExposure(model.exposure);
  return out;
}

json::object DescribeUnloaded(const serving::UnloadedModel& model, ModelView view) {
  json::object status{{"value", StateName(model.state)}};
  if (model.state == serving::UnloadedModel::State::kFailed) {
    status["failed"] = true;
    status["error"] = view == ModelView::kOperator ? model.error : "the model could not be loaded";
  }
  json::object out{{"id", model.id}, {"object", "model"}, {"created", 0}, {"owned_by", "inferflux"}, {"ready", false}};
  if (view == ModelView::kOperator) out["path"] = model.path;
  out["status"] = std::move(status);
  return out;
}

}  // namespace inferflux::server
