// Hugging Face's JSON files as typed structs, and the errors for files that contradict themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>
#include <fstream>

#include "formats/huggingface/hf_config.h"
#include "formats/huggingface/hf_generation_config.h"
#include "formats/huggingface/hf_tokenizer.h"
#include "formats/huggingface/hf_tokenizer_config.h"

namespace inferflux::formats {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<HfConfig> ParsedConfig(const std::string& text) {
  return ParseHfConfig(*JsonObject::Parse(text, "config.json"));
}
std::string ConfigError(const std::string& text) {
  const auto config = ParsedConfig(text);
  return config ? "" : config.error().message;
}

// Llama 3.1's, as published by its makers.
constexpr const char* kLlama31 = R"({
  "architectures": ["LlamaForCausalLM"], "attention_bias": false, "bos_token_id": 128000,
  "eos_token_id": [128001, 128008, 128009], "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336,
  "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama", "num_attention_heads": 32,
  "num_hidden_layers": 32, "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
  "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                   "original_max_position_embeddings": 8192, "rope_type": "llama3"},
  "rope_theta": 500000.0, "tie_word_embeddings": false, "torch_dtype": "bfloat16", "vocab_size": 128256})";

TEST(HfConfig, ReadsALlama) {
  const auto config = ParsedConfig(kLlama31);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_THAT(config->architectures, ElementsAre("LlamaForCausalLM"));
  EXPECT_EQ(config->hidden_size, 4096u);
  EXPECT_EQ(config->head_dim, 128u) << "hidden_size / num_attention_heads";
  EXPECT_EQ(config->kv_heads, 8u);
  EXPECT_EQ(config->rope_theta, 500000.0);
  ASSERT_TRUE(config->rope_scaling);
  EXPECT_EQ(config->rope_scaling->type, "llama3");
  EXPECT_EQ(config->rope_scaling->original_context, 8192u);
  EXPECT_THAT(config->eos, ElementsAre(128001, 128008, 128009));
  EXPECT_FALSE(config->tie_word_embeddings);
  EXPECT_EQ(config->raw.Get<bool>("attention_bias"), false) << "what the struct lacks stays within reach";
}

// Python's json module writes them; they count as left out. A text that has such a word stays as it is.
TEST(HfConfig, ReadsInfinityAndNaN) {
  const auto object = JsonObject::Parse(R"({"a":[0.0,Infinity],"b":-Infinity,"c":NaN,"d":"\"NaN, Infinity"})", "file");
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_TRUE(object->FindValue("a")->get_array()[1].is_null());
  EXPECT_EQ(object->FindValue("b"), nullptr);
  EXPECT_EQ(object->FindValue("c"), nullptr);
  EXPECT_EQ(*object->Get<std::string>("d"), "\"NaN, Infinity");
  EXPECT_FALSE(JsonObject::Parse(R"({"a":Infinite})", "file"));
}

TEST(HfConfig, LayersMayBeCountedByTheirKindsAndHaveNoHeads) {
  const auto object = JsonObject::Parse(
      R"({"model_type":"x","vocab_size":9,"hidden_size":8,"layers_block_type":["a","b","c"]})", "config.json");
  ASSERT_TRUE(object);
  const auto config = ParseHfConfig(*object, /*attention=*/false);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->layers, 3u);
  EXPECT_EQ(config->heads, 0u);
  EXPECT_THAT(ParseHfConfig(*object).error().message, HasSubstr("num_attention_heads is missing or 0"));
}

TEST(HfConfig, ReadsOtherSpellings) {
  const auto gpt2 = ParsedConfig(R"({"model_type":"gpt2","n_embd":768,"n_layer":12,"n_head":12,"n_positions":1024,
                               "vocab_size":50257,"layer_norm_epsilon":1e-5,"activation_function":"gelu_new",
                               "n_inner":null,"eos_token_id":50256})");
  ASSERT_TRUE(gpt2) << gpt2.error().message;
  EXPECT_EQ(gpt2->hidden_size, 768u);
  EXPECT_EQ(gpt2->kv_heads, 12u);
  EXPECT_EQ(gpt2->intermediate_size, std::nullopt) << "null is absent";
  EXPECT_THAT(gpt2->eos, ElementsAre(50256));

  const auto nested = ParsedConfig(R"({"architectures":["Gemma3ForConditionalGeneration"],"vision_config":{},
      "text_config":{"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"vocab_size":100,"head_dim":32,
      "rope_parameters":{"rope_type":"linear","factor":8,"rope_theta":1000000}}})");
  ASSERT_TRUE(nested) << nested.error().message;
  EXPECT_EQ(nested->head_dim, 32u);
  EXPECT_EQ(nested->rope_theta, 1e6);
  EXPECT_EQ(nested->rope_scaling->type, "linear");
  EXPECT_THAT(nested->architectures, ElementsAre("Gemma3ForConditionalGeneration"));

  const auto awq = ParsedConfig(R"({"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"vocab_size":100,
      "quantization_config":{"quant_method":"awq","bits":4,"group_size":128,"zero_point":true,"version":"gemm"}})");
  ASSERT_TRUE(awq) << awq.error().message;
  EXPECT_EQ(awq->quantization->method, "awq");
  EXPECT_TRUE(awq->quantization->zero_point);
}

