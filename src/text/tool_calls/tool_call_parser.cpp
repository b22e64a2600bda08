#include "text/tool_calls/tool_call_parser.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <optional>
#include <utility>

#include "text/tool_calls/call_object.h"
#include "text/tool_calls/marker.h"
#include "text/tool_calls/read/unfinished_bytes.h"

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

ToolCallParser::ToolCallParser(const ToolCallSyntax& syntax, Tools tools, Options options)
    : syntax_(syntax),
      tools_(std::move(tools)),
      options_(options),
      opens_(std::string(syntax.opens) + (syntax.list ? "\n[" : "")),
      closes_((!syntax.list            ? ""
               : syntax.closes.empty() ? "]"
                                       : "]\n") +
              std::string(syntax.closes)),
      bare_opens_(BareOpens(syntax, *tools_)),
      at_state_(syntax.bare ? At::kAnswer : At::kText),
      json_(syntax),
      values_(syntax),
      elements_(syntax.mark),
      tagged_(syntax.own_lines) {}

ToolCallParser::Output ToolCallParser::Feed(std::string_view text) {
  Output out;
  pending_ += text;
  Run(out);
  return out;
}

ToolCallParser::Output ToolCallParser::Finish(bool cut) {
  Output out;
  ended_ = true;
  cut_ = cut;
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
    if (step == Step::kWait && (cut_ || growing_) && at_state_ != At::kAnswer && at_state_ != At::kText) {
      CutOff(out);
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
      return syntax_.values == ValueSyntax::kJson ? Json(out) : Arguments();
    case At::kBroken:
      return Broken(out);
    case At::kKey:
      return Key(out);
    case At::kValue:
      return Value(out);
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
  const bool only_one = syntax_.bare && !options_.several && found_ > 0;
  const std::string_view first = opens_.empty() ? syntax_.call_opens : opens_;
  MarkerMatch match{MarkerMatch::Kind::kNo, pending_.size(), pending_.size()};
  if (!only_one) match = FindMarker(pending_, 0, first);
  if (ended_ && !match.whole()) {
    const bool markup = cut_ && options_.forced;
    if (!markup && (begun_calls_ == 0 || !TrimEnd(pending_).empty())) out.content += pending_;
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
  const auto tool = std::ranges::find(*tools_, name, &OfferedTool::name);
  if (tool == tools_->end()) return Step::kMisfit;
  call_.name = name;
  at_ = closed ? end.end : end.begin;
  at_state_ = named ? At::kJson : At::kKey;
  json_.Reset();
  values_.Reset();
  elements_.Reset();
  tagged_.Reset();
  boost::system::error_code error;
  parameters_ = json::parse(tool->parameters, error);
  return Step::kDone;
}

bool ToolCallParser::IsOffered(std::string_view name) const {
  return std::ranges::find(*tools_, name, &OfferedTool::name) != tools_->end();
}

ToolCallParser::Step ToolCallParser::Json(Output& out) {
  const Step step = json_.Read(pending_, at_);
  if (!json_.has_arguments()) return JsonEnd(step, out);
  if (!growing_) {
    const std::string& name = syntax_.body == CallBody::kObject ? json_.name() : call_.name;
    if (!IsOffered(name)) return Step::kMisfit;
    Grow(name, json_.TakeArguments(), out);
  } else {
    Grow({}, json_.TakeArguments(), out);
  }
  if (step == Step::kWait) return step;
  if (step == Step::kDone) {
    at_state_ = At::kCallCloses;
  } else if (json_.has_all_arguments()) {
    Deliver(FoundToolCall::End::kUnclosed, out);
  } else {
    Grow({}, json_.held(), out);
    at_state_ = At::kBroken;
  }
  return Step::kDone;
}

// The JSON of a call that was not passed on while it grew: it has no arguments, or they are in front of the name.
ToolCallParser::Step ToolCallParser::JsonEnd(Step step, Output& out) {
  if (step != Step::kDone) return step;
  const json::value value = json_.Release();
  auto call = CallOf(syntax_, value.get_object());
  if (!call || !IsOffered(call->name)) return Step::kMisfit;
  Grow(std::move(call->name), std::move(call->arguments), out);
  at_state_ = At::kCallCloses;
  return Step::kDone;
}

// Arguments that are no JSON: they go on, as the model writes them, up to the call's end.
ToolCallParser::Step ToolCallParser::Broken(Output& out) {
  const std::string_view closes = syntax_.call_closes.empty() ? syntax_.closes : syntax_.call_closes;
  MarkerMatch end{MarkerMatch::Kind::kNo, pending_.size(), pending_.size()};
  if (!closes.empty()) end = FindMarker(pending_, at_, closes);
  if (!ended_ && end.begin == pending_.size()) end.begin -= UnfinishedBytes(pending_);
  if (end.begin > at_) Grow({}, pending_.substr(at_, end.begin - at_), out);
  at_ = std::max(at_, end.begin);
  if (!end.whole() && !ended_) return Step::kWait;
  at_ = end.whole() ? end.end : pending_.size();
  Deliver(FoundToolCall::End::kBroken, out);
  return Step::kDone;
}

// A value in the model's own syntax.
ToolCallParser::Step ToolCallParser::Arguments() {
  const bool elements = syntax_.values == ValueSyntax::kElements;
  const Step step = elements ? elements_.Read(pending_, at_) : values_.Read(pending_, at_);
  if (step != Step::kDone) return step;
  arguments_ = elements ? elements_.Release(parameters_) : values_.Release();
  at_state_ = At::kCallCloses;
  return Step::kDone;
}

// From the name of its first argument on, it is a call.
ToolCallParser::Step ToolCallParser::Key(Output& out) {
  const MarkerMatch closes = MatchMarker(pending_, at_, syntax_.call_closes);
  const MarkerMatch opens = MatchMarker(pending_, at_, syntax_.key_opens);
  const bool closing = closes.partly() && closes.begin < pending_.size() && opens.kind == MarkerMatch::Kind::kNo;
  if (closes.whole() || (ended_ && closing)) {
    return CallCloses(out);
  }
  if (!opens.whole()) return closes.partly() || opens.partly() ? Step::kWait : Unclosed(out);
  const MarkerMatch end = EndOfName(pending_, opens.end, {syntax_.key_closes});
  if (end.partly()) return Step::kWait;
  if (!end.whole()) return Unclosed(out);
  const std::string_view key = Trimmed(std::string_view(pending_).substr(opens.end, end.begin - opens.end));
  GrowTagged(tagged_.Begin(key, parameters_), out);
  at_ = value_ = end.end;
  at_state_ = At::kValue;
  return Step::kDone;
}

// After an argument there is neither another one nor the call's closing.
ToolCallParser::Step ToolCallParser::Unclosed(Output& out) {
  if (!growing_) return Step::kMisfit;
  GrowTagged(tagged_.Close(), out);
  Deliver(FoundToolCall::End::kUnclosed, out);
  return Step::kDone;
}

ToolCallParser::Step ToolCallParser::Value(Output& out) {
  const MarkerMatch end = FindMarker(pending_, at_, syntax_.value_closes);
  at_ = end.begin;  // not examined again
  const std::string_view value = std::string_view(pending_).substr(value_, end.begin - value_);
  GrowTagged(end.whole() ? tagged_.End(value) : tagged_.Grow(value), out);
  if (!end.whole()) return Step::kWait;
  at_ = end.end;
  at_state_ = At::kKey;
  return Step::kDone;
}

ToolCallParser::Step ToolCallParser::CallCloses(Output& out) {
  const MarkerMatch match = MatchMarker(pending_, at_, syntax_.call_closes);
  if (match.partly() && !ended_) return Step::kWait;
  if (match.kind == MarkerMatch::Kind::kNo) {
    if (!growing_) return Step::kMisfit;
    Deliver(FoundToolCall::End::kUnclosed, out);
    return Step::kDone;
  }
  if (syntax_.body == CallBody::kTagged) {
    GrowTagged(tagged_.Close(), out);
  } else if (!growing_) {
    Grow(std::exchange(call_.name, {}), json::serialize(arguments_), out);
  }
  at_ = match.whole() ? match.end : pending_.size();
  Deliver(FoundToolCall::End::kClosed, out);
  return Step::kDone;
}

void ToolCallParser::GrowTagged(std::string arguments, Output& out) {
  std::string name;
  if (!growing_) name = std::exchange(call_.name, {});
  Grow(std::move(name), std::move(arguments), out);
}

// Passes on a piece of the call. The first one has its name.
void ToolCallParser::Grow(std::string name, std::string arguments, Output& out) {
  if (!growing_) {
    growing_ = true;
    call_ = {.name = name, .arguments = {}};
    ++begun_calls_;
  } else if (arguments.empty()) {
    return;
  }
  call_.arguments += arguments;
  out.pieces.push_back({.call = begun_calls_ - 1, .name = std::move(name), .arguments = std::move(arguments)});
}

void ToolCallParser::Deliver(FoundToolCall::End end, Output& out) {
  call_.end = end;
  if (end == FoundToolCall::End::kBroken) call_.source = pending_.substr(begun_, at_ - begun_);
  if (end != FoundToolCall::End::kCut) ++found_;
  out.calls.push_back(std::move(call_));
  pending_.erase(0, at_);
  ForgetCall();
  at_state_ = syntax_.bare && options_.several ? At::kAnswer : At::kText;
  if (!opens_.empty()) at_state_ = At::kBehindCall;
}

// The text ends inside a call.
void ToolCallParser::CutOff(Output& out) {
  at_ = pending_.size();
  if (growing_ && json_.has_all_arguments()) {
    Deliver(FoundToolCall::End::kUnclosed, out);
  } else if (growing_ && cut_) {
    Deliver(FoundToolCall::End::kCut, out);
  } else if (growing_) {
    Grow({}, json_.held(), out);
    Deliver(FoundToolCall::End::kBroken, out);
  }
  pending_.clear();
  ForgetCall();
  at_state_ = At::kText;
}

void ToolCallParser::ForgetCall() {
  at_ = begun_ = 0;
  call_ = {};
  growing_ = false;
  arguments_.clear();
  json_.Reset();
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
  ForgetCall();
}

}  // namespace inferflux::text
