// The host runtime: memory, streams, events, captures and products, as strict as CUDA and in any order that it allows.
#include "compute/cuda/host_runtime.h"

#include <gtest/gtest.h>

#include "base/half.h"

namespace inferflux::cuda {
namespace {

class HostRuntimeTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(1); }

  void Open(uint64_t seed) {
    auto opened = HostRuntime::Open({.memory_bytes = 1 << 20, .seed = seed});
    ASSERT_TRUE(opened);
    runtime_ = std::move(*opened);
    first_ = *runtime_->CreateStream();
    second_ = *runtime_->CreateStream();
  }

  template <class T>
  T* Upload(const std::vector<T>& values) {
    void* at = *runtime_->Allocate(values.size() * sizeof(T));
    EXPECT_TRUE(runtime_->CopyToDevice(at, values.data(), values.size() * sizeof(T), first_));
    EXPECT_TRUE(runtime_->Synchronize(first_));
    return static_cast<T*>(at);
  }
  template <class T>
  std::vector<T> Download(const T* at, size_t count) {
    std::vector<T> values(count);
    EXPECT_TRUE(runtime_->CopyToHost(values.data(), at, count * sizeof(T), first_));
    EXPECT_TRUE(runtime_->Synchronize(first_));
    return values;
  }

  std::unique_ptr<HostRuntime> runtime_;
  Stream first_, second_;
};

TEST_F(HostRuntimeTest, DevicePointersAreNotHostPointers) {
  int* at = Upload<int>({1});
  EXPECT_DEATH(*static_cast<volatile int*>(at) = 1, "");
}

TEST_F(HostRuntimeTest, MemoryIsLimitedAndSaysByHowMuch) {
  const auto refused = runtime_->Allocate((1 << 20) + 1);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("1048576"), std::string::npos) << refused.error().message;
  int host = 0;
  EXPECT_FALSE(runtime_->Free(&host));
}

TEST_F(HostRuntimeTest, CopiesStayWithinAllocationsAndReadWhatWasWritten) {
  int* at = Upload<int>({1, 2, 3});
  int host[4] = {};
  EXPECT_FALSE(runtime_->CopyToHost(host, at, sizeof(host), first_));
  EXPECT_FALSE(runtime_->CopyToDevice(at + 1, host, 3 * sizeof(int), first_));
  EXPECT_FALSE(runtime_->Fill(host, 0, sizeof(host), first_));
  void* fresh = *runtime_->Allocate(16);
  EXPECT_TRUE(runtime_->CopyToHost(host, fresh, 16, first_));
  EXPECT_FALSE(runtime_->Synchronize(first_));          // nobody has written it
  EXPECT_FALSE(runtime_->Fill(fresh, 0, 16, second_));  // and the error stays
}

// Two streams that nothing orders: over some seeds both orders turn up. With an event there is only one.
TEST_F(HostRuntimeTest, OnlyEventsOrderStreams) {
  for (const bool event : {false, true}) {
    bool seen[2] = {};
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      Open(seed);
      auto* value = Upload<unsigned char>({9});
      ASSERT_TRUE(runtime_->Fill(value, 0, 1, first_));
      if (event) {
        const Event after = *runtime_->CreateEvent();
        ASSERT_TRUE(runtime_->Record(after, first_));
        ASSERT_TRUE(runtime_->Wait(second_, after));
      }
      ASSERT_TRUE(runtime_->Fill(value, 1, 1, second_));
      ASSERT_TRUE(runtime_->Synchronize(first_));
      ASSERT_TRUE(runtime_->Synchronize(second_));
      seen[Download(value, 1)[0]] = true;
    }
    EXPECT_TRUE(seen[1]);
    EXPECT_EQ(seen[0], !event);
  }
}

// Work on a stream may run much later than the call: host memory that changes before is seen changed.
TEST_F(HostRuntimeTest, CopiesReadHostMemoryLate) {
  int late = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Open(seed);
    int* at = Upload<int>({0});
    int host = 1;
    ASSERT_TRUE(runtime_->CopyToDevice(at, &host, sizeof(host), first_));
    host = 2;
    late += Download(at, 1)[0] == 2 ? 1 : 0;
  }
  EXPECT_GT(late, 0);
  EXPECT_LT(late, 40);
}

