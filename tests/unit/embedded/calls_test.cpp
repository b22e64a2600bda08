// Calls in all their forms: by text and by tokens, whole and streamed, of many texts, of models that cannot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <inferflux/engine.h>
#include <inferflux/model_pool.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "embedded/embedded_tiny.h"
#include "embedded/language_model.h"
#include "embedded/loaded_model_state.h"

namespace inferflux::embedded {
namespace {

using testing::Greedy;
using testing::SmallLoad;
using testing::TinyPath;

using CallsTest = testing::WithTiny;

std::string TextOf(Result<ReplyStream> stream) {
  if (!stream) return stream.error().message;
  std::string text;
  while (true) {
    const auto piece = stream->Next();
    if (!piece) return piece.error().message;
    if (!*piece) return text;
    text += **piece;
  }
}

TEST_F(CallsTest, TokensAndTextsAndMessagesGiveTheSameAnswers) {
  const std::string prompt = "Once upon a time";
  const std::vector<int32_t> tokens = engine->Tokenize(prompt, true);
  const std::string text = engine->Generate(prompt, Greedy(8))->text;
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(engine->Generate(tokens, Greedy(8))->text, text);
  EXPECT_EQ(TextOf(engine->Stream(prompt, Greedy(8))), text);
  EXPECT_EQ(TextOf(engine->Stream(tokens, Greedy(8))), text);
  const std::vector<Message> messages = {{"user", "What is the capital of France?"}};
  EXPECT_EQ(TextOf(engine->StreamChat(messages, Greedy())), "The capital of France is Paris.");
  EXPECT_EQ(TextOf(engine->StreamChat({}, Greedy())), "there are no messages to answer");
}

TEST_F(CallsTest, TokensAreThoseOfTheVocabulary) {
  int32_t size = 1;
  while (engine->Detokenize(std::vector<int32_t>{size - 1})) ++size;
  --size;  // the first that is no token
  ASSERT_EQ(size, engine->state()->model->tokenizer->size());
  EXPECT_TRUE(engine->Detokenize(std::vector<int32_t>{0, size - 1}));
  for (const int32_t wrong : {-1, size}) {
    const auto refused = engine->Detokenize(std::vector<int32_t>{0, wrong});
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().field, "tokens");
    EXPECT_EQ(refused.error().message, "there is no token " + std::to_string(wrong) +
                                           ": this model's tokens are 0 to " + std::to_string(size - 1));
  }
  const auto& tokenizer = *engine->state()->model->tokenizer;
  EXPECT_EQ(engine->Tokenize("a b", true), tokenizer.WithSpecials(tokenizer.Encode("a b")));
  EXPECT_EQ(engine->Tokenize("a b"), tokenizer.Encode("a b"));
}

TEST_F(CallsTest, EachOfManyTextsGetsItsOwnVector) {
  std::vector<std::string> texts;
  for (int i = 0; i < 130; ++i) texts.push_back("text number " + std::to_string(i));
  const auto together = engine->Embed(texts);
  ASSERT_TRUE(together) << together.error().message;
  ASSERT_EQ(together->size(), 130u);
  for (const size_t i : {0, 63, 64, 65, 127, 128, 129}) {
    const std::vector<std::string> one = {texts[i]};
    const auto alone = engine->Embed(one);
    ASSERT_TRUE(alone) << alone.error().message;
    ASSERT_EQ((*together)[i].size(), (*alone)[0].size()) << i;
    for (size_t d = 0; d < (*alone)[0].size(); ++d) ASSERT_NEAR((*together)[i][d], (*alone)[0][d], 1e-3) << i;
  }
  EXPECT_EQ(engine->Embed({})->size(), 0u);
}

TEST_F(CallsTest, WhatCannotBeEmbeddedIsNamed) {
  const std::vector<std::string> texts = {"one", ""};
  const auto empty = engine->Embed(texts);
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().message, "text 1: the prompt is empty");
  EXPECT_EQ(empty.error().code, ErrorCode::kTokenizationFailed);
  const Engine none = With([](serving::ServedModel& model) { model.info.embedding.dimensions = 0; });
  const auto refused = none.Embed(texts);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "model");
  EXPECT_EQ(refused.error().message, "the model 'inferflux-tiny' makes no embeddings on cpu (native)");
  std::stop_source stop;
  stop.request_stop();
  const std::vector<std::string> one = {"one"};
  EXPECT_EQ(engine->Embed(one, {.cancel = stop.get_token()}).error().message, "the caller cancelled the call");
  EXPECT_EQ(engine->Embed(one, {.timeout = std::chrono::milliseconds(0)}).error().message,
            "the call's time was over before its answer was complete");
}

