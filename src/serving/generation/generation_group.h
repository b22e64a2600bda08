// The generations of one request: n concurrent choices for each of its prompts.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/function_ref.h"
#include "scheduler/generation_service.h"

namespace inferflux::serving {

class GenerationGroup {
 public:
  using OnEvent = FunctionRef<void(size_t index, scheduler::StreamEvent event)>;

  // Submits all or none. The scheduler's thread calls `notify` whenever Drain has events. `notify` must not block, and
  // must not call into the group.
  static Result<GenerationGroup> Submit(scheduler::GenerationService& scheduler,
                                        std::vector<scheduler::GenerationRequest> requests,
                                        const std::function<void()>& notify);
  GenerationGroup(GenerationGroup&&) = default;
  GenerationGroup& operator=(GenerationGroup&&) = delete;
  ~GenerationGroup();  // cancels unfinished generations

  // Delivers all pending events. Returns false if there were none.
  bool Drain(OnEvent on_event);
  bool finished() const { return unfinished_ == 0; }
  size_t size() const { return streams_.size(); }

 private:
  GenerationGroup() = default;

  std::vector<std::shared_ptr<scheduler::TokenStream>> streams_;  // null once finished
  size_t unfinished_ = 0;
};

}  // namespace inferflux::serving
