// Sets of characters and their UTF-8 forms.
#include "text/grammar/code_ranges.h"

#include <gtest/gtest.h>

#include <string>

namespace inferflux::text {
namespace {

std::string Shown(const CodeRanges& set) {
  std::string out;
  for (const CodeRange& range : set) {
    out += fmt::format("{:X}-{:X} ", static_cast<uint32_t>(range.first), static_cast<uint32_t>(range.last));
  }
  return out;
}
std::string Normal(const CodeRanges& ranges) { return Shown(Normalise(ranges)); }

TEST(CodeRanges, AreMadeOneSet) {
  EXPECT_EQ(Normal({}), "");
  EXPECT_EQ(Normal({{5, 4}}), "");
  EXPECT_EQ(Normal({{5, 5}}), "5-5 ");
  EXPECT_EQ(Normal({{8, 9}, {1, 2}, {4, 6}}), "1-2 4-6 8-9 ");
  EXPECT_EQ(Normal({{1, 3}, {4, 6}}), "1-6 ") << "neighbours";
  EXPECT_EQ(Normal({{1, 9}, {2, 4}, {9, 11}}), "1-B ");
  EXPECT_EQ(Normal({{0xD7FE, 0xE001}}), "D7FE-D7FF E000-E001 ");
  EXPECT_EQ(Normal({{0xD800, 0xDFFF}}), "");
  EXPECT_EQ(Normal({{0xD7FF, 0xD800}}), "D7FF-D7FF ");
  EXPECT_EQ(Normal({{0xDFFF, 0xE000}}), "E000-E000 ");
  EXPECT_EQ(Normal({{0x10FFFE, 0x110005}}), "10FFFE-10FFFF ");
  EXPECT_EQ(Normal({{0x110000, 0x110005}}), "");
}

TEST(CodeRanges, HaveComplementsAndIntersections) {
  EXPECT_EQ(Shown(Complement({})), "0-D7FF E000-10FFFF ");
  EXPECT_EQ(Shown(Complement({{0, 4}, {6, 6}})), "5-5 7-D7FF E000-10FFFF ");
  EXPECT_EQ(Shown(Complement({{3, 0x10FFFF}})), "0-2 ");
  EXPECT_EQ(Shown(Complement({{0, 0xD7FF}, {0xE000, 0x10FFFE}})), "10FFFF-10FFFF ");
  const CodeRanges a = {{1, 5}, {8, 12}}, b = {{5, 8}, {10, 10}, {12, 20}};
  EXPECT_EQ(Shown(Intersect(a, b)), "5-5 8-8 A-A C-C ");
  EXPECT_EQ(Shown(Intersect(b, a)), "5-5 8-8 A-A C-C ");
  EXPECT_EQ(Shown(Intersect(a, {})), "");
  EXPECT_EQ(Shown(Intersect({{1, 5}}, {{6, 7}})), "");
}

std::string Utf8(const CodeRanges& set) {
  std::string out;
  ForEachUtf8(set, [&](std::span<const ByteRange> bytes) {
    for (const ByteRange& range : bytes) out += fmt::format("{:02X}-{:02X} ", range.first, range.last);
    out += "| ";
  });
  return out;
}

TEST(CodeRanges, HaveUtf8Forms) {
  EXPECT_EQ(Utf8({{0, 0x7F}}), "00-7F | ");
  EXPECT_EQ(Utf8({{0x7F, 0x80}}), "7F-7F | C2-C2 80-80 | ");
  EXPECT_EQ(Utf8({{0x80, 0x7FF}}), "C2-DF 80-BF | ");
  EXPECT_EQ(Utf8({{0x7FF, 0x800}}), "DF-DF BF-BF | E0-E0 A0-A0 80-80 | ");
  EXPECT_EQ(Utf8({{0x800, 0xFFF}}), "E0-E0 A0-BF 80-BF | ");
  EXPECT_EQ(Utf8({{0x81, 0xC1}}), "C2-C2 81-BF | C3-C3 80-81 | ");
  EXPECT_EQ(Utf8({{0xFFFF, 0x10000}}), "EF-EF BF-BF BF-BF | F0-F0 90-90 80-80 80-80 | ");
  EXPECT_EQ(Utf8({{0x10000, 0x10FFFF}}),
            "F0-F0 90-BF 80-BF 80-BF | F1-F3 80-BF 80-BF 80-BF | F4-F4 80-8F 80-BF 80-BF | ");
  EXPECT_EQ(Utf8({{0x1001, 0x2FFE}}),
            "E1-E1 80-80 81-BF | E1-E1 81-BF 80-BF | E2-E2 80-BE 80-BF | E2-E2 BF-BF 80-BE | ");
}

}  // namespace
}  // namespace inferflux::text
