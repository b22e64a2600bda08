// The metrics of a process. One object, owned by the program and lent to its parts; never a global.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "metrics/instrument.h"

namespace prometheus {
class Collectable;
}

namespace inferflux::metrics {

using Labels = std::map<std::string, std::string>;

class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // The instrument with this name and these labels; the first call creates it. Names follow Prometheus' rules
  // ([a-zA-Z_:][a-zA-Z0-9_:]*) and are written in code, never taken from outside. Label values may be any text. Look an
  // instrument up once and keep the handle: this call takes a lock.
  Counter GetCounter(const std::string& name, const std::string& help, const Labels& labels = {});
  Gauge GetGauge(const std::string& name, const std::string& help, const Labels& labels = {});
  // `buckets`: ascending upper bounds, the same in every call for one name.
  Histogram GetHistogram(const std::string& name, const std::string& help, const std::vector<double>& buckets,
                         const Labels& labels = {});

  // Keeps the series whose label `label` has this value. When the last holder lets go, they leave the exposition, and
  // handles to them must no longer be used. A series without a holder lasts as long as the registry, which must outlive
  // the holders.
  [[nodiscard]] std::shared_ptr<const void> Hold(const std::string& label, const std::string& value);

  // What an exposition reads from.
  const prometheus::Collectable& Collectable() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace inferflux::metrics
