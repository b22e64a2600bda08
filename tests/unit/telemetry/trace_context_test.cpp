#include "telemetry/trace_context.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace inferflux::telemetry {
namespace {

constexpr std::string_view kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr std::string_view kSpan = "00f067aa0ba902b7";

TEST(TraceContextTest, TheStandardsExampleIsReadAndWritten) {
  const std::string header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const auto context = ParseTraceParent(header);
  ASSERT_TRUE(context.has_value());
  EXPECT_EQ(ToHex(context->trace), kTrace);
  EXPECT_EQ(ToHex(context->span), kSpan);
  EXPECT_TRUE(context->sampled);
  EXPECT_EQ(FormatTraceParent(*context), header);
  EXPECT_TRUE(ParseTraceParent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03")->sampled);
  EXPECT_FALSE(ParseTraceParent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-10")->sampled);
  const auto unsampled = ParseTraceParent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-02");
  EXPECT_FALSE(unsampled->sampled);
  EXPECT_TRUE(FormatTraceParent(*unsampled).ends_with("-00"));
}

TEST(TraceContextTest, ALaterVersionMayHaveMore) {
  const std::string ids = "-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  EXPECT_TRUE(ParseTraceParent("cc" + ids + "-what-comes").has_value());
  EXPECT_TRUE(ParseTraceParent("cc" + ids).has_value());
  EXPECT_FALSE(ParseTraceParent("cc" + ids + ".what").has_value());
  EXPECT_FALSE(ParseTraceParent("00" + ids + "-what").has_value());
  EXPECT_FALSE(ParseTraceParent("ff" + ids).has_value());
}

TEST(TraceContextTest, WrongHeadersAreNone) {
  for (const char* wrong : {"", "00", "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                            "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
                            "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                            "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
                            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7_01",
                            "0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902bz-01",
                            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x",
                            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0"}) {
    EXPECT_FALSE(ParseTraceParent(wrong).has_value()) << wrong;
  }
}

// Every server that sees a trace decides alike: by the last seven bytes, which are random.
TEST(TraceContextTest, ATraceIsSampledByItsLastSevenBytes) {
  const auto ending = [](uint64_t value) {
    TraceId out;
    out.fill(0xff);
    for (size_t i = 0; i < 7; ++i) out[15 - i] = static_cast<uint8_t>(value >> (8 * i));
    return out;
  };
  const uint64_t percent = (uint64_t{1} << 56) / 100, most = (uint64_t{1} << 56) - 1;
  EXPECT_TRUE(IsSampled(ending(0), 1));
  EXPECT_TRUE(IsSampled(ending(25 * percent - 1), 25));
  EXPECT_FALSE(IsSampled(ending(25 * percent), 25));
  EXPECT_FALSE(IsSampled(ending(most), 99));
  EXPECT_TRUE(IsSampled(ending(most), 100));
  EXPECT_FALSE(IsSampled(ending(0), 0));
}

TEST(TraceContextTest, IdsAreDifferentAndSampledByTheirShare) {
  std::set<TraceId> ids;
  int sampled = 0;
  for (int i = 0; i < 4000; ++i) {
    const TraceId id = NewTraceId();
    ids.insert(id);
    sampled += IsSampled(id, 25) ? 1 : 0;
    EXPECT_FALSE(IsSampled(id, 0));
    EXPECT_TRUE(IsSampled(id, 100));
    EXPECT_LE(IsSampled(id, 25), IsSampled(id, 60)) << "a larger share has the smaller one";
  }
  EXPECT_EQ(ids.size(), 4000u);
  EXPECT_GT(sampled, 850);
  EXPECT_LT(sampled, 1150);
}

// Each bit of each byte is sometimes 1 and sometimes 0.
template <class Id>
void ExpectRandomBits(Id (*next)()) {
  std::set<Id> ids;
  Id any{}, all;
  all.fill(0xff);
  for (int i = 0; i < 500; ++i) {
    const Id id = next();
    ids.insert(id);
    for (size_t byte = 0; byte < id.size(); ++byte) {
      any[byte] |= id[byte];
      all[byte] &= id[byte];
    }
  }
  EXPECT_EQ(ids.size(), 500u);
  for (size_t byte = 0; byte < any.size(); ++byte) {
    EXPECT_EQ(any[byte], 0xff) << byte;
    EXPECT_EQ(all[byte], 0) << byte;
  }
}

TEST(TraceContextTest, IdsAreRandomInEachBit) {
  ExpectRandomBits(&NewTraceId);
  ExpectRandomBits(&NewSpanId);
}

}  // namespace
}  // namespace inferflux::telemetry
