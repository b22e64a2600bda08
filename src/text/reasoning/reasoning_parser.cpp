#include "text/reasoning/reasoning_parser.h"

#include "text/tool_calls/marker.h"

namespace inferflux::text {

ReasoningParser::ReasoningParser(const ReasoningForm& form, bool inside)
    : form_(&form), at_(inside ? At::kReasoning : At::kStart) {}

ReasoningParser::Output ReasoningParser::Feed(std::string_view text) {
  Output out;
  pending_ += text;
  while (Next(out)) {
  }
  return out;
}

ReasoningParser::Output ReasoningParser::Finish() {
  Output out;
  ended_ = true;
  while (Next(out)) {
  }
  return out;
}

ReasoningParser::Part ReasoningParser::part() const {
  if (at_ == At::kReasoning) return Part::kReasoning;
  return at_ == At::kAnswer ? Part::kAnswer : Part::kUndecided;
}

// False if it needs more text.
bool ReasoningParser::Next(Output& out) {
  switch (at_) {
    case At::kStart:
      return Start();
    case At::kReasoning:
      return Reasoning(out);
    case At::kTurn:
      return Turn(out);
    case At::kAnswer:
      out.content += pending_;
      pending_.clear();
      return false;
  }
  return false;
}

bool ReasoningParser::Start() {
  const MarkerMatch opens = MatchMarker(pending_, 0, form_->opens);
  MarkerMatch answer;
  if (!form_->answer_opens.empty()) answer = MatchMarker(pending_, 0, form_->answer_opens);
  if (opens.whole()) {
    pending_.erase(0, opens.end);
    at_ = At::kReasoning;
    return true;
  }
  if (!answer.whole() && (opens.partly() || answer.partly()) && !ended_) return false;
  if (answer.whole()) pending_.erase(0, answer.end);
  at_ = At::kAnswer;
  return true;
}

bool ReasoningParser::Reasoning(Output& out) {
  if (!begun_) pending_.erase(0, SkipSpace(pending_, 0));
  const MarkerMatch closes = FindMarker(pending_, 0, form_->closes);
  const size_t end = ended_ && !closes.whole() ? pending_.size() : closes.begin;
  const size_t text = TrimEnd(std::string_view(pending_).substr(0, end)).size();
  begun_ = begun_ || text > 0;
  out.reasoning.append(pending_, 0, text);
  if (!closes.whole()) {
    pending_.erase(0, ended_ ? pending_.size() : text);
    return false;
  }
  pending_.erase(0, closes.end);
  at_ = At::kTurn;
  return true;
}

// After the reasoning: space, and the markers before the answer.
bool ReasoningParser::Turn(Output& out) {
  pending_.erase(0, SkipSpace(pending_, 0));
  if (pending_.empty() && !ended_) return false;
  if (!form_->turn_opens.empty() || !form_->answer_opens.empty()) {
    const MarkerMatch turn = MatchMarker(pending_, 0, form_->turn_opens);
    if (turn.partly() && !ended_) return false;
    const size_t from = turn.whole() ? turn.end : 0;
    const MarkerMatch more = MatchMarker(pending_, from, form_->opens);
    const MarkerMatch answer = MatchMarker(pending_, from, form_->answer_opens);
    if (more.whole()) {  // reasoning in several parts
      pending_.erase(0, more.end);
      if (begun_) out.reasoning += "\n";
      begun_ = false;
      at_ = At::kReasoning;
      return true;
    }
    if (!answer.whole() && (more.partly() || answer.partly()) && !ended_) return false;
    pending_.erase(0, answer.whole() ? answer.end : from);
  }
  at_ = At::kAnswer;
  return true;
}

}  // namespace inferflux::text