TEST_F(HostRuntimeTest, EventsTellTheTimeOfWhatHasHappened) {
  const Event before = *runtime_->CreateEvent();
  const Event after = *runtime_->CreateEvent();
  EXPECT_FALSE(runtime_->Milliseconds(before, after));
  ASSERT_TRUE(runtime_->Record(before, first_));
  ASSERT_TRUE(runtime_->Record(after, first_));
  ASSERT_TRUE(runtime_->Synchronize(after));
  const auto milliseconds = runtime_->Milliseconds(before, after);
  ASSERT_TRUE(milliseconds);
  EXPECT_GE(*milliseconds, 0.0f);
}

TEST_F(HostRuntimeTest, ACaptureIsDoneOnlyWhenItIsReplayed) {
  auto* value = Upload<unsigned char>({9, 9});
  ASSERT_TRUE(runtime_->BeginCapture(first_));
  ASSERT_TRUE(runtime_->Fill(value, 3, 2, first_));
  const auto graph = runtime_->EndCapture(first_);
  ASSERT_TRUE(graph);
  EXPECT_EQ(Download(value, 2), (std::vector<unsigned char>{9, 9}));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(runtime_->Fill(value, 0, 1, first_));
    ASSERT_TRUE(runtime_->Replay(*graph, first_));
    EXPECT_EQ(Download(value, 2), (std::vector<unsigned char>{3, 3}));
  }
  EXPECT_TRUE(runtime_->Destroy(*graph));
  EXPECT_FALSE(runtime_->Replay(*graph, first_));
}

TEST_F(HostRuntimeTest, ACaptureSpreadsThroughEventsAndIsJoined) {
  auto* value = Upload<unsigned char>({9});
  for (const bool joined : {false, true}) {
    const Event fork = *runtime_->CreateEvent();
    const Event join = *runtime_->CreateEvent();
    ASSERT_TRUE(runtime_->BeginCapture(first_));
    ASSERT_TRUE(runtime_->Record(fork, first_));
    ASSERT_TRUE(runtime_->Wait(second_, fork));
    ASSERT_TRUE(runtime_->Fill(value, 4, 1, second_));
    ASSERT_TRUE(runtime_->Record(join, second_));
    if (joined) {
      ASSERT_TRUE(runtime_->Wait(first_, join));
    }
    EXPECT_EQ(runtime_->EndCapture(first_).has_value(), joined);
    EXPECT_EQ(Download(value, 1)[0], 9);
  }
}

// What CUDA refuses while a stream captures: the call fails, and so does the capture. Afterwards everything works.
TEST_F(HostRuntimeTest, CapturesRefuseWhatIsNoWorkOfAStream) {
  const Event outside = *runtime_->CreateEvent();
  ASSERT_TRUE(runtime_->Record(outside, second_));
  void* at = *runtime_->Allocate(16);
  const std::function<bool()> calls[] = {
      [&] { return runtime_->Synchronize(first_).has_value(); },
      [&] { return runtime_->Allocate(16).has_value(); },
      [&] { return runtime_->Free(at).has_value(); },
      [&] { return runtime_->AllocatePinned(16).has_value(); },
      [&] { return runtime_->Wait(first_, outside).has_value(); },
      [&] { return runtime_->BeginCapture(first_).has_value(); },
  };
  for (const auto& call : calls) {
    ASSERT_TRUE(runtime_->BeginCapture(first_));
    EXPECT_FALSE(call());
    EXPECT_FALSE(runtime_->EndCapture(first_));
    EXPECT_TRUE(runtime_->Synchronize(first_));
  }
  EXPECT_FALSE(runtime_->EndCapture(first_));
}

