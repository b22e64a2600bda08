#include "metrics/registry.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

namespace inferflux::metrics {

// The library's registry already merges families with one name, and children with the same labels.
class Registry::Impl {
 public:
  prometheus::Registry registry{prometheus::Registry::InsertBehavior::Merge};
};

Registry::Registry() : impl_(std::make_unique<Impl>()) {}
Registry::~Registry() = default;

Counter Registry::GetCounter(const std::string& name, const std::string& help, const Labels& labels) {
  return Counter(&prometheus::BuildCounter().Name(name).Help(help).Register(impl_->registry).Add(labels));
}

Gauge Registry::GetGauge(const std::string& name, const std::string& help, const Labels& labels) {
  return Gauge(&prometheus::BuildGauge().Name(name).Help(help).Register(impl_->registry).Add(labels));
}

Histogram Registry::GetHistogram(const std::string& name, const std::string& help, const std::vector<double>& buckets,
                                 const Labels& labels) {
  auto& family = prometheus::BuildHistogram().Name(name).Help(help).Register(impl_->registry);
  return Histogram(&family.Add(labels, buckets));
}

const prometheus::Collectable& Registry::Collectable() const { return impl_->registry; }

}  // namespace inferflux::metrics
