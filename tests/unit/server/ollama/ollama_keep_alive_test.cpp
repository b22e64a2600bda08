// How long a model stays after a request of Ollama's API, and what /api/ps and /api/tags say of models.
#include <fmt/chrono.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "server/fake_model.h"
#include "serving/models/model_recipe.h"

namespace inferflux::testing {
namespace {

namespace fs = std::filesystem;

void Stop(const GenerationRequest&, TokenStream& stream) { stream.Push(End(FinishReason::kStop, 1, 1)); }

// The seconds that the model stays without users; -1: for ever.
int64_t KeptFor(const FakeServer& fake) {
  const auto kept = fake.pool.Stay("fake")->keep_alive;
  return kept == serving::kKeepLoaded ? -1 : static_cast<int64_t>(kept.count());
}

TEST(OllamaKeepAliveTest, ADurationIsRoundedUpToSeconds) {
  struct Case {
    const char* keep_alive;
    int64_t seconds;
  };
  for (const Case& c : {Case{"7", 7},
                        Case{"0", 0},
                        Case{"-0.5", 0},
                        Case{"-1", -1},
                        Case{"0.25", 1},
                        Case{"2.5", 3},
                        Case{R"("300")", 300},
                        Case{R"("5s")", 5},
                        Case{R"("5m")", 300},
                        Case{R"("2h")", 7200},
                        Case{R"("1h30m5s")", 5405},
                        Case{R"("1.5h")", 5400},
                        Case{R"("1500ms")", 2},
                        Case{R"("1500000us")", 2},
                        Case{R"("3000000000ns")", 3},
                        Case{R"("2000001us")", 3},
                        Case{R"("-1h")", -1},
                        Case{R"("-1s")", -1},
                        Case{"31536000", 31536000},
                        Case{"1e12", 31536000}}) {
    FakeServer fake(Stop);
    fake.pool.SetStay("fake", {}, std::chrono::seconds(99));
    for (const char* body : {R"({"model":"fake","stream":false,"messages":[{"role":"user","content":"a"}])",
                             R"({"model":"fake","messages":[])"}) {
      EXPECT_EQ(fake.Post("/api/chat", body + fmt::format(R"(,"keep_alive":{}}})", c.keep_alive)).status, 200);
      EXPECT_EQ(KeptFor(fake), c.seconds) << c.keep_alive;
    }
  }
}

TEST(OllamaKeepAliveTest, EveryEndpointSetsIt) {
  FakeServer fake(
      [](const GenerationRequest&, TokenStream& stream) {
        StreamEvent last = End(FinishReason::kStop, 1, 1);
        last.embedding = {1};
        stream.Push(std::move(last));
      },
      {},
      [](serving::ServedModel& model) {
        model.capabilities.embeddings = true;
        model.info.embedding.dimensions = 1;
      });
  int64_t seconds = 10;
  for (const auto& [path, fields] :
       {std::pair("/api/generate", R"("prompt":"a","stream":false)"), std::pair("/api/embed", R"("input":"a")"),
        std::pair("/api/embeddings", R"("prompt":"a")")}) {
    EXPECT_EQ(fake.Post(path, fmt::format(R"({{"model":"fake",{},"keep_alive":{}}})", fields, ++seconds)).status, 200);
    EXPECT_EQ(KeptFor(fake), seconds) << path;
    EXPECT_EQ(fake.Post(path, fmt::format(R"({{"model":"fake",{}}})", fields)).status, 200);
    EXPECT_EQ(KeptFor(fake), seconds) << "a request that says nothing changes nothing";
  }
}

TEST(OllamaKeepAliveTest, AKeyThatMayNotLoadModelsDoesNotKeepThem) {
  using keys::Scope;
  const auto key = [](const char* text, keys::Scopes scopes) {
    return keys::KeyLine{.hash = keys::HashOf(text), .scopes = scopes};
  };
  FakeServer fake(Stop, server::ApiKeys({key("usual", keys::kUsualScopes), key("load", Scope::kGenerate | Scope::kLoad),
                                         key("admin", Scope::kGenerate | Scope::kAdmin)}));
  fake.pool.SetStay("fake", {}, std::chrono::seconds(99));
  const auto ask = [&](const std::string& authorization, int keep_alive) {
    const std::string body = fmt::format(R"({{"model":"fake","messages":[],"keep_alive":{}}})", keep_alive);
    EXPECT_EQ(fake.Post("/api/chat", body, authorization).status, 200);
    return KeptFor(fake);
  };
  EXPECT_EQ(ask("Bearer usual", 5), 99);
  EXPECT_EQ(ask("Bearer load", 6), 6);
  EXPECT_EQ(ask("Bearer admin", 7), 7);
}

TEST(OllamaModelsTest, ARunningModelSaysWhenItLeavesAndWhatItHolds) {
  FakeServer fake(Stop, {}, [](serving::ServedModel& model) {
    model.info.parameters = 999'999;
    model.info.memory = {{.device = "cpu", .weight_bytes = 1},
                         {.device = "cuda:0", .weight_bytes = 20},
                         {.device = "cuda:1", .weight_bytes = 300}};
  });
  const auto entry = [&] { return boost::json::parse(fake.Get("/api/ps").body).at("models").at(0); };
  EXPECT_EQ(entry().at("size"), 321);
  EXPECT_EQ(entry().at("size_vram"), 320);
  EXPECT_EQ(entry().at("details").at("parameter_size"), "1000.00K");
  EXPECT_EQ(entry().at("expires_at"), "9999-12-31T23:59:59Z") << "it is pinned";
  fake.pool.SetStay("fake", false, serving::kKeepLoaded);
  EXPECT_EQ(entry().at("expires_at"), "9999-12-31T23:59:59Z");
  fake.pool.SetStay("fake", true, std::chrono::hours(1));
  EXPECT_EQ(entry().at("expires_at"), "9999-12-31T23:59:59Z");
  fake.pool.SetStay("fake", false, std::chrono::hours(24 * 365));
  const auto leaves = std::chrono::system_clock::now() + std::chrono::hours(24 * 365);
  const std::string day = fmt::format("{:%Y-%m}", fmt::gmtime(std::chrono::system_clock::to_time_t(leaves)));
  EXPECT_EQ(std::string(entry().at("expires_at").as_string()).substr(0, 7), day);
}

TEST(OllamaModelsTest, ACountOfParametersIsShort) {
  for (const auto& [count, told] :
       {std::pair(int64_t{1'500}, "1.50K"), std::pair(int64_t{1'000'000}, "1.00M"),
        std::pair(int64_t{999'999'999}, "1000.00M"), std::pair(int64_t{1'000'000'000}, "1.0B"),
        std::pair(int64_t{8'030'000'000}, "8.0B")}) {
    FakeServer fake(Stop, {}, [&](serving::ServedModel& model) { model.info.parameters = count; });
    const auto tags = boost::json::parse(fake.Get("/api/tags").body);
    EXPECT_EQ(tags.at("models").at(0).at("details").at("parameter_size"), told) << count;
  }
}

TEST(OllamaModelsTest, AModelThatCanBeLoadedIsListedWithItsFile) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("ollama_models_" + std::to_string(::getpid()));
  fs::create_directories(folder / "hf");
  std::ofstream(folder / "base.gguf") << "12345";
  std::ofstream(folder / "hf" / "config.json") << "{}";
  serving::ModelRecipe made;
  made.from = "base.gguf";
  std::ofstream(folder / "made.inferflux.json") << serving::RecipeJson(made);
  {
    FakeServer fake(Stop, {}, nullptr, {.directory = *serving::ModelsDirectory::Open(folder.string())});
    auto models = boost::json::parse(fake.Get("/api/tags").body).at("models").as_array();
    ASSERT_EQ(models.size(), 4u);
    std::string told;
    for (size_t i = 1; i < models.size(); ++i) {
      const std::string date(models[i].at("modified_at").as_string());
      EXPECT_EQ(date.substr(0, 2), "20");
      models[i].as_object().erase("modified_at");
      told += boost::json::serialize(models[i]) + "\n";
    }
    const auto entry = [](const char* name, int size, const char* parent, const char* format) {
      return fmt::format(
          R"({{"name":"{0}","model":"{0}","details":{{"parent_model":"{2}","format":"{3}"}},"size":{1}}})", name, size,
          parent, format);
    };
    EXPECT_EQ(told, entry("base", 5, "", "gguf") + "\n" + entry("hf", 0, "", "huggingface") + "\n" +
                        entry("made", 5, "base.gguf", "gguf") + "\n");
  }
  fs::remove_all(folder);
}

TEST(OllamaModelsTest, AModelOfARecipeIsShownAsItsModelfile) {
  FakeServer fake(Stop, {}, [](serving::ServedModel& model) {
    auto recipe = std::make_shared<serving::ModelRecipe>();
    recipe->from = "base.gguf";
    recipe->chat_template = "{{ t }}";
    recipe->system = "Be kind.";
    recipe->license = "free";
    recipe->parameters = {{"temperature", 0.5}, {"stop", boost::json::array{"a", "b"}}};
    model.recipe = recipe;
    model.info.architecture = "llama";
  });
  const auto shown = fake.PostJson("/api/show", R"({"model":"fake"})");
  EXPECT_EQ(shown.at("modelfile"),
            "FROM base.gguf\nTEMPLATE \"\"\"{{ t }}\"\"\"\nSYSTEM \"\"\"Be kind.\"\"\"\nPARAMETER temperature 5E-1\n"
            "PARAMETER stop \"a\"\nPARAMETER stop \"b\"\n");
  EXPECT_EQ(shown.at("parameters"), "temperature 5E-1\nstop \"a\"\nstop \"b\"\n");
  EXPECT_EQ(shown.at("system"), "Be kind.");
  EXPECT_EQ(shown.at("license"), "free");
  EXPECT_EQ(shown.at("details").at("parent_model"), "base.gguf");
  EXPECT_EQ(shown.at("model_info").as_object().if_contains("llama.embedding_length"), nullptr);
}

}  // namespace
}  // namespace inferflux::testing
