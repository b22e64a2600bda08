// A model that runs in this process: the engine, the scheduler and the pipeline of the server, without a server.
//
//   auto engine = inferflux::embedded::Engine::Load("model.gguf");
//   if (!engine) return Report(engine.error());
//   auto reply = engine->Chat({{"user", "What is the capital of France?"}});
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inferflux/error.h"
#include "inferflux/generation.h"
#include "inferflux/load_options.h"
#include "inferflux/reply_stream.h"

namespace inferflux::embedded {

struct LoadedModelState;

struct ModelInfo {
  std::string name;
  std::string path;
  std::string format;        // "gguf", "huggingface"
  std::string architecture;  // "llama", "qwen2", ...
  std::string quantization;  // the commonest type of the weights: "BF16", "Q4_K", ...
  std::string backend;       // what runs it: "cpu", "cuda", ...
  std::string provider;      // "native" or "llama_cpp"
  int64_t parameters = 0;
  int64_t context = 0;             // tokens of prompt and answer together
  int64_t dimensions = 0;          // of its embeddings; 0: it makes none
  bool chat = false;               // has a chat template
  bool generates = false;          // false: an encoder
  std::vector<std::string> notes;  // conversions at load, settings without effect
};

// A handle: copies share the model, and keep it loaded. Any thread, any number of calls at once; the scheduler batches
// them.
class Engine {
 public:
  // Returns when the model is ready. The engine has compute threads of its own; programs with several models load them
  // from one ModelPool. kModelNotFound, kModelLoadFailed (with the reason of every backend), kInvalidConfig,
  // kCancelled.
  static Result<Engine> Load(const std::string& path, const LoadOptions& options = {});

  const ModelInfo& info() const;
  // As it was loaded, with the context that it has.
  const LoadOptions& load_options() const;

  // The text that continues `prompt`: a text, or tokens, which are used as they are.
  Result<Reply> Generate(std::string_view prompt, const GenerateOptions& options = {}) const;
  Result<Reply> Generate(std::span<const int32_t> prompt, const GenerateOptions& options = {}) const;
  // The answer to a conversation, by the model's own chat template. kInvalidConfig where it has none.
  Result<Reply> Chat(const std::vector<Message>& messages, const GenerateOptions& options = {}) const;

  // The same, piece by piece.
  Result<ReplyStream> Stream(std::string_view prompt, const GenerateOptions& options = {}) const;
  Result<ReplyStream> Stream(std::span<const int32_t> prompt, const GenerateOptions& options = {}) const;
  Result<ReplyStream> StreamChat(const std::vector<Message>& messages, const GenerateOptions& options = {}) const;

  // One vector for each text. kInvalidConfig where the model makes none. Only `cancel` and `timeout` are read.
  Result<std::vector<std::vector<float>>> Embed(std::span<const std::string> texts,
                                                const GenerateOptions& options = {}) const;

  // The tokens of a text; with `special`, between those that the model's file puts around a text.
  std::vector<int32_t> Tokenize(std::string_view text, bool special = false) const;
  // kInvalidConfig names an id that the vocabulary lacks. Control tokens have no text.
  Result<std::string> Detokenize(std::span<const int32_t> tokens) const;

  // For the library itself: the state is opaque.
  explicit Engine(std::shared_ptr<LoadedModelState> state);
  const std::shared_ptr<LoadedModelState>& state() const { return state_; }

 private:
  std::shared_ptr<LoadedModelState> state_;
};

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };

// The library writes its log to standard error. For the process; at first kWarning. Any thread.
void SetLogLevel(LogLevel level);

}  // namespace inferflux::embedded
