// The measurement of a device, on one whose rates are known.
#include "compute/cuda/backend/rates.h"

#include <cstdlib>
#include <set>

#include "compute/cuda/backend/cuda_test.h"

namespace inferflux::cuda {
namespace {

// Copies and products take the time that its rates give them, by its own clock; nothing is computed.
class KnownDevice final : public Runtime {
 public:
  double copy_bytes = 0.0;  // a second, read and written
  double operations = 0.0;
  double warm_up = 0.0;  // seconds that the first product takes in addition
  int64_t free_bytes = int64_t{1} << 20;
  std::set<void*> live;
  int events = 0;

  Result<DeviceProperties> Properties() override { return DeviceProperties{}; }
  Result<bool> CanAccessPeer(int) override { return false; }
  Result<void*> Allocate(size_t bytes) override {
    if (static_cast<int64_t>(bytes) > free_bytes) {
      return Fail(ErrorCode::kResourceExhausted, "{} bytes of device memory, of which {} are free", bytes, free_bytes);
    }
    return *live.insert(std::malloc(bytes)).first;
  }
  Status Free(void* at) override {
    EXPECT_EQ(live.erase(at), 1u);
    std::free(at);
    return {};
  }
  Result<void*> AllocatePinned(size_t bytes) override { return Allocate(bytes); }
  Status FreePinned(void* at) override { return Free(at); }
  Status CopyToDevice(void*, const void*, size_t, Stream) override { return {}; }
  Status CopyToHost(void*, const void*, size_t, Stream) override { return {}; }
  Status CopyOnDevice(void*, const void*, size_t bytes, Stream) override {
    now_ += 2.0 * static_cast<double>(bytes) / copy_bytes;
    return {};
  }
  Status Fill(void*, uint8_t, size_t, Stream) override { return {}; }
  Result<Stream> CreateStream() override { return Stream{}; }
  Status Destroy(Stream) override { return {}; }
  Status Synchronize(Stream) override { return {}; }
  Result<Event> CreateEvent() override {
    ++events;
    return Event{new double(0.0)};
  }
  Status Destroy(Event event) override {
    --events;
    delete static_cast<double*>(event.native);
    return {};
  }
  Status Record(Event event, Stream) override {
    *static_cast<double*>(event.native) = now_;
    return {};
  }
  Status Wait(Stream, Event) override { return {}; }
  Status Synchronize(Event) override { return {}; }
  Result<float> Milliseconds(Event from, Event to) override {
    return static_cast<float>(1e3 * (*static_cast<double*>(to.native) - *static_cast<double*>(from.native)));
  }
  Status BeginCapture(Stream) override { return {}; }
  Result<Graph> EndCapture(Stream) override { return Graph{}; }
  Status Replay(Graph, Stream) override { return {}; }
  Status Destroy(Graph) override { return {}; }
  Status MatMul(const MatMulParams& params, Stream) override {
    now_ += std::exchange(warm_up, 0.0);
    now_ += 2.0 * static_cast<double>(params.m * params.n) * static_cast<double>(params.k) / operations;
    return CheckMatMul(params);
  }

  double now() const { return now_; }

 private:
  double now_ = 0.0;
};

TEST(CudaRates, AreThoseOfTheDevice) {
  KnownDevice device;
  device.copy_bytes = 3e9;
  device.operations = 4e11;
  device.warm_up = 5.0;
  const auto rates = MeasureRates(device, {}, {.copy_bytes = 1 << 18, .product = 128}, 1.0);
  ASSERT_TRUE(rates) << rates.error().message;
  EXPECT_NEAR(rates->copy_bytes, 3e9, 3e4);
  EXPECT_NEAR(rates->tensor_operations, 4e11, 4e6);
  EXPECT_NEAR(device.now(), 6.0, 0.2) << "a second, and the warm-up";
  EXPECT_TRUE(device.live.empty());
  EXPECT_EQ(device.events, 0);
}

TEST(CudaRates, WhatDoesNotFitIsAnError) {
  KnownDevice device;
  device.copy_bytes = device.operations = 1e12;
  device.free_bytes = 1 << 16;
  const auto rates = MeasureRates(device, {}, {.copy_bytes = 1 << 18, .product = 128}, 1.0);
  ASSERT_FALSE(rates);
  EXPECT_EQ(rates.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(rates.error().message.find("measuring how fast the device copies: 262144 bytes"), std::string::npos)
      << rates.error().message;
}

TEST(CudaRates, SizesFollowTheFreeMemory) {
  const auto of = [](int64_t free) { return ChooseRateSizes({.free_bytes = free}); };
  EXPECT_EQ(of(int64_t{64} << 30).copy_bytes, size_t{1} << 30);
  EXPECT_EQ(of(int64_t{64} << 30).product, 8192);
  EXPECT_EQ(of(int64_t{1} << 30).copy_bytes, size_t{256} << 20);
  EXPECT_EQ(of(int64_t{100} << 20).product, 2048);
  EXPECT_EQ(of(0).copy_bytes, size_t{1} << 20);
  EXPECT_EQ(of(0).product, 512);
}

// The executor's rates mean nothing, but they are measured as a GPU's are.
TEST(CudaRates, AreMeasuredOnTheHostExecutor) {
  const auto context = compute::testing::OpenContext();
  const auto rates = compute::Cuda::MeasureRates(*context, 0.01);
  ASSERT_TRUE(rates) << rates.error().message;
  EXPECT_GT(rates->copy_bytes, 0.0);
  EXPECT_GT(rates->tensor_operations, 0.0);
}

}  // namespace
}  // namespace inferflux::cuda
