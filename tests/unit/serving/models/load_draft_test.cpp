// A draft model beside its model: the vocabulary that both must have, and the engines of both, in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/host_memory.h"
#include "formats/gguf/gguf_file.h"
#include "scheduler/scheduler_driver.h"
#include "serving/models/load_testing.h"

namespace inferflux::serving {
namespace {

namespace fs = std::filesystem;
using testing::EntryOf;
using ::testing::HasSubstr;
using testing::kTinyFile;

// The tokens of the bundled model and their kinds.
struct TinyTokens {
  std::vector<std::string> texts;
  std::vector<int32_t> kinds;
};

// A file with a vocabulary that differs from that of the bundled model by `edit`, and nothing else.
std::string VocabularyFile(const std::string& name, const std::function<void(TinyTokens&)>& edit) {
  const auto file = formats::GgufFile::Open(kTinyFile);
  EXPECT_TRUE(file);
  TinyTokens tokens;
  const auto texts = (*file)->metadata().Get<std::vector<std::string_view>>("tokenizer.ggml.tokens").value();
  tokens.texts.assign(texts.begin(), texts.end());
  tokens.kinds = (*file)->metadata().Get<std::vector<int32_t>>("tokenizer.ggml.token_type").value();
  edit(tokens);
  return testing::MetadataFile(name, [&](formats::GgufWriter& writer) {
    writer.SetArray("tokenizer.ggml.tokens", std::span<const std::string>(tokens.texts));
    writer.SetArray("tokenizer.ggml.token_type", std::span<const int32_t>(tokens.kinds));
  });
}

TEST(LoadDraft, ADraftHasTheTokensOfItsModel) {
  testing::FakeStarts starts;
  const BackendFactory factory({EntryOf(Target::kCpu)}, {});
  std::string path;
  const auto why = [&](const std::string& name, const std::function<void(TinyTokens&)>& edit) {
    path = VocabularyFile(name, edit);
    LoadRequest request{.id = "m", .path = kTinyFile, .requested_backend = "cpu", .draft = path};
    request.start = starts.starter();
    const auto loaded = LoadModel(factory, request);
    fs::remove(path);
    return loaded ? "loaded" : loaded.error().message;
  };
  TinyTokens tiny;
  EXPECT_EQ(why("same", [&](TinyTokens& tokens) { tiny = tokens; }), "loaded");
  const std::string size = std::to_string(tiny.texts.size());
  const size_t last = tiny.texts.size() - 1;
  const std::string more = why("more", [](TinyTokens& tokens) {
    tokens.texts.push_back("one more");
    tokens.kinds.push_back(1);
  });
  EXPECT_EQ(more, "the draft model " + path + ": it has " + std::to_string(tiny.texts.size() + 1) +
                      " tokens and the model " + size + "; a draft needs the model's own");
  const auto differs = [&](size_t id, const std::string& text) {
    return "the draft model " + path + ": its token " + std::to_string(id) + " is '" + text + "' and the model's '" +
           tiny.texts[id] + "'; a draft needs the model's own";
  };
  for (const size_t id : {size_t{0}, last}) {
    const std::string other = why("other", [&](TinyTokens& tokens) { tokens.texts[id] = "another"; });
    EXPECT_EQ(other, differs(id, "another"));
  }
  const std::string kind =
      why("kind", [&](TinyTokens& tokens) { tokens.kinds[last] = tokens.kinds[last] == 3 ? 1 : 3; });
  EXPECT_EQ(kind, differs(last, tiny.texts[last])) << "text, and a token of control";
}

// Engines of this process that answer "aaaa...", and what they were made with.
struct MadeHere {
  EngineEntry Entry() {
    EngineEntry out = EntryOf(Target::kCpu);
    out.make = [this](const EngineRequest& request) -> Result<std::unique_ptr<engine::Engine>> {
      const std::lock_guard lock(mutex);
      made.push_back(request);
      auto engine = std::make_unique<scheduler::FakeEngine>(
          scheduler::FakeEngineOptions{.blocks = 512, .context = 1000, .vocab_size = 10'000},
          [](auto, const auto&) { return TokenId{97}; });
      engine->on_step = [this](const engine::UnifiedBatch& batch) {
        int64_t rows = 0;
        for (const auto& item : batch.items) rows += static_cast<int64_t>(item.tokens.size());
        // A test may set it back to 0 meanwhile.
        for (int64_t most = most_rows; most < rows && !most_rows.compare_exchange_weak(most, rows);) {
        }
        if (row_time.count() > 0) std::this_thread::sleep_for(row_time * rows);
        while (held) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      };
      return engine;
    };
    return out;
  }

  std::atomic<bool> held{false};
  std::atomic<int64_t> most_rows{0};      // of a step
  std::chrono::milliseconds row_time{0};  // how long a step takes for each row
  std::mutex mutex;
  std::vector<EngineRequest> made;
};

scheduler::GenerationRequest Ask(int32_t tokens) {
  return {.prompt = {97, 97, 97, 97, 97, 97}, .max_tokens = tokens, .ignore_eos = true};
}

scheduler::Finish EndOf(scheduler::TokenStream& stream) {
  for (int i = 0; i < 20'000; ++i) {
    while (auto event = stream.TryPop()) {
      if (event->finish) return *event->finish;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ADD_FAILURE() << "no end for 20 s";
  return {};
}

TEST(LoadDraft, ADraftHasAnEighthOfTheMemoryAndOneRank) {
  MadeHere here;
  const BackendFactory factory({here.Entry()}, {});
  LoadRequest request{.id = "m", .path = kTinyFile, .requested_backend = "cpu", .draft = kTinyFile};
  request.config = {.kv_dtype = "fp32", .kv_budget = 800, .tensor_parallel = 3, .pipeline_parallel = 2};
  const auto made = [&] {
    const size_t before = here.made.size();
    const auto model = LoadModel(factory, request);
    EXPECT_TRUE(model) << model.error().message;
    if (model) (*model)->scheduler->Stop();
    EXPECT_EQ(here.made.size(), before + 2);
    return std::pair(here.made.at(before).config, here.made.at(before + 1).config);
  };
  const auto [own, draft] = made();
  EXPECT_EQ(own.kv_budget, 800);
  EXPECT_EQ(own.tensor_parallel, 3);
  EXPECT_EQ(own.pipeline_parallel, 2);
  EXPECT_EQ(draft.kv_budget, 100);
  EXPECT_EQ(draft.tensor_parallel, 1);
  EXPECT_EQ(draft.pipeline_parallel, 1);
  EXPECT_EQ(draft.kv_dtype, "fp32");
  for (const EngineRequest& each : here.made) EXPECT_TRUE(each.stop.stop_possible()) << "a load can be called off";
  request.config = {.kv_budget = 1};
  EXPECT_EQ(made().second.kv_budget, 0);
  request.config = {};
  bool right = false;  // other programs use memory meanwhile, too
  for (int i = 0; i < 20 && !right; ++i) {
    const int64_t before = ReadHostMemory().free;
    const int64_t planned = made().second.kv_budget.value_or(0);
    const int64_t after = ReadHostMemory().free;
    right = planned >= std::min(before, after) / 17 && planned <= std::max(before, after) / 15;
  }
  EXPECT_TRUE(right) << "an eighth of half of what is free";
}

TEST(LoadDraft, RequestsSpeculateAsTheLoadSays) {
  const auto drafted = [](const std::string& speculation, const std::string& draft, int32_t most = 4) {
    MadeHere here;
    const BackendFactory factory({here.Entry()}, {});
    LoadRequest request{.id = "m", .path = kTinyFile, .requested_backend = "cpu", .draft = draft};
    request.speculation = speculation;
    request.max_draft_tokens = most;
    const auto model = LoadModel(factory, request);
    EXPECT_TRUE(model) << model.error().message;
    if (!model) return -1;
    const auto stream = (*model)->scheduler->Submit(Ask(100));
    EXPECT_TRUE(stream) << stream.error().message;
    const int32_t out = stream ? EndOf(**stream).usage.drafted_tokens : -1;
    (*model)->scheduler->Stop();
    return out;
  };
  EXPECT_EQ(drafted("auto", ""), 0);
  EXPECT_EQ(drafted("none", ""), 0);
  EXPECT_EQ(drafted("none", kTinyFile), 0);
  EXPECT_GT(drafted("prompt_lookup", ""), 0);
  EXPECT_EQ(drafted("prompt_lookup", "", 0), 0);
  EXPECT_GT(drafted("auto", kTinyFile), 0);
  EXPECT_GT(drafted("draft", kTinyFile), 0);
}

TEST(LoadDraft, AStepHasAsManyTokensAsTheLoadSays) {
  const auto most_rows = [](int32_t max_batch_tokens) {
    MadeHere here;
    const BackendFactory factory({here.Entry()}, {});
    LoadRequest request{.id = "m", .path = kTinyFile, .requested_backend = "cpu"};
    request.max_batch_tokens = max_batch_tokens;
    const auto model = LoadModel(factory, request);
    EXPECT_TRUE(model) << model.error().message;
    if (!model) return int64_t{-1};
    here.most_rows = 0;  // without the warm-up
    scheduler::GenerationRequest ask = Ask(1);
    ask.prompt.assign(100, 97);
    const auto stream = (*model)->scheduler->Submit(ask);
    EXPECT_TRUE(stream) << stream.error().message;
    if (stream) EndOf(**stream);
    (*model)->scheduler->Stop();
    return here.most_rows.load();
  };
  EXPECT_EQ(most_rows(0), 100);
  EXPECT_EQ(most_rows(10), 10);
}

TEST(LoadDraft, AnswersGoOnBesideALongPromptWhereTheGoalIsLatency) {
  const auto most_rows = [](scheduler::StepGoal goal) {
    MadeHere here;
    here.row_time = std::chrono::milliseconds(2);
    const BackendFactory factory({here.Entry()}, {});
    LoadRequest request{.id = "m", .path = kTinyFile, .requested_backend = "cpu"};
    request.goal = goal;
    const auto model = LoadModel(factory, request);
    EXPECT_TRUE(model) << model.error().message;
    if (!model) return int64_t{-1};
    const auto answer = (*model)->scheduler->Submit(Ask(900));
    EXPECT_TRUE(answer) << answer.error().message;
    for (int wait = 0, tokens = 0; wait < 20'000 && tokens < 20; ++wait) {
      if (answer && (*answer)->TryPop()) ++tokens;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    here.most_rows = 0;
    scheduler::GenerationRequest ask = Ask(1);
    ask.prompt.assign(300, 98);
    const auto prompt = (*model)->scheduler->Submit(ask);
    EXPECT_TRUE(prompt) << prompt.error().message;
    if (prompt) EndOf(**prompt);
    (*model)->scheduler->Stop();
    return here.most_rows.load();
  };
  EXPECT_GE(most_rows(scheduler::StepGoal::kThroughput), 300);
  EXPECT_LT(most_rows(scheduler::StepGoal::kLatency), 200);
}

TEST(LoadDraft, SessionsAreKeptForTheirModelOnly) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("load_sessions_" + std::to_string(::getpid()));
  fs::remove_all(folder);
  // How many tokens of its session a request finds, on a model with this weight.
  const auto found = [&](float weight) {
    MadeHere here;
    const BackendFactory factory({here.Entry()}, {});
    const std::string path = testing::MetadataFile(
        "sessions", [](formats::GgufWriter&) {}, weight);
    LoadRequest request{.id = "m", .path = path, .requested_backend = "cpu"};
    request.sessions = {.memory_bytes = 1 << 20,
                        .directory = folder.string(),
                        .disk_bytes = 1 << 20,
                        .store_url = "",
                        .store_key_file = ""};
    const auto model = LoadModel(factory, request);
    EXPECT_TRUE(model) << model.error().message;
    if (!model) return -1;
    scheduler::GenerationRequest ask = Ask(2);
    ask.prompt.assign(100, 97);
    ask.session = scheduler::SessionUse{.id = "s"};
    const auto stream = (*model)->scheduler->Submit(ask);
    EXPECT_TRUE(stream) << stream.error().message;
    const int32_t out = stream ? EndOf(**stream).usage.cached_tokens : -1;
    std::promise<bool> saved;
    (*model)->scheduler->Session({.action = scheduler::SessionCommand::Action::kSave, .id = "s"},
                                 [&](const auto& sessions) { saved.set_value(sessions.has_value()); });
    EXPECT_TRUE(saved.get_future().get());
    (*model)->scheduler->Stop();
    fs::remove(path);
    return out;
  };
  EXPECT_EQ(found(1), 0);
  EXPECT_GT(found(1), 50) << "of the file";
  EXPECT_EQ(found(2), 0) << "the KV of another model is of no use";
  fs::remove_all(folder);
}

TEST(LoadDraft, TheQueueIsAsLongAsTheLoadSays) {
  MadeHere here;
  const BackendFactory factory({here.Entry()}, {});
  metrics::Registry metrics;
  LoadRequest request{.id = "m", .path = kTinyFile, .requested_backend = "cpu"};
  request.max_running = 1;
  request.max_queued = 2;
  request.metrics = &metrics;
  const auto model = LoadModel(factory, request);
  ASSERT_TRUE(model) << model.error().message;
  scheduler::GenerationService& service = *(*model)->scheduler;
  here.held = true;
  std::vector<std::shared_ptr<scheduler::TokenStream>> streams;
  std::string refused;
  for (int i = 0; i < 8 && refused.empty(); ++i) {
    auto stream = service.Submit(Ask(2));
    if (stream) streams.push_back(std::move(*stream));
    if (!stream) refused = stream.error().message;
  }
  EXPECT_THAT(refused, HasSubstr("2")) << "requests that wait";
  EXPECT_LE(streams.size(), 4u);
  here.held = false;
  for (const auto& stream : streams) EXPECT_EQ(EndOf(*stream).reason, scheduler::FinishReason::kLength);
  service.Stop();
}

}  // namespace
}  // namespace inferflux::serving
