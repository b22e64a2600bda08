// Hugging Face tokenizers as GGUF metadata: tokens, types, scores and roles of each kind of vocabulary.
#include "formats/huggingface/hf_vocab.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/gguf/gguf_metadata_builder.h"

namespace inferflux::formats {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Strings = std::vector<std::string_view>;

HfTokenizer Tokenizer(const std::string& text) { return *ParseHfTokenizer(*JsonObject::Parse(text, "tokenizer.json")); }
HfTokenizerConfig Config(const std::string& text) {
  return *ParseHfTokenizerConfig(*JsonObject::Parse(text, "tokenizer_config.json"));
}

GgufMetadata Write(const HfVocabParts& parts) {
  GgufMetadataBuilder builder;
  const auto written = WriteHfVocab(parts, builder);
  EXPECT_TRUE(written) << written.error().message;
  return builder.Build("tokenizer.json");
}

constexpr const char* kByteLevel = R"({
  "added_tokens":[{"id":3,"content":"<|end|>","special":false},{"id":4,"content":"plain","special":false}],
  "normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"}]},
  "pre_tokenizer":{"type":"Sequence","pretokenizers":[
    {"type":"Split","pattern":{"Regex":"\\p{L}+"},"behavior":"Isolated"},
    {"type":"Digits","individual_digits":true},
    {"type":"ByteLevel","use_regex":false}]},
  "post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"a"}},{"Sequence":{"id":"A"}}]},
  "model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}})";

TEST(HfVocab, WritesByteLevelBpe) {
  const HfTokenizer tokenizer = Tokenizer(kByteLevel);
  const HfTokenizerConfig config = Config(R"({"bos_token":"a","eos_token":"<|end|>","chat_template":"T"})");
  const HfGenerationConfig generation{.eos = {3, 1}};
  const GgufMetadata metadata = Write(
      {.tokenizer = tokenizer, .config = &config, .generation = &generation, .pre = "qwen2", .rows = 6, .eos = {4}});
  EXPECT_EQ(metadata.Get<std::string>("tokenizer.ggml.model"), "gpt2");
  EXPECT_EQ(metadata.Get<std::string>("tokenizer.ggml.pre"), "qwen2");
  EXPECT_THAT(*metadata.Get<Strings>("tokenizer.ggml.tokens"),
              ElementsAre("a", "b", "ab", "<|end|>", "plain", "[PAD5]"));
  EXPECT_THAT(*metadata.Get<std::vector<int32_t>>("tokenizer.ggml.token_type"), ElementsAre(1, 1, 1, 3, 4, 5))
      << "a token that looks like structure is control, whatever its maker calls it";
  EXPECT_THAT(*metadata.Get<Strings>("tokenizer.ggml.merges"), ElementsAre("a b"));
  EXPECT_EQ(metadata.Get<int32_t>("tokenizer.ggml.bos_token_id"), 0);
  EXPECT_EQ(metadata.Get<int32_t>("tokenizer.ggml.eos_token_id"), 3);
  EXPECT_EQ(metadata.Get<int32_t>("tokenizer.ggml.eot_token_id"), 1) << "a second end of generation";
  EXPECT_EQ(metadata.Get<int32_t>("tokenizer.ggml.eom_token_id"), 4) << "a third";
  EXPECT_EQ(metadata.Get<bool>("tokenizer.ggml.add_bos_token"), true) << "the post-processor puts it in front";
  EXPECT_EQ(metadata.Get<std::string>("tokenizer.chat_template"), "T");
}

TEST(HfVocab, TokensOfAConversationsStructureAreControlWhateverTheirMakerCallsThem) {
  for (const auto& [content, control] : {std::pair("<pad>", true),
                                         {"<mask>", true},
                                         {"<2mass>", true},
                                         {"[@BOS@]", true},
                                         {"<|x|>", true},
                                         {"<\xEF\xBD\x9Cx\xEF\xBD\x9C>", true},
                                         {"<unused7>", true},
                                         {"<|x>", false},
                                         {"<x|>", false},
                                         {"<unused", false},
                                         {"x>", false},
                                         {"<\xEF\xBD\x9Cx>", false},
                                         {"<x\xEF\xBD\x9C>", false}}) {
    const HfTokenizer tokenizer = Tokenizer(fmt::format(
        R"({{"added_tokens":[{{"id":1,"content":"{}","special":false}}],)"
        R"("pre_tokenizer":{{"type":"ByteLevel"}},"model":{{"type":"BPE","vocab":{{"a":0}},"merges":[]}}}})",
        content));
    EXPECT_THAT(*Write({.tokenizer = tokenizer, .pre = "gpt-2", .rows = 2})
                     .Get<std::vector<int32_t>>("tokenizer.ggml.token_type"),
                ElementsAre(1, control ? 3 : 4))
        << content;
  }
}

TEST(HfVocab, KeepsWhatGgufHasNoKeysForUnderItsOwn) {
  const HfTokenizer tokenizer = Tokenizer(R"({
    "added_tokens":[{"id":1,"content":"<l>","special":true,"lstrip":true},{"id":2,"content":"<r>","special":true,"rstrip":true}],
    "pre_tokenizer":{"type":"Metaspace","prepend_scheme":"first"},
    "model":{"type":"BPE","byte_fallback":true,"vocab":{"a":0,"b":3,"ab":4},"merges":["a b"]}})");
  const HfGenerationConfig generation{.eos = {4, 3, 2}};
  const GgufMetadata metadata = Write({.tokenizer = tokenizer, .generation = &generation, .rows = 5, .eos = {1}});
  EXPECT_THAT(*metadata.Get<std::vector<int32_t>>(kEndsKey), ElementsAre(4, 3, 2, 1)) << "GGUF has keys for three";
  EXPECT_THAT(*metadata.Get<std::vector<int32_t>>(kStripsLeftKey), ElementsAre(1));
  EXPECT_THAT(*metadata.Get<std::vector<int32_t>>(kStripsRightKey), ElementsAre(2));
  EXPECT_EQ(metadata.Get<std::string>(kSpacePrefixKey), "first");
  EXPECT_EQ(metadata.Get<bool>("tokenizer.ggml.add_space_prefix"), true);
}

