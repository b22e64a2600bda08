// One loaded model, as the rest of the program sees it. It is held by shared_ptr, so an unload never races with a
// request.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/device_memory.h"
#include "engine/engine.h"
#include "scheduler/generation_service.h"
#include "serving/backends/capabilities.h"
#include "text/chat_template.h"
#include "text/reasoning/reasoning_dialect.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tool_calls/tool_call_dialect.h"

namespace inferflux::text {
class GrammarCompiler;
}

namespace inferflux::serving {

struct ModelRecipe;

// The exposure: what was requested, what runs, which provider runs it, and why.
struct BackendAttempt {
  std::string backend;
  std::string provider;
  std::string outcome;  // "loaded", "failed", "skipped"
  std::string reason;
  std::vector<std::string> workers = {};  // the processes that run the model, if it is not this one
};
struct BackendExposure {
  std::string requested_backend;   // as the user wrote it
  std::string normalised_request;  // the same in canonical spelling, for metric labels
  std::vector<std::string> chain;  // the requested targets in order, with `auto` expanded
  std::string exposed_backend;     // what runs now: "cpu", "cuda", ...
  std::string provider;            // "native" or "llama_cpp"
  bool fallback = false;
  std::string fallback_reason;
  std::vector<BackendAttempt> attempts;  // along the chain up to the running engine, including skipped ones
};

// The embeddings that a model produces.
struct EmbeddingInfo {
  int32_t dimensions = 0;        // 0: none
  std::vector<int32_t> shorter;  // lengths to which a vector may be cut
  bool normalised = true;        // to length 1
};

struct ModelInfo {
  std::string path;
  std::string draft;         // the draft model's file; empty: none
  std::string format;        // "gguf"
  std::string architecture;  // the file's name for it: "llama", "qwen2", ...
  std::string quantization;  // the most common weight type: "BF16", "Q4_K", ...
  int64_t parameters = 0;
  int32_t context = 0;  // tokens of prompt and output together
  int32_t vocab_size = 0;
  std::string kv_dtype;
  int64_t kv_tokens = 0;  // capacity of the whole KV budget in tokens
  EmbeddingInfo embedding;
  std::vector<engine::DeviceMemory> memory;
  std::vector<std::string> notes;  // conversions of the weights at load, and their memory cost
  int64_t created = 0;             // load time, seconds since 1970
};

struct ServedModel {
  // Keeps the series of its metrics. Destroyed last, because its scheduler counts until then. Null if nothing is
  // counted.
  std::shared_ptr<const void> metric_series;
  std::string id;
  ModelInfo info;
  std::shared_ptr<const ModelRecipe> recipe;  // what it is made of a model file with; null: it is the file itself
  engine::EngineInfo engine;
  Capabilities capabilities;
  BackendExposure exposure;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::shared_ptr<const text::ChatTemplate>
      chat_template;            // null: the file has none, and chat requests are refused with that reason
  int32_t pair_separators = 1;  // end tokens between two texts, if the tokenizer puts one after a text
  std::string rerank_template;  // joins {query} and {document} into a prompt; empty: the file has none
  std::shared_ptr<const text::ToolCallDialect> tool_calls;  // null: the template has no known call syntax
  std::shared_ptr<const text::ReasoningDialect> reasoning;  // null: the template shows no known form of reasoning
  std::shared_ptr<text::GrammarCompiler> grammars;          // for its vocabulary; null: a worker compiles
  std::shared_ptr<scheduler::GenerationService> scheduler;
};

}  // namespace inferflux::serving
