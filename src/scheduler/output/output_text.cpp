#include "scheduler/output/output_text.h"

#include <utility>

namespace inferflux::scheduler {

OutputText::OutputText(std::shared_ptr<const text::Tokenizer> tokenizer, const std::vector<std::string>& stops,
                       text::DetokenizerOptions options)
    : tokenizer_(std::move(tokenizer)), detokenizer_(tokenizer_, std::move(options)), stops_(stops) {}

void OutputText::Push(const engine::OutputResult& sampled) {
  Pending pending{.begin = produced_};
  const std::string text = detokenizer_.Push(sampled.token);
  produced_ += text.size();
  pending.end = produced_;
  pending.token = Describe(sampled);
  pending_.push_back(std::move(pending));
  Release(stops_.Push(text));
}

GeneratedToken OutputText::Describe(const engine::OutputResult& scored) const {
  GeneratedToken out{.chosen = Describe({.id = scored.token, .logprob = scored.chosen.logprob}), .top = {}};
  for (const auto& entry : scored.top) out.top.push_back(Describe(entry));
  return out;
}

void OutputText::Finish() {
  if (stopped()) return;
  const std::string rest = detokenizer_.Finish();
  produced_ += rest.size();
  std::string text = stops_.Push(rest);
  if (!stopped()) text += stops_.Finish();
  Release(std::move(text));
}

StreamEvent OutputText::Take() { return std::exchange(ready_, {}); }

void OutputText::Release(std::string text) {
  released_ += text.size();
  ready_.text += text;
  while (!pending_.empty()) {
    const Pending& next = pending_.front();
    // Nothing after a stop string counts; a token that contains both text and the stop string does.
    if (stopped() ? next.begin >= released_ && next.end > released_ : next.end > released_) break;
    ready_.tokens.push_back(std::move(pending_.front().token));
    pending_.pop_front();
  }
}

TokenLogprob OutputText::Describe(const engine::LogprobEntry& entry) const {
  return {.id = entry.id, .bytes = std::string(tokenizer_->Bytes(entry.id)), .logprob = entry.logprob};
}

}  // namespace inferflux::scheduler
