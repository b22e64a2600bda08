#include "dspy/programs/generate_with_retry.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace inferflux::dspy {
namespace {

constexpr std::chrono::milliseconds kFirstWait(50);
constexpr std::chrono::milliseconds kLongestWait(2000);

void WaitOrCancel(std::chrono::milliseconds time, const std::stop_token& cancel) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait_for(lock, cancel, time, [] { return false; });
}

std::string ReasonFor(const Error& error) {
  return fmt::format("That answer could not be read: {}. Answer again, in the form that was described.", error.message);
}

}  // namespace

Result<Prediction> GenerateWithRetry(const Adapter& adapter, LM& lm, const Signature& signature, const Values& inputs,
                                     CallOptions options, const OnField& on_field) {
  const int retries = Merge(options.settings, adapter.defaults()).retries.value_or(0);
  std::chrono::milliseconds wait = kFirstWait;
  Usage usage;
  bool visible = false;
  const OnField watched = [&](const FieldDelta& delta) {
    visible = true;
    on_field(delta);
  };
  for (int tries = 0;; ++tries) {
    Attempt attempt;
    options.attempt = &attempt;
    auto prediction = on_field ? adapter.Stream(lm, signature, inputs, options, watched)
                               : adapter.Call(lm, signature, inputs, options);
    usage += attempt.usage;
    if (prediction) {
      prediction->usage() = usage;
      return prediction;
    }
    const Error& error = prediction.error();
    const bool unread = error.code == ErrorCode::kParseFailed;
    if (tries >= retries || visible || !(unread || IsTransient(error.code))) return prediction;
    if (unread) {
      options.appended = {{"assistant", std::move(attempt.text)}, {"user", ReasonFor(error)}};
    } else {
      WaitOrCancel(wait, options.cancel);
      wait = std::min(wait * 2, kLongestWait);
    }
    if (options.cancel.stop_requested()) {
      return Fail(ErrorCode::kCancelled, "the call was cancelled after {} attempts", tries + 1);
    }
  }
}

}  // namespace inferflux::dspy
