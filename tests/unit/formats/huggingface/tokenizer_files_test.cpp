// Each file of a tokenizer, field by field, and what is wrong with one, word for word.
#include <gtest/gtest.h>

#include <cstring>

#include "formats/huggingface/hf_generation_config.h"
#include "formats/huggingface/hf_tokenizer.h"
#include "formats/huggingface/hf_tokenizer_config.h"
#include "formats/huggingface/sentencepiece_tokenizer.h"

namespace inferflux::formats {
namespace {

// Everything that was read, or the error.
std::string Shown(const Result<HfTokenizer>& tokenizer) {
  if (!tokenizer) return tokenizer.error().message;
  std::string out = tokenizer->model + ":";
  for (size_t i = 0; i < tokenizer->tokens.size(); ++i) {
    out += tokenizer->present[i] ? " " + tokenizer->tokens[i] : " -";
    if (!tokenizer->scores.empty()) out += fmt::format("/{}", tokenizer->scores[i]);
  }
  for (const auto& merge : tokenizer->merges) out += fmt::format(" ({})", merge);
  for (const HfAddedToken& token : tokenizer->added_tokens) {
    out += fmt::format(" +{} {} {}{}{}{}{}", token.id, token.content, token.special ? 's' : '-',
                       token.strips_left ? 'l' : '-', token.strips_right ? 'r' : '-', token.single_word ? 'w' : '-',
                       token.normalized ? 'n' : '-');
  }
  return out + fmt::format("; unk {} {}{}'{}' {}", tokenizer->unk_token.value_or("none"),
                           tokenizer->byte_fallback ? "bytes " : "", tokenizer->ignore_merges ? "whole " : "",
                           tokenizer->continuing_subword_prefix, tokenizer->max_input_chars_per_word);
}
std::string OfJson(const std::string& text) { return Shown(ParseHfTokenizer(*JsonObject::Parse(text, "t"))); }
std::string OfModel(const std::string& model, const std::string& added = "") {
  return OfJson(R"({"model":{)" + model + "}" + (added.empty() ? "" : R"(,"added_tokens":[)" + added + "]") + "}");
}

TEST(TokenizerFiles, AVocabularyHasItsTokensAtTheirIds) {
  EXPECT_EQ(OfModel(R"("type":"BPE","vocab":{"b":2,"a":0},"merges":["a b",["b","a"]],"unk_token":"a")"),
            "BPE: a - b (a b) (b a); unk a '' 100");
  EXPECT_EQ(OfModel(R"("vocab":{"a":0},"merges":[])"), "BPE: a; unk none '' 100") << "the type may be left out";
  EXPECT_EQ(OfModel(R"("vocab":{"a":0})"), "t: model: type '' is unknown; BPE, Unigram and WordPiece are read");
  EXPECT_EQ(OfModel(R"("type":"BPE","vocab":{"a":0},"byte_fallback":true)"), "BPE: a; unk none bytes '' 100");
  EXPECT_EQ(OfModel(R"("type":"BPE","vocab":{"a":0},"ignore_merges":true)"), "BPE: a; unk none whole '' 100");
  EXPECT_EQ(OfModel(R"("type":"WordPiece","vocab":{"a":0},"merges":7,"continuing_subword_prefix":"##",)"
                    R"("max_input_chars_per_word":9)"),
            "WordPiece: a; unk none '##' 9")
      << "only BPE has merges";
  EXPECT_EQ(OfModel(R"("type":"Unigram","vocab":[["a",-1],["b",0.5]],"unk_id":1)", R"({"id":3,"content":"c"})"),
            "Unigram: a/-1 b/0.5 -/0 c/0 +3 c ----n; unk b '' 100");
}

TEST(TokenizerFiles, AnAddedTokenHasEachFlag) {
  const auto flag = [](const std::string& name, const char* value) {
    return OfModel(R"("type":"BPE","vocab":{"a":0})", R"({"id":1,"content":"x",")" + name + "\":" + value + "}");
  };
  EXPECT_EQ(flag("special", "true"), "BPE: a x +1 x s---n; unk none '' 100");
  EXPECT_EQ(flag("lstrip", "true"), "BPE: a x +1 x -l--n; unk none '' 100");
  EXPECT_EQ(flag("rstrip", "true"), "BPE: a x +1 x --r-n; unk none '' 100");
  EXPECT_EQ(flag("single_word", "true"), "BPE: a x +1 x ---wn; unk none '' 100");
  EXPECT_EQ(flag("normalized", "false"), "BPE: a x +1 x -----; unk none '' 100");
  EXPECT_EQ(flag("lstrip", "1"), "t: added_tokens[0]: lstrip should be true or false, but is a number");
}

TEST(TokenizerFiles, WhatIsWrongIsNamed) {
  const auto merge = [](const std::string& text) {
    const std::string said = OfModel(R"("type":"BPE","vocab":{"a":0},"merges":["a a",)" + text + "]");
    return said.starts_with("t: model: merges[1]") ? said.substr(19) : said;
  };
  const auto not_two = [](const std::string& text) {
    return " should be two tokens with a space between, but is '" + text + "'";
  };
  EXPECT_EQ(merge(R"("a b")"), "BPE: a (a a) (a b); unk none '' 100");
  for (const char* text : {"ab", " b", "a ", " ", "", "a b c", "a  b", "a b "}) {
    EXPECT_EQ(merge(std::string("\"") + text + "\""), not_two(text));
  }
  for (const char* pair : {R"(["a"])", R"(["a","b","c"])", R"(["","b"])", R"(["a",""])"}) {
    EXPECT_EQ(merge(pair), " should hold two tokens") << pair;
  }
  EXPECT_EQ(merge(R"(["a ","b"])"), ": a token with a space in it cannot be merged here");
  EXPECT_EQ(merge(R"(["a"," b"])"), ": a token with a space in it cannot be merged here");
  EXPECT_EQ(merge("5"), " should be a string, but is a number");
  EXPECT_EQ(OfModel(R"("type":"BPE","vocab":{"a":0},"merges":{})"), "t: model: merges should be a list");

  EXPECT_EQ(OfModel(R"("type":"Unigram","vocab":{"a":0})"), "t: model: vocab should be a list of [piece, score]");
  EXPECT_EQ(OfModel(R"("type":"Unigram")"), "t: model: vocab should be a list of [piece, score]");
  for (const char* piece : {R"("a")", R"(["a"])", R"(["a",1,2])"}) {
    EXPECT_EQ(OfModel(std::string(R"("type":"Unigram","vocab":[["a",0],)") + piece + "]"),
              "t: model: vocab[1] should be [piece, score]");
  }
  EXPECT_EQ(OfModel(R"("type":"Unigram","vocab":[["a",0]],"unk_id":0)"), "Unigram: a/0; unk a '' 100");
  EXPECT_EQ(OfModel(R"("type":"Unigram","vocab":[["a",0]],"unk_id":1)"),
            "t: model: unk_id is 1, but there are 1 pieces");

  const std::string one = R"("type":"BPE","vocab":{"a":0})";
  EXPECT_EQ(OfModel(one, R"({"id":-1,"content":"x"})"), "t: added_tokens[0]: id -1 is negative");
  EXPECT_EQ(OfModel(one, R"({"id":0,"content":"a"})"), "BPE: a +0 a ----n; unk none '' 100");
  EXPECT_EQ(OfModel(one, R"({"id":0,"content":"x"})"), "t: tokens 'a' and 'x' have the same id 0");
  EXPECT_EQ(OfModel(one, R"({"id":65543,"content":"x"})").substr(0, 7), "BPE: a ") << "4 * 2 + 65536 ids";
  EXPECT_EQ(OfModel(one, R"({"id":65544,"content":"x"})"),
            "t: token 'x' has id 65544; 2 tokens may have ids below 65544");
}

TEST(TokenizerFiles, TheConfigurationNamesItsTokens) {
  const auto config = ParseHfTokenizerConfig(*JsonObject::Parse(
      R"({"tokenizer_class":"C","bos_token":"1","eos_token":"2","unk_token":{"content":"3"},"sep_token":"4",
          "pad_token":"5","cls_token":"6","mask_token":"7","add_bos_token":true,"add_eos_token":false,
          "chat_template":[{"name":"x","template":"X"},{"name":"default","template":"D"},{"name":"y","template":"Y"}]})",
      "c"));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->tokenizer_class, "C");
  EXPECT_EQ(*config->bos + *config->eos + *config->unk + *config->sep + *config->pad + *config->cls + *config->mask,
            "1234567");
  EXPECT_EQ(config->add_bos, true);
  EXPECT_EQ(config->add_eos, false);
  EXPECT_EQ(config->add_prefix_space, std::nullopt);
  EXPECT_EQ(config->legacy, std::nullopt);
  EXPECT_EQ(config->chat_template, "D");
  using Named = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(config->named_templates, (Named{{"x", "X"}, {"y", "Y"}}));
  const auto others = ParseHfTokenizerConfig(
      *JsonObject::Parse(R"({"add_prefix_space":true,"legacy":false,"chat_template":"T"})", "c"));
  ASSERT_TRUE(others);
  EXPECT_EQ(others->add_prefix_space, true);
  EXPECT_EQ(others->legacy, false);
  EXPECT_EQ(others->chat_template, "T");
  EXPECT_EQ(others->bos, std::nullopt);
  const auto error = [](const char* text) {
    const auto parsed = ParseHfTokenizerConfig(*JsonObject::Parse(text, "c"));
    return parsed ? "" : parsed.error().message;
  };
  EXPECT_EQ(error(R"({"mask_token":7})"), "c: mask_token should be a string, but is a number");
  EXPECT_EQ(error(R"({"bos_token":{"text":"x"}})"), "c: bos_token: 'content' is missing");
  EXPECT_EQ(error(R"({"legacy":1})"), "c: legacy should be true or false, but is a number");
  EXPECT_EQ(error(R"({"chat_template":[{"template":"x"}]})"), "c: chat_template[0]: 'name' is missing");
  EXPECT_EQ(error(R"({"chat_template":[{"name":"x"}]})"), "c: chat_template[0]: 'template' is missing");
  EXPECT_EQ(error(R"({"chat_template":5})"), "c: chat_template should be a string, but is a number");
}

