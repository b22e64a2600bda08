#include "dspy/python/literal_reader.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "dspy/python/python_format.h"
#include "dspy/python/python_text.h"

namespace inferflux::dspy {
namespace {

TEST(DspyLiteralTest, ReadsJsonAndPython) {
  for (const auto& [text, json] : {
           std::pair(R"([1, -2.5, true, null, "a\nb\u00e9"])", "[1, -2.5, true, null, \"a\\nbé\"]"),
           {"{'a': True, 'b': (None, False,), }", R"({"a": true, "b": [null, false]})"},
           {"'it\\'s'", R"("it's")"},
           {" ```json\n{\"a\": 1}\n``` ", R"({"a": 1})"},
           {"9223372036854775807", "9223372036854775807"},
           {"9223372036854775808", "9.223372036854776e+18"},
           {"\"\\ud83d\\ude42\"", "\"🙂\""},
           {"1e-7", "1e-07"},
       }) {
    const auto value = ReadLiteral(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(JsonDumps(*value), json) << text;
  }
  for (const char* text :
       {"", "four", "4 apples", "{", "[1", "{\"a\"}", "'x", "1e999", "nan", "True1", "[1,,2]", "{1: 2}"}) {
    EXPECT_FALSE(ReadLiteral(text)) << text;
  }
  EXPECT_FALSE(ReadLiteral(std::string(1000, '[') + std::string(1000, ']')));
}

TEST(DspyLiteralTest, FindsTheObjectInAnAnswer) {
  for (const char* text : {R"({"a": 1})", "Sure!\n```json\n{\"a\": 1}\n```\nDone {\"a\": 2}",
                           "The set {x}: {\"a\": 1}.", "```\nno\n```\n```json\n{'a': 1}\n```"}) {
    const auto object = FindJsonObject(text);
    ASSERT_TRUE(object) << text;
    EXPECT_EQ(JsonDumps(*object), R"({"a": 1})") << text;
  }
  EXPECT_FALSE(FindJsonObject("[1, 2] and {x}"));
  EXPECT_FALSE(FindJsonObject(std::string(1 << 20, '{')));
}

boost::json::value RandomJson(std::mt19937& random, int depth) {
  switch (random() % (depth > 3 ? 6 : 8)) {
    case 0:
      return nullptr;
    case 1:
      return random() % 2 == 0;
    case 2:
      return static_cast<int64_t>((uint64_t{random()} << 32) | random());
    case 3: {
      uint64_t bits = (uint64_t{random()} << 32) | random();
      double number = 0;
      std::memcpy(&number, &bits, sizeof number);
      return std::isfinite(number) ? number : 0.5;
    }
    case 4:
    case 5: {
      std::string text;
      for (size_t n = random() % 8; n > 0; --n)
        AppendChar(random() % 4 == 0 ? 0x1F600 + random() % 64 : random() % 0x300, text);
      return boost::json::value(text);
    }
    case 6: {
      boost::json::array array;
      for (size_t n = random() % 4; n > 0; --n) array.push_back(RandomJson(random, depth + 1));
      return array;
    }
    default: {
      boost::json::object object;
      for (size_t n = random() % 4; n > 0; --n) object[std::to_string(random() % 9)] = RandomJson(random, depth + 1);
      return object;
    }
  }
}

// What json.dumps and repr() write reads back as it was, to the last bit of a float.
TEST(DspyLiteralTest, WhatIsWrittenReadsBack) {
  std::mt19937 random(11);
  for (int i = 0; i < 5000; ++i) {
    const boost::json::value value = RandomJson(random, 0);
    for (const std::string& text : {JsonDumps(value), JsonDumps(value, 2), PythonRepr(value)}) {
      const auto read = ReadLiteral(text);
      ASSERT_TRUE(read) << text;
      ASSERT_EQ(JsonDumps(*read), JsonDumps(value)) << text;
    }
  }
}

TEST(DspyLiteralTest, AnyBytesAreReadOrRefused) {
  static constexpr std::string_view kBytes = "{}[](),:\"'\\ntruefalsenullNone0123456789.eE+-ux`j \n\xC3\xA9\xFF";
  std::mt19937 random(13);
  size_t good = 0;
  for (int i = 0; i < 100000; ++i) {
    std::string text;
    for (size_t n = random() % 24; n > 0; --n) text += kBytes[random() % kBytes.size()];
    if (const auto value = ReadLiteral(text)) {
      ++good;
      EXPECT_TRUE(ReadLiteral(JsonDumps(*value))) << text;
    }
    FindJsonObject(text);
  }
  EXPECT_GT(good, 100u);
}

}  // namespace
}  // namespace inferflux::dspy
