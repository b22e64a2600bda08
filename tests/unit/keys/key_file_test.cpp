#include "keys/key_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace inferflux::keys {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class KeyFileTest : public ::testing::Test {
 protected:
  KeyFileTest() {
    std::string pattern = (fs::temp_directory_path() / "inferflux_keys_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    path_ = (folder_ / "keys").string();
  }
  ~KeyFileTest() override { fs::remove_all(folder_); }

  std::string Text() const {
    std::stringstream out;
    out << std::ifstream(path_).rdbuf();
    return out.str();
  }

  fs::path folder_;
  std::string path_;
};

TEST_F(KeyFileTest, AMadeKeyIsInTheFileByItsHashOnly) {
  const auto secret = CreateKey(path_, "ci", kUsualScopes, ParseTime("2030-01-01"));
  ASSERT_TRUE(secret.has_value()) << secret.error().message;
  EXPECT_THAT(Text(), Not(HasSubstr(*secret)));
  const auto keys = ReadKeyFile(path_);
  ASSERT_TRUE(keys.has_value());
  ASSERT_EQ(keys->size(), 1u);
  EXPECT_EQ(keys->front().hash, HashOf(*secret));
  EXPECT_EQ(keys->front().name, "ci");
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600) << "for its owner only";
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1) << "nothing else is left over";
}

TEST_F(KeyFileTest, OtherLinesStayAsTheyAre) {
  std::ofstream(path_) << "# our keys\n" << ToHex(HashOf("old")) << "  -   # alice\n";
  ASSERT_TRUE(CreateKey(path_, "new", kUsualScopes, std::nullopt).has_value());
  EXPECT_THAT(Text(), HasSubstr("# our keys\n" + ToHex(HashOf("old")) + "  -   # alice\n"));
  EXPECT_EQ(RevokeKey(path_, "new").value(), 1);
  EXPECT_EQ(Text(), "# our keys\n" + ToHex(HashOf("old")) + "  -   # alice\n");
}

TEST_F(KeyFileTest, AChangedFileIsAsOpenAsItWasAndALinkStaysOne) {
  const std::string real = (folder_ / "real").string();
  std::ofstream(real) << ToHex(HashOf("old")) << "\n";
  ASSERT_EQ(::chmod(real.c_str(), 0664), 0);
  fs::create_symlink(real, path_);
  const mode_t before = ::umask(0077);
  EXPECT_TRUE(CreateKey(path_, "new", kUsualScopes, std::nullopt).has_value());
  ::umask(before);
  EXPECT_TRUE(fs::is_symlink(path_));
  struct stat info {};
  ASSERT_EQ(::stat(real.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0664);
  EXPECT_EQ(ReadKeyFile(real)->size(), 2u);
}

TEST_F(KeyFileTest, ANameIsTakenOnce) {
  const auto first = CreateKey(path_, "ci", kUsualScopes, std::nullopt);
  EXPECT_FALSE(CreateKey(path_, "ci", kUsualScopes, std::nullopt).has_value());
  EXPECT_FALSE(CreateKey(path_, "a b", kUsualScopes, std::nullopt).has_value());
  const auto other = CreateKey(path_, "other", kUsualScopes, std::nullopt);
  ASSERT_TRUE(first && other);
  EXPECT_NE(*first, *other);
}

TEST_F(KeyFileTest, AKeyIsRevokedByItsNameOrItsHash) {
  ASSERT_TRUE(CreateKey(path_, "one", kUsualScopes, std::nullopt).has_value());
  const auto two = CreateKey(path_, "two", kUsualScopes, std::nullopt);
  const std::string hash = ToHex(HashOf(*two));
  EXPECT_FALSE(RevokeKey(path_, hash.substr(0, 7)).has_value()) << "too short to be meant";
  EXPECT_EQ(RevokeKey(path_, hash.substr(0, 8)).value(), 1);
  EXPECT_EQ(RevokeKey(path_, "one").value(), 1);
  const auto none = RevokeKey(path_, "one");
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
}

TEST_F(KeyFileTest, AWrongLineIsNamedAndNothingIsWritten) {
  const std::string text = ToHex(HashOf("a")) + "\nsk-plain-text-key\n";
  std::ofstream(path_) << text;
  const auto made = CreateKey(path_, "ci", kUsualScopes, std::nullopt);
  ASSERT_FALSE(made.has_value());
  EXPECT_THAT(made.error().message, HasSubstr(":2:"));
  EXPECT_EQ(Text(), text);
}

TEST_F(KeyFileTest, NoKeyIsLostWhenManyAreMadeAtOnce) {
  std::vector<std::thread> makers;
  for (int i = 0; i < 8; ++i) {
    makers.emplace_back(
        [&, i] { EXPECT_TRUE(CreateKey(path_, "key" + std::to_string(i), kUsualScopes, std::nullopt).has_value()); });
  }
  for (std::thread& maker : makers) maker.join();
  EXPECT_EQ(ReadKeyFile(path_)->size(), 8u);
}

}  // namespace
}  // namespace inferflux::keys
