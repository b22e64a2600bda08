#include "server/ollama/ollama_requests.h"

#include <boost/json/array.hpp>
#include <limits>
#include <utility>

#include "server/ollama/ollama_error.h"
#include "server/ollama/ollama_messages.h"
#include "serving/generation/tool_use.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

using GenerateFields = OllamaGenerateRequest;
constexpr size_t kAnyPrompt = std::numeric_limits<size_t>::max();  // only the body's size limit applies

ApiStatus TakeOllamaMessages(const json::value& value, std::string_view param, OllamaChatRequest& out) {
  return ReadOllamaMessages(value, param).map([&](json::array list) { out.chat.messages = std::move(list); });
}

ApiStatus TakeOllamaTools(const json::value& value, std::string_view param, OllamaChatRequest& out) {
  return ReadOllamaTools(value, param, out.chat);
}

constexpr Field<OllamaChatRequest> kOllamaChatFields[] = {
    {"messages", CustomField<OllamaChatRequest>{TakeOllamaMessages}},
    {"tools", CustomField<OllamaChatRequest>{TakeOllamaTools}},
};

constexpr Field<GenerateFields> kOllamaGenerateFields[] = {
    {"prompt", TextField<GenerateFields>{&GenerateFields::prompt, kAnyPrompt}},
    {"suffix", TextField<GenerateFields>{&GenerateFields::suffix, kAnyPrompt}},
    {"system", TextField<GenerateFields>{&GenerateFields::system, kAnyPrompt}},
    {"raw", BooleanField<GenerateFields>{&GenerateFields::raw}},
    {"template", NoOpField{"\"\""}},
    {"context", NoOpField{"[]"}},
    {"images", NoOpField{"[]"}},
};

}  // namespace

ApiResult<OllamaChatRequest> ParseOllamaChat(const json::object& body) {
  OllamaChatRequest out;
  if (ApiStatus taken = ParseOllamaRequest<OllamaChatRequest>(kOllamaChatFields, body, out); !taken) {
    return Forward(taken);
  }
  if (auto resolved = serving::ResolveTools(out.chat, out); !resolved) {
    return tl::make_unexpected(FromOllamaGeneration(std::move(resolved.error()), "messages"));
  }
  return out;
}

ApiResult<OllamaGenerateRequest> ParseOllamaGenerate(const json::object& body) {
  GenerateFields out;
  if (ApiStatus taken = ParseOllamaRequest<GenerateFields>(kOllamaGenerateFields, body, out); !taken)
    return Forward(taken);
  if (out.raw && !out.system.empty()) return Refuse("system", "needs a template, and 'raw' uses none");
  if (!out.suffix.empty() && !out.system.empty()) return Refuse("system", "does not go with 'suffix'");
  if (!out.system.empty()) out.chat.messages.push_back({{"role", "system"}, {"content", out.system}});
  if (!out.prompt.empty()) out.chat.messages.push_back({{"role", "user"}, {"content", out.prompt}});
  return out;
}

std::vector<FieldRow> OllamaChatFieldRows() {
  std::vector<FieldRow> out;
  AppendRows<OllamaChatRequest>(kOllamaChatFields, out);
  return out;
}

std::vector<FieldRow> OllamaGenerateFieldRows() {
  std::vector<FieldRow> out;
  AppendRows<OllamaGenerateRequest>(kOllamaGenerateFields, out);
  return out;
}

}  // namespace inferflux::server
