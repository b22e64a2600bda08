#include "metrics/instrument.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>

namespace inferflux::metrics {

void Counter::Add(double amount) const {
  if (counter_ != nullptr) counter_->Increment(amount);
}

void Gauge::Set(double value) const {
  if (gauge_ != nullptr) gauge_->Set(value);
}

void Gauge::Add(double amount) const {
  if (gauge_ != nullptr) gauge_->Increment(amount);
}

void Histogram::Observe(double value) const {
  if (histogram_ != nullptr) histogram_->Observe(value);
}

}  // namespace inferflux::metrics
