// What each engine can do, whether or not this build has it. Messages, `inferctl backends`, `inferctl quickstart` and
// the table in docs/architecture.md are made from it; tests/unit/serving/backends/backend_table_test.cpp asks the
// engines themselves.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serving/backends/target.h"

namespace inferflux::serving {

// Beyond what every engine does: text, log probabilities, streaming, one step that mixes prompts and decodes, shared
// prefixes, draft tokens that are verified in one step.
struct EngineFacts {
  bool huggingface = false;      // directories; GGUF files are taken by all
  bool encoders = false;         // BERT and its kind
  bool embeddings = false;       // vectors of texts
  bool sessions = false;         // a sequence's KV can be saved and restored
  bool batch_invariant = false;  // the same logits, bit for bit, whatever else runs
};

struct BackendRow {
  Target target = Target::kCpu;
  Provider provider = Provider::kNative;
  bool written = true;                           // false: nothing runs it yet, and the rest is empty
  std::vector<std::string_view> kv_dtypes = {};  // as runtime.kv_dtype names them
  EngineFacts facts = {};
  // The settings of runtime.backends that it reads, beside those that every engine reads: device, kv_dtype, kv_budget.
  std::vector<std::string_view> settings = {};
  std::string_view compute = {};         // native: the folder under src/compute/; empty: the target's own name
  bool automatic = true;                 // whether `auto` may lead to it
  bool gpu_only = false;                 // native: not where the compute backend finds no GPU
  std::string_view tested = {};          // on what
  std::string_view switched_on_by = {};  // what a build and a machine need for it
};

// By provider, then as AllTargets() has them.
std::span<const BackendRow> BackendTable();

const BackendRow* FindBackendRow(Target target, Provider provider);  // null where there is none

// "GGUF", "Hugging Face".
std::vector<std::string_view> FormatWords(const BackendRow& row);
// "encoders", "embeddings", "sessions", "batch-invariant": those of the facts that hold.
std::vector<std::string_view> CapabilityWords(const BackendRow& row);

}  // namespace inferflux::serving
