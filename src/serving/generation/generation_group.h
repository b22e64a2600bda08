// The generations of one request: n choices for each of its prompts, side by side.
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

  // Submits all or none. `notify` is called, from the scheduler's thread, whenever Drain has
  // something to give; it must not block, nor call into the group.
  static Result<GenerationGroup> Submit(scheduler::GenerationService& scheduler,
                                        std::vector<scheduler::GenerationRequest> requests,
                                        const std::function<void()>& notify);
  GenerationGroup(GenerationGroup&&) = default;
  GenerationGroup& operator=(GenerationGroup&&) = delete;
  ~GenerationGroup();  // cancels what has not finished

  // Hands out every event that waits; false where there was none.
  bool Drain(OnEvent on_event);
  bool finished() const { return unfinished_ == 0; }
  size_t size() const { return streams_.size(); }

 private:
  GenerationGroup() = default;

  std::vector<std::shared_ptr<scheduler::TokenStream>> streams_;  // null once finished
  size_t unfinished_ = 0;
};

}  // namespace inferflux::serving
