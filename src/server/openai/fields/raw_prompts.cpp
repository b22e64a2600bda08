#include "server/openai/fields/raw_prompts.h"

#include <boost/json/array.hpp>
#include <limits>
#include <utility>

#include "server/request/fields.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

constexpr size_t kMaxPromptIds = 1 << 24;

ApiResult<RawPrompt> ReadIds(const json::array& list, std::string_view param) {
  if (list.size() > kMaxPromptIds) return Refuse(param, "must have at most {} token ids", kMaxPromptIds);
  std::vector<TokenId> out;
  out.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const auto id = ReadInteger(list[i], fmt::format("{}[{}]", param, i), 0, std::numeric_limits<TokenId>::max());
    if (!id) return Forward(id);
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

}  // namespace

ApiResult<std::vector<RawPrompt>> ReadRawPrompts(const json::value& value, std::string_view param, size_t max_prompts) {
  std::vector<RawPrompt> out;
  const auto add = [&](const json::value& entry, std::string_view name) -> ApiStatus {
    ApiResult<RawPrompt> prompt = ReadPrompt(entry, name);
    if (!prompt) return Forward(prompt);
    out.push_back(std::move(*prompt));
    return {};
  };
  const json::array* list = value.if_array();
  if (list == nullptr || (!list->empty() && list->front().is_number())) {
    if (ApiStatus added = add(value, param); !added) return Forward(added);
    return out;
  }
  if (list->empty()) return Refuse(param, "must not be an empty list");
  if (list->size() > max_prompts)
    return Refuse(param, "must have at most {} entries, but has {}", max_prompts, list->size());
  for (size_t i = 0; i < list->size(); ++i) {
    if (ApiStatus added = add((*list)[i], fmt::format("{}[{}]", param, i)); !added) return Forward(added);
  }
  return out;
}

}  // namespace inferflux::server
