// What /api/create makes of its body: the whole recipe, or the whole refusal.
#include "server/ollama/create_model.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>
#include <fstream>
#include <string>

namespace inferflux::testing {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class CreateModelTest : public ::testing::Test {
 protected:
  CreateModelTest() {
    fs::create_directories(folder_ / "models");
    std::ofstream(folder_ / "models" / "base.gguf") << "x";
    std::ofstream(folder_ / "outside.gguf") << "x";
    serving::ModelRecipe made;
    made.from = "base.gguf";
    made.system = "Be kind.";
    made.license = "free";
    made.parameters = {{"temperature", 0.5}, {"num_ctx", 64}};
    std::ofstream(folder_ / "models" / "made.inferflux.json") << serving::RecipeJson(made);
  }
  ~CreateModelTest() override { fs::remove_all(folder_); }

  // "NAME stream RECIPE", or "STATUS PARAM: MESSAGE".
  std::string Made(const std::string& body) const {
    const auto directory = serving::ModelsDirectory::Open((folder_ / "models").string());
    EXPECT_TRUE(directory);
    const auto made = server::ParseCreateModel(json::parse(body).as_object(), *directory);
    if (!made) return fmt::format("{} {}: {}", made.error().status, made.error().param, made.error().message);
    json::object out{{"from", made->recipe.from}};
    if (!made->recipe.chat_template.empty()) out["template"] = made->recipe.chat_template;
    if (!made->recipe.system.empty()) out["system"] = made->recipe.system;
    if (!made->recipe.license.empty()) out["license"] = made->recipe.license;
    if (!made->recipe.messages.empty()) out["messages"] = made->recipe.messages;
    if (made->recipe.context != 0) out["context"] = made->recipe.context;
    if (made->recipe.max_tokens != 0) out["max_tokens"] = made->recipe.max_tokens;
    if (!made->recipe.stop.empty()) out["stop"] = json::array(made->recipe.stop.begin(), made->recipe.stop.end());
    if (!made->recipe.sampling.empty()) out["sampling"] = made->recipe.sampling;
    if (!made->recipe.parameters.empty()) out["parameters"] = made->recipe.parameters;
    return made->name + (made->stream ? " stream " : " whole ") + json::serialize(out);
  }
  // The same with these fields beside a name and a source.
  std::string With(const std::string& more) const { return Made(R"({"model":"m","from":"base",)" + more + "}"); }

  const fs::path folder_ = fs::path(::testing::TempDir()) / ("create_model_" + std::to_string(::getpid()));
};

TEST_F(CreateModelTest, ASourceIsAnEntryOfTheDirectory) {
  const std::string made = R"(m stream {"from":"base.gguf"})";
  EXPECT_EQ(Made(R"({"model":"m:latest","from":"base"})"), made);
  EXPECT_EQ(Made(R"({"name":"m","from":"base:latest"})"), made) << "its older name";
  EXPECT_EQ(Made(R"({"model":"m","name":"other","from":"base.gguf","stream":false})"),
            R"(m whole {"from":"base.gguf"})");
  EXPECT_EQ(Made(R"({"model":"m","from":"./base.gguf"})"), made);
  EXPECT_EQ(Made(R"({"model":"m","from":")" + (folder_ / "models/base.gguf").string() + "\"}"), made);
  const std::string outside = "400 from: 'from' must name a file or directory in " + (folder_ / "models").string();
  for (const char* from : {"../outside.gguf", "/none/base.gguf", "sub/base.gguf", "../models/../outside"}) {
    EXPECT_EQ(Made(fmt::format(R"({{"model":"m","from":"{}"}})", from)), outside) << from;
  }
  EXPECT_EQ(Made(R"({"model":"m","from":"none"})").substr(0, 10), "404 from: ");
  EXPECT_EQ(Made(R"({"from":"base"})"), "400 model: 'model' is missing");
  EXPECT_EQ(Made(R"({"model":":latest","from":"base"})"), "400 model: 'model' is missing");
  EXPECT_EQ(Made(R"({"model":"m"})"), "400 from: 'from' is missing: a model of " + (folder_ / "models").string());
}

TEST_F(CreateModelTest, ARecipeGoesOnFromAnother) {
  EXPECT_EQ(Made(R"({"model":"m","from":"made"})"),
            R"(m stream {"from":"base.gguf","system":"Be kind.","license":"free","context":64,)"
            R"("sampling":{"temperature":5E-1},"parameters":{"temperature":5E-1,"num_ctx":64}})");
  EXPECT_EQ(Made(R"({"model":"m","from":"made","system":"Be brief.","license":["a","b"],)"
                 R"("parameters":{"num_ctx":1,"num_predict":5,"stop":["x","y"],"top_k":3}})"),
            R"(m stream {"from":"base.gguf","system":"Be brief.","license":"a\nb","context":1,"max_tokens":5,)"
            R"("stop":["x","y"],"sampling":{"temperature":5E-1,"top_k":3},)"
            R"("parameters":{"temperature":5E-1,"num_ctx":1,"num_predict":5,"stop":["x","y"],"top_k":3}})");
}

