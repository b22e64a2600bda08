// How NCCL's library is opened and called, with a stub in its place.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "compute/cuda/nccl/nccl.h"
#include "compute/cuda/nccl/stub_library.h"

namespace inferflux::cuda {
namespace {

using ::testing::HasSubstr;

class NcclLibrary : public ::testing::Test {
 protected:
  void SetUp() override {
    void* library = ::dlopen(CUDA_NCCL_STUB, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
    using Get = NcclStub*();
    stub = reinterpret_cast<Get*>(::dlsym(library, "inferfluxNcclStub"))();
    *stub = NcclStub();
  }

  static Result<std::unique_ptr<NcclCommunicator>> Join(Status alive = {}) {
    const auto nccl = OpenNcclLibrary(CUDA_NCCL_STUB);
    if (!nccl) return Forward(nccl);
    const auto id = (*nccl)->NewId();
    if (!id) return Forward(id);
    return (*nccl)->Join(*id, 2, 1, [&] { return alive; });
  }

  NcclStub* stub = nullptr;
};

TEST_F(NcclLibrary, AMissingOneAnOtherOneAndAnOldOneAreRefused) {
  const auto missing = OpenNcclLibrary("libnccl-of-nobody.so.2");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(missing.error().message, "there is no libnccl-of-nobody.so.2 here");
  const auto other = OpenNcclLibrary("libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("libm.so.6 has no function nccl"));
  stub->version = 21703;
  const auto old = OpenNcclLibrary(CUDA_NCCL_STUB);
  ASSERT_FALSE(old);
  EXPECT_THAT(old.error().message, HasSubstr("is NCCL 2.17.3; it needs to be 2.18 or newer"));
  stub->version = 21800;
  EXPECT_EQ((*OpenNcclLibrary(CUDA_NCCL_STUB))->version(), "2.18.0");
}

TEST_F(NcclLibrary, JoinsWithRankZerosIdAndWaitsUntilTheOthersAreThere) {
  stub->join = 7;  // ncclInProgress
  stub->answers_in_progress = 3;
  const auto joined = Join();
  ASSERT_TRUE(joined) << joined.error().message;
  EXPECT_STREQ(stub->id, "the id of a test");
  EXPECT_EQ(stub->blocking, 0);
  EXPECT_EQ(stub->asked, 4);
  EXPECT_EQ(*(*joined)->Size(), 2);
}

TEST_F(NcclLibrary, AWaitForOthersEndsWhenARankIsLost) {
  stub->join = 7;
  stub->answers_in_progress = 1 << 30;
  const auto joined = Join(Fail(ErrorCode::kUnavailable, "rank 0 has died"));
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().message, "rank 0 has died");
  EXPECT_EQ(stub->aborted, 1);
}

TEST_F(NcclLibrary, OperationsHaveNcclsNumbersAndWaitUntilTheyAreTaken) {
  auto joined = Join();
  ASSERT_TRUE(joined) << joined.error().message;
  float values[3] = {};
  stub->answers_in_progress = 2;
  EXPECT_TRUE((*joined)->AllReduce(values, 3, collective::Reduction::kSum, {}));
  EXPECT_EQ(stub->answers_in_progress, 0) << "it has waited";
  EXPECT_EQ(stub->count, 3u);
  EXPECT_EQ(stub->type, 7) << "ncclFloat32";
  EXPECT_EQ(stub->operation, 0) << "ncclSum";
  EXPECT_TRUE((*joined)->AllReduce(values, 3, collective::Reduction::kMax, {}));
  EXPECT_EQ(stub->operation, 2) << "ncclMax";
  EXPECT_TRUE((*joined)->AsyncError());
  joined->reset();
  EXPECT_EQ(stub->destroyed, 1);
  EXPECT_EQ(stub->aborted, 0);
}

TEST_F(NcclLibrary, AnErrorOfAnotherRankIsAStatusAndAnAbortEndsTheCommunicator) {
  auto joined = Join();
  ASSERT_TRUE(joined) << joined.error().message;
  stub->state = 6;  // ncclRemoteError
  const Status failed = (*joined)->AsyncError();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "NCCL: work between devices failed: remote error: rank 1 is gone");
  (*joined)->Abort();
  (*joined)->Abort();
  float value = 0;
  const Status later = (*joined)->AllReduce(&value, 1, collective::Reduction::kSum, {});
  ASSERT_FALSE(later);
  EXPECT_THAT(later.error().message, HasSubstr("was aborted"));
  EXPECT_EQ(stub->reduced, 0);
  joined->reset();
  EXPECT_EQ(stub->aborted, 1);
  EXPECT_EQ(stub->destroyed, 0) << "an abort frees it";
}

}  // namespace
}  // namespace inferflux::cuda
