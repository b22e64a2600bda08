// The metrics of one loaded model. The scheduler and the server count them; /metrics exposes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metrics/registry.h"

namespace inferflux::metrics {

// Upper bounds in seconds, 1 ms to 60 s, in steps of about two.
std::vector<double> LatencyBuckets();

struct ModelMetrics {
  ModelMetrics() = default;  // counts nothing
  ModelMetrics(Registry& registry, const std::string& model, const std::string& backend);

  Counter prompt_tokens;     // inferflux_model_prompt_tokens_total
  Counter cached_tokens;     // inferflux_cached_prompt_tokens_total: of prompts, from shared KV
  Counter generated_tokens;  // inferflux_model_completion_tokens_total
  Counter drafted_tokens;    // inferflux_drafted_tokens_total: draft tokens
  Counter accepted_tokens;   // inferflux_accepted_tokens_total: the accepted draft tokens
  Histogram time_to_first;   // inferflux_time_to_first_token_seconds: from submission to the first token
  Histogram inter_token;     // inferflux_inter_token_latency_seconds: between two tokens of one sequence
  Gauge queue_depth;         // inferflux_queue_depth: requests waiting for admission
  Gauge running_sequences;   // inferflux_running_sequences
  Gauge kv_blocks_used;      // inferflux_kv_blocks_used
  Gauge kv_blocks_free;      // inferflux_kv_blocks_free
  Gauge kv_blocks_cached;    // inferflux_kv_blocks_cached: free blocks that are kept for their prefix
  Gauge kv_utilization;      // inferflux_kv_cache_utilization: used blocks as a share of all blocks, 0 to 1

  Gauge graphs;            // inferflux_graphs: captured decode steps (CUDA graphs)
  Counter graph_replays;   // inferflux_graph_replays_total: steps that replayed one
  Counter graph_refusals;  // inferflux_graph_refusals_total: captures that failed; such steps run without a graph

  Counter session_file_errors;  // inferflux_session_file_errors_total: not written, or damaged

  // All of the KV gauges. A block that is kept only for its prefix counts as free: the next sequence may take it. The
  // share is what the Gateway API Inference Extension calls KVCacheUtilization; with no blocks at all it is 0.
  void SetKvBlocks(int64_t used, int64_t free, int64_t cached) const;
};

}  // namespace inferflux::metrics
