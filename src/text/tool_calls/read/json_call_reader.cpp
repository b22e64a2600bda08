#include "text/tool_calls/read/json_call_reader.h"

#include <boost/json/parse.hpp>

#include "text/tool_calls/marker.h"

namespace inferflux::text {
namespace json = boost::json;

void JsonCallReader::Reset() {
  parser_.reset();
  compact_ = {};
  arguments_ = Part::kBefore;
  depth_ = 0;
  in_string_ = escaped_ = false;
  is_key_ = true;
  string_.clear();
  key_.clear();
  name_.clear();
}

JsonCallReader::Step JsonCallReader::Read(std::string_view text, size_t& at) {
  if (depth_ == 0) {
    at = SkipSpace(text, at);
    if (at == text.size()) return Step::kWait;
    if (text[at] != '{') return Step::kMisfit;
  }
  for (; at < text.size(); ++at) {
    boost::system::error_code error;
    parser_.write_some(&text[at], 1, error);
    if (error) return Step::kMisfit;
    Track(text[at]);
    if (!parser_.done()) continue;
    ++at;
    return Step::kDone;
  }
  return Step::kWait;
}

void JsonCallReader::Track(char c) {
  const size_t outside = syntax_.body == CallBody::kObject ? 1 : 0;  // the depth around the arguments
  const bool inside = arguments_ == Part::kInside;
  if (in_string_) {
    TrackString(c);
  } else if (c == '"') {
    in_string_ = true;
    if (!inside) string_ = "\"";
  } else if (c == '{' || c == '[') {
    if (c == '{' && depth_ == outside && arguments_ == Part::kBefore && BeginArguments()) arguments_ = Part::kInside;
    ++depth_;
  } else if (c == '}' || c == ']') {
    --depth_;
    if (inside && depth_ == outside) arguments_ = Part::kBehind;
  } else if (depth_ == 1 && (c == ':' || c == ',')) {
    is_key_ = c == ',';
  }
  if (inside || arguments_ == Part::kInside) compact_.Push(c);
}

void JsonCallReader::TrackString(char c) {
  const bool own = depth_ == 1 && arguments_ != Part::kInside;  // a key of the call, or its name
  if (own) string_ += c;
  if (escaped_ || c != '"') {
    escaped_ = !escaped_ && c == '\\';
    return;
  }
  in_string_ = false;
  if (!own) return;
  boost::system::error_code error;
  const json::value read = json::parse(string_, error);
  if (error || !read.is_string()) return;
  if (is_key_) {
    key_ = read.get_string();
  } else if (key_ == syntax_.name_key && arguments_ == Part::kBefore) {
    name_ = read.get_string();
  }
}

// At the brace of an object that is the whole JSON, or a member of it.
bool JsonCallReader::BeginArguments() {
  if (syntax_.body != CallBody::kObject) return true;
  if (syntax_.name_key.empty()) name_ = key_;
  return !name_.empty() && (syntax_.name_key.empty() || key_ == syntax_.arguments_key);
}

}  // namespace inferflux::text
