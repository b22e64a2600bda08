#include "metrics/model_metrics.h"

namespace inferflux::metrics {

std::vector<double> LatencyBuckets() {
  return {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60};
}

ModelMetrics::ModelMetrics(Registry& registry, const std::string& model, const std::string& backend) {
  const Labels labels = {{"model", model}, {"backend", backend}};
  prompt_tokens = registry.GetCounter("inferflux_model_prompt_tokens_total", "Tokens taken in as prompts.", labels);
  cached_tokens = registry.GetCounter("inferflux_cached_prompt_tokens_total",
                                      "Tokens of prompts that were not computed, because their KV was shared.", labels);
  generated_tokens = registry.GetCounter("inferflux_model_completion_tokens_total", "Tokens generated.", labels);
  drafted_tokens = registry.GetCounter("inferflux_drafted_tokens_total", "Draft tokens.", labels);
  accepted_tokens = registry.GetCounter("inferflux_accepted_tokens_total", "Draft tokens that were accepted.", labels);
  time_to_first =
      registry.GetHistogram("inferflux_time_to_first_token_seconds",
                            "Time from a request's submission to its first token.", LatencyBuckets(), labels);
  inter_token = registry.GetHistogram("inferflux_inter_token_latency_seconds",
                                      "Time between two tokens of one sequence.", LatencyBuckets(), labels);
  queue_depth = registry.GetGauge("inferflux_queue_depth", "Sequences that wait for admission.", labels);
  running_sequences = registry.GetGauge("inferflux_running_sequences", "Sequences that are being generated.", labels);
  kv_blocks_used = registry.GetGauge("inferflux_kv_blocks_used", "KV blocks that hold a sequence's tokens.", labels);
  kv_blocks_free = registry.GetGauge("inferflux_kv_blocks_free", "KV blocks that are free.", labels);
  kv_blocks_cached =
      registry.GetGauge("inferflux_kv_blocks_cached", "Free KV blocks that are kept for their prefix.", labels);
  kv_utilization = registry.GetGauge("inferflux_kv_cache_utilization",
                                     "KV blocks that hold a sequence's tokens, as a share of all, 0 to 1.", labels);
  graphs = registry.GetGauge("inferflux_graphs", "Decode steps that are captured as graphs.", labels);
  graph_replays = registry.GetCounter("inferflux_graph_replays_total", "Steps that replayed a captured one.", labels);
  graph_refusals = registry.GetCounter("inferflux_graph_refusals_total",
                                       "Captures of decode steps that failed; such steps run without a graph.", labels);
  session_file_errors = registry.GetCounter("inferflux_session_file_errors_total",
                                            "Files of sessions that could not be written or read.", labels);
}

void ModelMetrics::SetKvBlocks(int64_t used, int64_t free, int64_t cached) const {
  const auto all = static_cast<double>(used) + static_cast<double>(free);
  kv_blocks_used.Set(static_cast<double>(used));
  kv_blocks_free.Set(static_cast<double>(free));
  kv_blocks_cached.Set(static_cast<double>(cached));
  kv_utilization.Set(all > 0 ? static_cast<double>(used) / all : 0);
}

}  // namespace inferflux::metrics
