// One loaded model as the rest of the program sees it. Held by shared_ptr, so an unload never races a request in
// flight.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/device_memory.h"
#include "scheduler/generation_service.h"
#include "serving/backends/capabilities.h"
#include "text/chat_template.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tool_calls/tool_call_dialect.h"

namespace inferflux::text {
class GrammarCompiler;
}

namespace inferflux::serving {

// The exposure: what was requested, what runs, which provider runs it, and why.
struct BackendAttempt {
  std::string backend;
  std::string provider;
  std::string outcome;  // "loaded", "failed", "skipped"
  std::string reason;
};
struct BackendExposure {
  std::string requested_backend;   // the user's own words
  std::string normalised_request;  // the same in canonical spelling, for labels of metrics
  std::vector<std::string> chain;  // the targets that these words stand for, in order, `auto` expanded
  std::string exposed_backend;     // what runs now: "cpu", "cuda", ...
  std::string provider;            // "native" or "llama_cpp"
  bool fallback = false;
  std::string fallback_reason;
  std::vector<BackendAttempt> attempts;  // of the chain up to what runs, skipped ones too
};

// The vectors that a model makes of texts.
struct EmbeddingInfo {
  int32_t dimensions = 0;        // 0: it makes none
  std::vector<int32_t> shorter;  // lengths that a vector may be cut to
  bool normalised = true;        // to length 1
};

struct ModelInfo {
  std::string path;
  std::string draft;         // the draft model's file; empty: there is none
  std::string format;        // "gguf"
  std::string architecture;  // as the file names it: "llama", "qwen2", ...
  std::string quantization;  // the weights' commonest type: "BF16", "Q4_K", ...
  int64_t parameters = 0;
  int32_t context = 0;  // tokens, prompt and output together
  int32_t vocab_size = 0;
  std::string kv_dtype;
  int64_t kv_tokens = 0;  // tokens that the whole KV budget holds
  EmbeddingInfo embedding;
  std::vector<engine::DeviceMemory> memory;
  std::vector<std::string> notes;  // what loading did to the weights, and what memory that costs
  int64_t created = 0;             // seconds since 1970, when it was loaded
};

struct ServedModel {
  // Keeps the series of its metrics, and goes last: its scheduler counts until it is gone. Null where nothing is
  // counted.
  std::shared_ptr<const void> metric_series;
  std::string id;
  ModelInfo info;
  Capabilities capabilities;
  BackendExposure exposure;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::shared_ptr<const text::ChatTemplate>
      chat_template;  // null: the file has none, and chat is an error that says so
  std::shared_ptr<const text::ToolCallDialect> tool_calls;  // null: the template shows no form that is known
  std::shared_ptr<text::GrammarCompiler> grammars;          // over its tokens
  std::shared_ptr<scheduler::GenerationService> scheduler;
};

}  // namespace inferflux::serving
