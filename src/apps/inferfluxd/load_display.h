// Shows how far the server's models are loaded: on a terminal a bar, otherwise a line of the log now and then.
#pragma once

#include <thread>

#include "serving/pool/model_pool.h"

namespace inferflux::apps {

class LoadDisplay {
 public:
  // Shows the loads of `pool`, which must outlive it. `bar`: standard error is a terminal that a person reads.
  LoadDisplay(const serving::ModelPool& pool, bool bar);
  // Ends it, and clears the bar.
  ~LoadDisplay();

 private:
  std::jthread thread_;
};

}  // namespace inferflux::apps
