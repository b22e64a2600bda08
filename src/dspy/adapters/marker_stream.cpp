#include <algorithm>

#include "dspy/adapters/field_stream.h"
#include "dspy/python/python_text.h"

namespace inferflux::dspy {
namespace {

constexpr std::string_view kHeaderBegin = "[[ ## ";
constexpr std::string_view kHeaderEnd = " ## ]]";

bool IsWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

char LowerAscii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// How much of `word` begins `line`, without regard to case: all of it, all of the line, or a mismatch.
MarkerMatch MatchWord(std::string_view line, std::string_view word, const std::string& field) {
  const size_t size = std::min(line.size(), word.size());
  for (size_t i = 0; i < size; ++i) {
    if (LowerAscii(line[i]) != LowerAscii(word[i])) return {};
  }
  if (size < word.size()) return {.kind = MarkerMatch::Kind::kPartial};
  return {.kind = MarkerMatch::Kind::kMarker, .field = field, .size = size};
}

class MarkerStream : public FieldStream {
 public:
  MarkerStream(const Signature& signature, MatchMarker match) : match_(std::move(match)) {
    for (const Field& field : signature.outputs()) fields_.push_back(field.name);
  }

  void Feed(std::string_view piece, const Emit& emit) override {
    rest_ += piece;
    size_t at = 0;
    while (at < rest_.size()) {
      const PythonChar c = CharAt(rest_, at);
      const bool broken = c.code == 0xFFFD && c.size == 1 && rest_.size() - at < 4;  // the next piece may complete it
      if (broken) break;
      Char(c.code, std::string_view(rest_).substr(at, c.size), emit);
      at += c.size;
    }
    rest_.erase(0, at);
  }

  void Finish(const Emit& emit) override {
    for (const char byte : rest_) Char(0xFFFD, std::string_view(&byte, 1), emit);
    rest_.clear();
    Decide(emit);
  }

 private:
  void Char(char32_t code, std::string_view text, const Emit& emit) {
    const bool second_half = code == '\n' && after_return_;  // of "\r\n"
    after_return_ = code == '\r';
    if (second_half) return;
    if (IsLineEnd(code)) {
      Decide(emit);
      Content(U'\n', "\n", emit);
      decided_ = false;
    } else if (decided_) {
      Content(code, text, emit);
    } else {
      const bool blank = indent_ == line_.size();
      line_ += text;
      if (blank && IsPythonSpace(code)) {
        indent_ = line_.size();
        return;
      }
      const std::string_view line = std::string_view(line_).substr(indent_);
      MarkerMatch match = match_(line);
      if (match.kind == MarkerMatch::Kind::kPartial) return;
      if (match.kind == MarkerMatch::Kind::kMarker) {
        Begin(match.field, emit);
        line_ = std::string(line.substr(match.size));
      }
      Decide(emit);
    }
  }

  // What was held back of a line is content.
  void Decide(const Emit& emit) {
    const std::string held = std::exchange(line_, {});
    indent_ = 0;
    for (size_t at = 0; at < held.size();) {
      const PythonChar c = CharAt(held, at);
      Content(c.code, std::string_view(held).substr(at, c.size), emit);
      at += c.size;
    }
    decided_ = true;
  }

  void Begin(const std::string& field, const Emit& emit) {
    const auto found = std::ranges::find(fields_, field);
    current_.clear();
    if (found != fields_.end()) {
      current_ = field;
      fields_.erase(found);
      emit(current_, "");  // a field that stays empty is there, too
    }
    space_.clear();
    started_ = false;
  }

  void Content(char32_t code, std::string_view text, const Emit& emit) {
    if (current_.empty()) return;
    if (IsPythonSpace(code)) {
      if (started_) space_ += text;
      return;
    }
    started_ = true;
    if (!space_.empty()) emit(current_, std::exchange(space_, {}));
    emit(current_, text);
  }

  MatchMarker match_;
  std::vector<std::string> fields_;  // not seen yet
  std::string current_;              // empty: text that belongs to no field
  std::string rest_;                 // a part of a character
  std::string line_;                 // the beginning of a line that may become a marker
  size_t indent_ = 0;                // bytes of white space before it
  std::string space_;                // follows content, and is dropped at the end
  bool decided_ = false;             // the line is no marker
  bool started_ = false;
  bool after_return_ = false;
};

}  // namespace

MarkerMatch MatchHeader(std::string_view line) {
  if (line.size() < kHeaderBegin.size()) {
    if (kHeaderBegin.starts_with(line)) return {.kind = MarkerMatch::Kind::kPartial};
    return {};
  }
  if (!line.starts_with(kHeaderBegin)) return {};
  size_t end = kHeaderBegin.size();
  while (end < line.size() && IsWordChar(line[end])) ++end;
  const std::string_view tail = line.substr(end, kHeaderEnd.size());
  if (tail == kHeaderEnd && end > kHeaderBegin.size()) {
    return {.kind = MarkerMatch::Kind::kMarker,
            .field = std::string(line.substr(kHeaderBegin.size(), end - kHeaderBegin.size())),
            .size = end + kHeaderEnd.size()};
  }
  if (end + tail.size() == line.size() && kHeaderEnd.starts_with(tail)) return {.kind = MarkerMatch::Kind::kPartial};
  return {};
}

MatchMarker NameMarkers(const Signature& signature) {
  std::vector<std::pair<std::string, std::string>> words;
  for (const Field& field : signature.outputs()) {
    words.emplace_back(field.name + ":", field.name);
    if (field.prefix.ends_with(':')) words.emplace_back(field.prefix, field.name);
  }
  return [words = std::move(words)](std::string_view line) {
    MarkerMatch best;
    for (const auto& [word, field] : words) {
      MarkerMatch match = MatchWord(line, word, field);
      if (match.kind > best.kind) best = std::move(match);
    }
    return best;
  };
}

std::unique_ptr<FieldStream> NewMarkerStream(const Signature& signature, MatchMarker match) {
  return std::make_unique<MarkerStream>(signature, std::move(match));
}

Values CutFields(FieldStream& stream, std::string_view text) {
  std::vector<std::pair<std::string, std::string>> fields;
  const auto take = [&](std::string_view field, std::string_view piece) {
    if (fields.empty() || fields.back().first != field) fields.emplace_back(field, "");
    fields.back().second += piece;
  };
  stream.Feed(text, take);
  stream.Finish(take);
  Values values;
  for (const auto& [field, value] : fields) values[field] = value;
  return values;
}

}  // namespace inferflux::dspy