TEST_F(CallsTest, AnEncoderGeneratesNothing) {
  const Engine encoder = With([](serving::ServedModel& model) { model.capabilities.completions = false; });
  for (const auto& refused : {encoder.Generate("Hello"), encoder.Chat({{"user", "Hello"}})}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().field, "model");
    EXPECT_EQ(refused.error().message, "the model 'inferflux-tiny' is an encoder: it embeds texts, and generates none");
  }
}

TEST_F(CallsTest, InfoIsThatOfTheModel) {
  const Engine changed = With([](serving::ServedModel& model) {
    model.id = "name";
    model.info.path = "path";
    model.info.format = "format";
    model.info.architecture = "architecture";
    model.info.quantization = "quantization";
    model.info.parameters = 5;
    model.info.context = 77;
    model.info.embedding.dimensions = 6;
    model.info.notes = {"a note"};
    model.exposure.exposed_backend = "backend";
    model.exposure.provider = "provider";
    model.capabilities.chat = false;
  });
  const ModelInfo& info = changed.info();
  EXPECT_EQ(info.name, "name");
  EXPECT_EQ(info.path, "path");
  EXPECT_EQ(info.format, "format");
  EXPECT_EQ(info.architecture, "architecture");
  EXPECT_EQ(info.quantization, "quantization");
  EXPECT_EQ(info.parameters, 5);
  EXPECT_EQ(info.context, 77);
  EXPECT_EQ(info.dimensions, 6);
  EXPECT_EQ(info.notes, std::vector<std::string>{"a note"});
  EXPECT_EQ(info.backend, "backend");
  EXPECT_EQ(info.provider, "provider");
  EXPECT_FALSE(info.chat);
  EXPECT_TRUE(info.generates);
  EXPECT_EQ(changed.load_options().context, 77);
  EXPECT_FALSE(With([](serving::ServedModel& model) { model.chat_template = nullptr; }).info().chat);
}

TEST_F(CallsTest, ALoadDoesNotKeepItsCancellation) {
  std::stop_source stop;
  LoadOptions options = SmallLoad();
  options.cancel = stop.get_token();
  const auto loaded = Engine::Load(TinyPath(), options);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_FALSE(loaded->load_options().cancel.stop_possible());
}

