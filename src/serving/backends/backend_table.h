// What each engine can do, whether or not this build has it. Messages, `inferctl backends`, `inferctl quickstart` and
// the table in docs/architecture.md are generated from it. tests/unit/serving/backends/backend_table_test.cpp compares
// it with the engines themselves.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serving/backends/target.h"

namespace inferflux::serving {

// Features beyond those of every engine. Every engine has text, log probabilities, streaming, one step that mixes
// prompts and decodes, shared prefixes, and verification of draft tokens in one step.
struct EngineFacts {
  bool huggingface = false;      // directories; every engine loads GGUF files
  bool encoders = false;         // models such as BERT
  bool embeddings = false;       // vectors of texts
  bool sessions = false;         // a sequence's KV can be saved and restored
  bool batch_invariant = false;  // bit-identical logits, whatever else runs
};

struct BackendRow {
  Target target = Target::kCpu;
  Provider provider = Provider::kNative;
  bool written = true;                           // false: no engine runs it yet, and the other fields are empty
  std::vector<std::string_view> kv_dtypes = {};  // by their names in runtime.kv_dtype
  EngineFacts facts = {};
  // The settings of runtime.backends that it reads in addition to device, kv_dtype and kv_budget, which all engines
  // read.
  std::vector<std::string_view> settings = {};
  std::string_view compute = {};         // native: the folder under src/compute/; empty: the target's own name
  bool automatic = true;                 // whether `auto` may lead to it
  bool gpu_only = false;                 // native: unavailable if the compute backend finds no GPU
  std::string_view tested = {};          // the hardware or software that tests ran on
  std::string_view run_word = {};        // `./run --with WORD` adds it; empty: that does not
  std::string_view switched_on_by = {};  // its requirements on the build and the machine
};

// Sorted by provider, then in the order of AllTargets().
std::span<const BackendRow> BackendTable();

const BackendRow* FindBackendRow(Target target, Provider provider);  // null if there is none

// "GGUF", "Hugging Face".
std::vector<std::string_view> FormatWords(const BackendRow& row);
// The facts that hold: "encoders", "embeddings", "sessions", "batch-invariant".
std::vector<std::string_view> CapabilityWords(const BackendRow& row);

}  // namespace inferflux::serving
