#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <inferflux/engine.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "embedded/embedded_tiny.h"

namespace inferflux::embedded {
namespace {

using testing::Greedy;
using ::testing::HasSubstr;
using EngineTest = testing::WithTiny;

// Answers of transformers to chats with this model.
boost::json::array GoldenAnswers() {
  std::ifstream file(std::string(INFERFLUX_SOURCE_DIR) + "/tests/data/tiny/greedy.json");
  std::stringstream text;
  text << file.rdbuf();
  return boost::json::parse(text.str()).as_array();
}

std::vector<Message> MessagesOf(const boost::json::value& row) {
  std::vector<Message> out;
  if (row.at("system").is_string()) out.push_back({"system", std::string(row.at("system").as_string())});
  out.push_back({"user", std::string(row.at("user").as_string())});
  return out;
}

TEST_F(EngineTest, AnswersChatsAsTransformersDoes) {
  const auto rows = GoldenAnswers();
  for (size_t i = 0; i < 10; ++i) {
    const auto& row = rows.at(i);
    const auto tokens = row.at("answer").as_array().size();
    const auto reply = engine->Chat(MessagesOf(row), Greedy(static_cast<int64_t>(tokens)));
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->text, std::string(row.at("text").as_string()));
    EXPECT_EQ(reply->finish, FinishReason::kStop);
    EXPECT_EQ(reply->usage.prompt, row.at("prompt").as_array().size());
    EXPECT_EQ(reply->usage.completion, tokens);
    EXPECT_EQ(reply->usage.total(), row.at("prompt").as_array().size() + tokens);
  }
}

TEST_F(EngineTest, AStreamsPiecesAreTheAnswer) {
  // Longer than the queue between the scheduler and its reader, so it cannot come at once.
  GenerateOptions options = Greedy(600);
  options.ignore_eos = true;
  const auto whole = engine->Generate("Once upon a time", options);
  ASSERT_TRUE(whole);
  auto stream = engine->Stream("Once upon a time", options);
  ASSERT_TRUE(stream) << stream.error().message;
  std::string text;
  size_t pieces = 0;
  while (true) {
    const auto piece = stream->Next();
    ASSERT_TRUE(piece) << piece.error().message;
    if (!*piece) break;
    text += **piece;
    ++pieces;
  }
  EXPECT_EQ(text, whole->text);
  EXPECT_GT(pieces, 1u);
  EXPECT_EQ(stream->reply().text, whole->text);
  EXPECT_EQ(stream->reply().usage.completion, 600u);
  EXPECT_FALSE(stream->Next()->has_value()) << "the end stays the end";
}

TEST_F(EngineTest, ASharedPrefixIsCountedAsCached) {
  const std::string story(2000, 'x');
  const auto first = engine->Generate(story + " one", Greedy(1));
  const auto second = engine->Generate(story + " two", Greedy(1));
  ASSERT_TRUE(first && second);
  EXPECT_GT(second->usage.cached, second->usage.prompt / 2);
  EXPECT_LT(second->usage.cached, second->usage.prompt);
}

TEST_F(EngineTest, StopsAndConstraintsAreHonoured) {
  GenerateOptions options = Greedy();
  options.constraint = Constraint{.kind = Constraint::Kind::kRegex, .source = "(yes|no), [0-9]{3}"};
  const auto constrained = engine->Chat({{"user", "Hello!"}}, options);
  ASSERT_TRUE(constrained) << constrained.error().message;
  EXPECT_THAT(constrained->text, ::testing::MatchesRegex("(yes|no), [0-9]{3}"));

  options = Greedy();
  options.sampling.stop = {"capital"};
  const auto stopped = engine->Chat({{"user", "What is the capital of France?"}}, options);
  ASSERT_TRUE(stopped);
  EXPECT_EQ(stopped->text, "The ");
  options.sampling = {.max_tokens = 2, .temperature = 0.0};
  EXPECT_EQ(engine->Chat({{"user", "What is the capital of France?"}}, options)->finish, FinishReason::kLength);
}

TEST_F(EngineTest, ASeedGivesTheSameAnswerAgain) {
  GenerateOptions options{.sampling = {.max_tokens = 24, .temperature = 1.5, .seed = 7}};
  const auto first = engine->Generate("Once upon a time", options);
  const auto again = engine->Generate("Once upon a time", options);
  options.sampling.seed = 8;
  const auto other = engine->Generate("Once upon a time", options);
  ASSERT_TRUE(first && again && other);
  EXPECT_EQ(first->text, again->text);
  EXPECT_NE(first->text, other->text);
}

TEST_F(EngineTest, TokensAreThoseOfTransformers) {
  for (const auto& row : GoldenAnswers()) {
    const std::string text(row.at("text").as_string());
    std::vector<int32_t> ids;
    for (const auto& id : row.at("answer").as_array()) ids.push_back(static_cast<int32_t>(id.as_int64()));
    EXPECT_EQ(engine->Detokenize(ids), text);
    ids.pop_back();  // the end of the answer
    EXPECT_EQ(engine->Tokenize(text), ids);
  }
  const std::vector<int32_t> unknown = {1 << 20};
  const auto refused = engine->Detokenize(unknown);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("there is no token 1048576"));
}

