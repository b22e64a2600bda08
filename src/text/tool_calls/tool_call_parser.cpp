#include "text/tool_calls/tool_call_parser.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <optional>
#include <utility>

#include "text/tool_calls/argument_schema.h"
#include "text/tool_calls/call_object.h"
#include "text/tool_calls/marker.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr size_t kMaxNameBytes = 256;  // of a tool or an argument; a longer text is not a name

// The first of the markers after a name, from `at`.
MarkerMatch EndOfName(std::string_view text, size_t at, std::initializer_list<std::string_view> markers) {
  MarkerMatch first{MarkerMatch::Kind::kNo, text.size(), text.size()};
  for (const std::string_view marker : markers) {
    if (marker.empty()) continue;
    const MarkerMatch match = FindMarker(text, at, marker);
    if (match.begin < first.begin) first = match;
  }
  if (first.begin - at > kMaxNameBytes) return {};
  if (first.kind == MarkerMatch::Kind::kNo) first.kind = MarkerMatch::Kind::kPartly;
  return first;
}

std::string_view Trimmed(std::string_view text) { return TrimEnd(text.substr(SkipSpace(text, 0))); }

// Removes the lines around a value that has lines of its own.
std::string_view WithoutLines(std::string_view text) {
  if (text.starts_with('\n')) text.remove_prefix(1);
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

std::vector<std::string> BareOpens(const ToolCallSyntax& syntax, const std::vector<OfferedTool>& tools) {
  std::vector<std::string> out;
  if (!syntax.bare) return out;
  for (const OfferedTool& tool : tools) {
    const std::string name =
        json::serialize(json::value(syntax.name_key)) + "\n:\n" + json::serialize(json::value(tool.name));
    out.push_back("{\n" + name);
    out.push_back("{\n\"type\"\n:\n\"function\"\n,\n" + name);
  }
  return out;
}

}  // namespace

ToolCallParser::ToolCallParser(const ToolCallSyntax& syntax, Tools tools, bool several)
    : syntax_(syntax),
      tools_(std::move(tools)),
      several_(several),
      opens_(std::string(syntax.opens) + (syntax.list ? "\n[" : "")),
      closes_((!syntax.list            ? ""
               : syntax.closes.empty() ? "]"
                                       : "]\n") +
              std::string(syntax.closes)),
      bare_opens_(BareOpens(syntax, *tools_)),
      at_state_(syntax.bare ? At::kAnswer : At::kText),
      values_(syntax),
      elements_(syntax.mark) {}

ToolCallParser::Output ToolCallParser::Feed(std::string_view text) {
  Output out;
  pending_ += text;
  Run(out);
  return out;
}

ToolCallParser::Output ToolCallParser::Finish() {
  Output out;
  ended_ = true;
  Run(out);
  return out;
}

void ToolCallParser::Run(Output& out) {
  for (;;) {
    const Step step = Next(out);
    if (step == Step::kWait && !ended_) return;
    if (step == Step::kDone) {
      if (ended_ && pending_.empty()) return;
      continue;
    }
    // What has begun is not a call. Another call may begin inside it.
    Release(std::min(begun_ + 1, pending_.size()), out);
    at_state_ = At::kText;
    if (ended_ && pending_.empty()) return;
  }
}

ToolCallParser::Step ToolCallParser::Next(Output& out) {
  switch (at_state_) {
    case At::kAnswer:
      return Answer();
    case At::kText:
      return Text(out);
    case At::kOpens:
      return Expect(opens_, At::kCallOpens);
    case At::kCallOpens:
      return Expect(syntax_.call_opens, syntax_.body == CallBody::kObject ? At::kJson : At::kName);
    case At::kName:
      return Name();
    case At::kJson:
      return syntax_.values == ValueSyntax::kJson ? Json() : Arguments();
    case At::kKey:
      return Key(out);
    case At::kValue:
      return Value();
    case At::kCallCloses:
      return CallCloses(out);
    case At::kBehindCall:
      return BehindCall();
  }
  return Step::kMisfit;
}

