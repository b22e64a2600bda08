// What the tests of a pool share: the bundled model under several names, and a completion on it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "serving/models/served_model.h"
#include "serving/pool/models_directory.h"

namespace inferflux::testing {

inline const std::string kTinyModel = std::string(INFERFLUX_SOURCE_DIR) + "/models/tiny/inferflux-tiny.gguf";
inline constexpr int64_t kTinyKv = 8 << 20;

// A directory in which the bundled model has all these names.
class TinyDirectory {
 public:
  explicit TinyDirectory(const std::vector<std::string>& names) {
    static std::atomic<int> number = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("inferflux_pool_" + std::to_string(::getpid()) + "_" + std::to_string(number++));
    std::filesystem::create_directories(path_);
    for (const std::string& name : names) std::filesystem::copy_file(kTinyModel, path_ / (name + ".gguf"));
  }
  TinyDirectory(const TinyDirectory&) = delete;
  TinyDirectory& operator=(const TinyDirectory&) = delete;
  ~TinyDirectory() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }
  serving::ModelsDirectory Open() const { return *serving::ModelsDirectory::Open(path_.string()); }

 private:
  std::filesystem::path path_;
};

// Generates `tokens` tokens; a negative number cancels after the first event.
inline scheduler::Finish Complete(const serving::ServedModel& model, int tokens) {
  scheduler::GenerationRequest request;
  request.prompt = {1, 2, 3};
  request.max_tokens = tokens < 0 ? 500 : tokens;
  request.ignore_eos = true;
  auto stream = model.scheduler->Submit(std::move(request));
  if (!stream) return {.reason = scheduler::FinishReason::kError, .error = stream.error(), .usage = {}};
  while (true) {
    auto event = (*stream)->TryPop();
    if (!event) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    if (event->finish) return *event->finish;
    if (tokens < 0) (*stream)->Cancel();
  }
}

}  // namespace inferflux::testing