TEST_F(EngineTest, EmbeddingsOfEqualTextsAreEqual) {
  ASSERT_GT(engine->info().dimensions, 0);
  const std::vector<std::string> texts = {"the sea", "a loaf of bread", "the sea"};
  const auto vectors = engine->Embed(texts);
  ASSERT_TRUE(vectors) << vectors.error().message;
  ASSERT_EQ(vectors->size(), 3u);
  EXPECT_EQ((*vectors)[0].size(), static_cast<size_t>(engine->info().dimensions));
  EXPECT_EQ((*vectors)[0], (*vectors)[2]);
  EXPECT_NE((*vectors)[0], (*vectors)[1]);
}

TEST_F(EngineTest, ACancelledStreamFreesTheModelAtOnce) {
  std::stop_source stop;
  GenerateOptions options{.sampling = {.temperature = 1.0, .seed = 1}, .cancel = stop.get_token()};
  options.ignore_eos = true;
  auto stream = engine->Stream("Once upon a time", options);
  ASSERT_TRUE(stream);
  ASSERT_TRUE(stream->Next());
  stop.request_stop();
  const auto next = stream->Next();
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(stream->Next().error().code, ErrorCode::kCancelled) << "an error stays";
}

TEST_F(EngineTest, CancellationWakesACallerThatWaits) {
  std::stop_source stop;
  GenerateOptions options{.sampling = {.temperature = 2.0, .seed = 1}, .cancel = stop.get_token()};
  options.ignore_eos = true;  // until the context's end, which takes longer
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  const auto reply = engine->Generate("Once", options);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kCancelled);
}

TEST_F(EngineTest, InfoSaysWhatRuns) {
  const ModelInfo& info = engine->info();
  EXPECT_EQ(info.name, "inferflux-tiny");
  EXPECT_EQ(info.backend, "cpu");
  EXPECT_EQ(info.provider, "native");
  EXPECT_EQ(info.format, "gguf");
  EXPECT_TRUE(info.chat);
  EXPECT_EQ(engine->load_options().context, info.context);
}

TEST(EngineLoadTest, ThePartsOfTheContextThatWereAskedForAreGiven) {
  LoadOptions options = testing::SmallLoad();
  options.context = 128;
  const auto engine = Engine::Load(testing::TinyPath(), options);
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_EQ(engine->info().context, 128);
  const auto refused = engine->Generate("Hello", Greedy(128));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidConfig);
  EXPECT_EQ(refused.error().field, "max_tokens");
}

TEST(EngineLoadTest, AnEngineOutlivesItsCopies) {
  std::optional<Engine> first = Engine::Load(testing::TinyPath(), testing::SmallLoad()).value();
  const Engine second = *first;
  auto stream = second.Stream("Once upon a time", Greedy(8));
  first.reset();
  ASSERT_TRUE(stream);
  EXPECT_TRUE(second.Generate("Hello", Greedy(4)));
  EXPECT_TRUE(stream->Next());
}

}  // namespace
}  // namespace inferflux::embedded