TEST_F(CallsTest, AProgramsModelSaysWhatItCan) {
  const auto traits = [](const Engine& of) {
    const dspy::LmTraits all = LanguageModel(of)->traits();
    return std::vector<bool>{all.chat_template, all.constraints, all.tools};
  };
  EXPECT_EQ(traits(*engine), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(traits(With([](auto& model) { model.tool_calls = nullptr; })), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(traits(With([](auto& model) { model.chat_template = nullptr; })), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(traits(With([](auto& model) { model.capabilities.structured_output = false; })),
            (std::vector<bool>{true, false, true}));
  EXPECT_EQ(LanguageModel(*engine)->name(), "inferflux-tiny");
  EXPECT_EQ(LanguageModel(*engine)->load_options().context, engine->info().context);
}

TEST_F(CallsTest, AProgramsRequestIsAnsweredWithinItsLimits) {
  const auto model = LanguageModel(*engine);
  dspy::LmRequest request{.prompt = "Once upon a time", .sampling = Greedy(8).sampling};
  std::string streamed;
  request.on_text = [&](std::string_view piece) { streamed += piece; };
  const auto answer = model->Generate(request);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->text, engine->Generate("Once upon a time", Greedy(8))->text);
  EXPECT_EQ(streamed, answer->text);
  EXPECT_EQ(answer->usage.completion, 8u);
  EXPECT_EQ(answer->finish, FinishReason::kLength);
  request.deadline = std::chrono::steady_clock::now();
  EXPECT_EQ(model->Generate(request).error().code, ErrorCode::kTimeout);
  std::stop_source stop;
  stop.request_stop();
  request.cancel = stop.get_token();
  EXPECT_EQ(model->Generate(request).error().code, ErrorCode::kCancelled);
  request.cancel = {};
  request.sampling.temperature = 9;
  EXPECT_EQ(model->Generate(request).error().field, "temperature");
}

// A scheduler that is told the texts of an answer.
class SayingScheduler : public scheduler::GenerationService {
 public:
  explicit SayingScheduler(std::vector<std::string> texts) : texts_(std::move(texts)) {}

  inferflux::Result<std::shared_ptr<scheduler::TokenStream>> Submit(scheduler::GenerationRequest) override {
    auto stream = std::make_shared<scheduler::TokenStream>();
    for (const std::string& text : texts_) stream->Push({.text = text});
    scheduler::Finish finish;
    finish.usage = {.prompt_tokens = 5, .completion_tokens = 4, .cached_tokens = 3};
    stream->Push({.finish = finish});
    return stream;
  }
  void Drain(bool) override {}
  void Stop() override {}
  scheduler::SchedulerStats stats() const override { return {}; }

 private:
  std::vector<std::string> texts_;
};

Result<dspy::LmResponse> AnswerOf(const Engine& of) {
  dspy::LmRequest request{.messages = {{"user", "What is the weather?"}},
                          .tools = {{.name = "add", .description = "", .parameters = {{"type", "object"}}}}};
  return LanguageModel(of)->Generate(request);
}

TEST_F(CallsTest, TextAndCallsOfAnAnswerAreToldApart) {
  const auto says = [](std::vector<std::string> texts) {
    return With(
        [&](serving::ServedModel& model) { model.scheduler = std::make_shared<SayingScheduler>(std::move(texts)); });
  };
  const auto called =
      AnswerOf(says({"Well. ", "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2}}\n</tool_call>"}));
  ASSERT_TRUE(called) << called.error().message;
  EXPECT_EQ(called->finish, FinishReason::kToolCalls) << called->text;
  ASSERT_EQ(called->tool_calls.size(), 1u);
  EXPECT_EQ(called->tool_calls[0].name, "add");
  EXPECT_EQ(called->tool_calls[0].arguments.at("a"), 2);
  EXPECT_EQ(called->usage, (Usage{.prompt = 5, .cached = 3, .completion = 4}));
  const auto plain = AnswerOf(says({"One ", "two"}));
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->text, "One two");
  EXPECT_EQ(plain->finish, FinishReason::kStop);
  const auto cut = AnswerOf(says({"<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": "}));
  ASSERT_TRUE(cut) << cut.error().message;
  EXPECT_TRUE(cut->tool_calls.empty());
}

TEST(PoolEdgesTest, AModelThatIsLoadedNeedsNoFile) {
  const ModelPool pool = ModelPool::Open({.threads = 2}).value();
  const LoadOptions small{.backend = "cpu", .kv_budget = 16 << 20};
  ASSERT_TRUE(pool.LoadModel(TinyPath(), small));
  const auto again = pool.LoadModel("inferflux-tiny", {.threads = 2});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->info().path, TinyPath());
  EXPECT_EQ(again->load_options().kv_budget, 16 << 20) << "as it was loaded first";
  const auto refused = pool.LoadModel("inferflux-tiny", {.threads = 3});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "threads is 3, and the pool's models share 2 threads");
  ASSERT_EQ(pool.List().size(), 1u);
  EXPECT_TRUE(pool.Unload("inferflux-tiny"));
  EXPECT_EQ(pool.LoadModel("inferflux-tiny").error().code, ErrorCode::kModelNotFound);
  EXPECT_EQ(pool.List().size(), 0u);
}

TEST(PoolEdgesTest, AWaitThatMayBeCancelledEndsWithTheLoad) {
  const ModelPool pool = ModelPool::Open({.threads = 2}).value();
  std::stop_source stop;
  LoadOptions options{.backend = "cpu", .kv_budget = 16 << 20};
  options.cancel = stop.get_token();
  const auto loaded = pool.LoadModel(TinyPath(), options);
  ASSERT_TRUE(loaded) << loaded.error().message;
  options.context = 0;
  EXPECT_EQ(pool.LoadModel(TinyPath(), options).error().field, "context");
  EXPECT_EQ(pool.LoadModel("/nowhere/x.gguf").error().code, ErrorCode::kModelNotFound);
}

}  // namespace
}  // namespace inferflux::embedded
