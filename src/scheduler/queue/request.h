// A request from its arrival to its last event, as the scheduler keeps it. A preemption loses only the KV; text, stop
// state, usage and the number of the next draw survive.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/sequence.h"
#include "scheduler/generation.h"
#include "scheduler/output/output_text.h"
#include "scheduler/output/pooler.h"
#include "scheduler/output/token_stream.h"
#include "scheduler/speculation/draft_control.h"
#include "text/reasoning/output_matcher.h"

namespace inferflux::scheduler {

using TimePoint = std::chrono::steady_clock::time_point;

struct Request {
  uint64_t number = 0;  // in order of arrival
  GenerationRequest spec;
  std::shared_ptr<TokenStream> stream;
  OutputText output;
  std::optional<text::OutputMatcher> matcher = {};  // the output's position in its constraints, if it has any
  int32_t max_tokens = 0;                           // the limit from the request, the context and the KV cache
  TimePoint submitted;
  std::optional<TimePoint> last_token;
  Timeline timeline;

  std::vector<TokenId> tokens;        // the prompt, and what was sampled
  std::optional<TokenId> stop_token;  // the end-of-generation token, once it was sampled
  int32_t generated = 0;              // sampled tokens, the end token included
  int32_t cached_tokens = 0;          // of the prompt, when it was first admitted
  bool was_admitted = false;
  int32_t prompt_scored = 0;  // tokens of the prompt whose log probabilities are known, except the first
  std::vector<GeneratedToken> prompt_logprobs;  // those, until they are sent
  int32_t drafted = 0;
  int32_t accepted = 0;
  std::optional<float> mirostat_mu;  // the sampler's state, if it has one
  DraftControl drafts;
  std::optional<Pooler> pooler;  // for an embedding or a score request
  std::vector<float> embedding;
  std::optional<NextTokens> next_tokens;

  // For a session that goes on, the KV is kept when the request ends.
  bool keeps_kv() const { return spec.session && !spec.session->once && sequence; }

  // While it holds KV: the KV of its first `length` tokens is there.
  std::optional<engine::SequenceId> sequence;
  int32_t length = 0;
  // Of its tokens, the first so many count as served to its account or were cached. What a preemption makes it compute
  // again is no service.
  int32_t charged = 0;

  int32_t prompt_tokens() const { return static_cast<int32_t>(spec.prompt.size()); }
  int32_t total() const { return static_cast<int32_t>(tokens.size()); }
  double SecondsUntil(TimePoint time) const { return std::chrono::duration<double>(time - submitted).count(); }
  // Tokens to feed until the next one can be sampled: 1 while decoding.
  int32_t remaining() const { return total() - length; }
  bool decoding() const { return remaining() == 1 && generated > 0; }
  Usage usage() const {
    return {.prompt_tokens = prompt_tokens(),
            .completion_tokens = generated,
            .cached_tokens = cached_tokens,
            .drafted_tokens = drafted,
            .accepted_tokens = accepted};
  }
  // Log probabilities of its prompt are still needed: it cannot start from cached KV.
  bool wants_prompt_logprobs() const { return spec.prompt_logprobs && prompt_scored < prompt_tokens() - 1; }
};

using RequestPtr = std::unique_ptr<Request>;

// The order in which requests are served: higher priority, then earlier arrival.
inline bool Outranks(const Request& a, const Request& b) {
  if (a.spec.priority != b.spec.priority) return a.spec.priority > b.spec.priority;
  return a.number < b.number;
}

}  // namespace inferflux::scheduler
