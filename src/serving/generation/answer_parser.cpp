#include "serving/generation/answer_parser.h"

#include <iterator>
#include <utility>

namespace inferflux::serving {
namespace {

void Append(text::ToolCallParser::Output found, AnswerParser::Output& out) {
  out.content += found.content;
  std::move(found.calls.begin(), found.calls.end(), std::back_inserter(out.calls));
}

}  // namespace

AnswerParser::AnswerParser(const ServedModel& model, bool inside, std::unique_ptr<text::ToolCallParser> calls)
    : calls_(std::move(calls)) {
  if (model.reasoning) reasoning_.emplace(*model.reasoning->reasoning.form, inside);
}

AnswerParser::Output AnswerParser::Take(const scheduler::StreamEvent& event) {
  Output out;
  if (!reasoning_) {
    TakeContent(event.text, out);
  } else {
    text::ReasoningParser::Output parts = reasoning_->Feed(event.text);
    if (event.finish) {
      text::ReasoningParser::Output rest = reasoning_->Finish();
      parts.reasoning += rest.reasoning;
      parts.content += rest.content;
    }
    out.reasoning = std::move(parts.reasoning);
    TakeContent(parts.content, out);
  }
  if (event.finish && calls_) Append(calls_->Finish(), out);
  return out;
}

void AnswerParser::TakeContent(const std::string& content, Output& out) {
  if (calls_) {
    Append(calls_->Feed(content), out);
  } else {
    out.content += content;
  }
}

}  // namespace inferflux::serving
