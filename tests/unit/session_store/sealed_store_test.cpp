#include "session_store/sealed_store.h"

#include <gtest/gtest.h>

#include "session_store/map_store.h"

namespace inferflux::session_store {
namespace {

const std::string kKey(32, 'k');
constexpr size_t kMost = 100;

struct Sealed : ::testing::Test {
  std::shared_ptr<MapStore> inner = std::make_shared<MapStore>();
  SealedStore store{inner, kKey};

  ErrorCode CodeOfGet(const std::string& name = "a/b") {
    const auto got = store.Get(name, kMost);
    return got ? ErrorCode::kInternal : got.error().code;
  }
};

TEST_F(Sealed, BringsBackWhatWasPut) {
  ASSERT_TRUE(store.Put("a/b", "body", {}));
  EXPECT_EQ(store.Get("a/b", kMost).value(), "body");
  EXPECT_EQ(CodeOfGet("a/c"), ErrorCode::kNotFound);
  ASSERT_TRUE(store.Remove("a/b"));
  EXPECT_EQ(CodeOfGet(), ErrorCode::kNotFound);
}

TEST_F(Sealed, ShowsTheStoreNoName) {
  ASSERT_TRUE(store.Put("owner/a", "body", {}));
  const std::string& name = inner->blobs.begin()->first;
  EXPECT_EQ(name.size(), 64u);
  EXPECT_EQ(name.find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST_F(Sealed, RefusesEachChangedByte) {
  ASSERT_TRUE(store.Put("a/b", "body", {}));
  std::string& blob = inner->blobs.begin()->second;
  for (char& byte : blob) {
    byte = static_cast<char>(byte ^ 1);
    EXPECT_EQ(CodeOfGet(), ErrorCode::kDataLoss);
    byte = static_cast<char>(byte ^ 1);
  }
  EXPECT_TRUE(store.Get("a/b", kMost));
}

TEST_F(Sealed, RefusesWhatIsCutOrLonger) {
  ASSERT_TRUE(store.Put("a/b", "body", {}));
  std::string& blob = inner->blobs.begin()->second;
  const std::string whole = blob;
  for (size_t size = 0; size < whole.size(); ++size) {
    blob = whole.substr(0, size);
    EXPECT_EQ(CodeOfGet(), ErrorCode::kDataLoss) << size;
  }
  blob = whole + "x";
  EXPECT_EQ(CodeOfGet(), ErrorCode::kDataLoss);
}

TEST_F(Sealed, RefusesTheBlobOfAnotherName) {
  ASSERT_TRUE(store.Put("a/b", "body", {}));
  ASSERT_TRUE(store.Put("a/c", "other", {}));
  std::swap(inner->blobs.begin()->second, inner->blobs.rbegin()->second);
  EXPECT_EQ(CodeOfGet("a/b"), ErrorCode::kDataLoss);
  EXPECT_EQ(CodeOfGet("a/c"), ErrorCode::kDataLoss);
}

TEST_F(Sealed, OfAnotherKeyHasOtherNames) {
  ASSERT_TRUE(store.Put("a/b", "body", {}));
  SealedStore other(inner, std::string(32, 'o'));
  EXPECT_EQ(other.Get("a/b", kMost).error().code, ErrorCode::kNotFound);
}

TEST_F(Sealed, PassesOnWhenItExpires) {
  const scheduler::WallTime time(std::chrono::seconds(1'700'000'000));
  ASSERT_TRUE(store.Put("a/b", "", time));
  EXPECT_EQ(inner->expires, time);
  EXPECT_EQ(store.Get("a/b", 0).value(), "") << "nothing is something too";
}

TEST_F(Sealed, SaysThatTheKeyMayBeAnother) {
  ASSERT_TRUE(store.Put("a/b", "body", {}));
  inner->blobs.begin()->second.clear();
  EXPECT_EQ(store.Get("a/b", kMost).error().message,
            "what the store has is not what a worker with this key (runtime.session_store_key_file) has put there");
}

TEST_F(Sealed, CountsTheBodyAgainstTheLimit) {
  ASSERT_TRUE(store.Put("a/b", std::string(kMost, 'x'), {}));
  EXPECT_TRUE(store.Get("a/b", kMost));
  EXPECT_FALSE(store.Get("a/b", kMost - 1));
}

}  // namespace
}  // namespace inferflux::session_store
