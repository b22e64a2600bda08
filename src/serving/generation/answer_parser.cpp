#include "serving/generation/answer_parser.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace inferflux::serving {
namespace {

void Append(text::ToolCallParser::Output found, AnswerParser::Output& out) {
  out.content += found.content;
  std::move(found.pieces.begin(), found.pieces.end(), std::back_inserter(out.pieces));
  std::move(found.calls.begin(), found.calls.end(), std::back_inserter(out.calls));
}

// Whether the model would have gone on.
bool IsCut(const scheduler::Finish& finish) {
  return finish.reason == scheduler::FinishReason::kLength || finish.stop_string.has_value();
}

}  // namespace

std::span<const text::ToolCallPiece> AnswerParser::Output::PiecesOfOpenCall() const {
  const auto first = std::ranges::find_if(pieces, [](const auto& piece) { return !piece.name.empty(); });
  return {pieces.begin(), first};
}

std::span<const text::ToolCallPiece> AnswerParser::Output::PiecesOfNewCalls() const {
  return std::span(pieces).subspan(PiecesOfOpenCall().size());
}

AnswerParser::AnswerParser(const ServedModel& model, bool inside, std::unique_ptr<text::ToolCallParser> calls)
    : calls_(std::move(calls)) {
  if (!model.reasoning) return;
  reasoning_.emplace(*model.reasoning->reasoning.form, inside);
  counter_.emplace(*model.reasoning->reasoning.form, inside);
  tokenizer_ = model.tokenizer;
  dialect_ = model.reasoning;
}

// The bytes of a control token are its name, if the answer shows it.
void AnswerParser::CountReasoning(const scheduler::StreamEvent& event) {
  for (const scheduler::GeneratedToken& token : event.tokens) {
    const TokenId id = token.chosen.id;
    const bool shown = std::ranges::find(dialect_->shown, id) != dialect_->shown.end();
    counter_->Take(shown ? tokenizer_->Bytes(id, true) : std::string_view(token.chosen.bytes));
  }
}

AnswerParser::Output AnswerParser::Take(const scheduler::StreamEvent& event) {
  Output out;
  if (!reasoning_) {
    TakeContent(event.text, out);
  } else {
    CountReasoning(event);
    text::ReasoningParser::Output parts = reasoning_->Feed(event.text);
    if (event.finish) {
      text::ReasoningParser::Output rest = reasoning_->Finish();
      parts.reasoning += rest.reasoning;
      parts.content += rest.content;
    }
    out.reasoning = std::move(parts.reasoning);
    TakeContent(parts.content, out);
  }
  if (event.finish && calls_) Append(calls_->Finish(IsCut(*event.finish)), out);
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
