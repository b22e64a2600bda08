// What an engine is told by a load, and how the model that it runs is described.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "model/loading/model_source.h"
#include "serving/backends/gpu_layers.h"
#include "serving/backends/rank_job.h"
#include "serving/models/load_testing.h"
#include "serving/models/model_recipe.h"

namespace inferflux::serving {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::EntryOf;
using testing::kTinyFile;
using ::testing::StartsWith;

struct LoadSettings : ::testing::Test {
  LoadSettings() {
    request.id = "m";
    request.path = kTinyFile;
    request.requested_backend = "cpu";
    request.start = starts.starter();
  }
  Result<std::shared_ptr<const ServedModel>> Load(EngineEntry engine = EntryOf(Target::kCpu)) {
    return LoadModel(BackendFactory({std::move(engine)}, {}), request);
  }
  std::string Why(EngineEntry engine = EntryOf(Target::kCpu)) {
    const auto loaded = Load(std::move(engine));
    return loaded ? "loaded" : loaded.error().message;
  }
  const EngineRequest& Told() const { return starts.starts.back().request; }

  testing::FakeStarts starts;
  LoadRequest request;
};

TEST_F(LoadSettings, AreThoseOfTheModelThenOfTheBackendThenOfAll) {
  request.context = 77;
  request.config = {.kv_dtype = "fp32"};
  request.rules = {{{Target::kCpu, std::nullopt}, {.kv_dtype = "bf16", .repack = false}}};
  request.shared = {.kv_dtype = "int8", .kv_budget = 5, .repack = true};
  request.rank_job = std::make_shared<RankJob>();
  ASSERT_TRUE(Load());
  EXPECT_EQ(Told().context, 77);
  EXPECT_EQ(Told().config, (BackendConfig{.device = "", .kv_dtype = "fp32", .kv_budget = 5, .repack = false}));
  EXPECT_EQ(Told().rank_job, request.rank_job);
  EXPECT_EQ(Told().source->path(), kTinyFile);
}

TEST_F(LoadSettings, ADeviceIsToldByAWordThatStays) {
  int asked = 0;
  const auto engine = [&] {
    return EntryOf(Target::kCpu, Provider::kNative, [&] {
      ++asked;
      return std::vector<compute::Device>{{.name = "a"}, {.name = "b", .uuid = "GPU-0001"}};
    });
  };
  ASSERT_TRUE(Load(engine()));
  EXPECT_EQ(Told().config.device, "");
  EXPECT_EQ(asked, 0) << "a device that is left open needs no list";
  for (const auto& [word, told] : {std::pair("0", "0"), std::pair("1", "GPU-0001"), std::pair("b", "GPU-0001")}) {
    request.config.device = word;
    ASSERT_TRUE(Load(engine())) << word;
    EXPECT_EQ(Told().config.device, told);
  }
  request.config.device = "0";
  ASSERT_TRUE(Load());
  EXPECT_EQ(Told().config.device, "0") << "an engine without a list";
  request.config.device = "2";
  EXPECT_THAT(Why(engine()), StartsWith("no backend could load " + kTinyFile + ": cpu (native): there is no device 2"));
}

TEST_F(LoadSettings, TheMemoryForKvIsThatWhichIsReserved) {
  request.config.kv_budget = 5;
  std::vector<int64_t> asked;
  request.reserve = [&](const HostMemoryNeed& need) -> Result<int64_t> {
    asked.push_back(need.kv_bytes);
    return int64_t{9};
  };
  ASSERT_TRUE(Load());
  EXPECT_EQ(Told().config.kv_budget, 9);
  EXPECT_THAT(asked, ElementsAre(5));
  request.reserve = [](const HostMemoryNeed&) -> Result<int64_t> { return int64_t{1}; };
  ASSERT_TRUE(Load());
  EXPECT_EQ(Told().config.kv_budget, 1);
  request.reserve = [](const HostMemoryNeed&) -> Result<int64_t> { return int64_t{0}; };
  ASSERT_TRUE(Load());
  EXPECT_EQ(Told().config.kv_budget, 5) << "the engine plans it itself";
  const size_t before = starts.starts.size();
  request.reserve = [](const HostMemoryNeed&) -> Result<int64_t> {
    return Fail(ErrorCode::kResourceExhausted, "no room");
  };
  const auto refused = Load();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(refused.error().message, "no room");
  EXPECT_EQ(starts.starts.size(), before);
}

TEST_F(LoadSettings, AModelIsDescribedByItsFileAndItsEngine) {
  starts.info.context = 70;
  starts.info.vocab_size = 71;
  starts.info.kv_dtype = "int8";
  starts.info.kv_tokens = 72;
  starts.info.hidden = 73;
  starts.info.max_sequences = 74;
  starts.info.pooling = {.type = model::Pooling::kMean, .normalise = false, .lengths = {5, 6}};
  starts.info.capabilities = {.generation = true, .embeddings = true};
  starts.info.memory = {{.device = "d", .weight_bytes = 75, .kv_bytes = 76}};
  starts.info.notes = {"a note"};
  request.draft = kTinyFile;
  request.progress = std::make_shared<LoadProgress>();
  const auto seconds = [] {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  };
  const int64_t before = seconds().count();
  const auto model = Load();
  ASSERT_TRUE(model) << model.error().message;
  const ServedModel& served = **model;
  EXPECT_EQ(served.id, "m");
  EXPECT_EQ(served.info.path, kTinyFile);
  EXPECT_EQ(served.info.draft, kTinyFile);
  EXPECT_EQ(served.info.format, "gguf");
  EXPECT_EQ(served.info.architecture, "llama");
  EXPECT_EQ(served.info.quantization, "BF16");
  EXPECT_EQ(served.info.parameters, (*model::ModelSource::Open(kTinyFile))->parameters());
  EXPECT_EQ(served.info.context, 70);
  EXPECT_EQ(served.info.vocab_size, 71);
  EXPECT_EQ(served.info.kv_dtype, "int8");
  EXPECT_EQ(served.info.kv_tokens, 72);
  EXPECT_EQ(served.info.embedding.dimensions, 73);
  EXPECT_THAT(served.info.embedding.shorter, ElementsAre(5, 6));
  EXPECT_FALSE(served.info.embedding.normalised);
  ASSERT_EQ(served.info.memory.size(), 1u);
  EXPECT_EQ(served.info.memory[0].weight_bytes, 75);
  EXPECT_THAT(served.info.notes, ElementsAre("a note"));
  EXPECT_GE(served.info.created, before);
  EXPECT_LE(served.info.created, seconds().count());
  EXPECT_EQ(served.engine.max_sequences, 74);
  EXPECT_TRUE(served.capabilities.chat);
  EXPECT_TRUE(served.capabilities.embeddings);
  EXPECT_NE(served.chat_template, nullptr);
  EXPECT_NE(served.tool_calls, nullptr);
  EXPECT_EQ(served.recipe, nullptr);
  EXPECT_EQ(served.metric_series, nullptr);
  EXPECT_EQ(served.pair_separators, 1);
  EXPECT_EQ(request.progress->Read().backend, "cpu");
  EXPECT_EQ(request.progress->Read().provider, "native");
}

TEST_F(LoadSettings, ItsTextsAreThoseOfItsFile) {
  const auto with = [&](const std::string& chat_template) {
    request.path = testing::MetadataFile("texts", [&](formats::GgufWriter& file) {
      file.Set("tokenizer.chat_template", chat_template);
      file.Set("tokenizer.chat_template.rerank", "{query}{document}");
      file.Set("inferflux.tokenizer.pair_separators", int32_t{3});
    });
    auto model = Load();
    fs::remove(request.path);
    EXPECT_TRUE(model) << model.error().message;
    return model ? *model : nullptr;
  };
  starts.info.capabilities.generation = true;
  const auto model = with(
      "{% for m in messages %}{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
      "{{ m.content }}{% endfor %}");
  EXPECT_EQ(model->rerank_template, "{query}{document}");
  EXPECT_EQ(model->pair_separators, 3);
  EXPECT_NE(model->reasoning, nullptr);
  EXPECT_EQ(model->tool_calls, nullptr);
  EXPECT_TRUE(model->capabilities.chat);
  EXPECT_NE(model->tokenizer, nullptr);
  const auto no_chat = with("");
  EXPECT_EQ(no_chat->chat_template, nullptr);
  EXPECT_EQ(no_chat->reasoning, nullptr);
  EXPECT_FALSE(no_chat->capabilities.chat);
  EXPECT_TRUE(no_chat->capabilities.completions);
}

TEST_F(LoadSettings, AsManyLayersGoToAGpuAsItHolds) {
  const auto source = model::ModelSource::Open(kTinyFile);
  ASSERT_TRUE(source);
  const int64_t weights = (*source)->WeightBytes();
  request.requested_backend = "llama_cpp_vulkan";
  ASSERT_TRUE(Load(EntryOf(Target::kVulkan, Provider::kLlamaCpp, [weights] {
    return std::vector<compute::Device>{{.name = "card", .free_bytes = weights, .gpu = true}};
  })));
  EXPECT_EQ(Told().config.gpu_layers, LayersOf(**source) * 4 / 5);
}

TEST_F(LoadSettings, AnEmbeddingHasTheSizeOfItsHead) {
  const auto dimensions = [&] {
    const auto model = Load();
    return model ? (*model)->info.embedding.dimensions : -1;
  };
  starts.info.hidden = 8;
  EXPECT_EQ(dimensions(), 0) << "the model does not pool";
  starts.info.pooling.type = model::Pooling::kCls;
  EXPECT_EQ(dimensions(), 8);
  starts.info.head_outputs = 1;
  EXPECT_EQ(dimensions(), 1);
  starts.info.pooling.labels = {"yes"};
  EXPECT_EQ(dimensions(), 0) << "scores are no embedding";
}

TEST_F(LoadSettings, WhatHasNoEffectIsNoted) {
  request.requested_backend = "cpu,cuda";
  request.config.gpu_layers = 2;
  request.config.repack = false;
  request.shared_changes.mlx_requantise = true;
  request.shared.cuda_graphs = false;  // a default, which the request does not set
  request.max_running = 9;
  starts.info.max_sequences = 8;
  const auto model = Load();
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_THAT((*model)->info.notes,
              ElementsAre("the setting mlx_requantise has no effect: cpu (native) cannot use it",
                          "the setting gpu_layers has no effect: cpu (native) cannot use it",
                          "8 requests run at once, not the 9 of runtime.max_running: its engine has no more"));
  request.config = {};
  request.shared_changes = {};
  request.max_running = 8;
  EXPECT_THAT((*Load())->info.notes, ElementsAre());
}

TEST_F(LoadSettings, AFormatMustBeTheConfiguredOne) {
  for (const char* right : {"", "auto", "gguf"}) {
    request.format = right;
    EXPECT_EQ(Why(), "loaded") << right;
  }
  request.format = "huggingface";
  EXPECT_EQ(Why(), kTinyFile + " is of the format 'gguf', and its settings say 'huggingface'");
}

TEST_F(LoadSettings, SpeculationByADraftNeedsOne) {
  request.speculation = "draft";
  EXPECT_EQ(Why(), "runtime.speculation is 'draft', but the model 'm' has no draft; set models.draft");
  request.draft = kTinyFile;
  EXPECT_EQ(Why(), "loaded");
  request.draft = "/none.gguf";
  EXPECT_THAT(Why(), StartsWith("the draft model: "));
  request.draft = "";
  request.speculation = "prompt_lookup";
  EXPECT_EQ(Why(), "loaded");
}

TEST_F(LoadSettings, OneBackendMustUseWhatIsSetForItAndAChainNeedNot) {
  request.config.gpu_layers = 1;
  EXPECT_THAT(Why(), StartsWith("the backend 'cpu' cannot use the setting 'gpu_layers'"));
  request.requested_backend = "cpu,reference";
  EXPECT_EQ(Why(), "loaded");
}

TEST_F(LoadSettings, ARecipeChangesTheFileBesideIt) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("load_recipe_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  fs::copy_file(kTinyFile, folder / "base.gguf", fs::copy_options::overwrite_existing);
  request.path = (folder / "made.inferflux.json").string();
  const auto write = [&](const ModelRecipe& recipe) { std::ofstream(request.path) << RecipeJson(recipe); };
  write({.from = "base.gguf", .chat_template = "{{ messages }}", .context = 64});
  const auto context = [&](int32_t of_server) {
    request.context = of_server;
    const auto model = Load();
    EXPECT_TRUE(model) << model.error().message;
    if (model) {
      EXPECT_EQ((*model)->info.path, request.path);
      EXPECT_EQ((*model)->chat_template->source(), "{{ messages }}");
      EXPECT_NE((*model)->recipe, nullptr);
    }
    return Told().context;
  };
  EXPECT_EQ(context(0), 64);
  EXPECT_EQ(context(63), 63);
  EXPECT_EQ(context(65), 64);
  EXPECT_EQ(context(1), 1);
  write({.from = "base.gguf", .chat_template = "{{ messages }}", .context = 1});
  EXPECT_EQ(context(0), 1);
  write({.from = "base.gguf"});
  request.context = 65;
  const auto plain = Load();
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(Told().context, 65);
  EXPECT_NE((*plain)->chat_template->source(), "{{ messages }}") << "the file's own";
  EXPECT_EQ(fs::path(Told().source->path()).filename(), "base.gguf");
  write({.from = "base.gguf", .chat_template = "{{"});
  EXPECT_THAT(Why(), StartsWith(request.path + ": its template: "));
  write({.from = "other.gguf"});
  EXPECT_THAT(Why(), StartsWith(request.path + ": the model is made of other.gguf, which is not in "));
  std::ofstream(request.path) << "[]";
  EXPECT_THAT(Why(), StartsWith(request.path + ": a recipe of a model must be a JSON object"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace inferflux::serving