class Products : public HostRuntimeTest {
 protected:
  // D = 2 * op(A) op(B) + bias, 3 x 2 x 4, with leading dimensions above the rows, against hand-made loops.
  void ExpectProduct(bool transpose_a, bool transpose_b) {
    constexpr int64_t m = 3, n = 2, k = 4, lda = 5, ldb = 6, ldd = 4;
    std::vector<float> a(lda * 4), b(ldb * 4), d(ldd * n, -1.0f);
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i) - 7.0f;
    for (size_t i = 0; i < b.size(); ++i) b[i] = 3.0f - static_cast<float>(i);
    const std::vector<float> bias = {10, 20, 30};
    const MatMulParams params{.m = m,
                              .n = n,
                              .k = k,
                              .a_type = ElementType::kF32,
                              .b_type = ElementType::kF32,
                              .d_type = ElementType::kF32,
                              .transpose_a = transpose_a,
                              .transpose_b = transpose_b,
                              .a = Upload(a),
                              .b = Upload(b),
                              .d = Upload(d),
                              .lda = lda,
                              .ldb = ldb,
                              .ldd = ldd,
                              .alpha = 2.0f,
                              .bias = Upload(bias)};
    ASSERT_TRUE(runtime_->MatMul(params, first_));
    const auto product = Download(static_cast<const float*>(params.d), ldd * n);
    for (int64_t row = 0; row < m; ++row) {
      for (int64_t column = 0; column < n; ++column) {
        float sum = 0.0f;
        for (int64_t i = 0; i < k; ++i) {
          sum += (transpose_a ? a[i + lda * row] : a[row + lda * i]) *
                 (transpose_b ? b[column + ldb * i] : b[i + ldb * column]);
        }
        EXPECT_EQ(product[row + ldd * column], 2.0f * sum + bias[row]) << row << ", " << column;
      }
    }
    EXPECT_EQ(product[3], -1.0f);  // between columns nothing is written
  }
};

TEST_F(Products, TakeTransposesAndLeadingDimensions) {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) ExpectProduct(a, b);
  }
}

TEST_F(Products, OfFp8TakeScales) {
  const std::vector<Fp8> ones(16 * 16, ToFp8(1.0f));
  MatMulParams params{.m = 16,
                      .n = 16,
                      .k = 16,
                      .a_type = ElementType::kFp8,
                      .b_type = ElementType::kFp8,
                      .d_type = ElementType::kBf16,
                      .transpose_a = true,
                      .a = Upload(ones),
                      .b = Upload(ones),
                      .d = *runtime_->Allocate(512),
                      .lda = 16,
                      .ldb = 16,
                      .ldd = 16,
                      .scale_a = Upload<float>({0.5f}),
                      .scale_b = Upload<float>({3.0f})};
  ASSERT_TRUE(runtime_->MatMul(params, first_));
  EXPECT_EQ(ToFloat(Download(static_cast<const Bf16*>(params.d), 256)[255]), 24.0f);
  params.transpose_a = false;
  EXPECT_FALSE(runtime_->MatMul(params, first_));  // cuBLASLt has no such kernel
}

TEST_F(Products, RefuseWhatCuBlasLtRefuses) {
  const std::vector<float> values(64, 1.0f);
  const MatMulParams right{.m = 4,
                           .n = 4,
                           .k = 4,
                           .a_type = ElementType::kF32,
                           .b_type = ElementType::kF32,
                           .d_type = ElementType::kF32,
                           .a = Upload(values),
                           .b = Upload(values),
                           .d = Upload(values),
                           .lda = 4,
                           .ldb = 4,
                           .ldd = 4};
  EXPECT_TRUE(runtime_->MatMul(right, first_));
  const auto refused = [&](auto change) {
    MatMulParams wrong = right;
    change(wrong);
    return !runtime_->MatMul(wrong, first_);
  };
  EXPECT_TRUE(refused([](MatMulParams& p) { p.lda = 3; }));
  EXPECT_TRUE(refused([](MatMulParams& p) { p.ldd = 3; }));
  EXPECT_TRUE(refused([](MatMulParams& p) { p.n = 0; }));
  EXPECT_TRUE(refused([](MatMulParams& p) { p.a = static_cast<const float*>(p.a) + 1; }));
  EXPECT_TRUE(refused([](MatMulParams& p) { p.b_type = ElementType::kBf16; }));
  EXPECT_TRUE(refused([](MatMulParams& p) { p.scale_a = static_cast<const float*>(p.a); }));
  MatMulParams beyond = right;
  beyond.lda = 40;  // its last column is not there
  EXPECT_TRUE(runtime_->MatMul(beyond, first_));
  EXPECT_FALSE(runtime_->Synchronize(first_));
}

TEST(HostDevices, OfUnknownArchitecturesAreRefused) { EXPECT_FALSE(HostRuntime::Open({.compute_capability = 75})); }

}  // namespace
}  // namespace inferflux::cuda
