#include "keys/key_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

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
    folder_ = fs::canonical(::mkdtemp(pattern.data()));
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

std::string Why(const Result<std::string>& made) { return made ? "" : made.error().message; }

TEST_F(KeyFileTest, AMadeKeyHasAllThatItWasGiven) {
  const Limits limits{.running = 3, .tokens_per_minute = 60000};
  const auto secret = CreateKey(path_, "ci", static_cast<Scopes>(Scope::kLoad), ParseTime("2030-01-01"), limits);
  ASSERT_TRUE(secret.has_value()) << secret.error().message;
  EXPECT_THAT(*secret, ::testing::MatchesRegex("ifx_[0-9a-f]{64}"));
  EXPECT_EQ(Text(),
            ToHex(HashOf(*secret)) + " load name=ci expires=2030-01-01T00:00:00Z running=3 tokens_per_minute=60000\n");
}

TEST_F(KeyFileTest, WhatIsWrongIsNamed) {
  EXPECT_EQ(ReadKeyFile(path_).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(ReadKeyFile(path_).error().message, "cannot read the API keys file " + path_);
  EXPECT_EQ(RevokeKey(path_, "ci").error().message, "cannot read the API keys file " + path_);
  EXPECT_EQ(Why(CreateKey(path_, "a b", kUsualScopes, std::nullopt)),
            "'a b' is not a valid key name: use letters, digits and ._-");
  ASSERT_TRUE(CreateKey(path_, "ci", kUsualScopes, std::nullopt).has_value());
  EXPECT_EQ(Why(CreateKey(path_, "ci", kUsualScopes, std::nullopt)),
            path_ + " has a key named 'ci' already; revoke it first");
  EXPECT_EQ(RevokeKey(path_, "c").error().message, path_ + " has no key 'c'; inferctl keys list shows them");
  std::ofstream(path_, std::ios::app) << "plain\n";
  EXPECT_THAT(ReadKeyFile(path_).error().message, ::testing::StartsWith(path_ + ":2: not a SHA-256 hash"));
  EXPECT_THAT(RevokeKey(path_, "ci").error().message, ::testing::StartsWith(path_ + ":2: not a SHA-256 hash"));
}

TEST_F(KeyFileTest, AFolderThatIsNotThereCannotBeLocked) {
  const std::string none = (folder_ / "none").string();
  const auto made = CreateKey(none + "/keys", "ci", kUsualScopes, std::nullopt);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::kIo);
  EXPECT_EQ(made.error().message, "cannot lock the folder " + none + ": No such file or directory");
  EXPECT_EQ(RevokeKey(none + "/keys", "ci").error().message, made.error().message);
}

TEST_F(KeyFileTest, WhatCannotBeWrittenIsNamedAndLeavesNothing) {
  fs::create_directory(folder_ / "keys");
  EXPECT_EQ(Why(CreateKey(path_, "ci", kUsualScopes, std::nullopt)), "cannot write " + path_ + ": Is a directory");
  EXPECT_FALSE(fs::exists(path_ + ".partial"));
  fs::remove(folder_ / "keys");
  fs::create_directory(path_ + ".partial");
  EXPECT_EQ(Why(CreateKey(path_, "ci", kUsualScopes, std::nullopt)),
            "cannot write " + path_ + ".partial: Is a directory");
  EXPECT_FALSE(fs::exists(path_));
}

// A program that was killed while it wrote.
TEST_F(KeyFileTest, AnOldPartDoesNotGetIntoTheFile) {
  std::ofstream(path_ + ".partial") << std::string(10'000, '#');
  const auto secret = CreateKey(path_, "ci", kUsualScopes, std::nullopt);
  ASSERT_TRUE(secret.has_value());
  EXPECT_EQ(Text(), ToHex(HashOf(*secret)) + " read,generate name=ci\n");
  EXPECT_FALSE(fs::exists(path_ + ".partial"));
}

TEST_F(KeyFileTest, AFileOfTheWorkingFolderNeedsNoPath) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  const auto secret = CreateKey("keys", "ci", kUsualScopes, std::nullopt);
  fs::current_path(before);
  ASSERT_TRUE(secret.has_value()) << secret.error().message;
  EXPECT_EQ(ReadKeyFile(path_)->size(), 1u);
}

TEST_F(KeyFileTest, AllKeysOfANameAreRevoked) {
  std::ofstream(path_) << ToHex(HashOf("a")) << " name=x\n"
                       << ToHex(HashOf("b")) << " name=y\n# x\n"
                       << ToHex(HashOf("c")) << " name=x\n";
  EXPECT_EQ(RevokeKey(path_, "x").value(), 2);
  EXPECT_EQ(Text(), ToHex(HashOf("b")) + " name=y\n# x\n");
  EXPECT_FALSE(RevokeKey(path_, "").has_value());
}

TEST_F(KeyFileTest, NoFileStaysOpen) {
  const auto open = [] { return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()); };
  const auto before = open();
  ASSERT_TRUE(CreateKey(path_, "ci", kUsualScopes, std::nullopt).has_value());
  ASSERT_TRUE(RevokeKey(path_, "ci").has_value());
  EXPECT_FALSE(RevokeKey(path_, "ci").has_value());
  EXPECT_EQ(open(), before);
}

}  // namespace
}  // namespace inferflux::keys
