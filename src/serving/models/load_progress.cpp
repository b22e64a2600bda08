#include "serving/models/load_progress.h"

#include <algorithm>
#include <utility>

namespace inferflux::serving {

void LoadProgress::Try(std::string backend, std::string provider, std::shared_ptr<const model::ModelSource> source) {
  const std::lock_guard lock(mutex_);
  now_ = {std::move(backend), std::move(provider), 0};
  taken_before_ = source->taken_weights();
  source_ = std::move(source);
}

void LoadProgress::Report(double fraction) {
  const std::lock_guard lock(mutex_);
  source_.reset();
  now_.fraction = fraction;
}

LoadProgress::Snapshot LoadProgress::Read() const {
  const std::lock_guard lock(mutex_);
  Snapshot out = now_;
  if (source_ && source_->parameters() > 0) {
    const auto taken = static_cast<double>(source_->taken_weights() - taken_before_);
    out.fraction = std::min(1.0, taken / static_cast<double>(source_->parameters()));
  }
  return out;
}

}  // namespace inferflux::serving