TEST(TokenizerFiles, TheGenerationConfigurationHasEachSetting) {
  const auto parse = [](const char* text) { return ParseHfGenerationConfig(*JsonObject::Parse(text, "g")); };
  const auto config = parse(R"({"eos_token_id":[4,5],"bos_token_id":1,"pad_token_id":2,"temperature":0.5,"top_p":0.75,
                                "min_p":0.25,"repetition_penalty":1.5,"top_k":40,"do_sample":true})");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->eos, (std::vector<TokenId>{4, 5}));
  EXPECT_EQ(config->bos, 1);
  EXPECT_EQ(config->pad, 2);
  EXPECT_EQ(config->temperature, 0.5);
  EXPECT_EQ(config->top_p, 0.75);
  EXPECT_EQ(config->min_p, 0.25);
  EXPECT_EQ(config->repetition_penalty, 1.5);
  EXPECT_EQ(config->top_k, 40);
  EXPECT_EQ(config->do_sample, true);
  EXPECT_EQ(parse("{}")->do_sample, std::nullopt);
  EXPECT_EQ(parse(R"({"top_p":"x","top_k":"y"})").error().message, "g: top_p should be a number, but is a string")
      << "the first is reported";
}

// A ".model" file of pieces: a control token, a plain one, an unused one and a user's.
std::string PiecesFile() {
  std::string out;
  const auto add = [&](const std::string& text, float score, char kind) {
    std::string piece = std::string("\x0a") + static_cast<char>(text.size()) + text + '\x15';
    std::string bytes(4, '\0');
    std::memcpy(bytes.data(), &score, 4);
    piece += bytes + '\x18' + kind;
    out += std::string("\x0a") + static_cast<char>(piece.size()) + piece;
  };
  add("<unk>", 0, 2);
  add("<s>", 0, 3);
  add("a", -1, 1);
  add("gone", -2, 5);
  add("<u>", 0, 4);
  add("<unk2>", 0, 2);
  return out;
}

