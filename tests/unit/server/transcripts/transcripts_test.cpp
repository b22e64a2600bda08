// The whole answers of each API to a list of requests, as the files beside this one have them.
// To write them anew: INFERFLUX_WRITE_TRANSCRIPTS=tests/unit/server/transcripts build/tests/transcripts_test, and read
// the difference.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "server/fake_model.h"
#include "server/transcripts/transcript.h"

namespace inferflux::testing {
namespace {

bool Asks(const GenerationRequest& request, const char* word) {
  return std::string(request.prompt.begin(), request.prompt.end()).find(word) != std::string::npos;
}

scheduler::GeneratedToken Token(TokenId id, std::string bytes, float logprob) {
  scheduler::GeneratedToken out;
  out.chosen = {.id = id, .bytes = std::move(bytes), .logprob = logprob};
  return out;
}

// In one event, so that the answer does not depend on when it is read. The prompt says what it is to be.
void Answer(const GenerationRequest& request, TokenStream& stream) {
  StreamEvent event = End(FinishReason::kStop, static_cast<int32_t>(request.prompt.size()), 3, 2);
  event.finish->usage.drafted_tokens = 6;
  event.finish->usage.accepted_tokens = 4;
  if (request.embed) {
    event.embedding = {0.5f, -0.25f, 0.125f};
  } else if (request.next_tokens) {
    event.next_tokens = scheduler::NextTokens{
        .vocabulary = 257,
        .allowed = 2,
        .may_end = true,
        .allowed_probability = 0.5,
        .top = {{.id = 72, .bytes = "H", .logprob = -0.5f}, {.id = 195, .bytes = "\xc3", .logprob = -1.5f}},
        .unconstrained = {{.id = 73, .bytes = "I", .logprob = -0.25f}}};
  } else if (Asks(request, "call")) {
    event.text = "So: <tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": 1}}\n</tool_call>";
  } else if (Asks(request, "fail")) {
    event.finish->reason = FinishReason::kError;
    event.finish->error = {ErrorCode::kInternal, "the device is gone"};
  } else if (Asks(request, "long")) {
    event.text = "and so on";
    event.finish->reason = FinishReason::kLength;
  } else if (!request.stop.empty()) {
    event.text = "up to";
    event.finish->stop_string = request.stop.front();
  } else {
    event.text = "Hello";
  }
  if (request.top_logprobs) {
    event.tokens = {Token(72, "Hel", -0.5f), Token(108, "l\xc3", -0.25f)};
    if (*request.top_logprobs > 0)
      event.tokens[0].top = {{.id = 72, .bytes = "Hel", .logprob = -0.5f},
                             {.id = 74, .bytes = "\xe2\x82", .logprob = -2.0f}};
  }
  if (request.prompt_logprobs) {
    for (size_t i = 1; i < request.prompt.size(); ++i)
      event.prompt.push_back(Token(request.prompt[i], std::string(1, static_cast<char>(request.prompt[i])), -1.0f));
  }
  stream.Push(std::move(event));
}

// The requests that a model got since the last call, each in a line.
class Heard {
 public:
  explicit Heard(const FakeScheduler& scheduler) : scheduler_(scheduler) {}
  std::string operator()() {
    const auto all = scheduler_.requests();
    std::string out;
    for (; told_ < all.size(); ++told_) {
      const GenerationRequest& request = all[told_];
      out +=
          "= " + boost::json::serialize(boost::json::string(std::string(request.prompt.begin(), request.prompt.end())));
      const auto add = [&](const char* name, const auto& value) { out += fmt::format(" {}={}", name, value); };
      add("max_tokens", request.max_tokens);
      add("temperature", request.sampling.temperature);
      if (request.sampling.top_k != 0) add("top_k", request.sampling.top_k);
      if (request.sampling.seed < 1000) add("seed", request.sampling.seed);
      for (const std::string& stop : request.stop) add("stop", stop);
      for (const std::string& choice :
           request.grammar_source ? request.grammar_source->choices : std::vector<std::string>())
        add("choice", choice);
      if (request.grammar_source) add("grammar", static_cast<int>(request.grammar_source->kind));
      if (request.top_logprobs) add("top_logprobs", *request.top_logprobs);
      if (!request.prediction.empty()) add("prediction", request.prediction.size());
      if (request.continues_text) out += " continues";
      out += "\n";
    }
    return out;
  }

 private:
  const FakeScheduler& scheduler_;
  size_t told_ = 0;
};

class TranscriptTest : public ::testing::TestWithParam<const char*> {};

TEST_P(TranscriptTest, IsAsItIsWritten) {
  const std::string path = std::string(INFERFLUX_SOURCE_DIR) + "/tests/unit/server/transcripts/" + GetParam() + ".txt";
  std::ifstream file(path);
  const std::string right(std::istreambuf_iterator<char>(file), {});
  ASSERT_NE(right, "") << path;
  FakeServer fake(Answer, {}, [](serving::ServedModel& model) {
    model.info.path = "/models/fake.gguf";
    model.info.format = "gguf";
    model.info.architecture = "llama";
    model.info.quantization = "Q8_0";
    model.info.parameters = 7'300'000'000;
    model.info.vocab_size = 257;
    model.info.kv_dtype = "f16";
    model.info.kv_tokens = 4096;
    model.info.embedding = {.dimensions = 3, .shorter = {2}, .normalised = true};
    model.info.memory = {{.device = "cpu", .weight_bytes = 1000, .kv_bytes = 200}};
    model.info.created = 1'700'000'000;
    model.exposure.requested_backend = "auto";
    model.exposure.normalised_request = "auto";
    model.exposure.provider = "native";
    model.exposure.chain = {"cpu"};
    model.capabilities.embeddings = true;
    // Shows all that a template can see of messages and tools.
    auto compiled = text::ChatTemplate::Compile(
        "{% for m in messages %}{{ m.role }}: {{ m.content }}{% if m.tool_call_id %} of {{ m.tool_call_id }}{% endif %}"
        "{% for c in m.tool_calls or [] %} {{ c.id }} {{ c.function.name }} {{ c.function.arguments|tojson }}{% endfor "
        "%}\n"
        "{% endfor %}{% for t in tools or [] %}<{{ t.function|tojson }}>{% endfor %}"
        "{% if messages[0].content == 'forbidden' %}{{ raise_exception('not allowed') }}{% endif %}>");
    ASSERT_TRUE(compiled) << compiled.error().message;
    model.chat_template = std::make_shared<const text::ChatTemplate>(std::move(*compiled));
  });
  const std::string played = Transcript(fake.server->port(), Heard(*fake.scheduler)).Play(right);
  if (const char* folder = std::getenv("INFERFLUX_WRITE_TRANSCRIPTS"); folder != nullptr) {
    std::ofstream(std::string(folder) + "/" + GetParam() + ".txt") << played;
    return;
  }
  EXPECT_EQ(played, right);
}

INSTANTIATE_TEST_SUITE_P(Server, TranscriptTest,
                         ::testing::Values("openai", "openai_tools", "responses", "conversations", "anthropic",
                                           "ollama", "llama_server", "files", "admin"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace inferflux::testing
