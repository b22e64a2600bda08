#include "worker/memory_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace inferflux::worker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(MemoryCheck, NamesBothFigures) {
  const Status fits = CheckMemory(100 << 20, 100 << 20, 200 << 20, "this machine");
  ASSERT_FALSE(fits);
  EXPECT_EQ(fits.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(fits.error().message, AllOf(HasSubstr("220 MiB"), HasSubstr("200 MiB")));
  EXPECT_TRUE(CheckMemory(100 << 20, 80 << 20, 200 << 20, "this machine"));
}

TEST(MemoryCheck, CountsAllPartsOfASplitFile) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "memory_check_parts";
  std::filesystem::create_directories(folder);
  for (int part = 1; part <= 3; ++part) {
    std::ofstream(folder / ("m-0000" + std::to_string(part) + "-of-00003.gguf")) << std::string(1000, 'x');
  }
  std::ofstream(folder / "other.gguf") << std::string(5000, 'x');
  EXPECT_EQ(WeightBytes((folder / "m-00001-of-00003.gguf").string()).value(), 3000);
  EXPECT_EQ(WeightBytes((folder / "other.gguf").string()).value(), 5000);
  EXPECT_FALSE(WeightBytes((folder / "absent.gguf").string()));
}

}  // namespace
}  // namespace inferflux::worker
