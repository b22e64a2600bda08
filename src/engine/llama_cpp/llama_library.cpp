#include "engine/llama_cpp/llama_library.h"

#include <mutex>
#include <string_view>

#include "base/log.h"

namespace inferflux::engine {
namespace {

thread_local LlamaComplaints* listener = nullptr;

// The library logs lines in pieces.
struct Line {
  std::string text;
  ggml_log_level level = GGML_LOG_LEVEL_NONE;
};
thread_local Line line;

log::Level OurLevel(ggml_log_level level) {
  // Its "info" level is verbose, and it warns about a KV larger than one full context, which is intended here.
  return level == GGML_LOG_LEVEL_ERROR ? log::Level::kError : log::Level::kDebug;
}

}  // namespace

void HearLlama(ggml_log_level level, const char* text, void*) {
  if (level != GGML_LOG_LEVEL_CONT) line.level = level;
  line.text += text;
  if (!line.text.ends_with('\n')) return;
  line.text.pop_back();
  // Dots of a progress bar: we report progress ourselves.
  const bool dots = line.text.find_first_not_of('.') == std::string::npos;
  if (!dots) {
    if (listener != nullptr && line.level == GGML_LOG_LEVEL_ERROR) listener->text_ = line.text;
    log::Write(OurLevel(line.level), "llama.cpp: " + line.text);
  }
  line.text.clear();
}

LlamaComplaints::LlamaComplaints() { listener = this; }
LlamaComplaints::~LlamaComplaints() { listener = nullptr; }

void StartLlama() {
  static std::once_flag started;
  std::call_once(started, [] {
    llama_log_set(HearLlama, nullptr);
    llama_backend_init();
  });
}

}  // namespace inferflux::engine
