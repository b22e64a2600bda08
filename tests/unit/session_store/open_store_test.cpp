#include "session_store/open_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>

namespace inferflux::session_store {
namespace {

namespace fs = std::filesystem;

struct OpenStoreTest : ::testing::Test {
  const fs::path folder = fs::path(::testing::TempDir()) / ("open-store-" + std::to_string(::getpid()));
  const std::string key = (folder / "key").string();

  OpenStoreTest() {
    fs::create_directories(folder);
    std::ofstream(key) << std::string(64, 'a') << "\n";
    for (const char* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"}) {
      ::unsetenv(name);
    }
  }
  ~OpenStoreTest() override { fs::remove_all(folder); }

  std::string Why(const std::string& url, const std::string& file) {
    const auto store = OpenStore(url, file);
    return store ? "" : store.error().message;
  }
};

TEST_F(OpenStoreTest, WithoutAnAddressThereIsNone) {
  const auto store = OpenStore("", "");
  ASSERT_TRUE(store);
  EXPECT_EQ(*store, nullptr);
}

TEST_F(OpenStoreTest, AFolderIsAStore) {
  for (const std::string& url : {folder.string() + "/a", "file://" + folder.string() + "/b"}) {
    const auto store = OpenStore(url, key);
    ASSERT_TRUE(store) << store.error().message;
    ASSERT_TRUE(
        (*store)->Put("name", "blob", std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now())));
    EXPECT_EQ((*store)->Get("name", 10).value(), "blob");
  }
}

TEST_F(OpenStoreTest, AKeyHas32To4096Characters) {
  const auto why = [&](const std::string& text) {
    std::ofstream(folder / "sized", std::ios::binary) << text;
    return Why(folder.string() + "/store", (folder / "sized").string());
  };
  EXPECT_EQ(why(std::string(32, 'a')), "");
  EXPECT_EQ(why(std::string(4096, 'a')), "");
  EXPECT_NE(why(std::string(31, 'a') + " \r\n").find("32 to 4096 characters is needed, and it has 31"),
            std::string::npos);
  EXPECT_NE(why(std::string(5000, 'a')).find("it has 4097"), std::string::npos) << "no more is read";
  EXPECT_NE(why("\n\n").find("is empty"), std::string::npos);
}

// Another line end is the same key, and another key opens nothing.
TEST_F(OpenStoreTest, TheKeyIsTheTextOfTheFile) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto open = [&](const std::string& text) {
    std::ofstream(folder / "another", std::ios::binary) << text;
    return OpenStore(folder.string() + "/store", (folder / "another").string()).value();
  };
  const std::string one = std::string(40, 'k') + "a", other = std::string(40, 'k') + "b";
  ASSERT_TRUE(open(one)->Put("name", "blob", now));
  EXPECT_EQ(open(one + " \r\n")->Get("name", 10).value(), "blob");
  EXPECT_FALSE(open(other)->Get("name", 10));
}

TEST_F(OpenStoreTest, WhatIsMissingIsNamed) {
  EXPECT_NE(Why(folder.string(), "").find("runtime.session_store_key_file"), std::string::npos);
  EXPECT_NE(Why(folder.string(), (folder / "none").string()).find("cannot be read"), std::string::npos);
  std::ofstream(folder / "short") << "secret\n";
  EXPECT_NE(Why(folder.string(), (folder / "short").string()).find("it has 6"), std::string::npos);
  EXPECT_EQ(Why("relative/path", key),
            "runtime.session_store: 'relative/path' is not /FOLDER, file:///FOLDER or s3://BUCKET");
  EXPECT_NE(Why("file://relative", key).find("s3://BUCKET"), std::string::npos);
  EXPECT_EQ(Why(folder.string(), (folder / "short").string()),
            "runtime.session_store_key_file " + (folder / "short").string() +
                ": a key of 32 to 4096 characters is needed, and it has 6");
  EXPECT_NE(Why("s3://", key).find("s3://BUCKET"), std::string::npos);
  EXPECT_NE(Why("s3://buc_ket", key).find("s3://BUCKET"), std::string::npos);
  EXPECT_NE(Why("s3://bucket/a b", key).find("s3://BUCKET"), std::string::npos);
  EXPECT_NE(Why("s3://bucket", key).find("AWS_ACCESS_KEY_ID"), std::string::npos);
  ::setenv("AWS_ACCESS_KEY_ID", "id", 1);
  EXPECT_NE(Why("s3://bucket", key).find("AWS_SECRET_ACCESS_KEY"), std::string::npos);
  ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
  EXPECT_EQ(Why("s3://bucket/prefix/", key), "");
  ::setenv("AWS_ENDPOINT_URL", "ftp://host", 1);
  EXPECT_NE(Why("s3://bucket", key).find("AWS_ENDPOINT_URL"), std::string::npos);
}

}  // namespace
}  // namespace inferflux::session_store
