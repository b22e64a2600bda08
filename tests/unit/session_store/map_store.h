// A store in memory, which a test may damage.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "scheduler/sessions/session_store.h"

namespace inferflux::session_store {

struct MapStore final : scheduler::SessionStore {
  std::map<std::string, std::string> blobs;
  scheduler::WallTime expires = {};  // of the last that was put

  Status Put(const std::string& name, std::string blob, scheduler::WallTime time) override {
    blobs[name] = std::move(blob);
    expires = time;
    return {};
  }
  Result<std::string> Get(const std::string& name, size_t most) override {
    const auto found = blobs.find(name);
    if (found == blobs.end()) return Fail(ErrorCode::kNotFound, "no {}", name);
    if (found->second.size() > most) return Fail(ErrorCode::kDataLoss, "too large");
    return found->second;
  }
  Status Remove(const std::string& name) override {
    blobs.erase(name);
    return {};
  }
};

}  // namespace inferflux::session_store
