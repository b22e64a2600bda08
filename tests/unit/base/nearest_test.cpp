#include "base/nearest.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace inferflux {
namespace {

TEST(NearestTest, OneErrorOfTypingIsForgiven) {
  const std::vector<std::string_view> words = {"temperature", "top_k", "top_p"};
  EXPECT_EQ(Nearest("temperatur", words), "temperature") << "left out";
  EXPECT_EQ(Nearest("temperaature", words), "temperature") << "typed twice";
  EXPECT_EQ(Nearest("tempirature", words), "temperature") << "another letter";
  EXPECT_EQ(Nearest("etmpreature", words), "temperature") << "swapped twice";
  EXPECT_EQ(Nearest("top-p", words), "top_p");
  EXPECT_EQ(Suggestion("top-p", words), "; did you mean 'top_p'?");
  EXPECT_EQ(Suggestion("colour", words), "");
  EXPECT_EQ(Nearest("", {}), "");
}

TEST(NearestTest, AWordMayDifferByTwoLettersOrAThird) {
  EXPECT_EQ(Nearest("abXY", {"abcd"}), "abcd");
  EXPECT_EQ(Nearest("aXYZ", {"abcd"}), "");
  EXPECT_EQ(Nearest("abcdefXYZ", {"abcdefghi"}), "abcdefghi") << "three of nine";
  EXPECT_EQ(Nearest("abcdeWXYZ", {"abcdefghi"}), "");
  EXPECT_EQ(Nearest("abcdefXY", {"abcdefgh"}), "abcdefgh");
  EXPECT_EQ(Nearest("abcdeXYZ", {"abcdefgh"}), "") << "three of eight";
}

TEST(NearestTest, TwoLettersThatChangedPlacesAreOneError) {
  EXPECT_EQ(Nearest("abcdfehg", {"abcdefgh"}), "abcdefgh") << "two pairs";
  EXPECT_EQ(Nearest("badc", {"bbbb", "abcd"}), "abcd");
}

TEST(NearestTest, WhatStandsBesideAWordIsNotPartOfIt) {
  const std::string_view text = "xa";
  EXPECT_EQ(Nearest(text.substr(1), {"??ax"}), "") << "the x is not the word's";
  EXPECT_EQ(Nearest(text, {"?ax"}), "?ax");
  EXPECT_EQ(Nearest("a", {text.substr(1)}), "a");
}

TEST(NearestTest, TheNearestAndOfThoseTheFirstIsTaken) {
  EXPECT_EQ(Nearest("abcd", {"abXY", "abcX", "abXd"}), "abcX");
  EXPECT_EQ(Nearest("abc", {"abc", "abd"}), "abc");
}

TEST(NearestTest, WordsOf100LettersAreStillCompared) {
  const std::string word(100, 'a'), longer(101, 'a');
  EXPECT_EQ(Nearest(word, {word}), word);
  EXPECT_EQ(Nearest(longer, {longer}), "") << "no typing error";
}

}  // namespace
}  // namespace inferflux
