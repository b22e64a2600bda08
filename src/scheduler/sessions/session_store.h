// Where the workers of a fleet share their sessions: named blobs on a shared disk or in an object store.
// src/session_store/ has the implementations.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "scheduler/sessions/session_format.h"

namespace inferflux::scheduler {

// Calls wait for a disk or a network, and end within the store's own time limits. Any thread.
class SessionStore {
 public:
  virtual ~SessionStore() = default;

  // Replaces what was there: a reader gets the old blob or the new one, never a part. After `expires` the store may
  // drop it.
  virtual Status Put(const std::string& name, std::string blob, WallTime expires) = 0;
  // kNotFound if there is none; kDataLoss if it is not what was put, or takes more than `most` bytes.
  virtual Result<std::string> Get(const std::string& name, size_t most) = 0;
  // Without an error if there is none.
  virtual Status Remove(const std::string& name) = 0;
};

}  // namespace inferflux::scheduler
