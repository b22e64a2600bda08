// The part of a model that one rank holds.
//
// Tensor parallelism (Megatron-LM, arXiv:1909.08053): a rank has a run of each layer's heads and of its feed-forward
// network's hidden values. It computes q, k, v, gate and up for them alone, and its part of the sums that the output
// projections are; the ranks add these up. Of the logits it computes those of a run of the vocabulary.
//
// Pipeline parallelism: a rank has a run of the layers. It receives the hidden states of a step from the rank before
// it, and the last one returns those of the requested rows to rank 0, which projects them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::model {

// A run of `of` values.
struct Run {
  int64_t first = 0;
  int64_t count = 0;
  int64_t of = 0;  // 0: the run is all there is

  Run(int64_t all) : count(all) {}  // NOLINT: implicit: a number is a whole
  Run(int64_t begin, int64_t size, int64_t all) : first(begin), count(size), of(all) {}
  bool whole() const { return of == 0; }
};

// The run of `rank` when `of` values are shared in multiples of `unit`, as evenly as that allows.
Run ShareOf(int64_t of, int64_t unit, int32_t rank, int32_t ranks);

// How many ranks share a model, and in which way; 1 and 1: one rank has all of it.
struct Parallelism {
  int32_t tensor = 1;
  int32_t pipeline = 1;

  int32_t ranks() const { return tensor * pipeline; }
  friend bool operator==(const Parallelism&, const Parallelism&) = default;
};

struct Shard {
  int32_t rank = 0;
  Parallelism parallelism;
  Run feed_forward = 0;  // of the networks' hidden values
  int64_t vocab_size = 0;
  int32_t first_layer = 0;  // which the model's own numbers count from

  bool splits_tensors() const { return parallelism.tensor > 1; }
  bool first_stage() const { return parallelism.pipeline == 1 || rank == 0; }
  bool last_stage() const { return parallelism.pipeline == 1 || rank + 1 == parallelism.pipeline; }

  // The rank's run of a width that its heads have, `own` of them being its own.
  Run Heads(int64_t own) const { return splits_tensors() ? Run(rank * own, own, own * parallelism.tensor) : Run(own); }
  Run Vocabulary(int32_t of_rank) const { return ShareOf(vocab_size, 1, of_rank, parallelism.tensor); }
  // How many logits each rank computes; empty: each computes all.
  std::vector<int64_t> VocabularyCounts() const;
};

struct ShardedConfig {
  ModelConfig config;  // of what the rank computes: its own heads, hidden values and layers
  Shard shard;
};

// kUnsupported, with the model's architecture and what cannot be shared, unless it is a dense decoder whose heads and
// layers are enough for the ranks.
Result<ShardedConfig> ShardConfig(ModelConfig config, const ModelSource& source, const Parallelism& parallelism,
                                  int32_t rank);

}  // namespace inferflux::model
