// What a caller wants generated, beside the prompt. No API's shape: each API parses its own fields into this.
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
  int32_t max_tokens = 0;                    // 0: as many as the context has room for
  std::vector<std::string> stop;             // generation ends before the first of these
  bool ignore_eos = false;                   // end-of-generation tokens are never sampled
  std::optional<text::GrammarSpec> grammar;  // the text matches it
  std::optional<int32_t> top_logprobs;       // set: log probabilities, with so many alternatives
  std::optional<int32_t> prompt_logprobs;    // set: so for the prompt's tokens
  std::optional<scheduler::Speculation> speculation;
  std::string session_id;              // empty: no session
  std::optional<int64_t> session_ttl;  // seconds; with a session_id
  int32_t choices = 1;                 // answers to each prompt
  int32_t priority = 0;                // the higher one is served first
  float timeout = 0;                   // seconds until it ends with an error; 0: none

  // Whose it is, as the scheduler tells tenants apart.
  std::string account;
  uint64_t cache_salt = 0;
};

// What a model must be able to do for it. `endpoint`: chat or completions.
std::vector<Feature> Needs(Feature endpoint, const GenerationSpec& spec, bool stream);

}  // namespace inferflux::serving
