// The progress of one load. The loading thread writes it; any thread may read it.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "model/loading/model_source.h"

namespace inferflux::serving {

class LoadProgress {
 public:
  struct Snapshot {
    std::string backend;   // the backend being tried; empty before the first try
    std::string provider;  // "native" or "llama_cpp"
    double fraction = 0;   // share of the weights that this try has loaded, from 0 to 1
  };

  // Begins a try of another engine on `source`.
  void Try(std::string backend, std::string provider, std::shared_ptr<const model::ModelSource> source);
  // For a load in another process: replaces the share that `source` shows.
  void Report(double fraction);
  Snapshot Read() const;

 private:
  mutable std::mutex mutex_;
  Snapshot now_;
  std::shared_ptr<const model::ModelSource> source_;
  int64_t taken_before_ = 0;  // by the failed tries
};

}  // namespace inferflux::serving
