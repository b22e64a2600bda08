// The modules of sentence-transformers' directories, and classifiers' settings, as GGUF's keys.
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "formats/gguf/gguf_metadata_builder.h"
#include "model/huggingface/classifier.h"
#include "model/huggingface/sentence_modules.h"

namespace inferflux::model {
namespace {

// "key=value" of each entry.
std::string EntriesOf(const formats::GgufMetadata& metadata) {
  std::string out;
  for (const formats::GgufEntry& entry : metadata.entries()) {
    std::string value = "?";
    if (const auto flag = metadata.Get<bool>(entry.key)) value = *flag ? "true" : "false";
    if (const auto number = metadata.Get<int64_t>(entry.key)) value = std::to_string(*number);
    if (const auto text = metadata.Get<std::string>(entry.key)) value = *text;
    if (const auto texts = metadata.Get<std::vector<std::string_view>>(entry.key))
      value = fmt::format("{}", fmt::join(*texts, "|"));
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", entry.key, value);
  }
  return out;
}

formats::HfConfig ConfigOf(const std::string& more = "") {
  return *formats::ParseHfConfig(*formats::JsonObject::Parse(
      R"({"vocab_size":9,"hidden_size":8,"num_hidden_layers":1,"num_attention_heads":1)" + more + "}", "config.json"));
}

class SentenceModules : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / fmt::format("sentence_modules_{}", ::getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  void Modules(const std::vector<std::pair<std::string, std::string>>& modules) {  // type and path
    std::string list;
    for (const auto& [type, path] : modules)
      list += fmt::format(R"({}{{"type":"{}","path":"{}"}})", list.empty() ? "" : ",", type, path);
    Write("modules.json", "[" + list + "]");
  }
  std::string Said(const std::string& more = "") {
    formats::GgufMetadataBuilder metadata;
    const auto written = WriteSentenceModules(folder_.string(), ConfigOf(more), "a.", metadata);
    return written ? EntriesOf(metadata.Build("m")) : WithoutFolder(written.error().message);
  }
  std::string WithoutFolder(std::string text) const {
    for (size_t at; (at = text.find(folder_.string())) != std::string::npos;)
      text.replace(at, folder_.string().size(), "DIR");
    return text;
  }
  std::filesystem::path folder_;
};

constexpr const char *kTransformer = "sentence_transformers.models.Transformer",
                     *kPooling = "sentence_transformers.models.Pooling", *kDense = "sentence_transformers.models.Dense",
                     *kNormalize = "Normalize";

TEST_F(SentenceModules, ArePoolingAndLength) {
  EXPECT_EQ(Said(), "") << "no modules.json";
  Modules({});
  EXPECT_EQ(Said(), "");
  Modules({{kTransformer, ""}});
  EXPECT_EQ(Said(), "a.pooling_normalize=false");
  Modules({{kTransformer, ""}, {kPooling, "1_Pooling"}, {kNormalize, "2"}});
  const std::pair<const char*, const char*> kinds[] = {
      {"mean_tokens", "a.pooling_type=1"}, {"cls_token", "a.pooling_type=2"}, {"lasttoken", "a.pooling_type=3"}};
  for (const auto& [mode, said] : kinds) {
    Write("1_Pooling/config.json", fmt::format(R"({{"pooling_mode_{}":true}})", mode));
    EXPECT_EQ(Said(), said);
  }
  Modules({{kPooling, "1_Pooling"}});
  EXPECT_EQ(Said(), "a.pooling_type=3 a.pooling_normalize=false");
  EXPECT_EQ(Said(R"(,"architectures":["XForSequenceClassification"])"), "") << "a classifier's are not read";
}

TEST_F(SentenceModules, WhatIsNotComputedIsNamed) {
  const auto pooling = [&](const std::string& config) {
    Modules({{kPooling, "p"}});
    Write("p/config.json", "{" + config + "}");
    return Said();
  };
  const std::string which = " is not supported; one of mean, cls and lasttoken is";
  EXPECT_EQ(pooling(""), "DIR/p/config.json: it names no supported pooling");
  EXPECT_EQ(pooling(R"("pooling_mode_mean_tokens":false)"), "DIR/p/config.json: it names no supported pooling");
  for (const char* mode : {"max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens"}) {
    EXPECT_EQ(pooling(fmt::format(R"("pooling_mode_{}":true)", mode)),
              fmt::format("DIR/p/config.json: pooling_mode_{}{}", mode, which));
  }
  EXPECT_EQ(pooling(R"("pooling_mode_cls_token":true,"pooling_mode_mean_tokens":true)"),
            "DIR/p/config.json: pooling_mode_cls_token besides another" + which);
  EXPECT_EQ(pooling(R"("pooling_mode_cls_token":1)"),
            "DIR/p/config.json: pooling_mode_cls_token should be true or false, but is a number");
  Modules({{"x.models.WordWeights", ""}});
  EXPECT_EQ(Said(),
            "DIR/modules.json: the module 'x.models.WordWeights' is not supported; Transformer, Pooling, Dense and "
            "Normalize are");
  for (const char* path : {"../p", "p/../..", "/p"}) {
    Modules({{kPooling, path}});
    EXPECT_EQ(Said(), fmt::format("DIR/modules.json[0]: the path '{}' leads out of the directory", path));
  }
  Write("modules.json", R"([{"path":"x"}])");
  EXPECT_EQ(Said(), "DIR/modules.json[0]: 'type' is missing");
}

std::string DenseFile(const std::string& name, uint64_t rows) {
  const std::string header =
      fmt::format(R"({{"{}":{{"dtype":"F32","shape":[{},2],"data_offsets":[0,{}]}}}})", name, rows, rows * 8);
  std::string file(8, '\0');
  const uint64_t length = header.size();
  std::memcpy(file.data(), &length, 8);
  return file + header + std::string(rows * 8, '\0');
}

TEST_F(SentenceModules, DenseLayersAreNumberedFromTwo) {
  Modules({{kTransformer, ""}, {kDense, "d"}, {kDense, "e"}, {kNormalize, ""}});
  Write("d/config.json", R"({"activation_function":"torch.nn.modules.linear.Identity"})");
  Write("e/config.json", "{}");
  EXPECT_EQ(Said(), "inferflux.activation.dense_3=tanh");
  Write("d/config.json", R"({"activation_function":"torch.nn.Tanh"})");
  EXPECT_EQ(Said(), "inferflux.activation.dense_2=tanh inferflux.activation.dense_3=tanh");
  Write("e/config.json", R"({"activation_function":"torch.nn.GELU"})");
  EXPECT_EQ(Said(), "DIR/e/config.json: activation_function 'torch.nn.GELU' is not supported; Identity and Tanh are");
  Write("d/model.safetensors", DenseFile("linear.weight", 3));
  Write("e/model.safetensors", DenseFile("linear.bias", 1));
  const auto opened = OpenDenseModules(folder_.string(), ConfigOf());
  ASSERT_TRUE(opened) << opened.error().message;
  ASSERT_EQ(opened->size(), 2u);
  std::vector<TensorRecipe> plan;
  ASSERT_TRUE(PlanDenseModules(*opened, &plan));
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[0].name, "dense_2.weight");
  EXPECT_EQ(plan[1].name, "dense_3.bias");
  EXPECT_EQ(plan[0].parts[0]->shape(), (std::vector<uint64_t>{3, 2}));
  Write("e/model.safetensors", DenseFile("weight", 1));
  plan.clear();
  EXPECT_EQ(PlanDenseModules(*OpenDenseModules(folder_.string(), ConfigOf()), &plan).error().message,
            "tensor 'weight' of a dense module is not supported; linear.weight and linear.bias are");
  Modules({{kDense, "d"}, {kDense, "d"}, {kDense, "d"}});
  EXPECT_EQ(WithoutFolder(OpenDenseModules(folder_.string(), ConfigOf()).error().message),
            "DIR: more than 2 dense modules are not supported");
  Modules({{kDense, "none"}});
  EXPECT_NE(OpenDenseModules(folder_.string(), ConfigOf()).error().message.find("none/model.safetensors"),
            std::string::npos);
}

std::string Classified(const std::string& more, std::string_view activation = "") {
  const Checkpoint checkpoint{.head_activation = activation};
  formats::GgufMetadataBuilder metadata;
  const auto written = WriteClassifier(ConfigOf(more), {"a", checkpoint}, metadata);
  return written ? EntriesOf(metadata.Build("m")) : written.error().message;
}

TEST(ClassifierSettings, AreGgufsKeysAndOurs) {
  const std::string is = R"(,"architectures":["AForCausalLM","AForSequenceClassification"])";
  EXPECT_EQ(Classified(R"(,"architectures":["AForCausalLM"],"id2label":{"0":"no"})"), "");
  EXPECT_EQ(Classified(is), "a.pooling_type=4");
  EXPECT_EQ(Classified(is + R"(,"id2label":{"1":"yes","0":"no"})"),
            "a.pooling_type=4 a.classifier.output_labels=no|yes");
  EXPECT_EQ(Classified(is + R"(,"id2label":{})"), "a.pooling_type=4");
  EXPECT_EQ(Classified(is + R"(,"id2label":{"1":"yes"})"), "config.json: id2label: '0' is missing");
  EXPECT_EQ(Classified(is, "gelu"), "a.pooling_type=4 inferflux.classifier.activation=gelu");
  EXPECT_EQ(Classified(is + R"(,"classifier_activation":"relu","classifier_pooling":"mean")", "gelu"),
            "a.pooling_type=4 inferflux.classifier.pooling=mean inferflux.classifier.activation=relu");
  const auto function = [&](const std::string& keys) { return Classified(is + keys); };
  const std::string key = "a.pooling_type=4 inferflux.classifier.score_function=";
  EXPECT_EQ(function(R"(,"sbert_ce_default_activation_function":"torch.nn.modules.linear.Identity")"), key + "none");
  EXPECT_EQ(function(R"(,"sbert_ce_default_activation_function":"Sigmoid")"), key + "sigmoid");
  EXPECT_EQ(
      function(
          R"(,"sbert_ce_default_activation_function":"a.Sigmoid","sentence_transformers":{"activation_fn":"b.Identity"})"),
      key + "none")
      << "the newer key precedes";
  EXPECT_EQ(function(R"(,"sbert_ce_default_activation_function":"a.Sigmoid","sentence_transformers":{})"),
            key + "sigmoid");
  EXPECT_EQ(function(R"(,"sentence_transformers":{"activation_fn":"torch.nn.ReLU"})"),
            "config.json: the activation 'torch.nn.ReLU' of scores is not supported; Identity and Sigmoid are");
}

TEST(ClassifierSettings, OtherHeadsAreRefused) {
  for (const char* other : {"ForTokenClassification", "ForQuestionAnswering", "ForMultipleChoice",
                            "ForImageClassification", "ForAudioClassification"}) {
    EXPECT_EQ(
        RefuseOtherHeads(ConfigOf(fmt::format(R"(,"architectures":["XForCausalLM","A{}"])", other))).error().message,
        fmt::format("config.json: the head of architecture 'A{}' is not supported; of heads, those of sequence "
                    "classification (...ForSequenceClassification) are",
                    other));
  }
  EXPECT_TRUE(RefuseOtherHeads(ConfigOf(R"(,"architectures":["AForSequenceClassification","AModel"])")));
  EXPECT_TRUE(RefuseOtherHeads(ConfigOf()));
}

}  // namespace
}  // namespace inferflux::model
