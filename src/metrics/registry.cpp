#include "metrics/registry.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <functional>
#include <mutex>
#include <utility>

namespace inferflux::metrics {

// The library's registry already merges families with one name, and children with the same labels.
class Registry::Impl {
 public:
  prometheus::Registry registry{prometheus::Registry::InsertBehavior::Merge};

  template <class T, class... Buckets>
  T& Add(prometheus::Family<T>& family, const Labels& labels, const Buckets&... buckets) {
    const std::lock_guard lock(mutex_);
    T& series = family.Add(labels, buckets...);
    series_.try_emplace({family.GetName(), labels}, [&family, &series] { family.Remove(&series); });
    return series;
  }

  void Hold(const std::pair<std::string, std::string>& label) {
    const std::lock_guard lock(mutex_);
    ++holders_[label];
  }

  // One lock for the count and the removal: a new holder comes before both or after both.
  void Release(const std::pair<std::string, std::string>& label) {
    const std::lock_guard lock(mutex_);
    if (--holders_[label] > 0) return;
    holders_.erase(label);
    std::erase_if(series_, [&](const auto& entry) {
      const Labels& labels = entry.first.second;
      const auto found = labels.find(label.first);
      if (found == labels.end() || found->second != label.second) return false;
      entry.second();
      return true;
    });
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, Labels>, std::function<void()>> series_;  // by name and labels: what removes it
  std::map<std::pair<std::string, std::string>, int> holders_;
};

Registry::Registry() : impl_(std::make_unique<Impl>()) {}
Registry::~Registry() = default;

Counter Registry::GetCounter(const std::string& name, const std::string& help, const Labels& labels) {
  return Counter(&impl_->Add(prometheus::BuildCounter().Name(name).Help(help).Register(impl_->registry), labels));
}

Gauge Registry::GetGauge(const std::string& name, const std::string& help, const Labels& labels) {
  return Gauge(&impl_->Add(prometheus::BuildGauge().Name(name).Help(help).Register(impl_->registry), labels));
}

Histogram Registry::GetHistogram(const std::string& name, const std::string& help, const std::vector<double>& buckets,
                                 const Labels& labels) {
  auto& family = prometheus::BuildHistogram().Name(name).Help(help).Register(impl_->registry);
  return Histogram(&impl_->Add(family, labels, buckets));
}

std::shared_ptr<const void> Registry::Hold(const std::string& label, const std::string& value) {
  std::pair<std::string, std::string> held(label, value);
  impl_->Hold(held);
  return {impl_.get(), [held = std::move(held)](Impl* impl) { impl->Release(held); }};
}

const prometheus::Collectable& Registry::Collectable() const { return impl_->registry; }

}  // namespace inferflux::metrics