TEST_F(CreateModelTest, EachFieldIsCheckedAndKept) {
  EXPECT_EQ(With(R"("license":"l")"), R"(m stream {"from":"base.gguf","license":"l"})");
  EXPECT_EQ(With(R"("license":5)"), "400 license: 'license' must be a string, or a list of up to 64 strings");
  EXPECT_EQ(With(R"("license":["a",5])").substr(0, 16), "400 license[1]: ");
  EXPECT_EQ(With(R"("messages":[{"role":"user","content":"Hi"}])"),
            R"(m stream {"from":"base.gguf","messages":[{"role":"user","content":"Hi"}]})");
  EXPECT_EQ(With(R"("template":"{{ messages[0].content }}")"),
            R"(m stream {"from":"base.gguf","template":"{{ messages[0].content }}"})");
  const std::string go =
      "400 template: 'template' must be a Jinja2 chat template, as in tokenizer_config.json, not one of Go";
  EXPECT_EQ(With(R"("template":"{{ .Prompt }}")").substr(0, go.size()), go);
  EXPECT_EQ(With(R"("template":"{{.Prompt}}")").substr(0, go.size()), go);
  EXPECT_EQ(With(R"("template":"{% if %}")").substr(0, go.size() + 2), go + ": ");
  EXPECT_EQ(With(R"("template":"{# {{ . #}x")"), go) << "it compiles, and is Go's all the same";
  EXPECT_EQ(With(R"("template":"{# {{. #}x")"), go);
  EXPECT_EQ(With(R"("parameters":[])").substr(0, 16), "400 parameters: ");
  EXPECT_EQ(With(R"("parameters":{"num_ctx":16777216})"),
            R"(m stream {"from":"base.gguf","context":16777216,"parameters":{"num_ctx":16777216}})");
  for (const char* wrong : {"0", "16777217", "\"many\""}) {
    EXPECT_EQ(With(fmt::format(R"("parameters":{{"num_ctx":{}}})", wrong)).substr(0, 24), "400 parameters.num_ctx: ");
  }
  EXPECT_EQ(With(R"("parameters":{"logit_bias":{}})"),
            "400 parameters.logit_bias: 'parameters.logit_bias' can only be set by a request");
}

TEST_F(CreateModelTest, APenaltyHasThisServersName) {
  EXPECT_EQ(
      With(R"("parameters":{"repeat_penalty":1.5})"),
      R"(m stream {"from":"base.gguf","sampling":{"repetition_penalty":1.5E0},"parameters":{"repeat_penalty":1.5E0}})");
  EXPECT_EQ(With(R"("parameters":{"repetition_penalty":1.5})"),
            R"(m stream {"from":"base.gguf","sampling":{"repetition_penalty":1.5E0},)"
            R"("parameters":{"repetition_penalty":1.5E0}})");
  EXPECT_EQ(With(R"("parameters":{"repeat_penalty":1.5,"repeat_last_n":0})"),
            R"(m stream {"from":"base.gguf","parameters":{"repeat_penalty":1.5E0,"repeat_last_n":0}})");
  EXPECT_EQ(With(R"("parameters":{"repeat_penalty":1.5,"repeat_last_n":64})").substr(0, 3), "400");
}

TEST_F(CreateModelTest, WhatWouldNeedAnUploadOrAConversionIsRefused) {
  EXPECT_EQ(With(R"("files":{},"adapters":null,"modelfile":"","quantize":"")"), R"(m stream {"from":"base.gguf"})");
  const std::string upload =
      " cannot be used: no file is uploaded here; put it into the models directory and name it in 'from'";
  EXPECT_EQ(With(R"("files":{"a":"b"})"), "400 files: 'files'" + upload);
  EXPECT_EQ(With(R"("adapters":{"a":"b"})"), "400 adapters: 'adapters'" + upload);
  EXPECT_EQ(With(R"("modelfile":"FROM x")"),
            "400 modelfile: 'modelfile' is not read; send 'from', 'template', 'system' and 'parameters', as Ollama's "
            "clients do");
  EXPECT_EQ(
      With(R"("quantize":"q4")"),
      "400 quantize: 'quantize' cannot be used: quantise the file with inferflux-quantize, and name the result in "
      "'from'");
}

}  // namespace
}  // namespace inferflux::testing
