// A user's text can never become a control token, for every kind of tokenizer and every division of the text into
// spans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "text/tokenizer/vocabularies.h"

namespace inferflux::text {
namespace {

using testing::AddToken;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::Make;
using ::testing::Not;

constexpr std::string_view kControls[] = {"<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|im_end|>|>", "\xFF", "a"};

// Every kind, with every name in kControls as a control token, and with pieces or merges that could build most of them.
struct Kind {
  std::string name;
  std::shared_ptr<const Tokenizer> tokenizer;
};

void AddControls(VocabSpec& spec) {
  for (const std::string_view name : kControls) AddToken(spec, std::string(name), TokenKind::kControl);
}

std::vector<Kind> AllKinds() {
  std::vector<Kind> kinds;
  // The last step of these merges spells a control token: the table must not use that token.
  const std::vector<std::string> merges = {"< s",   "<s >", "/ s", "</ s>", "< /", "s >", "</ s",
                                           "</s >", "< |",  "| >", "i m",   "_ e", "n d", "e n"};
  for (const char* pre : {"gpt-2", "llama-bpe", "qwen2", "superbpe"}) {
    VocabSpec spec = testing::ByteLevelSpec({"i m", "n d", "e n", "< /", "s >"}, pre);
    AddControls(spec);
    kinds.push_back({std::string("byte level ") + pre, Make(std::move(spec), merges)});
  }
  const std::vector<std::string> pieces = {"\xE2\x96\x81", "<", "/", "s", ">", "</", "s>", "im", "end", "|", "_"};
  for (const char* model : {"llama", "t5"}) {
    VocabSpec spec = testing::SentencePieceSpec(model, pieces);
    AddControls(spec);
    kinds.push_back({model, Make(std::move(spec))});
  }
  VocabSpec merged = testing::SentencePieceSpec("gemma4", pieces);
  AddControls(merged);
  kinds.push_back({"gemma4", Make(std::move(merged), {"< /", "s >", "</ s>", "i m"})});
  VocabSpec words = testing::WordPieceSpec({"\xE2\x96\x81<", "\xE2\x96\x81s", "s", ">", "<"});
  AddControls(words);
  kinds.push_back({"bert", Make(std::move(words))});
  VocabSpec greedy;
  greedy.model = "rwkv";
  for (int byte = 0; byte < 256; ++byte) AddToken(greedy, fmt::format("\\x{:02x}", byte));
  AddControls(greedy);
  kinds.push_back({"rwkv", Make(std::move(greedy))});
  return kinds;
}

bool HasControl(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
  for (const TokenId id : tokens) {
    // WordPiece writes [UNK] for text that it cannot spell; that is not structure.
    if (tokenizer.IsControl(id) && tokenizer.Text(id) != "[UNK]" && tokenizer.Text(id) != "<unk>") return true;
  }
  return false;
}

TEST(ControlTokens, NeverComeFromText) {
  for (const Kind& kind : AllKinds()) {
    for (const std::string_view name : kControls) {
      for (const std::string& text : {fmt::format("{}", name), fmt::format("x{}", name), fmt::format("{0}{0}", name),
                                      fmt::format(" {} ", name)}) {
        EXPECT_FALSE(HasControl(*kind.tokenizer, kind.tokenizer->Encode(text))) << kind.name << ": " << text;
      }
    }
  }
}

TEST(ControlTokens, ComeFromTrustedSpans) {
  for (const Kind& kind : AllKinds()) {
    const Tokenizer& t = *kind.tokenizer;
    const std::vector<TextSpan> spans = {{"<|im_start|>", true}, {"<", false}, {"<|im_end|>", true}};
    const auto tokens = t.Encode(spans);
    ASSERT_GE(tokens.size(), 2U) << kind.name;
    EXPECT_EQ(t.Text(tokens.front()), "<|im_start|>") << kind.name;
    EXPECT_EQ(t.Text(tokens.back()), "<|im_end|>") << kind.name;
  }
}

TEST(ControlTokens, AreFoundAcrossTrustedSpansOnly) {
  for (const Kind& kind : AllKinds()) {
    const Tokenizer& t = *kind.tokenizer;
    const TokenId im_end = *t.Find("<|im_end|>");
    const auto encode = [&](std::vector<TextSpan> spans) { return t.Encode(spans); };
    EXPECT_THAT(encode({{"<|im", true}, {"_end|>", true}}), ElementsAre(im_end)) << kind.name;
    EXPECT_THAT(encode({{"<|im", true}, {"", false}, {"_end|>", true}}), ElementsAre(im_end)) << kind.name;
    EXPECT_THAT(encode({{"<|im", true}, {"_end|>", false}}), Not(Contains(im_end))) << kind.name;
    EXPECT_THAT(encode({{"<|im", false}, {"_end|>", true}}), Not(Contains(im_end))) << kind.name;
    EXPECT_THAT(encode({{"<|im_end", true}, {"|", false}, {">", true}}), Not(Contains(im_end))) << kind.name;
    EXPECT_THAT(encode({{"<|im_end|>", false}, {"<", true}}), Not(Contains(im_end))) << kind.name;
    // The longest match that is entirely trusted: the user's "|>" must not become part of it.
    EXPECT_EQ(encode({{"<|im_end|>", true}, {"|>", false}}).front(), im_end) << kind.name;
  }
}

// For random text in random spans, all resulting control tokens come from trusted spans.
TEST(ControlTokens, RandomSpansGiveNoMoreThanTheTrustedOnesHold) {
  std::mt19937 random(20250101);
  constexpr std::string_view kParts[] = {
      "<|im_end|>", "<|im", "_end|>", "</s>", "</", "s>",           "<",     "|", ">",
      "a",          " ",    "\xFF",   "xyz",  "\n", "\xE2\x96\x81", "<0x0A>"};
  for (const Kind& kind : AllKinds()) {
    for (int round = 0; round < 300; ++round) {
      std::vector<TextSpan> spans;
      for (int i = 0; i < 6; ++i) {
        TextSpan span{"", random() % 2 == 0};
        for (int j = 0; j < 3; ++j) span.text += kParts[random() % std::size(kParts)];
        spans.push_back(span);
      }
      std::vector<TextSpan> user = spans;
      for (TextSpan& span : user) span.trusted = false;
      EXPECT_FALSE(HasControl(*kind.tokenizer, kind.tokenizer->Encode(user))) << kind.name << ", round " << round;

      std::string trusted_only;  // each user's span is replaced by a character that no control token contains
      for (const TextSpan& span : spans) trusted_only += span.trusted ? span.text : "\x02";
      size_t most = 0;
      for (const std::string_view name : kControls) {
        for (size_t at = trusted_only.find(name); at != std::string::npos; at = trusted_only.find(name, at + 1)) ++most;
      }
      size_t got = 0;
      for (const TokenId id : kind.tokenizer->Encode(spans)) {
        got += HasControl(*kind.tokenizer, {id}) ? 1 : 0;
      }
      EXPECT_LE(got, most) << kind.name << ", round " << round;
    }
  }
}

TEST(Spans, TextBetweenControlTokensIsOneRun) {
  const auto t = Make(testing::ByteLevelSpec({"h e", "he l", "hel l"}), {"h e", "he l", "hel l"});
  const std::vector<TextSpan> spans = {{"h", true}, {"e", false}, {"l", true}, {"l", false}};
  EXPECT_EQ(t->Encode(spans), t->Encode("hell"));
  EXPECT_THAT(testing::Names(*t, t->Encode(spans)), ElementsAre("hell"));
}

TEST(UserDefinedTokens, AreMatchedWholeInAnyTextTheLongestFirst) {
  VocabSpec spec = testing::ByteLevelSpec({});
  const TokenId call = AddToken(spec, "<tool_call>", TokenKind::kUserDefined);
  const TokenId longer = AddToken(spec, "<tool_call>s", TokenKind::kUserDefined);
  const auto t = Make(std::move(spec));
  EXPECT_THAT(t->Encode("<tool_call>"), ElementsAre(call));
  EXPECT_THAT(t->Encode("<tool_call>s<tool_call>"), ElementsAre(longer, call));
  const std::vector<TextSpan> spans = {{"<tool", false}, {"_call>", true}};
  EXPECT_THAT(t->Encode(spans), ElementsAre(call));
}

TEST(WholeTokens, MayStripTheSpaceAroundThem) {
  VocabSpec spec = testing::ByteLevelSpec({});
  const TokenId end = AddToken(spec, "<|end|>", TokenKind::kControl);
  const TokenId mask = AddToken(spec, "<mask>", TokenKind::kControl);
  spec.strips_right = {end};
  spec.strips_left = {mask};
  const auto t = Make(std::move(spec));
  const std::vector<TextSpan> spans = {{"a<|end|>\n b <mask> c", true}};
  EXPECT_THAT(t->Encode(spans), ElementsAre('a', end, 'b', mask, ' ', 'c'));
}

}  // namespace
}  // namespace inferflux::text
