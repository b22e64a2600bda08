// What to generate, apart from the prompt. Independent of any API: each API parses its own fields into this struct.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/generation.h"
#include "serving/backends/capabilities.h"
#include "serving/generation/sampling_table.h"
#include "text/grammar/grammar_spec.h"

namespace inferflux::serving {

struct GenerationSpec {
  SamplingSpec sampling;
  int32_t max_tokens = 0;                    // 0: up to the context's limit
  std::vector<std::string> stop;             // generation ends before the first of these
  bool ignore_eos = false;                   // end-of-generation tokens are never sampled
  std::optional<text::GrammarSpec> grammar;  // constrains the text
  std::optional<int32_t> top_logprobs;       // if set: log probabilities with this many alternatives
  std::optional<int32_t> prompt_logprobs;    // if set: the same for the prompt's tokens
  std::optional<scheduler::Speculation> speculation;
  std::string prediction;              // what the answer is expected to be: draft tokens, where it matches
  std::string session_id;              // empty: no session
  std::optional<int64_t> session_ttl;  // seconds; with a session_id
  int32_t choices = 1;                 // answers to each prompt
  int32_t priority = 0;                // higher is served first
  float timeout = 0;                   // seconds until the request ends with an error; 0: no limit

  // The tenant, as the scheduler distinguishes tenants.
  std::string request_id;  // for logs
  std::string account;
  scheduler::AccountLimits account_limits;
  uint64_t cache_salt = 0;
};

// The features that a model needs for it. `endpoint`: chat or completions.
std::vector<Feature> Needs(Feature endpoint, const GenerationSpec& spec, bool stream);

}  // namespace inferflux::serving
