#include "scheduler/output/pooler.h"

#include <cmath>

namespace inferflux::scheduler {

bool Pooler::Wants(int32_t position) const {
  switch (*config_.type) {
    case model::Pooling::kMean:
      return true;
    case model::Pooling::kCls:
      return position == 0;
    case model::Pooling::kLast:
      return position == tokens_ - 1;
  }
  return false;
}

void Pooler::Add(std::span<const float> hidden) {
  sums_.resize(hidden.size(), 0.0);
  for (size_t i = 0; i < hidden.size(); ++i) sums_[i] += double{hidden[i]};
}

std::vector<float> Pooler::Take(bool normalise) {
  double divisor = config_.type == model::Pooling::kMean ? static_cast<double>(tokens_) : 1.0;
  if (normalise) {  // whatever its length was
    double squares = 0.0;
    for (const double sum : sums_) squares += sum * sum;
    divisor = squares > 0.0 ? std::sqrt(squares) : 1.0;
  }
  std::vector<float> out(sums_.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(sums_[i] / divisor);
  return out;
}

void Normalise(std::vector<float>& vector) {
  double squares = 0.0;
  for (const float value : vector) squares += double{value} * value;
  if (squares == 0.0) return;
  for (float& value : vector) value = static_cast<float>(value / std::sqrt(squares));
}

}  // namespace inferflux::scheduler
