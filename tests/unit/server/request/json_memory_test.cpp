// What a request's JSON takes in memory, measured: this program counts all allocations.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include "base/json/json_scan.h"
#include "server/request/json_body.h"

namespace {

std::atomic<size_t> live{0};
std::atomic<size_t> peak{0};

void Count(void* block) {
  const size_t now = live += ::malloc_usable_size(block);
  size_t before = peak;
  while (now > before && !peak.compare_exchange_weak(before, now)) continue;
}

}  // namespace

void* operator new(size_t size) {
  void* block = std::malloc(size);
  if (block == nullptr) throw std::bad_alloc();
  Count(block);
  return block;
}
void operator delete(void* block) noexcept {
  if (block != nullptr) live -= ::malloc_usable_size(block);
  std::free(block);
}
void operator delete(void* block, size_t) noexcept { operator delete(block); }

namespace inferflux::server {
namespace {

std::string Of(size_t bytes, const std::string& open, const std::string& item, const std::string& close) {
  std::string out = R"({"a":)" + open;
  while (out.size() + item.size() + close.size() < bytes) out += item;
  if (out.back() == ',') out.pop_back();
  return out + close + "}";
}

// Names of few bytes that all differ.
std::string Names(size_t bytes) {
  std::string out = "{";
  for (int i = 0; out.size() + 16 < bytes; ++i) {
    char name[16];
    std::snprintf(name, sizeof name, "\"%x\":0,", i);
    out += name;
  }
  out.back() = '}';
  return out;
}

size_t MemoryOf(const std::string& body, bool& taken) {
  const size_t before = live;
  peak = before;
  const auto parsed = ParseJsonBody(body);
  taken = parsed.has_value();
  return peak - before;
}

TEST(JsonMemory, IsBoundedByTheSizeOfTheText) {
  constexpr size_t kFree = 72 * kFreeJsonValues;
  const auto check = [&](const std::string& body, const char* what) {
    bool taken = false;
    const size_t used = MemoryOf(body, taken);
    EXPECT_LE(used, kMaxJsonMemoryFactor * body.size() + kFree) << what << ", " << body.size() << " bytes";
    return taken;
  };
  // The stack of the parser doubles, so sizes just above a power of two are the worst.
  for (const size_t bytes : {size_t{70'000}, size_t{1} << 20, (size_t{9} << 20) / 8, (size_t{17} << 20) / 8}) {
    check(Of(bytes, "[", "0,", "]"), "numbers");
    check(Of(bytes, "[", "[],", "]"), "lists");
    check(Of(bytes, "[", "{},", "]"), "objects");
    check(Of(bytes, "[", R"({"":0},)", "]"), "members");
    check(Of(bytes, "[", R"("",)", "]"), "strings");
    check(Of(bytes, "[", R"("x",)", "]"), "letters");
    check(Of(bytes, "[", "[0],", "]"), "lists of one");
    check(Of(bytes, "[", "1234,", "]"), "numbers of four digits");
    EXPECT_TRUE(check(Of(bytes, "[", "12345,", "]"), "token ids"));
    check(Names(bytes), "names");
    EXPECT_TRUE(check(Of(bytes, "\"", "hello ", "\""), "a text"));
  }
}

TEST(JsonMemory, ATextWithTooManyValuesIsRefusedByName) {
  const auto refused = ParseJsonBody(Of(1 << 20, "[", "0,", "]"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, "invalid_json");
  EXPECT_NE(refused.error().message.find("values"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(ParseJsonBody(Of(100'000, "[", "0,", "]")).has_value()) << "a small one may be dense";
}

}  // namespace
}  // namespace inferflux::server
