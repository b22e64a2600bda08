#include "server/reply/reply_totals.h"

namespace inferflux::server {
using scheduler::FinishReason;

void ReplyTotals::Count(size_t index, const scheduler::Finish& finish) {
  if (trace_) trace_->AddGeneration(finish);
  if (index % per_prompt_ == 0) {
    usage_.prompt_tokens += finish.usage.prompt_tokens;
    usage_.cached_tokens += finish.usage.cached_tokens;
  }
  usage_.completion_tokens += finish.usage.completion_tokens;
  usage_.drafted_tokens += finish.usage.drafted_tokens;
  usage_.accepted_tokens += finish.usage.accepted_tokens;
  if (finish.reason == FinishReason::kError && !error_) error_ = FromError(finish.error, "");
  if (finish.reason == FinishReason::kCancelled && !error_) error_ = FromStatus(503, "the generation was cancelled");
  if (finish.reason == FinishReason::kLength) outcome_ = "length";
}

}  // namespace inferflux::server
