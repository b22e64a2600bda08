#include "compute/cuda/backend/rates.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/half.h"
#include "base/mix64.h"
#include "compute/cuda/backend/device_bytes.h"
#include "compute/cuda/backend/operation.h"

namespace inferflux::cuda {
namespace {

// Two events of a runtime.
class Stopwatch {
 public:
  static Result<Stopwatch> Make(Runtime& runtime) {
    auto from = runtime.CreateEvent();
    if (!from) return Forward(from);
    auto to = runtime.CreateEvent();
    if (!to) {
      (void)runtime.Destroy(*from);  // the first error is the reason
      return Forward(to);
    }
    return Stopwatch(runtime, *from, *to);
  }
  Stopwatch(Stopwatch&& other) noexcept
      : runtime_(other.runtime_), from_(std::exchange(other.from_, {})), to_(std::exchange(other.to_, {})) {}
  Stopwatch& operator=(Stopwatch&&) = delete;
  ~Stopwatch() {
    for (const Event event : {from_, to_}) {
      if (event.native != nullptr) (void)runtime_.Destroy(event);  // fails where the device has failed
    }
  }

  // Seconds of `count` calls of `work`, each of which puts some on the stream.
  template <class F>
  Result<double> Time(Stream stream, int64_t count, const F& work) {
    if (auto recorded = runtime_.Record(from_, stream); !recorded) return Forward(recorded);
    for (int64_t i = 0; i < count; ++i) {
      if (auto put = work(); !put) return Forward(put);
    }
    if (auto recorded = runtime_.Record(to_, stream); !recorded) return Forward(recorded);
    if (auto done = runtime_.Synchronize(to_); !done) return Forward(done);
    const auto milliseconds = runtime_.Milliseconds(from_, to_);
    if (!milliseconds) return Forward(milliseconds);
    return std::max(double{*milliseconds} / 1e3, 1e-7);  // a clock may stand still
  }

 private:
  Stopwatch(Runtime& runtime, Event from, Event to) : runtime_(runtime), from_(from), to_(to) {}

  Runtime& runtime_;
  Event from_, to_;
};

// Calls a second: the median of rounds that take about `seconds` together.
template <class F>
Result<double> CallsPerSecond(Runtime& runtime, Stream stream, double seconds, const F& work) {
  constexpr int kRounds = 7;
  auto watch = Stopwatch::Make(runtime);
  if (!watch) return Forward(watch);
  if (auto warm = watch->Time(stream, 1, work); !warm) return Forward(warm);
  const auto once = watch->Time(stream, 1, work);
  if (!once) return Forward(once);
  const auto count = static_cast<int64_t>(std::clamp(seconds / kRounds / *once, 1.0, 1e4));
  std::vector<double> rates;
  for (int round = 0; round < kRounds; ++round) {
    const auto took = watch->Time(stream, count, work);
    if (!took) return Forward(took);
    rates.push_back(static_cast<double>(count) / *took);
  }
  std::ranges::nth_element(rates, rates.begin() + kRounds / 2);
  return rates[kRounds / 2];
}

// Numbers between -1 and 1. A product of zeros takes less power, and would be a ceiling that no model reaches.
Status FillRandomly(Runtime& runtime, Stream stream, const DeviceBytes& to) {
  std::vector<Bf16> values(size_t{1} << 16);
  for (size_t i = 0; i < values.size(); ++i) {
    const float unit = static_cast<float>(Mix64(i + 1) >> 40) / static_cast<float>(1 << 24);
    values[i] = ToBf16(2.0f * unit - 1.0f);
  }
  const size_t whole = values.size() * sizeof(Bf16);
  for (size_t at = 0; at < to.bytes(); at += whole) {
    const size_t bytes = std::min(whole, to.bytes() - at);
    if (auto put = runtime.CopyToDevice(to.as<std::byte>() + at, values.data(), bytes, stream); !put) return put;
  }
  return runtime.Synchronize(stream);
}

Result<double> CopyRate(Runtime& runtime, Stream stream, size_t bytes, double seconds) {
  auto from = DeviceBytes::Allocate(runtime, bytes), to = DeviceBytes::Allocate(runtime, bytes);
  if (!from) return Forward(from, "measuring how fast the device copies");
  if (!to) return Forward(to, "measuring how fast the device copies");
  if (auto filled = FillRandomly(runtime, stream, *from); !filled) return Forward(filled);
  return CallsPerSecond(runtime, stream, seconds,
                        [&] { return runtime.CopyOnDevice(to->data(), from->data(), bytes, stream); })
      .map([&](double copies) { return 2.0 * static_cast<double>(bytes) * copies; });  // read and written
}

Result<double> TensorRate(Runtime& runtime, Stream stream, int64_t size, double seconds) {
  const auto elements = static_cast<size_t>(size) * static_cast<size_t>(size);
  auto a = DeviceBytes::Allocate(runtime, 2 * elements), b = DeviceBytes::Allocate(runtime, 2 * elements);
  auto d = DeviceBytes::Allocate(runtime, 4 * elements);
  for (const auto* each : {&a, &b, &d}) {
    if (!*each) return Forward(*each, "measuring how fast the device multiplies");
  }
  for (const auto* each : {&a, &b}) {
    if (auto filled = FillRandomly(runtime, stream, **each); !filled) return Forward(filled);
  }
  const MatMulParams product{.m = size,
                             .n = size,
                             .k = size,
                             .d_type = ElementType::kF32,
                             .transpose_a = true,  // as a model's products are
                             .a = a->data(),
                             .b = b->data(),
                             .d = d->data(),
                             .lda = size,
                             .ldb = size,
                             .ldd = size};
  const double operations = 2.0 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size);
  return CallsPerSecond(runtime, stream, seconds, [&] { return runtime.MatMul(product, stream); })
      .map([&](double products) { return products * operations; });
}

}  // namespace

RateSizes ChooseRateSizes(const DeviceProperties& properties) {
  if (!properties.gpu) return {.copy_bytes = size_t{1} << 20, .product = 64};  // a program on a CPU plays it
  RateSizes sizes{.copy_bytes = size_t{1} << 30, .product = 8192};
  const auto fits = [&](int64_t bytes) { return bytes <= properties.free_bytes / 2; };
  while (!fits(2 * static_cast<int64_t>(sizes.copy_bytes)) && sizes.copy_bytes > (1 << 20)) sizes.copy_bytes /= 2;
  while (!fits(8 * sizes.product * sizes.product) && sizes.product > 512) sizes.product /= 2;
  return sizes;
}

Result<compute::DeviceRates> MeasureRates(Runtime& runtime, Stream stream, const RateSizes& sizes, double seconds) {
  const auto copied = CopyRate(runtime, stream, sizes.copy_bytes, seconds / 2);
  if (!copied) return Forward(copied);
  const auto multiplied = TensorRate(runtime, stream, sizes.product, seconds / 2);
  if (!multiplied) return Forward(multiplied);
  return compute::DeviceRates{.copy_bytes = *copied, .tensor_operations = *multiplied};
}

}  // namespace inferflux::cuda

namespace inferflux::compute {

Result<DeviceRates> Cuda::MeasureRates(Context& context, double seconds) {
  const auto properties = context.runtime->Properties();
  if (!properties) return Forward(properties);
  return cuda::MeasureRates(*context.runtime, context.stream, cuda::ChooseRateSizes(*properties), seconds);
}

}  // namespace inferflux::compute
