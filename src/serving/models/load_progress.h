// How far one load has come: written by the loading thread, read by any other.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "model/loading/model_source.h"

namespace inferflux::serving {

class LoadProgress {
 public:
  struct Snapshot {
    std::string backend;   // what is being tried; empty before the first try
    std::string provider;  // "native" or "llama_cpp"
    double fraction = 0;   // of the weights that this try has taken, from 0 to 1
  };

  // A next engine is tried on `source`.
  void Try(std::string backend, std::string provider, std::shared_ptr<const model::ModelSource> source);
  Snapshot Read() const;

 private:
  mutable std::mutex mutex_;
  Snapshot now_;
  std::shared_ptr<const model::ModelSource> source_;
  int64_t taken_before_ = 0;  // by the tries that failed
};

}  // namespace inferflux::serving
