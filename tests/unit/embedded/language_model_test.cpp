// Programs on a model that runs in this process.
#include "embedded/language_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "dspy/adapters/chat_adapter.h"
#include "dspy/adapters/llama_cpp_adapter.h"
#include "dspy/programs/chat.h"
#include "dspy/programs/predict.h"
#include "embedded/embedded_tiny.h"
#include "embedded/loaded_model_state.h"

namespace inferflux::embedded {
namespace {

using ::testing::HasSubstr;
using LanguageModelTest = testing::WithTiny;

dspy::CallSettings Cold(int64_t max_tokens = 64) {
  return {.sampling = {.max_tokens = max_tokens, .temperature = 0.0}};
}

TEST_F(LanguageModelTest, EveryAdaptersAnswerHasTheTypesOfTheSignature) {
  const auto model = LanguageModel(*engine);
  const auto signature = dspy::Signature::Parse("question -> answer: int, sure: Literal['yes', 'no']");
  ASSERT_TRUE(signature);
  for (const std::shared_ptr<const dspy::Adapter>& adapter :
       {std::shared_ptr<const dspy::Adapter>(std::make_shared<dspy::ChatAdapter>()),
        std::shared_ptr<const dspy::Adapter>(std::make_shared<dspy::JSONAdapter>()),
        std::shared_ptr<const dspy::Adapter>(std::make_shared<dspy::LlamaCppAdapter>())}) {
    const auto prediction =
        dspy::Predict(*signature, Cold()).Call({{"question", "What is 2+2?"}}, {.lm = model, .adapter = adapter});
    ASSERT_TRUE(prediction) << adapter->name() << ": " << prediction.error().message;
    EXPECT_TRUE(prediction->Int("answer")) << adapter->name();
    EXPECT_THAT(prediction->Text("sure").value(), ::testing::AnyOf("yes", "no")) << adapter->name();
    EXPECT_GT(prediction->usage().prompt, 0u);
    EXPECT_GT(prediction->usage().completion, 0u);
  }
}

TEST_F(LanguageModelTest, StreamedFieldsAreTheAnswer) {
  const auto signature = dspy::Signature::Parse("question -> answer");
  std::string answer;
  const auto prediction =
      dspy::Predict(*signature, Cold())
          .Stream({{"question", "What is the capital of France?"}},
                  [&](const dspy::FieldDelta& delta) {
                    EXPECT_EQ(delta.field, "answer");
                    answer += delta.text;
                  },
                  {.lm = LanguageModel(*engine), .adapter = std::make_shared<dspy::LlamaCppAdapter>()});
  ASSERT_TRUE(prediction) << prediction.error().message;
  EXPECT_EQ(answer, prediction->Text("answer"));
  EXPECT_FALSE(answer.empty());
}

TEST_F(LanguageModelTest, AChatIsThatOfTheChatTemplate) {
  dspy::Chat chat("", LanguageModel(*engine), Cold());
  EXPECT_THAT(chat.Say("What is the capital of France?").value(), HasSubstr("Paris"));
  EXPECT_EQ(chat.messages().size(), 2u);
}

TEST_F(LanguageModelTest, WithoutATemplateTheMessagesAreOneText) {
  const auto& state = *engine->state();
  auto plain = std::make_shared<serving::ServedModel>(*state.model);
  plain->chat_template = nullptr;
  plain->capabilities.chat = false;
  const auto model = LanguageModel(Engine(DescribeLoaded(state.runtime, plain, state.options)));
  EXPECT_FALSE(model->traits().chat_template);
  const auto signature = dspy::Signature::Parse("question -> answer: int");
  const auto prediction =
      dspy::Predict(*signature, Cold())
          .Call({{"question", "What is 2+2?"}}, {.lm = model, .adapter = std::make_shared<dspy::LlamaCppAdapter>()});
  ASSERT_TRUE(prediction) << prediction.error().message;
  EXPECT_TRUE(prediction->Int("answer"));
}

TEST_F(LanguageModelTest, AModelsOwnCallsOfToolsAreRead) {
  const auto model = LanguageModel(*engine);
  ASSERT_TRUE(model->traits().tools);
  const dspy::ToolSpec weather{.name = "get_weather",
                               .description = "Get the current weather in a city.",
                               .parameters = {{"type", "object"},
                                              {"properties", {{"city", {{"type", "string"}}}}},
                                              {"required", boost::json::array{"city"}}}};
  dspy::LmRequest request{.messages = {{"user", "What is the weather in Paris?"}}, .tools = {weather}};
  request.sampling = Cold().sampling;
  const auto response = model->Generate(request);
  ASSERT_TRUE(response) << response.error().message;
  ASSERT_EQ(response->tool_calls.size(), 1u) << response->text;
  EXPECT_EQ(response->tool_calls[0].name, "get_weather");
  EXPECT_TRUE(response->tool_calls[0].arguments.at("city").is_string());
  EXPECT_EQ(response->finish, dspy::FinishReason::kToolCalls);
}

TEST_F(LanguageModelTest, ConcurrentCallsGetTheAnswersOfCallsAlone) {
  const auto model = LanguageModel(*engine);
  const auto signature = dspy::Signature::Parse("question -> answer");
  const dspy::Predict program(*signature, Cold(24));
  const auto answer = [&](int i) {
    const dspy::Values inputs = {{"question", "What is the capital of country number " + std::to_string(i) + "?"}};
    return program.Call(inputs, {.lm = model})->Text("answer").value();
  };
  std::vector<std::string> alone, together(16);
  for (int i = 0; i < 16; ++i) alone.push_back(answer(i));
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 16; ++i) threads.emplace_back([&, i] { together[static_cast<size_t>(i)] = answer(i); });
  }
  EXPECT_EQ(alone, together);
}

}  // namespace
}  // namespace inferflux::embedded