TEST(HfConfig, RefusesWhatCannotBe) {
  const auto with = [](const std::string& field) {
    return R"({"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"vocab_size":100,)" + field + "}";
  };
  EXPECT_EQ(ConfigError(with(R"("x":1)")), "");
  EXPECT_THAT(ConfigError("{}"), AllOf(HasSubstr("config.json"), HasSubstr("vocab_size is missing")));
  EXPECT_THAT(ConfigError(with(R"("rope_theta":"big")")), HasSubstr("rope_theta should be a number, but is a string"));
  EXPECT_THAT(ConfigError(with(R"("num_key_value_heads":3)")), HasSubstr("not a multiple of num_key_value_heads 3"));
  EXPECT_THAT(ConfigError(with(R"("intermediate_size":99999999)")), HasSubstr("intermediate_size is 99999999"));
  EXPECT_THAT(ConfigError(with(R"("head_dim":-1)")), HasSubstr("not a whole number in range"));
  EXPECT_THAT(ConfigError(R"({"hidden_size":65,"num_hidden_layers":2,"num_attention_heads":4,"vocab_size":9})"),
              HasSubstr("there is no head_dim"));
  EXPECT_THAT(ConfigError(with(R"("rope_scaling":{"rope_type":"yarn","factor":[]})")),
              HasSubstr("rope_scaling: factor"));
}

TEST(HfConfig, EachSizeHasItsMost) {
  const auto error = [](const char* name, int64_t value) {
    boost::json::object object{{"hidden_size", 64}, {"num_hidden_layers", 2},   {"num_attention_heads", 1},
                               {"head_dim", 8},     {"num_key_value_heads", 1}, {"vocab_size", 9}};
    object[name] = value;
    return ConfigError(boost::json::serialize(object));
  };
  for (const char* name : {"vocab_size", "hidden_size", "head_dim", "intermediate_size", "num_experts"}) {
    EXPECT_EQ(error(name, 1 << 24), "");
    EXPECT_EQ(error(name, (1 << 24) + 1), fmt::format("config.json: {} is 16777217; at most 16777216 is served", name));
  }
}

TEST(HfGenerationConfig, TakesOneEndTokenOrMany) {
  const auto parse = [](const char* text) {
    return ParseHfGenerationConfig(*JsonObject::Parse(text, "generation_config.json"));
  };
  EXPECT_THAT(parse(R"({"eos_token_id":[2,3],"temperature":0.6})")->eos, ElementsAre(2, 3));
  EXPECT_THAT(parse(R"({"eos_token_id":2})")->eos, ElementsAre(2));
  EXPECT_EQ(parse(R"({"temperature":0.6})")->temperature, 0.6);
  EXPECT_FALSE(parse(R"({"top_k":"many"})"));
  EXPECT_EQ(*ReadHfGenerationConfig("/nonexistent"), std::nullopt) << "the file is optional";
}

Result<HfTokenizer> ParsedTokenizer(const std::string& text) {
  return ParseHfTokenizer(*JsonObject::Parse(text, "tokenizer.json"));
}
std::string TokenizerError(const std::string& text) {
  const auto tokenizer = ParsedTokenizer(text);
  return tokenizer ? "" : tokenizer.error().message;
}

