// The fields that chat and plain completions share, and what they become for the scheduler.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/generation.h"
#include "server/request/fields.h"
#include "server/request/grammar_fields.h"
#include "server/request/sampling_fields.h"

namespace inferflux::server {

inline constexpr int64_t kMaxChoices = 128;  // n, times the prompts of one request
inline constexpr size_t kMaxStops = 4;
inline constexpr size_t kMaxStopBytes = 1024;
inline constexpr int64_t kMaxSessionSeconds = 7 * 24 * 3600;
inline constexpr int64_t kMaxPriority = 1'000'000;
inline constexpr double kMinTimeout = 0.001, kMaxTimeout = 24 * 3600;  // seconds
inline constexpr int64_t kMaxTokensAsked = 1 << 24;

struct GenerationFields : SamplingFields, GrammarFields {
  std::string model;
  std::optional<int64_t> max_tokens;
  std::vector<std::string> stop;
  bool stream = false;
  bool include_usage = false;
  bool has_stream_options = false;
  std::optional<int64_t> n;
  std::string user;
  bool ignore_eos = false;
  std::optional<scheduler::Speculation> speculation;
  std::string session_id;
  std::optional<int64_t> session_ttl;  // seconds
  std::optional<int64_t> priority;     // lower is served earlier, as in vLLM; 0 unless set
  float timeout = 0;                   // seconds from the request's arrival to its end; 0: none

  int64_t choices() const { return n.value_or(1); }
};

std::span<const Field<GenerationFields>> GenerationFieldTable();

// Takes a request's body: `own` are the endpoint's fields beside the shared ones.
template <class T>
ApiStatus ParseRequest(std::span<const Field<T>> own, const boost::json::object& body, T& out) {
  for (const auto& [key, value] : body) {
    ApiResult<bool> taken = ParseField(own, key, key, value, out);
    if (taken && !*taken) taken = ParseField<GenerationFields>(GenerationFieldTable(), key, key, value, out);
    if (taken && !*taken) taken = ParseField<SamplingFields>(SamplingFieldTable(), key, key, value, out);
    if (!taken) return Forward(taken);
    if (!*taken) return RefuseUnknown(key);
  }
  return {};
}

// What holds between fields.
ApiStatus CheckTogether(const GenerationFields& fields);

// All but the prompt, for choice number `choice`; choices of one seed differ. `vocab_size` bounds logit_bias.
ApiResult<scheduler::GenerationRequest> ToGenerationRequest(const GenerationFields& fields, int64_t choice,
                                                            int32_t vocab_size);

}  // namespace inferflux::server
