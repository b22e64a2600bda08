// SentencePiece's ".model" files, byte by byte.
#include "formats/sentencepiece/sentencepiece_model.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "formats/huggingface/hf_tokenizer.h"
#include "formats/huggingface/sentencepiece_rules.h"
#include "formats/sentencepiece/protobuf_reader.h"

namespace inferflux::formats {
namespace {

std::string Varint(uint64_t value) {
  std::string out;
  for (; value >= 128; value >>= 7) out.push_back(static_cast<char>((value & 0x7f) | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}
std::string Number(uint32_t field, uint64_t value) { return Varint(field << 3) + Varint(value); }
std::string BytesOf(uint32_t field, const std::string& bytes) {
  return Varint(field << 3 | 2) + Varint(bytes.size()) + bytes;
}
std::string Float(uint32_t field, float value) {
  std::string bytes(4, '\0');
  std::memcpy(bytes.data(), &value, 4);
  return Varint(field << 3 | 5) + bytes;
}

std::string Fields(std::string_view message) {
  ProtobufReader reader(message, "m");
  std::string out;
  while (true) {
    const auto field = reader.Next();
    if (!field) return out + field.error().message;
    if (!*field) return out;
    out += fmt::format("{}:{}:{}{} ", (*field)->number, static_cast<uint32_t>((*field)->wire), (*field)->value,
                       (*field)->bytes);
  }
}

TEST(Protobuf, EachKindOfField) {
  EXPECT_EQ(Fields(""), "");
  EXPECT_EQ(Fields(Number(1, 300) + BytesOf(16, "text") + BytesOf(3, "")), "1:0:300 16:2:0text 3:2:0 ");
  EXPECT_EQ(Fields(Float(2, 1.0f)), "2:5:1065353216 ");
  EXPECT_EQ(Fields(Varint(4 << 3 | 1) + std::string("\1\0\0\0\0\0\0\x80", 8)), "4:1:9223372036854775809 ");
  EXPECT_EQ(Fields(Number(1, ~uint64_t{0})), "1:0:18446744073709551615 ");
  EXPECT_EQ(Fields(Varint(((uint64_t{1} << 29) - 1) << 3) + "\5"), "536870911:0:5 ");
}

TEST(Protobuf, WhatIsDamagedIsNamed) {
  EXPECT_EQ(Fields(Varint((uint64_t{1} << 29) << 3) + "\5"), "m: field number 536870912 is out of range");
  EXPECT_EQ(Fields(std::string("\0\5", 2)), "m: field number 0 is out of range");
  EXPECT_EQ(Fields("\x08"), "m: a number is truncated or too long");
  EXPECT_EQ(Fields("\x08\x80"), "m: a number is truncated or too long");
  EXPECT_EQ(Fields("\x08" + std::string(9, '\x80') + "\1"), "1:0:9223372036854775808 ");
  EXPECT_EQ(Fields("\x08" + std::string(10, '\x80') + "\1"), "m: a number is truncated or too long");
  EXPECT_EQ(Fields("\x0a\5text"), "m: a field of 5 bytes where 4 follow");
  EXPECT_EQ(Fields("\x0d"
                   "abc"),
            "m: a field of 4 bytes where 3 follow");
  EXPECT_EQ(Fields("\x09"
                   "abcdefg"),
            "m: a field of 8 bytes where 7 follow");
  EXPECT_EQ(Fields("\x0b"), "m: field 1 has wire type 3, which is not read");
  EXPECT_EQ(Fields("\x0c"), "m: field 1 has wire type 4, which is not read");
}

std::string Piece(const std::string& text, float score, uint64_t kind) {
  return BytesOf(1, BytesOf(1, text) + Float(2, score) + Number(3, kind));
}

std::string Said(const std::string& file) {
  const auto model = ParseSentencePieceModel(file, "f");
  if (!model) return model.error().message;
  std::string out =
      fmt::format("{}{}{}{} '{}'", model->algorithm == SentencePieceModel::Algorithm::kBpe ? "bpe" : "unigram",
                  model->byte_fallback ? " bytes" : "", model->add_dummy_prefix ? " prefix" : "",
                  model->remove_extra_whitespaces ? " squeezes" : "", model->charsmap);
  for (const auto& piece : model->pieces)
    out += fmt::format(" {}/{}/{}", piece.text, piece.score, static_cast<int>(piece.kind));
  return out;
}

TEST(SentencePieceModel, HasPiecesAndRules) {
  EXPECT_EQ(Said(Piece("a", -1.5f, 1) + Piece("b", 2, 6) + BytesOf(1, BytesOf(1, "c"))),
            "unigram prefix squeezes '' a/-1.5/1 b/2/6 c/0/1");
  const std::string a = BytesOf(1, BytesOf(1, "a"));
  EXPECT_EQ(Said(a + BytesOf(2, Number(3, 2) + Number(35, 1) + Number(24, 0) + Number(4, 9))),
            "bpe bytes prefix squeezes '' a/0/1");
  EXPECT_EQ(Said(a + BytesOf(2, Number(3, 1) + Number(35, 0))), "unigram prefix squeezes '' a/0/1");
  EXPECT_EQ(Said(a + BytesOf(3, BytesOf(2, "map") + Number(3, 0) + Number(4, 0) + Number(5, 1))),
            "unigram 'map' a/0/1");
  EXPECT_EQ(Said(a + BytesOf(3, Number(3, 1) + Number(4, 0))), "unigram prefix '' a/0/1");
  EXPECT_EQ(Said(a + BytesOf(3, Number(3, 0) + Number(4, 1))), "unigram squeezes '' a/0/1");
  EXPECT_EQ(Said(a + Number(4, 7) + BytesOf(5, "unknown parts") + BytesOf(3, BytesOf(1, "name") + BytesOf(6, "x"))),
            "unigram prefix squeezes '' a/0/1");
}

TEST(SentencePieceModel, WhatItCannotBeIsNamed) {
  const std::string a = BytesOf(1, BytesOf(1, "a"));
  EXPECT_EQ(Said(""), "f: it has no pieces");
  EXPECT_EQ(Said(a + Number(1, 1)), "f: field 1 has the wrong type");
  EXPECT_EQ(Said(a + Number(3, 1)), "f: field 3 has the wrong type");
  EXPECT_EQ(Said(a + BytesOf(1, Number(1, 5))), "f: piece 1: field 1 has the wrong type");
  EXPECT_EQ(Said(a + BytesOf(1, Number(2, 5))), "f: piece 1: field 2 has the wrong type");
  EXPECT_EQ(Said(a + Piece("b", std::numeric_limits<float>::infinity(), 1)), "f: piece 1: its score is not finite");
  EXPECT_EQ(Said(a + Piece("b", 0, 0)), "f: piece 1: its type 0 is unknown");
  EXPECT_EQ(Said(a + Piece("b", 0, 7)), "f: piece 1: its type 7 is unknown");
  EXPECT_EQ(Said(a + BytesOf(1, BytesOf(3, "x"))), "f: piece 1: its type 0 is unknown");
  EXPECT_EQ(Said(a + BytesOf(2, BytesOf(3, "x"))), "f: field 3 has the wrong type");
  EXPECT_EQ(Said(a + BytesOf(2, BytesOf(24, "x"))), "f: field 24 has the wrong type");
  EXPECT_EQ(Said(a + BytesOf(2, BytesOf(35, "x"))), "f: field 35 has the wrong type");
  EXPECT_EQ(Said(a + BytesOf(2, Number(3, 3))), "f: model_type 3 is not supported; unigram (1) and BPE (2) are");
  EXPECT_EQ(Said(a + BytesOf(2, Number(3, 0))), "f: model_type 0 is not supported; unigram (1) and BPE (2) are");
  EXPECT_EQ(Said(a + BytesOf(2, Number(24, 1))),
            "f: spaces are marked after words (treat_whitespace_as_suffix), which is not supported");
  EXPECT_EQ(Said(a + BytesOf(3, Number(2, 1))), "f: field 2 has the wrong type");
  EXPECT_EQ(Said(a + BytesOf(3, BytesOf(3, "x"))), "f: field 3 has the wrong type");
  EXPECT_EQ(Said(a + BytesOf(3, BytesOf(5, "x"))), "f: field 5 has the wrong type");
  EXPECT_EQ(Said(a + BytesOf(3, Number(5, 0))),
            "f: spaces are kept as they are (escape_whitespaces), which is not supported");
}

std::string Rules(const std::string& steps) {
  auto root = JsonObject::Parse(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]})" + steps + "}", "t");
  if (!root) return root.error().message;
  const auto tokenizer = ParseHfTokenizer(std::move(*root));
  if (!tokenizer) return tokenizer.error().message;
  const auto rules = ReadSentencePieceRules(*tokenizer);
  if (!rules) return rules.error().message;
  return fmt::format("{} '{}'{}", rules->space_prefix, rules->charsmap,
                     rules->remove_extra_whitespaces ? " squeezes" : "");
}
std::string Normalizer(const std::string& steps) {
  return Rules(R"(,"normalizer":{"type":"Sequence","normalizers":[)" + steps + "]}");
}
std::string Splits(const std::string& steps) {
  return Rules(R"(,"pre_tokenizer":{"type":"Sequence","pretokenizers":[)" + steps + "]}");
}

TEST(SentencePieceRules, AreReadFromTheStepsOfTokenizerJson) {
  EXPECT_EQ(Rules(""), "never ''");
  EXPECT_EQ(Normalizer(R"({"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"})"),
            "every ''");
  EXPECT_EQ(Normalizer(R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "})"), "never '' squeezes");
  EXPECT_EQ(Normalizer(R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":"▁"},{"type":"Strip"})"),
            "never '' squeezes");
  EXPECT_EQ(Normalizer(R"({"type":"Precompiled","precompiled_charsmap":"YWJjZA=="})"), "never 'abcd'");
  EXPECT_EQ(Normalizer(R"({"type":"Precompiled","precompiled_charsmap":"+/8A"})"),
            std::string("never '\xfb\xff\0'", 11));
  EXPECT_EQ(Normalizer(R"({"type":"Precompiled"})"), "never ''");
  EXPECT_EQ(Splits(R"({"type":"WhitespaceSplit"})"), "never '' squeezes");
  EXPECT_EQ(Splits(R"({"type":"Split","pattern":{"String":" "}})"), "never ''");
  EXPECT_EQ(Splits(R"({"type":"Metaspace"})"), "unspaced ''");
  EXPECT_EQ(Splits(R"({"type":"Metaspace","add_prefix_space":false})"), "never ''");
  EXPECT_EQ(Splits(R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"first"})"), "first ''");
  EXPECT_EQ(Splits(R"({"type":"Metaspace","prepend_scheme":"never"})"), "never ''");
  EXPECT_EQ(Splits(R"({"type":"Metaspace","prepend_scheme":"always","add_prefix_space":false})"), "unspaced ''");
}

TEST(SentencePieceRules, AStepWithoutACounterpartIsNamed) {
  const auto refused = [](const std::string& said, const std::string& step) {
    EXPECT_NE(said.find("the step '" + step + "' has no counterpart"), std::string::npos) << said;
  };
  refused(Normalizer(R"({"type":"NFKC"})"), "NFKC");
  refused(Normalizer(R"({"type":"Prepend","prepend":"_"})"), "Prepend");
  refused(Normalizer(R"({"type":"Strip"})"), "Strip");
  refused(Normalizer(R"({"type":"Replace","pattern":{"String":"x"},"content":"▁"})"), "Replace");
  refused(Normalizer(R"({"type":"Replace","pattern":{"String":" "},"content":"_"})"), "Replace");
  refused(Normalizer(R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":"_"})"), "Replace");
  refused(Splits(R"({"type":"Split","pattern":{"String":"x"}})"), "Split");
  refused(Splits(R"({"type":"Metaspace","replacement":"_"})"), "Metaspace");
  refused(Splits(R"({"type":"Metaspace","prepend_scheme":"last"})"), "Metaspace");
  EXPECT_NE(
      Normalizer(R"({"type":"Precompiled","precompiled_charsmap":"a*"})").find("precompiled_charsmap is not base64"),
      std::string::npos);
}

TEST(SentencePieceRules, SequencesMayBeNestedFourDeep) {
  const auto nested = [](int depth) {
    std::string step = R"({"type":"WhitespaceSplit"})";
    for (int i = 0; i < depth; ++i) step = R"({"type":"Sequence","pretokenizers":[)" + step + "]}";
    return Rules(R"(,"pre_tokenizer":)" + step);
  };
  EXPECT_EQ(nested(0), "never '' squeezes");
  EXPECT_EQ(nested(4), "never '' squeezes");
  EXPECT_NE(nested(5).find("the step 'Sequence' has no counterpart"), std::string::npos);
}

}  // namespace
}  // namespace inferflux::formats
