// A step's prompts beside its decodes, on a stream each.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "compute/device_features.h"
#include "engine/native/graphs/graph_shape.h"
#include "engine/unified_batch.h"

namespace inferflux::engine {

// Some items of a batch, as a batch.
struct PartOfBatch {
  UnifiedBatch batch;
  std::vector<size_t> items;  // of the whole, ascending
};

// The items of the batch that are decodes; with `decodes` false, all others.
inline PartOfBatch PartOf(const UnifiedBatch& batch, bool decodes) {
  PartOfBatch out;
  for (size_t i = 0; i < batch.items.size(); ++i) {
    if (IsDecodeItem(batch.items[i]) != decodes) continue;
    out.batch.items.push_back(batch.items[i]);
    out.items.push_back(i);
  }
  return out;
}

// From here on the second stream may be used; at the end the first waits for it, also where the step has failed.
template <compute::TwoStreams B>
class SideBySide {
 public:
  explicit SideBySide(typename B::Context& context) : context_(context), forked_(B::Fork(context)) {}
  SideBySide(const SideBySide&) = delete;
  SideBySide& operator=(const SideBySide&) = delete;
  ~SideBySide() {
    if (forked_) (void)B::Join(context_);  // an error is that of a device that has failed
  }

  const Status& forked() const { return forked_; }

  // Runs `work` on the second stream.
  template <class F>
  auto Aside(F work) -> decltype(work()) {
    const Swapped swapped(context_);
    return work();
  }

 private:
  struct Swapped {
    explicit Swapped(typename B::Context& context) : context(context) { B::SwapStreams(context); }
    ~Swapped() { B::SwapStreams(context); }
    typename B::Context& context;
  };

  typename B::Context& context_;
  Status forked_;
};

}  // namespace inferflux::engine
