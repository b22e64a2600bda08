// Blobs as files of a directory that several machines have mounted.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <random>
#include <string>

#include "scheduler/sessions/session_store.h"

namespace inferflux::session_store {

class DirectoryStore final : public scheduler::SessionStore {
 public:
  // Files that have expired for so long are deleted: not at once, because clocks of machines differ.
  static constexpr std::chrono::hours kGrace{24};

  // Creates the directory if it is missing. Names are hexadecimal digits.
  static Result<std::shared_ptr<DirectoryStore>> Open(std::filesystem::path directory);

  Status Put(const std::string& name, std::string blob, scheduler::WallTime expires) override;
  Result<std::string> Get(const std::string& name, size_t most) override;
  Status Remove(const std::string& name) override;

 private:
  explicit DirectoryStore(std::filesystem::path directory) : directory_(std::move(directory)) {}

  std::filesystem::path PathOf(const std::string& name) const;
  void Sweep();

  const std::filesystem::path directory_;
  std::mutex mutex_;  // guards what follows
  std::chrono::steady_clock::time_point next_sweep_{};
  std::random_device random_;
};

}  // namespace inferflux::session_store