TEST(HfTokenizer, ReadsBpe) {
  const auto tokenizer = ParsedTokenizer(R"({
    "added_tokens":[{"id":4,"content":"<|end|>","special":true,"rstrip":true}, {"id":0,"content":"a","special":false}],
    "model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"],"byte_fallback":true,"unk_token":null}})");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_THAT(tokenizer->tokens, ElementsAre("a", "b", "ab", "", "<|end|>"));
  EXPECT_FALSE(tokenizer->present[3]);
  EXPECT_THAT(tokenizer->merges, ElementsAre("a b"));
  EXPECT_TRUE(tokenizer->byte_fallback);
  EXPECT_TRUE(tokenizer->added_tokens[0].special);
  EXPECT_TRUE(tokenizer->added_tokens[0].strips_right);
  EXPECT_EQ(ParsedTokenizer(R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":[["a","b"]]}})")->merges[0],
            "a b");
}

TEST(HfTokenizer, ReadsUnigramAndWordPiece) {
  const auto unigram = ParsedTokenizer(R"({"model":{"type":"Unigram","vocab":[["<unk>",0.0],["a",-1.5]],"unk_id":0}})");
  ASSERT_TRUE(unigram) << unigram.error().message;
  EXPECT_THAT(unigram->scores, ElementsAre(0.0f, -1.5f));
  const auto word_piece =
      ParsedTokenizer(R"({"model":{"type":"WordPiece","vocab":{"[UNK]":0,"##a":1},"unk_token":"[UNK]",
                                        "continuing_subword_prefix":"##","max_input_chars_per_word":50}})");
  ASSERT_TRUE(word_piece) << word_piece.error().message;
  EXPECT_EQ(word_piece->unk_token, "[UNK]");
  EXPECT_EQ(word_piece->max_input_chars_per_word, 50u);
}

TEST(HfTokenizer, RefusesWhatCannotBe) {
  EXPECT_THAT(TokenizerError("{}"), HasSubstr("'model' is missing"));
  EXPECT_THAT(TokenizerError(R"({"model":{"type":"Magic","vocab":{}}})"), HasSubstr("'Magic' is unknown"));
  EXPECT_THAT(TokenizerError(R"({"model":{"type":"BPE","vocab":{},"merges":[]}})"), HasSubstr("vocabulary is empty"));
  EXPECT_THAT(TokenizerError(R"({"model":{"type":"BPE","vocab":{"a":0,"b":0}}})"), HasSubstr("the same id 0"));
  EXPECT_THAT(TokenizerError(R"({"model":{"type":"BPE","vocab":{"a":4000000000}}})"), HasSubstr("id 4000000000"));
  EXPECT_THAT(TokenizerError(R"({"model":{"type":"BPE","vocab":{"a":-1}}})"), HasSubstr("model: vocab.a"));
  EXPECT_THAT(TokenizerError(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":["a"]}})"), HasSubstr("merges[0]"));
  EXPECT_THAT(TokenizerError(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[["a","b","c"]]}})"),
              HasSubstr("merges[0]"));
  EXPECT_THAT(TokenizerError(R"({"added_tokens":[{"id":-4,"content":"x"}],"model":{"type":"BPE","vocab":{"a":0}}})"),
              HasSubstr("negative"));
}

TEST(HfTokenizerConfig, ReadsTokensAndTemplates) {
  const auto config = ParseHfTokenizerConfig(*JsonObject::Parse(R"({
    "bos_token":{"content":"<s>","lstrip":false},"eos_token":"</s>","pad_token":null,"add_bos_token":true,
    "model_max_length":1000000000000000019884624838656,
    "chat_template":[{"name":"default","template":"A"},{"name":"tool_use","template":"B"}]})",
                                                                "tokenizer_config.json"));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->bos, "<s>");
  EXPECT_EQ(config->eos, "</s>");
  EXPECT_EQ(config->pad, std::nullopt);
  EXPECT_EQ(config->add_bos, true);
  EXPECT_EQ(config->chat_template, "A");
  EXPECT_EQ(config->named_templates[0].second, "B");
}

TEST(HfTokenizerConfig, PrefersTheTemplateFile) {
  const auto dir = std::filesystem::path(::testing::TempDir()) / "inferflux_template_test";
  std::filesystem::create_directories(dir);
  std::ofstream(dir / "tokenizer_config.json") << R"({"chat_template":"old"})";
  EXPECT_EQ(ReadHfTokenizerConfig(dir.string())->chat_template, "old");
  std::ofstream(dir / "chat_template.jinja") << "new";
  EXPECT_EQ(ReadHfTokenizerConfig(dir.string())->chat_template, "new");
  std::filesystem::remove(dir / "tokenizer_config.json");
  EXPECT_EQ(ReadHfTokenizerConfig(dir.string())->chat_template, "new") << "a missing file says nothing";
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace inferflux::formats
