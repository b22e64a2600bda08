// Each code of the one enum of errors, provoked by what a program does wrong or by what happens to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <inferflux/engine.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dspy/adapters/chat_adapter.h"
#include "embedded/embedded_tiny.h"
#include "embedded/language_model.h"
#include "embedded/loaded_model_state.h"
#include "text/chat_template.h"

namespace inferflux::embedded {
namespace {

using testing::Greedy;
using ::testing::HasSubstr;
using testing::SmallLoad;
using testing::TinyPath;

using CallErrorTest = testing::WithTiny;

// A scheduler that fails as it is told to.
class FailingScheduler : public scheduler::GenerationService {
 public:
  explicit FailingScheduler(inferflux::Error error, bool at_submit) : error_(std::move(error)), at_submit_(at_submit) {}

  inferflux::Result<std::shared_ptr<scheduler::TokenStream>> Submit(scheduler::GenerationRequest) override {
    if (at_submit_) return tl::make_unexpected(error_);
    auto stream = std::make_shared<scheduler::TokenStream>();
    stream->Push({.finish = scheduler::Finish{.reason = scheduler::FinishReason::kError, .error = error_}});
    return stream;
  }
  void Drain(bool) override {}
  void Stop() override {}
  scheduler::SchedulerStats stats() const override { return {}; }

 private:
  inferflux::Error error_;
  bool at_submit_;
};

TEST_F(CallErrorTest, ModelNotFound) {
  const auto missing = Engine::Load("/nowhere/missing.gguf", SmallLoad());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kModelNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("/nowhere/missing.gguf"));
}

TEST_F(CallErrorTest, ModelLoadFailed) {
  const std::string path = ::testing::TempDir() + "embedded_broken.gguf";
  std::filesystem::copy_file(TinyPath(), path, std::filesystem::copy_options::overwrite_existing);
  std::filesystem::resize_file(path, 100000);
  const auto broken = Engine::Load(path, SmallLoad());
  std::filesystem::remove(path);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::kModelLoadFailed);
  EXPECT_THAT(broken.error().message, HasSubstr("embedded_broken.gguf"));
}

TEST_F(CallErrorTest, InvalidConfigNamesTheOptionOfALoad) {
  const auto field = [](void (*change)(LoadOptions&)) {
    LoadOptions options = SmallLoad();
    change(options);
    const auto loaded = Engine::Load(TinyPath(), options);
    EXPECT_FALSE(loaded);
    if (loaded) return std::string("loaded");
    EXPECT_EQ(loaded.error().code, ErrorCode::kInvalidConfig) << loaded.error().message;
    return loaded.error().field;
  };
  EXPECT_EQ(field([](LoadOptions& o) { o.context = 0; }), "context");
  EXPECT_EQ(field([](LoadOptions& o) { o.batch = -1; }), "batch");
  EXPECT_EQ(field([](LoadOptions& o) { o.threads = 0; }), "threads");
  EXPECT_EQ(field([](LoadOptions& o) { o.kv_budget = -1; }), "kv_budget");
  EXPECT_EQ(field([](LoadOptions& o) { o.kv_dtype = "fp7"; }), "kv_dtype");
  EXPECT_EQ(field([](LoadOptions& o) { o.backend = "abacus"; }), "backend");
  EXPECT_EQ(field([](LoadOptions& o) { o.backend = "native_cpu", o.gpu_layers = 3; }), "backend");
}

TEST_F(CallErrorTest, InvalidConfigNamesTheSettingOfACall) {
  const auto field = [](const GenerateOptions& options) {
    const auto reply = engine->Generate("Hello", options);
    EXPECT_FALSE(reply);
    if (reply) return std::string("answered");
    EXPECT_EQ(reply.error().code, ErrorCode::kInvalidConfig) << reply.error().message;
    return reply.error().field;
  };
  EXPECT_EQ(field({.sampling = {.temperature = 3}}), "temperature");
  EXPECT_EQ(field({.sampling = {.max_tokens = 1 << 20}}), "max_tokens");
  EXPECT_EQ(field({.sampling = {.stop = {"\xff"}}}), "stop");
  EXPECT_EQ(field({.timeout = std::chrono::milliseconds(-1)}), "timeout");
  EXPECT_EQ(field({.constraint = Constraint{.kind = Constraint::Kind::kRegex, .source = "("}}), "constraint");
  EXPECT_EQ(engine->Chat({}).error().field, "messages");

  const Engine plain = With([](serving::ServedModel& model) { model.chat_template = nullptr; });
  const auto chat = plain.Chat({{"user", "Hello"}});
  ASSERT_FALSE(chat);
  EXPECT_EQ(chat.error().code, ErrorCode::kInvalidConfig);
  EXPECT_THAT(chat.error().message, HasSubstr("has no chat template"));
}