TEST(HfVocab, SpellsOutHowTextIsCut) {
  const HfTokenizer tokenizer = Tokenizer(kByteLevel);
  EXPECT_THAT(*ReadHfSplitPatterns(tokenizer), ElementsAre("\\p{L}+", "\\p{N}"));
  EXPECT_EQ(*NormalizesToNfc(tokenizer), true);
  const HfTokenizer odd = Tokenizer(R"({"pre_tokenizer":{"type":"Whitespace"},"decoder":{"type":"ByteLevel"},
                                        "model":{"type":"BPE","vocab":{"a":0},"merges":[]}})");
  EXPECT_THAT(ReadHfSplitPatterns(odd).error().message, HasSubstr("'Whitespace' has no counterpart"));
}

TEST(HfVocab, TurnsMergesIntoScoresForSentencePiece) {
  const HfTokenizer tokenizer = Tokenizer(R"({
    "added_tokens":[{"id":0,"content":"<unk>","special":true},{"id":1,"content":"<s>","special":true}],
    "normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"\u2581"}]},
    "model":{"type":"BPE","unk_token":"<unk>","byte_fallback":true,
             "vocab":{"<unk>":0,"<s>":1,"<0x0A>":2,"a":3,"b":4,"ab":5,"aab":6},"merges":["a b","a ab"]}})");
  const GgufMetadata metadata = Write({.tokenizer = tokenizer, .rows = 7, .bos = 1, .eos = {2}});
  EXPECT_EQ(metadata.Get<std::string>("tokenizer.ggml.model"), "llama");
  EXPECT_THAT(*metadata.Get<std::vector<int32_t>>("tokenizer.ggml.token_type"), ElementsAre(2, 3, 6, 1, 1, 1, 1));
  const auto scores = *metadata.Get<std::vector<float>>("tokenizer.ggml.scores");
  EXPECT_GT(scores[5], scores[6]) << "the earlier merge wins";
  EXPECT_GT(scores[6], scores[3]) << "what no merge makes never wins";
  EXPECT_THAT(*metadata.Get<Strings>("tokenizer.ggml.merges"), ElementsAre("a b", "a ab"));
  EXPECT_EQ(metadata.Get<bool>("tokenizer.ggml.add_space_prefix"), true);
  EXPECT_EQ(metadata.Get<int32_t>("tokenizer.ggml.unknown_token_id"), 0);
  EXPECT_EQ(metadata.Get<int32_t>("tokenizer.ggml.bos_token_id"), 1);
}

TEST(HfVocab, MarksWordStartsForWordPiece) {
  const HfTokenizer tokenizer = Tokenizer(R"({"added_tokens":[{"id":0,"content":"[UNK]","special":true}],
    "model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",
             "vocab":{"[UNK]":0,"play":1,"##ing":2}}})");
  const GgufMetadata metadata = Write({.tokenizer = tokenizer, .rows = 3});
  EXPECT_EQ(metadata.Get<std::string>("tokenizer.ggml.model"), "bert");
  EXPECT_THAT(*metadata.Get<Strings>("tokenizer.ggml.tokens"), ElementsAre("[UNK]", "\xE2\x96\x81play", "ing"));
}

TEST(HfVocab, SaysWhatBertsNormalizerDoes) {
  const auto written = [](const std::string& normalizer) {
    const HfTokenizer tokenizer = Tokenizer(R"({"normalizer":)" + normalizer + R"(,"added_tokens":[],
      "model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","vocab":{"[UNK]":0,"a":1}}})");
    return Write({.tokenizer = tokenizer, .rows = 2});
  };
  const auto flags = [&](const std::string& normalizer) {
    const GgufMetadata file = written(normalizer);
    return std::pair(*file.Get<bool>("tokenizer.ggml.normalizer.lowercase"),
                     *file.Get<bool>("tokenizer.ggml.normalizer.strip_accents"));
  };
  EXPECT_EQ(flags(R"({"type":"BertNormalizer","lowercase":true,"strip_accents":null})"), std::pair(true, true));
  EXPECT_EQ(flags(R"({"type":"BertNormalizer","lowercase":false})"), std::pair(false, false));
  EXPECT_EQ(flags(R"({"type":"BertNormalizer","lowercase":true,"strip_accents":false})"), std::pair(true, false));
  EXPECT_EQ(flags("null"), std::pair(false, false));
}

TEST(HfVocab, RefusesWhatItCannotWrite) {
  const HfTokenizer tokenizer = Tokenizer(kByteLevel);
  GgufMetadataBuilder builder;
  EXPECT_THAT(WriteHfVocab({.tokenizer = tokenizer, .rows = 4}, builder).error().message,
              AllOf(HasSubstr("5 tokens"), HasSubstr("vocab_size is 4")));
  const HfTokenizer words = Tokenizer(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]}})");
  EXPECT_THAT(ClassifyHfVocab(words).error().message, HasSubstr("a BPE tokenizer of this make"));
}

}  // namespace
}  // namespace inferflux::formats
