#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace inferflux {
namespace {

class MappedFileTest : public ::testing::Test {
 protected:
  MappedFileTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "inferflux_mapped_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~MappedFileTest() override { std::filesystem::remove_all(folder_); }

  std::string Make(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  static Error ErrorOfOpen(const std::string& path) {
    const auto file = MappedFile::Open(path);
    EXPECT_FALSE(file) << path;
    return file ? Error() : file.error();
  }

  std::filesystem::path folder_;
};

std::ptrdiff_t OpenFiles() {
  using Entries = std::filesystem::directory_iterator;
  return std::distance(Entries("/proc/self/fd"), Entries());
}

bool IsMapped(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with(path)) return true;
  }
  return false;
}

TEST_F(MappedFileTest, ShowsTheFilesBytesUntilItGoes) {
  const std::string path = Make("model", "abc");
  {
    const auto file = MappedFile::Open(path);
    ASSERT_TRUE(file) << file.error().message;
    const auto bytes = (*file)->bytes();
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "abc");
    EXPECT_EQ((*file)->path(), path);
    EXPECT_TRUE(IsMapped(path));
  }
  EXPECT_FALSE(IsMapped(path));
}

TEST_F(MappedFileTest, AnErrorNamesTheFileAndSaysWhatIsWrong) {
  const Error missing = ErrorOfOpen("/nonexistent/model.gguf");
  EXPECT_EQ(missing.code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.message, "cannot open /nonexistent/model.gguf: No such file or directory");
  const std::string empty = Make("empty", "");
  EXPECT_EQ(ErrorOfOpen(empty).code, ErrorCode::kDataLoss);
  EXPECT_EQ(ErrorOfOpen(empty).message, empty + " is empty");
  EXPECT_EQ(ErrorOfOpen(empty + "/x").code, ErrorCode::kIo);
  EXPECT_EQ(ErrorOfOpen(empty + "/x").message, "cannot open " + empty + "/x: Not a directory");
  EXPECT_EQ(ErrorOfOpen(folder_).code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(ErrorOfOpen(folder_).message, "cannot map " + folder_.string() + ": it is not a regular file");
}

TEST_F(MappedFileTest, NoFileStaysOpen) {
  const std::string path = Make("model", "abc"), empty = Make("empty", "");
  const auto before = OpenFiles();
  const auto file = MappedFile::Open(path);
  ErrorOfOpen(empty);
  ErrorOfOpen(folder_);
  EXPECT_EQ(OpenFiles(), before);
}

}  // namespace
}  // namespace inferflux