// The beginning of an answer that may be a bare call.
ToolCallParser::Step ToolCallParser::Answer() {
  size_t from = SkipSpace(pending_, 0);
  if (found_ > 0 && pending_.substr(from, 1) == ";") from = SkipSpace(pending_, from + 1);
  bool partly = from == pending_.size();
  for (const std::string& opens : bare_opens_) {
    const MarkerMatch match = MatchMarker(pending_, from, opens);
    partly = partly || match.partly();
    if (!match.whole()) continue;
    begun_ = at_ = match.begin;
    at_state_ = At::kJson;
    return Step::kDone;
  }
  if (partly && !ended_) return Step::kWait;
  at_state_ = At::kText;
  return Step::kDone;
}

ToolCallParser::Step ToolCallParser::Text(Output& out) {
  const bool only_one = syntax_.bare && !several_ && found_ > 0;
  const std::string_view first = opens_.empty() ? syntax_.call_opens : opens_;
  MarkerMatch match{MarkerMatch::Kind::kNo, pending_.size(), pending_.size()};
  if (!only_one) match = FindMarker(pending_, 0, first);
  if (ended_ && !match.whole()) {
    if (found_ == 0 || !TrimEnd(pending_).empty()) out.content += pending_;
    pending_.clear();
    return Step::kDone;
  }
  Release(TrimEnd(std::string_view(pending_).substr(0, match.begin)).size(), out);
  if (!match.whole()) return Step::kWait;
  begun_ = at_ = SkipSpace(pending_, 0);
  at_state_ = opens_.empty() ? At::kCallOpens : At::kOpens;
  return Step::kDone;
}

ToolCallParser::Step ToolCallParser::Expect(std::string_view marker, At next) {
  const MarkerMatch match = MatchMarker(pending_, at_, marker);
  if (match.partly()) return Step::kWait;
  if (!match.whole()) return Step::kMisfit;
  at_ = match.end;
  at_state_ = next;
  return Step::kDone;
}

ToolCallParser::Step ToolCallParser::Name() {
  const bool closed = !syntax_.name_closes.empty(), named = syntax_.body == CallBody::kNamed;
  const MarkerMatch end = closed  ? EndOfName(pending_, at_, {syntax_.name_closes})
                          : named ? EndOfName(pending_, at_, {ArgumentsOpen(syntax_.values)})
                                  : EndOfName(pending_, at_, {syntax_.key_opens, syntax_.call_closes});
  if (end.partly()) return Step::kWait;
  if (!end.whole()) return Step::kMisfit;
  const std::string_view name = Trimmed(std::string_view(pending_).substr(at_, end.begin - at_));
  const std::string_view never = named && !closed ? " \t\r\n{}[]()<>|,='\"" : " \t\r\n{}\"";
  if (name.empty() || name.find_first_of(never) != std::string_view::npos) return Step::kMisfit;
  call_.name = name;
  at_ = closed ? end.end : end.begin;
  at_state_ = named ? At::kJson : At::kKey;
  values_.Reset();
  elements_.Reset();
  const auto tool = std::ranges::find(*tools_, name, &OfferedTool::name);
  boost::system::error_code error;
  parameters_ = tool == tools_->end() ? json::value() : json::parse(tool->parameters, error);
  return Step::kDone;
}

ToolCallParser::Step ToolCallParser::Json() {
  if (!in_json_) {
    at_ = SkipSpace(pending_, at_);
    if (at_ == pending_.size()) return Step::kWait;
    if (pending_[at_] != '{') return Step::kMisfit;
    json_.reset();
    in_json_ = true;
  }
  boost::system::error_code error;
  at_ += json_.write_some(pending_.data() + at_, pending_.size() - at_, error);
  if (error) return Step::kMisfit;
  if (!json_.done()) return Step::kWait;
  in_json_ = false;
  while (IsMarkerSpace(pending_[at_ - 1])) --at_;  // the parser consumes it already if it is there
  const json::value value = json_.release();
  if (syntax_.body == CallBody::kObject) {
    auto call = CallOf(syntax_, value.get_object());
    if (!call) return Step::kMisfit;
    call_ = std::move(*call);
  } else {
    call_.arguments = json::serialize(value);
  }
  at_state_ = At::kCallCloses;
  return Step::kDone;
}

