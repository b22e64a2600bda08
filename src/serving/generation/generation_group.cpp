#include "serving/generation/generation_group.h"

#include <utility>

namespace inferflux::serving {

Result<GenerationGroup> GenerationGroup::Submit(scheduler::GenerationService& scheduler,
                                                std::vector<scheduler::GenerationRequest> requests,
                                                const std::function<void()>& notify) {
  GenerationGroup out;
  for (scheduler::GenerationRequest& request : requests) {
    auto stream = scheduler.Submit(std::move(request));
    if (!stream) return inferflux::Forward(stream);
    out.streams_.push_back(std::move(*stream));
    ++out.unfinished_;
  }
  for (const auto& stream : out.streams_) stream->SetNotify(notify);
  return out;
}

GenerationGroup::~GenerationGroup() {
  for (const auto& stream : streams_) {
    if (!stream) continue;
    stream->SetNotify({});
    stream->Cancel();
  }
}

bool GenerationGroup::Drain(OnEvent on_event) {
  bool any = false;
  for (size_t i = 0; i < streams_.size(); ++i) {
    while (streams_[i]) {
      auto event = streams_[i]->TryPop();
      if (!event) break;
      any = true;
      if (event->finish) {
        streams_[i]->SetNotify({});
        streams_[i].reset();
        --unfinished_;
      }
      on_event(i, std::move(*event));
    }
  }
  return any;
}

}  // namespace inferflux::serving
