#include "worker/memory_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace inferflux::worker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Of this process alone.
std::filesystem::path FolderOf(const std::string& name) {
  return std::filesystem::path(::testing::TempDir()) / (name + "_" + std::to_string(::getpid()));
}

TEST(MemoryCheck, NamesBothFigures) {
  const Status fits = CheckMemory(100 << 20, 100 << 20, 200 << 20, "this machine");
  ASSERT_FALSE(fits);
  EXPECT_EQ(fits.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(fits.error().message, AllOf(HasSubstr("220 MiB"), HasSubstr("200 MiB")));
  EXPECT_TRUE(CheckMemory(100 << 20, 80 << 20, 200 << 20, "this machine"));
}

TEST(MemoryCheck, NeedsATenthMoreThanTheModel) {
  EXPECT_EQ(NeededBytes(1000, 100), 1210);
  EXPECT_TRUE(CheckMemory(1000, 0, 1100, "here"));
  EXPECT_FALSE(CheckMemory(1000, 0, 1099, "here"));
  EXPECT_TRUE(CheckMemory(1000, 0, 0, "here")) << "nobody knows what there is";
  EXPECT_TRUE(CheckMemory(1000, 0, -1, "here"));
  EXPECT_EQ(
      CheckMemory(int64_t{30} << 20, 0, 1 << 20, "worker.memory_budget").error().message,
      "the model needs 33 MiB for weights, keys and values, and worker.memory_budget has 1 MiB; use a smaller model, a "
      "smaller runtime.kv_budget, or another device");
}

TEST(MemoryCheck, OfADirectoryCountsItsWeights) {
  const std::filesystem::path folder = FolderOf("memory_check_folder");
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "a.safetensors") << std::string(100, 'x');
  std::ofstream(folder / "b.safetensors") << std::string(20, 'x');
  std::ofstream(folder / "tokenizer.json") << std::string(3000, 'x');
  EXPECT_EQ(WeightBytes(folder.string()).value(), 120);
  // Names that only look like those of parts.
  for (const char* name : {"-00001-of-00002.gguf", "m-00001_of-00002.gguf", "m_00001-of-00002.gguf"}) {
    std::ofstream(folder / name) << std::string(7, 'x');
    EXPECT_EQ(WeightBytes((folder / name).string()).value(), 7) << name;
  }
  const auto none = WeightBytes((folder / "none.gguf").string());
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  std::filesystem::remove_all(folder);
}

TEST(MemoryCheck, CountsAllPartsOfASplitFile) {
  const std::filesystem::path folder = FolderOf("memory_check_parts");
  std::filesystem::create_directories(folder);
  for (int part = 1; part <= 3; ++part) {
    std::ofstream(folder / ("m-0000" + std::to_string(part) + "-of-00003.gguf")) << std::string(1000, 'x');
  }
  std::ofstream(folder / "other.gguf") << std::string(5000, 'x');
  EXPECT_EQ(WeightBytes((folder / "m-00001-of-00003.gguf").string()).value(), 3000);
  EXPECT_EQ(WeightBytes((folder / "other.gguf").string()).value(), 5000);
  EXPECT_FALSE(WeightBytes((folder / "absent.gguf").string()));
  // Only files of that format and of that model are its parts.
  std::ofstream(folder / "m-00001-of-00003.ggml") << std::string(30, 'x');
  std::ofstream(folder / "n-00001-of-00001.gguf") << std::string(500, 'x');
  std::ofstream(folder / "other-m-00002-of-00003.gguf") << std::string(700, 'x');
  std::ofstream(folder / "m-2-00001-of-00001.gguf") << std::string(40, 'x');
  std::ofstream(folder / "m-2-00001-of-00003.gguf") << std::string(50, 'x');
  std::ofstream(folder / "m-00001-of-00004.gguf") << std::string(60, 'x');
  EXPECT_EQ(WeightBytes((folder / "m-00001-of-00003.ggml").string()).value(), 30);
  EXPECT_EQ(WeightBytes((folder / "m-00001-of-00003.gguf").string()).value(), 3000);
  EXPECT_EQ(WeightBytes((folder / "n-00001-of-00001.gguf").string()).value(), 500);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace inferflux::worker
