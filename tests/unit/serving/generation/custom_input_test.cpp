#include "serving/generation/custom_input.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace inferflux::serving {
namespace {

TEST(CustomInputTest, TheInputGrowsWithTheArguments) {
  CustomInput input;
  std::vector<std::string> grown;
  for (const char* piece : {"{", R"("inp)", R"(ut":")", "a", R"(\n)", R"(\")", "é", R"(\ud83e\udda9)", "b\"", "}"}) {
    grown.push_back(input.Take(piece));
  }
  EXPECT_EQ(grown, (std::vector<std::string>{"", "", "", "a", "\n", "\"", "é", "🦩", "b", ""}));
  EXPECT_EQ(input.Finish(), "");
  EXPECT_EQ(input.Take("more"), "") << "the call has ended";
  CustomInput cut;
  EXPECT_EQ(cut.Take("{\"in"), "");
  EXPECT_EQ(cut.Finish(), "{\"in");
  EXPECT_EQ(cut.Finish(), "");
  EXPECT_EQ(cut.Take("more"), "");
}

TEST(CustomInputTest, WholeArgumentsGiveTheSame) {
  EXPECT_EQ(CustomInputOf(R"({"input":"SELECT \"a\";\n"})"), "SELECT \"a\";\n");
  EXPECT_EQ(CustomInputOf(R"({"input":""})"), "");
  EXPECT_EQ(CustomInputOf("{}"), "");
  EXPECT_EQ(CustomInputOf(R"({"input":"cut of)"), "cut of") << "what there is of a call that was cut";
  EXPECT_EQ(CustomInputOf(R"({"inp)"), R"({"inp)");
}

TEST(CustomInputTest, ArgumentsOfAnotherFormAreTheInput) {
  EXPECT_EQ(CustomInputOf(R"({"code":"x"})"), R"({"code":"x"})");
  EXPECT_EQ(CustomInputOf(R"({"input":3})"), R"({"input":3})");
}

}  // namespace
}  // namespace inferflux::serving
