#include "dspy/lm/call_settings.h"

namespace inferflux::dspy {
namespace {

constexpr int kMaxRetries = 100;
constexpr size_t kMaxStops = 64;

template <class T>
void FillIn(std::optional<T>& value, const std::optional<T>& otherwise) {
  if (!value) value = otherwise;
}

template <class T>
Status InRange(std::string_view name, const std::optional<T>& value, T low, T high) {
  if (!value || (*value >= low && *value <= high)) return {};
  return FailAt(name, Error::kNoPosition, "{} is {}; it must be from {} to {}", name, *value, low, high);
}

}  // namespace

CallSettings Merge(const CallSettings& first, const CallSettings& second) {
  CallSettings merged = first;
  Sampling& sampling = merged.sampling;
  FillIn(sampling.max_tokens, second.sampling.max_tokens);
  FillIn(sampling.temperature, second.sampling.temperature);
  FillIn(sampling.top_p, second.sampling.top_p);
  FillIn(sampling.top_k, second.sampling.top_k);
  FillIn(sampling.min_p, second.sampling.min_p);
  FillIn(sampling.repeat_penalty, second.sampling.repeat_penalty);
  FillIn(sampling.seed, second.sampling.seed);
  if (sampling.stop.empty()) sampling.stop = second.sampling.stop;
  FillIn(merged.retries, second.retries);
  FillIn(merged.timeout, second.timeout);
  FillIn(merged.constrain, second.constrain);
  return merged;
}

Status Check(const CallSettings& settings) {
  const Sampling& sampling = settings.sampling;
  const Status checks[] = {
      InRange<int64_t>("max_tokens", sampling.max_tokens, 1, 1 << 30),
      InRange("temperature", sampling.temperature, 0.0, 2.0),
      InRange("top_p", sampling.top_p, 0.0, 1.0),
      InRange<int64_t>("top_k", sampling.top_k, 0, 1 << 30),
      InRange("min_p", sampling.min_p, 0.0, 1.0),
      InRange("repeat_penalty", sampling.repeat_penalty, 0.01, 10.0),
      InRange("retries", settings.retries, 0, kMaxRetries),
  };
  for (const Status& check : checks) {
    if (!check) return check;
  }
  if (settings.timeout && settings.timeout->count() <= 0) {
    return FailAt("timeout", Error::kNoPosition, "timeout is {} ms; it must be positive", settings.timeout->count());
  }
  if (sampling.stop.size() > kMaxStops) {
    return FailAt("stop", Error::kNoPosition, "there are {} stop strings; at most {} are taken", sampling.stop.size(),
                  kMaxStops);
  }
  for (const std::string& stop : sampling.stop) {
    if (stop.empty()) return FailAt("stop", Error::kNoPosition, "a stop string is empty");
  }
  return {};
}

}  // namespace inferflux::dspy
