#include "text/tool_calls/read/value_reader.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "text/tool_calls/marker.h"
#include "text/tool_calls/read/python_string.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr size_t kMaxWordBytes = 512;  // of a number or a word

template <class T>
std::optional<T> NumberIn(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<json::value> WordValue(std::string_view word) {
  if (word == "null" || word == "None") return json::value();
  if (word == "true" || word == "True") return json::value(true);
  if (word == "false" || word == "False") return json::value(false);
  if (word.find_first_not_of("+-.0123456789Ee") != std::string_view::npos) return std::nullopt;  // inf, nan
  if (const auto whole = NumberIn<int64_t>(word)) return json::value(*whole);
  if (const auto whole = NumberIn<uint64_t>(word)) return json::value(*whole);
  if (const auto number = NumberIn<double>(word)) return json::value(*number);
  return std::nullopt;
}

}  // namespace

std::string_view ArgumentsOpen(ValueSyntax syntax) { return syntax == ValueSyntax::kPython ? "(" : "{"; }

void ValueReader::Reset() {
  open_.clear();
  next_ = Next::kArguments;
  searched_ = 0;
}

ValueReader::Step ValueReader::Read(std::string_view text, size_t& at) {
  while (next_ != Next::kNothing) {
    at = SkipSpace(text, at);
    if (at == text.size()) return Step::kWait;
    const Step step = Take(text, at);
    if (step != Step::kDone) return step;
  }
  return Step::kDone;
}

// Begins a value at `at`.
ValueReader::Step ValueReader::Take(std::string_view text, size_t& at) {
  const char c = text[at];
  const bool may_close = next_ == Next::kKey || next_ == Next::kItem || next_ == Next::kComma;
  if (may_close && c == open_.back().closes) {
    ++at;
    return Close();
  }
  switch (next_) {
    case Next::kArguments:
      ++at;
      if (c != ArgumentsOpen(syntax_.values)[0]) return Step::kMisfit;
      return c == '(' ? Begin(json::object(), ')', '=') : Begin(json::object(), '}');
    case Next::kKey:
      return Key(text, at);
    case Next::kSeparator:
      ++at;
      next_ = Next::kValue;
      return c == open_.back().binds ? Step::kDone : Step::kMisfit;
    case Next::kComma:
      ++at;
      next_ = open_.back().content.is_object() ? Next::kKey : Next::kItem;
      return c == ',' ? Step::kDone : Step::kMisfit;
    default:
      return Value(text, at);
  }
}

ValueReader::Step ValueReader::Key(std::string_view text, size_t& at) {
  const bool bare = open_.back().binds == '=';
  const Step quoted = bare ? Step::kMisfit : String(text, at, open_.back().key);
  if (quoted == Step::kDone) next_ = Next::kSeparator;
  if (quoted != Step::kMisfit) return quoted;
  const char binds = open_.back().binds;
  if (syntax_.values == ValueSyntax::kPython && binds == ':') return Step::kMisfit;
  const std::string_view ends = binds == '=' ? "={}[](),\"'" : ":{}[](),\"'";
  const size_t end = text.find_first_of(ends, std::max(at, searched_));
  if (end == std::string_view::npos) {
    searched_ = text.size();
    return Step::kWait;
  }
  const std::string_view name = TrimEnd(text.substr(at, end - at));
  if (text[end] != binds || name.empty()) return Step::kMisfit;
  open_.back().key = name;
  at = end;
  next_ = Next::kSeparator;
  return Step::kDone;
}

ValueReader::Step ValueReader::Value(std::string_view text, size_t& at) {
  if (text[at] == '{' || text[at] == '[') {
    const bool object = text[at++] == '{';
    return object ? Begin(json::object(), '}') : Begin(json::array(), ']');
  }
  std::string content;
  const Step step = String(text, at, content);
  if (step == Step::kMisfit) return Word(text, at);
  if (step == Step::kDone) Put(json::value(content));
  return step;
}

// kMisfit: no string begins here.
ValueReader::Step ValueReader::String(std::string_view text, size_t& at, std::string& out) {
  return syntax_.values == ValueSyntax::kPython ? QuotedString(text, at, out) : MarkedString(text, at, out);
}

ValueReader::Step ValueReader::QuotedString(std::string_view text, size_t& at, std::string& out) {
  const char quote = text[at];
  if (quote != '"' && quote != '\'') return Step::kMisfit;
  size_t end = std::max(at + 1, searched_);
  while (end < text.size() && text[end] != quote) {
    if (text[end] == '\\' && end + 1 == text.size()) break;
    end += text[end] == '\\' ? 2 : 1;
  }
  searched_ = end;
  if (end >= text.size() || text[end] != quote) return Step::kWait;
  auto content = PythonString(text.substr(at + 1, end - at - 1));
  if (!content) return Step::kMisfit;
  out = std::move(*content);
  at = end + 1;
  return Step::kDone;
}

ValueReader::Step ValueReader::MarkedString(std::string_view text, size_t& at, std::string& out) {
  const std::string_view mark = syntax_.mark, rest = text.substr(at, mark.size());
  if (!mark.starts_with(rest)) return Step::kMisfit;
  if (rest.size() < mark.size()) return Step::kWait;
  const size_t begin = at + mark.size();
  const size_t end = text.find(mark, std::max(begin, searched_));
  if (end == std::string_view::npos) {
    searched_ = text.size() - std::min(mark.size() - 1, text.size() - begin);
    return Step::kWait;
  }
  out = text.substr(begin, end - begin);
  at = end + mark.size();
  return Step::kDone;
}

ValueReader::Step ValueReader::Word(std::string_view text, size_t& at) {
  const size_t end = std::min(text.find_first_of(",]}) \t\r\n", at), text.size());
  if (end - at > kMaxWordBytes) return Step::kMisfit;
  if (end == text.size()) return Step::kWait;
  auto value = WordValue(text.substr(at, end - at));
  if (!value) return Step::kMisfit;
  Put(std::move(*value));
  at = end;
  return Step::kDone;
}

ValueReader::Step ValueReader::Begin(json::value empty, char closes, char binds) {
  if (open_.size() == kMaxReadDepth) return Step::kMisfit;
  next_ = empty.is_object() ? Next::kKey : Next::kItem;
  open_.push_back({.content = std::move(empty), .key = {}, .closes = closes, .binds = binds});
  return Step::kDone;
}

ValueReader::Step ValueReader::Close() {
  json::value content = std::move(open_.back().content);
  open_.pop_back();
  if (!open_.empty()) {
    Put(std::move(content));
    return Step::kDone;
  }
  arguments_ = std::move(content.get_object());
  next_ = Next::kNothing;
  return Step::kDone;
}

void ValueReader::Put(json::value value) {
  Open& into = open_.back();
  if (into.content.is_object()) {
    into.content.get_object()[into.key] = std::move(value);
  } else {
    into.content.get_array().push_back(std::move(value));
  }
  next_ = Next::kComma;
}

}  // namespace inferflux::text