TEST_F(CallErrorTest, TokenizationFailed) {
  auto strict = text::ChatTemplate::Compile("{{ raise_exception('only poems') }}");
  ASSERT_TRUE(strict);
  const auto shared = std::make_shared<const text::ChatTemplate>(std::move(*strict));
  const Engine poet = With([&](serving::ServedModel& model) { model.chat_template = shared; });
  const auto refused = poet.Chat({{"user", "Hello"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kTokenizationFailed);
  EXPECT_THAT(refused.error().message, HasSubstr("only poems"));
}

TEST_F(CallErrorTest, ContextTooLong) {
  std::string words;
  for (int64_t i = 0; i <= engine->info().context; ++i) words += " word";
  const auto too_long = engine->Chat({{"user", words}}, Greedy());
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().code, ErrorCode::kContextTooLong);
  words.resize(words.size() - 5 * 100);
  GenerateOptions much = Greedy(engine->info().context - 1);
  much.ignore_eos = true;
  const auto capped = engine->Generate(words, much);
  ASSERT_TRUE(capped) << capped.error().message;
  EXPECT_EQ(capped->finish, FinishReason::kLength) << "an answer ends with the context";
  EXPECT_LE(capped->usage.total(), static_cast<uint64_t>(engine->info().context) + 1);
}

TEST_F(CallErrorTest, InferenceFailed) {
  const Engine broken = With([](serving::ServedModel& model) {
    model.scheduler = std::make_shared<FailingScheduler>(
        inferflux::Error{inferflux::ErrorCode::kInternal, "every logit is NaN"}, false);
  });
  const auto failed = broken.Generate("Hello");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kInferenceFailed);
  EXPECT_EQ(failed.error().message, "every logit is NaN");
}

TEST_F(CallErrorTest, Timeout) {
  GenerateOptions options{.sampling = {.temperature = 2.0, .seed = 1}, .timeout = std::chrono::milliseconds(5)};
  options.ignore_eos = true;  // until the context's end, which takes longer
  const auto late = engine->Generate("Once upon a time", options);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kTimeout);
}

TEST_F(CallErrorTest, Cancelled) {
  std::stop_source stop;
  stop.request_stop();
  GenerateOptions options = Greedy();
  options.cancel = stop.get_token();
  EXPECT_EQ(engine->Generate("Hello", options).error().code, ErrorCode::kCancelled);
  LoadOptions load = SmallLoad();
  load.cancel = stop.get_token();
  const auto loaded = Engine::Load(TinyPath(), load);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kCancelled);
}

TEST_F(CallErrorTest, ParseFailed) {
  const auto model = LanguageModel(*engine);
  const auto signature = dspy::Signature::Parse("question -> answer: int");
  const dspy::CallOptions options{
      .settings = {.sampling = {.max_tokens = 4, .temperature = 0.0}, .constrain = dspy::Constrain::kOff}};
  const auto unread = dspy::ChatAdapter().Call(*model, *signature, {{"question", "Tell me a story."}}, options);
  ASSERT_FALSE(unread);
  EXPECT_EQ(unread.error().code, ErrorCode::kParseFailed);
  EXPECT_EQ(unread.error().field, "answer");
}

TEST_F(CallErrorTest, BackendError) {
  const Engine busy = With([](serving::ServedModel& model) {
    model.scheduler = std::make_shared<FailingScheduler>(
        inferflux::Error{inferflux::ErrorCode::kResourceExhausted, "1024 requests wait already"}, true);
  });
  const auto full = busy.Generate("Hello");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::kBackendError);

  auto doomed = Engine::Load(TinyPath(), SmallLoad());
  ASSERT_TRUE(doomed);
  auto stream = doomed->Stream("Once upon a time", {.sampling = {.temperature = 2.0, .seed = 1}, .ignore_eos = true});
  ASSERT_TRUE(stream && stream->Next());
  doomed->state()->model->scheduler->Stop();
  while (true) {
    const auto next = stream->Next();
    if (next && *next) continue;  // what came before
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().code, ErrorCode::kBackendError);
    break;
  }
  EXPECT_EQ(doomed->Generate("Hello").error().code, ErrorCode::kBackendError);
}

}  // namespace
}  // namespace inferflux::embedded
