// Wraps libllama: starts it once per process, redirects its log to ours, and owns its objects.
#pragma once

#include <llama.h>

#include <memory>
#include <string>

namespace inferflux::engine {

// Starts the library, once per process. Call it before any other function of the library.
void StartLlama();

struct LlamaModelDeleter {
  void operator()(llama_model* model) const { llama_model_free(model); }
};
struct LlamaContextDeleter {
  void operator()(llama_context* context) const { llama_free(context); }
};
using LlamaModelPtr = std::unique_ptr<llama_model, LlamaModelDeleter>;
using LlamaContextPtr = std::unique_ptr<llama_context, LlamaContextDeleter>;

// Collects the errors that the library logs on this thread during its lifetime: the library's calls return no reason.
class LlamaComplaints {
 public:
  LlamaComplaints();
  ~LlamaComplaints();
  LlamaComplaints(const LlamaComplaints&) = delete;
  LlamaComplaints& operator=(const LlamaComplaints&) = delete;

  // The last error that was logged, or a note that none was.
  const std::string& text() const { return text_; }

 private:
  friend void HearLlama(ggml_log_level level, const char* text, void*);
  std::string text_ = "the library gave no reason";
};

}  // namespace inferflux::engine
