#include <algorithm>

#include "dspy/adapters/field_stream.h"
#include "dspy/python/literal_reader.h"
#include "dspy/python/python_text.h"

namespace inferflux::dspy {
namespace {

constexpr size_t kLongestEscape = 12;  // a pair of surrogates: \uXXXX\uXXXX

bool IsJsonSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

class JsonStream : public FieldStream {
 public:
  explicit JsonStream(const Signature& signature) {
    for (const Field& field : signature.outputs()) fields_.push_back(field.name);
  }

  void Feed(std::string_view piece, const Emit& emit) override {
    for (const char c : piece) Byte(c, emit);
  }
  void Finish(const Emit& emit) override {
    if (state_ == State::kBare) EndValue(emit);
    state_ = State::kDone;
  }

 private:
  enum class State : uint8_t { kBefore, kKey, kInKey, kColon, kValue, kText, kBare, kComma, kDone };

  void Byte(char c, const Emit& emit) {
    switch (state_) {
      case State::kBefore:
        if (c == '{') state_ = State::kKey;
        return;
      case State::kKey:
        if (c == '"' || c == '\'') return StartText(c, State::kInKey);
        if (c != ',' && !IsJsonSpace(c)) state_ = State::kDone;
        return;
      case State::kInKey:
        if (!InText(c)) return;
        state_ = State::kColon;
        return;
      case State::kColon:
        if (c == ':') StartValue();
        return;
      case State::kValue:
        if (IsJsonSpace(c)) return;
        if (wanted_) emit(key_, "");  // a text that stays empty is there, too
        if (c == '"' || c == '\'') return StartText(c, State::kText);
        state_ = State::kBare;
        return Bare(c, emit);
      case State::kText:
        if (InText(c)) state_ = State::kComma;
        if (wanted_ && !held_.empty()) HandOut(state_ == State::kComma, emit);
        return;
      case State::kBare:
        return Bare(c, emit);
      case State::kComma:
        if (c == ',') state_ = State::kKey;
        if (c == '}') state_ = State::kDone;
        return;
      case State::kDone:
        return;
    }
  }

  void StartText(char quote, State state) {
    quote_ = quote;
    escaped_ = false;
    held_.clear();
    state_ = state;
  }

  // True at the closing quote. `held_` gets what is written, escapes too.
  bool InText(char c) {
    if (!escaped_ && c == quote_) {
      if (state_ == State::kInKey) key_ = Decode(held_);
      return true;
    }
    escaped_ = !escaped_ && c == '\\';
    held_ += c;
    return false;
  }

  // Decodes and hands out what is complete: no escape in its middle, and no first half of a pair of surrogates.
  void HandOut(bool all, const Emit& emit) {
    if (!all && !Complete()) return;
    emit(key_, Decode(held_));
    held_.clear();
  }

  bool Complete() const {
    const size_t slash = held_.rfind('\\');
    const bool whole_escape = slash == std::string::npos || held_.size() - slash > kLongestEscape;
    return !escaped_ && whole_escape && EndsWithWholeChar(held_);
  }

  std::string Decode(const std::string& written) const {
    size_t at = 0;
    const std::string quoted = quote_ + written + quote_;
    const auto value = ReadLiteralAt(quoted, at);
    if (!value || !value->is_string()) return written;
    return {value->get_string().data(), value->get_string().size()};
  }

  void StartValue() {
    const auto found = std::ranges::find(fields_, key_);
    wanted_ = found != fields_.end();
    if (wanted_) fields_.erase(found);
    held_.clear();
    depth_ = 0;
    in_quotes_ = 0;
    state_ = State::kValue;
  }

  void EndValue(const Emit& emit) {
    while (!held_.empty() && IsJsonSpace(held_.back())) held_.pop_back();
    if (wanted_ && !held_.empty()) emit(key_, held_);
    held_.clear();
  }

  // A number, a word, a list or an object: as it is, and handed out whole.
  void Bare(char c, const Emit& emit) {
    if (in_quotes_ != 0) {
      if (!escaped_ && c == in_quotes_) in_quotes_ = 0;
      escaped_ = !escaped_ && c == '\\';
    } else if (depth_ == 0 && (c == ',' || c == '}')) {
      EndValue(emit);
      state_ = c == ',' ? State::kKey : State::kDone;
      return;
    } else if (c == '"' || c == '\'') {
      in_quotes_ = c;
      escaped_ = false;
    } else if (c == '{' || c == '[' || c == '(') {
      ++depth_;
    } else if (c == '}' || c == ']' || c == ')') {
      --depth_;
    }
    held_ += c;
  }

  std::vector<std::string> fields_;  // not seen yet
  State state_ = State::kBefore;
  std::string key_;
  std::string held_;
  bool wanted_ = false;
  bool escaped_ = false;
  char quote_ = '"';
  char in_quotes_ = 0;
  int depth_ = 0;
};

}  // namespace

std::unique_ptr<FieldStream> NewJsonStream(const Signature& signature) {
  return std::make_unique<JsonStream>(signature);
}

}  // namespace inferflux::dspy
