// The handles that code counts with. They are small, copied freely, safe from any thread, and valid as long as the
// registry that gave them and, where one is held, the holder of their series (Registry::Hold). A default-constructed
// handle counts nothing, so that code may run unmeasured.
#pragma once

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace inferflux::metrics {

// Only increases.
class Counter {
 public:
  Counter() = default;
  explicit Counter(prometheus::Counter* counter) : counter_(counter) {}
  void Add(double amount = 1) const;

 private:
  prometheus::Counter* counter_ = nullptr;
};

// Increases and decreases.
class Gauge {
 public:
  Gauge() = default;
  explicit Gauge(prometheus::Gauge* gauge) : gauge_(gauge) {}
  void Set(double value) const;
  void Add(double amount) const;

 private:
  prometheus::Gauge* gauge_ = nullptr;
};

// Counts observations in buckets.
class Histogram {
 public:
  Histogram() = default;
  explicit Histogram(prometheus::Histogram* histogram) : histogram_(histogram) {}
  void Observe(double value) const;

 private:
  prometheus::Histogram* histogram_ = nullptr;
};

}  // namespace inferflux::metrics
