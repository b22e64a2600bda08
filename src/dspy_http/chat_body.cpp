#include "dspy_http/chat_body.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace inferflux::dspy {
namespace {

namespace json = boost::json;

constexpr size_t kMaxQuoted = 300;  // bytes of an answer in an error

template <class T>
void Set(json::object& out, const char* name, const std::optional<T>& value) {
  if (value) out[name] = *value;
}

json::array Tools(const std::vector<ToolSpec>& tools) {
  json::array out;
  for (const ToolSpec& tool : tools) {
    out.push_back(
        {{"type", "function"},
         {"function", {{"name", tool.name}, {"description", tool.description}, {"parameters", tool.parameters}}}});
  }
  return out;
}

void AddConstraint(const Constraint& constraint, json::object& out) {
  using Kind = Constraint::Kind;
  if (constraint.kind != Kind::kJsonSchema) {
    out["structured_outputs"] = {{constraint.kind == Kind::kRegex ? "regex" : "grammar", constraint.source}};
    return;
  }
  boost::system::error_code failed;
  json::value schema = json::parse(constraint.source, failed);
  if (failed) schema = json::object();  // programs write it; a server names what is wrong with it
  out["response_format"] = {{"type", "json_schema"},
                            {"json_schema", {{"name", "answer"}, {"schema", std::move(schema)}, {"strict", true}}}};
}

const json::value* Find(const json::value* value, const char* name) {
  return value != nullptr && value->is_object() ? value->get_object().if_contains(name) : nullptr;
}

std::string TextAt(const json::value* value, const char* name) {
  const json::value* found = Find(value, name);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

uint64_t CountAt(const json::value* value, const char* name) {
  const json::value* found = Find(value, name);
  return found != nullptr && found->is_int64() && found->get_int64() > 0 ? static_cast<uint64_t>(found->get_int64())
                                                                         : 0;
}

// The first choice; null if there is none.
const json::value* FirstChoice(const json::value& answer) {
  const json::value* choices = Find(&answer, "choices");
  return choices != nullptr && choices->is_array() && !choices->get_array().empty() ? &choices->get_array().front()
                                                                                    : nullptr;
}

void ReadUsage(const json::value& answer, LmResponse& out) {
  const json::value* usage = Find(&answer, "usage");
  if (usage == nullptr || !usage->is_object()) return;
  out.usage = {.prompt = CountAt(usage, "prompt_tokens"),
               .cached = CountAt(Find(usage, "prompt_tokens_details"), "cached_tokens"),
               .completion = CountAt(usage, "completion_tokens")};
}

void ReadFinish(const json::value* choice, LmResponse& out) {
  const std::string reason = TextAt(choice, "finish_reason");
  if (reason == "length") out.finish = FinishReason::kLength;
  if (reason == "tool_calls") out.finish = FinishReason::kToolCalls;
}

tl::unexpected<Error> Malformed(std::string_view body) {
  return Fail(ErrorCode::kInferenceFailed, "the server's answer is none of OpenAI's API: {}",
              body.substr(0, kMaxQuoted));
}

Status ReadCalls(const json::value* message, LmResponse& out) {
  const json::value* calls = Find(message, "tool_calls");
  if (calls == nullptr || !calls->is_array()) return {};
  for (const json::value& call : calls->get_array()) {
    const json::value* function = Find(&call, "function");
    const std::string name = TextAt(function, "name"), text = TextAt(function, "arguments");
    boost::system::error_code failed;
    const json::value arguments = json::parse(text, failed);
    if (failed && out.finish == FinishReason::kLength) continue;  // the call was cut
    if (failed || !arguments.is_object()) {
      return Fail(ErrorCode::kParseFailed, "the model called the tool '{}' with arguments that are no JSON object: {}",
                  name, text.substr(0, kMaxQuoted));
    }
    out.tool_calls.push_back({.name = name, .arguments = arguments.get_object()});
  }
  return {};
}

}  // namespace

json::object RequestBody(const LmRequest& request, const HttpConfig& config, bool stream) {
  json::object out;
  if (!config.model.empty()) out["model"] = config.model;
  if (request.messages.empty()) {
    out["prompt"] = request.prompt;
  } else {
    json::array& messages = out["messages"].emplace_array();
    for (const Message& message : request.messages)
      messages.push_back({{"role", message.role}, {"content", message.content}});
  }
  if (!request.tools.empty()) out["tools"] = Tools(request.tools);
  const Sampling& sampling = request.sampling;
  Set(out, "max_tokens", sampling.max_tokens);
  Set(out, "temperature", sampling.temperature);
  Set(out, "top_p", sampling.top_p);
  Set(out, "top_k", sampling.top_k);
  Set(out, "min_p", sampling.min_p);
  Set(out, "repetition_penalty", sampling.repeat_penalty);
  Set(out, "seed", sampling.seed);
  if (!sampling.stop.empty()) out["stop"] = json::array(sampling.stop.begin(), sampling.stop.end());
  if (request.constraint) AddConstraint(*request.constraint, out);
  if (stream) {
    out["stream"] = true;
    out["stream_options"] = {{"include_usage", true}};
  }
  return out;
}

Result<LmResponse> ReadAnswer(std::string_view body) {
  boost::system::error_code failed;
  const json::value answer = json::parse(body, failed);
  const json::value* choice = failed ? nullptr : FirstChoice(answer);
  if (choice == nullptr) return Malformed(body);
  const json::value* message = Find(choice, "message");
  LmResponse out;
  out.text = message != nullptr ? TextAt(message, "content") : TextAt(choice, "text");
  ReadFinish(choice, out);
  ReadUsage(answer, out);
  if (auto calls = ReadCalls(message, out); !calls) return Forward(calls);
  return out;
}

Result<std::string> AddEvent(std::string_view data, LmResponse& out) {
  boost::system::error_code failed;
  const json::value event = json::parse(data, failed);
  if (failed || !event.is_object()) return Malformed(data);
  if (const json::value* error = Find(&event, "error")) {
    return Fail(ErrorCode::kInferenceFailed, "the server ended its answer with an error: {}", TextAt(error, "message"));
  }
  ReadUsage(event, out);
  const json::value* choice = FirstChoice(event);  // the event with the usage has none
  ReadFinish(choice, out);
  const json::value* delta = Find(choice, "delta");
  std::string text = delta != nullptr ? TextAt(delta, "content") : TextAt(choice, "text");
  out.text += text;
  return text;
}

Error ReadRefusal(int status, std::string_view body) {
  boost::system::error_code failed;
  const json::value answer = json::parse(body, failed);
  const json::value* error = failed ? nullptr : Find(&answer, "error");
  const std::string code = TextAt(error, "code"), said = TextAt(error, "message");
  Error out{.message = fmt::format("the server answered {}: {}", status,
                                   said.empty() ? std::string(body.substr(0, kMaxQuoted)) : said),
            .field = TextAt(error, "param")};
  if (status == 404) {
    out.code = code == "model_not_found" ? ErrorCode::kModelNotFound : ErrorCode::kInvalidConfig;
  } else if (code == "context_length_exceeded") {
    out.code = ErrorCode::kContextTooLong;
  } else if (status == 408 || status == 504) {
    out.code = ErrorCode::kTimeout;
  } else if (status == 429 || status == 502 || status == 503) {
    out.code = ErrorCode::kBackendError;
  } else {
    out.code = status >= 500 ? ErrorCode::kInferenceFailed : ErrorCode::kInvalidConfig;
  }
  if (status == 401 || status == 403) out.field = "api_key";
  return out;
}

}  // namespace inferflux::dspy
