// The fields that chat and plain completions share.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/request/fields.h"
#include "server/request/sampling_fields.h"
#include "serving/generation/generation_error.h"
#include "serving/generation/generation_spec.h"

namespace inferflux::server {

inline constexpr int32_t kMaxChoices = 128;  // n, times the prompts of one request
inline constexpr size_t kMaxStops = 64;
inline constexpr size_t kMaxStopBytes = 1024;
inline constexpr int64_t kMaxSessionSeconds = 7 * 24 * 3600;
inline constexpr int64_t kMaxPriority = 1'000'000;
inline constexpr double kMinTimeout = 0.001, kMaxTimeout = 24 * 3600;  // seconds
inline constexpr int32_t kMaxTokensAsked = 1 << 24;

struct GenerationFields : serving::GenerationSpec {
  std::string model;
  bool stream = false;
  bool include_usage = false;
  bool continuous_usage = false;  // usage in every chunk
  bool has_stream_options = false;
  std::string user;
  std::string grammar_param;     // the field that set `grammar`; empty: none
  std::string reasoning_param;   // the field that needs the model to reason
  std::string prompt_cache_key;  // requests with different keys share no cached prompts
};

std::span<const Field<GenerationFields>> GenerationFieldTable();

// Parses a request's body. `own` are the endpoint's fields in addition to the shared ones.
template <class T>
ApiStatus ParseRequest(std::span<const Field<T>> own, const boost::json::object& body, T& out) {
  for (const auto& [key, value] : body) {
    ApiResult<bool> taken = ParseField(own, key, key, value, out);
    if (taken && !*taken) taken = ParseField<GenerationFields>(GenerationFieldTable(), key, key, value, out);
    if (taken && !*taken) taken = ParseSamplingField(key, value, out.sampling);
    if (!taken) return Forward(taken);
    if (*taken) continue;
    std::vector<std::string_view> known;
    AppendNames(own, known);
    AppendNames(GenerationFieldTable(), known);
    AppendSamplingNames(known);
    return RefuseUnknown(key, known);
  }
  return {};
}

// Reads max_tokens: -1 and what is larger than any context mean the rest of the context.
ApiResult<int32_t> ReadMaxTokens(const boost::json::value& value, std::string_view param);

// Checks constraints between fields.
ApiStatus CheckTogether(const GenerationFields& fields);

// This API's name of the error's field. `prompt`: its name of the prompt.
ApiError FromGeneration(serving::GenerationError error, const GenerationFields& fields, std::string_view prompt);

}  // namespace inferflux::server
