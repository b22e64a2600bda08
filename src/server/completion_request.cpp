#include "server/completion_request.h"

#include <boost/json/array.hpp>
#include <limits>
#include <utility>

namespace inferflux::server {
namespace json = boost::json;
namespace {

constexpr int64_t kDefaultMaxTokens = 16;
constexpr size_t kMaxPromptIds = 1 << 24;

ApiResult<RawPrompt> ReadIds(const json::array& list, std::string_view param) {
  if (list.size() > kMaxPromptIds) return Refuse(param, "must have at most {} token ids", kMaxPromptIds);
  std::vector<TokenId> out;
  out.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const auto id = ReadInteger(list[i], fmt::format("{}[{}]", param, i), 0, std::numeric_limits<TokenId>::max());
    if (!id) return tl::make_unexpected(id.error());
    out.push_back(static_cast<TokenId>(*id));
  }
  return RawPrompt(std::move(out));
}

ApiResult<RawPrompt> ReadPrompt(const json::value& value, std::string_view param) {
  if (value.is_array()) return ReadIds(value.get_array(), param);
  return ReadText(value, param, std::numeric_limits<size_t>::max()).map([](std::string text) {
    return RawPrompt(std::move(text));
  });
}

ApiStatus AddPrompt(const json::value& value, std::string_view param, CompletionRequest& out) {
  ApiResult<RawPrompt> prompt = ReadPrompt(value, param);
  if (!prompt) return Forward(prompt);
  out.prompts.push_back(std::move(*prompt));
  return {};
}

// A string, a list of strings, a list of token ids, or a list of such lists.
ApiStatus TakePrompt(const json::value& value, std::string_view param, CompletionRequest& out) {
  const json::array* list = value.if_array();
  const bool one = list == nullptr || (!list->empty() && list->front().is_number());
  if (one) return AddPrompt(value, param, out);
  if (list->empty()) return Refuse(param, "must not be an empty list");
  if (list->size() > static_cast<size_t>(kMaxChoices))
    return Refuse(param, "must have at most {} prompts", kMaxChoices);
  for (size_t i = 0; i < list->size(); ++i) {
    if (ApiStatus added = AddPrompt((*list)[i], fmt::format("{}[{}]", param, i), out); !added) return added;
  }
  return {};
}

using R = CompletionRequest;
constexpr Field<R> kTable[] = {
    {"prompt", CustomField<R>{TakePrompt}}, {"logprobs", IntegerField<R>{&R::logprobs, 0, 5}},
    {"echo", NeutralField{"false"}},        {"best_of", NeutralField{"1"}},
    {"suffix", NeutralField{"\"\""}},
};

}  // namespace

ApiResult<CompletionRequest> ParseCompletionRequest(const json::object& body) {
  CompletionRequest out;
  if (ApiStatus taken = TakeRequest<CompletionRequest>(kTable, body, out); !taken) return Forward(taken);
  if (ApiStatus checked = CheckTogether(out); !checked) return Forward(checked);
  if (out.prompts.empty()) return RefuseAs("missing_required_parameter", "prompt", "'prompt' is missing");
  if (static_cast<int64_t>(out.prompts.size()) * out.choices() > kMaxChoices) {
    return Refuse("n", "times the number of prompts must be at most {}", kMaxChoices);
  }
  if (!out.max_tokens) out.max_tokens = kDefaultMaxTokens;
  return out;
}

}  // namespace inferflux::server
