#include "server/openai/completion_request.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace inferflux::server {
namespace json = boost::json;
namespace {

constexpr int32_t kDefaultMaxTokens = 16;

ApiStatus TakePrompt(const json::value& value, std::string_view param, CompletionRequest& out) {
  auto prompts = ReadRawPrompts(value, param, static_cast<size_t>(kMaxChoices));
  if (!prompts) return Forward(prompts);
  out.prompts = std::move(*prompts);
  return {};
}

constexpr Field<CompletionRequest> kCompletionFields[] = {
    {"prompt", CustomField<CompletionRequest>{TakePrompt}},
    {"logprobs", IntegerField<CompletionRequest>{&CompletionRequest::logprobs, 0, 5}},
    {"echo", BooleanField<CompletionRequest>{&CompletionRequest::echo}},
    {"prompt_logprobs", IntegerField<CompletionRequest>{&CompletionRequest::shown_prompt_logprobs, 0, 20}},
    {"best_of", IntegerField<CompletionRequest>{&CompletionRequest::best_of, 1, kMaxChoices}},
    {"suffix", TextField<CompletionRequest>{&CompletionRequest::suffix, std::numeric_limits<size_t>::max()}},
};

}  // namespace

ApiResult<CompletionRequest> ParseCompletionRequest(const json::object& body) {
  CompletionRequest out;
  if (ApiStatus taken = ParseRequest<CompletionRequest>(kCompletionFields, body, out); !taken) return Forward(taken);
  if (ApiStatus checked = CheckTogether(out); !checked) return Forward(checked);
  if (out.prompts.empty()) return RefuseAs("missing_required_parameter", "prompt", "'prompt' is missing");
  out.kept_choices = out.choices;
  if (out.best_of) {
    if (*out.best_of < out.choices) return Refuse("best_of", "must be at least 'n', which is {}", out.choices);
    if (out.stream && *out.best_of > out.choices) return Refuse("best_of", "cannot choose in a stream; leave it out");
    out.choices = static_cast<int32_t>(*out.best_of);
  }
  if (static_cast<int64_t>(out.prompts.size()) * out.choices > kMaxChoices) {
    return Refuse(out.best_of ? "best_of" : "n", "times the number of prompts must be at most {}", kMaxChoices);
  }
  if (!out.suffix.empty() && out.echo) return Refuse("suffix", "does not go with 'echo'");
  if (out.prompts.size() > 1 && !out.session_id.empty()) return Refuse("session_id", "goes with one prompt");
  if (out.max_tokens == 0) out.max_tokens = kDefaultMaxTokens;
  if (out.kept_choices < out.choices) out.top_logprobs = 0;  // to compare the answers
  if (out.logprobs) out.top_logprobs = static_cast<int32_t>(*out.logprobs);
  // An absent value compares less than any number.
  const auto prompt_logprobs = std::max(out.shown_prompt_logprobs, out.echo ? out.logprobs : std::nullopt);
  if (prompt_logprobs) out.prompt_logprobs = static_cast<int32_t>(*prompt_logprobs);
  return out;
}

std::vector<FieldRow> CompletionFieldRows() {
  std::vector<FieldRow> out;
  AppendRows<CompletionRequest>(kCompletionFields, out);
  return out;
}

}  // namespace inferflux::server
