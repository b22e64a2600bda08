#include "server/reply/likeliest_answers.h"

#include <gtest/gtest.h>

namespace inferflux::server {
namespace {

scheduler::StreamEvent Answer(const char* text, std::vector<float> logprobs) {
  scheduler::StreamEvent out;
  out.text = text;
  for (const float logprob : logprobs) out.tokens.push_back({{0, "", logprob}, {}});
  return out;
}

TEST(LikeliestAnswersTest, KeepsTheBestOfEachPromptByTheMeanOfItsTokens) {
  const auto kept = LikeliestAnswers({Answer("a", {-1, -1, -1}), Answer("b", {-0.5f}), Answer("c", {-2}),  //
                                      Answer("d", {-3}), Answer("e", {-4}), Answer("f", {-1})},
                                     3, 2);
  ASSERT_EQ(kept.size(), 4u);
  EXPECT_EQ(kept[0].text, "b");
  EXPECT_EQ(kept[1].text, "a") << "three tokens of -1 are likelier than one of -2";
  EXPECT_EQ(kept[2].text, "f");
  EXPECT_EQ(kept[3].text, "d");
}

}  // namespace
}  // namespace inferflux::server
