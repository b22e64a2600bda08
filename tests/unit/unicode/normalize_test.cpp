#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "unicode/character_classes.h"
#include "unicode/utf8.h"

namespace inferflux::unicode {
namespace {

std::string Nfc(std::string_view text) {
  std::string storage = "of an earlier call";
  return std::string(NormalizeNfc(text, storage));
}

std::string Lower(char32_t code) {
  std::string out = ">";
  AppendLowercase(code, out);
  return out;
}

TEST(NormalizeTest, ComposesAndDecomposes) {
  EXPECT_EQ(Nfc("e\xCC\x81"), "\xC3\xA9");
  EXPECT_EQ(Nfc("A\xCC\x80"), "\xC3\x80") << "U+0300 is the first that combines";
  EXPECT_EQ(Nfc("\xE2\x84\xAB"), "\xC3\x85") << "the angstrom sign is a letter";
  EXPECT_EQ(Decompose("\xC3\xA9z"), "e\xCC\x81z");
  EXPECT_EQ(Decompose(""), "");
}

TEST(NormalizeTest, TextThatNeedsNothingIsNotCopied) {
  const std::string text = "plain \xC3\xA9 \xCB\xBF";
  std::string storage;
  EXPECT_EQ(NormalizeNfc(text, storage).data(), text.data());
}

TEST(NormalizeTest, InvalidBytesStayBetweenNormalisedText) {
  EXPECT_EQ(Nfc("\xFF"
                "e\xCC\x81\xFE\xE2\x82"
                "e\xCC\x81"),
            "\xFF\xC3\xA9\xFE\xE2\x82\xC3\xA9");
  EXPECT_EQ(Nfc("e\xCC\x81\xFF"), "\xC3\xA9\xFF");
  EXPECT_EQ(Nfc("e\xFF\xCC\x81"), "e\xFF\xCC\x81") << "nothing combines across them";
}

TEST(NormalizeTest, LowerCaseIsAppended) {
  EXPECT_EQ(Lower('A'), ">a");
  EXPECT_EQ(Lower('a'), ">a");
  EXPECT_EQ(Lower(0x12F), ">\xC4\xAF");
  EXPECT_EQ(Lower(0x130), ">i\xCC\x87");
  EXPECT_EQ(Lower(0x131), ">\xC4\xB1");
  EXPECT_EQ(Lower(0x10400), ">\xF0\x90\x90\xA8");
}

}  // namespace
}  // namespace inferflux::unicode