// A value in the model's own syntax.
ToolCallParser::Step ToolCallParser::Arguments() {
  const bool elements = syntax_.values == ValueSyntax::kElements;
  const Step step = elements ? elements_.Read(pending_, at_) : values_.Read(pending_, at_);
  if (step != Step::kDone) return step;
  call_.arguments = json::serialize(elements ? elements_.Release(parameters_) : values_.Release());
  at_state_ = At::kCallCloses;
  return Step::kDone;
}

ToolCallParser::Step ToolCallParser::Key(Output& out) {
  const MarkerMatch closes = MatchMarker(pending_, at_, syntax_.call_closes);
  const MarkerMatch opens = MatchMarker(pending_, at_, syntax_.key_opens);
  const bool closing = closes.partly() && closes.begin < pending_.size() && opens.kind == MarkerMatch::Kind::kNo;
  if (closes.whole() || (ended_ && closing)) {
    call_.arguments = json::serialize(arguments_);
    return CallCloses(out);
  }
  if (!opens.whole()) return closes.partly() || opens.partly() ? Step::kWait : Step::kMisfit;
  const MarkerMatch end = EndOfName(pending_, opens.end, {syntax_.key_closes});
  if (end.partly()) return Step::kWait;
  if (!end.whole()) return Step::kMisfit;
  key_ = Trimmed(std::string_view(pending_).substr(opens.end, end.begin - opens.end));
  at_ = value_ = end.end;
  at_state_ = At::kValue;
  return Step::kDone;
}

ToolCallParser::Step ToolCallParser::Value() {
  const MarkerMatch end = FindMarker(pending_, at_, syntax_.value_closes);
  at_ = end.begin;  // not examined again
  if (!end.whole()) return Step::kWait;
  std::string_view text = std::string_view(pending_).substr(value_, end.begin - value_);
  if (syntax_.own_lines) text = WithoutLines(text);
  arguments_[key_] = TaggedValue(text, SchemaOfArgument(parameters_, key_));
  at_ = end.end;
  at_state_ = At::kKey;
  return Step::kDone;
}

ToolCallParser::Step ToolCallParser::CallCloses(Output& out) {
  const MarkerMatch match = MatchMarker(pending_, at_, syntax_.call_closes);
  if (match.partly() && !ended_) return Step::kWait;
  if (match.kind == MarkerMatch::Kind::kNo) return Step::kMisfit;
  at_ = match.whole() ? match.end : pending_.size();
  Deliver(out);
  return Step::kDone;
}

void ToolCallParser::Deliver(Output& out) {
  out.calls.push_back(std::exchange(call_, {}));
  ++found_;
  arguments_.clear();
  pending_.erase(0, at_);
  at_ = begun_ = 0;
  at_state_ = syntax_.bare && several_ ? At::kAnswer : At::kText;
  if (!opens_.empty()) at_state_ = At::kBehindCall;
}

ToolCallParser::Step ToolCallParser::BehindCall() {
  const MarkerMatch closes = MatchMarker(pending_, 0, closes_);
  const MarkerMatch more = MatchMarker(pending_, 0, syntax_.list ? "," : syntax_.call_opens);
  if (closes.whole() || (ended_ && closes.partly())) {
    pending_.erase(0, closes.whole() ? closes.end : pending_.size());
    at_state_ = At::kText;
    return Step::kDone;
  }
  if (closes.partly() || more.partly()) return Step::kWait;
  at_state_ = At::kText;
  if (!more.whole()) return Step::kDone;  // text, although nothing closed the calls
  at_ = syntax_.list ? more.end : 0;
  at_state_ = At::kCallOpens;
  return Step::kDone;
}

// Releases the first bytes of the held-back text as content.
void ToolCallParser::Release(size_t bytes, Output& out) {
  out.content.append(pending_, 0, bytes);
  pending_.erase(0, bytes);
  at_ = begun_ = 0;
  call_ = {};
  arguments_.clear();
  in_json_ = false;
}

}  // namespace inferflux::text
