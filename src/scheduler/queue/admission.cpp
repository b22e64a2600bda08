#include "scheduler/queue/admission.h"

#include <algorithm>

#include "unicode/utf8.h"

namespace inferflux::scheduler {
namespace {

constexpr int32_t kMaxTopLogprobs = 20;

Status CheckId(TokenId id, const char* what, const engine::EngineInfo& engine) {
  if (id >= 0 && id < engine.vocab_size) return {};
  return Fail(ErrorCode::kInvalidArgument, "{} {}: this model's tokens are 0 to {}", what, id, engine.vocab_size - 1);
}

// An embedding or scores.
Result<int32_t> CheckPooled(const GenerationRequest& request, const engine::EngineInfo& engine) {
  if (request.score && !engine.capabilities.scores) {
    return Fail(ErrorCode::kUnsupported, "this model has no classification head, so it scores no texts");
  }
  if (request.embed && (engine.hidden == 0 || !engine.pooling.type || engine.pooling.scores())) {
    return Fail(ErrorCode::kUnsupported, "this model makes no embeddings as it runs here");
  }
  if (request.second_text < 0 || request.second_text > std::ssize(request.prompt)) {
    return Fail(ErrorCode::kInvalidArgument, "the second text begins at token {} of {}", request.second_text,
                request.prompt.size());
  }
  const int64_t room = std::min<int64_t>(engine.context, engine.kv_tokens);
  if (static_cast<int64_t>(request.prompt.size()) > room) {
    return Fail(ErrorCode::kInvalidArgument, "the text has {} tokens, and this model takes at most {}; shorten it",
                request.prompt.size(), room);
  }
  for (const TokenId id : request.prompt) {
    if (auto valid = CheckId(id, "prompt token", engine); !valid) return Forward(valid);
  }
  return 0;
}

}  // namespace

Result<int32_t> CheckRequest(const GenerationRequest& request, const engine::EngineInfo& engine) {
  if (request.prompt.empty()) return Fail(ErrorCode::kInvalidArgument, "the prompt has no tokens");
  if (request.embed || request.score) return CheckPooled(request, engine);
  if (engine.pooling.scores()) {
    return Fail(ErrorCode::kUnsupported, "this model is a classifier: it scores texts, and generates none");
  }
  if (!engine.causal) {
    return Fail(ErrorCode::kUnsupported, "this model is an encoder: it embeds texts, and generates none");
  }
  if ((request.grammar || request.grammar_source || request.reasoning) && !engine.capabilities.structured_output) {
    return Fail(ErrorCode::kUnsupported,
                "this model's engine cannot keep an output to a grammar or to a budget of reasoning");
  }
  // The last sampled token needs no KV.
  const int64_t room = std::min<int64_t>(engine.context, engine.kv_tokens + 1);
  const auto prompt = static_cast<int64_t>(request.prompt.size());
  if (prompt >= room) {
    return Fail(ErrorCode::kInvalidArgument,
                "the prompt has {} tokens, and at most {} tokens of prompt and output together fit; shorten it", prompt,
                room);
  }
  if (request.max_tokens < 0) {
    return Fail(ErrorCode::kInvalidArgument, "max_tokens is {}; it must not be negative", request.max_tokens);
  }
  if (request.max_tokens > room - prompt) {
    return Fail(
        ErrorCode::kInvalidArgument,
        "{} tokens of prompt and {} of output are {}, and at most {} fit; shorten the prompt or ask for at most "
        "{} tokens",
        prompt, request.max_tokens, prompt + request.max_tokens, room, room - prompt);
  }
  for (const TokenId id : request.prompt) {
    if (auto valid = CheckId(id, "prompt token", engine); !valid) return Forward(valid);
  }
  for (const auto& [id, bias] : request.sampling.logit_bias) {
    if (auto valid = CheckId(id, "logit_bias of token", engine); !valid) return Forward(valid);
  }
  for (const auto& stop : request.stop) {
    if (stop.empty() || !unicode::IsValidUtf8(stop)) {
      return Fail(ErrorCode::kInvalidArgument, "a stop string must be UTF-8 text and not empty");
    }
  }
  if (request.top_logprobs && (*request.top_logprobs < 0 || *request.top_logprobs > kMaxTopLogprobs)) {
    return Fail(ErrorCode::kInvalidArgument, "top_logprobs is {}; it must be 0 to {}", *request.top_logprobs,
                kMaxTopLogprobs);
  }
  if (request.prompt_logprobs && (*request.prompt_logprobs < 0 || *request.prompt_logprobs > kMaxTopLogprobs)) {
    return Fail(ErrorCode::kInvalidArgument, "prompt_logprobs is {}; it must be 0 to {}", *request.prompt_logprobs,
                kMaxTopLogprobs);
  }
  if (request.next_tokens) {
    const auto& [output, top] = *request.next_tokens;
    if (output < 0 || output > prompt) {
      return Fail(ErrorCode::kInvalidArgument, "next_tokens has {} tokens of output in a prompt of {}", output, prompt);
    }
    if (top < 1 || top > kMaxTopLogprobs) {
      return Fail(ErrorCode::kInvalidArgument, "next_tokens asks for {} tokens; it must be 1 to {}", top,
                  kMaxTopLogprobs);
    }
    if (request.session || request.prompt_logprobs) {
      return Fail(ErrorCode::kInvalidArgument, "next_tokens goes with neither a session nor prompt_logprobs");
    }
  }
  if (request.speculation &&
      (request.speculation->max_tokens < 0 || request.speculation->max_tokens > kMaxDraftTokens)) {
    return Fail(ErrorCode::kInvalidArgument, "{} draft tokens; it must be 0 to {}", request.speculation->max_tokens,
                kMaxDraftTokens);
  }
  return request.max_tokens > 0 ? request.max_tokens : static_cast<int32_t>(room - prompt);
}

}  // namespace inferflux::scheduler
