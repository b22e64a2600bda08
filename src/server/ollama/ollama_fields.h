// The fields that Ollama's chat and generate share.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/request/fields.h"
#include "serving/generation/chat.h"
#include "serving/generation/generation_spec.h"

namespace inferflux::server {

struct OllamaFields : serving::GenerationSpec {
  OllamaFields();  // with this API's defaults of sampling

  std::string model;
  bool stream = true;
  std::optional<double> keep_alive;  // seconds; negative: for ever
  bool logprobs = false;
  std::optional<int64_t> shown_logprobs;  // top_logprobs
  std::optional<int64_t> repeat_last_n;
  serving::Chat chat;
};

std::span<const Field<OllamaFields>> OllamaFieldTable();

// Parses a request's body. `own` are the endpoint's fields in addition to the shared ones.
template <class T>
ApiStatus ParseOllamaRequest(std::span<const Field<T>> own, const boost::json::object& body, T& out);

// Reads an object with the entries of `options`. `param` is its name in errors.
ApiStatus ReadOllamaOptions(const boost::json::value& value, std::string_view param, OllamaFields& out);

// The entries of `options`.
std::span<const Field<OllamaFields>> OllamaOptionTable();

// Checks constraints between fields, after all of them were read.
ApiStatus FinishOllamaFields(OllamaFields& out);

// Accepts a duration: seconds, or text such as "5m" and "1h30m". Negative: for ever.
ApiResult<double> ReadDuration(const boost::json::value& value, std::string_view param);

template <class T>
ApiStatus ParseOllamaRequest(std::span<const Field<T>> own, const boost::json::object& body, T& out) {
  for (const auto& [key, value] : body) {
    ApiResult<bool> taken = ParseField(own, key, key, value, out);
    if (taken && !*taken) taken = ParseField<OllamaFields>(OllamaFieldTable(), key, key, value, out);
    if (!taken) return Forward(taken);
    if (*taken) continue;
    std::vector<std::string_view> known;
    AppendNames(own, known);
    AppendNames(OllamaFieldTable(), known);
    return RefuseUnknown(key, known);
  }
  return FinishOllamaFields(out);
}

}  // namespace inferflux::server
