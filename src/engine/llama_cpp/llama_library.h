// libllama as this house sees it: started once a process, its log handed to ours, its objects owned.
#pragma once

#include <llama.h>

#include <memory>
#include <string>

namespace inferflux::engine {

// Starts the library, once a process. Everything else of it comes after this.
void StartLlama();

struct LlamaModelDeleter {
  void operator()(llama_model* model) const { llama_model_free(model); }
};
struct LlamaContextDeleter {
  void operator()(llama_context* context) const { llama_free(context); }
};
using LlamaModelPtr = std::unique_ptr<llama_model, LlamaModelDeleter>;
using LlamaContextPtr = std::unique_ptr<llama_context, LlamaContextDeleter>;

// Collects what the library complains of on this thread while it lives: its calls return no reason.
class LlamaComplaints {
 public:
  LlamaComplaints();
  ~LlamaComplaints();
  LlamaComplaints(const LlamaComplaints&) = delete;
  LlamaComplaints& operator=(const LlamaComplaints&) = delete;

  // The last error that was logged, or a word that there was none.
  const std::string& text() const { return text_; }

 private:
  friend void HearLlama(ggml_log_level level, const char* text, void*);
  std::string text_ = "the library gave no reason";
};

}  // namespace inferflux::engine