std::string OfPieces(const std::string& config, const std::string& added = "") {
  const auto parsed = ParseHfTokenizerConfig(*JsonObject::Parse(config, "tokenizer_config.json"));
  if (!parsed) return parsed.error().message;
  const auto tokenizer = MakeSentencePieceTokenizer(PiecesFile(), "m", *parsed, added);
  if (!tokenizer) return tokenizer.error().message;
  return Shown(tokenizer) + " " + tokenizer->rules->space_prefix;
}

TEST(TokenizerFiles, PiecesAndAddedTokensAreOneVocabulary) {
  const std::string pieces = "Unigram: <unk>/0 <s>/0 a/-1 -/-2 <u>/0 <unk2>/0", flags = " +1 <s> s---n +4 <u> ----n";
  EXPECT_EQ(OfPieces("{}"), pieces + flags + "; unk <unk> '' 100 every");
  EXPECT_EQ(OfPieces(R"({"legacy":true})"), pieces + flags + "; unk <unk> '' 100 every");
  EXPECT_EQ(OfPieces(R"({"legacy":false})"), pieces + flags + "; unk <unk> '' 100 first");
  EXPECT_EQ(OfPieces("{}", R"({"x":7})"), pieces + " -/0 x/0" + flags + " +7 x ----n; unk <unk> '' 100 every");
  EXPECT_EQ(
      OfPieces(R"({"added_tokens_decoder":{"3":{"content":"new","special":true},"4":{"content":"<u>","lstrip":true}}})",
               R"({"old":3})"),
      "Unigram: <unk>/0 <s>/0 a/-1 new/-2 <u>/0 <unk2>/0 +1 <s> s---n +3 new s---n +4 <u> -l--n; unk <unk> '' 100 "
      "every")
      << "the decoder's are preferred, and an unused piece's id is free";
  EXPECT_EQ(OfPieces("{}", R"({"x":2})"), "m: the added token 'x' has the id 2 of the piece 'a'");
  EXPECT_EQ(OfPieces("{}", R"({"x":65563})").substr(0, 9), "Unigram: ") << "4 * 7 + 65536 ids";
  EXPECT_EQ(OfPieces("{}", R"({"x":65564})"), "m: the added token 'x' has id 65564, which is not between 0 and 65563");
  EXPECT_EQ(OfPieces("{}", R"({"x":-1})"), "m: the added token 'x' has id -1, which is not between 0 and 65563");
  for (const char* key : {"x", "3x", "", "99999999999"}) {
    EXPECT_EQ(OfPieces(fmt::format(R"({{"added_tokens_decoder":{{"{}":{{"content":"n"}}}}}})", key)),
              fmt::format("tokenizer_config.json: added_tokens_decoder: '{}' is not a token id", key));
  }
}

}  // namespace
}  // namespace inferflux::formats
