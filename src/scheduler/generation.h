// What a client requests from a model, and what it gets, as the scheduler sees it: tokens in, text and tokens out.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"
#include "engine/sampling/sampling_params.h"
#include "scheduler/queue/token_bucket.h"
#include "scheduler/timeline/timeline.h"

namespace inferflux::text {
class TokenGrammar;
struct GrammarSpec;
struct ReasoningLimits;
}  // namespace inferflux::text

namespace inferflux::scheduler {

// How to speculate. The model verifies draft tokens, so its answer does not depend on them.
struct Speculation {
  enum class Kind {
    kNone,
    kPromptLookup,  // what followed the last occurrence of the text's end
    kDraft,         // the output of a smaller model with the same vocabulary
  };

  Kind kind = Kind::kNone;
  int32_t max_tokens = 4;  // draft tokens in a step, while speculation saves time
};
inline constexpr int32_t kMaxDraftTokens = 16;

// A conversation whose KV is kept between its requests.
struct SessionUse {
  std::string id;
  std::chrono::seconds ttl{3600};  // dropped this long after its last request
  bool once = false;  // it comes from the store that machines share, is used by this request only, and then dropped
};

// Asks for the tokens that may come next in place of a generation.
struct NextTokensQuery {
  int32_t output_tokens = 0;  // this many tokens at the prompt's end are output already, which the grammar constrains
  int32_t top = 20;           // the likeliest of them to describe, 1 to 20
};

// What the account of a request may have of a model. They travel with the request, so that accounts differ.
struct AccountLimits {
  int32_t running = 0;                    // sequences at once; further ones wait. 0: no limit
  int32_t queued = 0;                     // requests that wait; further ones are refused. 0: no limit
  std::shared_ptr<TokenBucket> tokens{};  // is charged with what is computed; null: not counted
};

struct GenerationRequest {
  std::vector<TokenId> prompt;  // not empty; special tokens already in place
  engine::SamplingParams sampling;
  int32_t max_tokens = 0;                             // 0: as many as the context allows
  std::vector<std::string> stop;                      // generation ends before the first of these in the output text
  std::shared_ptr<const text::TokenGrammar> grammar;  // the output text matches it; null: any text
  // What `grammar` was compiled from. A scheduler whose engine is in another process sends this, and needs no
  // `grammar`.
  std::shared_ptr<const text::GrammarSpec> grammar_source;
  // With a grammar or a budget: the reasoning before the answer, which the grammar does not constrain. Null: none.
  std::shared_ptr<const text::ReasoningLimits> reasoning;
  bool embed = false;       // generates nothing: pools the prompt's hidden states into one vector
  bool score = false;       // the same for the scores that a classification head makes
  int32_t second_text = 0;  // with embed or score: where the second text of a pair begins; 0: one text
  std::optional<NextTokensQuery> next_tokens;  // generates nothing: scores what may come next
  bool ignore_eos = false;                     // end-of-generation tokens neither end the generation nor are sampled
  std::optional<int32_t>
      top_logprobs;  // if set, each token carries its log probability and this many alternatives (0 to 20)
  std::optional<int32_t>
      prompt_logprobs;  // if set, so do the prompt's tokens except the first, with this many alternatives
  std::optional<Speculation> speculation;  // if unset, the model's default
  std::vector<TokenId> prediction;         // what the output is expected to be: draft tokens, where it matches
  bool continues_text = false;             // the output continues a raw prompt: keeps its first space
  std::vector<TokenId> shown_control;      // control tokens that appear in the output text by their names

  std::string request_id;    // of the client's request, for logs; may be empty, and may name several generations
  std::string trace_parent;  // the traceparent of the client's request (W3C), for what works for it; may be empty
  // The account of the request: accounts get equal shares of the served tokens. Requests with an empty account share
  // one.
  std::string account;
  AccountLimits account_limits;
  uint64_t cache_salt = 0;                                        // requests with different salts never share KV
  std::optional<SessionUse> session;                              // ids of different salts are different sessions
  int32_t priority = 0;                                           // higher is served first
  std::optional<std::chrono::steady_clock::time_point> deadline;  // after this time the request ends with an error
};

struct TokenLogprob {
  TokenId id = 0;
  std::string bytes;     // the token's bytes; may be part of a UTF-8 sequence
  float logprob = 0.0f;  // natural log of the model's own probability, before temperature and filters
};

struct GeneratedToken {
  TokenLogprob chosen;
  std::vector<TokenLogprob> top;  // likeliest first; empty unless requested
};

// What may come next. All probabilities are the model's own, before any constraint, temperature or filter.
struct NextTokens {
  int32_t vocabulary = 0;                   // tokens of the model
  int32_t allowed = 0;                      // those that the constraint allows, end-of-generation tokens included
  bool may_end = false;                     // it allows one of those
  double allowed_probability = 0;           // of all allowed tokens together
  std::vector<TokenLogprob> top;            // the likeliest allowed ones, likeliest first
  std::vector<TokenLogprob> unconstrained;  // the likeliest of all
};

enum class FinishReason { kStop, kLength, kCancelled, kError };

struct Usage {
  int32_t prompt_tokens = 0;
  int32_t completion_tokens = 0;  // all sampled tokens, including the end-of-generation token
  int32_t cached_tokens = 0;      // tokens of the prompt served from shared KV blocks
  int32_t drafted_tokens = 0;     // draft tokens, and the accepted ones of them
  int32_t accepted_tokens = 0;
};

struct Finish {
  FinishReason reason = FinishReason::kStop;
  Error error;  // with kError: what went wrong
  Usage usage;
  // With kStop, what ended it: one of the request's stop strings, or an end-of-generation token; neither if the grammar
  // allows no further text.
  std::optional<std::string> stop_string = {};
  std::optional<TokenId> stop_token = {};
  std::vector<TimelinePhase> phases = {};  // what happened to the request
};

// One piece of a generation. `text` is always complete UTF-8. Text that may begin a stop string is held back until that
// is decided, and a stop string is never part of an event.
struct StreamEvent {
  std::string text;
  // The tokens sampled since the last event, without the end token and without what follows a stop string. Log
  // probabilities only if requested.
  std::vector<GeneratedToken> tokens;
  std::vector<GeneratedToken> prompt;  // with prompt_logprobs: the prompt's tokens except the first, in one event
  std::vector<float> embedding;        // of an embedding request, or the scores of a score request; on its last event
  std::optional<NextTokens> next_tokens;  // of a request for them, on its last event
  std::optional<Finish> finish;           // on the last event only
};

}  // namespace inferflux::scheduler
