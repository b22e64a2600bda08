// A chat in an embedding program, on the bundled model: rendered, tokenised, run and read without any part of server/.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>

#include "base/thread_pool.h"
#include "serving/backends/backend_factory.h"
#include "serving/backends/built_in_engines.h"
#include "serving/generation/build_generation.h"
#include "serving/generation/generation_group.h"
#include "serving/models/load_model.h"

namespace inferflux::serving {
namespace {

using ::testing::HasSubstr;

boost::json::array Question(std::string_view text) { return {{{"role", "user"}, {"content", text}}}; }

class EmbeddedGeneration : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    pool = std::make_unique<ThreadPool>(2);
    const BackendFactory factory(BuiltInEngines(*pool), {});
    LoadRequest request{.id = "tiny", .path = std::string(INFERFLUX_SOURCE_DIR) + "/models/tiny/inferflux-tiny.gguf"};
    request.requested_backend = "cpu";
    request.config.kv_budget = 64 << 20;
    auto loaded = LoadModel(factory, request);
    ASSERT_TRUE(loaded) << loaded.error().message;
    model = *loaded;
  }
  static void TearDownTestSuite() {
    model->scheduler->Stop();
    model.reset();
    pool.reset();
  }

  // The texts of all answers, and how the last one ended.
  static std::vector<std::string> Run(Generation generation, scheduler::Finish* finish = nullptr) {
    std::mutex mutex;
    std::condition_variable changed;
    bool waiting = false;
    auto group = GenerationGroup::Submit(*model->scheduler, std::move(generation.requests), [&] {
      const std::lock_guard lock(mutex);
      waiting = true;
      changed.notify_one();
    });
    EXPECT_TRUE(group) << (group ? "" : group.error().message);
    if (!group) return {};
    std::vector<std::string> texts(group->size());
    while (!group->finished()) {
      {
        std::unique_lock lock(mutex);
        if (!changed.wait_for(lock, std::chrono::seconds(60), [&] { return std::exchange(waiting, false); })) {
          ADD_FAILURE() << "nothing came for a minute";
          return texts;
        }
      }
      group->Drain([&](size_t index, scheduler::StreamEvent event) {
        texts[index] += event.text;
        if (event.finish && finish != nullptr) *finish = *event.finish;
      });
    }
    return texts;
  }

  static inline std::unique_ptr<ThreadPool> pool;
  static inline std::shared_ptr<const ServedModel> model;
};

TEST_F(EmbeddedGeneration, AChatIsAnswered) {
  GenerationSpec spec;
  spec.sampling.params.temperature = 0;
  spec.choices = 2;
  auto built = BuildChat(*model, {.messages = Question("What is the capital of France?")}, spec);
  ASSERT_TRUE(built) << ToError(built.error()).message;
  EXPECT_EQ(built->answers.size(), 2u) << "one parser for each choice";
  scheduler::Finish finish;
  const auto texts = Run(std::move(*built), &finish);
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_THAT(texts[0], HasSubstr("Paris"));
  EXPECT_EQ(texts[0], texts[1]) << "both are greedy";
  EXPECT_EQ(finish.reason, scheduler::FinishReason::kStop);
}

TEST_F(EmbeddedGeneration, AForcedCallIsFoundInTheAnswer) {
  const std::string parameters =
      R"({"type":"object","properties":{"city":{"type":"string","maxLength":12}},"required":["city"],"additionalProperties":false})";
  Chat chat{.messages = Question("What is the weather in Paris?")};
  chat.tools = {
      {{"type", "function"}, {"function", {{"name", "weather"}, {"parameters", boost::json::parse(parameters)}}}}};
  chat.functions = {{.name = "weather", .parameters = parameters}};
  chat.tool_choice = {.kind = ToolChoice::Kind::kFunction, .function = "weather"};
  GenerationSpec spec;
  spec.sampling.params.temperature = 0;
  auto built = BuildChat(*model, chat, spec);
  ASSERT_TRUE(built) << ToError(built.error()).message;
  ASSERT_EQ(built->answers.size(), 1u);
  AnswerParser parser = std::move(built->answers[0]);
  scheduler::StreamEvent answer;
  const auto texts = Run(std::move(*built), &answer.finish.emplace());
  answer.text = texts.at(0);
  const auto found = parser.Take(answer).calls;
  ASSERT_EQ(found.size(), 1u) << texts[0];
  EXPECT_EQ(found[0].name, "weather");
  EXPECT_TRUE(boost::json::parse(found[0].arguments).at("city").is_string()) << found[0].arguments;
}

TEST_F(EmbeddedGeneration, TextAndItsTokensAreCompletedAlike) {
  GenerationSpec spec{.max_tokens = 8};
  spec.sampling.params.temperature = 0;
  const RawPrompt text = "Once upon a time";
  const auto tokens = RawPromptTokens(*model, text);
  ASSERT_TRUE(tokens);
  const RawPrompt prompts[] = {text, *tokens};
  auto built = BuildCompletion(*model, prompts, spec);
  ASSERT_TRUE(built) << ToError(built.error()).message;
  const auto texts = Run(std::move(*built));
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_FALSE(texts[0].empty());
  EXPECT_EQ(texts[0], texts[1]);
}

TEST_F(EmbeddedGeneration, ErrorsNameWhatIsWrongInPlainWords) {
  const auto message = [](Chat chat, GenerationSpec spec) {
    const auto built = BuildChat(*model, std::move(chat), std::move(spec));
    return built ? "ok" : ToError(built.error()).message;
  };
  const Chat chat{.messages = Question("Hi")};
  GenerationSpec draft;
  draft.speculation = scheduler::Speculation{.kind = scheduler::Speculation::Kind::kDraft};
  EXPECT_EQ(message(chat, draft), "the kind of speculation is \"draft\", but the model 'tiny' has no draft model");
  GenerationSpec grammar;
  grammar.grammar = text::GrammarSpec{.kind = text::GrammarSpec::Kind::kRegex, .source = "("};
  EXPECT_THAT(message(chat, grammar), HasSubstr("the grammar cannot be used: "));
  Chat forced = chat;
  forced.tool_choice.kind = ToolChoice::Kind::kRequired;
  EXPECT_THAT(message(forced, {}), HasSubstr("the tool choice forces a call"));
  std::string words;
  for (int32_t i = 0; i <= model->info.context; ++i) words += " word";
  EXPECT_THAT(message({.messages = Question(words)}, {}), HasSubstr("leaves no room for an answer"));
}

}  // namespace
}  // namespace inferflux::serving
