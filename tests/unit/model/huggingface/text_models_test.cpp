// Text models inside models of several parts, names in errors, and values that a checkpoint keeps as tensors.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "formats/gguf/gguf_metadata_builder.h"
#include "model/families/config_names.h"
#include "model/families/other_models.h"
#include "model/families/vision/text_parts.h"
#include "model/huggingface/layer_values.h"
#include "model/huggingface/made_checkpoint.h"

namespace inferflux::model {
namespace {

std::string TypeOf(const std::string& text) {
  const auto type = TextModelType(*formats::JsonObject::Parse(text, "c"));
  return type ? *type : type.error().message;
}

TEST(TextModels, AreThoseOfTheirParts) {
  EXPECT_EQ(TypeOf("{}"), "");
  EXPECT_EQ(TypeOf(R"({"model_type":"x"})"), "x");
  EXPECT_EQ(TypeOf(R"({"text_config":{"model_type":"y"}})"), "y");
  EXPECT_EQ(TypeOf(R"({"model_type":"y","text_config":{"model_type":"y"}})"), "y");
  EXPECT_EQ(TypeOf(R"({"model_type":"llava","text_config":{"model_type":"mistral"}})"), "mistral");
  EXPECT_EQ(TypeOf(R"({"model_type":"llava","text_config":{}})"), "llama");
  EXPECT_EQ(TypeOf(R"({"model_type":"aya_vision","text_config":{}})"), "cohere2") << "the first of the list";
  EXPECT_EQ(TypeOf(R"({"model_type":"voxtral","text_config":{}})"), "llama") << "and the last";
  for (const char* other : {"llav", "zebra", "aaa"}) {
    const std::string said = TypeOf(fmt::format(R"({{"model_type":"{}","text_config":{{}}}})", other));
    EXPECT_EQ(said.substr(0, said.find(": aya_vision, ")),
              fmt::format("c: model_type '{}' is not supported; of models with a text_config, supported are", other));
    EXPECT_TRUE(said.ends_with("voxtral; llama.cpp does not run it either")) << said;
  }
  EXPECT_EQ(TypeOf(R"({"model_type":3})"), "c: model_type should be a string, but is a number");
  EXPECT_EQ(TypeOf(R"({"model_type":"llava","text_config":{"model_type":3}})"),
            "c: text_config: model_type should be a string, but is a number");
}

TEST(TextModels, OtherPartsAreKnownByTheirNames) {
  for (const char* name : {"audio_tower.x", "connector.", "image_newline", "visual.blocks.0", "vision_model.a.b"})
    EXPECT_TRUE(IsOfOtherPart(name)) << name;
  for (const char* name : {"audio_tower", "image_newline.x", "model.visual.x", "visuals.x", "layers.0"})
    EXPECT_FALSE(IsOfOtherPart(name)) << name;
  EXPECT_TRUE(MatchesName("*.end", "a.end") && MatchesName("start*", "start") && MatchesName("same", "same"));
  EXPECT_FALSE(MatchesName("*.end", "a.end.b") || MatchesName("start*", "a.start") || MatchesName("same", "same.x"));
}

TEST(TextModels, AdviceIsForWhatAnotherEngineRuns) {
  EXPECT_EQ(GgufAdvice("mamba"),
            "; llama.cpp runs it: use a build with -DENABLE_LLAMA_CPP=ON and the provider llama_cpp");
  EXPECT_EQ(GgufAdvice("afmoe").substr(0, 19), "; llama.cpp runs it");
  EXPECT_EQ(GgufAdvice("xverse").substr(0, 19), "; llama.cpp runs it");
  EXPECT_EQ(GgufAdvice("nonesuch"), "; llama.cpp does not run it either");
  EXPECT_EQ(DirectoryAdvice("mamba"),
            "; llama.cpp runs a GGUF file of it: use a build with -DENABLE_LLAMA_CPP=ON and the provider llama_cpp");
  EXPECT_EQ(DirectoryAdvice("youtu").substr(0, 31), "; llama.cpp runs a GGUF file of");
  EXPECT_EQ(DirectoryAdvice("nonesuch"), "; llama.cpp does not run it either");
}

TEST(TextModels, ErrorsHaveTheNamesOfConfigJson) {
  const auto said = [](const char* message) {
    return InConfigJson({.code = ErrorCode::kDataLoss, .message = message}, "a").message;
  };
  EXPECT_EQ(said("a.attention.head_count_kv, a.attention.head_count"), "num_key_value_heads, num_attention_heads");
  EXPECT_EQ(said("a.attention.key_length_mla a.attention.key_length"), "qk_nope_head_dim + qk_rope_head_dim head_dim");
  EXPECT_EQ(said("a.attention.sliding_window_pattern a.attention.sliding_window"), "layer_types sliding_window");
  EXPECT_EQ(said("a.expert_feed_forward_length a.feed_forward_length"), "moe_intermediate_size intermediate_size");
  EXPECT_EQ(said("a.other of b.block_count and a.block_count"), "a.other of b.block_count and num_hidden_layers");
  EXPECT_EQ(InConfigJson({.code = ErrorCode::kUnsupported, .message = "x"}, "a").code, ErrorCode::kUnsupported);
}

std::string LayerValuesOf(std::vector<testing::MadeTensor> tensors) {
  const testing::MadeCheckpoint made(std::move(tensors));
  const Checkpoint checkpoint{.layer_values = {{"layers.*.alpha", "own.alpha"}}};
  formats::GgufMetadataBuilder builder;
  const auto written = WriteLayerValues(testing::MadeConfig(), {"a", checkpoint}, made.model(), builder);
  if (!written) return written.error().message;
  return fmt::format("{}", fmt::join(*builder.Build("m").Get<std::vector<float>>("own.alpha"), " "));
}

TEST(LayerValues, AreOneTensorForEachLayer) {
  const auto one = [](const std::string& name, float value) {
    return testing::MadeTensor{name, "F32", {1}, testing::BytesOfFloats({value})};
  };
  EXPECT_EQ(LayerValuesOf({one("layers.0.alpha", 3), one("layers.1.alpha", 4)}), "3 4");
  EXPECT_EQ(LayerValuesOf({one("model.layers.0.alpha", 3), one("language_model.layers.1.alpha", 4)}), "3 4");
  EXPECT_EQ(LayerValuesOf({one("layers.0.alpha", 3), {"layers.1.alpha", "BF16", {1, 1}, {0x80, 0x3f}}}), "3 1");
  EXPECT_EQ(LayerValuesOf({one("layers.0.alpha", 3)}),
            "config.json: tensor 'layers.1.alpha' is missing; fetch the checkpoint anew");
  EXPECT_EQ(LayerValuesOf({one("layers.0.alpha", 3), {"layers.1.alpha", "F32", {2}}}),
            "config.json: tensor 'layers.1.alpha' holds 2 values of F32, and should be one of a plain type");
  EXPECT_EQ(LayerValuesOf({{"layers.0.alpha", "U8", {1}}}),
            "config.json: tensor 'layers.0.alpha' holds 1 values of U8, and should be one of a plain type");
  const Checkpoint checkpoint{.layer_values = {{"layers.*.alpha", "own.alpha"}}};
  EXPECT_TRUE(IsLayerValue(checkpoint, "layers.*.alpha"));
  EXPECT_FALSE(IsLayerValue(checkpoint, "layers.*.beta"));
}

}  // namespace
}  // namespace inferflux::model
