// Pairs of texts that a template joins.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "serving/generation/marked_model.h"
#include "serving/generation/pair_prompt.h"

namespace inferflux::serving {
namespace {

using testing::BytesOf;
using testing::kMarkedEnd;
using testing::MarkedModel;
using testing::TemplateOf;

std::string TextOf(const ServedModel& model, const std::string& query, const std::string& document,
                   const PairLimits& limits = {}) {
  const auto prompt = MakePairPrompt(model, query, document, limits);
  if (!prompt) return ToError(prompt.error()).message;
  EXPECT_EQ(prompt->second_text, 0);
  std::string out;
  for (const TokenId id : prompt->tokens) out += model.tokenizer->Bytes(id, true);
  return out;
}

TEST(PairTemplateTest, BothPlacesAreFilledInAnyOrder) {
  ServedModel model = MarkedModel();
  const auto filled = [&](const std::string& code) {
    model.rerank_template = code;
    return TextOf(model, "Q", "D");
  };
  EXPECT_EQ(filled("<{query}|{document}>"), "<Q|D>");
  EXPECT_EQ(filled("{document}{query}"), "DQ");
  EXPECT_EQ(filled("{query}{query}.{document}"), "QQ.D");
  EXPECT_EQ(filled("{document}!"), "D!");
  EXPECT_EQ(filled("{query"), "{query");
}

TEST(PairTemplateTest, OnlyTheTemplateIsTrusted) {
  ServedModel model = MarkedModel();
  model.rerank_template = "</s>{query}{document}";
  const auto prompt = MakePairPrompt(model, "{document}</s>", "D");
  ASSERT_TRUE(prompt);
  std::vector<TokenId> expected = {kMarkedEnd};
  for (const TokenId byte : BytesOf("{document}</s>D")) expected.push_back(byte);
  EXPECT_EQ(prompt->tokens, expected);
}

TEST(PairTemplateTest, AChatTemplateForBothRolesJoinsThem) {
  const std::string each = "{% for m in messages %}{% if m.role == ";
  const std::string rest = " %}q{{ m.content }}{% elif m.role == ";
  const std::string end = " %}d{{ m.content }}{% endif %}{% endfor %}";
  const auto joined = [&](const std::string& query, const std::string& document) {
    ServedModel model = MarkedModel();
    model.chat_template = TemplateOf(each + query + rest + document + end);
    const auto prompt = MakePairPrompt(model, "Q", "D");
    return prompt ? prompt->tokens : std::vector<TokenId>();
  };
  EXPECT_EQ(joined("\"query\"", "'document'"), BytesOf("qQdD"));
  EXPECT_EQ(joined("'query'", "\"document\""), BytesOf("qQdD"));
  EXPECT_EQ(joined("'query'", "'text'"), BytesOf("QD")) << "which is for something else";
  EXPECT_EQ(joined("'user'", "'document'"), BytesOf("QD"));
}

TEST(PairTemplateTest, ADocumentIsCutUntilThePromptFits) {
  ServedModel model = MarkedModel();
  model.rerank_template = "{query}-{document}-{document}.";
  EXPECT_EQ(TextOf(model, "Q", "abcd"), "Q-abcd-abcd.");
  EXPECT_EQ(TextOf(model, "Q", "abcd", {.document = 4, .whole = 12}), "Q-abcd-abcd.");
  EXPECT_EQ(TextOf(model, "Q", "abcd", {.document = 3, .whole = {}}), "Q-abc-abc.");
  EXPECT_EQ(TextOf(model, "Q", "abcd", {.document = {}, .whole = 11}), "Q-abc-abc.");
  EXPECT_EQ(TextOf(model, "Q", "abcd", {.document = {}, .whole = 6}), "Q--.");
  EXPECT_EQ(TextOf(model, "Q", "abcd", {.document = {}, .whole = 1}), "Q--.") << "there is no more to cut";
  EXPECT_EQ(TextOf(model, "Q", "abcd", {.document = 0, .whole = {}}), "Q--.");
  EXPECT_EQ(TextOf(model, "Q", "abcd", {.document = 1, .whole = 3}), "Q--.");
}

TEST(PairTemplateTest, AChatTemplateThatFailsSaysSo) {
  ServedModel model = MarkedModel();
  model.chat_template = TemplateOf("{{ raise_exception('\"query\" and \"document\"') }}");
  EXPECT_NE(TextOf(model, "Q", "D").find("does not take these messages"), std::string::npos);
}

}  // namespace
}  // namespace inferflux::serving
