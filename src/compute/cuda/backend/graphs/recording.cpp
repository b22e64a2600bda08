#include "compute/cuda/backend/graphs/recording.h"

#include <algorithm>

namespace inferflux::cuda {

Result<ArenaPiece> Recording::Upload(std::span<const std::byte> bytes) {
  // What one layer has copied for all is not copied again in the second run, so the order tells nothing.
  const auto same = std::ranges::find_if(
      constants_, [&](const Constant& constant) { return std::ranges::equal(constant.bytes, bytes); });
  if (same != constants_.end()) return ArenaPiece{same->memory.get(), ArenaRelease{}};
  if (second_) return Fail(ErrorCode::kUnsupported, "the step copies other values to the device when it runs again");
  auto memory = arena_.Allocate(bytes.size());
  if (!memory) return Forward(memory);
  if (auto copied = staging_.Copy(memory->get(), bytes); !copied) return Forward(copied);
  void* at = memory->get();
  constants_.push_back({{bytes.begin(), bytes.end()}, std::move(*memory)});
  return ArenaPiece{at, ArenaRelease{}};
}

// Errors are those of a device that has failed.
void GraphRelease::operator()(Graph* graph) const {
  (void)runtime->Synchronize(stream);
  (void)runtime->Destroy(*graph);
  delete graph;
}

}  // namespace inferflux::cuda
