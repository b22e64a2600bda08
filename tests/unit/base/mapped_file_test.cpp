#include "base/mapped_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace inferflux {
namespace {

TEST(MappedFile, ShowsTheFilesBytes) {
  const auto path = std::filesystem::temp_directory_path() / "inferflux_mapped_file_test";
  std::ofstream(path) << "abc";
  const auto file = MappedFile::Open(path.string());
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ((*file)->bytes().size(), 3u);
  EXPECT_EQ((*file)->bytes()[1], std::byte{'b'});
  std::filesystem::remove(path);
}

TEST(MappedFile, NamesTheFileThatIsMissing) {
  const auto file = MappedFile::Open("/nonexistent/model.gguf");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kNotFound);
  EXPECT_NE(file.error().message.find("/nonexistent/model.gguf"), std::string::npos);
}

TEST(MappedFile, RefusesADirectory) { EXPECT_FALSE(MappedFile::Open("/tmp")); }

}  // namespace
}  // namespace inferflux
