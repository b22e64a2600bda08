// What a client asks of a model, and what comes back, as the scheduler sees it: tokens in, text and tokens out.
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

namespace inferflux::text {
class TokenGrammar;
}

namespace inferflux::scheduler {

// How to speculate. The model verifies draft tokens, so its answer does not depend on them.
struct Speculation {
  enum class Kind {
    kNone,
    kPromptLookup,  // what followed the last time that the text ended like this
    kDraft,         // what a smaller model of the same vocabulary would say
  };

  Kind kind = Kind::kNone;
  int32_t max_tokens = 4;  // draft tokens a step, where they pay
};
inline constexpr int32_t kMaxDraftTokens = 16;

// A conversation whose KV is kept between its requests.
struct SessionUse {
  std::string id;
  std::chrono::seconds ttl{3600};  // after its last request it is forgotten
};

struct GenerationRequest {
  std::vector<TokenId> prompt;  // not empty; special tokens already in place
  engine::SamplingParams sampling;
  int32_t max_tokens = 0;                             // 0: as many as the context has room for
  std::vector<std::string> stop;                      // generation ends before the first of these in the output text
  std::shared_ptr<const text::TokenGrammar> grammar;  // the output text matches it; null: any text
  bool embed = false;       // nothing is generated: the prompt's hidden states are pooled into one vector
  bool ignore_eos = false;  // end-of-generation tokens are neither obeyed nor sampled
  std::optional<int32_t>
      top_logprobs;  // set: each token carries its log probability and this many alternatives (0 to 20)
  std::optional<int32_t>
      prompt_logprobs;  // set: so are the prompt's tokens but the first, and with so many alternatives
  std::optional<Speculation> speculation;  // without it the model's own default
  bool continues_text = false;             // the output goes on with a raw prompt's text: its first space is kept
  std::vector<TokenId> shown_control;      // control tokens that the output text shows by their names

  // Whose request it is: accounts get equal shares of the tokens that are served. Empty: all such are one account.
  std::string account;
  uint64_t cache_salt = 0;                                        // requests of different salts never share KV
  std::optional<SessionUse> session;                              // ids of different salts are different sessions
  int32_t priority = 0;                                           // higher is served first
  std::optional<std::chrono::steady_clock::time_point> deadline;  // after it the request ends with an error
};

struct TokenLogprob {
  TokenId id = 0;
  std::string bytes;     // what the token stands for; may be part of a UTF-8 sequence
  float logprob = 0.0f;  // natural log of the model's own probability, before temperature and filters
};

struct GeneratedToken {
  TokenLogprob chosen;
  std::vector<TokenLogprob> top;  // likeliest first; empty unless asked for
};

enum class FinishReason { kStop, kLength, kCancelled, kError };

struct Usage {
  int32_t prompt_tokens = 0;
  int32_t completion_tokens = 0;  // every token that was sampled, the end-of-generation token included
  int32_t cached_tokens = 0;      // of the prompt, served from shared KV blocks
  int32_t drafted_tokens = 0;     // draft tokens, and the accepted ones of them
  int32_t accepted_tokens = 0;
};

struct Finish {
  FinishReason reason = FinishReason::kStop;
  Error error;  // with kError: what went wrong
  Usage usage;
  // With kStop, what ended it: one of the request's stop strings, or an end-of-generation token; neither where the
  // grammar leaves nothing to say.
  std::optional<std::string> stop_string = {};
  std::optional<TokenId> stop_token = {};
};

// One piece of a generation. `text` is always complete UTF-8; the text of a token that could begin a stop string is
// held back until that is decided, and a stop string itself is never part of any event.
struct StreamEvent {
  std::string text;
  // What was sampled since the last event, the end token and what stands behind a stop string left out; log
  // probabilities only where asked for.
  std::vector<GeneratedToken> tokens;
  std::vector<GeneratedToken> prompt;  // with prompt_logprobs: the prompt's tokens but the first, all at once
  std::vector<float> embedding;        // of a request to embed, on its last event
  std::optional<Finish> finish;        // on the last event, and only there
};

}  // namespace inferflux::scheduler
