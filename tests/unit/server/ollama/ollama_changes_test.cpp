// The changes of the models directory through Ollama's API: what is on the disk behind each, and the whole answers.
#include "server/ollama/ollama_changes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "server/fake_model.h"
#include "serving/models/model_recipe.h"

namespace inferflux::testing {
namespace {

namespace fs = std::filesystem;

void Unasked(const GenerationRequest&, TokenStream& stream) { stream.Push(End(FinishReason::kStop, 1, 1)); }

class OllamaChangesTest : public ::testing::Test {
 protected:
  OllamaChangesTest() {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "base.gguf") << "12345";
  }
  ~OllamaChangesTest() override { fs::remove_all(folder_); }

  serving::PoolOptions Options() const { return {.directory = *serving::ModelsDirectory::Open(folder_.string())}; }
  // The recipe's text; empty if there is no such recipe.
  std::string RecipeText(const std::string& name) const {
    std::ifstream file(folder_ / (name + ".inferflux.json"));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The recipe `from` base.gguf with this system message, as text.
  static std::string Recipe(const std::string& system) {
    serving::ModelRecipe out;
    out.from = "base.gguf";
    out.system = system;
    return serving::RecipeJson(out);
  }
  // A model of this name that is loaded, and is made of a recipe or not.
  static std::shared_ptr<serving::ServedModel> Loaded(const std::string& id, bool made) {
    auto out = std::make_shared<serving::ServedModel>();
    out->id = id;
    if (made) out->recipe = std::make_shared<serving::ModelRecipe>();
    out->scheduler = std::make_shared<FakeScheduler>(Unasked);
    return out;
  }
  static std::string Told(const net::ClientResponse& answer) {
    return fmt::format("{} {} {}", answer.status, net::FindHeader(answer.headers, "Content-Type"), answer.body);
  }
  static std::string Error(int status, const std::string& message) {
    return fmt::format(R"({} application/json {{"error":"{}"}})", status, message);
  }
  bool IsLoaded(const std::string& id) { return fake_->pool.GetLoadedModel(id).has_value(); }

  const fs::path folder_ = fs::path(::testing::TempDir()) / ("ollama_changes_" + std::to_string(::getpid()));
  std::unique_ptr<FakeServer> fake_;
};

TEST_F(OllamaChangesTest, AModelIsMadeCopiedAndDeleted) {
  fake_ = std::make_unique<FakeServer>(Unasked, server::ApiKeys(), nullptr, Options());
  EXPECT_EQ(Told(fake_->Post("/api/create", R"({"model":"made:latest","from":"base","system":"Be kind."})")),
            "200 application/x-ndjson {\"status\":\"writing manifest\"}\n{\"status\":\"success\"}\n");
  EXPECT_EQ(RecipeText("made"), Recipe("Be kind."));
  EXPECT_EQ(Told(fake_->Post("/api/create", R"({"model":"made","from":"base","system":"Be brief.","stream":false})")),
            R"(200 application/json {"status":"success"})");
  EXPECT_EQ(RecipeText("made"), Recipe("Be brief.")) << "a recipe is replaced";
  EXPECT_EQ(Told(fake_->Post("/api/copy", R"({"source":"made:latest","destination":"copy:latest"})")),
            "200 application/json ");
  EXPECT_EQ(RecipeText("copy"), Recipe("Be brief."));
  EXPECT_EQ(Told(fake_->Post("/api/copy", R"({"source":"base","destination":"plain"})")), "200 application/json ");
  EXPECT_EQ(RecipeText("plain"), Recipe(""));
  EXPECT_EQ(Told(fake_->Delete("/api/delete", R"({"model":"made:latest","name":"copy"})")), "200 application/json ");
  EXPECT_EQ(RecipeText("made"), "");
  EXPECT_NE(RecipeText("copy"), "");
  EXPECT_EQ(Told(fake_->Delete("/api/delete", R"({"name":"copy"})")), "200 application/json ");
  EXPECT_EQ(RecipeText("copy"), "");
  EXPECT_TRUE(fs::exists(folder_ / "base.gguf"));
}

TEST_F(OllamaChangesTest, WhatNoRecipeMadeIsNotReplaced) {
  fake_ = std::make_unique<FakeServer>(Unasked, server::ApiKeys(), nullptr, Options());
  ASSERT_TRUE(fake_->pool.Add(Loaded("made", true)));
  for (const char* name : {"default", "fake", "base"}) {
    const std::string taken =
        fmt::format(" must not be '{}': this server has a model of that name, which is not replaced", name);
    EXPECT_EQ(Told(fake_->Post("/api/create", fmt::format(R"({{"model":"{}","from":"base"}})", name))),
              Error(400, "'model'" + taken));
    EXPECT_EQ(Told(fake_->Post("/api/copy", fmt::format(R"({{"source":"base","destination":"{}"}})", name))),
              Error(400, "'destination'" + taken));
    EXPECT_EQ(RecipeText(name), "");
  }
  EXPECT_TRUE(IsLoaded("fake"));
  EXPECT_EQ(fake_->Post("/api/create", R"({"model":"made","from":"base"})").status, 200);
}

TEST_F(OllamaChangesTest, ALoadedModelOfAChangedRecipeIsUnloaded) {
  fake_ = std::make_unique<FakeServer>(Unasked, server::ApiKeys(), nullptr, Options());
  for (const char* id : {"one", "two", "three"}) ASSERT_TRUE(fake_->pool.Add(Loaded(id, true)));
  EXPECT_EQ(fake_->Post("/api/create", R"({"model":"one","from":"base"})").status, 200);
  EXPECT_FALSE(IsLoaded("one"));
  EXPECT_TRUE(IsLoaded("two"));
  EXPECT_EQ(fake_->Post("/api/copy", R"({"source":"one","destination":"two"})").status, 200);
  EXPECT_FALSE(IsLoaded("two"));
  std::ofstream(folder_ / "three.inferflux.json") << Recipe("");
  EXPECT_EQ(fake_->Delete("/api/delete", R"({"model":"three"})").status, 200);
  EXPECT_FALSE(IsLoaded("three"));
  EXPECT_TRUE(IsLoaded("fake"));
}

TEST_F(OllamaChangesTest, AWrongRequestChangesNothing) {
  fake_ = std::make_unique<FakeServer>(Unasked, server::ApiKeys(), nullptr, Options());
  EXPECT_EQ(Told(fake_->Post("/api/create", "{}")), Error(400, "'model' is missing"));
  EXPECT_EQ(fake_->Post("/api/create", "{").status, 400);
  EXPECT_EQ(Told(fake_->Post("/api/copy", R"({"source":"base"})")), Error(400, "'destination' is missing"));
  EXPECT_EQ(Told(fake_->Post("/api/copy", R"({"destination":"x"})")), Error(400, "'source' is missing"));
  EXPECT_EQ(fake_->Post("/api/copy", "{").status, 400);
  EXPECT_EQ(fake_->Post("/api/copy", R"({"source":"none","destination":"x"})").status, 404);
  EXPECT_EQ(fake_->Post("/api/copy", R"({"source":"base","destination":"../x"})").status, 400);
  EXPECT_EQ(Told(fake_->Delete("/api/delete", "{}")), Error(400, "'model' is missing"));
  EXPECT_EQ(Told(fake_->Delete("/api/delete", R"({"model":":latest"})")), Error(400, "'model' is missing"));
  EXPECT_EQ(fake_->Delete("/api/delete", "{").status, 400);
  EXPECT_EQ(fake_->Delete("/api/delete", R"({"model":"none"})").status, 404);
  EXPECT_EQ(fake_->Delete("/api/delete", R"({"model":"base"})").status, 400) << "it is a file, and stays";
  for (const char* field : {"source", "destination"}) {
    const std::string most(256, 'x'), more(257, 'x');
    const std::string rest = std::string(field) == "source" ? R"("destination":"y")" : R"("source":"base")";
    const auto body = [&](const std::string& name) { return fmt::format(R"({{{},"{}":"{}"}})", rest, field, name); };
    EXPECT_EQ(Told(fake_->Post("/api/copy", body(more))),
              Error(400, fmt::format("'{}' must be of at most 256 bytes, but has 257", field)));
    EXPECT_EQ(Told(fake_->Post("/api/copy", body(most))).find("at most 256 bytes"), std::string::npos);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(OllamaChangesTest, WithoutAModelsDirectoryNothingCanBeChanged) {
  fake_ = std::make_unique<FakeServer>(Unasked);
  const std::string refused =
      Error(400, "this server has no models directory to change: start it with --models-dir DIR");
  EXPECT_EQ(Told(fake_->Post("/api/create", R"({"model":"m","from":"base"})")), refused);
  EXPECT_EQ(Told(fake_->Post("/api/copy", R"({"source":"base","destination":"x"})")), refused);
  EXPECT_EQ(Told(fake_->Delete("/api/delete", R"({"model":"m"})")), refused);
}

}  // namespace
}  // namespace inferflux::testing
