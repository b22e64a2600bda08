// The whole answers of each API to a list of requests, as the files beside this one have them.
// To write them anew: INFERFLUX_WRITE_TRANSCRIPTS=tests/unit/server/transcripts build/tests/transcripts_test, and read
// the difference.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "server/fake_model.h"
#include "server/transcripts/transcript.h"
#include "text/reasoning/output_matcher.h"
#include "text/reasoning/reasoning_dialect.h"

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
  } else if (request.score) {
    event.embedding = {static_cast<float>(static_cast<int32_t>(request.prompt.size()) - request.second_text)};
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
  } else if (Asks(request, "ponder")) {
    event.text = "<think>\nhm</think>\n\nWell";
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
      if (request.grammar_source && !request.grammar_source->source.empty())
        add("source", request.grammar_source->source);
      if (request.grammar_source) AddCalls(request.grammar_source->tool_calls, out);
      AddSampling(request.sampling, out);
      if (request.top_logprobs) add("top_logprobs", *request.top_logprobs);
      if (!request.prediction.empty()) add("prediction", request.prediction.size());
      if (request.continues_text) out += " continues";
      AddRest(request, out);
      out += "\n";
    }
    return out;
  }

 private:
  static void AddCalls(const text::ToolCallSpec& calls, std::string& out) {
    for (const text::OfferedTool& tool : calls.tools) out += " calls=" + tool.name;
    if (calls.forced) out += " forced";
    if (calls.several) out += " several";
  }
  // What differs from its default.
  static void AddSampling(const engine::SamplingParams& sampling, std::string& out) {
    const engine::SamplingParams usual;
    const auto add = [&](const char* name, const auto& value, const auto& other) {
      if (value != other) out += fmt::format(" {}={}", name, value);
    };
    add("top_p", sampling.top_p, usual.top_p);
    add("min_p", sampling.min_p, usual.min_p);
    add("repetition_penalty", sampling.repetition_penalty, usual.repetition_penalty);
    add("presence_penalty", sampling.presence_penalty, usual.presence_penalty);
    add("frequency_penalty", sampling.frequency_penalty, usual.frequency_penalty);
    add("mirostat", sampling.mirostat, usual.mirostat);
    for (const auto& [id, bias] : sampling.logit_bias) out += fmt::format(" bias={}:{}", id, bias);
  }
  static void AddRest(const GenerationRequest& request, std::string& out) {
    const auto add = [&](const char* name, const auto& value) { out += fmt::format(" {}={}", name, value); };
    if (request.priority != 0) add("priority", request.priority);
    if (request.cache_salt != 0) out += " salted";
    if (request.session) add("session", request.session->id + "/" + std::to_string(request.session->ttl.count()));
    if (request.speculation) add("speculation", static_cast<int>(request.speculation->kind));
    if (request.speculation && request.speculation->max_tokens != 4) add("draft", request.speculation->max_tokens);
    if (request.ignore_eos) out += " ignore_eos";
    if (request.deadline) out += " deadline";
    if (request.prompt_logprobs) add("prompt_logprobs", *request.prompt_logprobs);
    if (request.next_tokens) add("output", request.next_tokens->output_tokens);
    if (request.next_tokens) add("top", request.next_tokens->top);
    if (request.reasoning && request.reasoning->budget) add("budget", *request.reasoning->budget);
  }

  const FakeScheduler& scheduler_;
  size_t told_ = 0;
};

// The template of a transcript that needs another one than most; null for those.
const char* TemplateOf(const std::string& transcript) {
  if (transcript == "fields/reasoning") {
    return "{% for m in messages %}{{ m.role }}: {% if m.reasoning_content %}<think>\n{{ m.reasoning_content "
           "}}\n</think>"
           "\n\n{% endif %}{{ m.content }}\n{% endfor %}{{ reasoning_effort }}{{ x }}>"
           "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}";
  }
  if (transcript.starts_with("fields/") && transcript.ends_with("_tools")) {
    return "{% for m in messages %}{{ m.role }}: {{ m.content }}{% for c in m.tool_calls or [] "
           "%}<tool_call>\n{\"name\": "
           "\"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}}\n</tool_call>{% endfor "
           "%}\n{% "
           "endfor %}{% for t in tools or [] %}<{{ t.function|tojson }}>{% endfor %}>";
  }
  return nullptr;
}

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
    if (const char* other = TemplateOf(GetParam()); other != nullptr) compiled = text::ChatTemplate::Compile(other);
    ASSERT_TRUE(compiled) << compiled.error().message;
    if (std::string(GetParam()) == "fields/scores") {
      model.info.context = 12;
      model.capabilities.scores = true;
      model.engine.pooling.labels = {"LABEL_0"};
      model.engine.pooling.score_function = model::ScoreFunction::kSigmoid;
    }
    model.reasoning = text::ReasoningDialectOf(*compiled, *model.tokenizer);
    model.chat_template = std::make_shared<const text::ChatTemplate>(std::move(*compiled));
  });
  const std::string played = Transcript(fake.server->port(), Heard(*fake.scheduler)).Play(right);
  if (const char* folder = std::getenv("INFERFLUX_WRITE_TRANSCRIPTS"); folder != nullptr) {
    std::ofstream(std::string(folder) + "/" + GetParam() + ".txt") << played;
    return;
  }
  EXPECT_EQ(played, right);
}

std::string NameOf(const ::testing::TestParamInfo<const char*>& info) {
  std::string out = info.param;
  std::ranges::replace(out, '/', '_');
  return out;
}

INSTANTIATE_TEST_SUITE_P(Server, TranscriptTest,
                         ::testing::Values("openai", "openai_tools", "responses", "conversations", "anthropic",
                                           "ollama", "llama_server", "files", "admin"),
                         NameOf);
// Each field of a request: its bounds, what the model is asked, and how it is refused.
INSTANTIATE_TEST_SUITE_P(Fields, TranscriptTest,
                         ::testing::Values("fields/anthropic", "fields/anthropic_messages", "fields/anthropic_settings",
                                           "fields/anthropic_tools", "fields/batches", "fields/chat",
                                           "fields/chat_grammars", "fields/chat_messages", "fields/chat_tools",
                                           "fields/completions", "fields/conversations", "fields/llama_server",
                                           "fields/next_tokens", "fields/ollama", "fields/ollama_embed",
                                           "fields/ollama_messages", "fields/reasoning", "fields/responses",
                                           "fields/responses_items", "fields/responses_text", "fields/responses_tools",
                                           "fields/scores"),
                         NameOf);

}  // namespace
}  // namespace inferflux::testing
